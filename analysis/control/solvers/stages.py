"""A program as stages in time, as solvers by a Riccati recursion take it.

Stage k has the states X_k = (S_k, c) and the controls U_k = (I_k, Y_k).

    S_k  the variables at node k
    c    variables that act at several times: the duration, parameters and the start of a periodic motion
    I_k  the variables inside the interval
    Y_k  a copy of the variables at the node at its end

The dynamics are S_(k+1) - Y_k = 0 and c_(k+1) - c_k = 0, with unit coefficients. What the program states about an
interval becomes equations of its stage, in X_k and U_k alone.
"""

from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from myoquat.analysis.control.blocks import Block
from myoquat.analysis.control.program import Pattern, Program
from myoquat.core.typing import Array

__all__ = ["StagedProgram"]

SHARED = -1  # the position of a variable that acts at all times


class _Linear(NamedTuple):
    """Equations with constant coefficients: entries, and what each row is equal to."""

    rows: Array
    columns: Array
    values: Array
    right: Array


class StagedProgram:
    """A program stage by stage.

    positions  (n,): 2 k for a variable at node k, 2 k + 1 for one inside interval k, -1 for one that acts at all times
    bounds     (n, 2) of the variables of the program
    limits     (m, 2) of its constraints

    Raises ValueError where a term or a constraint joins times that are further apart than an interval. It may join them
    with the start of the motion.
    """

    def __init__(self, program: Program, positions: Array, bounds: Array, limits: Array) -> None:
        self.original, self.positions = program, positions
        self.stages = int(positions.max(initial=0)) // 2
        self._blocks = [(block, _used(block)) for block in program.blocks]
        self.carried = self._carried()
        self._place_variables()
        self._place_rows(bounds, limits)

    # ---- variables -------------------------------------------------------------------------------------------

    def _stage_of(self, block: Block, used: Array) -> Array:
        """(b,) the stage of every instance of a block."""
        at = self.positions[block.variables[:, used]]
        last = at.max(axis=1, initial=0)
        stage, at_node = last // 2, last % 2 == 0
        before = ((at == last[:, None] - 1) | (at == last[:, None] - 2)) & (at >= 0)
        found: Array = np.where(at_node & before.any(axis=1), stage - 1, stage)
        return found

    def _carried(self) -> Array:
        """The variables that act at several times, those that are shared first."""
        early = [np.zeros(0, dtype=int)]
        for block, used in self._blocks:
            at, stage = self.positions[block.variables], self._stage_of(block, used)[:, None]
            far = used & (at >= 0) & (at < 2 * stage)
            if (at[far] > 1).any():
                raise ValueError(
                    f"{block.formula.name}: fatrop takes no goal or constraint of times that are further apart than an "
                    "interval, such as goals of changes; IPOPT does"
                )
            early.append(block.variables[far])
        return np.append(np.flatnonzero(self.positions == SHARED), np.unique(np.concatenate(early)))

    def _place_variables(self) -> None:
        """Indices of the variables in the order of stages.

        `home` (n,) has one for every variable. `copies` (n,) has those of the copies of a node's variables in the stage
        before it. `held` (stages + 1, carried) has those of carried variables.
        """
        self.home, self.copies = np.full(len(self.positions), -1), np.full(len(self.positions), -1)
        self.held = np.zeros((self.stages + 1, len(self.carried)), dtype=int)
        self.state_counts, self.control_counts, place = [], [], 0
        for k in range(self.stages + 1):
            node, inner, after = (np.flatnonzero(self.positions == 2 * k + i) for i in range(3))
            self.home[node] = place + np.arange(len(node))
            self.held[k] = place + len(node) + np.arange(len(self.carried))
            place += len(node) + len(self.carried)
            self.home[inner] = place + np.arange(len(inner))
            self.copies[after] = place + len(inner) + np.arange(len(after))
            place += len(inner) + len(after)
            self.state_counts.append(len(node) + len(self.carried))
            self.control_counts.append(len(inner) + len(after))
        shared = np.flatnonzero(self.positions == SHARED)
        self.home[shared] = self.held[0, : len(shared)]
        self.size = place

    def start(self, x: Array) -> Array:
        """(size,) the variables of the stages at variables x (n,) of the program."""
        found = np.zeros(self.size)
        found[self.held] = x[self.carried]
        found[self.home] = x
        copied = self.copies >= 0
        found[self.copies[copied]] = x[copied]
        return found

    # ---- rows ------------------------------------------------------------------------------------------------

    def _place_rows(self, bounds: Array, limits: Array) -> None:
        """Rows in the order of stages: the dynamics of the stage, then its equations. Variables that are fixed, and
        what is carried from the start, are equations too."""
        stage = np.zeros(self.original.rows, dtype=int)
        for block, used in self._blocks:
            stage[block.rows] = self._stage_of(block, used)[:, None]
        fixed = np.flatnonzero(bounds[:, 0] == bounds[:, 1])
        early = np.flatnonzero(self.positions[self.carried] != SHARED)
        stage_of_fixed = np.maximum(self.positions[fixed], 0) // 2
        own = np.concatenate([stage, stage_of_fixed, np.zeros(len(early), dtype=int)])
        states = np.array(self.state_counts)
        self.equation_counts = np.bincount(own, minlength=self.stages + 1)
        gaps = np.append(states[1:], 0)
        first = np.concatenate([[0], np.cumsum(gaps + self.equation_counts)])[:-1]
        order = np.argsort(own, kind="stable")
        rank = np.empty(len(own), dtype=int)
        begins = np.concatenate([[0], np.cumsum(self.equation_counts)])[:-1]
        rank[order] = np.arange(len(own)) - begins[own[order]]
        placed = first[own] + gaps[own] + rank
        m = self.original.rows
        self.row_home, self.fixed, self.fixed_rows = placed[:m], fixed, placed[m : m + len(fixed)]
        self.rows = len(own) + int(gaps.sum())
        self._linear = self._equations(first, bounds[fixed, 0], early, placed[m + len(fixed) :])
        self.limits = np.zeros((self.rows, 2))
        self.limits[self._linear.rows, :] = self._linear.right[:, None]
        self.limits[self.row_home] = limits
        self.bounds = np.tile([-np.inf, np.inf], (self.size, 1))
        self.bounds[self.home] = np.where((bounds[:, 0] == bounds[:, 1])[:, None], [-np.inf, np.inf], bounds)

    def _equations(self, first: Array, values: Array, early: Array, tied: Array) -> _Linear:
        """The dynamics, variables that are fixed to values, and what is carried from the start."""
        n, carried = len(self.positions), np.arange(len(self.carried))
        parts = [np.zeros((4, 0))]

        def equal(rows: Array, columns: Array, others: Array) -> None:
            parts.append(np.stack([rows, columns, np.ones(len(rows)), np.zeros(len(rows))]))
            parts.append(np.stack([rows, others, -np.ones(len(rows)), np.zeros(len(rows))]))

        for k in range(self.stages):
            node = np.flatnonzero(self.positions[:n] == 2 * k + 2)
            equal(first[k] + np.arange(len(node)), self.home[node], self.copies[node])
            equal(first[k] + len(node) + carried, self.held[k + 1], self.held[k])
        equal(tied, self.held[0, early], self.home[self.carried[early]])
        fixed = self.fixed_rows, self.home[self.fixed], np.ones(len(values)), values
        rows, columns, entries, right = np.concatenate([*parts, np.stack(fixed)], axis=1)
        return _Linear(rows.astype(int), columns.astype(int), entries, right)

    # ---- the program -----------------------------------------------------------------------------------------

    @cached_property
    def program(self) -> Program:
        """The blocks in the variables and rows of the stages."""
        return Program([self._moved(block, used) for block, used in self._blocks], self.size, self.rows)

    def _moved(self, block: Block, used: Array) -> Block:
        variables, stage = block.variables, self._stage_of(block, used)[:, None]
        at, found = self.positions[variables], self.home[variables]
        after = used & (at == 2 * stage + 2)
        found = np.where(after, self.copies[variables], found)
        place = np.full(len(self.positions), 0)
        place[self.carried] = np.arange(len(self.carried))
        if len(self.carried):
            far = used & (at < 2 * stage)
            found = np.where(far, self.held[stage, place[variables]], found)
        return replace(block, variables=found, rows=self.row_home[block.rows])

    def constraints(self, x: Array) -> Array:
        """(rows,) the constraints."""
        linear, found = self._linear, self.program.constraints(x)
        return found + np.bincount(linear.rows, weights=linear.values * x[linear.columns], minlength=self.rows)

    @cached_property
    def _jacobian_order(self) -> tuple[Pattern, Array]:
        own, linear = self.program.jacobian_pattern, self._linear
        columns = np.repeat(np.arange(self.size), np.diff(own.columns))
        rows, columns = np.append(own.rows, linear.rows), np.append(columns, linear.columns)
        pattern = Pattern.of(rows, columns, (self.rows, self.size))
        return pattern, np.zeros(len(own.rows))

    @property
    def jacobian_pattern(self) -> Pattern:
        """Of the constraints by x, (rows, size)."""
        return self._jacobian_order[0]

    def jacobian(self, x: Array, out: Array) -> None:
        """Write the nonzeros of the constraints' Jacobian."""
        pattern, own = self._jacobian_order
        self.program.jacobian(x, own)
        pattern.fill(np.append(own, self._linear.values), out)

    @cached_property
    def hessian_pattern(self) -> Pattern:
        """Of the whole Hessian of the Lagrangian, (size, size)."""
        upper = self.program.hessian_pattern
        rows, columns = upper.rows, np.repeat(np.arange(self.size), np.diff(upper.columns))
        below = rows != columns
        entries = np.append(rows, columns[below]), np.append(columns, rows[below])
        return Pattern.of(*entries, (self.size, self.size))

    def hessian(self, x: Array, factor: float, multipliers: Array, out: Array) -> None:
        """Write the nonzeros of the whole Hessian of the Lagrangian."""
        upper = self.program.hessian_pattern
        values = np.zeros(len(upper.rows))
        self.program.hessian(x, factor, multipliers, values)
        below = upper.rows != np.repeat(np.arange(self.size), np.diff(upper.columns))
        self.hessian_pattern.fill(np.append(values, values[below]), out)


def _used(block: Block) -> Array:
    """(nv,) whether anything depends on each variable of an instance."""
    used = np.zeros(block.formula.size, dtype=bool)
    for output in block.kernels.outputs:
        used[block.pattern(output)[1]] = True
    return used
