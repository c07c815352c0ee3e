"""Former names of a package: they work for one minor version, with a warning that says the new one."""

import importlib
import warnings
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["former_names"]


def former_names(
    package: str, names: Mapping[str, str], otherwise: Callable[[str], Any] | None = None
) -> Callable[[str], Any]:
    """The `__getattr__` of a package with former names: {former: name in the package, or "other.package.name"}.

    A former name gives the object of the new name and a DeprecationWarning at the line that asks for it. otherwise: the
    `__getattr__` that the package has already. Any other name raises AttributeError, as usual.

    >>> import warnings
    >>> look_up = former_names("math", {"circumference_ratio": "pi"})
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     round(look_up("circumference_ratio"), 4)
    3.1416
    >>> print(caught[0].message)
    math.circumference_ratio is now math.pi; the former name goes with the next minor version
    """

    def look_up(name: str) -> Any:
        if name not in names:
            if otherwise is not None:
                return otherwise(name)
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, new = names[name].rpartition(".")
        module = module or package
        message = f"{package}.{name} is now {module}.{new}; the former name goes with the next minor version"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return getattr(importlib.import_module(module), new)

    return look_up
