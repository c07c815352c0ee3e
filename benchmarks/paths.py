"""Path lengths and velocity Jacobians of `two_link`: compiled kernels beside MuJoCo's C loop and NumPy."""

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import kernels
from benchmarks.mujoco_paths import PathLoop
from muscle import jacobians, load_model
from muscle.path import lengths

__all__ = ["run"]

BLOCK = 4096  # poses whose results stay in the second-level cache
REPEATS = 7


def run(poses: int = 1_000_000) -> list[dict[str, Any]]:
    """Rows with ns per pose on one thread (median of 7, least, greatest) and the ratio to MuJoCo."""
    model = load_model("two_link")
    q = model.system.random(poses, np.random.default_rng(0))

    def both(q: Any) -> Any:
        return lengths(model.system, model.muscles, q), jacobians.velocity(model, q)

    kernel = kernels.compile(both, {"q": 8}, ["lengths", "jacobian"])
    mujoco = PathLoop(model)
    l, J = np.empty((BLOCK, 6)), np.empty((BLOCK, 6, 6))
    _agree(kernel, mujoco, q[:BLOCK], l, J)

    def blocks(evaluate: Callable[[np.ndarray], Any], count: int) -> Callable[[], Any]:
        parts = [q[i : i + BLOCK] for i in range(0, count - BLOCK + 1, BLOCK)]
        return lambda: [evaluate(part) for part in parts]

    few = 8 * BLOCK
    work = {
        "MuJoCo, C loop": (blocks(lambda part: mujoco(part, l, J), 16 * few), 16 * few // BLOCK * BLOCK),
        "kernel, out= in blocks": (
            blocks(lambda part: kernel(part, out=(l, J), threads=1), poses),
            poses // BLOCK * BLOCK,
        ),
        "kernel, fresh memory": (partial(kernel, q, threads=1), poses),
        "NumPy lengths only": (blocks(lambda part: lengths(model.system, model.muscles, part), few), few),
    }
    times: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(REPEATS):
        for name, (function, count) in work.items():
            start = time.perf_counter()
            function()
            times[name].append((time.perf_counter() - start) / count * 1e9)
    reference = statistics.median(times["MuJoCo, C loop"])
    return [_row(name, values, reference) for name, values in times.items()]


def _row(name: str, values: list[float], reference: float) -> dict[str, Any]:
    median = statistics.median(values)
    return {
        "work": "two_link: 6 lengths and 6 x 6 Jacobian",
        "route": name,
        "faster than MuJoCo": reference / median,
        "ns per pose": median,
        "least": min(values),
        "greatest": max(values),
    }


def _agree(kernel: Any, mujoco: PathLoop, q: np.ndarray, l: np.ndarray, J: np.ndarray) -> None:
    """AssertionError unless both sides compute the same numbers."""
    mujoco(q, l, J)
    mine = kernel(q)
    np.testing.assert_allclose(mine[0], l, rtol=1e-12)
    np.testing.assert_allclose(mine[1], mujoco.dense(J), atol=1e-12)
