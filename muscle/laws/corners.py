"""Curves made of smooth corners: quintic Bezier sections between points of given value and slope.

They are the curves of Millard's muscle as OpenSim's SmoothSegmentedFunction has them. Source: M. Millard, T. Uchida, A.
Seth, S. L. Delp, Flexing computational muscle: modeling and simulation of musculotendon dynamics, J. Biomech. Eng. 135,
2013, appendix. The inner control points of a section lie on the two end tangents, pairwise together. They are at the
part `sharp` of the way to the point where the tangents meet. With the steps a, b, c between neighbouring distinct
control points such a section is

    x(s) = x0 + a (1 - (1 - s)^5) + b s^3 (10 - 15 s + 6 s^2) + c s^5,  0 <= s <= 1,

and y likewise. It rises with s for all s, and its first and second derivatives fit those of its neighbours.
"""

from functools import lru_cache
from typing import Any

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints import ModelError

HALLEY_STEPS = 5  # for s; they reach round-off if both end slopes are at least 0.1 % of the mean slope
PARALLEL_SLOPES = 1.5e-8  # slopes that differ by less count as equal (OpenSim): the root of the unit round-off

Number = Array | float
Steps = tuple[Number, Number, Number]


def sharpness(curviness: Number) -> Number:
    """The part of the way to the meeting point, for a curviness in [0, 1]: 0.1 + 0.8 curviness."""
    return 0.1 + 0.8 * curviness


@frozen
class Corners:
    """A rising or falling curve y(x) through `joins` (x, y, slope), straight on beyond the first and the last.

    sharp  the part of the way to the meeting point, for every section or one for all

    Numbers are floats, arrays (...) or symbols.
    """

    joins: tuple[Steps, ...]
    sharp: Number | tuple[Number, ...]

    def value(self, x: Array) -> Array:
        """(...) y at x."""
        return self.point(1.0, 0.0, x)[1]

    def point(self, p: Number, q: Number, level: Array) -> tuple[Array, Array]:
        """(x, y) of the curve where p x + q y = level (...), which must rise along the curve.

        The derivatives are exact: they are those of the last step of Halley's method, to round-off.
        """
        marks = [p * x + q * y for x, y, _ in self.joins]
        inside = np.where(level < marks[0], marks[0], np.where(level > marks[-1], marks[-1], level))
        chosen: list[Any] = []  # the numbers of the section in which the level lies
        for first, *others in zip(*self._sections(), strict=True):
            chosen.append(first)
            for edge, number in zip(marks[1:-1], others, strict=True):
                chosen[-1] = np.where(inside >= edge, number, chosen[-1])
        x, y, *steps = chosen
        along = tuple(p * dx + q * dy for dx, dy in zip(steps[:3], steps[3:], strict=True))
        whole = along[0] + along[1] + along[2]
        s = _parameter((inside - (p * x + q * y)) / whole, (along[0] / whole, along[1] / whole, along[2] / whole))
        beyond = level - inside
        slope = np.where(beyond < 0, self.joins[0][2], self.joins[-1][2])
        straight = beyond / (p + q * slope)
        return x + _run(s, *steps[:3]) + straight, y + _run(s, *steps[3:]) + slope * straight

    def check(self, element: str, name: str) -> None:
        """ModelError where a section is no corner: its tangents must meet between its ends."""
        try:
            broken = _broken(self)
        except TypeError:  # numbers that are arrays have no hash
            broken = _broken.__wrapped__(self)
        if broken is not None:
            (x, y), end = broken
            raise ModelError(
                f"the numbers of the {name} curve make no corner from ({x:.6g}, {y:.6g}) to ({end[0]:.6g}, "
                f"{end[1]:.6g}): its tangents do not meet in between",
                element=element,
            )

    def _sections(self) -> list[tuple[Number, ...]]:
        """Of every section x, y at its start, three steps of x and three of y."""
        sharp = self.sharp if isinstance(self.sharp, tuple) else (self.sharp,) * (len(self.joins) - 1)
        sections: list[tuple[Number, ...]] = []
        for (x0, y0, slope0), (x1, y1, slope1), c in zip(self.joins[:-1], self.joins[1:], sharp, strict=True):
            bend = slope0 - slope1
            parallel = np.abs(bend) <= PARALLEL_SLOPES
            meet = (y1 - y0 - x1 * slope1 + x0 * slope0) / np.where(parallel, 1.0, bend)
            meet = np.where(parallel, (x0 + x1) / 2, meet)
            height = (meet - x1) * slope1 + y1
            x_steps = (c * (meet - x0), (1 - c) * (x1 - x0), c * (x1 - meet))
            sections.append((x0, y0, *x_steps, c * (height - y0), (1 - c) * (y1 - y0), c * (y1 - height)))
        return sections


@lru_cache(1024)
def _broken(curve: Corners) -> tuple[tuple[Number, Number], Steps] | None:
    """Start and end of the first section that is no corner; most muscles of a model share their curves."""
    for section, end in zip(curve._sections(), curve.joins[1:], strict=True):
        x, y, *steps = section
        forth = [step * np.sign(end[1] - y) + PARALLEL_SLOPES * np.abs(end[1] - y) for step in steps[3:]]
        if not min(steps[:3]) > 0 or not min(forth) >= 0:
            return (x, y), end
    return None


def _run(s: Array, a: Array, b: Array, c: Array) -> Array:
    """a (1 - (1 - s)^5) + b s^3 (10 - 15 s + 6 s^2) + c s^5: how far a section has come."""
    r = 1 - s
    return a * (1 - (r * r) * (r * r) * r) + (s * s * s) * (b * (10 + s * (6 * s - 15)) + c * (s * s))


def _parameter(t: Array, steps: tuple[Array, ...]) -> Array:
    """s with run(s) = t for steps that sum to 1: Halley's method from the cubic with the slopes of both ends."""
    a, b, c = steps
    first, last = (1 / np.maximum(5 * step, 1 / 3) for step in (a, c))  # limited to 3, where the cubic still rises
    s: Array = t * (first * (1 - t) ** 2 + t * (3 - 2 * t) - last * t * (1 - t))
    for _ in range(HALLEY_STEPS):
        r = 1 - s
        slope = 5 * (a * (r * r) ** 2 + (s * s) * (6 * b * (r * r) + c * (s * s)))
        bend = 20 * (3 * b * (s * r) * (1 - 2 * s) + c * (s * s * s) - a * (r * r * r))
        miss = _run(s, a, b, c) - t
        s = s - 2 * miss * slope / (2 * slope * slope - miss * bend)
    return s
