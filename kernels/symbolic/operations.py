"""The operations of formulas: one row for each, with all that this package knows of it.

A row says what an operation gives on numbers, its derivative, its names in NumPy, SymPy and CasADi, and its LLVM code.
Adding an operation adds one row; vector code of an elementary function stands in `codegen/elementary`.
"""

import operator
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from myoquat.core import casadi, frozen, sympy

# (tracer, term, its adjoint) -> that of an argument; a tracer has the arithmetic of `terms.Tracer`.
Rule: TypeAlias = Callable[[Any, Any, Any], Any]


@frozen
class Spelling:
    """An operation as a NumPy ufunc, and the names of the function in SymPy and CasADi.

    sympy may be a function itself, where SymPy has none.
    turned: whether the ufunc takes the arguments in reverse order. evaluate: for floats, where it is not the ufunc.
    """

    ufunc: np.ufunc
    sympy: str | Callable[..., Any]
    casadi: str
    turned: bool = False
    evaluate: np.ufunc | None = None


@frozen
class Operation:
    """One operation.

    evaluate     on floats and arrays of floats; conditions are 1 or 0
    partials     the rule of each argument's adjoint; () for what is constant or jumps. None for an operation that
                 rewriting makes after all differentiation: differentiating it raises an error
    spellings    ufuncs that are this operation on every element, without rules for structural zeros
    casadi       on CasADi's scalars: a function, or the name of one of CasADi's
    code         the method of `codegen.ir.Builder` that writes it, with a predicate or name that it takes first. An
                 elementary function has none, since it is a function of its own. Nor have marks, which are gone before
    arity        the number of arguments
    truths       the arguments that are conditions
    condition    whether the result is a condition
    choice       whether an argument that is not chosen takes no part in the derivative
    infinite_slope   whether a derivative is infinite, or not a number, at some finite argument
    domain_edge  whether the result is not a number beyond an edge of the domain
    zero_at_zero whether the result is zero where the only argument is
    """

    name: str
    evaluate: Callable[..., Any]
    partials: tuple[Rule, ...] | None = None
    spellings: tuple[Spelling, ...] = ()
    casadi: str | Callable[..., Any] = ""
    code: str = ""
    arity: int = 1
    truths: tuple[int, ...] = ()
    condition: bool = False
    choice: bool = False
    infinite_slope: bool = False
    domain_edge: bool = False
    zero_at_zero: bool = False


# ---- derivatives: r is a tracer, y the term, bar its adjoint -------------------------------------------------


def _a(term: Any) -> Any:
    return plain(term.a)


def _b(term: Any) -> Any:
    return plain(term.b)


def plain(term: Any) -> Any:
    """The number of a constant, any other term itself."""
    return term.number if term.operation == "const" else term


def _same(r: Any, y: Any, bar: Any) -> Any:
    return bar


def _negative(r: Any, y: Any, bar: Any) -> Any:
    return r.negate(bar)


def _none(r: Any, y: Any, bar: Any) -> Any:
    return 0.0


def _over_norm(r: Any, y: Any, bar: Any, side: Any) -> Any:
    """bar times a side over a^2 + b^2, of the arctangent of a and b."""
    return r.multiply(bar, r.divide(side, r.add(r.multiply(_a(y), _a(y)), r.multiply(_b(y), _b(y)))))


def _is_extreme(r: Any, y: Any) -> Any:
    """Whether the first argument is the one that a minimum or maximum took; of equal ones it is."""
    return r.call("le", _a(y), _b(y)) if y.operation == "min" else r.call("le", _b(y), _a(y))


def _root_of_one(r: Any, x: Any, sign: float) -> Any:
    """sqrt(1 + sign x^2)."""
    return r.call("sqrt", r.add(1.0, r.multiply(sign, r.multiply(x, x))))


def _no_stop(a: Any) -> Any:
    raise TypeError("CasADi's symbols know no constant under differentiation (myoquat.kernels.constant)")


_EXTREME: tuple[Rule, ...] = (
    lambda r, y, bar: r.select(_is_extreme(r, y), bar, 0.0),
    lambda r, y, bar: r.select(_is_extreme(r, y), 0.0, bar),
)


def _comparison(name: str, evaluate: Any, code: str, *spellings: Spelling) -> Operation:
    return Operation(name, evaluate, (), spellings, code=code, arity=2, condition=True)


def _function(
    ufunc: np.ufunc, name: str, partial: Rule, *, sympy: str | Callable[..., Any] = "", infinite_slope: bool = False,
    domain_edge: bool = False, zero_at_zero: bool = False,
) -> Operation:  # fmt: skip
    """An elementary function of one argument, whose name is CasADi's."""
    return Operation(
        name, ufunc, (partial,), (Spelling(ufunc, sympy or name, name),),
        infinite_slope=infinite_slope, domain_edge=domain_edge, zero_at_zero=zero_at_zero,
    )  # fmt: skip


# ---- the table ------------------------------------------------------------------------------------------------------

_ARITHMETIC = (
    Operation(
        "add", np.add, (_same, _same), casadi=operator.add, arity=2,
        code="add",
    ),
    Operation(
        "sub", np.subtract, (_same, _negative), casadi=operator.sub, arity=2,
        code="sub",
    ),
    Operation(
        "mul", np.multiply,
        (lambda r, y, bar: r.multiply(bar, _b(y)), lambda r, y, bar: r.multiply(bar, _a(y))),
        casadi=operator.mul, arity=2, code="mul",
    ),
    Operation(
        "div", np.true_divide,
        (lambda r, y, bar: r.divide(bar, _b(y)), lambda r, y, bar: r.negate(r.multiply(r.divide(bar, _b(y)), y))),
        casadi=operator.truediv, arity=2, code="div", infinite_slope=True,
    ),
    Operation(
        "neg", np.negative, (_negative,), casadi=operator.neg, code="neg",
        zero_at_zero=True,
    ),
    Operation(
        "inv", lambda x: np.true_divide(1.0, x), (lambda r, y, bar: r.negate(r.multiply(bar, r.multiply(y, y))),),
        casadi=lambda a: 1 / a, code="inv", infinite_slope=True,
    ),
    Operation(
        "sq", np.square, (lambda r, y, bar: r.multiply(r.twice(bar), _a(y)),),
        casadi=lambda a: a * a, code="square", zero_at_zero=True,
    ),
    Operation(
        "twice", lambda x: 2.0 * x, (lambda r, y, bar: r.twice(bar),),
        casadi=lambda a: 2 * a, code="twice", zero_at_zero=True,
    ),
    Operation("fma", lambda a, b, c: a * b + c, arity=3, code="fma"),
    Operation("fms", lambda a, b, c: a * b - c, arity=3, code="fms"),
    Operation("fnma", lambda a, b, c: c - a * b, arity=3, code="fnma"),
    Operation(
        "sqrt", np.sqrt, (lambda r, y, bar: r.divide(bar, r.twice(y)),),
        (Spelling(np.sqrt, "sqrt", "sqrt"),), code="sqrt",
        infinite_slope=True, domain_edge=True, zero_at_zero=True,
    ),
    Operation(
        "abs", np.abs, (lambda r, y, bar: r.multiply(bar, r.call("sign", _a(y))),),
        (Spelling(np.absolute, "Abs", "fabs"), Spelling(np.fabs, "Abs", "fabs")),
        code="abs", zero_at_zero=True,
    ),
    Operation(
        "floor", np.floor, (), (Spelling(np.floor, "floor", "floor"),),
        code="intrinsic floor", zero_at_zero=True,
    ),
    Operation(
        "ceil", np.ceil, (), (Spelling(np.ceil, "ceiling", "ceil"),),
        code="intrinsic ceil", zero_at_zero=True,
    ),
    Operation(
        "sign", np.sign, (), (Spelling(np.sign, "sign", "sign"),), code="sign", zero_at_zero=True
    ),
    Operation(
        "min", np.minimum, _EXTREME, (Spelling(np.minimum, "Min", "fmin"),),
        arity=2, code="extreme olt", choice=True,
    ),
    Operation(
        "max", np.maximum, _EXTREME, (Spelling(np.maximum, "Max", "fmax"),),
        arity=2, code="extreme ogt", choice=True,
    ),
)  # fmt: skip

# Marks: each has the value of its first argument, which takes its place in the code (`tracing/rewrite.py`).
# - `stop(a)` is a constant under differentiation.
# - `implicit(a, b)` has the derivative of b, where a solves an equation, and b is a step of Newton's method.
# - `unknown(a)`, where that step begins, stands for a in its own equation (`control_flow/implicit.py`).
_MARKS = (
    Operation("stop", np.positive, (), casadi=_no_stop),
    Operation("unknown", np.positive, (), casadi=lambda a: a),
    Operation(
        "implicit", lambda a, b: np.positive(a), (_none, lambda r, y, bar: bar), casadi=lambda a, b: b, arity=2,
    ),
)  # fmt: skip

_CONDITIONS = (
    _comparison(
        "lt", np.less, "compare olt", Spelling(np.less, "Lt", "lt"), Spelling(np.greater, "Gt", "gt", turned=True)
    ),
    _comparison(
        "le", np.less_equal, "compare ole", Spelling(np.less_equal, "Le", "le"),
        Spelling(np.greater_equal, "Ge", "ge", turned=True),
    ),
    _comparison("eq", np.equal, "compare oeq", Spelling(np.equal, "Eq", "eq")),
    _comparison("ne", np.not_equal, "compare une", Spelling(np.not_equal, "Ne", "ne")),
    Operation(
        "not", np.logical_not, (),
        (
            Spelling(np.logical_not, "Not", "logic_not"),
            Spelling(np.invert, "Not", "logic_not", evaluate=np.logical_not),
        ),
        code="negate", truths=(0,), condition=True,
    ),
    Operation(
        "and", np.logical_and, (),
        (
            Spelling(np.logical_and, "And", "logic_and"),
            Spelling(np.bitwise_and, "And", "logic_and", evaluate=np.logical_and),
        ),
        arity=2, code="logic and", truths=(0, 1), condition=True,
    ),
    Operation(
        "or", np.logical_or, (),
        (
            Spelling(np.logical_or, "Or", "logic_or"),
            Spelling(np.bitwise_or, "Or", "logic_or", evaluate=np.logical_or),
        ),
        arity=2, code="logic or", truths=(0, 1), condition=True,
    ),
    Operation(
        "if", lambda condition, a: np.where(np.asarray(condition) != 0, a, 0.0),
        (_none, lambda r, y, bar: r.select(_a(y), bar, 0.0)),
        casadi=lambda condition, a: casadi.if_else(condition, a, 0), arity=2,
        code="only_if", truths=(0,), choice=True,
    ),
    Operation(
        "select", lambda condition, a, b: np.where(np.asarray(condition) != 0, a, b),
        (_none, lambda r, y, bar: r.select(_a(y), bar, 0.0), lambda r, y, bar: r.select(_a(y), 0.0, bar)),
        casadi="if_else", arity=3, code="select", truths=(0,), choice=True,
    ),
)  # fmt: skip

_ELEMENTARY = (
    _function(np.sin, "sin", lambda r, y, bar: r.multiply(bar, r.call("cos", _a(y))), zero_at_zero=True),
    _function(np.cos, "cos", lambda r, y, bar: r.negate(r.multiply(bar, r.call("sin", _a(y))))),
    _function(
        np.tan, "tan", lambda r, y, bar: r.multiply(bar, r.add(1.0, r.multiply(y, y))), infinite_slope=True,
        zero_at_zero=True,
    ),
    _function(
        np.arcsin, "asin", lambda r, y, bar: r.divide(bar, _root_of_one(r, _a(y), -1.0)), infinite_slope=True,
        domain_edge=True, zero_at_zero=True,
    ),
    _function(
        np.arccos, "acos", lambda r, y, bar: r.negate(r.divide(bar, _root_of_one(r, _a(y), -1.0))),
        infinite_slope=True, domain_edge=True,
    ),
    _function(
        np.arctan, "atan", lambda r, y, bar: r.divide(bar, r.add(1.0, r.multiply(_a(y), _a(y)))), zero_at_zero=True
    ),
    Operation(
        "atan2", np.arctan2,
        (lambda r, y, bar: _over_norm(r, y, bar, _b(y)), lambda r, y, bar: r.negate(_over_norm(r, y, bar, _a(y)))),
        (Spelling(np.arctan2, "atan2", "atan2"),), arity=2, infinite_slope=True,
    ),
    _function(np.exp, "exp", lambda r, y, bar: r.multiply(bar, y)),
    _function(
        np.expm1, "expm1", lambda r, y, bar: r.multiply(bar, r.add(1.0, y)), sympy=lambda a: sympy.exp(a) - 1,
        zero_at_zero=True,
    ),
    _function(np.log, "log", lambda r, y, bar: r.divide(bar, _a(y)), infinite_slope=True, domain_edge=True),
    _function(
        np.log1p, "log1p", lambda r, y, bar: r.divide(bar, r.add(1.0, _a(y))), sympy=lambda a: sympy.log(a + 1),
        infinite_slope=True, domain_edge=True, zero_at_zero=True,
    ),
    _function(np.sinh, "sinh", lambda r, y, bar: r.multiply(bar, r.call("cosh", _a(y))), zero_at_zero=True),
    _function(np.cosh, "cosh", lambda r, y, bar: r.multiply(bar, r.call("sinh", _a(y)))),
    _function(
        np.tanh, "tanh", lambda r, y, bar: r.multiply(bar, r.subtract(1.0, r.multiply(y, y))), zero_at_zero=True
    ),
    _function(
        np.arcsinh, "asinh", lambda r, y, bar: r.divide(bar, _root_of_one(r, _a(y), 1.0)), zero_at_zero=True
    ),
    Operation(
        "pow", np.power,
        (
            lambda r, y, bar: r.multiply(bar, r.multiply(_b(y), r.power(_a(y), r.subtract(_b(y), 1.0)))),
            lambda r, y, bar: r.multiply(bar, r.multiply(y, r.call("log", _a(y)))),
        ),
        casadi=operator.pow, arity=2, infinite_slope=True, domain_edge=True,
    ),
)  # fmt: skip

_ROWS = (*_ARITHMETIC, *_CONDITIONS, *_ELEMENTARY, *_MARKS)
OPERATIONS: dict[str, Operation] = {row.name: row for row in _ROWS}
MARKS = frozenset(row.name for row in _MARKS)
