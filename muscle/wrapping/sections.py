"""Taut paths in planes through both ends of a path around an ellipsoid: near the shortest of them the geodesic lies.

Scaled by the radii the ellipsoid is the unit sphere and its plane sections are circles. A path of three plane pieces
is measured in true lengths, the arc by Gauss quadrature.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from myoquat.joints.vectors import cross
from myoquat.kernels.typing import Array
from myoquat.muscle.wrapping.circle import Winding, around
from myoquat.muscle.wrapping.vectors import direction, dot, unit

__all__ = ["Section", "shortest_section"]

TILTS = tuple(np.radians((-80.0, -50.0, -25.0, 0.0, 25.0, 50.0, 80.0)))  # against the plane through the centre
GAUSS = tuple(zip(*(x.tolist() for x in np.polynomial.legendre.leggauss(5)), strict=True))
NARROW = 0.1  # least radius of a section that is looked at, of the unit sphere's
LONG = 1e3  # [m] that stands for the length of one that is not


@dataclass(frozen=True)
class Section:
    """p, x (..., 3): where the path meets and leaves the unit sphere; arc and length (...) [m] of it all."""

    p: Array
    x: Array
    arc: Array
    length: Array

    def or_else(self, other: "Section", condition: Array) -> "Section":
        """The other one where the condition holds."""
        column = condition[..., None]
        return Section(
            np.where(column, other.p, self.p),
            np.where(column, other.x, self.x),
            np.where(condition, other.arc, self.arc),
            np.where(condition, other.length, self.length),
        )


def shortest_section(a: Array, b: Array, radii: Array, e1: Array, e2: Array, winding: Winding) -> Section:
    """The shortest of some sections between the scaled points a and b (..., 3), the last of them where a parabola over
    the tilts has its least length.

    `winding`: the path in the plane e1, e2 through the centre, which is kept where it goes the long way round, or would
    have to winding backwards.
    """
    central = _measured(a, b, radii, winding, 0.0 * a, e1, e2)
    d = unit(b - a)
    foot = a - dot(a, d)[..., None] * d
    height = np.sqrt(dot(foot, foot))
    w0 = np.where((height > 0)[..., None], direction(foot), e2)
    tilted = partial(_tilted, a, b, radii, d, w0, foot)
    free = (winding.angle > 0) & ~winding.behind
    found = [tilted(tilt + 0.0 * height) if tilt else central for tilt in TILTS]
    best, tilt = central, 0.0 * height
    for i, section in enumerate(found):
        shorter = free & (section.length < best.length) if TILTS[i] else height < 0
        best, tilt = best.or_else(section, shorter), np.where(shorter, TILTS[i], tilt)
    for i in range(1, len(found) - 1):
        least = _least(TILTS[i - 1 : i + 2], [section.length for section in found[i - 1 : i + 2]])
        tilt = np.where(tilt == TILTS[i], least, tilt)
    last = tilted(tilt)
    return best.or_else(last, free & (last.length < best.length))


def _least(x: Sequence[float], y: Sequence[Array]) -> Array:
    """(...) where the parabola through three points is least."""
    before, after = x[1] - x[0], x[1] - x[2]
    rise, fall = y[1] - y[0], y[1] - y[2]
    bend = before * fall - after * rise
    result: Array = x[1] - 0.5 * (before * before * fall - after * after * rise) / np.where(bend != 0, bend, 1.0)
    return result


def _tilted(a: Array, b: Array, radii: Array, d: Array, w0: Array, foot: Array, tilt: Array) -> Section:
    """The path in a plane through a and b, turned about their line d by `tilt` (...) from the central one."""
    w = np.cos(tilt)[..., None] * w0 + np.sin(tilt)[..., None] * cross(d, w0)
    n = cross(d, w)
    c = dot(n, foot)[..., None] * n
    square = 1.0 - dot(c, c)
    wide = square > NARROW**2
    radius = np.sqrt(np.where(wide, square, 1.0))
    ends = [(dot(x - c, d), dot(x - c, w)) for x in (a, b)]
    found = _measured(a, b, radii, around(ends[0], ends[1], radius), c, d, w)
    return replace(found, length=np.where(wide, found.length, LONG))


def _measured(a: Array, b: Array, radii: Array, winding: Winding, c: Array, e1: Array, e2: Array) -> Section:
    """A path in the plane c + e1, e2, given by its winding around the section."""
    p, x = (c + u[..., None] * e1 + v[..., None] * e2 for u, v in (winding.P, winding.Q))
    arc = _arc(p - c, p - a, winding.angle, radii)
    return Section(p, x, arc, _size((p - a) * radii) + arc + _size((b - x) * radii))


def _arc(spoke: Array, along: Array, angle: Array, radii: Array) -> Array:
    """The true length of the section's arc from `spoke` (from its centre), setting out `along`, through an angle."""
    side = unit(along) * _size(spoke)[..., None]
    total: Array = np.zeros(())
    for node, weight in GAUSS:
        t = 0.5 * (1.0 + node) * angle
        total = total + 0.5 * weight * _size((np.cos(t)[..., None] * side - np.sin(t)[..., None] * spoke) * radii)
    return total * angle


def _size(v: Array) -> Array:
    return np.sqrt(dot(v, v))
