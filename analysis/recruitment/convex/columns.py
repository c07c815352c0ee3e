"""The part of an interior-point step that runs over variables: groups of them, with their columns of B, are elements of
tables.

All formulas run on arrays (..., g, ...) of g variables: `columns` (..., g, r), rows of B^T. `fixed` (..., g, 6 or 7),
`state` (..., g, 5) and `way` (..., g, 4) are the columns of the records of `convex.records`. What belongs to a whole
program has no axis of the variables: multipliers (..., r), scales (..., c, d, d + 1), aim and mu (...).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from inspect import signature
from typing import Annotated, Any, NamedTuple, TypeVar, cast, get_type_hints

import numpy as np

from myoquat.analysis.recruitment.convex import terms
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.vectors import vecmat
from myoquat.kernels import Program

__all__ = [
    "BestPoint",
    "Columns",
    "LinearizedConditions",
    "PrimalDualState",
    "ProgramConstants",
    "ProgramSums",
    "Shape",
    "VariableChange",
    "VariableConstants",
    "WeightedSquares",
    "from_columns",
    "lower_triangle",
    "matrix_rows",
    "over_groups",
    "to_columns",
    "triangle",
    "width",
]

Pair = Annotated[Array, 2]  # (..., 2) of the lower and of the upper bound
Record = TypeVar("Record")


class VariableConstants(NamedTuple):
    """Constants of variables (...).

    weight  of the objective
    low     lower bound, or zero where there is none
    high    upper bound, or zero where there is none
    has     1 where there is a lower and an upper one
    root    a length below which numbers are small
    power   None where all powers are the same
    """

    weight: Array
    low: Array
    high: Array
    has: Pair
    root: Array
    power: Array | None


class PrimalDualState(NamedTuple):
    """The state of variables (...): x, `distance` from the bounds, and `bound`, the multipliers of these."""

    x: Array
    distance: Pair
    bound: Pair


class VariableChange(NamedTuple):
    """The change of variables (...) in a step: of x, and of the multipliers of the bounds."""

    x: Array
    bound: Pair


class BestPoint(NamedTuple):
    """Variables (...) at the best point so far: x and the price."""

    x: Array
    price: Array


class LinearizedConditions(NamedTuple):
    """The conditions of variables (...), linearized: the residual of the gradient, one over the curvature, the force on
    x, and the price."""

    stationary: Array
    softness: Array
    pull: Array
    price: Array


class ProgramSums(NamedTuple):
    """Sums over all variables (...).

    products    of bounds' multipliers and distances
    unbalanced  residuals of gradients
    objective   at x
    least       the objective's minimum at this price
    most        the greatest price times x
    size        of `most`
    """

    products: Array
    unbalanced: Array
    objective: Array
    least: Array
    most: Array
    size: Array


class ProgramConstants(NamedTuple):
    """Constants of a program (...).

    products  their number
    bounds    their number
    max_weight  its greatest weight
    small     an objective that counts as small
    balance   the mean product that corresponds to residuals of gradients
    """

    products: Array
    bounds: Array
    max_weight: Array
    small: Array
    balance: Array


class WeightedSquares(NamedTuple):
    """Constants of variables (...) of a weighted sum of squares: 1 / (2 w), bounds, w and gain."""

    softness: Array
    low: Array
    high: Array
    weight: Array
    gain: Array


@cache
def _widths(record: type) -> tuple[int, ...]:
    """The columns of each field."""
    hints = get_type_hints(record, include_extras=True)
    return tuple(getattr(hints[name], "__metadata__", (1,))[0] for name in cast(Any, record)._fields)


def width(record: type, all_fields: bool = True) -> int:
    """How many columns a record has, with or without its last field."""
    widths = _widths(record)
    return sum(widths if all_fields else widths[:-1])


def from_columns(record: type[Record], columns: Array) -> Record:
    """The record of columns (..., width); the last field is None where there are no columns for it."""
    found: list[Array | None] = []
    first = 0
    for size in _widths(cast(Any, record)):
        part = columns[..., first] if size == 1 else columns[..., first : first + size]
        found.append(part)
        first += size
        if first == columns.shape[-1]:
            break
    missing = len(_widths(cast(Any, record))) - len(found)
    return record(*found, *[None] * missing)


def to_columns(record: NamedTuple) -> Array:
    """The columns (..., width) of a record."""
    parts: list[Array] = []
    for x, size in zip(cast(Any, record), _widths(type(record)), strict=True):
        if x is not None:
            parts += [x] if size == 1 else [x[..., k] for k in range(size)]
    return np.stack(parts, axis=-1)


constants_of = partial(from_columns, VariableConstants)
state_of = partial(from_columns, PrimalDualState)
change_of = partial(from_columns, VariableChange)
conditions_of = partial(from_columns, LinearizedConditions)
program_of = partial(from_columns, ProgramConstants)

DIAGONAL_REGULARIZATION = 1e-14  # relative, added to the diagonal of a matrix
PROXIMAL = 1e-9  # curvature, of the greatest weight, against which variables without one of their own move
TILE_ROWS = 4  # rows of a matrix that are summed together


@dataclass(frozen=True)
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
        """The constants and the starting state of one variable.

        - `columns`: its column of B, which is that of A and G, scaled; zero where equal bounds fix the variable
        - `fixed`: its constants
        - `state`: x, strictly within its bounds, and the multipliers of the bounds

        Also the number of its bounds, and what it adds to B x.
        """
        low, high, kept = (np.where(c, 1.0, 0.0) for c in (lower > -np.inf, upper < np.inf, lower < upper))
        low, high, weight = low * kept, high * kept, weight * kept
        bottom, top = np.where(low > 0, lower, 0.0), np.where(high > 0, upper, 0.0)
        x = np.where(high > 0, np.where(low > 0, (bottom + top) / 2, top - 1), low * (bottom + 1))
        distances = (np.where(low > 0, x - bottom, 1.0), np.where(high > 0, top - x, 1.0))
        p = power if self.shape.power is None else float(self.shape.power)
        if isinstance(p, float) and p == 2:
            root = 1.0 + 0.0 * x
        else:
            root = terms.power_of(np.where(weight > 0, weight, max_weight), -1.0 / p)
        column = np.concatenate([a, g], axis=-1) * scale * kept[..., None]
        has, multipliers = np.stack([low, high], axis=-1), (low * max_weight, high * max_weight)
        fixed = VariableConstants(weight, bottom, top, has, root, power if self.shape.power is None else None)
        return {
            "columns": column,
            "fixed": to_columns(fixed),
            "state": to_columns(PrimalDualState(x, np.stack(distances, axis=-1), np.stack(multipliers, axis=-1))),
            "bounds": np.stack([low + high], axis=-1),
            "begun": column * x[..., None],
        }

    def prepared(self, columns: Array, fixed: Array, state: Array, multipliers: Array, about: Array, mu: Array,
                 scales: Array) -> dict[str, Array]:  # fmt: skip
        """The conditions linearized at a point: `way`, and sums over the variables.

        The sums are the lower triangle of B D^-1 B^T, the rows B x and the right side B D^-1 pull. There are also the
        measures of convergence.
        """
        p, (x, distance, bound) = self._power(fixed), state_of(state)
        price = _dot(columns, multipliers)
        stationary = terms.slope(constants_of(fixed).weight, p, x) - price - bound[..., 0] + bound[..., 1]
        stiff = bound / distance
        softness = 1.0 / (self._curvature(fixed, p, x, about, mu) + stiff[..., 0] + stiff[..., 1])
        pull = -stationary - bound[..., 0] + bound[..., 1]
        turned = self._turned(columns, scales)
        return {
            "way": to_columns(LinearizedConditions(stationary, softness, pull, price)),
            "matrix": lower_triangle(turned, softness),
            "values": np.sum(columns * x[..., None], axis=-2),
            "right": np.sum(turned * (softness * pull)[..., None], axis=-2),
            "balance": self._balance(fixed, p, state, stationary, price),
        }

    def _balance(self, fixed: Array, p: Any, state: Array, stationary: Array, price: Array) -> Array:
        """(..., 6) the columns of a `Balance`."""
        weight, low, high, has, *_ = constants_of(fixed)
        x, distance, bound = state_of(state)
        span = np.minimum(distance[..., 0] + 1 - has[..., 0], distance[..., 1] + 1 - has[..., 1])
        low, high = terms.reach(x, np.where(has[..., 0] > 0, low, -np.inf), np.where(has[..., 1] > 0, high, np.inf))
        most = terms.most(price, low, high, has[..., 0] * has[..., 1] > 0)
        parts = ProgramSums(
            distance[..., 0] * bound[..., 0] + distance[..., 1] * bound[..., 1],
            np.abs(stationary) * span,
            terms.cost(weight, p, x),
            terms.least(weight, p, price, low, high),
            most,
            np.abs(most),
        )
        return np.stack([np.sum(part, axis=-1) for part in parts], axis=-1)

    def predicted(self, columns: Array, fixed: Array, state: Array, way: Array, turned: Array, scales: Array
                  ) -> dict[str, Array]:  # fmt: skip
        """The predictor step, towards products of zero.

        x and the bounds' multipliers change by dx and multiplier_change. `products` (..., g, 2) are those of the
        changes. `ahead` has sums of the changes of the products, in the first and in the second order. Further outputs:

        - right sides of the corrector step without its aim, and for an aim of one
        - `shift`, the changes of the cones' rows along the axes of their scalings
        - the least ratio
        """
        has, (_, distance, bound), to = constants_of(fixed).has, state_of(state), conditions_of(way)
        rotated = self._turned(columns, scales)
        dx = to.softness * (to.pull + _dot(rotated, turned))
        distance_change = _both(dx) * has
        multiplier_change = -has * (distance * bound + bound * _both(dx)) / distance
        products = _both(dx) * multiplier_change
        wanted = (-distance * bound - products) / distance
        unit = has / distance
        corrected = to.softness * (-to.stationary + wanted[..., 0] - wanted[..., 1])
        per_aim = to.softness * (unit[..., 0] - unit[..., 1])
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

    def aimed(self, columns: Array, fixed: Array, state: Array, way: Array, products: Array, second: Array,
              aim: Array, scales: Array) -> dict[str, Array]:  # fmt: skip
        """The corrector step towards products of `aim`: the `change` (..., g, 3) of x and of the bounds' multipliers,
        the changes of the cones' rows, and the least ratio."""
        has, (_, distance, bound), to = constants_of(fixed).has, state_of(state), conditions_of(way)
        wanted = aim[..., None, None] * has - distance * bound - products
        per_distance = wanted / distance
        rotated = self._turned(columns, scales)
        g = -to.stationary + per_distance[..., 0] - per_distance[..., 1]
        dx = to.softness * (g + _dot(rotated, second))
        multiplier_change = has * (wanted - bound * _both(dx)) / distance
        return {
            "change": to_columns(VariableChange(dx, multiplier_change)),
            "shrink_again": _least_ratio(_both(dx) * has, distance, multiplier_change, bound),
            "shift_again": self._moved(rotated, dx),
        }

    def noted(self, state: Array, way: Array, best: Array, better: Array) -> dict[str, Array]:
        """`best` (..., g, 2), x and the price, where the point is the best so far."""
        here = to_columns(BestPoint(state_of(state).x, conditions_of(way).price))
        return {"best": np.where(better[..., None, None] > 0, here, best)}

    def moved(self, fixed: Array, state: Array, change: Array, share: Array) -> dict[str, Array]:
        """The state (..., g, 5) after a share of the way."""
        has, (dx, multiplier_change) = constants_of(fixed).has, change_of(change)
        after = to_columns(PrimalDualState(dx, has * _both(dx), multiplier_change))
        return {"state": state + share[..., None, None] * after}

    def bent(self, fixed: Array, state: Array, change: Array, about: Array, mu_here: Array, share: Array
             ) -> dict[str, Array]:  # fmt: skip
        """(..., 2) the rise of the objective above its tangent over a share of the step, and the predicted rise.

        The prediction is that of the curvature for the whole step. Both are sums over the variables.
        """
        weight, p, x, dx = constants_of(fixed).weight, self._power(fixed), state_of(state).x, change_of(change).x
        part = share[..., None] * dx
        rise = terms.cost(weight, p, x + part) - terms.cost(weight, p, x) - part * terms.slope(weight, p, x)
        bend = self._curvature(fixed, p, x, about, mu_here) * dx * dx
        return {"bend": np.stack([np.sum(rise, axis=-1), np.sum(bend, axis=-1)], axis=-1)}

    # ---- parts -----------------------------------------------------------------------------------------------

    def _power(self, fixed: Array) -> Any:
        return constants_of(fixed).power if self.shape.power is None else float(self.shape.power)

    def _curvature(self, fixed: Array, p: Any, x: Array, about: Array, mu: Array) -> Array:
        """(..., g) of the objective. For powers other than 2 each |x| is at least that at which its term is mu. Near
        zero the curvature of a high power vanishes, and that of a low one is infinite."""
        weight, floor = constants_of(fixed).weight, PROXIMAL * program_of(about).max_weight[..., None]
        if isinstance(p, float) and p == 2:
            own: Array = 2 * weight
        else:
            one = isinstance(p, float)
            small = terms.power_of(mu, 1.0 / p)[..., None] if one else terms.power_of(mu[..., None], 1 / p)
            own = terms.curvature(weight, p, np.maximum(np.abs(x), small * constants_of(fixed).root))
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


def over_groups(
    program: Program,
    groups: Array,
    formula: Callable[..., dict[str, Array]],
    *,
    new: Mapping[str, int] | None = None,
    sums: Mapping[str, int] | None = None,
    least: str = "",
    store: Sequence[str] = (),
) -> None:
    """A table over groups of variables, of the buffers that the formula's parameters are named after: each group has
    its rows of those with a row (w,) for every variable. Its outputs:

    - `new` numbers for each variable
    - `sums` (1, w) over all variables
    - the `least` of zero and an output
    - what to `store` in buffers that are there
    """
    new, sums, names = new or {}, sums or {}, signature(formula).parameters
    own = [key for key in names if len(program.buffers[key]) == 2 and program.buffers[key][0] == groups.size]
    once = np.zeros(len(groups), dtype=int)
    buffers: dict[str, tuple[int, ...]] = {key: (groups.size, width) for key, width in new.items()}
    program.table(
        formula,
        len(groups),
        gather={key: (key, groups) for key in own},
        shared=[key for key in names if key not in own],
        store={key: (key, groups) for key in (*new, *store)},
        add={key: (key, once) for key in sums},
        least={least: (least, once)} if least else None,
        buffers=buffers | {key: (1, width) for key, width in sums.items()} | ({least: (1,)} if least else {}),
    )


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
