"""Derivatives of inverse dynamics by recursions over the links.

A small motion dq_k of a joint carries all links beyond it along its column Phi_k of the subspace. In the axes of these
links, velocities then change by m and accelerations by n + m x v. The m and n are the same for all of them:

    m = v_p x Phi + d(S u),    n = a_p x Phi + v_p x m + v x d(S u) + d(S udot + c),    of dq_k,
    m = Phi,                   n = (v_p + v) x Phi + dc,                              of du_k,

Here v_p and a_p are the motion of the parent. The d are derivatives in the axes of the joint's child: zero for joints
of a constant subspace. I is the inertia of link i and all that it carries. B is their Coriolis matrix, which acts on
the angular part of m alone. Their force changes by I n + 2 B m. It also turns with the links, by Phi x* f.

Sources: S. Singh, R. P. Russell, P. M. Wensing, Efficient analytical derivatives of rigid-body dynamics using spatial
vector algebra, IEEE Robot. Autom. Lett. 7, 2022 (joints of a constant subspace, in world axes); J. Carpentier, N.
Mansard, Analytical derivatives of rigid body dynamics algorithms, RSS 2018.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.dynamics import articulated
from myoquat.dynamics.composite import Inertia, composites, dense
from myoquat.dynamics.elimination import Elimination
from myoquat.dynamics.inverse import link_forces, passive_force, rotor_inertia, transmitted
from myoquat.dynamics.sensitivity.columns import (
    AngularForce,
    Columns,
    columns_of,
    columns_to_parent,
    force_cross,
    inertia_times_columns,
    plus,
    transposed,
    turning_of,
    work,
)
from myoquat.dynamics.sensitivity.responses import (
    Carried,
    Crossing,
    Mobility,
    Response,
    response_of,
    turned,
)
from myoquat.joints.motion import Pair, accelerations, kinematics
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.multibody.tree import WORLD, Link
from myoquat.joints.vectors import joined_matrices, mirrored, skew
from myoquat.kernels.symbolic.arrays import as_array, may_be_nonzero
from myoquat.kernels.tracing.derivatives import jacobian_at

__all__ = ["Source", "has_recursion", "inverse_derivatives", "sources_of"]


Blocks = dict[tuple[int, int], Any]  # (first row, first column) -> block
AT_REST: Pair = (np.zeros(3), np.zeros(3))


def has_recursion(system: ArticulatedSystem) -> bool:
    """Whether the recursions hold for a system: no link follows the joint of another one."""
    return not any(link.follows for link in system.tree.links)


def inverse_derivatives(
    system: ArticulatedSystem, q: Array, u: Array, udot: Array, f_ext: Array | None = None
) -> Array:
    """(..., nu, 3 nu) of tau by a small motion, by u and by udot, the last M."""
    recursion = _Recursion(system, q, u, udot, f_ext)
    for i in range(len(system.tree.links)):
        recursion.fill(i)
    by_q, by_u, M = (dense(system, blocks) for blocks in (recursion.by_q, recursion.by_u, recursion.M))
    M = M + np.diag(rotor_inertia(system))
    own = passive_derivatives(system, q, u)
    if own is not None:
        by_q, by_u = by_q + own[..., : system.nu], by_u + own[..., system.nu :]
    return joined_matrices([by_q, by_u, M])


def passive_derivatives(system: ArticulatedSystem, q: Array, u: Array) -> Array | None:
    """(..., nu, 2 nu) of the springs, dampers and rotors of the joints by a small motion and by u; None where there
    are none."""
    nu = system.nu
    acting = [x for body in system.bodies for x in (body.damping, body.stiffness, body.rotor_inertia)]
    if not nu or not any(map(may_be_nonzero, acting)):
        return None
    return jacobian_at(
        lambda d: passive_force(system, system.displaced(q, d[..., :nu]), u + d[..., nu:]), np.zeros(2 * nu), like=q
    )


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
        self.turning = None if f_ext is None else self._composed(turning_of(system, self.motion, f_ext))
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

    def _columns(self, i: int) -> Columns:
        link, motion = self.tree.links[i], self.motion
        parent = (AT_REST, self.root)
        if link.parent != WORLD:
            parent = motion.velocities[link.parent], self.accelerations[link.parent]
        state = self.q[..., link.q], self.u[..., link.u], self.udot[..., link.u]
        placed = motion.transforms[i], motion.subspaces[i]
        return columns_of(link, placed, parent, motion.velocities[i], state, self.forces[i])

    def fill(self, i: int) -> None:
        """The blocks of link i and every link j that carries it."""
        link, own, coriolis = self.tree.links[i], self.columns[i], self.coriolis[i]
        if link.u.stop == link.u.start:
            return
        of_q = plus(coriolis.times(own.m[0]), inertia_times_columns(self.inertias[i], own.n))
        of_u = plus(coriolis.times(own.phi[0]), inertia_times_columns(self.inertias[i], own.n_of_u))
        of_udot = inertia_times_columns(self.inertias[i], own.phi)
        rows, turned_rows = coriolis.transposed_times(own.phi), None
        if self.turning is not None:
            of_q = plus(of_q, self.turning[i].times(own.phi[0]))
            turned_rows = self.turning[i].transposed_times(own.phi)
        at = link.u.start, link.u.start
        self.by_q[at] = work(own.phi, of_q) + own.dS
        self.by_u[at] = work(own.phi, of_u)
        self.M[at] = mirrored(work(own.phi, of_udot))
        carried = [plus(of_q, force_cross(own.phi, self.forces[i])), of_u, of_udot]
        while (parent := self.tree.links[i].parent) != WORLD:
            R, _ = transform = self.motion.transforms[i]
            carried = [columns_to_parent(transform, columns) for columns in carried]
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
        self.by_q[up], self.by_u[up] = work(columns.phi, of_q), work(columns.phi, of_u)
        self.M[up] = work(columns.phi, of_udot)
        self.M[down] = transposed(self.M[up])
        own = transposed(rows[0])
        self.by_q[down] = own @ columns.m[0] + work(of_udot, columns.n)
        self.by_u[down] = own @ columns.phi[0] + work(of_udot, columns.n_of_u)
        if rows[1] is not None:
            self.by_q[down] = self.by_q[down] + transposed(rows[1]) @ columns.phi[0]


# --------------------------------------------------------------------------------------------------------------
#
# The joints of a tree as sources of changes: what a small motion, a speed and a torque of each changes.
#
# The mathematics is in `myoquat.dynamics.sensitivity.forward_recursions`.


@dataclass(frozen=True)
class Source:
    """A joint as a source of changes.

    crossing  what forces from beyond it find.
    own       (..., nu, nu) each: the entries of the joint itself by dq, du and torques.
    passed    the forces that it passes on to its parent, about its own origin.
    mobility  of its link.
    origin    (..., 3) the joint's, on the parent.
    """

    link: Link
    crossing: Crossing
    own: tuple[Any, Any, Any]
    passed: Carried
    mobility: Mobility
    origin: Any

    @property
    def indices(self) -> list[int]:
        """Of its velocities in u."""
        return list(range(self.link.u.start, self.link.u.stop))

    @classmethod
    def of(
        cls, response: Response, columns: Columns, placed: tuple[Link, Pair], P: Pair, above: Mobility | None,
        loads: tuple[Pair, Any, Any],
    ) -> "Source":  # fmt: skip
        """The source of a joint.

        placed  link and transform
        above   the parent's mobility, None for the ground
        loads   what the joint transmits, and the derivatives t of its own torques by dq and du
        """
        (link, transform), (force, *own_torques) = placed, loads
        nu, a, phi = link.joint.nu, P[0].shape[-1], columns.phi
        ws = _stacked(columns.m[0], phi[0], a), _stacked(phi[0], np.zeros((3, nu)), a)
        found = []
        for n, w, t in zip((columns.n, columns.n_of_u), ws, own_torques, strict=True):
            coriolis = P[0] @ w, P[1] @ w
            yielded = response.yielded(response.along(coriolis) + response.torque_along(t))
            beta = response.moved(n, yielded)
            found.append((response.udot(n, yielded), beta, response.transmitted(beta, coriolis, t)))
        (du_q, beta_q, F_q), (du_u, beta_u, F_u) = found
        forces = plus(F_q, force_cross(phi, force)), F_u, response.W
        yielded_by_w = response.yielded(response.along(P))
        V = response.moved(None, response.yielded(response.torque_along(-np.eye(nu))))
        R = None if above is None else transform[0]
        crossing = Crossing(R, response.yields, yielded_by_w, (beta_q, beta_u), ws, V)
        own = du_q, du_u, mirrored(response.D_inverse)
        hung = None if above is None else above.in_child(transform)
        if hung is not None:
            crossing, own = _with_parent(response, crossing, own, [hung.times(F) for F in forces], forces)
        q, u, tau = ((transform[0] @ n, transform[0] @ f) for n, f in forces)
        rows = turned(transform[0], -transposed(response.udot(None, yielded_by_w)))
        return cls(link, crossing, own, Carried(q, u, tau, rows), response.mobility(hung), transform[1])


def _with_parent(
    response: Response, crossing: Crossing, own: tuple[Any, Any, Any], back: Sequence[Pair], forces: Sequence[Pair]
) -> tuple[Crossing, tuple[Any, Any, Any]]:
    """A joint and its own entries where the forces that it passes on accelerate its parent by the negative of
    `back`."""
    moved = []
    for a, (b_omega, b_v) in zip((*crossing.beta, crossing.V), back, strict=True):
        nothing = np.zeros((response.along((b_omega, b_v)).shape[-2], b_omega.shape[-1]))
        moved.append(plus(a, response.moved((-b_omega, -b_v), nothing)))
    q, u, tau = (entries + work(back[2], F) for entries, F in zip(own, forces, strict=True))
    return crossing._replace(beta=(moved[0], moved[1]), V=moved[2]), (q, u, mirrored(tau))


def sources_of(system: ArticulatedSystem, q: Array, u: Array, tau: Array, f_ext: Array | None) -> list[Source]:
    """All joints, root first."""
    tree, motion = system.tree, kinematics(system.tree, q, u)
    found = articulated.eliminations_of(system, q, u, tau - passive_force(system, q, u), f_ext)
    eliminations = [elimination for elimination in found if elimination is not None]
    udots, accelerations = zip(*articulated.accelerated(system, found), strict=True)
    responses = [response_of(elimination) for elimination in eliminations]
    P = _coriolis(system, q, u, responses, None if f_ext is None else turning_of(system, motion, f_ext))
    torques = _own_torques(system, q, u)
    sources: list[Source] = []
    for i, link in enumerate(tree.links):
        p, above = link.parent, None
        parent = AT_REST, (np.zeros(3), -as_array(system.gravity))
        if p != WORLD:
            parent, above = (motion.velocities[p], accelerations[p]), sources[p].mobility
        placed = motion.transforms[i], motion.subspaces[i]
        force = _transmitted(eliminations[i], accelerations[i])
        state = q[..., link.q], u[..., link.u], udots[i]
        columns = columns_of(link, placed, parent, motion.velocities[i], state, force)
        t_q, t_u = torques[i]
        loads = force, t_q + columns.dS, t_u
        sources.append(Source.of(responses[i], columns, (link, placed[0]), P[i], above, loads))
    return sources


def _own_torques(system: ArticulatedSystem, q: Array, u: Array) -> list[tuple[Array, Array]]:
    """The derivatives (..., nu, nu) of each joint's springs and dampers by its own small motion and speed."""
    own, nu = passive_derivatives(system, q, u), system.nu
    if own is None:
        return [(np.zeros((link.joint.nu, link.joint.nu)),) * 2 for link in system.tree.links]
    rows = [(own[..., link.u, :], link.u) for link in system.tree.links]
    return [(block[..., :nu][..., own], block[..., nu:][..., own]) for block, own in rows]


def _transmitted(elimination: Elimination, acceleration: Pair) -> Pair:
    """(n, f) that a joint transmits."""
    n, f = elimination.body.times(acceleration)
    return n + elimination.body.n, f + elimination.body.f


def _coriolis(
    system: ArticulatedSystem, q: Array, u: Array, responses: Sequence[Response], turning: list[AngularForce] | None
) -> list[Pair]:
    """P of every link, (..., 3, a) each; a = 3 or, with wrenches that keep their axes as the links turn, 6."""
    tree, motion = system.tree, kinematics(system.tree, q, u)
    found: list[Pair] = []
    for i, link in enumerate(tree.links):
        own = [AngularForce.coriolis(link, motion.velocities[i])] + ([] if turning is None else [turning[i]])
        found.append((joined_matrices([x.upper for x in own]), joined_matrices([skew(x.arm) for x in own])))
    for i in reversed(range(len(found))):
        parent = tree.links[i].parent
        if parent != WORLD:
            R = motion.transforms[i][0]
            moved = columns_to_parent(motion.transforms[i], responses[i].passed(found[i]))
            n, f = (transposed(turned(R, transposed(part))) for part in moved)
            found[parent] = plus(found[parent], (n, f))
    return found


def _stacked(first: Any, second: Any, a: int) -> Any:
    """(..., a, k) w: the first three rows, and three more where there are six."""
    return first if a == 3 else transposed(joined_matrices([transposed(first), transposed(second)]))
