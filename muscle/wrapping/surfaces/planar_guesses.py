"""Planar initial guesses: the shortest plane paths between two points around an ellipsoid. The geodesic lies near one.

As the plane turns once about the chord between the points, the length may have several local minima. Two of them may
lie between neighbouring samples, on two flanks of a long ellipsoid. The quartic through the samples shows these.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.kernels import call_where
from myoquat.muscle.wrapping.surfaces.planar_paths import SKIPPED_LENGTH, Chord, PlanarPath
from myoquat.muscle.wrapping.surfaces.vectors import size

__all__ = ["Section", "as_short", "shortest_sections"]

TILTS_RAD = tuple(np.radians((-105.0, -70.0, -35.0, 0.0, 35.0, 70.0, 105.0)).tolist())  # from the plane of the centre
FAR_SIDE_TILT_RAD = math.radians(140.0)  # on the far side, where another path may be as short
REFINEMENT_STEPS = 2  # parabolas that refine a planar path
# greatest ratio of (length - straight line) to that of the best path, at which another path may be as short
REFINED_EXCESS_RATIO, COARSE_EXCESS_RATIO = 1.2, 2.0  # of planar paths, refined or not
MAX_FLANK_STEPS = 0.7  # between TILTS_RAD, a third of the way from one minimum to the next; samples show those beyond
SAMPLED_EXCESS_RATIO = 5.0  # of those at TILTS_RAD, where a local minimum lies between them


@dataclass(frozen=True)
class Section:
    """A path over the ellipsoid; for a planar path, its points are on the unit sphere.

    p       (..., 3) where it comes onto the surface
    x       (..., 3) where it leaves the surface
    arc     (...) [m] its length on the surface
    length  (...) [m] its whole length
    """

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
    """The shortest planar path between the scaled points a and b (..., 3), and the one at another local minimum.

    The first one is the shortest of the paths at TILTS_RAD and of one refined by a parabola. The second one may lie on
    the far side. Its length is SKIPPED_LENGTH unless it may be as short as the first, or `every` (...) holds. The
    straight line between the points runs through the ellipsoid.
    """
    chord = Chord.between(a, b, radii)
    found = [chord.path_at(math.cos(tilt), math.sin(tilt)) for tilt in TILTS_RAD]
    best, tilt = found[TILTS_RAD.index(0.0)], 0.0 * chord.height
    for own, path in zip(TILTS_RAD, found, strict=True):
        shorter = path.length < best.length
        best, tilt = best.or_else(path, shorter), np.where(shorter, own, tilt)
    lengths = [path.length for path in found]
    turned, other = tilt, SKIPPED_LENGTH + 0.0 * tilt
    for i in range(1, len(found) - 1):
        least, value = _least(TILTS_RAD[i - 1 : i + 2], lengths[i - 1 : i + 2])
        here = tilt == TILTS_RAD[i]
        turned = np.where(here, least, turned)
        other = np.minimum(other, np.where(~here & _valley(lengths[i - 1 : i + 2]), value, SKIPPED_LENGTH))
    last = _tilted(chord, turned)
    best = best.or_else(last, last.length < best.length)
    behind = chord.path_at(-1.0, 0.0).length
    for outer, inner in (lengths[:2], lengths[:-3:-1]):
        other = np.minimum(other, np.where(outer < inner, outer, SKIPPED_LENGTH))
    ratios = SAMPLED_EXCESS_RATIO, COARSE_EXCESS_RATIO
    asked, known = (_as_short(np.minimum(behind, other), best.length, a, b, radii, x) for x in ratios)
    flanks = _Flanks.around(tilt, lengths)
    asked, known = asked | every | flanks.exist, known | every
    nothing = best, replace(best, length=SKIPPED_LENGTH + 0.0 * tilt)
    first, second = call_where(_lowest, _Sampled(chord, tuple(lengths), behind, flanks), asked, nothing)
    best = best.or_else(first, first.length < best.length)
    # a refined path bounds the length more closely than the paths at TILTS_RAD; either one may show another minimum
    known = known | _as_short(second.length, best.length, a, b, radii, REFINED_EXCESS_RATIO)
    paths = best, replace(best, length=SKIPPED_LENGTH + 0.0 * tilt).or_else(second, known)
    shortest, other_minimum = (Section(*chord.ends_of(path), path.arc, path.length) for path in paths)
    return shortest, other_minimum


def as_short(
    section: Section, best: Section, a: Array, b: Array, radii: Array, ratio: float = REFINED_EXCESS_RATIO
) -> Array:
    """(...) True if a path near this section may be as short as the best one.

    Both lengths minus that of the straight line between the scaled points a and b (..., 3) are known to a ratio.
    """
    return _as_short(section.length, best.length, a, b, radii, ratio)


def _as_short(length: Array, best: Array, a: Array, b: Array, radii: Array, ratio: float) -> Array:
    straight = size((b - a) * radii)
    result: Array = length - straight < ratio * (best - straight)
    return result


@dataclass(frozen=True)
class _Flanks:
    """The quartic through five lengths at TILTS_RAD.

    Its derivative is a multiple of w^3 + p w + q. Here w = u + shift, and u (...) are the steps from the `middle` (...)
    [rad]. `exist` (...) tells whether it has two minima beside each other.
    """

    middle: Array
    shift: Array
    p: Array
    q: Array
    exist: Array

    @classmethod
    def around(cls, tilt: Array, y: Sequence[Array]) -> "_Flanks":
        """Around the shortest of the lengths y at TILTS_RAD, that at a tilt (...)."""
        middle = np.minimum(np.maximum(tilt, TILTS_RAD[2]), TILTS_RAD[-3])
        five = [np.where(middle == TILTS_RAD[2], y[i], y[i + 1]) for i in range(5)]
        five = [np.where(middle == TILTS_RAD[4], y[i + 2], own) for i, own in enumerate(five)]
        even, odd = ([0.5 * (five[2 + i] + sign * five[2 - i]) for i in (1, 2)] for sign in (1.0, -1.0))
        first, second = (x - five[2] for x in even)
        c4, c3 = (second - 4.0 * first) / 12.0, (odd[1] - 2.0 * odd[0]) / 6.0
        exist = (c4 > 0) & (reduce(np.maximum, five) < SKIPPED_LENGTH)
        a = 0.25 / np.where(exist, c4, 1.0)
        shift, rise = c3 * a, 2.0 * (first - c4) * a
        square = shift * shift
        p, q = rise - 3.0 * square, shift * (2.0 * square - rise) + (odd[0] - c3) * a
        exist = exist & (4.0 * p * p * p + 27.0 * q * q < 0.0) & (p > -3.0 * MAX_FLANK_STEPS**2)
        return cls(middle, shift, p, q, exist)

    def tilts(self) -> list[Array]:
        """(...) [rad] each, the first minimum, the maximum, and the second minimum."""
        half = np.sqrt(np.where(self.exist, -self.p / 3.0, 1.0))
        cosine = np.minimum(np.maximum(-0.5 * self.q / (half * half * half), -1.0), 1.0)
        angle, step = np.arccos(cosine) / 3.0, TILTS_RAD[1] - TILTS_RAD[0]
        thirds = 2 * math.pi / 3, 4 * math.pi / 3, 0.0
        return [self.middle + step * (2.0 * half * np.cos(angle + x) - self.shift) for x in thirds]


@dataclass(frozen=True)
class _Sampled:
    """Lengths of paths in planes through a chord.

    chord    the chord
    lengths  (...) [m] in planes turned by TILTS_RAD
    behind   (...) [m] on the far side
    flanks   two tilts beside each other at which there may be minima
    """

    chord: Chord
    lengths: tuple[Array, ...]
    behind: Array
    flanks: _Flanks


def _lowest(sampled: _Sampled) -> tuple[PlanarPath, PlanarPath]:
    """The paths at the two lowest local minima of the length over a full turn of the plane, the shorter one first."""
    lowest, second = _lowest_sampled(sampled)
    left, between, right = (_tilted(sampled.chord, tilt) for tilt in sampled.flanks.tilts())
    cosines = [x.cos * lowest.cos + x.sin * lowest.sin for x in (left, right)]
    near, other = left.or_else(right, cosines[1] > cosines[0]), left.or_else(right, cosines[1] <= cosines[0])
    lowest = lowest.or_else(near, sampled.flanks.exist & (near.length < lowest.length))
    exists = sampled.flanks.exist & (between.length > np.maximum(other.length, lowest.length))
    swap = other.length < lowest.length
    first, third = lowest.or_else(other, swap), other.or_else(lowest, swap)
    third = third.or_else(second, second.length < third.length)
    return lowest.or_else(first, exists), second.or_else(third, exists)


def _lowest_sampled(sampled: _Sampled) -> tuple[PlanarPath, PlanarPath]:
    """The same from the samples alone."""
    chord, lengths, behind = sampled.chord, sampled.lengths, sampled.behind
    sides = [
        chord.path_at(math.cos(FAR_SIDE_TILT_RAD), sign * math.sin(FAR_SIDE_TILT_RAD)).length for sign in (1.0, -1.0)
    ]
    y = [*lengths, sides[0], behind, sides[1]]
    x = [*TILTS_RAD, FAR_SIDE_TILT_RAD, math.pi, 2 * math.pi - FAR_SIDE_TILT_RAD]
    x, y = [x[-1] - 2 * math.pi, *x, x[0] + 2 * math.pi], [y[-1], *y, y[0]]
    points = [np.stack([*(t + 0.0 * behind for t in x[:3]), *y[:3]], axis=-1)] * 2
    lowest = [SKIPPED_LENGTH + 0.0 * behind] * 2
    for i in range(1, len(x) - 1):
        here = np.stack([*(t + 0.0 * behind for t in x[i - 1 : i + 2]), *y[i - 1 : i + 2]], axis=-1)
        value = np.where(_valley(y[i - 1 : i + 2]), _least(x[i - 1 : i + 2], y[i - 1 : i + 2])[1], SKIPPED_LENGTH)
        lower, low = value < lowest[0], value < lowest[1]
        points[1] = np.where(lower[..., None], points[0], np.where(low[..., None], here, points[1]))
        lowest[1] = np.where(lower, lowest[0], np.where(low, value, lowest[1]))
        points[0], lowest[0] = np.where(lower[..., None], here, points[0]), np.where(lower, value, lowest[0])
    found = [_refined(chord, x) for x in points]
    of_minima = [np.where(v < SKIPPED_LENGTH, s.length, SKIPPED_LENGTH) for s, v in zip(found, lowest, strict=True)]
    known = [replace(s, length=l) for s, l in zip(found, of_minima, strict=True)]
    swap = known[1].length < known[0].length
    return known[0].or_else(known[1], swap), known[1].or_else(known[0], swap)


def _refined(chord: Chord, points: Array) -> PlanarPath:
    """The shortest path by successive parabolic interpolation, from three tilts and their lengths (..., 6)."""
    x, y = ([points[..., i] for i in numbers] for numbers in (range(3), range(3, 6)))
    best = _tilted(chord, x[1])
    for _ in range(REFINEMENT_STEPS):
        least, _value = _least(x, y)
        path = _tilted(chord, least)
        shorter, left = path.length < best.length, least < x[1]
        ahead = shorter == left  # whether the middle and last points become the last two
        x = [
            np.where(ahead, x[0], np.where(shorter, x[1], least)),
            np.where(shorter, least, x[1]),
            np.where(ahead, np.where(shorter, x[1], least), x[2]),
        ]
        y = [
            np.where(ahead, y[0], np.where(shorter, best.length, path.length)),
            np.where(shorter, path.length, best.length),
            np.where(ahead, np.where(shorter, best.length, path.length), y[2]),
        ]
        best = best.or_else(path, shorter)
    return best


def _tilted(chord: Chord, tilt: Array) -> PlanarPath:
    """The path in the plane turned by `tilt` (...)."""
    return chord.path_at(np.cos(tilt), np.sin(tilt))


def _valley(y: Sequence[Array]) -> Array:
    """(...) whether the middle one of three lengths is no longer than the others."""
    return (y[1] <= y[0]) & (y[1] <= y[2])


def _least(x: Sequence[float] | Sequence[Array], y: Sequence[Array]) -> tuple[Array, Array]:
    """(...) the position and the value of the minimum of the parabola through three points."""
    before, after = x[1] - x[0], x[1] - x[2]
    rise, fall = y[1] - y[0], y[1] - y[2]
    bend = before * fall - after * rise
    slope = before * before * fall - after * after * rise
    bend = np.where(bend != 0, bend, 1.0)
    whole = bend * (before * after * (before - after))
    whole = np.where(whole != 0, whole, 1.0)  # two of the points may be one
    return x[1] - 0.5 * slope / bend, y[1] - 0.25 * slope * slope / whole
