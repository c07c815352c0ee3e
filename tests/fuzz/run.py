"""Reading mutants one after the other, each under an alarm, and counting what comes of them."""

import re
import resource
import signal
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
    number with the end of its traceback. `worst` are the most seconds of a mutant, which take in the other load of the
    machine, and its number; `memory` is what the process came to need beyond what it had before the first [bytes]."""

    kind: str
    read: int = 0
    refused: int = 0
    with_line: int = 0
    foreign: dict[int, str] = field(default_factory=dict)
    lineless: Counter[str] = field(default_factory=Counter)
    worst: tuple[float, int] = (0.0, 0)
    memory: int = 0

    def __str__(self) -> str:
        return (
            f"{self.kind}: {self.read + self.refused + len(self.foreign)} mutants, {self.read} read, {self.refused} "
            f"refused ({self.with_line} with a line), {len(self.foreign)} wrong; worst {self.worst[0]:.2f} s (mutant "
            f"{self.worst[1]}), {self.memory / 1e6:.0f} MB"
        )


def fuzz(kind: Kind, count: int, folder: Path, seed: int = 0, first: int = 0) -> Report:
    """Read `count` mutants in a folder; mutant i is the same for a seed, however many are read."""
    report, seeds = Report(kind.name), kind.seeds(folder)
    before = _peak()
    for i in range(first, first + count):
        rng = Random(f"{kind.name} {seed} {i}")
        place = kind.write(rng.choice(seeds), rng, folder)
        start = time.perf_counter()
        _read(kind, place, report, i)
        report.worst = max(report.worst, (time.perf_counter() - start, i))
    report.memory = _peak() - before
    return report


def _peak() -> int:
    """The most memory that this process has needed so far [bytes]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _read(kind: Kind, place: Path, report: Report, number: int) -> None:
    try:
        with alarm(SECONDS), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kind.read(place)
        report.read += 1
    except (Exception, Hang) as error:
        if _promised(kind, error):
            report.refused += 1
            lined = isinstance(error, ModelError) and bool(error.line)
            report.with_line += lined
            if not lined:
                report.lineless[re.sub(r"\d+|/\S+|'[^']*'", "_", str(error))[:70]] += 1
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
