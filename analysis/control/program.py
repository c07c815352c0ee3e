"""The nonlinear program: blocks added up into objective, constraints and their sparse derivatives."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from myoquat.analysis.control.blocks import Block
from myoquat.core.records import dataclass
from myoquat.core.typing import Array

__all__ = ["Pattern", "Program"]


@dataclass(frozen=True, eq=False)
class Pattern:
    """The nonzeros of a sparse matrix, column by column: `rows` (nonzeros,) and `columns`, the starts (n + 1,) of each
    column. `nonzeros` has the nonzero of every entry of the blocks, -1 for entries that are left out."""

    rows: Array
    columns: Array
    nonzeros: Array

    @classmethod
    def of(cls, rows: Array, columns: Array, shape: tuple[int, int], kept: Array | None = None) -> "Pattern":
        """From the entries of the blocks; several may share a nonzero."""
        keys = columns.astype(np.int64) * shape[0] + rows
        chosen = np.ones(len(keys), dtype=bool) if kept is None else kept
        unique, inverse = np.unique(keys[chosen], return_inverse=True)
        nonzeros = np.full(len(keys), -1)
        nonzeros[chosen] = inverse
        starts = np.searchsorted(unique // shape[0], np.arange(shape[1] + 1))
        return cls(unique % shape[0], starts, nonzeros)

    @cached_property
    def _shared(self) -> bool:
        return len(self.rows) != len(self.nonzeros) or len(np.unique(self.nonzeros)) != len(self.nonzeros)

    @cached_property
    def _bins(self) -> Array:
        """The nonzero of every entry; entries that are left out are added up in one more place behind the others."""
        result: Array = np.where(self.nonzeros >= 0, self.nonzeros, len(self.rows))
        return result

    def fill(self, values: Array, out: Array) -> None:
        """Add the entries of the blocks into the nonzeros."""
        if self._shared:
            out[:] = np.bincount(self._bins, weights=values, minlength=len(self.rows) + 1)[: len(self.rows)]
        else:
            out[self.nonzeros] = values


class Program:
    """minimise sum weights . terms subject to low <= rows <= high and bounds of x, from blocks.

    size: number of variables; rows: of constraints. Each derivative is one kernel call for each block.
    """

    def __init__(self, blocks: Sequence[Block], size: int, rows: int) -> None:
        self.blocks, self.size, self.rows = list(blocks), size, rows
        self._known: tuple[Array, list[dict[str, Array]]] | None = None
        self._slopes: tuple[Array, list[dict[str, Array]]] | None = None

    # ---- values ----------------------------------------------------------------------------------------------

    def values(self, x: Array) -> list[dict[str, Array]]:
        """What every block gives at x (size,), kept for the x that was asked for last."""
        if self._known is None or not np.array_equal(self._known[0], x):
            self._known = x.copy(), [block.values(x) for block in self.blocks]
        return self._known[1]

    def objective(self, x: Array) -> float:
        """The objective."""
        return float(sum(np.sum(v["terms"] * b.weights) for v, b in self._with("terms", x)))

    def constraints(self, x: Array) -> Array:
        """(rows,) the constraints."""
        found = np.zeros(self.rows)
        for values, block in self._with("rows", x):
            found[block.rows] = values["rows"]
        return found

    def _with(self, output: str, x: Array) -> list[tuple[dict[str, Array], Block]]:
        return [(v, b) for v, b in zip(self.values(x), self.blocks, strict=True) if output in v]

    # ---- first derivatives -----------------------------------------------------------------------------------

    def derivatives(self, x: Array) -> list[dict[str, Array]]:
        """First derivatives of every block, kept for the x that was asked for last."""
        if self._slopes is None or not np.array_equal(self._slopes[0], x):
            self._slopes = x.copy(), [block.derivatives(x) for block in self.blocks]
        return self._slopes[1]

    def gradient(self, x: Array) -> Array:
        """(size,) of the objective."""
        found = np.zeros(self.size)
        for block, slopes in zip(self.blocks, self.derivatives(x), strict=True):
            if "terms" in slopes:
                rows, columns = block.pattern("terms")
                values = slopes["terms"] * block.weights[:, rows]
                variables = block.variables[:, columns].ravel()
                found += np.bincount(variables, weights=values.ravel(), minlength=self.size)
        return found

    @cached_property
    def jacobian_pattern(self) -> Pattern:
        """The pattern of the derivatives of the constraints by x, (rows, size)."""
        rows, columns = [np.zeros(0, dtype=int)], [np.zeros(0, dtype=int)]
        for block in self._constrained:
            i, j = block.pattern("rows")
            rows.append(block.rows[:, i].ravel())
            columns.append(block.variables[:, j].ravel())
        return Pattern.of(np.concatenate(rows), np.concatenate(columns), (self.rows, self.size))

    @property
    def _constrained(self) -> list[Block]:
        return [block for block in self.blocks if block.formula.rows]

    def jacobian(self, x: Array, out: Array) -> None:
        """Write the nonzeros of the constraints' Jacobian."""
        found = [slopes["rows"].ravel() for slopes in self.derivatives(x) if "rows" in slopes]
        self.jacobian_pattern.fill(np.concatenate(found) if found else np.zeros(0), out)

    # ---- second derivatives ----------------------------------------------------------------------------------

    @cached_property
    def hessian_pattern(self) -> Pattern:
        """The pattern of the upper triangle of the Lagrangian's Hessian, (size, size)."""
        rows, columns = [np.zeros(0, dtype=int)], [np.zeros(0, dtype=int)]
        for block in self.blocks:
            i, j = block.curvature_pattern()
            rows.append(block.variables[:, i].ravel())
            columns.append(block.variables[:, j].ravel())
        i, j = np.concatenate(rows), np.concatenate(columns)
        return Pattern.of(i, j, (self.size, self.size), i <= j)

    def hessian(self, x: Array, factor: float, multipliers: Array, out: Array) -> None:
        """Write the nonzeros of the upper triangle of the Hessian of the Lagrangian."""
        found = [block.curvature(x, factor, multipliers).ravel() for block in self.blocks]
        self.hessian_pattern.fill(np.concatenate(found) if found else np.zeros(0), out)
