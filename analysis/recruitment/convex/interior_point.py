"""A primal-dual interior-point method with predictor and corrector, as one program of the kernels.

The optimality conditions are linearized at a point. The products of multipliers and distances from the bounds and cones
are driven towards sigma mu. All but the multipliers of equations and cones are eliminated, which leaves one small
positive definite system. Sources: [M] S. Mehrotra, On the implementation of a primal-dual interior point method, SIAM
J. Optim. 2, 1992; [V] L. Vandenberghe, The CVXOPT linear and quadratic cone program solvers, 2010, for the cones.

An iteration is a series of tables over the variables, those of `columns`, with formulas between them of what concerns
a whole program; it repeats until every program is solved. NumPy runs the same stages without compiling. Formulas run on
leading axes, and read the buffers that their parameters are named after. Sums over variables are (..., 1, w).
"""

from functools import lru_cache
from typing import Any

import numpy as np

from myoquat import kernels
from myoquat.analysis.recruitment.convex import cones
from myoquat.analysis.recruitment.tolerances import PROGRAM_GAP, PROGRAM_RESIDUAL, SMALL_OBJECTIVE
from myoquat.core import Array, frozen
from myoquat.dynamics.factor import Factors
from myoquat.joints.evaluation import kernel_for
from myoquat.joints.vectors import vector
from myoquat.kernels import Program

from .columns import Columns, Shape, VariableTables, matrix_rows
from .program import Programs, Status

ACCEPTABLE_FACTOR = 100.0  # times both tolerances: accepted where rounding errors end progress
MAX_STALLED_STEPS = 15  # neither the distance from a solution nor the mean product falls in them
MAX_STALLED_STEPS_IF_ACCEPTABLE = 4  # the distance alone does not fall in them and is within ACCEPTABLE_FACTOR
MIN_INFEASIBILITY_PROOF = 1e-9  # relative margin by which multipliers must prove that there is no solution
NEAR_BOUNDARY = 0.995  # part of the longest feasible step that is taken
MAX_RISE_OVER_MODEL = 0.5  # rise of the objective above its tangent along a step, over that of its curvature
UNKNOWN_DISTANCE = 1e299  # distance of a point from a solution where it is not finite


# What is known of a program in an iteration: the distance from a solution of the best point and its bound, the least
# mean product so far, steps since the best point and since it or the mean product fell, the status, and steps up to the
# end and up to this one.
KNOWN = (10 * UNKNOWN_DISTANCE, 0.0, UNKNOWN_DISTANCE, 0.0, 0.0, float(Status.UNSOLVED), 0.0, 0.0)


class Conditions:
    """The formulas for programs of one shape; rows (..., r) and s (..., cd) have the cones one after the other."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape

    def opened(self, target: Array, begun: Array, max_weight: Array) -> dict[str, Array]:
        """Multipliers, s, and what is `KNOWN` of a program at first. `begun` (..., 1, r) is B x at the start; s of each
        cone gets its length."""
        zero, cone = 0.0 * max_weight, self._cones(begun[..., 0, :] - target)
        unit = cones.identity(self.shape.d)
        s = np.maximum(np.sqrt(np.sum(cone * cone, axis=-1)), 1.0)[..., None] * unit
        z = max_weight[..., None, None] * unit + 0.0 * cone
        return {
            "running": 1.0 + zero,
            "means": np.ones(3) + zero[..., None],
            "known": np.array(KNOWN) + zero[..., None],
            "best_multipliers": 0.0 * target,
            "multipliers": np.concatenate([0.0 * target[..., : self.shape.e], self._flat(z)], axis=-1),
            "s": self._flat(s),
        }

    def framed(self, multipliers: Array, s: Array) -> dict[str, Array]:
        """The `scales` (..., c, d, d + 1) of the cones: their axes, and the widths along these."""
        scale = cones.scaling(self._split(s), self._cones(multipliers))
        return {"scales": np.concatenate([scale.V, scale.values[..., None]], axis=-1)}

    def measured(self, values: Array, sums: Array, bounds: Array, by: Array, target: Array, multipliers: Array,
                 s: Array, max_weight: Array) -> dict[str, Array]:  # fmt: skip
        """What is measured of a point.

        off      (...) its distance from a solution over the tolerance
        refuted  (...) 1 where the multipliers prove that there is none
        rows     (..., r) B x - target
        means    (..., 3) the mean product mu, what residuals of gradients count for beside it, the number of products
        """
        complementarity, unbalanced, objective, least, most, size = (sums[..., 0, k] for k in range(6))
        rows, e = values[..., 0, :] - target, self.shape.e
        number = bounds[..., 0, 0] + self.shape.c
        products = complementarity + np.sum(s * multipliers[..., e:], axis=-1)
        count = np.maximum(number, 1.0)
        terms = multipliers * target
        fixed = np.sum(terms, axis=-1)
        gap = np.abs(objective - fixed - least) / np.maximum(objective, SMALL_OBJECTIVE * max_weight) / PROGRAM_GAP
        size = size + np.sum(np.abs(terms), axis=-1)
        proof = (fixed - most) / np.where(size > 0, size, 1.0)
        greatest = np.max(np.abs(rows[..., e:]), axis=-1, initial=1.0)[..., None]
        lacks = [np.abs(rows[..., :e]) / np.maximum(np.abs(target[..., :e]), 1.0), np.abs(rows[..., e:] - s) / greatest]
        off = np.maximum(gap, np.max(np.concatenate(lacks, axis=-1), axis=-1) / PROGRAM_RESIDUAL)
        return {
            "off": np.where(off < UNKNOWN_DISTANCE, off, UNKNOWN_DISTANCE),
            "refuted": np.where(proof > MIN_INFEASIBILITY_PROOF, 1.0, 0.0),
            "proved": fixed + least,
            "residual": rows,
            "means_here": np.stack([products / count, by * unbalanced / count, number], axis=-1),
        }

    @staticmethod
    def judged(off: Array, refuted: Array, proved: Array, means_here: Array, running: Array, known: Array,
               multipliers: Array, best_multipliers: Array) -> dict[str, Array]:  # fmt: skip
        """Whether a point is `better` than all before, what is known with it, and whether the iteration continues."""
        merit, best_bound, lowest_mu, since, waited, status, steps, number = (known[..., k] for k in range(8))
        mu = means_here[..., 0]
        better = running * np.where((off < merit) | (refuted > 0), 1.0, 0.0)
        merit = np.where(better > 0, off, merit)
        since = np.where(better > 0, 0.0, since + 1)
        waited = np.where((better > 0) | (mu < lowest_mu), 0.0, waited + 1)
        not_stalled = (waited < MAX_STALLED_STEPS) & (
            (since < MAX_STALLED_STEPS_IF_ACCEPTABLE) | (merit > ACCEPTABLE_FACTOR)
        )
        go = (off > 1) & (off < UNKNOWN_DISTANCE) & not_stalled & (refuted < 1)
        best_bound = np.where(better > 0, proved, best_bound)
        status = np.where(running * refuted > 0, float(Status.INFEASIBLE), status)
        steps = np.where(running > 0, number, steps)
        after = [merit, best_bound, np.minimum(mu, lowest_mu), since, waited, status, steps, number + 1]
        return {
            "better": better,
            "running_next": running * np.where(go, 1.0, 0.0),
            "known_next": np.stack(after, axis=-1),
            "best_multipliers_next": np.where(better[..., None] > 0, multipliers, best_multipliers),
        }

    def aimless(self, matrix: Array, right: Array, residual: Array, multipliers: Array, s: Array, scales: Array
                ) -> dict[str, Array]:  # fmt: skip
        """The change of the multipliers in the predictor step, whose products are zero."""
        scale = _scaling(scales)
        middle = scale.times(self._cones(multipliers))
        return {"turned": self._solved(matrix, residual, right, s, scale, -cones.product(middle, middle), middle)}

    def targeted(self, shrink: Array, shift: Array, turned: Array, residual: Array, multipliers: Array, s: Array,
                 scales: Array, ahead: Array, sums: Array, means_here: Array) -> dict[str, Array]:  # fmt: skip
        """The changes of s and z in the predictor step, and the target product of the corrector step, by how far the
        predictor step can go."""
        mu, by_gradients, number = (means_here[..., k] for k in range(3))
        reach, ds, dz = self._step(shrink, shift, turned, residual, multipliers, s, scales, 1.0)
        part = reach[..., None, None]
        products = sums[..., 0, 0] + reach * (ahead[..., 0, 0] + reach * ahead[..., 0, 1])
        after = (self._split(s) + part * ds) * (self._cones(multipliers) + part * dz)
        products = products + np.sum(self._flat(after), axis=-1)
        mean = np.where(number > 0, mu, 1.0)  # programs without bounds have no products
        sigma = np.clip(products / np.maximum(number, 1.0) / mean, 0.0, 1.0) ** 3
        return {"aim": np.maximum(sigma * mu, by_gradients), "ds_tried": ds, "dz_tried": dz}

    def corrected(self, matrix: Array, aim: Array, ds_tried: Array, dz_tried: Array, corrected: Array, per_aim: Array,
                  residual: Array, multipliers: Array, s: Array, scales: Array) -> dict[str, Array]:  # fmt: skip
        """The change of the multipliers in the corrector step."""
        scale, part = _scaling(scales), aim[..., None, None]
        middle = scale.times(self._cones(multipliers))
        wanted = part * cones.identity(self.shape.d) - cones.product(middle, middle)
        wanted = wanted - cones.product(scale.divides(ds_tried), scale.times(dz_tried))
        right = corrected + part * per_aim
        return {"second": self._solved(matrix, residual, right, s, scale, wanted, middle)}

    def shared(self, shrink_again: Array, shift_again: Array, second: Array, residual: Array, multipliers: Array,
               s: Array, scales: Array) -> dict[str, Array]:  # fmt: skip
        """The step length along the corrected direction, and the directions of multipliers and s."""
        share, ds, dz = self._step(shrink_again, shift_again, second, residual, multipliers, s, scales, NEAR_BOUNDARY)
        change = np.concatenate([second[..., : self.shape.e], self._flat(dz)], axis=-1)
        return {"share": share, "dmultipliers": change, "ds": self._flat(ds)}

    @staticmethod
    def halved(bend: Array, bounds: Array, means_here: Array, share: Array, bent: Array) -> dict[str, Array]:
        """Half the step length where the objective rises far more than its curvature predicts; `bent`: where it
        does."""
        most = MAX_RISE_OVER_MODEL * share * share * bend[..., 0, 1]
        most = most + means_here[..., 0] * np.maximum(bounds[..., 0, 0], 1.0)
        bent = bent * np.where(bend[..., 0, 0] > most, 1.0, 0.0)
        return {"share_next": np.where(bent > 0, share / 2, share), "bent_next": bent}

    # ---- parts -----------------------------------------------------------------------------------------------

    def _split(self, flat: Array) -> Array:
        """(..., c, d) of (..., cd)."""
        return flat.reshape(*flat.shape[:-1], self.shape.c, self.shape.d)

    def _flat(self, rows: Array) -> Array:
        """(..., cd) of (..., c, d)."""
        return rows.reshape(*rows.shape[:-2], self.shape.c * self.shape.d)

    def _cones(self, rows: Array) -> Array:
        """(..., c, d) of rows (..., r) those of the cones."""
        return self._split(rows[..., self.shape.e :])

    def _solved(self, matrix: Array, residual: Array, right: Array, s: Array, scale: cones.Scaling, wanted: Array,
                middle: Array) -> Array:  # fmt: skip
        """(..., r) the change of the multipliers in which products of W^-1 s and W z of the cones, `middle` both,
        change by `wanted` (..., c, d)."""
        lack = scale.along(scale.times(cones.divided(middle, wanted)) - self._cones(residual) + self._split(s))
        rows = np.concatenate([-residual[..., : self.shape.e], self._flat(lack)], axis=-1) - right[..., 0, :]
        factors = Factors(matrix_rows(matrix[..., 0, :], self.shape.rows, self._flat(scale.values * scale.values)))
        found = factors.solve([rows[..., i] for i in range(self.shape.rows)])
        return vector(found)

    def _step(self, shrink: Array, shift: Array, turned: Array, residual: Array, multipliers: Array, s: Array,
              scales: Array, share: float) -> tuple[Array, Array, Array]:  # fmt: skip
        """The longest step (...), at most 1, and the changes (..., c, d) of s and of the cones' multipliers. `shift`
        and `turned` are along the axes of the scalings; `share` is the part of the way to the boundary that the step
        may take."""
        scale, at = _scaling(scales), self._split(s)
        ds = scale.back(self._split(shift[..., 0, :])) + self._cones(residual) - at
        dz = scale.back(self._cones(turned))
        both = (np.concatenate(pair, axis=-2) for pair in ([at, self._cones(multipliers)], [ds, dz]))
        cone = np.min(cones.longest_step(*both), axis=-1, initial=1.0 / share)
        return share * np.minimum(-1.0 / np.minimum(shrink[..., 0], -share), cone), ds, dz


def _scaling(scales: Array) -> cones.Scaling:
    return cones.Scaling(scales[..., :-1], scales[..., -1])


MAX_STEPS = 100
MAX_HALVINGS = 10  # of a step along which the objective bends too much
GROUP_SIZE = 2  # variables of one element of a table: sums are read and written once for them
OUTPUTS = ("best_x", "best_price", "best_multipliers", "known")


@lru_cache(maxsize=16)
def interior_point_program(shape: Shape) -> Program:
    """The interior-point iteration of one program, with these inputs and outputs.

    Inputs: A (e, n), G (cd, n), scale (r), target (r), b over -h, both scaled; lowers, uppers, weights, powers (n).
    Also the greatest weight (), and `by` (), the mean product that corresponds to residuals of gradients.

    Outputs: x and price (N) of the best point, N the variables up to a whole number of groups, its multipliers, and
    what is `KNOWN`.
    """
    n, r, cd = shape.n, shape.rows, shape.c * shape.d
    inputs = {"A": (shape.e, n), "G": (cd, n), "scale": r, "target": r, "max_weight": (), "by": (),
              **dict.fromkeys(("lowers", "uppers", "weights", "powers"), n)}  # fmt: skip
    program, columns, conditions = Program("interior_point", inputs), Columns(shape), Conditions(shape)
    tables = VariableTables(program, n, GROUP_SIZE)
    _start(program, columns, tables)
    program.formula(conditions.opened)
    carried = {name: f"{name}_next" for name in ("running", "known", "best_multipliers")}
    with program.repeat(MAX_STEPS + 1, "running", carried):
        # the distance of the point from a solution, and the conditions linearized there
        program.formula(conditions.framed)
        tables.over(columns.softened, new={"softness": ()})
        gradients = dict.fromkeys(("stationary", "pull", "price"), ())
        tables.over(columns.prepared, new=gradients, sums={"values": r, "sums": 6})
        tables.over(columns.squared, sums={"matrix": r * (r + 1) // 2, "right": r})
        program.formula(conditions.measured)
        program.formula(conditions.judged)
        tables.over(columns.noted, store=["best_x", "best_price"])
        after = {"multipliers": "multipliers_after", "s": "s_after", "means": "means_here"}
        with program.repeat(1, "running_next", after):  # predictor, corrector, step length
            program.formula(conditions.aimless)
            sums = {"ahead": 2, "corrected": r, "per_aim": r, "shift": cd}
            tables.over(columns.predicted, new={"products": (2,)}, sums=sums, least="shrink")
            program.formula(conditions.targeted)
            program.formula(conditions.corrected)
            step = {"dx": (), "dbound": (2,)}
            tables.over(columns.aimed, new=step, sums={"shift_again": cd}, least="shrink_again")
            program.formula(conditions.shared)
            if shape.power not in (1.0, 2.0):  # squares never rise too far above their tangents
                program.formula(lambda running_next: {"bent": running_next})
                with program.repeat(MAX_HALVINGS, "bent", {"share": "share_next", "bent": "bent_next"}):
                    tables.over(columns.bent, sums={"bend": 2})
                    program.formula(conditions.halved)
            tables.over(columns.moved, store=["x", "distance", "bound"])
            program.formula(_after)
    return program


def _start(program: Program, columns: Columns, tables: VariableTables) -> None:
    """The buffers of the variables, and of those that fill the last group."""
    shape, gather, n = columns.shape, {}, columns.shape.n
    each, over = np.arange(n), np.arange(n, tables.count)
    for name, rows in (("A", shape.e), ("G", shape.c * shape.d)):
        program.view(f"{name}_entries", name, (rows * n,))
        gather[name.lower()] = (f"{name}_entries", each[:, None] + n * np.arange(rows))
    gather |= {key: (f"{key}s", each) for key in ("lower", "upper", "weight", "power")}
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("weight", "low", "high", "root", "power", "x"), ())
    shapes |= {"columns": (shape.rows,), **dict.fromkeys(("has", "distance", "bound"), (2,))}
    best, sums = dict.fromkeys(("best_x", "best_price"), (tables.count,)), {"bounds": 1, "begun": shape.rows}
    program.table(
        columns.started,
        n,
        gather=gather,
        shared=["scale", "max_weight"],
        store={key: (key, each) for key in shapes},
        add={key: (key, 0 * each) for key in sums},
        buffers={key: (tables.count, *own) for key, own in shapes.items()}
        | best
        | {key: (1, width) for key, width in sums.items()},
    )
    tables.names |= {*shapes, *best}
    for name in ("distance", "root", "power") if len(over) else ():
        program.table(lambda row: row + 1.0, len(over), gather={"row": (name, over)}, store={"output0": (name, over)})


def _after(multipliers: Array, dmultipliers: Array, s: Array, ds: Array, share: Array) -> dict[str, Array]:
    part = share[..., None]
    return {"multipliers_after": multipliers + part * dmultipliers, "s_after": s + part * ds}


FAST_TARGET, CAREFUL_TARGET = 0.1, 1.0  # least target product, over the residual of the gradients


@frozen(eq=False)
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
    given = _given(programs, scale) | {"by": np.array([balance])}
    last = dict(zip(OUTPUTS, _solver(shape, backend)(given), strict=True))
    merit, bound, _, _, _, status, steps, _ = np.moveaxis(last["known"], -1, 0)
    is_near = (status == Status.UNSOLVED) & (merit <= ACCEPTABLE_FACTOR)
    status = np.where(is_near, Status.SOLVED, status.astype(int))
    x, price = last["best_x"][:, :n], last["best_price"][:, :n]
    return Ends(x, last["best_multipliers"], price, bound.copy(), status, steps.astype(int))


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
