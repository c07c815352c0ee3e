"""The tree, read and written: a body of ours for every joint of the file, and one more for a joint that is not at its
body's origin."""

import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from myoquat.core import frozen
from myoquat.data.motions.angular_speeds import axes_of_angles
from myoquat.data.reports import UnwrittenParts
from myoquat.data.xml import Element, add, add_set, checked_name, number, numbers
from myoquat.joints import ArticulatedSystem, Axis, Body, FixedJoint, ModelError
from myoquat.joints.constraints import Weld
from myoquat.joints.conversion.balls import as_axes, completed
from myoquat.joints.errors import errors_about
from myoquat.joints.functions import Constant, MultivariatePolynomial
from myoquat.joints.multibody.body import check_inertia
from myoquat.joints.multibody.scaling import PART_INFIX
from myoquat.muscle.coordinates import Coordinate

from .constraints import weld
from .elements import GROUND, ZERO, Frame, Frames, add_offset
from .functions import add_function
from .geometry import add_geometry, geometry_of
from .tree import (
    BY_ANGULAR_VELOCITY,
    SHAPED,
    TAG,
    OsimJoint,
    Way,
    are_collinear,
    linked,
    read_joint,
    scapular_bodies,
    tag_of,
)


def read_skeleton(
    model: Any, frames: Frames
) -> tuple[tuple[Body, ...], list[OsimJoint], tuple[Weld, ...], tuple[str, ...]]:
    """Bodies and joints of a <Model> in the order of the file's joints, welds that close loops, and the names of the
    bodies that no joint of the file connects with the ground. ModelError for a frame that is missing, or a loop that
    cannot be cut.

    A joint whose child hangs on another one already, or is the ground, carries its parent instead. A body that no joint
    links with the ground floats: it hangs there by a joint of six coordinates, as in OpenSim.

    A joint between two bodies that hang on others closes a loop. It then carries a part of its child, which is welded
    to the rest. The parts of a body are equal, in mass, center of mass and inertia. The further ones are called
    BODY_slave_0 and so on, as in OpenSim. A joint that is itself a weld becomes a constraint.
    """
    elements = {element.get("name"): element for element in model.findall("BodySet/objects/Body")}
    links, floating = linked(model, elements, frames)
    parts = Counter(link.child.body for link in links if link.cuts)
    bodies: list[Body] = []
    joints: list[OsimJoint] = []
    welds: list[Weld] = []
    cut = Counter[str]()
    for link in links:
        name = str(link.element.get("name"))
        if link.way is Way.LOOP and not link.cuts:
            welds.append(weld(link.parent, link.child, f"{name}_Loop"))
            continue
        joints.append(read_joint(link.element, link.way is Way.BACKWARD))
        inner, outer = link.ends
        mass = _mass(elements[outer.body], parts[outer.body] + 1)
        if link.cuts:
            part = f"{outer.body}{PART_INFIX}{cut[outer.body]}"
            cut[outer.body] += 1
            welds.append(Weld(outer.body, part, name=f"{part}_weld"))
            outer, mass["shapes"] = replace(outer, body=part), ()
        bodies += _bodies(link.element, joints[-1], inner, outer, mass)
    return tuple(bodies), joints, tuple(welds), floating


def _mass(element: Any, parts: int) -> dict[str, Any]:
    """What a body weighs and shows, or one of its `parts`, which are equal."""
    inertia = numbers(element, "inertia", 6, (0.0,) * 6)
    mass: dict[str, Any] = {
        "mass": number(element, "mass", 0.0) / parts,
        "center_of_mass": numbers(element, "mass_center", 3, ZERO),
        "inertia": (0.0,) * 6 if is_massless(element) else tuple(x / parts for x in inertia),
        "shapes": geometry_of(element),
    }
    try:
        check_inertia(Body("", "", FixedJoint(), **mass))
    except ModelError:  # no rigid body can have it, but OpenSim takes any
        mass["lenient_inertia"] = True
    return mass


def _bodies(joint_element: Any, joint: OsimJoint, parent: Frame, child: Frame, mass: dict[str, Any]) -> list[Body]:
    """The body on its joint. Where the joint's child frame is not the body's own, the joint carries that frame, and the
    body is fixed to it. A joint of several parts has a body for each."""
    place: dict[str, Any] = {"position": parent.p, "orientation": parent.orientation}
    if joint_element.tag == TAG:
        return scapular_bodies(joint_element, joint, parent, child, mass)
    name, names = joint_element.get("name"), tuple(c.name for c in joint.coordinates) or None
    if child.is_body:
        return [Body(child.body, parent.body, joint.joint, joint_name=name, coordinate_names=names, **place, **mass)]
    frame = f"{name}_frame"
    back = child.inverse
    return [
        Body(frame, parent.body, joint.joint, joint_name=name, coordinate_names=names, **place),
        Body(child.body, frame, FixedJoint(), back.p, back.orientation, **mass),
    ]


def is_massless(element: Any) -> bool:
    """Whether a <Body> has no mass: OpenSim passes over its inertia then."""
    return number(element, "mass", 0.0) <= sys.float_info.epsilon


# ---- Our tree as OpenSim's bodies and joints: a joint's own frame, a body in our tree, becomes a frame ------------


SOCKETS = ("socket_parent_frame", "socket_child_frame")


@frozen
class Placed:
    """A joint between two bodies.

    moving   the body whose joint it is
    carried  the body that it carries in the place of `moving`, the same one where the joint is at its origin
    frame    (position, orientation) of the joint on `carried`, None where the joint is at its origin
    """

    moving: Body
    carried: str
    frame: tuple[Any, Any] | None = None

    @property
    def name(self) -> str:
        """The name of the joint."""
        return self.moving.joint_name or self.moving.name


def add_joint(parent: Element, placed: Placed, start: Any, coordinates: dict[str, Coordinate]) -> None:
    """A joint with its frames and coordinates; start: their values and speeds."""
    body = placed.moving
    element = f"body {body.name!r}"
    forward = body.joint.forward
    tag = tag_of(forward)
    joint = add(parent, tag, name=checked_name(placed.name, element))
    sockets = SOCKETS if forward is body.joint else SOCKETS[::-1]
    ends = dict(zip(sockets, (f"{body.parent}_offset", f"{placed.carried}_offset"), strict=True))
    for socket, end in ends.items():
        add(joint, socket, end)
    if body.joint.nq:
        holder, (values, speeds) = add(joint, "coordinates"), start
        if tag in BY_ANGULAR_VELOCITY and np.any(speeds):
            speeds = axes_of_angles(*values[:2]) @ speeds
        for coordinate, value, speed in zip(body.names_of_coordinates, values, speeds, strict=True):
            _add_coordinate(holder, checked_name(coordinate, element), value, speed, coordinates.get(coordinate))
    frames = add(joint, "frames")
    add_offset(frames, ends[sockets[0]], body.parent, body.position, body.orientation)
    position, orientation = placed.frame or (ZERO, (1.0, 0.0, 0.0, 0.0))
    add_offset(frames, ends[sockets[1]], placed.carried, position, orientation)
    if tag in SHAPED:
        SHAPED[tag].fill(joint, forward)
    elif tag == "CustomJoint":
        with errors_about(element):
            _add_axes(joint, replace(body, joint=forward))


def _add_coordinate(parent: Element, name: str, value: float, speed: float, known: Coordinate | None) -> None:
    element = add(parent, "Coordinate", name=name)
    add(element, "default_value", value)
    add(element, "default_speed_value", speed)
    if known is not None:
        if known.range is not None:
            add(element, "range", known.range)
        add(element, "clamped", known.clamped)
        add(element, "locked", known.locked)
        if known.prescribed is not None:
            holder = add(element, "prescribed_function")
            with errors_about(f"coordinate {name!r}"):
                add_function(holder, known.prescribed)
            add(element, "prescribed", True)


def _add_axes(parent: Element, body: Body) -> None:
    """The <SpatialTransform>: three turns and three slides, those that are missing along axes of their own, at rest."""
    joint = as_axes(body)
    used = {i for axis in (*joint.rotations, *joint.translations) for i in axis.coordinates}
    for i, name in enumerate(joint.coordinates):
        if i not in used and i < max(used, default=len(joint.coordinates)):
            raise ModelError(f"coordinate {name!r} moves nothing, which OpenSim allows behind those alone that do")
    transform = add(parent, "SpatialTransform")
    for motion, axes in (("rotation", joint.rotations), ("translation", joint.translations)):
        given = [axis.direction for axis in axes]
        if are_collinear(given):
            raise ModelError(
                f"OpenSim refuses {motion} axes along one line, {given}; `with_rotations` gives a ball joint another "
                "sequence"
            )
        still = (Axis(direction, None, Constant(0.0)) for direction in completed(given)[len(given) :])
        for k, axis in enumerate((*axes, *still), start=1):
            holder = add(transform, "TransformAxis", name=f"{motion}{k}")
            add(holder, "coordinates", " ".join(joint.coordinates[i] for i in axis.coordinates))
            add(holder, "axis", axis.direction)
            function = axis.function
            if isinstance(function, MultivariatePolynomial) and function.order == 1:
                # OpenSim 4.6 takes the first derivatives of a MultivariatePolynomialFunction for its second ones
                add(add(holder, "LinearFunction", name="function"), "coefficients", function.coefficients[::-1])
            else:
                add_function(holder, function, "function")


def named_as_ground(system: ArticulatedSystem) -> ArticulatedSystem:
    """The system on a ground of OpenSim's name; ModelError where a body has that name."""
    if system.ground == GROUND:
        return system
    if GROUND in system.body_names:
        raise ModelError("'ground' is the name of OpenSim's ground", element=f"body {GROUND!r}")
    bodies = (replace(b, parent=GROUND) if b.parent == system.ground else b for b in system.bodies)
    return replace(system, bodies=tuple(bodies), ground=GROUND)


def placed_joints(system: ArticulatedSystem, needed: Iterable[str]) -> list[Placed]:
    """The joints in order. A massless body that only carries another one, fixed to it, becomes the frame of its joint
    on that body. It stays a body if it is `needed` by name."""
    needed = set(needed)
    carrying: dict[str, list[Body]] = {}
    for body in system.bodies:
        carrying.setdefault(body.parent, []).append(body)
    result, done = [], set()
    for body in system.bodies:
        children = carrying.get(body.name, [])
        if body.name in done:
            continue
        if len(children) == 1 and _is_frame(body, children[0]) and body.name not in needed:
            back = Frame.of(children[0].name, children[0].position, children[0].orientation).inverse
            result.append(Placed(body, children[0].name, (back.p, back.orientation)))
            done.add(children[0].name)
        else:
            result.append(Placed(body, body.name))
    return result


def _is_frame(body: Body, child: Body) -> bool:
    empty = not body.mass and not any(body.inertia) and not any(body.center_of_mass) and not body.shapes
    plain = child.joint.is_weld and not child.joint_name
    named = body.name == f"{body.joint_name}_frame"
    return empty and plain and (named or not body.joint.is_weld)


def add_bodies(parent: Element, system: ArticulatedSystem, placed: list[Placed], unwritten: UnwrittenParts) -> None:
    """The <BodySet>, and the <Ground> before it."""
    ground = add(parent, "Ground", name=GROUND)
    add_geometry(ground, GROUND, system.shapes, unwritten)
    bodies, written = add_set(parent, "BodySet"), {joint.carried for joint in placed}
    for body in system.bodies:
        if body.name not in written:
            continue
        element = add(bodies, "Body", name=checked_name(body.name, f"body {body.name!r}"))
        add(element, "mass", body.mass)
        add(element, "mass_center", body.center_of_mass)
        add(element, "inertia", body.inertia)
        add_geometry(element, body.name, body.shapes, unwritten)


def add_joints(
    parent: Element, system: ArticulatedSystem, placed: list[Placed], start: Any, coordinates: dict[str, Coordinate]
) -> None:
    """The <JointSet>; start: q (nq,) and u (nu,)."""
    joints = add_set(parent, "JointSet")
    indices = {b.name: i for i, b in enumerate(system.bodies)}
    for joint in placed:
        i = indices[joint.moving.name]
        values = start[0][system.q_slices[i]], start[1][system.u_slices[i]]
        add_joint(joints, joint, values, coordinates)
