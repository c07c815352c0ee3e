"""Interrupts from the keyboard that a handler of one's own takes."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["handled_interrupts"]


@contextmanager
def handled_interrupts(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """While inside, `handler` takes the interrupts. In the main thread alone, and not where the program has a handler
    of its own."""
    main = threading.current_thread() is threading.main_thread()
    ours = main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
