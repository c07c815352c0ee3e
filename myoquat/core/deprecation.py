"""Former names of a package, of attributes and of arguments: they work for one minor version, with a warning that
names the new one.
"""

import functools
import importlib
import warnings
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

__all__ = ["former_argument", "former_attribute", "former_names", "warn_former"]

P = ParamSpec("P")
Result = TypeVar("Result")


def warn_former(former: str, new: str, stacklevel: int = 2) -> None:
    """The DeprecationWarning of a former name, at the caller of who calls this, or further up."""
    message = f"{former} is now {new}; the former name goes with the next minor version"
    warnings.warn(message, DeprecationWarning, stacklevel=stacklevel + 1)


def former_names(
    package: str,
    names: Mapping[str, str | tuple[str, str]],
    otherwise: Callable[[str], Any] | None = None,
) -> Callable[[str], Any]:
    """The `__getattr__` of a package with former names: {former: name in the package, or "other.package.name"}. Where
    the new name is another object, {former: (name of the former object, what to write in its place)}.

    A former name gives the object of the new name and a DeprecationWarning at the line that asks for it. If the package
    already has a `__getattr__`, it is `otherwise`. Any other name raises AttributeError, as usual.

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
        found = names[name]
        path, advice = found if isinstance(found, tuple) else (found, None)
        module, _, new = path.rpartition(".")
        module = module or package
        warn_former(f"{package}.{name}", advice or f"{module}.{new}")
        return getattr(importlib.import_module(module), new)

    return look_up


def former_attribute(former: str, new: str) -> Any:
    """A property for the former name of a method or attribute: it warns, and gives the attribute `new`.

    >>> import warnings
    >>> class Box:
    ...     volume = 2.0
    ...     content = former_attribute("content", "volume")
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     Box().content
    2.0
    >>> print(caught[0].message)
    Box.content is now Box.volume; the former name goes with the next minor version
    """

    def get(self: Any) -> Any:
        name = type(self).__name__
        warn_former(f"{name}.{former}", f"{name}.{new}")
        return getattr(self, new)

    get.__doc__ = f"Former name of `{new}`."
    return property(get)


def former_argument(former: str, new: str) -> Callable[[Callable[P, Result]], Callable[P, Result]]:
    """Decorator: the function takes the keyword `former` too, with a warning, and hands it on as `new`.

    >>> import warnings
    >>> @former_argument("edge", "side")
    ... def area(side):
    ...     return side**2
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     area(edge=3.0)
    9.0
    >>> print(caught[0].message)
    area: the argument edge is now side; the former name goes with the next minor version
    """

    def decorate(function: Callable[P, Result]) -> Callable[P, Result]:
        @functools.wraps(function)
        def wrapper(*args: P.args, **kwargs: P.kwargs) -> Result:
            if former in kwargs:
                name = function.__qualname__.rpartition("<locals>.")[2].removesuffix(".__init__")
                warn_former(f"{name}: the argument {former}", new)
                kwargs[new] = kwargs.pop(former)
            return function(*args, **kwargs)

        return wrapper

    return decorate
