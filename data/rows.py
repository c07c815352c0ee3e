"""What text formats of numbers share: rows read with their line numbers and written so that they read back equal."""

import math
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from myoquat.core import pandas as pd, time_table, warn_user
from myoquat.joints import ModelError
from myoquat.joints.ranges import MAX_NUMBER, is_plausible

from .files import existing, read_lines
from .reports import ImplausibleWarning

AXES = ("x", "y", "z")
MAX_SHOWN = 5  # names, in a message
MAX_BYTES = 256 * 2**20  # ten minutes of motion capture stay below

Line = tuple[int, str]  # number and text
_NAN = re.compile(
    r"[+-]?(nan(\(\w*\))?|1\.#(?!inf)\w*|#?n/?a)", re.IGNORECASE
)  # as C, Microsoft's C and sheets write it


class NumberFile:
    """A text file of numbers while it is read: the `lines` that are left, and what is odd or wrong in it.

    What is odd, but read by other programs, is a warning, and an error where the file is read `strict`ly.
    """

    def __init__(self, path: str | Path, strict: bool = False, errors: str = "surrogateescape") -> None:
        self.path, self.strict = existing(path), strict
        self.lines: Iterator[Line] = read_lines(self.path, MAX_BYTES, errors)

    def error(self, problem: str, line: int, label: str | None = None) -> ModelError:
        """What is wrong in a line, or in the column of a label there."""
        return ModelError(problem, file=self.path, line=line, element=label and f"column {label!r}")

    def tell(self, line: int, message: str) -> None:
        """Tell what is odd in a line."""
        tell(self.path, self.strict, line, message)

    def mended(self, line: Line) -> str:
        """The text of a line, as `text_of` has it."""
        return text_of(line[1], partial(self.tell, line[0]))

    def check_labels(self, line: int, labels: Sequence[str]) -> None:
        """ModelError for an empty label or one that comes twice, and for a first label that is not 'time'."""
        if labels[0].lower() != "time":
            hint = "; commas separate columns, and points decimals" if ";" in labels[0] else ""
            raise self.error(f"the first column must be 'time', not {labels[0]!r}{hint}", line)
        check_labels(self.path, line, labels)

    def table(
        self, labels: Sequence[str], lines: Iterable[Line] | None = None, *, gaps: bool, blanks: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """(n, len(labels)) numbers and the numbers (n,) of their lines, a row each line that is not blank, of `lines`
        or those that are left. ModelError with the line for a wrong count or no number.

        gaps: a 'nan', in any spelling, or an empty cell is a gap in the record, NaN; otherwise it is an error.

        blanks: cells are separated by tabs or blanks, so that none is empty. Without `gaps` they are too.
        """
        cells, numbers = array("d"), array("q")
        for number, text in self.lines if lines is None else lines:
            if text.strip():
                cells.extend(self._row(number, text, labels, gaps, blanks or not gaps))
                numbers.append(number)
        return np.array(cells).reshape(len(numbers), len(labels)), np.array(numbers, dtype=int)

    def _row(self, line: int, text: str, labels: Sequence[str], gaps: bool, blanks: bool) -> list[float]:
        cells = text.split() if blanks else text.rstrip("\r\n").split("\t")
        if not blanks:
            cells = cells[: len(labels)] + [cell for cell in cells[len(labels) :] if cell.strip()]
            cells += [""] * (len(labels) - len(cells))  # editors drop the tabs at the end of a line
        if len(cells) != len(labels):
            raise self.error(f"{len(cells)} columns; the header names {len(labels)}", line)
        try:
            values = list(map(float, cells))
        except ValueError:
            values = [np.nan]
        if math.isfinite(sum(values)) and max(map(abs, values), default=0.0) <= MAX_NUMBER:
            return values
        return [self._number(line, *pair, gaps) for pair in zip(labels, map(str.strip, cells), strict=True)]

    def _number(self, line: int, label: str, cell: str, gaps: bool) -> float:
        if gaps and (not cell or _NAN.fullmatch(cell)):
            return np.nan
        try:
            value = float(cell)
        except ValueError:
            hint = "; decimals need a point" if "," in cell else ""
            raise self.error(f"{cell!r} is not a number{hint}", line, label) from None
        if not is_plausible(value):
            problem = f"exceeds {MAX_NUMBER:g} in size" if np.isfinite(value) else "is not finite"
            raise self.error(f"{cell} {problem}", line, label)
        return value


def check_labels(path: Path, line: int, labels: Sequence[str]) -> None:
    """ModelError for an empty label or one that comes twice."""
    known: set[str] = set()
    for i, label in enumerate(labels):
        if not label:
            raise ModelError(f"column {i + 1} has no label", file=path, line=line)
        if label in known:
            raise ModelError(f"the label {label!r} comes twice", file=path, line=line)
        known.add(label)


def distinct_labels(labels: Sequence[str], mended: Callable[[str], None]) -> list[str]:
    """The labels, with a number where one comes again ("A_2") or is empty ("unnamed_3", the third); tells `mended`."""
    names: list[str] = []
    known, taken = set(labels), set[str]()
    counts: Counter[str] = Counter()  # the last number of each label: one that comes a million times takes one pass
    for i, label in enumerate(labels):
        name = base = label or f"unnamed_{i + 1}"
        while name in taken or (name != label and name in known):
            counts[base] += 1
            name = f"{base}_{counts[base] + 1}"
        names.append(name)
        taken.add(name)
    for what, empty in (("have no name", True), ("repeat a name", False)):
        if called := [
            name for name, label in zip(names, labels, strict=True) if name != label and empty == (not label)
        ]:
            shown = ", ".join(called[:MAX_SHOWN]) + (", ..." if len(called) > MAX_SHOWN else "")
            mended(f"{len(called)} of {len(labels)} labels {what}; here they are {shown}")
    return names


def text_of(text: str, mended: Callable[[str], None]) -> str:
    """A text whose bytes that are no UTF-8 were read as lone surrogates: these become Latin-1, and `mended` reports
    it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        mended("text that is not UTF-8 is taken as Latin-1")
        return "".join(chr(ord(c) - 0xDC00) if "\udc80" <= c <= "\udcff" else c for c in text)
    return text


def check_times(path: Path, lines: Sequence[int] | np.ndarray, times: np.ndarray) -> None:
    """ModelError at the first row whose time is a gap or not after the one before, with its line."""
    if (row := wrong_time(times)) is not None:
        before = f"after {times[row - 1]:.10g}" if row else "there"
        raise ModelError(f"time must increase: {times[row]:.10g} is not {before}", file=path, line=int(lines[row]))


def wrong_time(times: np.ndarray) -> int | None:
    """The first row whose time is not finite or not after the one before; None if there is none."""
    wrong = ~np.isfinite(times)
    wrong[1:] |= ~(np.diff(times) > 0)
    return int(np.argmax(wrong)) if wrong.any() else None


def format_rows(rows: np.ndarray) -> str:
    """A line per row, tabs between the shortest decimals that read back to the same floats."""
    return "".join("\t".join(repr(float(x)) for x in row) + "\n" for row in rows)


def marker_table(time: np.ndarray, positions: np.ndarray, names: Sequence[str], **attrs: Any) -> "pd.DataFrame":
    """A table of positions (t, n, 3) with columns (marker, axis)."""
    return time_table(time, positions, pd.MultiIndex.from_product([names, AXES], names=["marker", "axis"]), **attrs)


def named_parts(frame: "pd.DataFrame", noun: str, parts: Sequence[str]) -> list[str]:
    """The names of a table with columns (name, part), name by name; ValueError for other columns."""
    names = list(dict.fromkeys(column[0] for column in frame.columns if isinstance(column, tuple)))
    if list(frame.columns) != [(name, part) for name in names for part in parts]:
        expected = ", ".join(f"({noun}, {part!r})" for part in parts)
        raise ValueError(f"the columns must be {expected}, {noun} by {noun}")
    return names


def tell(path: Path, strict: bool, line: int | None, message: str) -> None:
    """A warning that says what is odd, or, where `strict`, a ModelError."""
    if strict:
        raise ModelError(message, file=path, line=line)
    place = path if line is None else f"{path}:{line}"
    warn_user(f"{place}: {message}", ImplausibleWarning)
