"""Where a search starts without a guess, data between their frames, and optima that are no motions."""

import numpy as np
import pytest

import myoquat as mq
from myoquat.analysis.control import (
    Effort,
    Equations,
    MocoTrajectory,
    OwnGoal,
    Problem,
    SolutionStatus,
    TrackCoordinates,
    TrackMarkers,
    TrackOrientations,
)
from myoquat.analysis.motion import Sensor
from myoquat.data import Markers, Orientations
from myoquat.muscle.coordinates import Marker
from tests.bodies import on_ball, on_slide

BALL = on_ball("ball", inertia=(0.1, 0.2, 0.3))
SLED = on_slide("sled", "x", "x")
TIME = np.linspace(0.0, 1.0, 11)


def turned(angle):
    """(..., 4) rotations by angles (...) about (1, 2, 2) / 3."""
    axis = np.array([1.0, 2.0, 2.0]) / 3
    return np.concatenate([np.cos(angle / 2)[..., None], np.sin(angle / 2)[..., None] * axis], axis=-1)


def test_sensors_are_followed_from_a_start_half_a_turn_away():
    recorded = turned(np.pi - 0.2 * TIME)
    orientations = Orientations(TIME, ("imu",), recorded[:, None])
    goal = TrackOrientations(orientations, (Sensor("imu", "ball", (1.0, 0.0, 0.0, 0.0)),))
    system = mq.ArticulatedSystem((BALL,))
    goals = goal, Effort(weight=1e-6)
    problem = Problem(mq.Model(system), 1.0, goals, 10, "midpoint", torques=system.velocity_names)
    start = problem.posed().discretization.references
    angles = 2 * np.arccos(np.clip(np.abs(np.sum(start[:-1:2] * recorded[:-1], axis=1)), 0, 1))
    assert angles.max() < 1e-3
    solution = problem.solve()
    assert solution.status is SolutionStatus.SOLVED
    off = 2 * np.arccos(np.clip(np.abs(np.sum(solution.q * recorded, axis=1)), 0, 1))
    assert off.max() < 0.02  # without these starts it ended 180 degrees off, "SOLVED"


def test_markers_give_the_start():
    spots = (Marker("a", "ball", (1, 0, 0)), Marker("b", "ball", (0, 1, 0)), Marker("c", "ball", (0, 0, 1)))
    system = mq.ArticulatedSystem((BALL,))
    recorded = turned(2.5 + 0.5 * TIME)
    R = mq.joints.quaternion.rotation_matrix(recorded)
    positions = np.stack([R @ np.array(m.position, dtype=float) for m in spots], axis=1)
    goal = TrackMarkers(Markers(TIME, ("a", "b", "c"), positions))
    problem = Problem(mq.Model(system, markers=spots), 1.0, (goal,), 10, "midpoint", torques=system.velocity_names)
    start = problem.posed().discretization.references[::2]
    assert np.allclose(np.abs(np.sum(start * recorded, axis=1)), 1.0, atol=1e-6)


def test_markers_go_along_splines_between_frames_and_straight_through_gaps():
    model = mq.Model(mq.ArticulatedSystem((SLED,)), markers=(Marker("m", "sled", (0, 0, 0)),))
    positions = np.zeros((11, 1, 3))
    positions[:, 0, 0] = np.sin(3 * TIME)
    plant = Problem(model, 1.0, torques=("x_dot",)).plant
    at = np.linspace(0, 1, 37)
    found = TrackMarkers(Markers(TIME, ("m",), positions)).samples(plant, at)[:, 0]
    assert np.allclose(found, np.sin(3 * at), atol=1e-5)  # straight lines are off by 1e-2
    positions[4:6] = np.nan
    gap = TrackMarkers(Markers(TIME, ("m",), positions)).samples(plant, TIME[[4]])[0, 0]
    assert np.isclose(gap, np.sin(0.9) + (np.sin(1.8) - np.sin(0.9)) / 3)


def test_controls_and_states_of_a_trajectory_that_the_problem_does_not_have_raise():
    trajectory = MocoTrajectory(TIME, {"/jointset/sled/x/value": TIME}, {"/forceset/motr": TIME})
    problem = Problem(mq.ArticulatedSystem((SLED,)), 1.0, (Effort(),), 4, torques=("x_dot",))
    message = "the trajectory has controls that the problem has not: motr; those of the problem: x_dot.torque"
    with pytest.raises(ValueError, match=message):
        problem.solve(trajectory)
    for state in ("/forceset/motr/activation", "/elsewhere"):
        with pytest.raises(ValueError, match=f"has states that the problem has not: {state}; muscles and actuators"):
            problem.solve(MocoTrajectory(TIME, {state: TIME}, {}))
    named = MocoTrajectory(TIME, {}, {"/forceset/reserve_jointset_sled_x": TIME})
    assert problem.goal_values(named)["Effort"] == pytest.approx(1 / 3)


def test_optima_of_the_midpoint_rule_that_alternate_are_reported():
    """x = t from a start at rest: with x_k+1 - x_k = h (u_k + u_k+1) / 2 the speeds are 0, 2, 0, 2, ..."""
    line = TrackCoordinates(("x",), TIME, TIME[:, None])
    rest = {"x": 0.0, "x_dot": 0.0}

    def solved(weight):
        goals, motor = (line, Effort(weight=weight)), {"torques": ("x_dot",), "initial": rest}
        return Problem(mq.ArticulatedSystem((SLED,)), 1.0, goals, 20, "midpoint", **motor).solve()

    solution = solved(1e-12)
    assert solution.status is SolutionStatus.SOLVED
    assert np.allclose(solution["x_dot"][:8], 1.0 - (-1.0) ** np.arange(8), atol=0.15)
    assert solution.alternating == ("x_dot", "x_dot.torque")
    assert "these go up and down in every interval: x_dot" in repr(solution)
    assert "up and down in every interval, which" in solution.explain()
    assert solved(1e-2).alternating == ()


@pytest.mark.parametrize("transcription", ["radau", "hermite_simpson"])
def test_excitations_that_alternate_are_reported(transcription):
    """To hold a muscle that tenses faster than it relaxes, e = a costs a^2. A mean of two excitations costs less, so
    that there is no optimum: the more intervals, the more often the excitation changes."""

    def rate(point):
        ahead = point["e"] - point["a"]
        share = 0.5 + 0.5 * np.tanh(50 * ahead)
        return (ahead * (share / 0.015 + (1 - share) / 0.06),)

    def cost(point):
        return point["e"] ** 2 + 100 * (point["a"] - 0.5) ** 2

    def solved(rate):
        held = Equations(("a",), ("e",), rate)
        ends = {"initial": {"a": 0.5}, "final": {"a": 0.5}, "bounds": {"e": (0, 1)}}
        return Problem(held, 0.1, (OwnGoal(cost),), 10, transcription, **ends).solve({"e": 0.6})

    solution = solved(rate)
    assert solution.status is SolutionStatus.SOLVED
    assert solution.objective < 0.8 * 0.1 * 0.5**2
    assert solution.alternating == ("e",)
    assert "go up and down in every interval: e" in repr(solution)
    assert solved(lambda point: (60.0 * (point["e"] - point["a"]),)).alternating == ()
