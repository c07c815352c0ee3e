"""Error statistics that grow block by block, so that a million poses need the memory of a few thousand."""

from collections.abc import Callable
from dataclasses import field

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array

__all__ = ["Statistics", "largest_entry"]


def largest_entry(x: Array) -> Array:
    """(...) largest magnitude along the short last axis; column by column, which NumPy does faster than by rows."""
    columns = np.abs(np.moveaxis(x, -1, 0))
    result: Array = columns[0].copy()
    for column in columns[1:]:
        np.maximum(result, column, out=result)
    return result


@dataclass
class Statistics:
    """Errors of one comparison over all poses seen, against a scale per muscle and a condition number per pose."""

    scale: Array  # (m,) largest entry of each muscle over all poses
    tolerance: float
    signed_sum: float = 0.0
    largest: float = 0.0  # |error|
    relative: float = 0.0  # |error| / scale
    conditioned: float = 0.0  # |error| / (scale * condition)
    exceeded: int = 0  # poses beyond tolerance * condition
    unexplained: int = 0  # of these, poses beyond the scatter too
    scatter: float = 0.0  # the largest scatter of a pose beyond
    count: int = 0
    worst_pose: int = -1
    worst_muscle: int = -1
    worst_condition: float = 1.0
    worst_q: Array = field(default_factory=lambda: np.zeros(0))

    def add(self, error: Array, condition: Array, q: Array, scatter: Callable[[Array], Array] | None = None) -> None:
        """Take in errors (n, joints, m, w) of the n next poses q (n, nq), with condition (n, joints).

        scatter: gives (k, m) by how much J scatters through round-off at k poses, relative to its scale; without it
        there is none. An error that is not a number counts as infinite.
        """
        self.signed_sum += float(error.sum())
        size = largest_entry(error)
        size[~np.isfinite(size)] = np.inf
        relative = size / self.scale
        bounded = relative / condition[..., None]
        per_pose = largest_entry(bounded.reshape(len(q), -1))
        beyond = np.flatnonzero(per_pose > self.tolerance)
        self.exceeded += len(beyond)
        self._explain(bounded, beyond, scatter)
        self.largest = max(self.largest, float(size.max()))
        self.relative = max(self.relative, float(relative.max()))
        at = int(per_pose.argmax())
        if per_pose[at] > self.conditioned or self.worst_pose < 0:
            joint, muscle = np.unravel_index(int(bounded[at].argmax()), bounded[at].shape)
            self.conditioned, self.worst_pose = float(per_pose[at]), self.count + at
            self.worst_muscle, self.worst_condition = int(muscle), float(condition[at, joint])
            self.worst_q = q[at].copy()
        self.count += len(q)

    def _explain(self, bounded: Array, beyond: Array, scatter: Callable[[Array], Array] | None) -> None:
        """Count the poses beyond whose error is larger than the scatter of its muscle."""
        if scatter is None or not len(beyond):
            self.unexplained += len(beyond)
            return
        limits, errors = np.maximum(scatter(beyond), self.tolerance), bounded[beyond]
        self.unexplained += int(np.count_nonzero(~(errors <= limits[:, None]).all(axis=(1, 2))))
        explained = np.where((errors > self.tolerance).any(axis=1), limits, 0.0)
        self.scatter = max(self.scatter, float(explained.max()))
