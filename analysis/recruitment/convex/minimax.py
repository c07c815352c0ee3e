"""Minimax programs: minimise the greatest w_i |x_i|, by programs of squares within boxes.

The box |x_i| <= t / w_i has feasible points from some least t on. Below it multipliers prove infeasibility for a range
of t, up to where price . x reaches y . b - z . h. That is a root of a concave, piecewise linear function, and the next
t [W. Dinkelbach, On nonlinear fractional programming, Management Science 13, 1967]. Of all solutions near the last t
the one with the least sum of squares of w x is unique, and is the result."""

from dataclasses import replace

import numpy as np

from myoquat.analysis.recruitment.convex import terms
from myoquat.analysis.recruitment.convex.program import Programs, Status
from myoquat.analysis.recruitment.convex.solve import Solutions, solve_programs
from myoquat.core.typing import Array
from myoquat.joints.vectors import vecmat

__all__ = ["solve_minimax"]

MAX_OUTER_ITERATIONS = 60
FIRST_BOX_MARGIN = 1e-8  # of t: a box is wider than the least known one by this; times 10 after every failure
MAX_BOX_MARGIN = 1e-4  # of t
MAX_BREAKPOINTS = 200  # of the piecewise linear function, from one t to the next


def solve_minimax(programs: Programs, *, backend: str = "kernel") -> Solutions:
    """The solutions of min max_i w_i |x_i| under the conditions of the programs, whose powers have no effect.

    `objective` is the greatest w_i |x_i| of x, `bound` a lower bound of it. They differ by at most 1e-4 of the
    objective, in general by 1e-8. Along variables without a bound and a weight, the bound holds up to 10 times the size
    of x. The multipliers y and z are its derivatives in b and h. Programs without a solution at any t are infeasible,
    as those of `solve_programs`.
    """
    search = _Search(programs, backend)
    for _ in range(MAX_OUTER_ITERATIONS):
        if not len(search.open_):
            break
        search.iterate()
    return search.solutions()


class _Search:
    """The least t of every program, from below, and the margin of the tried box."""

    def __init__(self, programs: Programs, backend: str) -> None:
        self.backend = backend
        self.programs = replace(programs, weights=programs.weights**2, powers=np.full_like(programs.powers, 2.0))
        self.w = programs.weights
        k = len(programs.b)
        ends = np.maximum(np.maximum(programs.lower, -programs.upper), 0.0)
        self.t = np.max(np.where(self.w > 0, self.w * ends, 0.0), axis=-1, initial=0.0)
        self.wider, self.open_ = np.full(k, FIRST_BOX_MARGIN), np.arange(k)
        every = solve_programs(self.programs, backend=backend)
        self.found = every
        self.least_prices = np.zeros((k, *every.y.shape[1:])), np.zeros((k, *every.z.shape[1:]))
        self.open_ = np.flatnonzero(every.status == Status.SOLVED)
        self.t[self.open_] = self._raised(self.open_, every.subset(self.open_))  # whose multipliers prove something too

    def iterate(self) -> None:
        """Solve the programs in boxes at t, a little wider; where that fails raise t or widen the box."""
        rows = self.open_
        given = self._boxed(rows, self.t[rows] * (1 + self.wider[rows]))
        tried = solve_programs(given, backend=self.backend)
        solved = tried.status == Status.SOLVED
        t = np.where(solved, self.t[rows], self._raised(rows, tried))
        raised = t > self.t[rows] * (1 + self.wider[rows] / 2)
        self.t[rows] = np.maximum(t, self.t[rows])
        self.wider[rows] = np.where(raised | solved, self.wider[rows], 10 * self.wider[rows])
        done = rows[solved]
        self.found.put(done, tried.subset(solved))
        lost = ~solved & (self.wider[rows] > MAX_BOX_MARGIN)
        self.found.status[rows[lost]] = Status.UNSOLVED
        self.open_ = rows[~solved & ~lost]

    def _boxed(self, rows: Array, t: Array) -> Programs:
        p, w = self.programs.subset(rows), self.w[rows]
        far = np.where(w > 0, t[:, None] / np.where(w > 0, w, 1.0), np.inf)
        lower, upper = np.maximum(p.lower, -far), np.minimum(p.upper, far)
        return replace(p, lower=np.minimum(lower, upper), upper=upper)

    def _raised(self, rows: Array, tried: Solutions) -> Array:
        """(k,) the least t at which multipliers no longer prove that there is no solution."""
        p, w = self.programs.subset(rows), self.w[rows]
        price = vecmat(tried.y, p.A) + vecmat(tried.z.reshape(len(rows), -1), p.G.reshape(len(rows), -1, w.shape[-1]))
        need = np.sum(tried.y * p.b, axis=-1) - np.sum(tried.z * p.h, axis=(-1, -2))
        t, slope = self.t[rows], np.ones(len(rows))
        for _ in range(MAX_BREAKPOINTS):
            box = self._boxed(rows, t)
            low, high = terms.reach(tried.x, box.lower, box.upper)
            best = np.where(price > 0, high, low)
            reached = np.sum(price * best, axis=-1)
            moves = (w > 0) & (np.abs(best) * w >= t[:, None] * (1 - 1e-12)) & (price * best >= 0)
            slope = np.sum(np.where(moves, np.abs(price) / np.where(w > 0, w, 1.0), 0.0), axis=-1)
            step = np.where(slope > 0, (need - reached) / np.where(slope > 0, slope, 1.0), 0.0)
            goes_on = (step > 1e-15 * t) & np.isfinite(step)
            if not goes_on.any():
                break
            t = np.where(goes_on, t + step, t)
        raised = t > self.t[rows]
        for prices, given in zip(self.least_prices, (tried.y, tried.z), strict=True):
            part = np.where(raised & (slope > 0), 1 / np.where(slope > 0, slope, 1.0), 0.0)
            prices[rows[raised]] = (given * part.reshape(-1, *(given.ndim - 1) * [1]))[raised]
        found: Array = t
        return found

    def solutions(self) -> Solutions:
        found = self.found
        found.status[self.open_] = Status.UNSOLVED
        solved = found.status == Status.SOLVED
        greatest = np.max(self.w * np.abs(found.x), axis=-1, initial=0.0)
        shape = (-1, 1)
        return replace(
            found,
            objective=greatest,
            bound=np.where(solved, self.t, found.bound),
            y=np.where(solved.reshape(shape), self.least_prices[0], found.y),
            z=np.where(solved.reshape(*shape, 1), self.least_prices[1], found.z),
        )
