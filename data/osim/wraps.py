"""Surfaces that paths wrap around: from a file's wrap objects and the paths that name them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from myoquat.core.records import dataclass, unchecked
from myoquat.data.osim.forces import Contacts, add_surfaces
from myoquat.data.osim.frames import GROUND, ZERO, Frame, Frames, path_of
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
from myoquat.joints.errors import ModelError
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.quaternion import quaternion_from_matrix, rotation_matrix
from myoquat.joints.sequences import rotation_matrix_from_euler
from myoquat.joints.vectors import matvec, vecmat
from myoquat.muscle import wrapping
from myoquat.muscle.coordinates import follow
from myoquat.muscle.forces import ContactEllipsoid, ContactSphere, ContactSurface
from myoquat.muscle.model import Model
from myoquat.muscle.path import Muscle, MusclePath, PathWrap
from myoquat.muscle.points import PathPoint
from myoquat.muscle.wrapping import Wrap

__all__ = [
    "OBSTACLE",
    "TAG",
    "Surfaces",
    "WrittenWraps",
    "add_path_wraps",
    "is_hinted",
    "is_resolved",
    "read_obstacles",
    "with_valid_path_wraps",
    "with_wrap_ranges",
]


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


AT_ONCE = 1000  # pieces of paths
SAMPLED_POSES = 64  # at which contact of the pieces of a path with a surface is tested
RESOLVED = "_resolved"  # ends the names of all <PathWrap>s of a path whose ranges and order are those of the model


@dataclass(frozen=True)
class Surfaces:
    """The wrap objects of a model by name: (element, frame that it is in) of all that have it."""

    elements: dict[str, list[tuple[Any, Frame]]]
    orientations: dict[str, tuple[float, ...]]  # of those that paths name
    shapes: dict[str, dict[str, Any]] = field(default_factory=dict)  # by name: what paths around one object share

    @classmethod
    def of(cls, model: Any, frames: Frames) -> "Surfaces":
        """Those of the ground, of all bodies, and of frames on them."""
        found: dict[str, list[tuple[Any, Frame]]] = {}
        bodies = [(model.find("Ground"), GROUND)]
        bodies += [(body, str(body.get("name"))) for body in model.findall("BodySet/objects/Body")]
        holders = [(holder, Frame(body, np.eye(3), np.zeros(3))) for holder, body in bodies]
        holders += [(e, frames.placed(e)) for e in frames.offsets if objects(e, "WrapObjectSet")]
        for holder, frame in holders:
            for element in objects(holder, "WrapObjectSet"):
                found.setdefault(str(element.get("name")), []).append((element, frame))
        named = {text(element, "wrap_object") for element in model.iter("PathWrap")} & found.keys()
        angles = [numbers(found[name][0][0], "xyz_body_rotation", 3, ZERO) for name in named]
        R = np.array([found[name][0][1].R for name in named]).reshape(-1, 3, 3)
        Q = quaternion_from_matrix(R @ rotation_matrix_from_euler(np.array(angles).reshape(-1, 3), "XYZ"))
        return cls(found, dict(zip(named, map(tuple, Q.tolist()), strict=True)))

    def along(
        self, path: Any, count: int, unsupported: UnsupportedElements
    ) -> tuple[tuple[Wrap, ...], tuple[PathWrap, ...]]:
        """What a <GeometryPath> of `count` points wraps around, in the file's order, and how the file states it; what
        is not supported is noted."""
        elements = [(self._wrap(element, count, unsupported), element) for element in objects(path, "PathWrapSet")]
        read = [(wrap, text(element, "method", "hybrid")) for wrap, element in elements if wrap is not None]
        stated = () if is_resolved(path) else read
        return (
            tuple(wrap for wrap, _ in read),
            tuple(PathWrap(k, wrap.points, method) for k, (wrap, method) in enumerate(stated)),
        )

    def _wrap(self, path_wrap: Any, count: int, unsupported: UnsupportedElements) -> Wrap | None:
        name = text(path_wrap, "wrap_object")
        if name not in self.elements:
            complain(path_wrap, f"<wrap_object> names {name!r}, which is no wrap object of the model")
        if len(self.elements[name]) > 1:
            bodies = ", ".join(frame.body for _, frame in self.elements[name])
            complain(path_wrap, f"<wrap_object> {name!r} may be that of any of the bodies {bodies}")
        element, frame = self.elements[name][0]
        if not boolean(element, "active", True):
            return None
        if element.tag not in SURFACES:
            unsupported.count(path_wrap, f"wrapping around a {element.tag}")
            return None
        surface: type[Wrap] = getattr(wrapping, SURFACES[element.tag][0])  # imported with the first one
        if name not in self.shapes:
            self.shapes[name] = {
                "body": frame.body,
                "position": frame.point(numbers(element, "translation", 3, ZERO)),
                "orientation": self.orientations[name],
                "name": name,
                **read_sizes(element),
            }
        quadrant = self._quadrant(element, surface, unsupported)
        return surface(quadrant=quadrant, points=_points(path_wrap, count), **self.shapes[name])

    def _quadrant(self, element: Any, surface: type[Wrap], unsupported: UnsupportedElements) -> str:
        given = text(element, "quadrant", "all").lower()
        given = "all" if given == "unassigned" else given  # OpenSim's word for one that is not stated
        quadrant = given if given == "all" or given[0] in "+-" else f"+{given}"
        if quadrant not in ("all", *surface.quadrants):
            unsupported.count(element, f"quadrant {given!r}; read as all")
            return "all"
        return quadrant


def _points(path_wrap: Any, count: int) -> tuple[int, int] | None:
    """The range of points, which a file counts from 1 and opens with -1; None for the whole path."""
    given = numbers(path_wrap, "range", 2, (-1.0, -1.0))
    first, last = (int(x) for x in given)
    start, end = max(first - 1, 0), count - 1 if last < 1 else min(last, count) - 1
    if not start < end:
        complain(path_wrap, f"<range> {first} {last} leaves no piece of a path of {count} points")
    return None if (start, end) == (0, count - 1) else (start, end)


# ---- which pieces, in which order --------------------------------------------------------------------------


def is_resolved(path: Any) -> bool:
    """Whether the names of a path's <PathWrap>s say that its surfaces act on the stated pieces, in the stated order."""
    names = [str(element.get("name")) for element in objects(path, "PathWrapSet")]
    return bool(names) and all(name.endswith(RESOLVED) for name in names)


def _in_stated_order(path: MusclePath) -> MusclePath:
    """The path with its surfaces as its `path_wraps` state them; the same one where these name other surfaces."""
    if sorted(stated.wrap for stated in path.path_wraps) != list(range(len(path.wraps))):
        return path
    wraps = tuple(replace(path.wraps[stated.wrap], points=stated.points) for stated in path.path_wraps)
    return replace(path, wraps=wraps, path_wraps=_reordered(path.path_wraps, [s.wrap for s in path.path_wraps]))


def _reordered(path_wraps: Sequence[PathWrap], order: Sequence[int]) -> tuple[PathWrap, ...]:
    """The statements about surfaces of which those with the numbers in `order` are put in this order."""
    return tuple(replace(stated, wrap=order.index(stated.wrap)) for stated in path_wraps)


def with_wrap_ranges(model: Model, resolved: Collection[str] = ()) -> Model:
    """The model with each surface on the pieces of its path that can meet it, surfaces in the order of the path.

    A file may let a surface act on a whole path, although only one piece ever comes near. On the others a quadrant
    would pull the path around a surface that lies elsewhere. Contact is tested at the start and at 64 random poses
    within the coordinates' ranges that satisfy the couplers. If the quadrant is "all", a surface acts on every piece in
    contact, else on the piece that is in contact most often. Without any contact it acts on the piece that is nearest
    at the start. A path whose file states these pieces in order is unchanged, as are the muscles in `resolved`, and
    paths around one sphere or one cylinder (`_is_open`).
    """
    opened = [muscle for muscle in model.muscles if _is_open(muscle, resolved)]
    if not opened:
        return model
    pieces = _pieces(model.system, opened, _sampled(model))
    found = {muscle.name: _with_ranges(muscle, pieces) for muscle in opened}
    muscles = tuple(found.get(muscle.name, muscle) for muscle in model.muscles)
    return unchecked(model, {"muscles": muscles})  # nothing that was checked has changed


def _is_open(muscle: Muscle, resolved: Collection[str]) -> bool:
    """Whether the pieces on which its surfaces act are still to be found.

    A sphere or a cylinder that is the only surface of a path acts on all of them, because contact has a formula. A
    cylinder with a quadrant then acts on one pair of points at each pose, as in OpenSim.
    """
    wraps = muscle.path.wraps
    if len(wraps) == 1 and not wraps[0].solved:
        wrap = wraps[0]
        if wrap.quadrant == "all" or wrap.sided:
            return False
    return bool(wraps) and muscle.name not in resolved and all(wrap.hint is None for wrap in wraps)


def _sampled(model: Model) -> np.ndarray:
    """(SAMPLED_POSES + 1, nq): the start, and random poses within the ranges of the independent coordinates."""
    rng, names = np.random.default_rng(0), list(model.system.coordinate_names)
    q = np.tile(model.start, (SAMPLED_POSES + 1, 1))
    driven = {coupler.dependent for coupler in model.couplers}
    for c in model.coordinates:
        free = not c.locked and c.name in names and c.name not in driven
        if free and c.range is not None and np.isfinite(c.range).all():
            q[1:, names.index(c.name)] = rng.uniform(*c.range, SAMPLED_POSES)
    follow(model.couplers, model.system, q[1:])
    return q


class _Piece(NamedTuple):
    """A piece of a path near a surface.

    end              the number of its last point
    contacts         at how many poses it touches
    distance, share  how far it is from the surface's centre or axis at the start, and where on the way along it
    """

    end: int
    contacts: int
    distance: float
    share: float


def _pieces(system: ArticulatedSystem, muscles: Sequence[Muscle], q: np.ndarray) -> dict[tuple[str, int], list[_Piece]]:
    """The pieces on which each surface may act, by the muscle's name and the surface's number; all surfaces of one type
    at once. The start is the first of the poses q (n, nq)."""
    poses = {
        name: (R + np.zeros((len(q), 3, 3)), p + np.zeros((len(q), 3))) for name, (R, p) in system.poses(q).items()
    }
    rows: dict[type[Wrap], list[tuple[tuple[str, int], int, Wrap, np.ndarray]]] = {}
    for muscle in muscles:
        path = [(point.local(system, q), *poses[point.body]) for point in muscle.path.points]
        points = np.stack([p + matvec(R, x) for x, R, p in path])
        for (number, wrap), end in product(enumerate(muscle.path.wraps), range(1, len(points))):
            if wrap.acts(end):
                row = (muscle.name, number), end, wrap, points[end - 1 : end + 1]
                rows.setdefault(type(wrap), []).append(row)
    found: dict[tuple[str, int], list[_Piece]] = {}
    groups = [group[k : k + AT_ONCE] for group in rows.values() for k in range(0, len(group), AT_ONCE)]
    for keys, ends, wraps, lines in (zip(*group, strict=True) for group in groups):
        R, p = (np.stack([poses[wrap.body][k] for wrap in wraps]) for k in (0, 1))
        turn = rotation_matrix(np.array([wrap.orientation for wrap in wraps]))
        place = np.array([wrap.position for wrap in wraps])
        on_bodies = vecmat(np.stack(lines) - p[:, None], R[:, None])  # (pieces, both ends, poses, 3)
        A, B = np.moveaxis(vecmat(on_bodies - place[:, None, None], turn[:, None, None]), 1, 0)
        surface = unchecked(wraps[0], {"quadrant": "all"}).shaped(np.array([wrap.numbers() for wrap in wraps])[:, None])
        contacts = np.sum(surface.meets(A, B), axis=-1)
        for key, *piece in zip(keys, ends, contacts.tolist(), *_nearest(surface, A[:, 0], B[:, 0]), strict=True):
            found.setdefault(key, []).append(_Piece(*piece))
    return found


def _nearest(wrap: Wrap, A: np.ndarray, B: np.ndarray) -> tuple[list[float], list[float]]:
    """The distance from the surface's centre or axis at which lines from A to B (n, 3) pass, and there the share of the
    way."""
    flat = [1.0, 1.0, 0.0] if isinstance(wrap, wrapping.WrapCylinder) else np.ones(3)
    a, d = A * flat, (B - A) * flat
    square = np.sum(d * d, axis=-1)
    share = np.clip(-np.sum(a * d, axis=-1) / np.where(square > 0, square, 1.0), 0, 1)
    return np.linalg.norm(A + share[:, None] * (B - A), axis=-1).tolist(), share.tolist()


def _with_ranges(muscle: Muscle, pieces: Mapping[tuple[str, int], Sequence[_Piece]]) -> Muscle:
    placed: list[tuple[float, tuple[int, int]]] = []  # where along the path a surface is nearest, and on which points
    path = muscle.path
    for number, wrap in enumerate(path.wraps):
        near = pieces[muscle.name, number]
        closest = min(near, key=lambda piece: piece.distance)
        met = [piece for piece in near if piece.contacts] or [closest]
        if wrap.quadrant != "all":
            met = [max(met, key=lambda piece: piece.contacts)]
        placed.append((closest.end - 1 + closest.share, (met[0].end - 1, met[-1].end)))
    whole = (0, len(path.points) - 1)
    spans = [None if span == whole else span for _, span in placed]
    starts = [span[0] for _, span in placed]
    if any(spans) and spans == [wrap.points for wrap in path.wraps] and starts == sorted(starts):
        return muscle  # as it is written: a file that tells the pieces tells the order on them
    order = sorted(range(len(placed)), key=lambda k: placed[k][0])
    wraps = tuple(unchecked(path.wraps[k], {"points": spans[k]}) for k in order)
    changed = unchecked(path, {"wraps": wraps, "path_wraps": _reordered(path.path_wraps, order)})
    return unchecked(muscle, {"path": changed})


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
    points = tuple(_point(element, frames) for element in found if element.tag == POINT)
    wraps, number = [], 0
    for element in found:
        if element.tag not in (POINT, OBSTACLE):
            complain(element, f"<{element.tag}> is no known element of a path")
        if element.tag == POINT:
            number += 1
            continue
        wrap = _wrap(element, frames, unsupported)
        piece = None if len(points) == 2 else (number - 1, number)
        wraps += [] if wrap is None else [replace(wrap, points=piece)]
    return points, tuple(wraps)


def _point(element: Any, frames: Frames) -> PathPoint:
    point = element.find("PathPoint")
    if point is None:
        complain(element, f"<{POINT}> needs a <PathPoint>")
    frame = frames.of(point, "socket_parent_frame")
    return PathPoint(frame.body, frame.point(triple(point, "location", ZERO)))


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
    if isinstance(wrap, wrapping.WrapTorus) and np.hypot(hint[0], hint[1]) > wrap.ring_radius:
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
        label, ends = f"muscle {muscle!r}", isinstance(wrap, wrapping.WrapCylinder) and np.isfinite(wrap.length)
        if not any(getattr(wrapping, surface) is type(wrap) for surface, _ in table.values()):
            raise ModelError(f"OpenSim has no surface like a {wrap.kind}", element=label)
        if table is OBSTACLES and ends:
            raise ModelError(
                f"OpenSim's obstacles are cylinders without ends; {wrap.name or 'one'} has them", element=label
            )
        if table is SURFACES and not ends and isinstance(wrap, wrapping.WrapCylinder):
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
            add(entry, "socket_parent_frame", path_of(point.body))
            add(entry, "location", point.position)
            for i, wrap in enumerate(path.wraps):
                if (wrap.points or whole)[0] == k and wrap.hint is not None:
                    obstacle = add(elements, OBSTACLE, name=f"obstacle_{i}")
                    add(obstacle, "socket_contact_geometry", f"/contactgeometryset/{self.of(wrap)}")
                    add(obstacle, "contact_hint", wrap.hint)


def _bare(wrap: Wrap) -> Wrap:
    return replace(wrap, points=None, hint=None)


def _is_same(wrap: Wrap, surface: ContactSurface | None) -> bool:
    """Whether an obstacle is the surface of a contact force."""
    place = (wrap.body, tuple(wrap.position), tuple(wrap.orientation))
    if isinstance(surface, ContactSphere) and isinstance(wrap, wrapping.WrapSphere):
        return (*place, wrap.radius) == (surface.body, surface.position, (1.0, 0.0, 0.0, 0.0), surface.radius)
    if isinstance(surface, ContactEllipsoid) and isinstance(wrap, wrapping.WrapEllipsoid):
        return (*place, wrap.radii) == (surface.body, surface.position, surface.orientation, surface.radii)
    return False


def with_valid_path_wraps(model: Model) -> Model:
    """The model with `path_wraps` of those muscles only whose surfaces become the same again when they are read."""
    stated = tuple(replace(muscle, path=_in_stated_order(muscle.path)) for muscle in model.muscles)
    read = with_wrap_ranges(replace(model, muscles=stated)).paths
    muscles = (
        muscle if muscle.path.wraps == path.wraps else replace(muscle, path=replace(muscle.path, path_wraps=()))
        for muscle, path in zip(model.muscles, read, strict=True)
    )
    return replace(model, muscles=tuple(muscles))


def add_path_wraps(path: Element, muscle: Muscle, wraps: WrittenWraps) -> None:
    """The surfaces in the order and with the ranges of `path_wraps`; without these, those of the model, and names that
    say so."""
    own, path_wraps = muscle.path.wraps, muscle.path.path_wraps
    resolved = tuple(PathWrap(k, wrap.points) for k, wrap in enumerate(own))
    mark = "" if path_wraps else RESOLVED
    holder = add_set(path, "PathWrapSet") if own else path
    for k, stated in enumerate(path_wraps or resolved, start=1):
        entry = add(holder, "PathWrap", name=f"{muscle.name}_wrap{k}{mark}")
        add(entry, "wrap_object", wraps.of(own[stated.wrap]))
        add(entry, "method", stated.method)
        span = (-1, -1) if stated.points is None else (stated.points[0] + 1, stated.points[1] + 1)
        add(entry, "range", " ".join(map(str, span)))
