"""The derivative inside a formula, exact for every type of number."""

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from myoquat.core import casadi, sympy
from myoquat.kernels.symbolic.arrays import (
    SymbolArray,
    as_array,
    as_casadi_vector,
    is_symbolic,
    symbols_casadi,
    symbols_of,
    symbols_sympy,
)
from myoquat.kernels.symbolic.complex_step import Stepped, takes_complex_steps
from myoquat.kernels.symbolic.elements import is_casadi, is_number, is_term
from myoquat.kernels.symbolic.terms import Tracer

from .adjoints import check_differentiable, gradients, released, substituted
from .context import complex_steps, differentiated, pending_constructs, unrolled_constructs

MAX_STEPPED_STATES = 10_000  # states times directions of a derivative that are evaluated at once
SPARE_AXES = 8  # batch axes that what a differentiated function closes over may have beyond those of the point
COMPLEX_STEP = 1e-200  # of the complex step: its square vanishes beside any number, so the difference has no error


def jacobian_at(function: Callable[[Any], Any], point: Any, like: Any = None) -> Any:
    """(..., m, n) derivative of a formula (..., n) -> (..., m) at `point`, for use inside other formulas.

    While a kernel is traced, it goes backwards from each row. On CasADi and SymPy symbols it is their own
    differentiation. On floats it uses the complex step, which is exact to round-off, with all directions on axes in
    front of the batch axes of `point` and `like`. An absolute value has the slope of its side, and 0 at zero. Of equal
    numbers the first is the maximum and the minimum. TypeError on floats for functions that NumPy does not have for
    complex numbers, and for those that conjugate or sort them, such as `np.linalg.norm`. Derivatives nest on symbols;
    on floats, where the steps would mix, that raises TypeError.

    like: an array of symbols, where `point` holds numbers but `function` closes over symbols.
    """
    if np.shape(point)[-1] == 0:
        return np.zeros((*np.shape(function(point)), 0))
    sample = point if like is None else like
    if not np.size(sample) or not is_symbolic(sample):
        if takes_complex_steps.get():
            raise TypeError("jacobian_at inside jacobian_at works on symbols only: compile the formula")
        return by_complex_steps(function, point, np.shape(sample)[:-1])
    elements = list(np.asarray(sample).flat)
    tracer = next((e.tracer for e in elements if is_term(e)), Tracer() if all(map(is_number, elements)) else None)
    if tracer is not None:
        return _recorded(tracer, function, np.asarray(point))
    return _casadi(function, point) if any(map(is_casadi, elements)) else _sympy(function, point)


def by_complex_steps(function: Callable[[Any], Any], point: np.ndarray, batch: tuple[int, ...]) -> np.ndarray:
    """The derivative by complex steps in as many directions at once as `MAX_STEPPED_STATES` lets of a `batch`, on an
    axis in front of all others. Between it and the batch axes lie axes of length 1, for further batch axes of what
    `function` closes over."""
    n = point.shape[-1]
    axes = max(len(batch), point.ndim - 1) + SPARE_AXES
    steps = 1j * COMPLEX_STEP * np.eye(n).reshape(n, *[1] * axes, n)
    count = max(1, MAX_STEPPED_STATES // max(1, math.prod(batch), math.prod(point.shape[:-1])))
    with complex_steps():
        parts = [np.asarray(function((point + steps[k : k + count]).view(Stepped))) for k in range(0, n, count)]
    if parts[0].ndim < axes + 2:  # independent of the point
        return np.zeros((*parts[0].shape, n))
    if parts[0].ndim > axes + 2 or parts[0].shape[0] != min(count, n):
        raise TypeError(f"jacobian_at: the function closes over an array with more than {SPARE_AXES} further axes")
    found = np.concatenate(parts).imag / COMPLEX_STEP
    first = next((k for k in range(1, 1 + SPARE_AXES) if found.shape[k] != 1), 1 + SPARE_AXES)
    return np.moveaxis(found.reshape(n, *found.shape[first:]), 0, -1)


def _recorded(tracer: Tracer, function: Callable[[Any], Any], point: np.ndarray) -> SymbolArray:
    """On fresh symbols, for which the point is put in afterwards: its entries may depend on each other. So do loops
    that are met: they run at the point."""
    x = symbols_of(tracer, point.shape)
    met = pending_constructs.get()
    pending = [] if met is None else met
    before = len(pending)
    with unrolled_constructs(), differentiated():
        y = as_array(function(x))
    inputs, outputs = list(np.asarray(x).flat), list(np.asarray(y).flat)
    check_differentiable(inputs, outputs, pending[before:])
    rows = gradients(tracer, outputs, inputs)
    values = dict(zip(inputs, point.astype(object).flat, strict=True))
    for place in range(before, len(pending)):
        operands = substituted(tracer, pending[place].operands, values)
        pending[place] = replace(pending[place], operands=operands)
    entries = np.empty(len(rows) * len(inputs), dtype=object)
    entries[:] = substituted(tracer, released(tracer, [entry for row in rows for entry in row]), values)
    return entries.reshape((*y.shape, *x.shape)).view(SymbolArray)


def _casadi(function: Callable[[Any], Any], point: Any) -> np.ndarray:
    x = symbols_casadi("x", point.shape)
    y = function(x)
    column = as_casadi_vector(x)
    # Row by row in reverse: each pass sees one output's own part of the graph, which is short where outputs have
    # little in common. It shares factors better than CasADi's joint passes (860 against 1,400 operations for six).
    rows = [casadi.gradient(row, column).T for row in casadi.vertsplit(as_casadi_vector(y))]
    J = casadi.substitute(casadi.vertcat(*rows), column, as_casadi_vector(point))
    return SymbolArray.from_casadi(J).reshape((*y.shape, *x.shape))


def _sympy(function: Callable[[Any], Any], point: Any) -> SymbolArray:
    x = symbols_sympy("x", point.shape)
    y = as_array(function(x))
    back = dict(zip(np.asarray(x).flat, np.asarray(point).flat, strict=True))
    rows = np.asarray(y).astype(object).reshape(-1)
    columns = [[f.xreplace(back) for f in partial_derivatives(rows, v)] for v in np.asarray(x).flat]
    entries = np.empty((len(columns), len(rows)), dtype=object)
    entries[:] = columns
    return entries.T.reshape((*y.shape, *x.shape)).view(SymbolArray)


# ---- Derivatives of SymPy's expressions by the chain rule, each part of them once ------------------------------


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
