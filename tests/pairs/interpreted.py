"""Kernels without machine code: the tape of a formula, played in NumPy on all states of a batch."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np
import pytest

from myoquat import kernels
from myoquat.core import BoundedTable
from myoquat.joints import evaluation
from myoquat.kernels.control_flow import differentiation
from myoquat.kernels.symbolic.operations import OPERATIONS
from myoquat.kernels.tracing.tape import Node, Traced, interpret
from myoquat.kernels.tracing.trace import trace

_compile = kernels.compile


@contextmanager
def interpreted() -> Iterator[None]:
    """Inside, formulas without solvers are traced and not compiled: that takes a quarter of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "compile", _kernel)
        patch.setattr(evaluation, "_kernels", BoundedTable(evaluation.MAX_KEPT_KERNELS))
        yield


def _kernel(function: Any, inputs: Any, outputs: Any = None, *, name: Any = None, **options: Any) -> Any:
    formula = trace(function, inputs, outputs, name)
    return _compile(function, inputs, outputs, name=name, **options) if formula.has_solver else _Played(formula)


class _Played:
    """A traced formula that is called as a kernel is."""

    def __init__(self, formula: Traced) -> None:
        self.formula, self.inputs = formula, formula.signature.inputs

    def jvp(self, of: Any = None, wrt: Any = None) -> "_Played":
        return _Played(differentiation.jvp(self.formula, of, wrt))

    def hvp(self, of: Any = None, wrt: Any = None) -> "_Played":
        return _Played(differentiation.hvp(self.formula, of, wrt))

    def __call__(self, *arrays: Any, out: Any = None, **named: Any) -> Any:
        signature = self.formula.signature
        shapes, sizes = list(signature.inputs.values()), signature.output_sizes
        values = [
            np.asarray(x, dtype=float) for x in (*arrays, *(named[name] for name in signature.inputs if name in named))
        ]
        batch = np.broadcast_shapes(*(x.shape[: x.ndim - len(s)] for x, s in zip(values, shapes, strict=True)))
        rows = [np.broadcast_to(x, batch + s).reshape(*batch, -1) for x, s in zip(values, shapes, strict=True)]
        columns = [row[..., i] for row in rows for i in range(row.shape[-1])]
        found = iter(interpret(self.formula.tape, columns, _apply, self.formula.inner))
        results = []
        for n, shape in zip(sizes, signature.outputs.values(), strict=True):
            parts = [np.broadcast_to(x, batch) for x in islice(found, n)]
            results.append(np.stack([*parts, np.zeros(batch)], axis=-1)[..., :-1].reshape(*batch, *shape).astype(float))
        if out is not None:
            out[...] = results[0]
        return results[0] if len(results) == 1 else tuple(results)


def _apply(node: Node, *values: Any) -> Any:
    return node.number if node.operation == "const" else OPERATIONS[node.operation].evaluate(*values)
