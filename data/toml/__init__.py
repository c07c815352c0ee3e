"""Model files in TOML: `myoquat.data.toml.models` has the schema, `myoquat.data.toml.records` dataclasses as tables."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
