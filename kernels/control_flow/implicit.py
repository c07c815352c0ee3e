"""Implicit functions: the solution of an equation that a solver finds, with the derivative that the equation gives it.

For residual(x, p) = 0 the implicit function theorem gives dx = -(dr/dx)^-1 dr/dp dp, however x was found. Source:
Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 15.

While a kernel is traced the solution is a term `implicit(x, y)`. Its value is x. Its derivative is that of a step of
Newton's method y = x - (dr/dx)^-1 r with constant x and dr/dx (`unknown`). Derivatives of it put the solution back, so
that they have derivatives again.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np

from myoquat.core import CALLABLE, Array, check_types
from myoquat.kernels.symbolic.arrays import SymbolArray, is_symbolic, may_be_nonzero, symbols_of
from myoquat.kernels.symbolic.complex_step import Stepped, real_part
from myoquat.kernels.symbolic.elements import is_term
from myoquat.kernels.symbolic.records import arrays_of, structure_of
from myoquat.kernels.symbolic.terms import Scalar, Tracer
from myoquat.kernels.tracing.adjoints import gradients, substituted
from myoquat.kernels.tracing.context import moves_solutions, pending_constructs, unmoved_solutions, unrolled_constructs
from myoquat.kernels.tracing.derivatives import by_complex_steps

Record = TypeVar("Record")


def root(
    residual: Callable[[Array, Any], Array], solve: Callable[[Array, Any], Array], guess: Array, parameters: Any
) -> Array:
    """(..., n) x with residual(x, parameters) (..., n) = 0, as solve(guess (..., n), parameters) finds it.

    The derivative of x by the parameters, a record of arrays, is that of the implicit function, to every order. The
    guess has none. dr/dx must be regular at x. residual and solve may depend on nothing else that changes. Solve may
    hold loops (`while_loop`), of which only the result matters, and residual may not.

    >>> import numpy as np
    >>> from myoquat.kernels import compile, root, while_loop
    >>> def newton(x, a):
    ...     step = lambda x, a: (x[0] - (x[0] ** 2 - a) / (2 * x[0]), x[0])
    ...     return while_loop(lambda x: np.abs(x[0] - x[1])[..., 0] > 1e-12, step, (x, 2 * x), a, max_steps=30)[0]
    >>> def square_root(a):
    ...     return root(lambda x, a: x**2 - a, newton, 0 * a + 1, a)
    >>> kernel = compile(square_root, {"a": 1}, ["x"])
    >>> kernel([9.0]), kernel.jacobian()([9.0])
    (array([3.]), array([[0.16666667]]))
    """
    check_types(residual=(residual, CALLABLE), solve=(solve, CALLABLE), guess=(guess, np.ndarray))
    arrays = [guess, *arrays_of(parameters)]
    symbols = [x for array in arrays if is_symbolic(array) for x in np.asarray(array).flat]
    if symbols:
        tracer = next((x.tracer for x in symbols if is_term(x)), None)
        found = solve(guess, parameters)
        return found if tracer is None else _implicit(tracer, residual, found, parameters)
    if any(map(np.iscomplexobj, arrays)):
        real = structure_of(parameters).record([real_part(array) for array in arrays[1:]])
        return _complex(residual, solve(real_part(guess), real), parameters, real)
    return solve(guess, parameters)


def after_newton_step(step: Callable[[Record, Any], Record], found: Record, there: Callable[[], Any] = tuple) -> Record:
    """A solution, a record of arrays that a loop found, with the derivative of a step of Newton's method from there.

    Such a step leads to the solution from wherever it begins nearby, to first order. So its derivative by all that
    `step` closes over, while its beginning stays, is that of the implicit function. What loops have computed at the
    solution, the record `there()`, stays as well. In a second derivative both move, which raises these loops' error.
    A formula that is not differentiated does not compute any of this.
    On numbers, and on symbols of SymPy and CasADi, the result is the solution itself.

    >>> import numpy as np
    >>> from myoquat.kernels import after_newton_step, compile, while_loop
    >>> def square_root(a):
    ...     step = lambda x, a: x - (x**2 - a) / (2 * x)
    ...     x = while_loop(lambda x: np.abs(x * x - 9.0)[..., 0] > 1e-12, step, 0 * a + 1, a, max_steps=30)
    ...     return after_newton_step(lambda x, _: step(x, a), x)
    >>> compile(square_root, {"a": 1}, ["x"]).jacobian()([9.0])
    array([[0.16666667]])
    """
    check_types(step=(step, CALLABLE), there=(there, CALLABLE))
    arrays = arrays_of(found)
    tracer = next((x.tracer for array in arrays for x in np.asarray(array).flat if is_term(x)), None)
    if tracer is None:
        return found
    if not moves_solutions.get():
        unmoved = unmoved_solutions.get()
        assert unmoved is not None  # `trace` tells it
        unmoved.append(found)
        return found
    implicit = partial(tracer.call, "implicit")
    new = arrays_of(step(_unmoved(tracer, found), _unmoved(tracer, there())))
    return structure_of(found).record([_of_terms(implicit, x, y) for x, y in zip(arrays, new, strict=True)])


def _unmoved(tracer: Tracer, record: Any) -> Any:
    """A record of the same values, which stay in the next derivative."""
    return structure_of(record).record([_of_terms(partial(_still, tracer), x) for x in arrays_of(record)])


def _of_terms(function: Callable[..., Scalar], *arrays: Array) -> SymbolArray:
    """The results of a function of the elements of arrays."""
    results = np.empty(arrays[0].size, dtype=object)
    results[:] = [function(*each) for each in zip(*(np.asarray(x).flat for x in arrays), strict=True)]
    return results.reshape(arrays[0].shape).view(SymbolArray)


def _complex(residual: Callable[[Array, Any], Array], x: Array, parameters: Any, real: Any) -> Array:
    """The solution on floats that are differentiated by the complex step."""
    if not x.shape[-1]:
        return x
    slopes = by_complex_steps(lambda x: residual(x, real), x, x.shape[:-1])
    moved = np.asarray(residual((x + 0j).view(Stepped), parameters)).imag
    return (x - 1j * np.linalg.solve(slopes, moved[..., None])[..., 0]).view(Stepped)


def _implicit(tracer: Tracer, residual: Callable[[Array, Any], Array], found: Array, parameters: Any) -> SymbolArray:
    """The solution on the symbols of a tracing."""
    n, fresh = found.size, symbols_of(tracer, found.shape)
    met = pending_constructs.get()
    pending = [] if met is None else met
    before = len(pending)
    with unrolled_constructs():
        equations = list(np.asarray(residual(fresh, parameters)).flat)
    if len(pending) > before:
        raise ValueError(f"residual: the loop '{pending[before].name}' inside has no derivative")
    if len(equations) != n:
        raise ValueError(f"residual: {len(equations)} equations for {n} unknowns; as many are needed")
    inputs, solution = list(np.asarray(fresh).flat), list(np.asarray(found).flat)
    rows = gradients(tracer, equations, inputs)
    values = {x: _still(tracer, y) for x, y in zip(inputs, solution, strict=True)}
    flat = substituted(tracer, [*equations, *(entry for row in rows for entry in row)], values)
    slopes = [[_still(tracer, x) for x in flat[n * (i + 1) : n * (i + 2)]] for i in range(n)]
    step = _solved(tracer, slopes, flat[:n])
    given = np.empty(n, dtype=object)
    given[:] = [
        tracer.call("implicit", y, tracer.subtract(values[x], change))
        for x, y, change in zip(inputs, solution, step, strict=True)
    ]
    return given.reshape(found.shape).view(SymbolArray)


def _still(tracer: Tracer, x: Scalar) -> Scalar:
    return tracer.call("unknown", x) if is_term(x) else x


def _solved(tracer: Tracer, matrix: list[list[Scalar]], right: list[Scalar]) -> list[Scalar]:
    """The solution of linear equations by elimination; rows are exchanged so that each pivot is the largest."""
    r, n = tracer, len(right)
    rows = [[*row, b] for row, b in zip(matrix, right, strict=True)]
    for k in range(n):
        for i in range(k + 1, n):
            if may_be_nonzero(rows[i][k]):
                larger = r.call("lt", r.call("abs", rows[k][k]), r.call("abs", rows[i][k]))
                pairs = list(zip(rows[k], rows[i], strict=True))
                rows[k] = [r.select(larger, b, a) for a, b in pairs]
                rows[i] = [r.select(larger, a, b) for a, b in pairs]
        for i in range(k + 1, n):
            if may_be_nonzero(rows[i][k]):
                factor = r.divide(rows[i][k], rows[k][k])
                rows[i] = [r.subtract(a, r.multiply(factor, b)) for a, b in zip(rows[i], rows[k], strict=True)]
    found: list[Scalar] = [0.0] * n
    for k in reversed(range(n)):
        rest = rows[k][n]
        for j in range(k + 1, n):
            rest = r.subtract(rest, r.multiply(rows[k][j], found[j]))
        found[k] = r.divide(rest, rows[k][k])
    return found
