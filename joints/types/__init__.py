"""Joint types: one file each, all with the verbs of `myoquat.joints.types.base.Joint`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
