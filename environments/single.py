"""A task as a single `gymnasium.Env`."""

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np

from myoquat.core.typing import Array, ArrayLike
from myoquat.environments.task import Task
from myoquat.environments.vector import FRAMES_PER_SECOND, VectorEnvironment, checked_actions

__all__ = ["Environment"]


class Environment(gymnasium.Env[Array, Array]):
    """One state of a task.

    `randomize` and `render_mode` are those of `VectorEnvironment`. Its state of the same seed is the same bit for bit.

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
        self, task: Task, *, randomize: Mapping[str, Sequence[float]] | None = None, render_mode: str | None = None
    ) -> None:
        self.vector = VectorEnvironment(task, 1, randomize=randomize, autoreset="disabled", render_mode=render_mode)
        self.task, self.render_mode = task, render_mode
        self.metadata = {**type(self).metadata, "render_fps": self.vector.metadata["render_fps"]}
        self.action_space, self.observation_space = (
            self.vector.single_action_space,
            self.vector.single_observation_space,
        )

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Begin a new episode."""
        super().reset(seed=seed)
        observations, _ = self.vector.reset(seed=seed)
        return observations[0], {}

    def step(self, action: ArrayLike) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """(observation, reward, terminated, truncated, info) after one action (a,)."""
        checked = checked_actions(action, None, self.vector.episodes.stepper.actions, "action")
        self.vector.ended = np.zeros(1, dtype=bool)  # Gymnasium leaves steps after the end to its user
        observations, rewards, terminated, truncated, infos = self.vector.step(checked[None])
        info = {name: value[0].item() for name, value in infos.items() if not name.startswith("_")}
        return observations[0], float(rewards[0]), bool(terminated[0]), bool(truncated[0]), info

    def render(self) -> Array | None:
        """A picture (height, width, 3); None without a render mode."""
        pictures = self.vector.render()
        return None if pictures is None else pictures[0]
