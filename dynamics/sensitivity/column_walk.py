"""Derivatives of forward dynamics as a walk over cells: one column of forces after the other crosses one joint.

The formulas are those of `myoquat.dynamics.sensitivity.crossings`, each traced once for all joints of a kind.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from myoquat.core.typing import Array
from myoquat.dynamics.sensitivity.columns import work
from myoquat.dynamics.sensitivity.crossings import Carried, Crossing
from myoquat.dynamics.sensitivity.responses import Mobility
from myoquat.dynamics.sensitivity.sources import Source
from myoquat.joints.motion import Pair
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.multibody.tree import WORLD
from myoquat.kernels.control_flow.cell_walk import Block, Run, VisitKind, cell_walk, walks_in_loops
from myoquat.kernels.control_flow.crossovers import MinRows
from myoquat.kernels.symbolic.arrays import SymbolArray

__all__ = ["walked_derivatives", "walks"]

_FORCES = 18  # numbers of the forces of a column


def walks(system: ArticulatedSystem, q: Array) -> bool:
    """Whether the columns of a system cross its joints in loops."""
    return MinRows.CROSSINGS.reached_by(system.nu) and walks_in_loops(q)


def walked_derivatives(system: ArticulatedSystem, sources: Sequence[Source]) -> Array:
    """(nu, 3 nu) of udot by a small motion, by u and by tau, of symbols."""
    walk = _Walk(system.nu, sources)
    arrived: list[list[list[int]]] = [[] for _ in sources]
    for i in reversed(range(len(sources))):
        source, groups = sources[i], arrived[i]
        walk.put_own(source)
        if len(groups) > 1:
            walk.visit_apart(source, groups)
        below = [place for group in groups for place in group]
        walk.visit_crossing(source, below)
        if source.link.parent != WORLD:
            arrived[source.link.parent].append([*source.places, *below])
    return walk.result()


class _Numbers(NamedTuple):
    """A record of arrays as one row of numbers: its shape, a nest of tuples, and the row."""

    nest: Any
    row: list[Any]

    @classmethod
    def of(cls, record: Any) -> "_Numbers":
        """Of arrays, or tuples of records."""
        if isinstance(record, tuple):
            parts = [cls.of(part) for part in record]
            return cls((type(record), tuple(part.nest for part in parts)), [x for part in parts for x in part.row])
        array = np.asarray(record)
        return cls(array.shape, list(array.flat))


def _record(nest: Any, row: Array) -> tuple[Any, Array]:
    """The record of a row, and what of the row is left."""
    if nest and isinstance(nest[0], type):
        kind, parts, found = nest[0], nest[1], []
        for part in parts:
            record, row = _record(part, row)
            found.append(record)
        return (tuple(found) if kind is tuple else kind(*found)), row
    size = int(np.prod(nest, dtype=int))
    return row[:size].reshape(nest), row[size:]


class _Table:
    """The visits of a kind while they are collected: rows of numbers, those of each block of every visit."""

    def __init__(self, formula: Callable[..., Array], sizes: tuple[list[Array], list[Array]]) -> None:
        self.formula, (self.takes, self.gives) = formula, sizes
        self.firsts: list[tuple[int, ...]] = []

    def kind(self) -> VisitKind:
        """The kind."""
        firsts = np.array(self.firsts, dtype=np.int64).T
        blocks = [Block(first, behind) for first, behind in zip(firsts, [*self.takes, *self.gives], strict=True)]
        return VisitKind(self.formula, tuple(blocks[: len(self.takes)]), tuple(blocks[len(self.takes) :]))


class _Walk:
    """Cells: the result by rows, a row of forces for every column, a row of accelerations for those that meet others, and
    the numbers of the joints."""

    def __init__(self, nu: int, sources: Sequence[Source]) -> None:
        self.nu, self.a = nu, sources[0].passed.rows.shape[-2]
        width = _FORCES + self.a
        self.cells: list[Any] = [0.0] * (3 * nu * nu)
        self.forces = [len(self.cells) + width * k for k in range(nu)]
        self.cells += [None] * (width * nu)
        self.moved = [len(self.cells) + 6 * k for k in range(nu)]
        self.cells += [None] * (6 * nu)
        self.tables: dict[Hashable, _Table] = {}
        self.order: list[Run] = []
        self.shared = _shared_numbers(sources)

    def result(self) -> Array:
        """The derivatives after the walk."""
        cells = np.empty(len(self.cells), dtype=object)
        cells[:] = self.cells
        kinds = [table.kind() for table in self.tables.values()]
        for block in (block for kind in kinds for block in kind.gives):
            written = (block.first[:, None] + block.behind).ravel()
            cells[written[written < 3 * self.nu * self.nu]] = None
        return cell_walk(cells, kinds, self.order, 3 * self.nu * self.nu).reshape(self.nu, 3 * self.nu)

    def put_own(self, source: Source) -> None:
        """The entries of a joint itself, and the forces that it passes on."""
        nu = self.nu
        for turn, block in enumerate(source.own):
            for i, row in zip(source.places, np.asarray(block), strict=True):
                for k, entry in zip(source.places, row, strict=True):
                    self.cells[3 * nu * i + turn * nu + k] = entry
        for column, place in enumerate(source.places):
            parts = [np.asarray(part)[..., column] for F in source.passed[:3] for part in F]
            row = np.concatenate([*parts, np.asarray(source.passed.rows)[..., column]])
            self.cells[self.forces[place] : self.forces[place] + len(row)] = list(row)

    def visit_crossing(self, source: Source, below: Sequence[int]) -> None:
        """All columns from below cross a joint."""
        if not below or not (source.places or source.link.parent != WORLD):
            return
        numbers, hung, own = _Numbers.of(source.crossing), source.link.parent != WORLD, len(source.places)
        key, known = self.shared[source.link.u.start, source.link.name]
        if key not in self.tables:
            formula = _crossing_formula(numbers.nest, known, hung)
            self.tables[key] = _Table(formula, self._crossing_blocks(len(known) - len(_kept(known)), hung, own))
        data = len(self.cells)
        self.cells += [x for x, fixed in zip(numbers.row, known, strict=True) if fixed is None]
        first = source.link.u.start
        rows = [
            (data, self.forces[k], *([self.forces[k]] * hung), *([3 * self.nu * first + k, 3 * self.nu * k + first] * bool(own)))
            for k in below
        ]
        self._run(key, rows)

    def _crossing_blocks(self, size: int, hung: bool, own: int) -> tuple[list[Array], list[Array]]:
        """How far the cells of each block lie behind the first: of numbers, forces, and what is written."""
        nu, force = self.nu, np.arange(_FORCES + self.a)
        above = np.array([turn * nu + 3 * nu * i for turn in range(3) for i in range(own)])
        below = np.array([turn * nu + i for turn in range(3) for i in range(own)])
        return [np.arange(size), force], [*([force] * hung), *([above, below] * bool(own))]

    def visit_apart(self, source: Source, groups: Sequence[Sequence[int]]) -> None:
        """Columns of different groups meet on a link: each moves it, and the others feel that."""
        nu = self.nu
        mobility, data = _Numbers.of(source.mobility), len(self.cells)
        self.cells += mobility.row
        if "moved" not in self.tables:
            tau = np.arange(12, _FORCES)
            self.tables["moved"] = _Table(_moved, ([np.arange(21), tau], [np.arange(6)]))
            self.tables["both"] = _Table(_both, ([np.arange(6), np.arange(_FORCES)], [nu * np.arange(3), np.zeros(1, int)]))
            self.tables["one"] = _Table(_one, ([np.arange(6), np.arange(12)], [nu * np.arange(2)]))
        self._run("moved", [(data, self.forces[k], self.moved[k]) for group in groups for k in group])
        pairs = [(i, k) for n, group in enumerate(groups) for other in groups[:n] for i in group for k in other]
        at = [3 * nu * i + k for i, k in pairs]
        self._run("both", [(self.moved[i], self.forces[k], x, 3 * nu * k + 2 * nu + i)
                           for (i, k), x in zip(pairs, at, strict=True)])  # fmt: skip
        self._run("one", [(self.moved[k], self.forces[i], 3 * nu * k + i) for i, k in pairs])

    def _run(self, key: Hashable, rows: Sequence[tuple[int, ...]]) -> None:
        """Visits of a kind, by the first cells of their blocks."""
        table = self.tables[key]
        self.order.append(Run(list(self.tables).index(key), len(table.firsts), len(table.firsts) + len(rows)))
        table.firsts += rows


def _kept(known: Sequence[Any]) -> list[Any]:
    return [x for x in known if x is not None]


def _shared_numbers(sources: Sequence[Source]) -> dict[tuple[int, str], tuple[Hashable, list[Any]]]:
    """Of every joint the key of its kind, and the numbers that are the same constants in all joints of it, else None:
    joints of a kind have zeros in the same places."""
    kinds: dict[Hashable, list[tuple[tuple[int, str], list[Any]]]] = {}
    for source in sources:
        nest, row = _Numbers.of(source.crossing)
        zeros = tuple(isinstance(x, float) and x == 0.0 for x in row)
        key = nest, zeros, source.link.parent != WORLD, len(source.places)
        kinds.setdefault(key, []).append(((source.link.u.start, source.link.name), row))
    found = {}
    for key, members in kinds.items():
        columns = list(zip(*(row for _, row in members), strict=True))
        known = [x[0] if all(isinstance(y, float) for y in x) and len(set(x)) == 1 else None for x in columns]
        found |= {link: (key, known) for link, _ in members}
    return found


def _crossing_formula(nest: Any, known: Sequence[Any], hung: bool) -> Callable[..., Array]:
    """One column crosses a joint: (numbers, forces) -> the forces on the parent, and the entries."""
    free = [i for i, x in enumerate(known) if x is None]

    def crossing(numbers: Array, forces: Array) -> Array:
        row = np.array([0.0 if x is None else x for x in known], dtype=object)
        row[free] = np.asarray(numbers)
        crossing, _ = _record(nest, row.view(SymbolArray))
        carried = _carried(forces)
        found: list[Any] = []
        if hung:
            passed = crossing.passed(carried)
            found += [part[..., 0] for F in passed[:3] for part in F] + [passed.rows[..., 0]]
        if crossing.V[0].shape[-1]:
            above, below = crossing.entries(carried)
            found += [block[:, 0] for block in above] + [block[0] for block in below]
        joined: Array = np.concatenate(found)
        return joined

    return crossing


def _carried(forces: Array) -> Carried:
    """A column of its forces (18 + a,)."""
    parts = [forces[start : start + 3, None] for start in range(0, _FORCES, 3)]
    pairs: list[Pair] = [(parts[k], parts[k + 1]) for k in range(0, 6, 2)]
    return Carried(*pairs, forces[_FORCES:, None])


def _moved(mobility: Array, tau: Array) -> Array:
    """(6,) the acceleration by a unit of a torque."""
    A, C, E = mobility[:6], mobility[6:15].reshape(3, 3), mobility[15:]
    found: Array = np.concatenate(Mobility(A, C, E).times((tau[:3, None], tau[3:, None])))[:, 0]
    return found


def _felt(moved: Array, forces: Array) -> list[Array]:
    """What forces do at an acceleration, (1,) each."""
    columns = moved[:3, None], moved[3:, None]
    parts = [(forces[k : k + 3, None], forces[k + 3 : k + 6, None]) for k in range(0, len(forces), 6)]
    return [work(columns, F)[0] for F in parts]


def _both(moved: Array, forces: Array) -> Array:
    """(4,) of dq, du and torques, the last once more for its mirrored place."""
    found = _felt(moved, forces)
    joined: Array = np.concatenate([*found, found[-1]])
    return joined


def _one(moved: Array, forces: Array) -> Array:
    """(2,) of dq and du."""
    joined: Array = np.concatenate(_felt(moved, forces))
    return joined
