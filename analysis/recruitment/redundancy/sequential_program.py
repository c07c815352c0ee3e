"""Warm-started sequential quadratic programming, for frames with a known solution nearby.

The start is a solution of affine force models, or of the neighbouring frames. At activations a and reserves c the
forces are replaced by their tangents. The Lagrangian, with the curvature of the forces at the multipliers y, becomes a
weighted sum of squares about a point [J. Nocedal, S. J. Wright, Numerical Optimization, 2nd ed., 2006, section 18.1].
All iterations are one program of the kernels, frames side by side in the lanes.

    x (N,)                activations, then reserves, then the fill of the last group of variables
    bent (N, 3)           the force, 1 for a reserve, and its two derivatives
    weights, centres (N,) in the effort, and the values that cost nothing
    lows, highs (N,)      bounds
    muscle (N,)           1 for a muscle
    softness, gain (N,)   1 / (2 w) of the weighted squares, and their gains
    bottom, top (N,)      their bounds
    pull (N,)             from x to the middle of its square

The sums of squares are solved by Newton's method on the multipliers of the equations. Given multipliers y determine the
cheapest x variable by variable: x_i = (a_i . y) / (2 w_i) within its bounds. Here a_i is the column of A, times a gain
of its own. The remaining equations A x(y) = b are e piecewise linear ones. Their matrix has the columns of the
variables off their bounds. Their residual is the gradient of the dual function, which is concave and rises along
Newton's direction [L. Qi, J. Sun, A nonsmooth version of Newton's method, Math. Program. 58, 1993; for least squares
within bounds W. Li, J. Swetits, A new algorithm for solving strictly convex quadratic programs, SIAM J. Optim. 7,
1997]. Once the right variables are at bounds, a step ends at the solution but for rounding.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from myoquat.analysis.recruitment.convex import Solutions, Status, terms
from myoquat.analysis.recruitment.convex.columns import Shape, VariableTables, lower_triangle, matrix_rows
from myoquat.analysis.recruitment.convex.interior_point import ACCEPTABLE_FACTOR, UNKNOWN_DISTANCE
from myoquat.analysis.recruitment.tolerances import NEWTON_GAP, PROGRAM_RESIDUAL, SMALL_OBJECTIVE, TORQUE_RESIDUAL
from myoquat.core import Array
from myoquat.dynamics.factor import Factors
from myoquat.joints.evaluation import kernel_for
from myoquat.kernels import Compiled, Program, compile_program

from .equations import Demands, Effort, LawParameters

MAX_STEPS = 40
MAX_HALVINGS = 12  # of a step in the line search
GROUP_SIZE = 4  # variables of one element of a table
MAX_SLOPE_AHEAD = 0.1  # of the slope at the start of a step: the dual function may fall by this at its end


def newton_stages(program: Program, tables: VariableTables, e: int) -> None:
    """Add the stages of Newton's method to a program; they give the buffers `multipliers` (e) and `status` ().

    They read the buffers `columns` (N, e), those of the squares, `target` and `start` (e), and `going` (). The last is
    zero where there is nothing to solve. UNSOLVED may mean that there is no solution.
    """

    def turned(matrix: Array, residual: Array, running_next: Array) -> dict[str, Array]:
        """How the multipliers are to change."""
        factors = Factors(matrix_rows(matrix[..., 0, :], e))
        change = np.stack(factors.solve([residual[..., i] for i in range(e)]), axis=-1) * running_next[..., None]
        return {
            "change": change,
            "slope": np.sum(change * residual, axis=-1),
            "share": running_next,
            "searching": running_next,
        }

    def moved(multipliers: Array, change: Array, share: Array) -> Array:
        return multipliers + share[..., None] * change

    program.formula(_opened)
    with program.repeat(MAX_STEPS, "running", {name: f"{name}_next" for name in ("running", "status", "before")}):
        # the equations at the multipliers; where they are not met, Newton's direction as far as the dual function rises
        tables.over(_values, sums={"values": e})
        program.formula(_dual_judged)
        with program.repeat(1, "running_next", {"multipliers": "multipliers_next"}):
            tables.over(_bent, sums={"matrix": e * (e + 1) // 2})
            program.formula(turned)
            with program.repeat(MAX_HALVINGS, "searching", {"share": "share_next", "searching": "searching_next"}):
                program.formula(moved, writes=["tried"])
                tables.over(_tried, sums={"values_tried": e})
                program.formula(_accepted)
            program.formula(moved, writes=["multipliers_next"])


def _opened(start: Array, going: Array) -> dict[str, Array]:
    zero = 0.0 * start[..., 0]
    return {"multipliers": start, "running": going, "before": UNKNOWN_DISTANCE + zero,
            "status": float(Status.UNSOLVED) + zero}  # fmt: skip


def _values(columns: Array, softness: Array, bottom: Array, top: Array, gain: Array, multipliers: Array
            ) -> dict[str, Array]:  # fmt: skip
    """A x at multipliers, summed over a group of variables."""
    x, _ = cheapest(columns, softness, bottom, top, gain, multipliers)
    return {"values": np.sum(columns * (gain * x)[..., None], axis=-2)}


def _tried(columns: Array, softness: Array, bottom: Array, top: Array, gain: Array, tried: Array) -> dict[str, Array]:
    return {"values_tried": _values(columns, softness, bottom, top, gain, tried)["values"]}


def _dual_judged(values: Array, target: Array, running: Array, status: Array, before: Array) -> dict[str, Array]:
    """Whether the equations are met, or not met any better by going on."""
    residual = target - values[..., 0, :]
    off = np.max(np.abs(residual) / np.maximum(np.abs(target), 1.0), axis=-1)
    going = (off > PROGRAM_RESIDUAL) & ((off > ACCEPTABLE_FACTOR * PROGRAM_RESIDUAL) | (off < before / 2))
    return {
        "residual": residual,
        "running_next": running * np.where(going, 1.0, 0.0),
        "status_next": np.where(off <= ACCEPTABLE_FACTOR * PROGRAM_RESIDUAL, float(Status.SOLVED), status),
        "before_next": off,
    }


def _bent(columns: Array, softness: Array, bottom: Array, top: Array, gain: Array, multipliers: Array
          ) -> dict[str, Array]:  # fmt: skip
    """The lower triangle of A D^-1 A^T, D^-1 zero at bounds, summed over a group of variables."""
    _, inside = cheapest(columns, softness, bottom, top, gain, multipliers)
    return {"matrix": lower_triangle(columns, softness * inside * gain * gain)}


def cheapest(columns: Array, softness: Array, bottom: Array, top: Array, gain: Array, multipliers: Array
             ) -> tuple[Array, Array]:  # fmt: skip
    """x, and 1 where x is not at a bound, of a group of variables (..., g)."""
    free = softness * (gain * np.sum(columns * multipliers[..., None, :], axis=-1))
    return np.minimum(np.maximum(free, bottom), top), np.where((free >= bottom) & (free <= top), 1.0, 0.0)


def _accepted(values_tried: Array, target: Array, change: Array, slope: Array, share: Array, searching: Array
              ) -> dict[str, Array]:  # fmt: skip
    """A smaller share where the dual function falls there, by the slopes at both ends."""
    there = np.sum(change * (target - values_tried[..., 0, :]), axis=-1)
    bad = searching * np.where(there < -MAX_SLOPE_AHEAD * slope, 1.0, 0.0)
    part = np.clip(slope / np.where(bad > 0, slope - there, 1.0), 0.1, 0.9)
    return {"share_next": np.where(bad > 0, share * part, share), "searching_next": bad}


STEP_TOLERANCE = 2e-7  # of an activation: no further step where the next one is expected to be shorter
MAX_ITERATIONS = 60
MIN_CURVATURE = 0.05  # of the effort's curvature: least curvature of the Lagrangian in an activation
MIN_CURVATURE_ACTIVATION = 0.005  # activation or reserve at which the curvature of a power above 2 is taken
EFFORT_INPUTS = ("weight", "centre", "low", "high")
EFFORT_TERMS = ("weights", "centres", "lows", "highs", "muscle")
OUTPUTS = ("x", "price", "bent", "lack", "objective", "floor", "done", "iterations")


def sequential_iterations(
    given: Mapping[str, Array], laws: LawParameters, power: float, backend: str
) -> dict[str, Array]:
    """The OUTPUTS by name for inputs (k, ...) or (1, ...) of `_Iterations`."""
    m, e = given["arms"].shape[1:]
    shape, size = Shape(e, 0, 3, m + given["helps"].shape[1], power), laws.p.shape[-1]
    inputs = {**given, "p": laws.p[None]} if size else dict(given)
    if backend == "numpy":
        with np.errstate(all="ignore"):  # of frames that are done and carried along
            found = _Iterations(shape, m, size, laws).program.side_by_side(inputs, OUTPUTS)
        return dict(zip(OUTPUTS, found, strict=True))

    def make() -> Program:
        return _Iterations(shape, m, size, laws).program

    def build(content: str | None) -> Compiled:
        return compile_program(make, OUTPUTS, name="sequential_program", content=content)

    kernel: Any = kernel_for(("sequential_program", shape, m, laws.key), build)
    return dict(zip(OUTPUTS, kernel(**inputs), strict=True))


class _Iterations:
    """Builds the program of e equations and n variables, of which m are muscles, with size parameters. Its inputs:

    arms (m, e), helps (n - m, e)  what a unit of each variable gives
    torque (e), enough ()          the demand, and its greatest allowed error
    x_start (n), y_start (e)       the start
    lengths, speeds (m)            of the paths
    weight, centre, low, high (n)  of the efforts
    p (size)                       parameters of the laws, if there are any
    """

    def __init__(self, shape: Shape, m: int, size: int, laws: LawParameters) -> None:
        self.shape, self.m, self.laws = shape, m, laws
        e, n = shape.e, shape.n
        inputs: dict[str, Any] = {"arms": (m, e), "helps": (n - m, e), "torque": e, "enough": ()}
        inputs |= {"x_start": n, "y_start": e, "lengths": m, "speeds": m, **dict.fromkeys(EFFORT_INPUTS, n)}
        inputs |= {"p": size} if size else {}
        self.parameters = ["p"] if size else []
        self.program = Program("sequential_program", inputs)
        self.tables = VariableTables(self.program, n, GROUP_SIZE)
        self._scaled()
        self._start()
        carry = {name: f"{name}_next" for name in ("x", "y", "wanted", "last", "ahead", "done", "iterations")}
        with self.program.repeat(MAX_ITERATIONS, "wanted", carry):
            self._iterate()
        self.tables.over(self._proved, sums={"objective_sum": 1, "floor_sum": 1})
        self.program.formula(_certified)

    def _scaled(self) -> None:
        """The buffers `scale` (e), one over the lengths of the equations, and `columns` (N, e), all that they take."""
        program, (e, n), m = self.program, (self.shape.e, self.shape.n), self.m
        parts = [(name, np.arange(len(rows)), rows) for name, rows in
                 (("arms", np.arange(m)), ("helps", np.arange(m, n))) if len(rows)]  # fmt: skip
        program.zeros({"squares": (1, e), "columns": (self.tables.count, e)})
        for name, each, _ in parts:
            program.table(lambda row: row * row, len(each), gather={"row": (name, each)},
                          add={"output0": ("squares", 0 * each)})  # fmt: skip
        program.formula(_scale)
        for name, each, rows in parts:
            program.table(lambda row, scale: row * scale, len(each), gather={"row": (name, each)}, shared=["scale"],
                          store={"output0": ("columns", rows)})  # fmt: skip

    def _start(self) -> None:
        """The effort's terms with those that fill the last group, where the iteration starts, and what is known of it.

        Known are the step of the last iteration, the next one that is expected, whether the end is reached, and how
        many iterations there were.
        """
        program, tables, extra = self.program, self.tables, self.tables.count - self.shape.n

        def filled(*given: Array) -> dict[str, Array]:
            found = [np.concatenate([v, (w + 0.0 * v[..., :1]) * np.ones(extra)], axis=-1)
                     for v, w in zip(given, (1.0, 0.0, 0.0, 0.0), strict=True)]  # fmt: skip
            muscle = found[0] * 0.0 + np.where(np.arange(tables.count) < self.m, 1.0, 0.0)
            return dict(zip(EFFORT_TERMS, [*found, muscle], strict=True))

        def begun(x_start: Array, y_start: Array, low: Array, high: Array, scale: Array) -> dict[str, Array]:
            x, zero = np.minimum(np.maximum(x_start, low), high), 0.0 * x_start[..., 0]
            known = {"last": zero, "ahead": 1.0 + zero, "done": zero, "iterations": zero}
            return {"x": np.concatenate([x, 0.0 * x[..., :1] * np.ones(extra)], axis=-1), "y": y_start / scale,
                    "wanted": 1.0 + zero, **known}  # fmt: skip

        program.formula(filled, list(EFFORT_INPUTS))
        program.formula(begun)
        tables.names |= {"columns", "x", "bent", *EFFORT_TERMS}

    def _iterate(self) -> None:
        program, e = self.program, self.shape.e
        program.formula(self._bent, ["lengths", "speeds", "x", *self.parameters])
        new = dict.fromkeys(("softness", "bottom", "top", "gain", "pull"), ())
        self.tables.over(self._around, new=new, sums={"given": e, "pulled": e})
        program.formula(_missing)
        program.formula(_judged)
        newton_stages(program, self.tables, e)
        self.tables.over(_pointed, new={"point": ()})
        self.tables.over(_gone, new={"moved": ()}, least="farthest")
        program.formula(_ahead)
        program.formula(_kept)

    def _bent(self, lengths: Array, speeds: Array, x: Array, p: Array | None = None) -> dict[str, Array]:
        F = self.laws.tensions(lengths, speeds, x[..., : self.m], np.zeros(0) if p is None else p)
        rest = x[..., self.m :]
        own = np.stack([rest, 1.0 + 0.0 * rest, 0.0 * rest], axis=-1)
        return {"bent": np.concatenate([F, own], axis=-2)}

    def _around(self, columns: Array, weights: Array, centres: Array, lows: Array, highs: Array, bent: Array, x: Array,
                y: Array) -> dict[str, Array]:  # fmt: skip
        """The squares about x, and how far it is from x to their middle; A F, and A times that. With equal bounds x
        stays."""
        power, (F, slope, bend) = float(self.shape.power or 2.0), (bent[..., k] for k in range(3))
        away = x - centres
        price = np.sum(columns * y[..., None, :], axis=-1)
        own = terms.curvature(weights, power, _size(weights, power, slope * price, away))
        H = np.maximum(own - bend * price, MIN_CURVATURE * own)
        pull = np.where(lows < highs, terms.slope(weights, power, away) / H, 0.0)
        bottom, top = lows - x + pull, highs - x + pull
        kept = np.where(bottom < top, 1.0, 0.0)
        return {
            "softness": 1.0 / H,
            "bottom": np.where(kept > 0, bottom, 0.0),
            "top": np.where(kept > 0, top, 0.0),
            "gain": slope * kept,
            "pull": pull,
            "given": np.sum(columns * F[..., None], axis=-2),
            "pulled": np.sum(columns * (slope * pull)[..., None], axis=-2),
        }

    def _proved(self, columns: Array, weights: Array, centres: Array, lows: Array, highs: Array, bent: Array, x: Array,
                y: Array) -> dict[str, Array]:  # fmt: skip
        """The effort, and what the multipliers prove that it is not below, but for what the forces miss."""
        power, away = float(self.shape.power or 2.0), x - centres
        low, high = terms.reach(away, lows - centres, highs - centres)
        price = bent[..., 1] * np.sum(columns * y[..., None, :], axis=-1)
        bound = price * away + terms.least(weights, power, price, low, high)
        sums = [np.sum(v, axis=-1)[..., None] for v in (terms.cost(weights, power, away), bound)]
        return {"objective_sum": sums[0], "floor_sum": sums[1]}


def _size(w: Array, p: float, price: Array, away: Array) -> Array:
    """(...) at which curvatures are evaluated: |x|, or a greater value that the price leads to, and not too near zero,
    where high powers are flat."""
    if p == 2:
        return np.abs(away)
    goal = terms.power_of(np.abs(price) / (w * p), 1.0 / (p - 1.0))
    return np.minimum(np.maximum(goal, np.maximum(np.abs(away), MIN_CURVATURE_ACTIVATION)), 1.0)


def _missing(given: Array, pulled: Array, torque: Array, scale: Array, y: Array) -> dict[str, Array]:
    """What is missing of the torques, and the target of a step."""
    off = given[..., 0, :] - scale * torque
    return {"lack": off / scale, "off": off, "target": pulled[..., 0, :] - off, "start": y}


def _judged(lack: Array, enough: Array, wanted: Array, ahead: Array, done: Array, iterations: Array
            ) -> dict[str, Array]:  # fmt: skip
    """Whether a step is worth it: in the last round only where the torques are not met."""
    goes = (np.max(np.abs(lack), axis=-1) > enough) | ((ahead > STEP_TOLERANCE) & (iterations < MAX_ITERATIONS - 1))
    going = wanted * np.where(goes, 1.0, 0.0)
    return {"going": going, "done_next": np.maximum(done, wanted - going), "iterations_next": iterations + going}


def _pointed(columns: Array, softness: Array, bottom: Array, top: Array, gain: Array, multipliers: Array
             ) -> dict[str, Array]:  # fmt: skip
    return {"point": cheapest(columns, softness, bottom, top, gain, multipliers)[0]}


def _gone(lows: Array, highs: Array, muscle: Array, x: Array, point: Array, pull: Array) -> dict[str, Array]:
    """x after the step, and less how far the farthest got."""
    after = np.minimum(np.maximum(x + (point - pull), lows), highs)
    far = -muscle * np.abs(after - x)
    least = far[..., 0]
    for k in range(1, far.shape[-1]):
        least = np.minimum(least, far[..., k])
    return {"moved": after, "farthest": least}


def _ahead(farthest: Array, status: Array, going: Array, last: Array, ahead: Array) -> dict[str, Array]:
    """The step, where there was one. The length of the next step is predicted by the ratio of the last two."""
    far, found = -farthest[..., 0], going * np.where(status == float(Status.SOLVED), 1.0, 0.0)
    share = np.where(far < last, far / np.where(last > 0, last, 1.0), 1.0)
    return {
        "wanted_next": found,
        "last_next": np.where(found > 0, far, last),
        "ahead_next": np.where(found > 0, share * far, ahead),
    }


def _kept(moved: Array, multipliers: Array, wanted_next: Array, x: Array, y: Array) -> dict[str, Array]:
    """What the next round starts from."""
    found = wanted_next[..., None] > 0
    return {"x_next": np.where(found, moved, x), "y_next": np.where(found, multipliers, y)}


def _scale(squares: Array) -> dict[str, Array]:
    """One over the length of every equation; 1 for one that nothing is in."""
    total = squares[..., 0, :]
    return {"scale": 1.0 / np.sqrt(np.where(total > 0, total, 1.0))}


def _certified(objective_sum: Array, floor_sum: Array, y: Array, off: Array, scale: Array) -> dict[str, Array]:
    """The effort, and what none is below where the forces are their tangents; the price of the equations as given."""
    floor = floor_sum[..., 0, 0] - np.sum(y * off, axis=-1)
    return {"objective": objective_sum[..., 0, 0], "floor": floor, "price": y * scale}


@dataclass
class SequentialProgramming:
    """The frames of `demands`; their effort has a positive curvature everywhere, and their joints have no cones."""

    demands: Demands
    effort: Effort
    backend: str

    @staticmethod
    def applies(demands: Demands, effort: Effort) -> bool:
        """Whether the effort is one of squares or higher powers of all activations and reserves, without cones, and
        some velocity is free."""
        weights = effort.of_muscles(demands.model.muscle_names)
        positive = weights.min(initial=1.0) > 0 and all(reserve.weight > 0 for reserve in demands.reserves)
        even = 2 <= effort.power < np.inf and effort.of == "activation" and positive
        return bool(even and demands.torque.shape[-1] and not demands.cones)

    def __post_init__(self) -> None:
        demands, effort = self.demands, self.effort
        self.m = demands.lengths.shape[1]
        self.weights = demands.all_weights(effort)
        self.centre = demands.with_reserves(demands.targets(effort), [0.0] * len(demands.reserves))
        self.low = demands.with_reserves(demands.low, [x.lower for x in demands.reserves])
        self.high = demands.with_reserves(demands.high, [x.upper for x in demands.reserves])
        self.enough = TORQUE_RESIDUAL * np.maximum(np.abs(demands.torque).max(axis=-1, initial=0.0), 1.0)

    def solved(self, x: Array, y: Array) -> tuple[Solutions, Array]:
        """The solutions from a start, and the forces there and their slopes (k, m, 2).

        The start has activations and reserves x (k, n) and multipliers y (k, e). A frame is UNSOLVED if there is no
        solution nearby. The bound is the one that y proves for the tangents of the forces: it says whether x is
        stationary.
        """
        demands, (k, n) = self.demands, x.shape
        shared = not demands.helps.strides[0]
        found = sequential_iterations(
            {"arms": demands.arms, "helps": demands.helps[:1] if shared else demands.helps, "torque": demands.torque,
             "enough": self.enough, "x_start": x, "y_start": y, "lengths": demands.lengths, "speeds": demands.speeds,
             "weight": self.weights, "centre": self.centre, "low": self.low, "high": self.high},
            demands.laws, self.effort.power, self.backend,
        )  # fmt: skip
        objective, bound = found["objective"], found["floor"]
        size = np.maximum(objective, SMALL_OBJECTIVE * self.weights.max(axis=-1, initial=0.0))
        solved = (found["done"] > 0) & (np.abs(objective - bound) <= NEWTON_GAP * size)
        solved &= np.abs(found["lack"]).max(axis=-1, initial=0.0) <= self.enough
        status = np.where(solved, Status.SOLVED, Status.UNSOLVED)
        solutions = Solutions(found["x"][:, :n], status, objective, bound, found["price"], np.zeros((k, 0, 3)),
                              found["lack"], found["iterations"].astype(int))  # fmt: skip
        return solutions, found["bent"][:, : self.m, :2]
