"""Conditional and moving points: exact Jacobians by all variables, also on quaternion joints that replaced angles."""

from dataclasses import replace

import numpy as np
import pytest

from myoquat.analysis.motion import inverse_dynamics_of_motion
from myoquat.analysis.recruitment import joint_loads, moment_arms, redundancy, static_optimization, track
from myoquat.dynamics import forward_dynamics_derivatives, linearize, simulate, step_derivatives
from myoquat.joints import ArticulatedSystem, Body
from myoquat.joints.errors import ModelError
from myoquat.joints.functions import Constant, Linear, SimmSpline
from myoquat.joints.types import FixedJoint, RevoluteJoint, SphericalJoint
from myoquat.joints.types.angles import Angles
from myoquat.muscle import (
    ConditionalPoint,
    Model,
    MovingPoint,
    Muscle,
    PathPoint,
    muscle_torques,
    path_jacobian,
    path_lengths,
)
from myoquat.muscle.laws import PathSpring

ANGLES = Angles(("flexion", "adduction", "rotation"), ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
SPLINE = SimmSpline((-2.0, -0.5, 0.3, 2.0), (0.02, 0.05, 0.01, 0.04))


@pytest.fixture
def model():
    """A ball hip whose angles the file named, and a hinge knee; one muscle with each type of point."""
    hip = Body("femur", "ground", SphericalJoint(angles=ANGLES), mass=1.0)
    knee = Body("tibia", "femur", RevoluteJoint(), (0.0, -0.4, 0.0), mass=1.0, coordinate_names=("knee",))
    start, end = PathPoint("ground", (0.1, 0.1, 0.0)), PathPoint("tibia", (0.05, -0.1, 0.02))
    moving = MovingPoint("tibia", (0.01, 0.0, 0.0), ("knee", "flexion", ""), (SPLINE, Linear(0.03), Linear(0.0, 0.02)))
    muscles = (
        Muscle("moving", (start, moving, end)),
        Muscle("angle", (start, ConditionalPoint("femur", (0.06, -0.2, 0.0), "flexion", (-0.5, 0.7)), end)),
        Muscle("hinge", (start, ConditionalPoint("femur", (0.06, -0.3, 0.0), "knee", (0.0, 1.0)), moving, end)),
    )
    return Model(ArticulatedSystem((hip, knee)), muscles)


def poses(model, n, rng):
    """Poses at least .01 from the edges of the conditional points and from the angles' lock."""
    q = model.system.random(4 * n, rng)
    phi, knee = ANGLES.values(q[:, :4]), q[:, 4]
    far = [np.abs(phi[:, 0] - x) > 0.01 for x in (-0.5, 0.7)] + [np.abs(knee - x) > 0.01 for x in (0.0, 1.0)]
    return q[np.all(far, axis=0) & (np.abs(phi[:, 1]) < 1.4)][:n]


def test_a_moving_point_rests_outside_its_range(model, rng):
    """There it is the point at the range's end, and lengths and Jacobians are those of a fixed one."""
    start, moving, end = model.muscles[0].path.points
    held = replace(moving, ranges=((-1.0, 1.0), (-9.0, 9.0), (-9.0, 9.0)))
    q = poses(model, 20, rng)
    q[:, 4] = rng.uniform(1.1, 2.0, 20)
    at_end = replace(moving, functions=(Constant(SPLINE.value(1.0)), *moving.functions[1:]))
    found, fixed = (replace(model, muscles=(Muscle("m", (start, p, end)),)) for p in (held, at_end))
    np.testing.assert_allclose(path_lengths(found, q), path_lengths(fixed, q), rtol=1e-14)
    for backend in ("kernel", "numpy"):
        np.testing.assert_allclose(path_jacobian(found, q, backend=backend), path_jacobian(fixed, q), atol=1e-13)
    with pytest.raises(ModelError, match=r"must be \(low, high\)"):
        replace(model, muscles=(Muscle("m", (start, replace(moving, ranges=((1.0, 0.0),) * 3), end)),))


def test_all_jacobians_agree(model, rng):
    q = poses(model, 30, rng)
    J, J_q = path_jacobian(model, q), path_jacobian(model, q, "coordinates")
    np.testing.assert_allclose(J_q @ model.system.rate_matrix(q), J, atol=1e-13)
    J_star = path_jacobian(model, q, "constrained", eliminated="largest")
    assert J_star.shape == (30, 3, 4)
    assert np.isfinite(J_star).all()


def test_a_point_that_is_there_at_the_edge(model):
    """OpenSim widens the range by 1e-5."""
    q = np.array([1.0, 0.0, 0.0, 0.0, 0.0])
    knees = np.array([-1.1e-5, -0.9e-5, 0.0, 1.0 + 0.9e-5, 1.0 + 1.1e-5])
    there = [model.muscles[2].path.points[1].active(model.system, np.array([*q[:4], x])) for x in knees]
    assert there == [False, True, True, True, False]


def test_a_path_begins_and_ends_with_points_that_are_always_there(model):
    conditional = model.muscles[1].path.points[1]
    with pytest.raises(ModelError, match="cannot be conditional"):
        Model(model.system, (Muscle("bad", (conditional, model.muscles[0].path.points[2])),))


@pytest.mark.parametrize("backend", ["kernel", "numpy"])
def test_two_points_at_one_place_leave_the_jacobian_whole(model, backend):
    """Ranges of two coordinates can switch the same point on twice, as in a model of the shoulder."""
    muscle = model.muscles[1]
    twice = replace(muscle, path=(*muscle.path.points[:2], *muscle.path.points[1:]))
    assert isinstance(twice.path.points[2], ConditionalPoint)
    both = Model(model.system, (muscle, replace(twice, name="apart", path=_apart(twice.path.points))))
    q = poses(model, 50, np.random.default_rng(4))
    J = path_jacobian(both, q, backend=backend)
    np.testing.assert_allclose(J[:, 1], J[:, 0], atol=1e-15)


def _apart(path):
    """The path with the range of its third point a little wider, so that it is not the same as its second."""
    low, high = path[2].range
    return (*path[:2], replace(path[2], range=(low, high + 1e-9)), *path[3:])


def test_a_path_of_a_model_without_coordinates_has_no_columns():
    """Both bones are welded: the length is that between the points, sqrt(0.1^2 + 0.1^2), and nothing moves it."""
    bone = Body("bone", "ground", FixedJoint(), mass=1.0, inertia=(0.1, 0.1, 0.1, 0, 0, 0))
    path = (PathPoint("ground", (0.1, 0.0, 0.0)), PathPoint("bone", (0.0, 0.1, 0.0)))
    model = Model(ArticulatedSystem((bone,)), (Muscle("m", path, law=PathSpring(100.0, 0.1)),))
    q = np.zeros((3, 0))
    np.testing.assert_allclose(path_lengths(model, q), np.sqrt(0.02) * np.ones((3, 1)), rtol=1e-15)
    assert path_jacobian(model, q).shape == (3, 1, 0)
    assert path_jacobian(model, q[0]).shape == (1, 0)
    assert moment_arms(model, q).shape == moment_arms(model, q, follow_constraints=True).shape == (3, 0)
    assert muscle_torques(model, q, q, np.ones((3, 1))).shape == (3, 0)
    for function, *args in (linearize,), (step_derivatives,), (forward_dynamics_derivatives, [], [], []):
        with pytest.raises(ValueError, match="no coordinates, so that there is nothing to differentiate"):
            function(model, *args)
    run = simulate(model, duration=0.01, step=0.005, activation=[1.0])
    motion = run.to_motion()
    assert inverse_dynamics_of_motion(model, motion).torque.shape == (3, 0)
    for loads, F in (
        (run.reactions[:, 0], run.force), (joint_loads(model, motion, run.force).wrench[:, 0], run.force),
        ((found := redundancy(model, motion)).joint_loads().wrench[:, 0], found.force),
    ):  # fmt: skip
        expected = np.sqrt(0.5) * F * [-1.0, 1.0, 0.0] + [0.0, 0.0, 9.81]  # against the pull and the weight
        np.testing.assert_allclose(loads[:, :3], expected, atol=1e-12)
    assert static_optimization(model, q, q, q).activation.shape == (3, 1)
    with pytest.raises(ValueError, match="no coordinates, so that it follows no motion"):
        track(model, motion, found.activation)
