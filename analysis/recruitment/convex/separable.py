"""Programs whose objective is a sum of any functions of one variable each, on bounded intervals.

Every function is replaced by its lower convex envelope. That gives the greatest lower bound that multipliers prove
[J. E. Falk, Lagrange multipliers and nonconvex programs, SIAM J. Control 7, 1969]. The envelope is the lower hull of
points of the function, with more points about the solution until it no longer changes. The objective is then piecewise
linear, and its pieces are the variables of a program of `solve_programs` [G. B. Dantzig, Linear Programming and
Extensions, 1963, chapter 24]. Where the functions are above their envelopes at the solution, shrinking boxes about it
lead to a local minimum. The bound limits how much better any other solution can be.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from myoquat.analysis.recruitment.tolerances import GLOBAL_GAP, SMALL_OBJECTIVE
from myoquat.core import Array, frozen
from myoquat.joints.vectors import joined, vecmat

from .program import Programs, Status, joined_rows
from .solve import Solutions, solve_programs
from .terms import ratio

Curves = Callable[[Array, Array], Array]  # numbers of programs (k,) and points (k, m, p) to values (k, m, p)

GRID_POINTS = 33  # of every function at the start
PROGRAM_KNOTS = 16  # of every function in a program
RECENT_POINTS = 4  # knots are about these: the last two solutions, and the cheapest points at their multipliers
ZOOMS = 4  # into the segments beside the cheapest point, by a quarter each
MAX_REFINEMENTS = 20  # of the points about a solution
BLOCK_SIZE = 256  # programs that are solved side by side
FIRST_BOX, LAST_BOX = 0.1, 1e-6  # of the interval: half the first box and the last about a solution
BOX_FACTOR = 0.2  # of a box to the next one
MIN_SLOPE_CHANGE = 1e-13  # of the steeper slope: hulls have no corner with less
QUARTERS = np.arange(1, 4) / 4
NEAR_ENDS = np.concatenate([0.25 ** np.arange(2, 7), 1 - 0.25 ** np.arange(2, 7)])  # parts of a straight piece, which
# may be shorter than its quarters show


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
    sums = _Sums(programs, curves, corners, np.arange(len(programs.b)), backend)
    blocks = [slice(first, first + BLOCK_SIZE) for first in range(0, len(programs.b), BLOCK_SIZE)]
    parts = [sums.subset(block).solved(improve) for block in blocks]
    return Solutions.joined(parts) if parts else solve_programs(programs, backend=backend)


@frozen
class _Sums:
    """Programs with these numbers (k,), whose first m variables have functions with these corners (k, m, q)."""

    programs: Programs
    curves: Curves
    corners: Array
    numbers: Array
    backend: str

    def subset(self, rows: Array | slice) -> "_Sums":
        """Some of the programs."""
        own, corners, numbers = self.programs.subset(rows), self.corners[rows], self.numbers[rows]
        return _Sums(own, self.curves, corners, numbers, self.backend)

    @property
    def m(self) -> int:
        """How many variables have functions."""
        return self.corners.shape[1]

    def solved(self, improve: bool) -> Solutions:
        """The solutions; LOCAL ones by descents from those of the envelopes."""
        low, high = self.programs.lower[:, : self.m], self.programs.upper[:, : self.m]
        hulls = self.sampled(low, high, GRID_POINTS)
        about = np.repeat((low + high)[..., None] / 2, RECENT_POINTS, axis=-1)
        found = self.of_envelopes(*hulls, about, MAX_REFINEMENTS)
        found.bound[:] = np.where(found.status == Status.SOLVED, np.minimum(found.bound, found.objective), found.bound)
        size = _size(found.objective, hulls[1])
        found.status[(found.status == Status.SOLVED) & (found.objective - found.bound > GLOBAL_GAP * size)] = (
            Status.LOCAL
        )
        if improve:
            self.improve(found, np.flatnonzero(found.status == Status.LOCAL), size)
        return found

    def sampled(self, low: Array, high: Array, count: int) -> tuple[Array, Array]:
        """The hulls of the functions on intervals (k, m), by points evenly apart and the corners."""
        part, ends = np.linspace(0.0, 1.0, count), (low[..., None], high[..., None])
        x = joined([ends[0] * (1 - part) + ends[1] * part, np.clip(self.corners, *ends)])
        return _lower_hulls(x, self.values(x))

    def of_envelopes(self, x: Array, f: Array, about: Array, refinements: int, zooms: int = 0) -> Solutions:
        """The solutions of the envelopes, and their bounds.

        Hulls x, f (k, m, p) have more points about each solution, as long as these change it. The pieces of a program
        are those near the points `about` (k, m, q). Once a bound is met, ZOOMS into the hulls look for a lower one.
        """
        found, m = self.on_pieces(*_near(x, f, about)), self.m
        solved, at = found.status == Status.SOLVED, found.x[:, :m]
        multipliers = joined_rows(found.y, found.z)
        price, rest = vecmat(multipliers, self.programs.B), self.rest
        own = price[:, :m, None].copy()
        price[:, :m] = 0.0
        least, last = np.argmin(f - own * x, axis=-1)[..., None], x.shape[-1] - 1
        cheapest = np.take_along_axis(x, least, axis=-1)
        about = joined([at[..., None], cheapest, about[..., :-2]])
        ends = _around(x, at, x)[..., None]
        new = joined(list(ends[:-1] + np.diff(ends, axis=0) * QUARTERS))
        middle, f0, f1 = self.values(new), *_around(x, at, f)[1:3, ..., None]
        is_straight = middle[..., 4:5] > (f0 + f1) / 2
        parts = np.where(is_straight, NEAR_ENDS, 0.5)
        more = ends[1] + (ends[2] - ends[1]) * parts
        both = [[x, new, more], [f, middle, self.values(more)]]
        low, high = (np.take_along_axis(x, np.clip(least + k, 0, last), axis=-1) for k in (-1, 1))
        for _ in range(zooms):  # about the cheapest point: a minimum between vertices makes the bound less
            near = low + (high - low) * np.linspace(0.0, 1.0, 9)
            values = self.values(near)
            place = np.argmin(values - own * near, axis=-1)[..., None]
            low, high = (np.take_along_axis(near, np.clip(place + k, 0, 8), axis=-1) for k in (-1, 1))
            both[0].append(near)
            both[1].append(values)
        x, f = _lower_hulls(*(joined(parts) for parts in both))
        bound = rest.certificates(found.x, multipliers, price)[0] + (f - own * x).min(axis=-1).sum(axis=-1)
        (_, x0, x1, _), (_, f0, f1, _) = (_around(x, at, values) for values in (x, f))
        part, cost = ratio(at - x0, x1 - x0), rest.objective(found.x)
        envelope = (f0 + part * (f1 - f0)).sum(axis=-1) + cost
        found.objective[:] = self.values(at[..., None]).sum(axis=(-1, -2)) + cost
        off = np.where(solved, envelope - bound, 0.0)
        too_far = off > GLOBAL_GAP / 2 * _size(found.objective, f)
        found.bound[:] = np.where(solved, bound - np.where(too_far, off, 0.0), found.bound)  # of the sampled envelope
        for again, deeper in ((too_far, zooms), (solved & ~too_far & (zooms == 0), ZOOMS)):
            rows = np.flatnonzero(again)
            if refinements and len(rows):
                later = self.subset(rows).of_envelopes(x[rows], f[rows], about[rows], refinements - 1, deeper)
                better = later.status == Status.SOLVED  # where rounding ends progress the last solution stays
                found.put(rows[better], later.subset(better))
        return found

    def on_pieces(self, x: Array, f: Array) -> Solutions:
        """The solutions if functions are linear between knots x (k, m, p), with values f.

        A rising piece has a variable in [0, width], a falling one in [-width, 0]: its cost is its absolute value times
        that of the slope. All are zero at the lowest knots.
        """
        own, m, (k, _, count) = self.programs, self.m, x[..., 1:].shape
        width = np.diff(x, axis=-1)
        slope = ratio(np.diff(f, axis=-1), width)
        lower, upper = np.where(slope < 0, -width, 0.0), np.where(slope < 0, 0.0, width)
        start = x[..., 0] - lower.sum(axis=-1)
        at = joined([start, np.zeros((k, own.A.shape[-1] - m))])

        def beside(first: Array, rest: Array) -> Array:
            return joined([first, rest[..., m:]])

        def flat(pieces: Array) -> Array:
            return pieces.reshape(k, m * count)

        program = Programs(
            A=beside(np.repeat(own.A[..., :m], count, axis=-1), own.A),
            b=-own.residual(at),
            weights=beside(flat(np.abs(slope)), own.weights),
            powers=beside(np.ones((k, m * count)), own.powers),
            lower=beside(flat(lower), own.lower),
            upper=beside(flat(upper), own.upper),
            G=beside(np.repeat(own.G[..., :m], count, axis=-1), own.G),
            h=own.cone_values(at),
        )
        found = solve_programs(program, backend=self.backend)
        moved = start + found.x[:, : m * count].reshape(width.shape).sum(axis=-1)
        whole = beside(np.clip(moved, x[..., 0], x[..., -1]), np.pad(found.x[:, m * count :], ((0, 0), (m, 0))))
        return replace(found, x=whole, residual=own.residual(whole))

    def improve(self, found: Solutions, rows: Array, scale: Array) -> None:
        """Local minima near the solutions of the envelopes, within boxes that shrink where they have no better
        point."""
        size = np.full(len(rows), FIRST_BOX)
        while len(rows):
            part, x = self.subset(rows), found.x[rows, : self.m]
            low, high = part.programs.lower[:, : self.m], part.programs.upper[:, : self.m]
            away = size[:, None] * (high - low)
            hulls = part.sampled(np.maximum(low, x - away), np.minimum(high, x + away), PROGRAM_KNOTS)
            tried = part.on_pieces(*_near(*hulls, x[..., None]))
            own = part.values(tried.x[:, : self.m, None]).sum(axis=(-1, -2))
            tried.objective[:] = own + part.rest.objective(tried.x)
            gain = found.objective[rows] - tried.objective
            better = (tried.status == Status.SOLVED) & (gain > 0)
            for name in ("x", "objective", "residual"):
                getattr(found, name)[rows[better]] = getattr(tried, name)[better]
            size = np.where(better & (gain > GLOBAL_GAP * scale[rows]), size, BOX_FACTOR * size)
            rows, size = rows[size > LAST_BOX], size[size > LAST_BOX]

    def values(self, x: Array) -> Array:
        """(k, m, p) of the functions at x (k, m, p)."""
        return self.curves(self.numbers, x)

    @property
    def rest(self) -> Programs:
        """The programs without the functions."""
        weights = np.where(np.arange(self.programs.A.shape[-1]) < self.m, 0.0, self.programs.weights)
        return replace(self.programs, weights=weights)


def _lower_hulls(x: Array, f: Array) -> tuple[Array, Array]:
    """(k, m, v) the vertices of the lower convex hulls of points (x, f), ascending in x (k, m, p).

    Points above the lines between their neighbours are dropped, until there are none. Where a hull has fewer than the
    others its last one is repeated.
    """
    order = np.argsort(x, axis=-1, kind="stable")
    x, f = (np.take_along_axis(v, order, axis=-1) for v in (x, f))
    kept = np.pad(np.diff(x, axis=-1) > 0, ((0, 0), (0, 0), (1, 0)), constant_values=True)
    while True:
        last = kept.sum(axis=-1, keepdims=True) - 1
        numbers = np.arange(max(int(last.max(initial=0)) + 1, PROGRAM_KNOTS))
        place = np.take_along_axis(np.argsort(~kept, axis=-1, kind="stable"), np.minimum(numbers, last), axis=-1)
        x, f = (np.take_along_axis(v, place, axis=-1) for v in (x, f))
        width = np.diff(x, axis=-1)
        slope = ratio(np.diff(f, axis=-1), width)
        bend = np.diff(slope, axis=-1) > MIN_SLOPE_CHANGE * np.abs(slope).max(axis=-1, keepdims=True)
        kept = (numbers <= last) & np.pad(bend, ((0, 0), (0, 0), (1, 1)), constant_values=True) | (numbers == last)
        if (kept == (numbers <= last)).all():
            return x, f


def _segments(x: Array, at: Array) -> Array:
    """(k, m, q) the numbers of the vertices left of points (k, m, q) on hulls (k, m, v)."""
    last = np.sum(x < x[..., -1:], axis=-1)[..., None] - 1
    return np.clip(np.sum(x[..., None, :] < at[..., None], axis=-1) - 1, 0, np.maximum(last, 0))


def _around(hull: Array, at: Array, values: Array) -> Array:
    """(4, k, m) values at the vertices of hulls (k, m, v): two on either side of `at` (k, m), if there are two."""
    four = np.clip(_segments(hull, at[..., None]) + np.arange(-1, 3), 0, hull.shape[-1] - 1)
    return np.moveaxis(np.take_along_axis(values, four, axis=-1), -1, 0)


def _near(x: Array, f: Array, about: Array) -> tuple[Array, Array]:
    """(k, m, knots) vertices of hulls, the nearest by their number to any of the points `about` (k, m, q), and both
    ends."""
    numbers = np.arange(x.shape[-1])
    away = np.abs(numbers - _segments(x, about)[..., None] - 0.5).min(axis=-2)
    away = np.where(numbers == 0, -1.0, np.where(x >= x[..., -1:], np.inf, away))
    chosen = np.sort(np.argsort(away, axis=-1, kind="stable")[..., : PROGRAM_KNOTS - 1], axis=-1)
    chosen = joined([chosen, np.full((*chosen.shape[:-1], 1), numbers[-1])])
    return np.take_along_axis(x, chosen, axis=-1), np.take_along_axis(f, chosen, axis=-1)


def _size(objective: Array, f: Array) -> Array:
    """(k,) the scale of gaps: the objectives, or a small part of the greatest values of the functions."""
    greatest = np.abs(f).max(axis=(-1, -2), initial=0.0)
    return np.maximum(np.abs(objective), np.maximum(SMALL_OBJECTIVE * greatest, 1e-300))
