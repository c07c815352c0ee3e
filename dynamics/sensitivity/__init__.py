"""Derivatives of motions: linearization beside a state, of one step of a method, and gradients of whole simulations."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
