"""Frozen dataclasses as TOML tables and back: their fields are the keys, so a new joint, law or function needs no code.

The key `type` names the subclass of a class that others extend, see `myoquat.data.toml.records`. Fields that are
None or at their default are left out.
"""

import functools
import math
import re
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from myoquat.core import difflib
from myoquat.joints import Joint, ModelError, constraints, functions, types as joint_types
from myoquat.joints.constraints import Constraint
from myoquat.joints.functions import AxisFunction
from myoquat.joints.ranges import is_plausible, size_limit
from myoquat.muscle import MusclePath, PathPoint, Wrap, actuators, forces, laws, wrapping
from myoquat.muscle.actuators import Actuator
from myoquat.muscle.forces import ContactSurface, PassiveForce
from myoquat.muscle.laws import ForceLaw

Scalar = TypeVar("Scalar")


# ---- Single values of a model file, checked; every error says the key -----------------------------


def check_keys(table: Any, allowed: set[str], required: set[str], prefix: str = "") -> None:
    """ModelError for a key that is not allowed, or one that is missing."""
    if not isinstance(table, dict):
        raise ModelError(f"{prefix.rstrip('.') or 'this'} must be a table")
    for key in table:
        if key not in allowed:
            raise ModelError(f"unknown key {prefix}{key}; allowed: {', '.join(sorted(allowed))}")
    for key in sorted(required):
        if key not in table:
            raise ModelError(f"the key {prefix}{key} is missing")


SCALARS = {str: "text", bool: "true or false", int: "a whole number"}


def scalar(hint: type[Scalar], value: Any, key: str) -> Scalar:
    """Text, a truth or a whole number."""
    if type(value) is not hint:
        raise ModelError(f"{key} must be {SCALARS[hint]}, not {value!r}")
    return value


def number(value: Any, key: str) -> float:
    """A finite number."""
    try:
        found = math.nan if isinstance(value, bool) or not isinstance(value, (int, float)) else float(value)
    except OverflowError:  # an integer beyond all floats
        found = math.inf
    if not is_plausible(found):
        raise ModelError(f"{key} must be a finite number{size_limit([found])}, not {value!r}")
    return found


def numbers(value: Any, size: int, key: str) -> tuple[float, ...]:
    """So many finite numbers."""
    if not isinstance(value, (list, tuple)) or len(value) != size:
        raise ModelError(f"{key} must be {size} numbers, not {value!r}")
    return tuple(number(item, key) for item in value)


# --------------------------------------------------------------------------------------------------------------
#
# The key `type` of records in files, and the classes that it may name: the package's own and registered ones.
#
# An installed package registers its classes as entry points, each under the name that files give its type. Joints,
# constraints and functions are in the group `myoquat.joints`, force laws, forces, actuators, contact surfaces, path
# points and wrapping surfaces in the group `myoquat.forces`. A file can name entry points of these two groups and
# nothing else. An entry point is imported only when a file or a model to be written gives its name.


PACKAGE = "myoquat"
JOINTS, FORCES = "myoquat.joints", "myoquat.forces"
GROUPS: dict[type, str] = {  # a class that others extend -> the group of entry points that register them
    Joint: JOINTS,
    Constraint: JOINTS,
    AxisFunction: JOINTS,
    ForceLaw: FORCES,
    PathPoint: FORCES,
    Wrap: FORCES,
    PassiveForce: FORCES,
    Actuator: FORCES,
    ContactSurface: FORCES,
}


def type_name(cls: type) -> str:
    """The `type` of a class in files: its attribute `kind`, or its name in lower case with underscores."""
    return getattr(cls, "kind", None) or re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()


def class_of_type(root: type, table: dict[str, Any], prefix: str) -> type:
    """The class at or below `root` that the key `type` of a table names, by the name of files or that of the class.

    The key is taken out of the table. `root` itself where no type is given and none is needed. ModelError for a type
    that is unknown, with the nearest one.
    """
    own = _own_classes(root)
    if "type" not in table and root in own.values():
        return root
    name = table.pop("type", None)
    named = _named_classes(root)
    if isinstance(name, str) and name in named:
        return named[name]
    group = next((group for base, group in GROUPS.items() if issubclass(root, base)), None)
    entry = _entry_point(group, name) if group and isinstance(name, str) else None
    if entry is not None:
        return _registered_class(entry, root)
    hint = (
        f"; a type of another package is read if that package is installed and registers it as an entry point of the "
        f"group {group!r}"
        if group
        else ""
    )
    if issubclass(root, Wrap):
        hint = f"; `quadrant` and `rule` say on which side it is passed{hint}"
    near = difflib.get_close_matches(str(name), named, n=1)
    meant = f", perhaps {near[0]!r}" if near else ""
    raise ModelError(f"{prefix}type {name!r} is unknown{meant}; known: {', '.join(sorted(own))}{hint}")


def written_type(cls: type) -> str | None:
    """The `type` that a file gives a class; None for a class that needs none. ModelError for a class that cannot be
    read again, because it is neither one of the package nor registered."""
    root = next((root for root in GROUPS if issubclass(cls, root)), None)
    if root is None or cls is root:
        return None
    name, group = type_name(cls), GROUPS[root]
    own = _own_classes(root)
    if own.get(name) is cls:
        return name
    words = f"its type {name!r} (class {cls.__qualname__} of {cls.__module__}) could not be loaded again"
    if name in own:
        raise ModelError(f"{words}: {own[name].__name__} has this type; give the class a `kind` of its own")
    entry = _entry_point(group, name)
    if entry is None:
        raise ModelError(
            f"{words}: register the class in the package that defines it, in pyproject.toml under "
            f'[project.entry-points."{group}"]: {name} = "{cls.__module__}:{cls.__qualname__}"',
        )
    if _registered_class(entry, root) is not cls:
        raise ModelError(f"{words}: the entry point {_described(entry)} registers another class")
    return name


PACKAGES: dict[type, types.ModuleType] = {  # where the classes of the package stand that extend another one
    Joint: joint_types, Constraint: constraints, AxisFunction: functions, ForceLaw: laws, Wrap: wrapping,
    PassiveForce: forces, Actuator: actuators,
}  # fmt: skip


def _own_classes(root: type) -> dict[str, type]:
    """Every concrete class of the package at or below `root`, by its type name."""
    for base, package in PACKAGES.items():
        if issubclass(root, base):
            for name in package.__all__:
                getattr(package, name)  # imports its module
    below, found = [root], {}
    while below:
        cls = below.pop(0)
        if cls.__module__.partition(".")[0] == PACKAGE and _is_concrete_record(cls):
            found[type_name(cls)] = cls
        below += cls.__subclasses__()
    return found


def _named_classes(root: type) -> dict[str, type]:
    """The same by the names that Python has for them too."""
    own = _own_classes(root)
    return {cls.__name__: cls for cls in own.values()} | own


def _is_concrete_record(cls: type) -> bool:
    """Whether a class is a dataclass itself, not only derived from one, and not abstract."""
    return "__dataclass_fields__" in vars(cls) and not getattr(cls, "__abstractmethods__", None)


# ---- entry points ------------------------------------------------------------------------------------------


def _entry_point(group: str, name: str) -> EntryPoint | None:
    """The entry point of a name; None if there is none, ValueError if packages register several classes under it."""
    try:
        return _found_entry_point(group, name)
    except LookupError:
        return None


@functools.cache  # of those that are found: an error is not kept, since a package may be installed later
def _found_entry_point(group: str, name: str) -> EntryPoint:
    found = {entry.value: entry for entry in entry_points(group=group, name=name)}
    if not found:
        raise LookupError(name)
    if len(found) > 1:
        raise ValueError(f"several entry points register this type: {', '.join(map(_described, found.values()))}")
    return next(iter(found.values()))


def _registered_class(entry: EntryPoint, root: type) -> type:
    """The class of an entry point; ModelError if it cannot be imported or is no record of this root and name."""
    try:
        cls = entry.load()
    except Exception as error:  # whatever the module of another package raises
        raise ModelError(
            f"the entry point {_described(entry)} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(cls, type) or not issubclass(cls, root) or not _is_concrete_record(cls):
        raise ModelError(
            f"the entry point {_described(entry)} must name a concrete dataclass that extends {root.__name__}",
        )
    if type_name(cls) != entry.name:
        raise ModelError(
            f"the entry point {_described(entry)} must have the name {type_name(cls)!r}, the type of its class",
        )
    return cls


def _described(entry: EntryPoint) -> str:
    """'screw = "package.joints:Screw"' and, where it is known, its package."""
    package = f" of {entry.dist.name}" if entry.dist is not None else ""
    return f"{entry.name} = {entry.value!r}{package} in the group {entry.group!r}"


Record = TypeVar("Record")
MAX_TABLE_DEPTH = 16  # tables in one another: a multiplier of a multiplier of a function is three


def read_record(root: type[Record], table: Any, prefix: str) -> Record:
    """An object of `root` or of a class below it from a table; ModelError with the key otherwise."""
    if not isinstance(table, Mapping):
        raise ModelError(f"{prefix.rstrip('.')} must be a table")
    if prefix.count(".") > MAX_TABLE_DEPTH:
        raise ModelError(f"{prefix.rstrip('.')}: tables are nested more than {MAX_TABLE_DEPTH} deep")
    table = dict(table)
    cls: type[Any] = class_of_type(root, table, prefix)
    values = read_fields(cls, table, prefix)
    try:
        record: Record = cls(**values)
    except ModelError:
        raise
    except ValueError as error:
        raise ModelError(f"{prefix.rstrip('.')}: {error}") from None
    return record


_hints = functools.cache(get_type_hints)  # the types of a class's fields


def read_fields(cls: type, table: Mapping[str, Any], prefix: str, only: Any = None) -> dict[str, Any]:
    """Arguments of `cls` from a table; all its fields, or those in `only`."""
    hints = _hints(cls)
    keys = {_key(cls, f.name): f for f in _fields(cls) if only is None or f.name in only}
    required = {key for key, f in keys.items() if f.default is MISSING and f.default_factory is MISSING}
    open_ones = {key for key in required if types.NoneType in get_args(hints[keys[key].name])}
    check_keys(table, set(keys), required - open_ones, prefix)
    given = {f.name: _read(hints[f.name], table[k], prefix + k) for k, f in keys.items() if k in table}
    return {keys[key].name: None for key in open_ones} | given


def write_record(record: Any) -> dict[str, Any]:
    """A dataclass as a table, with its `type` where classes share a root. ModelError for a type that could not be read
    again."""
    type_name = written_type(type(record))
    return ({} if type_name is None else {"type": type_name}) | write_fields(record)


def write_fields(record: Any, only: Any = None) -> dict[str, Any]:
    """The fields that are not at their default, by their keys; of all fields, or of those in `only`."""
    chosen = [f for f in _fields(type(record)) if only is None or f.name in only]
    return {
        _key(type(record), f.name): _write(getattr(record, f.name))
        for f in chosen
        if getattr(record, f.name) is not None
        if f.default is MISSING or getattr(record, f.name) != f.default
        if f.default_factory is MISSING or getattr(record, f.name) != f.default_factory()
    }


def _fields(cls: type) -> list[Any]:
    """Those that a table has: the velocity frame is one of the whole system."""
    return [f for f in fields(cls) if f.name != "velocity_frame" or not issubclass(cls, Joint)]


def _key(cls: type, name: str) -> str:
    return "point" if name == "position" and issubclass(cls, PathPoint) else name


def _read(hint: Any, value: Any, key: str) -> Any:
    """A value of a TOML table as what the type hint of a field asks for."""
    if get_origin(hint) in (Union, types.UnionType):
        return _read(_alternative(hint, value), value, key)
    if get_origin(hint) is tuple:
        return _read_tuple(get_args(hint), value, key)
    if hint is MusclePath and isinstance(value, list):
        value = {"points": value}
    if hint is float:
        return number(value, key)
    if hint in SCALARS:
        return scalar(hint, value, key)
    return read_record(hint, value, key + ".")


def _alternative(hint: Any, value: Any) -> Any:
    """The type of a union that a value has: an array is a tuple; a table is a record that its type names or that needs
    none."""
    known = [t for t in get_args(hint) if t is not types.NoneType]
    if isinstance(value, list):
        known = [t for t in known if get_origin(t) is tuple] or known
    elif len(known) > 1:
        known = [t for t in known if get_origin(t) is not tuple]
    if len(known) > 1 and isinstance(value, Mapping):
        name = value.get("type")
        known = [t for t in known if name in _named_classes(t) or (name is None and _is_concrete_record(t))] or known
    return known[0]


def _read_tuple(hints: tuple[Any, ...], value: Any, key: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise ModelError(f"{key} must be an array, not {value!r}")
    if hints[-1] is Ellipsis:
        return tuple(_read(hints[0], item, key) for item in value)
    if len(value) != len(hints):
        raise ModelError(f"{key} must have {len(hints)} entries, not {len(value)}")
    return tuple(_read(hint, item, key) for hint, item in zip(hints, value, strict=True))


def _write(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_write(item) for item in value]
    if isinstance(value, MusclePath) and value == MusclePath(value.points):
        return _write(value.points)
    if is_dataclass(value):
        return write_record(value)
    if isinstance(value, (bool, str, int)):
        return value
    return float(value)
