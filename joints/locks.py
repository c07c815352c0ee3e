"""Locks of joint angles: there the rates of the angles, and of frames that follow them, do not exist.

Three rotations about successive axes lock where the third axis comes into the plane of the first two. In angles the
mass matrix is singular there. A quaternion has no lock, but a frame with inertia that follows its angles
(`FollowerJoint`) turns without bound.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np

from myoquat.core import FOREIGN, Array, BoundedTable, frozen
from myoquat.joints import Angles, ArticulatedSystem, Joint
from myoquat.kernels import is_symbolic

from .rates import CONDITION_LIMIT
from .types.follower import angles_of, named_coordinates

ANGLE_SINE = 1 / CONDITION_LIMIT  # distance from the lock of angles that are coordinates [rad]
FOLLOWED_SINE = 1e-8  # of angles that come from a quaternion: nearer, rounding errors of their rates exceed the rates
NEAR_SINE = 1e-3  # what a stopped simulation reports
MAX_KNOWN_SYSTEMS = 1024

Kept = TypeVar("Kept")
_known: "BoundedTable[_Locks]" = BoundedTable(MAX_KNOWN_SYSTEMS)  # by content of the system


@frozen
class _Lock:
    """The angles of a body's joint, where its coordinates are in q, and frames with inertia that follow them.

    `regular`: whether the mass matrix is regular in the lock nevertheless: the joint has rotors or a quaternion.
    """

    body: str
    joint: Joint
    angles: Angles
    indices: list[int]
    followers: tuple[str, ...]
    regular: bool

    @property
    def label(self) -> str:
        return ", ".join(self.angles.names)


class _Locks:
    """The locks of all joints of a system."""

    def __init__(self, locks: Iterable[_Lock], nq: int) -> None:
        found = list(locks)
        self._own = [lock for lock in found if lock.joint.own_angles is not None]  # their angles are coordinates
        self._others = [lock for lock in found if lock.joint.own_angles is None]
        # rows q + offsets are whole numbers in the locks of angles that are coordinates, counted in half turns
        self._rows, self._offsets = np.zeros((nq, len(self._own))), np.zeros(len(self._own))
        for k, (indices, angles) in enumerate((lock.indices, lock.angles) for lock in self._own):
            self._rows[indices, k] = angles.matrix[1] / np.pi
            self._offsets[k] = (angles.offsets[1] - float(angles.beside_lock(np.array(0.0)))) / np.pi

    def near(self, q: Array, least: float = FOLLOWED_SINE) -> list[tuple[_Lock, Array]]:
        """The locks that some poses q (..., nq) may be in, with |sin| (...) of the angle to them: at least those where
        some are at most `least`, and none for symbols. Those of coordinates are sought together, since every call of
        forward dynamics needs them."""
        if is_symbolic(q):
            return []
        found = [(lock, lock.angles.lock_sine(named_coordinates(lock.joint, q[..., lock.indices])))
                 for lock in self._others]  # fmt: skip
        if self._own and q.size:
            half_turns = q @ self._rows + self._offsets
            half_turns -= np.rint(half_turns)
            if np.abs(half_turns, out=half_turns).min() <= least:
                found += zip(self._own, np.moveaxis(np.sin(np.pi * half_turns), -1, 0), strict=True)
        return found


def kept_by_content(table: "BoundedTable[Kept]", system: ArticulatedSystem, make: Callable[[], Kept]) -> Kept:
    """What a table has for a system, made where it has nothing; users' classes may change, so theirs is not kept."""
    key = system.content_key
    return table.get(key, make, lambda: not key.startswith(FOREIGN))


def check_locks(system: ArticulatedSystem, q: Array, function: str) -> None:
    """ValueError if angles of a joint are locked at a pose of q (..., nq), or frames with inertia follow such angles.

    Coordinates count as locked past a condition number of 1e12, angles of a quaternion within 1e-8 rad.
    """
    near = _locks(system).near(q)
    _check_followed(near, function)
    for lock, sine in near:
        if not lock.regular and len(where := np.argwhere(sine <= ANGLE_SINE)):
            raise ValueError(
                f"{function}: body {lock.body!r}: the angles {lock.label} are in gimbal lock at pose "
                f"{where[0].tolist()}; describe this joint by a quaternion, with_rotations('quaternion')"
            )


def check_followed_locks(system: ArticulatedSystem, q: Array, function: str) -> None:
    """ValueError if frames with inertia follow angles that are locked at a pose of q (..., nq)."""
    _check_followed(_locks(system).near(q), function)


def _check_followed(near: Iterable[tuple[_Lock, Array]], function: str) -> None:
    for lock, sine in near:
        if lock.followers and len(where := np.argwhere(sine <= FOLLOWED_SINE)):
            raise ValueError(
                f"{function}: the angles {lock.label} of body {lock.body!r} are in gimbal lock at pose "
                f"{where[0].tolist()}, where {', '.join(lock.followers)} would turn without bound. Set the mass and "
                "the inertia of these frames to zero, or move away from the lock"
            )


def followed_sines(
    system: ArticulatedSystem, q: Array, bodies: Collection[str], angles: Collection[str]
) -> list[Array]:
    """(...) each, |sin| of the angle to the lock of the `followed_joints` at q (..., nq), on floats and symbols."""
    return [joint.angles.lock_sine(named_coordinates(joint, q[..., span]))
            for joint, span in followed_joints(system, bodies, angles)]  # fmt: skip


def followed_joints(
    system: ArticulatedSystem, bodies: Collection[str], angles: Collection[str]
) -> Iterator[tuple[Any, slice]]:
    """The ball joints that have named angles, and where they are in q, on which other things depend.

    Some are the joints whose angles the `bodies`, or bodies that carry them, follow. The others are the joints with a
    quaternion to which the named `angles` belong.
    """
    carried, leaders = {*bodies}, set()
    parents = {body.name: body for body in system.bodies}
    while carried:
        body = parents.get(carried.pop())
        if body is not None:
            carried.add(body.parent)
            leaders |= {body.joint.follows} - {None}
    named = {system.bodies[system.angle_names[name][0]].name for name in angles if name in system.angle_names}
    for body, span in zip(system.bodies, system.q_slices, strict=True):
        if body.name in leaders | named:
            yield body.joint, span


def near_locks(system: ArticulatedSystem, q: Array) -> str:
    """What a message says about joints whose angles are near their lock at a pose q (nq,); empty if there are none."""
    near = [
        f"the angles {lock.label} of body {lock.body!r} are {sine:.2g} rad from their gimbal lock"
        + (f", where {', '.join(lock.followers)} would turn without bound" if lock.followers else "")
        for lock, sine in _locks(system).near(q, NEAR_SINE)
        if (not lock.regular or lock.followers) and sine < NEAR_SINE
    ]
    return "; ".join(near)


def _locks(system: ArticulatedSystem) -> _Locks:
    """The locks of all joints, kept by the content of the system."""
    return kept_by_content(_known, system, lambda: _Locks(_found(system), system.nq))


def _found(system: ArticulatedSystem) -> Iterator[_Lock]:
    followers: dict[str, list[str]] = {}
    for body in system.bodies:
        if body.joint.follows is not None and (body.mass or any(body.inertia)):
            followers.setdefault(body.joint.follows, []).append(repr(body.name))
    for body, span in zip(system.bodies, system.q_slices, strict=True):
        joint, behind = body.joint, tuple(followers.get(body.name, ()))
        if joint.own_angles is not None:
            own = [span.start + i for i in joint.turning]
            yield _Lock(body.name, joint, joint.own_angles, own, behind, body.rotor_inertia > 0)
        elif behind:
            yield _Lock(body.name, joint, angles_of(joint), [*range(span.start, span.stop)], behind, regular=True)
