"""Geodesics on surfaces that have a pose in the world: functions that a kernel holds once for each surface type."""

from dataclasses import replace

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.vectors import cross, matvec, vecmat
from myoquat.kernels import call_where, static
from myoquat.muscle.wrapping.surfaces.base import Wrap
from myoquat.muscle.wrapping.surfaces.vectors import direction, dot, unit

__all__ = ["Geodesic", "GeodesicSegment", "PlacedSurface", "followed", "moved_geodesic", "within_plane"]


@dataclass(frozen=True)
class PlacedSurface:
    """A surface by the rows (..., 3, 3) of its frame's axes and its origin (..., 3) in the world, its own numbers
    (..., n), and its prototype."""

    axes: Array
    origin: Array
    numbers: Array
    prototype: Wrap = static()

    @property
    def wrap(self) -> Wrap:
        return self.prototype.shaped(self.numbers)

    def seen(self, x: Array) -> Array:
        """(..., 3) a point of the world in the surface's frame."""
        return matvec(self.axes, x - self.origin)

    def turned(self, v: Array) -> Array:
        """(..., 3) a direction of the surface's frame in the world."""
        return vecmat(v, self.axes)

    def in_world(self, x: Array) -> Array:
        """(..., 3) a point of the surface's frame in the world."""
        result: Array = self.origin + self.turned(x)
        return result


@dataclass(frozen=True)
class Geodesic:
    """A geodesic in its surface's frame: where it begins, P, its direction t there, its length (...) [m], and its end Q
    (..., 3)."""

    P: Array
    t: Array
    length: Array
    Q: Array


@dataclass(frozen=True)
class GeodesicEnd:
    """An end of a geodesic.

    x        the point
    t        the direction
    n        the normal
    b        n x t
    curved   (...) [1/m] by how much n turns along t, times t
    twisted  (...) [1/m] by how much n turns along b, times t
    """

    x: Array
    t: Array
    n: Array
    b: Array
    curved: Array
    twisted: Array

    def in_world(self, placed: PlacedSurface) -> "GeodesicEnd":
        """The end in the world, of one in its surface's frame."""
        t, n, b = (placed.turned(v) for v in (self.t, self.n, self.b))
        return GeodesicEnd(placed.in_world(self.x), t, n, b, self.curved, self.twisted)


@dataclass(frozen=True)
class GeodesicSegment:
    """A geodesic, with its Jacobi fields a, r and their rates at the end."""

    P: GeodesicEnd
    Q: GeodesicEnd
    a: Array
    da: Array
    r: Array
    dr: Array

    def in_world(self, placed: PlacedSurface) -> "GeodesicSegment":
        """The geodesic in the world, of one in its surface's frame."""
        return replace(self, P=self.P.in_world(placed), Q=self.Q.in_world(placed))

    @classmethod
    def none(cls, zero: Array) -> "GeodesicSegment":
        """No geodesic; zero (..., 3)."""
        number = zero[..., 0]
        end = GeodesicEnd(zero, zero, zero, zero, number, number)
        return cls(end, end, number, number, number, number)


@dataclass(frozen=True)
class _Start:
    """A geodesic from P in the direction t (..., 3), `length` (..., 1) [m] long, on a surface of `numbers` (..., n);
    and the step (...) [rad] of the iteration before."""

    P: Array
    t: Array
    length: Array
    step: Array
    numbers: Array
    surface: Wrap = static()


def followed(placed: PlacedSurface, geodesic: Geodesic, on: Array, step: Array) -> GeodesicSegment:
    """A geodesic in its surface's frame, followed from its start, where the path is `on` (...) the surface."""
    start = _Start(geodesic.P, geodesic.t, geodesic.length[..., None], step, placed.numbers, placed.prototype)
    return call_where(_followed, start, on, GeodesicSegment.none(0.0 * geodesic.P))


def _followed(start: _Start) -> GeodesicSegment:
    wrap = start.surface.shaped(start.numbers)
    end = wrap.geodesic(start.P, start.t, start.length, step=start.step)
    return GeodesicSegment(_end(wrap, start.P, start.t), _end(wrap, end.x, end.t), end.a, end.da, end.r, end.dr)


def _end(wrap: Wrap, x: Array, t: Array) -> GeodesicEnd:
    n = unit(wrap.normal(x))
    b = cross(n, t)
    bent = wrap.bent(x, t)
    return GeodesicEnd(x, t, n, b, dot(t, bent), dot(b, bent))


@dataclass(frozen=True)
class _Near:
    """Where a geodesic lies nearly, in the world: from P in the direction v to Q (..., 3), `length` (...) long."""

    P: Array
    v: Array
    Q: Array
    length: Array
    placed: PlacedSurface


def moved_geodesic(placed: PlacedSurface, P: Array, v: Array, length: Array, Q: Array, on: Array) -> Geodesic:
    """A geodesic of the surface, in its frame, near one of the world; where the path is `on` (...) the surface.

    It begins near P in nearly the direction v, ends near Q (..., 3) of the world, and is of `length` (...).
    """
    somewhere = placed.origin + 1.0  # but the centre
    P, Q = (np.where(on[..., None], x, somewhere) for x in (P, Q))
    zero = 0.0 * v
    nearly = _Near(P, v, Q, length, placed)
    return call_where(_moved, nearly, on, Geodesic(zero, zero, zero[..., 0], zero))


def _moved(near: _Near) -> Geodesic:
    placed = near.placed
    wrap = placed.wrap
    P, Q = (wrap.onto(placed.seen(x)) for x in (near.P, near.Q))
    return Geodesic(P, within_plane(matvec(placed.axes, near.v), unit(wrap.normal(P))), near.length, Q)


def within_plane(v: Array, n: Array) -> Array:
    """(..., 3) the direction of v in the plane across the unit vector n; zero where it has none."""
    return direction(v - dot(v, n)[..., None] * n)
