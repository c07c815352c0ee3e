"""Custom joints that are ball joints: three rotations about fixed axes through one centre."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from myoquat.core.arguments import check_types
from myoquat.joints.errors import ModelError
from myoquat.joints.functions import AxisFunction, Linear, MultivariatePolynomial, coefficients_of
from myoquat.joints.multibody.body import Body
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.quaternion import rotation_matrix
from myoquat.joints.sequences import PARALLEL_SINE
from myoquat.joints.types import (
    Axis,
    CustomJoint,
    EulerJoint,
    FixedJoint,
    FloatingJoint,
    FollowerJoint,
    GimbalJoint,
    Joint,
    ReversedJoint,
    SphericalJoint,
)
from myoquat.joints.types.angles import Angles, TurnsJoint
from myoquat.joints.types.base import DirectedJoint, Vector3
from myoquat.joints.types.follower import angles_of

__all__ = [
    "Ball",
    "as_axes",
    "as_ball",
    "ball_joint_obstacle",
    "completed",
    "coordinate_indices",
    "followed",
    "in_angles",
    "rotation_angles",
    "turned_around",
    "with_angles",
    "with_ranges",
]


WIDEST_RANGE = 2 * np.pi + 1e-6  # [rad] wider ranges are no statement about the joint
FULL_TURN = 2 * np.pi - 1e-6  # [rad] ranges of full turns hold both triples of a rotation
RANGE_SAMPLES = 25  # second angles of a range at which the first solution is compared
SAME_ANGLE = 1e-6  # [rad]

Ball = SphericalJoint | TurnsJoint


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
    rotating = {i for axis in joint.rotations for i in axis.coordinates}
    if body.damping or body.stiffness or body.rotor_inertia:
        return "a damper, a spring or a rotor acts on its own coordinates"
    return _why_not_translations(joint, rotating)


def _why_not_angles(joint: CustomJoint) -> str | None:
    """Why the rotations of a joint are not three angles about successive axes."""
    if any(len(axis.coordinates) > 1 for axis in joint.rotations):
        return "a rotation is a function of several coordinates"
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
        _three(joint.coordinates[i] for axis in joint.rotations for i in axis.coordinates),
        _three(axis.direction for axis in joint.rotations),
        _three(factor for factor, _ in lines),
        _three(offset for _, offset in lines),
        units=_three(joint.units[i] for axis in joint.rotations for i in axis.coordinates),
    )


def _why_not_translations(joint: CustomJoint, rotating: set[int]) -> str | None:
    sliding = [i for axis in joint.translations if _constant(axis) is None for i in axis.coordinates]
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
        (np.array(a.direction) * (_constant(a) or 0.0) for a in joint.translations),
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
    return angles_at, [i for a in joint.translations if _constant(a) is None for i in a.coordinates]


def _line(function: AxisFunction | MultivariatePolynomial) -> tuple[float, float] | None:
    """(factor, offset) of a linear function of one coordinate that is not constant."""
    found = coefficients_of(function) if isinstance(function, AxisFunction) else None
    return (found[1], found[0]) if found is not None and len(found) == 2 and found[1] else None


def _constant(axis: Axis) -> float | None:
    """The value of a function that does not vary."""
    return float(axis.value(np.zeros(0))) if axis.coordinate is None else axis.function.as_constant


def _three(values: Iterable[Any]) -> tuple[Any, Any, Any]:
    first, second, third = values
    return first, second, third


# --------------------------------------------------------------------------------------------------------------
#
# Joints as rotations about and translations along given axes: the form in which other programs' files hold them.


X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def with_angles(body: Body) -> Body:
    """The body with angles where it has a quaternion, the inverse of `myoquat.joints.conversion.balls.as_ball`.

    A spherical joint, or the rotation of a floating one, gets the angles that it remembers. If it remembers none, it
    gets those of the sequence XYZ, named '<body>.rx', '<body>.ry', '<body>.rz'. An Euler joint gets the angles that it
    remembers. Any other body is returned as it is. `convert_coordinates` converts the states.
    """
    joint = body.joint
    remembered = isinstance(joint, EulerJoint) and joint.angles is not None
    if not remembered and not isinstance(joint, (SphericalJoint, FloatingJoint)):
        return body
    x, y, z = (f"{body.name}.r{letter}" for letter in "xyz")
    angles = getattr(joint, "angles", None) or Angles((x, y, z), (X, Y, Z))
    if isinstance(joint, SphericalJoint) and joint.angles is None:
        return replace(body, joint=EulerJoint("XYZ"), coordinate_names=angles.names, spring_mount=None)
    if angles.mixing is not None or angles.dependents:
        return _on_gimbal(body)
    lines = zip(angles.axes, angles.factors, angles.offsets, strict=True)
    rotations = tuple(Axis(axis, k, Linear(*line)) for k, (axis, *line) in enumerate(lines))
    slid = 3 if isinstance(joint, FloatingJoint) else 0
    translations = tuple(Axis(axis, 3 + k) for k, axis in enumerate((X, Y, Z)))[:slid]
    names = (*angles.names, *body.names_of_coordinates[:slid])
    custom = CustomJoint(names, rotations, translations, (*angles.units, *("m",) * slid))
    return replace(body, joint=custom, coordinate_names=names, spring_mount=None)


def in_angles(system: ArticulatedSystem, names: Collection[str]) -> ArticulatedSystem:
    """The system with a model file's angles in place of each quaternion that has one, or the speed of one, in names."""
    named = {system.bodies[i].name for name, (i, _) in system.angle_names.items() if {name, f"{name}_u"} & {*names}}
    if not named:
        return system
    led = {body.joint.leader for body in system.bodies if isinstance(body.joint, FollowerJoint)}
    bodies = (
        body if body.name not in named else _on_gimbal(body) if body.name in led else with_angles(body)
        for body in system.bodies
    )
    return replace(system, bodies=followed(bodies))


def _on_gimbal(body: Body) -> Body:
    """The body on its joint's named angles, in the form that frames can follow."""
    angles = angles_of(body.joint)
    return replace(body, joint=GimbalJoint(angles), coordinate_names=angles.names, spring_mount=None)


def as_axes(body: Body) -> CustomJoint:
    """The body's joint as rotations about and translations along axes.

    The coordinates are the same, by the names that the body gives them. ValueError for a joint with a quaternion, or a
    fixed one.
    """
    joint, names = body.joint, body.names_of_coordinates
    if isinstance(joint, CustomJoint):
        return replace(joint, coordinates=names)
    if not joint.rotates_about and not joint.slides_along:
        raise ValueError(f"a {joint.kind} joint is not made of rotations and translations along axes")
    slides = tuple(Axis(axis, i) for i, axis in enumerate(joint.slides_along))
    turns = tuple(Axis(axis, i) for i, axis in enumerate(joint.rotates_about, len(slides)))
    return CustomJoint(names, turns, slides, ("m",) * len(slides) + ("rad",) * len(turns))


def turned_around(body: Body) -> Joint:
    """The joint of a body as it would carry the body's parent: the same coordinates, the opposite motion.

    Rotations alone stay rotations, the last one first and about the opposite axes; slides and turns together become a
    `ReversedJoint`. ValueError for a joint with a quaternion.
    """
    joint = body.joint
    if isinstance(joint, FixedJoint):
        return joint
    if isinstance(joint, DirectedJoint):
        return replace(joint, axis=_opposite(joint.axis))
    if not (isinstance(joint, CustomJoint) or joint.rotates_about) or (axes := as_axes(body)).translations:
        return ReversedJoint(joint)  # type: ignore[arg-type]
    turns = (replace(axis, direction=_opposite(axis.direction)) for axis in reversed(axes.rotations))
    return replace(axes, rotations=tuple(turns))


def _opposite(axis: Vector3) -> Vector3:
    x, y, z = (0.0 - entry for entry in axis)
    return x, y, z


def completed(directions: list[Vector3]) -> list[Vector3]:
    """Three directions: those given, and unit vectors along axes that make the set as independent as can be."""
    found = list(directions)
    while len(found) < 3:
        found.append(max((X, Y, Z), key=lambda axis: float(np.linalg.svd(np.array([*found, axis]))[1][-1])))
    return found
