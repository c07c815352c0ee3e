"""Taking arrays apart and putting them together along their last axes."""

from collections.abc import Iterable, Sequence

import numpy as np

from myoquat.core.typing import Array, ArrayLike
from myoquat.kernels.symbolic.arrays import Argument, as_array

QUATERNION = Argument((4,), nonzero=True)
VECTOR3 = Argument((3,))
MATRIX3 = Argument((3, 3))


def prescaled(array: Array) -> Array:
    """Float vectors (..., n) times a power of two, exactly, so that no square overflows or vanishes; symbols as is."""
    if array.dtype != np.float64:
        return array
    result: Array = array / np.exp2(np.floor(np.log2(np.abs(array).max(axis=-1, keepdims=True))))
    return result


def components(array: ArrayLike) -> tuple[Array, ...]:
    """The components along the last axis, each with the batch shape."""
    return tuple(np.moveaxis(as_array(array), -1, 0))


def vector(entries: Iterable[ArrayLike]) -> Array:
    """(..., n) from n components of one batch shape or numbers."""
    entries = tuple(entries)
    if len({np.shape(entry) for entry in entries}) == 1:  # NumPy's broadcasting costs several times the stacking
        return np.stack(entries, axis=-1)
    return np.stack(np.broadcast_arrays(*entries, subok=True), axis=-1)


def joined(parts: Sequence[Array]) -> Array:
    """(..., n) parts of possibly different batch shapes, one after the other along the last axis."""
    if len({part.shape[:-1] for part in parts}) == 1:
        return np.concatenate(parts, axis=-1)
    batch = np.broadcast_shapes(*(part.shape[:-1] for part in parts))
    return np.concatenate([np.broadcast_to(p, (*batch, p.shape[-1]), subok=True) for p in parts], axis=-1)


def matrix(rows: Sequence[Sequence[ArrayLike]]) -> Array:
    """(..., m, n) from rows of components of one batch shape or numbers."""
    width = len(rows[0])
    flat = vector([entry for row in rows for entry in row])
    return flat.reshape((*flat.shape[:-1], len(rows), width))


def transpose(array: Array) -> Array:
    """The last two axes exchanged."""
    return np.swapaxes(array, -1, -2)
