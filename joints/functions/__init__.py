"""Functions of a coordinate, which move the axes of custom joints, or of the time: one file each, the same verbs."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
