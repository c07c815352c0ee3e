"""Frames of an .osim file, and its elements and their records, read and written by one table.

A `Format` says, for every attribute of a record, which child of the element holds it. A row is the child's tag. The
type of the value, and the value where the file leaves it out, are those of the record's default, unless the row says
otherwise.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from myoquat.core import frozen
from myoquat.data.xml import (
    Element,
    add,
    body_fixed,
    boolean,
    checked_name,
    complain,
    invalid_at,
    last_name,
    number,
    numbers,
    text,
)
from myoquat.joints import ModelError, quaternion_from_matrix, rotation_matrix_from_euler
from myoquat.joints.errors import errors_about
from myoquat.muscle.coordinates import Marker

# ---- Frames: which body a socket names, and where the frame sits on it -------------------------------------------


GROUND = "ground"
ZERO = (0.0, 0.0, 0.0)
STATIONS = ("point_a", "point_b", "point_c", "origin_point")
MAX_FRAME_DEPTH = 64  # frames on frames; more are a circle, or a mistake


@frozen
class Frame:
    """A frame fixed to a body: R (3, 3) and p (3,) [m] place it in the body's frame."""

    body: str
    R: Any
    p: Any

    @property
    def is_body(self) -> bool:
        """True if it is the body's own frame."""
        return bool(np.array_equal(self.R, np.eye(3)) and not self.p.any())

    @property
    def orientation(self) -> Any:
        """Unit quaternion of R."""
        return quaternion_from_matrix(self.R)

    @property
    def inverse(self) -> "Frame":
        """The body's frame seen from this one."""
        return Frame(self.body, self.R.T, -self.R.T @ self.p)

    def offset(self, element: Any, location: str, orientation: str) -> "Frame":
        """The frame that children of an element place in this one."""
        R = rotation_matrix_from_euler(numbers(element, orientation, 3, ZERO), "XYZ")
        return Frame(self.body, self.R @ R, self.point(numbers(element, location, 3, ZERO)))

    def point(self, x: Any) -> Any:
        """A point of this frame in the body's frame."""
        return self.p + self.R @ x


def frame_of(body: str) -> Frame:
    """A body's own frame."""
    return Frame(body, np.eye(3), np.zeros(3))


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
                return frame_of(name)
            element = self._offsets.get(name)
        return None if element is None else self.placed(element, depth)

    def placed(self, element: Any, depth: int = 0, parent: str | None = None) -> Frame:
        """Where an offset frame is, or the point of a <Station> or <Marker>; ModelError if it rests on nothing.
        `parent`: where the element names none."""
        if depth == MAX_FRAME_DEPTH:
            complain(element, f"frames stand on each other in a circle, or more than {MAX_FRAME_DEPTH} deep")
        if element.tag == "StationDefinedFrame":
            return self._spanned(element, depth)
        offset = element.tag == "PhysicalOffsetFrame"
        socket, place = ("socket_parent", "translation") if offset else ("socket_parent_frame", "location")
        path = text(element, socket, parent)
        owner = next(islice(element.iterancestors(), 1, None), None)
        base = self._found(path, "" if owner is None else str(owner.get("name")), depth + 1)
        if base is None:
            complain(element, f"<{socket}> names {last_name(path)!r}, which is no frame")
        return base.offset(element, place, "orientation")

    def _spanned(self, element: Any, depth: int) -> Frame:
        """The frame that points a, b, c of one body span: one axis along b - a, one normal to their plane."""
        a, b, c, origin = (self._station(element, f"socket_{key}", depth) for key in STATIONS)
        if len({point.body for point in (a, b, c, origin)}) > 1:
            complain(element, "the points of a <StationDefinedFrame> must be those of one body")
        along, normal = b.p - a.p, np.cross(b.p - a.p, c.p - a.p)
        if not normal.any():
            complain(element, "the points of a <StationDefinedFrame> lie on a line")
        R, columns = np.zeros((3, 3)), []
        for tag, default, vector in (("ab_axis", "+x", along), ("ab_x_ac_axis", "+y", normal)):
            word = text(element, tag, default).lower()
            if not re.fullmatch("[+-]?[xyz]", word):
                complain(element, f"<{tag}> must be an axis such as +x or -z, not {word!r}")
            columns.append("xyz".index(word[-1]))
            R[:, columns[-1]] = (-1.0 if word[0] == "-" else 1.0) * vector / np.linalg.norm(vector)
        if columns[0] == columns[1]:
            complain(element, "<ab_axis> and <ab_x_ac_axis> must be different axes")
        last = 3 - sum(columns)
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
    add(frame, "translation", position)
    add(frame, "orientation", body_fixed(orientation))
    return frame


def _names(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".", "..")]


def _by_path(elements: Iterable[Any]) -> dict[str, Any]:
    """Elements by their names, by those behind the names of their owners, and by those behind their owners' sets."""
    found: dict[str, Any] = {}
    for element in elements:
        owner = next(islice(element.iterancestors(), 1, None), None)
        if owner is not None and owner.get("name"):
            found.setdefault(f"{owner.get('name')}/{element.get('name')}", element)
            holders = [holder.tag.lower() for holder in owner.iterancestors()]
            if len(holders) > 1:
                found.setdefault(f"{holders[1]}/{owner.get('name')}/{element.get('name')}", element)
        found.setdefault(str(element.get("name")), element)
    return found


# ---- Records of elements, read and written by tables ----------------------------------------------------------------


class ValueType(NamedTuple):
    """A type of value: read from the child `tag` of an element, and written as one."""

    read: Callable[[Element, Any, Any, Any], Any]  # element, tag, default (None: it must be there), frames
    write: Callable[[Element, Any, Any], object] = add


class Part(NamedTuple):
    """What is not the value of one child: attributes from an element and the model's frames, and children from a
    record."""

    read: Callable[[Element, Any], Mapping[str, Any]]
    write: Callable[[Element, Any], object]


def only_written(check: Callable[[Any], object]) -> Part:
    """A check of what is to be written: ModelError for a record that OpenSim cannot have."""
    return Part(lambda *_: {}, lambda _, record: check(record))


def _own_body(element: Element, tag: str, _: Any, frames: Frames) -> str:
    """The body that an element names; ModelError for an offset frame, whose axes OpenSim would take."""
    frame = frames.of(element, tag)
    if not frame.is_body:
        complain(element, f"<{tag}> names an offset frame, which is not supported in <{element.tag}>: name its body")
    return frame.body


def _body(element: Element, tag: str, _: Any, frames: Frames) -> str:
    return frames.of(element, tag).body


def _add_path(entry: Element, tag: str, body: str) -> None:
    add(entry, tag, path_of(body))


def three_of(read: Callable[[Element, str], Any], write: Callable[[Element, str, Any], object]) -> ValueType:
    """Three values, in as many children whose tags are the row's."""

    def write_all(entry: Element, tags: Any, values: Any) -> None:
        for tag, value in zip(tags, values, strict=True):
            write(entry, tag, value)

    return ValueType(lambda element, tags, *_: tuple(read(element, tag) for tag in tags), write_all)


def on_body(socket: str, location: str, body: str = "body", point: str = "position") -> Part:
    """A point of a body: the attributes of both, which a file gives by a frame that a socket names."""

    def read(element: Element, frames: Frames) -> dict[str, Any]:
        frame = frames.of(element, socket)
        return {body: frame.body, point: frame.point(numbers(element, location, 3, ZERO))}

    def write(entry: Element, record: Any) -> None:
        add(entry, socket, path_of(getattr(record, body)))
        add(entry, location, getattr(record, point))

    return Part(read, write)


def coordinate_named(element: Element, name: str) -> Element | None:
    """The <Coordinate> of a name in the document of an element, None if there is none."""
    coordinates = element.getroottree().iter("Coordinate")
    return next((coordinate for coordinate in coordinates if coordinate.get("name") == name), None)


def path_of_coordinate(element: Element, name: str) -> str:
    """The path of a coordinate in the document of an element; ModelError if there is none."""
    coordinate = coordinate_named(element, name)
    if coordinate is None:
        raise ModelError(f"coordinate {name!r} has no place in an .osim file")
    joint: Any = coordinate.getparent()
    return f"/jointset/{joint.getparent().get('name')}/{name}"


ON_PARENT = on_body("socket_parent_frame", "location")
NUMBER = ValueType(lambda element, tag, default, _: number(element, tag, default))
THREE = ValueType(lambda element, tag, *_: numbers(element, tag, 3))
BY_DEFAULT = {  # by the type of a default
    bool: ValueType(lambda element, tag, default, _: boolean(element, tag, default)),
    str: ValueType(lambda element, tag, default, _: text(element, tag, default)),
    tuple: ValueType(lambda element, tag, default, _: numbers(element, tag, len(default), default)),
}
COORDINATE = ValueType(lambda element, tag, *_: last_name(text(element, tag)))
COORDINATE_PATH = COORDINATE._replace(write=lambda entry, tag, name: add(entry, tag, path_of_coordinate(entry, name)))
TEXTS = three_of(lambda element, tag: text(element, tag, "0"), add)
BODY, NAMED_BODY = ValueType(_body, _add_path), ValueType(_body)  # by its path, and by its bare name
OWN_BODY, OWN_NAMED_BODY = ValueType(_own_body, _add_path), ValueType(_own_body)


class Format:
    """A type of element: its tag, the class of its records, and what its children say.

    rows    attribute -> tag of its child, (tag, default of the file) or (tag, value_type); None: the file must give it
    parts   what is more than the value of one child
    finish  changes the attributes that were read from an element, in place
    """

    def __init__(
        self,
        tag: str,
        record: type[Any],
        rows: Mapping[str, Any],
        *parts: Part,
        finish: Callable[[Element, dict[str, Any]], object] | None = None,
    ) -> None:
        self.tag, self.record, self._finish = tag, record, finish
        defaults = {f.name: None if f.default is MISSING else f.default for f in fields(record)}
        self._named = "name" in defaults
        self._rows: list[tuple[str, Any, ValueType, Any]] = []
        self._parts = parts
        for ours, row in rows.items():
            theirs, given = row if isinstance(row, tuple) else (row, defaults[ours])
            default = defaults[ours] if isinstance(given, ValueType) else given
            value_type = given if isinstance(given, ValueType) else BY_DEFAULT.get(type(default), NUMBER)
            self._rows.append((ours, theirs, value_type, default))

    def values(self, element: Element, frames: Any = None) -> dict[str, Any]:
        """The attributes that an element gives."""
        values = {ours: value_type.read(element, tag, default, frames) for ours, tag, value_type, default in self._rows}
        for part in self._parts:
            values |= part.read(element, frames)
        if self._finish is not None:
            self._finish(element, values)
        return values

    def read(self, element: Element, frames: Any = None) -> Any:
        """The record of an element; ModelError with its line for values that cannot be."""
        with invalid_at(element):
            named = {"name": element.get("name") or ""} if self._named else {}
            return self.record(**named, **self.values(element, frames))

    def fill(self, entry: Element, record: Any) -> None:
        """Add the children of a record to its element."""
        for ours, tag, value_type, _ in self._rows:
            value_type.write(entry, tag, getattr(record, ours))
        for part in self._parts:
            part.write(entry, record)

    def write(self, parent: Element, record: Any, label: str = "", name: str = "") -> Element:
        """The element of a record, in a parent; ModelError about `label` for a name that OpenSim does not allow, or a
        record that it cannot have."""
        name = name or (record.name if self._named else "")
        entry = add(parent, self.tag, name=checked_name(name, label) if name or self._named else "")
        with errors_about(label):
            self.fill(entry, record)
        return entry


def by_tag(*formats: Format) -> dict[str, Format]:
    """A table of formats."""
    return {format_.tag: format_ for format_ in formats}


def format_of(table: Mapping[str, Format], record: Any) -> Format | None:
    """The format of a record in a table, None if it has none."""
    return next((format_ for format_ in table.values() if format_.record is type(record)), None)


def same(*names: str, **facts: Any) -> dict[str, Any]:
    """Rows of attributes whose children have their names; `facts`: with a default of the file or a type of value."""
    return {name: name for name in names} | {name: (name, fact) for name, fact in facts.items()}


MARKER = Format("Marker", Marker, same("fixed"), ON_PARENT)
