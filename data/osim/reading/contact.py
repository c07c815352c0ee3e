"""Contact surfaces and contact forces of a file."""

from functools import cached_property
from typing import Any

import numpy as np

from myoquat.data.document import last_name, number, numbers, objects, text, triple
from myoquat.data.osim.frames import Frame, Frames
from myoquat.data.xml import complain
from myoquat.joints.quaternion import rotation_matrix
from myoquat.joints.sequences import quaternion_from_euler
from myoquat.muscle.forces import (
    ContactEllipsoid,
    ContactHalfSpace,
    ContactMaterial,
    ContactSphere,
    ContactSurface,
    HuntCrossley,
    PassiveForce,
    SmoothSphereHalfSpace,
)

__all__ = ["CONTACTS", "MATERIAL", "SET", "SMOOTH", "ZERO", "Contacts"]

ZERO = (0.0, 0.0, 0.0)
SET, PARAMETERS = "HuntCrossleyForce..ContactParametersSet", "HuntCrossleyForce..ContactParameters"
MATERIAL = ("stiffness", "dissipation", "static_friction", "dynamic_friction", "viscous_friction")
SMOOTH = dict.fromkeys(MATERIAL[1:], 0.0) | {
    "stiffness": 1.0,
    "transition_velocity": 0.01,
    "constant_contact_force": 1e-5,
    "hertz_smoothing": 300.0,
    "hunt_crossley_smoothing": 50.0,
}
KNOWN = ("ContactHalfSpace", "ContactSphere", "ContactEllipsoid")
CONTACTS = ("HuntCrossleyForce", "SmoothSphereHalfSpaceForce")


class Contacts:
    """The contact surfaces of a model, and the forces between them."""

    def __init__(self, model: Any, frames: Frames) -> None:
        self._elements = {str(element.get("name")): element for element in objects(model, "ContactGeometrySet")}
        self._frames = frames
        self._used: set[str] = set()

    @cached_property
    def unused(self) -> list[Any]:
        """The elements of surfaces that none of the forces read so far has."""
        return [element for name, element in self._elements.items() if name not in self._used]

    def supports(self, force: Any) -> bool:
        """Whether there are formulas for all surfaces of a force; ModelError for a surface that does not exist."""
        tags = [self._element(force, name).tag for name in self._names(force)]
        return all(tag in KNOWN for tag in tags) and not (
            "ContactEllipsoid" in tags and len(tags) - tags.count("ContactHalfSpace") > 1
        )

    def read(self, force: Any) -> PassiveForce:
        """A force of one of the types in `CONTACTS`; ModelError with its line for numbers that cannot be."""
        self._used.update(self._names(force))
        name = str(force.get("name"))
        if force.tag == "HuntCrossleyForce":
            materials = tuple(self._material(force, element) for element in _materials(force))
            return HuntCrossley(name, materials, number(force, "transition_velocity", 0.01))
        sphere, half_space = (self._surface(force, surface) for surface in self._names(force))
        if not isinstance(sphere, ContactSphere) or not isinstance(half_space, ContactHalfSpace):
            complain(force, "<socket_sphere> must name a ContactSphere, <socket_half_space> a ContactHalfSpace")
        values: dict[str, Any] = {key: number(force, key, default) for key, default in SMOOTH.items()}
        return SmoothSphereHalfSpace(name, sphere, half_space, **values)

    def placed(self, owner: Any, socket: str) -> tuple[Any, Frame]:
        """The element of the geometry that a socket names, which is used by that, and its frame on its body."""
        name = last_name(text(owner, socket))
        self._used.add(name)
        element = self._element(owner, name)
        return element, self._frame(element)

    def _frame(self, element: Any) -> Frame:
        base = self._frames.of(element, "socket_frame")
        turned = quaternion_from_euler(np.array(numbers(element, "orientation", 3, ZERO)), "XYZ")
        return Frame(
            base.body, base.R @ rotation_matrix(turned), np.array(base.point(triple(element, "location", ZERO)))
        )

    def _names(self, force: Any) -> list[str]:
        if force.tag == "HuntCrossleyForce":
            return [name for element in _materials(force) for name in _geometry(element)]
        return [last_name(text(force, f"socket_{key}")) for key in ("sphere", "half_space")]

    def _element(self, force: Any, name: str) -> Any:
        if name not in self._elements:
            complain(force, f"there is no contact geometry {name!r}")
        return self._elements[name]

    def _material(self, force: Any, element: Any) -> ContactMaterial:
        surfaces = tuple(self._surface(force, name) for name in _geometry(element))
        return ContactMaterial(surfaces, **{key: number(element, key, 0.0) for key in MATERIAL})

    def _surface(self, force: Any, name: str) -> ContactSurface:
        element = self._element(force, name)
        frame = self._frame(element)
        x, y, z = frame.position
        if element.tag == "ContactHalfSpace":
            a, b, c = (0.0 - float(part) for part in frame.R[:, 0])
            return ContactHalfSpace(name, frame.body, (x, y, z), (a, b, c))
        if element.tag == "ContactSphere":
            return ContactSphere(name, frame.body, (x, y, z), number(element, "radius", 0.0))
        Q0, Q1, Q2, Q3 = frame.orientation
        return ContactEllipsoid(name, frame.body, (x, y, z), (Q0, Q1, Q2, Q3), triple(element, "radii", ZERO))


def _materials(force: Any) -> list[Any]:
    """The elements of the materials of a <HuntCrossleyForce>."""
    found = [child for child in force if child.tag == SET]
    holder = found[0].find("objects") if found else None
    return [] if holder is None else [child for child in holder if child.tag == PARAMETERS]


def _geometry(element: Any) -> list[str]:
    return [last_name(word) for word in text(element, "geometry", "").split()]
