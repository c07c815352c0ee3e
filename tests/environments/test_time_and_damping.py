"""Time, damping and a model's own inputs in environments: closed forms of a rod of 0.1 kg m^2."""

from dataclasses import replace

import numpy as np
import pytest

import myoquat as mq
from myoquat.environments import Environment, PoseTask, VectorEnvironment
from myoquat.joints.functions import Constant, Linear, Sine
from myoquat.muscle import ActivationDynamics, PathPoint, PrescribedInput
from myoquat.muscle.actuators import ActivationCoordinateActuator, CoordinateActuator
from myoquat.muscle.coordinates import Coordinate
from myoquat.muscle.forces import PrescribedForce
from myoquat.muscle.laws import DeGrooteFregly2016, PathActuator, PathSpring

H, INERTIA = 0.002, 0.1
NOTHING = (Constant(0.0),) * 3


def rod(forces=(), inputs=(), motors=("motor",), damping=0.0, rotor=0.0):
    joint = mq.joints.RevoluteJoint((0, 1, 0))
    body = mq.Body("rod", "ground", joint, mass=1.0, inertia=(INERTIA,) * 3 + (0.0,) * 3, damping=damping,
                   rotor_inertia=rotor)  # fmt: skip
    actuators = tuple(
        CoordinateActuator(name, "rod.angle", optimal_force=1.0, lower=-1.0, upper=1.0) for name in motors
    )
    return mq.Model(mq.ArticulatedSystem((body,)), forces=forces, actuators=actuators, inputs=inputs)


def task(model, **options):
    return PoseTask(model, low=[0.0], high=[0.0], start_low=[0.3], start_high=[0.3], **options)


def speeds_under_ramp(first, steps):
    """u after `steps` of H under a torque of 10 t N m that begins at step `first`: the sum of H 10 t / A."""
    return H * 10.0 * (H * np.arange(first, first + steps)).sum() / INERTIA


WIND = PrescribedForce(
    "wind", "rod", forces=NOTHING, points=NOTHING, torques=(NOTHING[0], Linear(10.0, 0.0), NOTHING[0])
)


def test_timed_forces_run_through_an_episode_and_begin_again_with_its_state():
    envs = VectorEnvironment(task(rod((WIND,))), 2, autoreset="disabled")
    envs.reset(seed=0)
    for _ in range(20):
        envs.step(np.zeros((2, 1)))
    assert np.allclose(envs.episodes.x[:, 1], speeds_under_ramp(0, 200), rtol=1e-13)  # 7.96; 5 t^2 / A is 8
    envs.reset(options={"reset_mask": np.array([False, True])})
    for _ in range(5):
        envs.step(np.zeros((2, 1)))
    assert np.allclose(envs.episodes.x[:, 1], [speeds_under_ramp(0, 250), speeds_under_ramp(0, 50)], rtol=1e-13)


def test_episodes_begin_at_the_start_time_of_their_task():
    env = Environment(task(rod((WIND,)), start_time=1.0))
    env.reset(seed=0)
    env.step([0.0])
    assert np.isclose(env.vector.episodes.x[0, 1], speeds_under_ramp(500, 10), rtol=1e-13)
    with pytest.raises(ValueError, match="start_time must be finite, not nan"):
        task(rod(), start_time=np.nan)


def test_prescribed_coordinates_are_where_they_are_at_the_start_time():
    """The cart goes on as the model prescribes; the rod that it carries turns as in a simulation."""
    cart = mq.Body("cart", "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=1.0, coordinate_names=("x",))
    (body,) = rod().system.bodies
    system = mq.ArticulatedSystem((cart, replace(body, parent="cart", center_of_mass=(0.2, 0.0, 0.0))))
    way = Sine(0.5, 3.0, 0.2, 0.1)
    model = mq.Model(system, actuators=rod().actuators, coordinates=(Coordinate("x", prescribed=way),))
    env = Environment(PoseTask(model, low=[0.0, 0.0], high=[0.0, 0.0], start_time=0.5))
    env.reset(seed=0)
    for _ in range(5):
        env.step([0.5])
    run = mq.simulate(model, duration=0.1, step=H, method="semi_implicit_euler", start_time=0.5, controls=[0.5])
    assert np.isclose(run.q[0, 0], way.value(np.array(0.5)), rtol=1e-15)
    np.testing.assert_allclose(env.vector.episodes.x[0], [*run.q[-1], *run.u[-1]], rtol=1e-12)


@pytest.mark.parametrize(
    ("damping", "rotor", "ranges"),
    [
        (1.0, 0.01, {"bodies.rod.damping": (200.0, 200.0)}),
        (200.0, 0.5, {"bodies.rod.rotor_inertia": (0.01, 0.01)}),
        (200.0, 0.01, {"bodies.rod.mass": (3.0, 3.0)}),
    ],
)
def test_damping_stays_implicit_whatever_is_drawn(damping, rotor, ranges):
    env = Environment(task(rod(damping=damping, rotor=rotor)), randomize=ranges)
    env.reset(seed=0)
    for _ in range(5):
        env.step([1.0])
    u = 0.0
    for _ in range(50):  # (A + rotor + H D) udot = 1 - D u with D = 200 and rotor 0.01
        u += H * (1.0 - 200.0 * u) / (INERTIA + 0.01 + H * 200.0)
    assert np.isclose(env.vector.episodes.x[0, 1], u, rtol=1e-12)
    assert np.isclose(u, 1 / 200, rtol=1e-3)  # the speed at which damping balances the motor


def test_actions_move_what_the_model_does_not_prescribe():
    ramp = PrescribedInput("ramp", Linear(10.0, 0.0))
    model = rod(inputs=(ramp,), motors=("ramp", "motor"))
    envs = VectorEnvironment(task(model), 2)
    envs.reset(seed=0)
    assert envs.single_action_space.shape == (1,)
    for _ in range(20):
        envs.step([[0.0], [0.5]])
    expected = speeds_under_ramp(0, 200) + np.array([0.0, 0.5]) * 0.4 / INERTIA
    assert np.allclose(envs.episodes.x[:, 1], expected, rtol=1e-12)


def test_some_muscles_may_have_activation_dynamics():
    """Each pulls along a string of 1 m across a lever of 0.1 m: 1 N m at activation 1. The one without dynamics does so
    at once; the activation of the other is the only one that is a state."""
    ends = PathPoint("ground", (1.0, 0.0, 0.1)), PathPoint("rod", (0.0, 0.0, 0.1))
    slow = mq.Muscle("slow", ends, law=PathActuator(10.0), activation_dynamics=ActivationDynamics(0.5, 0.5, "linear"))
    model = rod(motors=("motor",))
    model = replace(model, muscles=(mq.Muscle("fast", ends, law=PathActuator(10.0)), slow))
    speed, activation = [], []
    for actions in ([1.0, -1.0, 0.0], [-1.0, 1.0, 0.0]):
        env = Environment(ByAction(model, low=[0.0], high=[0.0], start_low=[0.0], start_high=[0.0]))
        env.reset(seed=0)
        seen = env.step(actions)[0]
        speed.append(seen[1] / env.vector.task.control_step)
        activation.append(seen[-1])
    assert len(seen) == 4  # angle, speed, distance from the goal, one activation
    steps = env.vector.task.control_steps
    assert np.allclose(speed[0], 1.0 / INERTIA * H * steps, rtol=1e-2)
    assert abs(speed[1]) < 0.05 * speed[0]
    assert np.allclose(activation, [0.0, 1 - (1 - H / 0.5) ** steps], atol=1e-4)


class ByAction(PoseTask):
    """Actions from -1 to 1 are excitations from 0 to 1."""

    def excitations(self, actions):
        return (actions + 1.0) / 2.0


def test_delayed_actuators_follow_inputs_beside_muscles_that_actions_move():
    """The muscle ends on the axis, so that it has no moment; the motor's activation follows 10 t with a delay."""
    motor = ActivationCoordinateActuator("ramp", "rod.angle", optimal_force=1.0, activation_time=0.1, activation=0.0)
    path = PathPoint("ground", (0.0, 0.1, 0.0)), PathPoint("rod", (0.0, 0.0, 0.0))
    muscle, ramp = mq.Muscle("m", path, PathActuator(10.0)), PrescribedInput("ramp", Linear(10.0, 0.0))
    model = mq.Model(rod(motors=()).system, (muscle,), actuators=(motor,), inputs=(ramp,))
    envs = VectorEnvironment(task(model), 2)
    envs.reset(seed=0)
    for _ in range(20):
        envs.step([[-1.0], [1.0]])
    t, tau = 0.4, 0.1  # u = integral of 10 (t - tau + tau exp(-t / tau)) / A
    exact = 10.0 * (t**2 / 2 - tau * t + tau**2 * (1 - np.exp(-t / tau))) / INERTIA
    assert np.allclose(envs.episodes.x[:, 1], exact, rtol=2e-2)


@pytest.mark.parametrize(("tendon", "with_free_muscle"), [("rigid", True), ("rigid", False), ("elastic", False)])
def test_prescribed_muscles_begin_at_the_activation_that_the_model_names(tendon, with_free_muscle):
    """As in `simulate`: 0.3 rather than the excitation of 0.72 at the start. A ligament stands before the muscles."""
    ends = PathPoint("ground", (0.2, 0.0, 0.1)), PathPoint("rod", (0.05, 0.0, -0.2))
    law = DeGrooteFregly2016(400.0, 0.2, 0.15, tendon=tendon)
    muscles = [mq.Muscle("band", ends, PathSpring(100.0, 0.2, 0.1))]
    for name in ("free", "held") if with_free_muscle else ("held",):
        muscles.append(mq.Muscle(name, ends, law, activation=0.3, activation_dynamics=ActivationDynamics()))
    model = replace(rod(), muscles=tuple(muscles), inputs=(PrescribedInput("held", Linear(0.3, 0.6)),))
    at_start = {"start_low": [0.3], "start_high": [0.3], "start_time": 0.4}
    aim = ByAction(model, H / 4, 40, low=[0.0], high=[0.0], **at_start)
    envs = VectorEnvironment(aim, 2, randomize={"inputs.held.function.offset": (0.6, 0.6)} if with_free_muscle else {})
    envs.reset(seed=0)
    free = [[-1.0]] * 2 if with_free_muscle else np.zeros((2, 0))
    band = [[-1.0]] * 2
    for _ in range(3):
        envs.step(np.hstack([band, free, [[0.5]] * 2]))
    excitation = lambda t: [0.0, *[0.0] * with_free_muscle, 0.3 * t + 0.6]  # noqa: E731
    start = [0.0, *[0.0] * with_free_muscle, 0.3]
    run = mq.simulate(model, [0.3], [0.0], 0.06, H / 4, activation=start, excitation=excitation, controls=[0.5],
                      method="semi_implicit_euler", start_time=0.4)  # fmt: skip
    np.testing.assert_allclose(envs.episodes.x[:, :2], [[run.q[-1, 0], run.u[-1, 0]]] * 2, rtol=1e-6)
