"""The joints of a tree as sources of changes: what a small motion, a speed and a torque of each changes.

The mathematics is in `myoquat.dynamics.sensitivity.forward_recursions`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.dynamics import articulated
from myoquat.dynamics.elimination import Elimination
from myoquat.dynamics.passive import passive_force
from myoquat.dynamics.sensitivity.columns import (
    AngularForce,
    Columns,
    columns_of,
    columns_to_parent,
    force_cross,
    plus,
    transposed,
    turning_of,
    work,
)
from myoquat.dynamics.sensitivity.crossings import Carried, Crossing, joined_columns, turned
from myoquat.dynamics.sensitivity.recursions import AT_REST, passive_derivatives
from myoquat.dynamics.sensitivity.responses import Mobility, Response, response_of
from myoquat.joints.motion import Pair, kinematics
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.multibody.tree import WORLD, Link
from myoquat.joints.vectors import mirrored, skew
from myoquat.kernels.symbolic.arrays import as_array

__all__ = ["Source", "sources_of"]


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
        found.append((joined_columns([x.upper for x in own]), joined_columns([skew(x.arm) for x in own])))
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
    return first if a == 3 else transposed(joined_columns([transposed(first), transposed(second)]))
