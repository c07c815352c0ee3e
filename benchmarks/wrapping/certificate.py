"""Paths past two and three surfaces at random: is any local minimum shorter, and is every jump flagged?

Surfaces of every type lie at random between two ends, none within another one. The length is compared with the shortest
local minimum that `shooting` or `tori` finds. This is done also where the path touches one surface at most: past an
ellipsoid alone there are several. Cylinders are long, in quadrant "all" or, sided, in quadrant "+x". A jump is a change
of length by more than 1e-6 m between two poses of a closed curve. Bisection brings these within 1e-12 m of each other.
"""

import json
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.wrapping.jumps import jumps
from benchmarks.wrapping.shooting import Quadric, shortest_lengths
from benchmarks.wrapping.tori import Ring, shortest_through_ring
from myoquat import kernels
from myoquat.core import unchecked
from myoquat.joints import rotation_matrix
from myoquat.joints.vectors import joined
from myoquat.muscle import WrapCylinder, WrapEllipsoid, WrapSphere, WrapTorus
from myoquat.muscle.wrapping.route import in_order
from myoquat.muscle.wrapping.segment_solver import Piece, over_surfaces
from myoquat.muscle.wrapping.single_surface_contact import Meeting, Site
from myoquat.muscle.wrapping.surfaces.base import Wrap

Array = np.ndarray
TYPES = {
    "sphere": WrapSphere(body="ground", radius=1.0),
    "ellipsoid": WrapEllipsoid(body="ground", radii=(1.0, 1.0, 1.0)),
    "cylinder": WrapCylinder(body="ground", radius=1.0, length=10.0),
    "sided cylinder": WrapCylinder(body="ground", radius=1.0, length=10.0, quadrant="+x"),
    "torus": WrapTorus(body="ground", ring_radius=2.0, tube_radius=1.0),
}
NUMBERS = {"sphere": 1, "ellipsoid": 3, "cylinder": 2, "sided cylinder": 2, "torus": 2}
GROUPS = {
    ("sphere", "sphere"): 1500,
    ("sphere", "ellipsoid"): 1500,
    ("ellipsoid", "ellipsoid"): 1200,
    ("sphere", "cylinder"): 1000,
    ("ellipsoid", "cylinder"): 1000,
    ("cylinder", "cylinder"): 700,
    ("sphere", "sided cylinder"): 700,
    ("ellipsoid", "sided cylinder"): 700,
    ("cylinder", "sided cylinder"): 500,
    ("sphere", "sphere", "sphere"): 150,
    ("sphere", "sphere", "ellipsoid"): 300,
    ("sphere", "ellipsoid", "ellipsoid"): 250,
    ("sphere", "ellipsoid", "cylinder"): 250,
    ("sphere", "ellipsoid", "sided cylinder"): 250,
    ("sphere", "torus"): 400,
    ("ellipsoid", "torus"): 400,
    ("cylinder", "torus"): 400,
}  # configurations of each, 10,000 without tori
CURVES, STEPS = 200, 400
SEED = 20261125  # of configurations that no constant of the solver was chosen by
SHORTER, JUMP, NEAR = 1e-6, 1e-6, 1e-6  # [m]
RUN = "MYOQUAT_CERTIFICATE"  # the names of environment variables begin so
SURFACE_POINTS = 300  # of a surface, at which overlap with another surface is tested


class _Part(NamedTuple):
    """A part of the run: configurations or curves past surfaces of some types, the share of all, and the seed."""

    work: str
    types: tuple[str, ...]
    share: float
    seed: int

    @property
    def key(self) -> str:
        return json.dumps(self)


def run() -> list[dict[str, Any]]:
    """A row for each group of surfaces, printed as soon as it is there.

    Environment variables set:

    - MYOQUAT_CERTIFICATE: a share of the configurations and curves
    - MYOQUAT_CERTIFICATE_SEED: another seed
    - MYOQUAT_CERTIFICATE_GROUPS: the groups, as "sphere, cylinder; cylinder, torus"
    - MYOQUAT_CERTIFICATE_WORK: "configurations" or "curves" alone
    - MYOQUAT_CERTIFICATE_PROCESSES: how many of them run side by side
    - MYOQUAT_CERTIFICATE_FILE: rows are appended to this file. Those of the same share and seed that it holds are not
      computed again
    """
    share, seed = float(os.environ.get(RUN, "1")), int(os.environ.get(f"{RUN}_SEED", SEED))
    names = os.environ.get(f"{RUN}_GROUPS", "")
    wanted = [tuple(name.strip() for name in group.split(",")) for group in names.split(";")] if names else list(GROUPS)
    works = os.environ.get(f"{RUN}_WORK", "configurations,curves").split(",")
    parts = [_Part(work, types, share, seed) for work in works for types in wanted]
    file = Path(os.environ.get(f"{RUN}_FILE", os.devnull))
    rows = {part: row for part in parts if (row := _rows_in(file).get(part.key))}
    with ProcessPoolExecutor(int(os.environ.get(f"{RUN}_PROCESSES", "1"))) as pool, file.open("a") as out:
        started = {pool.submit(_row, part): part for part in parts if part not in rows}
        for done in as_completed(started):
            rows[started[done]] = done.result()
            print(json.dumps({"key": started[done].key, "row": done.result()}), file=out, flush=True)
            print(*(f"{name}: {value}" for name, value in done.result().items()), sep="; ", flush=True)
    return [rows[part] for part in parts]


def _rows_in(file: Path) -> dict[str, dict[str, Any]]:
    """The rows of a file by the keys of their parts."""
    if not file.is_file():
        return {}
    return {own["key"]: own["row"] for own in map(json.loads, file.read_text().splitlines())}


def _row(part: _Part) -> dict[str, Any]:
    return _configurations(part) if part.work == "configurations" else _curves(part)


def _curves(part: _Part) -> dict[str, Any]:
    found, unflagged = curves(part.types, max(int(part.share * CURVES), 1), _generator(part))
    return {
        "work": "closed curves: jumps",
        "route": ", ".join(part.types),
        "jumps": found,
        "not flagged": unflagged,
    }


def _generator(part: _Part) -> np.random.Generator:
    """Of the configurations or curves of a group, the same for each selection of groups."""
    return np.random.default_rng([part.seed, list(GROUPS).index(part.types), int(part.work == "curves")])


def _configurations(part: _Part) -> dict[str, Any]:
    rows = scenes(part.types, max(int(part.share * GROUPS[part.types]), 1), _generator(part))
    found, flagged, touched = lengths(part.types, rows)
    shortest, bound = _reference(part.types, rows)
    gain, excess = found - shortest, found - bound
    return {
        "work": "random configurations: paths longer than the shortest local minimum by more than 1e-6 m",
        "route": ", ".join(part.types),
        "configurations": int(np.sum(~np.isnan(gain))),
        "bounded from below": int(np.sum(~np.isnan(bound))),
        "beyond the bound, m": float(np.max(excess, initial=0.0, where=~np.isnan(bound))),
        "below the bound, not flagged": int(np.sum((excess < -SHORTER) & ~flagged)),
        "one surface": int(np.sum(touched < 2)),
        "longer": int(np.sum(gain > SHORTER)),
        "not flagged": int(np.sum((gain > SHORTER) & ~flagged)),
        "worst, m": float(np.nanmax(gain)),
        "no path found by shooting": int(np.isinf(shortest).sum()),
        "flagged": int(flagged.sum()),
        "missed by shooting": int(np.sum(gain < -SHORTER)),
        "of these not flagged": int(np.sum((gain < -SHORTER) & ~flagged)),
    }


def certified(types: tuple[str, ...], row: Array) -> tuple[Array, Array, Array]:
    """(n,) [m] length of each path beyond the shortest local minimum; whether the path is flagged; and how many
    surfaces it touches."""
    found, flagged, touched = lengths(types, row)
    return found - shot(types, row), flagged, touched


def shot(types: tuple[str, ...], row: Array) -> Array:
    """(n,) [m] the length of the shortest path of each configuration; NaN where the reference does not know it."""
    return _reference(types, row)[0]


def _reference(types: tuple[str, ...], row: Array) -> tuple[Array, Array]:
    """(n,) [m] the length of the shortest path of each configuration, NaN where it is not known. Then (n,) a lower
    bound of it there, NaN elsewhere."""
    A, B, surfaces = _parts(types, row)
    bodies = [_body(*surface) for surface in surfaces]
    with np.errstate(all="ignore"):
        if not isinstance(bodies[-1], Ring):
            return shortest_lengths(A, B, bodies), np.full(len(A), np.nan)
        best, bound = shortest_through_ring(A, B, bodies[0], bodies[-1])
        return np.where(np.isnan(bound), best, np.nan), bound


def _body(name: str, c: Array, R: Array, sizes: Array) -> Quadric:
    if name == "torus":
        return Ring(c, R, np.concatenate([sizes, 0.0 * sizes[:, :1]], axis=1))
    return Quadric(c, R, _inverse(name, sizes), name.endswith("cylinder"), name.startswith("sided"))


def curves(types: tuple[str, ...], count: int, rng: np.random.Generator) -> tuple[int, int]:
    """Along closed curves of one end: jumps of the length, and those that are flagged on neither side."""
    row = scenes(types, count, rng)
    u = rng.normal(size=(2, count, 3)) * 0.06

    def poses(line: Array, share: Array) -> Array:
        x, angle = row[line].copy(), 2 * np.pi * share[:, None]
        x[:, 3:6] += u[0, line] * (np.cos(angle) - 1) + u[1, line] * np.sin(angle)
        return x

    def of(line: Array, share: Array) -> Array:
        return lengths(types, poses(line, share))[0][:, None]

    found = jumps(of, count, STEPS)
    if not len(found.line):
        return 0, 0
    sides = [lengths(types, poses(found.line, x)) for x in (found.before, found.after)]
    large = np.abs(sides[0][0] - sides[1][0]) > JUMP
    return int(large.sum()), int(np.sum(large & ~sides[0][1] & ~sides[1][1]))


def lengths(types: tuple[str, ...], row: Array) -> tuple[Array, Array, Array]:
    """(n,) [m] the lengths of paths past surfaces (n, size), whether they are flagged with more than WRAPPED, and how
    many surfaces they touch. Rows hold both ends, and of each surface position, unit quaternion and sizes."""
    found = paths(types, row)
    return found.length, found.flagged(NEAR), found.touched


class Paths(NamedTuple):
    """Paths of rows.

    length    (n,) [m]
    touched   (n,) how many surfaces each touches
    inside    (n,) whether a surface is passed over
    unsolved  (n,) whether a path is not certainly the shortest
    jump      (n,) [m] about how far an end would have to move to make the length jump
    """

    length: Array
    touched: Array
    inside: Array
    unsolved: Array
    jump: Array

    def flagged(self, near: float) -> Array:
        """(n,) whether a path is flagged with more than WRAPPED."""
        return np.asarray(self.inside | self.unsolved | (self.jump < near))


def paths(types: tuple[str, ...], row: Array, backwards: bool = False) -> Paths:
    """The paths past surfaces (n, size), or their reverse; rows are those of `lengths`."""
    y = _kernel(types, backwards)(row, threads=1)
    return Paths(y[:, 0], y[:, 1], y[:, 2] > 0, y[:, 3] > 0, y[:, 4])


@cache
def _kernel(types: tuple[str, ...], backwards: bool) -> Any:
    def formula(row: Array) -> Array:
        wraps, start, end = placed(types, row), row[0:3], row[3:6]
        piece, total, touched = solved(wraps[::-1], end, start) if backwards else solved(wraps, start, end)
        inside, jump = 0.0 * total, 0.0 * total + np.inf
        for c in piece.contacts:
            inside = inside + np.where(c.inside, 1.0, 0.0)
            jump = np.minimum(jump, np.minimum(c.jump[..., 0], c.jump[..., 1]))
        return np.stack([total, touched, inside, np.where(piece.unsolved, 1.0, 0.0), jump], axis=-1)

    return kernels.compile(formula, {"row": 6 + sum(7 + NUMBERS[name] for name in types)}, ["out"])


def placed(types: tuple[str, ...], row: Array) -> list[Wrap]:
    """The surfaces of rows (..., size)."""
    wraps, first = [], 6
    for number, name in enumerate(types):
        last = first + 7 + NUMBERS[name]
        place = {"position": row[..., first : first + 3], "orientation": row[..., first + 3 : first + 7]}
        named = {"body": "ground", "name": str(number)}
        wraps.append(unchecked(TYPES[name].shaped(row[..., first + 7 : last]), {**named, **place}))
        first = last
    return wraps


def solved(wraps: Sequence[Wrap], start: Array, end: Array) -> tuple[Piece, Array, Array]:
    """The path between two points (..., 3) of the ground past surfaces on it; its length (...) [m]; and how many (...)
    surfaces it touches."""
    poses, ends = {"ground": (np.eye(3), np.zeros(3))}, (Site(start), Site(end))
    piece = over_surfaces([Meeting.of(wrap, *ends, poses) for wrap in wraps])
    spans = [joined([c.P, c.Q, c.arc[..., None], np.where(c.on, 1.0, 0.0)[..., None]]) for c in piece.contacts]
    order = [place + 0.0 * c.arc for c, place in piece.in_order]
    touched = 0.0 * start[..., 0]
    total = touched
    for span in in_order(order, spans)[0]:
        on = span[..., 7]
        total = total + on * (_size(span[..., :3] - start) + span[..., 6])
        start, touched = np.where((on > 0)[..., None], span[..., 3:6], start), touched + on
    return piece, total + _size(end - start), touched


def scenes(types: tuple[str, ...], count: int, rng: np.random.Generator) -> Array:
    """(count, size) random rows for `lengths`, of surfaces that lie outside of each other and of the ends."""
    found: list[Array] = []
    while sum(map(len, found)) < count:
        row = _drawn(types, 4 * count, rng)
        found.append(row[_apart(types, row)])
    return np.concatenate(found)[:count]


def _drawn(types: tuple[str, ...], count: int, rng: np.random.Generator) -> Array:
    along = rng.normal(size=(count, 3))
    along *= 0.25 * rng.uniform(0.5, 1.2, (count, 1)) / np.linalg.norm(along, axis=1)[:, None]
    columns = [sign * along + rng.uniform(-0.03, 0.03, (count, 3)) for sign in (-1.0, 1.0)]
    for name in types:
        aside = 0.03 if name == "torus" else 0.06 * rng.uniform(0.02, 1.0, (count, 1))
        columns.append(rng.uniform(-0.8, 0.8, (count, 1)) * along + aside * rng.normal(size=(count, 3)))
        turned = rng.normal(size=(count, 4))
        columns += [turned / np.linalg.norm(turned, axis=1)[:, None], _sizes(name, count, rng)]
    return np.concatenate(columns, axis=1)


def _sizes(name: str, count: int, rng: np.random.Generator) -> Array:
    if name == "sphere":
        return rng.uniform(0.015, 0.08, (count, 1))
    if name == "ellipsoid":
        return rng.uniform(0.03, 0.09, (count, 1)) * rng.uniform(0.35, 1.0, (count, 3))
    if name.endswith("cylinder"):
        return np.concatenate([rng.uniform(0.01, 0.05, (count, 1)), np.full((count, 1), 10.0)], axis=1)
    tube = rng.uniform(0.006, 0.02, (count, 1))
    return np.concatenate([tube * rng.uniform(2.0, 4.0, (count, 1)), tube], axis=1)


def _parts(types: tuple[str, ...], row: Array) -> tuple[Array, Array, list[tuple[str, Array, Array, Array]]]:
    """Both ends (n, 3), and of each surface its type, position, axes and sizes."""
    surfaces, first = [], 6
    for name in types:
        last = first + 7 + NUMBERS[name]
        R = np.asarray(rotation_matrix(row[:, first + 3 : first + 7]))
        surfaces.append((name, row[:, first : first + 3], R, row[:, first + 7 : last]))
        first = last
    return row[:, :3], row[:, 3:6], surfaces


def _inverse(name: str, sizes: Array) -> Array:
    """(n, 3) inverse half axes."""
    if name.endswith("cylinder"):
        return np.concatenate([1 / sizes[:, :1], 1 / sizes[:, :1], 0.0 * sizes[:, :1]], axis=1)
    return np.asarray(1 / sizes * np.ones(3))


def _apart(types: tuple[str, ...], row: Array) -> Array:
    """(n,) whether no end and no point of a surface lies in another surface."""
    A, B, surfaces = _parts(types, row)
    clear = np.ones(len(row), dtype=bool)
    for i, (name, c, R, sizes) in enumerate(surfaces):
        others = [x for j, x in enumerate(surfaces) if j != i]
        points = [A[:, None], B[:, None], *(o[1][:, None] + _points(o) @ np.swapaxes(o[2], 1, 2) for o in others)]
        x = (np.concatenate(points, axis=1) - c[:, None]) @ R
        held = TYPES[name].shaped(np.moveaxis(sizes[:, None], -1, -1)).holds(x / 1.02)
        clear &= ~held.any(axis=1)
    return clear


def _points(surface: tuple[str, Array, Array, Array]) -> Array:
    """(n, SURFACE_POINTS, 3) of a surface, in its frame."""
    name, _, _, sizes = surface
    i = np.arange(SURFACE_POINTS) + 0.5
    turn, z = np.pi * (1 + 5**0.5) * i, 1 - 2 * i / SURFACE_POINTS
    flat = np.stack([np.cos(turn), np.sin(turn)], axis=-1)
    if name.endswith("cylinder"):
        height = np.broadcast_to(0.6 * z[:, None], (len(sizes), SURFACE_POINTS, 1))
        return np.concatenate([sizes[:, :1, None] * flat, height], axis=-1)
    if name == "torus":
        around, tube = 2 * np.pi * i / SURFACE_POINTS, 10.0 * turn
        rho = sizes[:, :1] + sizes[:, 1:] * np.cos(tube)
        return np.stack([rho * np.cos(around), rho * np.sin(around), sizes[:, 1:] * np.sin(tube)], axis=-1)
    ball = np.concatenate([np.sqrt(1 - z * z)[:, None] * flat, z[:, None]], axis=-1)
    return np.asarray(sizes[:, None] * ball)


def _size(v: Array) -> Any:
    return np.sqrt(np.sum(v * v, axis=-1))
