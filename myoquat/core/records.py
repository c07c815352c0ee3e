"""Records: frozen dataclasses, made quickly, whose fields hold Python's own numbers and tuples, whatever was given.

`frozen` makes the same classes as the standard library's `dataclass(frozen=True)`, which takes 0.5 ms for each
because it compiles six functions of text. With hundreds of classes that is half of the time of an import. Here the
methods are shared, and `__init__` is compiled when a class makes its first instance.
"""

import dataclasses
from abc import ABCMeta
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, FrozenInstanceError, field, fields
from functools import cache
from operator import attrgetter
from reprlib import recursive_repr
from types import NoneType, UnionType
from typing import Any, ClassVar, Union, dataclass_transform, get_args, get_origin, get_type_hints

import numpy as np

from .arguments import check_items


@dataclass_transform(frozen_default=True, field_specifiers=(Field, field))
def frozen(cls: Any = None, /, *, eq: bool = True, repr: bool = True, kw_only: bool = False) -> Any:
    """A class with the fields and the methods of a frozen dataclass without `InitVar` and slots, quickly made."""
    if cls is None:
        return lambda own_type: frozen(own_type, eq=eq, repr=repr, kw_only=kw_only)
    hints = cls.__annotations__
    content = {name: getattr(cls, name) for name in hints if hasattr(cls, name)}
    holder = type(
        cls.__name__, (), {"__doc__": "Fields.", "__module__": cls.__module__, "__annotations__": hints, **content}
    )
    own_fields = dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(holder).__dataclass_fields__  # type: ignore[attr-defined]
    for name in own_fields.keys() & vars(cls).keys():
        if isinstance(vars(cls)[name], Field):
            if own_fields[name].default is MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, own_fields[name].default)
    all_fields: dict[str, Any] = {}
    for base in reversed(cls.__mro__[1:]):
        all_fields |= vars(base).get("__dataclass_fields__", {})
    cls.__dataclass_fields__ = all_fields | own_fields
    cls.__dataclass_params__ = _Template.__dataclass_params__  # type: ignore[attr-defined]
    compared = [f.name for f in fields(cls) if f.compare]
    methods: dict[str, Any] = {"__init__": _Initializer(cls)}
    methods |= {"__repr__": _repr} if repr else {}
    methods |= {"__eq__": _equal} if eq else {}
    explicit = vars(cls).get("__hash__") is not None or ("__hash__" in vars(cls) and "__eq__" not in vars(cls))
    if eq:
        cls.__compared__ = _values(compared)
        if not explicit:
            cls.__hash__ = _hash
    cls.__setattr__, cls.__delattr__ = _set, _delete
    methods["__match_args__"] = tuple(f.name for f in fields(cls) if f.init and not f.kw_only)
    for name in methods.keys() - vars(cls).keys():
        setattr(cls, name, methods[name])
    return cls


@dataclasses.dataclass(frozen=True)
class _Template:
    """Whose parameters say that a class is frozen, so that the standard library's classes may inherit from it."""


class _Initializer:
    """The `__init__` of a class, compiled when it is first asked for."""

    def __init__(self, cls: Any) -> None:
        self._cls = cls

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        self._cls.__init__ = method = _initializer(self._cls)
        return method.__get__(instance, owner)


class _Factory:
    """The default of a field whose value a function makes."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


def _initializer(cls: Any) -> Any:
    """The function that sets every field, and then calls `__post_init__` where the class has one."""
    scope: dict[str, Any] = {"__name__": __name__, "set_field": object.__setattr__, "FACTORY": _FACTORY}
    positional: list[str] = []
    by_name: list[str] = []
    lines: list[str] = []
    for f in fields(cls):
        default, factory = f"default_{f.name}", f"factory_{f.name}"
        scope |= {default: f.default, factory: f.default_factory}
        made = f.default_factory is not MISSING
        if f.init:
            suffix = "=FACTORY" if made else "" if f.default is MISSING else f"={default}"
            (by_name if f.kw_only else positional).append(f.name + suffix)
            value = f"{factory}() if {f.name} is FACTORY else {f.name}" if made else f.name
            lines.append(f"set_field(self, {f.name!r}, {value})")
        elif made:
            lines.append(f"set_field(self, {f.name!r}, {factory}())")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    parameters = ", ".join(["self", *positional, *(["*", *by_name] if by_name else [])])
    exec(f"def __init__({parameters}):\n " + "\n ".join(lines or ["pass"]), scope)
    method = scope["__init__"]
    method.__annotations__ = {f.name: f.type for f in fields(cls) if f.init} | {"return": None}
    method.__qualname__, method.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    return method


def _values(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """The function that returns these attributes of a record as a tuple."""
    if len(names) > 1:
        return staticmethod(attrgetter(*names))
    return staticmethod(lambda record: tuple(getattr(record, name) for name in names))


def _equal(self: Any, other: Any) -> Any:
    return self.__compared__(self) == other.__compared__(other) if other.__class__ is self.__class__ else NotImplemented


def _hash(self: Any) -> int:
    return hash(self.__compared__(self))


@recursive_repr()
def _repr(self: Any) -> str:
    return (
        f"{type(self).__qualname__}({', '.join(f'{f.name}={getattr(self, f.name)!r}' for f in fields(self) if f.repr)})"
    )


def _set(self: Any, name: str, value: Any) -> None:
    if "__dataclass_fields__" in vars(type(self)) or name in self.__dataclass_fields__:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _delete(self: Any, name: str) -> None:
    if "__dataclass_fields__" in vars(type(self)) or name in self.__dataclass_fields__:
        raise FrozenInstanceError(f"cannot delete field {name!r}")
    object.__delattr__(self, name)


def assign(record: object, **values: object) -> None:
    """Set fields of a frozen record, in its `__init__` or `__post_init__`."""
    for name, value in values.items():
        object.__setattr__(record, name, value)


class Record(metaclass=ABCMeta):  # noqa: B024 - its subclasses have abstract methods
    """Base of frozen dataclasses whose content is compared (`myoquat.core.content`).

    Arrays and lists that are given become tuples, NumPy's numbers Python's, and integers floats in fields that are
    declared as floats or tuples of floats. A field that is declared as a tuple of records takes any sequence of them,
    and raises TypeError for one alone and for other items. An array where one number is declared, symbols, and whatever
    else is given stay as they are, for the checks of the class. A subclass with a `__post_init__` of its own calls
    `super().__post_init__()` first.

    `constants` names fields that no parameter of a model varies (`myoquat.muscle.parameter_names`): choices, data, and
    numbers of which others are computed once.
    """

    constants: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        own_type: Any = type(self)
        for name, single, floating, members in declared(own_type):
            given = getattr(self, name)
            given_type = type(given)
            if members:
                if given_type is not tuple or not all(isinstance(item, members) for item in given):
                    items = check_items(f"{own_type.__name__}: {name}", given, members)
                    object.__setattr__(self, name, items)
                continue
            if given_type is float or given_type is str or (single and np.ndim(given)):
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
def declared(own_type: type[Any]) -> tuple[tuple[str, bool, bool, tuple[type, ...]], ...]:
    """For every field its name, whether it is declared as one number, whether it holds floats only, and the classes of
    records that it is a tuple of."""
    types = get_type_hints(own_type)
    hints = [(f.name, types[f.name]) for f in fields(own_type)]
    return tuple((name, _single(hint), _floating(hint), _members(hint)) for name, hint in hints)


def _members(hint: Any) -> tuple[type, ...]:
    """The classes of records of which a type says a tuple, () for other types."""
    inner = {arg for arg in get_args(hint) if arg is not Ellipsis} if get_origin(hint) is tuple else set()
    return tuple(inner) if all(isinstance(arg, type) and issubclass(arg, Record) for arg in inner) else ()


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
