"""Cases by number, checked one after the other and counted."""

import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count, cycle

import numpy as np

from .array import covering_array
from .case import Case, made
from .checks import Broken, NotHere
from .features import PLAIN
from .laws import GROUPS, LAWS

COMPILED = {law for group in GROUPS.values() for law in group.laws}  # which take seconds


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


@lru_cache(maxsize=2 * len(GROUPS))  # runs of a few cases each begin with the same arrays
def _array(seed: int, group: str, number: int) -> list[dict[str, str]]:
    rng = np.random.default_rng((seed, list(GROUPS).index(group), number))
    return covering_array(GROUPS[group].factors, rng)


def _of_group(seed: int, group: str) -> Iterator[dict[str, str]]:
    """The rows of one covering array after the other."""
    for number in count():
        yield from _array(seed, group, number)


def _rows(seed: int, own: int) -> Iterator[tuple[dict[str, str], set[str]]]:
    """(row, laws): of all groups by turns, each row with the laws that every row has and `own` of its group's."""
    everywhere = set(LAWS) - COMPILED
    rows = {name: enumerate(_of_group(seed, name)) for name in GROUPS}
    turns = sorted(((k + 0.5) / group.rows, name) for name, group in GROUPS.items() for k in range(group.rows))
    for _, name in cycle(turns):
        k, row = next(rows[name])
        laws = GROUPS[name].laws
        yield row, everywhere | {laws[(k + i) % len(laws)] for i in range(min(own, len(laws)))}


def run(wanted: int, seed: int = 0, laws: Collection[str] = tuple(LAWS), *, first: int = 0, end: float = np.inf,
        own: int = 2, tell: Callable[[Failure], None] = lambda _: None) -> Report:  # fmt: skip
    """Check `wanted` cases of `laws` with numbers from `first` on, below `end`; the row is number // len(LAWS).

    Each row has `own` laws of its group, by turns, beside those that all rows have.

    A case is a row of a covering array and a law that speaks of it, numbered by the laws of each row. Cases in which
    the law finds nothing to check are not counted.
    """
    report = Report()
    with suppress(KeyboardInterrupt):  # which leaves what was counted
        for k, (row, here) in enumerate(_rows(seed, own)):
            if report.checked >= wanted or k * len(LAWS) >= end:
                break
            cases: list[Case] = []
            for i, (name, law) in enumerate(LAWS.items()):
                number = k * len(LAWS) + i
                if not first <= number < end or name not in here & {*laws} or not law.speaks(row):
                    continue
                outcome, message = check(name, row, (seed, k), cases)
                report.counts[name, outcome] += 1
                if outcome == "broken":
                    # a compiled law takes minutes without each feature in turn: only where one case is asked for
                    reduced = name not in COMPILED or end == first + 1
                    levels = _needed(name, row, (seed, k)) if reduced else _named(row)
                    report.failures.append(Failure(number, name, message, levels))
                    tell(report.failures[-1])
    return report


def check(name: str, levels: dict[str, str], key: tuple[int, int], cases: list[Case] | None = None) -> tuple[str, str]:
    """("holds" or "broken" or "not here", message) of a law; `cases` keeps the model that the laws of a row share."""
    kept = [] if cases is None else cases
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            if not kept:
                kept.append(made(levels, key))
            LAWS[name].check(kept[0])
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
