"""Programs whose objective is a sum of any functions of one variable each, on bounded intervals.

Every function is replaced by its lower convex envelope. That gives the greatest lower bound that multipliers prove
[J. E. Falk, Lagrange multipliers and nonconvex programs, SIAM J. Control 7, 1969]. The envelope is sampled, with more
points about the solution until it no longer changes. The objective is then piecewise linear, and its pieces are the
variables of a program of `solve_programs` [G. B. Dantzig, Linear Programming and Extensions, 1963, chapter 24]. Where
the functions are above their envelopes at the solution, shrinking boxes about it lead to a local minimum. The bound
limits how much better any other solution can be.
"""

import math
from collections.abc import Callable
from copy import copy
from dataclasses import replace

import numpy as np

from myoquat.analysis.recruitment.convex import terms
from myoquat.analysis.recruitment.convex.program import Programs, Status
from myoquat.analysis.recruitment.convex.solve import Solutions, solve_programs
from myoquat.analysis.recruitment.tolerances import GLOBAL_GAP, SMALL_OBJECTIVE
from myoquat.core import Array, frozen
from myoquat.joints.vectors import vecmat

__all__ = ["Hulls", "solve_separable"]

END_POINTS = 6  # added near each end of a segment, each at a quarter of the distance of the last
MIN_SLOPE_CHANGE = 1e-13  # of the greatest slope: hulls have no corner with less


class Hulls:
    """Lower convex hulls of points (x, f(x)), one for each leading index: x (..., p) ascending and f (..., p), the
    vertices only. Where a hull has fewer than the others its last one is repeated."""

    def __init__(self, x: Array, f: Array) -> None:
        shape, p = x.shape, x.shape[-1]
        x, f, row = x.ravel(), f.ravel(), np.repeat(np.arange(x.size // p), p)
        vertex = np.append(True, (x[1:] > x[:-1]) | (row[1:] > row[:-1]))
        while not vertex.all():  # neighbours are compared once more when points between them are gone
            x, f, row = x[vertex], f[vertex], row[vertex]
            vertex = _below_neighbours(x, f, row)
        count = np.bincount(row, minlength=math.prod(shape[:-1]))
        last = np.cumsum(count) - 1
        place = np.minimum((last - count + 1)[:, None] + np.arange(count.max(initial=1)), last[:, None])
        self.x, self.f = x[place].reshape(*shape[:-1], -1), f[place].reshape(*shape[:-1], -1)

    def joined(self, x: Array, f: Array) -> "Hulls":
        """The hulls with more points (..., q), of which none need be new."""
        x, f = np.concatenate([self.x, x], axis=-1), np.concatenate([self.f, f], axis=-1)
        order = np.argsort(x, axis=-1, kind="stable")
        return Hulls(np.take_along_axis(x, order, axis=-1), np.take_along_axis(f, order, axis=-1))

    def subset(self, rows: Array) -> "Hulls":
        """Some of the hulls, by their numbers along the first axis."""
        part = copy(self)
        part.x, part.f = self.x[rows], self.f[rows]
        return part

    def segment(self, at: Array) -> Array:
        """(...) the number of the vertex left of `at` (...), that of an end but the last."""
        inner = np.sum(self.x < np.asarray(at)[..., None], axis=-1) - 1
        last = np.sum(self.x < self.x[..., -1:], axis=-1) - 1
        return np.clip(inner, 0, np.maximum(last, 0))

    def values(self, at: Array) -> Array:
        """(...) the hulls at points (...) between their ends."""
        left = self.segment(at)[..., None]
        right = np.minimum(left + 1, self.x.shape[-1] - 1)
        (x0, x1), (f0, f1) = (
            [np.take_along_axis(v, k, axis=-1)[..., 0] for k in (left, right)] for v in (self.x, self.f)
        )
        part = np.where(x1 > x0, (at - x0) / np.where(x1 > x0, x1 - x0, 1.0), 0.0)
        return f0 + part * (f1 - f0)

    def near(self, at: Array, count: int) -> tuple[Array, Array]:
        """(..., count) vertices, the nearest by their number to any of the points `at` (..., q), and both ends; the
        last one repeated where there are fewer."""
        numbers = np.arange(self.x.shape[-1])
        away = np.full(self.x.shape, np.inf)
        for k in range(at.shape[-1]):
            away = np.minimum(away, np.abs(numbers - self.segment(at[..., k])[..., None] - 0.5))
        away = np.where(numbers == 0, -1.0, np.where(self.x >= self.x[..., -1:], np.inf, away))
        chosen = np.sort(np.argsort(away, axis=-1, kind="stable")[..., : count - 1], axis=-1)
        missing = count - 1 - chosen.shape[-1]
        last = np.full((*chosen.shape[:-1], missing + 1), self.x.shape[-1] - 1)
        chosen = np.concatenate([chosen, last], axis=-1)
        return np.take_along_axis(self.x, chosen, axis=-1), np.take_along_axis(self.f, chosen, axis=-1)

    def between(self, at: Array) -> Array:
        """(..., 9) points that quarter the segment around `at` (...) and the two beside it."""
        return np.concatenate([self._inside(at, off, np.arange(1, 4) / 4) for off in (-1, 0, 1)], axis=-1)

    def at_ends(self, at: Array) -> Array:
        """(..., 12) points of the segment around `at` (...), closer and closer to its ends. A straight piece of an
        envelope may be shorter than points in its middle show."""
        part = 0.25 ** np.arange(1, END_POINTS + 1)
        return self._inside(at, 0, np.concatenate([part, 1 - part]))

    def _inside(self, at: Array, off: int, part: Array) -> Array:
        left = np.clip(self.segment(at) + off, 0, self.x.shape[-1] - 1)[..., None]
        right = np.minimum(left + 1, self.x.shape[-1] - 1)
        x0, x1 = (np.take_along_axis(self.x, k, axis=-1) for k in (left, right))
        return x0 + part * (x1 - x0)


def _below_neighbours(x: Array, f: Array, row: Array) -> Array:
    """(q,) whether a point is below the line between its neighbours in its row, or at an end of it."""
    found = np.ones(len(x), dtype=bool)
    if len(x) < 3:
        return found
    end = row[1:] > row[:-1]
    slope = np.where(end, 0.0, np.diff(f) / np.where(end, 1.0, np.diff(x)))
    steep = np.zeros(row[-1] + 1)
    np.maximum.at(steep, row[1:], np.abs(slope))
    found[1:-1] = end[:-1] | end[1:] | (slope[1:] - slope[:-1] > MIN_SLOPE_CHANGE * steep[row[1:-1]])
    return found


Curves = Callable[[Array, Array], Array]  # numbers of programs (k,) and points (k, m, p) to values (k, m, p)

GRID_POINTS = 33  # of every function at the start
PROGRAM_KNOTS = 16  # of every function in a program
RECENT_POINTS = 4  # knots are about these: the last two solutions, and the cheapest points at their multipliers
MAX_REFINEMENTS = 20  # of the points about a solution
BLOCK_SIZE = 256  # programs that are solved side by side
FIRST_BOX, LAST_BOX = 0.1, 1e-6  # of the interval: half the first box and the last about a solution
BOX_FACTOR = 0.2  # of a box to the next one


def solve_separable(programs: Programs, curves: Curves, corners: Array, *, backend: str = "kernel", improve: bool = True
) -> Solutions:  # fmt: skip
    """The solutions of min sum_i<m f_i(x_i) + sum_i>=m w_i |x_i|^p_i under the conditions of the programs.

    curves(numbers, x) gives the f_i at points x (k, m, p) of the programs with these numbers (k,). The f_i are smooth
    except at corners (all k, m, q), some of which may be equal. The first m variables are bounded; their weights and
    powers are ignored. `bound` is a lower bound, up to the error of the sampled envelope of f. It is sampled at 33
    points of the interval, at the corners, and at further points about the solution. A program is SOLVED if its
    objective exceeds the bound by at most 1e-7 of itself. It is LOCAL if only a local minimum is known; y and z then
    belong to the envelopes. Without `improve` a LOCAL point only meets the conditions.
    """
    blocks = [
        np.arange(first, min(first + BLOCK_SIZE, len(programs.b))) for first in range(0, len(programs.b), BLOCK_SIZE)
    ]
    parts = [_Envelopes(programs, curves, corners, backend, rows, improve).found for rows in blocks]
    names = Solutions.__dataclass_fields__
    if not parts:
        return solve_programs(programs, backend=backend)
    return Solutions(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


@frozen
class _Pieces:
    """Programs on the pieces between knots x (k, m, p) with values f. Falling pieces are counted from their right ends,
    so that no weight is negative."""

    given: Programs
    x: Array
    f: Array

    @property
    def _turned(self) -> tuple[Array, Array, Array]:
        """(k, m, p - 1) widths and slopes of the pieces, and -1 for those that fall."""
        width = np.diff(self.x, axis=-1)
        slope = np.where(width > 0, np.diff(self.f, axis=-1) / np.where(width > 0, width, 1.0), 0.0)
        return width, slope, np.where(slope < 0, -1.0, 1.0)

    def solved(self, backend: str) -> Solutions:
        """The solutions in the variables of the programs."""
        given, (width, slope, sign) = self.given, self._turned
        k, m, count = width.shape
        start = self.x[..., 0] + np.sum(np.where(sign < 0, width, 0.0), axis=-1)
        at = np.concatenate([start, np.zeros((k, given.A.shape[-1] - m))], axis=-1)

        def pieces(rows: Array) -> Array:
            own = np.repeat(rows[..., :m], count, axis=-1) * sign.reshape(k, *(rows.ndim - 2) * [1], -1)
            return np.concatenate([own, rows[..., m:]], axis=-1)

        def beside(first: Array, rest: Array) -> Array:
            return np.concatenate(
                [np.broadcast_to(first.reshape(len(first), -1), (k, m * count)), rest[:, m:]], axis=-1
            )

        program = Programs(
            A=pieces(given.A),
            b=-given.residual(at),
            weights=beside(np.abs(slope), given.weights),
            powers=beside(np.ones(width.shape), given.powers),
            lower=beside(np.zeros(width.shape), given.lower),
            upper=beside(width, given.upper),
            G=pieces(given.G),
            h=given.cone_values(at),
        )
        found = solve_programs(program, backend=backend)
        moved = np.sum(sign * found.x[:, : m * count].reshape(width.shape), axis=-1)
        x = np.clip(start + moved, self.x[..., 0], self.x[..., -1])
        return replace(found, x=np.concatenate([x, found.x[:, m * count :]], axis=-1))


class _Envelopes:
    """The solutions `found` of some of the programs."""

    def __init__(self, programs: Programs, curves: Curves, corners: Array, backend: str, numbers: Array, improve: bool
    ) -> None:  # fmt: skip
        self.given, self.curves, self.m, self.backend = programs.subset(numbers), curves, corners.shape[1], backend
        self.numbers = numbers
        low, high = self.given.lower[:, : self.m], self.given.upper[:, : self.m]
        self.corners = np.clip(corners[numbers], low[..., None], high[..., None])
        x = np.sort(np.concatenate([_spaced(low, high, GRID_POINTS), self.corners], axis=-1), axis=-1)
        self.hulls = Hulls(x, self._at(np.arange(len(numbers)), x))
        self.found = self._first()
        open_ = self._open(np.arange(len(numbers)))
        for _ in range(MAX_REFINEMENTS):
            if not len(open_):
                break
            open_ = self._open(self._refined(open_))
        self._lower_bounds()
        above = np.flatnonzero((self.found.status == Status.SOLVED) & (self._excess() > GLOBAL_GAP))
        self.found.status[above] = Status.LOCAL
        if improve:
            self._improve(above)

    def _lower_bounds(self) -> None:
        """Subtract the error of the sampled envelopes from the bounds, where it is not small."""
        found = self.found
        left = np.where(found.status == Status.SOLVED, self.envelope - found.bound, 0.0)
        found.bound[:] -= np.where(left > GLOBAL_GAP / 2 * self._size(), left, 0.0)
        found.bound[:] = np.where(found.status == Status.SOLVED, np.minimum(found.bound, found.objective), found.bound)

    def _first(self) -> Solutions:
        middle = (self.given.lower[:, : self.m] + self.given.upper[:, : self.m]) / 2
        self.about = np.repeat(middle[..., None], RECENT_POINTS, axis=-1)
        found = _Pieces(self.given, *self.hulls.near(middle[..., None], PROGRAM_KNOTS)).solved(self.backend)
        self.envelope = np.full(len(self.numbers), np.inf)  # the objective of the envelopes
        self._certify(np.arange(len(self.numbers)), found)
        return found

    def _open(self, rows: Array) -> Array:
        """The programs among `rows` whose envelopes need more points."""
        excess = (self.envelope - self.found.bound) / self._size()
        return rows[(self.found.status[rows] == Status.SOLVED) & (excess[rows] > GLOBAL_GAP / 2)]

    def _refined(self, rows: Array) -> Array:
        """Solve again between the points about the last solution; return the numbers of the solved programs."""
        hulls = self.hulls.subset(rows)
        near = hulls.near(self.about[rows], PROGRAM_KNOTS)
        found = _Pieces(self.given.subset(rows), *near).solved(self.backend)
        lost = found.status != Status.SOLVED  # where rounding ends progress: what was known, with what is seen now
        for name in ("x", "y", "z"):
            getattr(found, name)[lost] = getattr(self.found, name)[rows[lost]]
        found.status[lost] = Status.SOLVED
        self._certify(rows, found)
        self.found.put(rows, found)
        return rows[~lost]

    def _certify(self, rows: Array, found: Solutions) -> None:
        """Objective and bound of solutions, from more points about them."""
        given, m, x = self.given.subset(rows), self.m, found.x[:, : self.m]
        self._refine(rows, x)
        hulls = self.hulls.subset(rows)
        multipliers = np.concatenate([found.y, found.z.reshape(len(x), -1)], axis=-1)
        price = vecmat(multipliers, given.B)
        dear = hulls.f - price[:, :m, None] * hulls.x
        least = np.min(dear, axis=-1).sum(axis=-1)
        cheapest = np.take_along_axis(hulls.x, np.argmin(dear, axis=-1)[..., None], axis=-1)
        self.about[rows] = np.concatenate([x[..., None], cheapest, self.about[rows][..., :-2]], axis=-1)
        rest = self._rest(rows)
        low, high = terms.reach(found.x, given.lower, given.upper)
        inner = terms.least(rest.weights, rest.powers, price, low, high)[:, m:].sum(axis=-1)
        fixed = np.sum(found.y * given.b, axis=-1) - np.sum(found.z * given.h, axis=(-1, -2))
        cost = rest.objective(found.x)
        solved = found.status == Status.SOLVED
        self.envelope[rows] = hulls.values(x).sum(axis=-1) + cost
        found.bound[:] = np.where(solved, fixed + least + inner, found.bound)
        found.objective[:] = self._at(rows, x[..., None])[..., 0].sum(axis=-1) + cost
        found.residual[:] = given.residual(found.x)

    def _refine(self, rows: Array, at: Array) -> None:
        """More points of some of the hulls, about `at` (k, m)."""
        hulls = self.hulls.subset(rows)
        x, ends = hulls.between(at), hulls.at_ends(at)
        f, middle = self._at(rows, x), x[..., 4]
        straight = f[..., 4] > hulls.values(middle)  # where the function is above its envelope
        ends = np.where(straight[..., None], ends, middle[..., None])
        f = np.concatenate([f, np.where(straight[..., None], self._at(rows, ends), f[..., 4:5])], axis=-1)
        joined = hulls.joined(np.concatenate([x, ends], axis=-1), f)
        width = max(joined.x.shape[-1], self.hulls.x.shape[-1])
        for name in ("x", "f"):
            values, new = (_padded(getattr(h, name), width) for h in (self.hulls, joined))
            values[rows] = new
            setattr(self.hulls, name, values)

    def _improve(self, rows: Array) -> None:
        """Local minima near the solutions of the envelopes, within boxes that shrink where they have no better
        point."""
        m, given = self.m, self.given
        size = np.full(len(rows), FIRST_BOX)
        while len(rows):
            x = self.found.x[rows, :m]
            low, high = given.lower[rows, :m], given.upper[rows, :m]
            away = size[:, None] * (high - low)
            low, high = np.maximum(low, x - away), np.minimum(high, x + away)
            corners = np.clip(self.corners[rows], low[..., None], high[..., None])
            points = np.sort(np.concatenate([_spaced(low, high, PROGRAM_KNOTS), corners], axis=-1), axis=-1)
            box = Hulls(points, self._at(rows, points))
            tried = _Pieces(given.subset(rows), *box.near(x[..., None], PROGRAM_KNOTS)).solved(self.backend)
            cost = self._at(rows, tried.x[:, :m, None])[..., 0].sum(axis=-1)
            cost = cost + self._rest(rows).objective(tried.x)
            gain = self.found.objective[rows] - cost
            better = (tried.status == Status.SOLVED) & (gain > 0)
            done = rows[better]
            self.found.x[done], self.found.objective[done] = tried.x[better], cost[better]
            self.found.residual[done] = given.subset(done).residual(tried.x[better])
            size = np.where(better & (gain > GLOBAL_GAP * self._size()[rows]), size, BOX_FACTOR * size)
            goes_on = size > LAST_BOX
            rows, size = rows[goes_on], size[goes_on]

    def _at(self, rows: Array, x: Array) -> Array:
        return self.curves(self.numbers[rows], x)

    def _rest(self, rows: Array) -> Programs:
        """Some of the programs, the objective being that of the variables without a function."""
        given = self.given.subset(rows)
        return replace(given, weights=np.where(np.arange(given.A.shape[-1]) < self.m, 0.0, given.weights))

    def _size(self) -> Array:
        """(k,) the scale of gaps: the objectives, or a small part of the greatest values of the functions."""
        greatest = np.abs(self.hulls.f).max(axis=(-1, -2), initial=0.0)
        return np.maximum(np.abs(self.found.objective), np.maximum(SMALL_OBJECTIVE * greatest, 1e-300))

    def _excess(self) -> Array:
        """(k,) the gaps between objectives and bounds, relative to the objectives."""
        return (self.found.objective - self.found.bound) / self._size()


def _spaced(low: Array, high: Array, count: int) -> Array:
    """(..., count) points between low and high, both among them."""
    part = np.linspace(0.0, 1.0, count)
    return low[..., None] * (1 - part) + high[..., None] * part


def _padded(values: Array, width: int) -> Array:
    more = np.repeat(values[..., -1:], width - values.shape[-1], axis=-1)
    return np.concatenate([values, more], axis=-1)
