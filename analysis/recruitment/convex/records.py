"""Records of the columns of a program's buffers: the numbers of variables, and of whole programs, by name.

A field is one column, or two where its type is `Pair`. The last field may be left out (None).
"""

from functools import cache
from typing import Annotated, Any, NamedTuple, TypeVar, cast, get_type_hints

import numpy as np

from myoquat.core.typing import Array

__all__ = [
    "BestPoint",
    "LinearizedConditions",
    "PrimalDualState",
    "ProgramConstants",
    "ProgramSums",
    "VariableChange",
    "VariableConstants",
    "WeightedSquares",
    "from_columns",
    "to_columns",
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
