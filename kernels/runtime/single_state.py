"""A kernel for one state after another, as solvers of differential equations call it."""

import ctypes
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from myoquat.core.arguments import check_unmasked
from myoquat.core.typing import Array, ArrayLike
from myoquat.kernels.runtime.batch import address
from myoquat.kernels.runtime.execution import FramePool
from myoquat.kernels.tracing.traced import Signature

__all__ = ["SingleState"]


class SingleState:
    """The outputs of a kernel for one state; made by `Compiled.single`.

    Every call copies its arguments, in the order of the inputs, into arrays that stay where they are. Nothing is looked
    up or converted, which saves some microseconds. Results are copies. Raises ValueError for an argument that does not
    fit its input. Each thread needs one of its own.
    """

    def __init__(
        self, entry: Callable[..., None], frames: FramePool, signature: Signature, count: Callable[[], None]
    ) -> None:
        self._entry, self._frames, self._count = entry, frames, count
        self._names = [f"kernel '{signature.name}': input '{name}'" for name in signature.inputs]
        self._inputs = [np.zeros(shape) for shape in signature.inputs.values()]
        self._outputs = [np.zeros(shape) for shape in signature.outputs.values()]
        rows = [(address(array), 0) for array in (*self._inputs, *self._outputs)]
        self._table = (ctypes.c_int64 * (2 * len(rows)))(*itertools.chain(*rows))

    def __call__(self, *values: ArrayLike) -> Any:
        for name, array, value in zip(self._names, self._inputs, values, strict=True):
            check_unmasked(name, value)
            array[...] = value
        self._count()
        self._frames.run(self._entry, self._table, 0, 1)
        results: list[Array] = [array.copy() for array in self._outputs]
        return results[0] if len(results) == 1 else tuple(results)
