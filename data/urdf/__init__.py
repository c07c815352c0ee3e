"""URDF files: reading with the extensions of articulated-system simulators, and writing."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
