"""Reading mutants one after the other, each under an alarm, and counting what comes of them."""

import re
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from myoquat.joints.errors import ModelError

from .formats import FileFormat

if sys.platform != "win32":
    import resource

SECONDS, LONGEST_MESSAGE = 10.0, 2000
STRANGE = re.compile(  # words of Python and NumPy in the message of an error that should be ours
    r"zip\(\)|invalid literal for|could not convert|broadcast|cannot reshape|math domain|to unpack|Exceeds the limit|"
    r"setting an array element|inhomogeneous|unhashable|object is not|positional argument"
)


class Hang(BaseException):
    """A mutant took too long."""


@dataclass
class Report:
    """Counts of the mutants of a format: read, refused, refused with a line. `foreign` has the number of each mutant
    that broke a promise, with the end of its traceback. `worst` is the longest time of a mutant [s, wall clock] and its
    number. `memory` is the growth of the process since the first mutant [bytes]."""

    name: str
    read: int = 0
    refused: int = 0
    with_line: int = 0
    foreign: dict[int, str] = field(default_factory=dict)
    lineless: Counter[str] = field(default_factory=Counter)
    worst: tuple[float, int] = (0.0, 0)
    memory: int = 0

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.read + self.refused + len(self.foreign)} mutants, {self.read} read, {self.refused} "
            f"refused ({self.with_line} with a line), {len(self.foreign)} wrong; worst {self.worst[0]:.2f} s (mutant "
            f"{self.worst[1]}), {self.memory / 1e6:.0f} MB"
        )


def fuzz(file_format: FileFormat, count: int, folder: Path, seed: int = 0, first: int = 0) -> Report:
    """Read `count` mutants in a folder; mutant i is the same for a seed, however many are read."""
    report, seeds = Report(file_format.name), file_format.seeds(folder)
    before = _peak()
    for i in range(first, first + count):
        rng = Random(f"{file_format.name} {seed} {i}")
        place = file_format.write(rng.choice(seeds), rng, folder)
        start = time.perf_counter()
        _read(file_format, place, report, i)
        report.worst = max(report.worst, (time.perf_counter() - start, i))
    report.memory = _peak() - before
    return report


def _peak() -> int:
    """The most memory that this process has needed so far [bytes]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _read(file_format: FileFormat, place: Path, report: Report, number: int) -> None:
    try:
        with alarm(SECONDS), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            file_format.read(place)
        report.read += 1
    except (Exception, Hang) as error:
        if _promised(file_format, error):
            report.refused += 1
            lined = isinstance(error, ModelError) and bool(error.line)
            report.with_line += lined
            if not lined:
                report.lineless[re.sub(r"\d+|/\S+|'[^']*'", "_", str(error))[:70]] += 1
        else:
            report.foreign[number] = "".join(traceback.format_exception(error)[-3:])[-1500:]


def _promised(file_format: FileFormat, error: BaseException) -> bool:
    """Exactly the promised classes: UnicodeDecodeError is a ValueError, yet foreign. The rest is in the message."""
    ours = type(error) in file_format.promised or (OSError in file_format.promised and isinstance(error, OSError))
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
