"""The door of public functions: arguments of another kind than a function takes are refused by name."""

import os
from collections.abc import Callable
from types import NoneType
from typing import Any, TypeAlias

__all__ = ["CALLABLE", "PATH", "check_kind", "check_kinds"]

PATH = (str, os.PathLike)
CALLABLE: Any = Callable  # no type to a type checker
READERS = {
    "ArticulatedSystem": "load_urdf",
    "Emg": "load_emg",
    "Forces": "load_forces",
    "Markers": "load_markers",
    "Model": "load_model",
    "Motion": "load_motion",
    "Orientations": "load_orientations",
}  # what makes one of a path, for those who give the path

Kind: TypeAlias = type | str  # a class, or the name of one whose library is imported late, such as pandas.DataFrame
Kinds: TypeAlias = Kind | tuple[Kind, ...]


def check_kinds(**given: tuple[object, Kinds]) -> None:
    """`check_kind` for several arguments, name=(what was given, classes).

    >>> from myoquat.kernels.kinds import check_kinds
    >>> check_kinds(count=("two", int))
    Traceback (most recent call last):
        ...
    TypeError: count must be an int, not the str 'two'
    """
    for name, (value, allowed) in given.items():
        check_kind(name, value, allowed)


def check_kind(name: str, given: object, allowed: Kinds) -> None:
    """TypeError, with the name, what came and what is allowed, unless `given` is of one of these classes."""
    kinds = allowed if isinstance(allowed, tuple) else (allowed,)
    if any(isinstance(given, kind) if isinstance(kind, type) else _is_named(given, kind) for kind in kinds):
        return
    names = ["None" if kind is NoneType else kind.__name__ if isinstance(kind, type) else kind for kind in kinds]
    message = f"{name} must be {' or '.join(map(_with_article, names))}, not {_described(given)}"
    readers = [READERS[one] for one in names if one in READERS]
    raise TypeError(f"{message}; {readers[0]}(...) reads one" if readers and isinstance(given, PATH) else message)


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
