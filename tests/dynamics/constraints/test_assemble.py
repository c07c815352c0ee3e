"""Assembling: dependent coordinates move first, independent ones stay where couplers can be met without them."""

from dataclasses import replace

import numpy as np
import pytest

from myoquat.dynamics.constraints import (
    ConstraintArrays,
    Constraints,
    Distance,
    PolynomialCoupler,
    Prescribed,
    assemble,
    constraints_of,
)
from myoquat.joints import ArticulatedSystem
from myoquat.joints.functions import Linear, Polynomial
from myoquat.muscle import Model
from myoquat.muscle.coordinates import Coordinate, Coupler
from tests.bodies import on_hinge

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


@pytest.fixture(scope="module")
def chain():
    """Five hinges; the second follows the first, the third the second, the fourth both of the first two."""
    axes = (X, Y, Z, X, Y)
    bodies = tuple(
        on_hinge(f'B{k}', axis, f'q{k}', f'B{k - 1}' if k else 'ground', (0.0, -0.3, 0.0), inertia=0.1)
        for k, axis in enumerate(axes)
    )  # fmt: skip
    couplers = (
        Coupler("two", "q2", "q1", Linear(0.5, 0.1)),
        Coupler("one", "q1", "q0", Polynomial((0.2, 0.3, -0.7)), 2.0),
    )
    both = PolynomialCoupler("q3", ("q0", "q1"), (0.3, 1.5), ((1, 0), (1, 1)), name="both")
    return Model(ArticulatedSystem(bodies), couplers=couplers, constraints=(both,))


def test_independent_coordinates_stay_and_dependent_ones_follow(chain, rng):
    q = rng.uniform(-1.0, 1.0, (20, 5))
    found = assemble(chain, q)
    np.testing.assert_array_equal(found[:, [0, 4]], q[:, [0, 4]])
    one = 2 * (0.2 + 0.3 * q[:, 0] - 0.7 * q[:, 0] ** 2)
    np.testing.assert_allclose(found[:, 1], one, atol=1e-10)
    np.testing.assert_allclose(found[:, 2], 0.5 * one + 0.1, atol=1e-10)
    np.testing.assert_allclose(found[:, 3], 0.3 * q[:, 0] + 1.5 * q[:, 0] * one, atol=1e-9)


def test_where_couplers_are_not_all_independent_coordinates_move_too(chain, rng):
    """A rod that dependent coordinates cannot reach, and a dependent coordinate that is locked."""
    rod = Distance("B0", "ground", (0.1, -0.3, 0.0), (0.1, -0.3, 0.3), distance=0.2)
    held = replace(chain, constraints=(*chain.constraints, rod))
    q = rng.uniform(-0.2, 0.2, (10, 5))
    found = assemble(held, q)
    arrays = ConstraintArrays(Constraints(chain.system, constraints_of(held)))
    assert np.abs(arrays.position(found, 0.0)).max() < 1e-10
    np.testing.assert_array_equal(found[:, 4], q[:, 4])
    assert np.abs(found[:, 0] - q[:, 0]).max() > 0.1
    locked = replace(chain, coordinates=(Coordinate("q1", locked=True),))
    found = assemble(locked, q, strict=False)
    good = np.isfinite(found[:, 0])
    assert good.sum() >= 5
    np.testing.assert_array_equal(found[good, 1], q[good, 1])
    np.testing.assert_allclose(2 * (0.2 + 0.3 * found[good, 0] - 0.7 * found[good, 0] ** 2), q[good, 1], atol=1e-9)


def test_prescribed_coordinates_are_those_of_each_pose_s_time(chain):
    driven, time = Prescribed("q4", lambda t: 0.1 * t), np.array([[0.0, 1.0], [2.0, 3.0]])
    found = assemble(chain, np.zeros((2, 2, 5)), [driven], time=time)
    np.testing.assert_allclose(found[..., 4], 0.1 * time, atol=1e-10)
