"""Our tree as OpenSim's bodies and joints: a joint's own frame, a body in our tree, becomes a frame."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from myoquat.core.records import dataclass
from myoquat.data.osim.frames import GROUND, Frame
from myoquat.data.osim.functions import add_function
from myoquat.data.osim.reading.bodies import ALONG_Y
from myoquat.data.osim.reading.constraints import COUPLER, powers_of
from myoquat.data.osim.tree import are_collinear
from myoquat.data.reports import UnwrittenParts
from myoquat.data.xml import Element, add, add_set, body_fixed, checked_name
from myoquat.joints.constraints import (
    Constraint,
    CoordinateCoupler,
    Distance,
    PointLoop,
    PointOnLine,
    PolynomialCoupler,
    Weld,
)
from myoquat.joints.conversion.balls import as_axes, completed
from myoquat.joints.errors import ModelError
from myoquat.joints.functions import Constant, MultivariatePolynomial
from myoquat.joints.multibody.body import Body, Shape
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.quaternion import quaternion_conjugate, quaternion_multiply
from myoquat.joints.sequences import quaternion_from_euler
from myoquat.joints.types import (
    ConstantCurvatureJoint,
    EllipsoidJoint,
    EulerJoint,
    FixedJoint,
    Joint,
    PrismaticJoint,
    ReversedJoint,
    RevoluteJoint,
    UniversalJoint,
)
from myoquat.joints.types.custom import Axis
from myoquat.muscle.coordinates import Coordinate, Coupler
from myoquat.muscle.model import Model

__all__ = [
    "Placed",
    "add_bodies",
    "add_constraints",
    "add_geometry",
    "add_joints",
    "add_placed",
    "forward_joint",
    "joint_name",
    "named_as_ground",
    "path_of",
    "placed_joints",
]


# --------------------------------------------------------------------------------------------------------------
#
# Our joints as OpenSim's: a type of its own where OpenSim has one with the same axes, a CustomJoint otherwise.


OWN: tuple[tuple[Joint, str], ...] = (  # what is written for exactly these
    (FixedJoint(), "WeldJoint"),
    (RevoluteJoint((0.0, 0.0, 1.0)), "PinJoint"),
    (PrismaticJoint((1.0, 0.0, 0.0)), "SliderJoint"),
    (UniversalJoint((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)), "UniversalJoint"),
    (EulerJoint("XYZ"), "GimbalJoint"),
)

SOCKETS = ("socket_parent_frame", "socket_child_frame")


@dataclass(frozen=True)
class Placed:
    """A joint between two bodies.

    moving   the body whose joint it is
    carried  the body that it carries in the place of `moving`, the same one where the joint is at its origin
    frame    (position, orientation) of the joint on `carried`, None where the joint is at its origin
    """

    moving: Body
    carried: str
    frame: tuple[Any, Any] | None = None


def joint_name(body: Body) -> str:
    """The name of a body's joint."""
    return body.joint_name or body.name


def add_offset(parent: Element, name: str, body: str, position: Any, orientation: Any) -> Element:
    """A <PhysicalOffsetFrame> on a body."""
    frame = add(parent, "PhysicalOffsetFrame", name=name)
    add(frame, "socket_parent", path_of(body))
    add(frame, "translation", tuple(position))
    add(frame, "orientation", body_fixed(orientation))
    return frame


def path_of(body: str) -> str:
    """The path of a body's frame in the model."""
    return "/ground" if body == GROUND else f"/bodyset/{body}"


def add_joint(parent: Element, placed: Placed, start: Any, coordinates: dict[str, Coordinate]) -> None:
    """A joint with its frames and coordinates; start: their values and speeds."""
    body = placed.moving
    element, name = f"body {body.name!r}", joint_name(body)
    forward = forward_joint(body.joint)
    tag = _tag(forward)
    joint = add(parent, tag, name=checked_name(name, element))
    sockets = SOCKETS if forward is body.joint else SOCKETS[::-1]
    ends = dict(zip(sockets, (f"{body.parent}_offset", f"{placed.carried}_offset"), strict=True))
    for socket, end in ends.items():
        add(joint, socket, end)
    if body.joint.nq:
        holder = add(joint, "coordinates")
        for coordinate, value, speed in zip(body.names_of_coordinates, *start, strict=True):
            _add_coordinate(holder, checked_name(coordinate, element), value, speed, coordinates.get(coordinate))
    frames = add(joint, "frames")
    add_offset(frames, ends[sockets[0]], body.parent, body.position, body.orientation)
    position, orientation = placed.frame or ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))
    add_offset(frames, ends[sockets[1]], placed.carried, position, orientation)
    if isinstance(forward, ConstantCurvatureJoint):
        add(joint, "neutral_angle_x_z_y", forward.rest)
        add(joint, "length", forward.length)
    elif tag == "EllipsoidJoint":
        add(joint, "radii_x_y_z", forward.radii)  # type: ignore[attr-defined]
    elif tag == "CustomJoint":
        _add_axes(joint, replace(body, joint=forward), element)


def forward_joint(joint: Joint) -> Joint:
    """The joint itself, or the one that it reverses: a joint of OpenSim's may carry its parent."""
    return joint.joint if isinstance(joint, ReversedJoint) else joint


def _tag(joint: Joint) -> str:
    """The name of OpenSim's type."""
    if isinstance(joint, EllipsoidJoint) and joint.sequence == "XYZ":
        return "EllipsoidJoint"
    if isinstance(joint, ConstantCurvatureJoint):
        return "ConstantCurvatureJoint"
    return next((tag for other, tag in OWN if other == joint), "CustomJoint")


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
            add_function(holder, known.prescribed, f"coordinate {name!r}")
            add(element, "prescribed", True)


def _add_axes(parent: Element, body: Body, element: str) -> None:
    """The <SpatialTransform>: three turns and three slides, those that are missing along axes of their own, at rest."""
    try:
        joint = as_axes(body)
    except ValueError as error:
        raise ModelError(str(error), element=element) from None
    used = {i for axis in (*joint.rotations, *joint.translations) for i in axis.coordinates}
    for i, name in enumerate(joint.coordinates):
        if i not in used and i < max(used, default=len(joint.coordinates)):
            raise ModelError(
                f"coordinate {name!r} moves nothing, which OpenSim allows behind those alone that do", element=element
            )
    transform = add(parent, "SpatialTransform")
    for motion, axes in (("rotation", joint.rotations), ("translation", joint.translations)):
        given = [axis.direction for axis in axes]
        if are_collinear(given):
            raise ModelError(
                f"OpenSim refuses {motion} axes along one line, {given}; `with_rotations` gives a ball joint another "
                "sequence",
                element=element,
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
                add_function(holder, function, element, name="function")


# --------------------------------------------------------------------------------------------------------------
#
# The geometry that bodies show, as OpenSim's: each shape that is turned or shifted in a frame of its own.


ROUND_OFF = 1e-12  # of a pose: shapes so near stand in the body's own frame

Fields = Callable[[tuple[float, ...]], dict[str, Any]]
# By type of shape: the tag of OpenSim, and its fields from the sizes
SOLIDS: dict[str, tuple[str, Fields]] = {
    "mesh": ("Mesh", lambda sizes: {"scale_factors": sizes}),
    "sphere": ("Sphere", lambda sizes: {"radius": sizes[0]}),
    "ellipsoid": ("Ellipsoid", lambda sizes: {"radii": sizes}),
    "cylinder": ("Cylinder", lambda sizes: {"radius": sizes[0], "half_height": sizes[1] / 2}),
    "box": ("Brick", lambda sizes: {"half_lengths": tuple(x / 2 for x in sizes)}),
}


def add_geometry(element: Element, name: str, shapes: Iterable[Shape], unwritten: UnwrittenParts) -> None:
    """What a body or the ground shows; capsules and the shapes of contacts are left out, and noted."""
    written = []
    for shape in shapes:
        if shape.kind in SOLIDS and shape.purpose == "visual":
            written.append(shape)
        else:
            unwritten.count("shapes of bodies", f"{name}: {shape.kind}")
    own, placed = None, None
    for i, shape in enumerate(written, start=1):
        own_name, orientation = shape.name or f"{name}_geometry_{i}", _orientation(shape)
        if np.allclose([*shape.position, *orientation], [0, 0, 0, 1, 0, 0, 0], rtol=0, atol=ROUND_OFF):
            own = add(element, "attached_geometry") if own is None else own
            _add_shape(own, own_name, shape)
        else:
            placed = add(element, "components") if placed is None else placed
            frame = add_offset(placed, f"{own_name}_frame", name, shape.position, orientation)
            _add_shape(add(frame, "attached_geometry"), own_name, shape)


def _orientation(shape: Shape) -> Any:
    """The unit quaternion of OpenSim's frame: its cylinders lie along y."""
    if shape.kind != "cylinder":
        return shape.orientation
    turned = quaternion_multiply(np.array(shape.orientation), quaternion_conjugate(np.array(ALONG_Y)))
    return tuple(np.asarray(turned).tolist())


def _add_shape(holder: Element, name: str, shape: Shape) -> None:
    tag, fields = SOLIDS[shape.kind]
    element = add(holder, tag, name=name)
    values = fields(shape.sizes)
    if "scale_factors" in values:
        add(element, "scale_factors", values.pop("scale_factors"))
    if shape.color is not None:
        look = add(element, "Appearance")
        add(look, "opacity", shape.color[3])
        add(look, "color", shape.color[:3])
    for key, value in values.items():
        add(element, key, value)
    if shape.kind == "mesh":
        add(element, "mesh_file", shape.file)


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
            result.append(Placed(body, children[0].name, (back.position, back.orientation)))
            done.add(children[0].name)
        else:
            result.append(Placed(body, body.name))
    return result


def _is_frame(body: Body, child: Body) -> bool:
    empty = not body.mass and not any(body.inertia) and not any(body.center_of_mass) and not body.shapes
    plain = isinstance(child.joint, FixedJoint) and not child.joint_name
    named = body.name == f"{body.joint_name}_frame"
    return empty and plain and (named or not isinstance(body.joint, FixedJoint))


def add_bodies(
    parent: Element, system: ArticulatedSystem, placed: list[Placed], wraps: Any, unwritten: UnwrittenParts
) -> None:
    """The <BodySet>, and the <Ground> before it; wraps: what adds the wrap objects of a body."""
    ground = add(parent, "Ground", name=GROUND)
    wraps(ground, GROUND)
    add_geometry(ground, GROUND, system.shapes, unwritten)
    bodies, written = add_set(parent, "BodySet"), {joint.carried for joint in placed}
    for body in system.bodies:
        if body.name not in written:
            continue
        element = add(bodies, "Body", name=checked_name(body.name, f"body {body.name!r}"))
        add(element, "mass", body.mass)
        add(element, "mass_center", body.center_of_mass)
        add(element, "inertia", body.inertia)
        wraps(element, body.name)
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


# ---- Couplers and constraints as OpenSim's; mirrors `myoquat.data.osim.reading.constraints` -----------------------


def add_constraints(parent: Element, model: Model, unwritten: UnwrittenParts) -> None:
    """The <ConstraintSet>. ModelError for a constraint that OpenSim does not have: the model would move otherwise."""
    holder = add_set(parent, "ConstraintSet")
    for coupler in model.couplers:
        _add_coupler(holder, coupler)
    taken = {coupler.name for coupler in model.couplers}
    for i, constraint in enumerate(model.constraints):
        if type(constraint) not in WRITERS:
            raise ModelError(
                "OpenSim has no constraint of this type that the file could hold", element=constraint.label
            )
        tag, write = WRITERS[type(constraint)]
        name = constraint.name or f"constraint_{i + 1}"
        if not constraint.name:
            unwritten.count("constraints without a name, given one", name)
        if name in taken:
            raise ModelError(f"the name {name!r} is taken twice", element=constraint.label)
        taken.add(name)
        write(add(holder, tag, name=checked_name(name, constraint.label)), constraint)


# ---- couplers ----------------------------------------------------------------------------------------------


def _add_coupler(holder: Element, coupler: Coupler) -> None:
    element = f"coupler {coupler.name!r}"
    entry = add(holder, COUPLER, name=checked_name(coupler.name, element))
    add_function(add(entry, "coupled_coordinates_function"), coupler.function, element)
    _add_names(entry, coupler.independent, coupler)


def _write_coupler(entry: Element, constraint: CoordinateCoupler) -> None:
    add_function(add(entry, "coupled_coordinates_function"), constraint.function, constraint.label)
    _add_names(entry, constraint.independent, constraint)


def _write_polynomial(entry: Element, constraint: PolynomialCoupler) -> None:
    """All terms up to the order of the greatest, those that are not given with coefficient 0."""
    if not constraint.independent:
        raise ModelError("OpenSim's couplers depend on a coordinate, and this one on none", element=constraint.label)
    order = max(map(sum, constraint.powers), default=0)
    terms = dict.fromkeys(powers_of(len(constraint.independent), order), 0.0)
    for powers, coefficient in zip(constraint.powers, constraint.coefficients, strict=True):
        terms[powers] += coefficient
    function = MultivariatePolynomial(len(constraint.independent), order, tuple(terms.values()))
    add_function(add(entry, "coupled_coordinates_function"), function, constraint.label)
    _add_names(entry, " ".join(constraint.independent), constraint)


def _add_names(entry: Element, independent: str, coupler: Any) -> None:
    add(entry, "independent_coordinate_names", independent)
    add(entry, "dependent_coordinate_name", coupler.dependent)
    add(entry, "scale_factor", coupler.scale)


# ---- bodies ------------------------------------------------------------------------------------------------


def _add_points(entry: Element, constraint: Any) -> None:
    for ours, k in (("first", 1), ("second", 2)):
        add(entry, f"socket_body_{k}", path_of(getattr(constraint, ours)))
        add(entry, f"location_body_{k}", getattr(constraint, f"{ours}_point"))


def _write_loop(entry: Element, constraint: PointLoop) -> None:
    if constraint.axes != "xyz":
        raise ModelError(f"OpenSim holds points along all axes, not {constraint.axes!r}", element=constraint.label)
    _add_points(entry, constraint)


def _write_distance(entry: Element, constraint: Distance) -> None:
    _add_points(entry, constraint)
    add(entry, "constant_distance", constraint.distance)


def add_placed(entry: Element, pair: Any) -> None:
    """The two frames that a constraint or a force links, and the sockets that name them."""
    frames = add(entry, "frames")
    for ours, k in (("first", 1), ("second", 2)):
        angles = getattr(pair, f"{ours}_angles")
        add(entry, f"socket_frame{k}", f"held_{k}")
        turned = quaternion_from_euler(angles, "XYZ")
        add_offset(frames, f"held_{k}", getattr(pair, ours), getattr(pair, f"{ours}_point"), turned)


def _write_on_line(entry: Element, constraint: PointOnLine) -> None:
    add(entry, "socket_line_body", path_of(constraint.first))
    add(entry, "socket_follower_body", path_of(constraint.second))
    add(entry, "line_direction_vec", constraint.axis)
    add(entry, "point_on_line", constraint.first_point)
    add(entry, "point_on_follower", constraint.second_point)


WRITERS: dict[type[Constraint], tuple[str, Callable[[Element, Any], None]]] = {
    CoordinateCoupler: (COUPLER, _write_coupler),
    PolynomialCoupler: (COUPLER, _write_polynomial),
    PointLoop: ("PointConstraint", _write_loop),
    Weld: ("WeldConstraint", add_placed),
    Distance: ("ConstantDistanceConstraint", _write_distance),
    PointOnLine: ("PointOnLineConstraint", _write_on_line),
}
