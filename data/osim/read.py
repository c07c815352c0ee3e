"""From the file to the model."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from myoquat.data.formats import reported
from myoquat.data.motions.forces import load_entry
from myoquat.data.reports import ImplausibleValues, UnsupportedElements
from myoquat.data.xml import Element, boolean, last_name, located, numbers, objects, text
from myoquat.joints import ArticulatedSystem, ModelError
from myoquat.muscle import Model

from .constraints import read_constraints
from .controllers import read_inputs
from .document import GEOMETRY, in_current_schema, read_document
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
    external_force,
    read_limit,
    with_springs,
)
from .geometry import SOLIDS, geometry_of
from .laws import MUSCLES, is_rigid
from .muscles import has_path, read_groups, read_muscle
from .tree import FORCES_ON_ANGLES, STARTS, collinear_motions, forces_on_angles, is_blank, is_massless, read_skeleton
from .wraps import OBSTACLE, wraps_of

SILENT = {"ProbeSet", "ComponentSet"}  # counted, if they hold anything
SENSOR = "IMU"  # only names a frame, which `sets` reads


def read_model(
    path: Path, unsupported: UnsupportedElements, implausible: ImplausibleValues, anywhere: bool = False,
    sets: Sequence[str | Path] = (),
) -> Model:  # fmt: skip
    """The model in an OpenSim file of document version 10901 or later.

    Coordinates keep their bare names and the order of the file's joints, in radians and metres, locked and coupled ones
    too. Impossible values that OpenSim accepts are noted, such as inertias that no rigid body can have. Raises
    ModelError with file, element and line for a broken file or a reference to a missing element. An unsupported joint
    or function is an error too, because the model would move differently without it.

    Objects in other files are included (`<MarkerSet file="markers.xml"/>`). Those files must lie in the folder of the
    model's file or below, unless `anywhere`. `sets` are files of sets whose objects join those of the model.
    """
    return _located(path, unsupported, implausible, lambda: read_document(path, implausible, anywhere, sets))


def read_inner_model(element: Element, version: int, path: Path) -> Model:
    """The model in a <Model> of another document, such as a problem of Moco, with reports of what is not read. That
    <Model> is changed in place. `version`: that of the document."""

    def read(unsupported: UnsupportedElements, implausible: ImplausibleValues) -> Model:
        schema = partial(in_current_schema, element, version, path, implausible)
        return _located(path, unsupported, implausible, schema)

    return reported(path, False, read)


def _located(
    path: Path, unsupported: UnsupportedElements, implausible: ImplausibleValues, read: Callable[[], Element]
) -> Model:
    """The model of the element <Model> that `read` gives; errors name the file and a line."""
    with located(path, None):
        document = read()
        with located(path, document):
            model = _model(document, path, unsupported, implausible)
    for what, name in _implausible_values(document, model):
        implausible.count(what, name)
    return model


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
    for shape in element.xpath("(BodySet/objects//attached_geometry | Ground//attached_geometry)/*"):
        if shape.tag not in SOLIDS:  # lines, arrows, cones, tori
            unsupported.count(shape, "display geometry")
    system = ArticulatedSystem(bodies, gravity=gravity, name=name, shapes=shown)
    wraps = wraps_of(element, frames, unsupported)
    couplers, constraints = read_constraints(element, frames, unsupported)
    for tag in SILENT:
        for child in (child for child in objects(element, tag) if child.tag != SENSOR):
            unsupported.count(child, tag)
    passive = (
        *springs,
        *(FORCES[force.tag].read(force, frames) for force in forces[PASSIVE]),
        *(
            external_force(load_entry(force), file)
            for force in forces[EXTERNAL]
            if (file := data_of(force, path.parent))
        ),
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
        left_out=unseen(element),
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


# ---- What is not read, and what that changes: by the tags of the elements --------------------------------------------


MOVES = "moves the bodies in OpenSim, not here"
SEEN = "changes no motion"
CHANGES: dict[str, str] = {
    **dict.fromkeys(("ClutchedPathSpring", "PrescribedForce", "ExternalForce"), MOVES),
    **dict.fromkeys(("HuntCrossleyForce", "ElasticFoundationForce"), "bodies pass through each other"),
    "RollingOnSurfaceConstraint": "the body is not held to the surface",
    **dict.fromkeys(GEOMETRY, SEEN),
    OBSTACLE: "the path passes the obstacle otherwise",
    **dict.fromkeys(("PrescribedController", "ControlSetController"), "controls are given with the simulation"),
    "ObjectGroup": SEEN,
    "Delp1990Muscle_Deprecated": "the path has no force law",
}  # fmt: skip


COSMETIC = {  # properties of OpenSim's objects that are not read, because lengths and motions do not depend on them
    *("frame_geometry", "moment_visual_scale", "force_visual_scale", "visual_aspect_ratio", "ModelVisualPreferences"),
    *("force_visualization_radius", "force_visualization_scale_factor", "publications", "length_units", "force_units"),
    "compute_dissipation_energy",  # whether a force adds up what it dissipates
    "assembly_accuracy",  # of the solver: closer here
    "is_free_to_satisfy_constraints",  # of the assembly, which moves free coordinates alone here
    "tendon_compliance_dynamics_mode",  # how a solver states the same equations
    *("default_fiber_length", "default_normalized_tendon_force"),  # first guesses: fibers start in equilibrium
}


LOOKS = ("FrameGeometry", "WrapDisplay", "VisibleObject")
SHAPES = ("Mesh", *SOLIDS)  # whose colors are read


def change_of(tag: str) -> str:
    """What leaving an element out changes; a general word for one that is not in the table."""
    return CHANGES.get(tag, "what it does in OpenSim is missing here")


def unseen(model: Any) -> tuple[str, ...]:
    """What changes no length and no motion: surfaces that no path names, the looks of paths and surfaces, and the
    entries in `COSMETIC`, unless they are empty."""
    unsupported = UnsupportedElements()
    used = {(name.text or "").strip() for name in model.iter("wrap_object")}
    for holder in model.iter("WrapObjectSet"):
        for surface in objects(holder.getparent(), "WrapObjectSet"):
            if surface.get("name") not in used:
                unsupported.count(surface, "no path names it")
    for look in model.iter("Appearance"):
        if look.getparent().tag not in SHAPES:
            unsupported.count(look, SEEN)
    for element in model.iter(*sorted(COSMETIC), *LOOKS):
        if (element.text or "").strip() not in ("", "Unassigned") or len(element):
            unsupported.count(element, SEEN)
    return tuple(unsupported.descriptions())
