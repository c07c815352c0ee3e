"""Minimax programs: minimise the greatest w_i |x_i|, as linear programs with a variable t >= w_i |x_i|."""

from dataclasses import replace

import numpy as np

from myoquat.analysis.recruitment.convex.coupled_programs import CouplingRows, solve_coupled
from myoquat.analysis.recruitment.convex.program import Programs, Status
from myoquat.analysis.recruitment.convex.solve import Solutions, solve_programs
from myoquat.core.typing import Array

__all__ = ["solve_minimax"]

MIN_BOX_MARGIN, MAX_BOX_MARGIN = 1e-8, 1e-4  # of t: solutions lie in a box wider by the first, or 10 times as much


def solve_minimax(programs: Programs, *, backend: str = "kernel") -> Solutions:
    """The solutions of min max_i w_i |x_i| under the conditions of the programs, whose powers have no effect.

    Clarabel finds the least t. Of all x with w_i |x_i| near it, the one with the least sum of squares of w x is unique,
    and is the result. `objective` is the greatest w_i |x_i| of x, `bound` a lower bound of it. They differ by at most
    1e-4 of the objective, in general by 1e-8. Along variables without a bound and a weight, the bound holds up to 10
    times the size of x. The multipliers y and z are its derivatives in b and h. Programs without a solution at any t
    are infeasible, as those of `solve_programs`.
    """
    w, squares = programs.weights, replace(programs, weights=programs.weights**2, powers=0 * programs.powers + 2.0)
    found = solve_programs(squares, backend=backend)
    rows = np.flatnonzero(found.status == Status.SOLVED)
    least = [solve_coupled(_with_greatest(programs.subset(rows[k : k + 1])), CouplingRows.none())
             for k in range(len(rows))]  # fmt: skip
    t, margin, open_ = np.array([end.x[0, -1] for end in least]), MIN_BOX_MARGIN, np.arange(len(rows))
    while len(open_) and margin <= MAX_BOX_MARGIN:
        own = rows[open_]
        far = np.where(w[own] > 0, t[open_, None] * (1 + margin) / np.where(w[own] > 0, w[own], 1.0), np.inf)
        part = squares.subset(own)
        lower, upper = np.maximum(part.lower, -far), np.minimum(part.upper, far)
        tried = solve_programs(replace(part, lower=np.minimum(lower, upper), upper=upper), backend=backend)
        solved = tried.status == Status.SOLVED
        found.put(own[solved], tried.subset(solved))
        margin, open_ = 10 * margin, open_[~solved]
    found.status[rows[open_]] = Status.UNSOLVED
    for row, end in zip(rows, least, strict=True):
        found.bound[row], found.y[row], found.z[row] = end.bound, end.y[0], end.z[0, : programs.h.shape[1]]
    return replace(found, objective=np.max(w * np.abs(found.x), axis=-1, initial=0.0))


def _with_greatest(p: Programs) -> Programs:
    """Programs of t, a variable behind the others, with cones t >= w_i |x_i|."""
    (k, e, n), (c, d) = p.A.shape, p.h.shape[1:]
    G: Array = np.zeros((k, c + n, d, n + 1))
    G[:, :c, :, :n] = p.G
    G[:, c:, 0, n] = 1.0
    G[:, c + np.arange(n), 1, np.arange(n)] = p.weights
    return Programs.of(
        np.concatenate([p.A, np.zeros((k, e, 1))], axis=-1), p.b, weights=np.eye(n + 1)[n], powers=1.0,
        lower=np.pad(p.lower, ((0, 0), (0, 1))), upper=np.pad(p.upper, ((0, 0), (0, 1)), constant_values=np.inf),
        G=G, h=np.pad(p.h, ((0, 0), (0, n), (0, 0))),
    )  # fmt: skip
