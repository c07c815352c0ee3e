"""Model files in TOML: the schema in `myoquat.data.toml.read`, dataclasses as tables in `myoquat.data.toml.records`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
