"""Frames whose force laws are not affine in the activation, as programs in the tensions of the muscles.

In the tensions the equations and the cones are affine, and the effort is a sum of functions of one tension each. A
function is convex where the tension is concave in the activation. It is not convex where the tension is convex, for
example after a range of activations without force. The lower convex envelopes of the functions [J. E. Falk, Lagrange
multipliers and nonconvex programs, SIAM J. Control 7, 1969] give starting points for local solutions. At the
multipliers of a solution, a muscle may have an activation that is cheaper than its own. Then other starts are worth
trying.
"""

from copy import copy
from dataclasses import replace
from functools import cached_property
from itertools import product

import numpy as np

from myoquat.analysis.recruitment.convex import Programs, Solutions, Status, are_met, solve_separable, terms
from myoquat.analysis.recruitment.convex.program import joined_rows
from myoquat.analysis.recruitment.tolerances import SMALL_OBJECTIVE
from myoquat.core import Array
from myoquat.joints.vectors import joined, vecmat

from .equations import Demands, Effort, EffortCurves, strengths

GRID_POINTS = 33  # activations of every muscle at which tensions and efforts are looked at, nearer at low ones
MAX_STEPS = 60  # of the search of an activation
EQUAL_TENSIONS = 1e-14  # of the greatest tension of a muscle: tensions that near are equal
END_TOLERANCE = 1e-9  # of a range of tensions: tensions that close to an end are moved to it
RANGE_REFINEMENTS = 8  # of the grid about the least and the greatest tension
SUFFICIENT_GAP = 1e-8  # of the effort: cheaper activations that save less do not matter
MAX_COMPARISONS = 2**22  # of tensions with those of the grid at a time
LEAST_SAVED = 1e-9  # of the effort: new solutions that save less are not taken
MAX_ALTERNATIVES = 3  # muscles of which alternatives are combined


class PosedFrames:
    """The frames of `demands` under an effort with a finite power; `programs` have tensions [N] and the controls of the
    reserves as their variables."""

    def __init__(self, demands: Demands, effort: Effort, backend: str) -> None:
        self.demands, self.effort, self.backend = demands, effort, backend
        self.count, self.m = demands.lengths.shape

    @cached_property
    def target(self) -> Array:
        """(t, m) the activations within reach that cost the least."""
        return np.clip(self.target_as_given, self.demands.low, self.demands.high)

    @cached_property
    def grid(self) -> Array:
        """(t, m, g) ascending activations at which the shape of laws and efforts is evaluated."""
        low, width = self.demands.low[..., None], (self.demands.high - self.demands.low)[..., None]
        grid = low + width * np.linspace(0.0, 1.0, GRID_POINTS) ** 2
        corners = [] if self._curves is None else [self._curves.corners()]
        return np.sort(joined([grid, self.target[..., None], *corners]), axis=-1)

    @cached_property
    def values(self) -> Array:
        """(t, m, g) the tensions at the grid."""
        return self.tensions(np.arange(self.count), self.grid)

    def tensions(self, rows: Array, a: Array) -> Array:
        """(r, m, p) [N] at activations (r, m, p) of frames (r,)."""
        flat = np.ascontiguousarray(a.mT)
        l, v = (x[rows][:, None] for x in (self.demands.lengths, self.demands.speeds))
        return np.asarray(self.demands.law(l, v, flat).mT)

    def costs(self, rows: Array, a: Array, tensions: Array) -> Array:
        """(r, m, p) the parts of the effort at activations, and their tensions, (r, m, p)."""
        if self._curves is not None:
            return self._curves(rows, a)
        weights, power = self._weights[rows][..., None], float(self.effort.power)
        if self.effort.of == "stress":
            return terms.cost(weights, power, tensions / strengths(self.demands.model)[:, None])
        return terms.cost(weights, power, a - self.target_as_given[rows][..., None])

    # ---- tensions and activations ----------------------------------------------------------------------------

    @cached_property
    def ranges(self) -> tuple[Array, Array]:
        """(t, m) the least and the greatest tension of every muscle."""
        return self._extreme(1.0), self._extreme(-1.0)

    @property
    def lines(self) -> tuple[Array, Array]:
        """F0, F1 (t, m): F0 + F1 a takes the range of activations to that of tensions."""
        low, high = self.ranges
        width = self.demands.high - self.demands.low
        F1 = terms.ratio(high - low, width)
        return low - F1 * self.demands.low, F1

    def activations(self, rows: Array, tensions: Array) -> Array:
        """(r, m, p) activations of tensions (r, m, p) within the ranges: of several the one nearest to its target."""
        size = max(MAX_COMPARISONS // max(tensions[0].size * self.grid.shape[-1], 1), 1) if len(tensions) else 1
        parts = [slice(first, first + size) for first in range(0, len(rows), size)]
        found = [self._inverse(rows[part], tensions[part]) for part in parts]
        return np.concatenate(found) if found else tensions

    def _inverse(self, rows: Array, tensions: Array) -> Array:
        low, high = (x[rows][..., None] for x in self.ranges)
        snap = END_TOLERANCE * (high - low)
        F = np.where(tensions <= low + snap, low, np.where(tensions >= high - snap, high, tensions))
        near, far = self._cell(rows, F)
        f_near, f_far = (self.tensions(rows, a) - F for a in (near, far))
        enough = EQUAL_TENSIONS * np.maximum(np.abs(low), np.abs(high))
        last = np.zeros(F.shape)  # the side that the last step moved: twice the same one, and the other counts half
        for step in range(MAX_STEPS):
            open_ = (np.minimum(np.abs(f_near), np.abs(f_far)) > enough) & (near != far)
            if not open_.any():
                break
            halved = np.where(last > 1, 0.5, 1.0), np.where(last < -1, 0.5, 1.0)
            part = f_far * halved[0] / np.where(open_, f_far * halved[0] - f_near * halved[1], 1.0)
            a = np.where(open_, far + (part if step % 4 < 3 else 0.5) * (near - far), far)
            f = self.tensions(rows, a) - F
            same = np.sign(f) == np.sign(f_near)
            near, f_near = np.where(open_ & same, a, near), np.where(open_ & same, f, f_near)
            far, f_far = np.where(open_ & ~same, a, far), np.where(open_ & ~same, f, f_far)
            last = np.where(same, np.maximum(last, 0.0) + 1, np.minimum(last, 0.0) - 1)
        return np.where(np.abs(f_near) <= np.minimum(enough, np.abs(f_far)), near, far)

    def _cell(self, rows: Array, F: Array) -> tuple[Array, Array]:
        """(r, m, p) the ends of the interval of the grid that reaches a tension nearest to the target: the nearer end,
        and the other. Where rounding hides it, the point whose tension is nearest."""
        grid, values, target = self.grid[rows], self.values[rows], self.target[rows][..., None]
        left, right = grid[..., :-1], grid[..., 1:]
        away = np.maximum(np.maximum(left - target, target - right), 0.0)
        near = np.where(left >= target, left, right)
        far = left + right - near
        off = values[..., None, :] - F[..., None]  # (r, m, p, g)
        crossed = off[..., :-1] * off[..., 1:] <= 0
        cell = np.argmin(np.where(crossed, away[..., None, :], np.inf), axis=-1)
        point = np.argmin(np.abs(off), axis=-1)
        missing = ~crossed.any(axis=-1)
        ends = [np.where(missing, np.take_along_axis(grid, point, axis=-1), np.take_along_axis(end, cell, axis=-1))
                for end in (near, far)]  # fmt: skip
        return ends[0], ends[1]

    def _extreme(self, sign: float) -> Array:
        """(t, m) the least of sign times the tension, times the sign."""
        rows, best = np.arange(self.count), np.argmin(sign * self.values, axis=-1)
        found: Array = np.take_along_axis(self.values, best[..., None], axis=-1)[..., 0]
        last = self.grid.shape[-1] - 1
        at = [np.take_along_axis(self.grid, np.clip(best + k, 0, last)[..., None], axis=-1) for k in (-1, 1)]
        ends = sign * np.minimum(sign * self.values[..., 0], sign * self.values[..., -1])
        if (sign * (ends - found) <= 0).all():  # monotone laws
            return found
        left, right = at
        for _ in range(RANGE_REFINEMENTS):
            a = left + (right - left) * np.linspace(0.0, 1.0, 9)
            values = sign * self.tensions(rows, a)
            place = np.argmin(values, axis=-1)[..., None]
            left, right = (np.take_along_axis(a, np.clip(place + k, 0, 8), axis=-1) for k in (-1, 1))
            found = sign * np.minimum(sign * found, values.min(axis=-1))
        return found

    # ---- efforts and bounds ----------------------------------------------------------------------------------

    @cached_property
    def programs(self) -> Programs:
        """Programs in the tensions; their first weights and powers are not used."""
        part, zero, (low, high) = copy(self.demands), np.zeros(self.demands.lengths.shape), self.ranges
        part.low, part.high = low, np.maximum(low, high)
        return part.programs(zero, zero + 1.0, replace(self.effort, of="activation"))

    def objectives(self, x: Array) -> Array:
        """(t,) of activations and controls x (t, m + r)."""
        a, rows = x[:, : self.m, None], np.arange(self.count)
        own: Array = self.costs(rows, a, self.tensions(rows, a)).sum(axis=(-1, -2))
        of_reserves = np.array([reserve.weight for reserve in self.demands.reserves])
        return own + terms.cost(of_reserves, float(self.effort.power), x[:, self.m :]).sum(axis=-1)

    def sizes(self, objectives: Array) -> Array:
        """(t,) the scale of differences of efforts."""
        result: Array = np.maximum(np.abs(objectives), SMALL_OBJECTIVE * self._weights.max(axis=-1, initial=0.0))
        return np.maximum(result, 1e-300)

    def _prices(self, found: Solutions) -> Array:
        """(t, m + r) the prices of tensions and controls: B^T times the multipliers."""
        return vecmat(joined_rows(found.y, found.z), self.programs.B)

    # ---- solutions -------------------------------------------------------------------------------------------

    def solved(self) -> Solutions:
        """x (t, m + r) activations and controls of least effort as far as the convex envelopes find them: no better
        ones are near. The multipliers are those of the envelopes."""

        def curves(rows: Array, tensions: Array) -> Array:
            a = self.activations(rows, tensions)
            return self.costs(rows, a, tensions)

        low, high = self.ranges
        corners = np.clip(self.values, low[..., None], high[..., None])
        metabolic = self._curves is not None  # other efforts have a faster method for local minima
        found = solve_separable(self.programs, curves, corners, backend=self.backend, improve=metabolic)
        x = found.x.copy()
        x[:, : self.m] = self.activations(np.arange(self.count), found.x[:, : self.m, None])[..., 0]
        return replace(found, x=x)

    def improvable(self, found: Solutions) -> Array:
        """(t,) whether muscles have cheaper activations than those of `found`, at its multipliers: among the points of
        the grid. Where the laws make the effort convex in the tensions, a local solution has none."""
        return self._excess(found)[0].sum(axis=-1) > SUFFICIENT_GAP * self.sizes(found.objective)

    def _excess(self, found: Solutions) -> tuple[Array, Array]:
        """(t, m) how much the effort less price times tension is above its least value on the grid, and (t, m, g) its
        values there."""
        a, rows = found.x[:, : self.m], np.arange(self.count)
        price, at = self._prices(found)[:, : self.m, None], self.tensions(rows, a[..., None])
        grid = self.costs(rows, self.grid, self.values) - price * self.values
        here = self.costs(rows, a[..., None], at) - price * at
        return np.maximum(here[..., 0] - grid.min(axis=-1), 0.0), grid

    def alternatives(self, found: Solutions) -> list[Array]:
        """Other starts (t, m + r) for local solutions.

        They are all combinations of up to three muscles whose efforts are above their envelopes at the activations of
        `found`. Each muscle is at one of the two ends of the envelope's straight piece.
        """
        rows = np.arange(self.count)
        above, grid = self._excess(found)
        ends = self._two_lowest(grid)
        first = np.argsort(-above, axis=-1, kind="stable")[:, :MAX_ALTERNATIVES]
        starts = []
        for choice in product((0, 1), repeat=first.shape[-1]):
            x = found.x.copy()
            for k, end in enumerate(choice):
                x[rows, first[:, k]] = ends[rows, first[:, k], end]
            starts.append(x)
        return starts

    def _two_lowest(self, values: Array) -> Array:
        """(t, m, 2) the activations of the grid at its two lowest local minima."""
        wide = np.pad(values, ((0, 0), (0, 0), (1, 1)), constant_values=np.inf)
        minimum = (values <= wide[..., :-2]) & (values < wide[..., 2:])
        order = np.argsort(np.where(minimum, values, np.inf), axis=-1, kind="stable")[..., :2]
        second = np.isfinite(np.take_along_axis(np.where(minimum, values, np.inf), order, axis=-1))
        order = np.where(second, order, order[..., :1])
        return np.take_along_axis(self.grid, order, axis=-1)

    def cheaper(self, known: Solutions, new: Solutions) -> Solutions:
        """Of solutions whose efforts are known those that meet the equations with less effort: new ones where they save
        more than a part LEAST_SAVED."""
        saved = known.objective - new.objective > LEAST_SAVED * self.sizes(new.objective)
        takes = are_met(new.status) & (~are_met(known.status) | saved)
        found = known.subset(np.arange(self.count))
        found.put(np.flatnonzero(takes), new.subset(takes))
        return found

    def measured(self, found: Solutions) -> Solutions:
        """Solutions with their efforts: LOCAL, or UNSOLVED where the equations are missed. They have no bound."""
        met = are_met(found.status) & self.demands.are_met(found.x)
        status = np.where(met, Status.LOCAL, Status.UNSOLVED)
        bound = np.full(self.count, np.nan)
        return replace(found, objective=self.objectives(found.x), bound=bound, status=status)

    def subset(self, rows: Array) -> "PosedFrames":
        """Some of the frames, by their numbers."""
        return PosedFrames(self.demands.subset(rows), self.effort, self.backend)

    @cached_property
    def _weights(self) -> Array:
        return self.demands.weights(self.effort)

    @cached_property
    def target_as_given(self) -> Array:
        """(t, m) the activations that cost nothing, which may be out of reach."""
        return self.demands.targets(self.effort)

    @cached_property
    def _curves(self) -> EffortCurves | None:
        return self.effort.curves(self.demands, self.backend)
