"""Derivatives of forward dynamics by recursions over the links, without the mass matrix.

A small motion or speed of joint j changes the columns m, n and the Coriolis matrices B of
`myoquat.dynamics.sensitivity.recursions`. In the links that it carries, this causes the accelerations beta and the
angular parts w of m. In all others it causes the force F that the joint passes on. All are in the axes of a link. X is
the transform from its parent, and Lambda its acceleration by a force on it. P is the sum of the Coriolis matrices 2 B
of all that it carries where their joints yield:

    du = -W (X beta_p) - D^-1 S^T P w,    beta = X beta_p + S du,    w = R^T w_p    in links that joint j carries,
    beta = n - X Lambda_p F + S du,       du = -W (n - X Lambda_p F) - D^-1 (S^T P w + t)          in its own link,
    F = X^T (I_A (n + S du) + P w + Phi x* f),    du, t without the parent's acceleration,  what it passes on.

By the same rules, a unit of torque at joint i gives the force F_i = X^T W^T. It gives each link an acceleration V. A
force F at a link accelerates joint i by -V . F. So columns of forces, on their way to the ground, give all entries.
With the V of a joint they give those above the diagonal. As the covectors of the rows du, with beta and w of a joint,
they give those below.

Sources: J. Carpentier, N. Mansard, Analytical derivatives of rigid body dynamics algorithms, RSS 2018; S. Singh, R.
P. Russell, P. M. Wensing, Efficient analytical derivatives of rigid-body dynamics using spatial vector algebra, IEEE
Robot. Autom. Lett. 7, 2022. The response of a tree to forces is that of [RBDA] R. Featherstone, Rigid Body Dynamics
Algorithms, Springer 2008, chapter 7. Here M^-1 is not multiplied: each entry takes a product of 6 or 9 numbers.
"""

from collections.abc import Hashable, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.dynamics.sensitivity.columns import work
from myoquat.dynamics.sensitivity.recursions import Source, sources_of
from myoquat.dynamics.sensitivity.responses import Carried, Edge, Mobility, about_origin, at_point
from myoquat.joints.crossovers import MinRows
from myoquat.joints.motion import Pair
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.multibody.tree import WORLD
from myoquat.kernels.control_flow.table_loop import Rows
from myoquat.kernels.symbolic.arrays import SymbolArray
from myoquat.kernels.tracing.context import unrolled_constructs

__all__ = ["forward_derivatives"]


# --------------------------------------------------------------------------------------------------------------
#
# Derivatives of forward dynamics as a walk over cells: one column of forces after the other crosses one joint.
#
# The formulas are those of `myoquat.dynamics.sensitivity.responses`, each traced once for all joints of a type.


_FORCES = 18  # numbers of the forces of a column


def forward_derivatives(system: ArticulatedSystem, q: Array, u: Array, tau: Array, f_ext: Array | None = None) -> Array:
    """(nu, 3 nu) of udot by a small motion, by u and by tau, the last M^-1, at one state of floats or symbols.

    The code of small systems is written out: it runs faster than loops."""
    sources = sources_of(system, q, u, tau, f_ext)
    walk = _Walk(system.nu, sources)
    for source in sources:
        walk.put_own(source)
    arrived: list[list[tuple[list[int], Any]]] = [[] for _ in sources]
    for i in reversed(range(len(sources))):
        source, groups = sources[i], arrived[i]
        if len(groups) > 1:
            walk.visit_apart(source, groups)
        for indices, p in groups:
            walk.cross(source, walk.put_edge(source, p), [walk.columns[k] for k in indices])
        indices = [*source.indices, *(place for group, _ in groups for place in group)]
        if source.link.parent != WORLD and indices:
            arrived[source.link.parent].append((indices, source.origin))
    with nullcontext() if MinRows.CROSSINGS.reached_by(system.nu) else unrolled_constructs():
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


@dataclass
class _Column:
    """A column on its way: its index in u, the first cell of its numbers, and which of them are zero in every state."""

    index: int
    at: int
    zeros: tuple[bool, ...]


class _Walk:
    """The walk of columns along the tree, in cells. First come the result by rows, and a row of forces for every
    column. Then come a row of accelerations for each column that meets others, and the numbers of the joints."""

    def __init__(self, nu: int, sources: Sequence[Source]) -> None:
        self.nu, self.width = nu, _FORCES + sources[0].passed.rows.shape[-2]
        self.cells: list[Any] = [0.0] * (3 * nu * nu)
        self.columns = [_Column(k, self.put([None] * self.width), ()) for k in range(nu)]
        self.moved = [self.put([None] * 6) for _ in range(nu)]
        self.rows = Rows()

    def result(self) -> Array:
        """The derivatives after the walk."""
        return self.rows.looped(self.cells, 3 * self.nu * self.nu).reshape(self.nu, 3 * self.nu)

    def put(self, numbers: Sequence[Any]) -> int:
        """The first of cells with these numbers."""
        self.cells += numbers
        return len(self.cells) - len(numbers)

    def put_own(self, source: Source) -> None:
        """The entries of a joint itself, and the forces that it passes on."""
        nu = self.nu
        for turn, block in enumerate(source.own):
            for i, row in zip(source.indices, np.asarray(block), strict=True):
                for k, entry in zip(source.indices, row, strict=True):
                    self.cells[3 * nu * i + turn * nu + k] = entry
        parts = [part for F in source.passed[:3] for part in F]
        for number, place in enumerate(source.indices):
            numbers = _Numbers.of(tuple(np.asarray(part)[..., number] for part in (*parts, source.passed.rows)))
            column = self.columns[place]
            self.cells[column.at : column.at + self.width] = numbers.row
            column.zeros = numbers.zeros

    def put_edge(self, source: Source, p: Any) -> tuple[_Numbers, int]:
        """What forces about a point p find at a joint, and its first cell."""
        edge = _Numbers.of(source.crossing.edge(p))
        return edge, self.put(edge.row)

    def cross(self, source: Source, edge: tuple[_Numbers, int], columns: Sequence[_Column]) -> None:
        """Columns that came through one joint cross the next. Their numbers stay in place."""
        numbers, data = edge
        together: dict[tuple[bool, ...], list[_Column]] = {}
        for column in columns:
            together.setdefault(column.zeros, []).append(column)
        for zeros, own in together.items():
            key = numbers.nest, numbers.zeros, zeros
            visit = self._visit(key, source, numbers)
            rows = []
            for column in own:
                written = [column.at] * bool(visit.kept.size) + self._first_entries(source, column)
                rows.append((data, column.at, *written))
                column.zeros = visit.passed_zeros
            self.rows.add(key, rows)

    def _visit(self, key: Hashable, source: Source, numbers: _Numbers) -> "_CrossingVisit":
        """The formula of a type, with its table."""
        if key not in self.rows.types:
            zeros = key[2]  # type: ignore[index]
            visit = _CrossingVisit(numbers, zeros)
            above, below = self._entries(len(source.indices))
            takes = [np.flatnonzero(~np.array(numbers.zeros)), np.flatnonzero(~np.array(zeros))]
            gives = [visit.kept, above, below]
            self.rows.types[key] = visit, takes, [block for block in gives if block.size]
        return self.rows.types[key][0]  # type: ignore[return-value]

    def _first_entries(self, source: Source, column: _Column) -> list[int]:
        """The first cells of the entries in the rows of a joint, and of those in its columns."""
        if not source.indices:
            return []
        row, first = 3 * self.nu, source.link.u.start
        return [row * first + column.index, row * column.index + first]

    def _entries(self, own: int) -> tuple[Array, Array]:
        """How far the entries of a joint lie behind the first, in its rows and in its columns."""
        nu = self.nu
        above = np.array([turn * nu + 3 * nu * i for turn in range(3) for i in range(own)], dtype=int)
        return above, np.array([turn * nu + i for turn in range(3) for i in range(own)], dtype=int)

    def visit_apart(self, source: Source, groups: Sequence[tuple[Sequence[int], Any]]) -> None:
        """Columns of different groups meet on a link: each moves it, and the others feel that."""
        nu, types, data = self.nu, self.rows.types, len(self.cells)
        self.cells += _Numbers.of(source.mobility).row
        points = []
        for _, p in groups:
            points.append(len(self.cells))
            self.cells += list(np.asarray(p))
        if "moved" not in types:
            point, six = np.arange(3), np.arange(6)
            types["moved"] = _moved, [np.arange(21), point, np.arange(12, _FORCES)], [six]
            types["both"] = _both, [six, point, np.arange(_FORCES)], [nu * point, np.zeros(1, dtype=int)]
            types["one"] = _one, [six, point, np.arange(12)], [nu * np.arange(2)]
        rows = [(data, at, self.columns[k].at, self.moved[k]) for (group, _), at in zip(groups, points, strict=True)
                for k in group]  # fmt: skip
        self.rows.add("moved", rows)
        both, one = [], []
        for n, (group, _) in enumerate(groups):
            for m, (other, _) in enumerate(groups[:n]):
                for i, k in ((i, k) for i in group for k in other):
                    there, back = 3 * nu * i + k, 3 * nu * k + i
                    both.append((self.moved[i], points[m], self.columns[k].at, there, back + 2 * nu))
                    one.append((self.moved[k], points[n], self.columns[i].at, back))
        self.rows.add("both", both)
        self.rows.add("one", one)


class _CrossingVisit:
    """The formula of columns that cross a joint: (numbers of the edge, forces) -> forces on the parent, entries.

    Numbers that are zero in every state are left out."""

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
            found += [*(block[:, 0] for block in above), *(block[0] for block in below)]
        return np.concatenate(found)

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
        return np.concatenate([*(part[..., 0] for F in passed[:3] for part in F), passed.rows[..., 0]])


def _carried(forces: Array) -> Carried:
    """A column of its forces (18 + a,)."""
    parts = [forces[start : start + 3, None] for start in range(0, _FORCES, 3)]
    pairs: list[Pair] = [(parts[k], parts[k + 1]) for k in range(0, 6, 2)]
    return Carried(pairs[0], pairs[1], pairs[2], forces[_FORCES:, None])


def _moved(mobility: Array, p: Array, tau: Array) -> Array:
    """(6,) the acceleration of a link by a unit of a torque, whose force is about a point p."""
    found = _record((Mobility, ((6,), (3, 3), (6,))), mobility)[0]
    force = about_origin((tau[:3, None], tau[3:, None]), p)
    return np.concatenate(found.times(force))[:, 0]


def _felt(moved: Array, p: Array, forces: Array) -> list[Array]:
    """What forces about a point p do at an acceleration of the link, (1,) each."""
    columns = at_point((moved[:3, None], moved[3:, None]), p)
    parts = [(forces[k : k + 3, None], forces[k + 3 : k + 6, None]) for k in range(0, len(forces), 6)]
    return [work(columns, F)[0] for F in parts]


def _both(moved: Array, p: Array, forces: Array) -> Array:
    """(4,) of dq, du and torques, the last once more for its mirrored place."""
    found = _felt(moved, p, forces)
    return np.concatenate([*found, found[-1]])


def _one(moved: Array, p: Array, forces: Array) -> Array:
    """(2,) of dq and du."""
    return np.concatenate(_felt(moved, p, forces))
