"""Components that programs put into the model itself, moved into the sets of their types."""

from typing import Any

from lxml import etree

from myoquat.data.osim.reading.muscles import has_path

__all__ = ["GEOMETRY", "sort_components"]

FRAMES = ("PhysicalOffsetFrame", "Station", "StationDefinedFrame", "FrameGeometry")  # found where they stand
GEOMETRY = (
    "ContactHalfSpace", "ContactSphere", "ContactMesh", "ContactEllipsoid", "ContactCylinder", "ContactTorus",
)  # fmt: skip
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
    where they are counted. Frames, which paths find anywhere, stay; markers of bodies and frames join the others."""
    for holder in ("components", "ComponentSet/objects"):
        for component in list(model.iterfind(f"{holder}/*")):
            if isinstance(component.tag, str) and component.tag not in FRAMES:
                _objects(model, _set_of(component)).append(component)
    for marker in model.xpath("(BodySet/objects//components | Ground//components)/Marker"):
        frame = marker.find("socket_parent_frame")
        if frame is not None and (frame.text or "").strip() == "..":
            frame.text = str(marker.getparent().getparent().get("name"))
        _objects(model, "MarkerSet").append(marker)


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
