"""OpenSim's documents: their versions, names of parts, defaults and files that are named, and older schemas."""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from lxml import etree

from myoquat.data.files import existing
from myoquat.data.reports import ImplausibleValues
from myoquat.data.xml import (
    BASE,
    Element,
    IncludedFiles,
    add_set,
    boolean,
    complain,
    last_name,
    number,
    parse_opensim,
    text,
    written,
)
from myoquat.joints import ModelError

from .elements import GROUND
from .geometry import OLDER_GEOMETRY
from .muscles import has_path
from .tree import complete_joint

# ---- Names of components, made unique within each set by the rules of OpenSim -------------------------------------


GROUND_BODY = "ground_body"
_GROUND_PATH = re.compile(r"(?<=bodyset/)ground(?=/|$)")


def close_names(model: Any, implausible: ImplausibleValues) -> None:
    """Take the blanks out of names, as OpenSim 4 does with older documents, and wherever they are referred to."""
    changed: dict[str, str] = {}
    for element in model.iter("*"):
        name = element.get("name") if element.tag != "ObjectGroup" else None
        if name and name != (closed := "".join(name.split())):
            element.set("name", closed)
            if name.strip() != closed:
                changed[name.strip()] = closed
    if not changed:
        return
    for element in model.iter("*"):
        words = (element.text or "").strip()
        if words in changed and not len(element):
            element.text = changed[words]
    for name in changed:
        implausible.count("blanks in names, taken out", name)


def settle_names(model: Any, implausible: ImplausibleValues) -> None:
    """Make the names in every set of a <Model> unique. A component without a name gets its tag in lower case, and one
    whose name is taken gets a number behind it: NAME_0. References mean the first of several."""
    for holder in (*model.iterfind("*/objects"), *model.iterfind("ForceSet/groups")):
        taken: set[str] = set()
        for element in holder.iterchildren("*"):
            given = element.get("name") or element.tag.lower()
            name = _free_name(given, taken)
            if name != given:
                implausible.count("names of several, which got a number", f"{element.tag} {name}")
            taken.add(name)
            element.set("name", name)


def part_from_ground(model: Any, implausible: ImplausibleValues) -> None:
    """Call a <Body> that has the ground's name ground_body, also wherever a path refers to it. OpenSim 4 distinguishes
    the two by their paths, /ground and /bodyset/ground."""
    bodies = [body for body in model.iterfind("BodySet/objects/Body") if body.get("name") == "ground"]
    if not bodies:
        return
    bodies[0].set("name", GROUND_BODY)
    implausible.count("a body with the name of the ground, called otherwise", GROUND_BODY)
    for element in model.iter("*"):
        if not len(element) and "bodyset/ground" in (element.text or ""):
            element.text = _GROUND_PATH.sub(GROUND_BODY, element.text.strip())


def drop_empty_ranges(model: Any, implausible: ImplausibleValues) -> None:
    """Leave out a <range> that no value is in, which OpenSim ignores unless the coordinate is clamped: its low is above
    its high, or one of them is nan or missing."""
    for coordinate in model.iterfind("JointSet/objects/*/coordinates/Coordinate[range]"):
        try:
            low, high = map(float, text(coordinate, "range", "nan nan").split())
        except ValueError:
            continue
        if not low <= high and not boolean(coordinate, "clamped"):
            coordinate.remove(coordinate.find("range"))
            implausible.count("ranges that no value is in, left out", str(coordinate.get("name")))


def part_coordinates(model: Any) -> None:
    """Call coordinates of one name in several joints, which OpenSim allows, after their joints: joint.name. Entries
    that refer to them by path get that name, and so do bare names within a joint, which mean its own coordinate.

    ModelError for another bare name, which could mean any of them, and for a path to a joint without such a coordinate.
    """
    owners: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for coordinate in model.iterfind("JointSet/objects/*/coordinates/Coordinate[@name]"):
        owners[coordinate.get("name")][coordinate.getparent().getparent().get("name")].append(coordinate)
    shared = {name: joints for name, joints in owners.items() if len(joints) > 1}
    if not shared:
        return
    for element in model.iter("*"):
        words = (element.text or "").split()
        if "coordinate" in element.tag and not len(element) and any(last_name(word) in shared for word in words):
            element.text = " ".join(_parted(element, word, shared) for word in words)
    for name, joints in shared.items():
        for joint, coordinates in joints.items():
            for coordinate in coordinates:
                coordinate.set("name", f"{joint}.{name}")


def _parted(element: Any, word: str, shared: dict[str, dict[str, list[Any]]]) -> str:
    """The name that a reference to a coordinate, by path or bare, has when coordinates are called after joints."""
    *path, name = word.strip("/").split("/")
    if name not in shared:
        return word
    own = element.xpath("ancestor::*[parent::objects/parent::JointSet]/@name")  # the joint in which it stands
    joint = next(iter(path[-1:] or own), None)
    if joint in shared[name]:
        return f"{joint}.{name}"
    paths = ", ".join(f"/jointset/{x}/{name}" for x in shared[name])
    complain(element, f"<{element.tag}> names {word!r}, but the model has {paths}: give one of these paths")


# --------------------------------------------------------------------------------------------------------------
#
# Older documents, brought into the schema of version 40000: OpenSim 2.0 to 3.3, versions 10901 to 30000, and OpenSim 4
# before its release, versions 30500 to 39999.
#
# Up to 30000 a joint stands in the body that it carries, the ground is a body, and an inertia is six elements. Bodies
# and coordinates are named without paths, and a switch says what is disabled. At first paths were those of muscles
# alone. Later drafts name bodies by connectors, or by sockets with a longer name. The elements are moved, with their
# lines; what they say is the same. Values that a file leaves out are those of OpenSim 4, as when it reads the file.


OLDEST_VERSION = 10901
INERTIA = ("xx", "yy", "zz", "xy", "xz", "yz")
RENAMED = {
    "MusclePointSet": "PathPointSet",
    "MusclePoint": "PathPoint",
    "MuscleViaPoint": "ConditionalPathPoint",
    "MovingMusclePoint": "MovingPathPoint",
    "MuscleWrapSet": "PathWrapSet",
    "MuscleWrap": "PathWrap",
    "NaturalCubicSpline": "SimmSpline",
    "natCubicSpline": "SimmSpline",
    "XAttachment": "x_location",
    "YAttachment": "y_location",
    "ZAttachment": "z_location",
    "pennation_angle": "pennation_angle_at_optimal",
    "Schutte1993Muscle": "Schutte1993Muscle_Deprecated",
}
BUSHING = {"body_1": "socket_body_1", "body_2": "socket_body_2"}
SOCKETS = {  # by the paths of elements: what names a body or a coordinate
    "PathPointSet/objects/*": {
        "body": "socket_parent_frame",
        "coordinate": "socket_coordinate",
        "coordinates": "socket_coordinate",
        "x_coordinate": "socket_x_coordinate",
        "y_coordinate": "socket_y_coordinate",
        "z_coordinate": "socket_z_coordinate",
    },
    "MarkerSet/objects/*": {"body": "socket_parent_frame"},
    "ContactGeometrySet/objects/*": {"body_name": "socket_frame"},
    "ConstraintSet/objects/*": BUSHING | {"line_body": "socket_line_body", "follower_body": "socket_follower_body"},
    "ForceSet/objects/BushingForce": BUSHING,
    "ForceSet/objects/FunctionBasedBushingForce": BUSHING,
    "ForceSet/objects/ExpressionBasedBushingForce": BUSHING,
    "ForceSet/objects/PointToPointSpring": {"body1": "socket_body1", "body2": "socket_body2"},
    "ForceSet/objects/BodyActuator": {"body": "socket_body"},
}
SWITCHES = {"ForceSet": "appliesForce", "ConstraintSet": "isEnforced"}


def modernize(model: Any) -> None:
    """Bring a <Model> into the schema of version 40000; ModelError, with its line, where that cannot be done."""
    modernize_names(model)
    for path, names in SOCKETS.items():
        for element in model.iterfind(f".//{path}"):
            for child in element.iterchildren(*names):
                child.tag = names[child.tag]
    for force in model.iterfind("ForceSet/objects/*"):  # points and surfaces of a path that stand in the force itself
        parts = [child for child in force if child.tag in ("PathPointSet", "PathWrapSet")]
        path = _child(force, "GeometryPath", parts[0]) if parts else force
        for part in parts:
            path.append(part)
    _connect(model)
    for holder, switch in SWITCHES.items():
        for old in model.iterfind(f"{holder}/objects/*/isDisabled"):
            old.text = written(not boolean(old.getparent(), "isDisabled"))
            old.tag = switch
    bodies = model.find("BodySet/objects")
    joints = add_set(model, "JointSet")
    for body in list(model.iterfind("BodySet/objects/Body")):
        if (visible := body.find("VisibleObject")) is not None:  # ignored by OpenSim in documents of 40000 on
            _child(body, OLDER_GEOMETRY, visible).append(visible)
        if body.get("name") == GROUND:
            bodies.remove(body)
            body.tag = "Ground"
            model.append(body)
            continue
        values = [number(body, f"inertia_{k}", 1.0 if k[0] == k[1] else 0.0) for k in INERTIA]
        _child(body, "inertia", body, content=written(values))
        for joint in list(body.iterfind("Joint/*")):
            _move_joint(joint, body, joints)


def modernize_names(root: Any) -> None:
    """Give the elements below `root` their names of today."""
    for element in list(root.iter(*RENAMED)):
        element.tag = RENAMED[element.tag]


def _connect(model: Any) -> None:
    """Connectors and longer names as sockets, and the joints of those drafts as joints with frames."""
    for element in model.xpath(".//*[contains(name(), '_connectee_name')]"):
        element.tag = element.tag.removesuffix("_connectee_name")
    for connectors in list(model.iter("connectors")):
        for connector in connectors.iterfind("*[@name]"):
            socket = connector.get("name")
            _child(connectors.getparent(), f"socket_{socket}", connector, content=text(connector, "connectee_name"))
    for joint in model.iterfind("JointSet/objects/*"):
        if joint.find("socket_parent_body") is None:
            _gather_coordinates(joint)
        else:
            parent, child = (last_name(text(joint, f"socket_{socket}_body")) for socket in ("parent", "child"))
            _frame_joint(joint, parent, child, "_in_parent", "_in_child")


def _child(parent: Any, tag: str, like: Any, name: str = "", content: Any = None) -> Any:
    """A new child on the line of another element."""
    made = etree.SubElement(parent, tag, **({"name": name} if name else {}))
    made.sourceline = like.sourceline
    if content is not None:
        made.text = content
    return made


def _move_joint(joint: Any, body: Any, joints: Any) -> None:
    """A joint that stands in its body among the joints."""
    carried, parent = str(body.get("name")), text(joint, "parent_body")
    if not joint.get("name"):
        joint.set("name", f"{parent}_{carried}")
    joints.append(joint)
    if boolean(joint, "reverse"):
        _frame_joint(joint, carried, parent, "", "_in_parent")
    else:
        _frame_joint(joint, parent, carried, "_in_parent", "")


def _frame_joint(joint: Any, parent: str, child: str, of_parent: str, of_child: str) -> None:
    """A joint with its coordinates and its frames on two bodies, whose elements end in `of_parent` and `of_child`."""
    _gather_coordinates(joint)
    frames = _child(joint, "frames", joint)
    for socket, base, place in (("parent", parent, of_parent), ("child", child, of_child)):
        name = f"{base}_offset"  # as OpenSim 4 calls it
        _child(joint, f"socket_{socket}_frame", joint, content=name)
        frame = _child(frames, "PhysicalOffsetFrame", joint, name=name)
        _child(frame, "socket_parent", joint, content=base)
        for ours, theirs in (("translation", f"location{place}"), ("orientation", f"orientation{place}")):
            if text(joint, theirs, ""):
                value = joint.find(theirs)
                value.tag = ours
                frame.append(value)


def _gather_coordinates(joint: Any) -> None:
    coordinates = joint.find("CoordinateSet/objects")
    if coordinates is not None:
        coordinates.tag = "coordinates"
        joint.append(coordinates)


# --------------------------------------------------------------------------------------------------------------
#
# Parts of a model that stand elsewhere in OpenSim's files: default objects, and objects in files of their own.


LAST_NESTED = 30000  # the last version whose joints are children of bodies
FIRST_RELEASE = 40000  # of OpenSim 4
NO_FILE = ("", "Unassigned")
ReadRoot = Callable[[Path], tuple[Element, int]]  # an object in a file, and the version of its document


def complete(holder: Element, version: int) -> None:
    """Give the objects in an element the entries that they leave out and that <defaults> of the element has for their
    class. The <defaults> are then removed."""
    if version < FIRST_RELEASE:
        modernize_names(holder)
    for defaults in list(holder.iterchildren("defaults")):
        holder.remove(defaults)
        first: dict[str, Element] = {}  # of several of a class, as in OpenSim
        for default in defaults.iterchildren("*"):
            first.setdefault(default.tag, default)
        for default in first.values():
            for element in holder.iter(default.tag):
                entries = {entry.tag for entry in element.iterchildren("*")}
                for entry in default.iterchildren("*"):
                    if entry.tag not in entries:
                        element.append(deepcopy(entry))


def include_files(model: Element, version: int, path: Path, read: ReadRoot, files: IncludedFiles) -> list[Element]:
    """Put the objects of other files in place of those that name them by the attribute `file`, and return the sets
    whose files have an older version than the model. Those wait to be modernized on their own.

    Raises ModelError with file and line for a file that may not be read, and for one with an object of another class.
    """
    older: list[Element] = []
    for element in [found for found in model.iter("*") if (found.get("file") or "").strip() not in NO_FILE]:
        file = files.path(element, path)
        found, its_version = read(file)
        if found.tag != element.tag:
            complain(element, f"<{element.tag}> names the file {file.name}, which holds a <{found.tag}>")
        complete(found, its_version)
        include_files(found, its_version, file, read, files)
        for child in found.iterchildren("*"):
            child.set(BASE, str(file))
        name, parent = element.get("name") or found.get("name"), element.getparent()
        if name:
            found.set("name", name)
        if parent is None:
            complain(element, f"<{element.tag}> names another file")
        if its_version < FIRST_RELEASE <= version and parent is model and model.tag == "Model":
            parent.remove(element)
            older.append(found)
        else:
            parent[parent.index(element) : parent.index(element) + 1] = [found]
    return older


# ---- Components that programs put into the model itself, moved into the sets of their types -----------------------


FRAMES = ("PhysicalOffsetFrame", "Station", "StationDefinedFrame", "FrameGeometry")  # found where they stand
GEOMETRY = (
    "ContactHalfSpace", "ContactSphere", "ContactMesh", "ContactEllipsoid", "ContactCylinder", "ContactTorus",
)  # fmt: skip
BY_NAME = (
    "actuator_list",
    "socket_actuators",
    "geometry",
    "socket_sphere",
    "socket_half_space",
    "socket_contact_geometry",
)
SETS = {  # the set of a component by the end of its tag
    "Body": "BodySet",
    "Joint": "JointSet",
    "Constraint": "ConstraintSet",
    "Controller": "ControllerSet",
    "Probe": "ProbeSet",
    "Marker": "MarkerSet",
    **dict.fromkeys(("Force", "Muscle", "_Deprecated", "Actuator", "Ligament", "Spring"), "ForceSet"),
    **dict.fromkeys(GEOMETRY, "ContactGeometrySet"),
}


def sort_components(model: Any) -> None:
    """Move the <components> of a <Model> into its sets, behind what is there, and unknown ones into its <ComponentSet>,
    where they are counted. Frames, which paths find anywhere, stay; markers of bodies and frames join the others.

    Paths that refer to what is moved are changed. Where the set has the name of a component already, the component gets
    a number. ModelError for a bare name of a force or contact geometry that could then mean either. Forces of
    <ExternalLoads> become forces of the model, whose data are in the file that the loads name.
    """
    for loads in model.xpath("components/ExternalLoads | ComponentSet/objects/ExternalLoads"):
        for force in loads.iterfind("objects/ExternalForce"):
            for name in force.findall("data_source_name"):
                force.remove(name)
            etree.SubElement(force, "data_source_name").text = loads.findtext("datafile", "")
            loads.addprevious(force)
        loads.getparent().remove(loads)
    moved: dict[str, str] = {}
    shared: dict[str, tuple[str, str]] = {}
    for holder, path in (("components", ""), ("ComponentSet/objects", "/componentset")):
        for component in list(model.iterfind(f"{holder}/*")):
            if component.tag not in FRAMES:
                tag, name = component.tag, component.get("name") or ""
                place = next((holder for ending, holder in SETS.items() if tag.endswith(ending)), "ComponentSet")
                place = "ForceSet" if has_path(component) else place
                target = add_set(model, place)
                if place != "ComponentSet" and name:
                    free = _free_name(name, [entry.get("name") for entry in target])
                    before, after = f"{path}/{name}", f"/{place.lower()}/{free}"
                    component.set("name", free)
                    moved[before] = after
                    if free != name:
                        shared[name] = f"/{place.lower()}/{name}", before
                target.append(component)
    # change the paths to components that are moved, and to what they hold
    longest = sorted(moved, key=len, reverse=True)
    for element in model.iter("*") if moved else ():
        words = [] if len(element) else (element.text or "").split()
        if element.tag in BY_NAME and (unclear := next((word for word in words if word in shared), None)):
            paths = ", ".join(shared[unclear])
            complain(element, f"<{element.tag}> names {unclear!r}, but the model has {paths}: give one of these paths")
        starts = [next((path for path in longest if f"{word}/".startswith(f"{path}/")), "") for word in words]
        if any(starts):
            element.text = " ".join(moved.get(x, "") + word[len(x) :] for word, x in zip(words, starts, strict=True))
    for marker in model.xpath("(BodySet/objects//components | Ground//components)/Marker"):
        frame = marker.find("socket_parent_frame")
        if frame is not None and (frame.text or "").strip() == "..":
            frame.text = str(marker.getparent().getparent().get("name"))
        add_set(model, "MarkerSet").append(marker)


def names_at_root(path: Path) -> set[str]:
    """Names of the components that stand in the <Model> of a file itself, outside its sets."""
    return {str(component.get("name")) for component in parse_opensim(path).findall(".//Model/components/*")}


def _free_name(name: str, taken: Collection[str | None]) -> str:
    """The name, or the first with a number that is not taken."""
    numbered = (f"{name}_{count}" for count in range(len(taken) + 1))
    return next(free for free in (name, *numbered) if free not in taken)


FIRST_DRAFT, NEWEST_VERSION = 30500, 49999


def read_document(
    path: Path, implausible: ImplausibleValues, anywhere: bool = False, sets: Sequence[str | Path] = ()
) -> Element:
    """The element <Model> of a file, in the schema of version 40000, with its default objects applied and the files
    that it names included. ModelError with the line for anything else, or another document version. Text that is not
    UTF-8, or no XML, and names that are not unique are noted. `anywhere`: those files may lie outside its folder.
    `sets`: files of sets whose objects join those of the model."""
    root = read_root(path, implausible)
    model = root.find("Model")
    if model is None:
        raise ModelError("<OpenSimDocument> holds no <Model>", file=path, line=root.sourceline)
    return in_current_schema(model, int(root.get("Version", "0")), path, implausible, anywhere, sets)


def read_root(path: Path, implausible: ImplausibleValues) -> Element:
    """The element <OpenSimDocument> of a file, of a version that is read."""
    root = parse_opensim(path, implausible)
    if root.tag != "OpenSimDocument":
        raise ModelError(f"<OpenSimDocument> is wanted, not <{root.tag}>", file=path, line=root.sourceline)
    given = root.get("Version", "")
    version = int(given) if given.isdigit() else 0
    if not (OLDEST_VERSION <= version <= LAST_NESTED or FIRST_DRAFT <= version <= NEWEST_VERSION):
        raise ModelError(
            f"document version {given or 'missing'} is not read, {OLDEST_VERSION} to {NEWEST_VERSION} are; open an "
            "older model in OpenSim 3.3 and save it again, which writes version 30000",
            file=path,
            line=root.sourceline,
        )
    return root


def in_current_schema(
    model: Element, version: int, path: Path, implausible: ImplausibleValues, anywhere: bool = False,
    sets: Sequence[str | Path] = (),
) -> Element:  # fmt: skip
    """A <Model> of a document version, changed in place into the schema of version 40000. What it names by the
    attribute `file` is included, and its <defaults> are applied."""

    def read(file: Path) -> tuple[Element, int]:
        if parse_opensim(file, implausible).tag != "OpenSimDocument":  # of before versions were written
            return parse_opensim(file, implausible), LAST_NESTED
        root = read_root(file, implausible)
        return next(iter(root.iterchildren("*")), root), int(root.get("Version", "0"))

    older = include_files(model, version, path, read, IncludedFiles(path, anywhere))
    complete(model, version)
    if version <= LAST_NESTED:
        close_names(model, implausible)
    if version < FIRST_RELEASE:
        modernize(model)
    for holder in older:
        part = _model_of(holder)
        close_names(part, implausible)
        modernize(part)
        _join(model, part)
    for file in map(existing, sets):
        holder, its_version = read(file)
        if holder.tag not in (*SETS.values(), "ComponentSet"):
            raise ModelError(f"<{holder.tag}> is no set of a model", file=file, line=holder.sourceline)
        _join(model, in_current_schema(_model_of(holder), its_version, file, implausible, anywhere), file)
    part_from_ground(model, implausible)
    sort_components(model)
    settle_names(model, implausible)
    for joint in model.findall("JointSet/objects/*"):
        complete_joint(joint)
    part_coordinates(model)
    drop_empty_ranges(model, implausible)
    return model


def _model_of(holder: Element) -> Any:
    """A <Model> that has a set alone."""
    part = etree.Element("Model")
    part.sourceline = holder.sourceline
    part.append(holder)
    return part


def _join(model: Any, part: Any, file: Path | None = None) -> None:
    """Add the sets of one <Model> to those of another. `file`: that of the part, if its elements do not say so."""
    for made in list(part):
        for child in made.iterfind("objects/*"):
            child.set(BASE, str(file or child.base or ""))
        holder = model.find(made.tag)
        if holder is None:
            model.append(made)
            continue
        for name in ("objects", "groups"):
            target, source = holder.find(name), made.find(name)
            if target is None and source is not None:
                holder.append(source)
            elif source is not None:
                target.extend(source.iterchildren("*"))
