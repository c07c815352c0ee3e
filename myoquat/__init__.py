"""Musculoskeletal models with ball-and-socket joints described by unit quaternions.

The names that a user meets first, and the rooms of the package, are imported when they are first used:
`import myoquat as mq; mq.load_model("two_link")`.
"""

import importlib
import os
from typing import Any

import lazy_loader

from myoquat.core.overwritten import watch_modules

__version__ = "0.2.0"

if os.path.isfile(os.path.join(os.path.dirname(__file__), "kernels")):  # a clone without links: see setup.py
    __path__.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

watch_modules()
_look_up, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]

_FORMER = {  # name: the object, and what to write in its place
    "load_urdf": ("myoquat.data.urdf.load_urdf", "myoquat.data.load_model(...).system"),
}


def __getattr__(name: str) -> Any:
    """Former names warn; their machinery is imported with the first of them."""
    if name not in _FORMER:
        return _look_up(name)
    path, advice = _FORMER[name]
    module, _, former = path.rpartition(".")
    importlib.import_module("myoquat.core.deprecation").warn_former(f"{__name__}.{name}", advice)
    return getattr(importlib.import_module(module), former)
