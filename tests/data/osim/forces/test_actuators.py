"""Actuators: what OpenSim makes of them, files, and what they do in a simulation."""

from dataclasses import replace

import numpy as np
import pytest

from myoquat.data.motions import load_table
from myoquat.dynamics import Trajectory, forward_dynamics, simulate
from myoquat.joints import ArticulatedSystem
from myoquat.muscle import Model, actuator_forces
from myoquat.muscle.actuators import (
    ActivationCoordinateActuator,
    BodyActuator,
    CoordinateActuator,
    PointActuator,
    PointToPointActuator,
    TorqueActuator,
    delayed_rates,
)
from tests.bodies import on_slide
from tests.data.osim.two_bodies import OPENSIM, SYSTEM, check_accelerations, comes_back
from tests.data.tables import rejected

DRIVEN = OPENSIM.replace("q, u in", "q, u, controls in").replace(
    "    model.realizeAcceleration",
    "    model.realizeVelocity(state)\n"
    "    model.setControls(state, opensim.Vector.createFromMat(np.array(controls)))\n"
    "    model.realizeAcceleration",
)
P1, P2, AXIS = (0.02, -0.3, 0.1), (0.3, 0.2, -0.1), (0.3, -0.5, 2.0)
ACTUATORS = {
    "coordinate": CoordinateActuator("motor", "a2", optimal_force=3.0, lower=-1.0, upper=2.0),
    "torque": TorqueActuator("twist", "A", "B", AXIS, optimal_force=2.0),
    "torque of body": TorqueActuator("turn", "B", "ground", AXIS, False, optimal_force=2.5),
    "point": PointActuator("push", "B", P1, AXIS, optimal_force=7.0),
    "point in world": PointActuator("shove", "B", P2, AXIS, True, True, optimal_force=4.0, upper=10.0),
    "point to point": PointToPointActuator("strut", "A", "B", P1, P2, optimal_force=6.0),
    "points in world": PointToPointActuator("bar", "B", "A", P1, P2, True, optimal_force=6.0),
    "from the ground": PointToPointActuator("stay", "ground", "B", P1, P2, optimal_force=6.0),
    "to the ground": PointToPointActuator("prop", "A", "ground", P1, P2, optimal_force=6.0),
    "body": BodyActuator("wrench", "B", P1),
    "body axes": BodyActuator("screw", "A", P1, True, False),
}
MODEL = Model(SYSTEM, actuators=tuple(ACTUATORS.values()), name="driven")


@pytest.mark.peers
def test_opensim_moves_alike(tmp_path, rng, in_opensim):
    """All types in one model at 200 states."""
    model = comes_back(MODEL, tmp_path)
    q, u = rng.uniform(-0.6, 0.6, (200, 5)), rng.uniform(-2, 2, (200, 5))
    controls = rng.uniform(-1, 1, (200, len(model.control_names)))
    check_accelerations(in_opensim, tmp_path, model, q, u, actuator_forces(model, q, u, controls), DRIVEN, controls)


@pytest.mark.parametrize("case", [*ACTUATORS, "delayed"])
def test_forces_are_those_of_the_kernel(scalar, rng, case):
    """On every type of number, and proportional to the controls."""
    model = Model(SYSTEM, actuators=(ACTUATORS.get(case, LAG),))
    q, u = rng.uniform(-0.5, 0.5, (2, 5)), np.zeros((2, 5))
    controls = rng.uniform(-0.5, 0.5, (2, len(model.control_names)))
    tau = scalar(lambda q, u, controls: actuator_forces(model, q, u, controls), q, u, controls)
    np.testing.assert_allclose(tau, -actuator_forces(model, q, u, -controls), atol=1e-12)


def test_actuators_come_back_equal(tmp_path):
    """The ends of a PointToPointActuator are bodies in OpenSim: that on the ground is a massless one."""
    model = replace(MODEL, actuators=(*MODEL.actuators, LAG))
    back = comes_back(model, tmp_path)
    ends = {"first": "ground_point"}, {"second": "ground_point"}
    strut, stay = (ACTUATORS[f"{way} the ground"] for way in ("from", "to"))
    changed = {strut: replace(strut, **ends[0]), stay: replace(stay, **ends[1])}
    assert back.system.bodies[-1].parent == "ground"
    assert back.actuators == tuple(changed.get(a, a) for a in model.actuators)


def test_controls_are_inputs_of_a_simulation(tmp_path):
    """A control is a torque; zero by default; kept with the trajectory; the fixed and the adaptive step agree."""
    model = Model(SYSTEM, actuators=(ACTUATORS["coordinate"], CoordinateActuator("other", "b1", optimal_force=0.5)))
    control = lambda t: [np.sin(5 * t), 1 - t]  # noqa: E731
    torque = lambda t: [0, 3 * np.sin(5 * t), 0, 0.5 - 0.5 * t, 0]  # noqa: E731
    driven = simulate(model, duration=0.2, step=2e-3, controls=control)
    pushed = simulate(SYSTEM, duration=0.2, step=2e-3, torque=torque)
    np.testing.assert_allclose(driven.q, pushed.q, atol=1e-13)
    np.testing.assert_allclose(driven.torques, pushed.torques, atol=1e-12)
    np.testing.assert_allclose(driven.acceleration, pushed.acceleration, atol=1e-9)
    adaptive = simulate(model, duration=0.2, rtol=1e-10, controls=control)
    np.testing.assert_allclose(adaptive.q[-1], driven.q[-1], atol=1e-8)
    still = simulate(model, duration=0.2, step=2e-3)
    np.testing.assert_allclose(still.q, simulate(SYSTEM, duration=0.2, step=2e-3).q, atol=1e-14)
    driven.save(tmp_path / "driven.npz")
    np.testing.assert_array_equal(Trajectory.load(tmp_path / "driven.npz").controls, driven.controls)
    assert list(driven.to_dataframe()[["motor.control", "other.control"]].iloc[0]) == [0.0, 1.0]


def test_controls_outside_their_bounds_raise_a_named_error():
    model = Model(SYSTEM, actuators=(ACTUATORS["coordinate"],))
    with pytest.raises(ValueError, match=r"controls\[0\] \(motor\) is 2.5; it must lie in \[-1, 2\]"):
        actuator_forces(model, np.zeros(5), np.zeros(5), [2.5])
    with pytest.raises(ValueError, match=r"\(motor\) is -3"):
        simulate(model, duration=0.1, controls=[-3.0])
    with pytest.raises(ValueError, match="controls: the model has no actuators"):
        simulate(SYSTEM, duration=0.1, controls=[1.0])


test_a_body_that_is_not_there_is_refused = rejected(
    MODEL, "driven.osim", ("<bodyA>A</bodyA>", "<bodyA>hand</bodyA>", "hand"), times=1
)


LAG = ActivationCoordinateActuator(
    "lag", "a1", optimal_force=2.5, lower=-2.0, upper=2.0, activation_time=0.05, activation=0.8
)
DELAYED = """
model = opensim.Model(arguments[0])
q, u, activation, rows, end = arguments[1]
controller = opensim.PrescribedController()
controller.setName("brain")
for i in range(model.getActuators().getSize()):
    actuator = model.getActuators().get(i)
    controller.addActuator(actuator)
    controller.prescribeControlForActuator(actuator.getName(), opensim.Sine(1.0, 20.0, 0.3))
model.addController(controller)
state = model.initSystem()
answer = {"start": model.getStateVariableValue(state, "/forceset/lag/activation"), "udot": [], "rate": []}
coordinates = [model.getCoordinateSet().get(i) for i in range(model.getNumCoordinates())]

def put(q, u):
    for c, x, v in zip(coordinates, q, u):
        c.setValue(state, x, False)
        c.setSpeedValue(state, v)

for row in rows:
    put(q, u)
    model.setStateVariableValue(state, "/forceset/lag/activation", row)
    model.realizeAcceleration(state)
    answer["udot"].append([c.getAccelerationValue(state) for c in coordinates])
    answer["rate"].append(model.getStateVariableDerivativeValue(state, "/forceset/lag/activation"))
put(q, u)
model.setStateVariableValue(state, "/forceset/lag/activation", activation)
manager = opensim.Manager(model)
manager.setIntegratorAccuracy(1e-10)
manager.initialize(state)
state = manager.integrate(end)
answer["end"] = [c.getValue(state) for c in coordinates]
answer["activation"] = model.getStateVariableValue(state, "/forceset/lag/activation")
"""


@pytest.mark.peers
def test_opensim_delays_alike(tmp_path, rng, in_opensim):
    model = comes_back(Model(SYSTEM, actuators=(ACTUATORS["coordinate"], LAG), name="lag"), tmp_path)
    q, u, rows, end = rng.uniform(-0.5, 0.5, 5), rng.uniform(-1, 1, 5), rng.uniform(-1, 1, 10), 0.3
    sine = lambda t: [np.sin(20 * t + 0.3)] * 2  # noqa: E731
    answer = in_opensim(DELAYED, tmp_path / "lag.osim", [q, u, LAG.activation, rows, end])
    assert answer["start"] == LAG.activation
    acting = np.stack([np.full(10, sine(0.0)[0]), rows], axis=-1)
    udot = forward_dynamics(model, q, u, actuator_forces(model, q, u, acting))
    np.testing.assert_allclose(udot, answer["udot"], rtol=1e-10, atol=1e-9)
    rates = delayed_rates(model, np.full((10, 2), sine(0.0)[0]), rows[:, None])
    np.testing.assert_allclose(rates[:, 0], answer["rate"], rtol=1e-12)
    motion = simulate(model, q, u, duration=end, rtol=1e-11, output_step=end, controls=sine)
    np.testing.assert_allclose(motion.q[-1], answer["end"], atol=1e-8)
    np.testing.assert_allclose(motion.actuation[-1, 1], answer["activation"], atol=1e-8)


@pytest.mark.parametrize(
    "given", [{"method": "rk4"}, {"method": "lie_rk4"}, {"method": "radau", "rtol": 1e-9}, {"rtol": 1e-10}]
)
def test_a_delay_of_first_order(tmp_path, given):
    """A sled of mass m under a constant control x: m v = F (x t + (a0 - x) tau (1 - exp(-t / tau)))."""
    sled = on_slide("sled", "x", "x", mass=3.0)
    motors = (
        CoordinateActuator("still", "x"),
        ActivationCoordinateActuator("motor", "x", optimal_force=6.0, upper=1.0, activation_time=0.1, activation=1.5),
    )
    model = Model(ArticulatedSystem((sled,)), actuators=motors)
    motion = simulate(model, duration=0.4, step=1e-3, output_step=0.1, controls=[0.0, 0.5], **given)
    t = motion.time
    np.testing.assert_allclose(motion.actuation, np.stack([0 * t, 0.5 + np.exp(-t / 0.1)], axis=-1), atol=1e-8)
    np.testing.assert_allclose(motion.u[:, 0], 2.0 * (0.5 * t + 0.1 * (1 - np.exp(-t / 0.1))), atol=1e-8)
    np.testing.assert_allclose(motion.acceleration[:, 0], 2.0 * motion.actuation[:, 1], rtol=1e-12)
    motion.save(tmp_path / "motion.npz")
    np.testing.assert_array_equal(Trajectory.load(tmp_path / "motion.npz").actuation, motion.actuation)
    assert motion.to_dataframe()["motor.activation"].iloc[0] == 1.5
    motion.save(tmp_path / "motion.sto")
    np.testing.assert_allclose(
        load_table(tmp_path / "motion.sto")["/forceset/motor/activation"], motion.actuation[:, 1]
    )


def test_what_a_delay_cannot_be():
    with pytest.raises(ValueError, match=r"moves no states of muscles and actuators \(lag.activation"):
        simulate(Model(SYSTEM, actuators=(LAG,)), duration=0.1, method="variational")
