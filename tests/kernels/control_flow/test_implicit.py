"""Implicit functions: a solution has the derivative that its equation gives it, however it is differentiated."""

import numpy as np
import pytest

from myoquat import kernels
from myoquat.kernels import as_array, constant, root, while_loop
from myoquat.kernels.control_flow.table_loop import Rows, map_rows
from myoquat.kernels.tracing.context import becomes_loops
from myoquat.kernels.tracing.derivatives import jacobian_at
from tests.differences import differences


def newton(E, given):
    """Newton's method for Kepler's equation E - e sin E = M, E (..., 1)."""

    def step(state, given):
        E, (M, e) = state[0], given
        change = (E - e * np.sin(E) - M) / (1 - e * np.cos(E))
        return E - change, np.abs(change)

    return while_loop(lambda state: state[1][..., 0] > 1e-12, step, (E, 0.0 * E + np.inf), given, max_steps=30)[0]


def residual(E, given):
    M, e = given
    return E - e * np.sin(E) - M


def anomaly(x):
    """(..., 1) E of x = (M, e)."""
    M, e = x[..., :1], x[..., 1:2]
    return root(residual, newton, M, (M, e))


def gradient(x):
    """(..., 2) dE/dx by the implicit function theorem, worked out by hand."""
    E = newton(x[..., :1], (x[..., :1], x[..., 1:2]))
    return np.concatenate([1 + 0 * E, np.sin(E)], axis=-1) / (1 - x[..., 1:2] * np.cos(E))


def hessian(x):
    """(..., 2, 2) its derivative, by central differences of the formula by hand."""
    return differences(gradient, x, 1e-5)


@pytest.fixture
def points(rng):
    return np.stack([rng.uniform(0, np.pi, 203), rng.uniform(0, 0.9, 203)], axis=-1)


def test_solution_is_that_of_the_loop_bit_for_bit(points):
    plain = kernels.compile(lambda x: newton(x[..., :1], (x[..., :1], x[..., 1:])), {"x": 2}, ["E"], name="E")
    solved = kernels.compile(anomaly, {"x": 2}, ["E"], name="E")
    np.testing.assert_array_equal(solved(points), plain(points))
    assert solved.ir == plain.ir  # an unused derivative costs nothing
    np.testing.assert_allclose(residual(solved(points), (points[:, :1], points[:, 1:])), 0.0, atol=1e-14)


def test_every_derivative_is_that_of_the_implicit_function(points, rng):
    kernel, expected = kernels.compile(anomaly, {"x": 2}, ["E"]), gradient(points)
    close = {"rtol": 1e-12, "atol": 1e-14}
    np.testing.assert_allclose(kernel.jacobian()(points)[:, 0], expected, **close)
    np.testing.assert_allclose(kernel.jacobian(sparse=True)(points), expected, **close)
    dot, bar = rng.normal(size=points.shape), rng.normal(size=(len(points), 1))
    np.testing.assert_allclose(kernel.jvp()(points, dot)[:, 0], np.sum(expected * dot, axis=-1), **close)
    np.testing.assert_allclose(kernel.vjp()(points, bar), bar * expected, **close)
    np.testing.assert_allclose(jacobian_at(anomaly, points)[:, 0], expected, **close)
    inside = kernels.compile(lambda x: jacobian_at(anomaly, x), {"x": 2})
    np.testing.assert_allclose(inside(points)[:, 0], expected, **close)


def test_second_derivatives_see_the_solution_move(points, rng):
    kernel, expected = kernels.compile(anomaly, {"x": 2}, ["E"]), hessian(points)
    close = {"rtol": 1e-6, "atol": 1e-6}
    np.testing.assert_allclose(kernel.jacobian().jacobian()(points)[:, 0], expected, **close)
    dot = rng.normal(size=points.shape)
    np.testing.assert_allclose(kernel.hvp()(points, dot), (expected @ dot[..., None])[..., 0], **close)
    nested = kernels.compile(lambda x: jacobian_at(lambda x: jacobian_at(anomaly, x)[..., 0, :], x), {"x": 2})
    np.testing.assert_allclose(nested(points), expected, **close)


def test_several_unknowns_and_a_pivot_that_is_zero(rng):
    """x + sin y = a, y - x^2 / 4 = b with the rows exchanged: dr/dx has a zero in front where x is zero."""

    def equations(z, given):
        x, y = z[..., 0], z[..., 1]
        return np.stack([y - 0.25 * x * x - given[..., 1], x + np.sin(y) - given[..., 0]], axis=-1)

    def solve(z, given):
        def step(pair, given):
            x, y = pair
            return given[..., 0] - np.sin(y), given[..., 1] + 0.25 * x * x

        x, y = while_loop(lambda pair: pair[0] < np.inf, step, (z[..., 0], z[..., 1]), given, max_steps=200)
        return np.stack([x, y], axis=-1)

    def formula(given):
        return root(equations, solve, 0.0 * given, given)

    given = np.concatenate([rng.uniform(-0.3, 0.3, (50, 2)), [[0.0, 0.0]]])
    x, y = formula(given).T
    inverse = np.stack([np.stack([1 + 0 * x, np.cos(y)]), np.stack([-0.5 * x, 1 + 0 * x])])  # of (a, b) by (x, y)
    expected = np.linalg.inv(np.moveaxis(inverse, -1, 0))
    np.testing.assert_allclose(kernels.compile(formula, {"g": 2}).jacobian()(given), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(jacobian_at(formula, given), expected, rtol=1e-10, atol=1e-12)


def test_a_root_without_unknowns_stands_beside_others_on_floats():
    """As a closed loop of a mechanism that has no dependent coordinate."""

    def formula(a):
        none = root(lambda x, a: x * x - a[..., :0], lambda x, a: x, a[..., :0], a)
        return np.concatenate([2.0 * a, none], axis=-1)

    np.testing.assert_array_equal(jacobian_at(formula, np.array([4.0, 9.0])), 2.0 * np.eye(2))


def test_a_newton_step_gives_a_solution_its_first_derivative(points):
    """Where a formula has the step and no equation; kernels that are not differentiated do not hold the step."""

    def stepped(E, M_e):
        M, e = M_e
        return E - (E - e * np.sin(E) - M) / (1 - e * np.cos(E))

    def solved(x):
        given = x[..., :1], x[..., 1:2]
        return kernels.after_newton_step(lambda E, _: stepped(E, given), newton(given[0], given))

    kernel, expected = kernels.compile(solved, {"x": 2}, ["E"]), gradient(points)
    np.testing.assert_allclose(kernel(points), kernels.compile(anomaly, {"x": 2})(points), rtol=1e-15)
    np.testing.assert_allclose(kernel.jacobian()(points)[:, 0], expected, rtol=1e-12, atol=1e-14)
    inside = kernels.compile(lambda x: jacobian_at(solved, x), {"x": 2})
    np.testing.assert_allclose(inside(points)[:, 0], expected, rtol=1e-12, atol=1e-14)
    again = kernels.compile(lambda x: jacobian_at(lambda x: jacobian_at(solved, x)[..., 0, :], x), {"x": 2})
    np.testing.assert_allclose(again(points), hessian(points), rtol=1e-6, atol=1e-6)


def test_only_what_depends_on_a_loop_has_no_derivative(points):
    def both(x):
        M, e = x[..., :1], x[..., 1:2]
        return {"loop": newton(M, (M, e)), "root": anomaly(x) * e}

    kernel = kernels.compile(both, {"x": 2})
    kernel.jacobian("root")
    with pytest.raises(ValueError, match="loop 'step' has no derivative"):
        kernel.jacobian("loop")


def test_constant_leaves_a_derivative_out_where_it_is_asked_to(points):
    def product(x):
        M, e = constant((x[..., :1], x[..., 1:2]))
        return newton(M, (M, e)) * x[..., :1]

    E = anomaly(points)
    expected = np.concatenate([E, 0 * E], axis=-1)
    for found in (
        kernels.compile(product, {"x": 2}).jacobian()(points),
        kernels.compile(lambda x: jacobian_at(product, x), {"x": 2})(points),
        jacobian_at(product, points),
    ):
        np.testing.assert_allclose(found[:, 0], expected, rtol=1e-14, atol=1e-300)
    with pytest.raises(TypeError, match="CasADi"):
        constant(kernels.symbols_casadi("x", 2))


def test_residual_that_does_not_fit_raises_an_error(points):
    def formula(x):
        return root(lambda E, x: E[..., [0, 0]], lambda E, x: newton(E, (x[..., :1], x[..., 1:])), x[..., :1], x)

    with pytest.raises(ValueError, match="2 equations for 1 unknowns"):
        kernels.compile(formula, {"x": 2})


ECCENTRIC = np.array([[0.2], [0.5]])


def orbit(x, parent, factor):
    """(..., 1) an anomaly, by a loop in each row of a map, that depends on the one of a parent."""
    rows = np.concatenate([x + parent, 0.5 * x - parent], axis=-1)[..., None]
    found = map_rows(lambda row, own: anomaly(np.concatenate([row, own + 0.0 * row], axis=-1)), rows, ECCENTRIC, 1)
    return np.sum(found, axis=-2) * factor


def orbits(x):
    """(..., 4) of x (..., 4), of the nodes of a tree: in a kernel a loop inside a map inside a loop over rows."""
    found, parents, factors = [np.zeros(1)], (0, 1, 1, 3), 0.3 + 0.1 * np.arange(4)[:, None]
    if not becomes_loops(x):
        for i, parent in enumerate(parents):
            found.append(orbit(x[..., i : i + 1], found[parent], factors[i]))
        return np.concatenate(np.broadcast_arrays(*found[1:], subok=True), axis=-1)
    rows, one = Rows(), [np.arange(1)]
    rows.types[0] = orbit, 2 * one, one
    for i, parent in enumerate(parents):
        rows.add(0, (5 + i, parent - 1 if parent else 4, i), factors[i])
    return rows.looped([*[None] * 4, 0.0, *np.asarray(x)], 4)


@pytest.mark.parametrize("lanes", [1, 8])
def test_loop_inside_a_map_inside_a_loop_over_rows_with_derivatives(lanes, rng):
    x = rng.uniform(0.1, 0.6, (30, 4))
    kernel = kernels.compile(orbits, {"x": 4}, lanes=lanes)
    np.testing.assert_allclose(kernel(x), orbits(x), rtol=1e-13)
    expected = jacobian_at(orbits, x)
    np.testing.assert_allclose(kernel.jacobian()(x), expected, rtol=1e-11, atol=1e-13)
    inside = kernels.compile(lambda x: jacobian_at(orbits, x), {"x": 4}, lanes=lanes)
    np.testing.assert_allclose(inside(x), expected, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(expected, differences(orbits, x), atol=1e-8)


ABSOLUTE = (
    np.abs, lambda x: np.abs(np.where(x > 1, x, 2 * x)), lambda x: np.sign(x) * x * x, lambda x: np.abs(as_array(x)),
    lambda x: np.abs(root(lambda y, x: y + y**3 - x, lambda y, x: newton_of_cubic(y, x), x, x)),
)  # fmt: skip


def newton_of_cubic(y, x):
    for _ in range(20):
        y = y - (y + y**3 - x) / (1 + 3 * y * y)
    return y


@pytest.mark.parametrize("formula", ABSOLUTE)
def test_absolute_values_have_the_slope_of_their_side_on_floats_and_in_kernels(formula):
    point = np.array([-2.0, 0.0, 3.0])
    expected = kernels.compile(lambda x: jacobian_at(formula, x), {"x": 3}, ["J"])(point)
    np.testing.assert_array_equal(jacobian_at(formula, point), expected)
    np.testing.assert_allclose(expected, differences(formula, point), atol=2e-6)  # x |x| is h at h
