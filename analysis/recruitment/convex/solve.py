"""Programs solved in blocks: scaled, split where a power has a corner, certified, and, where there is no solution, as
nearly met as can be. Minimax programs are linear ones with a variable t >= w_i |x_i|.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints.vectors import joined

from .coupled_programs import CouplingRows, solve_coupled
from .interior_point import CAREFUL_TARGET, MIN_INFEASIBILITY_PROOF, Ends, solved_side_by_side
from .program import Programs, Split, Status, in_one_pass, powers_of_two
from .terms import ratio

BLOCK_SIZE = 1024  # programs that are solved side by side
EFFORT_WEIGHT = 1e-8  # of the effort, where violations have the weight 1


@frozen(eq=False)
class Solutions:
    """Solutions of k programs.

    x          (k, n)
    status     (k,)
    objective  (k,)
    bound      (k,) lower bounds of the objectives of all solutions
    y          (k, e) multipliers of the equations, the change of the objective with b
    z          (k, c, d) multipliers of the cones
    residual   (k, e) A x - b
    steps      (k,)

    For an infeasible program x minimises the violation, the sum of squares of residuals over the lengths of the rows of
    A. Its multipliers prove that it is infeasible.
    """

    x: Array
    status: Array
    objective: Array
    bound: Array
    y: Array
    z: Array
    residual: Array
    steps: Array

    def subset(self, rows: Array) -> "Solutions":
        """Some of the solutions, by their numbers or a mask."""
        return Solutions(**{name: values[rows] for name, values in vars(self).items()})

    @classmethod
    def joined(cls, parts: "Sequence[Solutions]") -> "Solutions":
        """The solutions of all parts, one after the other."""
        return cls(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in vars(parts[0])})

    def put(self, rows: Array, given: "Solutions") -> None:
        """Take over the solutions of some of the programs, by their numbers."""
        for name, values in vars(given).items():
            getattr(self, name)[rows] = values


def solve_programs(programs: Programs, *, backend: str = "kernel", block: int = BLOCK_SIZE) -> Solutions:
    """The solutions of all programs.

    A solved program meets its equations and cones to 1e-11 of their rows. Its objective exceeds the bound by at most
    1e-11 of itself. Where rounding errors end progress before, 1e-9 of both is accepted. x is always within its bounds.
    `block` programs are solved side by side; their selection does not change a bit of any solution. Where a variable of
    a power below 2 can have both signs in one of the programs, it is split in all of them.
    """
    split = Split(programs)
    parts = []
    for first in range(0, len(programs.b), block):
        given = programs.subset(slice(first, first + block))
        parts.append(_solved_or_nearest(_Scaled(given, split), backend))
    if not parts:
        k, _, n = programs.A.shape
        empty = np.zeros(0)
        return Solutions(np.zeros((k, n)), empty.astype(int), empty, empty, programs.b, programs.h, programs.b,
                         empty.astype(int))  # fmt: skip
    return Solutions.joined(parts)


# ---- parts -------------------------------------------------------------------------------------------------


class _Scaled:
    """Programs with rows of length about 1: A and G are left as they are, to be taken times `scale` (k, rows). What
    variables whose bounds are equal add, `at` (k, n), is taken from b and h."""

    def __init__(self, given: Programs, split: Split) -> None:
        self.given, self.split = given, split
        p = split.applied(given)
        self.is_fixed = p.lower == p.upper
        self.at = np.where(self.is_fixed, p.lower, 0.0)
        self.scale = p.row_scale()
        rows, cones = p.of_rows(self.scale)
        b, h, self.fixed = p.b, p.h, np.zeros(len(p.b))
        if self.is_fixed.any():
            b, h, self.fixed = -p.residual(self.at), p.cone_values(self.at), p.objective(self.at)
        self.program = replace(p, b=b * rows, h=h * cones)

    def solution(self, ends: Ends) -> Solutions:
        """In the original variables and units."""
        p = self.given
        merged = self.split.merged(np.where(self.is_fixed, self.at, ends.x))
        x = np.clip(merged, p.lower, p.upper)  # steps to a bound round
        y, z = p.of_rows(ends.multipliers * self.scale)
        return Solutions(x, ends.status, p.objective(x), ends.bound + self.fixed, y, z, p.residual(x), ends.steps)

    def applied(self, rows: Array) -> Programs:
        """Some of the programs, with the scale, and with free variables without columns for those that are fixed."""
        p, is_fixed = self.program.subset(rows), self.is_fixed[rows]
        k, e, n = p.A.shape
        B = np.concatenate([p.A, p.G.reshape(k, -1, n)], axis=1) * self.scale[rows][..., None] * ~is_fixed[:, None]
        return replace(
            p,
            A=B[:, :e],
            G=B[:, e:].reshape(p.G.shape),
            weights=np.where(is_fixed, 0.0, p.weights),
            lower=np.where(is_fixed, -np.inf, p.lower),
            upper=np.where(is_fixed, np.inf, p.upper),
        )


def _solved_or_nearest(scaled: _Scaled, backend: str) -> Solutions:
    """The solutions; where the iteration does not converge, a second one is more careful. Infeasible programs get the
    points that violate the conditions least. Their multipliers may prove infeasibility where the search ended without
    a proof: along variables without bounds a proof takes many steps."""
    ends = solved_side_by_side(scaled.program, scaled.scale, backend)
    open_ = np.flatnonzero(ends.status == Status.UNSOLVED)
    if len(open_):
        program, size = _in_units_of_solution(scaled.program.subset(open_), scaled.scale[open_])
        again = solved_side_by_side(program, scaled.scale[open_], backend, CAREFUL_TARGET)
        again = again._replace(x=again.x * size, price=again.price / size)
        for name, values in again._asdict().items():
            getattr(ends, name)[open_] = values
    rows = np.flatnonzero(ends.status != Status.SOLVED)
    if not len(rows):
        return scaled.solution(ends)
    program = scaled.applied(rows)
    nearest = _least_violation(program, backend)
    proved = program.certificates(nearest.x, nearest.multipliers, nearest.price)[1] > MIN_INFEASIBILITY_PROOF
    for of_ends, of_nearest in ((ends.multipliers, nearest.multipliers), (ends.price, nearest.price)):
        of_ends[rows[proved]] = of_nearest[proved]
    refuted = proved | (ends.status[rows] == Status.INFEASIBLE)
    ends.x[rows[refuted]], ends.status[rows[refuted]], ends.bound[rows[refuted]] = (
        nearest.x[refuted], Status.INFEASIBLE, np.inf,
    )  # fmt: skip
    return scaled.solution(ends)


def _in_units_of_solution(p: Programs, scale: Array) -> tuple[Programs, Array]:
    """The programs, and the sizes (k, n) of their new variables x / size.

    The size of a bounded variable is 1. For others it is the least size with which they supply the part of b that
    bounded ones cannot give. Without it, steps from x = 0 to large solutions would be short. `scale` (k, rows) as for
    `solved_side_by_side`.
    """
    bounded = np.isfinite(p.lower) & np.isfinite(p.upper)
    A = np.abs(p.A) * scale[:, : p.b.shape[1], None]
    farthest = np.where(bounded, np.maximum(np.abs(p.lower), np.abs(p.upper)), 0.0)
    rest = np.abs(p.b) - in_one_pass(A, farthest)
    unbounded = in_one_pass(A, np.where(bounded, 0.0, 1.0))
    needed = np.where(unbounded > 0, ratio(rest, unbounded), 0.0).max(axis=-1, initial=1.0)
    size = np.where(bounded, 1.0, powers_of_two(needed)[:, None])
    return replace(
        p,
        A=p.A * size[:, None],
        G=p.G * size[:, None, None],
        weights=p.weights * size**p.powers,
        lower=p.lower / size,
        upper=p.upper / size,
    ), size


def _least_violation(p: Programs, backend: str) -> Ends:
    """x within the bounds that violates equations and cones the least, by squares; of several, one of little
    effort. Equations get a variable each that makes up for the rest, cones one that widens them."""
    k, e, n = p.A.shape
    c, d = p.h.shape[1:]
    max_weight = np.maximum(p.weights.max(axis=-1, initial=0.0, keepdims=True), 1e-300)
    bounded = np.isfinite(p.lower) | np.isfinite(p.upper)
    little = replace(p, weights=bounded * EFFORT_WEIGHT * p.weights / max_weight, powers=np.full((k, n), 2.0))
    free = np.full((k, e + c), np.inf)
    floor = joined([-free[:, :e], np.zeros((k, c))])
    relaxed = little.with_slack(np.ones((k, e + c)), floor, free)
    found = solved_side_by_side(relaxed, np.ones((k, e + c * d)), backend)
    return found._replace(x=found.x[:, :n], price=found.price[:, :n])


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
        far = np.where(w[own] > 0, ratio(t[open_, None] * (1 + margin), w[own]), np.inf)
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
        joined([p.A, np.zeros((k, e, 1))]), p.b, weights=np.eye(n + 1)[n], powers=1.0,
        lower=np.pad(p.lower, ((0, 0), (0, 1))), upper=np.pad(p.upper, ((0, 0), (0, 1)), constant_values=np.inf),
        G=G, h=np.pad(p.h, ((0, 0), (0, n), (0, 0))),
    )  # fmt: skip
