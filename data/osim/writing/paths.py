"""Paths: their points, and the surfaces that they wrap around."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from myoquat.data.elements import add, add_set, body_fixed, checked_name
from myoquat.data.osim.functions import add_function
from myoquat.data.osim.reading.functional import add_functional
from myoquat.data.osim.reading.surfaces import add_sizes, is_known
from myoquat.data.osim.reading.wraps import RESOLVED, in_stated_order, with_wrap_ranges
from myoquat.data.osim.tree.joints import DEFAULT_RANGE
from myoquat.data.osim.writing.joints import path_of
from myoquat.data.osim.writing.obstacles import Obstacles, is_hinted
from myoquat.data.xml import Element
from myoquat.joints.errors import ModelError
from myoquat.joints.functions import Constant
from myoquat.muscle.coordinates import Coordinate
from myoquat.muscle.fitted import FittedPoint, PoseFunction, fitted_path
from myoquat.muscle.functional import LengthPoint, function_path
from myoquat.muscle.model import Model
from myoquat.muscle.path import Muscle, PathWrap
from myoquat.muscle.points import ConditionalPoint, MovingPoint, PathPoint
from myoquat.muscle.wrapping import Wrap, WrapCylinder

__all__ = ["Paths", "WrapObjects", "with_valid_path_wraps"]


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
