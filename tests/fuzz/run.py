"""Reading mutants one after the other, each under an alarm, and counting what comes of them."""

import re
import signal
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from myoquat.joints.errors import ModelError

from .kinds import Kind

SECONDS, LONGEST_MESSAGE = 10.0, 2000
STRANGE = re.compile(  # words of Python and NumPy in the message of an error that should be ours
    r"zip\(\)|invalid literal|could not convert|broadcast|cannot reshape|math domain|to unpack|Exceeds the limit|"
    r"setting an array element|inhomogeneous|unhashable|object is not|positional argument"
)


class Hang(BaseException):
    """A mutant took too long."""


@dataclass
class Report:
    """What came of the mutants of a kind: read, refused (so many with a line), and what must not be: the mutant's
    number with the end of its traceback."""

    kind: str
    read: int = 0
    refused: int = 0
    with_line: int = 0
    foreign: dict[int, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return (
            f"{self.kind}: {self.read + self.refused + len(self.foreign)} mutants, {self.read} read, {self.refused} "
            f"refused ({self.with_line} with a line), {len(self.foreign)} wrong"
        )


def fuzz(kind: Kind, count: int, folder: Path, seed: int = 0, first: int = 0) -> Report:
    """Read `count` mutants in a folder; mutant i is the same for a seed, however many are read."""
    report, seeds = Report(kind.name), kind.seeds(folder)
    for i in range(first, first + count):
        rng = Random(f"{kind.name} {seed} {i}")
        place = kind.write(rng.choice(seeds), rng, folder)
        _read(kind, place, report, i)
    return report


def _read(kind: Kind, place: Path, report: Report, number: int) -> None:
    try:
        with alarm(SECONDS), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kind.read(place)
        report.read += 1
    except (Exception, Hang) as error:
        if _promised(kind, error):
            report.refused += 1
            report.with_line += bool(isinstance(error, ModelError) and error.line)
        else:
            report.foreign[number] = "".join(traceback.format_exception(error)[-3:])[-1500:]


def _promised(kind: Kind, error: BaseException) -> bool:
    """Exactly the promised classes: UnicodeDecodeError is a ValueError, yet foreign. The rest is in the message."""
    ours = type(error) in kind.promised or (OSError in kind.promised and isinstance(error, OSError))
    return ours and len(str(error)) <= LONGEST_MESSAGE and not STRANGE.search(str(error))


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raise Hang after so many seconds; in the main thread only."""

    def ring(*_: object) -> None:
        raise Hang(f"not done in {seconds} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
