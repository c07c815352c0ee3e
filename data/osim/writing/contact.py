"""Contact surfaces and forces as OpenSim's; mirrors `myoquat.data.osim.reading.contact`."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from myoquat.data.elements import add, add_set, body_fixed, checked_name
from myoquat.data.osim.reading.contact import MATERIAL, SET, SMOOTH
from myoquat.data.osim.writing.joints import path_of
from myoquat.data.osim.writing.obstacles import Obstacles
from myoquat.data.xml import Element
from myoquat.joints.errors import ModelError
from myoquat.muscle.forces import (
    ContactEllipsoid,
    ContactHalfSpace,
    ContactSphere,
    ContactSurface,
    HuntCrossley,
    SmoothSphereHalfSpace,
)
from myoquat.muscle.model import Model

__all__ = ["add_surfaces", "surfaces_of", "write_hunt_crossley", "write_smooth"]


def surfaces_of(model: Model) -> dict[str, ContactSurface]:
    """The contact surfaces of a model by their names; ModelError for two of one name."""
    found: dict[str, ContactSurface] = {}
    for force in model.forces:
        for surface in _surfaces(force):
            if found.setdefault(surface.name, surface) != surface:
                raise ModelError(f"two surfaces have the name {surface.name!r}", element=force.element)
    return found


def _surfaces(force: Any) -> tuple[ContactSurface, ...]:
    if isinstance(force, SmoothSphereHalfSpace):
        return force.sphere, force.half_space
    materials = force.materials if isinstance(force, HuntCrossley) else ()
    return tuple(surface for material in materials for surface in material.surfaces)


def add_surfaces(parent: Element, surfaces: Mapping[str, ContactSurface], obstacles: Obstacles) -> None:
    """The <ContactGeometrySet>, where there are surfaces of contact forces or obstacles of paths."""
    if not surfaces and not obstacles:
        return
    holder = add_set(parent, "ContactGeometrySet")
    obstacles.add_geometry(holder)
    for surface in surfaces.values():
        entry = add(holder, type(surface).__name__, name=checked_name(surface.name, f"surface {surface.name!r}"))
        add(entry, "socket_frame", path_of(surface.body))
        add(entry, "location", surface.position)
        for tag, value in SHAPES[type(surface)](surface).items():
            add(entry, tag, value)


def _turn(normal: tuple[float, float, float]) -> tuple[float, float, float]:
    """Angles about x, y and z that turn -x, OpenSim's outward normal, to this one."""
    size = math.hypot(*normal)
    x, y, z = (0.0 - component / size for component in normal)
    return 0.0, math.atan2(0.0 - z, x), math.atan2(y, math.hypot(x, z))


SHAPES: dict[type, Callable[[Any], dict[str, Any]]] = {
    ContactHalfSpace: lambda surface: {"orientation": _turn(surface.normal)},
    ContactSphere: lambda surface: {"radius": surface.radius},
    ContactEllipsoid: lambda surface: {"orientation": body_fixed(surface.orientation), "radii": surface.radii},
}  # tags beside those of every surface


def write_hunt_crossley(entry: Element, force: HuntCrossley) -> None:
    """The children of a <HuntCrossleyForce>."""
    holder = add(add(entry, SET, name="contact_parameters"), "objects")
    for material in force.materials:
        parameters = add(holder, "HuntCrossleyForce..ContactParameters")
        add(parameters, "geometry", " ".join(surface.name for surface in material.surfaces))
        for key in MATERIAL:
            add(parameters, key, getattr(material, key))
    add(entry, "transition_velocity", force.transition_velocity)


def write_smooth(entry: Element, force: SmoothSphereHalfSpace) -> None:
    """The children of a <SmoothSphereHalfSpaceForce>; ModelError for rounded friction, which OpenSim does not have."""
    if force.rounded_friction:
        raise ModelError("OpenSim's SmoothSphereHalfSpaceForce cannot have rounded_friction", element=force.element)
    add(entry, "socket_sphere", f"/contactgeometryset/{force.sphere.name}")
    add(entry, "socket_half_space", f"/contactgeometryset/{force.half_space.name}")
    for key in SMOOTH:
        add(entry, key, getattr(force, key))
