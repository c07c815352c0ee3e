"""What text formats of numbers share: rows read with their line numbers and written so that they read back equal."""

import math
import warnings
from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from myoquat.data.reports import ImplausibleWarning
from myoquat.joints.errors import ModelError
from myoquat.joints.ranges import MAX_NUMBER, is_plausible

__all__ = ["MAX_BYTES", "check_labels", "check_times", "format_rows", "parse_rows", "tell"]

MAX_BYTES = 256 * 2**20  # ten minutes of motion capture stay below

Line = tuple[int, str]  # number and text


def parse_rows(
    path: Path, lines: Iterable[Line], labels: Sequence[str], *, gaps: bool
) -> tuple[np.ndarray, np.ndarray]:
    """(n, len(labels)) numbers and the numbers (n,) of their lines, a row each line that is not blank. ModelError with
    the line for a wrong count or no number.

    gaps: an empty cell or 'nan' is a gap in the record, NaN; otherwise it is an error.
    """
    cells, numbers = array("d"), array("q")
    for line in lines:
        if line[1].strip():
            cells.extend(_row(path, line, labels, gaps))
            numbers.append(line[0])
    return np.array(cells).reshape(len(numbers), len(labels)), np.array(numbers, dtype=int)


def _row(path: Path, line: Line, labels: Sequence[str], gaps: bool) -> list[float]:
    number, text = line
    cells = text.rstrip("\r\n").split("\t") if gaps else text.split()
    if gaps:
        cells = cells[: len(labels)] + [cell for cell in cells[len(labels) :] if cell.strip()]
        cells += [""] * (len(labels) - len(cells))  # editors drop the tabs at the end of a line
    if len(cells) != len(labels):
        raise ModelError(f"{len(cells)} columns; the header names {len(labels)}", file=path, line=number)
    try:
        values = list(map(float, cells))
    except ValueError:
        values = [np.nan]
    if math.isfinite(sum(values)) and max(map(abs, values), default=0.0) <= MAX_NUMBER:
        return values
    return [_number(path, number, *pair, gaps) for pair in zip(labels, cells, strict=True)]


def _number(path: Path, line: int, label: str, cell: str, gaps: bool) -> float:
    cell = cell.strip()
    if gaps and cell.lower() in ("", "nan"):
        return np.nan
    try:
        value = float(cell)
    except ValueError:
        raise ModelError(f"{cell!r} is not a number", file=path, line=line, element=f"column {label!r}") from None
    if not np.isfinite(value):
        raise ModelError(f"{cell} is not finite", file=path, line=line, element=f"column {label!r}")
    if not is_plausible(value):
        raise ModelError(f"{cell} exceeds {MAX_NUMBER:g} in size", file=path, line=line, element=f"column {label!r}")
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


def check_times(path: Path, lines: Sequence[int] | np.ndarray, times: np.ndarray) -> None:
    """ModelError at the first row whose time is a gap or not after the one before, with its line."""
    wrong = np.isnan(times)
    wrong[1:] |= ~(np.diff(times) > 0)
    if wrong.any():
        row = int(np.argmax(wrong))
        number = int(lines[row])
        before = f"after {times[row - 1]:.10g}" if row else "there"
        raise ModelError(f"time must increase: {times[row]:.10g} is not {before}", file=path, line=number)


def format_rows(rows: np.ndarray) -> str:
    """A line per row, tabs between the shortest decimals that read back to the same floats."""
    return "".join("\t".join(repr(float(x)) for x in row) + "\n" for row in rows)


def tell(path: Path, strict: bool, line: int, message: str) -> None:
    """A warning that says what is odd, or, where `strict`, a ModelError."""
    if strict:
        raise ModelError(message, file=path, line=line)
    warnings.warn(f"{path}:{line}: {message}", ImplausibleWarning, stacklevel=4)
