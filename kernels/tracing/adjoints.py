"""Derivatives of terms, backwards: the adjoint of a term is the derivative of an output by it; and forwards.

Walking from an output to the inputs, every term adds to the adjoints of its arguments the own adjoint times the partial
derivative. A selection hands its adjoint to the chosen argument alone, so that what was not chosen, infinite or not a
number, takes no part. Conditions, and what jumps, have no derivative. The same products, added up over the arguments of
a term instead, carry a direction forwards.
"""

from collections.abc import Callable, Sequence, Set
from typing import TypeAlias

from myoquat.kernels.symbolic.terms import Recording, Scalar, Term, ordered

__all__ = ["CHOICES", "EDGED", "Rule", "gradients", "links", "pulled", "pushed", "substituted"]

Rule: TypeAlias = Callable[[Recording, Term, Scalar], Scalar]  # (recording, term, its adjoint) -> that of an argument


def gradients(recording: Recording, outputs: Sequence[Scalar], inputs: Sequence[Term]) -> list[list[Scalar]]:
    """[of each output, its derivative by each input]."""
    order = ordered([x for x in outputs if type(x) is Term])
    moving = _moving(order, inputs)
    place = {term: k for k, term in enumerate(order)}
    return [
        _gradient(recording, x, inputs, moving, place) if isinstance(x, Term) and x in moving else [0.0] * len(inputs)
        for x in outputs
    ]


def pulled(recording: Recording, seeds: dict[Term, Scalar], inputs: Sequence[Term]) -> list[Scalar]:
    """The derivative by each input of the sum of terms times their seeds."""
    order = ordered(list(seeds))
    moving = _moving(order, inputs)
    adjoints = dict(seeds)
    for term in reversed(order):
        adjoint = adjoints.get(term)
        if adjoint is not None and term in moving:
            _hand_on(recording, term, adjoint, adjoints, moving)
    return [adjoints.get(x, 0.0) for x in inputs]


def pushed(recording: Recording, seeds: dict[Term, Scalar], order: Sequence[Term]) -> dict[Term, Scalar]:
    """The derivatives of the terms in `order` along the direction in which the inputs have the seeds; those that are
    not in the answer do not move."""
    dots = dict(seeds)
    for term in order:
        for argument, rule in links(term):
            dot = dots.get(argument)
            if dot is not None:
                part = rule(recording, term, dot)
                if type(part) is Term or part != 0.0:
                    known = dots.get(term)
                    dots[term] = part if known is None else recording.add(known, part)
    return dots


def links(term: Term) -> list[tuple[Term, Rule]]:
    """The arguments through which a term moves, each with its rule."""
    rules = _RULES.get(term.operation, ())
    return [(x, rule) for x, rule in zip(term.arguments, rules, strict=False) if x.operation != "const"]


def _moving(order: Sequence[Term], inputs: Sequence[Term]) -> set[Term]:
    """The terms of `order` that depend on the inputs, and these."""
    moving = set(inputs)
    for term in order:
        if any(x in moving for x in term.arguments):
            moving.add(term)
    return moving


def _hand_on(
    recording: Recording, term: Term, adjoint: Scalar, adjoints: dict[Term, Scalar], moving: Set[Term]
) -> None:
    """Add a term's adjoint to those of its arguments."""
    for argument, rule in zip(term.arguments, _RULES.get(term.operation, ()), strict=False):
        if argument in moving:
            part = rule(recording, term, adjoint)
            known = adjoints.get(argument)
            adjoints[argument] = part if known is None else recording.add(known, part)


def substituted(recording: Recording, wanted: Sequence[Scalar], values: dict[Term, Scalar]) -> list[Scalar]:
    """The terms with other values in place of some: what depends on these is recorded again."""
    new: dict[Term, Scalar] = dict(values)
    for term in ordered([x for x in wanted if type(x) is Term]):
        if term not in new and any(x in new for x in term.arguments):
            new[term] = recording.again(term.operation, *(new.get(x, _plain(x)) for x in term.arguments))
    return [new.get(x, x) if isinstance(x, Term) else x for x in wanted]


def _plain(term: Term) -> Scalar:
    return term.number if term.operation == "const" else term


def _gradient(
    recording: Recording, output: Term, inputs: Sequence[Term], moving: set[Term], place: dict[Term, int]
) -> list[Scalar]:
    """The derivative of an output by each input; `moving` are the terms that depend on these, `place` their order."""
    adjoints: dict[Term, Scalar] = {output: 1.0}
    for term in sorted(_behind(output, moving), key=place.__getitem__, reverse=True):
        adjoint = adjoints.get(term, 0.0)
        if type(adjoint) is not Term and adjoint == 0.0:
            continue
        _hand_on(recording, term, adjoint, adjoints, moving)
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


# ---- the rules ----------------------------------------------------------------------------------------------


def _a(term: Term) -> Scalar:
    assert term.a is not None
    return _plain(term.a)


def _b(term: Term) -> Scalar:
    assert term.b is not None
    return _plain(term.b)


def _same(r: Recording, y: Term, bar: Scalar) -> Scalar:
    return bar


def _negative(r: Recording, y: Term, bar: Scalar) -> Scalar:
    return r.negate(bar)


def _over_norm(r: Recording, y: Term, bar: Scalar, side: Scalar) -> Scalar:
    """bar times a side over a^2 + b^2, of the arctangent of a and b."""
    return r.multiply(bar, r.divide(side, r.add(r.multiply(_a(y), _a(y)), r.multiply(_b(y), _b(y)))))


def _sign_of_product(r: Recording, y: Term, bar: Scalar) -> Scalar:
    """bar times the signs of both arguments, of which zero counts as that of its bits."""
    return r.multiply(bar, r.multiply(r.call("copysign", 1.0, _a(y)), r.call("copysign", 1.0, _b(y))))


def _is_extreme(r: Recording, y: Term) -> Scalar:
    """Whether the first argument is the one that a minimum or maximum took; of equal ones it is."""
    return r.call("le", _a(y), _b(y)) if y.operation == "min" else r.call("le", _b(y), _a(y))


def _root_of_one(r: Recording, x: Scalar, sign: float) -> Scalar:
    """sqrt(1 + sign x^2)."""
    return r.call("sqrt", r.add(1.0, r.multiply(sign, r.multiply(x, x))))


_RULES: dict[str, tuple[Rule, ...]] = {
    "add": (_same, _same),
    "sub": (_same, _negative),
    "mul": (lambda r, y, bar: r.multiply(bar, _b(y)), lambda r, y, bar: r.multiply(bar, _a(y))),
    "div": (
        lambda r, y, bar: r.divide(bar, _b(y)),
        lambda r, y, bar: r.negate(r.multiply(r.divide(bar, _b(y)), y)),
    ),
    "neg": (_negative,),
    "inv": (lambda r, y, bar: r.negate(r.multiply(bar, r.multiply(y, y))),),
    "sq": (lambda r, y, bar: r.multiply(r.twice(bar), _a(y)),),
    "twice": (lambda r, y, bar: r.twice(bar),),
    "sqrt": (lambda r, y, bar: r.divide(bar, r.twice(y)),),
    "abs": (lambda r, y, bar: r.multiply(bar, r.call("sign", _a(y))),),
    "copysign": (_sign_of_product,),
    "min": (
        lambda r, y, bar: r.select(_is_extreme(r, y), bar, 0.0),
        lambda r, y, bar: r.select(_is_extreme(r, y), 0.0, bar),
    ),
    "fmod": (_same, lambda r, y, bar: r.multiply(bar, r.divide(r.subtract(y, _a(y)), _b(y)))),
    "sin": (lambda r, y, bar: r.multiply(bar, r.call("cos", _a(y))),),
    "cos": (lambda r, y, bar: r.negate(r.multiply(bar, r.call("sin", _a(y)))),),
    "tan": (lambda r, y, bar: r.multiply(bar, r.add(1.0, r.multiply(y, y))),),
    "asin": (lambda r, y, bar: r.divide(bar, _root_of_one(r, _a(y), -1.0)),),
    "acos": (lambda r, y, bar: r.negate(r.divide(bar, _root_of_one(r, _a(y), -1.0))),),
    "atan": (lambda r, y, bar: r.divide(bar, r.add(1.0, r.multiply(_a(y), _a(y)))),),
    "atan2": (
        lambda r, y, bar: _over_norm(r, y, bar, _b(y)),
        lambda r, y, bar: r.negate(_over_norm(r, y, bar, _a(y))),
    ),
    "exp": (lambda r, y, bar: r.multiply(bar, y),),
    "expm1": (lambda r, y, bar: r.multiply(bar, r.add(1.0, y)),),
    "log": (lambda r, y, bar: r.divide(bar, _a(y)),),
    "log1p": (lambda r, y, bar: r.divide(bar, r.add(1.0, _a(y))),),
    "sinh": (lambda r, y, bar: r.multiply(bar, r.call("cosh", _a(y))),),
    "cosh": (lambda r, y, bar: r.multiply(bar, r.call("sinh", _a(y))),),
    "tanh": (lambda r, y, bar: r.multiply(bar, r.subtract(1.0, r.multiply(y, y))),),
    "asinh": (lambda r, y, bar: r.divide(bar, _root_of_one(r, _a(y), 1.0)),),
    "pow": (
        lambda r, y, bar: r.multiply(bar, r.multiply(_b(y), r.power(_a(y), r.subtract(_b(y), 1.0)))),
        lambda r, y, bar: r.multiply(bar, r.multiply(y, r.call("log", _a(y)))),
    ),
    "if": (lambda r, y, bar: 0.0, lambda r, y, bar: r.select(_a(y), bar, 0.0)),
    "select": (
        lambda r, y, bar: 0.0,
        lambda r, y, bar: r.select(_a(y), bar, 0.0),
        lambda r, y, bar: r.select(_a(y), 0.0, bar),
    ),
}
_RULES["max"] = _RULES["min"]
CHOICES = frozenset(("if", "select", "min", "max"))  # of which an argument that is not chosen takes no part
EDGED = frozenset(  # with derivatives that are infinite, or not a number, at finite arguments
    ("div", "inv", "sqrt", "fmod", "tan", "asin", "acos", "atan2", "log", "log1p", "pow")
)
