"""BVH, the Biovision hierarchy: a tree of joints with offsets and channels, and a row of channels per frame.

A joint's origin is the offset plus the position channels, in the parent's axes. The rotations [deg] follow in the order
of their channels: "Zrotation Xrotation Yrotation" stands for R = Rz Rx Ry. The file states no unit of lengths;
centimeters are usual. Source: M. Meredith, S. Maddock, Motion capture file formats explained,
University of Sheffield, CS-01-11, 2001.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from myoquat.core import Array, frozen, pandas as pd
from myoquat.data.files import existing, read_lines, write_text
from myoquat.data.rows import MAX_BYTES, parse_rows, time_table
from myoquat.joints import ModelError
from myoquat.joints.ranges import is_plausible

__all__ = ["BvhJoint", "read_bvh", "read_channels", "write_bvh"]

POSITIONS = ("Xposition", "Yposition", "Zposition")
ROTATIONS = ("Xrotation", "Yrotation", "Zrotation")
CHANNELS = {name.lower(): name for name in (*POSITIONS, *ROTATIONS)}


@frozen(eq=False)
class BvhJoint:
    """A joint of the hierarchy: its name, the index of its parent (-1 for a root), the offset (3,), the names of its
    channels, and the offset of the end of a last joint, which is drawn."""

    name: str
    parent: int
    offset: tuple[float, float, float]
    channels: tuple[str, ...]
    end: tuple[float, float, float] | None = None


def write_bvh(path: str | Path, joints: list[BvhJoint], step: float, rows: Array) -> None:
    """Write joints, every parent before its children, and the channels (t, n) of all of them, `step` [s] apart."""
    children: dict[int, list[int]] = {}
    for index, joint in enumerate(joints):
        children.setdefault(joint.parent, []).append(index)
    lines, order = ["HIERARCHY"], []
    pending: list[tuple[int, int]] = [(index, 0) for index in reversed(children[-1])]
    while pending:
        index, depth = pending.pop()
        indent = "\t" * depth
        if index < 0:
            lines.append(f"{indent}}}")
            continue
        joint = joints[index]
        order.append(index)
        lines += [f"{indent}{'ROOT' if joint.parent < 0 else 'JOINT'} {joint.name}", f"{indent}{{"]
        lines += [f"{indent}\tOFFSET {_numbers(joint.offset)}"]
        lines += [f"{indent}\tCHANNELS {len(joint.channels)} {' '.join(joint.channels)}".rstrip()]
        if joint.end is not None:
            end = ["End Site", "{", f"\tOFFSET {_numbers(joint.end)}", "}"]
            lines += [f"{indent}\t{line}" for line in end]
        pending.append((-1, depth))
        pending += [(child, depth + 1) for child in reversed(children.get(index, []))]
    firsts = np.cumsum([0, *(len(joint.channels) for joint in joints)])
    columns = np.concatenate([np.arange(firsts[i], firsts[i + 1]) for i in order])
    lines += ["MOTION", f"Frames: {len(rows)}", f"Frame Time: {step:.12g}"]
    lines += [_numbers(row) for row in rows[:, columns]]
    write_text(Path(path), "\n".join(lines) + "\n")


def _numbers(values: "tuple[float, ...] | Array") -> str:
    return " ".join(f"{float(value) + 0.0:.10g}" for value in values)


def read_channels(path: str | Path, strict: bool = False) -> "pd.DataFrame":
    """The channels as the file has them: columns "<joint> <channel>" over the index time [s]. There is nothing odd that
    other programs read, so that `strict` changes nothing."""
    joints, step, rows = read_bvh(path)
    labels = [f"{joint.name} {channel}" for joint in joints for channel in joint.channels]
    return time_table(step * np.arange(len(rows)), rows, labels)


def read_bvh(path: str | Path) -> tuple[list[BvhJoint], float, Array]:
    """The joints of a file, every parent before its children, the time of a frame [s] and the channels (t, n). Raises
    ModelError, with the line, for a file that is broken or of another type."""
    path = existing(path)
    lines = ((number, text.split()) for number, text in read_lines(path, MAX_BYTES) if text.strip())
    number, words = _next(path, lines)
    if [word.upper() for word in words] != ["HIERARCHY"]:
        raise ModelError("the first line is not 'HIERARCHY': this is no BVH file", file=path, line=number)
    joints = _hierarchy(path, lines)
    number, words = _next(path, lines)
    count = _number(path, number, words[1:] if words[0].lower() == "frames:" else [], "Frames: N")
    number, words = _next(path, lines)
    step = _number(path, number, words[2:] if words[0].lower() == "frame" else [], "Frame Time: SECONDS")
    if not step > 0:
        raise ModelError(f"the time of a frame is {step:g} s", file=path, line=number)
    labels = [f"{joint.name} {channel}" for joint in joints for channel in joint.channels]
    rows, _ = parse_rows(path, ((at, " ".join(text)) for at, text in lines), labels, gaps=False)
    if len(rows) != count:
        raise ModelError(f"the header says {count:g} frames; there are {len(rows)}", file=path, line=number)
    return joints, step, rows


def _next(path: Path, lines: Iterator[tuple[int, list[str]]]) -> tuple[int, list[str]]:
    for number, words in lines:
        return number, words
    raise ModelError("the file ends too early", file=path)


def _number(path: Path, line: int, words: list[str], expected: str) -> float:
    try:
        value = float(words[0]) if len(words) == 1 else np.nan
    except ValueError:
        value = np.nan
    if not is_plausible(value):
        raise ModelError(f"the line must be {expected!r}", file=path, line=line)
    return value


def _hierarchy(path: Path, lines: Iterator[tuple[int, list[str]]]) -> list[BvhJoint]:
    """The joints up to the line MOTION."""
    joints: list[BvhJoint] = []
    above: list[int] = []  # indices of the joints whose braces are open; -1 for an end
    while True:
        number, words = _next(path, lines)
        word = words[0].upper()
        if word == "MOTION" and not above and joints:
            return joints
        if word == "}" and above:
            above.pop()
        elif word in ("ROOT", "JOINT") and len(words) > 1 and bool(above) == (word == "JOINT") and -1 not in above:
            name = " ".join(words[1:])
            if name in (joint.name for joint in joints):
                raise ModelError(f"the joint {name!r} comes twice", file=path, line=number)
            parent = above[-1] if above else -1
            offset, channels = _opened(path, lines, True)
            joints.append(BvhJoint(name, parent, offset, channels))
            above.append(len(joints) - 1)
        elif word == "END" and above and above[-1] >= 0:
            offset, _ = _opened(path, lines, False)
            last = joints[above[-1]]
            joints[above[-1]] = BvhJoint(last.name, last.parent, last.offset, last.channels, offset)
            above.append(-1)
        else:
            raise ModelError(f"{' '.join(words)!r} is not expected here", file=path, line=number)


def _opened(
    path: Path, lines: Iterator[tuple[int, list[str]]], moves: bool
) -> tuple[tuple[float, float, float], tuple[str, ...]]:
    """Offset and channels of a joint, after its brace."""
    number, words = _next(path, lines)
    if words != ["{"]:
        raise ModelError("a line '{' is expected here", file=path, line=number)
    number, words = _next(path, lines)
    try:
        x, y, z = (float(word) for word in words[1:])
        plausible = words[0].upper() == "OFFSET" and all(map(is_plausible, (x, y, z)))
    except ValueError:
        plausible = False
    if not plausible:
        raise ModelError("the line must be 'OFFSET X Y Z' with numbers", file=path, line=number)
    if not moves:
        return (x, y, z), ()
    number, words = _next(path, lines)
    names = [CHANNELS.get(word.lower(), "") for word in words[2:]]
    named = words[0].upper() == "CHANNELS" and words[1:2] == [str(len(names))]
    if not named or "" in names or len(set(names)) < len(names):
        problem = f"the line must be 'CHANNELS N' and N of {', '.join(CHANNELS.values())}"
        raise ModelError(problem, file=path, line=number)
    return (x, y, z), tuple(names)
