"""Files of OpenSim's <MarkerSet>: markers that a model gets from a file of their own."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from myoquat.data.xml import Element, boolean, last_name, numbers, parse_opensim, text
from myoquat.joints import ModelError
from myoquat.joints.errors import errors_in
from myoquat.muscle import Model
from myoquat.muscle.coordinates import Marker

__all__ = ["read_marker_set", "with_markers"]


def read_marker_set(path: Path) -> tuple[Marker, ...]:
    """The markers in a file, of this or an older version of OpenSim; ModelError with file and line for another file."""
    root = parse_opensim(path)
    holder = root if root.tag == "MarkerSet" else root.find("MarkerSet")
    if holder is None:
        raise ModelError(f"<MarkerSet> is wanted, not <{root.tag}>", file=path, line=root.sourceline)
    elements = holder.find("objects")
    with errors_in(path):
        return tuple(_marker(element) for element in (() if elements is None else elements.iterchildren("*")))


def _marker(element: Element) -> Marker:
    tag = "body" if element.find("body") is not None else "socket_parent_frame"
    body = last_name(text(element, tag))
    return Marker(
        element.get("name") or "", body, numbers(element, "location", 3, (0.0, 0.0, 0.0)), boolean(element, "fixed")
    )


def with_markers(model: Model, markers: Sequence[Marker]) -> Model:
    """The model with markers of the same name replaced, others added; ModelError for one on an unknown body."""
    known = {model.system.ground, *model.system.body_names}
    for marker in markers:
        marker.check(known)
    given = {marker.name: marker for marker in markers}
    kept = [given.pop(marker.name, marker) for marker in model.markers]
    return replace(model, markers=(*kept, *given.values()))
