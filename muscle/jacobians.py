"""Muscle Jacobians: four differentiations of the path length, each on its own.

None is computed from another, so comparing them tests the maps between them. All are formulas on a model and
coordinates q (..., nq), floats or symbols, and give (..., m, n).
"""

from collections.abc import Callable

import numpy as np

from myoquat.joints.system import ArticulatedSystem
from myoquat.kernels.arrays import as_array
from myoquat.kernels.derivatives import jacobian_at
from myoquat.kernels.once import once
from myoquat.kernels.typing import Array
from myoquat.muscle.model import Model
from myoquat.muscle.path import Muscle, contacts, lengths

__all__ = ["constrained", "constrained_size", "coordinates", "velocity", "velocity_of"]


def velocity(model: Model, q: Array) -> Array:
    """(..., m, nu) J with dl/dt = J u: the derivative along a small motion from the pose."""
    return velocity_of(model.system, model.muscles, q)


@once
def velocity_of(system: ArticulatedSystem, muscles: tuple[Muscle, ...], q: Array) -> Array:
    """(..., m, nu) J of some muscles."""
    touching = contacts(system, muscles, q)
    result: Array = jacobian_at(
        lambda motion: lengths(system, muscles, q, motion, touching), np.zeros(system.nu), like=q
    )
    return result


def coordinates(model: Model, q: Array) -> Array:
    """(..., m, nq) dl/dq for the model's own coordinates: J_Q for a quaternion, J_phi for Euler angles."""
    touching = contacts(model.system, model.muscles, q)
    result: Array = jacobian_at(lambda x: lengths(model.system, model.muscles, x, touching=touching), q)
    return result


def constrained_size(model: Model) -> int:
    """Number of columns of the constrained Jacobian: one less than nq for every quaternion."""
    return model.system.nq - len(model.system.quaternion_slices())


def constrained(model: Model, q: Array, eliminated: Array) -> Array:
    """(..., m, n) J*_Q = dl/dQ*, joint by joint; `eliminated` (..., balls) is the dropped component of each quaternion,
    those of floating joints included."""
    kept, rebuild = _charts(model, q, eliminated)
    touching = contacts(model.system, model.muscles, q)
    result: Array = jacobian_at(lambda x: lengths(model.system, model.muscles, rebuild(x), touching=touching), kept)
    return result


def _charts(model: Model, q: Array, eliminated: Array) -> tuple[Array, Callable[[Array], Array]]:
    """The kept coordinates at q, and the function that completes them to coordinates near q."""
    joints = [body.joint for body in model.system.bodies]
    pieces = [q[..., s] for s in model.system.q_slices]
    indices = iter(np.moveaxis(as_array(eliminated), -1, 0))
    index = [next(indices) if joint.facts.quaternion is not None else None for joint in joints]
    kept = [
        x if k is None else np.concatenate([x[..., :-4], _kept(x[..., -4:], k)], axis=-1)
        for x, k in zip(pieces, index, strict=True)
    ]
    edges = np.cumsum([x.shape[-1] for x in kept])[:-1]

    def rebuild(x: Array) -> Array:
        parts = np.split(x, edges, axis=-1)
        full = [
            p if k is None else np.concatenate([p[..., :-3], _completed(p[..., -3:], Q[..., -4:], k)], axis=-1)
            for p, Q, k in zip(parts, pieces, index, strict=True)
        ]
        return np.concatenate(full, axis=-1)

    return np.concatenate(kept, axis=-1), rebuild


def _kept(Q: Array, k: Array) -> Array:
    """Q* (..., 3): the components of Q (..., 4) other than k, in order."""
    return np.stack([np.where(k > i, Q[..., i], Q[..., i + 1]) for i in range(3)], axis=-1)


def _completed(Q_star: Array, Q: Array, k: Array) -> Array:
    """Q (..., 4) from Q* (..., 3) on the sphere through the given Q: Qk = Qk0 sqrt(1 + (|Q*0|^2 - |Q*|^2) / Qk0^2).

    Measured from the given Q the root keeps its sign, and its digits where Qk is small; 1 - |Q*|^2 would not.
    """
    start = sum(np.where(k == i, Q[..., i], 0.0) for i in range(4))
    kept = _kept(Q, k)
    change = np.sum(kept * kept, axis=-1) - np.sum(Q_star * Q_star, axis=-1)
    root = start * np.sqrt(1 + change / (start * start))
    last = np.where(k == 3, root, Q_star[..., 2])
    inner = [np.where(k == i, root, np.where(k > i, Q_star[..., i], Q_star[..., i - 1])) for i in (1, 2)]
    return np.stack([np.where(k == 0, root, Q_star[..., 0]), *inner, last], axis=-1)
