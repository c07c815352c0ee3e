"""Environments against Gymnasium's own checks, against simulations, and against themselves in other batches."""

import sys
import types
import warnings
from dataclasses import dataclass, replace

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector.utils import batch_space

import myoquat as mq
from myoquat.environments import Environment, PoseTask, ReachTask, VectorEnvironment, library_tasks, load_task
from myoquat.environments.stable_baselines3 import stable_baselines3_env
from myoquat.joints.functions import Linear
from myoquat.muscle import ActivationDynamics, PathPoint, PrescribedInput
from myoquat.muscle.actuators import CoordinateActuator
from myoquat.muscle.coordinates import Coupler, Marker
from myoquat.muscle.laws import DeGrooteFregly2016
from tests.bodies import on_hinge

LOW, HIGH, REST = np.array([0.2]), np.array([1.2]), np.zeros((2, 3))


def hinge():
    """A hinged rod with two muscles and a motor."""
    rod = on_hinge("rod", "y", "turn", center_of_mass=(0.2, 0, 0), inertia=0.01, damping=0.5)
    law = DeGrooteFregly2016(50.0, optimal_fiber_length=0.25, tendon_slack_length=0.2, tendon="rigid")
    muscles = tuple(
        mq.Muscle(name, (PathPoint("ground", (0.0, 0.0, z)), PathPoint("rod", (0.15, 0.0, 0.0))), law,
                  activation_dynamics=ActivationDynamics())
        for name, z in (("upper", 0.4), ("lower", -0.4))
    )  # fmt: skip
    motor = CoordinateActuator("motor", "turn", lower=-2.0, upper=3.0)
    tip = Marker("tip", "rod", (0.4, 0.0, 0.0))
    return mq.Model(mq.ArticulatedSystem((rod,)), muscles, actuators=(motor,), markers=(tip,))


MODEL = hinge()
UNBOUNDED = replace(MODEL, actuators=(CoordinateActuator("motor", "turn"),))
STILL = replace(MODEL, muscles=(), actuators=())
OVERDRIVEN, LATE = (replace(MODEL, inputs=(PrescribedInput("upper", Linear(*x)),)) for x in ((0.0, 1.18), (9.0, 0.5)))
PARTLY = replace(MODEL, muscles=(replace(MODEL.muscles[0], activation_dynamics=None), MODEL.muscles[1]))
POSE = PoseTask(MODEL, low=LOW, high=HIGH, start_low=(-0.5,), start_high=(0.5,), horizon=6)
REACH = ReachTask(MODEL, points=("tip",), low=[(-0.4, 0, -0.4)], high=[(0.4, 0, 0.4)], far=0.6, horizon=6)
TAIL = on_hinge("tail", "y", "twist", parent="rod", inertia=1)
ELASTIC = replace(MODEL, muscles=[
    replace(m, activation_dynamics=None, law=replace(m.law, tendon="elastic")) for m in MODEL.muscles])  # fmt: skip
COUPLED = replace(MODEL, system=mq.ArticulatedSystem((*MODEL.system.bodies, TAIL)),
                  couplers=(Coupler("synergy", "twist", "turn", Linear(1.0)),))  # fmt: skip
OFF_COUPLER = PoseTask(COUPLED, low=(0, 0), high=(0, 0), start_low=(0.3, 0), start_high=(0.3, 0))
VARIED = {"bodies.rod.mass": (0.5, 2.0), "muscles.*.max_isometric_force": (20.0, 80.0)}


def rollout(env, seeds, rows, steps=15):
    """What states see over some steps and resets: row i gets the actions of the seed i."""
    random = [np.random.default_rng(1000 + seed) for seed in seeds]
    found = [env.reset(seed=list(seeds))[0][rows]]
    for _ in range(steps):
        actions = np.array([each.uniform(-1, 1, 3) for each in random])
        seen, reward, terminated, truncated, _ = env.step(actions)
        found += [seen[rows], reward[rows], terminated[rows], truncated[rows]]
    return [np.asarray(x) for x in found]


def begun(task=POSE, n=2, **options):
    envs = VectorEnvironment(task, n, **options)
    envs.reset(seed=0)
    return envs


def run_through(envs, n=2):
    """What the last step of an episode returns."""
    return [envs.step(np.zeros((n, 3))) for _ in range(POSE.horizon)][-1]


@pytest.mark.parametrize("mode", ["next_step", "same_step"])
@pytest.mark.parametrize("task", [POSE, REACH], ids=["pose", "reach"])
def test_a_state_depends_on_its_seed_alone(task, mode):
    alone = rollout(VectorEnvironment(task, 1, randomize=VARIED, autoreset=mode), [7], [0])
    for n in (3, 64):
        seeds = [*range(100, 100 + n - 1), 7]
        beside = rollout(VectorEnvironment(task, n, randomize=VARIED, autoreset=mode), seeds, [n - 1])
        assert all(np.array_equal(a, b) for a, b in zip(alone, beside, strict=True))


def test_the_single_environment_is_a_state_of_the_vector_environment():
    env, envs = Environment(POSE, randomize=VARIED), VectorEnvironment(POSE, 3, randomize=VARIED)
    single, several = env.reset(seed=5)[0], envs.reset(seed=3)[0]
    assert np.array_equal(single, several[2])
    for _ in range(5):
        action = np.full(3, 0.3)
        one, all_of_them = env.step(action), envs.step(np.tile(action, (3, 1)))
        assert np.array_equal(one[0], all_of_them[0][2])
        assert one[1:4] == tuple(x[2] for x in all_of_them[1:4])


@pytest.mark.parametrize(
    "task", [POSE, replace(POSE, model=PARTLY), replace(POSE, model=ELASTIC)],
    ids=["pose", "one muscle has an activation", "muscles have fiber lengths alone"],
)  # fmt: skip
def test_gymnasium_checks_a_single_environment(task):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*(infinity|registry|spec).*")  # unbounded observations; no registered name
        check_env(Environment(task, render_mode="rgb_array"))


def test_the_vector_environment_is_as_gymnasium_asks():
    """Spaces, dtypes, shapes, seeds and copies, as of Gymnasium's own vector environments."""
    envs = VectorEnvironment(POSE, 3)
    assert envs.observation_space == batch_space(envs.single_observation_space, 3)
    assert envs.action_space == batch_space(envs.single_action_space, 3)
    assert isinstance(envs.metadata["autoreset_mode"], gymnasium.vector.AutoresetMode)
    first, infos = envs.reset(seed=1)
    assert isinstance(infos, dict)
    kept = first.copy()
    seen, reward, terminated, truncated, infos = envs.step(envs.action_space.sample())
    assert np.array_equal(first, kept)
    assert seen in envs.observation_space
    assert first in envs.observation_space
    assert (reward.shape, reward.dtype) == ((3,), np.float64)
    assert (terminated.dtype, truncated.dtype) == (bool, bool)
    assert np.array_equal(envs.reset(seed=1)[0], first)
    assert not np.array_equal(envs.reset()[0], first)  # goes on with the same random numbers
    recorded = gymnasium.wrappers.vector.RecordEpisodeStatistics(envs)
    recorded.reset(seed=1)
    *_, infos = run_through(recorded, 3)
    assert infos["episode"]["l"].tolist() == [POSE.horizon] * 3


def test_rewards_of_poses_are_those_of_the_formula():
    """MyoSuite 3.0, `pose_reward`: -d + 4 ([d < t] + [d < 1.5 t]) - 50 [d > 2 pi] - |a| / m."""
    envs = begun(replace(POSE, threshold=0.5), 32, autoreset="disabled")
    seen, reward, _, _, infos = envs.step(np.full((32, 3), 0.2))
    d, a = np.abs(seen[:, 2]), seen[:, 3:]
    expected = -d + 4.0 * ((d < 0.5) + 1.0 * (d < 0.75)) - np.linalg.norm(a, axis=1) / 2
    assert np.allclose(reward, expected, atol=1e-6)
    assert 0 < infos["solved"].sum() < 32


def test_points_out_of_reach_end_the_episode_from_the_third_action_on():
    far = replace(REACH, low=[(5.0, 0, 0)], high=[(5.0, 0, 0)])
    envs = VectorEnvironment(far, 2, autoreset="same_step")
    first, _ = envs.reset(seed=0)
    ended = [envs.step(REST)[2].tolist() for _ in range(3)]
    assert ended == [[False, False], [False, False], [True, True]]
    tip = mq.joints.point_position(MODEL, MODEL.start, "rod", (0.4, 0, 0))
    assert np.allclose(first[0, 2:5], tip)
    assert np.allclose(first[0, 5:8], (5.0, 0, 0) - tip)


def test_next_step_begins_ended_states_in_place_of_a_step():
    envs = begun()
    assert run_through(envs)[3].all()
    seen, reward, _, truncated, infos = envs.step(np.ones((2, 3)))
    assert reward.tolist() == [0.0, 0.0]
    assert not truncated.any()
    assert not infos["_pose"].any()
    assert (seen[:, 3:] == 0).all()  # muscles are not active at a start


def test_same_step_returns_the_last_observation_apart():
    envs, other = VectorEnvironment(POSE, 2, autoreset="same_step"), VectorEnvironment(POSE, 2)
    envs.reset(seed=0), other.reset(seed=0)
    seen, reward, _, truncated, infos = run_through(envs)
    last, last_reward, *_ = run_through(other)
    assert truncated.all()
    assert np.array_equal(np.stack(infos["final_obs"]), last)
    assert np.array_equal(reward, last_reward)
    assert np.array_equal(seen, other.step(REST)[0])
    assert infos["_final_info"].all()
    assert (infos["final_info"]["pose"] < 0).all()


def test_disabled_resets_wait_for_a_mask():
    envs = begun(autoreset="disabled")
    last, *_ = run_through(envs)
    with pytest.raises(ValueError, match=r"states \[0, 1\] have ended"):
        envs.step(REST)
    seen, _ = envs.reset(options={"reset_mask": np.array([True, False])})
    assert np.array_equal(seen[1], last[1])
    assert not np.array_equal(seen[0], last[0])
    with pytest.raises(ValueError, match=r"states \[1\] have ended"):
        envs.step(REST)


def test_numbers_of_the_model_are_drawn_within_their_ranges():
    envs = begun(n=200, randomize=VARIED)
    drawn = dict(zip(envs.varied, envs.episodes.p.T, strict=True))
    assert set(drawn) == {"bodies.rod.mass", "muscles.upper.max_isometric_force", "muscles.lower.max_isometric_force"}
    for name, values in drawn.items():
        low, high = (0.5, 2.0) if "mass" in name else (20.0, 80.0)
        assert low <= values.min() < low + 0.1 * (high - low)
        assert high >= values.max() > high - 0.1 * (high - low)


@dataclass(frozen=True)
class InNumpy(PoseTask):
    compiled = False


def test_formulas_evaluated_in_numpy_agree_with_compiled_ones():
    compiled, plain = (VectorEnvironment(task, 4) for task in (POSE, InNumpy(**vars(POSE))))
    assert np.allclose(compiled.reset(seed=0)[0], plain.reset(seed=0)[0])
    for one, other in zip(compiled.step(np.full((4, 3), 0.1))[:4], plain.step(np.full((4, 3), 0.1))[:4], strict=True):
        assert np.allclose(one, other)


def test_states_that_fail_end():
    envs = begun(autoreset="disabled")
    envs.episodes.x[1, 1] = 1e12  # [rad/s]
    seen, reward, terminated, _, infos = envs.step(REST)
    assert np.isfinite(seen).all()  # of the last good state
    assert np.isfinite(reward).all()
    assert terminated.tolist() == [False, True]
    assert infos["failed"].tolist() == [False, True]


def last(task, randomize=None, actions=3):
    """What is seen after some actions of 0.02 s."""
    envs = VectorEnvironment(task, 2, randomize=randomize)
    envs.reset(seed=0)
    return [envs.step(np.zeros((2, len(envs.stepper.actions)))) for _ in range(actions)][-1]


def test_inputs_count_while_they_act():
    """Linear(9.0, 0.5) is allowed up to 1 / 18 s, and 0.054 s are within."""
    assert np.isfinite(last(replace(POSE, model=LATE), actions=2)[0]).all()


WRONG = [
    (lambda: VectorEnvironment(POSE, 0), "num_envs must be a whole number from 1 to"),
    (lambda: VectorEnvironment(POSE, 10**15), "num_envs must be a whole number from 1 to"),
    (lambda: VectorEnvironment(POSE, 1).reset(seed=-1), "seed must be a whole number from 0 on"),
    (lambda: VectorEnvironment(POSE, 1).reset(seed="x"), "seed must be a whole number from 0 on"),
    (lambda: VectorEnvironment(POSE, 1).reset(seed=True), "seed must be a whole number from 0 on"),
    (lambda: VectorEnvironment(replace(POSE, model=OVERDRIVEN), 1), r"\(upper\) is 1.18; it must lie in \[0, 1\]"),
    (lambda: last(replace(POSE, model=LATE)), r"\(upper\) is 1.004; it must lie in \[0, 1\]"),
    (lambda: last(replace(POSE, model=LATE), {"inputs.upper.function.factor": (9.0, 9.5)}), r"must lie in \[0, 1\]"),
    (lambda: replace(POSE, low=np.ma.array(POSE.low, mask=True)), "low: a masked array"),
    (lambda: replace(POSE, control_steps=10**12), "control_steps must be at most"),
    (lambda: replace(POSE, weights={"pose": float("nan")}), "weights must be finite"),
    (lambda: replace(POSE, excitation_range=None), "excitation_range must be two numbers"),
    (lambda: VectorEnvironment(POSE, 1, autoreset="never"), "autoreset must be one of next_step, same_step"),
    (lambda: VectorEnvironment(POSE, 1, render_mode="ascii"), "render_mode must be"),
    (lambda: VectorEnvironment(POSE, 1, randomize={"bodies.rood.mass": (1, 2)}), "bodies.rod.mass"),
    (lambda: VectorEnvironment(POSE, 1, randomize={"bodies.rod.mass": (2, 1)}), "needs a range"),
    (lambda: replace(POSE, low=(1.0, 2.0)), "low, high: two arrays"),
    (lambda: VectorEnvironment(POSE, 1, randomize={"bodies.rod.mass": (-1, 2)}), "refuses an end of a range.*mass"),
    (lambda: VectorEnvironment(replace(POSE, weights={"poise": 1.0}), 1), "no term 'poise'; there are: pose"),
    (lambda: VectorEnvironment(replace(POSE, model=UNBOUNDED), 1), "actuator 'motor' has no bounds"),
    (lambda: VectorEnvironment(OFF_COUPLER, 1), "task: the start violates the constraints: position row 0 is off"),
    (lambda: replace(POSE, control_steps=0), "control_steps must be positive"),
    (lambda: replace(POSE, start_time=np.nan), "start_time must be finite, not nan"),
    (lambda: replace(POSE, horizon=2.5), "horizon must be a whole number"),
    (lambda: replace(REACH, points=("toe",)), "no marker 'toe'"),
    (lambda: replace(REACH, targets=np.zeros((2, 3))), "targets must have shape"),
    (lambda: VectorEnvironment(replace(POSE, model=STILL), 1), "neither muscles nor actuators"),
    (lambda: load_task("juggling"), "not in the library"),
]  # fmt: skip
OF_ANOTHER_TYPE = [
    (lambda: replace(POSE, model="arm"), "model must be a Model, not the str 'arm'"),
    (lambda: replace(POSE, step="1"), "step must be a number, not '1'"),
    (lambda: replace(POSE, weights=[1.0]), "weights must be a Mapping"),
    (lambda: VectorEnvironment(None, 1), "task must be a Task, not None"),
    (lambda: VectorEnvironment(POSE, 1, randomize="x"), "randomize must be a Mapping or None"),
    (lambda: VectorEnvironment(POSE, 1, randomize={5: (1, 2)}), "randomize: a name must be a str"),
    (lambda: VectorEnvironment(POSE, 1).reset(options=[1]), "options must be a Mapping or None"),
]


@pytest.mark.parametrize(("make", "message"), WRONG + OF_ANOTHER_TYPE)
def test_wrong_options_raise_named_errors(make, message):
    with pytest.raises(TypeError if (make, message) in OF_ANOTHER_TYPE else ValueError, match=message):
        make()


def test_poses_of_a_ball_joint_lie_on_the_sphere():
    model = mq.load_model("two_link")
    with pytest.raises(ValueError, match=r"low, high: the quaternion .* has length 2"):
        PoseTask(model, low=2.0 * model.start, high=2.0 * model.start)
    ends = [(first, 0.0, 0.0, 0.0, *model.start[4:]) for first in (-1.0, 1.0)]
    with pytest.raises(ValueError, match=r"start_low, start_high: the quaternions of both must be equal"):
        PoseTask(model, low=model.start, high=model.start, start_low=ends[0], start_high=ends[1])


def test_wrong_actions_raise_named_errors():
    envs = VectorEnvironment(POSE, 2)
    with pytest.raises(gymnasium.error.ResetNeeded):
        envs.step(REST)
    envs.reset(seed=0)
    with pytest.raises(ValueError, match=r"actions must have the shape \(2, 3\), not \(3, 2\)"):
        envs.step(np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"actions\[1, 2\] \(motor\) is nan"):
        envs.step(np.array([[0.0, 0, 0], [0, 0, np.nan]]))
    assert "elbow_pose" in library_tasks()


def test_stable_baselines3_gets_last_observations_and_what_ended_them(monkeypatch):
    """Its `VecEnv` stands in for the library, which is large."""

    class VecEnv:
        def __init__(self, num_envs, observation_space, action_space):
            self.num_envs, self.observation_space, self.action_space = num_envs, observation_space, action_space

    stub = types.ModuleType("stable_baselines3.common.vec_env")
    stub.VecEnv = VecEnv
    for name in ("stable_baselines3", "stable_baselines3.common"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, "stable_baselines3.common.vec_env", stub)
    env = stable_baselines3_env(VectorEnvironment(POSE, 2, autoreset="same_step"))
    assert env.get_images() is None  # without a render mode
    other = VectorEnvironment(POSE, 2)
    env.envs.reset(seed=0), other.reset(seed=0)
    for _ in range(POSE.horizon):
        env.step_async(REST)
        seen, reward, ended, infos = env.step_wait()
    last, last_reward, _, _, terms = run_through(other)
    assert ended.tolist() == [True, True]
    assert np.array_equal(reward, last_reward)
    for row, info in enumerate(infos):
        assert np.array_equal(info["terminal_observation"], last[row])
        assert info["TimeLimit.truncated"] is True
        assert info["pose"] == terms["pose"][row]
    assert not np.array_equal(seen, last)


def test_the_shoulder_reaches_past_its_lock():
    """Start and target lie on opposite sides of the hanging arm, and the hand is at its target in the raised pose."""
    task = load_task("shoulder_reach")
    shares = np.random.default_rng(3).random((4, task.draws))
    start = task.begin(shares)
    arm = task.model.system.quaternion_slices()[-1]
    below = np.arccos(np.clip(2 * start.q[:, arm][:, 0] ** 2 - 1, -1, 1))  # [rad] of the whole rotation
    assert np.allclose(below, 0.2 + 0.4 * shares[:, 1])
    opposite = start.q.copy()
    half = (0.2 + 0.4 * shares[:, 2]) / 2
    axis = start.q[:, arm][:, 1:] / np.linalg.norm(start.q[:, arm][:, 1:], axis=-1, keepdims=True)
    opposite[:, arm] = np.concatenate([np.cos(half)[:, None], -np.sin(half)[:, None] * axis], axis=-1)
    R, origin = mq.joints.frame_pose(task.model, opposite, "forearm")
    assert np.allclose(origin + R @ np.array(task.markers[0].position), start.goal, rtol=0, atol=1e-14)


GAIN = 1.0


class Gained(PoseTask):
    """A task whose reward reads a global, a class attribute and its weights."""

    gain = 1.0

    def reward(self, terms):
        return GAIN * self.gain * super().reward(terms)


def test_a_reset_follows_what_the_code_of_a_task_reads(monkeypatch):
    env = Environment(Gained(MODEL, low=LOW, high=LOW, weights=dict(POSE.weights)))

    def reward():
        env.reset(seed=0)
        return env.step(np.zeros(3))[1]

    before = reward()
    assert reward() == before
    monkeypatch.setattr(sys.modules[__name__], "GAIN", 3.0)
    assert reward() == pytest.approx(3.0 * before, rel=1e-12)
    monkeypatch.setattr(Gained, "gain", 2.0)
    assert reward() == pytest.approx(6.0 * before, rel=1e-12)
    for name in env.task.weights:
        env.task.weights[name] *= 0.5
    assert reward() == pytest.approx(3.0 * before, rel=1e-12)
