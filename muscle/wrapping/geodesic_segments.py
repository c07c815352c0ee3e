"""Geodesics on surfaces that have a place in the world: functions that a kernel holds once for all of a kind."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.stacking import joined
from myoquat.joints.vectors import cross, matvec, vecmat
from myoquat.kernels import iterate
from myoquat.muscle.wrapping.surfaces.base import Wrap
from myoquat.muscle.wrapping.surfaces.vectors import direction, dot, unit

__all__ = ["VARIED", "Course", "Placed", "followed_on", "laid", "within_plane"]

VARIED = 10  # numbers of a geodesic: where it begins, in which direction, how long it is, and where it ends
TIP = 14  # numbers of a tip


@dataclass(frozen=True)
class Placed:
    """A surface by its prototype and its numbers (..., n): the rows of its frame's axes and its origin in the world,
    and its own."""

    kind: Wrap
    place: Array

    @property
    def numbers(self) -> Array:
        result: Array = self.place[..., 12:]
        return result

    @property
    def wrap(self) -> Wrap:
        return self.kind.shaped(self.numbers)

    @property
    def axes(self) -> Array:
        """(..., 3, 3)"""
        return np.stack([self.place[..., 3 * i : 3 * i + 3] for i in range(3)], axis=-2)

    def seen(self, x: Array) -> Array:
        """(..., 3) a point of the world in the surface's frame."""
        return matvec(self.axes, x - self.place[..., 9:12])

    def turned(self, v: Array) -> Array:
        """(..., 3) a direction of the surface's frame in the world."""
        return vecmat(v, self.axes)

    def in_world(self, x: Array) -> Array:
        """(..., 3) a point of the surface's frame in the world."""
        result: Array = self.place[..., 9:12] + self.turned(x)
        return result


@dataclass(frozen=True)
class Tip:
    """An end of a geodesic, in the world: the point x, the direction t, the normal n, b = n x t, and by how much n
    turns along t and along b, times t: curved and twisted (...) [1/m]."""

    x: Array
    t: Array
    n: Array
    b: Array
    curved: Array
    twisted: Array

    @classmethod
    def unpacked(cls, y: Array) -> "Tip":
        """From its numbers (..., TIP)."""
        return cls(y[..., 0:3], y[..., 3:6], y[..., 6:9], y[..., 9:12], y[..., 12], y[..., 13])


@dataclass(frozen=True)
class Course:
    """A geodesic from P to Q with its Jacobi fields and their rates, a, da, r, dr (...), where the path is `on` it."""

    P: Tip
    Q: Tip
    fields: tuple[Array, Array, Array, Array]
    on: Array

    @classmethod
    def unpacked(cls, y: Array) -> "Course":
        """From its numbers (..., 2 TIP + 5)."""
        P, Q = Tip.unpacked(y[..., :TIP]), Tip.unpacked(y[..., TIP : 2 * TIP])
        a, da, r, dr, on = (y[..., 2 * TIP + i] for i in range(5))
        return cls(P, Q, (a, da, r, dr), on > 0)


def followed_on(placed: Placed, z: Array, on: Array, step: Array) -> Array:
    """The numbers of the `Course` from the numbers z (..., VARIED) of a geodesic, in the surface's frame; where it ends
    they need not say. step (...) [rad]: of the iteration before."""
    given = joined([z[..., :7], step[..., None], placed.place])
    start = 0.0 * z[..., :1] * np.ones(2 * TIP + 4)
    return joined(
        [iterate(partial(_course, placed.kind), start, given, 1, where=on), np.where(on, 1.0, 0.0)[..., None]]
    )


def _course(kind: Wrap, before: Array, given: Array) -> Array:
    placed, P, t = Placed(kind, given[..., 8:]), given[..., 0:3], given[..., 3:6]
    end = placed.wrap.geodesic(P, t, given[..., 6:7], step=given[..., 7])
    fields = np.stack([end.a, end.da, end.r, end.dr], axis=-1)
    return joined([_tip(placed, P, t), _tip(placed, end.x, end.t), fields])


def _tip(placed: Placed, x: Array, t: Array) -> Array:
    """(..., TIP) the numbers of a tip."""
    n = unit(placed.wrap.normal(x))
    b = cross(n, t)
    bent = placed.wrap.bent(x, t)
    turned = [placed.turned(v) for v in (t, n, b)]
    return joined([placed.in_world(x), *turned, dot(t, bent)[..., None], dot(b, bent)[..., None]])


def laid(placed: Placed, P: Array, v: Array, length: Array, Q: Array, on: Array) -> Array:
    """(..., VARIED) the numbers of a geodesic that begins near P in nearly the direction v and ends near Q (..., 3) of
    the world, and is of `length` (..., 1)."""
    somewhere = placed.place[..., 9:12] + 1.0  # but the centre
    P, Q = (np.where(on[..., None], x, somewhere) for x in (P, Q))
    given = joined([P, v, Q, length, placed.place])
    return iterate(partial(_laid, placed.kind), 0.0 * length * np.ones(VARIED), given, 1, where=on)


def _laid(kind: Wrap, before: Array, given: Array) -> Array:
    placed = Placed(kind, given[..., 10:])
    wrap = placed.wrap
    P, Q = (wrap.onto(placed.seen(given[..., i : i + 3])) for i in (0, 6))
    return joined([P, within_plane(matvec(placed.axes, given[..., 3:6]), unit(wrap.normal(P))), given[..., 9:10], Q])


def within_plane(v: Array, n: Array) -> Array:
    """(..., 3) the direction of v in the plane across the unit vector n; zero where it has none."""
    return direction(v - dot(v, n)[..., None] * n)
