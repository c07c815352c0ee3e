"""Musculoskeletal models with ball-and-socket joints described by unit quaternions.

The names that a user meets first, and its packages, are imported when they are first used:
`import myoquat as mq; mq.load_model("two_link")`.
"""

import os

import lazy_loader

__version__ = "0.2.0"

if os.path.isfile(os.path.join(os.path.dirname(__file__), "kernels")):  # a clone without links: see setup.py
    __path__.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]
