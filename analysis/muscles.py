"""The former name of `myoquat.analysis.recruitment`. It warns, and goes with the next minor version."""

import warnings
from typing import Any

from myoquat.analysis import recruitment

__all__ = list(recruitment.__all__)


def __getattr__(name: str) -> Any:
    """The name of the same spelling in `myoquat.analysis.recruitment`."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    message = f"myoquat.analysis.muscles is now myoquat.analysis.recruitment: import {name} from there"
    warnings.warn(message, DeprecationWarning, stacklevel=2)
    return getattr(recruitment, name)
