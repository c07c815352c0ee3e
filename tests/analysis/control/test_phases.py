"""Phases: flights of a ball between bounces, joined by the law of the impact, against the closed formulas."""

import numpy as np
import pytest

import myoquat as mq
from myoquat.analysis.control import (
    BoundaryConstraint,
    Duration,
    Effort,
    Equations,
    Join,
    Periodic,
    Phases,
    Problem,
    TrackPose,
)
from myoquat.analysis.control.problem import _Joined
from myoquat.data import Motion
from myoquat.joints import quaternion_exp
from tests.bodies import on_ball, on_slide

G, HEIGHT, RATIO = 9.81, 2.0, 0.8
FLIGHT = Equations(("h", "v"), (), lambda point: (point["v"], -G + 0.0 * point["h"]))
BOUNCE = BoundaryConstraint("impact", lambda before, after, duration: after["v"] + after["e"] * before["v"])


def flight(**ends):
    return Problem(FLIGHT, (0.05, 2.0), (Duration(weight=0.0),), 4, "gauss", parameters={"e": (0.1, 1.0)}, **ends)


HOP = flight(initial={"v": 0.0}, final={"h": 0.0}), flight(initial={"h": 0.0}, final={"v": 0.0})
IMPACT = (Join(free=("v",), constraints=(BOUNCE,)),)
GUESS = [{"h": [1.0, 0.0]}, {"h": [0.0, 1.0]}]


def test_a_bounce_joins_two_flights_and_shares_a_parameter():
    """A fall from 2 m, an impact, and a rise to its highest point, 0.64 of the height."""
    fall = flight(initial={"h": HEIGHT, "v": 0.0}, final={"h": 0.0})
    rise = flight(initial={"h": 0.0}, final={"h": RATIO**2 * HEIGHT, "v": 0.0})
    solution = Phases((fall, rise), IMPACT).solve()
    assert solution.success
    speed = np.sqrt(2 * G * HEIGHT)
    for phase, lasting in zip(solution.phases, (speed / G, RATIO * speed / G), strict=True):
        assert phase.duration == pytest.approx(lasting, rel=1e-8)
        assert phase.parameters["e"] == pytest.approx(RATIO, rel=1e-8)
    assert solution.duration == pytest.approx((1 + RATIO) * speed / G)
    assert np.all(np.diff(solution.time) >= 0)
    assert solution["h"][0] == pytest.approx(HEIGHT)
    assert "phase 2, " in solution.explain()


def test_constraints_of_the_whole_see_both_ends_and_all_durations():
    lasting = 1.3
    whole = BoundaryConstraint("time", lambda first, last, duration: duration - lasting)
    higher = BoundaryConstraint("height", lambda first, last, duration: last["h"] - RATIO**2 * first["h"])
    solution = Phases(HOP, IMPACT, (whole, higher)).solve(GUESS)
    assert solution.success
    assert solution["h"][0] == pytest.approx(G / 2 * (lasting / (1 + RATIO)) ** 2, rel=1e-6)


def test_a_join_sees_the_numbers_of_both_phases():
    """The time at the end of the first flight, the start of the second one, and the mass of a body that is unknown."""
    system = mq.ArticulatedSystem((on_slide("block", "x", "x", mass=1.0),))
    problem = Problem(system, (0.1, 2.0), (Duration(),), 2, "gauss", torques=("x_dot",), start=1.0,
                      parameters={"bodies.block.mass": (0.1, 5.0)})  # fmt: skip

    def numbers(before, after, duration):
        return [before.t, after.t, duration, before.system.bodies[0].mass, after.system.bodies[0].mass]

    ends = BoundaryConstraint("ends", numbers, (0.0,) * 5, (0.0,) * 5)
    guesses = [{"duration": lasting, "bodies.block.mass": mass} for lasting, mass in ((0.3, 2.0), (0.4, 3.0))]
    posed = [problem.posed(guess) for guess in guesses]
    joined = _Joined(posed, Phases((problem, problem), (Join(constraints=(ends,)),)))
    np.testing.assert_allclose(joined.program.constraints(joined.x)[-5:], [1.3, 1.0, 0.3, 2.0, 3.0])


def test_poses_of_ball_joints_go_on_across_a_join():
    """A ball joint that follows one motion in two phases: the second begins in the pose in which the first ends."""
    body = on_ball("arm", inertia=1)
    system = mq.ArticulatedSystem((body,), gravity=(0, 0, 0))
    time = np.linspace(0.0, 0.4, 9)
    poses = np.array([quaternion_exp([0.0, 3 * t, 0.0]) for t in time])

    def following(part, duration, intervals):
        goals = TrackPose(Motion(system, time[: len(part)], part)), Effort(weight=1e-3)
        return Problem(system, duration, goals, intervals, "midpoint", torques=system.velocity_names)

    whole = following(poses, 0.4, 8).solve()
    half = [following(part, 0.2, 4) for part in (poses[:5], poses[4:])]
    solution = Phases(half).solve()
    assert solution.success
    assert solution.objective == pytest.approx(whole.objective, rel=1e-6)
    assert np.allclose(np.abs(np.sum(solution.phases[0].q[-1] * solution.phases[1].q[0])), 1.0, atol=1e-12)


def test_a_periodic_motion_of_two_phases_hops_for_ever():
    """Without losses a ball rises as high as it fell: the cycle of given duration has one height."""
    lasting = BoundaryConstraint("time", lambda first, last, duration: duration - 1.0)
    solution = Phases(HOP, IMPACT, (lasting,), Periodic(free=("v",))).solve(GUESS)
    assert solution.success
    assert solution.phases[0].parameters["e"] == pytest.approx(1.0, abs=1e-6)
    assert solution["h"][-1] == pytest.approx(G / 8, rel=1e-6)


def test_phases_are_checked():
    one = flight(initial={"h": HEIGHT, "v": 0.0})
    with pytest.raises(ValueError, match="at least two"):
        Phases((one,))
    with pytest.raises(ValueError, match="2 phases have 1 joins, not 2"):
        Phases((one, one), (Join(), Join()))
    with pytest.raises(ValueError, match="'speed' does not exist"):
        Phases((one, one), (Join(free=("speed",)),)).solve()
    with pytest.raises(ValueError, match="as many guesses"):
        Phases((one, one)).solve([None])
    found = Phases((one, flight(initial={"h": -1.0}, final={"h": HEIGHT + 1.0}))).solve()
    assert not found.success
    assert "phase 2: " in found.explain() or "continuity" in found.explain()
