"""How a law says that it does not hold, or that it has nothing to say."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

__all__ = ["Broken", "NotHere", "close", "from_one_start"]


class Broken(AssertionError):
    """A law does not hold."""


class NotHere(Exception):
    """The case has nothing that the law speaks of."""


@contextmanager
def from_one_start() -> Iterator[None]:
    """NotHere where other numbers of a model move the start off its constraints."""
    try:
        yield
    except ValueError as error:
        if "violates the constraints with its own parameters" in str(error):
            raise NotHere(str(error)) from error
        raise


def close(what: str, found: Any, expected: Any, tolerance: float = 1e-8) -> None:
    """Broken unless two arrays agree, relative to the largest entry (at least 1)."""
    found, expected = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    if found.shape != expected.shape:
        raise Broken(f"{what}: shapes {found.shape} and {expected.shape}")
    size = max(1.0, *(np.abs(x).max(initial=0.0) for x in (found, expected)))
    error = np.abs(found - expected).max(initial=0.0) / size
    if not error <= tolerance:
        worst = np.unravel_index(np.argmax(np.abs(found - expected)), found.shape) if found.shape else ()
        raise Broken(f"{what}{list(map(int, worst))}: {found[worst]:.9g}, not {expected[worst]:.9g} ({error:.1e})")
