"""Derivatives of SymPy's expressions by the chain rule, each part of them once."""

from collections.abc import Iterable
from typing import Any

from myoquat.core.lazy_imports import sympy

__all__ = ["partial_derivatives"]


def partial_derivatives(expressions: Iterable[Any], v: Any) -> list[Any]:
    """The derivatives of expressions with respect to the symbol v; numbers among them have the derivative 0.

    The same as `diff` gives, which asks at every power whether its parts may vanish or be infinite: that is most of its
    time.
    """
    known: dict[Any, Any] = {}
    return [_derivative(sympy.sympify(f), v, known) for f in expressions]


def _derivative(f: Any, v: Any, known: dict[Any, Any]) -> Any:
    if f in known:
        return known[f]
    if v not in f.free_symbols:
        result = sympy.S.Zero
    elif f.is_Symbol:
        result = sympy.S.One
    else:
        result = _of_parts(f, v, known)
    known[f] = result
    return result


def _of_parts(f: Any, v: Any, known: dict[Any, Any]) -> Any:
    if f.is_Add:
        return sympy.Add(*(_derivative(part, v, known) for part in f.args))
    if f.is_Mul:
        parts = enumerate(f.args)
        inner = [(i, _derivative(part, v, known)) for i, part in parts]
        return sympy.Add(*(sympy.Mul(d, *f.args[:i], *f.args[i + 1 :]) for i, d in inner if d != 0))
    if f.is_Pow and f.exp.is_Number:
        return sympy.Mul(f.exp, sympy.Pow(f.base, f.exp - 1), _derivative(f.base, v, known))
    if f.func in _smooth():
        return sympy.Mul(f.fdiff(1), _derivative(f.args[0], v, known))
    return f.diff(v)  # with cases, two arguments, or what a user's formula may bring


def _smooth() -> tuple[Any, ...]:
    """Functions of one argument whose derivative is that of their documentation."""
    names = "sin cos tan exp log asin acos atan sinh cosh tanh asinh acosh atanh"
    return tuple(getattr(sympy, name) for name in names.split())
