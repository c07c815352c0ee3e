"""Runs compiled code over a range of states, on one thread or several."""

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise
from typing import Any

import numpy as np

__all__ = ["FramePool", "split_and_run"]

_SHARE = 500_000.0  # nanoseconds of work below which a part is not worth handing to another thread
_PARTS = 4  # parts per thread, so that a thread that was held up does not hold up the rest
_pools: dict[int, ThreadPoolExecutor] = {}

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pools.clear)  # threads do not survive a fork


class FramePool:
    """Frames of one kernel, each used by one thread at a time."""

    def __init__(self, slots: int, lanes: int) -> None:
        self._doubles = slots * lanes + 8
        self._idle: list[tuple[np.ndarray, int]] = []

    def run(self, entry: Callable[..., None], table: Any, begin: int, end: int) -> None:
        """Call `entry(table, begin, end, frame)` with a frame of its own, aligned to 64 bytes."""
        try:
            frame = self._idle.pop()
        except IndexError:
            memory = np.zeros(self._doubles)
            frame = memory, (memory.ctypes.data + 63) & ~63
        entry(table, begin, end, frame[1])
        self._idle.append(frame)


def split_and_run(task: Callable[[int, int], None], states: int, lanes: int, threads: int, nanoseconds: float) -> None:
    """`task(begin, end)` over 0 ... states, in parallel parts of whole blocks of lanes if there is enough work.

    The calling thread is one of those that work: it takes the next part that is left, as the others do.
    """
    blocks = -(-states // lanes)
    parts = min(int(nanoseconds / _SHARE), _PARTS * threads, blocks)
    if threads == 1 or parts < 2:
        task(0, states)
        return
    edges = [min(blocks * k // parts * lanes, states) for k in range(parts + 1)]
    left = deque(pairwise(edges))

    def work() -> None:
        while True:
            try:
                part = left.popleft()
            except IndexError:
                return
            task(*part)

    if threads not in _pools:
        _pools[threads] = ThreadPoolExecutor(threads - 1, thread_name_prefix="kernels")
    others = [_pools[threads].submit(work) for _ in range(threads - 1)]
    try:
        work()
    finally:
        wait(others)
    for other in others:
        other.result()
