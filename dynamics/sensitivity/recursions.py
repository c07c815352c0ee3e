"""Derivatives of inverse and of forward dynamics by a recursion over the links.

A small motion dq_k of a joint carries all links beyond it along its column Phi_k of the subspace. In the axes of these
links, velocities then change by m and accelerations by n + m x v. The m and n are the same for all of them:

    m = v_p x Phi + d(S u),    n = a_p x Phi + v_p x m + v x d(S u) + d(S udot + c),    of dq_k,
    m = Phi,                   n = (v_p + v) x Phi + dc,                              of du_k,

Here v_p and a_p are the motion of the parent. The d are derivatives in the axes of the joint's child: zero for joints
of a constant subspace. I is the inertia of link i and all that it carries. B is their Coriolis matrix, which acts on
the angular part of m alone. Their force changes by I n + 2 B m. It also turns with the links, by Phi x* f.

Columns of motions (omega, v) and of forces (n, f) are pairs of (..., 3, k). In the axes of one link each block of two
joints is a product of such columns. The derivatives of forward dynamics are -M^-1 times those of inverse dynamics at
the same motion.

Sources: S. Singh, R. P. Russell, P. M. Wensing, Efficient analytical derivatives of rigid-body dynamics using spatial
vector algebra, IEEE Robot. Autom. Lett. 7, 2022 (joints of a constant subspace, in world axes); J. Carpentier, N.
Mansard, Analytical derivatives of rigid body dynamics algorithms, RSS 2018.
"""

from typing import Any, NamedTuple

import numpy as np

from myoquat.core import Array, Pair
from myoquat.dynamics.composite import (
    composites,
    dense,
    force_columns,
    moving_pairs,
    pair_products,
    to_branch_forces,
    to_branch_motions,
    work,
)
from myoquat.dynamics.factor import Metric, columns_solved
from myoquat.dynamics.inverse import body_wrenches, inverse, link_forces, passive_force, rotor_inertia, transmitted
from myoquat.joints import ArticulatedSystem
from myoquat.joints.motion import Motion, accelerations, carried_sums, inertia_times, kinematics, to_child, world_poses
from myoquat.joints.multibody.tree import WORLD, Link, Tree
from myoquat.joints.vectors import full, joined, joined_matrices, matvec, mirrored, row_cross, skew, transpose
from myoquat.kernels.symbolic.arrays import as_array, is_symbolic, may_be_nonzero
from myoquat.kernels.tracing.derivatives import jacobian_at


def has_recursion(system: ArticulatedSystem) -> bool:
    """Whether the recursion holds for a system: no link follows the joint of another one."""
    return not any(link.follows for link in system.tree.links)


def forward_derivatives(system: ArticulatedSystem, q: Array, u: Array, tau: Array, f_ext: Array | None = None) -> Array:
    """(..., nu, 3 nu) of udot by a small motion, by u and by tau, the last M^-1."""
    nu, metric = system.nu, Metric.at(system, q)
    udot = metric.solve(tau - inverse(system, q, u, None, f_ext))
    of_tau = inverse_derivatives(system, q, u, udot, f_ext)[..., : 2 * nu]
    found = columns_solved(*metric, joined_matrices([-of_tau, np.eye(nu)]))
    return joined_matrices([found[..., : 2 * nu], mirrored(found[..., 2 * nu :])])


def inverse_derivatives(
    system: ArticulatedSystem, q: Array, u: Array, udot: Array, f_ext: Array | None = None
) -> Array:
    """(..., nu, 3 nu) of tau by a small motion, by u and by udot, the last M."""
    tree, joints = system.tree, _joints(system, (q, u, udot), f_ext)
    pairs = moving_pairs(tree)
    above = pair_products(pairs, [joint.phi for joint in joints], [joint.forces for joint in joints])
    below = pair_products(pairs, [joint.changes for joint in joints], [joint.rows for joint in joints])
    parts: tuple[dict[tuple[int, int], Any], ...] = {}, {}, {}  # by q, by u and M, blocks by their first indices in u
    for i, joint in enumerate(joints):
        blocks = [(i, i, np.split(joint.own, 3, axis=-1))]
        for j in (j for j, k in pairs if k == i):
            up = np.split(above[j, i], 3, axis=-1)
            blocks += [(j, i, up), (i, j, [*np.split(transpose(below[j, i]), 2, axis=-1), transpose(up[2])])]
        for row, column, block in blocks if joint.own.size else ():
            place = tree.links[row].u.start, tree.links[column].u.start
            for part, entries in zip(parts, block, strict=True):
                part[place] = entries
    by_q, by_u, M = (dense(system, part) for part in parts)
    acting = [x for body in system.bodies for x in (body.damping, body.stiffness, body.rotor_inertia)]
    if nu := system.nu * any(map(may_be_nonzero, acting)):
        own = jacobian_at(
            lambda d: passive_force(system, system.displaced(q, d[..., :nu]), u + d[..., nu:]), np.zeros(2 * nu), like=q
        )
        by_q, by_u = by_q + own[..., :nu], by_u + own[..., nu:]
    return joined_matrices([by_q, by_u, M + np.diag(rotor_inertia(system))])


class _Joint(NamedTuple):
    """What a joint of k velocities brings into the blocks, in the axes of the first link of its branch.

    own      (..., k, 3 k) by its own q, u and udot
    phi      (..., 6, k) the columns Phi
    forces   (..., 6, 3 k) the changes of its force by q, u and udot
    changes  (..., 9, 2 k) n and the angular part of m, of dq and of du; (..., 12, 2 k) with external wrenches
    rows     (..., 9, k) the force by udot, and what B makes of Phi; what turning wrenches make of it
    """

    own: Any
    phi: Any
    forces: Any
    changes: Any
    rows: Any


def _joints(system: ArticulatedSystem, state: tuple[Array, Array, Array], f_ext: Array | None) -> list[_Joint]:
    tree, (q, u, udot) = system.tree, state
    motion, links = kinematics(tree, q, u), tree.links
    forces = transmitted(tree, motion, link_forces(system, tree, motion, udot, f_ext))
    inertias = composites(tree, motion, [(link.mass, link.moment, link.inertia) for link in links])
    coriolis = _composed(tree, motion, list(map(AngularForce.coriolis, links, motion.velocities)))
    turning = [None] * len(links) if f_ext is None else _composed(tree, motion, turning_of(system, motion, f_ext))
    moving = list(zip(motion.velocities, accelerations(tree, motion, udot, system.gravity), strict=True))
    root: tuple[Pair, Pair] = (np.zeros(3), np.zeros(3)), (np.zeros(3), -as_array(system.gravity))
    found = []
    for i, (link, pose) in enumerate(zip(links, world_poses(tree, motion, in_branch=True), strict=True)):
        phi, own_state = motion.subspaces[i], (q[..., link.q], u[..., link.u], udot[..., link.u])
        v_p, a_p = (to_child(motion.transforms[i], x) for x in (root if link.parent == WORLD else moving[link.parent]))
        m, n, n_of_u, dS = _columns(link, phi, (v_p, a_p), motion.velocities[i], own_state, forces[i])
        of_q = plus(coriolis[i].times(m[0]), force_columns(inertias[i], n))
        of_u = plus(coriolis[i].times(phi[0]), force_columns(inertias[i], n_of_u))
        of_udot = force_columns(inertias[i], phi)
        rows, changes = [coriolis[i].transposed_times(phi)], [[m[0], phi[0]]]
        if (turned := turning[i]) is not None:
            of_q = plus(of_q, turned.times(phi[0]))
            rows, changes = [*rows, turned.transposed_times(phi)], [*changes, [phi[0], np.zeros(phi[0].shape)]]
        own = joined_matrices([work(phi, of_q) + dS, work(phi, of_u), mirrored(work(phi, of_udot))])
        R, _ = pose
        carried = [to_branch_forces(pose, x) for x in (plus(of_q, _force_cross(phi, forces[i])), of_u, of_udot)]
        moved = joined_matrices([to_branch_motions(pose, x) for x in (n, n_of_u)])
        found.append(_Joint(
            own, to_branch_motions(pose, phi), joined_matrices(carried),
            joined_matrices([moved, *(joined_matrices([R @ x for x in pair]) for pair in changes)], -2),
            joined_matrices([carried[2], *(R @ x for x in rows)], -2),
        ))  # fmt: skip
    return found


def _composed(tree: Tree, motion: Motion, own: list["AngularForce"]) -> list["AngularForce"]:
    """Of every link and all that it carries."""
    return [AngularForce(*x) for x in carried_sums(tree, motion, own, lambda X, x: AngularForce(*x).to_parent(X))]


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

    def times(self, omega: Array) -> Pair:
        """(n, f), columns (..., 3, k), of angular velocities in columns (..., 3, k)."""
        return self.upper @ omega, row_cross(self.arm, omega)

    def transposed_times(self, motion: Pair) -> Array:
        """(..., 3, k) the rows that give motion . (n, f), columns of motions (..., 3, k)."""
        return transpose(self.upper) @ motion[0] - row_cross(self.arm, motion[1])

    def to_parent(self, transform: Pair) -> "AngularForce":
        """About the parent's origin, in its axes."""
        R, p = transform
        arm = matvec(R, self.arm)
        return AngularForce(R @ self.upper @ transpose(R) + row_cross(p, skew(arm)), arm)


def _columns(
    link: Link, phi: Pair, parent: tuple[Pair, Pair], v: Pair, state: tuple[Array, Array, Array], force: Pair
) -> tuple[Pair, Pair, Pair, Any]:
    """m and n of the small motions of a joint, n of du, all (..., 3, k) twice, and (..., k, k) what the change of the
    joint's own subspace adds to its torque.

    phi     the columns of its subspace
    parent  the velocity and acceleration of the link that carries it, in its link's axes
    v       the velocity of its link
    state   its q, u and udot
    force   what it transmits
    """
    (v_p, a_p), (q, u, udot), joint, k = parent, state, link.joint, link.joint.nu
    m, n, n_of_u = (
        _motion_cross(v_p, phi),
        _motion_cross(a_p, phi),
        plus(_motion_cross(v_p, phi), _motion_cross(v, phi)),
    )
    dS: Any = 0.0

    def entries(d: Array) -> Array:
        """S u, S udot + c, c and S, of the subspace S and the drift c, after a small motion and a change of u."""
        moved, faster = joint.displaced(q, d[..., :k]), u + d[..., k:]
        S, c = joined_matrices(joint.subspace(moved), -2), joined(joint.drift(moved, faster))
        parts = [matvec(S, u), matvec(S, udot) + c, c, S.reshape((*S.shape[:-2], 6 * k))]
        return joined([*parts, d[..., :0]])

    known = (*joint.subspace(q), *joint.drift(q, u)) if is_symbolic(q) else ()
    if k and not (known and all(isinstance(entry, float) for x in known for entry in np.asarray(x).flat)):
        found = jacobian_at(entries, np.zeros((*np.broadcast_shapes(q.shape[:-1], u.shape[:-1]), 2 * k)), like=q)
        by_q, by_u = found[..., :k], found[..., k:]
        of_velocity, of_acceleration, of_drift = (
            (by[..., i : i + 3, :], by[..., i + 3 : i + 6, :]) for by, i in ((by_q, 0), (by_q, 6), (by_u, 12))
        )
        m = plus(m, of_velocity)
        n = plus(n, plus(_motion_cross(v, of_velocity), of_acceleration))
        n_of_u = plus(n_of_u, of_drift)
        subspace = by_q[..., 18:, :].reshape((*by_q.shape[:-2], 6, k, k))
        dS = np.sum(subspace * joined(force)[..., None, None], axis=-3)
    return m, plus(n, _motion_cross(v_p, m)), n_of_u, dS


def turning_of(system: ArticulatedSystem, motion: Motion, f_ext: Array) -> list[AngularForce]:
    """The change of f_ext in the axes of the links when they turn by w: (w x n, w x f) at each body's origin. The
    wrenches keep their world axes."""
    total = [AngularForce(np.zeros((3, 3)), np.zeros(3)) for _ in system.tree.links]
    for link, origin, (n, f) in body_wrenches(system, system.tree, motion, f_ext):
        upper, arm = total[link]
        total[link] = AngularForce(upper - skew(n) - row_cross(origin, skew(f)), arm - f)
    return total


# ---- columns of motions and forces ----------------------------------------------------------------------------


def plus(a: Pair, b: Pair) -> Pair:
    return a[0] + b[0], a[1] + b[1]


def _motion_cross(v: Pair, m: Pair) -> Pair:
    """v x m of a motion v (..., 3) each and columns m."""
    return row_cross(v[0], m[0]), row_cross(v[0], m[1]) + row_cross(v[1], m[0])


def _force_cross(m: Pair, force: Pair) -> Pair:
    """m x* f of columns m and a force (n, f)."""
    n, f = force
    return -row_cross(n, m[0]) - row_cross(f, m[1]), -row_cross(f, m[0])
