"""From the model to the file."""

import re
from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
from lxml import etree

from myoquat.core import free_name
from myoquat.data.motions.angular_speeds import axes_of_angles
from myoquat.data.reports import UnwrittenParts
from myoquat.data.xml import Element, add, add_set, checked_name, document_text
from myoquat.joints import (
    ArticulatedSystem,
    Axis,
    Body,
    FixedJoint,
    ModelError,
    convert_coordinates,
    convert_velocities,
    rotation_matrix,
)
from myoquat.joints.conversion.balls import as_axes, completed, with_angles
from myoquat.joints.conversion.chains import with_chains_restored
from myoquat.joints.errors import errors_about
from myoquat.joints.functions import Constant, Linear, MultivariatePolynomial
from myoquat.muscle import Model
from myoquat.muscle.actuators import Actuator, PointToPointActuator
from myoquat.muscle.coordinates import Coordinate, Coupler
from myoquat.muscle.loads import BODIES, named_bodies

from .constraints import add_constraints
from .controllers import add_inputs
from .elements import GROUND, MARKER, Frame, add_offset, format_of, frame_of
from .forces import ACTUATORS, FORCES, add_limits, add_passive, surfaces_of
from .functions import add_function
from .geometry import add_geometry
from .laws import TIMES
from .muscles import add_path, force_element
from .tree import BY_ANGULAR_VELOCITY, SHAPED, are_collinear, forces_on_angles, tag_of
from .wraps import WrittenWraps

COLONS = re.compile(r"(</?\w+)\.\.(?=\w)")  # ours for the :: of OpenSim's tags, which XML takes for namespaces
NAMING = (*BODIES, "parent", "ground")  # fields that name bodies or the ground
VERSION = "40000"  # the oldest that OpenSim 4 writes: every release of it reads it


def model_text(model: Model, unwritten: UnwrittenParts) -> str:
    """The text of an OpenSim file of a model.

    Quaternion joints get angles, as OpenSim has no other coordinates. They are those of the file that they come from,
    else a ball's turns about x, y and z. `load_model(path, rotations="quaternion")` brings the quaternions back. A
    massless body that only carries another one becomes the frame of its joint. A path without a law, or with one that
    OpenSim does not know, is written as a PathActuator. This and all other parts that the file cannot represent are
    noted. Raises ModelError where the motion or the lengths would change. These are names that OpenSim does not allow,
    points and surfaces that it does not have, and numbers that a force cannot have.
    """
    root = etree.Element("OpenSimDocument", Version=VERSION)
    _add_model(root, model, unwritten)
    return COLONS.sub(r"\1::", document_text(root))


def _add_model(root: Element, model: Model, unwritten: UnwrittenParts) -> None:
    was = model.system.ground
    if was != GROUND and GROUND in model.system.body_names:
        raise ModelError("'ground' is the name of OpenSim's ground", element=f"body {GROUND!r}")
    original = _with_bodies_to_pull_at(_on_ground(model, was, GROUND))
    model = _prepared(original)
    system = model.system
    source, q, speeds = original.system, original.start, original.start_u or ()  # by the coordinates that are written
    start_q: Any = convert_coordinates(source, system, q)
    start_u = convert_velocities(source, system, q, speeds) if any(speeds) else np.zeros(system.nu)
    model = replace(model, start_q=start_q)
    element = add(root, "Model", name=checked_name(model.name, "the model"))
    if model.description:
        add(element, "credits", model.description)
    add(element, "gravity", system.gravity)
    coordinates, surfaces = {c.name: c for c in model.coordinates}, surfaces_of(model)
    linked = (*model.constraints, *model.forces, *model.actuators, *model.markers, *surfaces.values())
    placed = placed_joints(system, named_bodies(model.muscles, linked))
    add_bodies(element, system, placed, unwritten)
    add_joints(element, system, placed, (start_q, start_u), coordinates)
    add_constraints(element, model, unwritten)
    wraps = WrittenWraps(element, surfaces)
    forces = add_set(element, "ForceSet")
    for muscle in model.muscles:
        checked_name(muscle.name, f"muscle {muscle.name!r}")
        force = force_element(forces, muscle, unwritten)
        if muscle.activation is not None and force.tag not in TIMES:
            unwritten.count("activations of muscles", muscle.name)
        add_path(force, muscle, wraps)
    for muscle in original.muscles:
        if muscle.path.anatomy is not None:
            unwritten.count("paths of points that fitted paths replace", muscle.name)
    add_passive(forces, original.system, unwritten)
    add_limits(forces, system, model.limits)
    for part in (*model.forces, *model.actuators):
        format_ = format_of(ACTUATORS if isinstance(part, Actuator) else FORCES, part)
        if format_ is None:  # without it the model would move otherwise
            raise ModelError(f"OpenSim has no {part.noun} of this type", element=part.element)
        format_.write(forces, part, part.element)
    for name, tag in forces_on_angles(element):
        unwritten.count(f"forces along angles of a joint that is written as <{tag}>", name)
    if model.groups:
        groups = add(forces.getparent(), "groups")  # type: ignore[arg-type]
        for group in model.groups:
            add(add(groups, "ObjectGroup", name=group.name), "members", " ".join(group.members))
    add_inputs(element, model.inputs, (*model.muscle_names, *(actuator.name for actuator in model.actuators)))
    markers = add_set(element, "MarkerSet")
    for marker in model.markers:
        MARKER.write(markers, marker, f"marker {marker.name!r}")


def _prepared(model: Model) -> Model:
    """The model with angles where it has quaternions, as far as paths can see."""
    system, couplings = with_chains_restored(model.system)
    system = replace(system, bodies=tuple(with_angles(body) for body in system.bodies))
    muscles = tuple(replace(m, path=replace(m.path, anatomy=None)) for m in model.muscles)
    taken = {coupler.name for coupler in model.couplers}
    chained = (  # the couplers of chains of bodies
        Coupler(free_name(f"{dependent}_con", taken), dependent, driver, Linear(factor, offset))
        for dependent, (driver, factor, offset) in couplings.items()
    )
    couplers = (*model.couplers, *chained)
    return replace(model, system=system, muscles=muscles, couplers=couplers, start_q=None, start_u=None)


def _with_bodies_to_pull_at(model: Model) -> Model:
    """The model with a massless body on the ground for PointToPointActuators, whose ends OpenSim looks for among the
    bodies alone."""
    system = model.system

    def pulls(actuator: Actuator) -> bool:
        return isinstance(actuator, PointToPointActuator) and system.ground in (actuator.first, actuator.second)

    if not any(map(pulls, model.actuators)):
        return model
    name = free_name("ground_point", system.body_names)
    held = tuple(_on_ground(a, system.ground, name) if pulls(a) else a for a in model.actuators)
    system = replace(system, bodies=(*system.bodies, Body(name, system.ground, FixedJoint())))
    return replace(model, system=system, actuators=held)


def _on_ground(part: Any, was: str, new: str) -> Any:
    """A model, or parts of it, with another name for the ground."""
    if isinstance(part, tuple):
        return tuple(_on_ground(each, was, new) for each in part)
    if was == new or not is_dataclass(part) or isinstance(part, type):
        return part
    values = {f.name: getattr(part, f.name) for f in fields(part) if f.init}
    return replace(part, **{key: new if key in NAMING and value == was else _on_ground(value, was, new)
                            for key, value in values.items()})  # fmt: skip


# ---- Our tree as OpenSim's bodies and joints: a joint's own frame, a body in our tree, becomes a frame ------------


SOCKETS = ("socket_parent_frame", "socket_child_frame")


def _add_known(element: Element, known: Coordinate) -> None:
    if known.range is not None:
        add(element, "range", known.range)
    add(element, "clamped", known.clamped)
    add(element, "locked", known.locked)
    if known.prescribed is not None:
        holder = add(element, "prescribed_function")
        with errors_about(f"coordinate {known.name!r}"):
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


def placed_joints(system: ArticulatedSystem, needed: Iterable[str]) -> list[tuple[Body, Frame]]:
    """The body of each joint in order, and the joint's frame on the body that it carries. A massless body that only
    carries another one, fixed to it, becomes the frame of its joint on that body. It stays a body if it is `needed` by
    name."""
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
            (child,) = children
            origin = Frame(child.name, rotation_matrix(child.orientation), np.array(child.position))
            result.append((body, origin.inverse))
            done.add(child.name)
        else:
            result.append((body, frame_of(body.name)))
    return result


def _is_frame(body: Body, child: Body) -> bool:
    empty = not body.mass and not any(body.inertia) and not any(body.center_of_mass) and not body.shapes
    plain = child.joint.is_weld and not child.joint_name
    named = body.name == f"{body.joint_name}_frame"
    return empty and plain and (named or not body.joint.is_weld)


def add_bodies(
    parent: Element, system: ArticulatedSystem, placed: list[tuple[Body, Frame]], unwritten: UnwrittenParts
) -> None:
    """The <BodySet>, and the <Ground> before it."""
    ground = add(parent, "Ground", name=GROUND)
    add_geometry(ground, GROUND, system.shapes, unwritten)
    bodies, written = add_set(parent, "BodySet"), {frame.body for _, frame in placed}
    for body in system.bodies:
        if body.name not in written:
            continue
        element = add(bodies, "Body", name=checked_name(body.name, f"body {body.name!r}"))
        add(element, "mass", body.mass)
        add(element, "mass_center", body.center_of_mass)
        add(element, "inertia", body.inertia)
        add_geometry(element, body.name, body.shapes, unwritten)


def add_joints(
    parent: Element, system: ArticulatedSystem, placed: list[tuple[Body, Frame]], start: Any,
    coordinates: dict[str, Coordinate],
) -> None:  # fmt: skip
    """The <JointSet>: joints with their frames and coordinates; start: q (nq,) and u (nu,)."""
    joints = add_set(parent, "JointSet")
    for body, frame in placed:
        forward = body.joint.forward
        element, tag, i = f"body {body.name!r}", tag_of(forward), system.indices.body(body.name)
        entry = add(joints, tag, name=checked_name(body.joint_name or body.name, element))
        sockets = SOCKETS if forward is body.joint else SOCKETS[::-1]
        ends = dict(zip(sockets, (f"{body.parent}_offset", f"{frame.body}_offset"), strict=True))
        for socket, end in ends.items():
            add(entry, socket, end)
        if body.joint.nq:
            holder = add(entry, "coordinates")
            values, speeds = start[0][system.q_slices[i]], start[1][system.u_slices[i]]
            if tag in BY_ANGULAR_VELOCITY and np.any(speeds):
                speeds = axes_of_angles(*values[:2]) @ speeds
            for name, value, speed in zip(body.names_of_coordinates, values, speeds, strict=True):
                coordinate = add(holder, "Coordinate", name=checked_name(name, element))
                add(coordinate, "default_value", value)
                add(coordinate, "default_speed_value", speed)
                if (known := coordinates.get(name)) is not None:
                    _add_known(coordinate, known)
        frames = add(entry, "frames")
        add_offset(frames, ends[sockets[0]], body.parent, body.position, body.orientation)
        add_offset(frames, ends[sockets[1]], frame.body, frame.p, frame.orientation)
        if tag in SHAPED:
            SHAPED[tag].fill(entry, forward)
        elif tag == "CustomJoint":
            with errors_about(element):
                _add_axes(entry, replace(body, joint=forward))
