"""Time, damping and a model's own inputs in environments: closed forms of a rod of 0.1 kg m^2."""

from dataclasses import replace

import numpy as np
import pytest

import myoquat as mq
from myoquat.environments import Environment, PoseTask, VectorEnvironment
from myoquat.joints.functions import Constant, Linear
from myoquat.muscle import ActivationDynamics, PathPoint, PrescribedInput
from myoquat.muscle.actuators import CoordinateActuator
from myoquat.muscle.forces import PrescribedForce
from myoquat.muscle.laws import DeGrooteFregly2016, PathSpring
from tests.bodies import on_hinge

H, INERTIA = 0.002, 0.1
NOTHING = (Constant(0.0),) * 3


def rod(forces=(), damping=0.0, rotor=0.0):
    body = on_hinge("rod", "y", inertia=INERTIA, damping=damping, rotor_inertia=rotor)
    motor = CoordinateActuator("motor", "rod.angle", optimal_force=1.0, lower=-1.0, upper=1.0)
    return mq.Model(mq.ArticulatedSystem((body,)), forces=forces, actuators=(motor,))


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


class ByAction(PoseTask):
    """Actions from -1 to 1 are excitations from 0 to 1."""

    def excitations(self, actions):
        return (actions + 1.0) / 2.0


def test_prescribed_muscles_begin_at_the_activation_that_the_model_names():
    """As in `simulate`: 0.3 rather than the excitation of 0.72 at the start. A ligament stands before the muscles."""
    ends = PathPoint("ground", (0.2, 0.0, 0.1)), PathPoint("rod", (0.05, 0.0, -0.2))
    hill = {"law": DeGrooteFregly2016(400.0, 0.2, 0.15, tendon="rigid"), "activation_dynamics": ActivationDynamics()}
    muscles = (
        mq.Muscle("band", ends, PathSpring(100.0, 0.2, 0.1)),
        *(mq.Muscle(name, ends, activation=0.3, **hill) for name in ("free", "held")),
    )
    model = replace(rod(), muscles=muscles, inputs=(PrescribedInput("held", Linear(0.3, 0.6)),))
    aim = ByAction(model, H / 4, 40, low=[0.0], high=[0.0], start_low=[0.3], start_high=[0.3], start_time=0.4)
    envs = VectorEnvironment(aim, 2, randomize={"inputs.held.function.offset": (0.6, 0.6)})
    envs.reset(seed=0)
    for _ in range(3):
        envs.step([[-1.0, -1.0, 0.5]] * 2)
    run = mq.simulate(model, [0.3], [0.0], 0.06, H / 4, activation=[0.0, 0.0, 0.3], controls=[0.5], start_time=0.4,
                      excitation=lambda t: [0.0, 0.0, 0.3 * t + 0.6], method="semi_implicit_euler")  # fmt: skip
    np.testing.assert_allclose(envs.episodes.x[:, :2], [[run.q[-1, 0], run.u[-1, 0]]] * 2, rtol=1e-6)


def test_fibers_of_a_prescribed_muscle_without_activation_dynamics_begin_in_balance_with_its_function():
    """As in `simulate`: with 0.72 at the start, whatever activation the model names; others with zero."""
    ends = PathPoint("ground", (0.2, 0.0, 0.1)), PathPoint("rod", (0.05, 0.0, -0.2))
    law = DeGrooteFregly2016(400.0, 0.2, 0.15, tendon="elastic")
    muscles = tuple(mq.Muscle(name, ends, law, activation=0.3) for name in ("free", "held"))
    model = replace(rod(), muscles=muscles, inputs=(PrescribedInput("held", Linear(0.3, 0.6)),))
    envs = VectorEnvironment(task(model, start_time=0.4), 2)
    envs.reset(seed=0)
    run = mq.simulate(model, [0.3], [0.0], H, method="radau", controls=[0.0], start_time=0.4)
    np.testing.assert_allclose(envs.episodes.x[:, 2:], [run.muscle_states[0]] * 2, rtol=1e-9)
