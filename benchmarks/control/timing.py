"""Processor time of a call."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def timed(call: Callable[[], T]) -> tuple[T, float]:
    """What a call returns, and its processor time [s]."""
    start = time.process_time()
    found = call()
    return found, time.process_time() - start
