"""Components that programs put into the model itself, moved into the sets of their types."""

from collections.abc import Sequence
from typing import Any

from lxml import etree

from myoquat.data.document import last_name
from myoquat.data.osim.reading.muscles import has_path
from myoquat.data.xml import complain

__all__ = ["GEOMETRY", "sort_components"]

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
    a number. ModelError for a bare name of a force or contact geometry that could then mean either.
    """
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
