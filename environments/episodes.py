"""The states of a vector environment: seeds, resets, steps and ends of episodes, without Gymnasium."""

from collections.abc import Mapping, Sequence

import numpy as np

from myoquat.core.typing import Array
from myoquat.environments.randomization import Randomization
from myoquat.environments.stepping import Stepper
from myoquat.environments.task import Task

__all__ = ["Episodes"]


class Episodes:
    """n episodes of a task side by side. Each state has its own random numbers and depends on no other state."""

    def __init__(self, task: Task, n: int, ranges: Mapping[str, Sequence[float]]) -> None:
        self.task, self.n = task, n
        self.randomization = Randomization(task.model, ranges)
        self.stepper = Stepper(task, self.randomization.names)
        if (varied := self.stepper.problem.varied) is not None:
            try:
                varied.check(self.randomization.bounds.T)
            except ValueError as error:
                raise ValueError(f"randomize: the model refuses an end of a range: {error}") from None
        self.generators = [np.random.default_rng() for _ in range(n)]
        self.x = np.zeros((n, self.stepper.equations.size))
        self.p = np.zeros((n, len(self.randomization.names)))
        self.count = np.zeros(n, dtype=np.int64)  # actions since the reset
        self.goal = np.zeros((n, 0))

    def seed(self, row: int, seed: int) -> None:
        """Random numbers of a state, from its seed alone."""
        self.generators[row] = np.random.default_rng(seed)

    @property
    def time(self) -> Array:
        """(n,) [s] since the reset of each state."""
        return self.count * self.task.control_step

    def reset(self, rows: Array) -> None:
        """Begin new episodes in rows (k,)."""
        task, varied = self.task, len(self.randomization.names)
        shares = np.array([self.generators[i].random(task.draws + varied) for i in rows]).reshape(len(rows), -1)
        self.p[rows] = self.randomization.values(shares[:, task.draws :])
        start = task.begin(shares[:, : task.draws])
        if self.goal.shape[1] != start.goal.shape[1]:
            self.goal = np.zeros((self.n, start.goal.shape[1]))
        self.x[rows] = self.stepper.start(start.q, start.u, self.p[rows])
        self.goal[rows], self.count[rows] = start.goal, 0

    def look(self, rows: Array | None = None) -> dict[str, Array]:
        """Observation, reward and terms of all states, or of rows (k,)."""
        chosen = slice(None) if rows is None else rows
        return self.stepper.look(self.time[chosen], self.x[chosen], self.goal[chosen], self.p[chosen])

    def advance(self, actions: Array, rows: Array | None = None) -> Array:
        """(n,) or (k,) whether a state failed, after one action (n, a) each, or (k, a) for rows."""
        if rows is None:
            self.x, failed = self.stepper.advance(self.x, actions, self.time, self.p)
            self.count += 1
            return failed
        self.x[rows], failed = self.stepper.advance(self.x[rows], actions, self.time[rows], self.p[rows])
        self.count[rows] += 1
        return failed
