"""Goals on a ball pendulum: a motion through the lock of its Euler angles is followed like any other."""

from dataclasses import replace

import numpy as np
import pytest

import myoquat as mq
from myoquat.analysis.control import (
    Effort,
    Equations,
    HermiteSimpson,
    OwnGoal,
    Problem,
    TrackCoordinates,
    TrackMarkers,
    TrackPose,
    TrackSpeeds,
)
from myoquat.data import Markers, Motion, motion_of
from myoquat.joints import quaternion_exp, quaternion_multiply, rotation_matrix
from myoquat.muscle.coordinates import Marker
from tests.bodies import on_ball

TIME = np.linspace(0.0, 0.5, 21)
DOWN = np.array([0.0, 0.0, -9.81])
HAND = np.array([0.05, 0.0, -0.3])


def arm(gravity=DOWN):
    body = on_ball("arm", mass=2.0, center_of_mass=(0, 0, -0.15), inertia=(0.02, 0.02, 0.002))
    system = mq.ArticulatedSystem((body,), gravity=tuple(gravity))
    return mq.Model(system, markers=(Marker("hand", "arm", tuple(HAND)), Marker("top", "arm", (0.1, 0.1, 0.0))))


def elevation():
    """About x through the pose Q = 1, where the first and the third axis of YZY coincide."""
    angle = 0.6 * np.sin(2 * np.pi * (TIME - 0.25))
    return np.stack([quaternion_exp([a, 0.0, 0.0]) for a in angle])


def problem(goals, model=None, intervals=8, **options):
    model = arm() if model is None else model
    return Problem(model, 0.5, goals, intervals, torques=model.system.velocity_names, **options)


@pytest.fixture(scope="module")
def followed():
    motion = Motion(arm(), TIME, elevation())
    return motion, problem((TrackPose(motion), Effort(weight=1e-8))).solve()


def test_a_solution_is_a_motion(followed, tmp_path):
    """Functions of motions take it, films too."""
    _, solution = followed
    motion = motion_of(solution)
    np.testing.assert_array_equal(motion.q, solution.q)
    assert solution.system is motion.system
    assert solution.activation is None
    mq.film(solution.model, solution, tmp_path / "a.gif", rate=10, size=(64, 48))
    assert (tmp_path / "a.gif").stat().st_size > 100


def test_motion_through_the_lock_is_followed(followed):
    motion, solution = followed
    assert solution.success
    assert solution.norm_error < 1e-12
    exact = np.stack([quaternion_exp([0.6 * np.sin(2 * np.pi * (t - 0.25)), 0, 0]) for t in solution.time])
    assert np.abs(motion.system.difference(exact, solution.q)).max() < np.radians(0.1)
    assert np.abs(solution.simulate().error[:, :3]).max() < np.radians(0.5)


def test_no_pose_is_special(followed):
    """The same motion, turned with gravity away from the lock, costs the same and takes as many iterations."""
    _, solution = followed
    R = quaternion_exp([0.3, -0.8, 0.5])
    turned = Motion(arm(rotation_matrix(R) @ DOWN), TIME, quaternion_multiply(R, elevation()))
    model = arm(rotation_matrix(R) @ DOWN)
    elsewhere = problem((TrackPose(turned), Effort(weight=1e-8)), model).solve()
    assert elsewhere.objective == pytest.approx(solution.objective, rel=1e-6)
    assert elsewhere.iterations == solution.iterations


def test_markers_and_speeds_give_the_motion_back(followed):
    motion, solution = followed
    R = rotation_matrix(motion.q)
    points = np.stack([R @ HAND, R @ np.array([0.1, 0.1, 0.0])], axis=1)
    markers = Markers(TIME, ("hand", "top"), points)
    goals = TrackMarkers(markers, weights={"hand": 2.0}), TrackSpeeds(motion, weight=1e-3), Effort(weight=1e-9)
    found = problem(goals, initial={"arm": motion.q[0]}).solve(motion)
    assert found.success
    assert np.abs(motion.system.difference(solution.q, found.q)).max() < np.radians(1.0)


def test_named_quantities_are_followed():
    """A velocity of the body alone: it turns about z at 2 rad/s, as the goal wants."""
    goal = TrackCoordinates(("arm.omega_z",), TIME, np.full((len(TIME), 1), 2.0), weights={"arm.omega_z": 3.0})
    found = problem((goal, Effort(weight=1e-6)), initial={"u": 0.0, "q": [1.0, 0, 0, 0]}).solve()
    assert found["arm.omega_z"][-1] == pytest.approx(2.0, abs=0.05)


def test_linear_controls_have_the_mean_in_the_middle(followed):
    motion, _ = followed
    goals = TrackPose(motion), Effort(weight=1e-8)
    straight = problem(goals, transcription=HermiteSimpson(linear_controls=True)).solve()
    controls = straight.controls
    assert np.allclose(controls[1::2], (controls[:-1:2] + controls[2::2]) / 2, atol=1e-8)


def test_goals_refuse_what_does_not_fit(followed):
    motion, _ = followed
    with pytest.raises(ValueError, match="the model has none of the markers foot"):
        problem((TrackMarkers(Markers(TIME, ("foot",), np.zeros((len(TIME), 1, 3)))),))
    with pytest.raises(ValueError, match="part of a quaternion"):
        problem((TrackPose(motion, weights={"arm.Q1": 1.0}),))
    late = replace(motion, time=TIME + 0.1)
    with pytest.raises(ValueError, match=r"the data cover 0\.1 to 0\.6 s; they are wanted from 0 to 0\.5 s"):
        problem((TrackPose(late),)).solve()


def test_weights_that_are_not_stated_count_one(followed):
    """Of a model with a ball joint and motion of it: `of` names what counts, `weights` how much."""
    motion, _ = followed
    system = motion.system
    every, some = (
        TrackPose(motion, weights={system.velocity_names[0]: 2.0}),
        TrackSpeeds(motion, of=(system.body_names[-1],)),
    )
    assert every.content(None)[1] == (2.0, *(1.0,) * (system.nu - 1))
    last = system.u_slices[-1]
    np.testing.assert_array_equal(np.flatnonzero(some.content(None)[1]), np.arange(last.start, last.stop))


def test_goals_of_the_same_title_are_reported_one_by_one():
    """The third has the name that the second is given."""
    cart = Equations(("x",), ("speed",), lambda point: (point["speed"],))
    names = ("effort", "effort", "effort 2")
    goals = tuple(OwnGoal(lambda p: p["speed"], weight=k, name=name) for k, name in enumerate(names, 1))
    values = Problem(cart, 2.0, goals, 2).goal_values({"speed": 3.0})
    assert values == pytest.approx({"effort": 6.0, "effort 2": 12.0, "effort 2 2": 18.0})
