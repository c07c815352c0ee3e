"""Muscles: paths from point to point between bodies, and their lengths."""

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from joints.errors import ModelError
from joints.system import ArticulatedSystem
from joints.vectors import cross
from muscle.activation import ActivationDynamics
from muscle.laws import ForceLaw
from muscle.points import ConditionalPoint, PathPoint

__all__ = ["Muscle", "lengths"]


@dataclass(frozen=True)
class Muscle:
    """A muscle: its path from origin over via points to insertion, straight in between, and its force law.

    `activation` is the one that a simulation takes where none is given, None if the model names none. With
    `activation_dynamics` it follows an excitation and is a state of simulations; without, it is given.
    """

    name: str
    path: tuple[PathPoint, ...]
    law: ForceLaw | None = None
    activation: float | None = None
    activation_dynamics: ActivationDynamics | None = None

    def check(self, system: ArticulatedSystem) -> None:
        """ModelError if the path cannot be: too short, an unknown body, a segment of length zero in every pose."""
        element = f"muscle {self.name!r}"
        if len(self.path) < 2:
            raise ModelError(f"a path needs at least two points, not {len(self.path)}", element=element)
        for point in self.path:
            point.check(system, element)
        if any(isinstance(point, ConditionalPoint) for point in (self.path[0], self.path[-1])):
            raise ModelError("the first and the last point of a path cannot be conditional", element=element)
        for a, b in pairwise(self.path):
            if a == b:
                raise ModelError(
                    f"two consecutive points are the same point {list(a.position)} of body {a.body!r}", element=element
                )
        if self.activation is not None and not 0 <= self.activation <= 1:
            raise ModelError(f"activation must lie in [0, 1], not {self.activation}", element=element)
        if self.law is not None:
            self.law.check(element)
        if self.activation_dynamics is not None:
            self.activation_dynamics.check(element)


def lengths(system: ArticulatedSystem, muscles: tuple[Muscle, ...], q: Any, motion: Any = None) -> Any:
    """(..., m) path lengths [m] at coordinates q (..., nq); the formula, on floats and symbols.

    With `motion` (..., nu), the lengths after the small motion u dt, exact to first order where |Q| = 1.
    """
    poses = system.poses(q)
    after = q if motion is None else system.displaced(q, motion)

    @cache
    def shifts(base: str) -> dict[str, tuple[Any, Any]]:
        return system.shifts(q, motion, poses, base)

    columns = []
    for muscle in muscles:
        # Motion is seen from the body on which the whole path hangs: joints below it cannot change the length.
        base = system.junction(point.body for point in muscle.path)
        moved = {} if motion is None else shifts(base)
        points = [_world(poses, moved, point, point.local(system, after)) for point in muscle.path]
        columns.append(_length(points, [point.active(system, q) for point in muscle.path]))
    return np.stack(np.broadcast_arrays(*columns, subok=True), axis=-1) if columns else np.zeros((*q.shape[:-1], 0))


def _world(poses: dict[str, tuple[Any, Any]], moved: dict[str, tuple[Any, Any]], point: PathPoint, local: Any) -> Any:
    """A path point in the world, after the shift of its body if there is one."""
    R, p = poses[point.body]
    arm = (R @ local[..., None])[..., 0]
    if point.body not in moved:
        return p + arm
    turned, stepped = moved[point.body]
    return p + arm + (stepped + cross(turned, arm))


def _length(points: list[Any], active: list[Any]) -> Any:
    """The sum of the straight segments between the points that are active."""
    total: Any = 0.0
    last = points[0]
    for point, on in zip(points[1:], active[1:], strict=True):
        d = point - last
        if on is True:
            total, last = total + np.sqrt(np.sum(d * d, axis=-1)), point
        else:
            d = np.where(on[..., None], d, 1.0)  # a root of zero would spoil the derivative where the point is off
            total = total + np.where(on, np.sqrt(np.sum(d * d, axis=-1)), 0.0)
            last = np.where(on[..., None], point, last)
    return total
