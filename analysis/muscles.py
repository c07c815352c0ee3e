"""The former name of `myoquat.analysis.recruitment`. It warns, and goes with the next minor version."""

from myoquat.analysis import recruitment
from myoquat.core.deprecation import former_names

__all__ = list(recruitment.__all__)
__getattr__ = former_names(__name__, {name: f"{recruitment.__name__}.{name}" for name in __all__})
