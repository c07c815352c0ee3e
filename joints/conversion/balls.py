"""Custom joints that are ball joints: three rotations about fixed axes through one centre."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from myoquat.core.arguments import check_types
from myoquat.joints.errors import ModelError
from myoquat.joints.functions import AxisFunction, coefficients_of
from myoquat.joints.multibody.body import Body
from myoquat.joints.quaternion import rotation_matrix
from myoquat.joints.rotations.davenport import PARALLEL_SINE
from myoquat.joints.types import CustomJoint, EulerJoint, FloatingJoint, FollowerJoint, GimbalJoint, SphericalJoint
from myoquat.joints.types.angles import Angles

__all__ = [
    "Ball",
    "are_parallel",
    "as_ball",
    "ball_joint_obstacle",
    "coordinate_indices",
    "followed",
    "rotation_angles",
    "with_ranges",
]

WIDEST_RANGE = 2 * np.pi + 1e-6  # [rad] wider ranges are no statement about the joint
FULL_TURN = 2 * np.pi - 1e-6  # [rad] ranges of full turns hold both triples of a rotation
RANGE_SAMPLES = 25  # second angles of a range at which the first solution is compared
SAME_ANGLE = 1e-6  # [rad]

Ball = SphericalJoint | EulerJoint | GimbalJoint


def ball_joint_obstacle(body: Body) -> str | None:
    """Why a body's joint cannot become a quaternion joint; None if it can, or is one.

    >>> import myoquat as mq
    >>> print(mq.joints.ball_joint_obstacle(mq.Body("knee", "ground", mq.joints.RevoluteJoint((0, 0, 1)))))
    a revolute joint is no ball joint
    >>> print(mq.joints.ball_joint_obstacle(mq.Body("hip", "ground", mq.joints.EulerJoint("ZXY"))))
    None
    """
    check_types(body=(body, Body))
    joint = body.joint
    if isinstance(joint, (SphericalJoint, EulerJoint, FloatingJoint, GimbalJoint)):
        return None
    if not isinstance(joint, CustomJoint):
        return f"a {joint.kind} joint is no ball joint"
    reason = _why_not_angles(joint)
    if reason is not None:
        return reason
    rotating = {axis.coordinate for axis in joint.rotations}
    if body.damping or body.stiffness or body.rotor_inertia:
        return "a damper, a spring or a rotor acts on its own coordinates"
    return _why_not_translations(joint, rotating)


def _why_not_angles(joint: CustomJoint) -> str | None:
    """Why the rotations of a joint are not three angles about successive axes."""
    rotating = [axis.coordinate for axis in joint.rotations]
    if len(rotating) != 3 or None in rotating or len(set(rotating)) != 3:
        count = len({c for c in rotating if c is not None})
        return f"{count} coordinates rotate it, not three" if count != 1 else "one coordinate rotates it, not three"
    if any(_line(axis.function) is None for axis in joint.rotations):
        return "a rotation is not a linear function of its coordinate"
    if are_parallel([axis.direction for axis in joint.rotations]):
        return "two of its successive axes are parallel"
    return None


def rotation_angles(joint: CustomJoint) -> Angles | None:
    """The three angles about successive axes by which a joint rotates; None if it rotates in another way."""
    if _why_not_angles(joint) is not None:
        return None
    lines = [_line(axis.function) or (0.0, 0.0) for axis in joint.rotations]
    return Angles(
        _three(joint.coordinates[axis.coordinate or 0] for axis in joint.rotations),
        _three(axis.direction for axis in joint.rotations),
        _three(factor for factor, _ in lines),
        _three(offset for _, offset in lines),
        units=_three(joint.units[axis.coordinate or 0] for axis in joint.rotations),
    )


def _why_not_translations(joint: CustomJoint, rotating: set[int | None]) -> str | None:
    sliding = [axis.coordinate for axis in joint.translations if _constant(axis.function, axis.coordinate) is None]
    if set(sliding) & rotating:
        return "its centre moves with its rotations"
    if not sliding:
        return None
    directions = np.array([axis.direction for axis in joint.translations])
    plain = [_line(axis.function) == (1.0, 0.0) for axis in joint.translations]
    if len(set(sliding)) != 3 or not all(plain) or not np.array_equal(directions, np.eye(3)):
        return "its translations are not along x, y and z by a coordinate each"
    return None


def as_ball(body: Body) -> Body:
    """The body on a spherical or a floating joint that remembers its angles; ModelError if that is impossible."""
    reason = ball_joint_obstacle(body)
    if reason is not None:
        raise ModelError(f"no ball joint: {reason}", element=f"body {body.name!r}")
    joint = body.joint
    if isinstance(joint, GimbalJoint):
        return replace(body, joint=SphericalJoint(angles=joint.angles), coordinate_names=None)
    if not isinstance(joint, CustomJoint):
        return body
    angles = rotation_angles(joint)
    assert angles is not None
    if len(joint.coordinates) == 6:
        translations = [body.names_of_coordinates[i] for i in coordinate_indices(joint, angles)[1]]
        names = (*translations, *(f"{body.name}.{suffix}" for suffix in FloatingJoint().facts.coordinates[3:]))
        return replace(body, joint=FloatingJoint(angles=angles), coordinate_names=names)
    centre = sum(
        (np.array(a.direction) * (_constant(a.function, a.coordinate) or 0.0) for a in joint.translations),
        start=np.zeros(3),
    )
    p = np.array(body.position) + rotation_matrix(np.array(body.orientation)) @ centre
    position = tuple(float(x) for x in p)
    return replace(body, joint=SphericalJoint(angles=angles), position=position, coordinate_names=None)


def followed(bodies: Iterable[Body]) -> tuple[Body, ...]:
    """The bodies, whose followers know the joint that carries their leader as it is now."""
    bodies = tuple(bodies)
    joints = {body.name: body.joint for body in bodies}
    return tuple(
        replace(body, joint=replace(body.joint, ball=joints[body.joint.leader]))
        if isinstance(body.joint, FollowerJoint) and body.joint.ball is not joints[body.joint.leader]
        else body
        for body in bodies
    )


def are_parallel(axes: Sequence[Sequence[float]]) -> bool:
    """Whether two successive ones of unit axes are parallel."""
    return any(np.linalg.norm(np.cross(a, b)) < PARALLEL_SINE for a, b in pairwise(axes))


def with_ranges(body: Body, ranges: Mapping[str, tuple[float, float]]) -> Body:
    """The body, whose angles know the ranges of their coordinates if these go past the lock.

    The ranges then choose between the two triples of angles of a rotation.
    """
    joint: Any = body.joint
    angles = getattr(joint, "angles", None)
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


def coordinate_indices(joint: CustomJoint, angles: Angles) -> tuple[list[int], list[int]]:
    """Indices of the three angles, and of the three translations if any, among the coordinates of a custom joint."""
    angles_at = [joint.coordinates.index(name) for name in angles.names]
    translations = [a.coordinate for a in joint.translations if _constant(a.function, a.coordinate) is None]
    return angles_at, [i for i in translations if i is not None]


def _line(function: AxisFunction) -> tuple[float, float] | None:
    """(factor, offset) of a linear function that is not constant."""
    found = coefficients_of(function)
    return (found[1], found[0]) if found is not None and len(found) == 2 and found[1] else None


def _constant(function: AxisFunction, coordinate: int | None) -> float | None:
    """The value of a function that does not vary."""
    return float(function.value(np.zeros(()))) if coordinate is None else function.as_constant


def _three(values: Iterable[Any]) -> tuple[Any, Any, Any]:
    first, second, third = values
    return first, second, third
