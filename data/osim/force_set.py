"""Files of OpenSim's <ForceSet>: actuators that a tool adds to its model."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from myoquat.data.osim.document import FIRST_RELEASE, complete
from myoquat.data.osim.forces import ACTUATORS
from myoquat.data.osim.frames import Frame, Frames
from myoquat.data.xml import Element, boolean, complain, last_name, parse_opensim, text
from myoquat.joints import ModelError
from myoquat.joints.errors import errors_in
from myoquat.muscle.actuators import Actuator, PointActuator, TorqueActuator

__all__ = ["read_force_set"]

SETS = ("ForceSet", "ActuatorSet")  # as it was called before OpenSim 2
FIRST_WITH_STATED_DIRECTION = 10905  # the version since which torques and forces have the direction that they say
RENAMED = {  # up to then
    "TorqueActuator": {"body_A": "bodyB", "body_B": "bodyA", "direction_A": "axis"},
    "PointActuator": {"body_B": "body", "point_B": "point", "direction_A": "direction"},
}


def read_force_set(path: Path) -> tuple[Actuator, ...]:
    """The actuators in a file; ModelError with file and line for forces that are no actuators."""
    root = parse_opensim(path)
    with errors_in(path):
        sets = (root, *root.iterchildren("*"))
        found = _actuators(next((holder for holder in sets if holder.tag in SETS), None))
    return tuple(map(_turned, found)) if _version(root) < FIRST_WITH_STATED_DIRECTION else found


def _version(root: Element) -> int:
    """The version of the document; a file without one is from before versions were written."""
    given = root.attrib.get("Version", "") if root.tag == "OpenSimDocument" else ""
    return int(given) if given.isdigit() else 0


def _turned(actuator: Actuator) -> Actuator:
    """The actuator of an older file, which pushes the other way there."""
    if isinstance(actuator, TorqueActuator):
        return replace(actuator, axis=_opposite(actuator.axis))
    if isinstance(actuator, PointActuator):
        return replace(actuator, direction=_opposite(actuator.direction), direction_in_world=True)
    return actuator


def _opposite(v: tuple[float, float, float]) -> tuple[float, float, float]:
    x, y, z = v
    return 0.0 - x, 0.0 - y, 0.0 - z


class _Bodies(Frames):
    """Bodies by name, which are looked for when the model gets its actuators."""

    def __init__(self) -> None:
        pass

    def of(self, owner: Element, socket: str) -> Frame:
        return Frame(last_name(text(owner, socket)), np.eye(3), np.zeros(3))


def _actuators(holder: Element | None) -> tuple[Actuator, ...]:
    if holder is None:
        raise ModelError("the file holds no <ForceSet>")
    complete(holder, FIRST_RELEASE)
    found = []
    for element in holder.iterfind("objects/*"):
        if element.tag not in ACTUATORS:
            complain(element, f"<{element.tag}> is no actuator that is known here; known: {', '.join(ACTUATORS)}")
        if boolean(element, "isDisabled") or not boolean(element, "appliesForce", True):
            continue
        for entry in list(element.iterchildren("*")):
            entry.tag = RENAMED.get(element.tag, {}).get(entry.tag, entry.tag)
        found.append(ACTUATORS[element.tag].read(element, _Bodies()))
    return tuple(found)
