"""Compiled kernels by content: equal content asks for a kernel once, whoever asks."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from myoquat import kernels
from myoquat.kernels import formula, is_symbolic
from myoquat.kernels.content import lasting_content
from myoquat.kernels.typing import Array, ArrayLike

__all__ = ["BACKENDS", "Input", "evaluate", "kernel_for"]

BACKENDS = ("kernel", "numpy")
CAPACITY = 256  # kernels kept in memory; the oldest unused one goes first

Compiled = TypeVar("Compiled")

_kernels: OrderedDict[Hashable, Any] = OrderedDict()
_lock = threading.Lock()


def kernel_for(key: Hashable, build: Callable[[str | None], Compiled]) -> Compiled:
    """The kernel (or step loop) kept under `key`, built at its first use.

    `key` must say everything that the kernel depends on: the content of the model and the name of the quantity. `build`
    takes it as a text for the cache of machine code, the argument `content` of `myoquat.kernels.compile`; None where it
    does not outlast this process: it holds functions, or classes whose code is not in this package.
    """
    with _lock:
        if key in _kernels:
            _kernels.move_to_end(key)
            found: Compiled = _kernels[key]
            return found
    kernel = build(lasting_content(key))
    with _lock:
        kernel = _kernels.setdefault(key, kernel)
        while len(_kernels) > CAPACITY:
            _kernels.popitem(last=False)
    return kernel


@dataclass(frozen=True)
class Input:
    """An argument of a formula: what the caller gave, the same as a checked array, and its shape per state."""

    given: ArrayLike
    array: Array
    shape: tuple[int, ...]

    @property
    def batch(self) -> tuple[int, ...]:
        """The leading axes."""
        shape: tuple[int, ...] = self.array.shape
        return shape[: len(shape) - len(self.shape)]


def evaluate(
    quantity: str,
    content: Hashable,
    function: Callable[..., Array],
    inputs: Mapping[str, Input],
    axes: int,
    *,
    out: Array | None = None,
    backend: str = "kernel",
    program: Callable[[], kernels.Program] | None = None,
) -> Array:
    """A formula through its kernel, in NumPy, or on the symbols that came, which then come back in the caller's kind.

    content   what, besides `quantity`, tells this formula from all others.
    inputs    by the names of the formula's arguments; batch axes broadcast.
    axes      number of axes of the result per state.
    program   makes a Program of the same inputs with a buffer `quantity`, from which the kernel is built instead.
    """
    if backend not in BACKENDS:
        raise ValueError(f"backend is one of {', '.join(BACKENDS)}, not {backend!r}")
    if any(is_symbolic(x.array) for x in inputs.values()):
        shapes = {name: x.shape for name, x in inputs.items()}
        return formula(**shapes)(function)(**{name: x.given for name, x in inputs.items()})
    if backend == "numpy":
        return _in_numpy(function, inputs, axes, out)
    sizes = {name: x.shape for name, x in inputs.items()}

    def build(key: str | None) -> kernels.Compiled:
        if program is not None:
            return kernels.compile_program(program, [quantity], name=quantity, content=key)
        return kernels.compile(function, sizes, [quantity], name=quantity, content=key)

    kernel = kernel_for((quantity, content), build)
    result: Array = kernel(*(x.array for x in inputs.values()), out=out)
    return result


def _in_numpy(function: Callable[..., Array], inputs: Mapping[str, Input], axes: int, out: Array | None) -> Array:
    batch = np.broadcast_shapes(*(x.batch for x in inputs.values()))
    result = np.asarray(function(*(x.array for x in inputs.values())))
    result = np.broadcast_to(result, batch + result.shape[result.ndim - axes :])
    if out is None:
        return result.copy()
    out[...] = result
    return out
