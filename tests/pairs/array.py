"""Covering arrays of strength 2: rows of levels in which every pair of levels of two factors occurs."""

from collections.abc import Mapping, Sequence

import numpy as np

CANDIDATES = 4  # rows that are tried for each row of the array


def covering_array(factors: Mapping[str, Sequence[str]], rng: np.random.Generator) -> list[dict[str, str]]:
    """Rows {factor: level}, built greedily: each row is the one of several candidates that has most new pairs.

    A candidate begins with a pair that is missing, and then gives every other factor, in random order, the level that
    makes most new pairs with those before.
    """
    names, sizes = list(factors), [len(levels) for levels in factors.values()]
    n = len(names)
    # new[i, a, j, b]: whether the pair of level a of factor i and level b of factor j is still missing
    new = np.zeros((n, max(sizes), n, max(sizes)), dtype=bool)
    for i, j in np.argwhere(~np.eye(n, dtype=bool)):
        new[i, : sizes[i], j, : sizes[j]] = True
    rows = []
    while new.any():
        missing = np.argwhere(new)
        starts = missing[rng.integers(len(missing), size=CANDIDATES)]
        rows.append(max((_candidate(new, sizes, start, rng) for start in starts), key=lambda row: _gain(new, row)))
        at = np.arange(n)
        new[at[:, None], rows[-1][:, None], at[None], rows[-1][None]] = False
    return [{name: factors[name][k] for name, k in zip(names, row, strict=True)} for row in rows]


def _candidate(new: np.ndarray, sizes: Sequence[int], start: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    n = len(sizes)
    row = np.full(n, -1)
    i, a, j, b = start
    row[i], row[j] = a, b
    for k in rng.permutation([k for k in range(n) if k not in (i, j)]):
        known = np.flatnonzero(row >= 0)
        gains = new[k, : sizes[k]][:, known, row[known]].sum(axis=1) + 0.5 * rng.random(sizes[k])
        row[k] = np.argmax(gains)
    return row


def _gain(new: np.ndarray, row: np.ndarray) -> int:
    at = np.arange(len(row))
    return int(new[at[:, None], row[:, None], at[None], row[None]].sum())


def missing_pairs(factors: Mapping[str, Sequence[str]], rows: Sequence[Mapping[str, str]]) -> set[tuple[str, ...]]:
    """The pairs (factor, level, factor, level) that no row has."""
    names = list(factors)
    pairs = {(f, a, g, b) for k, f in enumerate(names) for g in names[k + 1 :] for a in factors[f] for b in factors[g]}
    return pairs - {(f, row[f], g, row[g]) for row in rows for k, f in enumerate(names) for g in names[k + 1 :]}
