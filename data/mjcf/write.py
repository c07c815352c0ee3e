"""From the model to the file."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from lxml import etree

from myoquat.data.files import check_output, write_text
from myoquat.data.mjcf.reading.bodies import SLIP_SPEEDS
from myoquat.data.mjcf.writing.actuators import (
    Actuators,
    Mobilities,
    add_equalities,
    add_limits,
    add_tendons,
    combination_of,
    file_pose,
)
from myoquat.data.mjcf.writing.bodies import Bodies, Joints, Sites, why_no_tendon
from myoquat.data.reports import UnwrittenParts
from myoquat.data.xml import Element, add_with, document_text, written
from myoquat.joints import ArticulatedSystem, ModelError, convert_velocities
from myoquat.joints.constraints import PointLoop, PolynomialCoupler, Weld
from myoquat.joints.types import SphericalJoint
from myoquat.muscle import Model, Muscle
from myoquat.muscle.actuators import (
    ActivationCoordinateActuator,
    Actuator,
    CoordinateActuator,
    IntegratingCoordinateActuator,
    PointActuator,
    TorqueActuator,
)
from myoquat.muscle.forces import CoordinateFriction, CoordinateSpring, GravityCompensation, PassiveForce, RotationLimit

__all__ = ["write_model"]


def write_model(model: Model, path: str | Path, strict: bool = False, overwrite: bool = False) -> None:
    """Write a model as a MuJoCo file.

    Raises FileExistsError for an existing file unless `overwrite` is True; if writing fails it is left as it was.

    Ball joints stay quaternions. A floating body on the ground itself becomes a free joint, whose linear velocity is
    that of the world. Other joints are rows of slides and hinges named after the coordinates, in the order in which
    they move the body. This order may differ from the model's; the joints' names show it. Paths are spatial tendons;
    the start is the keyframe "start". An axis that a coordinate moves by a function has a joint of its own, held by an
    equality constraint. It is exact where the function is a polynomial of degree four at most, else fitted to it over
    the coordinate's range.

    One UnwrittenWarning reports what MuJoCo cannot represent, or ModelError if `strict`:

    - laws of muscles that MuJoCo has not, and activation dynamics other than MuJoCo's
    - actuators of several coordinates or bodies; those of coordinates, points and axes of a body are written
    - muscles on moving or conditional points, or around other surfaces than a sphere or a cylinder at a time
    - ends of cylinders, and fitted functions
    - the side of a `WrapCylinder`: in MuJoCo a path with both ends behind that clears the cylinder runs straight
    - limits with another stiffness at each end, or of coordinates that are no joints
    - springs of Euler joints, and couplers of angles that a quaternion has replaced
    - meshes

    Limits become soft constraints with the resting stiffness of the model's. Ranges without one are written as such
    and not enforced. A locked coordinate is held by an equality constraint. Raises ModelError for joints and inertias
    that MuJoCo refuses, and for constraints other than couplers, points that coincide and welds. So do passive forces
    other than limits of ball joints, dry friction, gravity compensation, and springs of actuators.
    """
    path, unwritten = check_output(path, overwrite), UnwrittenParts()
    root = etree.Element("mujoco", model=model.name)
    _add_model(root, model, unwritten)
    unwritten.report(path, strict)
    write_text(path, document_text(root))


def _add_model(root: Element, model: Model, unwritten: UnwrittenParts) -> None:
    system, coordinates = model.system, {c.name: c for c in model.coordinates}
    biases, frictions = _forces(model)
    carried: dict[str, float] = {}
    for force in model.forces:
        if isinstance(force, GravityCompensation):
            carried[force.body] = carried.get(force.body, 0.0) + force.fraction
    held: dict[str, float] = {}
    loops: list[PointLoop | Weld] = []
    for constraint in model.constraints:
        if isinstance(constraint, Weld) or (isinstance(constraint, PointLoop) and constraint.axes == "xyz"):
            loops.append(constraint)
        elif isinstance(constraint, PolynomialCoupler) and not np.any(constraint.powers):
            held[constraint.dependent] = constraint.scale * sum(constraint.coefficients)
        else:
            raise ModelError("MuJoCo's files have no constraint of this type", element=constraint.label)
    for given in model.inputs:
        unwritten.count("inputs over time", given.name)
    add_with(root, "compiler", angle="radian", autolimits=False, inertiafromgeom="false", balanceinertia=False)
    add_with(root, "option", gravity=system.gravity)
    fixed = {muscle.name for muscle in model.muscles if combination_of(muscle) is not None}
    spatial = [m for m in model.muscles if m.name not in fixed and _has_tendon(m, unwritten)]
    u = np.zeros(system.nu) if model.start_u is None else np.array(model.start_u)
    u = convert_velocities(system, replace(system, velocity_frame="child"), model.start, u)
    coupled = {coupler.dependent: coupler for coupler in model.couplers}
    joints, sites = Joints(unwritten, system.ground, coordinates, coupled), Sites(spatial, model.markers, unwritten)
    driven = [actuator for actuator in model.actuators if _is_written(actuator, system)]
    for actuator in driven:
        if isinstance(actuator, (PointActuator, TorqueActuator)):
            sites.of_actuator(actuator)
    ends = [sites.of_constraint(loop, number) for number, loop in enumerate(loops, start=1)]
    Bodies(system, (model.start, u), joints, sites, unwritten).add(add_with(root, "worldbody"))
    for element in root.iter("body"):
        if fraction := carried.get(str(element.get("name"))):
            element.set("gravcomp", written(fraction))
    kept = {muscle.name for muscle in spatial}
    for muscle in model.muscles:
        combination = combination_of(muscle)
        if combination is not None and set(combination[0]) <= set(joints.refs):
            kept.add(muscle.name)
        elif combination is not None:
            unwritten.count("muscles along functions of coordinates that are no joints, left out", muscle.name)
    actuators = Actuators(root, unwritten)

    def mobility(muscle: Muscle) -> float:
        return Mobilities(system, file_pose(system, joints.refs)).of_muscle(muscle)

    add_tendons(root, [m for m in model.muscles if m.name in kept], sites, actuators, mobility, unwritten)
    for actuator in model.actuators:
        if actuator in driven and getattr(actuator, "coordinate", None) in (None, *joints.refs):
            actuators.add_actuator(actuator, biases.get(actuator.name), sites)
        else:
            unwritten.count("actuators", actuator.name)
    _add_friction(root, frictions, joints, unwritten)
    start = dict(zip(system.coordinate_names, map(float, model.start), strict=True))
    held |= {name: start[name] for name, c in coordinates.items() if c.locked and name in start}
    add_equalities(root, joints, coordinates, held, unwritten)
    holder = add_with(root, "equality") if loops else root
    for loop, (first, second) in zip(loops, ends, strict=True):
        tag = "weld" if isinstance(loop, Weld) else "connect"
        add_with(holder, tag, name=loop.name or None, site1=first, site2=second)
    add_limits(root, model, joints, unwritten)
    for group in model.groups:
        unwritten.count("groups of muscles", group.name)
    if joints.qpos:
        ctrl, act = tuple(actuators.ctrl) or None, tuple(actuators.act) or None
        keyframe = add_with(root, "keyframe")
        add_with(keyframe, "key", name="start", qpos=tuple(joints.qpos), qvel=tuple(joints.qvel), ctrl=ctrl, act=act)


def _forces(model: Model) -> tuple[dict[str, CoordinateSpring], list[CoordinateFriction]]:
    """The springs that belong to actuators, by the names of these, and the dry friction of coordinates. ModelError for
    a force that MuJoCo's files have not, because the model would move otherwise."""
    drives = {f"{a.name}_bias": a for a in model.actuators if isinstance(a, CoordinateActuator)}
    biases: dict[str, CoordinateSpring] = {}
    frictions = []
    for force in model.forces:
        drive = drives.get(force.name)
        if isinstance(force, CoordinateFriction):
            frictions.append(force)
        elif isinstance(force, CoordinateSpring) and drive is not None and drive.coordinate == force.coordinate:
            biases[drive.name] = force
        elif not isinstance(force, GravityCompensation) and not _is_ball_limit(force, model.system):
            raise ModelError("passive forces are not written to MuJoCo's files", element=force.element)
    return biases, frictions


def _is_ball_limit(force: PassiveForce, system: ArticulatedSystem) -> bool:
    if not isinstance(force, RotationLimit):
        return False
    return isinstance(system.bodies[system.indices.body(force.body)].joint, SphericalJoint)


def _is_written(actuator: Actuator, system: ArticulatedSystem) -> bool:
    """Whether MuJoCo has such an actuator of a joint or a site."""
    if isinstance(actuator, TorqueActuator):
        return actuator.second == system.ground and not actuator.in_world
    if isinstance(actuator, PointActuator):
        return not actuator.point_in_world and not actuator.direction_in_world
    return type(actuator) in (CoordinateActuator, ActivationCoordinateActuator, IntegratingCoordinateActuator)


def _add_friction(
    root: Element, frictions: list[CoordinateFriction], joints: Joints, unwritten: UnwrittenParts
) -> None:
    elements = {str(element.get("name")): element for element in root.iter("joint")}
    for force in frictions:
        joint = elements.get(force.coordinate) if force.coordinate in joints.refs else None
        if joint is None or joint.get("frictionloss"):
            raise ModelError("MuJoCo's files have one dry friction of a hinge or a slide", element=force.element)
        joint.set("frictionloss", written(force.friction))
        if force.slip_speed != SLIP_SPEEDS[str(joint.get("type"))]:
            unwritten.count("speeds of slip, which MuJoCo's dry friction has not", force.name)


def _has_tendon(muscle: Muscle, unwritten: UnwrittenParts) -> bool:
    reason = why_no_tendon(muscle)
    if reason is not None:
        unwritten.count(f"muscles {reason}, left out", muscle.name)
    return reason is None
