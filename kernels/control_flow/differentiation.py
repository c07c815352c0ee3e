"""Exact derivatives of a traced formula, as traced formulas.

Each function takes a formula and gives another one. `of` and `wrt` name outputs and inputs (one name, several, or None
for all). The tracer differentiates and shares common subexpressions.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from myoquat.kernels.symbolic.terms import Reciprocals, Scalar, Term, Tracer, ordered
from myoquat.kernels.tracing.adjoints import check_differentiable, pull_back, push_forward, released
from myoquat.kernels.tracing.tape import (
    Pattern,
    PlacedConstruct,
    Shape,
    Signature,
    Traced,
    in_terms,
    interpret,
    tape_of,
)
from myoquat.kernels.tracing.trace import needed_constructs

from .jacobian_entries import Entries, entries_of
from .while_loop import WhileLoop

Names = str | Sequence[str] | None
Derivative = Callable[[Traced, Names, Names], Traced]
Flat = dict[str, list[Any]]  # name -> the components of an input or output, in order


@dataclass
class _Opened:
    """A formula opened up: the terms of its inputs, what its outputs are, by name, and the loops inside."""

    signature: Signature
    tracer: Tracer
    inputs: Flat
    outputs: Flat
    loops: list[PlacedConstruct]

    def check(self, values: Sequence[Scalar], columns: Sequence[str]) -> None:
        """ValueError if the derivative of values by the inputs passes through a loop."""
        try:
            check_differentiable(_joined(self.inputs, columns), values, self.loops)
        except ValueError as error:
            raise ValueError(f"kernel '{self.signature.name}': {error}") from None

    def body(
        self,
        name: str,
        added: dict[str, tuple[list[Term], Shape]],
        outputs: dict[str, tuple[list[Scalar], Shape]],
        evaluations: Sequence[PlacedConstruct] = (),
    ) -> Traced:
        """The formula with the inputs, `added` inputs, and `outputs`, with the compressed Jacobians in them."""
        signature = Signature(
            f"{self.signature.name}_{name}",
            {**self.signature.inputs, **{key: shape for key, (_, shape) in added.items()}},
            {key: shape for key, (_, shape) in outputs.items()},
        )
        operands = [*_joined(self.inputs, self.inputs), *itertools.chain(*(x for x, _ in added.values()))]
        results = self.released([*itertools.chain(*(x for x, _ in outputs.values()))])
        directions = [replace(one, operands=self.released(one.operands)) for one in evaluations]
        wanted = [*results, *itertools.chain(*(x.operands for x in directions))]
        constructs = [*needed_constructs(wanted, self.loops), *directions]
        for construct in constructs:
            operands, results = [*operands, *construct.results], [*results, *construct.operands]
        return Traced(tape_of(self.tracer, operands, results), signature, tuple(x.traced() for x in constructs))

    def released(self, values: Sequence[Scalar]) -> list[Scalar]:
        """Derivatives in which solutions of equations move again."""
        return released(self.tracer, values)

    def seeds(self, names: Sequence[str], suffix: str, shapes: dict[str, Shape]) -> dict[str, tuple[list[Term], Shape]]:
        """Fresh symbols 'name_suffix' of the named shapes."""
        return {f"{n}_{suffix}": (self.tracer.inputs(int(np.prod(shapes[n]))), shapes[n]) for n in names}

    def gradient(self, rows: Sequence[str], columns: Sequence[str], weights: Sequence[Scalar]) -> list[Scalar]:
        """Of the sum of the outputs times weights, by the inputs."""
        seeds: dict[Term, Scalar] = {}
        for output, weight in zip(_joined(self.outputs, rows), weights, strict=True):
            if type(output) is Term:
                seeds[output] = self.tracer.add(seeds[output], weight) if output in seeds else weight
        return self.released(pull_back(self.tracer, seeds, _joined(self.inputs, columns)))

    def along(self, values: Sequence[Scalar], columns: Sequence[str], dots: Sequence[Term]) -> list[Scalar]:
        """The derivatives of values along a direction of the inputs."""
        order = ordered([x for x in values if type(x) is Term])
        found = push_forward(self.tracer, dict(zip(_joined(self.inputs, columns), dots, strict=True)), order)
        return [found.get(x, 0.0) if type(x) is Term else 0.0 for x in values]

    def split(self, columns: Sequence[str], whole: list[Scalar], suffix: str) -> dict[str, tuple[list[Scalar], Shape]]:
        """The numbers `whole` cut into one piece per input."""
        flat = iter(whole)
        return {
            f"{name}_{suffix}": ([*itertools.islice(flat, len(self.inputs[name]))], self.signature.inputs[name])
            for name in columns
        }


def _opened(formula: Traced, of: Names, wrt: Names) -> tuple[_Opened, list[str], list[str]]:
    """The formula, and the names of the outputs and inputs; ValueError where a derivative passes through a loop."""
    signature, tracer = formula.signature, Reciprocals()
    inputs = {name: tracer.inputs(size) for name, size in zip(signature.inputs, signature.input_sizes, strict=True)}
    loops: list[PlacedConstruct] = []

    def of_loop(loop: WhileLoop, operands: list[Any]) -> list[Any]:
        loops.append(PlacedConstruct(operands, tracer.inputs(loop.ends.gives), lambda: loop, loop.name))
        return list(loops[-1].results)

    results = iter(interpret(formula.tape, _joined(inputs, inputs), in_terms(tracer), formula.inner, of_loop))
    outputs = {
        name: [*itertools.islice(results, size)]
        for name, size in zip(signature.outputs, signature.output_sizes, strict=True)
    }
    rows, columns = _sides(signature, of, wrt)
    open_ = _Opened(signature, tracer, inputs, outputs, loops)
    open_.check(_joined(outputs, rows), columns)
    return open_, rows, columns


def _joined(parts: Flat, names: Any) -> list[Any]:
    return [x for name in names for x in parts[name]]


def _chosen(signature: Signature, role: str, names: Names, available: dict[str, Shape]) -> list[str]:
    chosen = list(available) if names is None else [names] if isinstance(names, str) else list(names)
    unknown = [name for name in chosen if name not in available]
    if unknown or not chosen:
        raise ValueError(f"kernel '{signature.name}' has no {role} {unknown}; there are: {list(available)}")
    return chosen


def _sides(signature: Signature, of: Names, wrt: Names) -> tuple[list[str], list[str]]:
    rows = _chosen(signature, "output", of, signature.outputs)
    return rows, _chosen(signature, "input", wrt, signature.inputs)


def jacobian(formula: Traced, of: Names, wrt: Names) -> Traced:
    """Outputs 'dy/dx' of shape (*y_shape, *x_shape), y slowest; structural zeros are constants."""
    open_, pairs, entries = _matrix(formula, of, wrt)
    outputs: dict[str, tuple[list[Scalar], Shape]] = {}
    for (y, x), cells in pairs.items():
        width = len(open_.inputs[x])
        dense: list[Scalar] = [0.0] * (len(open_.outputs[y]) * width)
        for (i, j), value in cells.items():
            dense[i * width + j] = value
        outputs[f"d{y}/d{x}"] = dense, formula.signature.outputs[y] + formula.signature.inputs[x]
    gradients = {f"d{y}/d{x}": x for y, x in pairs if len(open_.outputs[y]) == 1}
    return replace(open_.body("jacobian", {}, outputs, entries.evaluations), gradients=gradients)


def sparse_jacobian(formula: Traced, of: Names, wrt: Names) -> Traced:
    """As `jacobian`, but each output holds only the nonzeros, row by row; with their pattern under the same name."""
    open_, pairs, entries = _matrix(formula, of, wrt)
    outputs: dict[str, tuple[list[Scalar], Shape]] = {}
    patterns: dict[str, Pattern] = {}
    for (y, x), cells in pairs.items():
        outputs[f"d{y}/d{x}"] = list(cells.values()), (len(cells),)
        rows, columns = np.array(list(cells), dtype=int).reshape(-1, 2).T
        patterns[f"d{y}/d{x}"] = rows, columns
    return replace(open_.body("jacobian", {}, outputs, entries.evaluations), patterns=patterns)


def _matrix(
    formula: Traced, of: Names, wrt: Names
) -> tuple[_Opened, dict[tuple[str, str], dict[tuple[int, int], Scalar]], Entries]:
    """The formula, the entries that are not structurally zero by output, input and index, and where they are from."""
    open_, rows, columns = _opened(formula, of, wrt)
    symmetric = len(rows) == 1 and columns == [formula.gradients.get(rows[0])]
    sides = [open_.outputs[y] for y in rows], [open_.inputs[x] for x in columns]
    entries = entries_of(open_.tracer, *sides, symmetric)
    above = dict(zip(rows, itertools.accumulate([0, *(len(open_.outputs[y]) for y in rows)]), strict=False))
    before = dict(zip(columns, itertools.accumulate([0, *(len(open_.inputs[x]) for x in columns)]), strict=False))
    pairs = {}
    for y, x in itertools.product(rows, columns):
        every = itertools.product(range(len(open_.outputs[y])), range(len(open_.inputs[x])))
        cells = (((i, j), entries.values.get((above[y] + i, before[x] + j))) for i, j in every)
        pairs[y, x] = {place: value for place, value in cells if value is not None}
    return open_, pairs, entries


def jvp(formula: Traced, of: Names, wrt: Names) -> Traced:
    """Directional derivative: more inputs 'x_dot', outputs 'y_dot' of the shapes of y."""
    open_, rows, columns = _opened(formula, of, wrt)
    dots = open_.seeds(columns, "dot", formula.signature.inputs)
    moved = iter(open_.along(_joined(open_.outputs, rows), columns, [x for terms, _ in dots.values() for x in terms]))
    outputs = {
        f"{y}_dot": ([*itertools.islice(moved, len(open_.outputs[y]))], formula.signature.outputs[y]) for y in rows
    }
    return open_.body("jvp", dots, outputs)


def vjp(formula: Traced, of: Names, wrt: Names) -> Traced:
    """Gradient of sum_y y_bar . y: more inputs 'y_bar', outputs 'x_bar' of the shapes of x."""
    open_, rows, columns = _opened(formula, of, wrt)
    bars = open_.seeds(rows, "bar", formula.signature.outputs)
    gradient = open_.gradient(rows, columns, [x for terms, _ in bars.values() for x in terms])
    body = open_.body("vjp", bars, open_.split(columns, gradient, "bar"))
    return replace(body, gradients={f"{x}_bar": x for x in columns})


def hvp(formula: Traced, of: Names, wrt: Names) -> Traced:
    """Hessian of an output times 'x_dot': outputs 'x_hvp' of the shapes of x.

    Where the outputs chosen are more than one number, the Hessian is that of sum_y y_bar . y, with more inputs 'y_bar'.
    """
    open_, rows, columns = _opened(formula, of, wrt)
    bars = open_.seeds(rows, "bar", formula.signature.outputs)
    weights: list[Scalar] = [x for terms, _ in bars.values() for x in terms]
    scalar = len(weights) == 1
    gradient = open_.gradient(rows, columns, [1.0] if scalar else weights)
    open_.check(gradient, columns)
    dots = open_.seeds(columns, "dot", formula.signature.inputs)
    product = open_.along(gradient, columns, [x for terms, _ in dots.values() for x in terms])
    return open_.body("hvp", dots if scalar else {**bars, **dots}, open_.split(columns, product, "hvp"))


def sparse_hessian(formula: Traced, of: Names, wrt: Names) -> Traced:
    """Hessian of sum_y y_bar . y by the inputs: the sparse Jacobian of `vjp`, which itself is not compiled."""
    _, columns = _sides(formula.signature, of, wrt)
    return sparse_jacobian(vjp(formula, of, wrt), [f"{x}_bar" for x in columns], columns)
