"""What new users give by mistake: degrees, scalar-last quaternions, rotations of SciPy, names that do not exist."""

import numpy as np
import pytest

from myoquat.joints import (
    ArticulatedSystem,
    CoordinateWarning,
    point_position,
    quaternion_from_scalar_last,
    quaternion_to_scalar_last,
    random_quaternions,
    rotation_from_quaternion,
    rotation_matrix,
    with_rotations,
)
from tests.bodies import on_ball, on_hinge, on_slide


def test_scalar_last_quaternions_have_a_converter(rng):
    Q = random_quaternions(5, rng)
    last = rotation_from_quaternion(Q).as_quat()
    np.testing.assert_allclose(quaternion_to_scalar_last(Q), last, rtol=1e-14)
    np.testing.assert_array_equal(quaternion_from_scalar_last(quaternion_to_scalar_last(Q)), Q)
    system = ArticulatedSystem((on_ball("b"),))
    with pytest.raises(ValueError, match=r"scalar first: joints\.quaternion_from_scalar_last"):
        system.check_q(2 * Q)


def test_a_rotation_of_scipy_gets_the_name_of_the_function_that_takes_it(rng):
    one, many = (rotation_from_quaternion(random_quaternions(n, rng)) for n in ((), (2,)))
    system = ArticulatedSystem((on_ball("b"),))
    for rotation in (one, many):
        for function in (rotation_matrix, system.check_q, lambda q: point_position(system, q, "b")):
            with pytest.raises(TypeError, match=r"SciPy Rotation .*joints\.quaternion_from_rotation"):
                function(rotation)


@pytest.mark.parametrize(("given", "meant"), [("quat", "quaternion"), ("yzy", "YZY"), ("sequences", "sequence")])
def test_a_description_of_rotations_that_does_not_exist(given, meant):
    system = ArticulatedSystem((on_ball("b"),))
    for rotations in (given, {"b": given}):
        with pytest.raises(ValueError, match=rf"not '{given}'; did you mean '{meant}'\?"):
            with_rotations(system, rotations)


def test_degrees_instead_of_radians_warn_once():
    bodies = (on_hinge("thigh", "z", "hip_far"),)
    system = ArticulatedSystem((*bodies, on_slide("sled", parent="thigh")))
    with pytest.warns(CoordinateWarning, match=r"'hip_far' is 60 rad, 9\.5 turns: are these degrees"):
        point_position(system, [60.0, 100.0], "sled")
    point_position(system, [60.0, 100.0], "sled")
