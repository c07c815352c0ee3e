"""Conditions of a problem beside its equations: on every point of the path, on both ends, and periodicity."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar

import numpy as np

from myoquat.analysis.control.plants import Plant
from myoquat.analysis.control.points import Point, displacement
from myoquat.analysis.control.quantities import Quantities, Unknown
from myoquat.core.arguments import CALLABLE, check_types, real_array
from myoquat.core.content import content_key
from myoquat.core.records import Record, dataclass
from myoquat.core.typing import Array, ArrayLike
from myoquat.joints.vectors import vector

__all__ = [
    "BoundaryConstraint",
    "PathCondition",
    "PathConstraint",
    "Periodic",
    "interval_of",
    "periodic_constraint",
    "periodic_pairs",
]


def interval_of(name: str, lower: ArrayLike, upper: ArrayLike) -> Array:
    """(k, 2) lower and upper bounds; ValueError where one is NaN or lower is above upper."""
    low, high = np.broadcast_arrays(*(np.atleast_1d(real_array(name, x)) for x in (lower, upper)))
    if np.isnan(low).any() or np.isnan(high).any() or low.ndim != 1:
        raise ValueError(f"{name}: bounds must be numbers or (k,) arrays of numbers, not {lower!r} and {upper!r}")
    if np.any(low > high):
        k = int(np.argmax(low > high))
        raise ValueError(f"{name}: the bounds contradict each other: lower {low[k]:g} is above upper {high[k]:g}")
    return np.stack([low, high], axis=-1)


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

    @abstractmethod
    def content(self) -> Hashable:
        """What its formula computes with: the key of kernels."""

    def check(self, plant: Plant) -> None:
        """ValueError for what does not fit the plant."""


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class PathConstraint(_BoundedFormula, PathCondition):
    """lower <= formula(point) <= upper at every point of the motion where controls are defined.

    formula: plain NumPy of a `Point`, returning one number or k of them, as many as the bounds are. It is traced and
    may not branch on values. Raises ValueError for a lower bound above the upper one.

    >>> from myoquat.analysis.control import PathConstraint
    >>> PathConstraint("reach", lambda point: point["x"] ** 2 + point["y"] ** 2, 0.0, 1.0).name
    'reach'
    """

    _what: ClassVar[str] = "path constraint"
    formula: Callable[[Point], Any]

    def rows(self, plant: Plant, point: Point) -> Array | Sequence[Array]:
        result: Array | Sequence[Array] = self.formula(point)
        return result

    def content(self) -> Hashable:
        return content_key(self.formula)


@dataclass(frozen=True)
class BoundaryConstraint(_BoundedFormula):
    """lower <= formula(first, last, duration) <= upper, of the first and the last `Point` and the duration [s].

    >>> from myoquat.analysis.control import BoundaryConstraint
    >>> BoundaryConstraint("advance", lambda first, last, duration: last["x"] - first["x"], 1.0, 2.0).name
    'advance'
    """

    _what: ClassVar[str] = "boundary constraint"
    formula: Callable[[Point, Point, Any], Any]


@dataclass(frozen=True)
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


Pair = tuple[Unknown, Unknown]  # the value of the first at the end is that of the second at the start
Balls = tuple[tuple[int, int], tuple[int, int], tuple[int, int]]


@dataclass(frozen=True)
class _Unequal:
    """The differences last - first of pairs of unknowns, and the displacements of pairs of rotations."""

    pairs: tuple[Pair, ...]
    balls: tuple[Balls, ...]

    def __call__(self, first: Point, last: Point, duration: Any) -> Array:
        rows = [_value(last, a) - _value(first, b) for a, b in self.pairs]
        for (a0, a1), (b0, b1), (i0, i1) in self.balls:
            swapped = _with(last.q, slice(a0, a1), first.q[..., b0:b1])
            d = displacement(first.system.layout, swapped, last.q)
            rows += [d[..., i] for i in range(i0, i1)]
        return vector(rows)


def _with(q: Array, part: slice, values: Array) -> Array:
    return np.concatenate([q[..., : part.start], values, q[..., part.stop :]], axis=-1)


def _value(point: Point, unknown: Unknown) -> Array:
    if unknown.field == "z":
        indices = _coordinate_indices(point)
        value: Array = point.q[..., indices[unknown.place]]
        return value
    found: Array = {"u": point.u, "w": point.states, "controls": point.controls}[unknown.field][..., unknown.place]
    return found


def _coordinate_indices(point: Point) -> dict[int, int]:
    """The place in q of every chart coordinate that is a plain coordinate."""
    layout = point.system.layout
    found: dict[int, int] = {}
    for joint, iq, iu in layout.joints():
        flat = joint.facts.quaternion
        found |= {iu.start + k: iq.start + k for k in range(joint.nu if flat is None else flat)}
    return found


def periodic_constraint(periodic: Periodic, quantities: Quantities, controls: bool) -> BoundaryConstraint:
    """The constraint of a periodic motion. ValueError for unknown names, for pairs of unequal quantities such as a
    state and a control, and for a quantity that two pairs determine."""
    pairs, balls = periodic_pairs(periodic, quantities)
    kept = tuple(pair for pair in pairs if controls or pair[0].field != "controls")
    zeros = (0.0,) * (len(kept) + sum(i1 - i0 for _, _, (i0, i1) in balls))
    return BoundaryConstraint("periodic", _Unequal(kept, balls), zeros, zeros)


def periodic_pairs(periodic: Periodic, quantities: Quantities) -> tuple[tuple[Pair, ...], tuple[Balls, ...]]:
    """Pairs of unknowns, and pairs of rotations by their slices of q, q and u; ValueError as `periodic_constraint`."""
    known = {**quantities.unknowns, **dict.fromkeys(quantities.balls)}
    for name in (*periodic.free, *periodic.pairs, *periodic.pairs.values()):
        if name not in known:
            quantities.unknown(name, "periodic")
    taken = _expanded(periodic, quantities)
    pairs, balls = [], []
    for name in (*quantities.unknowns, *quantities.balls):
        partner = taken.get(name, name)
        if name in periodic.free:
            continue
        if name in quantities.balls:
            (a, iu), (b, _) = quantities.balls[name], quantities.balls[partner]
            balls.append(((a.start, a.stop), (b.start, b.stop), (iu.start, iu.stop)))
        else:
            pairs.append((quantities.unknowns[name], quantities.unknowns[partner]))
    return tuple(pairs), tuple(balls)


def _expanded(periodic: Periodic, quantities: Quantities) -> dict[str, str]:
    """Pairs of names, those of velocities added that follow from pairs of coordinates and bodies."""
    found = dict(periodic.pairs)
    plant = quantities.plant
    twice = [start for start, count in Counter(found.values()).items() if count > 1]
    if twice:
        ends = ", ".join(repr(end) for end, start in found.items() if start == twice[0])
        raise ValueError(f"periodic: {ends} all end where {twice[0]!r} starts; each start belongs to one end")
    for a, b in periodic.pairs.items():
        if (a in quantities.balls) != (b in quantities.balls):
            raise ValueError(f"periodic: {a!r} and {b!r} are unequal: one is a rotation, the other is not")
        if a in quantities.balls:
            (_, ia), (_, ib) = quantities.balls[a], quantities.balls[b]
            names = plant.velocity_names
            found |= dict(zip(names[ia], names[ib], strict=True))
            continue
        one, other = quantities.unknowns[a], quantities.unknowns[b]
        if one.field != other.field:
            types = {"z": "coordinate", "u": "velocity", "w": "state", "controls": "control"}
            raise ValueError(
                f"periodic: {a!r} is a {types[one.field]} and {b!r} a {types[other.field]}; unequal quantities cannot "
                "be exchanged"
            )
        if one.field == "z":
            found.setdefault(plant.velocity_names[one.place], plant.velocity_names[other.place])
    return found
