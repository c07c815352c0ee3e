"""Xsens MVN's .mvnx files: what the segments and the sensors of a suit did, frame by frame.

The format is described in the user manual of MVN, and is the same in versions 3 and 4 as far as it is read here. A file
has labels of segments, sensors and joints. A frame has the position [m] and the orientation of each segment, the
orientation of each sensor, and three angles [deg] of each joint. Quaternions have their scalar first. The ground's x
points forward as the subject stood in the calibration, its z upwards.
"""

import importlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from myoquat.core import Array, pandas as pd, time_table
from myoquat.joints import ModelError
from myoquat.joints.errors import errors_in
from myoquat.joints.ranges import is_plausible

from .files import existing, regular_file
from .rows import AXES, MAX_BYTES, marker_table, wrong_time

WIDTHS = {"orientation": ("segment", 4), "position": ("segment", 3), "sensorOrientation": ("sensor", 4),
          "jointAngle": ("joint", 3)}  # fmt: skip
POSES = ("identity", "tpose", "tpose-isb", "npose")
FRAME_TYPES = (*POSES, "normal")
READ = ("subject", "segment", "sensor", "joint", "frame")  # elements; others are passed over
TIME_UNIT_S = 1e-3
Element = Any  # of lxml, which only those import who read such a file
MAX_TIME_ERROR_S = 2e-3  # of rounded times against frame numbers


@dataclass(eq=False)
class MvnxContent:
    """The content of a file.

    labels  of "segment", "sensor" and "joint"
    time    (t,) [s]
    values  (t, n, width) of each quantity of `WIDTHS` that the frames have
    poses   the same of one frame (1, n, width), by the name of a calibration pose
    """

    path: Path
    rate: float | None = None
    labels: dict[str, list[str]] = field(default_factory=lambda: {"segment": [], "sensor": [], "joint": []})
    time: Array = field(default_factory=lambda: np.zeros(0))
    values: dict[str, Array] = field(default_factory=dict)
    poses: dict[str, dict[str, Array]] = field(default_factory=dict)

    def of(self, name: str) -> Array:
        """(t, n, width) the values of a quantity; ModelError without any."""
        if name not in self.values:
            raise ModelError(f"the frames have no {name}", file=self.path)
        return self.values[name]

    def joint_angles(self) -> "pd.DataFrame":
        """The joint angles [deg]: columns "<joint>_x", ... over the index time [s]. ModelError without any."""
        columns = [f"{joint}_{axis}" for joint in self.labels["joint"] for axis in AXES]
        return time_table(self.time, self.of("jointAngle"), columns, units=dict.fromkeys(columns, "deg"))

    def origins(self) -> "pd.DataFrame":
        """The origins of the segments [m]: columns (segment, axis) over the index time [s]. ModelError without any."""
        return marker_table(self.time, self.of("position"), self.labels["segment"])


def read_mvnx(path: str | Path) -> MvnxContent:
    """The content of a file; ModelError, with the line, for one that is broken or of another type."""
    found, times, indices = MvnxContent(existing(path)), [], []
    rows: dict[str, list[Array]] = {}
    with errors_in(path):
        for element in _elements(found.path):
            name = _name(element)
            if name == "subject":
                found.rate = _rate(element)
            elif name in found.labels:
                label, known = element.get("label"), found.labels[name]
                if not label:
                    raise _wrong(element, f"a <{name}> has no label")
                if label in known:
                    raise _wrong(element, f"the {name} {label!r} comes twice")
                known.append(str(label))
            elif (frame_type := element.get("type", "normal")) in FRAME_TYPES:
                values = _frame(element, found.labels)
                if frame_type in POSES:
                    found.poses[frame_type] = {key: value[None] for key, value in values.items()}
                    continue
                times.append(_whole(element, "time"))
                indices.append(_whole(element, "index") if element.get("index") else None)
                if rows and (missing := sorted(set(values) ^ set(rows))):
                    raise _wrong(element, f"some frames have {missing[0]}, others do not")
                for key, value in values.items():
                    rows.setdefault(key, []).append(value)
        if not times:
            raise ModelError("there is no frame of type 'normal': this is no recording of Xsens MVN")
        # frame numbers over the rate, which rounded times agree with, or else these
        found.time = np.array(times, dtype=float) * TIME_UNIT_S
        if found.rate is not None and None not in indices:
            even = np.array(indices, dtype=float) / found.rate
            even += found.time[0] - even[0] if abs(found.time[0] - even[0]) > MAX_TIME_ERROR_S else 0.0
            if np.abs(even - found.time).max() <= MAX_TIME_ERROR_S:
                found.time = even
        if (row := wrong_time(found.time)) is not None:
            before = found.time[row - 1]
            raise ModelError(f"the time of a frame, {found.time[row]:g} s, is not after {before:g} s")
    found.values = {key: np.stack(value) for key, value in rows.items()}
    return found


def read_joint_angles(path: str | Path, strict: bool = False) -> "pd.DataFrame":
    """The joint angles in a file. There is nothing odd that other programs read: `strict` changes nothing."""
    return read_mvnx(path).joint_angles()


def _elements(path: Path) -> Iterator[Element]:
    """Subjects at their start, labels and frames at their end, in the order of the file; frames are then forgotten."""
    etree = importlib.import_module("lxml.etree")  # 30 ms, for those who read such a file
    with regular_file(path) as stream:
        stream.seek(0, 2)
        if (size := stream.tell()) > MAX_BYTES:
            problem = f"the file holds {size / 2**20:.0f} MiB; at most {MAX_BYTES / 2**20:.0f} are read"
            raise ModelError(f"{problem}: export it without sensor data", file=path)
        stream.seek(0)
        options = {"resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": False}
        parser = etree.iterparse(stream, events=("start", "end"), **options)
        root = None
        try:
            for event, element in parser:
                name = _name(element)
                if root is None:
                    root = element
                    if root.getroottree().docinfo.doctype:
                        raise ModelError("document types and entities are refused", file=path, line=1)
                    if name != "mvnx":
                        raise ModelError(f"the root element is <{name}>, not <mvnx>", file=path, line=1)
                if name in READ and (event == "start") == (name == "subject"):
                    yield element
                    if name == "frame":
                        element.clear()
        except etree.XMLSyntaxError as error:
            raise ModelError(f"this is not valid XML: {error.msg}", file=path, line=error.lineno) from None


def _name(element: Element) -> str:
    """The tag without its namespace."""
    return str(element.tag).rpartition("}")[2]


def _wrong(element: Element, problem: str) -> ModelError:
    return ModelError(problem, line=element.sourceline)


def _rate(element: Element) -> float | None:
    text = element.get("frameRate")
    try:
        rate = None if text is None else float(text)
    except ValueError:
        rate = 0.0
    if rate is not None and not 0 < rate < np.inf:
        raise _wrong(element, f"frameRate is {text!r}, not a positive number")
    return rate


def _whole(element: Element, name: str) -> int:
    text = element.get(name, "")
    try:
        return int(text)
    except ValueError:
        raise _wrong(element, f"the {name} of a frame is {text!r}, not a whole number") from None


def _frame(element: Element, labels: dict[str, list[str]]) -> dict[str, Array]:
    """(n, width) of each quantity of a frame."""
    found = {}
    for child in element:
        if not isinstance(child.tag, str) or (name := _name(child)) not in WIDTHS:
            continue
        owner, width = WIDTHS[name]
        words = (child.text or "").split()
        try:
            values = np.array(words, dtype=float)
        except ValueError:
            raise _wrong(child, f"{name} holds what is not a number") from None
        if len(values) != width * len(labels[owner]):
            expected = f"{width} for each of {len(labels[owner])} {owner}s"
            raise _wrong(child, f"{name} has {len(values)} numbers, not {expected}")
        for word, value in zip(words, values, strict=True):
            if not is_plausible(value):
                raise _wrong(child, f"{name} holds {word}")
        found[name] = values.reshape(-1, width)
    return found
