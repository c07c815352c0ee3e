"""Sensors in an .osim file: frames of bodies called '..._imu', as OpenSim's IMUPlacer writes them."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from lxml import etree

from myoquat.data.xml import Element, add, complain, last_name, numbers, parse_opensim, text
from myoquat.joints import ModelError, euler_from_quaternion, quaternion_from_euler
from myoquat.joints.errors import errors_in

SUFFIX = "_imu"
FRAME = "PhysicalOffsetFrame"


class SensorFrame(NamedTuple):
    """A sensor on a body: a unit quaternion that takes its components to the body's, and where it is [m]."""

    name: str
    body: str
    orientation: tuple[float, ...]
    position: tuple[float, ...]


def read_sensor_frames(path: Path) -> tuple[SensorFrame, ...]:
    """The sensors of a model; ModelError with file and line for one that is not directly on a body."""
    root = parse_opensim(path)
    with errors_in(path):
        return tuple(_frame(element) for element in root.iter(FRAME) if (element.get("name") or "").endswith(SUFFIX))


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
        _put(bodies[sensor.body], sensor)
    etree.indent(root, "\t")
    made: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8")
    return made.decode()


def _frame(element: Element) -> SensorFrame:
    """The sensor that a frame is: its parent is named, or '..', what holds it."""
    name, parent = element.get("name") or "", text(element, "socket_parent", "..")
    holder = element.getparent()
    owner = None if holder is None else holder.getparent()
    if parent == ".." and owner is not None and owner.tag == "Body":
        parent = owner.get("name") or ""
    elif "/bodyset/" not in f"/{parent}":
        complain(element, f"a sensor must be on a body; its parent is {parent!r}")
    angles = numbers(element, "orientation", 3, (0.0, 0.0, 0.0))
    Q = quaternion_from_euler(np.array(angles), "XYZ")
    return SensorFrame(name, last_name(parent), tuple(Q.tolist()), numbers(element, "translation", 3, (0.0,) * 3))


def _put(body: Element, sensor: SensorFrame) -> None:
    holder = body.find("components")
    if holder is None:
        holder = etree.Element("components")
        body.insert(0, holder)  # type: ignore[attr-defined]
    frame = add(holder, FRAME, name=sensor.name)
    add(frame, "socket_parent", "..")
    add(frame, "translation", sensor.position)
    add(frame, "orientation", tuple(euler_from_quaternion(np.array(sensor.orientation), "XYZ").tolist()))
