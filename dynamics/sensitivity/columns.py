"""Columns of motions and forces: what small motions and speeds of a joint change in the links that it carries.

The mathematics is in `myoquat.dynamics.sensitivity.recursions`. Columns are pairs of (..., 3, k): of motions (omega,
v), of forces (n, f).
"""

from typing import Any, NamedTuple

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.dynamics.composite import Inertia
from myoquat.joints.motion import Motion, Pair, inertia_times, to_child, world_poses
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.multibody.tree import WORLD, Link
from myoquat.joints.vectors import full, joined, joined_matrices, matvec, row_cross, skew, vecmat
from myoquat.kernels.symbolic.arrays import as_array, is_symbolic
from myoquat.kernels.tracing.derivatives import jacobian_at

__all__ = [
    "AngularForce",
    "Columns",
    "columns_of",
    "columns_to_parent",
    "force_cross",
    "inertia_times_columns",
    "plus",
    "times",
    "transposed",
    "turning_of",
    "work",
]


class AngularForce(NamedTuple):
    """A force (n, f) = (upper w, arm x w) that is linear in an angular velocity w: upper (..., 3, 3), arm (..., 3)."""

    upper: Any
    arm: Any

    @classmethod
    def coriolis(cls, link: Link, velocity: Pair) -> "AngularForce":
        """2 B of a link: v x* I m + m x* I v - I (v x m), in which the linear part of m cancels."""
        omega, v = velocity
        I = full(as_array(link.inertia))
        half_trace = (I[..., 0, 0] + I[..., 1, 1] + I[..., 2, 2])[..., None, None] / 2
        upper = 2.0 * (row_cross(omega, I - half_trace * np.eye(3)) - row_cross(link.moment, skew(v)))
        return cls(upper, -2.0 * inertia_times(link, velocity)[1])

    def plus(self, other: "AngularForce") -> "AngularForce":
        """Their sum."""
        return AngularForce(self.upper + other.upper, self.arm + other.arm)

    def times(self, omega: Array) -> Pair:
        """(n, f), columns (..., 3, k), of angular velocities in columns (..., 3, k)."""
        return self.upper @ omega, row_cross(self.arm, omega)

    def transposed_times(self, motion: Pair) -> Array:
        """(..., 3, k) the rows that give motion . (n, f), columns of motions (..., 3, k)."""
        return transposed(self.upper) @ motion[0] - row_cross(self.arm, motion[1])

    def to_parent(self, transform: Pair) -> "AngularForce":
        """About the parent's origin, in its axes."""
        R, p = transform
        arm = matvec(R, self.arm)
        return AngularForce(R @ self.upper @ transposed(R) + row_cross(p, skew(arm)), arm)


@dataclass(frozen=True)
class Columns:
    """Of the small motions of one joint, columns (..., 3, k): Phi, and m and n of dq; n of du, whose m is Phi.

    dS: (..., k, k) what the change of the joint's own subspace adds to its torque."""

    phi: Pair
    m: Pair
    n: Pair
    n_of_u: Pair
    dS: Any


def columns_of(
    link: Link, placed: tuple[Pair, Pair], parent: tuple[Pair, Pair], v: Pair, state: tuple[Array, Array, Array],
    force: Pair,
) -> Columns:  # fmt: skip
    """The columns of a joint.

    placed  its transform and subspace
    parent  the velocity and acceleration of the link that carries it
    v       the velocity of its own link
    state   its q, u and udot
    force   what it transmits
    """
    transform, phi = placed
    v_p, a_p = (to_child(transform, moving) for moving in parent)
    own = _OwnChange.of(link, *state)
    m, n = _motion_cross(v_p, phi), _motion_cross(a_p, phi)
    n_of_u = plus(_motion_cross(v_p, phi), _motion_cross(v, phi))
    dS: Any = 0.0
    if own is not None:
        m = plus(m, own.velocity)
        n = plus(n, plus(_motion_cross(v, own.velocity), own.acceleration))
        n_of_u = plus(n_of_u, own.drift_by_u)
        dS = own.projected(force)
    n = plus(n, _motion_cross(v_p, m))
    return Columns(phi, m, n, n_of_u, dS)


@dataclass(frozen=True)
class _OwnChange:
    """How a joint's own subspace and drift change with its small motions, in the child's axes: columns (..., 3, k)."""

    velocity: Pair  # of S u
    acceleration: Pair  # of S udot + c
    drift_by_u: Pair  # of c by u
    subspace: Any  # (..., 6, k, k) of S, rows, columns, motions

    @classmethod
    def of(cls, link: Link, q: Array, u: Array, udot: Array) -> "_OwnChange | None":
        """None for a subspace and a drift that are constant."""
        joint, k = link.joint, link.joint.nu
        if not k:
            return None

        def entries(d: Array) -> Array:
            moved, faster = joint.displaced(q, d[..., :k]), u + d[..., k:]
            S = joined_matrices(joint.subspace(moved), -2)
            c = joined(joint.drift(moved, faster))
            parts = [matvec(S, u), matvec(S, udot) + c, c, S.reshape((*S.shape[:-2], 6 * k))]
            batch = np.broadcast_shapes(*(part.shape[:-1] for part in parts), d.shape[:-1])
            whole = [np.broadcast_to(part, (*batch, part.shape[-1]), subok=True) for part in parts]
            return np.concatenate(whole, axis=-1)

        S, c = joint.subspace(q), joint.drift(q, u)
        if is_symbolic(q) and not any(is_symbolic(x) and not _constant(x) for x in (*S, *c)):
            return None
        found = jacobian_at(entries, np.zeros((*np.broadcast_shapes(q.shape[:-1], u.shape[:-1]), 2 * k)), like=q)
        by_q, by_u = found[..., :k], found[..., k:]
        return cls(
            (by_q[..., :3, :], by_q[..., 3:6, :]), (by_q[..., 6:9, :], by_q[..., 9:12, :]),
            (by_u[..., 12:15, :], by_u[..., 15:18, :]), by_q[..., 18:, :].reshape((*by_q.shape[:-2], 6, k, k)),
        )  # fmt: skip

    def projected(self, force: Pair) -> Array:
        """(..., k, k) dS^T f of a force (n, f)."""
        n, f = force
        dS = self.subspace
        return np.sum(dS[..., :3, :, :] * n[..., :, None, None], axis=-3) + np.sum(
            dS[..., 3:, :, :] * f[..., :, None, None], axis=-3
        )


def _constant(x: Array) -> bool:
    return all(isinstance(entry, float) for entry in np.asarray(x).flat)


def turning_of(system: ArticulatedSystem, motion: Motion, f_ext: Array) -> list[AngularForce]:
    """The change of f_ext in the axes of the links when they turn by w: (w x n, w x f) at each body's origin. The
    wrenches keep their world axes."""
    tree = system.tree
    poses = world_poses(tree, motion)
    total = [AngularForce(np.zeros((3, 3)), np.zeros(3)) for _ in tree.links]
    for i, name in enumerate(system.body_names):
        link, _, origin = tree.frames[name]
        if link == WORLD:
            continue
        R, _ = poses[link]
        n, f = vecmat(f_ext[..., i, 3:], R), vecmat(f_ext[..., i, :3], R)
        total[link] = total[link].plus(AngularForce(-skew(n) - row_cross(origin, skew(f)), -f))
    return total


# ---- columns of motions and forces ----------------------------------------------------------------------------


def plus(a: Pair, b: Pair) -> Pair:
    return a[0] + b[0], a[1] + b[1]


def transposed(A: Array) -> Array:
    return np.swapaxes(A, -1, -2)


def _motion_cross(v: Pair, m: Pair) -> Pair:
    """v x m of a motion v (..., 3) each and columns m."""
    return row_cross(v[0], m[0]), row_cross(v[0], m[1]) + row_cross(v[1], m[0])


def force_cross(m: Pair, force: Pair) -> Pair:
    """m x* f of columns m and a force (n, f)."""
    n, f = force
    return -row_cross(n, m[0]) - row_cross(f, m[1]), -row_cross(f, m[0])


def inertia_times_columns(inertia: Inertia, m: Pair) -> Pair:
    """(n, f) of a composite inertia and columns m."""
    mass, h, I = inertia
    return full(I) @ m[0] + row_cross(h, m[1]), as_array(mass)[..., None] * m[1] - row_cross(h, m[0])


def columns_to_parent(transform: Pair, columns: Pair) -> Pair:
    """Forces in columns on the child as ones on the parent."""
    R, p = transform
    f = R @ columns[1]
    return R @ columns[0] + row_cross(p, f), f


def work(motions: Pair, forces: Pair) -> Array:
    """(..., k, l) of columns of motions and of forces."""
    return transposed(motions[0]) @ forces[0] + transposed(motions[1]) @ forces[1]


def times(columns: Pair, x: Array) -> Pair:
    """The sums of columns with factors x (..., k, l)."""
    return columns[0] @ x, columns[1] @ x
