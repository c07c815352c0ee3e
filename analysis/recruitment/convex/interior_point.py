"""A primal-dual interior-point method with predictor and corrector, for many programs side by side.

The optimality conditions are linearized at a point. The products of multipliers and distances from the bounds and cones
are driven towards sigma mu. All but the multipliers of equations and cones are eliminated, which leaves one small
positive definite system. Sources: [M] S. Mehrotra, On the implementation of a primal-dual interior point method, SIAM
J. Optim. 2, 1992; [V] L. Vandenberghe, The CVXOPT linear and quadratic cone program solvers, 2010, for the cones.

All formulas run on leading axes. Those that `over_rows` calls are of some variables, with an axis (..., n) of these.
What belongs to a whole program has none; rows (..., r) have the equations, and then the cones one after the other.
"""

from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np

from myoquat.analysis.recruitment.convex import cones, terms
from myoquat.analysis.recruitment.tolerances import PROGRAM_GAP, PROGRAM_RESIDUAL, SMALL_OBJECTIVE
from myoquat.core import Array, frozen
from myoquat.dynamics.factor import Factors
from myoquat.joints.evaluation import compiled
from myoquat.joints.vectors import joined, vecmat, vector
from myoquat.kernels import while_loop
from myoquat.kernels.control_flow.table_loop import over_rows

from .program import Programs, Status, joined_rows

ACCEPTABLE_FACTOR = 100.0  # times both tolerances: accepted where rounding errors end progress
MAX_STALLED_STEPS = 15  # neither the distance from a solution nor the mean product falls in them
MAX_STALLED_STEPS_IF_ACCEPTABLE = 4  # the distance alone does not fall in them and is within ACCEPTABLE_FACTOR
MIN_INFEASIBILITY_PROOF = 1e-9  # relative margin by which multipliers must prove that there is no solution
NEAR_BOUNDARY = 0.995  # part of the longest feasible step that is taken
MAX_RISE_OVER_MODEL = 0.5  # rise of the objective above its tangent along a step, over that of its curvature
UNKNOWN_DISTANCE = 1e299  # distance of a point from a solution where it is not finite
DIAGONAL_REGULARIZATION = 1e-14  # relative, added to the diagonal of a matrix
PROXIMAL = 1e-9  # curvature, of the greatest weight, against which variables without one of their own move
TILE_ROWS = 4  # rows of a matrix that are summed together
MAX_STEPS = 100
MAX_HALVINGS = 10  # of a step along which the objective bends too much
GROUP_SIZE = 2  # variables that a kernel takes together
FAST_TARGET, CAREFUL_TARGET = 0.1, 1.0  # least target product, over the residual of the gradients


# ---- sums over variables, and the system of the multipliers ---------------------------------------------------


def dot(columns: Array, multipliers: Array) -> Array:
    """(..., n) B^T multipliers, for columns (..., n, r) of B."""
    return np.sum(columns * multipliers[..., None, :], axis=-1)


def weighted(columns: Array, x: Array) -> Array:
    """(..., r) B x."""
    return np.sum(columns * x[..., None], axis=-2)


def lower_triangle(columns: Array, softness: Array) -> Array:
    """(..., r (r + 1) / 2) of the sum of columns, times softness, times columns, in the order of `_triangle`."""
    soft = columns * softness[..., None]
    entries = [np.sum(soft[..., i] * columns[..., j], axis=-1) for i, j in _triangle(columns.shape[-1])]
    return vector(entries)


def _triangle(r: int) -> list[tuple[int, int]]:
    """The indices (i, j), j <= i, of the lower triangle of an (r, r) matrix. They go column by column within blocks of
    rows, so that factors stay in registers."""
    blocks = [range(first, min(first + TILE_ROWS, r)) for first in range(0, r, TILE_ROWS)]
    return [(i, j) for block in blocks for j in range(block.stop) for i in block if j <= i]


def solved(entries: Array, right: Array, more: Array | None = None) -> Array:
    """(..., r) the solution of a system with the matrix of these entries, in the order of `_triangle`, and `more`
    (..., k) at the end of its diagonal. Dependent rows get finite multipliers by a regularization."""
    r = right.shape[-1]
    where = {at: k for k, at in enumerate(_triangle(r))}
    rows = [[entries[..., where[i, j]] for j in range(i + 1)] for i in range(r)]
    for i, row in enumerate(rows):
        if more is not None and i >= r - more.shape[-1]:
            row[i] = row[i] + more[..., i - r]
        row[i] = np.where(row[i] > 0, row[i] * (1 + DIAGONAL_REGULARIZATION), 1.0)
    found: Array = vector(Factors(rows).solve([right[..., i] for i in range(r)]))
    return found


# ---- the iteration ---------------------------------------------------------------------------------------------


@frozen
class Shape:
    """e equations, c cones of d rows, n variables, all of one power, or None where they differ."""

    e: int
    c: int
    d: int
    n: int
    power: float | None = 2.0

    @property
    def rows(self) -> int:
        """All rows of B: A, and G cone by cone."""
        return self.e + self.c * self.d


class Variables(NamedTuple):
    """What does not change.

    columns (..., n, r)  rows of B^T
    weight, power        of the objective
    low, high, has       bounds, zero where there are none, and (..., n, 2) 1 where there is a lower and an upper one
    root                 a length below which numbers are small
    """

    columns: Array
    weight: Array
    power: Array
    low: Array
    high: Array
    has: Array
    root: Array


class Point(NamedTuple):
    """x, its distances (..., n, 2) from the bounds, their multipliers, those of equations and cones, and the values
    (..., c, d) s of the cones."""

    x: Array
    distance: Array
    bound: Array
    multipliers: Array
    s: Array


class Ends(NamedTuple):
    """x (k, n), multipliers (k, rows) of equations and cones and their price (k, n), the bound that they prove, status
    and steps (k,). A variable with equal bounds is fixed: its x is 0 and adds nothing."""

    x: Array
    multipliers: Array
    price: Array
    bound: Array
    status: Array
    steps: Array


class Iterate(NamedTuple):
    """A point, what is known of it, and the best so far.

    stationary  the residual of the gradient
    residual    the rows B x - target
    mu          the mean product
    aim         the mean product that corresponds to the residual of the gradient
    best        x, multipliers, their bound, status and steps of the best point
    off         how far that is from a solution, over the tolerance
    since       steps since it
    waited      steps since it, or since mu fell below all before, whose least is `lowest_mu`
    """

    point: Point
    stationary: Array
    residual: Array
    mu: Array
    aim: Array
    best: tuple[Array, ...]
    off: Array
    lowest_mu: Array
    since: Array
    waited: Array
    running: Array


class Problem(NamedTuple):
    """`Variables`, b over -h (..., r), the greatest weight, the number of bounds and cones, and the mean product that
    corresponds to residuals of gradients."""

    variables: Variables
    target: Array
    max_weight: Array
    products: Array
    balance: Array


@frozen
class InteriorPoint:
    """The formulas for programs of one shape."""

    shape: Shape

    def solve(self, A: Array, G: Array, scale: Array, target: Array, max_weight: Array, balance: Array, lower: Array,
              upper: Array, weight: Array, power: Array) -> dict[str, Array]:  # fmt: skip
        """The best point, and how far it is from a solution over the tolerance.

        A (..., e, n), G (..., cd, n), and scale (..., r), which multiplies their rows; target is b over -h, both
        scaled; the greatest weight (...), and `balance` of a `Problem`.
        """
        fill = -self.shape.n % GROUP_SIZE  # variables with equal bounds, so that all groups are of one size
        A, G, *rows = (
            joined([array, np.ones((*array.shape[:-1], fill))]) for array in (A, G, lower, upper, weight, power)
        )
        rows = [A.mT, G.mT, *rows]
        each, (begun, bounds) = over_rows(self._started, rows, [scale, max_weight], group=1)
        variables, x, distance, bound = each
        problem = Problem(variables, target, max_weight, bounds + self.shape.c, balance)
        cone, zero, unit = self._cones(begun - target), 0.0 * target[..., 0], cones.identity(self.shape.d)
        s = np.maximum(np.sqrt(np.sum(cone * cone, axis=-1)), 1.0)[..., None] * unit
        z = max_weight[..., None, None] * unit + 0.0 * cone
        point = Point(x, distance, bound, self._rows(0.0 * target[..., : self.shape.e], z), s)
        unknown, unsolved = zero + UNKNOWN_DISTANCE, zero + float(Status.UNSOLVED)
        best = x, target, zero, unsolved, zero - 1.0
        none = Iterate(point, x, target, zero, zero, best, 10 * unknown, unknown, zero, zero, zero < 1.0)
        start = self._judged(none, problem, point)
        end = while_loop(lambda at: at.running, self._stepped, start, problem, max_steps=MAX_STEPS)
        x, multipliers, proved, status, steps = end.best
        price = over_rows(
            lambda columns, y: (dot(columns, y), ()), [variables.columns], [multipliers], group=GROUP_SIZE
        )[0]
        x, price = (array[..., : self.shape.n] for array in (x, price))
        return {**Ends(x, multipliers, price, proved, status, steps)._asdict(), "off": end.off}

    def _stepped(self, at: Iterate, problem: Problem) -> Iterate:
        """The iterate after a step of predictor and corrector."""
        variables, (x, distance, bound, multipliers, s), residual = problem.variables, at.point, at.residual
        columns, weight, power, _, _, has, root = variables
        z, row_residual, e = self._cones(multipliers), self._cones(residual), self.shape.e
        scale = cones.scaling(s, z)
        middle = scale.times(z)
        square = cones.product(middle, middle)
        softness, (matrix, right) = over_rows(
            self._squared, [variables, x, distance, bound, at.stationary], [scale.V, problem.max_weight, at.mu],
            group=GROUP_SIZE,
        )  # fmt: skip

        def change(right: Array, wanted: Array) -> Array:
            """(..., r) of the multipliers, where products of W^-1 s and W z, `middle` both, change by `wanted`."""
            lack = scale.along(scale.times(cones.divided(middle, wanted)) - row_residual + s)
            return solved(matrix, self._rows(-residual[..., :e], lack) - right, self._flat(scale.values * scale.values))

        def step(ratio: Array, shift: Array, turned: Array, share: float) -> tuple[Array, Array, Array]:
            """The longest step (...), at most 1, and the changes of s and z. `shift` and `turned` are along the axes of
            the scaling; `share` is the part of the way to the boundary that the step may take."""
            ds = scale.back(self._split(shift)) + row_residual - s
            dz = scale.back(self._cones(turned))
            both = (np.concatenate(pair, axis=-2) for pair in ([s, z], [ds, dz]))
            cone = np.min(cones.longest_step(*both), axis=-1, initial=1.0 / share)
            return share * np.minimum(-1.0 / np.min(ratio, axis=-1, initial=-share), cone), ds, dz

        here = columns, has, distance, bound, softness, at.stationary
        # predictor: towards products of zero
        turned = change(right, -square)
        (products, ratio), (first, second, corrected, per_aim, shift) = over_rows(
            self._predicted, [here], [turned, scale.V], group=GROUP_SIZE
        )
        reach, ds, dz = step(ratio, shift, turned, 1.0)
        part, count = reach[..., None, None], np.maximum(problem.products, 1.0)
        after = np.sum((s + part * ds) * (z + part * dz), axis=(-2, -1)) - np.sum(s * z, axis=(-2, -1))
        after = at.mu * count + after + reach * (first + reach * second)
        mean = np.where(problem.products > 0, at.mu, 1.0)  # programs without bounds have no products
        sigma = np.clip(after / count / mean, 0.0, 1.0) ** 3
        # corrector: towards products of a mean
        aim = np.maximum(sigma * at.mu, at.aim)
        wanted = aim[..., None, None] * cones.identity(self.shape.d) - square
        wanted = wanted - cones.product(scale.divides(ds), scale.times(dz))
        turned = change(corrected + aim[..., None] * per_aim, wanted)
        (dx, dbound, ratio), shift = over_rows(
            self._corrected, [here, products], [turned, scale.V, aim], group=GROUP_SIZE
        )
        share, ds, dz = step(ratio, shift, turned, NEAR_BOUNDARY)
        if self.shape.power not in (1.0, 2.0):  # squares never rise too far above their tangents
            given = weight, power, root, x, dx, problem.max_weight, at.mu, problem.products
            share, _ = while_loop(
                lambda halved: halved[1], self._halved, (share, at.running), given, max_steps=MAX_HALVINGS
            )
        far, wide = share[..., None], share[..., None, None]
        moved = Point(
            x + far * dx,
            distance + wide * (has * _both(dx)),
            bound + wide * dbound,
            multipliers + far * self._rows(turned[..., :e], dz),
            s + wide * ds,
        )
        return self._judged(at, problem, moved)

    def _judged(self, before: Iterate, problem: Problem, point: Point) -> Iterate:
        """What is known with the next point."""
        x, distance, bound, multipliers, s = point
        e, target, s = self.shape.e, problem.target, self._flat(s)
        stationary, (values, complementarity, unbalanced, objective, least, most, size) = over_rows(
            self._measured, [problem.variables, x, distance, bound], [multipliers], group=GROUP_SIZE
        )
        residual, by_rows, count = values - target, multipliers * target, np.maximum(problem.products, 1.0)
        mu = (complementarity + np.sum(s * multipliers[..., e:], axis=-1)) / count
        fixed, size = np.sum(by_rows, axis=-1), size + np.sum(np.abs(by_rows), axis=-1)
        gap = np.abs(objective - fixed - least) / np.maximum(objective, SMALL_OBJECTIVE * problem.max_weight)
        refuted = terms.ratio(fixed - most, size) > MIN_INFEASIBILITY_PROOF
        greatest = np.max(np.abs(residual[..., e:]), axis=-1, initial=1.0)[..., None]
        lacks = [
            np.abs(residual[..., :e]) / np.maximum(np.abs(target[..., :e]), 1.0),
            np.abs(residual[..., e:] - s) / greatest,
        ]
        off = np.maximum(gap / PROGRAM_GAP, np.max(joined(lacks), axis=-1) / PROGRAM_RESIDUAL)
        off = np.where(off < UNKNOWN_DISTANCE, off, UNKNOWN_DISTANCE)
        better = (off < before.off) | refuted
        nearest = np.where(better, off, before.off)
        since = np.where(better, 0.0, before.since + 1)
        waited = np.where(better | (mu < before.lowest_mu), 0.0, before.waited + 1)
        goes = (since < MAX_STALLED_STEPS_IF_ACCEPTABLE) | (nearest > ACCEPTABLE_FACTOR)
        goes = goes & (waited < MAX_STALLED_STEPS) & (off > 1) & (off < UNKNOWN_DISTANCE) & ~refuted
        best_x, best_multipliers, proved, status, steps = before.best
        best = (
            np.where(better[..., None], x, best_x),
            np.where(better[..., None], multipliers, best_multipliers),
            np.where(better, fixed + least, proved),
            np.where(refuted, float(Status.INFEASIBLE), status),
            steps + 1,
        )
        aim, lowest = problem.balance * unbalanced / count, np.minimum(mu, before.lowest_mu)
        return Iterate(point, stationary, residual, mu, aim, best, nearest, lowest, since, waited, goes)

    # ---- formulas of variables -------------------------------------------------------------------------------

    def _started(self, a: Array, g: Array, lower: Array, upper: Array, weight: Array, power: Array, scale: Array,
                 max_weight: Array) -> Any:  # fmt: skip
        """`Variables`, x strictly within its bounds, distances, and multipliers of bounds; and the sums B x and the
        number of bounds. Columns of B are zero where equal bounds fix the variable."""
        low, high, kept = (np.where(c, 1.0, 0.0) for c in (lower > -np.inf, upper < np.inf, lower < upper))
        low, high, weight, most = low * kept, high * kept, weight * kept, max_weight[..., None]
        bottom, top = np.where(low > 0, lower, 0.0), np.where(high > 0, upper, 0.0)
        x = np.where(high > 0, np.where(low > 0, (bottom + top) / 2, top - 1), low * (bottom + 1))
        distances = (np.where(low > 0, x - bottom, 1.0), np.where(high > 0, top - x, 1.0))
        p = self._power(power)
        if isinstance(p, float) and p == 2:
            root = 1.0 + 0.0 * x
        else:
            root = terms.power_of(np.where(weight > 0, weight, most), -1.0 / p)
        columns = joined([a, g]) * scale[..., None, :] * kept[..., None]
        has = vector([low, high])
        variables = Variables(columns, weight, power, bottom, top, has, root)
        each = variables, x, vector(distances), has * most[..., None]
        return each, (weighted(columns, x), np.sum(low + high, axis=-1))

    def _measured(self, v: Variables, x: Array, distance: Array, bound: Array, multipliers: Array) -> Any:
        """The residual of the gradient. Sums over the variables:

        - the rows B x
        - products of the bounds' multipliers and distances
        - residuals of gradients
        - the objective, and its least at this price
        - the greatest price times x, and its size
        """
        p, price = self._power(v.power), dot(v.columns, multipliers)
        stationary = terms.slope(v.weight, p, x) - price - bound[..., 0] + bound[..., 1]
        lower, upper = v.has[..., 0] > 0, v.has[..., 1] > 0
        span = np.minimum(distance[..., 0] + 1 - v.has[..., 0], distance[..., 1] + 1 - v.has[..., 1])
        low, high = terms.reach(x, np.where(lower, v.low, -np.inf), np.where(upper, v.high, np.inf))
        most = terms.most(price, low, high, lower & upper)
        measures = [
            distance[..., 0] * bound[..., 0] + distance[..., 1] * bound[..., 1],
            np.abs(stationary) * span,
            terms.cost(v.weight, p, x),
            terms.least(v.weight, p, price, low, high),
            most,
            np.abs(most),
        ]
        return stationary, (weighted(v.columns, x), *(np.sum(part, axis=-1) for part in measures))

    def _squared(self, v: Variables, x: Array, distance: Array, bound: Array, stationary: Array, V: Array,
                 max_weight: Array, mu: Array) -> Any:  # fmt: skip
        """One over the curvature, that of the bounds included. Sums over the variables: the lower triangle of
        B D^-1 B^T, and the right side B D^-1 times the force on x."""
        stiff, turned = bound / distance, self._turned(v.columns, V)
        curvature = self._curvature(v.weight, self._power(v.power), v.root, x, max_weight, mu)
        softness = 1.0 / (curvature + stiff[..., 0] + stiff[..., 1])
        return softness, (lower_triangle(turned, softness), weighted(turned, softness * _pull(stationary, bound)))

    def _predicted(self, here: tuple[Array, ...], turned: Array, V: Array) -> Any:
        """Products (..., n, 2) of the changes of distances and multipliers of bounds, and what is gained in a full step
        over what is there, the least of both. Sums over the variables:

        - the changes of the products, in the first and in the second order
        - right sides of the corrector step without its aim, and for an aim of one
        - the changes of the cones' rows along the axes of their scalings
        """
        columns, has, distance, bound, softness, stationary = here
        rotated = self._turned(columns, V)
        dx = softness * (_pull(stationary, bound) + dot(rotated, turned))
        distance_change = _both(dx) * has
        multiplier_change = -has * (distance * bound + bound * _both(dx)) / distance
        products = _both(dx) * multiplier_change
        wanted, unit = (-distance * bound - products) / distance, has / distance
        corrected = softness * (-stationary + wanted[..., 0] - wanted[..., 1])
        per_aim = softness * (unit[..., 0] - unit[..., 1])
        first, second = distance * multiplier_change + bound * distance_change, distance_change * multiplier_change
        sums = [np.sum(part[..., 0] + part[..., 1], axis=-1) for part in (first, second)]
        return (products, _least_ratio(distance_change, distance, multiplier_change, bound)), (
            *sums, weighted(rotated, corrected), weighted(rotated, per_aim), self._shift(rotated, dx),
        )  # fmt: skip

    def _corrected(self, here: tuple[Array, ...], products: Array, turned: Array, V: Array, aim: Array) -> Any:
        """The changes of x and of the bounds' multipliers, the least ratio as above, and the sums of the changes of the
        cones' rows."""
        columns, has, distance, bound, softness, stationary = here
        wanted = aim[..., None, None] * has - distance * bound - products
        per_distance = wanted / distance
        rotated = self._turned(columns, V)
        g = -stationary + per_distance[..., 0] - per_distance[..., 1]
        dx = softness * (g + dot(rotated, turned))
        multiplier_change = has * (wanted - bound * _both(dx)) / distance
        ratio = _least_ratio(_both(dx) * has, distance, multiplier_change, bound)
        return (dx, multiplier_change, ratio), self._shift(rotated, dx)

    def _halved(self, state: tuple[Array, Array], given: Any) -> tuple[Array, Array]:
        """Half the step length where the objective rises far more than its curvature predicts, and where it does."""
        (share, _), (*variables, max_weight, mu, products) = state, given
        _, (rise, bend) = over_rows(self._rise, variables, [max_weight, mu, share], group=GROUP_SIZE)
        most = MAX_RISE_OVER_MODEL * share * share * bend + mu * np.maximum(products - self.shape.c, 1.0)
        bent = rise > most
        return np.where(bent, share / 2, share), bent

    def _rise(self, weight: Array, power: Array, root: Array, x: Array, dx: Array, max_weight: Array, mu: Array,
              share: Array) -> Any:  # fmt: skip
        """Sums over the variables: the rise of the objective above its tangent over a share of the step, and the rise
        that the curvature predicts for the whole step."""
        p, part = self._power(power), share[..., None] * dx
        rise = terms.cost(weight, p, x + part) - terms.cost(weight, p, x) - part * terms.slope(weight, p, x)
        bend = self._curvature(weight, p, root, x, max_weight, mu) * dx * dx
        return (), (np.sum(rise, axis=-1), np.sum(bend, axis=-1))

    # ---- parts -----------------------------------------------------------------------------------------------

    def _power(self, power: Array) -> Any:
        """The one power of all variables, or those of each."""
        return power if self.shape.power is None else float(self.shape.power)

    @staticmethod
    def _curvature(weight: Array, p: Any, root: Array, x: Array, max_weight: Array, mu: Array) -> Array:
        """(..., n) of the objective. For powers other than 2 each |x| is at least that at which its term is mu. Near
        zero the curvature of a high power vanishes, and that of a low one is infinite."""
        if isinstance(p, float) and p == 2:
            own: Array = 2 * weight
        else:
            one = isinstance(p, float)
            small = terms.power_of(mu, 1.0 / p)[..., None] if one else terms.power_of(mu[..., None], 1 / p)
            own = terms.curvature(weight, p, np.maximum(np.abs(x), small * root))
        return np.maximum(own, PROXIMAL * max_weight[..., None])

    def _turned(self, columns: Array, V: Array) -> Array:
        """(..., n, r) columns of B, the rows of each cone along the axes V of its scaling: there what it adds is
        diagonal."""
        cone = columns[..., self.shape.e :]
        turned = vecmat(cone.reshape(*cone.shape[:-1], *V.shape[-3:-1]), V[..., None, :, :, :]).reshape(cone.shape)
        return joined([columns[..., : self.shape.e], turned])

    def _shift(self, rotated: Array, dx: Array) -> Array:
        """(..., cd) the cones' rows of B dx, along the axes of their scalings."""
        return weighted(rotated[..., self.shape.e :], dx)

    def _split(self, flat: Array) -> Array:
        """(..., c, d) of (..., cd)."""
        return flat.reshape(*flat.shape[:-1], self.shape.c, self.shape.d)

    def _flat(self, rows: Array) -> Array:
        """(..., cd) of (..., c, d)."""
        return rows.reshape(*rows.shape[:-2], self.shape.c * self.shape.d)

    def _cones(self, rows: Array) -> Array:
        """(..., c, d) of rows (..., r) those of the cones."""
        return self._split(rows[..., self.shape.e :])

    def _rows(self, equations: Array, cone: Array) -> Array:
        """(..., r) of (..., e) and (..., c, d)."""
        return joined([equations, self._flat(cone)])


def _pull(stationary: Array, bound: Array) -> Array:
    """(..., n) the force on x towards products of zero."""
    return -stationary - bound[..., 0] + bound[..., 1]


def _both(x: Array) -> Array:
    """(..., n, 2) how the distances from the lower and the upper bounds change with x (..., n)."""
    return vector([x, -x])


def _least_ratio(distance_change: Array, distance: Array, multiplier_change: Array, bound: Array) -> Array:
    """(..., n) the least of what is gained in a full step over what is there."""
    ratios = np.minimum(distance_change / distance, terms.ratio(multiplier_change, bound))
    return np.minimum(ratios[..., 0], ratios[..., 1])


def evaluated(
    name: str, key: tuple[Hashable, ...], formula: Callable[..., Any], given: Mapping[str, Array], backend: str
) -> dict[str, Array]:
    """What a formula of arrays (k, ...) or (1, ...) returns by name, by its kernel, kept under the key, or in NumPy."""
    if backend == "numpy":
        with np.errstate(all="ignore"):  # of steps whose ends are not finite, and are not taken
            found: dict[str, Array] = formula(*given.values())
        return found
    sizes = {part: np.shape(values)[1:] for part, values in given.items()}
    kernel: Any = compiled((name, *key), formula, sizes, name=name)
    return dict(zip(kernel.outputs, kernel(**given), strict=True))


# ---- many programs -------------------------------------------------------------------------------------------


def solved_side_by_side(
    programs: Programs, scale: Array, backend: str = "kernel", balance: float = FAST_TARGET
) -> Ends:
    """The best point of every program: a solution, or a proof that there is none, and the number of steps.

    scale    (k, rows) multiplies the rows of A and G; b and h are scaled already
    balance  least target product over the residual of the gradients; greater values make shorter steps along high
             powers
    """
    p, (k, e, n), (c, d) = programs, programs.A.shape, programs.h.shape[1:]
    shape = Shape(e, c, d, n, p.power)
    if not shape.rows:  # each variable by itself is as small as its bounds allow
        x = np.where(p.lower == p.upper, 0.0, np.clip(0.0, p.lower, p.upper))
        return Ends(x, np.zeros((k, 0)), 0 * x, p.objective(x), np.full(k, int(Status.SOLVED)), np.zeros(k, int))
    rows = [p.lower, p.upper, p.weights, p.powers]
    rows = [values[:1] if k and values.strides[0] == 0 else values for values in rows]  # those that all share
    max_weight = rows[2].max(axis=-1, initial=0.0)
    names = ("lower", "upper", "weight", "power")
    given = {
        "A": p.A, "G": p.G.reshape(k, -1, n), "scale": scale, "target": joined_rows(p.b, -p.h),
        "max_weight": np.where(max_weight > 0, max_weight, 1.0), "balance": np.array([balance]),
    } | dict(zip(names, rows, strict=True))  # fmt: skip
    found = evaluated("interior_point", (shape,), InteriorPoint(shape).solve, given, backend)
    ends = Ends(*(np.array(found[name]) for name in Ends._fields))  # some share numbers
    is_near = (ends.status == Status.UNSOLVED) & (found["off"] <= ACCEPTABLE_FACTOR)
    status = np.where(is_near, Status.SOLVED, ends.status.astype(int))
    return ends._replace(status=status, steps=ends.steps.astype(int))
