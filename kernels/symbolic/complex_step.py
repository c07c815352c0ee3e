"""Numbers of a complex step, by which formulas are differentiated on floats.

f(x + i h) = f(x) + i h f'(x) - ..., and h^2 vanishes beside any number, so that the imaginary part has no error of a
difference. Source: Squire and Trapp, Using Complex Variables to Estimate Derivatives of Real Functions, SIAM Review 40
(1998) 110-112.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np

from .operations import OPERATIONS

# True while a formula is differentiated on floats: only then may arrays be complex.
takes_complex_steps: ContextVar[bool] = ContextVar("takes_complex_steps", default=False)

_OF_COMPLEX_NUMBERS = (  # functions that NumPy conjugates, or takes in the order of complex numbers
    "norm cholesky eigh eigvalsh eigvals eig svd pinv lstsq qr cond matrix_rank vdot cov corrcoef correlate angle var "
    "std nanvar nanstd unique sort argsort argmax argmin partition argpartition lexsort searchsorted median percentile "
    "quantile nanmedian nanpercentile nanquantile nanargmax nanargmin nan_to_num fmax fmin rint round around"
)
_UNSUPPORTED = frozenset(_OF_COMPLEX_NUMBERS.split())


class Stepped(np.ndarray):
    """Complex numbers of a complex step, which stand for real ones. NumPy takes the modulus for |z|, z / |z| for its
    sign, and compares imaginary parts where real ones are equal. Here all follow the real part, as the derivatives of
    the functions on floats do, or raise TypeError."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        name = ufunc.__name__
        _check_supported(name)
        numbers = [x.view(np.ndarray) if isinstance(x, Stepped) else x for x in inputs]
        if method == "__call__" and name in _BY_REAL_PART:
            if options:
                raise TypeError(f"np.{name} with {', '.join(options)} has no derivative on floats: use its result")
            return _stepped(_BY_REAL_PART[name](*numbers))
        if ufunc in (np.maximum, np.minimum):
            return _stepped(_extreme(ufunc, method, numbers[0], **options))
        if "out" in options:
            options["out"] = tuple(x.view(np.ndarray) if isinstance(x, Stepped) else x for x in options["out"])
        return _stepped(getattr(ufunc, method)(*numbers, **options))

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        _check_supported(function.__name__)
        return _stepped(super().__array_function__(function, types, args, options))

    real: Any = property(lambda self: self)
    imag: Any = property(lambda self: np.zeros(self.shape))

    def astype(self, dtype: Any, *args: Any, **options: Any) -> Any:
        if not np.issubdtype(dtype, np.complexfloating):
            raise TypeError(f"jacobian_at: the formula turns numbers into {np.dtype(dtype)}, which have no derivative")
        return super().astype(dtype, *args, **options)


def _refused(name: str) -> Callable[..., Any]:
    return lambda *_, **__: _check_supported(name)


for _name in _UNSUPPORTED.intersection(dir(np.ndarray)):  # methods, which NumPy does not pass on
    setattr(Stepped, _name, _refused(_name))


def _check_supported(name: str) -> None:
    """TypeError for a function that means something else on complex numbers."""
    if name in _UNSUPPORTED:
        raise TypeError(f"np.{name} has no derivative on floats: write it with np.sqrt, np.sum, np.max or np.where")


def real_part(x: Any) -> np.ndarray:
    """The real parts of floats, without the complex step: `.real` of a number with a step is the number itself."""
    return np.asarray(x).real


def _stepped(result: Any) -> Any:
    """A result with its complex arrays as `Stepped`, which some functions of NumPy return as plain ones."""
    if isinstance(result, tuple):
        return tuple(map(_stepped, result))
    if isinstance(result, np.ndarray | np.complexfloating) and np.iscomplexobj(result):
        return np.asarray(result).view(Stepped)
    return result


def _extreme(
    choose: np.ufunc, method: str, z: Any, axis: Any = 0, keepdims: bool = False, initial: Any = None, **others: Any
) -> Any:
    """The maximum or minimum along axes; of equal ones the first, and NaN if one is."""
    options = [name for name, x in others.items() if x is not None and x is not True]
    if method != "reduce" or options:
        reason = " with ".join([method, *options])
        raise TypeError(f"np.{choose.__name__}.{reason} has no derivative on floats: select with np.max or np.where")
    axes = range(z.ndim) if axis is None else [*np.atleast_1d(axis)]
    front = np.moveaxis(z, axes, range(len(axes)))
    rows = front.reshape(-1, *front.shape[len(axes) :])
    if initial is not None:
        rows = np.concatenate([np.full((1, *rows.shape[1:]), initial), rows])
    first = (np.argmax if choose is np.maximum else np.argmin)(rows.real, axis=0)
    found = np.take_along_axis(rows, first[None], axis=0)[0]
    return np.expand_dims(found, tuple(axes)) if keepdims else found


def _by_real_parts(function: np.ufunc) -> Callable[..., Any]:
    return lambda *numbers: function(*map(np.real, numbers))


def _absolute(z: Any) -> Any:
    return np.sign(np.real(z)) * z


def _maximum(a: Any, b: Any) -> Any:
    """Of equal ones the first, whose slope kernels take too; NaN if one is NaN."""
    return np.where((np.real(a) >= np.real(b)) | np.isnan(a), a, b)


def _minimum(a: Any, b: Any) -> Any:
    return -_maximum(-np.asarray(a), -np.asarray(b))


def _arctan2(y: Any, x: Any) -> Any:
    a, b = np.real(y), np.real(x)
    with np.errstate(divide="ignore", invalid="ignore"):  # no derivative at the origin: NaN, as on symbols
        return np.arctan2(a, b) + 1j * ((b * np.imag(y) - a * np.imag(x)) / (a * a + b * b))


_BY_REAL_PART: dict[str, Callable[..., Any]] = {  # by name, since NumPy keeps the function that np.clip calls to itself
    **{
        spelling.ufunc.__name__: _by_real_parts(spelling.ufunc)
        for row in OPERATIONS.values()
        for spelling in row.spellings
        if row.partials == ()
    },
    "absolute": _absolute,
    "fabs": _absolute,
    "conjugate": np.positive,
    "maximum": _maximum,
    "minimum": _minimum,
    "clip": lambda z, lowest, highest: _minimum(_maximum(z, lowest), highest),
    "arctan2": _arctan2,
    "hypot": lambda x, y: np.sqrt(x * x + y * y),
}
