"""No search for garbage while a kernel is made. A trace holds on to nearly all that it makes, and the search would
visit it again and again, for a tenth of the time."""

import contextlib
import gc
from collections.abc import Iterator

__all__ = ["uncollected"]


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Switch Python's search for cycles of garbage off, and on again afterwards if it was on."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
