"""What a problem says of its unknowns by their names: which one a name means, bounds, and further conditions.

Conditions beside the equations hold on every point of the path or at both ends, and motions may be periodic.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from myoquat.core import CALLABLE, Array, Record, check_types, content_key, difflib, frozen, real_array
from myoquat.joints.types import SphericalJoint
from myoquat.joints.vectors import vector

from .plants import Plant
from .plants.base import Bound, interval, interval_of
from .points import Point, field_of

WHOLE = ("q", "u")
FIELDS = {"z": "coordinates", "u": "velocities", "w": "states", "controls": "controls"}  # of a point


class Unknown(NamedTuple):
    """A field of the unknowns and the place in it."""

    field: str
    place: int


@frozen(eq=False)
class Ends:
    """The conditions at one end: bounds of unknowns, of angles that a quaternion has replaced, and fixed poses."""

    bounds: dict[Unknown, Bound]
    angles: dict[str, Bound]
    pose: Array | None
    """(nq,) with NaN where nothing fixes a coordinate; None without any."""


class Quantities:
    """The names of a plant's unknowns."""

    def __init__(self, plant: Plant) -> None:
        self.plant, system = plant, plant.system
        self.unknowns: dict[str, Unknown] = {}
        self.angles: tuple[str, ...] = () if system is None else tuple(system.angle_names)
        self.balls: dict[str, tuple[slice, slice]] = {}
        bodies = () if system is None else zip(system.bodies, system.q_slices, system.u_slices, strict=True)
        for body, iq, iu in bodies:
            flat, nu = body.joint.facts.quaternion, body.joint.nu
            for k, name in enumerate(body.names_of_coordinates[: nu if flat is None else flat]):
                self.unknowns[name] = Unknown("z", iu.start + k)
            if flat is not None and nu:
                self.balls[body.name] = slice(iq.start + flat, iq.stop), slice(iu.start + flat, iu.stop)
        for short, long in list(FIELDS.items())[1:]:
            for place, name in enumerate(plant.names[long]):
                key = f"{long}.{name}" if name in self.unknowns else name
                self.unknowns[key] = Unknown(short, place)

    @property
    def constant(self) -> set[str]:
        """The names of locked coordinates and of their velocities, which are zero."""
        locked = set(self.plant.constraints.locks.values()) if self.plant.constraints else set()
        return {key for key, own in self.unknowns.items() if own.field in ("z", "u") and own.place in locked}

    def spelled(self, name: str) -> str:
        """The name of an unknown as a `Point` takes it, whatever else has this name."""
        prefix = f"{FIELDS[self.unknowns[name].field]}."
        return name if name.startswith(prefix) else prefix + name

    def unknown(self, name: str, where: str) -> Unknown:
        """The unknown of a name; ValueError with the nearest names for one that is not there, and for one that is both
        a coordinate and a control."""
        field, bare = self._field_of(name, where)
        if field == "controls":
            return Unknown("controls", self.plant.control_names.index(bare))
        for key in (f"{field}.{bare}", bare):
            if key in self.unknowns:
                return self.unknowns[key]
        if name in self.plant.parameter_names:
            raise ValueError(f"{where}: {name!r} is a parameter; its bounds are given as `parameters`")
        system = self.plant.system
        if system is not None and name in system.coordinate_names:
            raise ValueError(
                f"{where}: {name!r} is a component of a quaternion, which has no bounds of its own. Fix the whole "
                f"rotation by the name of its body ({', '.join(self.balls)}), or use a PathConstraint"
            )
        known = [*self.unknowns, *self.angles, *self.balls]
        near = difflib.get_close_matches(name, known, n=3) or known[:8]
        raise ValueError(f"{where}: {name!r} does not exist; nearest: {', '.join(near)}")

    def _field_of(self, name: str, where: str) -> tuple[str, str]:
        try:
            return field_of(name, self.plant.names)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None

    def bounds(self, given: Mapping[str, Any], where: str) -> Ends:
        """Bounds by names; angles that a quaternion has replaced apart."""
        found, angles = {}, {}
        for name, value in given.items():
            field, bare = self._field_of(name, where)
            if field == "coordinates" and bare in self.angles:
                angles[bare] = interval(f"{where}: {name}", value)
            else:
                found[self.unknown(name, where)] = interval(f"{where}: {name}", value)
        return Ends(found, angles, None)

    def at_end(self, given: Mapping[str, Any], where: str) -> Ends:
        """What is given at one end, whole poses, velocities and rotations among it."""
        plant, system = self.plant, self.plant.system
        ends = self.bounds({k: v for k, v in given.items() if k not in WHOLE and k not in self.balls}, where)
        for whole, short, others in (("q", "z", self.balls), ("u", "u", {})):
            twice = [n for n in given if n in others or (n in self.unknowns and self.unknowns[n].field == short)]
            if whole in given and twice:
                raise ValueError(f"{where}: {twice[0]!r} is given twice, by its name and by {whole!r}")
        if "u" in given:
            values = real_array(f"{where}: u", given["u"])
            if values.shape not in ((), (plant.nu,)) or not np.isfinite(values).all():
                raise ValueError(
                    f"{where}: 'u' needs one finite number for all or ({plant.nu},) of them, not {given['u']!r}"
                )
            for i, x in enumerate(np.broadcast_to(values, (plant.nu,)).tolist()):
                ends.bounds[Unknown("u", i)] = Bound(x, x)
        if system is None:
            if "q" in given:
                raise ValueError(f"{where}: 'q' is the pose of a model; equations of one's own have none")
            return ends

        pose = np.full(plant.nq, np.nan)
        if "q" in given:
            try:
                pose = system.check_q(given["q"]).copy()
            except ValueError as error:
                raise ValueError(f"{where}: {error}") from None
        for name, (in_q, in_u) in self.balls.items():
            if name in given:
                Q = real_array(f"{where}: {name}", given[name])
                if Q.shape != (4,) or not abs(np.linalg.norm(Q) - 1) < 1e-6:
                    raise ValueError(f"{where}: {name!r} needs a unit quaternion (4,), not {given[name]!r}")
                pose[in_q] = Q
            if not np.isnan(pose[in_q]).any():  # rotations are held at the centre of their charts
                ends.bounds.update({Unknown("z", i): Bound(0.0, 0.0) for i in range(in_u.start, in_u.stop)})
        for name, unknown in self.unknowns.items():
            if unknown.field == "z":  # fixed by the pose, or by name
                place = system.coordinate_names.index(name)
                if not np.isnan(pose[place]):
                    ends.bounds[unknown] = Bound(float(pose[place]), float(pose[place]))
                bound = ends.bounds.get(unknown)
                if bound is not None and bound.lower == bound.upper:
                    pose[place] = bound.lower
        return replace(ends, pose=None if np.isnan(pose).all() else pose)


# ---- Conditions --------------------------------------------------------------------------------------------------


class PathCondition(Record, ABC):
    """Numbers that stay between bounds at every point of the motion where controls are defined.

    >>> from myoquat.analysis.control import PathCondition, PathConstraint
    >>> isinstance(PathConstraint("reach", lambda point: point["x"]), PathCondition)
    True
    """

    @property
    @abstractmethod
    def title(self) -> str:
        """Its name in messages."""

    @property
    @abstractmethod
    def interval(self) -> Array:
        """(k, 2) lower and upper bounds."""

    @abstractmethod
    def rows(self, plant: Plant, point: Point) -> Array | Sequence[Array]:
        """(..., k), or one number, of what is controlled at a point: the formula."""

    def content(self) -> Hashable:
        """What its formula computes with: the key of kernels."""
        return content_key(self)

    def check(self, plant: Plant) -> None:
        """ValueError for what does not fit the plant."""


@frozen
class _BoundedFormula(Record):
    """A formula of points with a name and bounds. A subclass says in `_what` what it is, for messages."""

    _what: ClassVar[str]
    name: str
    formula: Callable[..., Any]
    lower: float | tuple[float, ...] = 0.0
    upper: float | tuple[float, ...] = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_types(name=(self.name, str), formula=(self.formula, CALLABLE))
        interval_of(self.title, self.lower, self.upper)

    @property
    def title(self) -> str:
        """Its name in messages."""
        return f"{self._what} {self.name!r}"

    @property
    def interval(self) -> Array:
        """(k, 2) lower and upper bounds."""
        return interval_of(self.title, self.lower, self.upper)

    def content(self) -> Hashable:
        """What the formula computes with: the key of kernels."""
        return content_key(self.formula)


@frozen
class PathConstraint(_BoundedFormula, PathCondition):
    """lower <= formula(point) <= upper at every point of the motion where controls are defined.

    formula: plain NumPy of a `Point`, returning one number or k of them, as many as the bounds are. It is traced and
    may not branch on values. Raises ValueError for a lower bound above the upper one.

    >>> from myoquat.analysis.control import PathConstraint
    >>> PathConstraint("reach", lambda point: point["x"] ** 2 + point["y"] ** 2, 0.0, 1.0).name
    'reach'
    """

    _what = "path constraint"
    formula: Callable[[Point], Any]

    def rows(self, plant: Plant, point: Point) -> Array | Sequence[Array]:
        return self.formula(point)


@frozen
class BoundaryConstraint(_BoundedFormula):
    """lower <= formula(first, last, duration) <= upper, of the first and the last `Point` and the duration [s].

    >>> from myoquat.analysis.control import BoundaryConstraint
    >>> BoundaryConstraint("advance", lambda first, last, duration: last["x"] - first["x"], 1.0, 2.0).name
    'advance'
    """

    _what = "boundary constraint"
    formula: Callable[[Point, Point, Any], Any]


@frozen
class Periodic(Record):
    """The motion ends in the state in which it began: pose, velocities, states and controls.

    pairs  quantities that are exchanged, by names of coordinates, velocities, states or controls. At the end the first
           has the value that the second had at the start. A symmetric half cycle names both ways. Names of bodies pair
           whole joints, such as ball joints.
    free   names that are not periodic, such as the coordinate of progress

    With pairs, all other quantities are periodic by themselves unless they are free.

    >>> from myoquat.analysis.control import Periodic
    >>> Periodic(free=("pelvis_tx",)).free
    ('pelvis_tx',)
    """

    pairs: Mapping[str, str] = field(default_factory=dict)
    free: tuple[str, ...] = ()


Slice = tuple[int, int]


@frozen
class Values:
    """Quantities by name: the formula of a point, or of both ends, where `end` is 0 of the first and 1 of the last."""

    names: tuple[str, ...]
    end: int = 0

    def __call__(self, *points: Any) -> Array:
        return vector([points[self.end][name] for name in self.names])


@frozen
class Differences:
    """a - sign b of pairs (a, b, sign) of quantities by name, and the rotations of pairs of quaternions by their slices
    of q, each from the first point to the last: the formula. If `end` is 0, a is of the first point too."""

    pairs: tuple[tuple[str, str, float], ...]
    balls: tuple[tuple[Slice, Slice], ...] = ()
    end: int = 1

    def __call__(self, *points: Any) -> Array:
        first, last, *_ = points
        rows = [points[self.end][a] - sign * first[b] for a, b, sign in self.pairs]
        for a, b in self.balls:
            turn = SphericalJoint().difference(first.q[..., slice(*a)], last.q[..., slice(*b)])
            rows += [turn[..., i] for i in range(3)]
        return vector(rows)


def equality(
    name: str, pairs: Sequence[tuple[str, str]], balls: Sequence[tuple[slice, slice]]
) -> list[BoundaryConstraint]:
    """[quantities of the first point that those of the last one equal], by pairs of names and of slices of q; [] for
    none."""
    zeros = (0.0,) * (len(pairs) + 3 * len(balls))
    turns = tuple(((a.start, a.stop), (b.start, b.stop)) for a, b in balls)
    gaps = Differences(tuple((last, first, 1.0) for first, last in pairs), turns)
    return [BoundaryConstraint(name, gaps, zeros, zeros)] if zeros else []


def periodic_constraint(periodic: Periodic, quantities: Quantities, controls: bool) -> list[BoundaryConstraint]:
    """[the constraint of a periodic motion]. ValueError for unknown names, for pairs of unequal quantities such as a
    state and a control, and for a quantity that two pairs determine. What is constant has no row."""
    pairs, balls, constant = periodic_pairs(periodic, quantities), quantities.balls, quantities.constant
    kept = [(start, end) for end, start in pairs.items() if end not in balls and not (
        {start, end} <= constant and (start == end or quantities.unknowns[end].field == "u"))]  # fmt: skip
    kept = [pair for pair in kept if controls or quantities.unknowns[pair[0]].field != "controls"]
    turns = [(balls[start][0], balls[end][0]) for end, start in pairs.items() if end in balls]
    return equality("periodic", [(quantities.spelled(a), quantities.spelled(b)) for a, b in kept], turns)


def periodic_pairs(periodic: Periodic, quantities: Quantities) -> dict[str, str]:
    """The name at the start of every quantity and rotation, by its name at the end; ValueError as
    `periodic_constraint`."""
    keys = {unknown: key for key, unknown in quantities.unknowns.items()}

    def key_of(name: str) -> str:
        return name if name in quantities.balls else keys[quantities.unknown(name, "periodic")]

    pairs, free = {key_of(end): key_of(start) for end, start in periodic.pairs.items()}, {*map(key_of, periodic.free)}
    twice = [start for start, count in Counter(pairs.values()).items() if count > 1]
    if twice:
        ends = ", ".join(repr(end) for end, start in pairs.items() if start == twice[0])
        raise ValueError(f"periodic: {ends} all end where {twice[0]!r} starts; each start belongs to one end")
    found, balls, names = dict(pairs), quantities.balls, quantities.plant.velocity_names
    for a, b in pairs.items():  # those of velocities follow from pairs of coordinates and bodies
        if (a in balls) != (b in balls):
            raise ValueError(f"periodic: {a!r} and {b!r} are unequal: one is a rotation, the other is not")
        if a in balls:
            found |= dict(zip(names[balls[a][1]], names[balls[b][1]], strict=True))
            continue
        one, other = quantities.unknowns[a], quantities.unknowns[b]
        if one.field != other.field:
            types = {"z": "coordinate", "u": "velocity", "w": "state", "controls": "control"}
            raise ValueError(
                f"periodic: {a!r} is a {types[one.field]} and {b!r} a {types[other.field]}; unequal quantities cannot "
                "be exchanged"
            )
        if one.field == "z":
            found.setdefault(names[one.place], names[other.place])
    return {key: found.get(key, key) for key in (*quantities.unknowns, *balls) if key not in free}
