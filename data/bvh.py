"""BVH, the Biovision hierarchy: a tree of joints with offsets and channels, and a row of channels per frame.

A joint's origin is the offset plus the position channels, in the parent's axes. The rotations [deg] follow in the order
of their channels: "Zrotation Xrotation Yrotation" stands for R = Rz Rx Ry. The file states no unit of lengths;
centimeters are usual. Source: M. Meredith, S. Maddock, Motion capture file formats explained,
University of Sheffield, CS-01-11, 2001.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from myoquat.core import Array, ArrayLike, frozen, pandas as pd, time_table
from myoquat.joints import ModelError
from myoquat.joints.ranges import is_plausible

from .files import write_text
from .rows import NumberFile

POSITIONS = ("Xposition", "Yposition", "Zposition")
ROTATIONS = ("Xrotation", "Yrotation", "Zrotation")
CHANNELS = {name.lower(): name for name in (*POSITIONS, *ROTATIONS)}


@frozen(eq=False)
class BvhJoint:
    """A joint of the hierarchy: its name, the index of its parent (-1 for a root), the offset (3,), the names of its
    channels, and the offset of the end of a last joint, which is drawn."""

    name: str
    parent: int
    offset: ArrayLike
    channels: tuple[str, ...]
    end: ArrayLike | None = None


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


def _numbers(values: ArrayLike) -> str:
    return " ".join(f"{value + 0.0:.10g}" for value in np.asarray(values, dtype=float))


def read_channels(path: str | Path, strict: bool = False) -> "pd.DataFrame":
    """The channels as the file has them: columns "<joint> <channel>" over the index time [s]. There is nothing odd that
    other programs read, so that `strict` changes nothing."""
    joints, step, rows = read_bvh(path)
    labels = [f"{joint.name} {channel}" for joint in joints for channel in joint.channels]
    return time_table(step * np.arange(len(rows)), rows, labels)


def read_bvh(path: str | Path) -> tuple[list[BvhJoint], float, Array]:
    """The joints of a file, every parent before its children, the time of a frame [s] and the channels (t, n). Raises
    ModelError, with the line, for a file that is broken or of another type."""
    lines = _Lines(path, errors="strict")
    if [word.upper() for word in lines.words()] != ["HIERARCHY"]:
        raise lines.problem("the first line is not 'HIERARCHY': this is no BVH file")
    joints = _hierarchy(lines)
    (count,) = lines.numbers("Frames: N", 1)
    header = lines.number
    (step,) = lines.numbers("Frame Time: SECONDS", 1)
    if not step > 0:
        raise lines.problem(f"the time of a frame is {step:g} s")
    labels = [f"{joint.name} {channel}" for joint in joints for channel in joint.channels]
    rows, _ = lines.table(labels, gaps=False)
    if len(rows) != count:
        raise lines.error(f"the header says {count:g} frames; there are {len(rows)}", header)
    return joints, step, rows


class _Lines(NumberFile):
    """A file whose line of `number` is read."""

    number = 0

    def problem(self, problem: str) -> ModelError:
        """What is wrong in this line."""
        return self.error(problem, self.number)

    def words(self) -> list[str]:
        """The words of the next line that is not blank."""
        self.number, text = next((line for line in self.lines if line[1].strip()), (self.number, ""))
        if not text:
            raise self.problem("the file ends too early")
        return text.split()

    def numbers(self, form: str, count: int) -> list[float]:
        """The numbers of the next line, after the words with which its form begins."""
        words, head = self.words(), form.upper().split()[:-count]
        try:
            found = list(map(float, words[len(head) :]))
        except ValueError:
            found = []
        if (
            [word.upper() for word in words[: len(head)]] != head
            or len(found) != count
            or not all(map(is_plausible, found))
        ):
            raise self.problem(f"the line must be {form!r} with numbers")
        return found


def _hierarchy(lines: _Lines) -> list[BvhJoint]:
    """The joints up to the line MOTION."""
    joints: list[BvhJoint] = []
    above: list[int] = []  # indices of the joints whose braces are open; -1 for an end
    while True:
        words = lines.words()
        word, name = words[0].upper(), " ".join(words[1:])
        if word == "MOTION" and not above and joints:
            return joints
        if word == "}" and above:
            above.pop()
            continue
        ends = word == "END" and bool(above) and above[-1] >= 0
        starts = word in ("ROOT", "JOINT") and bool(name) and bool(above) == (word == "JOINT") and -1 not in above
        if not (ends or starts):
            raise lines.problem(f"{' '.join(words)!r} is not expected here")
        if starts and name in (joint.name for joint in joints):
            raise lines.problem(f"the joint {name!r} comes twice")
        if lines.words() != ["{"]:
            raise lines.problem("a line '{' is expected here")
        x, y, z = lines.numbers("OFFSET X Y Z", 3)
        if ends:
            joints[above[-1]] = replace(joints[above[-1]], end=(x, y, z))
            above.append(-1)
            continue
        words = lines.words()
        channels = tuple(CHANNELS.get(word.lower(), "") for word in words[2:])
        named = words[0].upper() == "CHANNELS" and words[1:2] == [str(len(channels))]
        if not named or "" in channels or len(set(channels)) < len(channels):
            raise lines.problem(f"the line must be 'CHANNELS N' and N of {', '.join(CHANNELS.values())}")
        joints.append(BvhJoint(name, above[-1] if above else -1, (x, y, z), channels))
        above.append(len(joints) - 1)
