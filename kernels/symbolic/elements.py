"""What an operation of NumPy means on one element: a float, a term of a tracing, or a SymPy or CasADi expression.

Structural zeros and ones vanish, and floats beside SymPy expressions become the fractions that they are.
"""

import functools
import math
import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from myoquat.core import casadi, is_imported

from .operations import OPERATIONS, Spelling
from .terms import Term


def is_casadi(x: Any) -> bool:
    return is_imported("casadi") and isinstance(x, (casadi.SX, casadi.MX, casadi.DM))


def is_casadi_array(x: Any) -> bool:
    return is_imported("casadi") and isinstance(x, casadi.array)


def sympy_module() -> Any:
    """SymPy if it has been imported: no SymPy symbol exists before, and kernels start faster without the import."""
    return sys.modules.get("sympy")


def is_sympy(x: Any) -> bool:
    sympy = sympy_module()
    return sympy is not None and isinstance(x, (sympy.Basic, sympy.MatrixBase))


def is_term(x: Any) -> bool:
    """Whether x is what a kernel's formula holds while it is traced."""
    return type(x) is Term


def is_number(x: Any) -> bool:
    return isinstance(x, (float, int, np.floating, np.integer, np.bool_))


def is_traced(x: Any) -> bool:
    """Whether x may stand in a formula that is being traced: one of its terms, or a number."""
    return is_term(x) or is_number(x)


def exact(x: Any, other: Any) -> Any:
    """A float beside a SymPy expression as the same number, exactly: 0.5 becomes 1/2; other types pass."""
    if isinstance(x, float) and is_sympy(other):
        numerator, denominator = x.as_integer_ratio() if math.isfinite(x) else (0, 0)
        if 0 < denominator <= 4096:
            return sympy_module().Rational(numerator, denominator)
    return x


def _term(x: Any, other: Any) -> Any:
    """x for arithmetic: as `exact`, and a SymPy condition as 1 or 0, as NumPy and CasADi count it."""
    sympy = sympy_module()
    if sympy is not None and isinstance(x, (sympy.logic.boolalg.BooleanFunction, sympy.core.relational.Relational)):
        return sympy.Piecewise((1, x), (0, True))
    return exact(x, other)


def _add(a: Any, b: Any) -> Any:
    if type(a) is Term:
        return a.tracer.add(a, b)
    if type(b) is Term:
        return b.tracer.add(a, b)
    if isinstance(a, float) and a == 0.0:
        return b
    if isinstance(b, float) and b == 0.0:
        return a
    if type(a) is float and type(b) is float:
        return a + b
    return _term(a, b) + _term(b, a)


def _subtract(a: Any, b: Any) -> Any:
    if type(a) is Term:
        return a.tracer.subtract(a, b)
    if type(b) is Term:
        return b.tracer.subtract(a, b)
    if isinstance(b, float) and b == 0.0:
        return a
    if isinstance(a, float) and a == 0.0:
        return -b
    return _term(a, b) - _term(b, a)


def _multiply(a: Any, b: Any) -> Any:
    if type(a) is Term:
        return a.tracer.multiply(a, b)
    if type(b) is Term:
        return b.tracer.multiply(a, b)
    if type(a) is float and type(b) is float:
        return a * b
    for x, y in ((a, b), (b, a)):
        if isinstance(x, float) and not isinstance(y, float):
            if x == 0.0:
                return 0.0
            if x == 1.0:
                return y
            if x == -1.0:
                return -y
    return _term(a, b) * _term(b, a)


def _divide(a: Any, b: Any) -> Any:
    if type(a) is Term:
        return a.tracer.divide(a, b)
    if type(b) is Term:
        return b.tracer.divide(a, b)
    if isinstance(a, float) and a == 0.0 and not isinstance(b, float):
        return 0.0
    if isinstance(b, float) and b == 1.0:
        return a
    return _term(a, b) / _term(b, a)


def _power(a: Any, b: Any) -> Any:
    if type(a) is Term:
        return a.tracer.power(a, b)
    if type(b) is Term:
        return b.tracer.power(a, b)
    if isinstance(b, float) and b.is_integer() and 0 < b <= 4 and not isinstance(a, float):
        return functools.reduce(operator.mul, [a] * int(b))
    return _term(a, b) ** _term(b, a)


def _elementary(operation: str, spelling: Spelling) -> Callable[..., Any]:
    """An operation on whatever type of scalar it meets."""
    numpy_function = spelling.evaluate or spelling.ufunc

    def apply(*scalars: Any) -> Any:
        for x in scalars:
            if type(x) is Term:
                return x.tracer.call(operation, *(reversed(scalars) if spelling.turned else scalars))
        if any(is_casadi(x) for x in scalars):
            return getattr(casadi, spelling.casadi)(*scalars)
        if any(is_sympy(x) for x in scalars):
            kin, function = next(x for x in scalars if is_sympy(x)), spelling.sympy
            function = getattr(sympy_module(), function) if isinstance(function, str) else function
            return function(*(exact(x, kin) for x in scalars))
        value = numpy_function(*scalars)
        return bool(value) if isinstance(value, np.bool_) else float(value)

    return apply


def _hypot(a: Any, b: Any) -> Any:
    return _sqrt(_add(_multiply(a, a), _multiply(b, b)))


def _select(condition: Any, a: Any, b: Any) -> Any:
    if isinstance(condition, (bool, np.bool_)) or is_number(condition):
        return a if condition else b
    if type(condition) is Term:
        return condition.tracer.select(condition, a, b)
    if is_casadi(condition):
        return casadi.if_else(condition, a, b)
    return sympy_module().Piecewise((exact(a, condition), condition), (exact(b, condition), True))


_sqrt = _elementary("sqrt", OPERATIONS["sqrt"].spellings[0])


SCALAR_OPERATIONS: dict[np.ufunc, tuple[Callable[..., Any], int]] = {
    np.add: (_add, 2),
    np.subtract: (_subtract, 2),
    np.multiply: (_multiply, 2),
    np.true_divide: (_divide, 2),
    np.power: (_power, 2),
    np.negative: (operator.neg, 1),
    np.positive: (lambda a: a, 1),
    np.conjugate: (lambda a: a, 1),
    np.square: (lambda a: _multiply(a, a), 1),
    np.reciprocal: (lambda a: _divide(1.0, a), 1),
    np.hypot: (_hypot, 2),
    **{
        spelling.ufunc: (_elementary(row.name, spelling), row.arity)
        for row in OPERATIONS.values()
        for spelling in row.spellings
    },
}


UFUNCS = {
    ufunc: np.frompyfunc(function, count, 1, identity=ufunc.identity)
    if ufunc.identity is not None
    else np.frompyfunc(function, count, 1)
    for ufunc, (function, count) in SCALAR_OPERATIONS.items()
}
where = np.frompyfunc(_select, 3, 1)
