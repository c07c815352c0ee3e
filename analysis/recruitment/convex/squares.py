"""Weighted sums of squares without cones, by Newton's method on the multipliers of the equations.

Given multipliers y determine the cheapest x variable by variable: x_i = (a_i . y) / (2 w_i) within its bounds. Here a_i
is the column of A, times a gain of its own. The remaining equations A x(y) = b are e piecewise linear ones. Their
matrix has the columns of the variables off their bounds. Their residual is the gradient of the dual function, which is
concave and rises along Newton's direction [L. Qi, J. Sun, A nonsmooth version of Newton's method, Math. Program. 58,
1993; for least squares within bounds W. Li, J. Swetits, A new algorithm for solving strictly convex quadratic programs,
SIAM J. Optim. 7, 1997]. Once the right variables are at bounds, a step ends at the solution but for rounding.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from myoquat.analysis.recruitment.convex.columns import (
    Shape,
    WeightedSquares,
    from_columns,
    to_columns,
    triangle,
    width,
)
from myoquat.analysis.recruitment.convex.interior_point import (
    ACCEPTABLE_FACTOR,
    DIAGONAL_REGULARIZATION,
    UNKNOWN_DISTANCE,
)
from myoquat.analysis.recruitment.convex.program import Status
from myoquat.analysis.recruitment.tolerances import PROGRAM_RESIDUAL
from myoquat.core.typing import Array
from myoquat.dynamics.factor import Factors
from myoquat.joints.evaluation import kernel_for
from myoquat.kernels import Compiled, Program, compile_program

__all__ = [
    "SQUARES_OUTPUTS",
    "cheapest",
    "fixed_row",
    "grouped",
    "newton_stages",
    "scaled_columns",
    "solved_squares",
    "squares",
]

MAX_STEPS = 40
MAX_HALVINGS = 12  # of a step in the line search
GROUP_SIZE = 4  # variables of one element of a table
MAX_SLOPE_AHEAD = 0.1  # of the slope at the start of a step: the dual function may fall by this at its end
VARIABLE_INPUTS = ("gains", "lowers", "uppers", "weights")
SQUARES_OUTPUTS = ("point", "multipliers", "bound", "status", "steps")


@lru_cache(maxsize=16)
def squares(shape: Shape) -> Program:
    """The program of weighted squares, with these inputs and outputs.

    Inputs: A (e, n), scale (e) of its rows, target (e), scaled; gains, lowers, uppers, weights (n); multipliers to
    start from (e).

    Outputs: point (N, 2), x and price, N the variables up to a whole number of groups. Multipliers (e) and the bound
    that they prove. Status, of which UNSOLVED may mean that there is no solution; steps.
    """
    e, n = shape.e, shape.n
    program = Program(
        "squares", {"A": (e, n), "scale": e, "target": e, "start": e, **dict.fromkeys(VARIABLE_INPUTS, n)}
    )
    scaled_columns(program, shape)
    each = np.arange(n)
    program.table(
        fixed_row,
        n,
        gather={name.removesuffix("s"): (name, each) for name in VARIABLE_INPUTS},
        store={"output0": ("fixed", each)},
        buffers={"fixed": (grouped(n).size, width(WeightedSquares))},
    )
    program.formula(lambda start: {"going": 1.0 + 0.0 * start[..., 0]}, ["start"])
    newton_stages(program, shape)
    return program


def grouped(n: int) -> Array:
    """(g, GROUP_SIZE) the numbers of n variables in groups, up to a whole number of them."""
    return np.arange(-(-n // GROUP_SIZE) * GROUP_SIZE).reshape(-1, GROUP_SIZE)


def scaled_columns(program: Program, shape: Shape) -> None:
    """From A (e, n) and scale (e) the buffer `columns` (N, e): rows of A^T, scaled."""
    each = np.arange(shape.n)
    program.view("A_entries", "A", (shape.e * shape.n,))
    program.table(
        lambda a, scale: {"columns": a * scale},
        shape.n,
        gather={"a": ("A_entries", each[:, None] + shape.n * np.arange(shape.e))},
        shared=["scale"],
        store={"columns": ("columns", each)},
        buffers={"columns": (grouped(shape.n).size, shape.e)},
    )


def fixed_row(gain: Array, lower: Array, upper: Array, weight: Array) -> Array:
    """(..., 5) the columns of `Squares` of variables. With equal bounds one stays at zero."""
    kept = np.where(lower < upper, 1.0, 0.0)
    low, high = np.where(kept > 0, lower, 0.0), np.where(kept > 0, upper, 0.0)
    return to_columns(WeightedSquares(0.5 / weight, low, high, weight, gain * kept))


def newton_stages(program: Program, shape: Shape) -> None:
    """Add the stages of Newton's method to a program, with the outputs SQUARES_OUTPUTS.

    They read the buffers `columns` (N, e), `fixed` (N, 5), `target` and `start` (e), and `going` (). The last is zero
    where there is nothing to solve.
    """
    _NewtonStages(program, shape).add()


class _NewtonStages:
    """Puts these stages together."""

    def __init__(self, program: Program, shape: Shape) -> None:
        self.program, self.shape, self.groups = program, shape, grouped(shape.n)

    def add(self) -> None:
        self.program.formula(_opened, ["start", "going"])
        carry = {name: f"{name}_next" for name in ("running", "steps", "status", "bound", "before")}
        with self.program.repeat(MAX_STEPS, "running", carry):
            self._step()
        self._table(_ended, ["multipliers"], store=True)

    def _step(self) -> None:
        """The equations at the multipliers; where they are not met Newton's way, and as much of it as the dual function
        rises along."""
        program, e = self.program, self.shape.e
        self._table(_looked, ["multipliers"], {"values": e, "least": 1})
        program.formula(_judged, ["values", "least", "target", "multipliers", "running", "status", "steps", "before"])
        with program.repeat(1, "running_next", {"multipliers": "multipliers_next"}):
            self._table(_bent, ["multipliers"], {"matrix": e * (e + 1) // 2})
            program.formula(self._turned, ["matrix", "residual", "running_next"])
            with program.repeat(MAX_HALVINGS, "searching", {"share": "share_next", "searching": "searching_next"}):
                program.formula(_gone("tried"), ["multipliers", "change", "share"])
                self._table(_tried, ["tried"], {"values_tried": e})
                program.formula(_accepted, ["values_tried", "target", "change", "slope", "share", "searching"])
            program.formula(_gone("multipliers_next"), ["multipliers", "change", "share"])

    def _turned(self, matrix: Array, residual: Array, going: Array) -> dict[str, Array]:
        """How the multipliers are to change."""
        e = self.shape.e
        place = {at: k for k, at in enumerate(triangle(e))}
        rows = [[matrix[..., 0, place[i, j]] for j in range(i + 1)] for i in range(e)]
        for i, row in enumerate(rows):
            row[i] = np.where(row[i] > 0, row[i] * (1 + DIAGONAL_REGULARIZATION), 1.0)
        change = np.stack(Factors(rows).solve([residual[..., i] for i in range(e)]), axis=-1) * going[..., None]
        return {"change": change, "slope": np.sum(change * residual, axis=-1), "share": going, "searching": going}

    def _table(
        self,
        formula: Callable[..., Array | dict[str, Array]],
        shared: Sequence[str],
        sums: Mapping[str, int] | None = None,
        *,
        store: bool = False,
    ) -> None:
        """A table over groups of variables. Its outputs are `sums` (1, w) over all of them, in the order of names, or
        are stored as the point."""
        sums, once = sums or {}, np.zeros(len(self.groups), dtype=int)
        buffers: dict[str, tuple[int, ...]] = {key: (1, width) for key, width in sums.items()}
        self.program.table(
            formula,
            len(self.groups),
            gather={"columns": ("columns", self.groups), "fixed": ("fixed", self.groups)},
            shared=shared,
            add={key.removesuffix("_tried"): (key, once) for key in sums},
            store={"point": ("point", self.groups)} if store else None,
            buffers=buffers | ({"point": (self.groups.size, 2)} if store else {}),
        )


def _opened(start: Array, going: Array) -> dict[str, Array]:
    zero = 0.0 * start[..., 0]
    return {"multipliers": start, "running": going, "steps": zero, "bound": zero, "before": UNKNOWN_DISTANCE + zero,
            "status": float(Status.UNSOLVED) + zero}  # fmt: skip


def _looked(columns: Array, fixed: Array, multipliers: Array) -> dict[str, Array]:
    """At multipliers, sums over the variables: A x, and the least of the objective at their price."""
    price, x, _ = cheapest(columns, fixed, multipliers)
    least = x * (x * from_columns(WeightedSquares, fixed).weight - price)
    return {"values": _values(columns, fixed, x), "least": np.sum(least, axis=-1)[..., None]}


def _judged(values: Array, least: Array, target: Array, multipliers: Array, *records: Array) -> dict[str, Array]:
    """Whether the equations are met, or not met any better by going on."""
    running, status, steps, before = records
    residual = target - values[..., 0, :]
    off = np.max(np.abs(residual) / np.maximum(np.abs(target), 1.0), axis=-1)
    going = running * np.where(
        (off > PROGRAM_RESIDUAL) & ((off > ACCEPTABLE_FACTOR * PROGRAM_RESIDUAL) | (off < before / 2)), 1.0, 0.0
    )
    return {
        "residual": residual,
        "running_next": going,
        "steps_next": steps + going,
        "status_next": np.where(off <= ACCEPTABLE_FACTOR * PROGRAM_RESIDUAL, float(Status.SOLVED), status),
        "before_next": off,
        "bound_next": np.sum(multipliers * target, axis=-1) + least[..., 0, 0],
    }


def _bent(columns: Array, fixed: Array, multipliers: Array) -> dict[str, Array]:
    """The lower triangle of A D^-1 A^T, D^-1 zero at bounds, summed over a group of variables."""
    inside = cheapest(columns, fixed, multipliers)[2]
    own = from_columns(WeightedSquares, fixed)
    soft = columns * (own.softness * inside * own.gain * own.gain)[..., None]
    entries = [np.sum(soft[..., i] * columns[..., j], axis=-1) for i, j in triangle(columns.shape[-1])]
    return {"matrix": np.stack(entries, axis=-1)}


def _gone(name: str) -> Callable[[Array, Array, Array], dict[str, Array]]:
    """The formula of multipliers a share of the way farther, under a name."""
    return lambda multipliers, change, share: {name: multipliers + share[..., None] * change}


def cheapest(columns: Array, fixed: Array, multipliers: Array) -> tuple[Array, Array, Array]:
    """Price, x and 1 where x is not at a bound, of a group of variables (..., g)."""
    softness, low, high, _, gain = from_columns(WeightedSquares, fixed)
    price = gain * np.sum(columns * multipliers[..., None, :], axis=-1)
    free = softness * price
    return price, np.minimum(np.maximum(free, low), high), np.where((free >= low) & (free <= high), 1.0, 0.0)


def _tried(columns: Array, fixed: Array, tried: Array) -> dict[str, Array]:
    _, x, _ = cheapest(columns, fixed, tried)
    return {"values": _values(columns, fixed, x)}


def _values(columns: Array, fixed: Array, x: Array) -> Array:
    """A x, summed over a group of variables."""
    result: Array = np.sum(columns * (from_columns(WeightedSquares, fixed).gain * x)[..., None], axis=-2)
    return result


def _ended(columns: Array, fixed: Array, multipliers: Array) -> dict[str, Array]:
    price, x, _ = cheapest(columns, fixed, multipliers)
    return {"point": np.stack([x, price], axis=-1)}


def _accepted(values: Array, target: Array, change: Array, slope: Array, share: Array, searching: Array
              ) -> dict[str, Array]:  # fmt: skip
    """A smaller share where the dual function falls there, by the slopes at both ends."""
    there = np.sum(change * (target - values[..., 0, :]), axis=-1)
    bad = searching * np.where(there < -MAX_SLOPE_AHEAD * slope, 1.0, 0.0)
    part = np.clip(slope / np.where(bad > 0, slope - there, 1.0), 0.1, 0.9)
    return {"share_next": np.where(bad > 0, share * part, share), "searching_next": bad}


def solved_squares(given: Mapping[str, Array], backend: str = "kernel") -> tuple[Array, ...]:
    """The SQUARES_OUTPUTS for inputs (k, ...) or (1, ...) of `squares`, all programs side by side."""
    _, e, n = given["A"].shape
    shape = Shape(e, 0, 3, n)
    if backend == "numpy":
        with np.errstate(all="ignore"):  # of programs that are done and carried along
            return squares(shape).side_by_side(given, SQUARES_OUTPUTS)

    def build(content: str | None) -> Compiled:
        return compile_program(lambda: squares(shape), SQUARES_OUTPUTS, name="squares", content=content)

    kernel: Any = kernel_for(("squares", shape), build)
    found: tuple[Array, ...] = kernel(**given)
    return found
