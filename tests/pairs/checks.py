"""How a law says that it does not hold, or that it has nothing to say."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

SHARES = (1.0, 1 / 8, 1 / 64, 8.0, 1 / 4096)  # of the usual step of a difference; the last passes by jumps 1e-6 away


class Broken(AssertionError):
    """A law does not hold."""


class NotHere(Exception):
    """The case has nothing that the law speaks of."""


@contextmanager
def from_one_start() -> Iterator[None]:
    """NotHere where a start is off the constraints: other numbers of a model, or a rest while a coordinate is
    prescribed, move it there."""
    try:
        yield
    except ValueError as error:
        if "violates the constraints" in str(error):
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


def close_to_slope(what: str, found: Any, slope: Callable[[float], Any], tolerance: float) -> None:
    """Broken unless a derivative agrees with a difference at one step size; `slope` takes the share of the usual step.

    A derivative is the limit of differences. A kink beside the state spoils those that reach it, and rounding those of
    small steps, so no step size suits all models. A wrong derivative agrees with none of them.
    """
    close_by_steps(what, lambda share: (found, slope(share)), tolerance)


def close_by_steps(what: str, pair: Callable[[float], tuple[Any, Any]], tolerance: float) -> None:
    """`close_to_slope` where both numbers depend on the step: `pair` gives what was found and what is expected."""
    first: Broken | None = None
    for share in SHARES:
        try:
            return close(what, *pair(share), tolerance)
        except Broken as broken:
            first = first or broken
    assert first is not None
    raise first
