"""What paths and markers need on a body: sites, and the surfaces that tendons wrap around."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from myoquat.data.mjcf.elements import add
from myoquat.data.reports import UnwrittenParts
from myoquat.data.xml import Element
from myoquat.muscle.actuators import PointActuator, TorqueActuator
from myoquat.muscle.coordinates import Marker
from myoquat.muscle.path import Muscle
from myoquat.muscle.points import PathPoint
from myoquat.muscle.wrapping import (
    HalfPlaneCylinder,
    HalfPlaneSphere,
    InsideCylinder,
    InsideSphere,
    Wrap,
    WrapCylinder,
    WrapSphere,
)

__all__ = ["Sites", "why_no_tendon"]

SITE_RADIUS_M = 0.005  # [m] radius in pictures
ENDLESS_HALF_LENGTH_M = 1.0  # [m] half the length in pictures of a cylinder without ends
SIDE_SITE_RADII = 3.0  # radii from the axis at which the site lies that tells a tendon its side


def why_no_tendon(muscle: Muscle) -> str | None:
    """Why MuJoCo has no tendon through the points of this path; None if it has."""
    if any(type(point) is not PathPoint for point in muscle.path):
        return "on moving or conditional points"
    if any(not isinstance(wrap, (WrapSphere, WrapCylinder)) for wrap in muscle.wraps):
        return "around ellipsoids or tori"
    pieces = range(1, len(muscle.path))
    if any(sum(wrap.acts(end) for wrap in muscle.wraps) > 1 for end in pieces):
        return "around several surfaces at once"
    return None


class Sites:
    """Sites and surfaces by body, named after their muscles and markers."""

    def __init__(self, muscles: Sequence[Muscle], markers: Sequence[Marker], unwritten: UnwrittenParts) -> None:
        self._bodies: dict[str, list[tuple[str, dict[str, Any]]]] = {}
        self._surfaces: dict[Wrap, str] = {}
        self._sides: dict[Wrap, str] = {}
        for muscle in muscles:
            for k, point in enumerate(muscle.path):
                self._put(point.body, "site", name=self.of(muscle, k), pos=point.position, size=SITE_RADIUS_M)
            for k, wrap in enumerate(muscle.wraps, start=1):
                self._add_surface(wrap.surface, f"{muscle.name}-W{k}", unwritten)
        self._named = {(marker.body, tuple(marker.position)): marker.name for marker in markers}
        for marker in markers:
            self._put(marker.body, "site", name=marker.name, pos=marker.position, size=SITE_RADIUS_M)

    def of_actuator(self, actuator: PointActuator | TorqueActuator) -> str:
        """The site at which an actuator acts: that of a marker, or one of its own, which `add` then writes."""
        point = isinstance(actuator, PointActuator)
        body, place = (actuator.body, actuator.point) if point else (actuator.first, (0.0, 0.0, 0.0))  # type: ignore[union-attr]
        key = body, tuple(place)
        if key not in self._named:
            self._named[key] = f"{actuator.name}-site"
            self._put(body, "site", name=self._named[key], pos=place, size=SITE_RADIUS_M)
        return self._named[key]

    def of(self, muscle: Muscle, k: int) -> str:
        """The site of point k of a path."""
        return f"{muscle.name}-P{k + 1}"

    def surface(self, wrap: Wrap) -> tuple[str, str | None]:
        """The geom of a surface, and the site that tells the side."""
        return self._surfaces[wrap.surface], self._sides.get(wrap.surface)

    def on(self, body: str) -> bool:
        """Whether a body has any."""
        return body in self._bodies

    def add(self, parent: Element, body: str) -> None:
        """What a body has."""
        for tag, attributes in self._bodies.get(body, ()):
            add(parent, tag, **attributes)

    def _put(self, body: str, tag: str, **attributes: Any) -> None:
        self._bodies.setdefault(body, []).append((tag, attributes))

    def _add_surface(self, wrap: Any, name: str, unwritten: UnwrittenParts) -> None:
        if wrap in self._surfaces:
            return
        self._surfaces[wrap] = name
        sizes: tuple[float, ...] = (wrap.radius,)
        if isinstance(wrap, WrapCylinder):
            sizes += (wrap.length / 2 if np.isfinite(wrap.length) else ENDLESS_HALF_LENGTH_M,)
            if np.isfinite(wrap.length):
                unwritten.count("ends of wrapping cylinders, which have none in MuJoCo", wrap.name or name)
        if type(wrap) is WrapCylinder and wrap.quadrant != "all":
            rule = "sides of cylinders by the rule of WrapCylinder, where MuJoCo has that of SideCylinder"
            unwritten.count(rule, wrap.name or name)
        elif isinstance(wrap, (HalfPlaneSphere, HalfPlaneCylinder)) and wrap.quadrant != "all":
            unwritten.count("sides of surfaces by the rule of MuJoCo 3", wrap.name or name)
        geom_type = "cylinder" if isinstance(wrap, WrapCylinder) else "sphere"
        self._put(wrap.body, "geom", name=name, type=geom_type, size=sizes, pos=wrap.position, quat=wrap.orientation,
                  contype="0", conaffinity="0", mass="0", group="3")  # fmt: skip
        side = np.zeros(3) if isinstance(wrap, (InsideSphere, InsideCylinder)) else wrap.ahead
        if wrap.hint is not None:
            unwritten.count("hints of wrapping surfaces, written as sides", wrap.name or name)
            side = np.array(wrap.hint) * ([1.0, 1.0, 0.0] if isinstance(wrap, WrapCylinder) else 1.0)
            side = side / np.linalg.norm(side)
        if side is not None:
            self._sides[wrap] = f"{name}-side"
            place = np.array(wrap.in_body(SIDE_SITE_RADII * wrap.radius * side), dtype=float)
            self._put(wrap.body, "site", name=self._sides[wrap], pos=tuple(place), size=SITE_RADIUS_M)
