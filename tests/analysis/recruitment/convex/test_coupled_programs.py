"""Block-banded programs: the conditions of the optimum, and proofs that there is none."""

from dataclasses import replace

import numpy as np
import pytest

from myoquat.analysis.recruitment.convex import CouplingRows, Programs, Status, solve_coupled, solve_programs
from tests.analysis.recruitment.convex.test_convex import assert_optimal

K, E, N, M = 15, 4, 12, 8


def programs(rng, power=2.0, far=1.0):
    """Programs of 8 variables in [0, 1] and 4 that are free, each with a cone and with weights. Some x meets the right
    sides, times `far` at the seventh."""
    A = 0.5 * rng.normal(size=(K, E, N))
    A[..., M:] = 0.1 * np.eye(E)
    x = rng.uniform(0, 0.6, (K, N))
    b = np.einsum("ken,kn->ke", A, x)
    b[7] *= far
    G, h = 3 * rng.normal(size=(K, 1, 3, N)), 3 * rng.normal(size=(K, 1, 3))
    v = np.einsum("kcdn,kn->kcd", G, x) + h
    h[..., 0] += 1.1 * (np.linalg.norm(v[..., 1:], axis=-1) - v[..., 0])
    lower = np.concatenate([np.zeros(M), np.full(N - M, -np.inf)])
    powers = np.concatenate([np.full(M, power), np.full(N - M, 2.0)])
    weights = rng.uniform(0.5, 2.0, N)
    return Programs.of(A, b, lower=lower, upper=1 - lower, G=G, h=h, powers=powers, weights=weights)


def coupling(rates=0.3):
    """Variables that fall to 0.8 of themselves at most, less 0.02, rise by as little, and do not like to change."""
    step, variable = (v.ravel() for v in np.indices((K - 1, M)))
    one = np.ones(len(step))
    parts = [CouplingRows(step, variable, -0.8 * one, one, -0.02 * one, np.inf * one),
             CouplingRows(step, variable, 0.7 * one, -one, -0.25 * one, np.inf * one)]  # fmt: skip
    return CouplingRows.joined(
        *parts, *([CouplingRows(step, variable, -one, one, 0.0 * one, rates * one)] if rates else [])
    )


@pytest.mark.parametrize("power", [1.0, 1.5, 2.0, 3.0, 6.0])
def test_the_conditions_of_the_optimum(rng, power):
    """Those of programs by themselves; coupling rows have prices too."""
    given, rows = programs(rng, power), coupling()
    found = solve_coupled(given, rows)
    values, hard = rows.values(found.x), rows.hard
    assert found.status == Status.SOLVED
    assert_optimal(given, found, rows.price(found.pull, found.x.shape), 0.1)
    assert values[hard].min() > -1e-9
    assert found.pull[hard].min() >= 0
    np.testing.assert_allclose(found.pull[~hard], -0.6 * values[~hard], atol=1e-8)


def test_programs_without_coupling_are_solved_independently(rng):
    given = programs(rng)
    found, alone = solve_coupled(given, CouplingRows.none()), solve_programs(given, backend="numpy")
    np.testing.assert_allclose(found.x, alone.x, atol=1e-4)
    assert found.objective == pytest.approx(alone.objective.sum(), rel=1e-9)


def test_programs_without_solution(rng):
    """One program is out of reach, or the coupling rows of two cannot be met together. The
    greatest residual is there, and coupling rows are met. Programs that have a solution keep to its conditions."""
    given = programs(rng, far=30.0)
    given = replace(given, lower=np.maximum(given.lower, -1.0), upper=np.minimum(given.upper, 1.0))
    rows = coupling()
    found = solve_coupled(given, rows)
    assert found.status == Status.INFEASIBLE
    assert np.isinf(found.bound)
    missed = np.abs(found.residual).max(axis=-1)
    assert np.argmax(missed) == 7
    assert missed[7] > 0.1
    assert rows.values(found.x)[rows.hard].min() > -1e-8
    one = Programs.of(np.ones((3, 1, 1)), [[0.1], [0.9], [0.1]])
    each, ones = np.arange(2), np.ones(2)
    apart = solve_coupled(
        one, CouplingRows(each, 0 * each, ones, -ones, -0.5 * ones, np.inf * ones)
    )  # up by 0.5 at most
    assert list(apart.lost) == [True, True, False]
    np.testing.assert_allclose(apart.x[:, 0], [0.25, 0.75, 0.1], atol=1e-6)
    held = solve_coupled(one, CouplingRows.none(), np.array([False, True, False]))
    assert held.status == Status.INFEASIBLE
    np.testing.assert_allclose(held.residual[[0, 2]], 0.0, atol=1e-9)
