"""Forward dynamics by the articulated-body algorithm.

Three passes: velocities from the root on, articulated bodies towards it, accelerations from it on. The links of a small
system are written out one after the other. Those of a large one are members of a scan over the tree, with the code
of each type of link once. Source: [RBDA] R. Featherstone, Rigid Body Dynamics Algorithms, Springer 2008, table 7.1.
"""

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from myoquat.core.typing import Array, Pair
from myoquat.dynamics import factor
from myoquat.dynamics.factor import inverse3, solve_small
from myoquat.dynamics.inverse import gyroscopic, link_wrenches, passive_force
from myoquat.joints import ArticulatedSystem
from myoquat.joints.crossovers import MinRows
from myoquat.joints.motion import (
    assembled,
    inertia_times,
    kinematics,
    placement,
    to_child,
    to_parent,
    velocity_and_drift,
)
from myoquat.joints.multibody.tree import WORLD, Link
from myoquat.joints.vectors import (
    congruent,
    full,
    joined,
    joined_matrices,
    matvec,
    product_upper,
    row_cross,
    skew,
    symmetric_times,
    transpose,
    vecmat,
)
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
    if members:
        return assembled(system, _by_tree_scan(system, members))
    found = accelerated(system, eliminations_of(system, q, u, tau, f_ext))
    return assembled(system, [udot for udot, _ in found])


# ---- How the acceleration of a joint is eliminated ----------------------------------------------------------------
#
# - A joint that leaves all rotations free and nothing else (spherical, Euler) passes only the inertia of translation to
#   its parent. That is a single symmetric 3 x 3 block.
# - A floating joint passes no inertia at all.
# - Any other joint is eliminated by D = S^T I S.
#
# Articulated inertias are in blocks: n = I a_omega + H a_v, f = H^T a_omega + M a_v.


class Articulated(NamedTuple):
    """Articulated inertia (I (..., 6), H (..., 3, 3), M (..., 6)) and the force (n, f) at zero acceleration."""

    I: Any
    H: Any
    M: Any
    n: Any
    f: Any

    def plus(self, other: "Articulated") -> "Articulated":
        """Both bodies as one."""
        return Articulated(*(x + y for x, y in zip(self, other, strict=True)))


class Elimination(NamedTuple):
    """A joint whose acceleration is eliminated.

    passed  () -> the articulated body that the parent feels, in the parent's axes
    solved  a = X a_parent + c -> udot and the link's acceleration
    """

    link: Link
    transform: Pair
    drift: Pair
    passed: Callable[[], Articulated]
    solved: Callable[[Pair], tuple[Array, Pair]]


def alone(link: Link, velocity: Pair) -> Articulated:
    """A link by itself: its inertia, and the force v x* I v."""
    n, f = gyroscopic(inertia_times(link, velocity), velocity)
    M = link.mass * np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    return Articulated(link.inertia, skew(link.moment), M, n, f)


def eliminated(
    link: Link, rotor: Array | float, body: Articulated, motion: tuple[Pair, Pair, Pair], q: Array, tau: Array
) -> Elimination:
    """The elimination of a link's joint, at its q and tau. `body` is the link with all that it carries. `motion` is its
    transform, subspace and drift. `rotor` is the inertia of the joint's rotors."""
    span = "some" if may_be_nonzero(rotor) else link.joint.span
    if span == "rotations":
        ways = _rotations_eliminated(body, motion, tau, link.joint.subspace_inverse(q))
    else:
        ways = _all_eliminated(body, motion, tau) if span == "all" else _some_eliminated(body, motion, tau, rotor)
    return Elimination(link, motion[0], motion[2], *ways)


Ways = tuple[Callable[[], Articulated], Callable[[Pair], tuple[Array, Pair]]]  # passed, solved


def _rotations_eliminated(body: Articulated, motion: tuple[Pair, Pair, Pair], tau: Array, B: Array) -> Ways:
    """Spherical and Euler joints, B = S_omega^-1: omegadot = I^-1 (torque - n - H a_v)."""
    transform, _, drift = motion
    torque, inverse = vecmat(tau, B), inverse3(body.I)
    G, excess = full(inverse) @ body.H, torque - body.n

    def passed() -> Articulated:
        """M_a = M - H^T I^-1 H, felt at the parent's origin through the lever p: H' = p~ M_a, I' = p~ M_a p~^T."""
        R, p = transform
        M_a = body.M - product_upper(transpose(body.H), transpose(G))
        f = body.f + symmetric_times(M_a, drift[1]) + vecmat(excess, G)
        M = congruent(R, M_a)
        H = row_cross(p, full(M))
        return Articulated(product_upper(H, skew(p)), H, M, *to_parent(transform, (torque, f)))

    def solved(a: Pair) -> tuple[Array, Pair]:
        omegadot = symmetric_times(inverse, excess) - matvec(G, a[1])
        return matvec(B, omegadot - a[0]), (omegadot, a[1])

    return passed, solved


def _all_eliminated(body: Articulated, motion: tuple[Pair, Pair, Pair], tau: Array) -> Ways:
    """Floating joints: the body accelerates by itself, and the parent feels no more than the joint's own force
    S^-T tau, with S S^T = 1."""
    transform, (S_omega, S_v), _ = motion
    n, f = matvec(S_omega, tau), matvec(S_v, tau)

    def passed() -> Articulated:
        return Articulated(np.zeros(6), np.zeros((3, 3)), np.zeros(6), *to_parent(transform, (n, f)))

    def solved(a: Pair) -> tuple[Array, Pair]:
        """a' = I_A^-1 (force - p_A), by the Schur complement of M, which is diagonal for a lone body."""
        torque, force, M_inverse = n - body.n, f - body.f, inverse3(body.M)
        HM = body.H @ full(M_inverse)
        schur = body.I - product_upper(HM, body.H)
        a_omega = symmetric_times(inverse3(schur), torque - matvec(HM, force))
        a_v = symmetric_times(M_inverse, force - vecmat(a_omega, body.H))
        return vecmat(a_omega - a[0], S_omega) + vecmat(a_v - a[1], S_v), (a_omega, a_v)

    return passed, solved


def _some_eliminated(body: Articulated, motion: tuple[Pair, Pair, Pair], tau: Array, rotor: Array | float) -> Ways:
    """Any joint: U = I_A S, D = S^T U + rotor, I_a = I_A - U D^-1 U^T."""
    transform, (S_omega, S_v), drift = motion
    U_omega = full(body.I) @ S_omega + body.H @ S_v
    U_v = transpose(body.H) @ S_omega + full(body.M) @ S_v
    D = transpose(S_omega) @ U_omega + transpose(S_v) @ U_v
    if may_be_nonzero(rotor):
        D = D + rotor * np.eye(S_omega.shape[-1])
    excess = tau - vecmat(body.n, S_omega) - vecmat(body.f, S_v)
    found = solve_small(D, joined_matrices([excess[..., None], transpose(U_omega), transpose(U_v)]))
    rest, W_omega, W_v = found[..., 0], found[..., 1:4], found[..., 4:]  # D^-1 (excess, U^T)

    def passed() -> Articulated:
        """At the parent's origin: H' = R H R^T + p~ M', I' = R I R^T + p~ (R H R^T)^T - H' p~."""
        I = body.I - product_upper(U_omega, transpose(W_omega))
        H = body.H - U_omega @ W_v
        M = body.M - product_upper(U_v, transpose(W_v))
        c_omega, c_v = drift
        n = body.n + (symmetric_times(I, c_omega) + matvec(H, c_v)) + matvec(U_omega, rest)
        f = body.f + (vecmat(c_omega, H) + symmetric_times(M, c_v)) + matvec(U_v, rest)
        R, p = transform
        M, H, lever = congruent(R, M), R @ H @ transpose(R), skew(p)
        H_moved = H + row_cross(p, full(M))
        I = congruent(R, I) + product_upper(H, lever) + product_upper(lever, H_moved)
        return Articulated(I, H_moved, M, *to_parent(transform, (n, f)))

    def solved(a: Pair) -> tuple[Array, Pair]:
        udot = rest - matvec(W_omega, a[0]) - matvec(W_v, a[1])
        return udot, (a[0] + matvec(S_omega, udot), a[1] + matvec(S_v, udot))

    return passed, solved


# ---- link by link -------------------------------------------------------------------------------------------


def eliminations_of(
    system: ArticulatedSystem, q: Array, u: Array, tau: Array, f_ext: Array | None
) -> list[Elimination | None]:
    """How every joint is eliminated, by tau less the joints' own springs and damping; None for one that follows."""
    tree = system.tree
    motion = kinematics(tree, q, u)
    bodies = list(
        map(alone, tree.links, motion.velocities)
    )  # each by itself: its inertia, the force v x* I v less f_ext
    if f_ext is not None:
        outside = link_wrenches(system, tree, motion, f_ext)
        bodies = [Articulated(b.I, b.H, b.M, b.n - n, b.f - f) for b, (n, f) in zip(bodies, outside, strict=True)]
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
