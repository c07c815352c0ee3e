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
MAX_CHUNK_SECONDS = 0.1  # of all steps of its states
MAX_TOGETHER_SECONDS = 1.0  # of states that a kernel takes together, as estimated from fewer, which take longer each
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
    call: Callable[..., None] = (lambda begin, end, first, until: task(begin, end)) if steps is None else task
    whole, blocks, together = 1 if steps is None else steps, -(-states // lanes), BLOCKS_PER_CALL * lanes
    parts = 1 if threads == 1 else min(int(nanoseconds / _MIN_PART_NANOSECONDS), _PARTS_PER_THREAD * threads, blocks)
    edges = [min(blocks * k // parts * lanes, states) for k in range(parts)] if parts > 1 else [0]
    left, stop = deque(pairwise([*edges, states])), threading.Event()

    def work() -> None:
        seconds = max(nanoseconds / 1e9 / max(states * whole, 1), 1e-12)  # of a step of a state, roughly
        count = FIRST_SECONDS / seconds  # steps of states in the next chunk
        while left:
            try:
                begin, end = left.popleft()
            except IndexError:  # another thread was faster
                return
            while begin < end:
                size, first = int(count) // max(whole, 1), 0
                if size < end - begin:
                    # Blocks that a kernel takes together are one chunk if they do not take too long.
                    if size < together and together * whole * seconds < MAX_TOGETHER_SECONDS:
                        size = together
                    unit = together if size >= together else lanes
                    size = max(size // unit * unit, lanes)
                size = min(size, end - begin)
                while first < whole:
                    if cancellation is not None and cancellation.is_set():
                        raise Cancelled("the work was cancelled")
                    if stop.is_set():
                        return
                    fits = size * whole * seconds < MAX_CHUNK_SECONDS
                    until = whole if fits else min(first + max(int(count) // size, 1), whole)
                    started, done = time.perf_counter(), size * (until - first)
                    call(begin, begin + size, first, until)
                    seconds = max((time.perf_counter() - started) / done, 1e-12)
                    count, first = min(CHUNK_SECONDS / seconds, MAX_GROWTH * max(done, count)), until
                begin += size

    if len(left) == 1:
        work()
        return
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
