"""Traces that formulas share: the step of a loop and a called formula are traced once for all that have them."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, TypeVar

__all__ = ["shared_trace", "sharing", "sharing_traces"]

Kept = dict[str, OrderedDict[Any, Any]]  # table -> key -> trace, the oldest first
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


def shared_trace(table: str, key: Any, limit: int, make: Callable[[], T]) -> T:
    """The trace that a table has under a key, made where it has none; of more than `limit` the oldest goes."""
    tables = _kept.get()
    assert tables is not None  # `trace` shares
    kept: OrderedDict[Any, T] = tables.setdefault(table, OrderedDict())
    if key not in kept:
        kept[key] = make()
        while len(kept) > limit:
            kept.popitem(last=False)
    return kept[key]
