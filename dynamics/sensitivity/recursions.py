"""Derivatives of inverse and forward dynamics by recursions over the links.

A small motion dq_k of a joint carries all links beyond it along its column Phi_k of the subspace. In the axes of these
links, velocities then change by m and accelerations by n + m x v, with the same m and n for all of them:

    m = v_p x Phi + d(S u),    n = a_p x Phi + v_p x m + v x d(S u) + d(S udot + c),    of dq_k,
    m = Phi,                   n = (v_p + v) x Phi + dc,                              of du_k,

v_p and a_p the motion of the parent, d the derivatives in the axes of the joint's child: zero for joints of a constant
subspace. The force of link i and all that it carries changes by I n + 2 B m, I their inertia and B their Coriolis
matrix, which acts on the angular part of m alone. It also turns with the links, by Phi x* f.

Sources: S. Singh, R. P. Russell, P. M. Wensing, Efficient analytical derivatives of rigid-body dynamics using spatial
vector algebra, IEEE Robot. Autom. Lett. 7, 2022 (joints of a constant subspace, in world axes); J. Carpentier, N.
Mansard, Analytical derivatives of rigid body dynamics algorithms, RSS 2018 (forward dynamics through M^-1).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from myoquat.core.typing import Array
from myoquat.dynamics import articulated
from myoquat.dynamics.composite import Inertia, composites, dense
from myoquat.dynamics.factor import ancestors, factor, solve
from myoquat.dynamics.inverse import link_forces, transmitted
from myoquat.dynamics.passive import passive_force, rotor_inertia
from myoquat.joints.motion import Motion, Pair, accelerations, inertia_times, kinematics, to_child, world_poses
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.multibody.tree import WORLD, Link
from myoquat.joints.vectors import full, matvec, mirrored, row_cross, skew, vecmat
from myoquat.kernels.symbolic.arrays import as_array, is_symbolic, may_be_nonzero
from myoquat.kernels.tracing.derivatives import jacobian_at

__all__ = ["forward_derivatives", "has_recursion", "inverse_derivatives"]

Blocks = dict[tuple[int, int], Any]  # (first row, first column) -> block


def has_recursion(system: ArticulatedSystem) -> bool:
    """Whether the recursions hold for a system: no link follows the joint of another one."""
    return not any(link.follows for link in system.tree.links)


def forward_derivatives(system: ArticulatedSystem, q: Array, u: Array, tau: Array, f_ext: Array | None = None) -> Array:
    """(..., nu, 3 nu) of udot by a small motion, by u and by tau: -M^-1 of those of inverse dynamics, and M^-1."""
    nu = system.nu
    udot = articulated.forward(system, q, u, tau, f_ext)
    D = inverse_derivatives(system, q, u, udot, f_ext)
    order = ancestors(system)
    F = factor(order, D[..., 2 * nu :])
    unit = np.broadcast_to(np.eye(nu), (*D.shape[:-2], nu, nu))
    found = solve(order, F, np.concatenate([-D[..., : 2 * nu], unit], axis=-1))
    result: Array = np.concatenate([found[..., : 2 * nu], mirrored(found[..., 2 * nu :])], axis=-1)
    return result


def inverse_derivatives(
    system: ArticulatedSystem, q: Array, u: Array, udot: Array, f_ext: Array | None = None
) -> Array:
    """(..., nu, 3 nu) of tau by a small motion, by u and by udot, the last M."""
    recursion = _Recursion(system, q, u, udot, f_ext)
    for i in range(len(system.tree.links)):
        recursion.fill(i)
    by_q, by_u, M = (dense(system, blocks) for blocks in (recursion.by_q, recursion.by_u, recursion.M))
    M = M + np.diag(rotor_inertia(system))
    if system.nu and any(may_be_nonzero(body.damping) or may_be_nonzero(body.stiffness) for body in system.bodies):
        nu = system.nu
        own = jacobian_at(
            lambda d: passive_force(system, system.displaced(q, d[..., :nu]), u + d[..., nu:]), np.zeros(2 * nu), like=q
        )
        by_q, by_u = by_q + own[..., :nu], by_u + own[..., nu:]
    return np.concatenate(np.broadcast_arrays(by_q, by_u, M, subok=True), axis=-1)


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
        return _transposed(self.upper) @ motion[0] - row_cross(self.arm, motion[1])

    def to_parent(self, transform: Pair) -> "AngularForce":
        """About the parent's origin, in its axes."""
        R, p = transform
        arm = matvec(R, self.arm)
        return AngularForce(R @ self.upper @ _transposed(R) + row_cross(p, skew(arm)), arm)


@dataclass(frozen=True)
class _Columns:
    """Of the small motions of one joint, columns (..., 3, k): Phi, and m and n of dq; n of du, whose m is Phi.

    dS: (..., k, k) what the change of the joint's own subspace adds to its torque."""

    phi: Pair
    m: Pair
    n: Pair
    n_of_u: Pair
    dS: Any


class _Recursion:
    """The derivatives of inverse dynamics in blocks, by the first indices of their rows and columns in u."""

    def __init__(self, system: ArticulatedSystem, q: Array, u: Array, udot: Array, f_ext: Array | None) -> None:
        self.tree, self.q, self.u, self.udot = system.tree, q, u, udot
        self.motion = kinematics(self.tree, q, u)
        links, velocities = self.tree.links, self.motion.velocities
        self.accelerations = accelerations(self.tree, self.motion, udot, system.gravity)
        self.root = np.zeros(3), -as_array(system.gravity)
        forces = link_forces(system, self.tree, self.motion, udot, f_ext)
        self.forces = transmitted(self.tree, self.motion, forces)
        own: list[Inertia] = [(link.mass, link.moment, link.inertia) for link in links]
        self.inertias = composites(self.tree, self.motion, own)
        self.coriolis = self._composed(
            [AngularForce.coriolis(link, velocity) for link, velocity in zip(links, velocities, strict=True)]
        )
        self.turning = None if f_ext is None else self._composed(_turning(system, self.motion, f_ext))
        self.columns = [self._columns(i) for i in range(len(links))]
        self.by_q: Blocks = {}
        self.by_u: Blocks = {}
        self.M: Blocks = {}

    def _composed(self, own: list[AngularForce]) -> list[AngularForce]:
        """Of every link and all that it carries."""
        total = list(own)
        for i in reversed(range(len(total))):
            if (parent := self.tree.links[i].parent) != WORLD:
                total[parent] = total[parent].plus(total[i].to_parent(self.motion.transforms[i]))
        return total

    def _columns(self, i: int) -> _Columns:
        link, motion = self.tree.links[i], self.motion
        phi, v, transform = motion.subspaces[i], motion.velocities[i], motion.transforms[i]
        if link.parent == WORLD:
            v_p, a_p = (np.zeros(3), np.zeros(3)), to_child(transform, self.root)
        else:
            v_p, a_p = (to_child(transform, found[link.parent]) for found in (motion.velocities, self.accelerations))
        own = _OwnChange.of(link, self.q[..., link.q], self.u[..., link.u], self.udot[..., link.u])
        m, n = _motion_cross(v_p, phi), _motion_cross(a_p, phi)
        n_of_u = _plus(_motion_cross(v_p, phi), _motion_cross(v, phi))
        dS: Any = 0.0
        if own is not None:
            m = _plus(m, own.velocity)
            n = _plus(n, _plus(_motion_cross(v, own.velocity), own.acceleration))
            n_of_u = _plus(n_of_u, own.drift_by_u)
            dS = own.projected(self.forces[i])
        n = _plus(n, _motion_cross(v_p, m))
        return _Columns(phi, m, n, n_of_u, dS)

    def fill(self, i: int) -> None:
        """The blocks of link i and every link j that carries it."""
        link, own, coriolis = self.tree.links[i], self.columns[i], self.coriolis[i]
        if link.u.stop == link.u.start:
            return
        of_q = _plus(coriolis.times(own.m[0]), _inertia_times(self.inertias[i], own.n))
        of_u = _plus(coriolis.times(own.phi[0]), _inertia_times(self.inertias[i], own.n_of_u))
        of_udot = _inertia_times(self.inertias[i], own.phi)
        rows, turned_rows = coriolis.transposed_times(own.phi), None
        if self.turning is not None:
            of_q = _plus(of_q, self.turning[i].times(own.phi[0]))
            turned_rows = self.turning[i].transposed_times(own.phi)
        at = link.u.start, link.u.start
        self.by_q[at] = _work(own.phi, of_q) + own.dS
        self.by_u[at] = _work(own.phi, of_u)
        self.M[at] = mirrored(_work(own.phi, of_udot))
        carried = [_plus(of_q, _force_cross(own.phi, self.forces[i])), of_u, of_udot]
        while (parent := self.tree.links[i].parent) != WORLD:
            R, _ = transform = self.motion.transforms[i]
            carried = [_columns_to_parent(transform, columns) for columns in carried]
            rows = R @ rows
            turned_rows = None if turned_rows is None else R @ turned_rows
            self._fill_pair(link, parent, carried, (rows, turned_rows))
            i = parent

    def _fill_pair(self, link: Link, j: int, carried: list[Pair], rows: tuple[Array, Array | None]) -> None:
        """The two blocks of a link and a link j that carries it, in the axes of j."""
        above, columns = self.tree.links[j], self.columns[j]
        if above.u.stop == above.u.start:
            return
        of_q, of_u, of_udot = carried
        up, down = (above.u.start, link.u.start), (link.u.start, above.u.start)
        self.by_q[up], self.by_u[up] = _work(columns.phi, of_q), _work(columns.phi, of_u)
        self.M[up] = _work(columns.phi, of_udot)
        self.M[down] = _transposed(self.M[up])
        own = _transposed(rows[0])
        self.by_q[down] = own @ columns.m[0] + _work(of_udot, columns.n)
        self.by_u[down] = own @ columns.phi[0] + _work(of_udot, columns.n_of_u)
        if rows[1] is not None:
            self.by_q[down] = self.by_q[down] + _transposed(rows[1]) @ columns.phi[0]


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
            S = np.concatenate(np.broadcast_arrays(*joint.subspace(moved), subok=True), axis=-2)
            c = np.concatenate(np.broadcast_arrays(*joint.drift(moved, faster), subok=True), axis=-1)
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
        result: Array = np.sum(dS[..., :3, :, :] * n[..., :, None, None], axis=-3) + np.sum(
            dS[..., 3:, :, :] * f[..., :, None, None], axis=-3
        )
        return result


def _constant(x: Array) -> bool:
    return all(isinstance(entry, float) for entry in np.asarray(x).flat)


def _turning(system: ArticulatedSystem, motion: Motion, f_ext: Array) -> list[AngularForce]:
    """What the links feel of f_ext, which keeps its world axes, where they turn by w: (w x n, w x f) at each body's
    origin."""
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


def _plus(a: Pair, b: Pair) -> Pair:
    return a[0] + b[0], a[1] + b[1]


def _transposed(A: Array) -> Array:
    result: Array = np.swapaxes(A, -1, -2)
    return result


def _motion_cross(v: Pair, m: Pair) -> Pair:
    """v x m of a motion v (..., 3) each and columns m."""
    return row_cross(v[0], m[0]), row_cross(v[0], m[1]) + row_cross(v[1], m[0])


def _force_cross(m: Pair, force: Pair) -> Pair:
    """m x* f of columns m and a force (n, f)."""
    n, f = force
    return -row_cross(n, m[0]) - row_cross(f, m[1]), -row_cross(f, m[0])


def _inertia_times(inertia: Inertia, m: Pair) -> Pair:
    """(n, f) of a composite inertia and columns m."""
    mass, h, I = inertia
    return full(I) @ m[0] + row_cross(h, m[1]), as_array(mass)[..., None] * m[1] - row_cross(h, m[0])


def _columns_to_parent(transform: Pair, columns: Pair) -> Pair:
    """Forces in columns on the child as ones on the parent."""
    R, p = transform
    f = R @ columns[1]
    return R @ columns[0] + row_cross(p, f), f


def _work(motions: Pair, forces: Pair) -> Array:
    """(..., k, l) of columns of motions and of forces."""
    result: Array = _transposed(motions[0]) @ forces[0] + _transposed(motions[1]) @ forces[1]
    return result
