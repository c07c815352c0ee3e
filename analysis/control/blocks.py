"""Blocks: one formula at many intervals or points side by side, with its exact derivatives, as parts of a program.

A block takes variables v (nv,) and data d (nd,) and gives rows of constraints and terms of the objective. All its
instances go through the lanes of one kernel call; what a call gives is added into the sparse matrices of the program.
"""

from collections.abc import Callable, Hashable
from dataclasses import field
from functools import cached_property

import numpy as np

from myoquat import kernels
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.compiled import kernel_for
from myoquat.joints.stacking import joined

__all__ = ["Block", "BlockFormula", "BlockKernels"]

Formula = Callable[[Array, Array], tuple[list[Array], list[Array]]]  # of v and d: rows, terms


@dataclass(frozen=True, eq=False)
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
        found = {"rows": joined(rows) if rows else None, "terms": joined([t[..., None] for t in terms]) if terms else v}
        return {name: _checked(self.name, name, found[name], n) for name, n in self.outputs.items()}


def _checked(block: str, output: str, values: Array | None, expected: int) -> Array:
    if values is None or values.shape[-1] != expected:
        raise ValueError(f"{block}: {expected} {output} are expected, not {0 if values is None else values.shape[-1]}")
    return values


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


@dataclass(frozen=True, eq=False)
class Block:
    """Instances (b,) of a formula in a program.

    variables   (b, nv) indices of the variables in the program
    data        (b, nd) numbers that the formula takes
    rows        (b, nr) indices of the constraints
    weights     (b, nt) of the terms in the objective
    times       (b,) fractions of the duration, for messages
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
        found: Array = self.kernels.hessian(x[self.variables], self.data, *bars)
        return found

    def curvature_pattern(self) -> tuple[Array, Array]:
        """Rows and columns within an instance of the nonzeros of its Hessian."""
        return self.kernels.hessian.rows, self.kernels.hessian.cols
