"""A vector environment as Stable-Baselines3 takes it."""

import importlib
from typing import Any

import numpy as np

from myoquat.core import MissingExtraError

from .vector import VectorEnvironment


def stable_baselines3_env(envs: VectorEnvironment) -> Any:
    """A `stable_baselines3.common.vec_env.VecEnv` over the states of `envs`, whose autoreset must be "same_step".

    Infos hold the terms of the reward, and "terminal_observation" and "TimeLimit.truncated" at the end of an episode.
    Raises ValueError for another autoreset mode, MissingExtraError without Stable-Baselines3.

    >>> import myoquat as mq
    >>> from myoquat.environments import PoseTask, VectorEnvironment
    >>> from myoquat.environments.stable_baselines3 import stable_baselines3_env
    >>> model = mq.load_model("two_link")
    >>> try:
    ...     stable_baselines3_env(VectorEnvironment(PoseTask(model, low=model.start, high=model.start), 2))
    ... except ValueError as error:
    ...     print(error)
    Stable-Baselines3 needs autoreset='same_step', not 'next_step'
    """
    if envs.autoreset.name != "SAME_STEP":
        raise ValueError(f"Stable-Baselines3 needs autoreset='same_step', not {envs.autoreset.name.lower()!r}")
    try:
        base: Any = importlib.import_module("stable_baselines3.common.vec_env").VecEnv
    except ModuleNotFoundError as error:
        install = "python -m pip install stable-baselines3"
        raise MissingExtraError(f"{error.name} is not installed; this installs it: {install}") from None
    return type("StableBaselines3Env", (_Steps, base), {})(envs)


class _Steps:
    """The methods of a `VecEnv`, on a vector environment."""

    def __init__(self, envs: VectorEnvironment) -> None:
        self.envs = envs
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)  # type: ignore[call-arg]
        self._seeds: list[int | None] = [None] * envs.num_envs

    def reset(self) -> Any:
        given = any(seed is not None for seed in self._seeds)
        observations, _ = self.envs.reset(seed=self._seeds if given else None)
        self._seeds = [None] * self.envs.num_envs
        return observations

    def step_async(self, actions: Any) -> None:
        self._actions = actions

    def step_wait(self) -> Any:
        seen, reward, terminated, truncated, infos = self.envs.step(self._actions)
        ended = terminated | truncated
        each: list[dict[str, Any]] = [{} for _ in range(self.envs.num_envs)]
        last = infos.get("final_info", {})
        for name in [key for key in infos if not key.startswith(("_", "final_"))]:
            values = np.where(ended, last[name], infos[name]) if name in last else infos[name]
            for info, value in zip(each, values.tolist(), strict=True):
                info[name] = value
        for row in np.flatnonzero(ended):
            each[row]["terminal_observation"] = infos["final_obs"][row]
            each[row]["TimeLimit.truncated"] = bool(truncated[row] and not terminated[row])
        return seen, reward, ended, each

    def close(self) -> None:
        self.envs.close()

    def get_attr(self, name: str, indices: Any = None) -> list[Any]:
        return [getattr(self.envs, name)] * len(self._get_indices(indices))  # type: ignore[attr-defined]

    def set_attr(self, name: str, value: Any, indices: Any = None) -> None:
        setattr(self.envs, name, value)

    def env_method(self, name: str, *arguments: Any, indices: Any = None, **given: Any) -> list[Any]:
        found = getattr(self.envs, name)(*arguments, **given)  # once: the states are one object
        return [found] * len(self._get_indices(indices))  # type: ignore[attr-defined]

    def get_images(self) -> Any:
        return self.envs.render()

    def env_is_wrapped(self, wrapper: Any, indices: Any = None) -> list[bool]:
        return [False] * len(self._get_indices(indices))  # type: ignore[attr-defined]
