"""Any number in a model by name, to be varied: names, wildcards, and the model with these numbers replaced."""

import numbers
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import chain, combinations, product, zip_longest
from math import nan
from typing import Any

import numpy as np

from myoquat.core import Array, ArrayLike, Record, declared, difflib, frozen, unchecked
from myoquat.joints import ArticulatedSystem
from myoquat.joints.evaluation import SystemLike, system_of
from myoquat.joints.multibody.body import INERTIA_TOLERANCE
from myoquat.joints.ranges import UNIT_TOLERANCE, check_array
from myoquat.joints.vectors import full
from myoquat.kernels.symbolic.arrays import is_symbolic

from .fitted import FittedPoint
from .model import Model
from .path import Muscle, MusclePath, different_paths

# ---- Names of the numbers in a model, found by walking its dataclasses ----------------------------------------------
#     gravity.z
#     bodies.A.mass                      also damping, stiffness, rotor_inertia, position.x, orientation.Q0,
#     bodies.A.center_of_mass.z          inertia.xx ..., spring_mount.0, joint.rotations.0.function.coefficients.1
#     muscles.m2.max_isometric_force     every number of its force law
#     muscles.m2.path.0.position.z       also muscles.m2.origin.position.z and muscles.m2.insertion.position.z
#     muscles.m2.activation
#     start_q.A.Q0, start_u.A.omega_x    by the names of coordinates and velocities
#
# Components may also be counted: position.2 is position.z. Parts of one name are counted too. `Record.constants` are
# not listed: axes of joints, points of splines, whose coefficients are solved for once, and numbers without effect on
# a motion. A multiplier of a spline can be varied.


COMPONENTS = {"inertia": ("xx", "yy", "zz", "xy", "xz", "yz"), "orientation": ("Q0", "Q1", "Q2", "Q3")}
SPATIAL, AXES = {"position", "center_of_mass", "gravity"}, ("x", "y", "z")
WORDS: dict[tuple[type, str], tuple[str, ...]] = {  # what a name has for a field, where it is not the field's name
    (Model, "system"): (), (Muscle, "law"): (), (Muscle, "path"): (), (MusclePath, "points"): ("path",),
}  # fmt: skip
START = ("start_q", "start_u")


@frozen
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
        return self.is_activation_of("muscles")

    def is_activation_of(self, parts: str) -> bool:
        return self.steps[0] == parts and self.steps[2:] == ("activation",)

    @property
    def moves_joint(self) -> bool:
        """Whether it is a number of a joint of a Model, or of where the joint is on the parent."""
        return self.steps[:2] == ("system", "bodies") and self.steps[3] in ("position", "orientation", "joint")


@frozen
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
    found, bodies = ParameterIndex(), system_of(model).bodies
    muscles = model.muscles if isinstance(model, Model) else ()
    # The bodies whose position and joint the length of a fitted path contains, as it was fitted, by that muscle. These
    # are the bodies whose joints move the path. Those that are fixed to others count too, because the path may have run
    # from them.
    fits: dict[str, str] = {}
    for muscle in muscles:
        fitted = (point for point in muscle.path.points if isinstance(point, FittedPoint))
        driving = {name for point in fitted for name in point.driving(system_of(model))}
        for body in bodies if driving else ():
            if body.joint.nu == 0 or driving & set(body.names_of_coordinates):
                fits[body.name] = muscle.name
    firsts, numbers = different_paths([muscle.path for muscle in muscles])
    for name, location in _walk(model):
        steps, target = location.steps, name
        aliases = [name[: name.rfind(".") + 1] + str(steps[-1])]  # with its component counted
        if steps[0] == "muscles" and steps[2] == "path":
            k = int(steps[1])
            own, first = (f"muscles.{muscles[i].name}." for i in (k, firsts[numbers[k]]))
            target = first + name.removeprefix(own)
            for end, at in (("origin", 0), ("insertion", len(muscles[k].path.points) - 1)):
                if steps[3:5] == ("points", at):
                    aliases.append(f"{own}{end}{name.removeprefix(f'{own}path.{at}')}")
        if location.moves_joint and (holder := fits.get(bodies[int(steps[2])].name)) is not None:
            found.withheld.update(dict.fromkeys([name, *aliases], holder))
            continue
        if target == name:
            found.locations[name] = location
        found.aliases.update({alias: target for alias in (name, *aliases) if alias != target})
    if isinstance(model, Model):
        system = model.system
        u = np.zeros(system.nu) if model.start_u is None else np.array(model.start_u)
        names = system.coordinate_names, system.velocity_names
        for key, of, start in zip(START, names, (model.start, u), strict=True):
            for i, (name, value) in enumerate(zip(of, start, strict=True)):
                found.locations[f"{key}.{name}"] = Location((key, i), float(value))
    return found


Step = tuple[str | int, ...]


def _walk(node: Record, steps: Step = (), words: tuple[str, ...] = ()) -> Iterator[tuple[str, Location]]:
    """(name, location) of every number at and below `node`."""
    for name, single, floating, _ in declared(type(node)):
        if name in node.constants:
            continue
        value = getattr(node, name)
        own = next((own for (owner, key), own in WORDS.items() if key == name and isinstance(node, owner)), (name,))
        here, called = (*steps, name), (*words, *own)
        if single and (value is None or isinstance(value, numbers.Real)):
            yield ".".join(called), Location(here, nan if value is None else float(value))
        elif isinstance(value, Record):
            yield from _walk(value, here, called)
        elif isinstance(value, tuple):
            pathless = isinstance(node, MusclePath) and name == "points" and not all(point.on_body for point in value)
            for i, (label, part) in enumerate(zip(_labels(name, value, floating), value, strict=True)):
                if floating and isinstance(part, numbers.Real):
                    yield ".".join((*called, label)), Location((*here, i), float(part))
                elif isinstance(part, Record) and not (pathless and getattr(part, "on_body", False)):
                    yield from _walk(part, (*here, i), (*called, label))


def _labels(key: str, parts: tuple[Any, ...], floating: bool) -> Sequence[str]:
    """The words for the parts of a tuple: of numbers their components, of records their names, or their number where
    others have the name too."""
    if floating:
        return COMPONENTS.get(key) or (AXES if key in SPATIAL else tuple(map(str, range(len(parts)))))
    names = [str(getattr(part, "name", "")) for part in parts]
    return [name if name and names.count(name) == 1 else str(i) for i, name in enumerate(names)]


# ---- Units of a model's numbers, by the names of their fields -------------------------------------------------------


_FIELDS = {
    "gravity": "m/s^2",
    "mass": "kg",
    "position": "m",
    "orientation": "1",
    "center_of_mass": "m",
    "inertia": "kg m^2",
    "activation": "1",
    "rotor_inertia": "kg m^2",
    "radius": "m",
    "radii": "m",
    "length": "m",
    "damping": "N m s/rad",
    "stiffness": "N m/rad",
}
_ENDINGS = {
    "_length": "m",
    "_radius": "m",
    "isometric_force": "N",
    "pennation": "rad",
    "_velocity": "1/s",
    "_time": "s",
}


def unit_of(system: ArticulatedSystem, location: Location) -> str:
    """The unit of a number at a location; "" if its name determines none."""
    key = next(str(step) for step in reversed(location.steps) if isinstance(step, str))
    if key in START:
        units, names = (
            (system.coordinate_units, system.coordinate_names)
            if key == "start_q"
            else (system.velocity_units, system.velocity_names)
        )
        return units[names[int(location.steps[-1])]]
    if key in _FIELDS:
        return _FIELDS[key]
    return next((unit for ending, unit in _ENDINGS.items() if key.endswith(ending)), "")


# ---- A model with numbers replaced ----------------------------------------------------------------------------------
# Through the constructors and their checks for floats, past them for symbols.


def with_values(node: Any, values: Mapping[Step, Any]) -> Any:
    """`node`, a dataclass or a tuple, with the values at these steps below it. Raises what its checks raise."""
    if () in values:
        return values[()]
    below: dict[str | int, dict[Step, Any]] = {}
    for steps, value in values.items():
        below.setdefault(steps[0], {})[steps[1:]] = value
    if isinstance(node, tuple):
        return tuple(with_values(item, below[i]) if i in below else item for i, item in enumerate(node))
    changes = {str(key): with_values(getattr(node, str(key)), inner) for key, inner in below.items()}
    if isinstance(node, Model) and "muscles" in changes:
        firsts, numbers = different_paths(node.paths)
        shared = [changes["muscles"][firsts[number]].path for number in numbers]  # one path moves for all along it
        changes["muscles"] = tuple(
            unchecked(m, {"path": path}) for m, path in zip(changes["muscles"], shared, strict=True)
        )
    return unchecked(node, changes) if any(map(is_symbolic, values.values())) else replace(node, **changes)


# ---- Checks of many values of parameters at once --------------------------------------------------------------------
# A model's checks are bounds on single numbers. A sample that breaks one therefore has a neighbour at the end of a
# column that breaks it too. Only the samples with the least and the greatest value of each parameter go through the
# constructors. Inertias and unit quaternions, whose entries hang together, are checked in every sample. Bounds between
# two parameters of one part of a model, such as pennation < maximum_pennation, are monotonic in each of the two. So all
# samples in a box of values pass if the corners of the box do. A box that does not pass is halved, until it does or
# holds one sample, which is tried itself.


Bind = Callable[[Array], Model | ArticulatedSystem]  # the model with the numbers of one row, or what its checks raise
VECTORS = ("inertia", "orientation", "start_q")  # whose entries depend on each other


def check_rows(
    model: Model | ArticulatedSystem, names: Sequence[str], locations: Sequence[Location], rows: Array, bind: Bind
) -> None:
    """ValueError or ModelError for the first of the rows (samples, n) of parameter values that the model refuses."""
    if not rows.size:
        return
    if not np.isfinite(rows).all():
        i, j = np.argwhere(~np.isfinite(rows))[0]
        raise ValueError(f"sample {i}: parameter {names[j]!r} is {rows[i, j]}; finite numbers are needed")

    def made(i: int, bind: Bind) -> Model | ArticulatedSystem:
        try:
            return bind(rows[i])
        except ValueError as error:
            raise ValueError(f"sample {i}: {error}") from error

    vectors: dict[Step, list[int]] = {}
    parts: dict[Step, list[int]] = {}  # the parameters of one part of the model, by the steps to it
    for k, location in enumerate(locations):
        *above, last = location.steps
        if isinstance(last, int) and above[-1] in VECTORS:
            vectors.setdefault(tuple(above), []).append(k)
        elif len(part := tuple(above[:-1] if isinstance(last, int) else above)) > 1:
            parts.setdefault(part, []).append(k)
    for steps, columns in vectors.items():
        for i in np.flatnonzero(
            ~_regular(model, steps, [int(locations[k].steps[-1]) for k in columns], rows[:, columns])
        )[:1]:
            made(int(i), bind)  # which raises the error
    first = made(0, bind)

    def near(row: Array) -> Model | ArticulatedSystem:
        """The model of a row, from that of the first row: only what differs is made again."""
        changed = {locations[k].steps: float(row[k]) for k in np.flatnonzero(row != rows[0]).tolist()}
        return with_values(first, changed) if changed else first

    for i in sorted({*rows.argmin(axis=0).tolist(), *rows.argmax(axis=0).tolist()}):
        made(i, near)
    for i in _doubtful([list(combinations(columns, 2)) for columns in parts.values()], rows, near):
        made(i, near)


def _regular(model: Model | ArticulatedSystem, steps: Step, entries: list[int], values: Array) -> Array:
    """(samples,) whether the vector at `steps` can be, with values (samples, n) of some entries."""
    vector: Any = model
    for step in steps:
        vector = getattr(vector, step) if isinstance(step, str) else vector[step]
    system = system_of(model)
    whole = np.tile(np.array(system.neutral() if vector is None else vector, dtype=float), (len(values), 1))
    whole[:, entries] = values
    if steps[-1] == "inertia":  # moments are not negative and satisfy the triangle inequality, as `check_inertia` asks
        a, b, c = np.linalg.eigvalsh(full(whole)).T
        return (a >= -INERTIA_TOLERANCE * np.maximum(c, 0.0)) & (c - b - a <= INERTIA_TOLERANCE * c)
    quaternions = system.quaternion_slices() if steps[-1] == "start_q" else [slice(None)]
    off = [np.abs(np.linalg.norm(whole[:, s], axis=-1) - 1) for s in quaternions]
    return np.max([np.zeros(len(values)), *off], axis=0) <= UNIT_TOLERANCE


def _doubtful(pairs: list[list[tuple[int, int]]], rows: Array, bind: Bind) -> Iterator[int]:
    """The rows in whose values of a pair of columns, of one of the parts, the model does not take."""

    def passes(box: Array, together: Sequence[tuple[int, int] | None]) -> bool:
        """Whether the model takes the least and greatest values of each pair in a box of rows, and other numbers of
        the first row."""
        for ends in product((np.min, np.max), repeat=2):
            row = rows[0].copy()
            for pair in filter(None, together):
                row[list(pair)] = [end(rows[box, column]) for column, end in zip(pair, ends, strict=True)]
            try:
                bind(row)
            except ValueError:
                return False
        return True

    if all(passes(np.arange(len(rows)), together) for together in zip_longest(*pairs)):  # of all parts at a time
        return
    for pair in chain.from_iterable(pairs):
        values = rows[:, pair]
        boxes, found, ranges = [np.unique(values, axis=0, return_index=True)[1]], list[int](), np.ptp(values, axis=0)
        while boxes:
            box = boxes.pop()
            if passes(box, [pair]):
                continue
            if len(box) == 1:
                found.append(int(box[0]))
                continue
            widths = np.ptp(values[box], axis=0) / np.maximum(ranges, np.finfo(float).tiny)
            order = box[np.argsort(values[box, np.argmax(widths)], kind="stable")]
            boxes += [order[: len(order) // 2], order[len(order) // 2 :]]
        yield from sorted(found)


# ---- Parameters -----------------------------------------------------------------------------------------------------
# Parameters: some numbers of a model by name, to be given other values, or symbols that a kernel takes as inputs.


@frozen
class Parameters:
    """Numbers of a model: `names` in order, where they stand, and the values that the model has for them.

    `Parameters.of` makes it. What is not among the names stays a constant of the model, and of every kernel.

    >>> import myoquat as mq
    >>> p = mq.muscle.Parameters.of(mq.load_model("two_link"), ["bodies.A.mass", "muscles.m1.max_isometric_force"])
    >>> p.defaults, p.units
    (array([ 5., 12.]), ('kg', 'N'))
    >>> p.bind([6.0, 20.0]).muscles[0].law.max_isometric_force
    20.0
    """

    model: Model | ArticulatedSystem
    names: tuple[str, ...]
    locations: tuple[Location, ...]

    @classmethod
    def of(cls, model: SystemLike, names: str | Iterable[str]) -> "Parameters":
        """The parameters of a Model or an ArticulatedSystem with these names, or patterns as "muscles.*.activation".

        `parameter_names(model)` lists the names. Raises ValueError for a name that the model does not have, with the
        nearest ones, and for one that is given twice.
        """
        found = parameter_index(model)
        chosen: dict[str, str] = {}
        for pattern in [names] if isinstance(names, str) else names:
            for name in found.find(pattern):
                if name in chosen:
                    raise ValueError(f"parameter {name!r} is named twice: by {chosen[name]!r} and by {pattern!r}")
                chosen[name] = pattern
        return cls(known(model), tuple(chosen), tuple(found.locations[name] for name in chosen))

    def acting(self, inputs: str, markers: bool = False, states: bool = False) -> "Parameters":
        """The same; ValueError for a number that the equations of motion do not read. Those of the start and the
        activations of muscles are such numbers, and `inputs` says what gives them. `markers`: whether goals read their
        positions. `states`: whether activations of actuators are variables of their own, wherever they start."""
        for name, location in zip(self.names, self.locations, strict=True):
            if location.starts or location.activates or (states and location.is_activation_of("actuators")):
                raise ValueError(f"parameters: {name!r} is an input of its own: {inputs}")
            if location.steps[0] == "markers" and not markers:
                raise ValueError(f"parameters: {name!r} has no effect on a motion")
        return self

    @cached_property
    def defaults(self) -> np.ndarray:
        """(n,) the model's own values; NaN for one that the model leaves open."""
        return np.array([location.value for location in self.locations], dtype=float)

    @cached_property
    def units(self) -> tuple[str, ...]:
        """Unit of each parameter in SI, "1" for a pure number and "" where the name does not tell."""
        return tuple(unit_of(self.system, location) for location in self.locations)

    @property
    def system(self) -> ArticulatedSystem:
        """The articulated system of the model."""
        return system_of(self.model)

    def bind(self, p: ArrayLike) -> Model | ArticulatedSystem:
        """The model with its numbers replaced by p (n,), floats or symbols: every formula runs on it.

        Floats pass the model's own checks, which raise ModelError or ValueError; symbols pass unchecked, and numbers
        that are not replaced stay constants. SymPy and CasADi symbols, and SymbolArrays, are taken.
        """
        given: Array = check_array("p", p)
        if given.shape != (len(self.names),):
            raise ValueError(f"p has shape {given.shape}; expected ({self._listed})")
        values = {
            location.steps: x if is_symbolic(given) else float(x)
            for location, x in zip(self.locations, given, strict=True)
        }
        model = self._with_start(values)
        return with_values(model, values) if values else model

    def check(self, values: ArrayLike) -> Array:
        """values (..., n) as a float64 array, or an error that names the sample and what the model refuses."""
        array: Array = check_array("the parameters", values)
        if is_symbolic(array):
            return array
        if array.ndim == 0 or array.shape[-1] != len(self.names):
            raise ValueError(f"the parameters have shape {array.shape}; expected (..., {self._listed})")
        check_rows(self.model, self.names, self.locations, array.reshape(-1, len(self.names)), self.bind)
        return array

    @property
    def _listed(self) -> str:
        return f"{len(self.names)}: {', '.join(self.names[:6])}{' ...' if len(self.names) > 6 else ''}"

    def _with_start(self, values: Mapping[Step, Array | float]) -> Model | ArticulatedSystem:
        """The model with its start written out, if some of it is to be replaced."""
        keys = {steps[0] for steps in values} & set(START)
        if not keys or not isinstance(self.model, Model):
            return self.model
        start_u = self.model.start_u or (0.0,) * self.system.nu
        start: dict[str, Any] = {"start_q": tuple(map(float, self.model.start)), "start_u": start_u}
        return replace(self.model, **{str(key): start[str(key)] for key in keys})
