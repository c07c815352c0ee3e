"""Bring a model into a pose."""

from collections.abc import Mapping
from dataclasses import field

import numpy as np

from myoquat.core.arguments import real_array
from myoquat.core.records import dataclass
from myoquat.core.typing import Array, ArrayLike
from myoquat.environments.task import Situation, Start, Task

__all__ = ["PoseTask", "box"]


@dataclass(frozen=True)
class PoseTask(Task):
    """Reach coordinates that each reset draws from [low, high], and stay there: the pose task of MyoSuite.

    low, high              (nq,) of the target.
    start_low, start_high  (nq,) of the start, uniform between them; the model's start by default.
    threshold              distance |q* - q| [rad] below which the pose is reached.

    Observation (q, u control_step, q* - q, activations); terms pose = -|q* - q|, bonus: 1 below 1.5 and 2 below 1
    thresholds, penalty = -1 and the end beyond 2 pi, act_reg = -|a| / m. Names and weights as of MyoSuite 3.0
    (`PoseEnvV0`). Quaternions of a target are those of the coordinates: give them with unit norm, low equal to high.

    >>> import myoquat as mq
    >>> from myoquat.environments import PoseTask
    >>> model = mq.load_model("two_link")
    >>> PoseTask(model, low=model.start, high=model.start).control_step
    0.02
    """

    low: ArrayLike = ()
    high: ArrayLike = ()
    start_low: ArrayLike | None = None
    start_high: ArrayLike | None = None
    threshold: float = 0.35
    weights: Mapping[str, float] = field(
        default_factory=lambda: {"pose": 1.0, "bonus": 4.0, "act_reg": 1.0, "penalty": 50.0}
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        start = self.model.start
        balls = self.model.system.layout.quaternion_indices
        for names, ends in (("low, high", (self.low, self.high)), ("start_low, start_high", self._start)):
            low, high = box(names, *ends, len(start))
            self.model.system.check_q(low, names)
            if (low[balls] != high[balls]).any():
                raise ValueError(
                    f"{names}: the quaternions of both must be equal: what is between them is off the sphere"
                )

    @property
    def _start(self) -> tuple[ArrayLike, ArrayLike]:
        start = self.model.start
        return (start if self.start_low is None else self.start_low), (
            start if self.start_high is None else self.start_high
        )

    @property
    def draws(self) -> int:
        return 2 * len(self.model.start)

    def begin(self, shares: Array) -> Start:
        n = len(self.model.start)
        low, high = box("low, high", self.low, self.high, n)
        first, last = box("start_low, start_high", *self._start, n)
        q = first + (last - first) * shares[:, n:]
        return Start(q, np.zeros((len(q), self.model.system.nu)), low + (high - low) * shares[:, :n])

    def observe(self, situation: Situation) -> Array:
        s = situation
        return np.concatenate([s.q, s.u * s.control_step, s.goal - s.q, s.activation], axis=-1)

    def terms(self, situation: Situation) -> dict[str, Array]:
        error = situation.goal - situation.q
        distance = np.sqrt((error * error).sum(axis=-1))
        near, far = self.threshold, 2 * np.pi
        solved = np.where(distance < near, 1.0, 0.0)
        done = np.where(distance > far, 1.0, 0.0)
        return {
            "pose": -distance,
            "bonus": solved + np.where(distance < 1.5 * near, 1.0, 0.0),
            "penalty": -done,
            "act_reg": -effort(situation.activation),
            "solved": solved,
            "done": done,
        }


def effort(activation: Array) -> Array:
    """|a| / m of activations (..., m); 0 without muscles."""
    m = activation.shape[-1]
    found: Array = np.sqrt((activation * activation).sum(axis=-1)) / m if m else np.zeros(())
    return found


def box(names: str, low: ArrayLike, high: ArrayLike, n: int) -> tuple[Array, Array]:
    """low and high (n,); ValueError unless they are finite numbers in order."""
    first, second = names.split(", ")
    pair = real_array(first, low), real_array(second, high)
    if any(x.shape != (n,) or not np.isfinite(x).all() for x in pair) or (pair[0] > pair[1]).any():
        raise ValueError(f"{names}: two arrays ({n},) of finite numbers are needed, none of the first above the second")
    return pair
