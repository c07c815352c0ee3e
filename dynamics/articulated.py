"""Forward dynamics by the articulated-body algorithm.

Three passes: velocities from the root on, articulated bodies towards it, accelerations from it on. The links of a small
system are written out one after the other. Those of a large one are members of a scan over the tree, with the code
of each type of link once. Source: [RBDA] R. Featherstone, Rigid Body Dynamics Algorithms, Springer 2008, table 7.1.
"""

from collections.abc import Hashable
from functools import partial
from typing import Any

import numpy as np

from myoquat.core.typing import Array
from myoquat.dynamics import factor
from myoquat.dynamics.elimination import Articulated, Elimination, alone, eliminated
from myoquat.dynamics.inverse import link_wrenches, passive_force
from myoquat.joints.crossovers import MinRows
from myoquat.joints.motion import Motion, Pair, assembled, kinematics, placement, to_child, velocity_and_drift
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.multibody.tree import WORLD, Link
from myoquat.joints.vectors import joined
from myoquat.kernels.control_flow.out_of_line_call import holds_symbols
from myoquat.kernels.control_flow.tree_scan import Member, Pass, tree_scan
from myoquat.kernels.symbolic.arrays import as_array, is_symbolic, may_be_nonzero
from myoquat.kernels.tracing.context import becomes_loops

__all__ = ["accelerated", "eliminations_of", "forward"]

MIN_SCANNED_LINKS, MIN_LINKS_PER_TYPE = MinRows.TREE_SCAN, MinRows.TREE_SCAN_TYPE


def forward(system: ArticulatedSystem, q: Array, u: Array, tau: Array, f_ext: Array | None = None) -> Array:
    """(..., nu) udot with M udot + b = tau + J^T f_ext.

    Links that follow a ball joint are no part of the recursion. Where they have mass or carry links or loads, the mass
    matrix is factored instead."""
    links = system.tree.links
    parents = {link.parent for link in links}
    if any(link.follows and (f_ext is not None or i in parents or not link.is_weightless)
           for i, link in enumerate(links)):  # fmt: skip
        return factor.forward(system, q, u, tau, f_ext)
    tau = tau - passive_force(system, q, u)
    members = _members(system, q, u, tau) if f_ext is None else []
    parts = _by_tree_scan(system, members) if members else _one_by_one(system, q, u, tau, f_ext)
    return assembled(system, parts)


# ---- link by link -------------------------------------------------------------------------------------------


def _one_by_one(system: ArticulatedSystem, q: Array, u: Array, tau: Array, f_ext: Array | None) -> list[Array]:
    """[(..., nu of the joint) udot of every link]."""
    found = accelerated(system, eliminations_of(system, q, u, tau, f_ext))
    return [udot for udot, _ in found]


def eliminations_of(
    system: ArticulatedSystem, q: Array, u: Array, tau: Array, f_ext: Array | None
) -> list[Elimination | None]:
    """How every joint is eliminated, by tau less the joints' own springs and damping; None for one that follows."""
    tree = system.tree
    motion = kinematics(tree, q, u)
    bodies = _bodies(system, motion, f_ext)
    eliminations: list[Any] = [None] * len(tree.links)
    for i in reversed(range(len(tree.links))):
        link = tree.links[i]
        if link.follows:
            continue
        moved = motion.transforms[i], motion.subspaces[i], motion.drifts[i]
        rotor = system.bodies[link.body].rotor_inertia
        eliminations[i] = eliminated(link, rotor, bodies[i], moved, q[..., link.q], tau[..., link.u])
        if link.parent != WORLD:
            bodies[link.parent] = bodies[link.parent].plus(eliminations[i].passed())
    return eliminations


def _bodies(system: ArticulatedSystem, motion: Motion, f_ext: Array | None) -> list[Articulated]:
    """Every link by itself: its inertia, and the force v x* I v less f_ext."""
    found = [alone(link, velocity) for link, velocity in zip(system.tree.links, motion.velocities, strict=True)]
    if f_ext is None:
        return found
    outside = link_wrenches(system, system.tree, motion, f_ext)
    return [Articulated(b.I, b.H, b.M, b.n - n, b.f - f) for b, (n, f) in zip(found, outside, strict=True)]


def accelerated(system: ArticulatedSystem, eliminations: list[Elimination | None]) -> list[tuple[Array, Pair | None]]:
    """udot of every joint and its link's acceleration, root first; gravity as an acceleration of the world."""
    found: list[tuple[Array, Pair | None]] = []
    world = np.zeros(3), -as_array(system.gravity)
    for elimination in eliminations:
        if elimination is None:
            found.append((np.zeros(0), None))
            continue
        parent = elimination.link.parent
        above = world if parent == WORLD else found[parent][1]
        assert above is not None
        found.append(_accelerated(elimination, above))
    return found


def _accelerated(elimination: Elimination, parent: Pair) -> tuple[Array, Pair]:
    """udot and the link's acceleration from the parent's."""
    a_omega, a_v = to_child(elimination.transform, parent)
    return elimination.solved((a_omega + elimination.drift[0], a_v + elimination.drift[1]))


# ---- type by type -------------------------------------------------------------------------------------------


class _Member:
    """A link as the passes come to it, with q, u and tau of its joint."""

    def __init__(self, link: Link, row: Array, numbers: Array) -> None:
        nq, nu = link.joint.nq, link.joint.nu
        self.q, self.u, self.tau = row[:nq], row[nq : nq + nu], row[nq + nu :]
        self.link, self.rotor = link.with_numbers(numbers[:-1]), numbers[-1:]
        self.placed = placement(self.link, self.q)

    def moved(self, parent: Array) -> Array:
        """(6,) its velocity from the parent's."""
        joint, parent_velocity = self.link.joint, (parent[:3], parent[3:])
        self.velocity, self.drift = velocity_and_drift(joint, self.placed, self.q, self.u, parent_velocity)
        return joined(self.velocity)

    def passed(self, children: Array) -> Array:
        """(27,) what the parent feels, from what it feels of its children."""
        I, H, M, n, f = np.split(children, _ENDS)
        body = alone(self.link, self.velocity).plus(Articulated(I, H.reshape(3, 3), M, n, f))
        motion = *self.placed, self.drift
        self.elimination = eliminated(self.link, self.rotor, body, motion, self.q, self.tau)
        felt = self.elimination.passed()
        return joined([felt.I, felt.H.reshape(9), felt.M, felt.n, felt.f])

    def accelerated(self, parent: Array) -> Array:
        """(6,) its acceleration from the parent's."""
        self.udot, acceleration = _accelerated(self.elimination, (parent[:3], parent[3:]))
        return joined(acceleration)

    def result(self) -> Array:
        """(nu,) udot."""
        return self.udot


_ENDS = (6, 15, 21, 24)  # of I, H, M and n one after the other


def _members(system: ArticulatedSystem, q: Array, u: Array, tau: Array) -> list[Member]:
    """The links as members of a scan; none where they are few, or of many types, or where their numbers vary."""
    links = system.tree.links
    if (
        len(links) < MIN_SCANNED_LINKS
        or any(link.follows for link in links)
        or not becomes_loops(q, u, tau)
        or holds_symbols((system.gravity, *(link.joint for link in links)))
    ):
        return []
    members = []
    for link in links:
        rotor = system.bodies[link.body].rotor_inertia
        numbers = np.concatenate([link.numbers, as_array([rotor])])
        if is_symbolic(numbers):
            return []
        type_key: Hashable = link.pattern, may_be_nonzero(rotor)
        row = joined([q[..., link.q], u[..., link.u], tau[..., link.u]])
        members.append(Member(type_key, partial(_Member, link), row, numbers))
    try:
        types = {member.type_key for member in members}
    except TypeError:  # a joint of another package that has no hash
        return []
    return members if MIN_LINKS_PER_TYPE * len(types) <= len(links) else []


def _by_tree_scan(system: ArticulatedSystem, members: list[Member]) -> list[Array]:
    """[(nu of the joint) udot of every link]."""
    links = system.tree.links
    gravity = np.concatenate([np.zeros(3), -as_array(system.gravity)])
    passes = (
        Pass(_Member.moved, 6, np.zeros(6)), Pass(_Member.passed, 27), Pass(_Member.accelerated, 6, gravity),
    )  # fmt: skip
    return tree_scan(
        members, [link.parent for link in links], passes, _Member.result, [link.joint.nu for link in links]
    )
