"""Runs compiled code over a range of states, on one thread or several."""

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from typing import Any

import numpy as np

from myoquat.core import futures
from myoquat.kernels.codegen.compaction import BLOCKS_PER_CALL

CHUNK_SECONDS = 0.02  # of a chunk, as measured on the one before
FIRST_SECONDS = 0.001  # of the first chunk, as estimated
MAX_CHUNK_SECONDS = 0.1  # of states that a kernel takes together
MAX_GROWTH = 4.0  # from one chunk to the next
_MIN_PART_NANOSECONDS = 500_000.0  # nanoseconds of work below which a part is not worth handing to another thread
_PARTS_PER_THREAD = 4  # parts per thread, so that a thread that was held up does not hold up the rest
_pools: dict[int, "futures.ThreadPoolExecutor"] = {}
_cancellation: ContextVar[threading.Event | None] = ContextVar("_cancellation", default=None)

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pools.clear)  # threads do not survive a fork


class FramePool:
    """Frames of one kernel, each used by one thread at a time."""

    def __init__(self, slots: int, lanes: int) -> None:
        self._doubles = slots * lanes + 8
        self._idle: list[tuple[np.ndarray, int]] = []

    def run(self, entry: Callable[..., None], table: Any, begin: int, end: int, alive: object = None) -> None:
        """Call `entry(table, begin, end, frame)` with a frame of its own, aligned to 64 bytes. `alive`: the arrays to
        which the table points, which must outlive the call."""
        try:
            frame = self._idle.pop()
        except IndexError:
            memory = np.zeros(self._doubles)
            frame = memory, (memory.ctypes.data + 63) & ~63
        entry(table, begin, end, frame[1])
        self._idle.append(frame)


class Cancelled(Exception):
    """Another thread has asked this one to stop; see `cancellable`."""


@contextmanager
def cancellable(event: threading.Event) -> Iterator[None]:
    """Kernels that are called inside, in this thread, raise Cancelled soon after the event is set."""
    token = _cancellation.set(event)
    try:
        yield
    finally:
        _cancellation.reset(token)


def split_and_run(
    task: Callable[..., None], states: int, lanes: int, threads: int, nanoseconds: float, steps: int | None = None
) -> None:
    """`task(begin, end)` over 0 ... states, in parallel parts of whole blocks of lanes if there is enough work.

    The calling thread is one of those that work: it takes the next part that is left, as the others do. Parts are done
    in chunks of about CHUNK_SECONDS, between which Python sees an interrupt from the keyboard; the other threads then
    stop after their chunks. With `steps`, the steps of a state may be divided too: `task(begin, end, first, until)`.
    """
    cancellation = _cancellation.get()
    short = 1e9 * FIRST_SECONDS if threads == 1 else min(_MIN_PART_NANOSECONDS, 1e9 * FIRST_SECONDS)
    if nanoseconds < short and cancellation is None:
        task(0, states) if steps is None else task(0, states, 0, steps)  # most calls are short
        return
    blocks = -(-states // lanes)
    parts = min(int(nanoseconds / _MIN_PART_NANOSECONDS), _PARTS_PER_THREAD * threads, blocks)
    stop = threading.Event()

    def check() -> bool:
        if cancellation is not None and cancellation.is_set():
            raise Cancelled("the work was cancelled")
        return stop.is_set()

    def chunks() -> "_Chunks":
        return _Chunks(task, lanes, steps, nanoseconds / max(states, 1) / 1e9, check)

    if threads == 1 or parts < 2:
        chunks().run(0, states)
        return
    edges = [min(blocks * k // parts * lanes, states) for k in range(parts + 1)]
    left = deque(pairwise(edges))

    def work() -> None:
        own = chunks()
        while not stop.is_set():
            try:
                part = left.popleft()
            except IndexError:
                return
            own.run(*part)

    pool = _pools.get(threads) or _pools.setdefault(threads, futures.ThreadPoolExecutor(threads - 1, "kernels"))
    others = [pool.submit(work) for _ in range(threads - 1)]
    try:
        work()
    except BaseException:
        stop.set()
        raise
    finally:
        futures.wait(others)
    for other in others:
        other.result()


class _Chunks:
    """A task over states, and where it has `steps` over these, in chunks that take about as long as an interrupt may
    wait. `seconds`: a rough estimate for a state. `check` tells whether to stop, between chunks."""

    def __init__(
        self, task: Callable[..., None], lanes: int, steps: int | None, seconds: float, check: Callable[[], bool]
    ) -> None:
        self._task, self._lanes, self._check = task, lanes, check
        self._stepped, self._steps = steps is not None, 1 if steps is None else steps
        self._seconds = max(seconds / max(self._steps, 1), 1e-12)  # of a step of a state
        self._count = FIRST_SECONDS / self._seconds  # steps of states in the next chunk

    def run(self, begin: int, end: int) -> None:
        """The task from state to state."""
        if (end - begin) * self._steps <= self._count:
            self._check()
            self._call(begin, end, 0, self._steps)
            return
        while begin < end and not self._check():
            states = min(self._states(), end - begin)
            if self._fits(states) or self._steps == 1:
                self._timed(begin, begin + states, 0, self._steps)
            else:
                self._by_steps(begin, begin + states)
            begin += states

    def _states(self) -> int:
        """States of the next chunk: as many blocks as a kernel takes together, if they do not take too long."""
        together = BLOCKS_PER_CALL * self._lanes
        states = int(self._count) // self._steps
        if states < together and together * self._steps * self._seconds < MAX_CHUNK_SECONDS:
            return together
        unit = together if states >= together else self._lanes
        return max(states // unit * unit, self._lanes)

    def _fits(self, states: int) -> bool:
        """Whether all steps of so many states are no more than a chunk."""
        return states * self._steps * self._seconds < MAX_CHUNK_SECONDS

    def _by_steps(self, begin: int, end: int) -> None:
        """One block of states, some steps at a time."""
        first = 0
        while first < self._steps and not self._check():
            until = min(first + max(int(self._count) // (end - begin), 1), self._steps)
            self._timed(begin, end, first, until)
            first = until

    def _timed(self, begin: int, end: int, first: int, until: int) -> None:
        """A chunk, and how long the next one may be."""
        started = time.perf_counter()
        self._call(begin, end, first, until)
        count = (end - begin) * (until - first)
        self._seconds = max((time.perf_counter() - started) / count, 1e-12)
        self._count = min(CHUNK_SECONDS / self._seconds, MAX_GROWTH * max(count, self._count))

    def _call(self, begin: int, end: int, first: int, until: int) -> None:
        if self._stepped:
            self._task(begin, end, first, until)
        else:
            self._task(begin, end)
