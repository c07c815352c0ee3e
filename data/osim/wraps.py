"""Surfaces that paths wrap around: from a file's wrap objects and the paths that name them."""

import functools
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from myoquat.data.reports import UnsupportedElements
from myoquat.data.xml import (
    Element,
    add,
    add_set,
    body_fixed,
    boolean,
    checked_name,
    complain,
    last_name,
    numbers,
    objects,
    text,
    triple,
)
from myoquat.joints import ModelError, quaternion_from_matrix, rotation_matrix_from_euler
from myoquat.muscle import Muscle, PathPoint, Wrap, wrapping
from myoquat.muscle.forces import ContactEllipsoid, ContactSphere, ContactSurface

from .elements import GROUND, ON_PARENT, THREE, ZERO, Format, Frame, Frames, Part, by_tag, format_of, frame_of, same
from .forces import ORIENTATION, PLACE, SURFACES, Contacts

# ---- The surfaces of OpenSim's wrap objects and obstacles, read and written by tables -----------------------------


def _add_placed(entry: Element, wrap: Wrap) -> None:
    add(entry, "active", True)
    add(entry, "xyz_body_rotation", body_fixed(wrap.orientation))
    add(entry, "translation", wrap.position)
    add(entry, "quadrant", wrap.quadrant.removeprefix("+"))


PLACED = Part(lambda _, place: place, _add_placed)


@functools.cache  # classes of surfaces are imported with the first one
def _objects() -> dict[str, Format]:
    """OpenSim's wrap objects, read with their body, position and orientation."""
    return by_tag(
        Format("WrapSphere", wrapping.WrapSphere, same(radius=0.05), PLACED),
        Format("WrapCylinder", wrapping.WrapCylinder, same(radius=1.0, length=1.0), PLACED),
        Format("WrapEllipsoid", wrapping.WrapEllipsoid, {"radii": ("dimensions", (0.05,) * 3)}, PLACED),
        Format(
            "WrapTorus",
            wrapping.WrapTorus,
            {"ring_radius": ("outer_radius", 0.05), "tube_radius": ("inner_radius", 0.01)},
            PLACED,
        ),
    )


@functools.cache
def _obstacles() -> dict[str, Format]:
    """Contact geometry that a Scholz2015GeometryPath may go around, read from the contact geometry of a model."""
    radius, place = same("radius"), (PLACE, ORIENTATION)
    return by_tag(
        Format("ContactSphere", wrapping.WrapSphere, radius, *place),
        Format("ContactCylinder", wrapping.WrapCylinder, radius, *place),
        Format("ContactEllipsoid", wrapping.WrapEllipsoid, same(radii=THREE), *place),
        Format(
            "ContactTorus",
            wrapping.WrapTorus,
            {"ring_radius": "torus_radius", "tube_radius": "tube_radius"},
            *place,
        ),
    )


WrapsAround = Callable[[Any, int], tuple[Wrap, ...]]  # of a <GeometryPath> with so many points


def wraps_of(model: Any, frames: Frames, unsupported: UnsupportedElements) -> WrapsAround:
    """What wraps around the paths of a model, in the file's order: the wrap objects of the ground, of bodies and of
    frames on them. What is not supported is noted. ModelError for a name that no object has, or several."""
    found: dict[str, list[tuple[Any, Frame]]] = defaultdict(list)  # objects, and the frames that they are in
    for element in model.iterfind(".//WrapObjectSet/objects/*"):
        holder = element.getparent().getparent().getparent()
        body = GROUND if holder.tag == "Ground" else str(holder.get("name"))
        on_body = holder.tag in ("Ground", "Body")
        frame = frame_of(body) if on_body else frames.placed(holder)
        found[str(element.get("name"))].append((element, frame))
    named = {(element.text or "").strip() for element in model.iter("wrap_object")} & found.keys()
    angles = [numbers(found[name][0][0], "xyz_body_rotation", 3, ZERO) for name in named]
    R = np.array([found[name][0][1].R for name in named]).reshape(-1, 3, 3)
    Q = quaternion_from_matrix(R @ rotation_matrix_from_euler(np.reshape(angles, (-1, 3)), "XYZ"))
    orientations = dict(zip(named, Q, strict=True))  # all at once, which is faster
    surfaces: dict[str, Wrap] = {}

    def wrap_of(path_wrap: Any, count: int) -> Wrap | None:
        name = text(path_wrap, "wrap_object")
        if name not in found:
            complain(path_wrap, f"<wrap_object> names {name!r}, which is no wrap object of the model")
        (element, frame), *others = found[name]
        if others:
            bodies = ", ".join(frame.body for _, frame in found[name])
            complain(path_wrap, f"<wrap_object> {name!r} may be that of any of the bodies {bodies}")
        if not boolean(element, "active", True):
            return None
        if element.tag not in _objects():
            unsupported.count(path_wrap, f"wrapping around a {element.tag}")
            return None
        if name not in surfaces:
            position = frame.point(numbers(element, "translation", 3, ZERO))
            place = {"body": frame.body, "position": position, "orientation": orientations[name]}
            surfaces[name] = _objects()[element.tag].read(element, place)
        given = text(element, "quadrant", "all").lower()
        quadrant = given if given == "all" or given[0] in "+-" else f"+{given}"
        if quadrant not in ("all", *surfaces[name].quadrants):
            if given != "unassigned":  # OpenSim's word for one that is not stated
                unsupported.count(element, f"quadrant {given!r}; read as all")
            quadrant = "all"
        # the range of points, which a file counts from 1 and opens with -1; None for the whole path
        first, last = (int(x) for x in numbers(path_wrap, "range", 2, (-1.0, -1.0)))
        start, end = max(first - 1, 0), count - 1 if last < 1 else min(last, count) - 1
        if not start < end:
            complain(path_wrap, f"<range> {first} {last} leaves no piece of a path of {count} points")
        points, method = (start, end), text(path_wrap, "method", "hybrid")
        points_or_all = None if points == (0, count - 1) else points
        return replace(surfaces[name], quadrant=quadrant, points=points_or_all, method=method)

    def around(path: Any, count: int) -> tuple[Wrap, ...]:
        wraps = (wrap_of(element, count) for element in objects(path, "PathWrapSet"))
        return tuple(wrap for wrap in wraps if wrap is not None)

    return around


# --------------------------------------------------------------------------------------------------------------
#
# <Scholz2015GeometryPath>: points, and between them obstacles in the order in which the path meets them.


TAG = "Scholz2015GeometryPath"
POINT, OBSTACLE = "Scholz2015GeometryPathPoint", "Scholz2015GeometryPathObstacle"


def read_obstacles(
    path: Any, frames: Contacts, unsupported: UnsupportedElements
) -> tuple[tuple[PathPoint, ...], tuple[Wrap, ...]]:
    """Points and obstacles of a path, each obstacle on the piece between the points beside it; what is not supported is
    noted. ModelError for a path that does not begin and end with a point."""
    found = path.findall("path_elements/*")
    if len(found) < 2 or {found[0].tag, found[-1].tag} != {POINT}:
        complain(path, f"the <path_elements> must begin and end with a <{POINT}>")
    points: list[PathPoint] = []
    around: list[tuple[Wrap, int]] = []  # with the number of points before it
    for element in found:
        if element.tag == OBSTACLE:
            wrap = _wrap(element, frames, unsupported)
            around += [] if wrap is None else [(wrap, len(points))]
        elif element.tag != POINT:
            complain(element, f"<{element.tag}> is no known element of a path")
        elif (point := element.find("PathPoint")) is None:
            complain(element, f"<{POINT}> needs a <PathPoint>")
        else:
            points.append(PathPoint(**ON_PARENT.read(point, frames)))
    whole = len(points) == 2
    return tuple(points), tuple(wrap if whole else replace(wrap, points=(k - 1, k)) for wrap, k in around)


def _wrap(element: Any, contacts: Contacts, unsupported: UnsupportedElements) -> Wrap | None:
    """An obstacle as a surface on the whole path, None for one that is not supported."""
    geometry = contacts.geometry(element, last_name(text(element, "socket_contact_geometry")))
    if geometry.tag not in _obstacles():
        unsupported.count(element, f"a path around a {geometry.tag}")
        return None
    wrap: Wrap = _obstacles()[geometry.tag].read(geometry, contacts)
    hint = triple(element, "contact_hint", ZERO)
    if wrap.ring and np.hypot(hint[0], hint[1]) > wrap.sizes()["ring_radius"]:
        unsupported.count(element, "a path past the outside of a torus")
        return None
    if not wrap.tells_side(hint):
        unsupported.count(element, "a hint in the middle of the obstacle; read as the shorter way round")
        return wrap
    return replace(wrap, hint=hint)


# ---- Surfaces of paths, written ------------------------------------------------------------------------------------


def is_hinted(muscle: Muscle) -> bool:
    """Whether a path is one over obstacles; ModelError where it is so in part."""
    hinted = [wrap.hint is not None for wrap in muscle.path.wraps]
    if any(hinted) and not all(hinted):
        raise ModelError(
            "OpenSim has no path around surfaces with a hint and others", element=f"muscle {muscle.name!r}"
        )
    return any(hinted)


class WrittenWraps:
    """The surfaces of all muscles in the element of a model, equal ones once, each with a name of its own. They are
    wrap objects of bodies. Those with a hint are contact geometry, unless they equal a surface of a contact force."""

    def __init__(self, model: Element, surfaces: Mapping[str, ContactSurface]) -> None:
        self._model, self._surfaces = model, surfaces
        self._names: tuple[dict[Wrap, str], dict[Wrap, str]] = {}, {}  # of wrap objects, and of obstacles
        for surface in surfaces.values():
            holder = add_set(model, "ContactGeometrySet")
            SURFACES[type(surface).__name__].write(holder, surface, f"surface {surface.name!r}")

    def name(self, wrap: Wrap, muscle: str) -> str:
        """The name of a surface, which is written when the first path names it."""
        hinted, wrap = wrap.hint is not None, replace(wrap.surface, hint=None)
        names, table = self._names[hinted], _obstacles() if hinted else _objects()
        if wrap in names:
            return names[wrap]
        format_, long = format_of(table, wrap), wrap.shape == "cylinder"
        ends = long and np.isfinite(wrap.numbers()[1])
        if wrap.rule != "shortest" or format_ is None:
            raise ModelError(f"OpenSim has no surface like a {wrap.kind} with the rule {wrap.rule!r}")
        if hinted and ends:
            raise ModelError(f"OpenSim's obstacles are cylinders without ends; {wrap.name or 'one'} has them")
        if long and not hinted and not ends:
            raise ModelError(f"OpenSim's cylinders have a length; {wrap.name or 'one'} has none")
        base = checked_name(wrap.name or f"{muscle}_{wrap.kind}", f"muscle {muscle!r}")
        if hinted and _is_same(wrap, self._surfaces.get(base)):
            names[wrap] = base
            return base
        taken = {*names.values(), *(self._surfaces if hinted else ())}
        numbered = (f"{base}_{k}" for k in range(2, len(taken) + 3))
        names[wrap] = next(name for name in (base, *numbered) if name not in taken)
        bodies = (self._model.find("Ground"), *self._model.iterfind("BodySet/objects/Body"))
        named = (body for body in bodies if body is not None and body.get("name") == wrap.body)
        holder = self._model if hinted else next(named)
        format_.write(add_set(holder, "ContactGeometrySet" if hinted else "WrapObjectSet"), wrap, name=names[wrap])
        return names[wrap]

    def add_set(self, path: Element, muscle: Muscle) -> None:
        """The <PathWrapSet> of a path, if it has surfaces: in their order, with their ranges and methods."""
        holder = add_set(path, "PathWrapSet") if muscle.path.wraps else path
        for k, wrap in enumerate(muscle.path.wraps, start=1):
            entry = add(holder, "PathWrap", name=f"{muscle.name}_wrap{k}")
            add(entry, "wrap_object", self.name(wrap, muscle.name))
            add(entry, "method", wrap.method)
            span = (-1, -1) if wrap.points is None else (wrap.points[0] + 1, wrap.points[1] + 1)
            add(entry, "range", " ".join(map(str, span)))

    def add_path(self, parent: Element, muscle: Muscle) -> None:
        """A path over obstacles; ModelError for points and pieces that OpenSim's cannot have."""
        path = muscle.path
        whole = (0, len(path.points) - 1)
        if any(type(point) is not PathPoint for point in path.points):
            raise ModelError("all points of OpenSim's path over obstacles are fixed to bodies")
        if any(np.diff(wrap.points or whole) != 1 for wrap in path.wraps):
            raise ModelError("in OpenSim an obstacle with a hint acts between two points of a path")
        elements = add(add(parent, TAG, name="path"), "path_elements")
        for k, point in enumerate(path.points):
            entry = add(add(elements, POINT, name=f"path_point_{k}"), "PathPoint", name="pathpoint")
            ON_PARENT.write(entry, point)
            for i, wrap in enumerate(path.wraps):
                if (wrap.points or whole)[0] == k:
                    obstacle = add(elements, OBSTACLE, name=f"obstacle_{i}")
                    add(obstacle, "socket_contact_geometry", f"/contactgeometryset/{self.name(wrap, muscle.name)}")
                    add(obstacle, "contact_hint", wrap.hint)


def _is_same(wrap: Wrap, surface: ContactSurface | None) -> bool:
    """Whether an obstacle is the surface of a contact force."""
    own = wrap.shape, wrap.body, wrap.position, wrap.orientation, *wrap.sizes().values()
    if isinstance(surface, ContactSphere):
        return own == ("sphere", surface.body, surface.position, (1.0, 0.0, 0.0, 0.0), surface.radius)
    if isinstance(surface, ContactEllipsoid):
        return own == ("ellipsoid", surface.body, surface.position, surface.orientation, *surface.radii)
    return False
