"""From the model to the file."""

import re
from collections.abc import Collection, Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree

from myoquat.core import free_name
from myoquat.data.files import check_output, write_text
from myoquat.data.reports import UnwrittenParts
from myoquat.data.xml import Element, add, add_set, checked_name, document_text
from myoquat.joints import ArticulatedSystem, Body, FixedJoint, convert_coordinates, convert_velocities
from myoquat.joints.conversion.balls import with_angles
from myoquat.joints.conversion.chains import Coupling, with_chains_restored
from myoquat.joints.functions import Linear
from myoquat.muscle import Model
from myoquat.muscle.actuators import Actuator, PointToPointActuator
from myoquat.muscle.coordinates import Coupler
from myoquat.muscle.loads import BODIES, named_bodies

from .bodies import add_bodies, add_joints, named_as_ground, placed_joints
from .constraints import add_constraints
from .controllers import add_inputs
from .elements import MARKER
from .forces import add_forces, add_limits, add_passive, surfaces_of
from .laws import TIMES
from .muscles import add_path, force_element
from .tree import forces_on_angles
from .wraps import WrittenWraps

COLONS = re.compile(r"(</?\w+)\.\.(?=\w)")  # ours for the :: of OpenSim's tags, which XML takes for namespaces
ON_BODIES = ("muscles", "markers", "constraints", "forces", "actuators")  # parts of a model that name bodies
VERSION = "40000"  # the oldest that OpenSim 4 writes: every release of it reads it


def write_model(model: Model, path: str | Path, strict: bool = False, overwrite: bool = False) -> None:
    """Write a model as an OpenSim file.

    Raises FileExistsError for an existing file unless `overwrite` is True; if writing fails it is left as it was.

    Quaternion joints get angles, as OpenSim has no other coordinates. They are those of the file that they come from,
    else a ball's turns about x, y and z. `load_model(path, rotations="quaternion")` brings the quaternions back. A
    massless body that only carries another one becomes the frame of its joint. A path without a law, or with one that
    OpenSim does not know, is written as a PathActuator. One UnwrittenWarning reports this and all other parts that the
    file cannot represent; `strict` makes it an error. Raises ModelError where the motion or the lengths would change.
    These are names that OpenSim does not allow, points and surfaces that it does not have, and numbers that a force
    cannot have.
    """
    path, unwritten = check_output(path, overwrite), UnwrittenParts()
    root = etree.Element("OpenSimDocument", Version=VERSION)
    _add_model(root, model, unwritten)
    unwritten.report(path, strict)
    write_text(path, COLONS.sub(r"\1::", document_text(root)))


def _add_model(root: Element, model: Model, unwritten: UnwrittenParts) -> None:
    original = _with_bodies_to_pull_at(model)
    model = _prepared(original)
    system = model.system
    start_q, start_u = _start(original, system)
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
    add_forces(forces, (*model.forces, *model.actuators))
    for name, tag in forces_on_angles(element):
        unwritten.count(f"forces along angles of a joint that is written as <{tag}>", name)
    _add_groups(forces, model)
    add_inputs(element, model.inputs, (*model.muscle_names, *(actuator.name for actuator in model.actuators)))
    markers = add_set(element, "MarkerSet")
    for marker in model.markers:
        MARKER.write(markers, marker, f"marker {marker.name!r}")


def _prepared(model: Model) -> Model:
    """The model on OpenSim's ground, with angles where it has quaternions, as far as paths can see."""
    system = named_as_ground(model.system)
    was, new = model.system.ground, system.ground
    system, couplings = with_chains_restored(system)
    system = replace(system, bodies=tuple(with_angles(body) for body in system.bodies))
    parts: dict[str, Any] = {key: _on_ground(getattr(model, key), was, new) for key in ON_BODIES}
    parts["muscles"] = tuple(replace(m, path=replace(m.path, anatomy=None)) for m in parts["muscles"])
    couplers = (*model.couplers, *_couplers(couplings, {coupler.name for coupler in model.couplers}))
    return replace(model, system=system, couplers=couplers, start_q=None, start_u=None, **parts)


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


def _couplers(couplings: Mapping[str, Coupling], taken: Collection[str]) -> list[Coupler]:
    """The couplers of chains of bodies."""
    return [
        Coupler(free_name(f"{dependent}_con", taken), dependent, driver, Linear(factor, offset))
        for dependent, (driver, factor, offset) in couplings.items()
    ]


def _on_ground(part: Any, was: str, new: str) -> Any:
    """Parts of a model, or what they hold, with another name for the ground."""
    if isinstance(part, tuple):
        return tuple(_on_ground(each, was, new) for each in part)
    if was == new or not is_dataclass(part) or isinstance(part, type):
        return part
    values = {f.name: getattr(part, f.name) for f in fields(part) if f.init}
    return replace(part, **{key: new if key in BODIES and value == was else _on_ground(value, was, new)
                            for key, value in values.items()})  # fmt: skip


def _start(model: Model, system: ArticulatedSystem) -> tuple[Any, Any]:
    """q and u at the start, by the coordinates that are written."""
    source, q, speeds = model.system, model.start, model.start_u or ()
    u = convert_velocities(source, system, q, speeds) if any(speeds) else np.zeros(system.nu)
    return convert_coordinates(source, system, q), u


def _add_groups(forces: Any, model: Model) -> None:
    """<groups> beside the <objects> of the <ForceSet>; none where the model has no groups of muscles."""
    if not model.groups:
        return
    holder = add(forces.getparent(), "groups")
    for group in model.groups:
        add(add(holder, "ObjectGroup", name=group.name), "members", " ".join(group.members))
