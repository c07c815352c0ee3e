"""Convex programs side by side: the conditions of the optimum, proofs, and independence."""

import numpy as np
import pytest

from myoquat.analysis.recruitment.convex import Programs, Status, cones, solve_minimax, solve_programs


def programs(rng, k=30, e=4, n=12, *, stretch=(1.0, 3.0), cones=1, free=0):
    """Random programs with bounds [0, 1] and `free` variables without, with the sizes of muscles' torques. Some x meets
    the right sides, times a factor that takes some of them out of reach. Cones are about as wide as that x needs."""
    A = 30 * rng.normal(size=(k, e, n)) * (rng.random((k, e, n)) < 0.6)
    A[..., n - free :] = np.eye(e, free)
    x = rng.uniform(0, 1, (k, n)) ** 2
    b = np.einsum("ken,kn->ke", A, x) * rng.choice(stretch, (k, 1))
    G, h = 100 * rng.normal(size=(k, cones, 3, n)), 100 * rng.normal(size=(k, cones, 3))
    G[..., n - free :] = 0.0
    v = np.einsum("kcdn,kn->kcd", G, x) + h
    h[..., 0] += (np.linalg.norm(v[..., 1:], axis=-1) - v[..., 0]) * rng.uniform(0.6, 1.3, (k, cones))
    lower = np.concatenate([np.zeros(n - free), np.full(free, -np.inf)])
    return {"A": A, "b": b, "lower": lower, "upper": 1 - lower, "G": G, "h": h}


@pytest.mark.parametrize(("power", "cones"), [(1.0, 1), (1.5, 1), (2.0, 0), (2.0, 1), (3.0, 1), (5.0, 1), (10.0, 1)])
def test_the_conditions_of_the_optimum(rng, power, cones):
    given = programs(rng, stretch=(1.0,), free=2, cones=cones)
    given["h"][..., 0] += 50.0
    given = Programs.of(**given, powers=power)
    found = solve_programs(given, backend="numpy")
    assert (found.status == Status.SOLVED).all()
    assert_optimal(given, found)


@pytest.mark.parametrize("ends", ["on the boundary", "at the tip"])
def test_a_cone_is_left_where_the_way_ends(rng, ends):
    """At the tip both crossings of the boundary are one, and rounding decides whether there are any."""
    rest, out, t = rng.normal(size=(500, 2)), rng.normal(size=(500, 2)), rng.uniform(0.1, 3.0, 500)
    x = np.concatenate([np.linalg.norm(rest, axis=-1, keepdims=True) + rng.uniform(0.01, 2.0, (500, 1)), rest], axis=-1)
    end = np.concatenate([np.linalg.norm(out, axis=-1, keepdims=True), out], axis=-1) * (ends != "at the tip")
    np.testing.assert_allclose(cones.longest_step(x, (end - x) / t[:, None]), t, rtol=1e-6)


def assert_optimal(given, found, more=0.0, scale=1.0):
    """Solutions meet all conditions, their objective is the bound, and gradients balance prices, and `more` prices,
    between bounds, within tolerances times a scale."""
    x, v = found.x, given.cone_values(found.x)
    assert (x >= given.lower).all()
    assert (x <= given.upper).all()
    assert np.abs(found.residual).max() < 1e-8 * scale
    assert (v[..., 0] - np.linalg.norm(v[..., 1:], axis=-1)).min(initial=0.0) > -1e-7 * scale
    assert (np.linalg.norm(found.z[..., 1:], axis=-1) <= found.z[..., 0] * (1 + 1e-9)).all()
    assert (np.abs(found.objective - found.bound) < 1e-9 * np.abs(found.objective)).all()
    price = np.einsum("ke,ken->kn", found.y, given.A) + np.einsum("kcd,kcdn->kn", found.z, given.G) + more
    gradient = given.weights * given.powers * np.sign(x) * np.abs(x) ** (given.powers - 1)
    inner = (((x > 0.05) & (x < 0.95)) | np.isinf(given.lower)) & (given.powers > 1)
    assert np.abs(gradient - price)[inner].max(initial=0.0) < 1e-4 * scale


def test_squares_are_as_near_to_the_optimum_as_the_certified_gap_says():
    """k x + r = b: the optimum x = k b / (1 + k^2) is small where a weak muscle stands beside a large reserve r. A sum
    of squares grows by the square of the distance from its least value, whose lower bound is certified."""
    k, b = np.geomspace(1e-4, 1e-2, 40), np.geomspace(1.0, 90.0, 40)
    rows, bounds = np.stack([k, 0 * k + 1], axis=-1)[:, None], {"lower": [0.0, -np.inf], "upper": [1.0, np.inf]}
    given = Programs.of(rows, b[:, None], **bounds)
    found = solve_programs(given)
    optimum = np.stack([k * b, b], axis=-1) / (1 + k**2)[:, None]
    gap = found.objective - found.bound
    assert (found.status == Status.SOLVED).all()
    assert (gap <= 1e-9 * found.objective).all()
    assert (np.sum((found.x - optimum) ** 2, axis=-1) <= 1.01 * gap + 1e-14 * found.objective).all()


def test_bounds_hold_to_the_last_bit():
    """Of programs without a solution too, whose steps end at bounds: two of these would be 2e-16 above one."""
    given = programs(np.random.default_rng(3), cones=0, stretch=(3.0,))
    found = solve_programs(Programs.of(**{**given, "lower": given["lower"] + 0.01}), backend="numpy")
    assert (found.status == Status.INFEASIBLE).any()
    assert ((found.x >= 0.01) & (found.x <= 1.0)).all()


def test_programs_without_bounds_have_the_shortest_solution():
    """Of squares without bounds the solution is the pseudoinverse's, large, small and zero."""
    A, b = np.array([[1.0, 0.5, -2.0], [0.0, 3.0, 1.0]]), np.array([[5.0, 1.0], [1e-6, 0.0], [0.0, 0.0]])
    found = solve_programs(Programs.of(np.tile(A, (3, 1, 1)), b, powers=2.0, lower=-np.inf, upper=np.inf))
    assert (found.status == Status.SOLVED).all()
    np.testing.assert_allclose(found.x, b @ np.linalg.pinv(A).T, atol=1e-12)


def test_infeasible_programs_are_violated_the_least(rng):
    """Multipliers prove it, and SciPy finds no smaller violation within the bounds."""
    optimize = pytest.importorskip("scipy.optimize")
    given = programs(rng, k=12, cones=0, stretch=(4.0,))
    found = solve_programs(Programs.of(**given), backend="numpy")
    bad = np.flatnonzero(found.status == Status.INFEASIBLE)
    assert len(bad) >= 4
    sizes = np.exp2(np.round(np.log2(np.linalg.norm(given["A"], axis=-1))))
    for k in bad:
        A, b, y = given["A"][k], given["b"][k], found.y[k]
        assert np.maximum(y @ A, 0.0).sum() < y @ b  # of x in [0, 1] none reaches it
        theirs = optimize.lsq_linear(A / sizes[k][:, None], b / sizes[k], (0, 1), tol=1e-14)
        assert np.sum((found.residual[k] / sizes[k]) ** 2) == pytest.approx(2 * theirs.cost, rel=1e-5)
    narrow = programs(rng, k=8, stretch=(1.0,))
    narrow["h"][..., 0] -= 1e4
    found = solve_programs(Programs.of(**narrow), backend="numpy")
    assert (found.status == Status.INFEASIBLE).all()
    assert np.isinf(found.bound).all()


def test_the_least_greatest_is_that_of_a_linear_program(rng):
    """SciPy's HiGHS finds the same, and the same multipliers; what is not feasible is found out."""
    optimize = pytest.importorskip("scipy.optimize")
    given = programs(rng, k=8, cones=0, free=2)
    weights = rng.uniform(0.5, 2.0, 12)
    found = solve_minimax(Programs.of(**given, weights=weights), backend="numpy")
    for k in range(8):
        A, b = np.concatenate([given["A"][k], np.zeros((4, 1))], axis=1), given["b"][k]
        above = [np.concatenate([sign * np.diag(weights), -np.ones((12, 1))], axis=1) for sign in (1, -1)]
        bounds = [*zip(given["lower"], given["upper"], strict=True), (0, None)]
        theirs = optimize.linprog(np.eye(13)[12], np.concatenate(above), np.zeros(24), A, b, bounds)
        assert (theirs.status == 2) == (found.status[k] == Status.INFEASIBLE)
        if theirs.status == 0:
            assert found.objective[k] == pytest.approx(theirs.fun, rel=2e-7)
            assert found.bound[k] <= theirs.fun * (1 + 1e-12)
            np.testing.assert_allclose(found.y[k], theirs.eqlin.marginals, atol=1e-6)
    assert (found.status == Status.SOLVED).sum() >= 3


def test_programs_know_nothing_of_each_other(rng):
    """Not a bit changes with the order, with the blocks, or alone; kernels agree with NumPy."""
    given = programs(rng, k=20, e=2, n=5)
    every = Programs.of(**given)
    order = rng.permutation(20)
    whole, mixed = solve_programs(every), solve_programs(every.subset(order), block=7)
    for name in ("x", "y", "z", "status", "steps", "objective", "bound"):
        np.testing.assert_array_equal(getattr(mixed, name), getattr(whole, name)[order], name)
    np.testing.assert_array_equal(solve_programs(every.subset(slice(3, 4))).x[0], whole.x[3])
    plain = solve_programs(every, backend="numpy")
    np.testing.assert_array_equal(plain.status, whole.status)
    good = whole.status == Status.SOLVED
    np.testing.assert_allclose(plain.x[good], whole.x[good], atol=1e-6)


def test_dependent_equations_and_held_variables(rng):
    """Equations that say the same twice, one without any variable, and variables whose bounds are equal."""
    given = programs(rng, k=6, cones=0, stretch=(1.0,))
    reference = solve_programs(Programs.of(**given), backend="numpy")
    zero = np.zeros((6, 1, 12))
    more = {**given, "A": np.concatenate([given["A"], 2 * given["A"][:, :1], zero], axis=1)}
    more["b"] = np.concatenate([given["b"], 2 * given["b"][:, :1], zero[..., 0]], axis=1)
    found = solve_programs(Programs.of(**more), backend="numpy")
    np.testing.assert_allclose(found.objective, reference.objective, rtol=1e-8)
    more["b"][:, -1] = 1.0
    assert (solve_programs(Programs.of(**more), backend="numpy").status == Status.INFEASIBLE).all()
    k = np.arange(6)
    lower, upper = (np.tile(given[name], (6, 1)) for name in ("lower", "upper"))
    lower[k, k] = upper[k, k] = reference.x[k, k]
    held = solve_programs(Programs.of(**{**given, "lower": lower, "upper": upper}), backend="numpy")
    np.testing.assert_array_equal(held.x[k, k], reference.x[k, k])
    np.testing.assert_allclose(held.objective, reference.objective, rtol=1e-7)
    np.testing.assert_allclose(held.bound, held.objective, rtol=1e-7)


def test_programs_have_finite_numbers_and_may_be_none(rng):
    given = programs(rng, k=2)
    with pytest.raises(ValueError, match="A must be finite"):
        Programs.of(**{**given, "A": given["A"] * np.nan})
    assert solve_programs(Programs.of(np.zeros((0, 2, 3)), np.zeros((0, 2)))).x.shape == (0, 3)


def test_programs_without_rows_stay_as_near_to_zero_as_their_bounds_allow():
    """Of sum w x^2. The third variable is fixed."""
    lower, upper = [[0.0, 0.3, 0.5, -1.0]], [[1.0, 1.0, 0.5, -0.2]]
    given = Programs.of(np.zeros((1, 0, 4)), np.zeros((1, 0)), lower=lower, upper=upper, weights=[1.0, 2.0, 3.0, 4.0])
    found = solve_programs(given, backend="numpy")
    np.testing.assert_array_equal(found.x, [[0.0, 0.3, 0.5, -0.2]])
    np.testing.assert_allclose([found.objective, found.bound], 2 * 0.09 + 3 * 0.25 + 4 * 0.04)
    assert found.status == Status.SOLVED
