"""Two threads against one: jobs of more than 100 ms, of calls of a few each, whose threads share blocks of states.

Beside them the same job in two processes at once: what the machine has to give at that moment, no more than 2. Only
where that is near 2, on an idle machine, does the row of two threads say something about threads.
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import kernels
from benchmarks.measure import Route, alternate, rows
from benchmarks.systems import chain, random_state
from dynamics import articulated
from muscle import jacobians, load_model
from muscle.path import lengths

__all__ = ["run"]

WANTED = 0.15  # seconds of one thread
REPEATS = 9


def run(repeats: int = REPEATS) -> list[dict[str, Any]]:
    """Rows in milliseconds per job; the ratio of two threads is the speedup."""
    if kernels.info()["threads"] < 2:
        return [{"work": "two threads", "route": "none: this process may use one processor"}]
    found = []
    for index, (work, make) in enumerate(_JOBS.items()):
        job, states = _repeated(*make())
        workers = [_Worker(index) for _ in range(2)]
        try:
            routes = {
                "one thread": Route(lambda job=job: job(1)),
                "two threads": Route(lambda job=job: job(2)),
                "two processes, a job each": Route(lambda workers=workers: _at_once(workers), 2),
            }
            measured = alternate(routes, repeats)
        finally:
            for worker in workers:
                worker.close()
        found += rows(f"{work}, {states} states a call", measured, "one thread", "ms")
    return found


def _repeated(kernel: kernels.Kernel, arrays: tuple[np.ndarray, ...]) -> tuple[Callable[[int], None], int]:
    """(job(threads), states of a call): the call on arrays as often as takes one thread WANTED seconds."""
    out = kernel(*arrays, threads=1)
    once = []
    for _ in range(3):
        start = time.perf_counter()
        kernel(*arrays, out=out, threads=1)
        once.append(time.perf_counter() - start)
    times = max(1, round(WANTED / statistics.median(once)))

    def job(threads: int) -> None:
        for _ in range(times):
            kernel(*arrays, out=out, threads=threads)

    return job, len(arrays[0])


class _Worker:
    """A job in a process of its own, done at every line that it is sent."""

    def __init__(self, index: int) -> None:
        command = [sys.executable, "-m", "benchmarks.threads", str(index)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.answer()

    def ask(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("again\n")
        self._process.stdin.flush()

    def answer(self) -> None:
        assert self._process.stdout is not None
        if not self._process.stdout.readline():
            raise RuntimeError("a worker has ended")

    def close(self) -> None:
        self._process.communicate()


def _at_once(workers: list[_Worker]) -> None:
    for worker in workers:
        worker.ask()
    for worker in workers:
        worker.answer()


def _work(index: int) -> None:
    """What a worker does: say that it is ready, then do the job for every line."""
    job, _ = _repeated(*list(_JOBS.values())[index]())
    print("ready", flush=True)
    for _ in sys.stdin:
        job(1)
        print("done", flush=True)


def _dynamics() -> tuple[kernels.Kernel, tuple[np.ndarray, ...]]:
    """Bound by arithmetic."""
    system = chain(8)
    inputs = {"q": system.nq, "u": system.nu, "x": system.nu}
    kernel = kernels.compile(lambda q, u, x: articulated.forward(system, q, u, x), inputs)
    return kernel, random_state(system, 2_000_000 // system.nq)


def _paths() -> tuple[kernels.Kernel, tuple[np.ndarray, ...]]:
    """Writes much."""
    model = load_model("two_link")
    both = lambda q: (lengths(model.system, model.muscles, q), jacobians.velocity(model, q))  # noqa: E731
    kernel = kernels.compile(both, {"q": model.system.nq}, ["l", "J"])
    return kernel, (model.system.random(2**17, np.random.default_rng(0)),)


_JOBS = {"ABA of a chain of 8": _dynamics, "two_link lengths and Jacobian": _paths}


if __name__ == "__main__":
    _work(int(sys.argv[1]))
