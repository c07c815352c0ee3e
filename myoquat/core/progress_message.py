"""Progress messages of compilation, on terminals and in notebooks, where it takes more than a second."""

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import TextIO

__all__ = ["in_notebook", "waiting", "watched"]

MESSAGE_DELAY_S = 1.0  # before a message is shown

_nested = threading.local()


@contextlib.contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show the message `what` if the block lasts, and how long it took; nothing where no person reads the output.

    Within another such block no message is shown: the outer one stands for both.
    """
    stream = _stream()
    if stream is None or getattr(_nested, "inside", False):
        yield
        return
    began = time.perf_counter()
    said: list[str] = []
    timer = threading.Timer(MESSAGE_DELAY_S, _say, (stream, f"{what} ...", said))
    timer.daemon = True
    _nested.inside = True
    timer.start()
    try:
        yield
    finally:
        _nested.inside = False
        timer.cancel()
        timer.join()
        if said:
            _say(stream, f" {time.perf_counter() - began:.1f} s\n", said)


def _say(stream: TextIO, text: str, said: list[str]) -> None:
    said.append(text)
    stream.write(text)
    stream.flush()


def in_notebook() -> bool:
    """Whether what is printed shows in a notebook; that Jupyter's kernel has been imported says nothing yet."""
    return type(sys.stdout).__module__.startswith("ipykernel")


def watched() -> bool:
    """Whether a person reads messages: on a terminal or in a notebook."""
    return _stream() is not None


def _stream() -> TextIO | None:
    """Where a person reads: the terminal behind standard error, or the output of a notebook's cell."""
    if in_notebook():
        return sys.stdout
    return sys.stderr if sys.stderr is not None and sys.stderr.isatty() else None
