"""Controls and muscles that a model prescribes act in every analysis, and are no unknowns."""

from dataclasses import replace

import numpy as np
import pytest

import myoquat as mq
from myoquat.analysis.control import Effort, OwnGoal, Problem
from myoquat.analysis.motion import inverse_dynamics_of_motion, smooth
from myoquat.analysis.recruitment import (
    CalibrationTrial,
    MomentTrial,
    calibrate_moments,
    calibrate_muscles,
    emg_driven,
    joint_loads,
    redundancy,
    static_optimization,
)
from myoquat.analysis.studies import UncertainInputs, uncertain_torques
from myoquat.data import Emg, Motion
from myoquat.joints.functions import Constant, Linear
from myoquat.muscle import Muscle, PathPoint, PrescribedInput, laws
from myoquat.muscle.activation import ActivationDynamics
from myoquat.muscle.actuators import CoordinateActuator, PointActuator
from myoquat.muscle.forces import PrescribedForce
from tests.analysis.studies.conftest import assert_simulated
from tests.bodies import at_rest, on_hinge, on_slide, with_muscles

SLED = on_slide("sled", "x", "x")
ROD = on_hinge("rod", "y", "a", inertia=0.1)
LAW = laws.RigidTendonMuscle(200.0, 0.2, 0.2)
PAIR = tuple(
    Muscle(name, (PathPoint("ground", (x, 0, 0.3)), PathPoint("rod", (x, 0, 0.0))), LAW)
    for name, x in (("bic", 0.1), ("tri", -0.1))
)
MOTOR = CoordinateActuator("motor", "a", optimal_force=1.0)


def rod(inputs=(), muscles=PAIR, actuators=(MOTOR,)):
    return mq.Model(mq.ArticulatedSystem((ROD,)), muscles, actuators=actuators, inputs=inputs)


def swing(model, count=51):
    t = np.linspace(0, 0.5, count)
    return Motion(model, t, 0.3 * np.sin(4 * t)[:, None], 1.2 * np.cos(4 * t)[:, None], -4.8 * np.sin(4 * t)[:, None])


def sled(*inputs):
    motors = tuple(CoordinateActuator(name, "x", optimal_force=1.0) for name in ("motor", "other"))
    return mq.Model(mq.ArticulatedSystem((SLED,)), actuators=motors, inputs=inputs)


def test_studies_obey_prescribed_activations_and_show_them_in_summaries():
    model = rod((PrescribedInput("bic", Linear(0.5)),))
    study = mq.Study(model, {"bodies.rod.mass": [1.0]}, design="grid", duration=0.2, summaries=["peak_force"])
    assert_simulated(study)
    assert_simulated(replace(study, activation=0.25), activation=[0.25] * 2)  # in place of the inputs


@pytest.mark.parametrize("dynamics", [None, ActivationDynamics()])
def test_muscles_beside_a_prescribed_one_do_the_same_in_a_study_and_in_a_simulation(dynamics):
    """Their inputs are zero, whatever activations the model names; with dynamics these are the starts."""
    model = replace(rod((PrescribedInput("bic", Constant(0.6)),)), start_q=(0.1,))
    model = with_muscles(model, activation=0.4, activation_dynamics=dynamics)
    assert_simulated(mq.Study(model, {"bodies.rod.mass": [1.0]}, design="grid", duration=0.05))


def test_prescribed_muscles_have_their_activations_in_redundancy():
    model = rod((PrescribedInput("bic", Linear(0.2, 0.1)),))
    motion = swing(model, 6)
    for backend in ("numpy", "kernel"):
        found = redundancy(model, motion, reserves=1.0, backend=backend)
        assert np.allclose(found.activation[:, 0], 0.1 + 0.2 * motion.time, atol=1e-9)
        needed = np.einsum("tme,tm->te", found.arms, found.force) + found.reserve
        assert np.allclose(needed[:, 0], 0.1 * motion.udot[:, 0], atol=1e-6)


def test_excitations_that_are_prescribed_pass_through_activation_dynamics():
    dynamics = ActivationDynamics()
    muscles = tuple(replace(m, activation_dynamics=dynamics, activation=0.05) for m in PAIR)
    model = rod((PrescribedInput("bic", Constant(0.6)),), muscles)
    found = redundancy(model, swing(model), reserves=1.0, backend="numpy")
    direct = mq.simulate(model, [0.0], [0.0], 0.5, step=0.001, output_step=0.01)
    assert np.allclose(found.activation[:, 0], direct.activation[:, 0], atol=1e-6)


def test_emg_and_calibrations_have_what_the_model_prescribes():
    """Along the accelerations of measured and prescribed muscles beside a prescribed motor nothing is missing."""
    model = rod((PrescribedInput("bic", Linear(0.2, 0.1)), PrescribedInput("motor", Linear(30.0, 5.0))))
    t = np.linspace(0.0, 0.5, 6)
    q, u = 0.3 * np.sin(4 * t)[:, None], 1.2 * np.cos(4 * t)[:, None]
    a, c = np.stack([0.1 + 0.2 * t, 0.5 + 0 * t], axis=1), 5.0 + 30.0 * t[:, None]
    tau = mq.muscle.muscle_torques(model, q, u, a) + c
    motion = Motion(model, t, q, u, mq.forward_dynamics(model, q, u, tau))
    found = emg_driven(model, motion, Emg(t, ("tri",), a[:, 1:], "1"))
    np.testing.assert_allclose(found.activation, a, atol=1e-9)
    np.testing.assert_allclose(found.torque, found.needed, atol=1e-9)
    errors = calibrate_muscles(model, [CalibrationTrial(motion, a)]).errors
    assert errors.loc["a_dot", "needed"] > 0.5
    assert errors.loc["a_dot", "before"] < 1e-9
    trial = MomentTrial(motion, Emg(t, ("tri",), a[:, 1:], "1"), {"a_dot": tau[:, 0]})
    hill = replace(model, muscles=tuple(replace(m, law=laws.DeGrooteFregly2016(200.0, 0.2, 0.2)) for m in PAIR))
    assert calibrate_moments(hill, [trial]).model.inputs == hill.inputs[1:]  # without a channel "bic" carries nothing


def test_static_optimization_obeys_what_acts_at_the_time_of_a_pose():
    """A sled in balance: its string of 10 N pulls with a = 0.4 t, its motor with 3 t, a gust with 2 t, and the reserve
    gives the rest of 12 N. Closed form."""
    string = Muscle("s", (PathPoint("ground", (1, 0, 0)), PathPoint("sled", (0, 0, 0))), laws.PathActuator(10.0))
    gust = PrescribedForce("gust", "sled", (Linear(2.0), Constant(0.0), Constant(0.0)))
    inputs = PrescribedInput("s", Linear(0.4)), PrescribedInput("motor", Linear(3.0))
    model = replace(sled(), muscles=(string,), forces=(gust,), inputs=inputs)
    t, still = np.array([0.5, 1.0, 2.0]), np.zeros((3, 1))
    found = static_optimization(model, still, still, still + 12.0, t, backend="numpy")
    np.testing.assert_allclose(found.activation[:, 0], 0.4 * t, atol=1e-12)
    np.testing.assert_allclose(found.reserve[:, 0], 12.0 - 9.0 * t, atol=1e-9)
    with pytest.raises(ValueError, match="the model prescribes 's' over time; give the time of the poses"):
        static_optimization(model, still, still, still)


def test_inverse_dynamics_leaves_out_what_prescribed_controls_give():
    """6 t N m of the motor: in torques, in what EMG-driven muscles have to give, and in uncertain torques. A prescribed
    muscle beside it changes none of them."""
    model = rod((PrescribedInput("motor", Linear(6.0)), PrescribedInput("bic", Constant(0.3))))
    motion = swing(model)
    expected = inverse_dynamics_of_motion(model.system, motion).torque[:, 0] - 6.0 * motion.time
    np.testing.assert_allclose(inverse_dynamics_of_motion(model, motion).torque[:, 0], expected, atol=1e-12)
    half = inverse_dynamics_of_motion(model, motion, controls=3.0 * motion.time[:, None]).torque[:, 0]
    np.testing.assert_allclose(half, expected + 3.0 * motion.time, atol=1e-12)
    signals = Emg(motion.time, model.muscle_names, np.full((51, 2), 0.2), "1")
    np.testing.assert_allclose(emg_driven(model, motion, signals).needed[:, 0], expected, atol=1e-12)
    bands = uncertain_torques(model, motion, inputs=UncertainInputs(samples=16, inertias=1e-9, frames=None))
    smoothed = inverse_dynamics_of_motion(model.system, smooth(motion)).torque[:, 0] - 6.0 * motion.time
    for found in (bands.values, bands.samples):
        np.testing.assert_allclose(found[..., 0] - smoothed, 0.0, atol=1e-6)


def test_joint_loads_have_prescribed_controls_of_joints_and_bodies():
    thruster = PointActuator("thruster", "rod", (0.5, 0, 0), (0, 0, 1.0), optimal_force=2.0)
    inputs = PrescribedInput("motor", Constant(3.0)), PrescribedInput("thruster", Linear(1.0))
    model = rod(inputs, (), (MOTOR, thruster))
    t = np.array([0.0, 1.0])
    still = at_rest(model, t)
    found = joint_loads(model, still)
    assert np.allclose(found.of("rod").force[:, 2], 9.81 - 2.0 * t, rtol=1e-3)  # the thruster carries 2 t
    free = joint_loads(model, replace(still, udot=None)).of("rod")
    assert np.allclose(free.moment[:, 1], 3.0)
    none = joint_loads(model, still, controls=np.zeros((2, 2)))  # what a call gives takes the place of the inputs
    assert np.allclose(none.of("rod").force[:, 2], 9.81, rtol=1e-3)


@pytest.mark.parametrize("transcription", ["hermite_simpson", "midpoint", "shooting"])
def test_controls_that_the_model_prescribes_are_no_unknowns_of_problems(transcription):
    model = sled(PrescribedInput("motor", Linear(1.0)))
    ends = {"initial": {"x": 0.0, "x_dot": 0.0}, "final": {"x": 1.0, "x_dot": 0.0}}
    own = OwnGoal(lambda point: point["other"] ** 2)
    solution = Problem(model, 2.0, (own,), 20, transcription, **ends).solve()
    # x'' = other + t with x'' = 1.5 (1 - t): the integral of (1.5 - 2.5 t)^2 over 2 s is 37/6
    assert np.isclose(solution.objective, 37 / 6, rtol=1e-9 if transcription == "hermite_simpson" else 2e-3)
    assert np.allclose(solution["motor"], solution.control_time)
    assert solution.simulate().largest < (1e-9 if transcription == "hermite_simpson" else 2e-3)


def test_effort_of_a_prescribed_motion_has_prescribed_controls():
    model = sled(PrescribedInput("motor", Linear(1.0)))
    t = np.linspace(0, 2, 41)
    x = 0.75 * t**2 - 0.25 * t**3  # x'' = 1.5 (1 - t)
    motion = Motion(model, t, x[:, None], (1.5 * t - 0.75 * t**2)[:, None], (1.5 - 1.5 * t)[:, None])
    solution = Problem(model, 2.0, (Effort(),), 20, prescribed=motion).solve()
    assert np.allclose(solution["other"], 1.5 - 2.5 * solution.control_time, atol=1e-6)
