"""Lengths and Jacobian in JAX, vmap and jit, 64 bits, one thread, for `benchmarks.paths`.

Written from the model's numbers, without this project's formulas.
"""

import os
from collections.abc import Callable
from itertools import pairwise
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import jax
import jax.numpy as jnp

from myoquat.muscle import Model

jax.config.update("jax_enable_x64", True)


def compiled(model: Model) -> Callable[[Any], Any]:
    """q (n, nq) -> (lengths (n, m), J (n, m, nu)): J = dl/dQ G^T / 2 joint by joint, dl/dQ in reverse."""
    slices = model.system.quaternion_slices()

    def both(q: Any) -> Any:
        gradient = jax.jacrev(lambda x: _lengths(model, x))(q)
        return _lengths(model, q), jnp.concatenate([gradient[:, s] @ _G(q[s]).T / 2 for s in slices], axis=-1)

    return jax.jit(jax.vmap(both))


def _lengths(model: Model, q: Any) -> Any:
    system = model.system
    pose = {system.ground: (jnp.eye(3), jnp.zeros(3))}
    for body, s in zip(system.bodies, system.q_slices, strict=True):
        R, p = pose[body.parent]
        pose[body.name] = (R @ _rotation(q[s]), p + R @ jnp.array(body.position))
    lengths = []
    for muscle in model.muscles:
        points = [pose[point.body][1] + pose[point.body][0] @ jnp.array(point.position) for point in muscle.path.points]
        lengths.append(sum(jnp.linalg.norm(b - a) for a, b in pairwise(points)))
    return jnp.stack(lengths)


def _rotation(Q: Any) -> Any:
    w, x, y, z = Q
    return jnp.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def _G(Q: Any) -> Any:
    w, x, y, z = Q
    return jnp.array([[-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w]])
