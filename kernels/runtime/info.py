"""What kernels run on: for a person who asks, and for a report of a fault."""

import os
import platform
from typing import Any

import numpy as np

from myoquat.core.lazy_imports import metadata
from myoquat.kernels.runtime.cache import LIMIT_BYTES, Cache
from myoquat.kernels.runtime.llvm import versions
from myoquat.kernels.runtime.settings import cache_folder, lane_count, target, thread_count

__all__ = ["info"]

_VARIABLES = ("MYOQUAT_CPU", "MYOQUAT_LANES", "MYOQUAT_THREADS", "MYOQUAT_CACHE")


def info() -> dict[str, Any]:
    """Lanes, threads, processor and its features, cache folder and size, versions, and the environment's settings.

    >>> from myoquat import kernels
    >>> sorted(kernels.info())[:4]
    ['cache', 'cache_bytes', 'cache_limit_bytes', 'cpu']
    """
    built_for = target()
    folder = cache_folder()
    return {
        "lanes": lane_count(None, built_for),
        "threads": thread_count(),
        "cpu": built_for.cpu,
        "features": [f[1:] for f in built_for.features.split(",") if f.startswith("+")],
        "fma": built_for.fma,
        "triple": built_for.triple,
        "cache": "off" if folder is None else str(folder),
        "cache_bytes": Cache(folder).size(),
        "cache_limit_bytes": LIMIT_BYTES,
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "casadi": metadata.version("casadi"),
            **versions(),
        },
        "environment": {name: os.environ[name] for name in _VARIABLES if name in os.environ},
    }
