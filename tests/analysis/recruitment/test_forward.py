"""Muscles that drive a model along a motion: activations that cause it need no help, and missing forces are
reported."""

from dataclasses import replace

import numpy as np
import pytest

import myoquat as mq
from myoquat.analysis.motion import differentiate
from myoquat.analysis.recruitment import Reserve, computed_muscle_control, forward_check, redundancy, track
from myoquat.analysis.recruitment.forward.check import longest_step
from myoquat.data import Motion
from myoquat.dynamics import SimulationWarning, mass_matrix
from myoquat.dynamics.constraints import PolynomialCoupler
from myoquat.joints import ArticulatedSystem
from myoquat.joints.functions import Constant, Linear, Sine
from myoquat.joints.types import RevoluteJoint
from myoquat.muscle import ActivationDynamics, CubicExponentialMuscle, Model, Muscle, PathPoint
from myoquat.muscle.actuators import ActivationCoordinateActuator
from myoquat.muscle.coordinates import Coordinate
from myoquat.muscle.forces import PrescribedForce
from myoquat.muscle.inputs import PrescribedInput
from myoquat.muscle.laws import DeGrooteFregly2016, PathActuator
from tests.analysis.recruitment.circle import on_a_circle
from tests.analysis.recruitment.shoulders import limb, shoulder
from tests.bodies import at_rest, on_hinge, on_slide

FRAMES = 41


@pytest.fixture(scope="module")
def arm():
    """A ball joint with six muscles around it, and a locked hand."""
    model = shoulder(lambda k: CubicExponentialMuscle(0.2, 300.0 + 20 * k), 6)
    bodies = (*model.system.bodies, limb("hand", "arm", RevoluteJoint((0, 0, 1)), (0.0, -0.3, 0.0)))
    return replace(model, system=ArticulatedSystem(bodies), coordinates=(Coordinate("hand.angle", locked=True),))


@pytest.fixture(scope="module")
def sled():
    return Model(ArticulatedSystem((on_slide("sled", mass=2.0),)))


@pytest.fixture(scope="module")
def swing(arm):
    """A smooth motion of the arm, the hand held: rotation vectors of a polynomial in time."""
    t, system = np.linspace(0.0, 0.4, FRAMES), arm.system
    way = np.zeros((FRAMES, 4))
    way[:, :3] = np.outer(10 * t**2 - 15 * t**3, (0.5, -0.2, 0.6))
    return replaced(differentiate(Motion(system, t, system.integrate(np.tile(system.neutral(), (FRAMES, 1)), way))))


def replaced(motion):
    """Without rounding on the locked coordinate."""
    u, udot = motion.u.copy(), motion.udot.copy()
    u[:, 3] = udot[:, 3] = 0.0
    return replace(motion, u=u, udot=udot)


@pytest.fixture(scope="module")
def found(arm, swing):
    return redundancy(
        arm, swing, reserves=[Reserve(name, 5.0, 100.0) for name in arm.system.velocity_names[:3]], backend="numpy"
    )


def test_what_redundancy_finds_moves_the_model(found):
    """Only what goes between frames is missing."""
    forward = forward_check(found)
    assert forward.complete
    assert forward.errors().rms_degrees.max() < 0.01
    assert forward.share < 1e-3
    assert forward.motion.q[-1, 4] == pytest.approx(0.0, abs=1e-10)
    assert forward.velocities == found.velocities
    np.testing.assert_allclose(forward.force, found.force, atol=0.1)
    assert {"m0.activation", "m5.force", "hand.speed.error"} <= set(forward.to_dataframe().columns)
    assert list(forward.efforts().columns) == ["muscles", "help"]
    assert "41 frames" in repr(forward)


def test_the_feedback_is_a_damped_oscillator_along_every_velocity():
    """The start is beside a motion at rest, without muscles, loads or gravity. The displacement is (1 + w t) exp(-w t)
    of that at the start. Frames of 2 ms have a constant feedback in each, of first order."""
    sleds = [on_slide(name, axis, mass=2.0) for name, axis in (("a", (1, 0, 0)), ("b", (0, 1, 0)))]
    model = Model(ArticulatedSystem(tuple(sleds)))
    t, w = np.linspace(0.0, 0.5, 251), np.array([10.0, 30.0])
    wanted = np.ones((251, 2))
    wanted[0] = 0.0
    found = track(model, Motion(model, t, wanted, 0 * wanted), bandwidth=w)
    expected = (1 + w * t[:-1, None]) * np.exp(-w * t[:-1, None])
    assert np.all(np.abs(found.error[1:] - expected) <= [0.02, 0.05])
    assert np.isnan(found.share)
    assert found.errors().rms_degrees.isna().all()
    assert np.abs(found.error[51] - expected[50]).max() < 0.2 * np.abs(expected[50, 0] - expected[50, 1])


def test_what_is_missing_is_shown(arm, swing, found):
    """With half of the activations the feedback does the rest."""
    tau = np.zeros((FRAMES, 4))
    tau[:, :3] = found.reserve
    half = track(arm, swing, found.activation / 2, tau)
    assert half.share > 0.1
    assert half.errors().rms_degrees["arm"] > 0.1


def test_elastic_tendons_start_in_balance(arm):
    """At rest, with activations that do not change, tendons that stretch give what the equilibrium says."""
    law = DeGrooteFregly2016(300.0, optimal_fiber_length=0.1, tendon_slack_length=0.18)
    rod = on_hinge("rod", "y", mass=2.0, center_of_mass=(0.0, 0.0, -0.2), inertia=(0.02, 0.02, 0.01))
    path = PathPoint("ground", (0.15, 0.0, 0.1)), PathPoint("rod", (0.05, 0.0, -0.15))
    model = Model(ArticulatedSystem((rod,)), (Muscle("m", path, law),))
    held = track(model, at_rest(model, 0.005 * np.arange(5)), np.full((5, 1), 0.3), elastic=True)
    start = mq.muscle.equilibrium_states(model, [0.0], [0.3])
    np.testing.assert_allclose(held.force[0], mq.muscle.muscle_forces(model, [0.0], [0.0], [0.3], start))
    assert held.model.muscles[0].law.states


def test_bad_input(arm, swing, found):
    other, a = mq.load_model("two_link"), found.activation
    elsewhere = Motion(other, [0.0, 0.1], [other.start] * 2, np.zeros((2, 6)))
    for call, words in (
        (lambda: track(arm, swing, np.zeros(6)), r"activation must have the shape \(41, 6\), not \(6,\)"),
        (lambda: track(arm, swing, a, np.full((41, 4), np.nan)), r"torque\[0, 0\] is nan; finite numbers are needed"),
        (lambda: track(arm, swing, a, bandwidth=-1.0), "bandwidth must be positive"),
        (lambda: computed_muscle_control(arm, swing, bandwidth=0.0), "no velocity is tracked"),
        (lambda: track(arm, swing, a, bandwidth=[20.0, 10.0]), "one for each of the 4 velocities"),
        (lambda: track(arm, replace(swing, u=None, udot=None), a), "a motion with u"),
        (lambda: computed_muscle_control(arm, replace(swing, udot=None)), "a motion with udot"),
        (lambda: track(arm, elsewhere), "belongs to another system"),
    ):
        with pytest.raises(ValueError, match=words):
            call()


def test_forces_of_time_and_delayed_motors_act_from_frame_to_frame():
    """2 kg under a force of 4 t N and a motor of 10 N whose activation 1 - exp(-t / 0.1) follows a control of 1: the
    closed form of the position, with windows that restart neither. Inputs are the model's own."""
    sled = on_slide("sled", "x", "x", mass=2.0)
    gust = PrescribedForce("gust", "sled", (Linear(4.0), Constant(0.0), Constant(0.0)))
    motor = ActivationCoordinateActuator("motor", "x", optimal_force=10.0, activation_time=0.1, activation=0.0)
    inputs = (PrescribedInput("motor", Constant(1.0)),)
    model = Model(ArticulatedSystem((sled,)), actuators=(motor,), forces=(gust,), inputs=inputs)
    t = np.linspace(0.0, 0.5, 11)
    x = (4 * t**3 / 6 + 10 * (t**2 / 2 - 0.1 * t + 0.01 * (1 - np.exp(-10 * t)))) / 2.0
    way = Motion(model.system, t, x[:, None], 0 * x[:, None])
    np.testing.assert_allclose(track(model, way, bandwidth=0.0).motion.q[:, 0], x, atol=1e-9)
    v = (2 * t**2 + 10 * (t - 0.1 * (1 - np.exp(-10 * t)))) / 2.0
    a = (4 * t + 10 * (1 - np.exp(-10 * t))) / 2.0
    followed = Motion(model.system, t, x[:, None], v[:, None], a[:, None])
    found = computed_muscle_control(model, followed, reserves=1.0, bandwidth=2.0, backend="numpy")
    assert np.abs(found.help).max() < 0.1  # between frames the accelerations are no straight lines


def test_a_motion_starts_on_constraints_at_its_own_time():
    """A crank follows a function of time, and a constraint drives the rod: at 0.7 s neither is where it was at 0."""
    bodies = [
        limb(name, on, RevoluteJoint((0, 1, 0)), (0, 0, -0.5), (name,)) for name, on in (("a", "ground"), ("b", "a"))
    ]
    way, half = Sine(0.3, 4.0, 0.2, 0.1), PolynomialCoupler("b", ("a",), (0.1, 0.5), ((0,), (1,)))
    model = Model(ArticulatedSystem(tuple(bodies)), coordinates=(Coordinate("a", prescribed=way),), constraints=(half,))
    t = np.linspace(0.7, 0.8, 21)
    a = np.stack([0.3 * np.sin(4 * t + 0.2) + 0.1, 1.2 * np.cos(4 * t + 0.2), -4.8 * np.sin(4 * t + 0.2)])
    q, u, udot = (np.stack([x, 0.5 * x + shift], axis=1) for x, shift in zip(a, (0.1, 0.0, 0.0), strict=True))
    found = track(model, Motion(model, t, q, u, udot))
    assert found.complete
    np.testing.assert_allclose(found.motion.q, q, atol=1e-12)


def test_reserves_are_those_of_the_first_frame_throughout():
    """At 45 degrees another slider becomes the one that the rod drives best."""
    model, motion, forces = on_a_circle()
    found = computed_muscle_control(model, motion, reserves=1.0)
    assert [reserve.name for reserve in found.reserves] == ["h_dot", "y_dot"]
    np.testing.assert_allclose(found.reserve, forces, rtol=2e-2, atol=2e-2)


def test_prescribed_excitations_act_with_their_delay_in_computed_muscle_control(sled):
    """The muscle alone pulls the sled: reserves are zero at its activations, and 100 N times their lag at its
    excitations."""
    path = PathPoint("ground", (1.0, 0.0, 0.0)), PathPoint("sled", (0.0, 0.0, 0.0))
    muscle = Muscle("m", path, PathActuator(100.0), activation=0.1, activation_dynamics=ActivationDynamics())
    model = replace(sled, muscles=(muscle,), inputs=(PrescribedInput("m", Linear(2.0, 0.1)),))
    run = mq.simulate(model, [0.0], [0.0], 0.2, rtol=1e-10, output_step=0.005)
    found = computed_muscle_control(model, run.to_motion(), reserves=1.0)
    np.testing.assert_allclose(found.activation, run.activation, atol=1e-6)
    assert np.abs(found.reserve).max() < 0.05
    assert np.abs(run.excitation - run.activation).max() > 0.02


def test_a_simulation_that_fails_keeps_what_it_has(sled):
    way = at_rest(sled, 0.1 * np.arange(4))
    with pytest.warns(SimulationWarning, match="failed after 0 s; the frames after are left out") as caught:
        found = track(sled, way, torque=np.full((4, 1), 1e12))
    assert caught[0].filename == __file__
    assert not found.complete
    assert "1 of 4 frames" in repr(found)


def test_steps_are_as_short_as_the_damping_asks():
    """A joint of rate d / I: steps of at most 2.785 of its reciprocal, and a sentence where that takes too long."""

    def damped(d):
        return ArticulatedSystem((replace(limb("a", "ground", RevoluteJoint((0, 0, 1)), (0, 0, 0)), damping=d),))

    rate = 100.0 / float(mass_matrix(damped(100.0), [0.0])[0, 0])
    way = at_rest(damped(100.0))
    step = longest_step(Model(way.system), way, np.zeros((2, 0)))
    assert step == pytest.approx(0.7 * 2.785 / rate, rel=1e-6)
    stiff = at_rest(damped(1e5))
    with pytest.raises(ValueError, match=r"velocities settle at .* /s, which asks for steps of .* s; give step="):
        track(Model(stiff.system), stiff)
