"""Musculoskeletal models with ball-and-socket joints described by unit quaternions.

The names that a user meets first, and the rooms of the package, are imported when they are first used:
`import myoquat as mq; mq.load_model("two_link")`.
"""

import os

import lazy_loader

from myoquat.core.deprecation import former_names

__version__ = "0.2.0"

if os.path.isfile(os.path.join(os.path.dirname(__file__), "kernels")):  # a clone without links: see setup.py
    __path__.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

_look_up, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]

_FORMER = {  # name: the object, and what to write in its place
    "load_urdf": ("myoquat.data.urdf.load_urdf", "myoquat.data.load_model(...).system"),
}
__getattr__ = former_names(__name__, _FORMER, _look_up)
