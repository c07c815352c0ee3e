"""Joints as rotations about and translations along given axes: the form in which other programs' files hold them."""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import numpy as np

from myoquat.joints.conversion.balls import followed
from myoquat.joints.functions import Linear
from myoquat.joints.multibody.body import Body
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.types import (
    Axis,
    CustomJoint,
    EulerJoint,
    FixedJoint,
    FloatingJoint,
    FollowerJoint,
    GimbalJoint,
    Joint,
    PlanarJoint,
    PrismaticJoint,
    ReversedJoint,
    RevoluteJoint,
    SphericalJoint,
    UniversalJoint,
)
from myoquat.joints.types.angles import Angles
from myoquat.joints.types.direction import perpendiculars
from myoquat.joints.types.follower import angles_of

__all__ = ["as_axes", "completed", "in_angles", "turned_around", "with_angles"]

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
Vector3 = tuple[float, float, float]
Axes = tuple[list[Any], list[Any]]  # directions of rotations and of translations with their coordinates


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
    joint: Any = body.joint
    names = body.names_of_coordinates
    if isinstance(joint, CustomJoint):
        return replace(joint, coordinates=names)
    if type(joint) not in AXES:
        raise ValueError(f"a {joint.kind} joint is not made of rotations and translations along axes")
    rotation_axes, translation_axes = AXES[type(joint)](joint)
    rotations, translations = (
        tuple(Axis(tuple(axis), i) for axis, i in axes) for axes in (rotation_axes, translation_axes)
    )
    sliding = {i for _, i in translation_axes}
    return CustomJoint(names, rotations, translations, tuple("m" if i in sliding else "rad" for i in range(joint.nq)))


def _euler(joint: EulerJoint) -> Axes:
    return [({"X": X, "Y": Y, "Z": Z}[letter], k) for k, letter in enumerate(joint.sequence)], []


def _planar(joint: PlanarJoint) -> Axes:
    translations = [(tuple(map(float, e)), k) for k, e in enumerate(perpendiculars(joint.axis))]
    return [(joint.axis, 2)], translations


AXES: dict[type[Joint], Callable[[Any], Axes]] = {
    RevoluteJoint: lambda joint: ([(joint.axis, 0)], []),
    PrismaticJoint: lambda joint: ([], [(joint.axis, 0)]),
    UniversalJoint: lambda joint: ([(joint.first, 0), (joint.second, 1)], []),
    EulerJoint: _euler,
    PlanarJoint: _planar,
}


def turned_around(body: Body) -> Joint:
    """The joint of a body as it would carry the body's parent: the same coordinates, the opposite motion.

    Rotations alone stay rotations, the last one first and about the opposite axes; slides and turns together become a
    `ReversedJoint`. ValueError for a joint with a quaternion.
    """
    return _TURNED.get(type(body.joint), _reversed)(body)


def _reversed(body: Body) -> Joint:
    return ReversedJoint(body.joint)  # type: ignore[arg-type]


def _about_the_opposite_axis(body: Body) -> Joint:
    joint: Any = body.joint
    turned: Joint = replace(joint, axis=_opposite(joint.axis))
    return turned


def _about_opposite_axes(body: Body) -> Joint:
    axes = as_axes(body)
    if axes.translations:
        return _reversed(body)
    turns = (replace(axis, direction=_opposite(axis.direction)) for axis in reversed(axes.rotations))
    return replace(axes, rotations=tuple(turns))


_TURNED: dict[type[Joint], Callable[[Body], Joint]] = {
    FixedJoint: lambda body: body.joint,
    RevoluteJoint: _about_the_opposite_axis,
    PrismaticJoint: _about_the_opposite_axis,
    CustomJoint: _about_opposite_axes,
    EulerJoint: _about_opposite_axes,
    UniversalJoint: _about_opposite_axes,
}


def _opposite(axis: Vector3) -> Vector3:
    x, y, z = (0.0 - entry for entry in axis)
    return x, y, z


def completed(directions: list[Vector3]) -> list[Vector3]:
    """Three directions: those given, and unit vectors along axes that make the set as independent as can be."""
    found = list(directions)
    while len(found) < 3:
        found.append(max((X, Y, Z), key=lambda axis: float(np.linalg.svd(np.array([*found, axis]))[1][-1])))
    return found
