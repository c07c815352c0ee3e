"""Taut paths in planes through both ends of a path around an ellipsoid: near the shortest of them the geodesic lies.

Scaled by the radii the ellipsoid is the unit sphere and its plane sections are circles. A path of three plane pieces
is measured in true lengths, the arc by Gauss quadrature. As the plane turns about the line between the ends, right
round from the side of that line to the far one and back, the length may have several least values.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from myoquat.joints.stacking import joined
from myoquat.joints.vectors import cross
from myoquat.kernels import iterate
from myoquat.kernels.typing import Array
from myoquat.muscle.wrapping.circle import Winding, around
from myoquat.muscle.wrapping.vectors import direction, dot, size, unit

__all__ = ["COARSE", "SECTION", "Section", "as_short", "shortest_sections"]

TILTS = tuple(np.radians((-105.0, -70.0, -35.0, 0.0, 35.0, 70.0, 105.0)))  # against the plane through the centre
BEYOND = np.radians(140.0)  # and on the far side, where another path may be as short
GAUSS = tuple(zip(*(x.tolist() for x in np.polynomial.legendre.leggauss(5)), strict=True))
NARROW = 0.1  # least radius of a section that is looked at, of the unit sphere's
LONG = 1e3  # [m] that stands for the length of one that is not
SECTION = 8  # numbers of a section
PARABOLAS = 2  # that refine a section
REFINED, COARSE = 1.2, 2.0  # shares to which sections, refined or not, tell how much longer than straight paths are


@dataclass(frozen=True)
class Section:
    """A path over the ellipsoid, which is `length` (...) [m] long, `arc` (...) [m] of it on the surface. p, x (..., 3):
    where it comes onto the surface and leaves it; of a plane section, on the unit sphere."""

    p: Array
    x: Array
    arc: Array
    length: Array

    @classmethod
    def unpacked(cls, x: Array) -> "Section":
        """From its numbers (..., SECTION)."""
        return cls(x[..., :3], x[..., 3:6], x[..., 6], x[..., 7])

    def packed(self) -> Array:
        """(..., SECTION) its numbers."""
        return joined([self.p, self.x, self.arc[..., None], self.length[..., None]])

    def or_else(self, other: "Section", condition: Array) -> "Section":
        """The other one where the condition holds."""
        column = condition[..., None]
        return Section(
            np.where(column, other.p, self.p),
            np.where(column, other.x, self.x),
            np.where(condition, other.arc, self.arc),
            np.where(condition, other.length, self.length),
        )


def shortest_sections(
    a: Array, b: Array, radii: Array, e1: Array, e2: Array, winding: Winding
) -> tuple[Section, Section]:
    """The shortest of some sections between the scaled points a and b (..., 3), the last of them where a parabola over
    the tilts has its least length; and the shortest near another least value, on the far side too, where there is one
    that may be as short: elsewhere its length is LONG.

    `winding`: the path in the plane e1, e2 through the centre, which is kept where it goes the long way round, or would
    have to winding backwards.
    """
    central = _measured(a, b, radii, winding, 0.0 * a, e1, e2)
    d = unit(b - a)
    foot = a - dot(a, d)[..., None] * d
    height = size(foot)
    w0 = np.where((height > 0)[..., None], direction(foot), e2)
    tilted = partial(_tilted, a, b, radii, d, w0, foot)
    free = (winding.angle > 0) & ~winding.behind
    found = [tilted(tilt + 0.0 * height) if tilt else central for tilt in TILTS]
    best, tilt = central, 0.0 * height
    for i, section in enumerate(found):
        shorter = free & (section.length < best.length) if TILTS[i] else height < 0
        best, tilt = best.or_else(section, shorter), np.where(shorter, TILTS[i], tilt)
    lengths = [section.length for section in found]
    turned, other = tilt, LONG + 0.0 * height
    for i in range(1, len(found) - 1):
        least, value = _least(TILTS[i - 1 : i + 2], lengths[i - 1 : i + 2])
        here = tilt == TILTS[i]
        turned = np.where(here, least, turned)
        other = np.minimum(other, np.where(~here & _valley(lengths[i - 1 : i + 2]), value, LONG))
    last = tilted(turned)
    best = best.or_else(last, free & (last.length < best.length))
    behind = tilted(np.pi + 0.0 * height).length
    for outer, inner in (lengths[:2], lengths[:-3:-1]):
        other = np.minimum(other, np.where(outer < inner, outer, LONG))
    asked = free & as_short(replace(best, length=np.minimum(behind, other)), best, a, b, radii, COARSE)
    given = [a, b, radii, d, w0, foot, np.stack([*lengths, behind], axis=-1)]
    nothing = joined([best.packed(), best.packed()[..., :-1], LONG + 0.0 * height[..., None]])
    x = iterate(_lowest, nothing, joined(given), 1, where=asked)
    first, second = Section.unpacked(x[..., :SECTION]), Section.unpacked(x[..., SECTION:])
    return best.or_else(first, first.length < best.length), second


def as_short(section: Section, best: Section, a: Array, b: Array, radii: Array, share: float = REFINED) -> Array:
    """(...) whether one section may lie near a path as short as another one: by how much both are longer than the
    straight line between the scaled points a and b (..., 3) is known to a share."""
    straight = size((b - a) * radii)
    result: Array = section.length - straight < share * (best.length - straight)
    return result


def _lowest(_: Array, given: Array) -> Array:
    """(..., 2 SECTION) the sections at the two lowest valleys of the length as the plane turns right round, from its
    values at TILTS and on the far side; the shorter one first."""
    a, b, radii, d, w0, foot = (given[..., 3 * i : 3 * i + 3] for i in range(6))
    *lengths, behind = (given[..., 18 + i] for i in range(len(TILTS) + 1))
    tilted = partial(_tilted, a, b, radii, d, w0, foot)
    sides = [tilted(sign * BEYOND + 0.0 * behind).length for sign in (1.0, -1.0)]
    y = [*lengths, sides[0], behind, sides[1]]
    x = [*TILTS, BEYOND, np.pi, 2 * np.pi - BEYOND]
    x, y = [x[-1] - 2 * np.pi, *x, x[0] + 2 * np.pi], [y[-1], *y, y[0]]
    points = [np.stack([*(t + 0.0 * behind for t in x[:3]), *y[:3]], axis=-1)] * 2
    lowest = [LONG + 0.0 * behind] * 2
    for i in range(1, len(x) - 1):
        here = np.stack([*(t + 0.0 * behind for t in x[i - 1 : i + 2]), *y[i - 1 : i + 2]], axis=-1)
        value = np.where(_valley(y[i - 1 : i + 2]), _least(x[i - 1 : i + 2], y[i - 1 : i + 2])[1], LONG)
        lower, low = value < lowest[0], value < lowest[1]
        points[1] = np.where(lower[..., None], points[0], np.where(low[..., None], here, points[1]))
        lowest[1] = np.where(lower, lowest[0], np.where(low, value, lowest[1]))
        points[0], lowest[0] = np.where(lower[..., None], here, points[0]), np.where(lower, value, lowest[0])
    found = [_refined(tilted, x) for x in points]
    known = [replace(s, length=np.where(v < LONG, s.length, LONG)) for s, v in zip(found, lowest, strict=True)]
    swap = known[1].length < known[0].length
    return joined([known[0].or_else(known[1], swap).packed(), known[1].or_else(known[0], swap).packed()])


def _refined(tilted: Callable[[Array], Section], points: Array) -> Section:
    """The shortest section by parabolas through three tilts and lengths (..., 6), each with the last one's least."""
    x, y = ([points[..., i] for i in numbers] for numbers in (range(3), range(3, 6)))
    best = tilted(x[1])
    for _ in range(PARABOLAS):
        least, _value = _least(x, y)
        section = tilted(least)
        shorter, left = section.length < best.length, least < x[1]
        ahead = shorter == left  # the least one lies before all but the first, or the middle one behind it
        x = [
            np.where(ahead, x[0], np.where(shorter, x[1], least)),
            np.where(shorter, least, x[1]),
            np.where(ahead, np.where(shorter, x[1], least), x[2]),
        ]
        y = [
            np.where(ahead, y[0], np.where(shorter, best.length, section.length)),
            np.where(shorter, section.length, best.length),
            np.where(ahead, np.where(shorter, best.length, section.length), y[2]),
        ]
        best = best.or_else(section, shorter)
    return best


def _valley(y: Sequence[Array]) -> Array:
    """(...) whether the middle one of three lengths is no longer than the others."""
    return (y[1] <= y[0]) & (y[1] <= y[2])


def _least(x: Sequence[float] | Sequence[Array], y: Sequence[Array]) -> tuple[Array, Array]:
    """(...) where the parabola through three points is least, and how much it is there."""
    before, after = x[1] - x[0], x[1] - x[2]
    rise, fall = y[1] - y[0], y[1] - y[2]
    bend = before * fall - after * rise
    slope = before * before * fall - after * after * rise
    bend = np.where(bend != 0, bend, 1.0)
    whole = before * after * (before - after)
    return x[1] - 0.5 * slope / bend, y[1] - 0.25 * slope * slope / (bend * whole)


def _tilted(a: Array, b: Array, radii: Array, d: Array, w0: Array, foot: Array, tilt: Array) -> Section:
    """The path in a plane through a and b, turned about their line d by `tilt` (...) from the central one, around the
    side to which it is turned: beyond a right angle this is the longer way in its plane."""
    w = np.cos(tilt)[..., None] * w0 + np.sin(tilt)[..., None] * cross(d, w0)
    n = cross(d, w)
    c = dot(n, foot)[..., None] * n
    square = 1.0 - dot(c, c)
    wide = square > NARROW**2
    radius = np.sqrt(np.where(wide, square, 1.0))
    ends = [(dot(x - c, d), dot(x - c, w)) for x in (a, b)]
    winding = around(ends[0], ends[1], radius, (0.0 * radius, 0.0 * radius + 1.0))
    found = _measured(a, b, radii, winding, c, d, w)
    return replace(found, length=np.where(wide & (winding.angle > 0), found.length, LONG))


def _measured(a: Array, b: Array, radii: Array, winding: Winding, c: Array, e1: Array, e2: Array) -> Section:
    """A path in the plane c + e1, e2, given by its winding around the section."""
    p, x = (c + u[..., None] * e1 + v[..., None] * e2 for u, v in (winding.P, winding.Q))
    arc = _arc(p - c, p - a, winding.angle, radii)
    return Section(p, x, arc, size((p - a) * radii) + arc + size((b - x) * radii))


def _arc(spoke: Array, along: Array, angle: Array, radii: Array) -> Array:
    """The true length of the section's arc from `spoke` (from its centre), setting out `along`, through an angle."""
    side = unit(along) * size(spoke)[..., None]
    total: Array = np.zeros(())
    for node, weight in GAUSS:
        t = 0.5 * (1.0 + node) * angle
        total = total + 0.5 * weight * size((np.cos(t)[..., None] * side - np.sin(t)[..., None] * spoke) * radii)
    return total * angle
