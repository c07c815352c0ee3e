"""Which name of one model is which of another."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field

from myoquat.core.lazy_imports import difflib
from myoquat.core.records import dataclass

__all__ = ["Match", "Matching", "match_names"]

SAME, SPELLING, MAPPED = "same name", "same letters and digits", "mapped"


@dataclass(frozen=True)
class Match:
    """A name of A and the one of B that is compared with it.

    first   name in A
    second  name in B
    rule    how the pair was found: "same name", "same letters and digits" (upper and lower case and separators are
            ignored), or "mapped" by the caller

    >>> from myoquat.analysis.comparison import Match
    >>> Match("knee_r", "Knee R", "same letters and digits").second
    'Knee R'
    """

    first: str
    second: str
    rule: str


@dataclass(frozen=True)
class Matching:
    """The pairs of names, and those of A and of B that are left over.

    >>> from myoquat.analysis.comparison import Match, Matching
    >>> Matching((Match("soleus_r", "soleus_r", "same name"),), only_first=("tibpost_r",)).names
    {'soleus_r': 'soleus_r'}
    """

    pairs: tuple[Match, ...] = ()
    only_first: tuple[str, ...] = ()
    only_second: tuple[str, ...] = field(default=())

    @property
    def names(self) -> dict[str, str]:
        """Names of B by those of A."""
        return {pair.first: pair.second for pair in self.pairs}


def match_names(
    what: str, first: Sequence[str], second: Sequence[str], mapping: Mapping[str, str] | None = None
) -> Matching:
    """Pair names: as `mapping` says, then equal ones, then those that agree in letters and digits and are unambiguous.

    ValueError for a mapping of names that do not exist, or of two names of A to one of B.
    """
    mapping = mapping or {}
    for name in mapping:
        _check(what, "A", name, first)
    for name in mapping.values():
        _check(what, "B", name, second)
        if list(mapping.values()).count(name) > 1:
            raise ValueError(f"{what}: two names are mapped to {name!r}")
    rules = {name: (other, MAPPED) for name, other in mapping.items()}
    taken = set(mapping.values())
    for name in first:
        if name not in rules and name in second and name not in taken:
            rules[name] = name, SAME
            taken.add(name)
    left = _by_letters([name for name in first if name not in rules])
    right = _by_letters([name for name in second if name not in taken])
    for letters, names in left.items():
        if len(names) == len(right.get(letters, ())) == 1:
            rules[names[0]] = right[letters][0], SPELLING
    pairs = tuple(Match(name, *rules[name]) for name in first if name in rules)
    found = {pair.second for pair in pairs}
    return Matching(
        pairs, tuple(name for name in first if name not in rules), tuple(name for name in second if name not in found)
    )


def _check(what: str, side: str, name: str, known: Collection[str]) -> None:
    if name not in known:
        near = difflib.get_close_matches(name, known, n=3)
        advice = f"; nearest: {', '.join(near)}" if near else ""
        raise ValueError(f"{what}: {side} has no {name!r}{advice}")


def _by_letters(names: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(re.sub(r"[\W_]+", "", name).casefold(), []).append(name)
    found.pop("", None)
    return found
