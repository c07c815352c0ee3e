"""Exact derivatives of a traced formula, as traced formulas.

Each function takes a `casadi.Function` and its Signature and returns another pair. `of` and `wrt` name outputs and
inputs (one name, several, or None for all). CasADi differentiates and shares common subexpressions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi
import numpy as np

from myoquat.kernels.trace import Shape, Signature, casadi_function

__all__ = ["Names", "Pattern", "hvp", "jacobian", "jvp", "sparse_jacobian", "vjp"]

Names = str | Sequence[str] | None
Pattern = tuple[np.ndarray, np.ndarray]  # rows, columns of the entries that are not structurally zero


@dataclass
class _Expressions:
    """A function opened up: symbols of the inputs and expressions of the outputs, columns by name."""

    signature: Signature
    inputs: dict[str, Any]
    outputs: dict[str, Any]

    def function(
        self, name: str, added: dict[str, tuple[Any, Shape]], outputs: dict[str, tuple[Any, Shape]]
    ) -> tuple[Any, Signature]:
        """(casadi.Function, Signature) with the inputs, `added` inputs, and `outputs`."""
        signature = Signature(
            f"{self.signature.name}_{name}",
            {**self.signature.inputs, **{key: shape for key, (_, shape) in added.items()}},
            {key: shape for key, (_, shape) in outputs.items()},
        )
        columns = [*self.inputs.values(), *(symbol for symbol, _ in added.values())]
        return casadi_function(signature, columns, [column for column, _ in outputs.values()]), signature


def _opened(function: Any, signature: Signature) -> _Expressions:
    symbols = [casadi.SX.sym(f"x{k}", n) for k, n in enumerate(signature.input_sizes)]
    columns = function.call(symbols)
    return _Expressions(
        signature,
        dict(zip(signature.inputs, symbols, strict=True)),
        dict(zip(signature.outputs, columns, strict=True)),
    )


def _chosen(signature: Signature, kind: str, names: Names, available: dict[str, Shape]) -> list[str]:
    chosen = list(available) if names is None else [names] if isinstance(names, str) else list(names)
    unknown = [name for name in chosen if name not in available]
    if unknown or not chosen:
        raise ValueError(f"kernel '{signature.name}' has no {kind} {unknown}; there are: {list(available)}")
    return chosen


def _pairs(signature: Signature, of: Names, wrt: Names) -> list[tuple[str, str]]:
    rows = _chosen(signature, "output", of, signature.outputs)
    columns = _chosen(signature, "input", wrt, signature.inputs)
    return [(y, x) for y in rows for x in columns]


def jacobian(function: Any, signature: Signature, of: Names, wrt: Names) -> tuple[Any, Signature]:
    """Outputs 'dy/dx' of shape (*y_shape, *x_shape), y slowest; structural zeros are constants."""
    open_ = _opened(function, signature)
    outputs = {}
    for y, x in _pairs(signature, of, wrt):
        transposed = casadi.jacobian(open_.outputs[y], open_.inputs[x]).T
        shape = signature.outputs[y] + signature.inputs[x]
        outputs[f"d{y}/d{x}"] = (casadi.vec(casadi.densify(transposed)), shape)
    return open_.function("jacobian", {}, outputs)


def sparse_jacobian(
    function: Any, signature: Signature, of: Names, wrt: Names
) -> tuple[Any, Signature, dict[str, Pattern]]:
    """As `jacobian`, but each output holds only the nonzeros, row by row; with their pattern under the same name."""
    open_ = _opened(function, signature)
    outputs: dict[str, tuple[Any, Shape]] = {}
    patterns = {}
    for y, x in _pairs(signature, of, wrt):
        transposed = casadi.jacobian(open_.outputs[y], open_.inputs[x]).T
        name = f"d{y}/d{x}"
        entries = casadi.vertcat(casadi.SX(0, 1), *transposed.nonzeros())
        outputs[name] = (entries, (transposed.nnz(),))
        sparsity = transposed.sparsity()
        patterns[name] = (np.array(sparsity.get_col(), dtype=int), np.array(sparsity.row(), dtype=int))
    return *open_.function("jacobian", {}, outputs), patterns


def jvp(function: Any, signature: Signature, of: Names, wrt: Names) -> tuple[Any, Signature]:
    """Directional derivative: more inputs 'x_dot', outputs 'y_dot' of the shapes of y."""
    open_ = _opened(function, signature)
    rows = _chosen(signature, "output", of, signature.outputs)
    columns = _chosen(signature, "input", wrt, signature.inputs)
    dots = _seeds(columns, "dot", signature.inputs)
    x = casadi.vertcat(*(open_.inputs[name] for name in columns))
    seed = casadi.vertcat(*(symbol for symbol, _ in dots.values()))
    outputs = {
        f"{y}_dot": (casadi.densify(casadi.jtimes(open_.outputs[y], x, seed)), signature.outputs[y]) for y in rows
    }
    return open_.function("jvp", dots, outputs)


def vjp(function: Any, signature: Signature, of: Names, wrt: Names) -> tuple[Any, Signature]:
    """Gradient of sum_y y_bar . y: more inputs 'y_bar', outputs 'x_bar' of the shapes of x."""
    open_ = _opened(function, signature)
    rows = _chosen(signature, "output", of, signature.outputs)
    columns = _chosen(signature, "input", wrt, signature.inputs)
    bars = _seeds(rows, "bar", signature.outputs)
    gradient = _gradient(open_, rows, columns, bars)
    return open_.function("vjp", bars, _split(signature, columns, gradient, "bar"))


def hvp(function: Any, signature: Signature, of: Names, wrt: Names) -> tuple[Any, Signature]:
    """Hessian of an output times 'x_dot': outputs 'x_hvp' of the shapes of x.

    Where the outputs chosen are more than one number, the Hessian is that of sum_y y_bar . y, with more inputs 'y_bar'.
    """
    open_ = _opened(function, signature)
    rows = _chosen(signature, "output", of, signature.outputs)
    columns = _chosen(signature, "input", wrt, signature.inputs)
    bars = _seeds(rows, "bar", signature.outputs)
    scalar = sum(symbol.numel() for symbol, _ in bars.values()) == 1
    weights = {name: (casadi.SX.ones(1, 1), shape) for name, (_, shape) in bars.items()} if scalar else bars
    gradient = _gradient(open_, rows, columns, weights)
    dots = _seeds(columns, "dot", signature.inputs)
    x = casadi.vertcat(*(open_.inputs[name] for name in columns))
    product = casadi.jtimes(gradient, x, casadi.vertcat(*(symbol for symbol, _ in dots.values())))
    added = dots if scalar else {**bars, **dots}
    return open_.function("hvp", added, _split(signature, columns, product, "hvp"))


def _seeds(names: list[str], suffix: str, shapes: dict[str, Shape]) -> dict[str, tuple[Any, Shape]]:
    """Fresh symbols 'name_suffix' of the named shapes."""
    return {
        f"{name}_{suffix}": (casadi.SX.sym(f"{suffix}{k}", int(np.prod(shapes[name]))), shapes[name])
        for k, name in enumerate(names)
    }


def _gradient(open_: _Expressions, rows: list[str], columns: list[str], weights: dict[str, Any]) -> Any:
    y = casadi.vertcat(*(open_.outputs[name] for name in rows))
    x = casadi.vertcat(*(open_.inputs[name] for name in columns))
    return casadi.jtimes(y, x, casadi.vertcat(*(symbol for symbol, _ in weights.values())), True)


def _split(signature: Signature, columns: list[str], whole: Any, suffix: str) -> dict[str, tuple[Any, Shape]]:
    """The column `whole` cut into one piece per input."""
    sizes = [signature.input_sizes[list(signature.inputs).index(name)] for name in columns]
    edges = np.concatenate([[0], np.cumsum(sizes)]).tolist()
    pieces = casadi.vertsplit(casadi.densify(whole), edges)
    return {f"{name}_{suffix}": (piece, signature.inputs[name]) for name, piece in zip(columns, pieces, strict=True)}
