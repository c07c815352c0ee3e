"""OpenSim's tables of numbers over time, .mot and .sto: read and written."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
