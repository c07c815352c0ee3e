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

from myoquat.core import Array
from myoquat.joints import (
    ArticulatedSystem,
    Axis,
    Body,
    CustomJoint,
    Dependent,
    FixedJoint,
    FollowerJoint,
    ModelError,
    SphericalJoint,
    Turn,
    quaternion_conjugate,
    quaternion_from_matrix,
    quaternion_multiply,
    rotation_matrix,
)
from myoquat.joints.functions import Linear
from myoquat.joints.types.angles import LEAST_DETERMINANT, Angles, Vector3
from myoquat.joints.types.custom import are_parallel
from myoquat.joints.vectors import axis_angle_matrix

from .balls import as_axes

SAME_POINT = 1e-12  # [m] between the points about which two rotations of a chain turn
SAME_AXIS = 1e-12  # sine between the axes of rotations that are merged
LONGEST_CHAIN = 8  # rotating bodies
ONE = (1.0, 0.0, 0.0, 0.0)
PHANTOM_MASS_KG = 1e-3  # heaviest body between the rotations of a chain; files give phantom bodies 1e-4 kg
Coupling = tuple[str, float, float]  # the coordinate that drives another one, factor and offset: x = factor y + offset


# a rotation about a unit axis of the chain's first joint frame: axis, coordinate, factor and offset
_Link = tuple[Array, str, float, float]
# a rotating body of a chain: how many links come before its frame, and the constant rotation after them
_Stage = tuple[Body, int, Array]


def find_chains(bodies: Sequence[Body], couplings: Mapping[str, Coupling]) -> list[tuple[Body, ...]]:
    """The chains of rotating bodies that together are ball joints, each as short as can be, no body in two of them.

    Of each chain these are the bodies that it becomes: followers, then the last body on the ball joint.

    couplings: linear couplers by the name of the coordinate that is driven.
    """
    found, taken = list[tuple[Body, ...]](), set[str]()
    for body in bodies:
        chain = _chain_to(body, bodies, couplings) if body.name not in taken and _rotates(body) else None
        if chain is not None and taken.isdisjoint(names := {link.name for link in chain}):
            found.append(chain)
            taken |= names
    return found


def _rotates(body: Body) -> bool:
    """Whether a body's joint turns it about one point by linear functions of coordinates, and does nothing else."""
    joint = body.joint
    if not joint.made_of_axes or joint.span != "some" or body.damping or body.stiffness or body.rotor_inertia:
        return False
    still = all(not axis.coordinates and axis.constant == 0.0 for axis in joint.translations)
    return still and bool(joint.nq) and all(axis.line is not None for axis in joint.rotations)


def _chain_to(last: Body, bodies: Sequence[Body], couplings: Mapping[str, Coupling]) -> tuple[Body, ...] | None:
    """The shortest chain that ends with a body and is a ball joint, if there is one."""
    known = {body.name: body for body in bodies}
    path = [last]
    while sum(map(_rotates, path)) < LONGEST_CHAIN:
        if (stages := _stages(path)) is None:
            return None
        if len(path) > 1 and _rotates(path[0]) and (chain := _as_ball(path[0], *stages, couplings)) is not None:
            return chain
        before = known.get(path[0].parent)
        if before is None or not (_rotates(before) or before.joint.is_weld) or before.mass > PHANTOM_MASS_KG:
            return None
        if any(body.parent == before.name and body is not path[0] for body in bodies):
            return None
        path.insert(0, before)
    return None


def _stages(path: Sequence[Body]) -> tuple[list[_Link], list[_Stage]] | None:
    """The rotations of bodies one after the other, in the first one's joint frame, and the frames between them. None
    where they are about different points."""
    K, p = np.eye(3), np.zeros(3)
    links: list[_Link] = []
    stages: list[_Stage] = []
    for k, body in enumerate(path):
        if k:
            p = p + K @ np.array(body.position)
            K = K @ np.asarray(rotation_matrix(np.array(body.orientation)))
        if body.joint.is_weld:
            continue
        if np.abs(p).max() > SAME_POINT:
            return None
        joint = as_axes(body)
        for axis in joint.rotations:
            factor, offset = axis.line or (0.0, 0.0)
            if factor:
                (i,) = axis.coordinates
                links.append((K @ np.array(axis.direction), joint.coordinates[i], factor, offset))
            else:
                K = K @ axis_angle_matrix(axis.direction, np.array(offset))
        stages.append((body, len(links), K))
    return links, stages


def _as_ball(
    first: Body, links: Sequence[_Link], stages: Sequence[_Stage], couplings: Mapping[str, Coupling]
) -> tuple[Body, ...] | None:
    """The chain as followers and a body on a ball joint, all on what carries its first body; None if it is none.

    Three coordinates turn a ball joint about three axes. No body is led from outside of it or has an idle
    coordinate.
    """
    joints = [as_axes(body) for body, _, _ in stages]
    units = {name: unit for joint in joints for name, unit in zip(joint.coordinates, joint.units, strict=True)}
    own = list(dict.fromkeys(name for _, name, _, _ in links))
    names = [name for name in own if name not in couplings or couplings[name][0] not in own]
    driven = [name for name in own if name not in names]
    led = any({*joint.coordinates} <= {*names} & {*couplings} for joint in joints)
    if led or {*units} != {*own} or len(names) != 3 or any(couplings[name][0] not in names for name in driven):
        return None
    last, _, K = stages[-1]
    turns = []
    for axis, link, factor, offset in links:
        driver, slope, start = (link, 1.0, 0.0) if link in names else couplings[link]
        row = [factor * slope * (name == driver) for name in names]
        turns.append(Turn(_vector(K.T @ (axis / np.linalg.norm(axis))), _vector(row), offset + factor * start))
    merged = _merged(turns)
    rows = np.array([turn.row for turn in merged])
    if len(merged) != 3 or are_parallel([t.axis for t in merged]) or abs(np.linalg.det(rows)) < LEAST_DETERMINANT:
        return None
    diagonal = np.array_equal(rows, np.diag(np.diag(rows)))
    ball = SphericalJoint(angles=Angles(
        tuple(names),  # type: ignore[arg-type]
        tuple(turn.axis for turn in merged),  # type: ignore[arg-type]
        _vector(np.diag(rows)) if diagonal else (1.0, 1.0, 1.0),
        _vector([turn.offset for turn in merged]),
        None if diagonal else tuple(_vector(row) for row in rows),
        tuple(Dependent(n, names.index(couplings[n][0]), *couplings[n][1:], units[n]) for n in driven),
        units=tuple(units[name] for name in names),  # type: ignore[arg-type]
    ))  # fmt: skip
    placed: dict[str, Any] = {"parent": first.parent, "position": first.position, "coordinate_names": None,
                              "orientation": _turned(first.orientation, K)}  # fmt: skip
    followers = [
        replace(body, joint=FollowerJoint(last.name, ball, tuple(turns[:count]), _turned(ONE, K.T @ F)), **placed)
        for body, count, F in stages[:-1]
    ]
    return (*followers, replace(last, joint=ball, **placed))


def _turned(Q: tuple[float, ...], K: Array) -> Any:
    """The quaternion of R(Q) K, Q itself without a turn."""
    R = np.asarray(rotation_matrix(np.array(Q)))
    return Q if np.array_equal(K, np.eye(3)) else _vector(quaternion_from_matrix(R @ K))


def _merged(turns: Sequence[Turn]) -> list[Turn]:
    """The rotations, successive ones about one axis summed."""
    found: list[Turn] = []
    for turn in turns:
        if found and (sign := _same_axis(found[-1].axis, turn.axis)):
            row = np.array(found[-1].row) + sign * np.array(turn.row)
            found[-1] = replace(found[-1], row=_vector(row), offset=found[-1].offset + sign * turn.offset)
        else:
            found.append(turn)
    return found


def _same_axis(a: Vector3, b: Vector3) -> float:
    """1 for two rotations about one axis, -1 about opposite ones, 0 about others."""
    return float(np.sign(np.dot(a, b))) if np.linalg.norm(np.cross(a, b)) < SAME_AXIS else 0.0


def _vector(values: object) -> Any:
    return tuple(float(v) + 0.0 for v in np.asarray(values).tolist())


# ---- A ball joint and the frames that follow it as a chain of bodies again: the inverse of `find_chains` ----------


def with_chains_restored(system: ArticulatedSystem) -> tuple[ArticulatedSystem, dict[str, Coupling]]:
    """The system with chains of bodies in place of ball joints that frames follow, and the couplings of the chains.

    Each body of a chain lies on the one before and rotates about axes by the file's coordinates. The couplings are
    those of the coordinates that follow others in a chain, by name: (driving coordinate, factor, offset).

    The chain moves as the ball joint does, if the couplings hold. Raises ModelError for a frame that does not follow
    some of the joint's rotations in their order.
    """
    replaced, couplings = dict[str, Body](), dict[str, Coupling]()
    for leader in system.bodies:
        if followers := [body for body in system.bodies if body.joint.follows == leader.name]:
            links, driven = _restored(leader, followers)
            replaced |= {link.name: link for link in links}
            couplings |= driven
    return replace(system, bodies=tuple(replaced.get(body.name, body) for body in system.bodies)), couplings


def _restored(leader: Body, followers: list[Body]) -> tuple[list[Body], dict[str, Coupling]]:
    """The bodies of a chain, from the first frame to the one on the ball joint, and the couplings of their coordinates.
    Each body is on the one before, on rotations about axes: R(a, f) F = F R(F^T a, f)."""
    joints: dict[str, Any] = {body.name: body.joint for body in followers}
    followers.sort(key=lambda body: len(joints[body.name].turns))
    angles: Angles = joints[followers[0].name].angles
    whole, couplings, used = _all_turns(followers[-1]), dict[str, Coupling](), dict[str, str]()
    found: list[Body] = []

    def coordinate_of(body: Body, turn: Turn) -> tuple[str, Linear]:
        """The coordinate of the body's joint for a rotation, and the angle as a function of it: that of the rotation's
        row or, if another body uses that one, one that follows it."""
        columns = np.flatnonzero(turn.row).tolist()
        if len(columns) != 1:
            raise ModelError("a rotation of it follows several coordinates", element=f"body {body.name!r}")
        (place,) = columns
        driver, factor = angles.names[place], turn.row[place]
        for own in (Dependent(driver, place), *angles.dependents):
            if own.place == place and used.setdefault(own.name, body.name) == body.name:
                if own.name != driver:
                    couplings[own.name] = driver, own.factor, own.offset
                return own.name, Linear(factor / own.factor, turn.offset - factor / own.factor * own.offset)
        raise ModelError(
            f"coordinate {driver!r} turns two bodies, and no coordinate follows it", element=f"body {body.name!r}"
        )

    before, done, F = leader.parent, 0, np.array(ONE)
    for body in (*followers, leader):
        turns, frame = (whole, ONE) if body is leader else (joints[body.name].turns, joints[body.name].frame)
        if whole[: len(turns)] != turns:
            raise ModelError("it follows other rotations than the frames after it", element=f"body {body.name!r}")
        back, axes, names = np.asarray(rotation_matrix(np.array(frame))).T, list[Axis](), list[str]()
        for turn in turns[done:]:
            name, line = coordinate_of(body, turn)
            names += [] if name in names else [name]
            axes.append(Axis(_vector(back @ np.array(turn.axis)), names.index(name), line))
        turned = quaternion_multiply(quaternion_conjugate(F), np.array(frame))
        found.append(replace(
            body, parent=before, spring_mount=None,
            joint=CustomJoint(tuple(names), tuple(axes)) if axes else FixedJoint(),
            coordinate_names=tuple(names) or None,
            position=(0.0, 0.0, 0.0) if found else leader.position,
            orientation=_vector(turned if found else quaternion_multiply(np.array(leader.orientation), turned)),
        ))  # fmt: skip
        before, done, F = body.name, len(turns), np.array(frame)
    return found, couplings


def _all_turns(last: Body) -> tuple[Turn, ...]:
    """All rotations of a chain, each by one coordinate: those of its last frame, then what the ball joint has beyond
    them."""
    joint: Any = last.joint
    angles: Angles = joint.angles
    turns, rows, offsets, place = list(joint.turns), angles.matrix.copy(), np.array(angles.offsets), 0
    for k, turn in enumerate(joint.turns):
        place += bool(k) and not _same_axis(turns[k - 1].axis, turn.axis)
        sign = 0.0 if place > 2 else _same_axis(angles.axes[place], turn.axis)
        if not sign:
            raise ModelError("it follows other rotations than those of the joint", element=f"body {last.name!r}")
        rows[place] -= sign * np.array(turn.row)
        offsets[place] -= sign * turn.offset
    for axis, row, offset in zip(angles.axes, rows, offsets, strict=True):
        for i in np.flatnonzero(row):
            turns.append(Turn(axis, _vector(np.where(np.arange(3) == i, row, 0.0)), float(offset)))
            offset = 0.0
    return tuple(turns)
