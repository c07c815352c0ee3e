"""A ball joint and the frames that follow it as a chain of bodies again: the inverse of `find`."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.conversion.chains.find import SAME_AXIS, Coupling
from myoquat.joints.errors import ModelError
from myoquat.joints.functions import Linear
from myoquat.joints.multibody.body import Body
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.quaternion import quaternion_conjugate, quaternion_multiply, rotation_matrix
from myoquat.joints.types import CustomJoint, FixedJoint, FollowerJoint, Turn
from myoquat.joints.types.angles import Angles
from myoquat.joints.types.custom import Axis

__all__ = ["with_chains_restored"]


def with_chains_restored(system: ArticulatedSystem) -> tuple[ArticulatedSystem, dict[str, Coupling]]:
    """The system with chains of bodies in place of ball joints that frames follow, and the couplings of the chains.

    Each body of a chain lies on the one before and rotates about axes by the file's coordinates. The couplings are
    those of the coordinates that follow others in a chain, by name: (driving coordinate, factor, offset).

    The chain moves as the ball joint does, if the couplings hold. Raises ModelError for a frame that does not follow
    some of the joint's rotations in their order.
    """
    chains: dict[str, list[Body]] = {}
    for body in system.bodies:
        if isinstance(body.joint, FollowerJoint):
            chains.setdefault(body.joint.leader, []).append(body)
    replaced: dict[str, Body] = {}
    couplings: dict[str, Coupling] = {}
    for body in system.bodies:
        if body.name in chains:
            chain = _Chain(body, chains[body.name])
            replaced |= {link.name: link for link in chain.bodies()}
            couplings |= chain.couplings
    bodies = tuple(replaced.get(body.name, body) for body in system.bodies)
    return replace(system, bodies=bodies), couplings


class _Chain:
    """The bodies of one chain, from the first frame to the body on the ball joint."""

    def __init__(self, leader: Body, followers: Sequence[Body]) -> None:
        self.leader = leader
        self.followers = sorted(followers, key=lambda body: len(_joint(body).turns))
        self.angles: Angles = _joint(followers[0]).angles
        self.couplings: dict[str, Coupling] = {}
        self._used: dict[str, str] = {}  # the body of each coordinate

    def bodies(self) -> list[Body]:
        """The bodies, each on the one before."""
        found: list[Body] = []
        before, done, F = self.leader.parent, 0, np.array([1.0, 0.0, 0.0, 0.0])
        base = np.array(self.leader.orientation)
        whole = self._turns()
        for body in (*self.followers, self.leader):
            turns, frame = (whole, F * 0 + [1, 0, 0, 0]) if body is self.leader else self._of_frame(body, whole)
            turned = quaternion_multiply(quaternion_conjugate(F), frame)
            found.append(
                replace(
                    self._on_axes(body, turns[done:], frame),
                    parent=before,
                    position=(0.0, 0.0, 0.0) if found else self.leader.position,
                    orientation=_four(turned if found else quaternion_multiply(base, turned)),
                )
            )
            before, done, F = body.name, len(turns), frame
        return found

    def _turns(self) -> list[Turn]:
        """All rotations, each by one coordinate: those of the last frame, then what the ball joint has beyond them."""
        turns = list(_joint(self.followers[-1]).turns)
        rows, offsets = self.angles.matrix.copy(), np.array(self.angles.offsets)
        place = 0
        for k, turn in enumerate(turns):
            if k and np.linalg.norm(np.cross(turns[k - 1].axis, turn.axis)) >= SAME_AXIS:
                place += 1
            if place > 2 or np.linalg.norm(np.cross(self.angles.axes[place], turn.axis)) >= SAME_AXIS:
                raise ModelError("it follows other rotations than those of the joint", element=self._last)
            sign = np.sign(np.dot(self.angles.axes[place], turn.axis))
            rows[place] -= sign * np.array(turn.row)
            offsets[place] -= sign * turn.offset
        for axis, row, offset in zip(self.angles.axes, rows, offsets, strict=True):
            for i in np.flatnonzero(row):
                turns.append(Turn(axis, _three(np.where(np.arange(3) == i, row, 0.0)), float(offset)))
                offset = 0.0
        return turns

    @property
    def _last(self) -> str:
        return f"body {self.followers[-1].name!r}"

    def _of_frame(self, body: Body, whole: Sequence[Turn]) -> tuple[Sequence[Turn], Array]:
        """The rotations of a frame, which must be the first ones of the chain, and its constant rotation."""
        joint = _joint(body)
        if tuple(whole[: len(joint.turns)]) != joint.turns:
            raise ModelError("it follows other rotations than the frames after it", element=f"body {body.name!r}")
        return joint.turns, np.array(joint.frame)

    def _on_axes(self, body: Body, turns: Sequence[Turn], frame: Array) -> Body:
        """The body on rotations about axes, R(a, f) F = F R(F^T a, f)."""
        if not turns:
            return replace(body, joint=FixedJoint(), coordinate_names=None, spring_mount=None)
        back = np.asarray(rotation_matrix(frame)).T
        names: list[str] = []
        axes = []
        for turn in turns:
            name, line = self._by_own(body, turn)
            if name not in names:
                names.append(name)
            axes.append(Axis(_three(back @ np.array(turn.axis)), names.index(name), line))
        joint = CustomJoint(tuple(names), tuple(axes))
        return replace(body, joint=joint, coordinate_names=tuple(names), spring_mount=None)

    def _by_own(self, body: Body, turn: Turn) -> tuple[str, Linear]:
        """(coordinate, function): the coordinate of the body's joint for a rotation, and the angle as a function of it.

        The coordinate is that of the rotation's row. If another body uses that one, it is one that follows it.
        """
        columns = np.flatnonzero(turn.row)
        if len(columns) != 1:
            raise ModelError("a rotation of it follows several coordinates", element=f"body {body.name!r}")
        place = int(columns[0])
        driver, factor, offset = self.angles.names[place], turn.row[place], turn.offset
        if self._used.setdefault(driver, body.name) == body.name:
            return driver, Linear(factor, offset)
        for other in self.angles.dependents:
            if other.place == place and self._used.setdefault(other.name, body.name) == body.name:
                self.couplings[other.name] = (driver, other.factor, other.offset)
                return other.name, Linear(factor / other.factor, offset - factor / other.factor * other.offset)
        raise ModelError(
            f"coordinate {driver!r} turns two bodies, and no coordinate follows it", element=f"body {body.name!r}"
        )


def _joint(body: Body) -> FollowerJoint:
    assert isinstance(body.joint, FollowerJoint)
    return body.joint


def _three(values: Array) -> tuple[float, float, float]:
    x, y, z = (float(v) + 0.0 for v in values)
    return x, y, z


def _four(Q: Array) -> tuple[float, float, float, float]:
    a, b, c, d = (float(v) + 0.0 for v in Q)
    return a, b, c, d
