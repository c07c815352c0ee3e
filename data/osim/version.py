"""The document: parsed, and its version, with which its schema changes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lxml import etree

from myoquat.data.files import existing
from myoquat.data.osim.document import (
    FIRST_RELEASE,
    LAST_NESTED,
    OLDEST_VERSION,
    close_names,
    complete,
    drop_empty_ranges,
    include_files,
    modernize,
    part_coordinates,
    part_from_ground,
    settle_names,
)
from myoquat.data.osim.muscles import has_path
from myoquat.data.osim.tree import complete_joint
from myoquat.data.reports import ImplausibleValues
from myoquat.data.xml import BASE, Element, IncludedFiles, complain, last_name, parse_opensim
from myoquat.joints import ModelError

__all__ = ["GEOMETRY", "in_current_schema", "names_at_root", "read_document", "read_root"]


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
            if isinstance(component.tag, str) and component.tag not in FRAMES:
                place, name = _set_of(component), component.get("name") or ""
                target = _objects(model, place)
                if place != "ComponentSet" and name:
                    before, after = f"{path}/{name}", f"/{place.lower()}/{_free_name(target, name)}"
                    component.set("name", last_name(after))
                    moved[before] = after
                    if last_name(after) != name:
                        shared[name] = f"/{place.lower()}/{name}", before
                target.append(component)
    if moved:
        _redirect(model, moved, shared)
    for marker in model.xpath("(BodySet/objects//components | Ground//components)/Marker"):
        frame = marker.find("socket_parent_frame")
        if frame is not None and (frame.text or "").strip() == "..":
            frame.text = str(marker.getparent().getparent().get("name"))
        _objects(model, "MarkerSet").append(marker)


def names_at_root(path: Path) -> set[str]:
    """Names of the components that stand in the <Model> of a file itself, outside its sets."""
    return {str(component.get("name")) for component in parse_opensim(path).findall(".//Model/components/*")}


def _free_name(holder: Any, name: str) -> str:
    """The name, or the first with a number that no entry of a set has."""
    taken, found, count = {entry.get("name") for entry in holder}, name, 0
    while found in taken:
        found, count = f"{name}_{count}", count + 1
    return found


def _redirect(model: Any, moved: dict[str, str], shared: dict[str, tuple[str, str]]) -> None:
    """Change the paths to components that are moved, and to what they hold. ModelError for a bare reference to one of
    several forces or contact geometries."""
    longest = sorted(moved, key=len, reverse=True)
    for element in model.iter("*"):
        if len(element) or not (element.text or "").strip():
            continue
        words = element.text.split()
        if element.tag in BY_NAME and (unclear := [word for word in words if word in shared]):
            paths = ", ".join(shared[unclear[0]])
            complain(
                element, f"<{element.tag}> names {unclear[0]!r}, but the model has {paths}: give one of these paths"
            )
        changed = [_redirected(word, moved, longest) for word in words]
        if changed != words:
            element.text = " ".join(changed)


def _redirected(word: str, moved: dict[str, str], longest: Sequence[str]) -> str:
    before = next((path for path in longest if word == path or word.startswith(f"{path}/")), None)
    return word if before is None else moved[before] + word[len(before) :]


def _set_of(component: Any) -> str:
    if has_path(component):
        return "ForceSet"
    return next((name for ending, name in SETS.items() if component.tag.endswith(ending)), "ComponentSet")


def _objects(model: Any, tag: str) -> Any:
    """<tag><objects> of the model, made where it is missing."""
    found = model
    for name in (tag, "objects"):
        child = found.find(name)
        found = etree.SubElement(found, name) if child is None else child
    return found


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
        _add_older(model, holder, implausible)
    for file in map(existing, sets):
        holder, its_version = read(file)
        if holder.tag not in (*SETS.values(), "ComponentSet"):
            raise ModelError(f"<{holder.tag}> is no set of a model", file=file, line=holder.sourceline)
        part: Element = etree.Element("Model")
        part.append(holder)
        _join(model, in_current_schema(part, its_version, file, implausible, anywhere), file)
    part_from_ground(model, implausible)
    sort_components(model)
    settle_names(model, implausible)
    for joint in model.findall("JointSet/objects/*"):
        complete_joint(joint)
    part_coordinates(model)
    drop_empty_ranges(model, implausible)
    return model


def _add_older(model: Element, holder: Element, implausible: ImplausibleValues) -> None:
    """A set of an older version in a model of today: modernized in a model of its own, whose sets join the others."""
    part: Element = etree.Element("Model")
    part.sourceline = holder.sourceline
    part.append(holder)
    close_names(part, implausible)
    modernize(part)
    _join(model, part)


def _join(model: Element, part: Element, file: Path | None = None) -> None:
    """Add the sets of one <Model> to those of another. `file`: that of the part, if its elements do not say so."""
    for made in part.iterchildren("*"):
        for child in made.findall("objects/*"):
            child.set(BASE, str(file or child.base or ""))
        existing = model.find(made.tag)
        if existing is None:
            model.append(made)
            continue
        for name in ("objects", "groups"):
            target, source = existing.find(name), made.find(name)
            if target is None and source is not None:
                existing.append(source)
            elif target is not None and source is not None:
                for child in list(source.iterchildren("*")):
                    target.append(child)
