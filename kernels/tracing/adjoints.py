"""Derivatives of terms, backwards: the adjoint of a term is the derivative of an output by it; and forwards.

Walking from an output to the inputs, every term adds to the adjoints of its arguments the own adjoint times the partial
derivative. A selection hands its adjoint to the chosen argument alone, so that what was not chosen, infinite or not a
number, takes no part. Conditions, and what jumps, have no derivative. The same products, added up over the arguments of
a term instead, carry a direction forwards.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from myoquat.kernels.symbolic.arrays import SymbolArray, is_symbolic
from myoquat.kernels.symbolic.complex_step import real_part
from myoquat.kernels.symbolic.elements import is_number, is_term
from myoquat.kernels.symbolic.operations import OPERATIONS, Rule, plain
from myoquat.kernels.symbolic.records import arrays_of, structure_of
from myoquat.kernels.symbolic.terms import Scalar, Term, Tracer, ordered


def gradients(tracer: Tracer, outputs: Sequence[Scalar], inputs: Sequence[Term]) -> list[list[Scalar]]:
    """[of each output, its derivative by each input]."""
    order = _moving([x for x in outputs if type(x) is Term], inputs)
    return [_pulled(tracer, {x: 1.0} if isinstance(x, Term) else {}, inputs, order) for x in outputs]


def pull_back(tracer: Tracer, seeds: dict[Term, Scalar], inputs: Sequence[Term]) -> list[Scalar]:
    """The derivative by each input of the sum of terms times their seeds."""
    return _pulled(tracer, seeds, inputs, _moving(seeds, inputs))


def _pulled(
    tracer: Tracer, seeds: dict[Term, Scalar], inputs: Sequence[Term], order: dict[Term | None, None]
) -> list[Scalar]:
    """As `pull_back`, along the terms in `order` that move."""
    adjoints = dict(seeds)
    for term in reversed(order):
        if term is not None and (adjoint := adjoints.get(term)) is not None:
            for argument, rule in zip(term.arguments, _rules_of(term), strict=False):
                if argument in order:
                    part = rule(tracer, term, adjoint)
                    known = adjoints.get(argument)
                    adjoints[argument] = part if known is None else tracer.add(known, part)
    return [adjoints.get(x, 0.0) for x in inputs]


def push_forward(tracer: Tracer, seeds: dict[Term, Scalar], order: Sequence[Term]) -> dict[Term, Scalar]:
    """The derivatives of the terms in `order` along one direction of the inputs, given by the seeds. Terms without an
    entry in the result do not move."""
    dots = dict(seeds)
    for term in order:
        for argument, rule in links(term):
            dot = dots.get(argument)
            if dot is not None:
                part = rule(tracer, term, dot)
                if type(part) is Term or part != 0.0:
                    known = dots.get(term)
                    dots[term] = part if known is None else tracer.add(known, part)
    return dots


def links(term: Term) -> list[tuple[Term, Rule]]:
    """The arguments through which a term moves, each with its rule."""
    rules = _rules_of(term)
    return [(x, rule) for x, rule in zip(term.arguments, rules, strict=False) if x.operation != "const"]


def _rules_of(term: Term) -> tuple[Rule, ...]:
    row = OPERATIONS.get(term.operation)
    partials = () if row is None else row.partials
    if partials is None:
        raise ValueError(f"the operation '{term.operation}' has no derivative")
    return partials


def _moving(outputs: Iterable[Term], inputs: Sequence[Term]) -> dict[Term | None, None]:
    """The terms that outputs need and that depend on the inputs, in their order, the inputs first."""
    moving: dict[Term | None, None] = dict.fromkeys(inputs)
    for term in ordered(outputs, behind=inputs):
        if term.a in moving or term.b in moving or term.c in moving:
            moving[term] = None
    return moving


def substituted(tracer: Tracer, wanted: Sequence[Scalar], values: dict[Term, Scalar]) -> list[Scalar]:
    """The terms with other values in place of some: what depends on these is recorded again."""
    new: dict[Term | None, Scalar] = dict(values)  # type: ignore[arg-type]
    for term in ordered([x for x in wanted if type(x) is Term], behind=values):
        if term not in new and (term.a in new or term.b in new or term.c in new):
            new[term] = tracer.again(term.operation, *(new.get(x, plain(x)) for x in term.arguments))
    return [new.get(x, x) if isinstance(x, Term) else x for x in wanted]


def released(tracer: Tracer, wanted: Sequence[Scalar]) -> list[Scalar]:
    """Derivatives of implicit functions in which the solution moves again, for the next derivative: see `operations`.

    An unknown becomes the solution with its implicit derivative; what was kept from moving otherwise, itself.
    """
    if not tracer.solutions:
        return list(wanted)
    values: dict[Term, Scalar] = {term: term for term in tracer.solutions.values()}
    for term in ordered([x for x in wanted if type(x) is Term], leaves=values):
        if term.operation == "unknown" and term.a is not None:
            known = tracer.solutions.get(term.a)
            values[term] = substituted(tracer, [term.a], values)[0] if known is None else known
    return substituted(tracer, wanted, values)


# ---- Constants under differentiation, and the error for results that have no derivative ------------------------


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
        return real_part(array)
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
        causes = [moving[x] for x, rule in links(term) if x in moving and passes(term, rule)]
        if causes:
            moving[term] = next(filter(None, causes), "")


def passes(term: Term, rule: Rule) -> bool:
    """Whether a partial derivative is not zero by its rule."""
    part = rule(term.tracer, term, 1.0)
    return type(part) is Term or part != 0.0
