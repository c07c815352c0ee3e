"""The key `type` of records in files, and the classes that it may name: the package's own and registered ones.

An installed package registers its classes as entry points, each under the name that files give its type. Joints,
constraints and functions are in the group `myoquat.joints`, force laws, forces, actuators, contact surfaces, path
points and wrapping surfaces in the group `myoquat.forces`. A file can name entry points of these two groups and nothing
else. An entry point is imported only when a file or a model to be written gives its name.
"""

import functools
import re
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from myoquat.joints.constraints import Constraint
from myoquat.joints.errors import ModelError
from myoquat.joints.functions import AxisFunction
from myoquat.joints.types import Joint
from myoquat.muscle.actuators import Actuator
from myoquat.muscle.forces import ContactSurface, PassiveForce
from myoquat.muscle.laws import ForceLaw
from myoquat.muscle.points import PathPoint
from myoquat.muscle.wrapping import Wrap

__all__ = ["GROUPS", "class_of_type", "type_name", "written_type"]

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


def class_of_type(root: type, table: dict[str, Any], element: str, prefix: str) -> type:
    """The class at or below `root` that the key `type` of a table names, which is taken out of the table. `root` itself
    where no type is given and none is needed. ModelError for a type that is unknown."""
    own = _own_classes(root)
    if "type" not in table and root in own.values():
        return root
    name = table.pop("type", None)
    if isinstance(name, str) and name in own:
        return own[name]
    group = _group_of(root)
    entry = _entry_point(group, name, element) if group and isinstance(name, str) else None
    if entry is not None:
        return _registered_class(entry, root, element)
    hint = (
        f"; a type of another package is read if that package is installed and registers it as an entry point of the "
        f"group {group!r}"
        if group
        else ""
    )
    raise ModelError(f"{prefix}type {name!r} is unknown; known: {', '.join(own)}{hint}", element=element)


def written_type(cls: type, element: str) -> str | None:
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
        raise ModelError(
            f"{words}: {own[name].__name__} has this type; give the class a `kind` of its own", element=element
        )
    entry = _entry_point(group, name, element)
    if entry is None:
        raise ModelError(
            f"{words}: register the class in the package that defines it, in pyproject.toml under "
            f'[project.entry-points."{group}"]: {name} = "{cls.__module__}:{cls.__qualname__}"',
            element=element,
        )
    if _registered_class(entry, root, element) is not cls:
        raise ModelError(f"{words}: the entry point {_described(entry)} registers another class", element=element)
    return name


def _group_of(root: type) -> str | None:
    return next((group for base, group in GROUPS.items() if issubclass(root, base)), None)


def _own_classes(root: type) -> dict[str, type]:
    """Every concrete class of the package at or below `root`, by its type name."""
    below, found = [root], {}
    while below:
        cls = below.pop(0)
        if cls.__module__.partition(".")[0] == PACKAGE and _is_concrete_record(cls):
            found[type_name(cls)] = cls
        below += cls.__subclasses__()
    return found


def _is_concrete_record(cls: type) -> bool:
    """Whether a class is a dataclass itself, not only derived from one, and not abstract."""
    return "__dataclass_fields__" in vars(cls) and not getattr(cls, "__abstractmethods__", None)


# ---- entry points ------------------------------------------------------------------------------------------


def _entry_point(group: str, name: str, element: str) -> EntryPoint | None:
    """The entry point of a name; None if there is none, ModelError if packages register several classes under it."""
    try:
        return _found_entry_point(group, name)
    except LookupError:
        return None
    except ValueError as error:
        raise ModelError(str(error), element=element) from None


@functools.cache  # of those that are found: an error is not kept, since a package may be installed later
def _found_entry_point(group: str, name: str) -> EntryPoint:
    found = {entry.value: entry for entry in entry_points(group=group, name=name)}
    if not found:
        raise LookupError(name)
    if len(found) > 1:
        raise ValueError(f"several entry points register this type: {', '.join(map(_described, found.values()))}")
    return next(iter(found.values()))


def _registered_class(entry: EntryPoint, root: type, element: str) -> type:
    """The class of an entry point; ModelError if it cannot be imported or is no record of this root and name."""
    try:
        cls = entry.load()
    except Exception as error:  # whatever the module of another package raises
        raise ModelError(
            f"the entry point {_described(entry)} cannot be imported: {type(error).__name__}: {error}", element=element
        ) from error
    if not isinstance(cls, type) or not issubclass(cls, root) or not _is_concrete_record(cls):
        raise ModelError(
            f"the entry point {_described(entry)} must name a concrete dataclass that extends {root.__name__}",
            element=element,
        )
    if type_name(cls) != entry.name:
        raise ModelError(
            f"the entry point {_described(entry)} must have the name {type_name(cls)!r}, the type of its class",
            element=element,
        )
    return cls


def _described(entry: EntryPoint) -> str:
    """'screw = "package.joints:Screw"' and, where it is known, its package."""
    package = f" of {entry.dist.name}" if entry.dist is not None else ""
    return f"{entry.name} = {entry.value!r}{package} in the group {entry.group!r}"
