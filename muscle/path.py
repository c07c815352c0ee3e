"""Muscles as straight or via-point paths between bodies."""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from joints.errors import ModelError
from joints.system import ArticulatedSystem
from kernels.arrays import as_array
from muscle.laws import ForceLaw

__all__ = ["Muscle", "PathPoint", "lengths"]


@dataclass(frozen=True)
class PathPoint:
    """A point fixed to a body: position [m] in the body's frame."""

    body: str
    position: tuple[float, ...]


@dataclass(frozen=True)
class Muscle:
    """A muscle: its path from origin over via points to insertion, straight in between, and its force law.

    `activation` is the one that a simulation takes where none is given, None if the model names none.
    """

    name: str
    path: tuple[PathPoint, ...]
    law: ForceLaw | None = None
    activation: float | None = None

    def check(self, system: ArticulatedSystem) -> None:
        """ModelError if the path cannot be: too short, an unknown body, a segment of length zero in every pose."""
        element = f"muscle {self.name!r}"
        if len(self.path) < 2:
            raise ModelError(f"a path needs at least two points, not {len(self.path)}", element=element)
        known = (system.ground, *system.body_names)
        for point in self.path:
            if point.body not in known:
                raise ModelError(f"body {point.body!r} does not exist; known: {', '.join(known)}", element=element)
            if len(point.position) != 3 or not all(math.isfinite(x) for x in point.position):
                raise ModelError(f"a point must be three finite numbers, not {point.position}", element=element)
        for a, b in pairwise(self.path):
            if a == b:
                raise ModelError(
                    f"two consecutive points are the same point {list(a.position)} of body {a.body!r}", element=element
                )
        if self.activation is not None and not 0 <= self.activation <= 1:
            raise ModelError(f"activation must lie in [0, 1], not {self.activation}", element=element)
        if self.law is not None:
            self.law.check(element)


def lengths(system: ArticulatedSystem, muscles: tuple[Muscle, ...], q: Any, motion: Any = None) -> Any:
    """(..., m) path lengths [m] at coordinates q (..., nq); the formula, on floats and symbols.

    With `motion` (..., nu), the lengths after the small motion u dt, exact to first order.
    """
    poses = system.poses(q, motion)
    columns = [_length([_world(poses, point) for point in muscle.path]) for muscle in muscles]
    return np.stack(np.broadcast_arrays(*columns, subok=True), axis=-1) if columns else np.zeros((*q.shape[:-1], 0))


def _world(poses: dict[str, tuple[Any, Any]], point: PathPoint) -> Any:
    R, p = poses[point.body]
    return p + R @ as_array(point.position)


def _length(points: list[Any]) -> Any:
    segments = (b - a for a, b in pairwise(points))
    return sum(np.sqrt(np.sum(d * d, axis=-1)) for d in segments)
