"""Argument validation of public functions: values of another type, and hidden entries, raise an error that names the
argument.
"""

import fnmatch
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from numbers import Integral, Real
from types import NoneType
from typing import Any, TypeAlias, TypeVar

import numpy as np

from .lazy_imports import difflib, masked
from .typing import Array

PATH = (str, os.PathLike)
CALLABLE: Any = Callable  # no type to a type checker
WORDS = {NoneType: "None", Real: "number", Integral: "whole number"}  # for messages, where a name says less
READERS = {
    "ArticulatedSystem": "load_model",
    "Emg": "load_emg",
    "Forces": "load_forces",
    "Markers": "load_markers",
    "Model": "load_model",
    "Motion": "load_motion",
    "Orientations": "load_orientations",
}  # what makes one of a path, for those who give the path

Type: TypeAlias = type | str  # a class, or the name of one whose library is imported late, such as pandas.DataFrame
Types: TypeAlias = Type | tuple[Type, ...]


def check_types(**given: tuple[object, Types]) -> None:
    """`check_type` for several arguments, name=(what was given, classes).

    >>> from myoquat.core.arguments import check_types
    >>> check_types(count=("two", int))
    Traceback (most recent call last):
        ...
    TypeError: count must be an int, not the str 'two'
    """
    for name, (value, allowed) in given.items():
        check_type(name, value, allowed)


def check_type(name: str, given: object, allowed: Types) -> None:
    """TypeError, with the name, the given and the allowed types, unless `given` is of one of these classes."""
    types = allowed if isinstance(allowed, tuple) else (allowed,)
    if any(isinstance(given, cls) if isinstance(cls, type) else _is_named(given, cls) for cls in types):
        return
    names = [WORDS.get(cls, cls.__name__) if isinstance(cls, type) else cls for cls in types]
    message = f"{name} must be {' or '.join(map(_with_article, names))}, not {_described(given)}"
    readers = [READERS[one] for one in names if one in READERS]
    raise TypeError(f"{message}; {readers[0]}(...) reads one" if readers and isinstance(given, PATH) else message)


def check_items(name: str, given: Any, allowed: Types) -> tuple[Any, ...]:
    """The items as a tuple; TypeError unless they are of these classes, and for one alone.

    >>> from myoquat.core.arguments import check_items
    >>> check_items("counts", 3, int)
    Traceback (most recent call last):
        ...
    TypeError: counts must be a sequence, such as (int(...),), not the int 3
    """
    if not isinstance(given, Iterable):
        check_type(name, given, allowed)
        one = type(given).__name__
        raise TypeError(f"{name} must be a sequence, such as ({one}(...),), not {_described(given)}")
    items = tuple(given)
    for item in items:
        check_type(name, item, allowed)
    return items


def _is_named(given: object, name: str) -> bool:
    return any(base.__name__ == name.rpartition(".")[2] for base in type(given).__mro__)


def _with_article(name: str) -> str:
    return name if name == "None" else f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def _described(given: object) -> str:
    if given is None:
        return "None"
    shape = getattr(given, "shape", None)
    if isinstance(shape, tuple):
        return f"{_with_article(type(given).__name__)} of shape {shape}"
    text = repr(given) if isinstance(given, (str, int, float)) else ""
    return f"the {type(given).__name__} {text}" if text and len(text) < 80 else _with_article(type(given).__name__)


# ---- arrays of numbers -------------------------------------------------------------------------------------


def holds_masked(x: object) -> bool:
    """Whether x is a masked array of NumPy, or a list or tuple that holds one at any depth.

    >>> import numpy as np
    >>> holds_masked([1.0, np.ma.masked]), holds_masked(np.ones(3))
    (True, False)
    """
    return any(map(holds_masked, x)) if isinstance(x, (list, tuple)) else masked(x)


def check_unmasked(name: str, x: object) -> None:
    """ValueError with the name of the argument if x holds a masked array."""
    if holds_masked(x):
        raise ValueError(
            f"{name}: a masked array is not accepted, because its hidden entries have no value; "
            "x.filled(value) gives them one"
        )


def real_array(name: str, x: Any, shape: tuple[int, ...] | None = None) -> Array:
    """x as a float64 array; ValueError, with the name, for masked arrays, for what are not real numbers, and for
    another shape than `shape`.

    >>> real_array("weights", [1, 2])
    array([1., 2.])
    >>> real_array("weights", ["heavy"])
    Traceback (most recent call last):
        ...
    ValueError: weights: an array of real numbers is needed, not of <U5
    """
    check_unmasked(name, x)
    found = _floats(name, x)
    if shape is not None and found.shape != shape:
        raise ValueError(f"{name} must have the shape {shape}, not {found.shape}")
    return found


def real_array_with_gaps(name: str, x: Any) -> Array:
    """x as a float64 array with NaN for hidden entries: of masked arrays, and NA of pandas.

    For recordings, where NaN means that a value is missing. Raises ValueError, with the name, for what are not real
    numbers.

    >>> import numpy as np
    >>> real_array_with_gaps("positions", np.ma.array([1.0, 99.0], mask=[False, True]))
    array([ 1., nan])
    """
    return _floats(name, _with_nan(x))


def _with_nan(x: Any) -> Any:
    """x with NaN in place of hidden entries."""
    if isinstance(x, (list, tuple)):
        return [_with_nan(entry) for entry in x]
    if masked(x):
        return x.astype(float).filled(np.nan)
    if type(x).__name__ == "NAType":  # pandas.NA, without importing pandas
        return np.nan
    if hasattr(x, "to_numpy") and hasattr(x, "isna"):
        return x.to_numpy(dtype=float, na_value=np.nan)
    return x


def _floats(name: str, x: Any) -> Array:
    try:
        array = np.asarray(x)
        if array.dtype.kind == "O":
            array = array.astype(float)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name}: an array of real numbers is needed: {error}") from None
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name}: an array of real numbers is needed, not of {array.dtype}")
    return array.astype(np.float64, copy=False)


def indices_of(what: str, wanted: Iterable[str], known: Sequence[str]) -> list[int]:
    """Indices of the wanted names; ValueError with the nearest known ones for a name that is not there."""
    index = {name: i for i, name in enumerate(known)}
    found = []
    for name in wanted:
        if name not in index:
            near = difflib.get_close_matches(name, known, n=3) or list(known)[:6]
            raise ValueError(f"there is no {what} {name!r}; nearest: {', '.join(near) or 'none'}")
        found.append(index[name])
    return found


def by_pattern(what: str, given: Mapping[str, Any], known: Sequence[str]) -> dict[str, Any]:
    """What is given by names and patterns such as "*_r", by every known name that one fits: the last one counts.

    ValueError, with the nearest names, for a name or pattern that fits none.

    >>> by_pattern("marker", {"*": 1.0, "R.*": 2.0}, ["R.Heel", "Sternum"])
    {'R.Heel': 2.0, 'Sternum': 1.0}
    """
    found: dict[str, Any] = {}
    for pattern, value in given.items():
        fitting = [name for name in known if name == pattern or fnmatch.fnmatchcase(name, pattern)]
        if not fitting:
            indices_of(what, [pattern], known)
        found |= dict.fromkeys(fitting, value)
    return found


# ---- Options of public functions in records: an argument that takes a record in place of single options --------


Options = TypeVar("Options")


def options_of(argument: str, record: Options | None, single: Options) -> Options:
    """The record of an argument, or one of the arguments that were given singly.

    Raises TypeError for a record of another type, ValueError where an option is given in both forms.
    """
    if record is None:
        return single
    if not isinstance(record, type(single)):
        raise TypeError(f"{argument} must be of type {type(single).__name__}, not {type(record).__name__}")
    twice = [item.name for item in fields(single) if _is_given(single, item.name)]  # type: ignore[arg-type]
    if twice:
        raise ValueError(f"{', '.join(twice)}: give options either singly or in {argument}, not both")
    return record


def _is_given(single: Any, name: str) -> bool:
    """True if an option differs from the default of its record."""
    value, default = getattr(single, name), getattr(type(single)(), name)
    return value is not default and not (isinstance(value, str | float | bool | tuple | dict) and value == default)
