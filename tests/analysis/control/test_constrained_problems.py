"""Constraints and couplers of models in optimal control: orders, forces, and problems whose solutions are known."""

from dataclasses import replace

import numpy as np
import pytest

import myoquat as mq
from myoquat.analysis.control import (
    TRANSCRIPTIONS,
    Effort,
    Ipopt,
    JointLoad,
    Periodic,
    Problem,
    TrackCoordinates,
    TrackPose,
)
from myoquat.analysis.control.plants.base import PathEquations
from myoquat.analysis.motion import smooth
from myoquat.data import Motion
from myoquat.dynamics.constraints import CoordinateCoupler, Distance, Locked, PointLoop, assemble
from myoquat.joints.functions import Linear
from myoquat.muscle.coordinates import Coordinate
from tests.bodies import on_ball, on_hinge, on_slide

G, START = 9.81, 0.5


def bob():
    """A point mass in a plane on a rope of 1 m: a pendulum in coordinates that do not know it."""
    x = on_slide("x", "x", "x", mass=0.0)
    z = on_slide("bob", "z", "z", parent="x", mass=2.0)
    return mq.Model(mq.ArticulatedSystem((x, z)), constraints=(Distance("bob", "ground", distance=1.0, name="rope"),))


def pose_of(angle):
    return np.array([np.sin(angle), -np.cos(angle)])


def swinging(method, intervals, model=None):
    """The bob falls from an angle for 1 s; the only motion that the equations allow."""
    return Problem(model or bob(), 1.0, (), intervals, method, initial={"q": pose_of(START), "u": 0.0}).solve()


@pytest.fixture(scope="module")
def pendulum():
    """Angle and rate at 1 s of the pendulum in its own angle."""
    rod = on_hinge("rod", (0, -1, 0), mass=2.0, center_of_mass=(0, 0, -1.0))
    way = mq.simulate(mq.ArticulatedSystem((rod,)), [START], [0.0], duration=1.0, step=1e-3, output_step=0.1)
    return way


@pytest.mark.parametrize("method", TRANSCRIPTIONS)
def test_projection_keeps_the_order(method, pendulum):
    errors = []
    for intervals in (10, 20):
        solution = swinging(method, intervals)
        assert solution.success
        assert np.allclose(np.linalg.norm(solution.q, axis=1), 1.0, atol=1e-9)  # at every node
        errors.append(np.abs(solution.q[-1] - pose_of(pendulum.q[-1, 0])).max())
    assert np.log2(errors[0] / errors[1]) > TRANSCRIPTIONS[method].order - 0.3


def bars(**held):
    """Three bars in a plane, each of 0.5 m."""
    hinge, bodies = mq.joints.RevoluteJoint((0, 1, 0)), list[mq.Body]()
    for k, name in enumerate("abc"):
        bodies.append(mq.Body(name, bodies[-1].name if k else "ground", hinge, (0.5 * (k > 0), 0.0, 0.0), mass=1.0,
                              center_of_mass=(0.25, 0.0, 0.0), coordinate_names=(name,)))  # fmt: skip
    return mq.Model(mq.ArticulatedSystem(tuple(bodies)), **{"start_q": (0.1, 0.4, 0.3)} | held)


LOCK = {"coordinates": (Coordinate("b", locked=True),)}
MOTORS = ("a_dot", "c_dot")


@pytest.mark.parametrize("method", ["trapezoid", "radau", "shooting"])
@pytest.mark.parametrize(
    ("ends", "locked"), [({}, 0.4), ({"initial": {"b": -0.2}}, -0.2), ({"final": {"b": 0.2}}, 0.2)]
)
def test_locked_coordinate_stays_where_the_model_or_the_problem_has_it(method, ends, locked):
    """A goal that asks for another value, at a free start, does not move it."""
    model, time = bars(**LOCK), np.linspace(0, 1, 9)
    wanted = TrackPose(Motion(model.system, time, np.stack([time**2, 0.7 + 0 * time, 0.3 + 0 * time], axis=1)))
    found = Problem(model, 1.0, (wanted,), 5, method, torques=MOTORS, **ends).solve()
    assert found.success
    assert np.abs(found["b"] - locked).max() < 1e-9


@pytest.mark.parametrize("method", ["hermite_simpson", "radau", "shooting"])
def test_locked_coordinate_stays_beside_a_rope(method):
    """The moves of poses onto the rope went through the lock, and the optimum used them: 0.1 rad in five intervals.

    Moves of velocities did so too, with an unknown of the lock against it, and shooting took other steps than with a
    weld.
    """
    free = bars()
    tip = mq.joints.point_position(free.system, free.start, "c", (0.3, 0.0, 0.0))
    rope = Distance("c", "ground", (0.3, 0.0, 0.0), (1.2, 0.0, 0.4), float(np.linalg.norm(tip - [1.2, 0.0, 0.4])))
    problem = Problem(bars(**LOCK, constraints=(rope,)), 1.0, (Effort(),), 5, method, torques=MOTORS,
                      initial={"q": free.start, "u": 0.0}, final={"a": 0.3})  # fmt: skip
    found = problem.solve()
    assert found.success
    assert np.ptp(found["b"]) < 1e-9
    if method == "shooting":  # the same program as beside a weld
        first, second, third = free.system.bodies
        weld = replace(second, joint=mq.joints.FixedJoint(), orientation=(np.cos(0.2), 0.0, np.sin(0.2), 0.0),
                       coordinate_names=None)  # fmt: skip
        fixed = mq.Model(mq.ArticulatedSystem((first, weld, third)), constraints=(rope,), start_q=(0.1, 0.3))
        others = replace(problem, model=fixed, initial={"q": [0.1, 0.3], "u": 0.0})
        found, beside = (p.solve(solver=Ipopt(options={"max_iter": 6})) for p in (problem, others))
        np.testing.assert_allclose(found.q[:, [0, 2]], beside.q, atol=1e-6)


def test_bounds_of_a_locked_coordinate_contain_its_value():
    with pytest.raises(ValueError, match=r"initial: 'b' is 0\.4 to 0\.4, outside its bounds 0 to 0\.3"):
        Problem(bars(**LOCK), 1.0, (Effort(),), 5, torques=MOTORS, bounds={"b": (0.0, 0.3)})


def test_prescribed_motion_of_a_locked_coordinate_is_an_error():
    """As in redundancy: the torques of the two would differ from those of any motion of the model."""
    model, time = bars(**LOCK), np.linspace(0, 1, 41)
    motion = smooth(Motion(model.system, time, np.stack([time**2, 0.1 * time + 0.4, 0.3 + 0 * time], axis=1)), None)
    with pytest.raises(ValueError, match=r"'b' is locked, but the motion moves it \(first at 0 s\); free it"):
        Problem(model, 1.0, (Effort(),), 5, torques=MOTORS, prescribed=motion).solve()


@pytest.mark.parametrize("method", ["shooting", "radau"])
def test_second_rope_of_the_same_length_changes_nothing(method):
    """Its row is that of the first, by pivoted rows at each pose: without pivots 0 / 0. The program has no such row."""
    (rope,) = bob().constraints
    twice = replace(bob(), constraints=(rope, replace(rope, name="other")))
    one, two = (swinging(method, 10, model) for model in (bob(), twice))
    assert two.success
    assert (two.iterations, two.multiplier_names) == (one.iterations, one.multiplier_names)
    np.testing.assert_allclose(two.q, one.q, atol=1e-9)
    np.testing.assert_allclose(two.simulate().q, one.simulate().q, atol=1e-9)


PIN = PointLoop("c", "ground", (0.5, 0.0, 0.0), (0.9, 0.0, -0.2), name="pin")
HALF = CoordinateCoupler("b", "a", Linear(-0.5, 0.1), name="half")
ROWS = {  # constraints, and the rows of phi and of phidot that no others imply
    "pin across the plane": ((PIN,), ([0, 2], [0, 2])),
    "pin twice": ((replace(PIN, axes="xz"), replace(PIN, axes="xz", name="again")), ([0, 1], [0, 1])),
    "lock of what follows a lock": ((HALF, Locked("a"), Locked("b")), ([0], [0, 1])),
    "lock of what is pinned": ((PIN, Locked("a"), HALF), ([0, 2, 3], [0, 2, 3])),
    "a coupler and a lock": ((HALF, Locked("a")), ([0], [0, 1])),
    "contradiction": ((HALF, replace(HALF, function=Linear(-0.5, 0.2), name="other")), ([0, 1], [0, 1])),
}


@pytest.mark.parametrize("case", ROWS)
def test_rows_that_others_imply_are_found(case):
    """By hand: bars in a plane have 3 freedoms, a pin takes 2, a lock the last one. What contradicts stays."""
    constraints, rows = ROWS[case]
    assert PathEquations(bars(constraints=constraints), constraints).kept == rows


def test_a_pin_across_the_plane_of_motion_costs_no_iteration():
    """Its row along the axis of the hinges is zero. The force in a joint is the same without it."""
    found = []
    for pin in (replace(PIN, axes="xz"), PIN):
        model = bars(constraints=(pin,))
        q = assemble(model, model.start)
        goals = Effort(), JointLoad("a", weight=1e-4)
        torques = dict.fromkeys(model.system.velocity_names, 10.0)
        problem = Problem(model, 0.5, goals, 10, torques=torques, initial={"q": q, "u": 0.0}, final={"a": q[0] + 0.1})
        found.append(problem.solve())
    plane, space = found
    assert plane.success
    assert (plane.iterations, plane.multipliers.shape) == (space.iterations, space.multipliers.shape)
    assert space.multiplier_names == tuple(f"multiplier of point loop 'pin', row {k}" for k in (1, 3))
    np.testing.assert_allclose(space.q, plane.q, atol=1e-9)
    assert space.goals == pytest.approx(plane.goals, rel=1e-8)


def test_multiplier_is_the_tension_of_the_rope(pendulum):
    """T = m (g cos(angle) + rate^2); the constraint is |p| = 1, or its square, whose gradient has the length |A|."""
    solution = swinging("hermite_simpson", 20)
    nodes = solution.layout.nodes
    held = solution.sites.fields["multipliers"][nodes]
    A = np.array([[np.asarray(solution.statement.plant.constraints.constraints.jacobian(q, 0.0))] for q in solution.q])
    tension = np.linalg.norm(held[:, :, None] * A[:, 0], axis=(1, 2))
    exact = 2.0 * (G * np.cos(pendulum.q[:, 0]) + pendulum.u[:, 0] ** 2)
    assert np.allclose(tension[::2], exact, rtol=1e-4)
    assert solution.multiplier_names == ("multiplier of distance 'rope'",)
    assert solution.multipliers.shape == (41, 1)


@pytest.mark.parametrize(
    ("method", "inertia", "parameters", "more"),
    [("hermite_simpson", 0.2, {}, 1.0), ("shooting", 0.7, {"bodies.second.inertia.zz": 0.2}, 1 / 0.99)],
)
def test_gear_takes_the_effort_of_its_reduced_inertia(method, inertia, parameters, more):
    """Least integral of torque^2 over 1 s from rest to rest, 1 rad away: 12 (I1 + n^2 I2)^2, by the calculus of
    variations; 1 / (1 - 1 / n^2) times as much with torques that are constant on each of n intervals."""

    def wheel(name, inertia):
        return on_hinge(name, "z", name, inertia=(1, 1, inertia))

    gear = CoordinateCoupler("second", "first", Linear(3.0), name="gear")
    model = mq.Model(mq.ArticulatedSystem((wheel("first", 0.5), wheel("second", inertia))), constraints=(gear,))
    problem = Problem(
        model, 1.0, (Effort(),), 10, method, torques=("first_dot",), initial={"q": [0, 0], "u": 0},
        final={"first": 1.0, "first_dot": 0}, parameters=parameters,
    )  # fmt: skip
    solution = problem.solve()
    assert solution.success
    assert solution.objective == pytest.approx(12 * (0.5 + 9 * 0.2) ** 2 * more, rel=1e-6)
    assert np.allclose(solution["second"], 3 * solution["first"], atol=1e-9)


def test_tied_ball_joint_is_kept_and_its_torques_hold_forward():
    """A rod on a ball joint in quaternions, whose end is tied to a place by a rope."""
    rod = on_ball("rod", center_of_mass=(0, 0, -0.5), inertia=(0.3, 0.3, 0.01))
    tie = Distance("rod", "ground", (0, 0, -1.0), (0.6, 0.0, -1.0), distance=0.5)
    model = mq.Model(mq.ArticulatedSystem((rod,)), constraints=(tie,))
    start = assemble(model, model.system.integrate(model.start, [0.4, 0.0, 0.0]))
    still = Motion(model, [0.0, 0.3], [start, start])
    torques = {"rod.omega_x": 5.0, "rod.omega_z": 5.0}
    goals = TrackPose(still), Effort(weight=1e-3)
    solution = Problem(model, 0.3, goals, 6, torques=torques, initial={"q": start, "u": 0.0}).solve()
    assert solution.success
    assert solution.norm_error < 1e-12
    assert max(np.abs(tie.position(model.system, q, 0.0)).max() for q in solution.q) < 1e-9
    assert np.abs(solution.u).max() > 0.05  # it falls along the sphere about the place
    assert solution.simulate().largest < 1e-4


def test_periodic_swing_determines_its_multipliers():
    """The start is on the rope because the end is, and no row comes twice. With the same state and the same control at
    both ends, the force of the rope is the same."""
    time = np.linspace(0, 1.5, 31)
    follow = TrackCoordinates(("x",), time, 0.3 * np.sin(2 * np.pi * time / 1.5)[:, None], weight=100.0)
    problem = Problem(
        bob(), 1.5, (follow, Effort(weight=0.01)), 15, torques=("x_dot",), periodic=Periodic(),
        bounds={"z": (-1.1, -0.5)},
    )  # fmt: skip
    solution = problem.solve({"z": -1.0})
    assert solution.success
    assert np.allclose(solution.q[0], solution.q[-1], atol=1e-9)
    assert solution.multipliers[-1] == pytest.approx(solution.multipliers[0], rel=1e-6)
    assert np.abs(solution.iterates.constraint_multipliers).max() < 1e3


def test_start_off_the_constraints_is_rejected_by_name():
    with pytest.raises(ValueError, match=r"initial: the start misses the position of distance 'rope' by 0\.\d+"):
        Problem(bob(), 1.0, (), 5, initial={"q": [0.0, -0.7], "u": 0.0}).solve()
