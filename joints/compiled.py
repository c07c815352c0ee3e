"""Compiled kernels by content: equal content asks for a kernel once, whoever asks."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable

from kernels import Kernel

__all__ = ["kernel_for"]

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
