"""A primal-dual interior-point method with predictor and corrector, as formulas of what concerns a whole program.

The optimality conditions are linearized at a point. The products of multipliers and distances from the bounds and cones
are driven towards sigma mu. All but the multipliers of equations and cones are eliminated, which leaves one small
positive definite system. Sources: [M] S. Mehrotra, On the implementation of a primal-dual interior point method, SIAM
J. Optim. 2, 1992; [V] L. Vandenberghe, The CVXOPT linear and quadratic cone program solvers, 2010, for the cones.

The formulas run on leading axes. Sums over variables come from the tables of `columns`, (..., 1, w).

The interior-point method as one program of the kernels.

An iteration is a series of tables over the variables, with formulas between them; it repeats until every program is
solved. NumPy runs the same stages without compiling.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial, reduce
from typing import Any, NamedTuple

import numpy as np

from myoquat import kernels
from myoquat.analysis.recruitment.convex import cones
from myoquat.analysis.recruitment.convex.columns import (
    BestPoint,
    Columns,
    LinearizedConditions,
    PrimalDualState,
    ProgramConstants,
    ProgramSums,
    Shape,
    VariableChange,
    VariableConstants,
    from_columns,
    matrix_rows,
    over_groups,
    to_columns,
    width,
)
from myoquat.analysis.recruitment.convex.program import Programs, Status
from myoquat.analysis.recruitment.tolerances import PROGRAM_GAP, PROGRAM_RESIDUAL, SMALL_OBJECTIVE
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.dynamics.factor import Factors
from myoquat.joints.evaluation import kernel_for
from myoquat.kernels import Program

__all__ = [
    "ACCEPTABLE_FACTOR",
    "CAREFUL_TARGET",
    "GROUP_SIZE",
    "MIN_INFEASIBILITY_PROOF",
    "OUTPUTS",
    "UNKNOWN_DISTANCE",
    "Conditions",
    "Ends",
    "interior_point_program",
    "solved_side_by_side",
]

program_of, sums_of = partial(from_columns, ProgramConstants), partial(from_columns, ProgramSums)

ACCEPTABLE_FACTOR = 100.0  # times both tolerances: accepted where rounding errors end progress
MAX_STALLED_STEPS = 15  # neither the distance from a solution nor the mean product falls in them
MAX_STALLED_STEPS_IF_ACCEPTABLE = 4  # the distance alone does not fall in them and is within ACCEPTABLE_FACTOR
MIN_INFEASIBILITY_PROOF = 1e-9  # relative margin by which multipliers must prove that there is no solution
NEAR_BOUNDARY = 0.995  # part of the longest feasible step that is taken
MAX_RISE_OVER_MODEL = 0.5  # rise of the objective above its tangent along a step, over that of its curvature
UNKNOWN_DISTANCE = 1e299  # distance of a point from a solution where it is not finite


class Conditions:
    """The formulas for programs of one shape."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape

    def opened(self, target: Array, begun: Array, bounds: Array, max_weight: Array, balance: Array
               ) -> dict[str, Array]:  # fmt: skip
        """The initial records of a program: multipliers, s, `about`, and the counters. `begun` (..., 1, r) is B x at
        the start; s of each cone gets its length."""
        zero, d = 0.0 * max_weight, self.shape.d
        values = begun[..., 0, :] - target
        lengths = [np.sqrt(np.sum(v * v, axis=-1)) for v in self._of_rows(values)]
        e = cones.identity(d)
        s = [np.maximum(length, 1.0)[..., None] * e for length in lengths]
        z = [max_weight[..., None] * e for _ in lengths]
        begin = {
            "merit": 10 * UNKNOWN_DISTANCE,
            "least": UNKNOWN_DISTANCE,
            "since": 0.0,
            "waited": 0.0,
            "status": float(Status.UNSOLVED),
            "steps": 0.0,
            "number": 0.0,
        }
        number = bounds[..., 0, 0]
        return {
            **{name: zero + value for name, value in {**begin, "running": 1.0, "mu": 1.0, "best_bound": 0.0}.items()},
            "best_multipliers": 0.0 * target,
            "multipliers": np.concatenate([0.0 * target[..., : self.shape.e], *z], axis=-1),
            "s": np.concatenate(s, axis=-1) if s else zero[..., None],
            "about": to_columns(
                ProgramConstants(number + self.shape.c, number, max_weight, SMALL_OBJECTIVE * max_weight, balance)
            ),
        }

    def framed(self, multipliers: Array, s: Array) -> dict[str, Array]:
        """The scalings of the cones: their axes (..., c, d, d) and widths (..., c, d)."""
        scales = [cones.scaling(a, b) for a, b in zip(self._cones(s), self._of_rows(multipliers), strict=True)]
        return {
            "frames": np.stack([scale.V for scale in scales], axis=-3),
            "widths": np.stack([scale.values for scale in scales], axis=-2),
        }

    def measured(self, values: Array, balance: Array, target: Array, multipliers: Array, s: Array, about: Array
                 ) -> dict[str, Array]:  # fmt: skip
        """`off` (...), the distance of a point from a solution over the tolerance; `refuted`, 1 where the multipliers
        prove that there is none. The mean product mu; and the rows (..., r), B x - target."""
        products, _, objective, least, most, size = sums_of(balance[..., 0, :])
        rows, e = values[..., 0, :] - target, self.shape.e
        terms = multipliers * target
        fixed = np.sum(terms, axis=-1)
        gap = np.abs(objective - fixed - least) / np.maximum(objective, program_of(about).small) / PROGRAM_GAP
        size = size + np.sum(np.abs(terms), axis=-1)
        proof = (fixed - most) / np.where(size > 0, size, 1.0)
        lacks = [np.abs(rows[..., i]) / np.maximum(np.abs(target[..., i]), 1.0) for i in range(e)]
        if self.shape.c:
            cone = rows[..., e:]
            sizes = [np.abs(cone[..., i]) for i in range(cone.shape[-1])]
            greatest = np.maximum(reduce(np.maximum, sizes), 1.0)
            lacks += [np.abs(cone[..., i] - s[..., i]) / greatest for i in range(cone.shape[-1])]
        off = np.maximum(gap, reduce(np.maximum, lacks) / PROGRAM_RESIDUAL)
        for one, other in zip(self._cones(s), self._of_rows(multipliers), strict=True):
            products = products + np.sum(one * other, axis=-1)
        return {
            "off": np.where(off < UNKNOWN_DISTANCE, off, UNKNOWN_DISTANCE),
            "refuted": np.where(proof > MIN_INFEASIBILITY_PROOF, 1.0, 0.0),
            "bound": fixed + least,
            "mu_here": products / np.maximum(program_of(about).products, 1.0),
            "residual": rows,
        }

    def recorded(self, off: Array, refuted: Array, running: Array, bound: Array, mu_here: Array, multipliers: Array,
                 *records: Array) -> dict[str, Array]:  # fmt: skip
        """The best point of a program so far, and whether the iteration continues."""
        merit, least, since, waited, status, steps, number, best_bound, best = records
        better = running * np.where((off < merit) | (refuted > 0), 1.0, 0.0)
        merit = np.where(better > 0, off, merit)
        since = np.where(better > 0, 0.0, since + 1)
        waited = np.where((better > 0) | (mu_here < least), 0.0, waited + 1)
        not_stalled = (waited < MAX_STALLED_STEPS) & (
            (since < MAX_STALLED_STEPS_IF_ACCEPTABLE) | (merit > ACCEPTABLE_FACTOR)
        )
        go = (off > 1) & (off < UNKNOWN_DISTANCE) & not_stalled & (refuted < 1)
        return {
            "better": better,
            "merit_next": merit,
            "least_next": np.minimum(mu_here, least),
            "since_next": since,
            "waited_next": waited,
            "status_next": np.where(running * refuted > 0, float(Status.INFEASIBLE), status),
            "steps_next": np.where(running > 0, number, steps),
            "number_next": number + 1,
            "running_next": running * np.where(go, 1.0, 0.0),
            "best_bound_next": np.where(better > 0, bound, best_bound),
            "best_multipliers_next": np.where(better[..., None] > 0, multipliers, best),
        }

    def factored(self, matrix: Array, right: Array, residual: Array, multipliers: Array, s: Array, *scales: Array
                 ) -> dict[str, Array]:  # fmt: skip
        """The factors of the matrix, and the change of the multipliers in the predictor step, whose products are
        zero."""
        e, d, r = self.shape.e, self.shape.d, self.shape.rows
        widths = {i: scales[1][..., (i - e) // d, (i - e) % d] for i in range(e, r)}
        factors = Factors(matrix_rows(matrix[..., 0, :], r, {i: width * width for i, width in widths.items()}))
        cone = _Cones(self, multipliers, s, scales)
        pulls = [cone.pull(j, None) for j in range(self.shape.c)]
        rows = self._right(residual, right[..., 0, :], cone, pulls)
        return {**_kept(factors), "turned": _solved(factors, rows)}

    def corrected(self, found: dict[str, Array], multipliers: Array, s: Array, *scales: Array) -> dict[str, Array]:
        """The target product of the corrector step, and its change of the multipliers.

        `found` holds the results of the formulas above, and the sums of the table `predicted`.
        """
        cone = _Cones(self, multipliers, s, scales)
        ds, dz = self._changes(cone, found, found["turned"])
        share = self._longest(found["shrink"], cone, ds, dz, 1.0)
        about, balance = program_of(found["about"]), sums_of(found["balance"][..., 0, :])
        products = balance.products + share * (found["ahead"][..., 0, 0] + share * found["ahead"][..., 0, 1])
        for a, b, da, db in zip(cone.s, cone.z, ds, dz, strict=True):
            products = products + np.sum((a + share[..., None] * da) * (b + share[..., None] * db), axis=-1)
        count = np.maximum(about.products, 1.0)
        mu = np.where(about.products > 0, found["mu_here"], 1.0)  # programs without bounds have no products
        sigma = np.clip(products / count / mu, 0.0, 1.0) ** 3
        unbalanced = about.balance * balance.unbalanced / count
        aim = np.maximum(sigma * found["mu_here"], unbalanced)
        right = found["corrected"][..., 0, :] + aim[..., None] * found["per_aim"][..., 0, :]
        pulls = [cone.pull(j, aim, (ds[j], dz[j])) for j in range(self.shape.c)]
        rows = self._right(found["residual"], right, cone, pulls)
        return {"aim": aim, "second": _solved(_factors(found, self.shape.rows), rows)}

    def shared(self, found: dict[str, Array], multipliers: Array, s: Array, *scales: Array) -> dict[str, Array]:
        """The step length along the corrected direction, and the directions of multipliers and s."""
        cone = _Cones(self, multipliers, s, scales)
        ds, dz = self._changes(cone, found, found["second"])
        share = self._longest(found["shrink"], cone, ds, dz, NEAR_BOUNDARY)
        change = np.concatenate([found["second"][..., : self.shape.e], *dz], axis=-1)
        return {"share": share, "dmultipliers": change, "ds": np.concatenate(ds, axis=-1) if ds else 0.0 * s}

    def halved(self, bend: Array, about: Array, mu: Array, share: Array, running: Array) -> dict[str, Array]:
        """Half the step length where the objective rises far more than its curvature predicts; `bent`: where it
        does."""
        most = MAX_RISE_OVER_MODEL * share * share * bend[..., 0, 1] + mu * np.maximum(program_of(about).bounds, 1.0)
        bent = running * np.where(bend[..., 0, 0] > most, 1.0, 0.0)
        return {"share_next": np.where(bent > 0, share / 2, share), "bent_next": bent}

    # ---- parts -----------------------------------------------------------------------------------------------

    def _cones(self, rows: Array) -> list[Array]:
        """Rows (..., cd) cone by cone."""
        d = self.shape.d
        return [rows[..., j * d : (j + 1) * d] for j in range(self.shape.c)]

    def _of_rows(self, rows: Array) -> list[Array]:
        """Of rows (..., r) those of the cones, cone by cone."""
        return self._cones(rows[..., self.shape.e :])

    def _right(self, residual: Array, right: Array, cone: "_Cones", pulls: Sequence[Array]) -> list[Array]:
        rows = [-residual[..., i] - right[..., i] for i in range(self.shape.e)]
        for j, off in enumerate(self._off(residual, cone)):
            lack, first = cone.scales[j].along(pulls[j] - off), self.shape.e + j * self.shape.d
            rows += [lack[..., i] - right[..., first + i] for i in range(self.shape.d)]
        return rows

    def _off(self, residual: Array, cone: "_Cones") -> list[Array]:
        return [values - s for values, s in zip(self._of_rows(residual), cone.s, strict=True)]

    def _changes(self, cone: "_Cones", found: dict[str, Array], turned: Array) -> tuple[list[Array], list[Array]]:
        """The changes of s and of the multipliers of the cones; rows are along the axes of the scalings."""
        if not self.shape.c:
            return [], []
        moved, off = self._cones(found["shift"][..., 0, :]), self._off(found["residual"], cone)
        ds = [scale.back(m) + o for scale, m, o in zip(cone.scales, moved, off, strict=True)]
        dz = [scale.back(m) for scale, m in zip(cone.scales, self._of_rows(turned), strict=True)]
        return ds, dz

    def _longest(self, shrink: Array, cone: "_Cones", ds: Sequence[Array], dz: Sequence[Array], share: float) -> Array:
        """(...) the longest step, at most 1; `share` is the part of the way to the boundary that it may take."""
        limits = [-1.0 / np.minimum(shrink[..., 0], -share)]
        for at, change in zip([*cone.s, *cone.z], [*ds, *dz], strict=True):
            limits.append(np.minimum(cones.longest_step(at, change), 1.0 / share))
        result: Array = share * reduce(np.minimum, limits)
        return result


class _Cones:
    """s, z and scalings, cone by cone."""

    def __init__(self, owner: Conditions, multipliers: Array, s: Array, scales: Sequence[Array]) -> None:
        self.s, self.z = owner._cones(s), owner._of_rows(multipliers)
        c = range(owner.shape.c)
        self.scales = [cones.Scaling(scales[0][..., j, :, :], scales[1][..., j, :]) for j in c]
        self.middles = [scale.times(z) for scale, z in zip(self.scales, self.z, strict=True)]

    def pull(self, j: int, aim: Array | None, changes: tuple[Array, Array] | None = None) -> Array:
        """(..., d) W times the wanted change of W^-1 s + W z of a cone, for target products `aim` and tried changes of
        s and z."""
        scale, middle = self.scales[j], self.middles[j]
        wanted = -cones.product(middle, middle)
        if aim is not None:
            wanted = wanted + aim[..., None] * cones.identity(middle.shape[-1])
        if changes is not None:
            wanted = wanted - cones.product(scale.divides(changes[0]), scale.times(changes[1]))
        return scale.times(cones.divided(middle, wanted))


def _kept(factors: Factors) -> dict[str, Array]:
    """Factors as arrays: the entries below the diagonal of the factored matrix, their ratios, and the pivots."""
    below = [(i, j) for i in range(len(factors.pivots)) for j in range(i)]
    pairs = {
        "below": [factors.lower[i][j] for i, j in below],
        "ratios": [factors.ratios[i][j] for i, j in below],
        "pivots": factors.pivots,
    }
    zero = 0.0 * factors.pivots[0]
    return {name: np.stack([*entries, zero], axis=-1) for name, entries in pairs.items()}


def _factors(kept: dict[str, Array], r: int) -> Factors:
    """The factors from these arrays."""
    below, ratios = (
        [[kept[name][..., i * (i - 1) // 2 + j] for j in range(i)] for i in range(r)] for name in ("below", "ratios")
    )
    return Factors.of(below, ratios, [kept["pivots"][..., i] for i in range(r)])


def _solved(factors: Factors, rows: list[Array]) -> Array:
    return np.stack(np.broadcast_arrays(*factors.solve(rows), subok=True), axis=-1)


MAX_STEPS = 100
MAX_HALVINGS = 10  # of a step along which the objective bends too much
GROUP_SIZE = 2  # variables of one element of a table: sums are read and written once for them
OUTPUTS = ("best", "best_multipliers", "best_bound", "status", "merit", "steps")
_RECORDS = ("merit", "least", "since", "waited", "status", "steps", "number", "best_bound", "best_multipliers")


@lru_cache(maxsize=16)
def interior_point_program(shape: Shape) -> Program:
    """The interior-point iteration of one program, with these inputs and outputs.

    Inputs: A (e, n), G (cd, n), scale (r), target (r), b over -h, both scaled; lowers, uppers, weights, powers (n).
    Also the greatest weight (), and `by` (), the mean product that corresponds to residuals of gradients.

    Outputs: best (N, 2), x and price of the best point, N the variables up to a whole number of groups. Its
    multipliers, bound and merit; status, and steps.
    """
    return _Stages(shape).program


class _Stages:
    """Puts the program together."""

    def __init__(self, shape: Shape) -> None:
        cd, r, n = shape.c * shape.d, shape.rows, shape.n
        self.shape, self.columns, self.conditions = shape, Columns(shape), Conditions(shape)
        self.groups = np.arange(-(-n // GROUP_SIZE) * GROUP_SIZE).reshape(-1, GROUP_SIZE)
        self.fixed = width(VariableConstants, shape.power is None)
        inputs = {"A": (shape.e, n), "G": (cd, n), "scale": r, "target": r, "max_weight": (), "by": (),
                  **dict.fromkeys(("lowers", "uppers", "weights", "powers"), n)}  # fmt: skip
        self.program = Program("interior_point", inputs)
        self._table = partial(over_groups, self.program, self.groups)
        self.frames = ["frames"] if shape.c else []
        self.point = ["residual", "multipliers", "s", *(("frames", "widths") if shape.c else ())]
        self._start()
        with self.program.repeat(MAX_STEPS + 1, "running", {name: f"{name}_next" for name in ("running", *_RECORDS)}):
            self._linearize()
            after = {"multipliers": "multipliers_after", "s": "s_after", "mu": "mu_here"}
            with self.program.repeat(1, "running_next", after):
                self._step()

    def _start(self) -> None:
        shape, program, each = self.shape, self.program, np.arange(self.shape.n)
        gather = {}
        for name, rows in (("A", shape.e), ("G", shape.c * shape.d)):
            program.view(f"{name}_entries", name, (rows * shape.n,))
            gather[name.lower()] = (f"{name}_entries", each[:, None] + shape.n * np.arange(rows))
        gather |= {key: (f"{key}s", each) for key in ("lower", "upper", "weight", "power")}
        widths = {"columns": shape.rows, "fixed": self.fixed, "state": width(PrimalDualState)}
        sums = {"bounds": 1, "begun": shape.rows}
        program.table(
            self.columns.started,
            shape.n,
            gather=gather,
            shared=["scale", "max_weight"],
            store={key: (key, each) for key in widths},
            add={key: (key, 0 * each) for key in sums},
            buffers={key: (self.groups.size, width) for key, width in {**widths, "best": width(BestPoint)}.items()}
            | {key: (1, width) for key, width in sums.items()},
        )
        over = np.arange(shape.n, self.groups.size)  # variables that are there to fill the last group
        zero, one = np.zeros(()), np.ones(())
        power = one if shape.power is None else None
        fillers: dict[str, NamedTuple] = {
            "state": PrimalDualState(zero, np.ones(2), np.zeros(2)),
            "fixed": VariableConstants(zero, zero, zero, np.zeros(2), one, power),
        }
        for name, filler in fillers.items() if len(over) else ():
            program.table(
                partial(_added, to_columns(filler)), len(over), gather={"row": (name, over)},
                store={"output0": (name, over)},
            )  # fmt: skip
        program.formula(self.conditions.opened, ["target", "begun", "bounds", "max_weight", "by"])

    # ---- an iteration ---------------------------------------------------------------------------------------------

    def _linearize(self) -> None:
        """Measure the distance of the point from a solution, and linearize the conditions there."""
        program, conditions, r = self.program, self.conditions, self.shape.rows
        if self.shape.c:
            program.formula(conditions.framed, ["multipliers", "s"])
        sums = {"matrix": r * (r + 1) // 2, "values": r, "right": r, "balance": width(ProgramSums)}
        self._table(
            self.columns.prepared, ["columns", "fixed", "state"], ["multipliers", "about", "mu", *self.frames],
            new={"way": width(LinearizedConditions)}, sums=sums,
        )  # fmt: skip
        program.formula(conditions.measured, ["values", "balance", "target", "multipliers", "s", "about"])
        program.formula(
            conditions.recorded, ["off", "refuted", "running", "bound", "mu_here", "multipliers", *_RECORDS]
        )
        self._table(self.columns.noted, ["state", "way", "best"], ["better"], store={"output0": "best"})

    def _step(self) -> None:
        """Step to the next point: predictor, corrector, step length."""
        program, conditions, r = self.program, self.conditions, self.shape.rows
        program.formula(conditions.factored, ["matrix", "right", *self.point])
        given = ["columns", "fixed", "state", "way"]
        shift = {"shift": self.shape.c * self.shape.d} if self.shape.c else {}
        sums = {"ahead": 2, "corrected": r, "per_aim": r, **shift}
        self._table(
            self.columns.predicted, given, ["turned", *self.frames], new={"products": 2}, sums=sums, least="shrink"
        )
        self._of_names(
            conditions.corrected,
            ["below", "ratios", "pivots", "turned", "balance", "mu_here", "about", "shrink", *sums],
        )
        again = {name: f"{name}_again" for name in ("shrink", *shift)}
        self._table(
            self.columns.aimed, [*given, "products"], ["second", "aim", *self.frames],
            new={"change": width(VariableChange)}, sums=shift, least="shrink", names=again,
        )  # fmt: skip
        self._of_names(conditions.shared, ["second", *again.values()], {b: a for a, b in again.items()})
        self._limit_step()
        self._table(self.columns.moved, ["fixed", "state", "change"], ["share"], store={"output0": "state"})
        program.formula(_after, ["multipliers", "dmultipliers", "s", "ds", "share"])

    def _limit_step(self) -> None:
        """Halve the step length while the objective rises too far above its tangent; squares never do."""
        if self.shape.power in (1.0, 2.0):
            return
        self.program.formula(lambda running: {"bent": running}, ["running_next"])
        with self.program.repeat(MAX_HALVINGS, "bent", {"share": "share_next", "bent": "bent_next"}):
            self._table(
                self.columns.bent, ["fixed", "state", "change"], ["about", "mu_here", "share"], sums={"output0": 2},
                names={"output0": "bend"},
            )  # fmt: skip
            self.program.formula(self.conditions.halved, ["bend", "about", "mu_here", "share", "bent"])

    # ---- stages ----------------------------------------------------------------------------------------------

    def _of_names(
        self,
        formula: Callable[..., dict[str, Array]],
        reads: Sequence[str],
        names: Mapping[str, str] | None = None,
    ) -> None:
        """A formula that takes buffers by name, under other `names` for some, and what belongs to the point."""
        called = [(names or {}).get(key, key) for key in reads]

        def given(*arrays: Array) -> dict[str, Array]:
            found = dict(zip([*called, *self.point], arrays, strict=True))
            return formula(found, *arrays[len(reads) + 1 :])

        given.__name__ = formula.__name__
        self.program.formula(given, [*reads, *self.point])


def _added(columns: Array, row: Array) -> Array:
    result: Array = row + columns
    return result


def _after(multipliers: Array, dmultipliers: Array, s: Array, ds: Array, share: Array) -> dict[str, Array]:
    part = share[..., None]
    return {"multipliers_after": multipliers + part * dmultipliers, "s_after": s + part * ds}


FAST_TARGET, CAREFUL_TARGET = 0.1, 1.0  # least target product, over the residual of the gradients


@dataclass(frozen=True, eq=False)
class Ends:
    """x (k, n), multipliers (k, rows) of equations and cones and their price (k, n), the bound that they prove, status
    and steps (k,). A variable with equal bounds is fixed: its x is 0 and adds nothing."""

    x: Array
    multipliers: Array
    price: Array
    bound: Array
    status: Array
    steps: Array


def solved_side_by_side(
    programs: Programs, scale: Array, backend: str = "kernel", balance: float = FAST_TARGET
) -> Ends:
    """The best point of every program: a solution, or a proof that there is none, and the number of steps.

    scale    (k, rows) multiplies the rows of A and G; b and h are scaled already
    balance  least target product over the residual of the gradients; greater values make shorter steps along high
             powers
    """
    e, n = programs.A.shape[1:]
    shape = Shape(e, programs.h.shape[1], programs.h.shape[2], n, programs.power)
    if not shape.rows:  # each variable by itself is as small as its bounds allow
        x = np.where(programs.lower == programs.upper, 0.0, np.clip(0.0, programs.lower, programs.upper))
        k = len(x)
        return Ends(x, np.zeros((k, 0)), 0 * x, programs.objective(x), np.full(k, int(Status.SOLVED)), np.zeros(k, int))
    best, multipliers, bound, status, merit, steps = _solver(shape, backend)(
        {**_given(programs, scale), "by": np.array([balance])}
    )
    status = np.where((status == Status.UNSOLVED) & (merit <= ACCEPTABLE_FACTOR), Status.SOLVED, status.astype(int))
    return Ends(best[:, :n, 0], multipliers, best[:, :n, 1], bound, status, steps.astype(int))


# ---- parts -------------------------------------------------------------------------------------------------


def _solver(shape: Shape, backend: str) -> Any:
    """The function from the inputs of `interior_point_program`, by name, to its outputs."""
    if backend == "numpy":

        def run(given: dict[str, Array]) -> tuple[Array, ...]:
            with np.errstate(all="ignore"):  # of programs that are done and carried along
                return interior_point_program(shape).side_by_side(given, OUTPUTS)

        return run

    def build(content: str | None) -> kernels.Compiled:
        return kernels.compile_program(
            lambda: interior_point_program(shape), OUTPUTS, name="interior_point", content=content
        )

    kernel = kernel_for(("interior_point", shape), build)
    return lambda given: kernel(**given)


def _given(p: Programs, scale: Array) -> dict[str, Array]:
    """The inputs of `interior_point_program`; inputs that all programs share have one row."""
    k, _, n = p.A.shape
    rows = {"lowers": p.lower, "uppers": p.upper, "weights": p.weights, "powers": p.powers}
    rows = {name: values[:1] if k and values.strides[0] == 0 else values for name, values in rows.items()}
    max_weight = rows["weights"].max(axis=-1, initial=0.0)
    return {
        "A": p.A,
        "G": p.G.reshape(k, -1, n),
        "scale": scale,
        "target": np.concatenate([p.b, -p.h.reshape(k, -1)], axis=-1),
        "max_weight": np.where(max_weight > 0, max_weight, 1.0),
        **rows,
    }
