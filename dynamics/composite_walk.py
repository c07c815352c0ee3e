"""The mass matrix as a walk over cells. The forces of one joint after the other go towards the ground, and the code of
each type of joint on their way stands once.

The formulas are those of `myoquat.dynamics.composite`, which writes them out for each pair of joints of a small system.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.motion import Motion, Pair
from myoquat.joints.multibody.tree import WORLD, Link
from myoquat.joints.vectors import row_cross
from myoquat.kernels.control_flow.cell_walk import Visits, VisitTable, walks_in_loops
from myoquat.kernels.control_flow.crossovers import MinRows
from myoquat.kernels.symbolic.arrays import SymbolArray

__all__ = ["carried_to_parent", "walked_matrix", "walks"]


def walks(nu: int, motion: Motion) -> bool:
    """Whether the forces of a system with so many velocities are carried in loops."""
    return MinRows.CARRIED.reached_by(nu) and any(walks_in_loops(R) for R, _ in motion.transforms)


def carried_to_parent(transform: Pair, force: Pair) -> Pair:
    """Forces in columns on a link as ones on its parent."""
    R, p = transform
    f = R @ force[1]
    return R @ force[0] + row_cross(p, f), f


def walked_matrix(links: Sequence[Link], motion: Motion, forces: Sequence[tuple[Pair, Array]], nu: int) -> Array:
    """(nu, nu) of the forces (..., 3, k) in columns of every joint on its own link and its own block (k, k)."""
    walk = _Walk(nu)
    steps = [None if link.parent == WORLD else _Step.of(motion, i, link.parent) for i, link in enumerate(links)]
    data = [0 if step is None else walk.put(step.numbers) for step in steps]
    for i, (link, (pair, own)) in enumerate(zip(links, forces, strict=True)):
        if link.u.stop == link.u.start:
            continue
        walk.put_own(link.u.start, own)
        at = walk.put([x for part in pair for x in np.asarray(part).flat])
        while (step := steps[i]) is not None:
            walk.visit(step, data[i], at, (link.u, links[links[i].parent].u))
            i = links[i].parent
    return walk.result()


class _Step(NamedTuple):
    """From a link to its parent: numbers of the transform and of the parent's subspace; key: which are constants."""

    key: tuple[Any, ...]
    numbers: list[Any]

    @classmethod
    def of(cls, motion: Motion, i: int, parent: int) -> "_Step":
        """Of link i."""
        row = [x for part in (*motion.transforms[i], *motion.subspaces[parent]) for x in np.asarray(part).flat]
        simple = (0.0, 1.0, -1.0)  # products with these vanish from the code
        key = tuple(x if isinstance(x, float) and x in simple else None for x in row)
        return cls(key, [x for x, known in zip(row, key, strict=True) if known is None])


class _Carry:
    """(numbers of a step, forces of k columns) -> the forces on the parent, the block of the parent's rows, and the
    same mirrored."""

    __name__ = "carry"

    def __init__(self, key: Sequence[Any], columns: int) -> None:
        self.key, self.columns, self.rows = key, columns, (len(key) - 12) // 6

    def __call__(self, numbers: Array, forces: Array) -> Array:
        row = np.array([0.0 if x is None else x for x in self.key], dtype=object)
        row[[k for k, x in enumerate(self.key) if x is None]] = np.asarray(numbers)
        R, p, S = row[:9].reshape(3, 3), row[9:12], row[12:].reshape(2, 3, self.rows)
        n, f = forces.reshape(2, 3, self.columns)
        n, f = carried_to_parent((R.view(SymbolArray), p.view(SymbolArray)), (n, f))
        S_omega, S_v = S.view(SymbolArray)
        block = np.swapaxes(S_omega, -1, -2) @ n + np.swapaxes(S_v, -1, -2) @ f
        joined: Array = np.concatenate([n.reshape(-1), f.reshape(-1), block.reshape(-1), block.T.reshape(-1)])
        return joined


class _Walk:
    """Cells: the matrix by rows, then the numbers of the steps and the forces."""

    def __init__(self, nu: int) -> None:
        self.nu = nu
        self.cells: list[Any] = [0.0] * (nu * nu)
        self.visits = Visits()

    def put(self, numbers: Sequence[Any]) -> int:
        """The first of cells with these numbers."""
        self.cells += numbers
        return len(self.cells) - len(numbers)

    def put_own(self, start: int, block: Array) -> None:
        """The entries of a joint itself."""
        for i, row in enumerate(np.asarray(block)):
            first = (start + i) * self.nu + start
            self.cells[first : first + len(row)] = list(row)

    def visit(self, step: _Step, data: int, at: int, indices: tuple[slice, slice]) -> None:
        """Forces, whose joint has the first of these indices in u, take a step to the link of the other one."""
        own, other = indices
        key = step.key, own.stop - own.start
        if key not in self.visits.tables:
            self.visits.tables[key] = self._table(*key)
        entries = (other.start * self.nu + own.start, own.start * self.nu + other.start)
        self.visits.add(key, [(data, at, at, *(entries if other.stop > other.start else ()))])

    def result(self) -> Array:
        """(nu, nu) after the walk."""
        return self.visits.walked(self.cells, self.nu * self.nu).reshape(self.nu, self.nu)

    def _table(self, key: Sequence[Any], columns: int) -> VisitTable:
        formula = _Carry(key, columns)
        forces, rows = np.arange(6 * columns), np.arange(formula.rows)
        above = (self.nu * rows[:, None] + np.arange(columns)).ravel()
        below = (self.nu * np.arange(columns)[:, None] + rows).ravel()
        entries = [above, below] if formula.rows else []
        return VisitTable(formula, [np.arange(key.count(None)), forces], [forces, *entries])
