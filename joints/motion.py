"""Kinematics of the recursions: transforms, velocities and accelerations of the links, link by link.

All vectors are in the link's own axes, at its own origin. A velocity is a pair (omega, v), where v is the velocity of
the origin. A force is a pair (n, f), where n is the moment about the origin. Rotation and translation stand here
instead of 6 x 6 matrices [Featherstone, Rigid Body Dynamics Algorithms, ch. 5]. Constant zeros vanish from traces.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from myoquat.core import Array, ArrayLike, Pair, frozen
from myoquat.joints import ArticulatedSystem, Joint
from myoquat.kernels import as_array
from myoquat.kernels.tracing.context import memoize

from .multibody.tree import WORLD, Link, Tree
from .vectors import cross, joined, matvec, symmetric_times, vecmat

Parts = TypeVar("Parts", bound=tuple[Any, ...])
ZERO = np.zeros(3)


@frozen
class Motion:
    """The motion of all links, one pair per link.

    transforms  (R, p) to the parent
    subspaces   (S_omega, S_v) of the joint
    velocities  (omega, v); empty without u
    drifts      (c_omega, c_v), the acceleration beside X a_parent + S udot; empty without u
    """

    transforms: list[Pair]
    subspaces: list[Pair]
    velocities: list[Pair]
    drifts: list[Pair]


@memoize
def kinematics(tree: Tree, q: Array, u: Array | None = None) -> Motion:
    """Transforms and subspaces at q (..., nq) and, with u (..., nu), velocities and drifts."""
    if u is None:
        found = [placement(link, q[..., link.q]) for link in tree.links]
        return Motion([transform for transform, _ in found], [subspace for _, subspace in found], [], [])
    motion = replace(kinematics(tree, q), velocities=[], drifts=[])
    for i, link in enumerate(tree.links):
        placed = motion.transforms[i], motion.subspaces[i]
        parent = None if link.parent == WORLD else motion.velocities[link.parent]
        velocity, drift = velocity_and_drift(link.joint, placed, q[..., link.q], u[..., link.u], parent)
        motion.velocities.append(velocity)
        motion.drifts.append(drift)
    return motion


def placement(link: Link, q: Array) -> tuple[Pair, Pair]:
    """The transform of a link to its parent, and the subspace of its joint, at the joint's q (..., nq)."""
    return link.joint.placed(link.R, link.p, q), link.joint.subspace(q)


def velocity_and_drift(
    joint: Joint, placed: tuple[Pair, Pair], q: Array, u: Array, parent: Pair | None
) -> tuple[Pair, Pair]:
    """The velocity omega = R^T omega_p + omega_J and v of a link, and its drift v x v_J + Sdot u.

    placed  the link's `placement`
    q, u    those of its joint
    parent  the velocity of the parent; None for the world
    """
    transform, (S_omega, S_v) = placed
    omega_joint, v_joint = matvec(S_omega, u), matvec(S_v, u)
    c_omega, c_v = joint.drift(q, u)
    if parent is None:
        return (omega_joint, v_joint), (c_omega, c_v)
    omega, v = to_child(transform, parent)
    drift = c_omega + cross(omega, omega_joint), c_v + cross(omega, v_joint) + cross(v, omega_joint)
    return (omega + omega_joint, v + v_joint), drift


def world_poses(tree: Tree, motion: Motion, in_branch: bool = False) -> list[Pair]:
    """(R (..., 3, 3), p (..., 3)) of every link in the world, or in the first link of its branch."""
    found: list[Pair] = []
    for link, (R, p) in zip(tree.links, motion.transforms, strict=True):
        if link.parent == WORLD:
            found.append((np.eye(3), np.zeros(3)) if in_branch else (R, p))
            continue
        R_parent, p_parent = found[link.parent]
        found.append((R_parent @ R, p_parent + matvec(R_parent, p)))
    return found


def to_child(transform: Pair, motion: Pair) -> Pair:
    """A velocity or acceleration of the parent as one of the child that rides on it."""
    R, p = transform
    omega, v = motion
    return vecmat(omega, R), vecmat(v + cross(omega, p), R)


def to_parent(transform: Pair, force: Pair) -> Pair:
    """A force on the child as one on the parent."""
    R, p = transform
    f = matvec(R, force[1])
    return matvec(R, force[0]) + cross(p, f), f


def carried_sums(
    tree: Tree, motion: Motion, own: Sequence[Parts], moved: Callable[[Pair, Parts], Parts]
) -> list[Parts]:
    """Of every link, the sum of its own arrays and those of all that it carries, which `moved` takes to the parent."""
    total = list(own)
    for i in reversed(range(len(total))):
        if (parent := tree.links[i].parent) != WORLD:
            parts = zip(total[parent], moved(motion.transforms[i], total[i]), strict=True)
            total[parent] = tuple(a + b for a, b in parts)  # type: ignore[assignment]
    return total


def gravity_accelerations(tree: Tree, motion: Motion, gravity: ArrayLike) -> list[Array]:
    """(..., 3) of every link: -g in its axes, the acceleration that stands for gravity."""
    upward = -as_array(gravity)
    found: list[Array] = []
    for link, (R, _) in zip(tree.links, motion.transforms, strict=True):
        found.append(vecmat(upward if link.parent == WORLD else found[link.parent], R))
    return found


def accelerations(tree: Tree, motion: Motion, udot: Array | None, gravity: ArrayLike) -> list[Pair]:
    """(omegadot, vdot) of every link, -g included; udot (..., nu), or None for zero. Needs velocities."""
    found: list[Pair] = []
    root = ZERO, -as_array(gravity)
    for i, link in enumerate(tree.links):
        a_omega, a_v = to_child(motion.transforms[i], root if link.parent == WORLD else found[link.parent])
        c_omega, c_v = motion.drifts[i]
        a_omega, a_v = a_omega + c_omega, a_v + c_v
        if udot is not None:
            S_omega, S_v = motion.subspaces[i]
            a_omega, a_v = a_omega + matvec(S_omega, udot[..., link.u]), a_v + matvec(S_v, udot[..., link.u])
        found.append((a_omega, a_v))
    return found


def inertia_times(link: Link, motion: Pair) -> Pair:
    """(n, f) = (I omega + h x v, m v + omega x h): the momentum of a velocity, the force of an acceleration."""
    omega, v = motion
    return symmetric_times(link.inertia, omega) + cross(link.moment, v), link.mass * v + cross(omega, link.moment)


def assembled(system: ArticulatedSystem, parts: list[Array]) -> Array:
    """(..., nu) in the order of u, from one part (..., k) per link of a tree; parts of the same velocities add up."""
    found: dict[int, Array] = {}
    for link, part in zip(system.tree.links, parts, strict=True):
        if part.shape[-1]:
            found[link.u.start] = found[link.u.start] + part if link.u.start in found else part
    return joined([found[place] for place in sorted(found)]) if found else np.zeros(0)
