"""Interrupts from the keyboard that are not lost: a library in C++ that is at work when one comes may let it pass."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from myoquat.core.progress import handled_interrupts

__all__ = ["interrupts"]


@contextmanager
def interrupts() -> Iterator[Callable[[], None]]:
    """While inside, remember an interrupt; the function that is handed out raises KeyboardInterrupt if one came, and so
    does the end. Where interrupts are not handled (`handled_interrupts`) none is remembered."""
    came = False

    def remember(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = True
        signal.default_int_handler(number, frame)

    def check() -> None:
        if came:
            raise KeyboardInterrupt

    with handled_interrupts(remember):
        yield check
    check()
