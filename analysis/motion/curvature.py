"""The curvature of a least-squares cost: what the second derivatives of the poses add to its normal matrix.

With residuals r_k = x_k - p_k of weights w_k, half the Hessian of sum w_k |r_k|^2 is J^T W J - sum w_k r_k . d2p_k. The
second term is the geometric stiffness of the forces f_k = w_k r_k, held constant in the world.

For a joint i that carries a joint j, d2p = omega_i x dp/dv_j. The term is therefore a motion of joint i times a moment
on the bodies that j carries. With S_i the subspaces, W_j the wrench that joint j transmits and x the cross product of
motions,

    (Hessian / 2)_ij = S_i . I_j S_j + W_j . (S_j x S_i) / 2

I_j is a composite inertia, as in the normal matrix, but points have other moments under a force f:

    first moment        w p + f / 2
    rotational inertia  w (|p|^2 1 - p p^T) + (p . f) 1 - (p f^T + f p^T) / 2

These follow the rule of parallel axes, as inertias do. The change of a joint's own subspace as it moves adds -W .
drift(q, u) to the quadratic form of its velocities u.
"""

from collections.abc import Iterable

import numpy as np

from myoquat.core.typing import Array
from myoquat.dynamics.composite import Inertia, matrix
from myoquat.dynamics.inverse import generalized, transmitted
from myoquat.joints.constraints.base import PointForce
from myoquat.joints.motion import Pair as MotionPair
from myoquat.joints.motion import Motion, kinematics, world_poses
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.multibody.tree import WORLD
from myoquat.joints.types import Joint
from myoquat.joints.vectors import cross, dot, steiner, vecmat

__all__ = ["PointLoads", "curvature_of_points", "drift_matrix", "loaded_point", "matrix_of_points"]

_NEXT, _LAST = [1, 2, 0], [2, 0, 1]


class PointLoads:
    """Inertias and forces of weighted points, summed on the links of a system.

    The forces (n, f) are at the links' origins, in the links' axes.
    """

    def __init__(self, system: ArticulatedSystem) -> None:
        self.inertias: list[Inertia] = [(0.0, np.zeros(3), np.zeros(6)) for _ in system.tree.links]
        self.forces: list[MotionPair] = [(np.zeros(3), np.zeros(3)) for _ in system.tree.links]

    def push(self, link: int, n: Array, f: Array) -> None:
        """Add a force."""
        self.forces[link] = self.forces[link][0] + n, self.forces[link][1] + f

    def weigh(self, link: int, m: Array | float, h: Array, inertia: Array) -> None:
        """Add an inertia."""
        own = self.inertias[link]
        self.inertias[link] = own[0] + m, own[1] + h, own[2] + inertia


def matrix_of_points(
    system: ArticulatedSystem, q: Array, motion: Motion, inertias: list[Inertia], wrenches: list[MotionPair] | None
) -> Array:
    """(..., nu, nu) the normal matrix of points, or half their Hessian if the wrenches that joints transmit are given.

    The Hessian leaves out the curvature of frames that follow a ball joint.
    """
    found = matrix(system, motion, inertias, wrenches)
    if wrenches is not None:
        for link, wrench in zip(system.tree.links, wrenches, strict=True):
            if link.joint.nu > 0:  # frames that follow other joints have none; their curvature is left out
                drift = drift_matrix(link.joint, q[..., link.q], wrench)
                found[..., link.u, link.u] = found[..., link.u, link.u] - drift
    return found


def curvature_of_points(system: ArticulatedSystem, q: Array, forces: Iterable[PointForce]) -> tuple[Array, Array]:
    """(Q (..., nu), H (..., nu, nu)): sum of J_k^T f_k, and of f_k . d2p_k, for forces that stay as they are in the
    world."""
    tree, motion, loads = system.tree, kinematics(system.tree, q), PointLoads(system)
    poses = world_poses(tree, motion)
    for body, point, force in forces:
        frame = tree.frames[body]
        if frame.link != WORLD:
            p, f = frame.p + frame.R @ point, vecmat(force, poses[frame.link][0])
            loads.push(frame.link, cross(p, f), f)
            loads.weigh(frame.link, *loaded_point(np.zeros(1), p, f))
    wrenches = transmitted(tree, motion, loads.forces)
    return generalized(system, motion, wrenches), -matrix_of_points(system, q, motion, loads.inertias, wrenches)


def loaded_point(w: Array, p: Array, f: Array) -> Inertia:
    """The inertia (w, w p + f / 2, ...) of a point of weight w (..., 1) under a force f (..., 3).

    The point is at p (3,) or (..., 3). If f is zero, it is the inertia of a point mass.
    """
    products, (a, b) = p * f, ([0, 0, 1], [1, 2, 2])
    diagonal = products[..., _NEXT] + products[..., _LAST]
    mixed = -0.5 * (p[..., a] * f[..., b] + p[..., b] * f[..., a])
    bent = np.concatenate([diagonal, mixed], axis=-1)
    return w, w * p + 0.5 * f, w * steiner(p, 1.0) + bent


def drift_matrix(joint: Joint, q: Array, wrench: MotionPair) -> Array:
    """(..., k, k) the symmetric D with u^T D u = wrench . drift(q, u), which is a quadratic form in u (..., k)."""
    units, k = np.eye(joint.nu), joint.nu

    def form(u: Array) -> Array:
        c_omega, c_v = joint.drift(q, u + 0.0 * q[..., :1])
        return dot(wrench[0], c_omega) + dot(wrench[1], c_v)

    own = [form(u) for u in units]
    entries = {(i, i): x for i, x in enumerate(own)}
    for i in range(k):
        for j in range(i):
            entries[i, j] = entries[j, i] = 0.5 * (form(units[i] + units[j]) - own[i] - own[j])
    flat = np.broadcast_arrays(*(entries[i, j] for i in range(k) for j in range(k)), subok=True)
    D = np.stack(flat, axis=-1)
    return D.reshape((*D.shape[:-1], k, k))
