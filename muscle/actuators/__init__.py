"""Actuators beside muscles: one file per type, with the verbs of `myoquat.muscle.actuators.base.Actuator`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
