"""Names of the numbers in a model, found by walking its dataclasses.

    gravity.z
    bodies.A.mass                      also damping, stiffness, rotor_inertia, position.x, orientation.Q0,
    bodies.A.center_of_mass.z          inertia.xx ..., spring_mount.0, joint.rotations.0.function.coefficients.1
    muscles.m2.max_isometric_force     every number of its force law
    muscles.m2.path.0.position.z       also muscles.m2.origin.position.z and muscles.m2.insertion.position.z
    muscles.m2.activation
    start_q.A.Q0, start_u.A.omega_x    by the names of coordinates and velocities

Components may also be counted: position.2 is position.z. Axes of joints cannot be varied, nor points of splines, since
their coefficients are solved for once. A multiplier of a spline can be varied.
"""

import numbers
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from fnmatch import fnmatchcase
from math import nan
from typing import Any

from myoquat.core.lazy_imports import difflib
from myoquat.joints.functions import NaturalSpline, SimmSpline
from myoquat.joints.multibody.body import Body
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.validation import SystemLike
from myoquat.muscle.model import Model
from myoquat.muscle.path import Muscle

__all__ = ["Location", "ParameterIndex", "known", "parameter_index", "parameter_names"]

COMPONENTS = {"inertia": ("xx", "yy", "zz", "xy", "xz", "yz"), "orientation": ("Q0", "Q1", "Q2", "Q3")}
SPATIAL = {"position", "center_of_mass", "gravity"}
SKIPPED = {"anatomy", "axis", "first", "second", "direction", "shapes", "start_q", "start_u"}
ELIDED = {(Model, "system"), (Muscle, "law")}  # levels that a name leaves out
START = ("start_q", "start_u")
SPLINES = (SimmSpline, NaturalSpline)


@dataclass(frozen=True)
class Location:
    """Where a number stands: field names and indices from the model down, and the number itself (NaN: left open)."""

    steps: tuple[str | int, ...]
    value: float


@dataclass(frozen=True)
class ParameterIndex:
    """The locations of all numbers of a model by name, and aliases of some names."""

    locations: dict[str, Location] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)

    def find(self, pattern: str) -> list[str]:
        """The names that a name or a pattern with `*` and `?` stands for; `*` runs across dots.

        Raises ValueError, with the nearest names, if there is none.
        """
        if pattern in self.locations or pattern in self.aliases:
            return [self.aliases.get(pattern, pattern)]
        known = [*self.locations, *self.aliases]
        found = [self.aliases.get(name, name) for name in known if fnmatchcase(name, pattern)]
        if found:
            return list(dict.fromkeys(found))
        nearest = difflib.get_close_matches(pattern, known, 3, 0.0)
        hint = f"; the nearest are {', '.join(nearest)}" if nearest else ""
        raise ValueError(f"the model has no parameter {pattern!r}{hint}")


def parameter_names(model: SystemLike) -> tuple[str, ...]:
    """Names of all numbers of a Model or an ArticulatedSystem that can be varied.

    >>> import myoquat as mq
    >>> names = mq.muscle.parameter_names(mq.load_model("two_link"))
    >>> [name for name in names if name.startswith("muscles.m1.") and "path" not in name]
    ['muscles.m1.optimal_length', 'muscles.m1.max_isometric_force', 'muscles.m1.activation']
    """
    return tuple(parameter_index(model).locations)


def known(model: SystemLike) -> Model | ArticulatedSystem:
    """The model, if its numbers are known here; TypeError if it is neither a Model nor an ArticulatedSystem."""
    if not isinstance(model, (Model, ArticulatedSystem)):
        raise TypeError(f"a Model or an ArticulatedSystem is wanted, not {type(model).__name__}")
    return model


def parameter_index(model: SystemLike) -> ParameterIndex:
    """Every number of a Model or an ArticulatedSystem; TypeError for anything else."""
    model = known(model)
    found = ParameterIndex()
    for name, alias, location in _walk(model, (), (), ()):
        found.locations[name] = location
        if alias != name:
            found.aliases[alias] = name
    if isinstance(model, Model):
        found.locations.update(_start(model))
        _add_ends(model, found)
    return found


def _start(model: Model) -> Iterator[tuple[str, Location]]:
    system, q = model.system, tuple(model.start)
    u = (0.0,) * system.nu if model.start_u is None else model.start_u
    for key, names, values in zip(START, (system.coordinate_names, system.velocity_names), (q, u), strict=True):
        for i, (name, value) in enumerate(zip(names, values, strict=True)):
            yield f"{key}.{name}", Location((key, i), float(value))


def _add_ends(model: Model, found: ParameterIndex) -> None:
    """`origin` and `insertion` for the first and the last point of a path."""
    for muscle in model.muscles:
        for end, number in (("origin", 0), ("insertion", len(muscle.path) - 1)):
            head = f"muscles.{muscle.name}.path.{number}."
            for name in [name for name in found.locations if name.startswith(head)]:
                found.aliases[f"muscles.{muscle.name}.{end}.{name[len(head) :]}"] = name


Step = tuple[str | int, ...]
Found = tuple[str, str, Location]


def _walk(node: Any, steps: Step, words: tuple[str, ...], counted: tuple[str, ...]) -> Iterator[Found]:
    """(name, name with components counted, location) of every number at and below `node`."""
    for f in () if isinstance(node, SPLINES) else fields(node):
        if f.name in SKIPPED:
            continue
        value = getattr(node, f.name)
        word = () if (type(node), f.name) in ELIDED else (f.name,)
        if _holds_floats(f.type):
            yield from _numbers(f.name, value, (*steps, f.name), (*words, *word), (*counted, *word))
        else:
            yield from _inside(value, (*steps, f.name), (*words, *word), (*counted, *word))


def _inside(value: Any, steps: Step, words: tuple[str, ...], counted: tuple[str, ...]) -> Iterator[Found]:
    if is_dataclass(value):
        yield from _walk(value, steps, words, counted)
    elif isinstance(value, tuple):
        for i, item in enumerate(value):
            if not is_dataclass(item):
                continue
            word = item.name if isinstance(item, (Body, Muscle)) else str(getattr(item, "name", "") or i)
            yield from _walk(item, (*steps, i), (*words, word), (*counted, word))


def _numbers(key: str, value: Any, steps: Step, words: tuple[str, ...], counted: tuple[str, ...]) -> Iterator[Found]:
    if isinstance(value, tuple):
        labels = COMPONENTS.get(key) or (("x", "y", "z") if key in SPATIAL else tuple(map(str, range(len(value)))))
        for i, (label, x) in enumerate(zip(labels, value, strict=True)):
            if isinstance(x, numbers.Real):
                yield _found((*words, label), (*counted, str(i)), Location((*steps, i), float(x)))
    elif isinstance(value, numbers.Real) or (value is None and key != "spring_mount"):
        yield _found(words, counted, Location(steps, nan if value is None else float(value)))


def _found(words: tuple[str, ...], counted: tuple[str, ...], location: Location) -> Found:
    return ".".join(words), ".".join(counted), location


def _holds_floats(annotation: Any) -> bool:
    """True for a field declared as `float`, `tuple[float, ...]` or `float | None`."""
    return "float" in str(annotation)
