"""Derivatives of terms, backwards: the adjoint of a term is the derivative of an output by it; and forwards.

Walking from an output to the inputs, every term adds to the adjoints of its arguments the own adjoint times the partial
derivative. A selection hands its adjoint to the chosen argument alone, so that what was not chosen, infinite or not a
number, takes no part. Conditions, and what jumps, have no derivative. The same products, added up over the arguments of
a term instead, carry a direction forwards.
"""

from collections.abc import Sequence, Set

from myoquat.kernels.symbolic.operations import OPERATIONS, Rule
from myoquat.kernels.symbolic.terms import Scalar, Term, Tracer, ordered

__all__ = ["gradients", "links", "pull_back", "push_forward", "released", "substituted"]


def gradients(tracer: Tracer, outputs: Sequence[Scalar], inputs: Sequence[Term]) -> list[list[Scalar]]:
    """[of each output, its derivative by each input]."""
    order = ordered([x for x in outputs if type(x) is Term])
    moving = _moving(order, inputs)
    place = {term: k for k, term in enumerate(order)}
    return [
        _gradient(tracer, x, inputs, moving, place) if isinstance(x, Term) and x in moving else [0.0] * len(inputs)
        for x in outputs
    ]


def pull_back(tracer: Tracer, seeds: dict[Term, Scalar], inputs: Sequence[Term]) -> list[Scalar]:
    """The derivative by each input of the sum of terms times their seeds."""
    order = ordered(list(seeds))
    moving = _moving(order, inputs)
    adjoints = dict(seeds)
    for term in reversed(order):
        adjoint = adjoints.get(term)
        if adjoint is not None and term in moving:
            _hand_on(tracer, term, adjoint, adjoints, moving)
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
    return row.partials if row else ()


def _moving(order: Sequence[Term], inputs: Sequence[Term]) -> set[Term]:
    """The terms of `order` that depend on the inputs, and these."""
    moving = set(inputs)
    for term in order:
        if any(x in moving for x in term.arguments):
            moving.add(term)
    return moving


def _hand_on(tracer: Tracer, term: Term, adjoint: Scalar, adjoints: dict[Term, Scalar], moving: Set[Term]) -> None:
    """Add a term's adjoint to those of its arguments."""
    for argument, rule in zip(term.arguments, _rules_of(term), strict=False):
        if argument in moving:
            part = rule(tracer, term, adjoint)
            known = adjoints.get(argument)
            adjoints[argument] = part if known is None else tracer.add(known, part)


def substituted(tracer: Tracer, wanted: Sequence[Scalar], values: dict[Term, Scalar]) -> list[Scalar]:
    """The terms with other values in place of some: what depends on these is recorded again."""
    new: dict[Term, Scalar] = dict(values)
    for term in ordered([x for x in wanted if type(x) is Term]):
        if term not in new and any(x in new for x in term.arguments):
            new[term] = tracer.again(term.operation, *(new.get(x, _plain(x)) for x in term.arguments))
    return [new.get(x, x) if isinstance(x, Term) else x for x in wanted]


def released(tracer: Tracer, wanted: Sequence[Scalar]) -> list[Scalar]:
    """Derivatives of implicit functions in which the solution moves again, for the next derivative: see `operations`.

    An unknown becomes the solution with its implicit derivative; what was kept from moving otherwise, itself.
    """
    if not tracer.solutions:
        return list(wanted)
    values: dict[Term, Scalar] = {term: term for term in tracer.solutions.values()}
    for term in _outside(wanted, values):
        if term.operation == "unknown" and term.a is not None:
            known = tracer.solutions.get(term.a)
            values[term] = substituted(tracer, [term.a], values)[0] if known is None else known
    return substituted(tracer, wanted, values)


def _outside(wanted: Sequence[Scalar], solutions: dict[Term, Scalar]) -> list[Term]:
    """The terms behind others, arguments first, but for what is behind solutions."""
    found: dict[Term, None] = {}
    waiting = [(x, False) for x in wanted if type(x) is Term]
    while waiting:
        term, done = waiting.pop()
        if done:
            found[term] = None
        elif term not in found and term not in solutions:
            waiting.append((term, True))
            waiting += [(x, False) for x in term.arguments]
    return list(found)


def _plain(term: Term) -> Scalar:
    return term.number if term.operation == "const" else term


def _gradient(
    tracer: Tracer, output: Term, inputs: Sequence[Term], moving: set[Term], place: dict[Term, int]
) -> list[Scalar]:
    """The derivative of an output by each input; `moving` are the terms that depend on these, `place` their order."""
    adjoints: dict[Term, Scalar] = {output: 1.0}
    for term in sorted(_behind(output, moving), key=place.__getitem__, reverse=True):
        adjoint = adjoints.get(term, 0.0)
        if type(adjoint) is not Term and adjoint == 0.0:
            continue
        _hand_on(tracer, term, adjoint, adjoints, moving)
    return [adjoints.get(x, 0.0) for x in inputs]


def _behind(output: Term, moving: set[Term]) -> set[Term]:
    """The terms through which an output depends on the inputs, itself among them, inputs left out."""
    found = {output}
    waiting = [output]
    while waiting:
        for x in waiting.pop().arguments:
            if x in moving and x not in found:
                found.add(x)
                waiting.append(x)
    return {x for x in found if x.operation != "input"}
