"""What tools add to a model: actuators and markers in files of their own, <ForceSet> and <MarkerSet>, and sensors."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from lxml import etree

from myoquat.data.xml import Element, add, boolean, complain, last_name, parse_opensim, text
from myoquat.joints import ModelError
from myoquat.joints.errors import errors_in
from myoquat.muscle import Model
from myoquat.muscle.actuators import Actuator, PointActuator, TorqueActuator
from myoquat.muscle.coordinates import Marker

from .document import FIRST_RELEASE, complete
from .elements import GROUND, MARKER, Frame, Frames, add_offset, frame_of
from .forces import ACTUATORS

SETS = ("ForceSet", "ActuatorSet")  # as it was called before OpenSim 2
FIRST_WITH_STATED_DIRECTION = 10905  # the version since which torques and forces have the direction that they say
RENAMED = {  # in older files
    "TorqueActuator": {"body_A": "bodyB", "body_B": "bodyA", "direction_A": "axis"},
    "PointActuator": {"body_B": "body", "point_B": "point", "direction_A": "direction"},
    "Marker": {"body": "socket_parent_frame"},
}


class _Bodies(Frames):
    """Bodies by name, which are looked for when the model gets what is on them."""

    def __init__(self) -> None:
        pass

    def of(self, owner: Element, socket: str) -> Frame:
        return frame_of(last_name(text(owner, socket)))


def _rename(element: Element) -> None:
    for entry in list(element.iterchildren("*")):
        entry.tag = RENAMED.get(element.tag, {}).get(entry.tag, entry.tag)


def read_force_set(path: Path) -> tuple[Actuator, ...]:
    """The actuators in a file; ModelError with file and line for forces that are no actuators."""
    root, found = parse_opensim(path), []
    with errors_in(path):
        holder = next((holder for holder in (root, *root.iterchildren("*")) if holder.tag in SETS), None)
        if holder is None:
            raise ModelError("the file holds no <ForceSet>")
        complete(holder, FIRST_RELEASE)
        for element in holder.iterfind("objects/*"):
            if element.tag not in ACTUATORS:
                complain(element, f"<{element.tag}> is no actuator that is known here; known: {', '.join(ACTUATORS)}")
            if not boolean(element, "isDisabled") and boolean(element, "appliesForce", True):
                _rename(element)
                found.append(ACTUATORS[element.tag].read(element, _Bodies()))
    # a file without a version is from before versions were written
    given = root.attrib.get("Version", "") if root.tag == "OpenSimDocument" else ""
    older = not given.isdigit() or int(given) < FIRST_WITH_STATED_DIRECTION
    return tuple(map(_turned, found) if older else found)


def _turned(actuator: Actuator) -> Actuator:
    """The actuator of an older file, which pushes the other way there."""
    if isinstance(actuator, TorqueActuator):
        return replace(actuator, axis=0.0 - np.array(actuator.axis))  # type: ignore[arg-type]
    if isinstance(actuator, PointActuator):
        direction: Any = 0.0 - np.array(actuator.direction)
        return replace(actuator, direction=direction, direction_in_world=True)
    return actuator


def read_marker_set(path: Path) -> tuple[Marker, ...]:
    """The markers in a file, of this or an older version of OpenSim; ModelError with file and line for another file."""
    root = parse_opensim(path)
    holder = root if root.tag == "MarkerSet" else root.find("MarkerSet")
    if holder is None:
        raise ModelError(f"<MarkerSet> is wanted, not <{root.tag}>", file=path, line=root.sourceline)
    elements = list(holder.iterfind("objects/*"))
    with errors_in(path):
        for element in elements:
            _rename(element)
        return tuple(MARKER.read(element, _Bodies()) for element in elements)


def with_markers(model: Model, markers: Sequence[Marker]) -> Model:
    """The model with markers of the same name replaced, others added; ModelError for one on an unknown body."""
    for marker in markers:
        marker.check(model.system)
    given = {marker.name: marker for marker in markers}
    kept = [given.pop(marker.name, marker) for marker in model.markers]
    return replace(model, markers=(*kept, *given.values()))


# ---- Sensors: frames of bodies called '..._imu', as OpenSim's IMUPlacer writes them ----------------------------------


SUFFIX = "_imu"
FRAME = "PhysicalOffsetFrame"


class SensorFrame(NamedTuple):
    """A sensor on a body: a unit quaternion that takes its components to the body's, and where it is [m]."""

    name: str
    body: str
    orientation: tuple[float, ...]
    position: tuple[float, ...]


def read_sensor_frames(path: Path) -> tuple[SensorFrame, ...]:
    """The sensors of a model; ModelError with file and line for one that is on no body."""
    root = parse_opensim(path)
    model = root.find("Model")
    frames = Frames(root if model is None else model)
    with errors_in(path):
        return tuple(_sensor(e, frames) for e in root.iter(FRAME) if (e.get("name") or "").endswith(SUFFIX))


def model_with_sensors(path: Path, sensors: Sequence[SensorFrame]) -> str:
    """The text of a model file with these sensors in place of those of the same names, and all else as it is."""
    root = parse_opensim(path)
    bodies = {body.get("name"): body for body in root.iterfind(".//BodySet/objects/Body")}
    names = {sensor.name for sensor in sensors}
    for old in [element for element in root.iter(FRAME) if element.get("name") in names]:
        holder = old.getparent()
        assert holder is not None
        holder.remove(old)
    for sensor in sensors:
        if sensor.body not in bodies:
            raise ModelError(f"the file holds no body {sensor.body!r}", element=f"sensor {sensor.name!r}", file=path)
        body = bodies[sensor.body]
        holder = body.find("components")
        holder = add(body, "components") if holder is None else holder
        add_offset(holder, sensor.name, sensor.body, sensor.position, sensor.orientation)
    etree.indent(root, "\t")
    made: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8")
    return made.decode()


def _sensor(element: Element, frames: Frames) -> SensorFrame:
    """The sensor that a frame is."""
    frame = frames.placed(element, parent="..")
    if frame.body == GROUND:
        complain(element, "a sensor must be on a body; this one is on the ground")
    orientation, position = (tuple(map(float, x)) for x in (frame.orientation, frame.p))
    return SensorFrame(str(element.get("name")), frame.body, orientation, position)
