"""Cases by number, checked one after the other and counted."""

import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from .array import covering_array
from .case import Case, made
from .checks import Broken, NotHere
from .features import FEATURES, PLAIN
from .laws import LAWS

__all__ = ["Failure", "Report", "check", "run"]


@dataclass
class Failure:
    """A case that broke its law: its number, the law, what came, and the levels that are needed for it."""

    number: int
    law: str
    message: str
    levels: dict[str, str]

    def __str__(self) -> str:
        levels = ", ".join(f"{name}: {level}" for name, level in self.levels.items())
        return f"case {self.number}, {self.law}: {self.message}\n    {levels or 'plain'}"


@dataclass
class Report:
    """Counts of the cases by law, (law, "holds" or "broken" or "not here"), and what failed."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)

    @property
    def checked(self) -> int:
        """The cases of which their law spoke."""
        return sum(n for (_, outcome), n in self.counts.items() if outcome != "not here")

    def __str__(self) -> str:
        laws = dict.fromkeys(law for law, _ in self.counts)
        each = ", ".join(f"{law} {self.counts[law, 'holds']}" for law in laws)
        return f"{self.checked} cases checked, {len(self.failures)} broken; held: {each}"


@cache
def _block(seed: int, number: int) -> Sequence[dict[str, str]]:
    return covering_array(
        {name: tuple(levels) for name, levels in FEATURES.items()}, np.random.default_rng((seed, number))
    )


def _rows(seed: int) -> Iterator[dict[str, str]]:
    """The rows of one covering array after the other."""
    number = 0
    while True:
        yield from _block(seed, number)
        number += 1


def run(count: int, seed: int = 0, laws: Sequence[str] = tuple(LAWS), *, first: int = 0, only: int | None = None,
        tell: Callable[[Failure], None] = lambda _: None) -> Report:  # fmt: skip
    """Check `count` cases of `laws` from number `first` on, or `only` one: its row is number // len(LAWS).

    A case is a row of a covering array and a law, numbered by the laws of each row. Cases of which the law does not
    speak are not counted.
    """
    # Reducing a case of a compiled law takes minutes: only a case that is asked for is reduced.
    report, names = Report(), list(LAWS)
    for k, row in enumerate(_rows(seed)):
        if report.checked >= count:
            break
        cases: dict[tuple[str, ...], Case] = {}
        for i, name in enumerate(names):
            number = k * len(names) + i
            if number < first or name not in laws or (only is not None and number != only):
                continue
            if only is None and (k + i) % LAWS[name].every:
                continue
            levels = LAWS[name].row(row)
            outcome, message = check(name, levels, (seed, k), cases)
            report.counts[name, outcome] += 1
            if outcome == "broken":
                needed = (
                    _needed(name, levels, (seed, k)) if LAWS[name].every == 1 or only is not None else _named(levels)
                )
                failure = Failure(number, name, message, needed)
                report.failures.append(failure)
                tell(failure)
        if only is not None and number >= only:
            break
    return report


def check(
    name: str, levels: dict[str, str], key: tuple[int, int], cases: dict[tuple[str, ...], Case] | None = None
) -> tuple[str, str]:
    """("holds" or "broken" or "not here", message) of a law; `cases` keeps models that several laws share."""
    kept, at = {} if cases is None else cases, tuple(levels.values())
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            if at not in kept:
                kept[at] = made(levels, key)
            LAWS[name].check(kept[at])
        except NotHere as error:
            return "not here", str(error)
        except Broken as error:
            return "broken", str(error)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            return "broken", f"{type(error).__name__}: {error} ({where.filename.rpartition('/')[2]}:{where.lineno})"[
                :500
            ]
    return "holds", ""


def _needed(name: str, levels: dict[str, str], key: tuple[int, int]) -> dict[str, str]:
    """The levels without which the law holds, found by going back to the plain level of each feature in turn."""
    levels = dict(levels)
    for feature, plain in PLAIN.items():
        if levels[feature] != plain and check(name, levels | {feature: plain}, key)[0] == "broken":
            levels[feature] = plain
    return _named(levels)


def _named(levels: dict[str, str]) -> dict[str, str]:
    """The levels that are not plain."""
    return {feature: level for feature, level in levels.items() if level != PLAIN[feature]}
