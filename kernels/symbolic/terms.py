"""Terms: what a formula computes with while it is traced.

A term is one operation on others, a constant or an input. A Tracer makes them, each only once. An operation on the same
terms is the same term, and sums and products that say nothing (x + 0, x - x, -(-x), 1 x) are not recorded. Floats stay
floats until they meet a term. Every term takes only terms that were there before it.
"""

import itertools
import struct
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np

from .operations import OPERATIONS

Scalar: TypeAlias = "Term | float"

_MAX_SEARCHED_TERMS = 16  # terms of a sum among which the one that is subtracted is sought
_ages = itertools.count()
_MAX_PRODUCT_EXPONENT = 100  # whole exponents up to which a power is written as products


class Term:
    """An operation on terms, with Python's arithmetic; it has no value and no truth.

    age: a number that is greater than those of all terms that were made before, by whichever tracer. A term depends on
    no younger one.
    """

    __slots__ = ("a", "age", "b", "c", "number", "operation", "tracer")
    __array_ufunc__ = None

    def __init__(
        self, tracer: "Tracer", operation: str, a: "Term | None" = None, b: "Term | None" = None,
        c: "Term | None" = None, number: float = 0.0,
    ) -> None:  # fmt: skip
        self.tracer, self.operation = tracer, operation
        self.a, self.b, self.c, self.number = a, b, c, number
        self.age = next(_ages)

    @property
    def arguments(self) -> "tuple[Term, ...]":
        """The terms that this one takes."""
        if self.a is None:
            return ()
        if self.b is None:
            return (self.a,)
        return (self.a, self.b) if self.c is None else (self.a, self.b, self.c)

    def __add__(self, other: Any) -> Scalar:
        return self.tracer.add(self, other)

    def __radd__(self, other: Any) -> Scalar:
        return self.tracer.add(other, self)

    def __sub__(self, other: Any) -> Scalar:
        return self.tracer.subtract(self, other)

    def __rsub__(self, other: Any) -> Scalar:
        return self.tracer.subtract(other, self)

    def __mul__(self, other: Any) -> Scalar:
        return self.tracer.multiply(self, other)

    def __rmul__(self, other: Any) -> Scalar:
        return self.tracer.multiply(other, self)

    def __truediv__(self, other: Any) -> Scalar:
        return self.tracer.divide(self, other)

    def __rtruediv__(self, other: Any) -> Scalar:
        return self.tracer.divide(other, self)

    def __pow__(self, other: Any) -> Scalar:
        return self.tracer.power(self, other)

    def __rpow__(self, other: Any) -> Scalar:
        return self.tracer.power(other, self)

    def __neg__(self) -> Scalar:
        return self.tracer.negate(self)

    def __pos__(self) -> "Term":
        return self

    def __bool__(self) -> bool:
        raise TypeError("a formula cannot branch on a symbol's value: choose with np.where(condition, a, b)")

    def __float__(self) -> float:
        raise TypeError("a symbol has no value: keep the formula in NumPy's functions (np.sin, not math.sin)")

    def __repr__(self) -> str:
        return f"<term: {self.operation}>"


class Tracer:
    """The terms of one tracing. Its methods take terms and numbers, and return a float where no term is left."""

    def __init__(self) -> None:
        self._known: dict[Any, Term] = {}
        self.solutions: dict[Term, Term] = {}  # what a solver gives -> the same number with its implicit derivative

    # ---- leaves ----------------------------------------------------------------------------------------------

    def inputs(self, count: int) -> list[Term]:
        """Fresh symbols."""
        return [Term(self, "input") for _ in range(count)]

    def constant(self, x: float) -> Term:
        """The term of a number; equal bits, equal term."""
        key = struct.pack("<d", x)
        if key not in self._known:
            self._known[key] = Term(self, "const", number=float(x))
        return self._known[key]

    def _term(self, operation: str, a: Term, b: Term | None = None, c: Term | None = None) -> Term:
        key = (operation, a, b, c)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Term(self, operation, a, b, c)
        return found

    def _both(self, a: Scalar, b: Scalar) -> tuple[Term, Term]:
        return (
            a if type(a) is Term else self.constant(a),  # type: ignore[arg-type]
            b if type(b) is Term else self.constant(b),  # type: ignore[arg-type]
        )

    # ---- arithmetic ------------------------------------------------------------------------------------------

    def add(self, a: Scalar, b: Scalar) -> Scalar:
        if type(a) is not Term:
            if type(b) is not Term:
                return _number("add", a, b)
            a, b = b, a
        if type(b) is not Term:
            return a if b == 0 else self._term("add", *self._both(a, b))
        if b.operation == "neg":
            return self.subtract(a, _only(b))
        if a.operation == "neg":
            return self.subtract(b, _only(a))
        if a is b:
            return self.twice(a)
        return self._commutative("add", a, b)

    def subtract(self, a: Scalar, b: Scalar) -> Scalar:
        if type(b) is not Term:
            return a if b == 0 and type(a) is Term else self.add(a, -b)
        if type(a) is not Term:
            return self.negate(b) if a == 0 else self._term("sub", *self._both(a, b))
        if a is b:
            return 0.0
        if b.operation == "neg":
            return self.add(a, _only(b))
        if a.operation == "neg":
            return self.negate(self.add(_only(a), b))
        rest = self._without(a, b)
        return self._term("sub", a, b) if rest is None else rest

    def _without(self, a: Term, b: Term) -> "Term | float | None":
        """The sum a less one of its terms b, without its rounding: (b + x) + y gives x + y; None if b is not in it."""
        beyond: list[Term] = []
        while a.operation == "add" and a.b is not None and len(beyond) < _MAX_SEARCHED_TERMS:
            if a.a is b or a.b is b:
                rest: Scalar = a.b if a.a is b else _only(a)
                for x in reversed(beyond):
                    rest = self.add(rest, x)
                return rest
            beyond.append(a.b)
            a = _only(a)
        return None

    def multiply(self, a: Scalar, b: Scalar) -> Scalar:
        if type(a) is not Term:
            if type(b) is not Term:
                return _number("mul", a, b)
            a, b = b, a
        if type(b) is not Term:
            return self._scaled(a, float(b))
        if a.operation == "neg" or b.operation == "neg":
            return self._product_of_negatives(a, b)
        if a is b:
            return self._term("sq", a)
        if b.operation == "inv":
            return self.divide(a, _only(b))
        return self.divide(b, _only(a)) if a.operation == "inv" else self._commutative("mul", a, b)

    def _product_of_negatives(self, a: Term, b: Term) -> Scalar:
        """A product of which one factor is a negative at least: its sign goes in front."""
        if a.operation == b.operation:
            return self.multiply(_only(a), _only(b))
        a, b = (a, b) if a.operation == "neg" else (b, a)
        return self.negate(self.multiply(_only(a), b))

    def divide(self, a: Scalar, b: Scalar) -> Scalar:
        if type(b) is not Term:
            if type(a) is not Term:
                return _number("div", a, b)
            return a if b == 1 else self.negate(a) if b == -1 else self._term("div", *self._both(a, b))
        if type(a) is not Term:
            return 0.0 if a == 0 else self.invert(b) if a == 1 else self._term("div", *self._both(a, b))
        if a is b:
            return 1.0
        if a.operation == "neg":
            return self.negate(self.divide(_only(a), b))
        if b.operation == "neg":
            return self.negate(self.divide(a, _only(b)))
        return self.multiply(a, _only(b)) if b.operation == "inv" else self._term("div", a, b)

    def negate(self, a: Scalar) -> Scalar:
        if type(a) is not Term:
            return -a
        return _only(a) if a.operation == "neg" else self._term("neg", a)

    def twice(self, a: Scalar) -> Scalar:
        """2 a; of a number over 2 y, that number over y."""
        if type(a) is not Term:
            return 2.0 * a
        divisor = a.b if a.operation == "div" else a.a if a.operation == "inv" else None
        if divisor is not None and divisor.operation == "twice":
            return self.divide(_only(a), _only(divisor)) if a.operation == "div" else self.invert(_only(divisor))
        if a.operation == "mul" and a.b is not None and _only(a).operation == "const":
            return self._scaled(a.b, 2.0 * _only(a).number)
        return self.negate(self.twice(_only(a))) if a.operation == "neg" else self._term("twice", a)

    def square(self, a: Scalar) -> Scalar:
        return self.multiply(a, a)

    def invert(self, a: Scalar) -> Scalar:
        """1 / a."""
        if type(a) is not Term:
            return _number("inv", a)
        return _only(a) if a.operation == "inv" else self._term("inv", a)

    def power(self, a: Scalar, b: Scalar) -> Scalar:
        """a^b; products where b is a whole number."""
        if type(b) is Term or type(a) is not Term:
            return self.call("pow", a, b)
        exponent = float(b)
        if exponent == 0.5:
            return self.call("sqrt", a)
        if not exponent.is_integer() or abs(exponent) > _MAX_PRODUCT_EXPONENT:
            return self._term("pow", *self._both(a, exponent))
        if exponent < 0:
            return self.invert(self.power(a, -exponent))
        half = self.power(a, exponent // 2) if exponent > 1 else 1.0
        square = self.multiply(half, half)
        return self.multiply(square, a) if exponent % 2 else square

    def _scaled(self, a: Term, factor: float) -> Scalar:
        """The term times a number."""
        if factor == 0.0:
            return 0.0
        if factor == 1.0:
            return a
        if factor == -1.0:
            return self.negate(a)
        if factor == 2.0:
            return self.twice(a)
        if a.operation == "neg":
            return self._scaled(_only(a), -factor)
        if a.operation == "mul" and a.b is not None and _only(a).operation == "const":
            return self._scaled(a.b, _only(a).number * factor)
        return self._term("mul", self.constant(factor), a)

    def _commutative(self, operation: str, a: Term, b: Term) -> Term:
        """The sum or product that is already there, in whichever order."""
        found = self._known.get((operation, b, a, None))
        return self._term(operation, a, b) if found is None else found

    # ---- selections, conditions and functions ----------------------------------------------------------------

    def select(self, condition: Scalar, a: Scalar, b: Scalar) -> Scalar:
        """a where the condition holds, b elsewhere."""
        if type(condition) is not Term:
            return a if condition else b
        if a is b or (type(a) is not Term and type(b) is not Term and a == b):
            return a
        if condition.operation == "not":
            return self.select(_only(condition), b, a)
        if type(b) is not Term and b == 0:
            return self._term("if", *self._both(condition, a))
        return self._term("select", condition, *self._both(a, b))

    def only_if(self, condition: Scalar, a: Scalar) -> Scalar:
        """a where the condition holds, 0 elsewhere."""
        return self.select(condition, a, 0.0)

    def call(self, operation: str, *values: Scalar) -> Scalar:
        """An operation without rules of its own."""
        if all(type(x) is not Term for x in values):
            return _number(operation, *values)
        if operation in ("and", "or"):
            return self._joined(operation, *values)
        terms = [x if type(x) is Term else self.constant(x) for x in values]  # type: ignore[arg-type]
        first = terms[0]
        if operation == "not" and first.operation == "not":
            return _only(first)
        if operation == "sqrt" and first.operation == "sq":
            return self._term("abs", _only(first))
        if operation in ("min", "max") and first is terms[1]:
            return first
        found = self._term(operation, *terms)
        if operation == "implicit":
            self.solutions[first] = found
        return found

    def _joined(self, operation: str, a: Scalar, b: Scalar) -> Scalar:
        """Conditions that hold both, or of which one holds; a known one says the rest."""
        if type(a) is not Term:
            a, b = b, a
        if type(b) is not Term:
            return a if bool(b) == (operation == "and") else float(operation == "or")
        return a if a is b else self._commutative(operation, a, b)  # type: ignore[arg-type]

    def again(self, operation: str, *values: Scalar) -> Scalar:
        """The operation of a term that is there on other values."""
        method = _METHODS.get(operation)
        found: Scalar = getattr(self, method)(*values) if method else self.call(operation, *values)
        return found


class Reciprocals(Tracer):
    """A tracer that divides by multiplying with 1 / b, which it has once for each b. A quotient then does not depend on
    other quotients. A derivative mostly divides by the same number several times."""

    def divide(self, a: Scalar, b: Scalar) -> Scalar:
        found = super().divide(a, b)
        if type(found) is not Term or found.operation != "div" or found.b is None or found.b.operation == "const":
            return found
        inverse = self.invert(found.b)
        return self._commutative("mul", _only(found), inverse) if type(inverse) is Term else found

    def twice(self, a: Scalar) -> Scalar:
        if type(a) is Term and a.operation == "mul":
            for factor, other in ((a.a, a.b), (a.b, a.a)):
                if factor is not None and factor.operation == "inv" and _only(factor).operation == "twice":
                    assert other is not None
                    return self.divide(other, _only(_only(factor)))
        return super().twice(a)


_METHODS = {
    "add": "add", "sub": "subtract", "mul": "multiply", "div": "divide", "neg": "negate", "inv": "invert",
    "sq": "square", "twice": "twice", "pow": "power", "select": "select", "if": "only_if",
}  # fmt: skip


def ordered(outputs: Iterable[Term], leaves: Iterable[Term] = (), behind: Iterable[Term] = ()) -> list[Term]:
    """The terms that the outputs need, each after its arguments and near to what needs it first.

    leaves: they come first, and nothing behind them is needed. behind: terms that were made before all of these are
    left out; they depend on none of them.
    """
    oldest = min((term.age for term in behind), default=0)
    found: dict[Term, None] = dict.fromkeys(leaves)
    waiting = [term for term in outputs if term.age >= oldest][::-1]
    while waiting:
        term = waiting[-1]
        if term in found:
            waiting.pop()
            continue
        a, b, c = term.a, term.b, term.c
        before = len(waiting)
        if c is not None and c not in found and c.age >= oldest:
            waiting.append(c)
        if b is not None and b not in found and b.age >= oldest:
            waiting.append(b)
        if a is not None and a not in found and a.age >= oldest:
            waiting.append(a)
        if len(waiting) == before:
            found[waiting.pop()] = None
    return list(found)


def _only(term: Term) -> Term:
    """The first argument."""
    assert term.a is not None
    return term.a


def number_of(operation: str, *values: Any) -> Any:
    """(...) an operation on floats (...): NaN and infinities as NumPy gives them; conditions count as not zero."""
    with np.errstate(all="ignore"):
        return np.asarray(OPERATIONS[operation].evaluate(*values), dtype=float)


def _number(operation: str, *values: Any) -> float:
    """An operation on numbers: NaN and infinities as NumPy gives them."""
    return float(number_of(operation, *map(float, values)))
