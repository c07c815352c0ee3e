"""Bound tightening: a lower bound of the effort of a coupled trial with nonlinear limits L and H of the activations.

Within ranges of the activations L is replaced by a line at or below it, H by a line at or above it. The bound of that
convex program holds for the trial. In the dual, replace the term of one activation by its value at a point. A better
solution is only where this is not above the known effort. That gives ranges of all activations, first from independent
frames, then from the program within the last ranges. Lines over narrower ranges are nearer to L and H [H. S. Ryoo, N.
V. Sahinidis, A branch-and-reduce approach to global optimization, J. Global Optim. 8, 1996].
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from myoquat.analysis.recruitment.convex import CouplingRows, Programs, Status, solve_coupled, terms
from myoquat.core.typing import Array
from myoquat.joints.vectors import vecmat

__all__ = ["outer_lines", "trial_bound"]

Ends = Callable[[Array], Array]  # activations (l, p) of coupling rows to the values of L or H there
RowsOverRanges = Callable[[Array, Array], CouplingRows]  # of ranges (k, m)

RANGE_POINTS = 17  # of a range: a line is beyond L or H at all of them
MAX_TIGHTENINGS = 8
TIGHTENING_GAP = 1e-8  # of the effort: ranges are narrow enough if it exceeds its bound by no more
MAX_REMAINING_GAP = 0.8  # of the gap before a tightening: if more remains, the tightening ends
MAX_HALVINGS = 50  # of an interval that brackets the end of a range


def outer_lines(ends: Ends, high: Array, low: Array, top: Array) -> tuple[Array, Array]:
    """(l,) values at 0 and slopes of lines over ranges [low, top] (l,), parallel to the secant.

    At all sampled points, lines are at or below L, or at or above H where `high` (l,) is set.
    """
    a = low[:, None] + (top - low)[:, None] * np.linspace(0.0, 1.0, RANGE_POINTS)
    values = ends(a)
    wide = top > low
    slope = np.where(wide, (values[:, -1] - values[:, 0]) / np.where(wide, top - low, 1.0), 0.0)
    rest = values - slope[:, None] * a
    return np.where(high, rest.max(axis=-1), rest.min(axis=-1)), slope


class _Ranges:
    """Ranges of the first m variables of programs, and lines over them."""

    def __init__(self, programs: Programs, m: int) -> None:
        self.p, self.m = programs, m
        self.low, self.top = programs.lower[:, :m].copy(), programs.upper[:, :m].copy()

    def narrow(self, price: Array, left: float) -> None:
        """To the points where w |x|^p - price x exceeds its least value by at most `left`."""
        w, p, m = self.p.weights[:, : self.m], float(self.p.power or 2.0), self.m
        price = price[:, :m]
        point = self._cheapest(price)
        most = terms.cost(w, p, point) - price * point + left
        for name, end in (("low", self.low), ("top", self.top)):
            inner, outer = point.copy(), end.copy()
            inside = terms.cost(w, p, outer) - price * outer <= most
            for _ in range(MAX_HALVINGS):
                middle = (inner + outer) / 2
                within = terms.cost(w, p, middle) - price * middle <= most
                inner, outer = np.where(within, middle, inner), np.where(within, outer, middle)
            setattr(self, name, np.where(inside, end, outer))

    def _cheapest(self, price: Array) -> Array:
        """(k, m) where w |x|^p - price x is least within the ranges."""
        w, p = self.p.weights[:, : self.m], float(self.p.power or 2.0)
        points = [self.low, self.top, np.clip(0.0, self.low, self.top)]
        if p > 1:
            steep = np.where(w > 0, w * p, 1.0)
            root = np.sign(price) * terms.power_of(np.abs(price) / steep, 1 / (p - 1))
            points.append(np.where(w > 0, np.clip(root, self.low, self.top), self.low))
        tried = np.stack(points)
        values = terms.cost(w, p, tried) - price * tried
        found: Array = np.take_along_axis(tried, np.argmin(values, axis=0)[None], axis=0)[0]
        return found

    @property
    def programs(self) -> Programs:
        lower, upper = self.p.lower.copy(), self.p.upper.copy()
        lower[:, : self.m], upper[:, : self.m] = self.low, self.top
        return replace(self.p, lower=lower, upper=upper)


def trial_bound(
    programs: Programs, alone: tuple[Array, Array, Array], effort: float, lines: RowsOverRanges, m: int
) -> float:
    """A lower bound of the sum of the objectives of programs that are coupled in their first m variables.

    alone: x (k, n), y and z of the solutions of the independent programs. effort: that of a solution. `lines`(low, top)
    returns the coupling rows of lines over ranges (k, m) of the first m variables.
    """
    x, y, z = alone
    rows = np.concatenate([y, z.reshape(len(y), -1)], axis=-1)
    price = vecmat(rows, programs.B)
    bound = float(programs.certificates(x, rows, price)[0].sum())
    ranges = _Ranges(programs, m)
    for _ in range(MAX_TIGHTENINGS):
        ranges.narrow(price, max(effort - bound, 0.0) + TIGHTENING_GAP * abs(effort))
        given, coupling = ranges.programs, lines(ranges.low, ranges.top)
        found = solve_coupled(given, coupling)
        if found.status != Status.SOLVED:
            break
        before, bound = bound, max(bound, found.bound)
        if effort - bound <= TIGHTENING_GAP * abs(effort) or effort - bound > MAX_REMAINING_GAP * (effort - before):
            break
        rows = np.concatenate([found.y, found.z.reshape(len(y), -1)], axis=-1)
        price = vecmat(rows, programs.B) + coupling.price(found.pull, x.shape)
    return bound
