"""Derivatives of forward dynamics as a walk over cells: one column of forces after the other crosses one joint.

The formulas are those of `myoquat.dynamics.sensitivity.crossings`, each traced once for all joints of a type.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from myoquat.core.typing import Array
from myoquat.dynamics.sensitivity.columns import work
from myoquat.dynamics.sensitivity.crossings import Carried, Edge, about_origin, at_point
from myoquat.dynamics.sensitivity.responses import Mobility
from myoquat.dynamics.sensitivity.sources import Source
from myoquat.joints.motion import Pair
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.multibody.tree import WORLD
from myoquat.kernels.control_flow.cell_walk import Visits, VisitTable, walks_in_loops
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
    arrived: list[list[tuple[list[int], Any]]] = [[] for _ in sources]
    for i in reversed(range(len(sources))):
        source, groups = sources[i], arrived[i]
        walk.put_own(source)
        if len(groups) > 1:
            walk.visit_apart(source, groups)
        for indices, p in groups:
            walk.visit_crossing(source, indices, p)
        indices = [*source.indices, *(place for group, _ in groups for place in group)]
        if source.link.parent != WORLD and indices:
            arrived[source.link.parent].append((indices, source.origin))
    return walk.result()


class _Numbers(NamedTuple):
    """A record of arrays as one row of numbers: its shape, a nest of tuples, and the row."""

    nest: Any
    row: list[Any]

    @classmethod
    def of(cls, record: Any) -> "_Numbers":
        """Of arrays, None, or tuples of records."""
        if record is None:
            return cls(None, [])
        if isinstance(record, tuple):
            parts = [cls.of(part) for part in record]
            return cls((type(record), tuple(part.nest for part in parts)), [x for part in parts for x in part.row])
        array = np.asarray(record)
        return cls(array.shape, list(array.flat))

    @property
    def zeros(self) -> tuple[bool, ...]:
        """Which numbers are zero in every state."""
        return tuple(isinstance(x, float) and x == 0.0 for x in self.row)


def _record(nest: Any, row: Array) -> tuple[Any, Array]:
    """The record of a row, and what of the row is left."""
    if nest is None:
        return None, row
    if nest and isinstance(nest[0], type):
        visit_type, parts, found = nest[0], nest[1], []
        for part in parts:
            record, row = _record(part, row)
            found.append(record)
        return (tuple(found) if visit_type is tuple else visit_type(*found)), row
    size = int(np.prod(nest, dtype=int))
    return row[:size].reshape(nest), row[size:]


class _Walk:
    """Cells: the result by rows, a row of forces for every column, a row of accelerations for those that meet others,
    and the numbers of the joints."""

    def __init__(self, nu: int, sources: Sequence[Source]) -> None:
        self.nu, self.width = nu, _FORCES + sources[0].passed.rows.shape[-2]
        self.cells: list[Any] = [0.0] * (3 * nu * nu)
        self.forces = [len(self.cells) + self.width * k for k in range(nu)]
        self.cells += [None] * (self.width * nu)
        self.moved = [len(self.cells) + 6 * k for k in range(nu)]
        self.cells += [None] * (6 * nu)
        self.zeros: list[tuple[bool, ...]] = [()] * nu  # of every column which numbers of its forces are zero now
        self.visits = Visits()

    def result(self) -> Array:
        """The derivatives after the walk."""
        return self.visits.walked(self.cells, 3 * self.nu * self.nu).reshape(self.nu, 3 * self.nu)

    def put_own(self, source: Source) -> None:
        """The entries of a joint itself, and the forces that it passes on."""
        nu = self.nu
        for turn, block in enumerate(source.own):
            for i, row in zip(source.indices, np.asarray(block), strict=True):
                for k, entry in zip(source.indices, row, strict=True):
                    self.cells[3 * nu * i + turn * nu + k] = entry
        parts = [part for F in source.passed[:3] for part in F]
        for column, place in enumerate(source.indices):
            numbers = _Numbers.of(tuple(np.asarray(part)[..., column] for part in (*parts, source.passed.rows)))
            self.cells[self.forces[place] : self.forces[place] + self.width] = numbers.row
            self.zeros[place] = numbers.zeros

    def visit_crossing(self, source: Source, indices: Sequence[int], p: Any) -> None:
        """Columns that came through one joint cross the next."""
        edge = _Numbers.of(source.crossing.edge(p))
        tables, data = self.visits.tables, len(self.cells)
        self.cells += edge.row
        together: dict[tuple[bool, ...], list[int]] = {}
        for k in indices:
            together.setdefault(self.zeros[k], []).append(k)
        for zeros, own in together.items():
            key = edge.nest, edge.zeros, zeros
            visit = _CrossingVisit(edge, zeros)
            if key not in tables:
                above, below = self._entries(len(source.indices))
                takes = [np.flatnonzero(~np.array(edge.zeros)), np.flatnonzero(~np.array(zeros))]
                gives = [visit.kept, above, below]
                tables[key] = VisitTable(visit, takes, [block for block in gives if block.size])
            first, hung, entries = source.link.u.start, bool(visit.kept.size), bool(source.indices)
            rows = []
            for k in own:
                written = [self.forces[k]] * hung + [3 * self.nu * first + k, 3 * self.nu * k + first] * entries
                rows.append((data, self.forces[k], *written))
            self.visits.add(key, rows)
            for k in own:
                self.zeros[k] = visit.passed_zeros

    def _entries(self, own: int) -> tuple[Array, Array]:
        """How far the entries of a joint lie behind the first, in its rows and in its columns."""
        nu = self.nu
        above = np.array([turn * nu + 3 * nu * i for turn in range(3) for i in range(own)], dtype=int)
        return above, np.array([turn * nu + i for turn in range(3) for i in range(own)], dtype=int)

    def visit_apart(self, source: Source, groups: Sequence[tuple[Sequence[int], Any]]) -> None:
        """Columns of different groups meet on a link: each moves it, and the others feel that."""
        nu, tables, data = self.nu, self.visits.tables, len(self.cells)
        self.cells += _Numbers.of(source.mobility).row
        points = []
        for _, p in groups:
            points.append(len(self.cells))
            self.cells += list(np.asarray(p))
        if "moved" not in tables:
            point, six = np.arange(3), np.arange(6)
            tables["moved"] = VisitTable(_moved, [np.arange(21), point, np.arange(12, _FORCES)], [six])
            tables["both"] = VisitTable(_both, [six, point, np.arange(_FORCES)], [nu * point, np.zeros(1, dtype=int)])
            tables["one"] = VisitTable(_one, [six, point, np.arange(12)], [nu * np.arange(2)])
        rows = [(data, at, self.forces[k], self.moved[k]) for (group, _), at in zip(groups, points, strict=True)
                for k in group]  # fmt: skip
        self.visits.add("moved", rows)
        both, one = [], []
        for n, (group, _) in enumerate(groups):
            for m, (other, _) in enumerate(groups[:n]):
                for i, k in ((i, k) for i in group for k in other):
                    there, back = 3 * nu * i + k, 3 * nu * k + i
                    both.append((self.moved[i], points[m], self.forces[k], there, back + 2 * nu))
                    one.append((self.moved[k], points[n], self.forces[i], back))
        self.visits.add("both", both)
        self.visits.add("one", one)


class _CrossingVisit:
    """The formula of columns that cross a joint: (numbers of the edge, forces) that are not zero in every state -> the
    forces on the parent that are not, or were not before, and the entries."""

    __name__ = "crossing"

    def __init__(self, edge: _Numbers, zeros: tuple[bool, ...]) -> None:
        self.nest, self.zeros = edge.nest, (edge.zeros, zeros)
        rng = np.random.default_rng(0)  # at numbers at random, what is zero is so in every state
        probe = [rng.uniform(1.0, 2.0, zeros.count(False)) for zeros in self.zeros]
        passed = np.asarray(self._passed(*self._given(probe)))
        self.passed_zeros = tuple((passed == 0.0).tolist())
        self.kept = np.flatnonzero((passed != 0.0) | ~np.array(zeros)) if passed.size else np.arange(0)

    def __call__(self, numbers: Array, forces: Array) -> Array:
        edge, carried = self._given((numbers, forces))
        found: list[Any] = [self._passed(edge, carried)[self.kept]]
        if edge.V[0].shape[-1]:
            above, below = edge.entries(carried)
            found += [block[:, 0] for block in above] + [block[0] for block in below]
        joined: Array = np.concatenate(found)
        return joined

    def _given(self, numbers: Sequence[Array]) -> tuple[Edge, Carried]:
        """The edge and the column."""
        rows = []
        for own, zeros in zip(numbers, self.zeros, strict=True):
            row = np.full(len(zeros), 0.0, dtype=own.dtype)
            row[~np.array(zeros)] = np.asarray(own)
            rows.append(row.view(SymbolArray) if row.dtype == object else row)
        edge, _ = _record(self.nest, rows[0])
        return edge, _carried(rows[1])

    def _passed(self, edge: Edge, carried: Carried) -> Array:
        """(18 + a,) the forces on the parent; none on the ground."""
        if edge.passage is None:
            return np.zeros(0)
        passed = edge.passage.passed(carried)
        found: Array = np.concatenate([*(part[..., 0] for F in passed[:3] for part in F), passed.rows[..., 0]])
        return found


def _carried(forces: Array) -> Carried:
    """A column of its forces (18 + a,)."""
    parts = [forces[start : start + 3, None] for start in range(0, _FORCES, 3)]
    pairs: list[Pair] = [(parts[k], parts[k + 1]) for k in range(0, 6, 2)]
    return Carried(pairs[0], pairs[1], pairs[2], forces[_FORCES:, None])


def _moved(mobility: Array, p: Array, tau: Array) -> Array:
    """(6,) the acceleration of a link by a unit of a torque, whose force is about a point p."""
    found = _record((Mobility, ((6,), (3, 3), (6,))), mobility)[0]
    force = about_origin((tau[:3, None], tau[3:, None]), p)
    joined: Array = np.concatenate(found.times(force))[:, 0]
    return joined


def _felt(moved: Array, p: Array, forces: Array) -> list[Array]:
    """What forces about a point p do at an acceleration of the link, (1,) each."""
    columns = at_point((moved[:3, None], moved[3:, None]), p)
    parts = [(forces[k : k + 3, None], forces[k + 3 : k + 6, None]) for k in range(0, len(forces), 6)]
    return [work(columns, F)[0] for F in parts]


def _both(moved: Array, p: Array, forces: Array) -> Array:
    """(4,) of dq, du and torques, the last once more for its mirrored place."""
    found = _felt(moved, p, forces)
    joined: Array = np.concatenate([*found, found[-1]])
    return joined


def _one(moved: Array, p: Array, forces: Array) -> Array:
    """(2,) of dq and du."""
    joined: Array = np.concatenate(_felt(moved, p, forces))
    return joined
