"""Programs that are coupled to the next one, as one sparse program, solved by Clarabel.

Squares are the quadratic part of the objective. Other powers w |x|^p become w t with (t, 1, x) in a power cone. Source
of the solver: P. J. Goulart, Y. Chen, Clarabel: an interior-point solver for conic programs with quadratic objectives,
arXiv:2405.12762.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from myoquat.analysis.recruitment.tolerances import SMALL_OBJECTIVE
from myoquat.core import Array, clarabel, frozen, scipy
from myoquat.joints.vectors import joined, vecmat

from .program import Programs, Status

TOLERANCE = 1e-12  # of the solver, for residuals and the gap
REDUCED_TOLERANCE = 1e-9  # accepted where rounding errors end progress
VIOLATION_WEIGHT = 1e8  # of the greatest weight: of squared violations of rows of length 1
VIOLATION_TOLERANCE = 1e-6  # of rows of length 1, and of b: greater residuals are violations
VIOLATION_MARGIN = 1e-6  # of b: violations may exceed the least ones by this
STATUSES = {"Solved": Status.SOLVED, "AlmostSolved": Status.SOLVED, "PrimalInfeasible": Status.INFEASIBLE,
            "AlmostPrimalInfeasible": Status.INFEASIBLE}  # fmt: skip


@frozen(eq=False)
class CouplingRows:
    """l rows d = before x[step, variable] + after x[step + 1, variable] - least.

    Rows are conditions d >= 0 if `weight` is infinite, and objectives weight d^2 otherwise. All fields are (l,).
    """

    step: Array
    variable: Array
    before: Array
    after: Array
    least: Array
    weight: Array

    @classmethod
    def none(cls) -> "CouplingRows":
        """No rows."""
        zero, whole = np.zeros(0), np.zeros(0, dtype=int)
        return cls(whole, whole, zero, zero, zero, zero)

    @classmethod
    def joined(cls, *parts: "CouplingRows") -> "CouplingRows":
        """All rows of several parts, in ascending order of their steps."""
        rows = {name: np.concatenate([getattr(part, name) for part in parts]) for name in cls.__dataclass_fields__}
        order = np.lexsort((rows["variable"], rows["step"]))
        return cls(**{name: values[order] for name, values in rows.items()})

    @property
    def hard(self) -> Array:
        """(l,) the rows that are conditions."""
        return np.isinf(self.weight)

    def values(self, x: Array) -> Array:
        """(l,) d at x (k, n)."""
        moved: Array = self.before * x[self.step, self.variable] + self.after * x[self.step + 1, self.variable]
        return moved - self.least

    def price(self, multipliers: Array, shape: tuple[int, int]) -> Array:
        """(k, n) the sum of the rows times multipliers (l,)."""
        place, (k, n) = self.step * shape[1] + self.variable, shape
        found = np.bincount(place, self.before * multipliers, k * n)
        found += np.bincount(place + n, self.after * multipliers, k * n)
        return found.reshape(shape)

    def shifted(self, centre: Array) -> "CouplingRows":
        """The rows of x - centre (k, n)."""
        return replace(self, least=-self.values(centre))

    def matrix(self, k: int, n: int) -> Any:
        """(l, k n) sparse."""
        l, place = np.arange(len(self.step)), self.step * n + self.variable
        at = np.tile(l, 2), np.concatenate([place, place + n])
        return scipy.sparse.csr_array((np.concatenate([self.before, self.after]), at), shape=(len(l), k * n))


@frozen(eq=False)
class CoupledSolution:
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
    others and has the least objective among these points.
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


def solve_coupled(programs: Programs, coupling: CouplingRows, lost: Array | None = None) -> CoupledSolution:
    """The solution of programs of which each is coupled to the next one; the objective is the sum.

    `lost` (k,): programs that are known to have no solution.
    """
    rows = _Rows(programs)
    known = np.zeros(len(programs.b), dtype=bool) if lost is None else lost
    if known.any():
        violation = _solved(rows.relaxed(known), coupling).x[:, rows.n :]
        found = _solved(rows.relaxed(known, violation), coupling)
    else:
        found = _solved(rows.program, coupling)
    if found.status == Status.SOLVED or not (known.any() or found.status == Status.INFEASIBLE):
        return rows.result(found, coupling, known)
    violation = _solved(rows.relaxed(np.ones(len(known), dtype=bool)), coupling).x[:, rows.n :]
    missed = known | (np.abs(violation) > VIOLATION_TOLERANCE * rows.size).any(axis=-1)
    return rows.result(_solved(rows.relaxed(missed, violation), coupling), coupling, missed)


# ---- parts -------------------------------------------------------------------------------------------------


@frozen(eq=False)
class _End:
    """x (k, n), multipliers (k, e + c d) of equations and cones and (l,) of coupling rows."""

    x: Array
    multipliers: Array
    pull: Array
    status: Status
    steps: int


def _solved(p: Programs, coupling: CouplingRows) -> _End:
    """All programs as one, by Clarabel."""
    sparse, (k, e, n), hard = scipy.sparse, p.A.shape, coupling.hard
    size, most = k * n, float(p.weights.max(initial=0.0)) or 1.0
    w, powers = p.weights.ravel() / most, p.powers.ravel()
    C, weight = coupling.matrix(k, n), np.where(hard, 0.0, coupling.weight) / most
    curved = np.flatnonzero((powers != 2) & (w > 0))  # each of them has a variable t
    linear = powers[curved] == 1
    quadratic = sparse.diags_array(2 * np.where(powers == 2, w, 0.0)) + 2 * C.T @ sparse.diags_array(weight) @ C
    cost = np.concatenate([-2 * C.T @ (weight * coupling.least), w[curved]])

    X, T = sparse.eye_array(size, format="csr"), sparse.eye_array(len(curved), format="csr")
    lower, upper = p.lower.ravel(), p.upper.ravel()
    fixed = np.flatnonzero(lower == upper)
    low, high = (np.flatnonzero(np.isfinite(v) & (lower < upper)) for v in (lower, upper))
    in_cones = sparse.kron(X[curved[~linear]], [[0.0], [0.0], [-1.0]]), sparse.kron(T[~linear], [[-1.0], [0.0], [0.0]])
    parts = [
        (sparse.block_diag(list(p.A)), None), (X[fixed], None), (-X[low], None), (X[high], None), (-C[hard], None),
        (X[curved[linear]], -T[linear]), (-X[curved[linear]], -T[linear]),
        (-sparse.block_diag(list(p.G.reshape(k, -1, n))), None), in_cones,
    ]  # fmt: skip
    right = [p.b.ravel(), lower[fixed], -lower[low], upper[high], -coupling.least[hard], np.zeros(2 * linear.sum()),
             p.h.ravel(), np.tile([0.0, 1.0, 0.0], (~linear).sum())]  # fmt: skip
    counts = [part.shape[0] for part, _ in parts]
    cone_types = [clarabel.ZeroConeT(counts[0] + counts[1]), clarabel.NonnegativeConeT(sum(counts[2:7])),
                  *[clarabel.SecondOrderConeT(p.h.shape[2])] * (k * p.h.shape[1]),
                  *[clarabel.PowerConeT(1 / float(power)) for power in powers[curved[~linear]]]]  # fmt: skip
    full = sparse.block_diag([quadratic, sparse.csr_array((len(curved), len(curved)))])
    every = sparse.csc_matrix(sparse.block_array(parts))
    every.eliminate_zeros()  # those of `kron`, which delay the solver
    found = clarabel.DefaultSolver(
        sparse.csc_matrix(sparse.triu(full)), cost, every, np.concatenate(right), cone_types, _settings()
    ).solve()
    x = np.clip(np.array(found.x)[:size].reshape(k, n), p.lower, p.upper)
    z = np.split(most * np.array(found.z), np.cumsum(counts)[:-1])
    pull = np.where(hard, 0.0, -2 * most * weight * coupling.values(x))
    pull[hard] = z[4]
    multipliers = joined([-z[0].reshape(k, e), z[7].reshape(k, -1)])
    return _End(x, multipliers, pull, STATUSES.get(str(found.status), Status.UNSOLVED), found.iterations)


def _settings() -> Any:
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads = False, 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = TOLERANCE
    settings.reduced_tol_gap_abs = settings.reduced_tol_gap_rel = settings.reduced_tol_feas = REDUCED_TOLERANCE
    return settings


class _Rows:
    """Programs with rows of length about 1."""

    def __init__(self, given: Programs) -> None:
        self.given, self.n = given, given.A.shape[-1]
        self.max_weight = float(given.weights.max(initial=0.0)) or 1.0
        self.scale = given.row_scale()
        rows, cones = given.of_rows(self.scale)
        self.program = replace(
            given,
            A=given.A * rows[..., None],
            b=given.b * rows,
            G=given.G * cones[..., None],
            h=given.h * cones,
        )
        heights = np.abs(self.program.h).max(axis=-1, initial=1.0)
        self.size = joined([np.maximum(np.abs(self.program.b), 1.0), heights])

    def relaxed(self, missed: Array, violation: Array | None = None) -> Programs:
        """The programs with slack variables in some of them (k,): one for each equation, and one that widens each cone.
        They have a weight, or known values (k, e + c)."""
        (k, e), c = self.program.b.shape, self.program.h.shape[1]
        far, least = np.where(missed, np.inf, 0.0)[:, None] + np.zeros((k, e + c)), np.zeros((k, e + c))
        least[:, :e] = -np.inf
        lower, upper = np.maximum(-far, least), far
        if violation is not None:
            near = VIOLATION_MARGIN * self.size * missed[:, None]
            lower, upper = np.maximum(violation - near, least) * missed[:, None], (violation + near) * missed[:, None]
        weights = VIOLATION_WEIGHT * self.max_weight * np.ones((k, e + c)) * (violation is None)
        return self.program.with_slack(weights, lower, upper)

    def result(self, found: _End, coupling: CouplingRows, missed: Array) -> CoupledSolution:
        """In the original units, with the lower bound that the multipliers prove: the Lagrange dual."""
        p, x, multipliers = self.given, found.x[:, : self.n], found.multipliers * self.scale
        y, z = p.of_rows(multipliers)
        hard, d = coupling.hard, coupling.values(x)
        soft = np.where(hard, 0.0, coupling.weight)
        status, bound = Status.INFEASIBLE if missed.any() else found.status, np.inf
        if status != Status.INFEASIBLE:
            price = vecmat(multipliers, p.B) + coupling.price(found.pull, x.shape)
            give = np.where(soft > 0, found.pull**2 / np.where(soft > 0, 4 * soft, 1.0), 0.0)
            rows = found.pull @ coupling.least - give.sum()
            bound = float(p.certificates(x, multipliers, price)[0].sum() + rows)
        objective = float(p.objective(x).sum() + np.sum(np.where(hard, 0.0, soft * d**2)))
        if status == Status.UNSOLVED:  # the solver counts residuals of the gradient too, which the bound makes up for
            cone, equations = self.program.cone_values(x), self.program.residual(x)
            outside = np.linalg.norm(cone[..., 1:], axis=-1) - cone[..., 0]
            off = joined([np.abs(equations), outside]) / self.size
            lacks = off.max(initial=0.0), np.max(-d[hard], initial=0.0)
            gap = abs(objective - bound) / max(objective, SMALL_OBJECTIVE * self.max_weight)
            status = Status.SOLVED if max(*lacks, gap) <= REDUCED_TOLERANCE else status
        return CoupledSolution(
            x=x,
            y=y,
            z=z,
            pull=found.pull,
            residual=p.residual(x),
            objective=objective,
            bound=bound,
            status=status,
            steps=found.steps,
            lost=missed,
        )
