"""What a tracing knows of itself: the constructs that it has met, the results that it keeps, and whether it unrolls."""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

__all__ = ["memoized_results", "pending_constructs", "unrolled_constructs", "unrolls_constructs"]

# The constructs (loops, maps, scans, calls, look-ups) of the formula that is being traced; None where nothing is.
pending_constructs: ContextVar[list[Any] | None] = ContextVar("gathering", default=None)

# Results of memoized functions, and their arguments: these must live on, so that no other takes their place in memory.
memoized_results: ContextVar[dict[Hashable, tuple[Any, Any]] | None] = ContextVar("memory", default=None)

# True while a formula is differentiated: constructs are then unrolled, since their results have no derivative.
unrolls_constructs: ContextVar[bool] = ContextVar("differentiated", default=False)


@contextmanager
def unrolled_constructs() -> Iterator[None]:
    """Unroll every construct inside, as in the body of a loop over a table, where nothing can be called."""
    token = unrolls_constructs.set(True)
    try:
        yield
    finally:
        unrolls_constructs.reset(token)
