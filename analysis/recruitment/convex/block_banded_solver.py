"""The solution of block-banded programs, with one certificate for all blocks."""

from dataclasses import replace

import numpy as np

from myoquat.analysis.recruitment.convex.block_banded import BlockBandedProgram, Point, dual_bound
from myoquat.analysis.recruitment.convex.coupling_rows import CouplingRows
from myoquat.analysis.recruitment.convex.interior_point_formulas import MIN_INFEASIBILITY_PROOF
from myoquat.analysis.recruitment.convex.outcome import Status
from myoquat.analysis.recruitment.convex.program import Programs
from myoquat.analysis.recruitment.convex.solve import powers_of_two
from myoquat.analysis.recruitment.convex.split import Split
from myoquat.core.records import dataclass
from myoquat.core.typing import Array

__all__ = ["BlockBandedSolution", "solve_block_banded"]

MAX_STEPS = 200
GAP_TOLERANCE = 1e-10  # of the objective: solved if objective and bound are no farther apart
RESIDUAL_TOLERANCE = 1e-11  # of a row, relative to its length and to b
ACCEPTABLE_FACTOR = 10.0  # times both tolerances: accepted where rounding errors end progress
MAX_STALLED_STEPS = 10  # neither the distance from a solution nor the mean product falls in them
SMALL_OBJECTIVE = 1e-4  # of the greatest weight: gaps of smaller objectives are relative to this
VIOLATION_WEIGHT = 1e8  # of the greatest weight: of squared violations of rows of length 1
VIOLATION_TOLERANCE = 1e-6  # of rows of length 1, and of b: greater residuals are violations
VIOLATION_MARGIN = 1e-6  # of b: violations may exceed the least ones by this


@dataclass(frozen=True, eq=False)
class BlockBandedSolution:
    """The solution of k programs with coupling rows.

    x          (k, n)
    y          (k, e) multipliers of the equations
    z          (k, c, d) multipliers of the cones
    pull       (l,) multipliers of the coupling rows
    residual   (k, e) A x - b
    objective  of all programs together
    bound      a lower bound of the objective
    status     of all programs together
    steps      of the solver
    lost       (k,) marks programs whose conditions x violates

    Without a solution, x violates the conditions of the `lost` programs least, in the sum of squares. It meets all
    others and has the least objective among these points. The multipliers prove infeasibility, or belong to x.
    """

    x: Array
    y: Array
    z: Array
    pull: Array
    residual: Array
    objective: float
    bound: float
    status: Status
    steps: int
    lost: Array


def solve_block_banded(programs: Programs, coupling: CouplingRows, lost: Array | None = None) -> BlockBandedSolution:
    """The solution of a block-banded program: each block is coupled to the next one, the objective is the sum.

    `lost` (k,): programs that are known to have no solution. A solution meets all rows to 1e-11 of their length, and
    its objective is above the bound by at most 1e-10 of itself. Ten times both where rounding errors end progress.
    Coupled variables of a power below 2 must not have both signs.
    """
    rows = _Rows(programs)
    known = np.zeros(len(programs.b), dtype=bool) if lost is None else lost
    if known.any():
        found = rows.nearest(coupling, known)
        if found.status == Status.SOLVED:
            return rows.result(found, coupling, known)
    else:
        found = _descended(rows.program, coupling, rows.max_weight)
        if found.status == Status.SOLVED:
            return rows.result(found, coupling, known)
    every = _descended(rows.relaxed(np.ones(len(known), dtype=bool)), coupling, rows.max_weight)
    at = every.at
    proof = dual_bound(rows.program, coupling, at.multipliers, at.pull, at.x[:, : rows.n])[1]
    if not (proof > MIN_INFEASIBILITY_PROOF or found.status == Status.INFEASIBLE or known.any()):
        return rows.result(found, coupling, known)
    missed = known | (np.abs(at.x[:, rows.n :]) > VIOLATION_TOLERANCE * rows.size).any(axis=-1)
    return rows.result(rows.with_violation(coupling, missed, at.x[:, rows.n :]), coupling, missed)


# ---- parts -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _End:
    at: Point
    bound: float
    status: Status
    steps: int


def _descended(program: Programs, coupling: CouplingRows, max_weight: float) -> _End:
    """The best point on the way."""
    chain = BlockBandedProgram(program, coupling, max_weight)
    at = chain.start()
    best, merit, least, since = _End(at, -np.inf, Status.UNSOLVED, 0), np.inf, np.inf, 0
    size = np.maximum(np.abs(np.concatenate([program.b, -program.h.reshape(len(at.x), -1)], axis=-1)), 1.0)
    with np.errstate(all="ignore"):
        for number in range(MAX_STEPS):
            off, proof, bound = _distance(chain, at, size)
            mean = chain.products(at)
            since = 0 if off < merit or mean < least else since + 1
            least = min(mean, least)
            if off < merit:
                best, merit = _End(at, bound, Status.UNSOLVED, number), off
            if proof > MIN_INFEASIBILITY_PROOF:
                return _End(at, np.inf, Status.INFEASIBLE, number)
            if off <= 1 or since > MAX_STALLED_STEPS or not np.isfinite(off):
                break
            try:
                at = chain.step(at)
            except np.linalg.LinAlgError:
                break
    return replace(best, status=Status.SOLVED) if merit <= ACCEPTABLE_FACTOR else best


def _distance(chain: BlockBandedProgram, at: Point, size: Array) -> tuple[float, float, float]:
    """The distance of a point from a solution over the tolerance, the margin of its proof of infeasibility, the
    bound."""
    rows, coupling_right = chain.residuals(at)
    bound, proof = dual_bound(chain.p, chain.coupling, at.multipliers, at.pull, at.x, chain.every)
    objective = chain.objective(at.x)
    gap = abs(objective - bound) / max(objective, SMALL_OBJECTIVE * chain.max_weight) / GAP_TOLERANCE
    lack = (
        max(float((np.abs(rows) / size).max(initial=0.0)), float(np.abs(coupling_right).max(initial=0.0)))
        / RESIDUAL_TOLERANCE
    )
    return max(gap, lack), proof, bound


class _Rows:
    """Programs with rows of length about 1, split where a power has a corner."""

    def __init__(self, given: Programs) -> None:
        self.given, self.split = given, Split(given)
        p = self.split.applied(given)
        self.n, self.max_weight = p.A.shape[-1], float(p.weights.max(initial=0.0)) or 1.0
        lengths = np.sqrt(np.max(np.einsum("kcdn,kcdn->kcd", p.G, p.G), axis=-1, initial=0.0))
        self.rows, self.cones = powers_of_two(np.sqrt(np.einsum("ken,ken->ke", p.A, p.A))), powers_of_two(lengths)
        self.program = replace(
            p,
            A=p.A / self.rows[..., None],
            b=p.b / self.rows,
            G=p.G / self.cones[..., None, None],
            h=p.h / self.cones[..., None],
        )
        heights = np.abs(self.program.h).max(axis=-1, initial=1.0)
        self.size = np.concatenate([np.maximum(np.abs(self.program.b), 1.0), heights], axis=-1)

    def nearest(self, coupling: CouplingRows, missed: Array) -> _End:
        """The least objective among the points that violate the conditions of some programs least."""
        found = _descended(self.relaxed(missed), coupling, self.max_weight)
        return self.with_violation(coupling, missed, found.at.x[:, self.n :])

    def with_violation(self, coupling: CouplingRows, missed: Array, violation: Array) -> _End:
        """The least objective with known violations."""
        return _descended(self.relaxed(missed, violation), coupling, self.max_weight)

    def relaxed(self, missed: Array, violation: Array | None = None) -> Programs:
        """The programs with slack variables in some of them (k,): one for each equation, and one that widens each cone.
        They have a weight, or known values (k, e + c)."""
        p, (k, e), c = self.program, self.program.b.shape, self.program.h.shape[1]
        extra = np.zeros((*p.G.shape[:3], e + c))
        for j in range(c):
            extra[:, j, 0, e + j] = 1.0
        far, least = np.where(missed, np.inf, 0.0)[:, None] + np.zeros((k, e + c)), np.zeros((k, e + c))
        least[:, :e] = -np.inf
        lower, upper = np.maximum(-far, least), far
        if violation is not None:
            near = VIOLATION_MARGIN * self.size * missed[:, None]
            lower, upper = np.maximum(violation - near, least) * missed[:, None], (violation + near) * missed[:, None]
        price = VIOLATION_WEIGHT * self.max_weight * np.ones((k, e + c)) * (violation is None)
        return Programs(
            A=np.concatenate([p.A, np.broadcast_to(np.eye(e, e + c), (k, e, e + c))], axis=-1),
            b=p.b,
            weights=np.concatenate([p.weights, price], axis=-1),
            powers=np.concatenate([p.powers, np.full((k, e + c), 2.0)], axis=-1),
            lower=np.concatenate([p.lower, lower], axis=-1),
            upper=np.concatenate([p.upper, upper], axis=-1),
            G=np.concatenate([p.G, extra], axis=-1),
            h=p.h,
        )

    def result(self, found: _End, coupling: CouplingRows, missed: Array) -> BlockBandedSolution:
        """In the original variables and units."""
        p, e = self.given, self.given.b.shape[1]
        x = self.split.merged(found.at.x[:, : self.n])
        status = Status.INFEASIBLE if missed.any() else found.status
        return BlockBandedSolution(
            x=x,
            y=found.at.multipliers[:, :e] / self.rows,
            z=found.at.multipliers[:, e:].reshape(p.h.shape) / self.cones[..., None],
            pull=found.at.pull,
            residual=p.residual(x),
            objective=float(p.objective(x).sum() + coupling.objective(x).sum()),
            bound=np.inf if status == Status.INFEASIBLE else found.bound,
            status=status,
            steps=found.steps,
            lost=missed,
        )
