"""From the file to the model."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from myoquat.data.reports import ImplausibleValues, UnsupportedElements
from myoquat.data.xml import Element, boolean, last_name, located, numbers, objects, text
from myoquat.joints import ArticulatedSystem, ModelError
from myoquat.muscle import Model

from .bodies import is_massless, read_skeleton
from .constraints import read_constraints
from .controllers import read_inputs
from .document import in_current_schema, read_document
from .elements import MARKER, Frame, Frames
from .forces import (
    ACTUATORS,
    CONTACTS,
    EXTERNAL,
    FORCES,
    LIMIT,
    SPRING,
    Contacts,
    can_read,
    data_of,
    read_external,
    read_limit,
    with_springs,
)
from .geometry import count_unknown_geometry, geometry_of
from .laws import MUSCLES, is_rigid
from .left_out import count_unseen
from .muscles import has_path, read_groups, read_muscle
from .tree import FORCES_ON_ANGLES, STARTS, collinear_motions, forces_on_angles, is_blank
from .wraps import wraps_of

SILENT = {"ProbeSet", "ComponentSet"}  # counted, if they hold anything
SENSOR = "IMU"  # only names a frame, which `sets` reads


def read_model(
    path: str | Path, strict: bool = False, anywhere: bool = False, sets: Sequence[str | Path] = ()
) -> Model:
    """The model in an OpenSim file of document version 10901 or later.

    Coordinates keep their bare names and the order of the file's joints, in radians and metres, locked and coupled ones
    too. One UnsupportedWarning reports unsupported elements with counts and lines. One ImplausibleWarning reports
    impossible values that OpenSim accepts, such as inertias that no rigid body can have. `strict` makes either an
    error. Raises ModelError with file, element and line for a broken file or a reference to a missing element. An
    unsupported joint or function is an error too, because the model would move differently without it.

    Objects in other files are included (`<MarkerSet file="markers.xml"/>`). Those files must lie in the folder of the
    model's file or below, unless `anywhere`. `sets` are files of sets whose objects join those of the model.
    """
    path = Path(path)
    return _reported(path, strict, lambda implausible: read_document(path, implausible, anywhere, sets))


def read_inner_model(element: Element, version: int, path: Path, strict: bool = False) -> Model:
    """The model in a <Model> of another document, such as a problem of Moco. That <Model> is changed in place. The rest
    is as in `read_model`. `version`: that of the document."""
    return _reported(path, strict, lambda implausible: in_current_schema(element, version, path, implausible))


def _reported(path: Path, strict: bool, read: Callable[[ImplausibleValues], Element]) -> Model:
    """The model of the element <Model> that `read` gives, with reports of what was not read."""
    unsupported, implausible = UnsupportedElements(), ImplausibleValues()
    with located(path, None):
        document = read(implausible)
        with located(path, document):
            model = _model(document, path, unsupported, implausible)
    for what, name in _implausible_values(document, model):
        implausible.count(what, name)
    implausible.report(path, strict)
    unsupported.report(path, strict)
    count_unseen(document, unsupported)
    return replace(model, left_out=tuple(unsupported.descriptions()))


def read_frame(path: Path, name: str) -> Frame:
    """The frame of a name, such as that of a joint on a body, "knee/tibia_offset", in a model's file. ModelError for a
    name that is none."""
    document = read_document(path, ImplausibleValues())
    with located(path, document):
        found = Frames(document).named(name)
    if found is None:
        raise ModelError(f"the model has no frame {name!r}", file=path)
    return found


def child_frames(path: Path) -> dict[str, str]:
    """The name of the frame that each joint of a model's file moves, as OpenSim's tables call it, by the joint's."""
    joints = objects(read_document(path, ImplausibleValues()), "JointSet")
    return {str(joint.get("name")): last_name(text(joint, "socket_child_frame")) for joint in joints}


def _implausible_values(document: Any, model: Model) -> Iterator[tuple[str, Any]]:
    """What the model has that no body can have, inertias of nothing, starts that say nothing, and elastic tendons that
    have no length, each with a name."""
    for body in model.system.bodies:
        if body.lenient_inertia:
            yield "the inertia of bodies", body.name
    for element in document.iterfind("BodySet/objects/Body"):
        if is_massless(element) and any(numbers(element, "inertia", 6, (0.0,) * 6)):
            yield "an inertia without mass, taken as zero", element.get("name")
    for joint in document.iterfind("JointSet/objects/CustomJoint"):
        for motion in collinear_motions(joint):
            yield f"joints with {motion} axes along one line, which OpenSim refuses", joint.get("name")
    for coordinate in document.iterfind("JointSet/objects/*/coordinates/Coordinate"):
        for tag in STARTS:
            if is_blank(coordinate.find(tag)):
                yield f"a <{tag}> without a number, taken as zero", coordinate.get("name")
    for force, tag in forces_on_angles(document):
        yield f"{FORCES_ON_ANGLES} a <{tag}>, which act along them here", force
    for coupler in document.xpath("ConstraintSet/objects/*[coupled_coordinates_function/Constant]"):
        yield "couplers by a Constant, beside which OpenSim holds the independent coordinate", coupler.get("name")
    for muscle in document.iterfind("ForceSet/objects/*"):
        if muscle.tag in MUSCLES and is_rigid(muscle) and not boolean(muscle, "ignore_tendon_compliance"):
            yield "elastic tendons of length 0, taken as rigid", muscle.get("name")


def _model(element: Any, path: Path, unsupported: UnsupportedElements, implausible: ImplausibleValues) -> Model:
    frames = Contacts(element)
    links, joints, welds, floating = read_skeleton(element, frames)
    for name in floating:
        implausible.count("bodies without a joint to the ground, taken as floating", name)
    name = str(element.get("name") or path.stem)
    forces = _forces(element, frames, unsupported, path.parent)
    bodies, springs = with_springs(links, forces[SPRING.tag])
    gravity, shown = numbers(element, "gravity", 3, (0.0, -9.80665, 0.0)), geometry_of(element.find("Ground"))
    count_unknown_geometry(element, unsupported)
    system = ArticulatedSystem(bodies, gravity=gravity, name=name, shapes=shown)
    wraps = wraps_of(element, frames, unsupported)
    couplers, constraints = read_constraints(element, frames, unsupported)
    for tag in SILENT:
        for child in (child for child in objects(element, tag) if child.tag != SENSOR):
            unsupported.count(child, tag)
    passive = (
        *springs,
        *(FORCES[force.tag].read(force, frames) for force in forces[PASSIVE]),
        *(read_external(force, file) for force in forces[EXTERNAL] if (file := data_of(force, path.parent))),
    )
    muscles = tuple(read_muscle(force, frames, wraps, unsupported) for force in forces[PATHS])
    for surface in frames.unused:
        unsupported.count(surface, "ContactGeometrySet")
    actuators = tuple(ACTUATORS[force.tag].read(force, frames) for force in forces[ACTUATED])
    names = tuple(muscle.name for muscle in muscles)
    known = (*names, *(name for a in actuators for name in a.control_names))
    speeds = tuple(x for joint in joints for x in joint.speeds)
    return Model(
        system,
        muscles,
        name=name,
        description=text(element, "credits", ""),
        start_q=tuple(x for joint in joints for x in joint.defaults),
        start_u=speeds if any(speeds) else None,
        file=path,
        coordinates=tuple(c for joint in joints for c in joint.coordinates),
        couplers=couplers,
        markers=tuple(MARKER.read(marker, frames) for marker in objects(element, "MarkerSet")),
        limits=tuple(read_limit(force, bodies) for force in forces[LIMIT.tag]),
        constraints=(*constraints, *welds),
        forces=passive,
        actuators=actuators,
        inputs=read_inputs(element, known, unsupported, path.parent),
        groups=read_groups(element, names, unsupported, implausible),
    )


PATHS, PASSIVE, ACTUATED = "along paths", "passive", "actuated"
GROUPS = {
    **dict.fromkeys(FORCES, PASSIVE),
    **dict.fromkeys(ACTUATORS, ACTUATED),
    **{tag: tag for tag in (SPRING.tag, LIMIT.tag, EXTERNAL)},
}


def _forces(model: Any, contacts: Contacts, unsupported: UnsupportedElements, folder: Path) -> dict[str, list[Element]]:
    """The forces that apply, by how they are read; others are noted, and so are those whose data are not in the
    folder."""
    groups: dict[str, list[Element]] = defaultdict(list)
    for force in objects(model, "ForceSet"):
        group = PATHS if has_path(force) else GROUPS.get(force.tag)
        if group is None or (group == EXTERNAL and data_of(force, folder) is None):
            unsupported.count(force, "force")
        elif not boolean(force, "appliesForce", True):
            unsupported.count(force, "appliesForce is false")
        elif not can_read(force) or (force.tag in CONTACTS and not contacts.supports(force)):
            unsupported.count(force, "force")
        else:
            groups[group].append(force)
    return groups
