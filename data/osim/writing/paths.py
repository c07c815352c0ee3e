"""Paths: their points, and the surfaces that they wrap around."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
from lxml import etree

from myoquat.data.osim.functions import add_function
from myoquat.data.osim.laws import LAWS, SCHUTTE, TIMES, add_quadratic, read_activation_dynamics, read_law
from myoquat.data.osim.reading.muscles import add_functional
from myoquat.data.osim.reading.wraps import (
    OBSTACLE,
    POINT,
    RESOLVED,
    TAG,
    add_sizes,
    in_stated_order,
    is_known,
    obstacle_tag,
    with_wrap_ranges,
)
from myoquat.data.osim.tree import DEFAULT_RANGE
from myoquat.data.osim.writing.bodies import path_of
from myoquat.data.reports import UnsupportedElements, UnwrittenParts
from myoquat.data.xml import Element, add, add_set, body_fixed, checked_name
from myoquat.joints.errors import ModelError
from myoquat.joints.functions import Constant
from myoquat.muscle.activation import ActivationDynamics
from myoquat.muscle.coordinates import Coordinate
from myoquat.muscle.fitted import FittedPoint, LengthPoint, PoseFunction, fitted_path, function_path
from myoquat.muscle.forces import ContactEllipsoid, ContactSphere, ContactSurface
from myoquat.muscle.laws import ForceLaw, Thelen2003
from myoquat.muscle.model import Model
from myoquat.muscle.path import Muscle, PathWrap
from myoquat.muscle.points import ConditionalPoint, MovingPoint, PathPoint
from myoquat.muscle.wrapping import Wrap, WrapCylinder, WrapEllipsoid, WrapSphere

__all__ = ["FALLBACK", "Obstacles", "Paths", "WrapObjects", "force_element", "has_known_law", "with_valid_path_wraps"]


# --------------------------------------------------------------------------------------------------------------
#
# Paths that are laid over hints, as OpenSim's paths over obstacles; mirrors `myoquat.data.osim.reading.wraps`.


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


# --------------------------------------------------------------------------------------------------------------
#
# Our force laws as OpenSim's muscles and other forces, by the tables that read them; read back, they must be equal.


FALLBACK = "PathActuator"  # for a path whose law OpenSim does not know, or that has none
READ_BACK_TOLERANCE = 1e-12  # relative, of numbers that are written in another form
TAGS = {format_.law: tag for tag, format_ in LAWS.items()}


def has_known_law(law: ForceLaw | None) -> bool:
    """Whether OpenSim has this law."""
    return type(law) in TAGS


def force_element(parent: Element, muscle: Muscle, unwritten: UnwrittenParts) -> Element:
    """The element of a muscle or another force along a path, with all of its numbers but no path yet.

    ModelError if OpenSim's force of this type cannot have them.
    """
    muscle = _with_thelen_of_opensim(muscle, unwritten)
    if muscle.law is None or not has_known_law(muscle.law):
        force = add(parent, FALLBACK, name=muscle.name)
        strength = getattr(muscle.law, "max_isometric_force", None)
        if strength is not None:
            add(force, "optimal_force", strength)
        return force
    tag = TAGS[type(muscle.law)]
    force = add(parent, tag, name=muscle.name)
    LAWS[tag].write(force, muscle.law)
    _add_activation_dynamics(force, muscle)
    if muscle.activation is not None and tag in TIMES:
        add(force, "default_activation", muscle.activation)
    _check(force, muscle)
    return force


def _with_thelen_of_opensim(muscle: Muscle, unwritten: UnwrittenParts) -> Muscle:
    """A muscle by Thelen's law as OpenSim has it: with activation dynamics and an elastic tendon. OpenSim 4.6 opens no
    file with a Thelen2003Muscle that ignores either."""
    law = muscle.law
    if not isinstance(law, Thelen2003):
        return muscle
    if law.tendon == "rigid" and law.tendon_slack_length > 0:
        unwritten.count("rigid tendons of Thelen2003Muscle, written as elastic", muscle.name)
        muscle = replace(muscle, law=replace(law, tendon="elastic"))
    if muscle.activation_dynamics is None:
        unwritten.count("controls that are activations of Thelen2003Muscle, written with its dynamics", muscle.name)
        up, down, form = TIMES["Thelen2003Muscle"]
        dynamics = ActivationDynamics(up, down, form, minimum_activation=law.minimum_activation)
        muscle = replace(muscle, activation_dynamics=dynamics)
    return muscle


def _add_activation_dynamics(force: Element, muscle: Muscle) -> None:
    dynamics = muscle.activation_dynamics
    if force.tag == SCHUTTE:
        if dynamics is not None:
            add_quadratic(force, dynamics)
        return
    if dynamics is None:
        if force.tag in TIMES:
            add(force, "ignore_activation_dynamics", True)
        return
    add(force, "activation_time_constant", dynamics.activation_time)
    add(force, "deactivation_time_constant", dynamics.deactivation_time)
    if dynamics.form == "smooth":
        add(force, "activation_dynamics_smoothing", dynamics.smoothing)


def _check(force: Element, muscle: Muscle) -> None:
    """ModelError unless what is read from the element is what was to be written."""
    again = etree.fromstring(etree.tostring(force))
    pairs = {
        "": (muscle.law, read_law(again, UnsupportedElements())),
        "activation_dynamics.": (muscle.activation_dynamics, read_activation_dynamics(again)),
    }
    wrong = [prefix + name for prefix, (ours, theirs) in pairs.items() for name in _unlike(ours, theirs)]
    if wrong:
        raise ModelError(
            f"OpenSim's {force.tag} cannot have this {', '.join(wrong)}", element=f"muscle {muscle.name!r}"
        )


def _unlike(ours: Any, theirs: Any) -> list[str]:
    """Names of the fields in which two records differ."""
    if type(ours) is not type(theirs):
        return ["type"]
    if not is_dataclass(ours):
        return []
    return [f.name for f in fields(ours) if not _like(getattr(ours, f.name), getattr(theirs, f.name))]


def _like(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= READ_BACK_TOLERANCE * max(abs(a), abs(b))
    return bool(a == b)


class WrapObjects:
    """The surfaces of all muscles as wrap objects: one for equal ones, each with a name of its own."""

    def __init__(self, muscles: Sequence[Muscle]) -> None:
        self._names: dict[Wrap, str] = {}
        for muscle in muscles:
            for wrap in () if is_hinted(muscle) else muscle.wraps:
                self._name(wrap.surface, muscle.name)

    def _name(self, wrap: Wrap, muscle: str) -> None:
        if wrap in self._names:
            return
        element = f"muscle {muscle!r}"
        if not is_known(wrap):
            raise ModelError(f"OpenSim has no surface like a {wrap.kind}", element=element)
        if isinstance(wrap, WrapCylinder) and not np.isfinite(wrap.length):
            raise ModelError(f"OpenSim's cylinders have a length; {wrap.name or 'one'} has none", element=element)
        base = checked_name(wrap.name or f"{muscle}_{wrap.kind}", element)
        taken = set(self._names.values())
        others = (f"{base}_{k}" for k in range(2, len(taken) + 3))
        self._names[wrap] = base if base not in taken else next(name for name in others if name not in taken)

    def of(self, wrap: Wrap) -> str:
        """The name of a surface's wrap object."""
        return self._names[wrap.surface]

    def add(self, parent: Element, body: str) -> None:
        """The <WrapObjectSet> of a body, if it has any."""
        found = [(wrap, name) for wrap, name in self._names.items() if wrap.body == body]
        if not found:
            return
        holder = add_set(parent, "WrapObjectSet")
        for wrap, name in found:
            element = add(holder, type(wrap).__name__, name=name)
            add(element, "active", True)
            add(element, "xyz_body_rotation", body_fixed(wrap.orientation))
            add(element, "translation", wrap.position)
            add(element, "quadrant", wrap.quadrant if wrap.quadrant[0] != "+" else wrap.quadrant[1:])
            add_sizes(element, wrap)


def with_valid_path_wraps(model: Model) -> Model:
    """The model with `path_wraps` of those muscles only whose surfaces become the same again when they are read."""
    stated = replace(model, muscles=tuple(map(in_stated_order, model.muscles)))
    read = with_wrap_ranges(stated).muscles
    pairs = zip(model.muscles, read, strict=True)
    return replace(model, muscles=tuple(a if a.wraps == b.wraps else replace(a, path_wraps=()) for a, b in pairs))


class Paths:
    """What a path needs to be written: the paths of coordinates in the model, their ranges, the wrap objects and the
    obstacles."""

    def __init__(
        self,
        coordinate_paths: dict[str, str],
        coordinates: dict[str, Coordinate],
        wraps: WrapObjects,
        obstacles: Obstacles,
    ) -> None:
        self._coordinate_paths = coordinate_paths
        self._coordinates = coordinates
        self._wraps = wraps
        self._obstacles = obstacles

    def add(self, parent: Element, muscle: Muscle) -> None:
        """The path of a muscle; ModelError for a point or a surface that OpenSim cannot have."""
        element, end = f"muscle {muscle.name!r}", muscle.path[-1]
        if isinstance(end, LengthPoint) and muscle.path == function_path(end.coordinates, end.length, end.body):
            add_functional(parent, end, [self._place(name, element) for name in end.coordinates])
            return
        if isinstance(end, FittedPoint) and muscle.path == fitted_path(end.length, end.fitted, end.body):
            self._add_fitted(parent, end.length, element)
            return
        if isinstance(end, FittedPoint):
            message = "OpenSim has no fitted paths with straight pieces or terms of surfaces"
            raise ModelError(f"{message}; fit with FitSettings(polynomials=True)", element=element)
        if muscle.pulleys:
            raise ModelError("OpenSim has no paths over pulleys", element=element)
        if is_hinted(muscle):
            self._obstacles.add_path(parent, muscle)
            return
        path = add(parent, "GeometryPath", name="path")
        points = add_set(path, "PathPointSet")
        for k, point in enumerate(muscle.path, start=1):
            self._add_point(points, point, f"{muscle.name}-P{k}", element)
        if muscle.wraps:
            self._add_wraps(add_set(path, "PathWrapSet"), muscle)

    def _add_wraps(self, parent: Element, muscle: Muscle) -> None:
        """The surfaces in the order and with the ranges of `path_wraps`; without these, those of the model, and names
        that say so."""
        resolved = tuple(PathWrap(k, wrap.points) for k, wrap in enumerate(muscle.wraps))
        mark = "" if muscle.path_wraps else RESOLVED
        for k, stated in enumerate(muscle.path_wraps or resolved, start=1):
            entry = add(parent, "PathWrap", name=f"{muscle.name}_wrap{k}{mark}")
            add(entry, "wrap_object", self._wraps.of(muscle.wraps[stated.wrap]))
            add(entry, "method", stated.method)
            span = (-1, -1) if stated.points is None else (stated.points[0] + 1, stated.points[1] + 1)
            add(entry, "range", " ".join(map(str, span)))

    def _add_fitted(self, parent: Element, length: PoseFunction, element: str) -> None:
        """A fitted path of scalar coordinates, without the set of its poses. Joints with quaternions are written as
        angles, so that a path of quaternions has been rejected before."""
        names = length.variables.coordinates
        path = function_path(names, length.polynomial())[-1]
        add_functional(parent, path, [self._place(name, element) for name in names])

    def _add_point(self, parent: Element, point: PathPoint, name: str, element: str) -> None:
        if type(point) not in POINT_TAGS:
            raise ModelError(f"OpenSim has no point like a {type(point).__name__}", element=element)
        entry = add(parent, POINT_TAGS[type(point)], name=name)
        add(entry, "socket_parent_frame", path_of(point.body))
        if isinstance(point, MovingPoint):
            self._add_motion(entry, point, element)
            return
        add(entry, "location", point.position)
        if isinstance(point, ConditionalPoint):
            add(entry, "socket_coordinate", self._place(point.coordinate, element))
            add(entry, "range", point.range)

    def _add_motion(self, entry: Element, point: MovingPoint, element: str) -> None:
        if any(point.position):
            raise ModelError(
                f"OpenSim's moving points have no position beside their functions, this one has {point.position}",
                element=element,
            )
        driving = {  # a constant component has a coordinate in OpenSim too, the same one
            name: point.ranges[k] if point.ranges else None
            for k, name in enumerate(point.coordinates)
            if name and not isinstance(point.functions[k], Constant)
        }
        if len(driving) > 1:
            raise ModelError(
                f"one coordinate moves a point in OpenSim, not {' and '.join(map(repr, driving))}", element=element
            )
        for name, limits in driving.items():
            self._check_range(name, limits, element)
        (name,) = driving or (next(iter(self._coordinate_paths), ""),)
        for k, axis in enumerate("xyz"):
            add(entry, f"socket_{axis}_coordinate", self._place(name, element))
            add_function(add(entry, f"{axis}_location"), point.functions[k], element)

    def _check_range(self, name: str, given: tuple[float, float] | None, element: str) -> None:
        known = self._coordinates.get(name)
        wanted = DEFAULT_RANGE if known is None or known.range is None else known.range
        if given is None or tuple(given) != tuple(wanted):
            raise ModelError(
                f"a moving point stops at the ends of its coordinate's range in OpenSim: that of {name!r} is "
                f"{tuple(wanted)}, not {given}",
                element=element,
            )

    def _place(self, coordinate: str, element: str) -> str:
        if coordinate not in self._coordinate_paths:
            raise ModelError(f"coordinate {coordinate!r} has no place in an .osim file", element=element)
        return self._coordinate_paths[coordinate]


POINT_TAGS: dict[type[PathPoint], str] = {
    PathPoint: "PathPoint",
    ConditionalPoint: "ConditionalPathPoint",
    MovingPoint: "MovingPathPoint",
}
