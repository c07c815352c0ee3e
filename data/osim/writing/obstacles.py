"""Paths that are laid over hints, as OpenSim's paths over obstacles; mirrors `myoquat.data.osim.reading.obstacles`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from myoquat.data.elements import add, body_fixed, checked_name
from myoquat.data.osim.reading.obstacles import OBSTACLE, POINT, TAG
from myoquat.data.osim.reading.surfaces import add_sizes, obstacle_tag
from myoquat.data.osim.writing.joints import path_of
from myoquat.data.xml import Element
from myoquat.joints.errors import ModelError
from myoquat.muscle.forces import ContactEllipsoid, ContactSphere, ContactSurface
from myoquat.muscle.path import Muscle
from myoquat.muscle.points import PathPoint
from myoquat.muscle.wrapping import Wrap, WrapCylinder, WrapEllipsoid, WrapSphere

__all__ = ["Obstacles", "is_hinted"]


def is_hinted(muscle: Muscle) -> bool:
    """Whether a path is one over obstacles; ModelError where it is so in part."""
    hinted = [wrap.hint is not None for wrap in muscle.wraps]
    if any(hinted) and not all(hinted):
        raise ModelError(
            "OpenSim has no path around surfaces with a hint and others", element=f"muscle {muscle.name!r}"
        )
    return any(hinted)


class Obstacles:
    """The obstacles of all paths as contact geometry, each with a name of its own. Equal obstacles become one. An
    obstacle that equals a surface of a contact force becomes none."""

    def __init__(self, muscles: Sequence[Muscle], surfaces: Mapping[str, ContactSurface]) -> None:
        self._names: dict[Wrap, str] = {}
        self._new: list[Wrap] = []
        self._surfaces = surfaces
        for muscle in filter(is_hinted, muscles):
            for wrap in muscle.wraps:
                self._name(_bare(wrap), muscle.name)

    def _name(self, wrap: Wrap, muscle: str) -> None:
        if wrap in self._names:
            return
        element = f"muscle {muscle!r}"
        if isinstance(wrap, WrapCylinder) and np.isfinite(wrap.length):
            raise ModelError(
                f"OpenSim's obstacles are cylinders without ends; {wrap.name or 'one'} has them", element=element
            )
        name = checked_name(wrap.name or f"{muscle}_{wrap.kind}", element)
        if _is_same(wrap, self._surfaces.get(name)):
            self._names[wrap] = name
            return
        taken = {*self._names.values(), *self._surfaces}
        others = (f"{name}_{k}" for k in range(2, len(taken) + 3))
        self._names[wrap] = name if name not in taken else next(other for other in others if other not in taken)
        self._new.append(wrap)

    def __bool__(self) -> bool:
        return bool(self._new)

    def add_geometry(self, holder: Element) -> None:
        """The contact geometry of the obstacles."""
        for wrap in self._new:
            entry = add(holder, obstacle_tag(wrap), name=self._names[wrap])
            add(entry, "socket_frame", path_of(wrap.body))
            add(entry, "location", wrap.position)
            add(entry, "orientation", body_fixed(wrap.orientation))
            add_sizes(entry, wrap)

    def add_path(self, parent: Element, muscle: Muscle) -> None:
        """The path of a muscle; ModelError for points and pieces that OpenSim's path over obstacles cannot have."""
        element = f"muscle {muscle.name!r}"
        whole = (0, len(muscle.path) - 1)
        if any(type(point) is not PathPoint for point in muscle.path):
            raise ModelError("all points of OpenSim's path over obstacles are fixed to bodies", element=element)
        if any(np.diff(wrap.points or whole) != 1 for wrap in muscle.wraps):
            raise ModelError("in OpenSim an obstacle with a hint acts between two points of a path", element=element)
        elements = add(add(parent, TAG, name="path"), "path_elements")
        for k, point in enumerate(muscle.path):
            entry = add(add(elements, POINT, name=f"path_point_{k}"), "PathPoint", name="pathpoint")
            add(entry, "socket_parent_frame", path_of(point.body))
            add(entry, "location", point.position)
            for i, wrap in enumerate(muscle.wraps):
                if (wrap.points or whole)[0] == k and wrap.hint is not None:
                    obstacle = add(elements, OBSTACLE, name=f"obstacle_{i}")
                    add(obstacle, "socket_contact_geometry", f"/contactgeometryset/{self._names[_bare(wrap)]}")
                    add(obstacle, "contact_hint", wrap.hint)


def _bare(wrap: Wrap) -> Wrap:
    return replace(wrap, points=None, hint=None)


def _is_same(wrap: Wrap, surface: ContactSurface | None) -> bool:
    """Whether an obstacle is the surface of a contact force."""
    place = (wrap.body, tuple(wrap.position), tuple(wrap.orientation))
    if isinstance(surface, ContactSphere) and isinstance(wrap, WrapSphere):
        return (*place, wrap.radius) == (surface.body, surface.position, (1.0, 0.0, 0.0, 0.0), surface.radius)
    if isinstance(surface, ContactEllipsoid) and isinstance(wrap, WrapEllipsoid):
        return (*place, wrap.radii) == (surface.body, surface.position, surface.orientation, surface.radii)
    return False
