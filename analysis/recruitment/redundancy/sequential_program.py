"""Warm-started sequential quadratic programming, for frames with a known solution nearby.

The start is a solution of affine force models, or of the neighbouring frames. At activations a and reserves c the
forces are replaced by their tangents. The Lagrangian, with the curvature of the forces at the multipliers y, becomes a
weighted sum of squares about a point [J. Nocedal, S. J. Wright, Numerical Optimization, 2nd ed., 2006, section 18.1].

The sums of squares are solved by Newton's method on the multipliers of the equations. Given multipliers y determine the
cheapest x variable by variable: x_i = (a_i . y) / (2 w_i) within its bounds. Here a_i is the column of A, times a gain
of its own. The remaining equations A x(y) = b are e piecewise linear ones. Their matrix has the columns of the
variables off their bounds. Their residual is the gradient of the dual function, which is concave and rises along
Newton's direction [L. Qi, J. Sun, A nonsmooth version of Newton's method, Math. Program. 58, 1993; for least squares
within bounds W. Li, J. Swetits, A new algorithm for solving strictly convex quadratic programs, SIAM J. Optim. 7,
1997]. Once the right variables are at bounds, a step ends at the solution but for rounding.

All formulas run on leading axes. Those that `over_rows` calls are of some variables, with an axis (..., n) of these:
first activations, then reserves.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from myoquat.analysis.recruitment.convex import Solutions, Status, terms
from myoquat.analysis.recruitment.convex.interior_point import (
    ACCEPTABLE_FACTOR,
    UNKNOWN_DISTANCE,
    dot,
    evaluated,
    lower_triangle,
    solved,
    weighted,
)
from myoquat.analysis.recruitment.tolerances import NEWTON_GAP, PROGRAM_RESIDUAL, SMALL_OBJECTIVE
from myoquat.core import Array, frozen
from myoquat.joints.vectors import vector
from myoquat.kernels import while_loop
from myoquat.kernels.control_flow.table_loop import over_rows

from .equations import Demands, Effort, LawParameters

MAX_STEPS = 40
MAX_HALVINGS = 12  # of a step in the line search
GROUP_SIZE = 4  # variables that a kernel takes together
MAX_SLOPE_AHEAD = 0.1  # of the slope at the start of a step: the dual function may fall by this at its end


# ---- Newton's method on the dual function of sums of squares --------------------------------------------------


class Squares(NamedTuple):
    """Terms of the sums, and their equations: columns (..., n, e) of A, 1 / (2 w) of the squares, their bounds, and
    their gains."""

    columns: Array
    softness: Array
    bottom: Array
    top: Array
    gain: Array

    def cheapest(self, multipliers: Array) -> tuple[Array, Array]:
        """x, and 1 where x is not at a bound."""
        free = self.softness * (self.gain * dot(self.columns, multipliers))
        inside = (free >= self.bottom) & (free <= self.top)
        return np.minimum(np.maximum(free, self.bottom), self.top), np.where(inside, 1.0, 0.0)

    def values(self, multipliers: Array) -> Array:
        """(..., e) A x at multipliers, the sum over these variables."""
        return weighted(self.columns, self.gain * self.cheapest(multipliers)[0])


class Dual(NamedTuple):
    """Multipliers, the residual of the equations there, how far it is over the tolerance, and whether to go on."""

    multipliers: Array
    residual: Array
    off: Array
    running: Array

    @classmethod
    def of(cls, multipliers: Array, residual: Array, target: Array, before: Array) -> "Dual":
        """Whether the equations are met, or not met any better than `before` by going on."""
        off = np.max(np.abs(residual) / np.maximum(np.abs(target), 1.0), axis=-1)
        going = (off > PROGRAM_RESIDUAL) & ((off > ACCEPTABLE_FACTOR * PROGRAM_RESIDUAL) | (off < before / 2))
        return cls(multipliers, residual, off, going)


class Trial(NamedTuple):
    """The share of a step to try, what the share before gave, and whether the dual function falls there."""

    share: Array
    multipliers: Array
    residual: Array
    running: Array


def _newton_step(dual: Dual, given: tuple[Squares, Array]) -> Dual:
    """Newton's direction as far as the dual function rises."""
    squares, target = given
    _, matrix = over_rows(_bent, [squares], [dual.multipliers], group=GROUP_SIZE)
    change = solved(matrix, dual.residual)
    slope = np.sum(change * dual.residual, axis=-1)
    start = Trial(1.0 + 0.0 * slope, dual.multipliers, dual.residual, dual.running)
    end = while_loop(_is_running, _tried, start, (squares, target, dual.multipliers, change, slope),
                     max_steps=MAX_HALVINGS)  # fmt: skip
    return Dual.of(end.multipliers, end.residual, target, dual.off)


def _bent(squares: Squares, multipliers: Array) -> Any:
    """The sum of the lower triangle of A D^-1 A^T, D^-1 zero at bounds."""
    _, inside = squares.cheapest(multipliers)
    return (), lower_triangle(squares.columns, squares.softness * inside * squares.gain * squares.gain)


def _tried(trial: Trial, given: tuple[Squares, Array, Array, Array, Array]) -> Trial:
    """A smaller share next where the dual function falls there, by the slopes at both ends."""
    squares, target, multipliers, change, slope = given
    multipliers = multipliers + trial.share[..., None] * change
    residual = target - over_rows(lambda part, y: ((), part.values(y)), [squares], [multipliers], group=GROUP_SIZE)[1]
    there = np.sum(change * residual, axis=-1)
    bad = there < -MAX_SLOPE_AHEAD * slope
    part = np.clip(slope / np.where(bad, slope - there, 1.0), 0.1, 0.9)
    return Trial(np.where(bad, trial.share * part, trial.share), multipliers, residual, bad)


def _is_running(state: Any) -> Array:
    running: Array = state.running
    return running


# ---- sequential programming ------------------------------------------------------------------------------------

STEP_TOLERANCE = 2e-7  # of an activation: no further step where the next one is expected to be shorter
MAX_ITERATIONS = 60
MIN_CURVATURE = 0.05  # of the effort's curvature: least curvature of the Lagrangian in an activation
MIN_CURVATURE_ACTIVATION = 0.005  # activation or reserve at which the curvature of a power above 2 is taken


class Terms(NamedTuple):
    """Columns (..., n, e) of the equations and weights of the effort, the values that cost nothing, and bounds."""

    columns: Array
    weights: Array
    centres: Array
    lows: Array
    highs: Array


class Iterate(NamedTuple):
    """x and multipliers y, and what the equations lack there.

    forces      (..., n, 3) the force, 1 for a reserve, and its two derivatives
    last        the length of the last step, and `ahead` the expected one of the next
    done        whether no step is worth it
    """

    x: Array
    y: Array
    forces: Array
    lack: Array
    last: Array
    ahead: Array
    iterations: Array
    done: Array
    running: Array


@frozen
class SequentialProgram:
    """The formulas for m muscles with these laws, and reserves."""

    m: int
    power: float
    laws: LawParameters

    def solve(self, arms: Array, helps: Array, torque: Array, enough: Array, x: Array, y: Array, lengths: Array,
              speeds: Array, *more: Array) -> dict[str, Array]:  # fmt: skip
        """The last iterate, and its certificate.

        arms (..., m, e), helps (..., n - m, e)  what a unit of each variable gives
        torque (..., e), enough (...)            the demand, and its greatest allowed error
        x (..., n), y (..., e)                   the start
        lengths, speeds (..., m)                 of the paths
        more                                     `Terms` (..., n) behind the columns, and (..., size) the parameters
                                                 of the laws, if there are any
        """
        units = np.concatenate([arms, helps], axis=-2)
        total = over_rows(lambda row: ((), np.sum(row * row, axis=-2)), [units], group=GROUP_SIZE)[1]
        scale = 1.0 / np.sqrt(np.where(total > 0, total, 1.0))  # one over the length of every equation
        columns = over_rows(lambda row, by: (row * by[..., None, :], ()), [units], [scale], group=GROUP_SIZE)[0]
        given, p = Terms(columns, *more[:4]), more[4:]
        x, zero = np.minimum(np.maximum(x, given.lows), given.highs), 0.0 * torque[..., 0]
        nothing = vector([0.0 * x] * 3)
        start = Iterate(x, y / scale, nothing, torque, zero, zero + 1.0, zero, zero > 0, zero < 1)
        end = while_loop(_is_running, self._iterated, start, (given, scale * torque, scale, enough, lengths, speeds, p),
                         max_steps=MAX_ITERATIONS)  # fmt: skip
        _, (objective, floor) = over_rows(self._proved, [given, end.forces[..., 1], end.x], [end.y], group=GROUP_SIZE)
        floor = floor - np.sum(end.y * end.lack, axis=-1)
        return {"x": end.x, "price": end.y * scale, "forces": end.forces, "lack": end.lack / scale,
                "objective": objective, "floor": floor, "done": np.where(end.done, 1.0, 0.0),
                "iterations": end.iterations}  # fmt: skip

    def _iterated(self, at: Iterate, given: tuple[Any, ...]) -> Iterate:
        """A step where it is worth it: in the last iteration only where the torques are not met."""
        effort, torque, scale, enough, lengths, speeds, p = given
        rest = at.x[..., self.m :]
        muscles = self.laws.tensions(lengths, speeds, at.x[..., : self.m], *(p or [np.zeros(0)]))
        forces = np.concatenate([muscles, vector([rest, 1.0 + 0.0 * rest, 0.0 * rest])], axis=-2)
        (squares, pull), (reached, pulled, values) = over_rows(
            self._around, [effort, forces, at.x], [at.y], group=GROUP_SIZE
        )
        lack = reached - torque
        off = np.max(np.abs(lack / scale), axis=-1)
        going = (off > enough) | ((at.ahead > STEP_TOLERANCE) & (at.iterations < MAX_ITERATIONS - 1))
        target = pulled - lack
        start = Dual.of(at.y, target - values, target, 0.0 * off + UNKNOWN_DISTANCE)
        squares = Squares(effort.columns, *squares)
        dual = while_loop(_is_running, _newton_step, start, (squares, target), max_steps=MAX_STEPS, where=going)
        point = over_rows(lambda x, y: (x.cheapest(y)[0], ()), [squares], [dual.multipliers], group=GROUP_SIZE)[0]
        after = np.minimum(np.maximum(at.x + (point - pull), effort.lows), effort.highs)
        # the length of the next step is predicted by the ratio of the last two
        far = np.max(np.abs(after - at.x)[..., : self.m], axis=-1, initial=0.0)
        ratio = np.where(far < at.last, terms.ratio(far, at.last), 1.0)
        found = going & (dual.off <= ACCEPTABLE_FACTOR * PROGRAM_RESIDUAL)
        return Iterate(
            np.where(found[..., None], after, at.x),
            np.where(found[..., None], dual.multipliers, at.y),
            forces,
            lack,
            np.where(found, far, at.last),
            np.where(found, ratio * far, at.ahead),
            at.iterations + np.where(going, 1.0, 0.0),
            ~going,
            found,
        )

    def _around(self, effort: Terms, forces: Array, x: Array, y: Array) -> Any:
        """The squares about x without their columns, and how far it is from x to their middle; with equal bounds x
        stays. Sums: A F, A times that, and A times the cheapest at y."""
        (columns, weights, centres, lows, highs), (F, slope, bend) = effort, (forces[..., k] for k in range(3))
        away, price = x - centres, dot(columns, y)
        own = terms.curvature(weights, self.power, self._size(weights, slope * price, away))
        H = np.maximum(own - bend * price, MIN_CURVATURE * own)
        pull = np.where(lows < highs, terms.slope(weights, self.power, away) / H, 0.0)
        bottom, top = lows - x + pull, highs - x + pull
        kept = bottom < top
        squares = Squares(columns, 1.0 / H, *(np.where(kept, v, 0.0) for v in (bottom, top, slope)))
        sums = weighted(columns, F), weighted(columns, slope * pull), squares.values(y)
        return (tuple(squares)[1:], pull), sums

    def _proved(self, effort: Terms, slope: Array, x: Array, y: Array) -> Any:
        """Sums: the effort, and what the multipliers prove that it is not below, but for what the forces miss."""
        columns, weights, centres, lows, highs = effort
        away = x - centres
        low, high = terms.reach(away, lows - centres, highs - centres)
        price = slope * dot(columns, y)
        bound = price * away + terms.least(weights, self.power, price, low, high)
        return (), tuple(np.sum(v, axis=-1) for v in (terms.cost(weights, self.power, away), bound))

    def _size(self, w: Array, price: Array, away: Array) -> Array:
        """(..., n) at which curvatures are evaluated: |x|, or a greater value that the price leads to, and not too near
        zero, where high powers are flat."""
        p = self.power
        if p == 2:
            return np.abs(away)
        goal = terms.power_of(np.abs(price) / (w * p), 1.0 / (p - 1.0))
        return np.minimum(np.maximum(goal, np.maximum(np.abs(away), MIN_CURVATURE_ACTIVATION)), 1.0)


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
        self.centre = demands.with_reserves(demands.targets(effort), "target")
        self.low = demands.with_reserves(demands.low, "lower")
        self.high = demands.with_reserves(demands.high, "upper")
        self.enough = demands.allowed_residual

    def solved(self, x: Array, y: Array) -> tuple[Solutions, Array]:
        """The solutions from a start, and the forces there and their slopes (k, m, 2).

        The start has activations and reserves x (k, n) and multipliers y (k, e). A frame is UNSOLVED if there is no
        solution nearby. The bound is the one that y proves for the tangents of the forces: it says whether x is
        stationary.
        """
        demands, (k, n), e = self.demands, x.shape, y.shape[-1]
        shared = self.backend == "kernel" and not demands.helps.strides[0]
        given = {
            "arms": demands.arms, "helps": demands.helps[:1] if shared else demands.helps, "torque": demands.torque,
            "enough": self.enough, "x": x, "y": y, "lengths": demands.lengths, "speeds": demands.speeds,
            "weight": self.weights, "centre": self.centre, "low": self.low, "high": self.high,
        } | ({"p": demands.laws.p[None]} if demands.laws.p.size else {})  # fmt: skip
        formula = SequentialProgram(self.m, float(self.effort.power), demands.laws)
        key = (e, n, self.m, formula.power, demands.laws.key)
        found = evaluated("sequential_program", key, formula.solve, given, self.backend)
        objective, bound = found["objective"], found["floor"]
        size = np.maximum(objective, SMALL_OBJECTIVE * self.weights.max(axis=-1, initial=0.0))
        solved = (found["done"] > 0) & (np.abs(objective - bound) <= NEWTON_GAP * size)
        solved &= np.abs(found["lack"]).max(axis=-1, initial=0.0) <= self.enough
        status = np.where(solved, Status.SOLVED, Status.UNSOLVED)
        solutions = Solutions(found["x"], status, objective, bound, found["price"], np.zeros((k, 0, 3)),
                              found["lack"], found["iterations"].astype(int))  # fmt: skip
        return solutions, found["forces"][:, : self.m, :2]
