"""Descriptions of ball joints: by quaternions, by the named angles of a file, and by rotations about axes."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from myoquat.core.arguments import check_types
from myoquat.joints import (
    Angles,
    ArticulatedSystem,
    Axis,
    Body,
    CustomJoint,
    EulerJoint,
    GimbalJoint,
    Joint,
    ModelError,
    ReversedJoint,
    rotation_matrix,
)
from myoquat.joints.functions import Linear
from myoquat.joints.types.base import Vector3, opposite
from myoquat.joints.types.follower import angles_of

__all__ = [
    "as_axes", "as_ball", "ball_joint_obstacle", "completed", "followed", "in_angles", "turned_around", "with_angles",
    "with_ranges"
]  # fmt: skip


WIDEST_RANGE = 2 * np.pi + 1e-6  # [rad] wider ranges are no statement about the joint
FULL_TURN = 2 * np.pi - 1e-6  # [rad] ranges of full turns hold both triples of a rotation
RANGE_SAMPLES = 25  # second angles of a range at which the first solution is compared
SAME_ANGLE = 1e-6  # [rad]
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def ball_joint_obstacle(body: Body) -> str | None:
    """Why a body's joint cannot become a quaternion joint; None if it can, or is one.

    >>> import myoquat as mq
    >>> print(mq.joints.ball_joint_obstacle(mq.Body("knee", "ground", mq.joints.RevoluteJoint((0, 0, 1)))))
    a revolute joint is no ball joint
    >>> print(mq.joints.ball_joint_obstacle(mq.Body("hip", "ground", mq.joints.EulerJoint("ZXY"))))
    None
    """
    check_types(body=(body, Body))
    reason = body.joint.ball_obstacle
    if reason is None and body.joint.span == "some" and (body.damping or body.stiffness or body.rotor_inertia):
        return "a damper, a spring or a rotor acts on its own coordinates"
    return reason


def as_ball(body: Body) -> Body:
    """The body on a spherical or a floating joint that remembers its angles; ModelError if that is impossible."""
    reason, joint, ball = ball_joint_obstacle(body), body.joint, body.joint.ball_joint
    if reason is not None or ball is None:
        raise ModelError(f"no ball joint: {reason}", element=f"body {body.name!r}")
    if joint.by_sequence:
        return body
    names = [body.names_of_coordinates[i] for axis in joint.translations if axis.constant is None
             for i in axis.coordinates]  # fmt: skip
    names += [f"{body.name}.{suffix}" for suffix in ball.facts.coordinates[len(names) :]] if names else []
    _, centre = joint.transform(np.zeros(joint.nq))
    p = np.array(body.position) + rotation_matrix(np.array(body.orientation)) @ centre
    return replace(body, joint=ball, position=tuple(map(float, p)), coordinate_names=tuple(names) or None)


def followed(bodies: Iterable[Body]) -> tuple[Body, ...]:
    """The bodies, whose followers know the joint that carries their leader as it is now."""
    bodies = tuple(bodies)
    joints = {body.name: body.joint for body in bodies}
    return tuple(
        body if (leader := body.joint.follows) is None else replace(body, joint=body.joint.behind(joints[leader]))
        for body in bodies
    )


def with_ranges(body: Body, ranges: Mapping[str, tuple[float, float]]) -> Body:
    """The body, whose angles know the ranges of their coordinates if these go past the lock.

    The ranges then choose between the two triples of angles of a rotation.
    """
    joint: Any = body.joint
    angles = joint.named
    if angles is None or not all(name in ranges for name in angles.names):
        return body
    own = tuple(ranges[name] for name in angles.names)
    widths = [high - low for low, high in own]
    if max(widths) > WIDEST_RANGE or min(widths) > FULL_TURN:
        return body
    ends = [np.array([own[0][0], x, own[2][0]]) for x in np.linspace(*own[1], RANGE_SAMPLES)]
    seconds = np.array([angles.rotations(x)[1] for x in ends])
    plain = replace(angles, ranges=())
    x = np.array([plain.coordinates(np.array([0.5, f2, 0.5])) for f2 in seconds])
    first = plain.triple(plain.quaternion(x))[:, 1]
    if np.abs(np.exp(1j * first) - np.exp(1j * seconds)).max() < SAME_ANGLE:
        return body
    return replace(body, joint=replace(joint, angles=replace(angles, ranges=own)))


# ---- Joints as rotations about and translations along axes: the form in which other programs' files hold them ------


def with_angles(body: Body) -> Body:
    """The body with angles where it has a quaternion, the inverse of `myoquat.joints.conversion.balls.as_ball`.

    A spherical joint, or the rotation of a floating one, gets the angles that it remembers. If it remembers none, it
    gets those of the sequence XYZ, named '<body>.rx', '<body>.ry', '<body>.rz'. An Euler joint gets the angles that it
    remembers. Any other body is returned as it is. `convert_coordinates` converts the states.
    """
    joint, angles = body.joint, body.joint.named
    if not joint.by_sequence or (angles is None and joint.own_angles is not None):
        return body
    x, y, z = names = tuple(f"{body.name}.r{letter}" for letter in "xyz")
    if angles is None and joint.span == "rotations":
        return replace(body, joint=EulerJoint("XYZ"), coordinate_names=names, spring_mount=None)
    angles = angles or Angles((x, y, z), (X, Y, Z))
    if angles.mixing is not None or angles.dependents:
        return _on_gimbal(body)
    lines = zip(angles.axes, angles.factors, angles.offsets, strict=True)
    rotations = tuple(Axis(axis, k, Linear(*line)) for k, (axis, *line) in enumerate(lines))
    slid = 3 if joint.span == "all" else 0
    translations = tuple(Axis(axis, 3 + k) for k, axis in enumerate((X, Y, Z)))[:slid]
    names = (*angles.names, *body.names_of_coordinates[:slid])
    custom = CustomJoint(names, rotations, translations, (*angles.units, *("m",) * slid))
    return replace(body, joint=custom, coordinate_names=names, spring_mount=None)


def in_angles(system: ArticulatedSystem, names: Collection[str]) -> ArticulatedSystem:
    """The system with a model file's angles in place of each quaternion that has one, or the speed of one, in names."""
    named = {system.bodies[i].name for name, (i, _) in system.angle_names.items() if {name, f"{name}_u"} & {*names}}
    if not named:
        return system
    led = {body.joint.follows for body in system.bodies}
    return replace(system, bodies=followed(
        body if body.name not in named else _on_gimbal(body) if body.name in led else with_angles(body)
        for body in system.bodies
    ))  # fmt: skip


def _on_gimbal(body: Body) -> Body:
    """The body on its joint's named angles, in the form that frames can follow."""
    angles = angles_of(body.joint)
    return replace(body, joint=GimbalJoint(angles), coordinate_names=angles.names, spring_mount=None)


def as_axes(body: Body) -> CustomJoint:
    """The body's joint as rotations about and translations along axes.

    The coordinates are the same, by the names that the body gives them. ValueError for a joint with a quaternion, or a
    fixed one.
    """
    joint = body.joint
    if not joint.made_of_axes:
        raise ValueError(f"a {joint.kind} joint is not made of rotations and translations along axes")
    return CustomJoint(body.names_of_coordinates, joint.rotations, joint.translations, joint.facts.coordinate_units)


def turned_around(body: Body) -> Joint:
    """The joint of a body as it would carry the body's parent: the same coordinates, the opposite motion.

    Rotations alone stay rotations, the last one first and about the opposite axes; slides and turns together become a
    `ReversedJoint`. ValueError for a joint with a quaternion.
    """
    if (same_type := body.joint.opposite()) is not None:
        return same_type
    if not body.joint.made_of_axes or body.joint.translations:
        return ReversedJoint(body.joint)  # type: ignore[arg-type]
    axes = as_axes(body)
    turns = (replace(axis, direction=opposite(axis.direction)) for axis in reversed(axes.rotations))
    return replace(axes, rotations=tuple(turns))


def completed(directions: list[Vector3]) -> list[Vector3]:
    """Three directions: those given, and unit vectors along axes that make the set as independent as can be."""
    found = list(directions)
    while len(found) < 3:
        found.append(max((X, Y, Z), key=lambda axis: float(np.linalg.svd(np.array([*found, axis]))[1][-1])))
    return found
