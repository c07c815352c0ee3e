"""Two threads against one: jobs of more than 100 ms, of calls of a few each, whose threads share blocks of states.

Beside them the same job in two processes at once: what the machine has to give at that moment, no more than 2. Only
where that is near 2, on an idle machine, does the row of two threads say something about threads.
"""

import os
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


def run(repeats: int = 9) -> list[dict[str, Any]]:
    """Rows in milliseconds per job; the ratio of two threads is the speedup."""
    if kernels.info()["threads"] < 2:
        return [{"work": "two threads", "route": "none: this process may use one processor"}]
    found = []
    for work, kernel, arrays in _jobs():
        out = kernel(*arrays, threads=1)
        once = alternate({"one": Route(lambda k=kernel, a=arrays, o=out: k(*a, out=o, threads=1))}, 3)["one"]
        times = max(1, round(WANTED / min(once)))

        def job(threads: int, kernel: Any = kernel, arrays: Any = arrays, out: Any = out, times: int = times) -> Route:
            return Route(lambda: [kernel(*arrays, out=out, threads=threads) for _ in range(times)])

        routes = {"one thread": job(1), "two threads": job(2)}
        if hasattr(os, "fork"):
            routes["two processes, a job each"] = Route(_twice(routes["one thread"].call), 2)
        measured = alternate(routes, repeats)
        found += rows(f"{work}, {len(arrays[0])} states a call", measured, "one thread", "ms")
    return found


def _twice(call: Callable[[], Any]) -> Callable[[], None]:
    """The call in two processes at once."""

    def both() -> None:
        children = []
        for _ in range(2):
            child = os.fork()
            if child == 0:
                call()
                os._exit(0)
            children.append(child)
        for child in children:
            os.waitpid(child, 0)

    return both


def _jobs() -> list[tuple[str, kernels.Kernel, tuple[np.ndarray, ...]]]:
    """Work, kernel and arrays: one bound by arithmetic, one that writes much."""
    system = chain(8)
    aba = kernels.compile(
        lambda q, u, x: articulated.forward(system, q, u, x), {"q": system.nq, "u": system.nu, "x": system.nu}
    )
    model = load_model("two_link")
    paths = kernels.compile(
        lambda q: (lengths(model.system, model.muscles, q), jacobians.velocity(model, q)), {"q": 8}, ["l", "J"]
    )
    q = model.system.random(2**17, np.random.default_rng(0))
    return [
        ("ABA of a chain of 8", aba, random_state(system, 2_000_000 // system.nq)),
        ("two_link lengths and Jacobian", paths, (q,)),
    ]
