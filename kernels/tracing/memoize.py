"""Within one tracing, what a formula asks for again of the same symbols is not computed again.

Formulas call each other freely: torques ask for lengths, speeds ask for them again. Traced programs share equal
operations in the end, but only after every operation has been recorded, which is what tracing spends its time on.
"""

import functools
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import numpy as np

from myoquat.kernels.symbolic.arrays import SymbolArray
from myoquat.kernels.tracing.context import memoized_results

__all__ = ["memoize"]

Function = TypeVar("Function", bound=Callable[..., Any])


def memoize(function: Function) -> Function:
    """A formula whose result is kept during a tracing, for the same symbols and otherwise the same objects.

    Its arguments and its result must not be changed afterwards. Elsewhere, on floats, it is called as it is.
    """

    @functools.wraps(function)
    def kept(*arguments: Any, **named: Any) -> Any:
        known = memoized_results.get()
        if known is None:
            return function(*arguments, **named)
        given = (*arguments, *named.values())
        key = (function, tuple(named), *map(_identity, given))
        if key not in known:
            known[key] = function(*arguments, **named), given
        return known[key][0]

    return kept  # type: ignore[return-value]


def _identity(x: Any) -> Hashable:
    """What two arguments share only if they are the same; of symbols the elements count, not the array around them."""
    if isinstance(x, SymbolArray):
        return (x.shape, *map(id, np.asarray(x).flat))
    return id(x)
