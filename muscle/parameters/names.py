"""Names of the numbers in a model, found by walking its dataclasses.

    gravity.z
    bodies.A.mass                      also damping, stiffness, rotor_inertia, position.x, orientation.Q0,
    bodies.A.center_of_mass.z          inertia.xx ..., spring_mount.0, joint.rotations.0.function.coefficients.1
    muscles.m2.max_isometric_force     every number of its force law
    muscles.m2.path.0.position.z       also muscles.m2.origin.position.z and muscles.m2.insertion.position.z
    muscles.m2.activation
    start_q.A.Q0, start_u.A.omega_x    by the names of coordinates and velocities

Components may also be counted: position.2 is position.z. Parts of one name are counted too. `Record.constants` are not
listed: axes of joints, points of splines, whose coefficients are solved for once, and numbers without effect on a
motion. A multiplier of a spline can be varied.
"""

import numbers
from collections.abc import Iterator
from dataclasses import field
from fnmatch import fnmatchcase
from math import nan
from typing import Any

from myoquat.core.lazy_imports import difflib
from myoquat.core.records import Record, dataclass, declared
from myoquat.joints.evaluation import SystemLike
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.muscle.fitted import FittedPoint
from myoquat.muscle.model import Model
from myoquat.muscle.path import Muscle

__all__ = ["Location", "ParameterIndex", "known", "parameter_index", "parameter_names"]

COMPONENTS = {"inertia": ("xx", "yy", "zz", "xy", "xz", "yz"), "orientation": ("Q0", "Q1", "Q2", "Q3")}
SPATIAL = {"position", "center_of_mass", "gravity"}
ELIDED = {(Model, "system"), (Muscle, "law")}  # levels that a name leaves out
START = ("start_q", "start_u")


@dataclass(frozen=True)
class Location:
    """Where a number stands: field names and indices from the model down, and the number itself (NaN: left open)."""

    steps: tuple[str | int, ...]
    value: float

    @property
    def starts(self) -> bool:
        """Whether it is part of the state at the start."""
        return self.steps[0] in START

    @property
    def activates(self) -> bool:
        """Whether it is the activation of a muscle where none is given."""
        return self.steps[0] == "muscles" and self.steps[2:] == ("activation",)


@dataclass(frozen=True)
class ParameterIndex:
    """The locations of all numbers of a model by name, and aliases of some names.

    `withheld` has the names of numbers that the fit of a muscle's path contains, and the muscle.
    """

    locations: dict[str, Location] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    withheld: dict[str, str] = field(default_factory=dict)

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
        muscles = [muscle for name, muscle in self.withheld.items() if fnmatchcase(name, pattern)]
        if muscles:
            raise ValueError(
                f"the path of muscle {muscles[0]!r} was fitted to lengths that depend on {pattern!r}, and would not "
                "follow it: vary the model with its own paths, or fit the paths of each model again"
            )
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
    fits = _fitted_bodies(model) if isinstance(model, Model) else {}
    bodies = model.system.bodies if isinstance(model, Model) else model.bodies
    for name, alias, location in _walk(model, (), (), ()):
        steps = location.steps[isinstance(model, Model) :]
        body = bodies[int(steps[1])].name if steps[0] == "bodies" else ""
        if body in fits and steps[2] in ("position", "orientation", "joint"):
            found.withheld[name] = found.withheld[alias] = fits[body]
            continue
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


def _walk(node: Record, steps: Step, words: tuple[str, ...], counted: tuple[str, ...]) -> Iterator[Found]:
    """(name, name with components counted, location) of every number at and below `node`."""
    for name, single, floating in declared(type(node)):
        if name in node.constants:
            continue
        value = getattr(node, name)
        word = () if (type(node), name) in ELIDED else (name,)
        here = (*steps, name), (*words, *word), (*counted, *word)
        if single and (value is None or isinstance(value, numbers.Real)):
            yield _found(*here[1:], Location(here[0], nan if value is None else float(value)))
        elif floating and isinstance(value, tuple):
            yield from _components(name, value, *here)
        elif isinstance(value, Record):
            yield from _walk(value, *here)
        elif isinstance(value, tuple):
            yield from _parts(node, value, *here)


def _parts(
    node: Record, parts: tuple[Any, ...], steps: Step, words: tuple[str, ...], counted: tuple[str, ...]
) -> Iterator[Found]:
    """The numbers in records of a tuple. A part has its name, or its number where others have the name too."""
    names = [str(getattr(part, "name", "")) for part in parts]
    pathless = isinstance(node, Muscle) and steps[-1] == "path" and not all(point.on_body for point in parts)
    for i, (part, name) in enumerate(zip(parts, names, strict=True)):
        if isinstance(part, Record) and not (pathless and getattr(part, "on_body", False)):
            word = name if name and names.count(name) == 1 else str(i)
            yield from _walk(part, (*steps, i), (*words, word), (*counted, word))


def _components(
    key: str, values: tuple[Any, ...], steps: Step, words: tuple[str, ...], counted: tuple[str, ...]
) -> Iterator[Found]:
    labels = COMPONENTS.get(key) or (("x", "y", "z") if key in SPATIAL else tuple(map(str, range(len(values)))))
    for i, (label, x) in enumerate(zip(labels, values, strict=True)):
        if isinstance(x, numbers.Real):
            yield _found((*words, label), (*counted, str(i)), Location((*steps, i), float(x)))


def _found(words: tuple[str, ...], counted: tuple[str, ...], location: Location) -> Found:
    return ".".join(words), ".".join(counted), location


# ---- what fitted paths forbid ----------------------------------------------------------------------------------------


def _fitted_bodies(model: Model) -> dict[str, str]:
    """The bodies whose position and joint the length of a fitted path contains, as it was fitted, by that muscle.

    These are the bodies whose joints move the path. Those that are fixed to others count too, because the path may
    have run from them.
    """
    found: dict[str, str] = {}
    for muscle in model.muscles:
        driving = {
            name for point in muscle.path if isinstance(point, FittedPoint) for name in point.driving(model.system)
        }
        for body in model.system.bodies if driving else ():
            if body.joint.nu == 0 or driving & set(body.names_of_coordinates):
                found[body.name] = muscle.name
    return found
