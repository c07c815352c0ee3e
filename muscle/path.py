"""Muscles as straight or via-point paths between bodies."""

import math
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from joints.errors import ModelError
from joints.system import ArticulatedSystem
from joints.vectors import cross
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

    With `motion` (..., nu), the lengths after the small motion u dt, exact to first order where |Q| = 1.
    """
    poses = system.poses(q)

    @cache
    def shifts(base: str) -> dict[str, tuple[Any, Any]]:
        return system.shifts(q, motion, poses, base)

    columns = []
    for muscle in muscles:
        # Motion is seen from the body on which the whole path hangs: joints below it cannot change the length.
        base = system.junction(point.body for point in muscle.path)
        moved = {} if motion is None else shifts(base)
        columns.append(_length([_world(poses, moved, point) for point in muscle.path]))
    return np.stack(np.broadcast_arrays(*columns, subok=True), axis=-1) if columns else np.zeros((*q.shape[:-1], 0))


def _world(poses: dict[str, tuple[Any, Any]], moved: dict[str, tuple[Any, Any]], point: PathPoint) -> Any:
    """A path point in the world, after the shift of its body if there is one."""
    R, p = poses[point.body]
    arm = R @ as_array(point.position)
    if point.body not in moved:
        return p + arm
    turned, stepped = moved[point.body]
    return p + arm + (stepped + cross(turned, arm))


def _length(points: list[Any]) -> Any:
    segments = (b - a for a, b in pairwise(points))
    return sum(np.sqrt(np.sum(d * d, axis=-1)) for d in segments)
