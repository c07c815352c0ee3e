"""Frozen dataclasses as TOML tables and back: their fields are the keys, so a new joint, law or function needs no code.

The key `type` names the subclass of a class that others extend, see `myoquat.data.toml.record_types`. Fields that are
None or at their default are left out; `NAMES` holds those with another name in files.
"""

import functools
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import TYPE_CHECKING, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from myoquat.core.lazy_imports import tomlkit
from myoquat.data.toml.record_types import class_of_type, written_type
from myoquat.data.toml.values import array, boolean, check_keys, integer, number, string
from myoquat.joints.errors import ModelError
from myoquat.joints.types import Joint
from myoquat.muscle.points import PathPoint

if TYPE_CHECKING:
    from tomlkit.items import AbstractTable

__all__ = ["read_fields", "read_record", "write_fields", "write_record"]

Record = TypeVar("Record")
NAMES = {(PathPoint, "position"): "point"}  # (class, field) -> key
MAX_TABLE_DEPTH = 16  # tables in one another: a multiplier of a multiplier of a function is three
HIDDEN = {(Joint, "velocity_frame")}  # a property of the whole system, written once


def read_record(root: type[Record], table: Any, element: str, prefix: str) -> Record:
    """An object of `root` or of a class below it from a table; ModelError with `element` and the key otherwise."""
    if not isinstance(table, Mapping):
        raise ModelError(f"{prefix.rstrip('.')} must be a table", element=element)
    if prefix.count(".") > MAX_TABLE_DEPTH:
        raise ModelError(f"{prefix.rstrip('.')}: tables are nested more than {MAX_TABLE_DEPTH} deep", element=element)
    table = dict(table)
    cls: type[Any] = class_of_type(root, table, element, prefix)
    values = read_fields(cls, table, element, prefix)
    try:
        record: Record = cls(**values)
    except ModelError:
        raise
    except ValueError as error:
        raise ModelError(f"{prefix.rstrip('.')}: {error}", element=element) from None
    return record


def read_fields(cls: type, table: Mapping[str, Any], element: str, prefix: str, only: Any = None) -> dict[str, Any]:
    """Arguments of `cls` from a table; all its fields, or those in `only`."""
    hints = _hints(cls)
    keys = {_key(cls, f.name): f for f in _fields(cls) if only is None or f.name in only}
    required = {key for key, f in keys.items() if f.default is MISSING and f.default_factory is MISSING}
    open_ones = {key for key in required if _may_be_none(hints[keys[key].name])}
    check_keys(table, set(keys), required - open_ones, element, prefix)
    given = {f.name: _read(hints[f.name], table[k], element, prefix + k) for k, f in keys.items() if k in table}
    return {keys[key].name: None for key in open_ones} | given


@functools.cache
def _hints(cls: type) -> dict[str, Any]:
    """The types of a class's fields."""
    return get_type_hints(cls)


def write_record(record: Any, element: str, inline: bool = True) -> "AbstractTable":
    """A dataclass as a table, with its `type` where classes share a root. ModelError with `element` for a type that
    could not be read again."""
    made: AbstractTable = tomlkit.inline_table() if inline else tomlkit.table()
    type_name = written_type(type(record), element)
    if type_name is not None:
        made["type"] = type_name
    for key, value in write_fields(record, element).items():
        made[key] = value
    return made


def write_fields(record: Any, element: str, only: Any = None) -> dict[str, Any]:
    """The fields that are not at their default, by their keys; of all fields, or of those in `only`."""
    chosen = [f for f in _fields(type(record)) if only is None or f.name in only]
    return {
        _key(type(record), f.name): _write(getattr(record, f.name), element)
        for f in chosen
        if getattr(record, f.name) is not None
        if f.default is MISSING or getattr(record, f.name) != f.default
        if f.default_factory is MISSING or getattr(record, f.name) != f.default_factory()
    }


def _fields(cls: type) -> list[Any]:
    return [f for f in fields(cls) if not any(issubclass(cls, c) and f.name == n for c, n in HIDDEN)]


def _key(cls: type, name: str) -> str:
    return next((key for (c, n), key in NAMES.items() if issubclass(cls, c) and n == name), name)


def _read(hint: Any, value: Any, element: str, key: str) -> Any:
    """A value of a TOML table as what the type hint of a field asks for."""
    if get_origin(hint) in (Union, types.UnionType):
        return _read(_some(hint), value, element, key)
    if get_origin(hint) is tuple:
        return _read_tuple(get_args(hint), value, element, key)
    if hint is float:
        return number(value, element, key)
    if hint is str:
        return string(value, element, key)
    if hint is bool:
        return boolean(value, element, key)
    if hint is int:
        return integer(value, element, key)
    return read_record(hint, value, element, key + ".")


def _may_be_none(hint: Any) -> bool:
    return get_origin(hint) in (Union, types.UnionType) and types.NoneType in get_args(hint)


def _some(hint: Any) -> Any:
    """X of X | None."""
    return next(t for t in get_args(hint) if t is not types.NoneType)


def _read_tuple(hints: tuple[Any, ...], value: Any, element: str, key: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise ModelError(f"{key} must be an array, not {value!r}", element=element)
    if hints[-1] is Ellipsis:
        return tuple(_read(hints[0], item, element, key) for item in value)
    if len(value) != len(hints):
        raise ModelError(f"{key} must have {len(hints)} entries, not {len(value)}", element=element)
    return tuple(_read(hint, item, element, key) for hint, item in zip(hints, value, strict=True))


def _write(value: Any, element: str) -> Any:
    if isinstance(value, tuple):
        return array([_write(item, element) for item in value])
    if is_dataclass(value):
        return write_record(value, element)
    if isinstance(value, (bool, str, int)):
        return value
    return float(value)
