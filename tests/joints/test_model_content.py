"""Models that differ do not share kernels, and what is the same model does, however its numbers were given."""

from dataclasses import replace

import numpy as np
import pytest

from myoquat.core import content_digest
from myoquat.dynamics import mass_matrix
from myoquat.dynamics.constraints import Distance, PointLoop
from myoquat.dynamics.constraints.equations import Constraints
from myoquat.joints import (
    ArticulatedSystem,
    Body,
    CustomJoint,
    EllipsoidJoint,
    EulerJoint,
    RevoluteJoint,
    Shape,
    SphericalJoint,
)
from myoquat.joints.functions import PiecewiseLinear, Polynomial, SimmSpline
from myoquat.joints.types import Axis
from myoquat.muscle import Model, Muscle, PathPoint, path_lengths


def _system(center: object, mass: object = 2.0) -> ArticulatedSystem:
    body = Body("arm", "ground", RevoluteJoint((0.0, 1.0, 0.0)), mass=mass, center_of_mass=center)  # type: ignore[arg-type]
    return ArticulatedSystem((replace(body, inertia=(0.1, 0.2, 0.1, 0.0, 0.0, 0.0)),))


def _model(x: float) -> Model:
    system = ArticulatedSystem((Body("arm", "ground", SphericalJoint()),))
    points = PathPoint("ground", np.array([0.3, 0.0, 0.4])), PathPoint("arm", np.array([0.1, 0.2, x]))  # type: ignore[arg-type]
    return Model(system, (Muscle("m", points),))


def test_how_numpy_prints_plays_no_part_in_kernels() -> None:
    q = np.zeros(1)
    with np.printoptions(precision=3):
        near, far = (mass_matrix(_system(np.array([0.0, 0.0, x])), q)[0, 0] for x in (0.5, 0.5004))
    assert near == pytest.approx(0.2 + 2 * 0.5**2, abs=1e-12)
    assert far == pytest.approx(0.2 + 2 * 0.5004**2, abs=1e-12)


def test_a_point_moved_by_a_nanometre_has_another_length() -> None:
    q = np.array([1.0, 0.0, 0.0, 0.0])
    for x in (0.5, 0.5 + 1e-9):
        expected = np.sqrt(0.2**2 + 0.2**2 + (0.4 - x) ** 2)
        assert path_lengths(_model(x), q)[0] == pytest.approx(expected, abs=1e-13)
    assert _model(0.5).content_key != _model(0.5 + 1e-9).content_key


def test_signs_of_zero_count() -> None:
    assert _system((0.0, 0.0, 0.5)).content_key != _system((-0.0, 0.0, 0.5)).content_key


@pytest.mark.parametrize("mass", [2, np.int64(2), np.float64(2), np.float32(2), np.array(2.0)])
def test_equal_numbers_are_one_model(mass: object) -> None:
    reference = _system((0.0, 0.0, 0.5))
    for center in ((0, 0, 0.5), [0.0, 0, 0.5], np.array([0.0, 0.0, 0.5]), np.array([0, 0, 0.5], dtype=np.float32)):
        made = _system(center, mass)
        assert made == reference
        assert made.content_key == reference.content_key
        assert type(made.bodies[0].mass) is float


def test_nan_has_no_key() -> None:
    system = ArticulatedSystem((Body("arm", "ground", RevoluteJoint()),))
    object.__setattr__(system.bodies[0], "damping", float("nan"))
    with pytest.raises(ValueError, match="NaN"):
        _ = system.content_key


def test_joints_functions_and_shapes_keep_tuples() -> None:
    array = np.array
    joints = [
        (EllipsoidJoint(array([0.1, 0.2, 0.3])), EllipsoidJoint((0.1, 0.2, 0.3))),  # type: ignore[arg-type]
        (RevoluteJoint(array([0, 0, 1])), RevoluteJoint((0.0, 0.0, 1.0))),  # type: ignore[arg-type]
        (
            CustomJoint(["a"], [Axis(array([1, 0, 0]), np.int64(0), SimmSpline(array([0, 1]), [0, 2]))]),  # type: ignore[arg-type]
            CustomJoint(("a",), (Axis((1.0, 0.0, 0.0), 0, SimmSpline((0.0, 1.0), (0.0, 2.0))),)),
        ),
        (Polynomial(array([1, 2])), Polynomial((1.0, 2.0))),  # type: ignore[arg-type]
        (PiecewiseLinear(array([0, 1]), array([0, 2])), PiecewiseLinear((0.0, 1.0), (0.0, 2.0))),  # type: ignore[arg-type]
        (Shape("box", array([1, 2, 3])), Shape("box", (1.0, 2.0, 3.0))),  # type: ignore[arg-type]
    ]
    for given, plain in joints:
        assert given == plain
        assert content_digest(given) == content_digest(plain)


def test_constraints_given_as_arrays_are_those_given_as_tuples() -> None:
    system = ArticulatedSystem((Body("arm", "ground", EulerJoint()),))
    as_array = Constraints(system, [PointLoop("arm", "ground", np.array([1, 0, 0]))])  # type: ignore[arg-type]
    as_tuple = Constraints(system, [PointLoop("arm", "ground", (1.0, 0.0, 0.0))])
    moved = Constraints(system, [PointLoop("arm", "ground", (1.0, -0.0, 0.0))])
    assert as_array.key == as_tuple.key != moved.key
    assert Distance("arm", "ground", distance=np.int64(1)) == Distance("arm", "ground", distance=1.0)  # type: ignore[arg-type]
