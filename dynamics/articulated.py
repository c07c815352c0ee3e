"""Forward dynamics by the articulated-body algorithm.

Three passes: velocities from the root on, articulated bodies towards it, accelerations from it on. The links of a small
system are written out one after the other. Those of a large one are rows of a loop for every pass, with the code of
each type of link once. Source: [RBDA] R. Featherstone, Rigid Body Dynamics Algorithms, Springer 2008, table 7.1.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from myoquat.core import Array, Pair
from myoquat.dynamics import factor
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
from myoquat.kernels.control_flow.table_loop import Rows
from myoquat.kernels.symbolic.arrays import as_array, is_symbolic, may_be_nonzero
from myoquat.kernels.tracing.context import becomes_loops

from .factor import inverse3, solve_small
from .inverse import gyroscopic, link_wrenches, passive_force

MIN_LOOPED_LINKS, MIN_LINKS_PER_TYPE = MinRows.LINKS, MinRows.LINKS_PER_TYPE


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
    types = _types_of_links(system, q, u, tau) if f_ext is None else []
    udot = _by_rows(system, types, q, u, tau) if types else _link_by_link(system, q, u, tau, f_ext)
    return assembled(system, udot)


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


def alone(link: Link, velocity: Pair) -> Articulated:
    """A link by itself: its inertia, and the force v x* I v."""
    n, f = gyroscopic(inertia_times(link, velocity), velocity)
    M = link.mass * np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    return Articulated(link.inertia, skew(link.moment), M, n, f)


Moved = tuple[Pair, Pair, Pair]  # the transform, subspace and drift of a link
# the articulated body that the parent feels, in its axes, if it is asked for; and what is kept for the acceleration
Eliminated = tuple[Callable[[], Articulated], Array]
Acceleration = tuple[Array, Pair]  # udot and that of the link


def way_of(link: Link, rotor: Array | float, q: Array) -> tuple[Callable[..., Eliminated], Callable[..., Acceleration]]:
    """How the acceleration of a joint with `rotor` inertia is eliminated at its q, and how it is found afterwards.

    eliminated(body, motion, tau)  of the link with all that it carries, its motion `Moved`, and the joint's tau
    solved(S, a, kept)             of the subspace, and a = X a_parent + c
    """
    if may_be_nonzero(rotor) or link.joint.span == "some":
        return partial(_some_eliminated, rotor), _some_solved
    if link.joint.span == "all":
        return _all_eliminated, _all_solved
    B = link.joint.subspace_inverse(q)
    return partial(_rotations_eliminated, B), partial(_rotations_solved, B)


def _rotations_eliminated(B: Array, body: Articulated, motion: Moved, tau: Array) -> Eliminated:
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

    return passed, joined_matrices([symmetric_times(inverse, excess)[..., None], G])


def _rotations_solved(B: Array, S: Pair, a: Pair, kept: Array) -> Acceleration:
    omegadot = kept[..., 0] - matvec(kept[..., 1:], a[1])
    return matvec(B, omegadot - a[0]), (omegadot, a[1])


def _all_eliminated(body: Articulated, motion: Moved, tau: Array) -> Eliminated:
    """Floating joints: the body accelerates by itself, and the parent feels no more than the joint's own force
    S^-T tau, with S S^T = 1. It is a' = I_A^-1 (force - p_A), by the Schur complement of M, which is diagonal for a
    lone body."""
    transform, (S_omega, S_v), _ = motion
    n, f = matvec(S_omega, tau), matvec(S_v, tau)

    def passed() -> Articulated:
        return Articulated(np.zeros(6), np.zeros((3, 3)), np.zeros(6), *to_parent(transform, (n, f)))

    torque, force, M_inverse = n - body.n, f - body.f, inverse3(body.M)
    HM = body.H @ full(M_inverse)
    schur = body.I - product_upper(HM, body.H)
    a_omega = symmetric_times(inverse3(schur), torque - matvec(HM, force))
    return passed, joined([a_omega, symmetric_times(M_inverse, force - vecmat(a_omega, body.H))])


def _all_solved(S: Pair, a: Pair, kept: Array) -> Acceleration:
    a_omega, a_v = kept[..., :3], kept[..., 3:]
    return vecmat(a_omega - a[0], S[0]) + vecmat(a_v - a[1], S[1]), (a_omega, a_v)


def _some_eliminated(rotor: Array | float, body: Articulated, motion: Moved, tau: Array) -> Eliminated:
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

    return passed, found


def _some_solved(S: Pair, a: Pair, kept: Array) -> Acceleration:
    udot = kept[..., 0] - matvec(kept[..., 1:4], a[0]) - matvec(kept[..., 4:], a[1])
    return udot, (a[0] + matvec(S[0], udot), a[1] + matvec(S[1], udot))


# ---- link by link -------------------------------------------------------------------------------------------


def _link_by_link(system: ArticulatedSystem, q: Array, u: Array, tau: Array, f_ext: Array | None) -> list[Array]:
    """[(nu of the joint) udot of every link], by tau less the joints' own springs and damping; none of one that
    follows."""
    tree, motion = system.tree, kinematics(system.tree, q, u)
    # each by itself: its inertia, the force v x* I v less f_ext
    bodies = list(map(alone, tree.links, motion.velocities))
    if f_ext is not None:
        outside = link_wrenches(system, tree, motion, f_ext)
        bodies = [Articulated(b.I, b.H, b.M, b.n - n, b.f - f) for b, (n, f) in zip(bodies, outside, strict=True)]
    solved: dict[int, Callable[[Pair], Acceleration]] = {}
    for i in reversed(range(len(bodies))):
        link, moved = tree.links[i], (motion.transforms[i], motion.subspaces[i], motion.drifts[i])
        if not link.follows:
            eliminate, solve = way_of(link, system.bodies[link.body].rotor_inertia, q[..., link.q])
            passed, kept = eliminate(bodies[i], moved, tau[..., link.u])
            solved[i] = partial(solve, moved[1], kept=kept)
            if link.parent != WORLD:
                bodies[link.parent] = bodies[link.parent].plus(passed())
    udot = [np.zeros(0)] * len(bodies)
    accelerations = {WORLD: (np.zeros(3), -as_array(system.gravity))}  # gravity as an acceleration of the world
    for i in sorted(solved):  # root first
        above = accelerations[tree.links[i].parent]
        udot[i], accelerations[i] = solved[i](_carried(motion.transforms[i], motion.drifts[i], above))
    return udot


def _carried(transform: Pair, drift: Pair, parent: Pair) -> Pair:
    """a = X a_parent + c of a link."""
    a_omega, a_v = to_child(transform, parent)
    return a_omega + drift[0], a_v + drift[1]


# ---- type by type: rows of a loop for every pass -----------------------------------------------------------


_ENDS = (6, 15, 21, 24)  # of I, H, M and n one after the other
_MOTION, _BODY = 21, 27  # numbers of a link's drift, rotation and velocity, and of an articulated body


class _LinkRow(NamedTuple):
    """What a row does in every pass. It takes q, u and tau of its joint, and numbers last, in which alone rows of a
    type differ. There is nothing (0,) above a root or below a leaf, and none when a sum begins."""

    link: Link
    rotor: Array | float

    @property
    def kept(self) -> tuple[int, ...]:
        """The shape of what `way_of` keeps."""
        span = "some" if may_be_nonzero(self.rotor) else self.link.joint.span
        return {"rotations": (3, 4), "all": (6,)}.get(span, (self.link.joint.nu, 7))

    def moved(self, row: Array, parent: Array, numbers: Array) -> Array:
        """(21,) drift, rotation and velocity, from the parent's velocity."""
        link, _, q, u, _ = self._of(row, numbers)
        (R, p), S = placement(link, q)
        above = (parent[:3], parent[3:]) if len(parent) else None
        velocity, drift = velocity_and_drift(link.joint, ((R, p), S), q, u, above)
        return joined([*drift, R.reshape(9), *velocity])

    def felt(self, row: Array, motion: Array, children: Array, above: Array, numbers: Array) -> Array:
        """What is kept, and (27,) what the parent feels, from what this link and the parent feel of their children."""
        link, rotor, q, _, tau = self._of(row, numbers)
        body = alone(link, (motion[15:18], motion[18:]))
        if len(children):
            I, H, M, n, f = np.split(children, _ENDS)
            body = body.plus(Articulated(I, H.reshape(3, 3), M, n, f))
        parts, kept = way_of(link, rotor, q)[0](body, _motion_of(link, q, motion), tau)
        passed = joined([x.reshape(-1) for x in parts()])
        return joined([kept.reshape(-1), above + passed if len(above) else passed])

    def accelerated(self, row: Array, placed: Array, kept: Array, parent: Array, numbers: Array) -> Array:
        """(nu + 6,) udot and the acceleration, from the parent's."""
        link, rotor, q, _, _ = self._of(row, numbers)
        transform, S, drift = _motion_of(link, q, placed)
        a = _carried(transform, drift, (parent[:3], parent[3:]))
        udot, a = way_of(link, rotor, q)[1](S, a, kept.reshape(self.kept))
        return joined([udot, *a])

    def _of(self, row: Array, numbers: Array) -> tuple[Link, Array, Array, Array, Array]:
        """The link of a row and the inertia of its rotors, with q, u and tau."""
        nq, nu = self.link.joint.nq, self.link.joint.nu
        return self.link.with_numbers(numbers[:-1]), numbers[-1:], row[:nq], row[nq : nq + nu], row[nq + nu :]


def _motion_of(link: Link, q: Array, x: Array) -> Moved:
    """Its rotation is kept, since angles have sines."""
    (_, p), S = placement(link, q)
    return (x[6:15].reshape(3, 3), p), S, (x[:3], x[3:6])


def _types_of_links(system: ArticulatedSystem, q: Array, u: Array, tau: Array) -> list[tuple[Hashable, Array]]:
    """The type of every link, and the numbers in which links of one type differ. None where links are few, or of many
    types, or where their numbers vary."""
    links, found = system.tree.links, list[tuple[Hashable, Array]]()
    if (
        len(links) < MIN_LOOPED_LINKS
        or any(link.follows for link in links)
        or not becomes_loops(q, u, tau)
        or holds_symbols((system.gravity, *(link.joint for link in links)))
    ):
        return []
    for link in links:
        rotor = system.bodies[link.body].rotor_inertia
        numbers = np.concatenate([link.numbers, as_array([rotor])])
        if is_symbolic(numbers):
            return []
        found.append(((link.pattern, may_be_nonzero(rotor), len(numbers)), numbers))
    try:
        types = {key for key, _ in found}
    except TypeError:  # a joint of another package that has no hash
        return []
    return found if MIN_LINKS_PER_TYPE * len(types) <= len(links) else []


def _by_rows(
    system: ArticulatedSystem, types: list[tuple[Hashable, Array]], q: Array, u: Array, tau: Array
) -> list[Array]:
    """[(nu of the joint) udot of every link]."""
    links, rows, size = system.tree.links, Rows(), sum(link.joint.nu for link in system.tree.links)
    cells: list[Any] = [None] * size

    def laid(values: Sequence[Any]) -> range:
        cells.extend(values)
        return range(len(cells) - len(values), len(cells))

    made = [_LinkRow(link, system.bodies[link.body].rotor_inertia) for link in links]
    start = np.cumsum([0, *(link.joint.nu for link in links)])
    udot = [range(a, b) for a, b in pairwise(start.tolist())]
    row = [laid([*np.asarray(joined([q[link.q], u[link.u], tau[link.u]]))]) for link in links]
    motion = [laid([None] * _MOTION) for _ in links]
    kept = [laid([None] * math.prod(own.kept)) for own in made]
    felt = [laid([None] * _BODY) for _ in range(len(links) + 1)]  # the last one and those that follow are the world's
    velocity = [*(own[15:] for own in motion), range(0)]
    acceleration = [*velocity[:-1], laid([*[0.0] * 3, *-as_array(system.gravity)])]  # where velocities were

    def add(step: str, i: int, takes: list[range], gives: list[range]) -> None:
        key = step, types[i][0], *map(len, takes)
        if key not in rows.types:
            takes_gives = ([np.arange(len(block)) for block in blocks] for blocks in (takes, gives))
            rows.types[key] = getattr(made[i], step), *takes_gives
        rows.add(key, tuple(block.start for block in (*takes, *gives)), types[i][1])

    for i, link in enumerate(links):
        add("moved", i, [row[i], velocity[link.parent]], [motion[i]])
    begun = set[int]()  # links that feel something of their children
    for i, link in reversed([*enumerate(links)]):
        above = felt[link.parent]
        takes = [row[i], motion[i], felt[i][: _BODY * (i in begun)], above[: _BODY * (link.parent in begun)]]
        add("felt", i, takes, [kept[i], above])
        begun |= {link.parent} - {WORLD}
    for i, link in enumerate(links):
        add("accelerated", i, [row[i], motion[i][:15], kept[i], acceleration[link.parent]], [udot[i], acceleration[i]])
    found = rows.looped(cells, size)
    return [found[own.start : own.stop] for own in udot]
