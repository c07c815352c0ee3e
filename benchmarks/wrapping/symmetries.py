"""Paths past surfaces, and their reversed, mirrored and scaled copies: do all have one length, and is none shorter?

No reference is needed to see that a path and its copy differ. A difference counts where it exceeds 1e-9 of the length,
and as silent where neither of both is flagged. Poses come from three very different generators:

- line: the surfaces lie near the line between the ends
- overlap: they lie around one point, so that they overlap or nest
- contact: each end lies on a surface, or up to 1 cm above it

Flags are counted twice: of all poses, and of those at which no end lies inside a surface. Where no ring is, a share of
the poses is also compared with the shortest local minimum that `shooting` finds. It leaves out poses at which an end
lies on a surface, or no path clears all surfaces.
"""

import itertools
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.wrapping.certificate import NUMBERS, TYPES, Paths, paths, placed, shot

Array = np.ndarray
LETTERS = {
    "S": ("sphere", (0.05,)),
    "E": ("ellipsoid", (0.04, 0.07, 0.05)),
    "C": ("cylinder", (0.04, 10.0)),
    "D": ("sided cylinder", (0.04, 10.0)),
    "T": ("torus", (0.08, 0.02)),
}
GROUPS = ["SE", "EE", "EC", "ED", "CC", "CD", "DE", "SEE", "SED", "SCE", "ST", "ET", "CT"]
SCALES = 0.001, 1000.0
POSES, COMPARED, SEED = 20_000, 100, 1
NEAR_M, SAME, LONGER_M = 1e-6, 1e-9, 1e-6  # of a jump; of the length; beyond a reference
ON_SURFACE = 0.5  # share of the ends that lie on a surface, to round-off
RUN = "MYOQUAT_SYMMETRIES"  # the names of environment variables begin so


def run() -> list[dict[str, Any]]:
    """A row for each group and generator, printed as soon as it is there.

    Environment variables set:

    - MYOQUAT_SYMMETRIES: a share of the poses
    - MYOQUAT_SYMMETRIES_GROUPS: the groups, as "SE CD"
    - MYOQUAT_SYMMETRIES_GENERATORS: the generators, as "line overlap"
    - MYOQUAT_SYMMETRIES_SEED: another seed
    - MYOQUAT_SYMMETRIES_COMPARED: how many poses are compared with the reference
    """
    groups = os.environ.get(f"{RUN}_GROUPS", " ".join(GROUPS)).split()
    generators = os.environ.get(f"{RUN}_GENERATORS", " ".join(GENERATORS)).split()
    count, seed = int(float(os.environ.get(RUN, "1")) * POSES), int(os.environ.get(f"{RUN}_SEED", SEED))
    compared = int(os.environ.get(f"{RUN}_COMPARED", COMPARED))
    rows = []
    for group in groups:
        for generator in generators:
            rows.append(_row(group, generator, count, compared, seed))
            print(*(f"{name}: {value}" for name, value in rows[-1].items()), sep="; ", flush=True)
    return rows


def _row(group: str, generator: str, count: int, compared: int, seed: int) -> dict[str, Any]:
    types, row = drawn(group, generator, count, seed)
    found = paths(types, row)
    flagged = found.flagged(NEAR_M)
    result: dict[str, Any] = {
        "work": f"{count} poses of {group}",
        "route": generator,
        "flagged": f"{flagged.mean():.2%}",
        "ends outside": f"{flagged[_ends_outside(types, row)].mean():.2%}",
        "unsolved": int(found.unsolved.sum()),
    }
    for name, (copy, scale) in copies(types, row).items():
        differs = ~(np.abs(copy.length / scale - found.length) <= SAME * found.length)
        silent = differs & ~flagged & ~copy.flagged(NEAR_M * scale)
        worst = np.abs(copy.length / scale - found.length)[silent].max(initial=0.0)
        result[name] = f"{differs.sum()}, {silent.sum()} silent, {worst:.1e} m"
    if compared and "T" not in group:
        shortest = shot(types, row[:compared])
        longer = found.length[:compared] - shortest > LONGER_M
        result["reference"] = int(np.isfinite(shortest).sum())
        result["longer"] = f"{longer.sum()}, {(longer & ~flagged[:compared]).sum()} silent"
    return result


def _ends_outside(types: tuple[str, ...], row: Array) -> Array:
    """(n,) whether no end lies inside a surface, where a path is always flagged."""
    held = [wrap.holds(wrap.seen(x)) for wrap in placed(types, row) for x in (row[:, :3], row[:, 3:6])]
    return np.asarray(~np.any(held, axis=0))


def copies(types: tuple[str, ...], row: Array) -> dict[str, tuple[Paths, float]]:
    """The paths of reversed, mirrored and scaled copies of rows (n, size), and by what these are scaled."""
    found = {
        "reversed": (paths(types, row, backwards=True), 1.0),
        "mirrored": (paths(types, _mirrored(types, row)), 1.0),
    }
    return found | {f"times {scale:g}": (paths(types, _scaled(types, row, scale)), scale) for scale in SCALES}


def _mirrored(types: tuple[str, ...], row: Array) -> Array:
    """At the plane z = 0. A surface is symmetric about the plane z = 0 of its own frame too."""
    flip = np.array([1.0, 1.0, -1.0])
    turn = np.array([1.0, -1.0, -1.0, 1.0])
    blocks = [np.concatenate([flip * x[:, :3], turn * x[:, 3:7], x[:, 7:]], axis=1) for x in _blocks(types, row)]
    return np.concatenate([flip * row[:, :3], flip * row[:, 3:6], *blocks], axis=1)


def _scaled(types: tuple[str, ...], row: Array, scale: float) -> Array:
    blocks = [np.concatenate([scale * x[:, :3], x[:, 3:7], scale * x[:, 7:]], axis=1) for x in _blocks(types, row)]
    return np.concatenate([scale * row[:, :6], *blocks], axis=1)


def _blocks(types: tuple[str, ...], row: Array) -> list[Array]:
    """Position, quaternion and sizes of each surface."""
    ends = np.cumsum([6, *(7 + NUMBERS[name] for name in types)])
    return [row[:, a:b] for a, b in itertools.pairwise(ends)]


# ---- generators ----------------------------------------------------------------------------------------------


def drawn(group: str, generator: str, count: int, seed: int) -> tuple[tuple[str, ...], Array]:
    """The types of the surfaces of a group, and random rows (count, size) for `paths`."""
    types = tuple(LETTERS[letter][0] for letter in group)
    rng = np.random.default_rng([seed, *map(ord, group + generator)])
    return types, GENERATORS[generator](group, count, rng)


def _line(group: str, count: int, rng: np.random.Generator) -> Array:
    A, B = _far_ends(count, rng)
    return _joined(group, A, B, _along(group, count, rng), _turned(group, count, rng))


def _overlap(group: str, count: int, rng: np.random.Generator) -> Array:
    A, B = _far_ends(count, rng)
    middles = [rng.uniform(-0.04, 0.04, (count, 3)) for _ in group]
    return _joined(group, A, B, middles, _turned(group, count, rng))


def _contact(group: str, count: int, rng: np.random.Generator) -> Array:
    middles, turned = _along(group, count, rng), _turned(group, count, rng)
    ends = []
    for i in (0, len(group) - 1):
        name, sizes = LETTERS[group[i]]
        wrap = TYPES[name].shaped(np.broadcast_to(np.array(sizes), (count, len(sizes))))
        on = wrap.onto(rng.normal(size=(count, 3)) * (0.05, 0.05, 0.03))
        n = wrap.normal(on)
        above = rng.uniform(0.0, 0.01, (count, 1)) * (rng.uniform(size=(count, 1)) > ON_SURFACE)
        x = on + above * n / np.linalg.norm(n, axis=1)[:, None]
        ends.append(middles[i] + _rotated(turned[i], x))
    return _joined(group, ends[0], ends[1], middles, turned)


def _far_ends(count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    A = np.broadcast_to([-0.3, 0.0, 0.0], (count, 3))
    return A, np.column_stack([rng.uniform(0.2, 0.35, count), rng.uniform(-0.15, 0.15, (count, 2))])


def _along(group: str, count: int, rng: np.random.Generator) -> list[Array]:
    near = np.linspace(-0.13, 0.13, len(group))
    aside = (rng.uniform(-0.06, 0.06, (count, 2)) for _ in group)
    return [np.column_stack([x + rng.uniform(-0.03, 0.03, count), yz]) for x, yz in zip(near, aside, strict=True)]


def _turned(group: str, count: int, rng: np.random.Generator) -> list[Array]:
    """Unit quaternions."""
    found = [rng.normal(size=(count, 4)) for _ in group]
    return [Q / np.linalg.norm(Q, axis=1)[:, None] for Q in found]


def _rotated(Q: Array, x: Array) -> Array:
    """x (n, 3) turned by unit quaternions (n, 4)."""
    twice = 2 * np.cross(Q[:, 1:], x)
    return np.asarray(x + Q[:, :1] * twice + np.cross(Q[:, 1:], twice))


def _joined(group: str, A: Array, B: Array, middles: list[Array], turned: list[Array]) -> Array:
    columns = [A, B]
    for letter, x, Q in zip(group, middles, turned, strict=True):
        columns += [x, Q, np.broadcast_to(LETTERS[letter][1], (len(A), len(LETTERS[letter][1])))]
    return np.concatenate(columns, axis=1)


GENERATORS: dict[str, Callable[[str, int, np.random.Generator], Array]] = {
    "line": _line,
    "overlap": _overlap,
    "contact": _contact,
}
