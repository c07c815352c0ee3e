"""Spatial tendons as muscles: sites as points, spheres and cylinders as surfaces."""

from dataclasses import dataclass, replace

import numpy as np

from myoquat.core.typing import Array
from myoquat.data.mjcf.reading.actuators import Drive
from myoquat.data.mjcf.reading.bodies import Skeleton
from myoquat.data.mjcf.reading.document import Document, elements_of
from myoquat.data.mjcf.reading.geoms import Geom
from myoquat.data.mjcf.reading.values import Values
from myoquat.data.xml import Element, complain
from myoquat.joints.quaternion import quaternion_from_matrix, rotation_matrix
from myoquat.muscle.laws import ForceLaw, PathSpring
from myoquat.muscle.path import Muscle
from myoquat.muscle.points import PathPoint
from myoquat.muscle.wrapping import Wrap, WrapCylinder, WrapSphere

__all__ = ["Used", "read_tendons"]

QUIET = (
    *("class", "group", "user", "width", "rgba", "material", "margin", "solref", "solimp", "solreflimit"),
    *("solimplimit", "solreffriction", "solimpfriction"),
)
ALIGNED = 1e-9  # sine of the angle by which a site may miss an axis of its surface


@dataclass(frozen=True)
class Used:
    """The names of the sites and geoms that tendons run over."""

    sites: frozenset[str]
    geoms: frozenset[str]

    @classmethod
    def of(cls, document: Document) -> "Used":
        """Those of all tendons."""
        parts = [part for element in document.sections("tendon") for part in elements_of(element)]
        sites = frozenset(name for part in parts for key in ("site", "sidesite") if (name := part.get(key)))
        return cls(sites, frozenset(name for part in parts if (name := part.get("geom"))))


def read_tendons(document: Document, skeleton: Skeleton, drives: dict[str, Drive]) -> tuple[Muscle, ...]:
    """All spatial tendons as muscles; others, and what a path or a law of ours cannot hold, are noted."""
    muscles = []
    for number, element in enumerate(document.sections("tendon"), start=1):
        if element.tag != "spatial":
            document.census.count(element, "tendon")
        elif element.find("pulley") is not None:
            document.census.count(element, "a tendon over pulleys")
        else:
            muscles.append(_muscle(element, document, skeleton, drives, f"tendon_{number}"))
    return tuple(muscles)


def _muscle(element: Element, document: Document, skeleton: Skeleton, drives: dict[str, Drive], unnamed: str) -> Muscle:
    values = document.values(element)
    name = values.text("name", unnamed)
    points, wraps = _path(element, document, skeleton)
    drive, law = drives.get(name), _spring(values, document)
    if drive is not None and law is not None:
        document.census.count(element, "a spring beside an actuator")
    if values.limited("limited", "range", document.compiler.limits):
        document.census.count(element, "limits of a length")
    values.text("range", "")
    for key in ("damping", "frictionloss", "armature"):
        if any(values.numbers(key, 1, 3, (0.0,))):
            document.census.count(element, key)
    document.finish(values, *QUIET)
    return Muscle(
        name, points, law if drive is None else drive.law, None if drive is None else drive.activation, wraps=wraps
    )


def _spring(values: Values, document: Document) -> ForceLaw | None:
    """A spring that only pulls, slack up to a length; any other is noted."""
    stiffness, *others = values.numbers("stiffness", 1, 3, (0.0,))
    low, *high = values.numbers("springlength", 1, 2, (-1.0,))
    if any(others):
        document.census.count(values.element, "stiffness of higher order")
    if not stiffness:
        return None
    if not high or low > 0:
        document.census.count(values.element, "a spring that pushes too, or rests where the model starts")
        return None
    return PathSpring(stiffness, high[0])


# ---- paths -------------------------------------------------------------------------------------------------


def _path(element: Element, document: Document, skeleton: Skeleton) -> tuple[tuple[PathPoint, ...], tuple[Wrap, ...]]:
    """The points of a tendon and what it wraps around between them."""
    points: list[PathPoint] = []
    wraps: list[Wrap] = []
    before: int | None = None  # the surface, if any, on the piece that ends in the last point
    pending: Wrap | None = None
    for child in elements_of(element):
        values = Values(child, {})  # these name sites and geoms: default classes do not count
        if child.tag == "site":
            points.append(_site(values, "site", skeleton))
            before = None if pending is None else _wrap_piece(wraps, before, pending, len(points) - 1)
            pending = None
        elif child.tag == "geom":
            if not points or pending is not None:
                complain(child, "a surface lies between two sites")
            pending = _surface(values, document, skeleton)
        else:
            complain(child, f"a tendon runs over sites and geoms, not <{child.tag}>")
        document.finish(values)
    if len(points) < 2:
        complain(element, f"a tendon needs at least two sites, not {len(points)}")
    whole = (0, len(points) - 1)
    return tuple(points), tuple(replace(wrap, points=None) if wrap.points == whole else wrap for wrap in wraps)


def _site(values: Values, key: str, skeleton: Skeleton) -> PathPoint:
    name = values.text(key)
    if name not in skeleton.sites:
        complain(values.element, f"{key} names {name!r}, which is no site of the model")
    return skeleton.sites[name]


def _wrap_piece(wraps: list[Wrap], before: int | None, wrap: Wrap, end: int) -> int:
    """Add a surface on the piece that ends in point `end`, or let that of the piece before (its number, if it has one)
    go on; returns the surface's number."""
    if before is not None and wraps[before].surface == wrap:
        first, _ = wraps[before].points or (end - 2, end - 1)
        wraps[before] = replace(wraps[before], points=(first, end))
        return before
    wraps.append(replace(wrap, points=(end - 1, end)))
    return len(wraps) - 1


def _surface(values: Values, document: Document, skeleton: Skeleton) -> Wrap | None:
    """The surface of a geom, on the side of its side site; None, noted, for one that a path passes inside."""
    name = values.text("geom")
    geom = skeleton.named.get(name)
    if geom is None or geom.kind not in ("sphere", "cylinder"):
        complain(values.element, f"geom names {name!r}, which is no sphere and no cylinder of the model")
    quadrant, Q = "all", geom.place.Q
    if values.has("sidesite"):
        site = _site(values, "sidesite", skeleton)
        if site.body != geom.body:
            document.census.count(values.element, "a side site on another body")
            return None
        side = rotation_matrix(Q).T @ (np.array(site.position) - geom.place.p)
        side = side * ([1.0, 1.0, 0.0] if geom.kind == "cylinder" else 1.0)
        if float(np.linalg.norm(side)) < geom.sizes[0]:
            document.census.count(values.element, "wrapping inside")
            return None
        quadrant, Q = _quadrant(side, Q)
    return _wrap(geom, quadrant, tuple(float(x) for x in Q))


def _wrap(geom: Geom, quadrant: str, orientation: tuple[float, ...]) -> Wrap:
    kind = WrapSphere if geom.kind == "sphere" else WrapCylinder
    return kind(
        body=geom.body,
        position=geom.place.position,
        orientation=orientation,
        quadrant=quadrant,
        radius=geom.sizes[0],
        name=geom.name,
    )


def _quadrant(side: Array, Q: Array) -> tuple[str, Array]:
    """The quadrant for a side (3,) in the surface's frame, and the orientation of that frame; where the side is along
    none of its axes, the frame is turned so that it is along x, about z as far as possible."""
    k = int(np.argmax(np.abs(side)))
    across = np.delete(side, k)
    if float(np.linalg.norm(across)) <= ALIGNED * abs(side[k]):
        return f"{'+' if side[k] > 0 else '-'}{'xyz'[k]}", Q
    x = side / np.linalg.norm(side)
    z = np.array([0.0, 0.0, 1.0]) - x[2] * x
    z = z / np.linalg.norm(z)
    turned = np.stack([x, np.cross(z, x), z], axis=1)
    return "+x", np.asarray(quaternion_from_matrix(np.asarray(rotation_matrix(Q)) @ turned))
