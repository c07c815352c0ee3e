"""Bring points of a model to targets in the world."""

from collections.abc import Mapping
from dataclasses import field

import numpy as np

from myoquat.core.arguments import real_array
from myoquat.core.records import dataclass
from myoquat.core.typing import Array, ArrayLike
from myoquat.environments.task import Situation, Start, Task
from myoquat.environments.tasks.pose import box, effort
from myoquat.muscle.coordinates import Marker

__all__ = ["PointsTask", "ReachTask"]

NEAR_PER_POINT_M = 0.0125


@dataclass(frozen=True)
class PointsTask(Task):
    """Bring k points of the model to targets: observations and rewards. Derive from it, and write `begin`, whose
    goal is the targets (n, 3 k).

    points      names of markers, or `myoquat.muscle.coordinates.Marker` records.
    far         [m] per point: beyond k far, from the third action on, an episode ends with the penalty.
    near        [m] per point: within k near the targets are reached.

    The distance is the norm over all points. Observation (q, u control_step, points, targets - points, activations);
    terms reach = -distance, bonus: 1 within 2 k near and 2 within k near, penalty, act_reg = -|a| / m. Names and
    weights as of MyoSuite 3.0 (`ReachEnvV0`). ValueError for markers that the model does not have.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.environments import PointsTask, Start
    >>> from myoquat.muscle.coordinates import Marker
    >>> class Below(PointsTask):  # straight down
    ...     def begin(self, shares):
    ...         q = np.tile(self.model.start, (len(shares), 1))
    ...         return Start(q, np.zeros((len(q), self.model.system.nu)), np.tile([0.0, 0.0, -2.0], (len(q), 1)))
    >>> Below(mq.load_model("two_link"), points=(Marker("tip", "B", (0.0, 0.0, -1.0)),)).far
    0.35
    """

    points: tuple[str | Marker, ...] = ()
    far: float = 0.35
    near: float = NEAR_PER_POINT_M
    weights: Mapping[str, float] = field(default_factory=lambda: {"reach": 1.0, "bonus": 4.0, "penalty": 50.0})

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.markers:
            raise ValueError("points: at least one marker is needed")

    @property
    def markers(self) -> tuple[Marker, ...]:
        """The points; ValueError for a name that no marker has, and for a body that does not exist."""
        known = {marker.name: marker for marker in self.model.markers}
        found = []
        for point in self.points:
            if isinstance(point, str) and point not in known:
                raise ValueError(f"points: the model has no marker {point!r}")
            marker = known[point] if isinstance(point, str) else point
            marker.check([body.name for body in self.model.system.bodies])
            found.append(marker)
        return tuple(found)

    def observe(self, situation: Situation) -> Array:
        s, at = situation, situation.points(self.markers)
        return np.concatenate([s.q, s.u * s.control_step, at, s.goal - at, s.activation], axis=-1)

    def terms(self, situation: Situation) -> dict[str, Array]:
        error = situation.goal - situation.points(self.markers)
        distance, k = np.sqrt((error * error).sum(axis=-1)), len(self.points)
        near = k * self.near
        solved = np.where(distance < near, 1.0, 0.0)
        late = situation.time > 2.5 * situation.control_step
        done = np.where(late, np.where(distance > k * self.far, 1.0, 0.0), 0.0)
        return {
            "reach": -distance,
            "bonus": solved + np.where(distance < 2 * near, 1.0, 0.0),
            "penalty": -done,
            "act_reg": -effort(situation.activation),
            "solved": solved,
            "done": done,
        }


@dataclass(frozen=True)
class ReachTask(PointsTask):
    """Bring k points of the model to targets that each reset draws: the reach task of MyoSuite.

    low, high   (k, 3) [m] ends of the box of each target.
    targets     (t, k, 3) [m] targets to choose among instead, such as points that the model can reach.

    The other fields, the observation and the terms of the reward are those of `PointsTask`. Points are names of markers
    or `myoquat.muscle.coordinates.Marker` records. An episode ends where the distance exceeds k `far` [m].

    >>> import myoquat as mq
    >>> from myoquat.environments import ReachTask
    >>> from myoquat.muscle.coordinates import Marker
    >>> tip = Marker("tip", "B", (0.0, 0.0, -1.0))
    >>> ReachTask(mq.load_model("two_link"), points=(tip,), low=[(0, 0, -1)], high=[(0, 1, 0)]).draws
    3
    """

    low: ArrayLike = ()
    high: ArrayLike = ()
    targets: ArrayLike | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._ends()

    def _ends(self) -> tuple[Array, Array] | Array:
        """The ends of the box (3 k,) each, or the targets (t, 3 k)."""
        size = 3 * len(self.points)
        if self.targets is None:
            return box("low, high", real_array("low", self.low).ravel(), real_array("high", self.high).ravel(), size)
        targets = real_array("targets", self.targets)
        if targets.ndim != 3 or targets.shape[1:] != (len(self.points), 3) or not len(targets):
            raise ValueError(f"targets must have shape (t, {len(self.points)}, 3), t > 0, not {targets.shape}")
        return targets.reshape(-1, size)

    @property
    def draws(self) -> int:
        return 3 * len(self.points) if self.targets is None else 1

    def begin(self, shares: Array) -> Start:
        ends = self._ends()
        if isinstance(ends, tuple):
            goal = ends[0] + (ends[1] - ends[0]) * shares
        else:
            goal = ends[(shares[:, 0] * len(ends)).astype(int)]
        q = np.tile(self.model.start, (len(shares), 1))
        return Start(q, np.zeros((len(q), self.model.system.nu)), goal)
