"""Processor time of environment steps beside MyoSuite's own environments of the same observations and rewards.

MyoSuite (package `myosuite`) is measured where it is installed; its rows are left out elsewhere. One process steps one
of its environments with the same random actions; a vector environment of Gymnasium adds its own cost to that.
"""

import statistics
import warnings
from time import process_time
from typing import Any

import numpy as np

from myoquat.environments import VectorEnvironment, load_task

__all__ = ["run"]

TASKS = {"elbow_pose": "myoElbowPose1D6MRandom-v0", "hand_reach": "myoHandReachRandom-v0"}
STATES = (64, 256, 1024)
ACTIONS, REPEATS = 100, 5


def run() -> list[dict[str, Any]]:
    """Rows of microseconds of processor time for a step of one environment."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [row for name, theirs in TASKS.items() for row in _rows(name, theirs)]


def _rows(name: str, theirs: str) -> list[dict[str, Any]]:
    task, routes = load_task(name), {}
    for n in STATES:
        routes[f"myoquat, {n} states"] = _Ours(VectorEnvironment(task, n))
    peer = _peer(theirs)
    if peer is not None:
        routes["MyoSuite"] = peer
    times: dict[str, list[float]] = {route: [] for route in routes}
    for repeat in range(REPEATS + 1):
        for route, step in routes.items():
            taken = step()
            if repeat:
                times[route].append(taken)
    medians = {route: statistics.median(values) for route, values in times.items()}
    work = "a step of an environment, us of processor time, random actions"
    return [
        {"work": work, "task": name, "route": route, "median": 1e6 * median,
         "ratio": medians["MyoSuite"] / median if peer is not None else np.nan}
        for route, median in medians.items()
    ]  # fmt: skip


class _Ours:
    """Seconds for a step of one state among many."""

    def __init__(self, envs: VectorEnvironment) -> None:
        self.envs = envs
        envs.reset(seed=0)
        shape = (ACTIONS, *(envs.action_space.shape or ()))
        self.actions = np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32)

    def __call__(self) -> float:
        began = process_time()
        for actions in self.actions:
            self.envs.step(actions)
        return (process_time() - began) / (ACTIONS * self.envs.num_envs)


def _peer(name: str) -> Any:
    try:
        import gymnasium  # noqa: PLC0415
        import myosuite  # noqa: F401, PLC0415
    except ModuleNotFoundError:
        return None
    env = gymnasium.make(name)
    env.reset(seed=0)
    shape = (ACTIONS, *(env.action_space.shape or ()))
    actions = np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32)

    def step() -> float:
        began = process_time()
        for action in actions:
            *_, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()
        return (process_time() - began) / ACTIONS

    return step
