"""Muscle redundancy: motions that known activations cause, joints that stay stable, static optimization beside it."""

from dataclasses import replace

import numpy as np
import pytest

from myoquat.analysis.recruitment import EllipticCone, joint_loads
from myoquat.analysis.recruitment.convex import Status
from myoquat.analysis.recruitment.free import free_velocities
from myoquat.analysis.recruitment.redundancy import Effort, JointCone, Reserve, ReserveActuator, Sequential, redundancy
from myoquat.analysis.recruitment.redundancy.solving import reachable
from myoquat.core import NotSolvedError
from myoquat.data import Motion
from myoquat.dynamics import forward_dynamics
from myoquat.joints import ArticulatedSystem
from myoquat.joints.errors import ModelError
from myoquat.muscle import (
    ActivationDynamics,
    CubicExponentialMuscle,
    ExponentialMuscle,
    Model,
    Muscle,
    PathPoint,
    law_forces,
    muscle_torques,
    path_jacobian,
    path_lengths,
)
from myoquat.muscle.actuators import PointActuator, TorqueActuator
from myoquat.muscle.coordinates import Coordinate, Marker
from tests.analysis.recruitment import shoulders
from tests.analysis.recruitment.chains import CHAINS, moving
from tests.analysis.recruitment.shoulders import X, caused
from tests.bodies import at_rest, on_hinge, with_muscles

Z = (0.0, 0.0, 1.0)


MARKERS = tuple(Marker(name, *at) for name, at in {
    "head": ("arm", (0.0, 0.0, 0.0)), "centre": ("trunk", (0.17, 0.3, 0.0)), "rim": ("trunk", (0.17, 0.31, 0.0)),
}.items())  # fmt: skip
# eight muscles around a ball joint on a trunk that leans, three markers of its socket, a motor that costs nothing
SHOULDER = replace(
    shoulders.shoulder(lambda k: CubicExponentialMuscle(0.3, 400.0 + 20 * k), trunk=True), markers=MARKERS
)
TRUNK = (Reserve(SHOULDER.system.velocity_names[0], 10.0, 0.0),)


@pytest.fixture(scope="module")
def made():
    """A motion of the shoulder, and the activations that cause it."""
    return caused(SHOULDER, np.random.default_rng(1), 12, held=20.0)


def solved(motion, model=SHOULDER, reserves=TRUNK, **options):
    return redundancy(model, motion, reserves=reserves, backend="numpy", **options)


def assert_met(found):
    assert (found.status == Status.SOLVED).all()
    assert np.abs(found.residual).max() < 1e-8


def test_activations_that_cause_a_motion_are_not_beaten(made):
    """The forces found cause the same accelerations, with no more effort than those that made the motion."""
    motion, a = made
    for power in (2.0, 3.0):
        found = solved(motion, effort=Effort(power))
        assert_met(found)
        assert (found.effort <= (a**power).sum(-1) * (1 + 1e-9)).all()
        assert np.allclose(found.effort, (found.activation**power).sum(-1))
        assert (found.effort - found.bound < 1e-9 * found.effort).all()
        tau = muscle_torques(SHOULDER, motion.q, motion.u, found.activation)
        tau[:, 0] += found.reserve[:, 0]
        udot = forward_dynamics(SHOULDER.system, motion.q, motion.u, tau)
        np.testing.assert_allclose(udot, motion.udot, atol=1e-6)
    assert repr(found) == "<Redundancy 8 muscles, 12 frames: 12 solved>"


def test_the_least_stress_and_the_least_greatest_activation(made):
    """Neither is beaten by the activations that made the motion; both are certain, and mean what they say."""
    motion, a = made
    strength = np.array([m.law.max_isometric_force for m in SHOULDER.muscles])
    least = solved(motion)
    zero, one = (law_forces(SHOULDER, *paths(SHOULDER, motion), np.full(a.shape, x)) for x in (0.0, 1.0))
    stress = (zero + (one - zero) * a) / strength
    found = solved(motion, effort=Effort(3.0, of="stress"))
    assert_met(found)
    np.testing.assert_allclose(found.effort, ((found.force / strength) ** 3).sum(-1))
    assert (found.effort <= (stress**3).sum(-1) * (1 + 1e-9)).all()
    assert (found.effort <= ((least.force / strength) ** 3).sum(-1) * (1 + 1e-9)).all()
    weights = np.linspace(0.5, 2.0, 8)
    found = solved(motion, effort=Effort(np.inf, weights))
    assert_met(found)
    np.testing.assert_allclose(found.effort, (weights * found.activation).max(-1))
    assert (found.effort <= (weights * a).max(-1) * (1 + 1e-6)).all()
    assert (found.effort - found.bound <= 1e-4 * found.effort).all()


def test_activations_follow_their_dynamics(made):
    """Without dynamics activations jump. With them none gets further than an excitation of 0 or 1 brings it, which the
    piecewise form has in closed form. Muscles without dynamics are left as they are."""
    motion, _ = made
    dynamics = ActivationDynamics(form="piecewise")
    muscles = tuple(replace(m, activation_dynamics=dynamics) for m in SHOULDER.muscles)
    model, motors = replace(SHOULDER, muscles=muscles), [Reserve(n, 20.0) for n in SHOULDER.system.velocity_names]
    free, found = (solved(motion, model, motors, dynamics=d) for d in (None, Sequential()))
    assert_met(found)
    before, after = found.activation[:-1], found.activation[1:]
    for a in (free.activation[1:] - free.activation[:-1], after - before):
        assert np.abs(a).max() > 0.01

    def rising(a):  # how long it takes from 0 with an excitation of 1, over the time constant
        return -1.5 * a - 2 * np.log(1 - a)

    def falling(a):  # how long it takes from 1 with an excitation of 0
        return 2 * (np.log(1 / a) + np.log((0.5 + 1.5 * a) / 2))

    step = 0.01 * (1 + 1e-5)
    up = after > before
    assert (0.015 * (rising(after) - rising(before))[up] <= step).all()
    assert (0.060 * (falling(after) - falling(before))[~up] <= step).all()
    low, high = reachable(model, np.full(8, 0.3), 0.01)
    assert 0.015 * (rising(high) - rising(0.3))[0] == pytest.approx(0.01, rel=1e-5)
    assert 0.060 * (falling(low) - falling(0.3))[0] == pytest.approx(0.01, rel=1e-5)
    assert (found.effort >= free.effort * (1 - 1e-9)).all()
    without = solved(motion, SHOULDER, motors, dynamics=Sequential())
    np.testing.assert_array_equal(without.activation, free.activation)


def paths(model, motion):
    """Lengths and speeds of the muscles' paths."""
    return path_lengths(model, motion.q), np.einsum("tmu,tu->tm", path_jacobian(model, motion.q), motion.u)


def test_a_joint_is_kept_stable(made):
    """The force in the joint is that of `joint_loads`; within the cone, at no less effort than without; cones that are
    wide enough change nothing."""
    motion, _ = made
    cone = JointCone.from_markers(SHOULDER, "arm", "head", "centre", "rim")
    assert cone.half_angle == pytest.approx(np.arctan(1 / 3))
    np.testing.assert_allclose(cone.direction, (-1.0, 0.0, 0.0), atol=1e-15)
    without = solved(motion)
    found = solved(motion, cones=[cone])
    good = found.status == Status.SOLVED
    assert good.sum() >= 4
    loads = joint_loads(SHOULDER, motion, found.force).of("arm", on="parent", frame="parent")
    np.testing.assert_allclose(found.pressed[:, 0], loads.force, atol=1e-7)
    assert found.margin[good].min() > -1e-8
    assert np.abs(found.residual[good]).max() < 1e-8
    shaped = found.margin[:, 0] < 1e-6
    assert (good & shaped).any()
    assert (found.effort[good] >= without.effort[good] * (1 - 1e-9)).all()
    outside = joint_loads(SHOULDER, motion, without.force).of("arm", on="parent", frame="parent").force
    held = np.arccos(-outside[:, 0] / np.linalg.norm(outside, axis=-1)) <= cone.half_angle
    np.testing.assert_array_equal(held[good], ~shaped[good])
    np.testing.assert_allclose(found.effort[held], without.effort[held], rtol=1e-9)
    assert np.abs(found.pull[good & shaped]).max(axis=-1).min() > 1e3 * np.abs(found.pull[held]).max(initial=0.0)

    # within bounds 2 a is the price of the torques and the joint's force times what the muscle gives of them
    shares = found.shares()
    assert list(shares.columns) == [*found.velocities, "arm"]
    total = shares.sum(axis=1).to_numpy().reshape(found.activation.shape)
    inner = (found.activation > 1e-3) & (found.activation < 1 - 1e-3) & (found.status == Status.SOLVED)[:, None]
    assert inner.any()
    np.testing.assert_allclose(total[inner], 2 * found.activation[inner], atol=1e-6)


def test_frames_without_solution_say_so_and_stop_no_other(made):
    motion, _ = made
    udot = motion.udot.copy()
    udot[3, 2] += 1e5
    found = solved(replace(motion, udot=udot))
    assert list(np.flatnonzero(found.status != Status.SOLVED)) == [3]
    assert not found.success
    with pytest.raises(NotSolvedError, match="1 infeasible"):
        found.check()
    row = found.failures().loc[3]
    assert row["status"] == "infeasible"
    assert abs(row["missing"]) > 1.0
    assert np.isinf(found.bound[3])
    single = solved(motion)
    assert single.check() is single
    rest = np.arange(12) != 3
    np.testing.assert_array_equal(found.activation[rest], single.activation[rest])
    long = Motion(SHOULDER.system, 0.01 * np.arange(36), *(np.tile(getattr(motion, n), (3, 1)) for n in ("q", "u")),
                  np.tile(udot + 1e5, (3, 1)))  # fmt: skip
    none = solved(long, reserves=[replace(TRUNK[0], weight=1.0)])
    assert (none.status == Status.INFEASIBLE).all()  # so that no frame has a neighbour to start from


def held_arm(mass):
    """An upper arm on a hinge with a muscle, which carries a forearm on a hinge without one, both level and at rest."""
    upper = on_hinge("upper", "y", mass=mass, center_of_mass=(0.5, 0, 0))
    fore = on_hinge("fore", "y", parent="upper", position=(1.0, 0, 0), center_of_mass=(0.5, 0, 0))
    path = (PathPoint("ground", (0.0, 0.0, 0.4)), PathPoint("upper", (0.3, 0.0, 0.0)))
    model = Model(ArticulatedSystem((upper, fore)), (Muscle("biceps", path, ExponentialMuscle(0.5, 200.0)),))
    return model, at_rest(model)


def test_reasons_name_what_is_missing_and_the_reserve_that_gives_it():
    """Level at rest the forearm needs m g / 2 = 4.905 N m at the elbow, which nothing gives. A heavy upper arm needs
    more than the muscle's 200 N at an arm of 0.24 m."""
    model, motion = held_arm(1.0)
    shoulder, elbow = model.system.velocity_names
    found = redundancy(model, motion)
    (reason,) = found.reasons()
    assert reason.startswith(f"{elbow}: -4.9")
    assert "no muscle and no reserve acts on it" in reason
    with pytest.raises(NotSolvedError, match="no muscle and no reserve"):
        found.check()
    solved = redundancy(model, motion, reserves={elbow: 4.91})
    assert solved.success
    assert solved.reasons() == []
    heavy, motion = held_arm(10.0)
    (reason,) = redundancy(heavy, motion, reserves={elbow: 5.0}).reasons()
    assert reason.startswith(f"{shoulder}: ")
    assert "its muscles give at most 48 N m in this direction" in reason


def test_reserves_by_patterns_are_those_of_their_velocities():
    model, motion = held_arm(1.0)
    shoulder, elbow = model.system.velocity_names
    both = redundancy(model, motion, reserves={"*": 3.0, "fore*": 5.0})
    assert [(r.name, r.strength) for r in both.reserves] == [(shoulder, 3.0), (elbow, 5.0)]
    with pytest.raises(ValueError, match=r"there is no free velocity 'knee\*'"):
        redundancy(model, motion, reserves={"knee*": 5.0})
    with pytest.raises(
        TypeError, match="reserves are a strength, strengths by name, or a sequence of Reserve, not None"
    ):
        redundancy(model, motion, reserves=None)


def test_round_off_is_no_muscle():
    """Constraints and wrapped paths leave moments of 1e-15 on joints that no muscle crosses."""
    model, motion = held_arm(1.0)
    found = redundancy(model, motion)
    (reason,) = replace(found, arms=found.arms + 1e-17).reasons()
    assert "no muscle and no reserve acts on it" in reason
    away = JointCone("upper", (0.0, 0.0, 1.0), half_angle=0.1)
    found = redundancy(model, motion, reserves=100.0, cones=[away])
    (reason,) = replace(found, residual=found.residual + 1e-8, force=found.force + 1.0).reasons()
    assert reason.startswith("upper: the force is up to 174 degrees outside its cone")


def test_cone_beside_a_constraint_holds_the_true_reaction(rng):
    """The force at a joint that a pin passes by is that of `joint_loads`, pin, spring, bushing and reserves at bodies
    included, and the cone keeps it."""
    motion, _ = moving(rng, 5)
    pusher = PointActuator("push", "E", (0.01, -0.1, 0.02), (0.0, 1.0, 1.0), optimal_force=50.0)
    motors = [Reserve(name, 20.0, 0.1) for name in free_velocities(CHAINS, motion.q)[0]] + [ReserveActuator(pusher)]
    wide = solved(motion, CHAINS, motors, cones=[JointCone("B", X, 1.5)])
    middle = wide.pressed[:, 0].mean(axis=0)
    across = np.cross(middle, X)
    beside = middle + 0.5 * np.linalg.norm(middle) * across / np.linalg.norm(across)
    found = solved(motion, CHAINS, motors, cones=[JointCone("B", tuple(beside), 0.4)])
    good = found.status == Status.SOLVED
    assert good.sum() >= 3
    assert (good & (found.margin[:, 0] < 1e-6)).any()
    assert found.margin[good].min() > -1e-7
    for result in (wide, found):
        force = result.joint_loads().of("B", on="parent", frame="parent").force
        np.testing.assert_allclose(result.pressed[good, 0], force[good], atol=1e-9 * np.abs(force).max())


def test_an_actuator_anywhere_helps_as_one_on_the_velocity_does(made):
    """A torque about the trunk's axis is the motor there. A force at a point of the trunk is one too, with the lever
    that it has in each pose. Where neither costs anything, the muscles do the same."""
    motion, _ = made
    dear = solved(motion, reserves=[replace(TRUNK[0], weight=2.0)])
    torque = TorqueActuator("twist", "trunk", "ground", X, optimal_force=TRUNK[0].strength)
    found = solved(motion, reserves=[ReserveActuator(torque, 2.0)])
    np.testing.assert_allclose(found.activation, dear.activation, atol=1e-12)
    np.testing.assert_allclose(found.reserve, dear.reserve, atol=1e-9)
    force = PointActuator("push", "trunk", (0.1, 0.4, 0.2), Z, direction_in_world=True, optimal_force=50.0)
    pushed = solved(motion, reserves=[ReserveActuator(force, 0.0)])
    held = solved(motion)
    np.testing.assert_allclose(pushed.activation, held.activation, atol=1e-9)
    angle = motion.q[:, 0]
    lever = 0.4 * np.cos(angle) - 0.2 * np.sin(angle)  # y of the point above the axis
    np.testing.assert_allclose(pushed.reserve[:, 0] * lever, held.reserve[:, 0], atol=1e-8)
    table, data = pushed.to_dataframe(), pushed.to_xarray()
    assert {"m0.activation", "m7.force", "push.reserve", "effort", "status"} <= set(table.columns)
    np.testing.assert_array_equal(table["m3.force"], data["force"].sel(muscle="m3"))


def test_the_axes_of_a_rule_are_a_right_handed_frame_whose_first_axis_lies_towards_that_of_the_rule():
    rule = EllipticCone("arm", (1.0, 2.0, -1.0), (1.0, 0.0, 0.5), (0.3, 0.6))
    np.testing.assert_allclose(rule.frame @ rule.frame.T, np.eye(3), atol=1e-15)
    np.testing.assert_allclose(np.linalg.det(rule.frame), 1.0)
    np.testing.assert_allclose(rule.frame @ rule.axis, [*(rule.frame @ rule.axis)[:2], 0.0], atol=1e-15)
    assert rule.frame[1] @ rule.axis > 0


def test_bad_questions(made):
    motion, _ = made
    for arguments, words in (
        ({"effort": Effort(11.0)}, "power must lie in"),
        ({"effort": Effort(weights={"m9": 1.0})}, "no muscle for weights: 'm9'"),
        ({"effort": Effort(weights=-1.0)}, "not negative"), ({"effort": Effort(of="power")}, "or"),
        ({"effort": Effort(weights=[1.0, 2.0])}, "weights has shape"),
        ({"reserves": [Reserve("elbow")]}, "no velocity 'elbow'"), ({"reserves": [*TRUNK, *TRUNK]}, "two reserves"),
        ({"cones": [JointCone("elbow", X, 0.3)]}, "elbow"),
        ({"reserves": 2 * [ReserveActuator(TorqueActuator("m", "arm", "trunk"))]}, "the name 'm' has two reserves"),
    ):  # fmt: skip
        with pytest.raises((ValueError, KeyError), match=words):
            redundancy(SHOULDER, motion, **arguments)
    for make, words in (
        (lambda: JointCone("arm", (0.0, 0.0, 0.0), 0.3), "direction must be a vector"),
        (lambda: JointCone("arm", X, 2.0), "half_angle must lie in"),
        (lambda: JointCone.from_markers(SHOULDER, "arm", "haed", "centre", "rim"), "no marker 'haed'"),
        (lambda: Reserve("x", -1.0), "strength must be positive"),
        (lambda: Reserve("x", weight=-1.0), "weight must not be negative"),
        (lambda: Reserve("x", lower=1.0, upper=0.0), "no control lies between lower and upper, 1.0 and 0.0"),
        (lambda: Reserve("x", lower=np.inf), "no control lies between lower and upper"),
        (lambda: ReserveActuator(TorqueActuator("m", "arm", "trunk"), -1.0), "weight must not be negative"),
        (
            lambda: ReserveActuator(TorqueActuator("m", "arm", "trunk", optimal_force=0.0)),
            "optimal_force must be positive",
        ),
        *(
            (lambda own=own: ReserveActuator(TorqueActuator("m", "arm", "trunk", **own)), words)
            for own, words in (
                ({"optimal_force": np.inf}, "optimal_force must be positive, not inf"),
                ({"lower": np.inf}, "reserve 'm': no control lies between lower and upper, inf and inf"),
                ({"lower": -np.inf, "upper": -np.inf}, "no control lies"),
                ({"lower": 1.0, "upper": 0.0}, "no control lies"),
            )
        ),
    ):
        with pytest.raises(ValueError, match=words):
            make()
    with pytest.raises(ValueError, match="has no udot"):
        redundancy(SHOULDER, replace(motion, udot=None))
    with pytest.raises(ValueError, match="has no frames"):
        redundancy(
            SHOULDER, replace(motion, **{name: getattr(motion, name)[:0] for name in ("time", "q", "u", "udot")})
        )
    with pytest.raises(TypeError, match=r"a sequence of Reserve and ReserveActuator, not 'f'"):
        redundancy(SHOULDER, motion, reserves="five")
    locked = replace(SHOULDER, coordinates=(Coordinate(SHOULDER.system.coordinate_names[0], locked=True),))
    with pytest.raises(ValueError, match="is locked, but the motion"):
        redundancy(locked, motion)
    weak = with_muscles(SHOULDER, law=None)
    with pytest.raises(ModelError, match="law"):
        redundancy(weak, motion)
