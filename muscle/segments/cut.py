"""Paths cut into segments between points that are always on them, and the types of these segments.

A segment runs from a point that is always on its path to the next such point, over conditional points and surfaces in
between. It is seen from the lowest common ancestor of the bodies on which it hangs: motion above does not change its
length. Segments over like stops are of one type, and one code serves them all.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.muscle.points import PathPoint
from myoquat.muscle.segments.stops import FIXED, MOVING, Stop

__all__ = ["Segment", "SegmentType", "cut"]


class SegmentType(NamedTuple):
    """What the code of a segment depends on.

    stops   of each stop its sort, the number of its body (0 for the ancestor), and whether it may be off the path
    bodies  the number of other bodies
    share   by how much the segment's length counts
    """

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


def cut(system: ArticulatedSystem, paths: Sequence[Sequence[Stop]]) -> list[Segment]:
    """The segments of paths, which are given by their stops."""

    @cache
    def seen(stops: tuple[tuple[int, str, bool], ...], share: float) -> tuple[str, tuple[str, ...], SegmentType]:
        names = tuple(dict.fromkeys(body for _, body, _ in stops))
        base = system.lowest_common_ancestor(names)
        others = tuple(name for name in names if name != base)
        numbers = {name: k for k, name in enumerate((base, *others))}
        kept = tuple((sort, numbers[body], conditional) for sort, body, conditional in stops)
        return base, others, SegmentType(kept, len(others), share)

    segments: list[Segment] = []
    for muscle, stops in enumerate(paths):
        since: list[Stop] = []
        for stop in stops:
            since = [stop] if stop.share == 0 else [*since, stop]
            if len(since) > 1 and not stop.conditional:
                own = seen(tuple((x.sort, x.body, x.conditional) for x in since), stop.share)
                segments.append(Segment(muscle, tuple(since), *own))
                since = [stop]
    return segments
