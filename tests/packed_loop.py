"""The former loop over one array of columns: `while_loop` and `fixed_point` take records."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from myoquat.core.arguments import CALLABLE, check_types, check_unmasked
from myoquat.core.typing import Array
from myoquat.kernels.control_flow.while_loop import while_loop
from myoquat.kernels.symbolic.arrays import is_symbolic

__all__ = ["iterate"]


@dataclass(frozen=True)
class _Columns:
    """The columns (..., n) of a state, and whether (...) it takes a further step."""

    z: Array
    goes_on: Array


def iterate(
    step: Callable[[Any, Any], Any], start: Array, constants: Array, count: int, settle: float = 0.0,
    where: Array | bool = True, left: int | None = None,
) -> Array:  # fmt: skip
    """(..., n) z after `count` times z <- step(z, constants), from z = `start` (..., n), with constants (..., c), where
    (...) a condition holds.

    A state of which no number has changed by more than `settle` takes no further step. With `left`, one of which this
    number is 0, or has not changed by more than that. A number that is NaN does not change. Errors as of `while_loop`.
    """
    check_types(step=(step, CALLABLE), start=(start, np.ndarray), constants=(constants, np.ndarray), count=(count, int))
    check_unmasked("start", start)
    check_unmasked("constants", constants)
    batch = np.broadcast_shapes(start.shape[:-1], constants.shape[:-1], np.shape(where))
    z, given = (np.broadcast_to(x, (*batch, x.shape[-1]), subok=is_symbolic(x)) for x in (start, constants))
    begin = _Columns(z, (np.ones(batch) > 0) & _any_left(z, left) & where)
    return while_loop(_goes_on, partial(_stepped, step, settle, left), begin, given, max_steps=count).z


def _goes_on(state: _Columns) -> Array:
    return state.goes_on


def _stepped(step: Callable[[Any, Any], Any], settle: float, left: int | None, state: _Columns, given: Array) -> Any:
    z = step(state.z, given)
    columns = range(z.shape[-1]) if left is None else [left]
    changes = [np.abs(z[..., i] - state.z[..., i]) > settle for i in columns]
    changed = changes[0]
    for change in changes[1:]:
        changed = changed | change
    return _Columns(z, changed & _any_left(z, left))


def _any_left(z: Array, left: int | None) -> Any:
    return True if left is None else np.abs(z[..., left]) > 0
