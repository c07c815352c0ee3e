"""Conditions of a problem beside its equations: on every point of the path, on both ends, and periodicity."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar

from myoquat.core import CALLABLE, Array, Record, check_types, content_key, frozen
from myoquat.joints.types import SphericalJoint
from myoquat.joints.vectors import vector

from .plants import Plant
from .plants.base import interval_of
from .points import Point
from .quantities import Quantities


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
class _Gaps:
    """The differences last - first of pairs of quantities by name, and the rotation from the first to the last of pairs
    of quaternions by their slices of q."""

    pairs: tuple[tuple[str, str], ...]
    balls: tuple[tuple[Slice, Slice], ...]

    def __call__(self, first: Point, last: Point, duration: Any) -> Array:
        rows = [last[b] - first[a] for a, b in self.pairs]
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
    gaps = _Gaps(tuple(pairs), tuple(((a.start, a.stop), (b.start, b.stop)) for a, b in balls))
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
