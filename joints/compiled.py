"""Compiled kernels by content: equal content asks for a kernel once, whoever asks."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from myoquat import kernels
from myoquat.kernels import formula, is_symbolic

__all__ = ["BACKENDS", "Input", "evaluate", "kernel_for"]

BACKENDS = ("kernel", "numpy")
CAPACITY = 256  # kernels kept in memory; the oldest unused one goes first

Compiled = TypeVar("Compiled")

_kernels: OrderedDict[Hashable, Any] = OrderedDict()
_lock = threading.Lock()


def kernel_for(key: Hashable, build: Callable[[], Compiled]) -> Compiled:
    """The kernel (or step loop) kept under `key`, built at its first use.

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


@dataclass(frozen=True)
class Input:
    """An argument of a formula: what the caller gave, the same as a checked array, and its shape per state."""

    given: Any
    array: Any
    shape: tuple[int, ...]

    @property
    def batch(self) -> tuple[int, ...]:
        """The leading axes."""
        return self.array.shape[: self.array.ndim - len(self.shape)]


def evaluate(
    quantity: str,
    content: Hashable,
    function: Callable[..., Any],
    inputs: Mapping[str, Input],
    axes: int,
    *,
    out: np.ndarray | None = None,
    backend: str = "kernel",
) -> Any:
    """A formula through its kernel, in NumPy, or on the symbols that came, which then come back in the caller's kind.

    content   what, besides `quantity`, tells this formula from all others.
    inputs    by the names of the formula's arguments; batch axes broadcast.
    axes      number of axes of the result per state.
    """
    if backend not in BACKENDS:
        raise ValueError(f"backend is one of {', '.join(BACKENDS)}, not {backend!r}")
    if any(is_symbolic(x.array) for x in inputs.values()):
        shapes = {name: x.shape for name, x in inputs.items()}
        return formula(**shapes)(function)(**{name: x.given for name, x in inputs.items()})
    if backend == "numpy":
        return _in_numpy(function, inputs, axes, out)
    sizes = {name: x.shape for name, x in inputs.items()}
    kernel = kernel_for((quantity, content), lambda: kernels.compile(function, sizes, [quantity], name=quantity))
    return kernel(*(x.array for x in inputs.values()), out=out)


def _in_numpy(
    function: Callable[..., Any], inputs: Mapping[str, Input], axes: int, out: np.ndarray | None
) -> np.ndarray:
    batch = np.broadcast_shapes(*(x.batch for x in inputs.values()))
    result = np.asarray(function(*(x.array for x in inputs.values())))
    result = np.broadcast_to(result, batch + result.shape[result.ndim - axes :])
    if out is None:
        return result.copy()
    out[...] = result
    return out
