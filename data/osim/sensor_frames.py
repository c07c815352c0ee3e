"""Sensors in an .osim file: frames of bodies called '..._imu', as OpenSim's IMUPlacer writes them."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from lxml import etree

from myoquat.data.xml import Element, add, complain, parse_opensim
from myoquat.joints import ModelError
from myoquat.joints.errors import errors_in

from .frames import GROUND, Frames, add_offset

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
    frame = frames.placed(element)
    if frame.body == GROUND:
        complain(element, "a sensor must be on a body; this one is on the ground")
    return SensorFrame(str(element.get("name")), frame.body, frame.orientation, frame.position)
