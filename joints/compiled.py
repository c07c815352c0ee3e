"""Compiled kernels by content: equal content asks for a kernel once, whoever asks."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np

import kernels
from kernels import Kernel, is_symbolic

__all__ = ["BACKENDS", "evaluate", "kernel_for"]

BACKENDS = ("kernel", "numpy")
CAPACITY = 256  # kernels kept in memory; the oldest unused one goes first

_kernels: OrderedDict[Hashable, Kernel] = OrderedDict()
_lock = threading.Lock()


def kernel_for(key: Hashable, build: Callable[[], Kernel]) -> Kernel:
    """The kernel kept under `key`, built at its first use.

    `key` must say everything that the kernel depends on: the content of the model and the name of the quantity.
    """
    with _lock:
        if key in _kernels:
            _kernels.move_to_end(key)
            return _kernels[key]
    kernel = build()
    with _lock:
        kernel = _kernels.setdefault(key, kernel)
        while len(_kernels) > CAPACITY:
            _kernels.popitem(last=False)
    return kernel


def evaluate(
    quantity: str,
    content: Hashable,
    function: Callable[..., Any],
    inputs: Mapping[str, tuple[np.ndarray, Any]],
    axes: int,
    *,
    out: np.ndarray | None = None,
    backend: str = "kernel",
) -> Any:
    """The formula `function` on checked arrays: through its kernel, in NumPy, or on the symbols that came.

    inputs    name -> (array, shape per state), in the function's order; batch axes broadcast.
    axes      number of axes of the result per state.
    content   what, besides `quantity`, tells this formula from others.
    """
    if backend not in BACKENDS:
        raise ValueError(f"backend is one of {', '.join(BACKENDS)}, not {backend!r}")
    arrays = [array for array, _ in inputs.values()]
    if any(is_symbolic(array) for array in arrays):
        return function(*arrays)
    if backend == "numpy":
        batch = np.broadcast_shapes(*(a.shape[: a.ndim - _rank(shape)] for a, shape in inputs.values()))
        result = np.asarray(function(*arrays))
        result = np.broadcast_to(result, batch + result.shape[result.ndim - axes :])
        if out is None:
            return result.copy()
        out[...] = result
        return out
    shapes = {name: shape for name, (_, shape) in inputs.items()}
    kernel = kernel_for((quantity, content), lambda: kernels.compile(function, shapes, [quantity], name=quantity))
    return kernel(*arrays, out=out)


def _rank(shape: Any) -> int:
    return 1 if isinstance(shape, int) else len(shape)
