"""Paths cut into segments, and the types of these."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from myoquat.muscle.model import Model
from myoquat.muscle.path import Muscle
from myoquat.muscle.points import ConditionalPoint, DrivenPoint, PathPoint

__all__ = ["FIXED", "MOVING", "SURFACE", "Paths", "Segment", "SegmentType"]

FIXED, MOVING, SURFACE = range(3)


class Stop(NamedTuple):
    """A point of a path, or its span on a surface.

    frame; sort; the number of a conditional point's switch, -1 without; the number of a moving point or of a span; the
    position of a fixed point; and the share of the piece that leads there.
    """

    frame: int
    sort: int
    switch: int = -1
    number: int = -1
    position: tuple[float, ...] = ()
    share: float = 1.0


class SegmentType(NamedTuple):
    """What the code of a segment depends on: of each stop its sort, the number of its body and whether it has a switch;
    the numbers of the bodies below their common ancestor; whether strains are asked for; and by how much its length
    counts. Without strains a segment in one body is seen from there."""

    stops: tuple[tuple[int, int, bool], ...]
    bodies: int
    pulled: tuple[int, ...]
    strained: bool
    share: float = 1.0

    @property
    def alone(self) -> bool:
        """Whether all of it is in one body and seen from there."""
        return self.bodies == 1 and not self.strained

    @property
    def constant(self) -> bool:
        """Whether its length never changes."""
        return self.alone and all(sort == FIXED and not switch for sort, _, switch in self.stops)


@dataclass(frozen=True)
class Segment:
    """Stops of a muscle, by its number, and the frames of its bodies, the common ancestor first if it is among them."""

    muscle: int
    stops: tuple[Stop, ...]
    frames: tuple[int, ...]
    type: SegmentType

    def numbers(self, sort: int) -> list[int]:
        """Of its moving points, or of its spans."""
        return [stop.number for stop in self.stops if stop.sort == sort]

    @property
    def switches(self) -> list[int]:
        """Of its conditional points."""
        return [stop.switch for stop in self.stops if stop.switch >= 0]

    @property
    def positions(self) -> list[tuple[float, ...]]:
        """Of its fixed points."""
        return [stop.position for stop in self.stops if stop.sort == FIXED]


class Paths:
    """The segments of a model's paths, and the points and spans on surfaces that their stops number."""

    def __init__(self, model: Model, strained: bool) -> None:
        self.model, self.strained, system = model, strained, model.system
        self.moving: list[PathPoint] = []
        self.conditional: list[PathPoint] = []
        self.spans = 0
        self.frames = {name: k for k, name in enumerate((system.ground, *system.body_names))}
        self.parents = [0, *(self.frames[body.parent] for body in system.bodies)]
        self.ancestor, self.type = cache(self._ancestor), cache(self._type)
        self.segments = [s for k, muscle in enumerate(self.model.muscles) for s in self._cut(k, muscle)]

    def chain(self, frame: int, base: int) -> list[int]:
        """The frames from one on down to what hangs on `base`, which carries it."""
        found = []
        while frame != base:
            found.append(frame)
            frame = self.parents[frame]
        return found

    def _ancestor(self, frames: tuple[int, ...]) -> int:
        """The frame farthest from the ground that carries all of these."""
        chains = [[*self.chain(frame, 0), 0] for frame in frames]
        return next(frame for frame in chains[0] if all(frame in chain for chain in chains))

    def _cut(self, number: int, muscle: Muscle) -> Iterator[Segment]:
        """The segments of a path."""
        since: list[Stop] = []
        for stop in self._stops(muscle):
            since = [stop] if stop.share == 0 else [*since, stop]
            if len(since) > 1 and stop.sort != SURFACE and stop.switch < 0:
                yield self._segment(number, tuple(since))
                since = [stop]

    def _stops(self, muscle: Muscle) -> Iterator[Stop]:
        """The stops of a path, in order."""
        for i, (point, share) in enumerate(zip(muscle.path, (1.0, *muscle.shares), strict=True)):
            for wrap in muscle.wraps:
                if i and wrap.acts(i):
                    yield Stop(self.frames[wrap.body], SURFACE, number=self.spans)
                    self.spans += 1
            switch = number = -1
            if isinstance(point, ConditionalPoint):
                switch = len(self.conditional)
                self.conditional.append(point)
            if isinstance(point, DrivenPoint):
                number = len(self.moving)
                self.moving.append(point)
            sort = FIXED if number < 0 else MOVING
            yield Stop(self.frames[point.body], sort, switch, number, point.position, share)

    def _segment(self, muscle: int, stops: tuple[Stop, ...]) -> Segment:
        frames, own = self.type(tuple((stop.sort, stop.frame, stop.switch >= 0) for stop in stops))
        return Segment(muscle, stops, frames, own._replace(share=stops[-1].share))

    def _type(self, stops: tuple[tuple[int, int, bool], ...]) -> tuple[tuple[int, ...], SegmentType]:
        """The frames of a segment and its type, from sort, frame and whether there is a switch of each stop."""
        met = tuple(dict.fromkeys(frame for _, frame, _ in stops))
        base = self.ancestor(met)
        frames = (base, *(frame for frame in met if frame != base)) if base in met else met
        seen = tuple((sort, frames.index(frame), switch) for sort, frame, switch in stops)
        return frames, SegmentType(seen, len(frames), tuple(range(base in met, len(frames))), self.strained)
