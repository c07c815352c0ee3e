"""OpenSim's model files, .osim, as OpenSim 4 saves them: read into models, and written from them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
