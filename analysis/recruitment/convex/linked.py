"""Linked programs solved, with a certificate for all of them together."""

from dataclasses import dataclass, replace

import numpy as np

from myoquat.analysis.recruitment.convex.chain import Chain, Point, chain_bound
from myoquat.analysis.recruitment.convex.interior import SAFE
from myoquat.analysis.recruitment.convex.links import Links
from myoquat.analysis.recruitment.convex.outcome import Status
from myoquat.analysis.recruitment.convex.program import Programs
from myoquat.analysis.recruitment.convex.solve import powers_of_two
from myoquat.analysis.recruitment.convex.split import Split
from myoquat.core.typing import Array

__all__ = ["Linked", "solve_linked"]

STEPS = 200
GAP = 1e-10  # between objective and bound, relative to the objective, at which the programs are solved
MET = 1e-11  # what a row may be off, relative to its length and to b
LOOSE = 10.0  # times these, where rounding ends progress
PATIENCE = 10  # steps in which neither the distance from a solution nor the mean product falls
SMALL = 1e-4  # of the greatest weight: an objective below it is not told from zero more finely
DEAR = 1e8  # of the greatest weight: what a violation of 1, of rows of length 1, costs
MISSED = 1e-6  # a violation, of rows of length 1 and of b, that is one
SPARE = 1e-6  # of b: by how much violations may be more than the least


@dataclass(frozen=True, eq=False)
class Linked:
    """x (k, n); multipliers y (k, e) of the equations, z (k, c, d) of the cones, pull (l,) of the links; residual (k,
    e), A x - b; objective and bound of all programs together, and status; steps. Of programs without a solution x
    violates the conditions of the programs `lost` (k,) the least, by squares, meets all others, and is of the least
    objective that this leaves; the multipliers prove that there is no solution, or belong to x."""

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


def solve_linked(programs: Programs, links: Links, lost: Array | None = None) -> Linked:
    """The solution of programs that are linked one to the next: as one convex program, whose objective is the sum.

    `lost` (k,): programs of which it is known that they have no solution. Solved is what meets all rows to 1e-11 of
    their length and whose objective is above the bound by no more than 1e-10 of itself, 10 times of both where
    rounding ends progress before. Linked variables of a power below 2 must not have both signs.
    """
    rows = _Rows(programs)
    known = np.zeros(len(programs.b), dtype=bool) if lost is None else lost
    if known.any():
        found = rows.nearest(links, known)
        if found.status == Status.SOLVED:
            return rows.linked(found, links, known)
    else:
        found = _descended(rows.program, links, rows.greatest)
        if found.status == Status.SOLVED:
            return rows.linked(found, links, known)
    every = _descended(rows.opened(np.ones(len(known), dtype=bool)), links, rows.greatest)
    at = every.at
    proof = chain_bound(rows.program, links, at.multipliers, at.pull, at.x[:, : rows.n])[1]
    if not (proof > SAFE or found.status == Status.INFEASIBLE or known.any()):
        return rows.linked(found, links, known)
    missed = known | (np.abs(at.x[:, rows.n :]) > MISSED * rows.size).any(axis=-1)
    return rows.linked(rows.held(links, missed, at.x[:, rows.n :]), links, missed)


# ---- parts -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _End:
    at: Point
    bound: float
    status: Status
    steps: int


def _descended(program: Programs, links: Links, greatest: float) -> _End:
    """The best point on the way."""
    chain = Chain(program, links, greatest)
    at = chain.start()
    best, merit, least, since = _End(at, -np.inf, Status.UNSETTLED, 0), np.inf, np.inf, 0
    size = np.maximum(np.abs(np.concatenate([program.b, -program.h.reshape(len(at.x), -1)], axis=-1)), 1.0)
    with np.errstate(all="ignore"):
        for number in range(STEPS):
            off, proof, bound = _distance(chain, at, size)
            mean = chain.products(at)
            since = 0 if off < merit or mean < least else since + 1
            least = min(mean, least)
            if off < merit:
                best, merit = _End(at, bound, Status.UNSETTLED, number), off
            if proof > SAFE:
                return _End(at, np.inf, Status.INFEASIBLE, number)
            if off <= 1 or since > PATIENCE or not np.isfinite(off):
                break
            try:
                at = chain.step(at)
            except np.linalg.LinAlgError:
                break
    return replace(best, status=Status.SOLVED) if merit <= LOOSE else best


def _distance(chain: Chain, at: Point, size: Array) -> tuple[float, float, float]:
    """How far a point is from a solution over what is allowed, by how much it refutes that there is one, and the
    bound."""
    rows, link_rows = chain.residuals(at)
    bound, proof = chain_bound(chain.p, chain.links, at.multipliers, at.pull, at.x, chain.every)
    objective = chain.objective(at.x)
    gap = abs(objective - bound) / max(objective, SMALL * chain.greatest) / GAP
    lack = max(float((np.abs(rows) / size).max(initial=0.0)), float(np.abs(link_rows).max(initial=0.0))) / MET
    return max(gap, lack), proof, bound


class _Rows:
    """Programs with rows of length about 1, split where a power has a corner."""

    def __init__(self, given: Programs) -> None:
        self.given, self.split = given, Split(given)
        p = self.split.applied(given)
        self.n, self.greatest = p.A.shape[-1], float(p.weights.max(initial=0.0)) or 1.0
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

    def nearest(self, links: Links, missed: Array) -> _End:
        """What violates the conditions of some programs the least and, of all that does, is of the least objective."""
        found = _descended(self.opened(missed), links, self.greatest)
        return self.held(links, missed, found.at.x[:, self.n :])

    def held(self, links: Links, missed: Array, violation: Array) -> _End:
        """The least objective with violations that are those known."""
        return _descended(self.opened(missed, violation), links, self.greatest)

    def opened(self, missed: Array, violation: Array | None = None) -> Programs:
        """The programs, in some of which (k,) a variable for each equation makes up for the rest, and one for each cone
        widens it, at a price, or by what is known (k, e + c)."""
        p, (k, e), c = self.program, self.program.b.shape, self.program.h.shape[1]
        extra = np.zeros((*p.G.shape[:3], e + c))
        for j in range(c):
            extra[:, j, 0, e + j] = 1.0
        far, least = np.where(missed, np.inf, 0.0)[:, None] + np.zeros((k, e + c)), np.zeros((k, e + c))
        least[:, :e] = -np.inf
        lower, upper = np.maximum(-far, least), far
        if violation is not None:
            near = SPARE * self.size * missed[:, None]
            lower, upper = np.maximum(violation - near, least) * missed[:, None], (violation + near) * missed[:, None]
        price = DEAR * self.greatest * np.ones((k, e + c)) * (violation is None)
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

    def linked(self, found: _End, links: Links, missed: Array) -> Linked:
        """In the variables and units that were given."""
        p, e = self.given, self.given.b.shape[1]
        x = self.split.merged(found.at.x[:, : self.n])
        status = Status.INFEASIBLE if missed.any() else found.status
        return Linked(
            x=x,
            y=found.at.multipliers[:, :e] / self.rows,
            z=found.at.multipliers[:, e:].reshape(p.h.shape) / self.cones[..., None],
            pull=found.at.pull,
            residual=p.residual(x),
            objective=float(p.objective(x).sum() + links.objective(x).sum()),
            bound=np.inf if status == Status.INFEASIBLE else found.bound,
            status=status,
            steps=found.steps,
            lost=missed,
        )
