"""A task as a `gymnasium.vector.VectorEnv`, many states side by side in compiled steps, or as a single environment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from myoquat.apps.viewer.films import Painter, opened
from myoquat.apps.viewer.scene import Look, frames
from myoquat.core import Array, ArrayLike, check_type, check_types, real_array
from myoquat.joints.ranges import check_state
from myoquat.muscle.model import Model
from myoquat.muscle.parameters import Parameters

from .library import load_task
from .stepping import Stepper
from .tasks import Start, Task


def _ranges(model: Model, ranges: Mapping[str, Sequence[float]]) -> tuple[tuple[str, ...], Array]:
    """Numbers of a model by the names or patterns that studies use, and their bounds (k, 2).

    ranges: name -> (low, high). ValueError for an unknown name, for one with two ranges, and for a range that is not
    two finite numbers in order.
    """
    bounds: dict[str, Array] = {}
    for pattern, pair in ranges.items():
        check_type("randomize: a name", pattern, str)
        checked = real_array(f"randomize: {pattern}", pair)
        if checked.shape != (2,) or not np.isfinite(checked).all() or checked[0] > checked[1]:
            raise ValueError(f"randomize: {pattern!r} needs a range (low, high) with low <= high, not {pair!r}")
        for name in Parameters.of(model, pattern).names:
            if name in bounds:
                raise ValueError(f"randomize: {name!r} has two ranges, the second by {pattern!r}")
            bounds[name] = checked
    return tuple(bounds), np.array(list(bounds.values())).reshape(-1, 2)


WIDTH, HEIGHT = 480, 480
FRAMES_PER_SECOND = 50
MAX_STATES = 1_000_000  # side by side; each has its own generator of random numbers


@dataclass
class Episodes:
    """What `VectorEnvironment.episodes` holds; steps and resets change it."""

    x: Array
    p: Array
    goal: Array
    count: Array
    ended: Array


class VectorEnvironment(VectorEnv[Array, Array, Array]):
    """`num_envs` states of a task, stepped together.

    task         a `Task`, or the name of one of the library.
    randomize    numbers of the model that a reset draws uniformly: name or pattern, as of a study -> (low, high).
    autoreset    "next_step", "same_step" or "disabled", as of Gymnasium; with "disabled", ended states begin anew by
                 `reset(options={"reset_mask": mask})`.
    render_mode  None or "rgb_array": a picture (height, width, 3) of each state.

    Actions (n, a) in [-1, 1], first of muscles, then of actuators; numbers beyond are clipped. Observations (n, o) are
    float32. A state whose integration fails ends, with "failed" in the infos; its observation is the last good one.
    A reset follows what the code of a task has changed since, such as a global that its reward reads.
    `episodes` holds what runs. Its x (n, m) are states of the model: q, u, then states of muscles and actuators. The
    numbers that resets drew are p (n, k), and those of the task goal (n, g). There are also the actions since the
    reset, count (n,), and whether a state has ended, ended (n,).
    State i depends on its seed alone, `seed + i` of `reset(seed=seed)`: bit for bit the same in any number of states.
    Raises ValueError for actions of another shape or with NaN, unknown names of numbers, and wrong options.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.environments import PoseTask, VectorEnvironment, with_joint_stops
    >>> model = mq.load_model("two_link")
    >>> task = PoseTask(model, low=model.start, high=model.start)  # to stay where it starts
    >>> envs = VectorEnvironment(task, 3, randomize={"bodies.A.mass": (4.0, 6.0)})
    >>> observations, infos = envs.reset(seed=0)
    >>> observations, rewards, terminations, truncations, infos = envs.step(np.zeros((3, 6)))
    >>> rewards.shape, terminations
    ((3,), array([False, False, False]))
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": FRAMES_PER_SECOND}  # noqa: RUF012

    def __init__(
        self, task: Task | str, num_envs: int, *, randomize: Mapping[str, Sequence[float]] | None = None,
        autoreset: str = "next_step", render_mode: str | None = None,
    ) -> None:  # fmt: skip
        task = load_task(task) if isinstance(task, str) else task
        modes = {mode.name.lower(): mode for mode in AutoresetMode}
        check_types(task=(task, Task), randomize=(randomize, (Mapping, type(None))))
        if not _is_whole(num_envs) or not 0 < num_envs <= MAX_STATES:
            raise ValueError(f"num_envs must be a whole number from 1 to {MAX_STATES}, not {num_envs!r}")
        if autoreset not in tuple(modes):
            raise ValueError(f"autoreset must be one of {', '.join(modes)}, not {autoreset!r}")
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"render_mode must be None or 'rgb_array', not {render_mode!r}")
        self.task, self.num_envs, self.render_mode = task, num_envs, render_mode
        self.autoreset = modes[autoreset]
        self.metadata = {**type(self).metadata, "autoreset_mode": self.autoreset,
                         "render_fps": round(1 / task.control_step)}  # fmt: skip
        self.varied, self._bounds = _ranges(task.model, randomize or {})
        self.stepper = Stepper(task, self.varied)
        if (varied := self.stepper.problem.varied) is not None:
            try:
                varied.check(self._bounds.T)
            except ValueError as error:
                raise ValueError(f"randomize: the model refuses an end of a range: {error}") from None
        self.generators = [np.random.default_rng() for _ in range(num_envs)]
        self.episodes = Episodes(
            x=np.zeros((num_envs, self.stepper.equations.size)), p=np.zeros((num_envs, len(self.varied))),
            goal=np.zeros((num_envs, 0)), count=np.zeros(num_envs, dtype=np.int64),
            ended=np.zeros(num_envs, dtype=bool),
        )  # fmt: skip
        self.single_action_space = gymnasium.spaces.Box(-1.0, 1.0, (len(self.stepper.actions),), np.float32)
        self.single_observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (self._observed(),), np.float32)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._begun = False

    def _observed(self) -> int:
        """The size of an observation; ValueError for a task whose terms lack "solved" or "done"."""
        start, p = self._start(np.full((1, self.task.draws + len(self.varied)), 0.5))
        x = self.stepper.start(start.q, start.u, p)
        seen = self.stepper.look(np.zeros(1), x, start.goal, p)
        if missing := {"solved", "done"} - set(seen):
            raise ValueError(f"task: its terms lack {', '.join(sorted(missing))}")
        return seen["observation"].shape[-1]

    def _start(self, shares: Array) -> tuple[Start, Array]:
        """What episodes begin with, and numbers of the model (n, k), from random numbers (n, draws + k) in [0, 1)."""
        low, high = self._bounds.T
        return self.task.begin(shares[:, : self.task.draws]), low + (high - low) * shares[:, self.task.draws :]

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin new episodes: of all states, or of those in `options["reset_mask"]`. A seed s is s + i of state i."""
        check_types(options=(options, (Mapping, type(None))))
        n, mask = self.num_envs, (options or {}).get("reset_mask")
        if mask is None:
            mask = np.ones(n, dtype=bool)
        if not (isinstance(mask, np.ndarray) and mask.dtype == bool and mask.shape == (n,) and mask.any()):
            raise ValueError(f"reset_mask must be a boolean array ({n},) that is True somewhere, not {mask!r}")
        if not self._begun and not mask.all():
            raise gymnasium.error.ResetNeeded("the first reset begins all states")
        each: Any = [None] * n if seed is None else seed
        each = [int(each) + i for i in range(n)] if _is_whole(each) else each
        seeds: list[Any] = list(each) if isinstance(each, (Sequence, np.ndarray)) else [each]
        if not all(x is None or (_is_whole(x) and x >= 0) for x in seeds):
            raise ValueError(f"seed must be a whole number from 0 on, None, or one for each state, not {seed!r}")
        if len(seeds) != n:
            raise ValueError(f"seed: {n} states need as many seeds, not {len(seeds)}")
        rows = np.flatnonzero(mask)
        for row in rows:
            if seeds[row] is not None:
                self.generators[row] = np.random.default_rng(int(seeds[row]))
        self.stepper.follow_code()
        self._restart(rows)
        self._begun = True
        return _observations(self._look()), {}

    def step(self, actions: ArrayLike) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """(observations, rewards, terminations, truncations, infos) after one action of each state."""
        if not self._begun:
            raise gymnasium.error.ResetNeeded("reset the environment before its first step")
        checked = _checked_actions(actions, (self.num_envs,), self.stepper.actions)
        if self.autoreset is AutoresetMode.DISABLED and self.episodes.ended.any():
            over = np.flatnonzero(self.episodes.ended).tolist()
            raise ValueError(f"states {over} have ended; reset(options={{'reset_mask': mask}}) begins them anew")
        now, failed = self.episodes, np.zeros(self.num_envs, dtype=bool)
        fresh = now.ended  # these begin anew in place of this step
        shown = ~fresh
        if shown.any():
            rows: Any = np.flatnonzero(shown) if fresh.any() else slice(None)
            now.x[rows], failed[rows] = self.stepper.advance(now.x[rows], checked[rows], self._time[rows], now.p[rows])
            now.count[rows] += 1
        self._restart(np.flatnonzero(fresh))
        seen = self._look()
        terminated = ((seen["done"] > 0) | failed) & shown
        truncated = (now.count >= self.task.horizon) & shown
        now.ended = ended = terminated | truncated
        reward, observations = np.where(fresh, 0.0, seen["reward"]), _observations(seen)
        details = {key: values for key, values in seen.items() if key not in ("observation", "reward", "done")}
        details |= {"failed": failed} if failed.any() else {}
        if self.autoreset is not AutoresetMode.SAME_STEP or not ended.any():
            return observations, reward, terminated, truncated, _infos(details, shown)
        # ended states begin anew at once: their last observations and infos stand apart
        done, final = np.flatnonzero(ended), np.full(self.num_envs, None, dtype=object)
        for i in done:
            final[i] = observations[i]
        last = {"final_obs": final, "_final_obs": ended, "final_info": _infos(details, ended), "_final_info": ended}
        self._restart(done)
        observations = observations.copy()
        observations[done] = _observations(self._look(done))
        return observations, reward, terminated, truncated, _infos(details, ~ended) | last

    @property
    def _time(self) -> Array:
        """(n,) [s] since the reset of each state."""
        return self.episodes.count * self.task.control_step

    def _look(self, rows: Array | slice = slice(None)) -> dict[str, Array]:
        """Observation, reward and terms of all states, or of rows (k,)."""
        now = self.episodes
        return self.stepper.look(self._time[rows], now.x[rows], now.goal[rows], now.p[rows])

    def _restart(self, rows: Array) -> None:
        """Begin new episodes in rows (k,)."""
        if not len(rows):
            return
        draws, now = self.task.draws + len(self.varied), self.episodes
        start, now.p[rows] = self._start(np.array([self.generators[i].random(draws) for i in rows]))
        if now.goal.shape[1] != start.goal.shape[1]:
            now.goal = np.zeros((self.num_envs, start.goal.shape[1]))
        now.x[rows] = self.stepper.start(start.q, start.u, now.p[rows])
        now.goal[rows], now.count[rows] = start.goal, 0
        now.ended = now.ended & ~np.isin(np.arange(self.num_envs), rows)

    # ---- pictures ------------------------------------------------------------------------------------------------

    def render(self) -> tuple[Array, ...] | None:
        """A picture (height, width, 3) of each state, muscles coloured by activation; None without a render mode."""
        if self.render_mode is None:
            return None
        equations, x = self.stepper.equations, self.episodes.x
        shown = np.full((self.num_envs, len(self.task.model.muscles)), np.nan)
        shown[:, list(equations.excited)] = equations.rest(x)[:, : len(equations.excited)]
        return tuple(
            self._painter.picture(Look(frame, values, 1.0, np.full(len(values), np.nan)))
            for frame, values in zip(frames(self.task.model, equations.split(x)[0]), shown, strict=True)
        )

    @cached_property
    def _painter(self) -> Painter:
        return Painter(opened(self.task.model, (), (), None, (), None)[0], WIDTH, HEIGHT)

    def __repr__(self) -> str:
        return f"<VectorEnvironment of {type(self.task).__name__}: {self.num_envs} states>"


def _is_whole(x: Any) -> bool:
    return isinstance(x, Integral) and not isinstance(x, bool)


def _infos(details: Mapping[str, Array], of: Array) -> dict[str, Any]:
    """Infos in Gymnasium's form: values (n,) of some states, 0 elsewhere, and a mask (n,) of these states."""
    found: dict[str, Any] = {}
    for name, values in details.items():
        found[name], found[f"_{name}"] = np.where(of, values, values.dtype.type(0)), of
    return found


def _observations(seen: dict[str, Array]) -> Array:
    return seen["observation"].astype(np.float32)


def _checked_actions(
    actions: ArrayLike, states: tuple[int, ...], names: Sequence[str], label: str = "actions"
) -> Array:
    """actions (*states, a) in [-1, 1] of the muscles and controls `names` (a,). ValueError for another shape or numbers
    that are not finite."""
    checked = real_array(label, actions, (*states, len(names)))
    return np.clip(check_state(label, checked, tuple(names)), -1.0, 1.0)


class Environment(gymnasium.Env[Array, Array]):
    """One state of a task.

    `task`, `randomize` and `render_mode` are those of `VectorEnvironment`, whose state of the same seed is the same bit
    for bit.

    >>> import myoquat as mq
    >>> from myoquat.environments import Environment, PoseTask
    >>> model = mq.load_model("two_link")
    >>> env = Environment(PoseTask(model, low=model.start, high=model.start))
    >>> observation, info = env.reset(seed=0)
    >>> observation, reward, terminated, truncated, info = env.step([-1.0] * 6)
    >>> terminated, truncated
    (False, False)
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": FRAMES_PER_SECOND}  # noqa: RUF012

    def __init__(
        self,
        task: Task | str,
        *,
        randomize: Mapping[str, Sequence[float]] | None = None,
        render_mode: str | None = None,
    ) -> None:
        self.vector = VectorEnvironment(task, 1, randomize=randomize, autoreset="disabled", render_mode=render_mode)
        self.task, self.render_mode = self.vector.task, render_mode
        self.metadata = {**type(self).metadata, "render_fps": self.vector.metadata["render_fps"]}
        self.action_space = self.vector.single_action_space
        self.observation_space = self.vector.single_observation_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Begin a new episode."""
        super().reset(seed=seed)
        observations, _ = self.vector.reset(seed=seed)
        return observations[0], {}

    def step(self, action: ArrayLike) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """(observation, reward, terminated, truncated, info) after one action (a,)."""
        checked = _checked_actions(action, (), self.vector.stepper.actions, "action")
        self.vector.episodes.ended = np.zeros(1, dtype=bool)  # Gymnasium leaves steps after the end to its user
        observations, rewards, terminated, truncated, infos = self.vector.step(checked[None])
        info = {name: value[0].item() for name, value in infos.items() if not name.startswith("_")}
        return observations[0], float(rewards[0]), bool(terminated[0]), bool(truncated[0]), info

    def render(self) -> Array | None:
        """A picture (height, width, 3); None without a render mode."""
        pictures = self.vector.render()
        return None if pictures is None else pictures[0]
