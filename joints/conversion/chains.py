"""Chains of bodies on rotations about one point that together are a ball joint, as models of the shoulder hold them.

Models in the file format of OpenSim often spread the glenohumeral joint over phantom bodies with one or two rotations
each, and over couplers. An example is R(elv_angle) R(shoulder_elv) R(-elv_angle) R(shoulder_rot). Successive rotations
about one axis are one rotation by the sum of their angles. A chain is a ball joint if three rotations then remain, by
three independent sums of three coordinates. Its angles are generalized Davenport angles
(`myoquat.joints.sequences`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.conversion.balls import as_axes
from myoquat.joints.errors import ModelError
from myoquat.joints.functions import Linear
from myoquat.joints.multibody.body import Body
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.quaternion import quaternion_conjugate, quaternion_from_matrix, quaternion_multiply, rotation_matrix
from myoquat.joints.types import Axis, CustomJoint, Dependent, FixedJoint, FollowerJoint, SphericalJoint, Turn
from myoquat.joints.types.angles import LEAST_DETERMINANT, Angles
from myoquat.joints.types.custom import are_parallel
from myoquat.joints.vectors import axis_angle_matrix

__all__ = ["Chain", "Coupling", "find_chains", "why_no_chain", "with_chains_restored"]


SAME_POINT = 1e-12  # [m] between the points about which two rotations of a chain turn
SAME_AXIS = 1e-12  # sine between the axes of rotations that are merged
LONGEST_CHAIN = 8  # rotating bodies
PHANTOM_MASS_KG = 1e-3  # heaviest body between the rotations of a chain; files give phantom bodies 1e-4 kg
Coupling = tuple[str, float, float]  # the coordinate that drives another one, factor and offset: x = factor y + offset


@dataclass(frozen=True)
class _Link:
    """A rotation about a unit axis of the chain's first joint frame, by factor x + offset of the coordinate `name`."""

    axis: Array
    name: str
    factor: float
    offset: float


@dataclass(frozen=True)
class _Stage:
    """A rotating body of a chain: how many links come before its frame, and the constant rotation after them."""

    body: Body
    links: int
    K: Array


@dataclass(frozen=True)
class Chain:
    """Rotating bodies and what they become: followers, and the body on its ball joint.

    bodies    names of the bodies from the first on, without the last
    last      name of the last body
    replaced  the followers, then the last body on the ball joint
    """

    bodies: tuple[str, ...]
    last: str
    replaced: tuple[Body, ...]

    @property
    def angles(self) -> Angles:
        """The named angles of the ball joint."""
        return self.replaced[-1].joint.angles  # type: ignore[attr-defined]


def find_chains(bodies: Sequence[Body], couplings: Mapping[str, Coupling] | None = None) -> tuple[Chain, ...]:
    """The chains of rotating bodies that together are ball joints, each as short as can be, no body in two of them.

    couplings: linear couplers by the name of the coordinate that is driven.
    """
    found: list[Chain] = []
    taken: set[str] = set()
    for body in bodies:
        if body.name in taken or not _rotates(body):
            continue
        chain = _chain_to(body, bodies, couplings or {})
        if isinstance(chain, Chain) and not taken & {*chain.bodies, chain.last}:
            found.append(chain)
            taken |= {*chain.bodies, chain.last}
    return tuple(found)


def why_no_chain(body: Body, bodies: Sequence[Body], couplings: Mapping[str, Coupling] | None = None) -> str | None:
    """Why a rotating body ends no chain that is a ball joint; None if it does."""
    if not _rotates(body):
        return "it does not only rotate"
    chain = _chain_to(body, bodies, couplings or {})
    return None if isinstance(chain, Chain) else chain


def _rotates(body: Body) -> bool:
    """Whether a body's joint turns it about one point by linear functions of coordinates, and does nothing else."""
    joint = body.joint
    if not joint.made_of_axes or joint.span != "some" or body.damping or body.stiffness or body.rotor_inertia:
        return False
    still = all(not axis.coordinates and axis.constant == 0.0 for axis in joint.translations)
    return still and bool(joint.nq) and all(axis.line is not None for axis in joint.rotations)


def _chain_to(last: Body, bodies: Sequence[Body], couplings: Mapping[str, Coupling]) -> Chain | str:
    """The shortest chain that ends with a body and is a ball joint, or why there is none."""
    known = {body.name: body for body in bodies}
    path, reason = [last], "no further rotation about its point comes before it"
    while sum(_rotates(body) for body in path) < LONGEST_CHAIN:
        stages = _stages(path)
        if isinstance(stages, str):
            return stages
        if len(path) > 1 and _rotates(path[0]):
            chain = _as_ball(path, *stages, couplings)
            if isinstance(chain, Chain):
                return chain
            reason = chain
        before = known.get(path[0].parent)
        if before is None or not (_rotates(before) or before.joint.is_weld):
            return reason
        others = [body.name for body in bodies if body.parent == before.name and body is not path[0]]
        if before.mass > PHANTOM_MASS_KG:
            return f"{reason}; body {before.name!r} before it has a mass of {before.mass:g} kg"
        if others:
            return f"{reason}; body {others[0]!r} hangs on {before.name!r} too"
        path.insert(0, before)
    return reason


def _stages(path: Sequence[Body]) -> tuple[list[_Link], list[_Stage]] | str:
    """The rotations of bodies one after the other, in the first one's joint frame, and the frames between them."""
    K, p = np.eye(3), np.zeros(3)
    links: list[_Link] = []
    stages: list[_Stage] = []
    for i, body in enumerate(path):
        if i:
            p = p + K @ np.array(body.position)
            K = K @ np.asarray(rotation_matrix(np.array(body.orientation)))
        if body.joint.is_weld:
            continue
        if np.abs(p).max() > SAME_POINT:
            return f"the rotations of {path[0].name!r} and {body.name!r} are about different points"
        joint = as_axes(body)
        for axis in joint.rotations:
            factor, offset = axis.line or (0.0, 0.0)
            if not factor:
                K = K @ axis_angle_matrix(axis.direction, np.array(offset))
            else:
                (i,) = axis.coordinates
                links.append(_Link(K @ np.array(axis.direction), joint.coordinates[i], factor, offset))
        stages.append(_Stage(body, len(links), K))
    return links, stages


def _as_ball(
    path: Sequence[Body], links: Sequence[_Link], stages: Sequence[_Stage], couplings: Mapping[str, Coupling]
) -> Chain | str:
    """The chain as a ball joint and followers, or why it is none."""
    own = list(dict.fromkeys(link.name for link in links))
    names = [name for name in own if name not in couplings or couplings[name][0] not in own]
    driven = [name for name in own if name not in names]
    outside = {name for name in names if name in couplings}
    led = [stage.body.name for stage in stages if {*as_axes(stage.body).coordinates} <= outside]
    if led:
        return f"coordinates outside it drive all those of body {led[0]!r}"
    idle = sorted({name for stage in stages for name in as_axes(stage.body).coordinates} - {*own})
    if idle:
        return f"its coordinate {idle[0]!r} turns nothing"
    if len(names) != 3:
        return f"{len(names)} independent coordinates rotate it with the bodies before it, not three"
    if any(couplings[name][0] not in names for name in driven):
        return "its couplers depend on each other"
    turns = [_turn(link, names, couplings) for link in links]
    last = stages[-1]
    back = last.K.T
    turns = [replace(turn, axis=_vector(back @ np.array(turn.axis))) for turn in turns]
    merged = _merged(turns)
    if len(merged) != 3:
        return f"its rotations are about {len(merged)} successive axes, not three"
    if are_parallel([turn.axis for turn in merged]):
        return "two of its successive axes are parallel"
    if abs(np.linalg.det(np.array([turn.row for turn in merged]))) < LEAST_DETERMINANT:
        return "its coordinates do not turn it about three axes independently"
    units = {n: unit for joint in map(as_axes, (stage.body for stage in stages))
             for n, unit in zip(joint.coordinates, joint.units, strict=True)}  # fmt: skip
    followers = [Dependent(n, names.index(couplings[n][0]), *couplings[n][1:], units[n]) for n in driven]
    angles = _angles(names, merged, followers, [units[name] for name in names])
    return _replaced(path[0], turns, stages, angles)


def _replaced(first: Body, turns: Sequence[Turn], stages: Sequence[_Stage], angles: Angles) -> Chain:
    """Followers and the last body, all on what carries the first one."""
    last, ball = stages[-1], SphericalJoint(angles=angles)
    base = np.asarray(rotation_matrix(np.array(first.orientation)))
    straight = np.array_equal(last.K, np.eye(3))
    orientation = first.orientation if straight else _vector(quaternion_from_matrix(base @ last.K))
    placed: dict[str, Any] = {
        "parent": first.parent,
        "position": first.position,
        "orientation": orientation,
        "coordinate_names": None,
    }
    followers = []
    for stage in stages[:-1]:
        F = last.K.T @ stage.K
        frame = (1.0, 0.0, 0.0, 0.0) if np.array_equal(F, np.eye(3)) else _vector(quaternion_from_matrix(F))
        joint = FollowerJoint(last.body.name, ball, tuple(turns[: stage.links]), frame)
        followers.append(replace(stage.body, joint=joint, **placed))
    return Chain(
        tuple(stage.body.name for stage in stages[:-1]),
        last.body.name,
        (*followers, replace(last.body, joint=ball, **placed)),
    )


def _turn(link: _Link, names: Sequence[str], couplings: Mapping[str, Coupling]) -> Turn:
    """The rotation by the independent coordinates."""
    driver, factor, offset = (link.name, 1.0, 0.0) if link.name in names else couplings[link.name]
    row = [link.factor * factor * (name == driver) for name in names]
    return Turn(_vector(link.axis / np.linalg.norm(link.axis)), _vector(row), link.offset + link.factor * offset)


def _merged(turns: Sequence[Turn]) -> list[Turn]:
    """The rotations, successive ones about one axis summed."""
    found: list[Turn] = []
    for turn in turns:
        if found and np.linalg.norm(np.cross(found[-1].axis, turn.axis)) < SAME_AXIS:
            sign = float(np.sign(np.dot(found[-1].axis, turn.axis)))
            row = np.array(found[-1].row) + sign * np.array(turn.row)
            found[-1] = replace(found[-1], row=_vector(row), offset=found[-1].offset + sign * turn.offset)
        else:
            found.append(turn)
    return found


def _angles(
    names: Sequence[str], turns: Sequence[Turn], dependents: Sequence[Dependent], units: Sequence[str]
) -> Angles:
    rows = np.array([turn.row for turn in turns])
    diagonal = np.array_equal(rows, np.diag(np.diag(rows)))
    return Angles(
        tuple(names),  # type: ignore[arg-type]
        tuple(turn.axis for turn in turns),  # type: ignore[arg-type]
        _vector(np.diag(rows)) if diagonal else (1.0, 1.0, 1.0),
        _vector([turn.offset for turn in turns]),
        None if diagonal else tuple(_vector(row) for row in rows),
        tuple(dependents),
        units=tuple(units),  # type: ignore[arg-type]
    )


def _vector(values: object) -> Any:
    return tuple(float(v) + 0.0 for v in np.asarray(values).tolist())


# ---- A ball joint and the frames that follow it as a chain of bodies again: the inverse of `find` -----------------


def with_chains_restored(system: ArticulatedSystem) -> tuple[ArticulatedSystem, dict[str, Coupling]]:
    """The system with chains of bodies in place of ball joints that frames follow, and the couplings of the chains.

    Each body of a chain lies on the one before and rotates about axes by the file's coordinates. The couplings are
    those of the coordinates that follow others in a chain, by name: (driving coordinate, factor, offset).

    The chain moves as the ball joint does, if the couplings hold. Raises ModelError for a frame that does not follow
    some of the joint's rotations in their order.
    """
    chains: dict[str, list[Body]] = {}
    for body in system.bodies:
        if body.joint.follows is not None:
            chains.setdefault(body.joint.follows, []).append(body)
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
        self.followers = sorted(followers, key=lambda body: len(_follower(body).turns))
        self.angles: Angles = _follower(followers[0]).angles
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
        turns = list(_follower(self.followers[-1]).turns)
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
        joint = _follower(body)
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


def _follower(body: Body) -> Any:
    return body.joint


def _three(values: Array) -> tuple[float, float, float]:
    x, y, z = (float(v) + 0.0 for v in values)
    return x, y, z


def _four(Q: Array) -> tuple[float, float, float, float]:
    a, b, c, d = (float(v) + 0.0 for v in Q)
    return a, b, c, d
