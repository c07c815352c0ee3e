"""Frames: which body a socket names, and where the frame sits on it."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from myoquat.core import frozen
from myoquat.data.xml import Element, add, body_fixed, complain, last_name, numbers, text
from myoquat.joints import quaternion_from_matrix, rotation_matrix, rotation_matrix_from_euler

GROUND = "ground"
ZERO = (0.0, 0.0, 0.0)
STATIONS = ("point_a", "point_b", "point_c", "origin_point")
MAX_FRAME_DEPTH = 64  # frames on frames; more are a circle, or a mistake


@frozen
class Frame:
    """A frame fixed to a body: R (3, 3) and p (3,) [m] place it in the body's frame."""

    body: str
    R: np.ndarray
    p: np.ndarray

    @classmethod
    def of(cls, body: str, position: Any, orientation: Any) -> "Frame":
        """From numbers: position [m] and unit quaternion."""
        return cls(body, rotation_matrix(np.array(orientation)), np.array(position))

    @property
    def is_body(self) -> bool:
        """True if it is the body's own frame."""
        return bool(np.array_equal(self.R, np.eye(3)) and not self.p.any())

    @property
    def orientation(self) -> tuple[float, ...]:
        """Unit quaternion of R."""
        return tuple(float(x) for x in quaternion_from_matrix(self.R))

    @property
    def position(self) -> tuple[float, ...]:
        """p as numbers."""
        return tuple(float(x) for x in self.p)

    @property
    def placing(self) -> dict[str, Any]:
        """The fields of what sits in this frame: its body, and where it is there."""
        return {"body": self.body, "position": self.position, "orientation": self.orientation}

    @property
    def inverse(self) -> "Frame":
        """The body's frame seen from this one."""
        return Frame(self.body, self.R.T, -self.R.T @ self.p)

    def offset(self, element: Any, location: str, orientation: str) -> "Frame":
        """The frame that children of an element place in this one."""
        R = rotation_matrix_from_euler(np.array(numbers(element, orientation, 3, ZERO)), "XYZ")
        return Frame(self.body, self.R @ R, np.array(self.point(numbers(element, location, 3, ZERO))))

    def point(self, x: Any) -> tuple[float, ...]:
        """A point of this frame in the body's frame."""
        return tuple(float(v) for v in (self.p + self.R @ np.array(x)))


class Frames:
    """The frames of a model by their paths: the ground, bodies, and offset frames, which belong to joints or bodies."""

    def __init__(self, model: Any) -> None:
        self.offsets = list(model.iter("PhysicalOffsetFrame", "StationDefinedFrame"))
        self._bodies = {GROUND, *(body.get("name") for body in model.findall("BodySet/objects/Body"))}
        self._offsets = _by_path(self.offsets)
        self._stations = _by_path(model.iter("Station", "Marker"))

    def of(self, owner: Any, socket: str) -> Frame:
        """The frame that a socket of an element names; ModelError if there is none."""
        path = text(owner, socket)
        frame = self._found(path, str(owner.get("name")), 0)
        if frame is None:
            complain(owner, f"<{socket}> names {path!r}, which is no body and no frame of the model")
        return frame

    def named(self, path: str) -> Frame | None:
        """The frame of a path such as "knee/tibia_offset" or "/jointset/knee/tibia_offset", None if there is none."""
        return self._found(path, "", 0)

    def _found(self, path: str, owner: str, depth: int) -> Frame | None:
        parts = _names(path) or ([owner] if path == ".." else [])
        if not parts:
            return None
        name = parts[-1]
        local = f"{parts[-2] if len(parts) > 1 else owner}/{name}"
        element = self._offsets.get("/".join((*parts[-3:-2], local)), self._offsets.get(local))
        if element is None:
            if name in self._bodies:
                return Frame(name, np.eye(3), np.zeros(3))
            element = self._offsets.get(name)
        return None if element is None else self.placed(element, depth)

    def placed(self, element: Any, depth: int = 0) -> Frame:
        """Where an offset frame is, or the point of a <Station> or <Marker>; ModelError if it rests on nothing."""
        if depth == MAX_FRAME_DEPTH:
            complain(element, f"frames stand on each other in a circle, or more than {MAX_FRAME_DEPTH} deep")
        if element.tag == "StationDefinedFrame":
            return self._spanned(element, depth)
        offset = element.tag == "PhysicalOffsetFrame"
        socket, place = ("socket_parent", "translation") if offset else ("socket_parent_frame", "location")
        base = self._found(text(element, socket), str(element.getparent().getparent().get("name")), depth + 1)
        if base is None:
            complain(element, f"<{socket}> names {last_name(text(element, socket))!r}, which is no frame")
        return base.offset(element, place, "orientation")

    def _spanned(self, element: Any, depth: int) -> Frame:
        """The frame that points a, b, c of one body span: one axis along b - a, one normal to their plane."""
        a, b, c, origin = (self._station(element, f"socket_{key}", depth) for key in STATIONS)
        if len({point.body for point in (a, b, c, origin)}) > 1:
            complain(element, "the points of a <StationDefinedFrame> must be those of one body")
        along, normal = b.p - a.p, np.cross(b.p - a.p, c.p - a.p)
        if not normal.any():
            complain(element, "the points of a <StationDefinedFrame> lie on a line")
        R, placed = np.zeros((3, 3)), []
        for tag, default, vector in (("ab_axis", "+x", along), ("ab_x_ac_axis", "+y", normal)):
            word = text(element, tag, default).lower()
            if word.lstrip("+-") not in tuple("xyz") or len(word) > 2:
                complain(element, f"<{tag}> must be an axis such as +x or -z, not {word!r}")
            placed.append("xyz".index(word[-1]))
            R[:, placed[-1]] = (-1.0 if word[0] == "-" else 1.0) * vector / np.linalg.norm(vector)
        if placed[0] == placed[1]:
            complain(element, "<ab_axis> and <ab_x_ac_axis> must be different axes")
        last = 3 - sum(placed)
        R[:, last] = np.cross(R[:, last - 2], R[:, last - 1])
        return Frame(a.body, R, origin.p)

    def _station(self, owner: Any, socket: str, depth: int) -> Frame:
        """A frame at the point that a socket names."""
        path = text(owner, socket)
        parts = _names(path)
        station = self._stations.get("/".join(parts[-2:]), self._stations.get(parts[-1] if parts else ""))
        if station is None:
            complain(owner, f"<{socket}> names {path!r}, which is no station of the model")
        return self.placed(station, depth + 1)


def path_of(body: str) -> str:
    """The path of a body's frame in the model."""
    return "/ground" if body == GROUND else f"/bodyset/{body}"


def add_offset(parent: Element, name: str, body: str, position: Any, orientation: Any) -> Element:
    """A <PhysicalOffsetFrame> on a body."""
    frame = add(parent, "PhysicalOffsetFrame", name=name)
    add(frame, "socket_parent", path_of(body))
    add(frame, "translation", tuple(position))
    add(frame, "orientation", body_fixed(orientation))
    return frame


def _names(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".", "..")]


def _by_path(elements: Iterable[Any]) -> dict[str, Any]:
    """Elements by their names, by those behind the names of their owners, and by those behind their owners' sets."""
    found: dict[str, Any] = {}
    for element in elements:
        owner = element.getparent().getparent()
        if owner is not None and owner.get("name"):
            found.setdefault(f"{owner.get('name')}/{element.get('name')}", element)
            holders = [holder.tag.lower() for holder in owner.iterancestors()]
            if len(holders) > 1:
                found.setdefault(f"{holders[1]}/{owner.get('name')}/{element.get('name')}", element)
        found.setdefault(str(element.get("name")), element)
    return found
