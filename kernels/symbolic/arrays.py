"""Arrays of symbols that follow NumPy, so that one formula runs on floats, on SymPy and on CasADi.

A formula is a plain NumPy function. On float arrays NumPy runs it. On symbols it runs on a `SymbolArray`: an object
array whose elements are scalar SymPy or CasADi expressions. It answers NumPy's functions element by element (`np.sin`,
`np.where`, `@`, `np.stack`, indexing with Ellipsis, any number of axes). `formula` validates arguments: it turns them
into one of the two and returns the result in the caller's type of array.
"""

import functools
import inspect
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from myoquat.core import Array, casadi, check_types, frozen, holds_masked

from .complex_step import Stepped, takes_complex_steps
from .elements import UFUNCS, exact, is_casadi, is_casadi_array, is_number, is_sympy, is_term, sympy_module, where
from .terms import Tracer

ADVICE: dict[str, str] = {}  # by the name of a class whose objects are no arrays, what to write instead


if TYPE_CHECKING:
    from casadi import SX


_FLOAT64, _OBJECT = np.dtype(np.float64), np.dtype(object)


# ---- the array ---------------------------------------------------------------------------------------------


# Functions of NumPy that answer object arrays without an error, as if no element were a NaN or equal to another.
_DECIDED_BY_VALUE = (np.nan_to_num, np.isin, np.intersect1d, np.setdiff1d, np.setxor1d, np.union1d)
_IGNORED_ARGUMENTS = ("dtype", "subok", "casting")  # arguments of ufuncs without a meaning on objects


class SymbolArray(np.ndarray):
    """Object array of scalar expressions (SymPy, CasADi SX or MX, terms of a tracing, floats) with NumPy's semantics.

    Made by `as_array`, `symbols_casadi` or a tracing. Indexing always gives a SymbolArray, of zero axes for one
    element; `.item()` gives the bare expression. It has no truth value: a formula selects with `np.where`.

    >>> import numpy as np
    >>> from myoquat.kernels import symbols_casadi
    >>> np.cross(symbols_casadi("x", 3), [0, 0, 1])
    SymbolArray([SX(x_1), SX((-x_0)), SX(0)], dtype=object)
    """

    __array_priority__ = 2000.0  # above casadi.array (1005), so that mixed products stay here

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if not kwargs and method == "__call__" and ufunc in UFUNCS:  # nearly every call of a formula
            return _wrap(UFUNCS[ufunc](*map(_plain, inputs)))
        out = kwargs.pop("out", None)
        kwargs = {k: v for k, v in kwargs.items() if k == "axis" or (v is not None and k not in _IGNORED_ARGUMENTS)}
        if kwargs.get("where") is True:
            del kwargs["where"]
        plain = [_plain(x) for x in inputs]
        if ufunc is np.matmul and method == "__call__":
            result = _matmul(*plain)
        elif ufunc in UFUNCS:
            result = getattr(UFUNCS[ufunc], method)(*plain, **kwargs)
        else:
            raise TypeError(
                f"np.{ufunc.__name__} has no meaning on symbols; a formula may use: "
                + ", ".join(sorted({u.__name__ for u in UFUNCS}))
            )
        if out is None or out[0] is None:
            return _wrap(result)
        if out[0].dtype != object:  # a float(SX) is a silent NaN
            raise TypeError(f"np.{ufunc.__name__}: an array of {out[0].dtype} cannot take symbols; write x = x + y")
        np.asarray(out[0])[...] = result
        return out[0]

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func is np.where and len(args) == 3:
            return _wrap(where(*(_plain(x) for x in args)))
        if func is np.einsum:
            return _wrap(np.einsum(args[0], *(_plain(x) for x in args[1:])))
        if func is np.clip:
            return _clip(*args, **kwargs)
        if func is np.linalg.norm:
            raise TypeError("np.linalg.norm has no meaning on symbols; write np.sqrt(np.sum(x * x, axis=-1))")
        if func in _DECIDED_BY_VALUE:
            raise TypeError(f"np.{func.__name__} has no meaning on symbols, which have no value; select with np.where")
        try:
            result = super().__array_function__(func, types, args, kwargs)
        except (AttributeError, TypeError, RuntimeError) as error:
            raise TypeError(f"{func.__module__}.{func.__name__} on symbols: {error}") from error
        return _wrapped_results(result)

    def clip(self, *args: Any, **kwargs: Any) -> "SymbolArray":  # type: ignore[override]
        return _clip(self, *args, **kwargs)

    def __getitem__(self, index: Any) -> "SymbolArray":
        return _wrap(super().__getitem__(index))

    def __repr__(self) -> str:
        return repr(np.asarray(self)).replace("array(", "SymbolArray(", 1)

    def __iter__(self) -> Iterator["SymbolArray"]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        if self.size == 1 and (isinstance(self.item(), bool) or is_number(self.item())):
            return bool(self.item())
        raise TypeError("a formula cannot branch on a symbol's value: choose with np.where(condition, a, b)")

    def __float__(self) -> float:
        if self.size == 1 and is_number(self.item()):
            return float(self.item())
        raise TypeError("a symbol has no value: keep the formula in NumPy's functions (np.sin, not math.sin)")

    @staticmethod
    def from_casadi(x: Any) -> "SymbolArray":
        """The elements of a casadi SX, MX or DM matrix (m, n); constants become floats."""
        array = _from_casadi(x, keep_column=True)
        return array if isinstance(array, SymbolArray) else _wrap(array.astype(object))


def _plain(x: Any) -> np.ndarray:
    """x as a plain object array with Python floats and bare expressions."""
    if isinstance(x, np.ndarray):
        array = np.asarray(x)
        return array if array.dtype is _OBJECT else array.astype(float).astype(object)
    if is_term(x) or type(x) is float or isinstance(x, bool):
        return _zero_axes(x)
    if is_casadi(x) or is_sympy(x) or is_casadi_array(x):
        return np.asarray(as_array(x))
    return np.asarray(x, dtype=float).astype(object)


def _zero_axes(element: Any) -> np.ndarray:
    array = np.empty((), dtype=object)
    array[()] = element
    return array


def _wrap(result: Any) -> SymbolArray:
    if isinstance(result, SymbolArray):
        return result
    if not isinstance(result, np.ndarray):
        result = _zero_axes(result)
    wrapped: SymbolArray = result.view(SymbolArray)
    return wrapped


def _wrapped_results(result: Any) -> Any:
    """What a NumPy function gave, symbols as SymbolArrays: some of its functions forget the subclass."""
    if isinstance(result, (tuple, list)):
        return type(result)(map(_wrapped_results, result))
    scalar = is_term(result) or is_casadi(result) or is_sympy(result)
    symbolic = result.dtype == object if isinstance(result, np.ndarray) else scalar
    return _wrap(result) if symbolic else result


def _clip(x: Any, lowest: Any = None, highest: Any = None) -> SymbolArray:
    """np.clip, either bound None for open."""
    x = x if lowest is None else np.maximum(x, lowest)
    result: SymbolArray = x if highest is None else np.minimum(x, highest)
    return result


def _matmul(a: np.ndarray, b: np.ndarray) -> Any:
    """NumPy's matmul on objects, skipping structural zeros."""
    if a.ndim == 1:
        return _matmul(a[None, :], b)[..., 0, :] if b.ndim > 1 else UFUNCS[np.add].reduce(UFUNCS[np.multiply](a, b))
    if b.ndim == 1:
        return _matmul(a, b[:, None])[..., 0]
    product = UFUNCS[np.multiply](a[..., :, :, None], b[..., None, :, :])
    return UFUNCS[np.add].reduce(product, axis=-2)


# ---- in and out --------------------------------------------------------------------------------------------


def is_symbolic(x: Any) -> bool:
    """True for a SymbolArray: what a formula holds while it runs on symbols.

    >>> import numpy as np
    >>> from myoquat.kernels import is_symbolic, symbols_casadi
    >>> is_symbolic(symbols_casadi("x", 3)), is_symbolic(np.zeros(3))
    (True, False)
    """
    return isinstance(x, SymbolArray)


def may_be_nonzero(x: Any) -> bool:
    """False only for a number, or an array of numbers, that is zero. The value of a symbol is unknown."""
    return any(not is_number(entry) or entry != 0 for entry in np.asarray(as_array(x)).flat)


def as_array(x: Any) -> np.ndarray:
    """x as a float64 array, or as a SymbolArray if it holds SymPy or CasADi symbols.

    A column of SX, MX, DM or a SymPy Matrix (n x 1) counts as a vector (n,); `casadi.array` keeps its own shape.
    Raises ValueError for what is neither (text, complex numbers, ragged lists) and for a masked array, whose mask would
    be lost.

    >>> import sympy
    >>> from myoquat.kernels import as_array
    >>> as_array([1, 2])
    array([1., 2.])
    >>> as_array([sympy.Symbol("x"), 2])
    SymbolArray([x, 2], dtype=object)
    """
    if isinstance(x, SymbolArray | Stepped) or (type(x) is np.ndarray and x.dtype is _FLOAT64):
        return x
    if is_term(x):
        return _wrap(_zero_axes(x))
    if holds_masked(x):
        raise ValueError(
            "an array of real numbers or symbols is needed, not a masked array: its hidden entries have none"
        )
    if is_casadi_array(x):
        return _from_casadi_array(x)
    if is_casadi(x):
        return _from_casadi(x)
    if is_sympy(x):
        array = np.asarray(x, dtype=object) if isinstance(x, sympy_module().MatrixBase) else _zero_axes(x)
        return (array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array).view(SymbolArray)
    if isinstance(x, (list, tuple)) and _mentions_symbols(x):
        return _stacked([_entry(v) for v in x])
    if type(x).__name__ in ADVICE:
        raise TypeError(ADVICE[type(x).__name__])
    try:
        array = np.asarray(x)
    except ValueError as error:
        raise ValueError(f"not an array: {error}") from None
    if array.dtype == object:
        return _from_objects(array)
    if array.dtype.kind == "c" and takes_complex_steps.get():  # as np.asarray and np.array of numbers with a step are
        return array.view(Stepped)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"an array of real numbers or symbols is needed, not of {array.dtype}")
    return array.astype(np.float64, copy=False)


def _mentions_symbols(x: Any) -> bool:
    """True for a SymbolArray or a CasADi value, and for lists that hold one: NumPy cannot take these apart."""
    if isinstance(x, (list, tuple)):
        return any(map(_mentions_symbols, x))
    return isinstance(x, SymbolArray) or is_casadi_array(x) or is_casadi(x)


def _entry(x: Any) -> np.ndarray:
    """An entry of a list as an array: a 1 x 1 CasADi value is a scalar there."""
    array = as_array(x)
    return array.reshape(()) if is_casadi(x) and array.size == 1 else array


def _stacked(entries: list[np.ndarray]) -> np.ndarray:
    try:
        stacked = np.stack([np.asarray(entry) for entry in entries])
    except ValueError as error:
        raise ValueError(f"not an array: {error}") from None
    return _wrap(stacked) if stacked.dtype == object else stacked


def _from_objects(array: np.ndarray) -> np.ndarray:
    """An object array as a SymbolArray, or as floats if there are only numbers in it."""
    elements = list(array.flat)
    for element in elements:
        if not (is_term(element) or is_number(element) or is_sympy(element) or is_casadi(element)):
            raise ValueError(f"an array of real numbers or symbols is needed; it holds {element!r}")
    if any(not is_number(element) for element in elements):
        return array.view(SymbolArray)
    try:
        return array.astype(np.float64)
    except OverflowError as error:
        raise ValueError(str(error)) from None


def _from_casadi(x: Any, keep_column: bool = False) -> np.ndarray:
    if isinstance(x, casadi.DM):
        numbers = x.full()
        result: Array = numbers[:, 0] if x.shape[1] == 1 and not keep_column else numbers
        return result
    rows, columns = x.shape
    array = np.empty((rows, columns), dtype=object)
    for i in range(rows):
        for j in range(columns):
            array[i, j] = _folded(x[i, j])
    return (array[:, 0] if columns == 1 and not keep_column else array).view(SymbolArray)


def _folded(x: Any) -> Any:
    """A constant SX as a Python float, so that zeros and ones stay structural."""
    return float(x) if isinstance(x, casadi.SX) and x.is_constant() else x


def _from_casadi_array(x: Any) -> np.ndarray:
    array = _from_casadi(casadi.array.to_casadi(x.reshape(-1)))
    return array.reshape(x.shape)


def symbols_casadi(name: str, shape: int | tuple[int, ...]) -> SymbolArray:
    """Fresh CasADi SX symbols `name_0 ... ` as a SymbolArray of the given shape (C order).

    >>> from myoquat.kernels import symbols_casadi
    >>> a = symbols_casadi("a", (2, 2))
    >>> a @ a[0]
    SymbolArray([SX((sq(a_0)+sq(a_1))), SX(((a_2*a_0)+(a_3*a_1)))], dtype=object)
    """
    check_types(name=(name, str), shape=(shape, (int, tuple)))
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    column = casadi.SX.sym(name, math.prod(shape))
    array = np.empty(math.prod(shape), dtype=object)
    for i, element in enumerate(casadi.vertsplit(column)):
        array[i] = element
    return array.reshape(shape).view(SymbolArray)


def symbols_of(tracer: Tracer, shape: tuple[int, ...]) -> SymbolArray:
    """Fresh symbols of a tracing as a SymbolArray of the given shape (C order)."""
    array = np.empty(math.prod(shape), dtype=object)
    array[:] = tracer.inputs(array.size)
    return array.reshape(shape).view(SymbolArray)


def symbols_sympy(name: str, shape: int | tuple[int, ...]) -> SymbolArray:
    """Fresh real SymPy dummies `name0 ...` as a SymbolArray of the given shape (C order); SymPy must be imported."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    dummies = [sympy_module().Dummy(f"{name}{i}", real=True) for i in range(math.prod(shape))]
    return np.array(dummies, dtype=object).reshape(shape).view(SymbolArray)


def as_casadi_vector(x: Any) -> "SX":
    """All elements of x in C order as one CasADi column: SX, or MX if any element is one.

    >>> import casadi
    >>> from myoquat.kernels import as_casadi_vector
    >>> as_casadi_vector([casadi.SX.sym("x"), 2.0])
    SX([x, 2])
    """
    elements = [_plain_number(e) for e in _plain(x if isinstance(x, np.ndarray) else as_array(x)).flat]
    column: SX = casadi.vertcat(*elements) if elements else casadi.SX(0, 1)
    return column


def _plain_number(x: Any) -> Any:
    return float(x) if isinstance(x, (bool, np.bool_)) or is_number(x) else x


def _to_casadi_array(x: np.ndarray) -> Any:
    column = as_casadi_vector(x)
    shape: Any = x.shape
    return casadi.array(column).reshape(shape) if x.ndim else casadi.array(column, ndim=0)


# ---- argument validation -----------------------------------------------------------------------------------


@frozen
class Argument:
    """What a formula expects of one array argument: its trailing shape, and whether zero vectors are refused.

    >>> import numpy as np
    >>> from myoquat.kernels import Argument
    >>> Argument((4,), nonzero=True).check("rotation_matrix", "Q", np.zeros(3))
    Traceback (most recent call last):
        ...
    ValueError: rotation_matrix: Q has shape (3,); expected (..., 4)
    """

    shape: tuple[int, ...]
    nonzero: bool = False

    def check(self, function: str, name: str, array: np.ndarray) -> None:
        """Raise ValueError if the shape is wrong or, for floats, a value is not finite or a vector is zero."""
        if len(self.shape) and array.shape[-len(self.shape) :] != self.shape:
            wanted = ", ".join(["..."] + [str(n) for n in self.shape])
            raise ValueError(f"{function}: {name} has shape {array.shape}; expected ({wanted})")
        if is_symbolic(array):
            return
        if not np.isfinite(array).all():
            where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
            raise ValueError(f"{function}: {name}{list(where)} is {array[where]}; finite numbers are needed")
        if self.nonzero and not array.any(axis=-1).all():
            where = tuple(int(i) for i in np.argwhere(~array.any(axis=-1))[0])
            raise ValueError(f"{function}: {name}{list(where) if where else ''} is zero; a nonzero vector is needed")


P = ParamSpec("P")
Result = TypeVar("Result")


def formula(**arguments: Argument | tuple[int, ...]) -> Callable[[Callable[P, Result]], Callable[P, Result]]:
    """Decorator: the named arguments arrive as float64 arrays or SymbolArrays, checked once. Those of a function of
    *args are in the order in which they are named here.

    The result goes back in the caller's type:

    - casadi.array for CasADi
    - a plain object array, or a bare expression, for SymPy
    - a SymbolArray for a SymbolArray
    - floats for floats

    >>> import numpy as np
    >>> from myoquat.kernels import Argument, formula
    >>> @formula(x=Argument((3,), nonzero=True))
    ... def direction(x):
    ...     return x / np.sqrt((x * x).sum(-1, keepdims=True))
    >>> direction([[3.0, 0, 4.0], [0, 2.0, 0]])
    array([[0.6, 0. , 0.8],
           [0. , 1. , 0. ]])
    >>> direction([1.0, 0])
    Traceback (most recent call last):
        ...
    ValueError: direction: x has shape (2,); expected (..., 3)
    """
    specification = {k: v if isinstance(v, Argument) else Argument(v) for k, v in arguments.items()}

    def decorate(function: Callable[P, Result]) -> Callable[P, Result]:
        signature, called = inspect.signature(function), getattr(function, "__name__", "the formula")
        variadic = any(x.kind is inspect.Parameter.VAR_POSITIONAL for x in signature.parameters.values())
        positions = {name: k for k, name in enumerate(specification if variadic else signature.parameters)}
        unknown = set(specification) - set(positions)
        if unknown:
            raise TypeError(f"{called} has no argument {sorted(unknown)}")

        @functools.wraps(function)
        def wrapper(*args: P.args, **kwargs: P.kwargs) -> Any:
            if kwargs:  # binding takes longer than most formulas on floats
                bound = signature.bind(*args, **kwargs)
                args, kwargs = bound.args, bound.kwargs  # type: ignore[assignment]
            positional: list[Any] = list(args)
            restore: Callable[[Any], Any] | None = None
            for name, argument in specification.items():
                holder: Any = kwargs if name in kwargs else positional
                place: Any = positions[name] if holder is positional else name
                if holder is positional and place >= len(positional):
                    continue
                given = holder[place]
                holder[place] = array = _named(as_array, called, name, given)
                argument.check(called, name, array)
                restore = restore or _way_back(given, array)
            result = function(*positional, **kwargs)
            return result if restore is None else restore(result)

        return wrapper

    return decorate


def _named(convert: Callable[[Any], Any], function: str, name: str, given: Any) -> Any:
    try:
        return convert(given)
    except ValueError as error:
        raise ValueError(f"{function}: {name}: {error}") from None


def _way_back(given: Any, array: np.ndarray) -> Callable[[Any], Any] | None:
    """How a result returns to the caller's type of array; None where it already is of that type."""
    if isinstance(given, SymbolArray):
        return None
    if is_casadi_array(given) or is_casadi(given):
        return _to_casadi_array
    if not is_symbolic(array):
        return None
    return _to_casadi_array if any(is_casadi(e) for e in array.flat) else _to_plain


def _to_plain(x: Any) -> Any:
    if not isinstance(x, np.ndarray):
        return x
    return _sympified(np.asarray(x))


_sympified = np.frompyfunc(lambda x: exact(x, sympy_module().S.One), 1, 1)
