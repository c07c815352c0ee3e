"""Single values of a model file, checked; every error says the element and the key."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from myoquat.core.lazy_imports import tomlkit
from myoquat.joints.errors import ModelError
from myoquat.joints.ranges import MAX_NUMBER, is_plausible

if TYPE_CHECKING:
    from tomlkit.items import Array

__all__ = ["array", "boolean", "check_keys", "integer", "number", "numbers", "string"]


def check_keys(table: Any, allowed: set[str], required: set[str], element: str, prefix: str = "") -> None:
    """ModelError for a key that is not allowed, or one that is missing."""
    if not isinstance(table, dict):
        raise ModelError(f"{prefix.rstrip('.') or 'this'} must be a table", element=element)
    for key in table:
        if key not in allowed:
            raise ModelError(f"unknown key {prefix}{key}; allowed: {', '.join(sorted(allowed))}", element=element)
    for key in sorted(required):
        if key not in table:
            raise ModelError(f"the key {prefix}{key} is missing", element=element)


def string(value: Any, element: str, key: str) -> str:
    """Text."""
    if not isinstance(value, str):
        raise ModelError(f"{key} must be text, not {value!r}", element=element)
    return value


def boolean(value: Any, element: str, key: str) -> bool:
    """true or false."""
    if not isinstance(value, bool):
        raise ModelError(f"{key} must be true or false, not {value!r}", element=element)
    return value


def integer(value: Any, element: str, key: str) -> int:
    """A whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ModelError(f"{key} must be a whole number, not {value!r}", element=element)
    return value


def number(value: Any, element: str, key: str) -> float:
    """A finite number."""
    try:
        found = math.nan if isinstance(value, bool) or not isinstance(value, (int, float)) else float(value)
    except OverflowError:  # an integer beyond all floats
        found = math.inf
    if not is_plausible(found):
        limit = f" of at most {MAX_NUMBER:g} in size" if math.isfinite(found) else ""
        raise ModelError(f"{key} must be a finite number{limit}, not {value!r}", element=element)
    return found


def numbers(value: Any, sizes: Iterable[int], element: str, key: str) -> tuple[float, ...]:
    """Finite numbers, as many as one of `sizes`."""
    sizes = tuple(sizes)
    if not isinstance(value, (list, tuple)) or len(value) not in sizes:
        raise ModelError(f"{key} must be {' or '.join(map(str, sizes))} numbers, not {value!r}", element=element)
    return tuple(number(item, element, key) for item in value)


def array(values: Iterable[Any]) -> "Array":
    """A TOML array."""
    result = tomlkit.array()
    result.extend(values)
    return result
