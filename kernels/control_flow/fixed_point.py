"""Loops with a given condition: a function that is called where one holds, and a fixed-point iteration.

Both are `while_loop`s. The machine code holds the function once, for all calls with records of the same structure.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from numbers import Integral
from typing import Any, TypeVar

import numpy as np

from myoquat.core.arguments import check_types
from myoquat.core.typing import Array
from myoquat.kernels.control_flow.while_loop import while_loop
from myoquat.kernels.symbolic.records import arrays_of, numbers_of

__all__ = ["call_where", "fixed_point"]

State = TypeVar("State")


def call_where(function: Callable[..., State], parameters: Any, where: Array | bool, otherwise: State) -> State:
    """function(parameters) where a condition (...) holds, elsewhere `otherwise`: two records of one structure.

    The machine code holds the function once, for all calls with the same structures. On floats it is evaluated for
    the states for which the condition holds. Parameters, batch axes and errors are those of `while_loop`.

    >>> import numpy as np
    >>> from myoquat.kernels import call_where
    >>> x = np.array([4.0, -1.0])
    >>> call_where(np.sqrt, x, x > 0, np.zeros(2))
    array([2., 0.])
    """
    if where is None:
        raise TypeError("where must be a condition, not None")
    return while_loop(_always, partial(_called, function), otherwise, parameters, max_steps=1, where=where)


def fixed_point(
    body: Callable[..., State], state: State, parameters: Any = None, *, tolerance: float = 0.0, max_steps: int,
    where: Array, watched: Callable[[State], Any] | None = None,
) -> State:  # fmt: skip
    """The state after state <- body(state, parameters) until no number of it changes by more than a tolerance.

    It takes at most `max_steps` steps, only where the condition `where` (...) holds, which has all batch axes.
    `watched` gives the part of a state whose changes count, by default the whole state. A number that is NaN does not
    change. State, parameters and errors are those of `while_loop`.

    >>> import numpy as np
    >>> from myoquat.kernels import fixed_point
    >>> heron = lambda x, a: 0.5 * (x + a / x)
    >>> fixed_point(heron, np.ones(2), np.array([4.0, 9.0]), tolerance=1e-9, max_steps=20, where=np.ones(2) > 0)
    array([2., 3.])
    """
    check_types(max_steps=(max_steps, Integral))
    if max_steps == 1:
        return while_loop(_always, body, state, parameters, max_steps=1, where=where)
    never = np.zeros(np.shape(where)) > 0
    step = partial(_fixed_point_step, body, watched, tolerance, parameters is None)
    start = _FixedPoint(state, never)
    found = while_loop(
        _changes, step, start, () if parameters is None else parameters, max_steps=max_steps, where=where
    )
    reached: State = found.state
    return reached


@dataclass(frozen=True)
class _FixedPoint:
    """A state of a fixed-point iteration, and whether (...) it converged."""

    state: Any
    converged: Array


def _changes(iterate: _FixedPoint) -> Any:
    return ~iterate.converged


def _fixed_point_step(
    body: Callable[..., Any], watched: Callable[[Any], Any] | None, tolerance: float, bare: bool, iterate: _FixedPoint,
    parameters: Any,
) -> _FixedPoint:  # fmt: skip
    old = iterate.state
    new = body(old) if bare else body(old, parameters)
    pairs = zip(*(arrays_of(x if watched is None else watched(x)) for x in (new, old)), strict=True)
    batch = iterate.converged.ndim
    changes = [change for x, y in pairs for change in _exceeding(numbers_of(x) - numbers_of(y), tolerance, batch)]
    return _FixedPoint(new, ~reduce(np.logical_or, changes))


def _exceeding(x: Array, tolerance: float, batch: int) -> list[Array]:
    """(...) each, whether an element of an array with so many batch axes exceeds a tolerance."""
    flat = x.reshape((*x.shape[:batch], -1))
    return [np.abs(flat[..., i]) > tolerance for i in range(flat.shape[-1])]


def _always(_: Any) -> bool:
    return True


def _called(function: Callable[..., State], _: State, parameters: Any) -> State:
    return function(parameters)
