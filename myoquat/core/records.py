"""Records: frozen dataclasses whose fields hold Python's own numbers and tuples, whatever was given."""

from abc import ABCMeta
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from types import NoneType, UnionType
from typing import Any, ClassVar, Union, get_args, get_origin, get_type_hints

import numpy as np

__all__ = ["Record", "declared", "unchecked"]


class Record(metaclass=ABCMeta):  # noqa: B024 - its subclasses have abstract methods
    """Base of frozen dataclasses whose content is compared (`myoquat.core.content`).

    Arrays and lists that are given become tuples, NumPy's numbers Python's, and integers floats in fields that are
    declared as floats or tuples of floats. An array where one number is declared, symbols, and whatever else is given
    stay as they are, for the checks of the class. A subclass with a `__post_init__` of its own calls
    `super().__post_init__()` first.

    `constants` names fields that no parameter of a model varies (`myoquat.muscle.parameter_names`): choices, data, and
    numbers of which others are computed once.
    """

    constants: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        own_type: Any = type(self)
        for name, single, floating in declared(own_type):
            given = getattr(self, name)
            if single and np.ndim(given):
                continue
            plain = _plain(given, floating)
            if plain is not given:
                object.__setattr__(self, name, plain)


def unchecked(record: Any, changes: Mapping[str, Any]) -> Any:
    """A dataclass with fields changed, as `dataclasses.replace` makes it, but without its checks: symbols have none."""
    new = object.__new__(type(record))
    for f in fields(record):
        object.__setattr__(new, f.name, changes.get(f.name, getattr(record, f.name)))
    return new


@cache
def declared(own_type: type[Any]) -> tuple[tuple[str, bool, bool], ...]:
    """For every field its name, whether it is declared as one number, and whether it holds floats only."""
    hints = get_type_hints(own_type)
    return tuple((f.name, _single(hints[f.name]), _floating(hints[f.name])) for f in fields(own_type))


def _single(hint: Any) -> bool:
    """Whether a type says one float, or None."""
    if get_origin(hint) in (Union, UnionType):
        return {*get_args(hint)} <= {float, NoneType}
    return hint is float


def _floating(hint: Any) -> bool:
    """Whether a type says float, or tuples or None beside floats, and nothing else."""
    if get_origin(hint) in (tuple, Union, UnionType):
        inner = [arg for arg in get_args(hint) if arg not in (Ellipsis, NoneType)]
        return bool(inner) and all(map(_floating, inner))
    return hint is float


def _plain(value: Any, floating: bool) -> Any:
    """The value without NumPy's types and without lists; the value itself if there are none in it."""
    own_type = type(value)
    if own_type is float or own_type is str or value is None:
        return value
    if (own_type is np.ndarray and value.dtype != object) or isinstance(value, np.generic):
        plain = value.tolist()
        return value if type(plain) is own_type else _plain(plain, floating)  # Python has no long double
    if own_type is tuple or own_type is list:
        items = [_plain(item, floating) for item in value]
        return value if own_type is tuple and all(a is b for a, b in zip(items, value, strict=True)) else tuple(items)
    return _as_float(value) if own_type is int and floating else value


def _as_float(value: int) -> float | int:
    """An integer as the float nearest to it; one beyond all floats is left to the checks."""
    try:
        return float(value)
    except OverflowError:
        return value
