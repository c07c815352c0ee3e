"""Constants under differentiation, and the error for results that have no derivative."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from myoquat.kernels.symbolic.arrays import SymbolArray, is_symbolic
from myoquat.kernels.symbolic.elements import is_number, is_term
from myoquat.kernels.symbolic.records import arrays_of, structure_of
from myoquat.kernels.symbolic.terms import Scalar, Term, ordered
from myoquat.kernels.tracing.adjoints import links

__all__ = ["check_differentiable", "constant", "no_derivative"]


def constant(record: Any) -> Any:
    """The same arrays, which count as constants under differentiation; an array, or a record of arrays.

    Use it to say that a dependence is left out on purpose, as in what goes into a loop whose result is a stationary
    point. On floats that are differentiated by the complex step the real parts; TypeError on SymPy and CasADi symbols,
    which know no such thing.

    >>> import numpy as np
    >>> from myoquat.kernels import compile, constant
    >>> kernel = compile(lambda x: x * constant(x), {"x": ()}, ["y"])
    >>> kernel(3.0), kernel.jacobian()(3.0)
    (array(9.), array(3.))
    """
    return structure_of(record).record([_constant(array) for array in arrays_of(record)])


def _constant(array: Any) -> Any:
    if not is_symbolic(array):
        return np.real(array)
    stopped = np.empty(array.shape, dtype=object)
    for place, x in np.ndenumerate(np.asarray(array)):
        if not (is_term(x) or is_number(x)):
            raise TypeError("SymPy and CasADi symbols know no constant under differentiation")
        stopped[place] = x.tracer.call("stop", x) if is_term(x) else x
    return stopped.view(SymbolArray)


def no_derivative(name: str) -> ValueError:
    """The error for a loop whose result is differentiated."""
    return ValueError(
        f"the result of the loop '{name}' has no derivative: give the equation that it solves "
        "(myoquat.kernels.root), or leave the derivative out by myoquat.kernels.constant of what goes in"
    )


def check_differentiable(inputs: Iterable[Term], outputs: Iterable[Scalar], loops: Sequence[Any]) -> None:
    """ValueError, with the name of the loop, if outputs depend on inputs through a loop, in a derivative.

    loops: in order, each with `taken` and `given` numbers and a name; what an implicit derivative stands for is none.
    """
    if not loops:
        return
    moving: dict[Term, str] = dict.fromkeys(inputs, "")  # by term the loop through which it moves, if any
    for loop in loops:
        _spread(moving, loop.operands)
        if any(isinstance(x, Term) and x in moving for x in loop.operands):
            moving.update(dict.fromkeys(loop.results, loop.name))
    wanted = [x for x in outputs if isinstance(x, Term)]
    _spread(moving, wanted)
    for x in wanted:
        if moving.get(x):
            raise no_derivative(moving[x])


def _spread(moving: dict[Term, str], wanted: Iterable[Scalar]) -> None:
    """Add the terms that move with others."""
    for term in ordered([x for x in wanted if isinstance(x, Term)]):
        if term in moving:
            continue
        causes = [moving[x] for x, rule in links(term) if x in moving and _passes(term, rule)]
        if causes:
            moving[term] = next(filter(None, causes), "")


def _passes(term: Term, rule: Any) -> bool:
    """Whether a partial derivative is not zero by its rule."""
    part = rule(term.tracer, term, 1.0)
    return isinstance(part, Term) or part != 0.0
