"""The nonlinear program: blocks added up into objective, constraints and their sparse derivatives.

Blocks: one formula at many intervals or points side by side, with its exact derivatives, as parts of a program.

A block takes variables v (nv,) and data d (nd,) and gives rows of constraints and terms of the objective. All its
instances go through the lanes of one kernel call; what a call gives is added into the sparse matrices of the program.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any

import numpy as np

from myoquat import kernels
from myoquat.core import Array, frozen, scipy
from myoquat.joints.evaluation import kernel_for
from myoquat.joints.vectors import joined

Formula = Callable[[Array, Array], tuple[list[Array], list[Array]]]  # of v and d: rows, terms


@frozen(eq=False)
class BlockFormula:
    """A formula of v (..., size) and d (..., data) that gives `rows` and `terms` numbers; `content` is its key."""

    name: str
    function: Formula
    size: int
    data: int
    rows: int
    terms: int
    content: Hashable

    @property
    def outputs(self) -> dict[str, int]:
        """Name and length of what it gives; what it gives none of is left out."""
        return {name: n for name, n in (("rows", self.rows), ("terms", self.terms)) if n}

    def __call__(self, v: Array, d: Array) -> dict[str, Array]:
        rows, terms = self.function(v, d)
        parts = {"rows": rows, "terms": [term[..., None] for term in terms]}
        found = {name: joined(parts[name]) if parts[name] else v[..., :0] for name in self.outputs}
        for name, n in self.outputs.items():
            if found[name].shape[-1] != n:
                raise ValueError(f"{self.name}: {n} {name} are expected, not {found[name].shape[-1]}")
        return found


class BlockKernels:
    """The compiled formula of a block and its derivatives by v; the Hessian is built when it is first asked for."""

    def __init__(self, formula: BlockFormula, content: str | None) -> None:
        inputs = {"v": formula.size, "d": max(formula.data, 1)}
        self.outputs = list(formula.outputs)
        self.value = kernels.compile(formula, inputs, formula.outputs, name=formula.name, content=content)
        self.jacobian = self.value.jacobian(wrt="v", sparse=True)

    @property
    def program(self) -> str:
        """Text that two blocks share only if they compute the same."""
        return self.value.program

    @cached_property
    def hessian(self) -> kernels.Kernel:
        """Second derivatives of sum rows_bar . rows + terms_bar . terms by v."""
        return self.value.hessian(wrt="v")


@frozen(eq=False)
class Block:
    """Instances (b,) of a formula in a program.

    variables   (b, nv) indices of the variables in the program
    data        (b, nd) numbers that the formula takes
    rows        (b, nr) indices of the constraints
    weights     (b, nt) of the terms in the objective
    times       (b, nr) fractions of the duration at which the constraints hold, at least (b, 1), for messages
    row_names   of the constraints, for messages
    term_names  of the terms, for messages
    """

    formula: BlockFormula
    variables: Array
    data: Array
    rows: Array
    weights: Array
    times: Array
    row_names: tuple[str, ...] = ()
    term_names: tuple[str, ...] = ()
    kernels: BlockKernels = field(init=False)

    def __post_init__(self) -> None:
        if not self.data.shape[1]:
            object.__setattr__(self, "data", np.zeros((len(self.variables), 1)))
        object.__setattr__(self, "data", np.ascontiguousarray(self.data))
        key = ("control", self.formula.name, self.formula.content, self.formula.size, self.formula.data)
        found = kernel_for(key, lambda content: BlockKernels(self.formula, content))
        object.__setattr__(self, "kernels", found)

    # ---- values ----------------------------------------------------------------------------------------------

    def values(self, x: Array) -> dict[str, Array]:
        """ "rows" (b, nr) and "terms" (b, nt) at the variables x of the program."""
        return self._named(self.kernels.value(x[self.variables], self.data), self.kernels.outputs)

    @staticmethod
    def _named(found: Array | tuple[Array, ...], names: list[str]) -> dict[str, Array]:
        return dict(zip(names, found if isinstance(found, tuple) else (found,), strict=True))

    # ---- first derivatives -----------------------------------------------------------------------------------

    def derivatives(self, x: Array) -> dict[str, Array]:
        """(b, nonzeros) of "rows" and "terms" by v."""
        return self._named(self.kernels.jacobian(x[self.variables], self.data), self.kernels.outputs)

    def pattern(self, output: str) -> tuple[Array, Array]:
        """Rows and columns within an instance of the nonzeros of "rows" or "terms"."""
        rows, columns = self.kernels.jacobian.patterns[f"d{output}/dv"]
        return rows, columns

    # ---- second derivatives ----------------------------------------------------------------------------------

    def curvature(self, x: Array, factor: float, multipliers: Array) -> Array:
        """(b, nonzeros) of the Hessian of factor times objective plus multipliers times constraints."""
        bars = [multipliers[self.rows]] if self.formula.rows else []
        if self.formula.terms:
            bars.append(factor * self.weights)
        return self.kernels.hessian(x[self.variables], self.data, *bars)

    def curvature_pattern(self) -> tuple[Array, Array]:
        """Rows and columns within an instance of the nonzeros of its Hessian."""
        return self.kernels.hessian.rows, self.kernels.hessian.cols


@frozen(eq=False)
class Pattern:
    """The nonzeros of a sparse matrix, column by column: `rows` (nonzeros,) and `columns`, the starts (n + 1,) of each
    column. `nonzeros` has the nonzero of every entry of the blocks, one behind the last for entries left out."""

    rows: Array
    columns: Array
    nonzeros: Array

    @classmethod
    def of(cls, entries: Sequence[tuple[Array, Array]], shape: tuple[int, int], upper: bool = False) -> "Pattern":
        """From the rows and columns of the entries of the blocks, of which several may share a nonzero. upper: those
        below the diagonal are left out."""
        none = np.zeros(0, dtype=np.int64)
        rows, columns = (np.concatenate([none, *(entry[k].ravel() for entry in entries)]) for k in (0, 1))
        kept = rows <= columns if upper else np.ones(len(rows), dtype=bool)
        unique, inverse = np.unique((columns * shape[0] + rows)[kept], return_inverse=True)
        nonzeros = np.full(len(rows), len(unique))
        nonzeros[kept] = inverse
        starts = np.searchsorted(unique // shape[0], np.arange(shape[1] + 1))
        return cls(unique % shape[0], starts, nonzeros)

    def fill(self, values: Sequence[Array], out: Array) -> None:
        """Add the entries of the blocks into the nonzeros."""
        n, weights = len(self.rows), np.concatenate([np.zeros(0), *(part.ravel() for part in values)])
        out[:] = np.bincount(self.nonzeros, weights=weights, minlength=n + 1)[:n]


class Program:
    """minimise sum weights . terms subject to low <= rows <= high and bounds of x, from blocks.

    size: number of variables; rows: of constraints. Each derivative is one kernel call for each block.
    """

    def __init__(self, blocks: Sequence[Block], size: int, rows: int) -> None:
        self.blocks, self.size, self.rows = list(blocks), size, rows
        self._last: dict[str, tuple[Array, list[dict[str, Array]]]] = {}

    # ---- values ----------------------------------------------------------------------------------------------

    def values(self, x: Array) -> list[dict[str, Array]]:
        """What every block gives at x (size,)."""
        return self._each("values", x)

    def _each(self, what: str, x: Array) -> list[dict[str, Array]]:
        """What a method of every block gives at x, kept for the x that was asked for last."""
        last = self._last.get(what)
        if last is None or not np.array_equal(last[0], x):
            last = self._last[what] = x.copy(), [getattr(block, what)(x) for block in self.blocks]
        return last[1]

    def objective(self, x: Array) -> float:
        """The objective."""
        both = zip(self.values(x), self.blocks, strict=True)
        return float(sum(np.sum(values["terms"] * block.weights) for values, block in both if "terms" in values))

    def constraints(self, x: Array) -> Array:
        """(rows,) the constraints."""
        found = np.zeros(self.rows)
        for values, block in zip(self.values(x), self.blocks, strict=True):
            if "rows" in values:
                found[block.rows] = values["rows"]
        return found

    # ---- first derivatives -----------------------------------------------------------------------------------

    def derivatives(self, x: Array) -> list[dict[str, Array]]:
        """First derivatives of every block."""
        return self._each("derivatives", x)

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
        entries = []
        for block in (block for block in self.blocks if block.formula.rows):
            i, j = block.pattern("rows")
            entries.append((block.rows[:, i], block.variables[:, j]))
        return Pattern.of(entries, (self.rows, self.size))

    def jacobian(self, x: Array, out: Array) -> None:
        """Write the nonzeros of the constraints' Jacobian."""
        self.jacobian_pattern.fill([slopes["rows"] for slopes in self.derivatives(x) if "rows" in slopes], out)

    def jacobian_matrix(self, x: Array) -> Any:
        """(rows, size) the constraints' Jacobian, a sparse matrix of SciPy."""
        pattern = self.jacobian_pattern
        values = np.zeros(len(pattern.rows))
        self.jacobian(x, values)
        return scipy.sparse.csc_array((values, pattern.rows, pattern.columns), shape=(self.rows, self.size))

    # ---- second derivatives ----------------------------------------------------------------------------------

    @cached_property
    def hessian_pattern(self) -> Pattern:
        """The pattern of the upper triangle of the Lagrangian's Hessian, (size, size)."""
        entries = []
        for block in self.blocks:
            i, j = block.curvature_pattern()
            entries.append((block.variables[:, i], block.variables[:, j]))
        return Pattern.of(entries, (self.size, self.size), upper=True)

    def hessian(self, x: Array, factor: float, multipliers: Array, out: Array) -> None:
        """Write the nonzeros of the upper triangle of the Hessian of the Lagrangian."""
        self.hessian_pattern.fill([block.curvature(x, factor, multipliers) for block in self.blocks], out)
