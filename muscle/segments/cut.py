"""Paths cut into segments between points that are always on them, and the types of these segments.

A segment runs from a point that is always on its path to the next such point, over conditional points and surfaces in
between. It is seen from the lowest common ancestor of the bodies on which it hangs: motion above does not change its
length. Segments over like stops are of one type, and one code serves them all.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.stacking import joined
from myoquat.kernels.symbolic.arrays import as_array, is_symbolic
from myoquat.muscle.path import Muscle
from myoquat.muscle.points import ConditionalPoint, DrivenPoint, PathPoint
from myoquat.muscle.segments.lengths import contacts

__all__ = [
    "FIXED",
    "GIVEN",
    "MOVING",
    "SPAN_SIZE",
    "SURFACE",
    "Cut",
    "Segment",
    "SegmentType",
    "Stop",
    "cut",
    "on_number",
    "placed_stops",
]

FIXED, GIVEN, MOVING, SURFACE = range(4)  # points that are numbers, varied ones, moving ones, and spans on surfaces
SPAN_SIZE = 8  # numbers of a span on a surface


class Stop(NamedTuple):
    """A point of a path, or its span on a surface.

    number   among the stops of all paths
    body     on which it is
    sort     FIXED, GIVEN, MOVING or SURFACE
    point    None for a span
    share    of the length of the piece that leads there
    """

    number: int
    body: str
    sort: int
    point: PathPoint | None = None
    share: float = 1.0

    @property
    def conditional(self) -> bool:
        """Whether it may be off the path."""
        return self.point is None or isinstance(self.point, ConditionalPoint)


class SegmentType(NamedTuple):
    """What the code of a segment depends on: of each stop its sort, its body's number, 0 for the ancestor, and whether
    it may be off the path; the number of other bodies; and by how much its length counts."""

    stops: tuple[tuple[int, int, bool], ...]
    bodies: int
    share: float = 1.0

    @property
    def met(self) -> range:
        """The numbers of the bodies that have stops: without the ancestor where none is on it."""
        return range(min(body for _, body, _ in self.stops), self.bodies + 1)

    @property
    def moving(self) -> int:
        """Moving points."""
        return sum(sort == MOVING for sort, _, _ in self.stops)

    @property
    def constant(self) -> bool:
        """Whether its length never changes."""
        return not self.bodies and all(sort == FIXED and not conditional for sort, _, conditional in self.stops)

    def counted(self, length: Array) -> Array:
        """The length as far as it counts."""
        return length if self.share == 1.0 else self.share * length


@dataclass(frozen=True)
class Segment:
    """Stops of a muscle, by its number, the body from which they are seen, the other bodies, and its type."""

    muscle: int
    stops: tuple[Stop, ...]
    base: str
    bodies: tuple[str, ...]
    type: SegmentType

    @property
    def points(self) -> list[PathPoint]:
        """Its moving points."""
        return [stop.point for stop in self.stops if stop.sort == MOVING and stop.point is not None]

    @property
    def positions(self) -> list[tuple[float, ...]]:
        """(3,) of its fixed points."""
        return [stop.point.position for stop in self.stops if stop.sort == FIXED and stop.point is not None]

    @property
    def met(self) -> list[str]:
        """The bodies that have stops."""
        return [(self.base, *self.bodies)[k] for k in self.type.met]


class Cut(NamedTuple):
    """The segments of all paths, and the stops of all paths in order."""

    segments: list[Segment]
    stops: list[Stop]


def cut(system: ArticulatedSystem, muscles: Sequence[Muscle]) -> Cut:
    """The segments of the paths of muscles."""

    @cache
    def seen(stops: tuple[tuple[int, str, bool], ...], share: float) -> tuple[str, tuple[str, ...], SegmentType]:
        names = tuple(dict.fromkeys(body for _, body, _ in stops))
        base = system.lowest_common_ancestor(names)
        others = tuple(name for name in names if name != base)
        numbers = {name: k for k, name in enumerate((base, *others))}
        kept = tuple((sort, numbers[body], conditional) for sort, body, conditional in stops)
        return base, others, SegmentType(kept, len(others), share)

    segments: list[Segment] = []
    stops: list[Stop] = []
    for number, muscle in enumerate(muscles):
        since: list[Stop] = []
        for stop in _stops(muscle, len(stops)):
            stops.append(stop)
            since = [stop] if stop.share == 0 else [*since, stop]
            if len(since) > 1 and not stop.conditional:
                own = seen(tuple((x.sort, x.body, x.conditional) for x in since), stop.share)
                segments.append(Segment(number, tuple(since), *own))
                since = [stop]
    return Cut(segments, stops)


def _stops(muscle: Muscle, number: int) -> Iterator[Stop]:
    """The stops of a path, in order, the first of which has this number."""
    for i, (point, share) in enumerate(zip(muscle.path, (1.0, *muscle.shares), strict=True)):
        for wrap in muscle.wraps:
            if i and wrap.acts(i):
                yield Stop(number, wrap.body, SURFACE)
                number += 1
        yield Stop(number, point.body, _sort(point), point, share)
        number += 1


def _sort(point: PathPoint) -> int:
    if isinstance(point, DrivenPoint):
        return MOVING
    return GIVEN if is_symbolic(as_array(point.position)) else FIXED


def placed_stops(
    system: ArticulatedSystem, muscles: tuple[Muscle, ...], stops: Sequence[Stop], q: Array
) -> list[tuple[Array, Array | bool]]:
    """Where every stop is on its body at q (..., nq), and whether the path takes it: the formula. A point has three
    numbers (..., 3), a span on a surface eight (..., 8): P, Q, arc and place."""
    touched = (c for pieces in contacts(system, muscles, q) for piece in pieces for c in piece.contacts)
    placed: list[tuple[Array, Array | bool]] = []
    for stop in stops:
        if stop.point is None:
            c = next(touched)
            placed.append((joined([c.P, c.Q, *(as_array(x)[..., None] for x in (c.arc, c.place))]), c.on))
        else:
            placed.append((stop.point.local(system, q), stop.point.active(system, q)))
    return placed


def on_number(on: Array | bool) -> Array:
    """(...) 1 where a stop is on its path, else 0."""
    return as_array(np.where(on, 1.0, 0.0))
