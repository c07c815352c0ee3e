"""Elements of an .osim file and their records, read and written by one table.

A `Format` says, for every attribute of a record, which child of the element holds it. A row is the child's tag. The
type of the value, and the value where the file leaves it out, are those of the record's default, unless the row says
otherwise.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any, NamedTuple

from myoquat.data.xml import Element, add, boolean, checked_name, complain, invalid_at, last_name, number, numbers, text
from myoquat.joints import ModelError
from myoquat.joints.errors import errors_about
from myoquat.muscle.coordinates import Marker

from .frames import ZERO, Frames, path_of


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
REQUIRED = ValueType(lambda element, tag, *_: number(element, tag))  # a number that the file must give
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

    rows    attribute -> tag of its child, (tag, default of the file) or (tag, value_type)
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


def same(*names: str) -> dict[str, str]:
    """Rows of attributes whose children have their names."""
    return {name: name for name in names}


MARKER = Format("Marker", Marker, same("fixed"), ON_PARENT)
