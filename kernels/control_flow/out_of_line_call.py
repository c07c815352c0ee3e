"""Formulas inside formulas that are written once, as a function: `out_of_line_call`.

While a kernel is traced, the formula is not written where it stands. The outer formula goes on with fresh symbols for
the results, and the kernel holds the inner one once, for any number of calls with other arguments.
"""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

import numpy as np

from myoquat.core import Array, digest, frozen
from myoquat.kernels.symbolic.arrays import is_symbolic, symbols_of
from myoquat.kernels.tracing.context import entered, shared_trace
from myoquat.kernels.tracing.tape import Apply, Ends, OfLoop, PlacedConstruct, Traced, interpret
from myoquat.kernels.tracing.trace import name_of, trace

MAX_FORMULAS_KEPT = 8  # traced formulas, which are long, and asked for again by the other bodies of a step loop


@frozen
class OutOfLineCall:
    """A formula of one input and one output inside another as a function; see `out_of_line_call`."""

    formula: Traced

    @property
    def ends(self) -> Ends:
        """How many numbers it gives and takes."""
        (gives,), (takes,) = self.formula.signature.output_sizes, self.formula.signature.input_sizes
        return Ends(gives, takes)

    @property
    def has_solver(self) -> bool:
        """Whether a step is repeated inside."""
        return self.formula.has_solver

    @property
    def identity(self) -> str:
        """Text that two calls share only if they are of the same formula."""
        return digest("called", self.formula.identity)

    def unrolled(self, operands: list[Any], apply: Apply, of_loop: OfLoop | None) -> list[Any]:
        """The formula in its place."""
        return interpret(self.formula.tape, operands, apply, self.formula.inner, of_loop)


def out_of_line_call(formula: Callable[..., Any], own: tuple[Any, ...], x: Array, size: int) -> Array:
    """(..., size) formula(*own, x (..., n)): the formula depends on nothing else, and calls of the same formula with
    the same objects `own` are one function.

    Beside floats and symbols of SymPy and CasADi, derivatives too, and formulas whose `own` hold symbols, as in a
    study, see the formula itself.
    """
    entry = None if holds_symbols(own) else entered(x)
    if entry is None:
        result: Array = formula(*own, x)
        return result
    pending, tracer = entry
    symbols, operands = symbols_of(tracer, (size,)), list(np.asarray(x).flat)

    def traced() -> OutOfLineCall:
        """Once for all calls in the kernels of a model. Beside the trace its formula is kept, so that the identities in
        the key stay its own."""

        def make() -> tuple[Traced, Any]:
            of_own = partial(formula, *own)
            return trace(of_own, {"given": len(operands)}, {"result": size}, name_of(formula)), own

        return OutOfLineCall(
            shared_trace("formulas", (formula, *map(id, own), len(operands), size), MAX_FORMULAS_KEPT, make)[0]
        )

    pending.append(PlacedConstruct(operands, list(np.asarray(symbols).flat), traced))
    return symbols


def holds_symbols(value: Any) -> bool:
    """Whether there are symbols in a value, the items of a tuple or the fields of a record."""
    if isinstance(value, tuple):
        return any(map(holds_symbols, value))
    if is_dataclass(value) and not isinstance(value, type):
        return any(holds_symbols(getattr(value, f.name)) for f in fields(value))
    return is_symbolic(value)
