"""Solvers inside formulas: kernels with loops give what the plain loop gives."""

import numpy as np
import pytest
from packed_loop import iterate

from myoquat import kernels
from myoquat.kernels.tracing.derivatives import jacobian_at


def kepler(E, given):
    """One step of Newton's method for Kepler's equation E - e sin E = M."""
    M, e = given[..., :1], given[..., 1:2]
    return E - (E - e * np.sin(E) - M) / (1 - e * np.cos(E))


def anomaly(x):
    """E (..., 1) of x = (M, e), and a number that needs it and another solution made from it."""
    E = iterate(kepler, x[..., :1], x, 12)
    again = iterate(kepler, E, np.concatenate([E, x[..., 1:]], axis=-1), 12)
    return np.concatenate([E, again, np.sin(E) * x[..., :1], x], axis=-1)


@pytest.fixture
def points(rng):
    return np.stack([rng.uniform(0, np.pi, 1003), rng.uniform(0, 0.9, 1003)], axis=-1)


def waiting(x):
    """Kepler's equation for eleven pairs, three of which wait for others, and some only where they are wanted."""
    solved = [iterate(kepler, M, np.concatenate([M, e], axis=-1), 12, where=M[..., 0] > 1.0) for M, e in _pairs(x, 8)]
    solved += [iterate(kepler, E, np.concatenate([E, x[..., 1:]], axis=-1), 12) for E in solved[1:4]]
    return np.concatenate([np.sin(E) * x[..., :1] for E in solved], axis=-1)


def _pairs(x, count):
    return [(x[..., :1] + 0.1 * k, x[..., 1:] * (0.9 + 0.01 * k)) for k in range(count)]


def test_loops_for_one_state_give_the_bits_of_loops_for_eight(points):
    eight, one = (kernels.compile(waiting, {"x": 2}, lanes=lanes, cache="off") for lanes in (8, 1))
    np.testing.assert_array_equal(one(points), eight(points))
    np.testing.assert_allclose(one(points), waiting(points), atol=1e-13)


def test_loop_that_depends_on_nothing_differentiated_is_a_constant(points):
    def slope(x):
        return jacobian_at(lambda x: iterate(kepler, points[:1, :1], points[:1], 3) * x[..., :1], x)[..., 0, :]

    x = points[:1]
    np.testing.assert_allclose(slope(x), [[float(iterate(kepler, x[:, :1], x, 3)[0, 0]), 0.0]])


def test_derivative_of_a_loop_raises_an_error_that_names_it(points):
    kernel = kernels.compile(anomaly, {"x": 2})
    for derive in (kernel.jacobian, kernel.jvp, kernel.vjp, kernel.hvp, lambda: jacobian_at(anomaly, points)):
        with pytest.raises(ValueError, match="loop 'kepler' has no derivative"):
            derive()
    with pytest.raises(ValueError, match="loop 'kepler' has no derivative"):
        kernels.compile(lambda x: jacobian_at(anomaly, x), {"x": 2})
    with pytest.raises(ValueError, match="straight-line program"):
        kernel.casadi_function  # noqa: B018


@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
@pytest.mark.parametrize("count", range(6))
@pytest.mark.parametrize("left", [None, 1])
def test_lanes_that_are_done_at_different_turns_keep_what_they_have(lanes, count, left):
    def counted(z, given):
        """Counts the second number down to zero while the others grow."""
        down = np.maximum(z[..., 1:2] - 1.0, 0.0)
        moves = np.where(z[..., 1:2] > 0, given, 0.0)
        return np.concatenate([z[..., :1] + moves, down, z[..., 2:] + moves], axis=-1)

    def formula(x):
        start = np.concatenate([x, np.arange(20.0) + 0.0 * x[..., :1]], axis=-1)
        return iterate(counted, start, 1.0 + x[..., :1], count, where=x[..., 0] < 5.0, left=left)

    x = np.stack([np.arange(37.0) % 7, np.arange(37.0) * 3 % 5], axis=-1)
    kernel = kernels.compile(formula, {"x": 2}, lanes=lanes, cache="off")
    turns = np.where(x[:, 0] < 5.0, np.minimum(x[:, 1], count), 0.0)
    np.testing.assert_array_equal(kernel(x), formula(x))
    np.testing.assert_array_equal(kernel(x)[:, 0], x[:, 0] + turns * (1.0 + x[:, 0]))
