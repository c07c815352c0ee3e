"""Long work: progress messages and bars, interrupts from the keyboard, and a pause of the garbage collector.

Messages of compilation and bars show on terminals and in notebooks; elsewhere bars show only on request.
"""

import contextlib
import gc
import importlib
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Protocol, TextIO

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


# ---- Progress bars: on a terminal and in Jupyter, elsewhere only on request ------------------------------------


class Bar(Protocol):
    """A context within which `update` moves a bar on by a number of units."""

    def __enter__(self) -> "Bar": ...
    def __exit__(self, *error: object) -> object: ...
    def update(self, count: int) -> object: ...


class _Unseen:
    """A bar without output."""

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def update(self, count: int) -> None:
        return None


def progress_bar(total: int, unit: str, progress: bool | None, done: int = 0) -> Bar:
    """A bar over `total` units, `done` of them finished, with rate and time left; gone when its context is left.

    progress: True, False, or None for terminals and notebooks alone. tqdm is imported when a bar is drawn. The import
    takes longer than much of the work that a bar would show.
    """
    if not (watched() if progress is None else progress):
        return _Unseen()
    drawn: Any = importlib.import_module("tqdm.auto" if in_notebook() else "tqdm").tqdm
    bar: Bar = drawn(total=total, initial=done, unit=unit, unit_scale=True, leave=False)
    return bar


# ---- Interrupts from the keyboard -----------------------------------------------------------------------------


class Interrupts:
    """`came`: whether there was an interrupt, or who watches asked for one."""

    came = False

    def check(self) -> None:
        """KeyboardInterrupt if one came."""
        if self.came:
            raise KeyboardInterrupt


@contextmanager
def interrupts(at_once: bool) -> Iterator[Interrupts]:
    """While inside, interrupts are remembered. Each raises KeyboardInterrupt, or all but the first unless `at_once`. In
    the main thread alone, and not where the program has a handler of its own."""
    seen = Interrupts()

    def handler(number: int, frame: FrameType | None) -> None:
        before, seen.came = seen.came, True
        if at_once or before:
            signal.default_int_handler(number, frame)

    main = threading.current_thread() is threading.main_thread()
    ours = main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, handler)
    try:
        yield seen
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


# ---- no search for garbage while a kernel is made ----------------------------------------------------------


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
