"""The shortest of the taut paths in planes through both ends of a path around an ellipsoid: near it the geodesic lies.

As the plane turns about the chord between the ends, right round from the side of that line to the far one and back, the
length may have several least values.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from myoquat.core.typing import Array
from myoquat.kernels import call_where
from myoquat.muscle.wrapping.surfaces.planar_paths import LONG, Bow, Chord
from myoquat.muscle.wrapping.surfaces.vectors import size

__all__ = ["COARSE", "Section", "as_short", "shortest_sections"]

TILTS = tuple(np.radians((-105.0, -70.0, -35.0, 0.0, 35.0, 70.0, 105.0)).tolist())  # against the plane of the centre
BEYOND = math.radians(140.0)  # and on the far side, where another path may be as short
PARABOLAS = 2  # that refine a section
REFINED, COARSE = 1.2, 2.0  # shares to which sections, refined or not, tell how much longer than straight paths are
SAMPLED = 5.0  # and to which those at TILTS may, where a valley lies between them


@dataclass(frozen=True)
class Section:
    """A path over the ellipsoid, which is `length` (...) [m] long, `arc` (...) [m] of it on the surface. p, x (..., 3):
    where it comes onto the surface and leaves it; of a plane section, on the unit sphere."""

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


def shortest_sections(a: Array, b: Array, radii: Array, every: Array) -> tuple[Section, Section]:
    """The shortest of some sections between the scaled points a and b (..., 3), the last of them where a parabola over
    the tilts has its least length; and the shortest near another least value, on the far side too, where there is one
    that may be as short, or one of any length where `every` (...) holds: elsewhere its length is LONG.

    The straight line between the points runs through the ellipsoid.
    """
    chord = Chord.between(a, b, radii)
    found = [chord.bow(math.cos(tilt), math.sin(tilt)) for tilt in TILTS]
    best, tilt = found[TILTS.index(0.0)], 0.0 * chord.height
    for own, bow in zip(TILTS, found, strict=True):
        shorter = bow.length < best.length
        best, tilt = best.or_else(bow, shorter), np.where(shorter, own, tilt)
    lengths = [bow.length for bow in found]
    turned, other = tilt, LONG + 0.0 * tilt
    for i in range(1, len(found) - 1):
        least, value = _least(TILTS[i - 1 : i + 2], lengths[i - 1 : i + 2])
        here = tilt == TILTS[i]
        turned = np.where(here, least, turned)
        other = np.minimum(other, np.where(~here & _valley(lengths[i - 1 : i + 2]), value, LONG))
    last = _tilted(chord, turned)
    best = best.or_else(last, last.length < best.length)
    behind = chord.bow(-1.0, 0.0).length
    for outer, inner in (lengths[:2], lengths[:-3:-1]):
        other = np.minimum(other, np.where(outer < inner, outer, LONG))
    asked, known = (_as_short(np.minimum(behind, other), best.length, a, b, radii, x) for x in (SAMPLED, COARSE))
    asked, known = asked | every, known | every
    nothing = best, replace(best, length=LONG + 0.0 * tilt)
    first, second = call_where(_lowest, _Sampled(chord, tuple(lengths), behind), asked, nothing)
    best = best.or_else(first, first.length < best.length)
    # a section is known better than what lies beside it at TILTS: a rival is one that either tells
    known = known | _as_short(second.length, best.length, a, b, radii, REFINED)
    bows = best, replace(best, length=LONG + 0.0 * tilt).or_else(second, known)
    shortest, rival = (Section(*chord.ends_of(bow), bow.arc, bow.length) for bow in bows)
    return shortest, rival


def as_short(section: Section, best: Section, a: Array, b: Array, radii: Array, share: float = REFINED) -> Array:
    """(...) whether one section may lie near a path as short as another one: by how much both are longer than the
    straight line between the scaled points a and b (..., 3) is known to a share."""
    return _as_short(section.length, best.length, a, b, radii, share)


def _as_short(length: Array, best: Array, a: Array, b: Array, radii: Array, share: float) -> Array:
    straight = size((b - a) * radii)
    result: Array = length - straight < share * (best - straight)
    return result


@dataclass(frozen=True)
class _Sampled:
    """Lengths (...) of paths in planes through a chord, turned by TILTS, and on the far side."""

    chord: Chord
    lengths: tuple[Array, ...]
    behind: Array


def _lowest(sampled: _Sampled) -> tuple[Bow, Bow]:
    """The paths at the two lowest valleys of the length as the plane turns right round, the shorter one first."""
    chord, lengths, behind = sampled.chord, sampled.lengths, sampled.behind
    sides = [chord.bow(math.cos(BEYOND), sign * math.sin(BEYOND)).length for sign in (1.0, -1.0)]
    y = [*lengths, sides[0], behind, sides[1]]
    x = [*TILTS, BEYOND, math.pi, 2 * math.pi - BEYOND]
    x, y = [x[-1] - 2 * math.pi, *x, x[0] + 2 * math.pi], [y[-1], *y, y[0]]
    points = [np.stack([*(t + 0.0 * behind for t in x[:3]), *y[:3]], axis=-1)] * 2
    lowest = [LONG + 0.0 * behind] * 2
    for i in range(1, len(x) - 1):
        here = np.stack([*(t + 0.0 * behind for t in x[i - 1 : i + 2]), *y[i - 1 : i + 2]], axis=-1)
        value = np.where(_valley(y[i - 1 : i + 2]), _least(x[i - 1 : i + 2], y[i - 1 : i + 2])[1], LONG)
        lower, low = value < lowest[0], value < lowest[1]
        points[1] = np.where(lower[..., None], points[0], np.where(low[..., None], here, points[1]))
        lowest[1] = np.where(lower, lowest[0], np.where(low, value, lowest[1]))
        points[0], lowest[0] = np.where(lower[..., None], here, points[0]), np.where(lower, value, lowest[0])
    found = [_refined(chord, x) for x in points]
    known = [replace(s, length=np.where(v < LONG, s.length, LONG)) for s, v in zip(found, lowest, strict=True)]
    swap = known[1].length < known[0].length
    return known[0].or_else(known[1], swap), known[1].or_else(known[0], swap)


def _refined(chord: Chord, points: Array) -> Bow:
    """The shortest path by parabolas through three tilts and lengths (..., 6), each with the last one's least."""
    x, y = ([points[..., i] for i in numbers] for numbers in (range(3), range(3, 6)))
    best = _tilted(chord, x[1])
    for _ in range(PARABOLAS):
        least, _value = _least(x, y)
        bow = _tilted(chord, least)
        shorter, left = bow.length < best.length, least < x[1]
        ahead = shorter == left  # the least one lies before all but the first, or the middle one behind it
        x = [
            np.where(ahead, x[0], np.where(shorter, x[1], least)),
            np.where(shorter, least, x[1]),
            np.where(ahead, np.where(shorter, x[1], least), x[2]),
        ]
        y = [
            np.where(ahead, y[0], np.where(shorter, best.length, bow.length)),
            np.where(shorter, bow.length, best.length),
            np.where(ahead, np.where(shorter, best.length, bow.length), y[2]),
        ]
        best = best.or_else(bow, shorter)
    return best


def _tilted(chord: Chord, tilt: Array) -> Bow:
    """The path in the plane turned by `tilt` (...)."""
    return chord.bow(np.cos(tilt), np.sin(tilt))


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
    whole = bend * (before * after * (before - after))
    whole = np.where(whole != 0, whole, 1.0)  # two of the points may be one
    return x[1] - 0.5 * slope / bend, y[1] - 0.25 * slope * slope / whole
