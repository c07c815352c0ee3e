"""Surfaces that paths wrap around: from a file's wrap objects and the paths that name them."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
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
    numbers,
    objects,
    text,
    triple,
)
from myoquat.joints import ModelError, quaternion_from_matrix, rotation_matrix_from_euler
from myoquat.muscle import Muscle, PathPoint, Wrap, wrapping
from myoquat.muscle.forces import ContactEllipsoid, ContactSphere, ContactSurface

from .elements import ON_PARENT
from .forces import Contacts, add_surfaces
from .frames import GROUND, ZERO, Frame, Frames, path_of

# ---- The surfaces of OpenSim's wrap objects and obstacles, read and written by tables -----------------------------


# tag: name of the class, {ours: (the file's, how many numbers, OpenSim's default if it has one)}
Table = dict[str, tuple[str, dict[str, tuple[str, int, tuple[float, ...] | None]]]]
SURFACES: Table = {
    "WrapSphere": ("WrapSphere", {"radius": ("radius", 1, (0.05,))}),
    "WrapCylinder": ("WrapCylinder", {"radius": ("radius", 1, (1.0,)), "length": ("length", 1, (1.0,))}),
    "WrapEllipsoid": ("WrapEllipsoid", {"radii": ("dimensions", 3, (0.05, 0.05, 0.05))}),
    "WrapTorus": (
        "WrapTorus",
        {"ring_radius": ("outer_radius", 1, (0.05,)), "tube_radius": ("inner_radius", 1, (0.01,))},
    ),
}
OBSTACLES: Table = {  # contact geometry that a Scholz2015GeometryPath may go around
    "ContactSphere": ("WrapSphere", {"radius": ("radius", 1, None)}),
    "ContactCylinder": ("WrapCylinder", {"radius": ("radius", 1, None)}),
    "ContactEllipsoid": ("WrapEllipsoid", {"radii": ("radii", 3, None)}),
    "ContactTorus": ("WrapTorus", {"ring_radius": ("torus_radius", 1, None), "tube_radius": ("tube_radius", 1, None)}),
}


def read_sizes(element: Element) -> dict[str, Any]:
    """The sizes of a wrap object or an obstacle, as arguments of its class in the table."""
    _, sizes = (SURFACES | OBSTACLES)[element.tag]
    found = {ours: numbers(element, *size) for ours, size in sizes.items()}
    return {ours: values if len(values) > 1 else values[0] for ours, values in found.items()}


def _add_surface(holder: Element, table: Table, wrap: Wrap, name: str, place: dict[str, Any]) -> None:
    """The element of a surface in a table, with children for its place and its sizes."""
    tag, sizes = next((tag, sizes) for tag, (surface, sizes) in table.items() if surface == type(wrap).__name__)
    element = add(holder, tag, name=name)
    for key, value in (place | {theirs: getattr(wrap, ours) for ours, (theirs, *_) in sizes.items()}).items():
        add(element, key, value)


WrapsAround = Callable[[Any, int], tuple[Wrap, ...]]  # of a <GeometryPath> with so many points


def wraps_of(model: Any, frames: Frames, unsupported: UnsupportedElements) -> WrapsAround:
    """What wraps around the paths of a model, in the file's order: the wrap objects of the ground, of bodies and of
    frames on them. What is not supported is noted. ModelError for a name that no object has, or several."""
    found: dict[str, list[tuple[Any, Frame]]] = defaultdict(list)  # objects, and the frames that they are in
    for element in model.iterfind(".//WrapObjectSet/objects/*"):
        holder = element.getparent().getparent().getparent()
        body = GROUND if holder.tag == "Ground" else str(holder.get("name"))
        on_body = holder.tag in ("Ground", "Body")
        frame = Frame(body, np.eye(3), np.zeros(3)) if on_body else frames.placed(holder)
        found[str(element.get("name"))].append((element, frame))
    named = {text(element, "wrap_object") for element in model.iter("PathWrap")} & found.keys()
    angles = [numbers(found[name][0][0], "xyz_body_rotation", 3, ZERO) for name in named]
    R = np.array([found[name][0][1].R for name in named]).reshape(-1, 3, 3)
    Q = quaternion_from_matrix(R @ rotation_matrix_from_euler(np.array(angles).reshape(-1, 3), "XYZ"))
    orientations = dict(zip(named, map(tuple, Q.tolist()), strict=True))
    shared: dict[str, dict[str, Any]] = {}  # what wraps around one object have in common

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
        if element.tag not in SURFACES:
            unsupported.count(path_wrap, f"wrapping around a {element.tag}")
            return None
        surface: type[Wrap] = getattr(wrapping, SURFACES[element.tag][0])  # imported with the first one
        if name not in shared:
            place = {"position": frame.point(numbers(element, "translation", 3, ZERO)), "name": name}
            own = {"body": frame.body, "orientation": orientations[name], **place}
            shared[name] = own | read_sizes(element)
        given = text(element, "quadrant", "all").lower()
        quadrant = given if given == "all" or given[0] in "+-" else f"+{given}"
        if quadrant not in ("all", *surface.quadrants):
            if given != "unassigned":  # OpenSim's word for one that is not stated
                unsupported.count(element, f"quadrant {given!r}; read as all")
            quadrant = "all"
        method = text(path_wrap, "method", "hybrid")
        return surface(quadrant=quadrant, points=_points(path_wrap, count), method=method, **shared[name])

    def around(path: Any, count: int) -> tuple[Wrap, ...]:
        wraps = (wrap_of(element, count) for element in objects(path, "PathWrapSet"))
        return tuple(wrap for wrap in wraps if wrap is not None)

    return around


def _points(path_wrap: Any, count: int) -> tuple[int, int] | None:
    """The range of points, which a file counts from 1 and opens with -1; None for the whole path."""
    given = numbers(path_wrap, "range", 2, (-1.0, -1.0))
    first, last = (int(x) for x in given)
    start, end = max(first - 1, 0), count - 1 if last < 1 else min(last, count) - 1
    if not start < end:
        complain(path_wrap, f"<range> {first} {last} leaves no piece of a path of {count} points")
    return None if (start, end) == (0, count - 1) else (start, end)


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
    geometry, frame = contacts.named_geometry(element, "socket_contact_geometry")
    if geometry.tag not in OBSTACLES:
        unsupported.count(element, f"a path around a {geometry.tag}")
        return None
    wrap: Wrap = getattr(wrapping, OBSTACLES[geometry.tag][0])(
        body=frame.body,
        position=frame.position,
        orientation=frame.orientation,
        name=str(geometry.get("name")),
        **read_sizes(geometry),
    )
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
    """The surfaces of all muscles, equal ones once, each with a name of its own. They are wrap objects of bodies. Those
    with a hint are contact geometry, unless they equal a surface of a contact force."""

    def __init__(self, muscles: Sequence[Muscle], surfaces: Mapping[str, ContactSurface]) -> None:
        self._objects: dict[Wrap, str] = {}
        self._obstacles: dict[Wrap, str] = {}
        self._surfaces = surfaces
        for muscle in muscles:
            table, names, taken = (
                (OBSTACLES, self._obstacles, set(surfaces)) if is_hinted(muscle) else (SURFACES, self._objects, set())
            )
            for wrap in map(_bare, muscle.path.wraps):
                if wrap not in names:
                    names[wrap] = self._name(wrap, muscle.name, table, {*names.values(), *taken})

    def _name(self, wrap: Wrap, muscle: str, table: Table, taken: Collection[str]) -> str:
        label, long = f"muscle {muscle!r}", wrap.shape == "cylinder"
        ends = long and np.isfinite(wrap.numbers()[1])
        if wrap.rule != "shortest" or not any(getattr(wrapping, x) is type(wrap) for x, _ in table.values()):
            raise ModelError(f"OpenSim has no surface like a {wrap.kind} with the rule {wrap.rule!r}", element=label)
        if table is OBSTACLES and ends:
            raise ModelError(
                f"OpenSim's obstacles are cylinders without ends; {wrap.name or 'one'} has them", element=label
            )
        if table is SURFACES and long and not ends:
            raise ModelError(f"OpenSim's cylinders have a length; {wrap.name or 'one'} has none", element=label)
        base = checked_name(wrap.name or f"{muscle}_{wrap.kind}", label)
        if table is OBSTACLES and _is_same(wrap, self._surfaces.get(base)):
            return base
        return next(name for name in (base, *(f"{base}_{k}" for k in range(2, len(taken) + 3))) if name not in taken)

    def of(self, wrap: Wrap) -> str:
        """The name of a surface."""
        return (self._objects if wrap.hint is None else self._obstacles)[_bare(wrap)]

    def add_objects(self, parent: Element, body: str) -> None:
        """The <WrapObjectSet> of a body, if it has any."""
        found = [(wrap, name) for wrap, name in self._objects.items() if wrap.body == body]
        holder = add_set(parent, "WrapObjectSet") if found else parent
        for wrap, name in found:
            place = {
                "active": True,
                "xyz_body_rotation": body_fixed(wrap.orientation),
                "translation": wrap.position,
                "quadrant": wrap.quadrant.removeprefix("+"),
            }
            _add_surface(holder, SURFACES, wrap, name, place)

    def add_geometry(self, parent: Element) -> None:
        """The <ContactGeometrySet>, where there are surfaces of contact forces or obstacles of paths."""
        new = [(wrap, name) for wrap, name in self._obstacles.items() if not _is_same(wrap, self._surfaces.get(name))]
        if not new and not self._surfaces:
            return
        holder = add_set(parent, "ContactGeometrySet")
        for wrap, name in new:
            place = {
                "socket_frame": path_of(wrap.body),
                "location": wrap.position,
                "orientation": body_fixed(wrap.orientation),
            }
            _add_surface(holder, OBSTACLES, wrap, name, place)
        add_surfaces(holder, tuple(self._surfaces.values()))

    def add_path(self, parent: Element, muscle: Muscle) -> None:
        """A path over obstacles; ModelError for points and pieces that OpenSim's cannot have."""
        element, path = f"muscle {muscle.name!r}", muscle.path
        whole = (0, len(path.points) - 1)
        if any(type(point) is not PathPoint for point in path.points):
            raise ModelError("all points of OpenSim's path over obstacles are fixed to bodies", element=element)
        if any(np.diff(wrap.points or whole) != 1 for wrap in path.wraps):
            raise ModelError("in OpenSim an obstacle with a hint acts between two points of a path", element=element)
        elements = add(add(parent, TAG, name="path"), "path_elements")
        for k, point in enumerate(path.points):
            entry = add(add(elements, POINT, name=f"path_point_{k}"), "PathPoint", name="pathpoint")
            ON_PARENT.write(entry, point)
            for i, wrap in enumerate(path.wraps):
                if (wrap.points or whole)[0] == k and wrap.hint is not None:
                    obstacle = add(elements, OBSTACLE, name=f"obstacle_{i}")
                    add(obstacle, "socket_contact_geometry", f"/contactgeometryset/{self.of(wrap)}")
                    add(obstacle, "contact_hint", wrap.hint)


def _bare(wrap: Wrap) -> Wrap:
    return replace(wrap.surface, hint=None)


def _is_same(wrap: Wrap, surface: ContactSurface | None) -> bool:
    """Whether an obstacle is the surface of a contact force."""
    own = wrap.shape, wrap.body, tuple(wrap.position), tuple(wrap.orientation), *wrap.sizes().values()
    if isinstance(surface, ContactSphere):
        return own == ("sphere", surface.body, surface.position, (1.0, 0.0, 0.0, 0.0), surface.radius)
    if isinstance(surface, ContactEllipsoid):
        return own == ("ellipsoid", surface.body, surface.position, surface.orientation, *surface.radii)
    return False


def add_path_wraps(path: Element, muscle: Muscle, wraps: WrittenWraps) -> None:
    """The surfaces in their order, with their ranges and methods."""
    holder = add_set(path, "PathWrapSet") if muscle.path.wraps else path
    for k, wrap in enumerate(muscle.path.wraps, start=1):
        entry = add(holder, "PathWrap", name=f"{muscle.name}_wrap{k}")
        add(entry, "wrap_object", wraps.of(wrap))
        add(entry, "method", wrap.method)
        span = (-1, -1) if wrap.points is None else (wrap.points[0] + 1, wrap.points[1] + 1)
        add(entry, "range", " ".join(map(str, span)))
