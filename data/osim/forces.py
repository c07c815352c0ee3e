"""Passive forces of a file beside those along paths and the springs of whole joints."""

from collections.abc import Callable
from typing import Any

from myoquat.data.osim.constraints import placed
from myoquat.data.osim.contact import CONTACTS, Contacts
from myoquat.data.osim.document import last_name, number, text, triple
from myoquat.data.osim.frames import Frames
from myoquat.data.xml import complain
from myoquat.muscle.forces import Bushing, CoordinateSpring, PassiveForce, PointSpring

__all__ = ["BUSHING", "FORCES", "SPRING", "read_force"]

ZERO = (0.0, 0.0, 0.0)
BUSHING = ("rotational_stiffness", "translational_stiffness", "rotational_damping", "translational_damping")
SPRING = {"stiffness": ("stiffness", 0.0), "rest": ("rest_length", 0.0), "damping": ("viscosity", 0.0)}


def read_force(element: Any, frames: Frames, contacts: Contacts) -> PassiveForce:
    """A force of one of the kinds in `FORCES` and `CONTACTS`; ModelError with its line for numbers that cannot be."""
    try:
        return contacts.read(element) if element.tag in CONTACTS else FORCES[element.tag](element, frames)
    except ValueError as error:
        if type(error) is not ValueError:
            raise
        complain(element, str(error))


def _coordinate_spring(element: Any, frames: Frames) -> PassiveForce:
    values = {ours: number(element, tag, default) for ours, (tag, default) in SPRING.items()}
    return CoordinateSpring(str(element.get("name")), last_name(text(element, "coordinate")), **values)


def _point_spring(element: Any, frames: Frames) -> PassiveForce:
    """OpenSim takes the points in the frames of the bodies, also where a socket names an offset frame."""
    first, second = (frames.of(element, f"socket_body{k}") for k in (1, 2))
    return PointSpring(
        str(element.get("name")),
        first.body,
        second.body,
        triple(element, "point1", ZERO),
        triple(element, "point2", ZERO),
        number(element, "stiffness", 1.0),
        number(element, "rest_length", 0.0),
    )


def _bushing(element: Any, frames: Frames) -> PassiveForce:
    values: dict[str, Any] = {tag: triple(element, tag, ZERO) for tag in BUSHING}
    return Bushing(str(element.get("name")), **placed(element, frames), **values)


FORCES: dict[str, Callable[[Any, Frames], PassiveForce]] = {
    "SpringGeneralizedForce": _coordinate_spring,
    "PointToPointSpring": _point_spring,
    "BushingForce": _bushing,
}
