"""Path lengths and velocity Jacobians of `two_link`: compiled kernels beside MuJoCo's C loop and NumPy."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import kernels
from benchmarks.measure import Route, alternate, rows
from benchmarks.mujoco_paths import PathLoop
from muscle import jacobians, load_model
from muscle.path import lengths

__all__ = ["run"]

BLOCK = 4096  # poses whose results stay in the second-level cache


def run(poses: int = 1_000_000) -> list[dict[str, Any]]:
    """Rows with ns per pose on one thread and the ratio to MuJoCo."""
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
    routes = {
        "MuJoCo, C loop": Route(blocks(lambda part: mujoco(part, l, J), 16 * few), 16 * few),
        "kernel, out= in blocks": Route(
            blocks(lambda part: kernel(part, out=(l, J), threads=1), poses), poses // BLOCK * BLOCK
        ),
        "kernel, fresh memory": Route(partial(kernel, q, threads=1), poses),
        "NumPy lengths only": Route(blocks(lambda part: lengths(model.system, model.muscles, part), few), few),
    }
    return rows("two_link: 6 lengths and 6 x 6 Jacobian, per pose", alternate(routes), "MuJoCo, C loop")


def _agree(kernel: Any, mujoco: PathLoop, q: np.ndarray, l: np.ndarray, J: np.ndarray) -> None:
    """AssertionError unless both sides compute the same numbers."""
    mujoco(q, l, J)
    mine = kernel(q)
    np.testing.assert_allclose(mine[0], l, rtol=1e-12)
    np.testing.assert_allclose(mine[1], mujoco.dense(J), atol=1e-12)
