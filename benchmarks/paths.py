"""Path lengths and velocity Jacobians of `two_link`, six muscles, on one thread: kernels beside all other routes."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.jax import paths as jax_paths
from benchmarks.measure import Route, alternate, rows
from benchmarks.mujoco.paths import PathLoop
from benchmarks.opensim.paths import OpensimPaths
from benchmarks.sympy import paths as sympy_paths
from myoquat import kernels
from myoquat.data import load_model
from myoquat.joints import rotation_matrix
from myoquat.muscle import Model, path_jacobian, path_lengths
from myoquat.muscle.segments.lengths import lengths, velocity_jacobian

POSES_PER_BLOCK = 8192  # poses whose results, 2.7 MB, stay in the cache
Both = tuple[np.ndarray, np.ndarray]  # lengths (n, m), J (n, m, nu)
MUJOCO = "MuJoCo, C loop"


def run(poses: int = 1_000_000, repeats: int = 7) -> list[dict[str, Any]]:
    """Rows with ns per pose and ratios to MuJoCo."""
    model = load_model("two_link")
    q = model.system.random(poses, np.random.default_rng(0))
    opensim = OpensimPaths(model, q[:100])
    try:
        routes = {**_kernel_routes(model, q), **_peer_routes(model, q), **_slow_routes(model, q, opensim)}
        times = alternate(routes, repeats)
    finally:
        opensim.close()
    return rows("two_link: 6 lengths and 6 x 6 Jacobian, per pose", times, MUJOCO)


def _blocks(evaluate: Callable[[np.ndarray], Any], q: np.ndarray, size: int = POSES_PER_BLOCK) -> Route:
    """`evaluate` block by block."""
    parts = [q[i : i + size] for i in range(0, len(q) - size + 1, size)]
    return Route(lambda: [evaluate(part) for part in parts], len(parts) * size)


def _kernel_routes(model: Model, q: np.ndarray) -> dict[str, Route]:
    def both(q: Any) -> Any:
        return lengths(model.system, model.paths, q), velocity_jacobian(model.system, model.paths, q)

    kernel = kernels.compile(both, {"q": model.system.nq}, ["lengths", "jacobian"])
    l, J = kernel(q[:POSES_PER_BLOCK])
    _agree("kernel", (l, J), model, q[:POSES_PER_BLOCK])
    return {
        "kernel, out= in blocks": _blocks(lambda part: kernel(part, out=(l, J), threads=1), q),
        "kernel, fresh memory": Route(partial(kernel, q, threads=1), len(q)),
    }


def _peer_routes(model: Model, q: np.ndarray) -> dict[str, Route]:
    mujoco = PathLoop(model)
    l, J = np.empty((POSES_PER_BLOCK, 6)), np.empty((POSES_PER_BLOCK, 6, 6))
    mujoco(q[:POSES_PER_BLOCK], l, J)
    _agree("MuJoCo", (l, mujoco.dense(J)), model, q[:POSES_PER_BLOCK])
    jax = jax_paths.compiled(model)
    _agree("JAX", tuple(map(np.asarray, jax(q[:POSES_PER_BLOCK]))), model, q[:POSES_PER_BLOCK])
    return {
        MUJOCO: _blocks(lambda part: mujoco(part, l, J), q[: 32 * POSES_PER_BLOCK]),
        "JAX, vmap and jit": _blocks(
            lambda part: [x.block_until_ready() for x in jax(part)], q[: 32 * POSES_PER_BLOCK]
        ),
    }


def _slow_routes(model: Model, q: np.ndarray, opensim: OpensimPaths) -> dict[str, Route]:
    def plain(part: np.ndarray) -> Both:
        return path_lengths(model, part, backend="numpy"), path_jacobian(model, part, backend="numpy")

    on_arrays, one_pose = sympy_paths.on_arrays(model), sympy_paths.pose_by_pose(model)
    block, few = q[:POSES_PER_BLOCK], q[:100]
    _agree("NumPy", plain(block), model, block)
    _agree("SymPy", on_arrays(block), model, block)
    opensim()
    _agree("OpenSim", _from_opensim(opensim, few), model, few)
    return {
        "NumPy, backend='numpy'": _blocks(plain, block),
        "SymPy lambdify with cse, on arrays": _blocks(on_arrays, block),
        "SymPy lambdify, pose by pose": Route(lambda: [one_pose(*pose) for pose in few.tolist()], len(few)),
        "OpenSim, from Python": Route(opensim, len(few)),
    }


def _from_opensim(opensim: OpensimPaths, q: np.ndarray) -> Both:
    """OpenSim's moment arms at ball joints are -J for angular velocities in the parent's frame: J = -arms R."""
    l, arms = opensim.results()
    R = rotation_matrix(q.reshape(len(q), -1, 4))
    by_joint = arms.reshape(*l.shape, -1, 3)
    return l, -np.einsum("nmki,nkij->nmkj", by_joint, R).reshape(arms.shape)


def _agree(name: str, found: Any, model: Model, q: np.ndarray) -> None:
    """AssertionError unless a route computes what the formulas in NumPy compute."""
    expected = path_lengths(model, q, backend="numpy"), path_jacobian(model, q, backend="numpy")
    for value, reference in zip(found, expected, strict=True):
        np.testing.assert_allclose(value, reference, atol=1e-12, err_msg=name)
