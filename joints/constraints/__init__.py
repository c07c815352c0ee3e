"""Constraints on the motion of a system: one file per type, with the verbs of `myoquat.joints.constraints.base`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
