"""Times of several routes in turn, and the rows of a comparison's table."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

_UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}


@dataclass(frozen=True)
class Route:
    """One way to do the work: a call without arguments, and how many items it does (poses, states, steps)."""

    call: Callable[[], Any]
    items: int = 1


def alternate(routes: Mapping[str, Route], repeats: int = 7) -> dict[str, list[float]]:
    """Seconds per item of every repeat of every route: A B C, A B C, ..., after one round that does not count.

    In turn, so that a machine that slows down slows all of them down.
    """
    times: dict[str, list[float]] = {name: [] for name in routes}
    for repeat in range(repeats + 1):
        for name, route in routes.items():
            start = time.perf_counter()
            route.call()
            if repeat:
                times[name].append((time.perf_counter() - start) / route.items)
    return times


def rows(work: str, times: Mapping[str, list[float]], against: str, unit: str = "ns", **more: Any) -> list[dict]:
    """A row per route: the ratio of the medians first; `more` goes into every row."""
    medians = {route: statistics.median(values) for route, values in times.items()}
    return [
        {
            "work": work,
            "route": route,
            "against": against,
            "ratio": medians[against] / medians[route],
            "median": medians[route] * _UNITS[unit],
            **dict(zip(("low", "high"), _quartiles(values, _UNITS[unit]), strict=True)),
            "unit": unit,
            **more,
        }
        for route, values in times.items()
    ]


def _quartiles(values: list[float], unit: float) -> tuple[float, float]:
    """The middle half of the repeats lies between them."""
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low * unit, high * unit
