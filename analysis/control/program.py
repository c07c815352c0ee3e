"""The nonlinear program: blocks added up into objective, constraints and their sparse derivatives.

Blocks: one formula at many intervals or points side by side, with its exact derivatives, as parts of a program.

A block takes variables v (nv,) and data d (nd,) and gives rows of constraints and terms of the objective. All its
instances go through the lanes of one kernel call; what a call gives is added into the sparse matrices of the program.
"""

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from myoquat import kernels
from myoquat.core import Array, frozen, scipy
from myoquat.joints.evaluation import kernel_for
from myoquat.joints.vectors import joined

Formula = Callable[[Array, Array], tuple[list[Array], list[Array]]]  # of v and d: rows, terms


@frozen(eq=False)
class Block:
    """Instances (b,) of a formula in a program.

    name        of the formula, of v (..., nv) and d (..., nd)
    content     of the formula, for the key of its kernels
    variables   (b, nv) indices of the variables in the program
    data        (b, nd) numbers that the formula takes
    limits      (nr, 2) of the constraints
    weights     (b, nt) of the terms in the objective
    times       (b, nr) fractions of the duration at which the constraints hold, at least (b, 1), for messages
    row_names   of the constraints, for messages
    term_names  of the terms, for messages
    """

    name: str
    formula: Formula
    content: Hashable
    variables: Array
    data: Array
    limits: Array
    weights: Array
    times: Array
    row_names: tuple[str, ...]
    term_names: tuple[str, ...]

    @property
    def inputs(self) -> dict[str, int]:
        """Name and length of what the formula takes."""
        return {"v": self.variables.shape[1], "d": self.data.shape[1]}

    @property
    def outputs(self) -> dict[str, int]:
        """Name and length of what it gives; what it gives none of is left out."""
        sizes = {"rows": len(self.row_names), "terms": len(self.term_names)}
        return {name: n for name, n in sizes.items() if n}

    def named(self, v: Array, d: Array) -> dict[str, Array]:
        """What the formula gives, by name."""
        rows, terms = self.formula(v, d)
        parts = {"rows": rows, "terms": [term[..., None] for term in terms]}
        return {name: joined(parts[name]) for name in self.outputs}

    @cached_property
    def kernels(self) -> "BlockKernels":
        """Those of the formula, shared by all blocks of its content."""
        key = "control", self.name, self.content, *self.inputs.values()
        found: BlockKernels = kernel_for(key, lambda content: BlockKernels(self, content))
        return found

    def evaluated(self, kernel: str, x: Array) -> dict[str, Array]:
        """ "rows" and "terms" at the variables x of the program: of "value" (b, n), of "jacobian" (b, nonzeros)."""
        found = getattr(self.kernels, kernel)(x[self.variables], self.data)
        none = dict.fromkeys(("rows", "terms"), np.zeros((len(self.data), 0)))
        return none | dict(zip(self.outputs, found if isinstance(found, tuple) else (found,), strict=True))

    def pattern(self, output: str) -> tuple[Array, Array]:
        """Rows and columns within an instance of the nonzeros of the Jacobian of "rows" or "terms"."""
        rows, columns = self.kernels.jacobian.patterns[f"d{output}/dv"]
        return rows, columns

    def curvature(self, x: Array, factor: float, multipliers: Array) -> Array:
        """(b, nonzeros) of the Hessian of factor times objective plus multipliers (b * nr,) times constraints."""
        bars = {"rows": multipliers.reshape(len(self.data), -1), "terms": factor * self.weights}
        return self.kernels.hessian(x[self.variables], self.data, *(bars[name] for name in self.outputs))


class BlockKernels:
    """The compiled formula of a block and its derivatives by v; the Hessian is built when it is first asked for."""

    def __init__(self, block: Block, content: str | None) -> None:
        self.value = kernels.compile(block.named, block.inputs, block.outputs, name=block.name, content=content)
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

    def sums(self, values: Sequence[Array]) -> Array:
        """(nonzeros,) the sums of the entries of the blocks."""
        n, weights = len(self.rows), np.concatenate([np.zeros(0), *(part.ravel() for part in values)])
        return np.bincount(self.nonzeros, weights=weights, minlength=n + 1)[:n]


class Program:
    """minimise sum weights . terms subject to limits of rows and bounds of x, from blocks.

    size    number of variables
    names, fractions, limits   of all constraints (rows,), block by block: words, fractions of the duration, and their
            lower and upper bounds (rows, 2)

    Each derivative is one kernel call for each block.
    """

    def __init__(self, blocks: Sequence[Block], size: int) -> None:
        self.blocks, self.size = list(blocks), size
        self.names = [name for block in blocks for name in block.row_names * len(block.data)]
        times = (block.times[:, : len(block.row_names)].ravel() for block in blocks)
        self.fractions = np.concatenate([np.zeros(0), *times])
        limits = (np.tile(block.limits, (len(block.data), 1)) for block in blocks)
        self.limits = np.concatenate([np.zeros((0, 2)), *limits])
        ends = np.cumsum([len(block.data) * len(block.row_names) for block in blocks])
        self._rows = np.split(np.arange(len(self.names)), ends[:-1])  # of each block
        self._last: dict[str, tuple[Array, list[dict[str, Array]]]] = {}

    @property
    def rows(self) -> int:
        """Number of constraints."""
        return len(self.names)

    def rows_of(self, name: str) -> Array:
        """The numbers of the constraints of the blocks of a name."""
        own = [rows for rows, block in zip(self._rows, self.blocks, strict=True) if block.name == name]
        return np.concatenate([self._rows[0][:0], *own])

    # ---- values ----------------------------------------------------------------------------------------------

    def values(self, x: Array, kernel: str = "value") -> list[dict[str, Array]]:
        """What a kernel of every block gives at x (size,), kept for the x that was asked for last."""
        last = self._last.get(kernel)
        if last is None or not np.array_equal(last[0], x):
            last = self._last[kernel] = x.copy(), [block.evaluated(kernel, x) for block in self.blocks]
        return last[1]

    def objective(self, x: Array) -> float:
        """The objective."""
        both = zip(self.values(x), self.blocks, strict=True)
        return float(sum(np.sum(values["terms"] * block.weights) for values, block in both))

    def constraints(self, x: Array) -> Array:
        """(rows,) the constraints."""
        return np.concatenate([np.zeros(0), *(part["rows"].ravel() for part in self.values(x))])

    # ---- first derivatives -----------------------------------------------------------------------------------

    def gradient(self, x: Array) -> Array:
        """(size,) of the objective."""
        found = np.zeros(self.size)
        for block, slopes in zip(self.blocks, self.values(x, "jacobian"), strict=True):
            if block.term_names:
                rows, columns = block.pattern("terms")
                values = slopes["terms"] * block.weights[:, rows]
                variables = block.variables[:, columns].ravel()
                found += np.bincount(variables, weights=values.ravel(), minlength=self.size)
        return found

    @cached_property
    def jacobian_pattern(self) -> Pattern:
        """The pattern of the derivatives of the constraints by x, (rows, size)."""
        entries = []
        for block, rows in zip(self.blocks, self._rows, strict=True):
            if block.row_names:
                i, j = block.pattern("rows")
                entries.append((rows.reshape(len(block.data), -1)[:, i], block.variables[:, j]))
        return Pattern.of(entries, (self.rows, self.size))

    def jacobian(self, x: Array) -> Array:
        """(nonzeros,) of the constraints' Jacobian."""
        return self.jacobian_pattern.sums([part["rows"] for part in self.values(x, "jacobian")])

    def jacobian_matrix(self, x: Array) -> Any:
        """(rows, size) the constraints' Jacobian, a sparse matrix of SciPy."""
        pattern, shape = self.jacobian_pattern, (self.rows, self.size)
        return scipy.sparse.csc_array((self.jacobian(x), pattern.rows, pattern.columns), shape=shape)

    # ---- second derivatives ----------------------------------------------------------------------------------

    @cached_property
    def hessian_pattern(self) -> Pattern:
        """The pattern of the upper triangle of the Lagrangian's Hessian, (size, size)."""
        curved = [(block.variables, block.kernels.hessian) for block in self.blocks]
        entries = [(variables[:, kernel.rows], variables[:, kernel.cols]) for variables, kernel in curved]
        return Pattern.of(entries, (self.size, self.size), upper=True)

    def hessian(self, x: Array, factor: float, multipliers: Array) -> Array:
        """(nonzeros,) of the upper triangle of the Hessian of the Lagrangian."""
        both = zip(self.blocks, self._rows, strict=True)
        return self.hessian_pattern.sums([block.curvature(x, factor, multipliers[rows]) for block, rows in both])
