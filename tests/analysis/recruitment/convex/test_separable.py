"""Sums of functions that need not be convex: their envelopes, bounds that hold, minima that are not beaten."""

import numpy as np
import pytest
from scipy.optimize import minimize

from myoquat.analysis.recruitment.convex import Programs, Status, solve_programs, solve_separable

K, E, M = 40, 2, 4
LEAST = 0.01


def drawn(seed):
    """Programs of two equations, four bounded variables and a free one, with their functions, corners and numbers. A
    third of the functions is concave at first and convex later. A third has a corner, and a third bends down at the
    end."""
    rng = np.random.default_rng(seed)
    A, x = rng.normal(size=(K, E, M + 1)), rng.uniform(0.1, 0.9, (K, M + 1))
    c, d, case = rng.uniform(0.5, 2, (K, M)), rng.uniform(0, 3, (K, M)), rng.integers(0, 3, (K, M))

    def curves(numbers, x):
        one, two, which = (v[numbers][..., None] for v in (c, d, case))
        turned = one * np.sin(np.pi / 2 * x) + two * (1 - np.cos(np.pi / 2 * x))
        return np.where(which == 0, one * x**0.6 + two * x**2,
                        np.where(which == 1, np.maximum(one * x**3, 0.2) - 0.5 * x, turned))  # fmt: skip

    corners = np.where(case == 1, np.cbrt(0.2 / c), LEAST)[..., None]
    bounds = {"lower": [*M * [LEAST], -np.inf], "upper": [*M * [1.0], np.inf]}
    return Programs.of(A, np.einsum("ken,kn->ke", A, x), **bounds), curves, corners


@pytest.fixture(scope="module")
def sums():
    return drawn(1)


def test_bounds_hold_and_minima_are_not_beaten(sums):
    """By the best of many descents from points that SLSQP starts at."""
    programs, curves, corners = sums
    found = solve_separable(programs, curves, corners, backend="numpy")
    assert set(found.status) == {Status.SOLVED, Status.LOCAL}
    assert np.abs(found.residual).max() < 1e-9
    gap = (found.objective - found.bound) / np.abs(found.objective)
    assert (gap > -1e-8).all()
    assert (gap[found.status == Status.SOLVED] < 1e-7).all()
    rng = np.random.default_rng(2)
    for k in range(0, K, 5):

        def cost(x, k=k):
            return curves(np.array([k]), x[None, :M, None]).sum() + x[M] ** 2

        def off(x, k=k):
            return programs.A[k] @ x - programs.b[k]

        best = np.inf
        for _ in range(8):
            given = {"bounds": [*M * [(LEAST, 1.0)], (None, None)], "constraints": {"type": "eq", "fun": off}}
            tried = minimize(cost, rng.uniform(LEAST, 1, M + 1), method="SLSQP", options={"ftol": 1e-12}, **given)
            best = min(best, tried.fun if np.abs(off(tried.x)).max() < 1e-9 else np.inf)
        assert found.bound[k] <= best + 1e-7
        assert found.objective[k] <= best + 1e-6
        assert cost(found.x[k]) == pytest.approx(found.objective[k], abs=1e-12)


@pytest.mark.parametrize("seed", [1, 1002])
def test_bounds_are_those_of_the_lagrange_dual(seed):
    """On a grid that is much finer than the solver's points, at the same multipliers: no bound is above it."""
    programs, curves, corners = drawn(seed)
    found = solve_separable(programs, curves, corners, backend="numpy")
    price, least = np.einsum("ke,ken->kn", found.y, programs.A), []
    for k in range(K):
        grid = np.concatenate([np.tile(np.linspace(LEAST, 1.0, 10001), (M, 1)), corners[k]], axis=-1)
        least.append((curves(np.array([k]), grid[None])[0] - price[k, :M, None] * grid).min(axis=-1).sum())
    dual = np.sum(found.y * programs.b, axis=-1) + np.array(least) - price[:, M] ** 2 / 4
    np.testing.assert_array_less(found.bound, dual + 1e-7 * np.abs(found.objective))
    np.testing.assert_allclose(found.bound, dual, atol=2e-6)


def test_convex_functions_are_solved_as_programs(sums):
    """Squares, in which nothing is local, also under a cone; what has no solution says so."""
    programs, _, _ = sums
    G, h, b = np.zeros((K, 1, 3, M + 1)), np.zeros((K, 1, 3)), programs.b.copy()
    G[:, 0, 0, M], G[:, 0, 1, 0], G[:, 0, 2, 1], h[:, 0, 0] = 1.0, 1.0, 1.0, 0.9
    b[3] = 1e3, -1e3
    given = Programs.of(programs.A, b, lower=[*M * [LEAST], -2.0], upper=[*M * [1.0], 2.0], G=G, h=h)
    known = solve_programs(given, backend="numpy")
    found = solve_separable(given, lambda _, x: x**2, np.zeros((K, M, 0)), backend="numpy")
    np.testing.assert_array_equal(found.status, known.status)
    assert known.status[3] == Status.INFEASIBLE
    solved = known.status == Status.SOLVED
    assert solved.sum() > 4
    np.testing.assert_allclose(found.objective[solved], known.objective[solved], rtol=2e-7)
    np.testing.assert_allclose(found.x[solved], known.x[solved], atol=1e-3)
