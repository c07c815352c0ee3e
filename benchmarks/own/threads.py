"""Two threads against one: jobs of more than 100 ms, whose threads share blocks of states.

Beside them the same job in two processes at once: what the machine has to give at that moment, no more than 2. Only
where that is near 2, on an idle machine, does the row of two threads say something about threads.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measure import Route, alternate, rows
from benchmarks.own.systems import chain
from myoquat import kernels
from myoquat.data import load_model
from myoquat.dynamics import articulated
from myoquat.muscle.segments.lengths import lengths, velocity_jacobian

MIN_SECONDS = 0.15  # seconds of one thread
REPEATS = 9


def run(repeats: int = REPEATS) -> list[dict[str, Any]]:
    """Rows in milliseconds per job; the ratio of two threads is the speedup."""
    if kernels.info()["threads"] < 2:
        return [{"work": "two threads", "route": "none: this process may use one processor"}]
    found = []
    for index, (work, make) in enumerate(_JOBS.items()):
        job = _as_long(make())
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
        found += rows(work, measured, "one thread", "ms")
    return found


def _as_long(call: Callable[[int, int], Any]) -> Callable[[int], Any]:
    """job(threads): call(amount, threads) with the amount that takes one thread MIN_SECONDS."""
    call(1, 1)
    start = time.perf_counter()
    call(10, 1)
    amount = max(1, round(10 * MIN_SECONDS / (time.perf_counter() - start)))
    return lambda threads: call(amount, threads)


class _Worker:
    """A job in a process of its own, done at every line that it is sent."""

    def __init__(self, index: int) -> None:
        command = [sys.executable, "-m", "benchmarks.own.threads", str(index)]
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
    job = _as_long(list(_JOBS.values())[index]())
    print("ready", flush=True)
    for _ in sys.stdin:
        job(1)
        print("done", flush=True)


def _simulation() -> Callable[[int, int], Any]:
    """One call: `amount` Runge-Kutta steps of 1024 chains of 8 bodies."""
    system = chain(8)

    def rhs(t: Any, x: Any) -> Any:
        q, u = x[: system.nq], x[system.nq :]
        return np.concatenate([system.rates(q, u), articulated.forward(system, q, u, np.zeros(system.nu))])

    loop = kernels.step_loop(system.nq + system.nu, rhs=rhs)
    start = np.concatenate([system.random(1024, np.random.default_rng(0)), np.zeros((1024, system.nu))], axis=-1)
    return lambda amount, threads: loop(start, h=1e-5, steps=amount, every=amount, threads=threads)


def _paths() -> Callable[[int, int], Any]:
    """`amount` calls of 2 ms each, which write much."""
    model = load_model("two_link")
    both = lambda q: (lengths(model.system, model.paths, q), velocity_jacobian(model.system, model.paths, q))  # noqa: E731
    kernel = kernels.compile(both, {"q": model.system.nq}, ["l", "J"])
    q = model.system.random(2**17, np.random.default_rng(0))
    out = kernel(q)
    return lambda amount, threads: [kernel(q, out=out, threads=threads) for _ in range(amount)]


_JOBS = {
    "one call: simulation of chains of 8 bodies": _simulation,
    "calls of 2 ms: two_link lengths and Jacobian": _paths,
}


if __name__ == "__main__":
    _work(int(sys.argv[1]))
