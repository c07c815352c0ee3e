"""The part of an interior-point step that runs over variables: groups of them, with their columns of B, are elements of
tables.

All formulas run on arrays (..., g, ...) of g variables, and read the buffers that their parameters are named after:

columns (..., g, r)      rows of B^T
weight, power            of the objective
low, high, has           bounds, zero where there are none, and (..., g, 2) 1 where there is a lower and an upper one
root                     a length below which numbers are small
x, distance, bound       the point, and (..., g, 2) its distances from the bounds and their multipliers
stationary, softness     the residual of the gradient, and one over the curvature
pull, price              the force on x, and B^T times the multipliers
dx, dbound               the changes of x, and of the multipliers of the bounds, in a step
best_x, best_price       x and the price at the best point so far

What belongs to a whole program has no axis of the variables: multipliers (..., r), scales (..., c, d, d + 1), means
(..., 3), aim and max_weight (...).
"""

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any

import numpy as np

from myoquat.analysis.recruitment.convex import terms
from myoquat.core import Array, frozen
from myoquat.joints.vectors import vecmat
from myoquat.kernels import Program

DIAGONAL_REGULARIZATION = 1e-14  # relative, added to the diagonal of a matrix
PROXIMAL = 1e-9  # curvature, of the greatest weight, against which variables without one of their own move
TILE_ROWS = 4  # rows of a matrix that are summed together


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


class Columns:
    """The formulas for programs of one shape."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape

    def started(self, a: Array, g: Array, scale: Array, lower: Array, upper: Array, weight: Array, power: Array,
                max_weight: Array) -> dict[str, Array]:  # fmt: skip
        """The constants and the starting point of one variable, strictly within its bounds; the column of B is that of
        A and G, scaled, or zero where equal bounds fix the variable. Also the number of its bounds, and what it adds to
        B x."""
        low, high, kept = (np.where(c, 1.0, 0.0) for c in (lower > -np.inf, upper < np.inf, lower < upper))
        low, high, weight = low * kept, high * kept, weight * kept
        bottom, top = np.where(low > 0, lower, 0.0), np.where(high > 0, upper, 0.0)
        x = np.where(high > 0, np.where(low > 0, (bottom + top) / 2, top - 1), low * (bottom + 1))
        distances = (np.where(low > 0, x - bottom, 1.0), np.where(high > 0, top - x, 1.0))
        p = self._power(power)
        if isinstance(p, float) and p == 2:
            root = 1.0 + 0.0 * x
        else:
            root = terms.power_of(np.where(weight > 0, weight, max_weight), -1.0 / p)
        column = np.concatenate([a, g], axis=-1) * scale * kept[..., None]
        return {
            "columns": column,
            "weight": weight,
            "low": bottom,
            "high": top,
            "has": np.stack([low, high], axis=-1),
            "root": root,
            "power": power,
            "x": x,
            "distance": np.stack(distances, axis=-1),
            "bound": np.stack([low * max_weight, high * max_weight], axis=-1),
            "bounds": np.stack([low + high], axis=-1),
            "begun": column * x[..., None],
        }

    def softened(self, weight: Array, root: Array, power: Array, x: Array, distance: Array, bound: Array,
                 max_weight: Array, means: Array) -> dict[str, Array]:  # fmt: skip
        """One over the curvature, that of the bounds included."""
        stiff = bound / distance
        curvature = self._curvature(weight, self._power(power), root, x, max_weight, means[..., 0])
        return {"softness": 1.0 / (curvature + stiff[..., 0] + stiff[..., 1])}

    def prepared(self, columns: Array, weight: Array, low: Array, high: Array, has: Array, power: Array, x: Array,
                 distance: Array, bound: Array, multipliers: Array) -> dict[str, Array]:  # fmt: skip
        """The conditions at a point, and sums over the variables: the rows B x, and measures of convergence.

        These are products of the bounds' multipliers and distances, residuals of gradients, the objective, its least
        at this price, the greatest price times x, and the size of that: `sums` (..., 6).
        """
        p, price = self._power(power), _dot(columns, multipliers)
        stationary = terms.slope(weight, p, x) - price - bound[..., 0] + bound[..., 1]
        span = np.minimum(distance[..., 0] + 1 - has[..., 0], distance[..., 1] + 1 - has[..., 1])
        low, high = terms.reach(x, np.where(has[..., 0] > 0, low, -np.inf), np.where(has[..., 1] > 0, high, np.inf))
        most = terms.most(price, low, high, has[..., 0] * has[..., 1] > 0)
        measures = [
            distance[..., 0] * bound[..., 0] + distance[..., 1] * bound[..., 1],
            np.abs(stationary) * span,
            terms.cost(weight, p, x),
            terms.least(weight, p, price, low, high),
            most,
            np.abs(most),
        ]
        return {
            "stationary": stationary,
            "pull": -stationary - bound[..., 0] + bound[..., 1],
            "price": price,
            "values": np.sum(columns * x[..., None], axis=-2),
            "sums": np.stack([np.sum(part, axis=-1) for part in measures], axis=-1),
        }

    def squared(self, columns: Array, softness: Array, pull: Array, scales: Array) -> dict[str, Array]:
        """The lower triangle of B D^-1 B^T, and the right side B D^-1 pull."""
        turned = self._turned(columns, scales)
        right = np.sum(turned * (softness * pull)[..., None], axis=-2)
        return {"matrix": lower_triangle(turned, softness), "right": right}

    def predicted(self, columns: Array, has: Array, distance: Array, bound: Array, stationary: Array, softness: Array,
                  pull: Array, turned: Array, scales: Array) -> dict[str, Array]:  # fmt: skip
        """The predictor step, towards products of zero.

        x and the bounds' multipliers change by dx and multiplier_change. `products` (..., g, 2) are those of the
        changes. `ahead` has sums of the changes of the products, in the first and in the second order. Further outputs:

        - right sides of the corrector step without its aim, and for an aim of one
        - `shift`, the changes of the cones' rows along the axes of their scalings
        - the least ratio
        """
        rotated = self._turned(columns, scales)
        dx = softness * (pull + _dot(rotated, turned))
        distance_change = _both(dx) * has
        multiplier_change = -has * (distance * bound + bound * _both(dx)) / distance
        products = _both(dx) * multiplier_change
        wanted = (-distance * bound - products) / distance
        unit = has / distance
        corrected = softness * (-stationary + wanted[..., 0] - wanted[..., 1])
        per_aim = softness * (unit[..., 0] - unit[..., 1])
        first, second = distance * multiplier_change + bound * distance_change, distance_change * multiplier_change
        sums = [np.sum(part[..., 0] + part[..., 1], axis=-1) for part in (first, second)]
        return {
            "products": products,
            "ahead": np.stack(sums, axis=-1),
            "corrected": np.sum(rotated * corrected[..., None], axis=-2),
            "per_aim": np.sum(rotated * per_aim[..., None], axis=-2),
            "shrink": _least_ratio(distance_change, distance, multiplier_change, bound),
            "shift": self._moved(rotated, dx),
        }

    def aimed(self, columns: Array, has: Array, distance: Array, bound: Array, stationary: Array, softness: Array,
              products: Array, second: Array, aim: Array, scales: Array) -> dict[str, Array]:  # fmt: skip
        """The corrector step towards products of `aim`: the changes of x and of the bounds' multipliers, the changes of
        the cones' rows, and the least ratio."""
        wanted = aim[..., None, None] * has - distance * bound - products
        per_distance = wanted / distance
        rotated = self._turned(columns, scales)
        g = -stationary + per_distance[..., 0] - per_distance[..., 1]
        dx = softness * (g + _dot(rotated, second))
        multiplier_change = has * (wanted - bound * _both(dx)) / distance
        return {
            "dx": dx,
            "dbound": multiplier_change,
            "shrink_again": _least_ratio(_both(dx) * has, distance, multiplier_change, bound),
            "shift_again": self._moved(rotated, dx),
        }

    @staticmethod
    def noted(x: Array, price: Array, best_x: Array, best_price: Array, better: Array) -> dict[str, Array]:
        """x and the price, where the point is the best so far."""
        chosen = better[..., None] > 0
        return {"best_x": np.where(chosen, x, best_x), "best_price": np.where(chosen, price, best_price)}

    @staticmethod
    def moved(has: Array, x: Array, distance: Array, bound: Array, dx: Array, dbound: Array, share: Array
              ) -> dict[str, Array]:  # fmt: skip
        """The point after a share of the way."""
        part = share[..., None, None]
        return {
            "x": x + share[..., None] * dx,
            "distance": distance + part * (has * _both(dx)),
            "bound": bound + part * dbound,
        }

    def bent(self, weight: Array, root: Array, power: Array, x: Array, dx: Array, max_weight: Array,
             means_here: Array, share: Array) -> dict[str, Array]:  # fmt: skip
        """(..., 2) the rise of the objective above its tangent over a share of the step, and the predicted rise.

        The prediction is that of the curvature for the whole step. Both are sums over the variables.
        """
        p, part = self._power(power), share[..., None] * dx
        rise = terms.cost(weight, p, x + part) - terms.cost(weight, p, x) - part * terms.slope(weight, p, x)
        bend = self._curvature(weight, p, root, x, max_weight, means_here[..., 0]) * dx * dx
        return {"bend": np.stack([np.sum(rise, axis=-1), np.sum(bend, axis=-1)], axis=-1)}

    # ---- parts -----------------------------------------------------------------------------------------------

    def _power(self, power: Array) -> Any:
        """The one power of all variables, or those of each."""
        return power if self.shape.power is None else float(self.shape.power)

    @staticmethod
    def _curvature(weight: Array, p: Any, root: Array, x: Array, max_weight: Array, mu: Array) -> Array:
        """(..., g) of the objective. For powers other than 2 each |x| is at least that at which its term is mu. Near
        zero the curvature of a high power vanishes, and that of a low one is infinite."""
        floor = PROXIMAL * max_weight[..., None]
        if isinstance(p, float) and p == 2:
            own: Array = 2 * weight
        else:
            one = isinstance(p, float)
            small = terms.power_of(mu, 1.0 / p)[..., None] if one else terms.power_of(mu[..., None], 1 / p)
            own = terms.curvature(weight, p, np.maximum(np.abs(x), small * root))
        return np.maximum(own, floor)

    def _turned(self, columns: Array, scales: Array) -> Array:
        """(..., g, r) columns of B, the rows of each cone along the axes of its scaling: there what it adds is
        diagonal."""
        e, c, d = self.shape.e, self.shape.c, self.shape.d
        cones = columns[..., e:].reshape(*columns.shape[:-1], c, d)
        turned = vecmat(cones, scales[..., None, :, :, :d]).reshape(*columns.shape[:-1], c * d)
        return np.concatenate([columns[..., :e], turned], axis=-1)

    def _moved(self, rotated: Array, dx: Array) -> Array:
        """(..., cd) the cones' rows of B dx, along the axes of their scalings."""
        return np.sum(rotated[..., self.shape.e :] * dx[..., None], axis=-2)


def _dot(columns: Array, multipliers: Array) -> Array:
    """(..., g) B^T multipliers."""
    return np.sum(columns * multipliers[..., None, :], axis=-1)


def lower_triangle(columns: Array, softness: Array) -> Array:
    """(..., r (r + 1) / 2) of the sum of columns, times softness, times columns, in the order of `triangle`."""
    soft = columns * softness[..., None]
    entries = [np.sum(soft[..., i] * columns[..., j], axis=-1) for i, j in triangle(columns.shape[-1])]
    return np.stack(entries, axis=-1)


def triangle(r: int) -> list[tuple[int, int]]:
    """The indices (i, j), j <= i, of the lower triangle of an (r, r) matrix. They go column by column within blocks of
    rows, so that factors stay in registers."""
    blocks = [range(first, min(first + TILE_ROWS, r)) for first in range(0, r, TILE_ROWS)]
    return [(i, j) for block in blocks for j in range(block.stop) for i in block if j <= i]


class VariableTables:
    """Tables of a program over groups of n variables, `size` in each, up to a whole number of groups.

    groups  (g, size) the numbers of the variables, of which there are `count`
    names   the buffers that have a row for every variable
    """

    def __init__(self, program: Program, n: int, size: int) -> None:
        self.program, self.count = program, -(-n // size) * size
        self.groups, self.names = np.arange(self.count).reshape(-1, size), set[str]()

    def over(
        self,
        formula: Callable[..., dict[str, Array]],
        *,
        new: Mapping[str, tuple[int, ...]] | None = None,
        sums: Mapping[str, int] | None = None,
        least: str = "",
        store: Sequence[str] = (),
    ) -> None:
        """A table of the buffers that the formula's parameters are named after: each group has its rows of those with a
        row for every variable. Its outputs:

        - `new` numbers for each variable, of these shapes
        - `sums` (1, w) over all variables
        - the `least` of zero and an output
        - what to `store` in buffers that are there
        """
        new, sums, parameters, groups = new or {}, sums or {}, signature(formula).parameters, self.groups
        once = np.zeros(len(groups), dtype=int)
        buffers: dict[str, tuple[int, ...]] = {key: (self.count, *shape) for key, shape in new.items()}
        self.program.table(
            formula,
            len(groups),
            gather={key: (key, groups) for key in parameters if key in self.names},
            shared=[key for key in parameters if key not in self.names],
            store={key: (key, groups) for key in (*new, *store)},
            add={key: (key, once) for key in sums},
            least={least: (least, once)} if least else None,
            buffers=buffers | {key: (1, width) for key, width in sums.items()} | ({least: (1,)} if least else {}),
        )
        self.names |= new.keys()


def matrix_rows(entries: Array, r: int, more: Array | None = None) -> list[list[Any]]:
    """The lower triangle of an (r, r) matrix, row by row, from entries (...) in the order of `triangle`, with `more`
    (..., k) at the end of its diagonal. Dependent rows get finite multipliers by a regularization."""
    place = {at: k for k, at in enumerate(triangle(r))}
    rows = [[entries[..., place[i, j]] for j in range(i + 1)] for i in range(r)]
    for i, row in enumerate(rows):
        if more is not None and i >= r - more.shape[-1]:
            row[i] = row[i] + more[..., i - r]
        row[i] = np.where(row[i] > 0, row[i] * (1 + DIAGONAL_REGULARIZATION), 1.0)
    return rows


def _both(x: Array) -> Array:
    """(..., g, 2) how the distances from the lower and the upper bounds change with x (..., g)."""
    return np.stack([x, -x], axis=-1)


def _least_ratio(distance_change: Array, distance: Array, multiplier_change: Array, bound: Array) -> Array:
    """(...) the least of what is gained in a full step over what is there."""
    ratios = np.minimum(distance_change / distance, multiplier_change / np.where(bound > 0, bound, 1.0))
    least = np.minimum(ratios[..., 0], ratios[..., 1])
    result = least[..., 0]
    for k in range(1, least.shape[-1]):
        result = np.minimum(result, least[..., k])
    return result
