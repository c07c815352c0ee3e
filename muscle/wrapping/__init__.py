"""Surfaces that paths wrap around: spheres, cylinders, ellipsoids and tori, one or several on the way."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
