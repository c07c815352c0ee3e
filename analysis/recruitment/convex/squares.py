"""Weighted sums of squares without cones, by Newton's method on the multipliers of the equations.

Given multipliers y determine the cheapest x variable by variable: x_i = (a_i . y) / (2 w_i) within its bounds. Here a_i
is the column of A, times a gain of its own. The remaining equations A x(y) = b are e piecewise linear ones. Their
matrix has the columns of the variables off their bounds. Their residual is the gradient of the dual function, which is
concave and rises along Newton's direction [L. Qi, J. Sun, A nonsmooth version of Newton's method, Math. Program. 58,
1993; for least squares within bounds W. Li, J. Swetits, A new algorithm for solving strictly convex quadratic programs,
SIAM J. Optim. 7, 1997]. Once the right variables are at bounds, a step ends at the solution but for rounding.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from myoquat.analysis.recruitment.convex.columns import (
    Shape,
    WeightedSquares,
    from_columns,
    lower_triangle,
    matrix_rows,
    over_groups,
    to_columns,
)
from myoquat.analysis.recruitment.convex.interior_point import ACCEPTABLE_FACTOR, UNKNOWN_DISTANCE
from myoquat.analysis.recruitment.convex.program import Status
from myoquat.analysis.recruitment.tolerances import PROGRAM_RESIDUAL
from myoquat.core.typing import Array
from myoquat.dynamics.factor import Factors
from myoquat.kernels import Program

__all__ = ["cheapest", "fixed_row", "grouped", "newton_stages"]

MAX_STEPS = 40
MAX_HALVINGS = 12  # of a step in the line search
GROUP_SIZE = 4  # variables of one element of a table
MAX_SLOPE_AHEAD = 0.1  # of the slope at the start of a step: the dual function may fall by this at its end


def grouped(n: int) -> Array:
    """(g, GROUP_SIZE) the numbers of n variables in groups, up to a whole number of them."""
    return np.arange(-(-n // GROUP_SIZE) * GROUP_SIZE).reshape(-1, GROUP_SIZE)


def fixed_row(gain: Array, lower: Array, upper: Array, weight: Array) -> Array:
    """(..., 5) the columns of `Squares` of variables. With equal bounds one stays at zero."""
    kept = np.where(lower < upper, 1.0, 0.0)
    low, high = np.where(kept > 0, lower, 0.0), np.where(kept > 0, upper, 0.0)
    return to_columns(WeightedSquares(0.5 / weight, low, high, weight, gain * kept))


def newton_stages(program: Program, shape: Shape) -> None:
    """Add the stages of Newton's method to a program; they give the buffers `multipliers` (e) and `status` ().

    They read the buffers `columns` (N, e), `fixed` (N, 5), `target` and `start` (e), and `going` (). The last is zero
    where there is nothing to solve. UNSOLVED may mean that there is no solution.
    """
    e, groups = shape.e, grouped(shape.n)
    table = partial(over_groups, program, groups)
    rows = ["columns", "fixed"]

    def turned(matrix: Array, residual: Array, going: Array) -> dict[str, Array]:
        """How the multipliers are to change."""
        factors = Factors(matrix_rows(matrix[..., 0, :], e))
        change = np.stack(factors.solve([residual[..., i] for i in range(e)]), axis=-1) * going[..., None]
        return {"change": change, "slope": np.sum(change * residual, axis=-1), "share": going, "searching": going}

    program.formula(_opened, ["start", "going"])
    with program.repeat(MAX_STEPS, "running", {name: f"{name}_next" for name in ("running", "status", "before")}):
        # the equations at the multipliers; where they are not met, Newton's direction as far as the dual function rises
        table(_values, rows, ["multipliers"], sums={"values": e})
        program.formula(_judged, ["values", "target", "running", "status", "before"])
        with program.repeat(1, "running_next", {"multipliers": "multipliers_next"}):
            table(_bent, rows, ["multipliers"], sums={"matrix": e * (e + 1) // 2})
            program.formula(turned, ["matrix", "residual", "running_next"])
            with program.repeat(MAX_HALVINGS, "searching", {"share": "share_next", "searching": "searching_next"}):
                program.formula(_gone("tried"), ["multipliers", "change", "share"])
                table(
                    lambda columns, fixed, tried: _values(columns, fixed, tried),
                    rows,
                    ["tried"],
                    sums={"values": e},
                    names={"values": "values_tried"},
                )
                program.formula(_accepted, ["values_tried", "target", "change", "slope", "share", "searching"])
            program.formula(_gone("multipliers_next"), ["multipliers", "change", "share"])


def _opened(start: Array, going: Array) -> dict[str, Array]:
    zero = 0.0 * start[..., 0]
    return {"multipliers": start, "running": going, "before": UNKNOWN_DISTANCE + zero,
            "status": float(Status.UNSOLVED) + zero}  # fmt: skip


def _values(columns: Array, fixed: Array, multipliers: Array) -> dict[str, Array]:
    """A x at multipliers, summed over a group of variables."""
    _, x, _ = cheapest(columns, fixed, multipliers)
    gain = from_columns(WeightedSquares, fixed).gain
    return {"values": np.sum(columns * (gain * x)[..., None], axis=-2)}


def _judged(values: Array, target: Array, running: Array, status: Array, before: Array) -> dict[str, Array]:
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


def _bent(columns: Array, fixed: Array, multipliers: Array) -> dict[str, Array]:
    """The lower triangle of A D^-1 A^T, D^-1 zero at bounds, summed over a group of variables."""
    inside = cheapest(columns, fixed, multipliers)[2]
    own = from_columns(WeightedSquares, fixed)
    return {"matrix": lower_triangle(columns, own.softness * inside * own.gain * own.gain)}


def _gone(name: str) -> Callable[[Array, Array, Array], dict[str, Array]]:
    """The formula of multipliers a share of the way farther, under a name."""
    return lambda multipliers, change, share: {name: multipliers + share[..., None] * change}


def cheapest(columns: Array, fixed: Array, multipliers: Array) -> tuple[Array, Array, Array]:
    """Price, x and 1 where x is not at a bound, of a group of variables (..., g)."""
    softness, low, high, _, gain = from_columns(WeightedSquares, fixed)
    price = gain * np.sum(columns * multipliers[..., None, :], axis=-1)
    free = softness * price
    return price, np.minimum(np.maximum(free, low), high), np.where((free >= low) & (free <= high), 1.0, 0.0)


def _accepted(values: Array, target: Array, change: Array, slope: Array, share: Array, searching: Array
              ) -> dict[str, Array]:  # fmt: skip
    """A smaller share where the dual function falls there, by the slopes at both ends."""
    there = np.sum(change * (target - values[..., 0, :]), axis=-1)
    bad = searching * np.where(there < -MAX_SLOPE_AHEAD * slope, 1.0, 0.0)
    part = np.clip(slope / np.where(bad > 0, slope - there, 1.0), 0.1, 0.9)
    return {"share_next": np.where(bad > 0, share * part, share), "searching_next": bad}
