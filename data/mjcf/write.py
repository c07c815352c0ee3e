"""From the model to the file."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from lxml import etree

from myoquat.data.files import check_output, write_text
from myoquat.data.mjcf.elements import add
from myoquat.data.mjcf.writing.bodies import Bodies
from myoquat.data.mjcf.writing.equalities import add_equalities
from myoquat.data.mjcf.writing.joints import Joints
from myoquat.data.mjcf.writing.limits import add_limits
from myoquat.data.mjcf.writing.sites import Sites, why_no_tendon
from myoquat.data.mjcf.writing.tendons import add_tendons
from myoquat.data.reports import UnwrittenParts
from myoquat.data.xml import Element
from myoquat.joints.conversion.convert import convert_velocities
from myoquat.joints.errors import ModelError
from myoquat.muscle.forces import RotationLimit
from myoquat.muscle.model import Model
from myoquat.muscle.path import Muscle

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

    - laws of muscles other than actuators and springs, and activation dynamics
    - muscles on moving or conditional points, or around other surfaces than a sphere or a cylinder at a time
    - ends of cylinders, and fitted functions
    - the side of a `WrapCylinder`: in MuJoCo a path with both ends behind that clears the cylinder runs straight
    - limits with another stiffness at each end, or of coordinates that are no joints
    - springs of Euler joints, and couplers of angles that a quaternion has replaced
    - meshes

    Limits become soft constraints with the resting stiffness of the model's. Ranges without one are written as such and
    not enforced, locks are not. Raises ModelError for joints and inertias that MuJoCo refuses, for constraints other
    than couplers, and for passive forces other than limits of ball joints.
    """
    path, unwritten = check_output(path, overwrite), UnwrittenParts()
    root = etree.Element("mujoco", model=model.name)
    _add_model(root, model, unwritten)
    unwritten.report(path, strict)
    text = etree.tostring(root, pretty_print=True, encoding="unicode")
    write_text(path, '<?xml version="1.0" encoding="utf-8"?>\n' + text)


def _add_model(root: Element, model: Model, unwritten: UnwrittenParts) -> None:
    for force in model.forces:
        if not isinstance(force, RotationLimit):
            raise ModelError("passive forces are not written to MuJoCo's files", element=force.element)
    for constraint in model.constraints:
        raise ModelError("constraints are not written to MuJoCo's files", element=constraint.label)
    for actuator in model.actuators:
        unwritten.count("actuators", actuator.name)
    for given in model.inputs:
        unwritten.count("inputs over time", given.name)
    system, coordinates = model.system, {c.name: c for c in model.coordinates}
    add(root, "compiler", angle="radian", autolimits=False, inertiafromgeom="false", balanceinertia=False)
    add(root, "option", gravity=system.gravity)
    muscles = [muscle for muscle in model.muscles if _has_tendon(muscle, unwritten)]
    u = np.zeros(system.nu) if model.start_u is None else np.array(model.start_u)
    u = convert_velocities(system, replace(system, velocity_frame="child"), model.start, u)
    coupled = {coupler.dependent: coupler for coupler in model.couplers}
    joints, sites = Joints(unwritten, system.ground, coordinates, coupled), Sites(muscles, model.markers, unwritten)
    Bodies(system, (model.start, u), joints, sites, unwritten).add(add(root, "worldbody"))
    controls = add_tendons(root, muscles, sites, unwritten)
    add_equalities(root, joints, coordinates, unwritten)
    add_limits(root, model, joints, unwritten)
    for group in model.groups:
        unwritten.count("groups of muscles", group.name)
    if joints.qpos:
        ctrl = tuple(controls) or None
        add(add(root, "keyframe"), "key", name="start", qpos=tuple(joints.qpos), qvel=tuple(joints.qvel), ctrl=ctrl)


def _has_tendon(muscle: Muscle, unwritten: UnwrittenParts) -> bool:
    reason = why_no_tendon(muscle)
    if reason is not None:
        unwritten.count(f"muscles {reason}, left out", muscle.name)
    return reason is None
