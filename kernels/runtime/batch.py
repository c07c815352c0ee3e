"""From the arguments of a call to rows that compiled code can walk: shapes, broadcasting, conversion, results."""

import ctypes
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from myoquat.core import check_unmasked, warn_user
from myoquat.kernels.tracing.tape import Shape, Signature

LARGE_BYTES = 2**20
_FLOAT = np.dtype(np.float64)
_C_ORDER_AND_ALIGNED = 0x101  # of `flags.num`: C order and aligned
_first = ctypes.c_char.from_buffer


class ConversionWarning(UserWarning):
    """An input of more than LARGE_BYTES was copied because it was not float64 in C order.

    >>> import warnings
    >>> import numpy as np
    >>> from myoquat import kernels
    >>> kernel = kernels.compile(lambda x: x + x, {"x": 1}, name="twice")
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     twice = kernel(np.ones((2**19, 1), dtype=np.float32))  # 2 MiB that are not float64
    >>> caught[0].category.__name__
    'ConversionWarning'
    """


@dataclass(slots=True)
class Batch:
    """The inputs of a call as rows: arrays kept alive, a (pointer, stride) pair each, and the batch shape."""

    arrays: list[np.ndarray]
    rows: list[tuple[int, int]]
    shape: Shape
    states: int
    converted: int


def bind(signature: Signature, positional: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
    """The inputs in order. TypeError if one is missing, unknown or given twice."""
    if not named and len(positional) == len(signature.inputs):
        return list(positional)
    names = list(signature.inputs)
    if len(positional) > len(names):
        raise TypeError(f"{signature} takes {len(names)} inputs; {len(positional)} were given")
    given = dict(zip(names, positional, strict=False))
    twice, unknown = sorted(given.keys() & named.keys()), sorted(named.keys() - set(names))
    if twice or unknown:
        raise TypeError(f"{signature}: given twice: {twice}, unknown: {unknown}")
    given.update(named)
    missing = [name for name in names if name not in given]
    if missing:
        raise TypeError(f"{signature}: inputs {missing} are missing")
    return [given[name] for name in names]


def address(array: np.ndarray) -> int:
    """Where the numbers of an array begin; asked in the way that takes a sixth of the time where it can be."""
    try:
        return ctypes.addressof(_first(array))  # type: ignore[arg-type]
    except (TypeError, ValueError, BufferError):  # read-only, empty, or with gaps
        return int(array.__array_interface__["data"][0])


def gather(signature: Signature, given: Sequence[Any]) -> Batch:
    """Check and convert the inputs, (..., *shape) each, and broadcast their leading axes against each other.

    Raises ValueError naming the kernel, the input, the given and the wanted shape. float64 arrays whose rows are
    contiguous are used where they lie. An input without batch axes is read with stride 0.
    """
    arrays, batches, converted, packed = [], [], 0, True
    for (name, shape), x in zip(signature.inputs.items(), given, strict=True):
        array, axes = x, len(shape)
        if (
            type(x) is not np.ndarray
            or x.dtype is not _FLOAT
            or x.flags.num & _C_ORDER_AND_ALIGNED != _C_ORDER_AND_ALIGNED
            or x.shape[x.ndim - axes :] != shape
        ):
            array, copied = _float_rows(signature.name, name, shape, x)
            converted, packed = converted + copied, packed and array.flags.c_contiguous
        arrays.append(array)
        batches.append(array.shape[: array.ndim - axes])
    whole: Shape = batches[0] if batches else ()
    if packed and batches.count(whole) == len(batches):
        rows = [(address(array), 8 * size) for array, size in zip(arrays, signature.input_sizes, strict=True)]
        return Batch(arrays, rows, whole, math.prod(whole), converted)
    try:
        whole = np.broadcast_shapes(*batches)
    except ValueError:
        listed = ", ".join(f"'{n}' {s}" for n, s in zip(signature.inputs, batches, strict=False))
        raise ValueError(f"kernel '{signature.name}': leading axes do not broadcast: {listed}") from None
    strided = [_strided(array, shape, whole) for array, shape in zip(arrays, signature.inputs.values(), strict=True)]
    arrays = [array for array, _ in strided]
    rows = [(address(array), stride) for array, stride in strided]
    return Batch(arrays, rows, whole, math.prod(whole), converted)


def _float_rows(kernel: str, name: str, shape: Shape, x: Any) -> tuple[np.ndarray, bool]:
    """(x as a native float64 array with contiguous rows, whether an array had to be copied for that)."""
    check_unmasked(f"kernel '{kernel}': input '{name}'", x)
    try:
        array = np.asarray(x)
    except ValueError as error:
        raise ValueError(f"kernel '{kernel}': input '{name}' is not an array: {error}") from None
    if array.dtype.kind not in "fiub":
        raise ValueError(f"kernel '{kernel}': input '{name}' holds {array.dtype}; real numbers are needed")
    axes = len(shape)
    if array.ndim < axes or array.shape[array.ndim - axes :] != shape:
        wanted = ", ".join(["...", *map(str, shape)])
        raise ValueError(f"kernel '{kernel}': input '{name}' has shape {array.shape}; ({wanted}) is needed")
    if array.dtype == np.float64 and array.dtype.isnative and _rows_contiguous(array, axes):
        return array, False
    was_array = isinstance(x, np.ndarray)
    if was_array and array.nbytes > LARGE_BYTES:
        layout = "C order" if array.flags.c_contiguous else "strides"
        warn_user(
            f"kernel '{kernel}': input '{name}' ({array.dtype}, {layout}) is copied to C-order float64 at every call",
            ConversionWarning,
        )
    return np.ascontiguousarray(array, dtype=np.float64).reshape(array.shape), was_array


def _rows_contiguous(array: np.ndarray, axes: int) -> bool:
    """Whether each row is contiguous and rows lie at one distance."""
    if not array.flags.aligned:
        return False
    if array.flags.c_contiguous:
        return True
    batch = array.ndim - axes
    if batch != 1:
        return False
    stride = 8
    for n, step in zip(reversed(array.shape[batch:]), reversed(array.strides[batch:]), strict=True):
        if n > 1 and step != stride:
            return False
        stride *= n
    return array.strides[0] % 8 == 0


def _strided(array: np.ndarray, shape: Shape, whole: Shape) -> tuple[np.ndarray, int]:
    """(array, bytes between states), copied only if its batch axes are a mixture of 1 and more."""
    batch = array.shape[: array.ndim - len(shape)]
    if math.prod(batch) == 1:
        return array, 0
    if batch != whole and math.prod(batch) != math.prod(whole):
        array = np.ascontiguousarray(np.broadcast_to(array, whole + shape))
        return array, 8 * math.prod(shape)
    if len(batch) == 1:
        return array, array.strides[0]
    return array, 8 * math.prod(shape)


def results(signature: Signature, batch: Batch, out: Any) -> list[np.ndarray]:
    """Arrays (..., *shape) for the outputs: fresh, or those of `out` after a check.

    Raises ValueError if one of `out` has another shape or type, or is not C-ordered or writeable. It is raised too if
    it overlaps an input other than row by row, or another output.
    """
    shapes = [batch.shape + shape for shape in signature.outputs.values()]
    if out is None:
        return [np.empty(shape) for shape in shapes]
    given = list(out) if isinstance(out, (tuple, list)) else [out]
    if len(given) != len(shapes):
        raise ValueError(f"kernel '{signature.name}': out has {len(given)} arrays; {len(shapes)} are needed")
    for name, array, shape in zip(signature.outputs, given, shapes, strict=True):
        _check_out(signature.name, name, array, shape)
        _check_overlap(signature.name, name, array, batch)
    if len(given) > 1:
        _check_apart(signature, given)
    return given


def _check_out(kernel: str, name: str, array: Any, shape: Shape) -> None:
    usable = isinstance(array, np.ndarray) and array.shape == shape and array.dtype == np.float64 and array.flags.carray
    if not usable:
        found = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
        raise ValueError(
            f"kernel '{kernel}': out for '{name}' is {found}; a writeable C-order float64 array {shape} is needed"
        )


def _check_apart(signature: Signature, given: Sequence[np.ndarray]) -> None:
    """ValueError if two outputs share memory: each would be written over the other."""
    spans = sorted((address(array), array.nbytes, name) for name, array in zip(signature.outputs, given, strict=True))
    for (first, size, name), (second, _, other) in pairwise([span for span in spans if span[1]]):
        if second < first + size:
            raise ValueError(
                f"kernel '{signature.name}': out for '{name}' and for '{other}' share memory; give each its own"
            )


def _check_overlap(kernel: str, name: str, array: np.ndarray, batch: Batch) -> None:
    first, size, states = address(array), array.nbytes, batch.states
    for source, row in zip(batch.arrays, batch.rows, strict=True):
        if size and np.may_share_memory(source, array) and row != (first, size // states):
            raise ValueError(f"kernel '{kernel}': out for '{name}' overlaps an input; give it its own memory")
