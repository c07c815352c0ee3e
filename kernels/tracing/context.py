"""What a tracing knows of itself: the constructs that it has met, the results and traces that it shares."""

import functools
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, TypeVar

import numpy as np

from myoquat.core import BoundedTable
from myoquat.kernels.symbolic.arrays import SymbolArray, is_symbolic
from myoquat.kernels.symbolic.complex_step import takes_complex_steps
from myoquat.kernels.symbolic.elements import is_term, is_traced
from myoquat.kernels.symbolic.terms import Tracer

# The constructs (loops, maps, scans, calls, look-ups) of the formula that is being traced; None where nothing is.
pending_constructs: ContextVar[list[Any] | None] = ContextVar("gathering", default=None)

# Results of memoized functions, and their arguments: these must live on, so that no other takes their place in memory.
memoized_results: ContextVar[dict[Hashable, tuple[Any, Any]] | None] = ContextVar("memory", default=None)

# True while a formula is differentiated: constructs are then unrolled, since their results have no derivative.
unrolls_constructs: ContextVar[bool] = ContextVar("differentiated", default=False)


# True while a formula is traced that is differentiated afterwards: solutions that loops find then have derivatives.
moves_solutions: ContextVar[bool] = ContextVar("moves_solutions", default=False)

# The solutions of a tracing that have no derivatives, since the formula is not differentiated.
unmoved_solutions: ContextVar[list[Any] | None] = ContextVar("unmoved_solutions", default=None)

# True where code that this process has linked is used again for the same recipe, without the cache folder.
keeps_code: ContextVar[bool] = ContextVar("keeps_code", default=False)


@contextmanager
def _during(variable: ContextVar[bool]) -> Iterator[None]:
    """Inside, the variable is true."""
    token = variable.set(True)
    try:
        yield
    finally:
        variable.reset(token)


def code_kept() -> AbstractContextManager[None]:
    """Inside, code that this process has linked is used again for the same recipe, without the cache folder."""
    return _during(keeps_code)


def differentiated() -> AbstractContextManager[None]:
    """Formulas that are traced inside are differentiated, so that solutions that loops find have derivatives."""
    return _during(moves_solutions)


def complex_steps() -> AbstractContextManager[None]:
    """Formulas are differentiated on floats inside."""
    return _during(takes_complex_steps)


def unrolled_constructs() -> AbstractContextManager[None]:
    """Unroll every construct inside, as in the body of a loop over a table, where nothing can be called."""
    return _during(unrolls_constructs)


# --------------------------------------------------------------------------------------------------------------
# Traces that formulas share: the step of a loop and a called formula are traced once for all that have them.


Kept = dict[str, BoundedTable[Any]]  # by the name of the table
T = TypeVar("T")

_of_package: Kept = {}
_kept: ContextVar[Kept | None] = ContextVar("kept", default=None)


@contextmanager
def sharing_traces(content: str | None = None) -> Iterator[None]:
    """Traces inside share the steps and functions that they have in common.

    Where a `content` says what the formulas are, they share them with all other formulas of this package. The code of
    users may do something else the next time without being another object, so its traces share nothing with earlier
    ones.
    """
    around = _kept.get()
    fresh: Kept = {} if around is None or around is _of_package else around
    token = _kept.set(fresh if content is None else _of_package)
    try:
        yield
    finally:
        _kept.reset(token)


def sharing() -> AbstractContextManager[None]:
    """Traces inside share what they have in common, with those around them if these do."""
    return sharing_traces() if _kept.get() is None else nullcontext()


def shared_trace(
    table: str, key: Any, limit: int, make: Callable[[], T], lasts: Callable[[], bool] = lambda: True
) -> T:
    """The trace that a table has under a key, made where it has none, and kept if it `lasts`; of more than `limit` the
    oldest goes."""
    tables = _kept.get()
    assert tables is not None  # `trace` shares
    kept: BoundedTable[T] = tables.setdefault(table, BoundedTable(limit))
    return kept.get((key, moves_solutions.get()), make, lasts)


# ---- Within one tracing, what a formula asks for again of the same symbols is not computed again ---------------
# Formulas call each other freely: torques ask for lengths, speeds ask for them again. Traced programs share equal
# operations in the end, but only after every operation has been recorded, which is what tracing spends its time on.


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
        key = (function, moves_solutions.get(), tuple(named), *map(_identity, given))
        if key not in known:
            known[key] = function(*arguments, **named), given
        return known[key][0]

    return kept  # type: ignore[return-value]


def _identity(x: Any) -> Hashable:
    """What two arguments share only if they are the same; of symbols the elements count, not the array around them."""
    if isinstance(x, SymbolArray):
        return (x.shape, *map(id, np.asarray(x).flat))
    return id(x)


# ---- where constructs enter --------------------------------------------------------------------------------


def entered(*arrays: Any) -> tuple[list[Any], Tracer] | None:
    """For a construct on arrays: the constructs that its kernel has met so far, and the kernel's tracer.

    None where no kernel is traced, where constructs are unrolled for derivatives, and where the arrays hold numbers
    alone, or symbols of SymPy or CasADi. The formula then runs as it stands.
    """
    pending = pending_constructs.get()
    if pending is None or unrolls_constructs.get():
        return None
    symbolic = [np.asarray(x) for x in arrays if is_symbolic(x) or np.asarray(x).dtype == object]
    flat = [x for array in symbolic for x in array.flat]
    tracer = next((x.tracer for x in flat if is_term(x)), None)
    return (pending, tracer) if tracer is not None and all(map(is_traced, flat)) else None


def becomes_loops(*arrays: Any) -> bool:
    """Whether a construct on such arrays becomes loops: in a kernel that is traced, and not differentiated."""
    return entered(*arrays) is not None
