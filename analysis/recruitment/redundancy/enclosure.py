"""What the sum of efforts of a coupled trial is not below, where what activations can reach bends.

Within ranges of the activations L is replaced by a line that is nowhere above it, H by one that is nowhere below: the
bound of that convex program holds for the trial. A solution that is better than the one known has every activation
where the dual, with the activation's own term replaced by its value there, is not above the known effort. That gives
ranges, first from the frames by themselves, then from the program within the last ranges, and lines over narrower
ranges are nearer to L and H [H. S. Ryoo, N. V. Sahinidis, A branch-and-reduce approach to global optimization, J.
Global Optim. 8, 1996].
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from myoquat.analysis.recruitment.convex import Links, Programs, Status, solve_linked, terms
from myoquat.core.typing import Array
from myoquat.joints.vectors import vecmat

__all__ = ["enclosed", "outer_lines"]

Ends = Callable[[Array], Array]  # activations (l, p) of links to what L or H are there
Linking = Callable[[Array, Array], Links]  # of ranges (k, m)

POINTS = 17  # of a range by which a line is laid beyond L or H
ROUNDS = 8
CERTAIN = 1e-8  # of the effort: what it may be above its bound and ranges are good enough
LESS = 0.8  # of the distance from the bound: what is left of it after a round that is worth another one
HALVINGS = 50


def outer_lines(ends: Ends, high: Array, low: Array, top: Array) -> tuple[Array, Array]:
    """(l,) values at 0 and slopes of lines through the ends of ranges [low, top] (l,), moved to be nowhere above L, or
    below H where `high` (l,), as far as some points show."""
    a = low[:, None] + (top - low)[:, None] * np.linspace(0.0, 1.0, POINTS)
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
        """To where w |x|^p - price x is above its least by no more than what is `left`."""
        w, p, m = self.p.weights[:, : self.m], float(self.p.power or 2.0), self.m
        price = price[:, :m]
        point = self._cheapest(price)
        most = terms.cost(w, p, point) - price * point + left
        for name, end in (("low", self.low), ("top", self.top)):
            inner, outer = point.copy(), end.copy()
            inside = terms.cost(w, p, outer) - price * outer <= most
            for _ in range(HALVINGS):
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


def enclosed(programs: Programs, alone: tuple[Array, Array, Array], effort: float, lines: Linking, m: int) -> float:
    """What the sum of the objectives of programs is not below that are linked in their first m variables.

    alone: x (k, n), y and z of the programs' solutions by themselves; effort: that of a solution; lines(low, top) are
    the links with lines over ranges (k, m) of the first m variables.
    """
    x, y, z = alone
    rows = np.concatenate([y, z.reshape(len(y), -1)], axis=-1)
    price = vecmat(rows, programs.B)
    bound = float(programs.certificates(x, rows, price)[0].sum())
    ranges = _Ranges(programs, m)
    for _ in range(ROUNDS):
        ranges.narrow(price, max(effort - bound, 0.0) + CERTAIN * abs(effort))
        given, links = ranges.programs, lines(ranges.low, ranges.top)
        found = solve_linked(given, links)
        if found.status != Status.SOLVED:
            break
        before, bound = bound, max(bound, found.bound)
        if effort - bound <= CERTAIN * abs(effort) or effort - bound > LESS * (effort - before):
            break
        rows = np.concatenate([found.y, found.z.reshape(len(y), -1)], axis=-1)
        price = vecmat(rows, programs.B) + links.price(found.pull, x.shape)
    return bound
