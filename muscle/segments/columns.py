"""Which velocities of a model change which segments of paths, and how its bodies move with each of them."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, pairwise, takewhile

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.vectors import cross, joined, matvec
from myoquat.kernels.tracing.derivatives import jacobian_at
from myoquat.muscle.points import DrivenPoint, PathPoint
from myoquat.muscle.segments.path_segments import Segment, SegmentType
from myoquat.muscle.segments.stops import MOVING

__all__ = ["Columns", "Poses", "itself"]


Poses = Sequence[tuple[Array, Array]]  # R (3, 3) and p (3,) of every body in the world
Link = tuple[str, Array]  # a buffer and rows of it


class Columns:
    """The columns of a Jacobian, one for each velocity, and what they change, as rows that tables gather and add to.

    A column moves a point x that its joint carries by v + omega x x, in world axes from the origin of the poses.

    pulls, pushes  the wrenches on bodies and the forces on moving points, how many
    rows           of a type, by the name of their buffer, the numbers (segments, n) of these
    moving         the motions that move bodies of a segment
    slides         the columns j of moving points: (point, j)
    """

    def __init__(self, system: ArticulatedSystem, types: dict[SegmentType, list[Segment]]) -> None:
        self.system, self.pulls, self.pushes = system, 0, 0
        self._bodies = {name: i for i, name in enumerate(system.body_names)}
        sizes = [body.joint.nu for body in system.bodies]
        self._slices = [slice(a, b) for a, b in pairwise(accumulate(sizes, initial=0))]
        self.size = beyond = sum(sizes)
        # A follower moves in its own way with the columns of its leader: its motions have numbers beyond all columns.
        self._motions = list(self._slices)
        for i, leader in enumerate(system.leaders):
            if leader != i:
                self._motions[i] = slice(beyond, beyond + sizes[leader])
                beyond += sizes[leader]
        self.rows: dict[SegmentType, dict[str, Array]] = {}
        self.slides: list[tuple[PathPoint, int]] = []
        self._slid: list[tuple[int, int, int]] = []  # push, slide, entry
        self._slide: dict[tuple[int, int], int] = {}
        self._carried: dict[int, list[tuple[int, int, int]]] = {}  # by n: pull, first motion, first entry of the row
        for segment_type, members in types.items():
            rows = {"pulls": list(map(self._pull, members)), "pushes": list(map(self._push, members))}
            kept = {name: np.array(numbers) for name, numbers in rows.items() if numbers[0]}
            if kept:
                self.rows[segment_type] = kept

    def _pull(self, segment: Segment) -> list[int]:
        """The numbers of the wrenches on the bodies of a segment."""
        first = self.pulls
        for name in segment.bodies:
            for carrier in takewhile(lambda found: found != segment.base, self.system.chain_to_ground(name)):
                i = self._bodies[carrier]
                s, leader = self._motions[i], self.system.leaders[i]
                if s.stop > s.start:
                    entry = segment.path * self.size + self._slices[leader].start
                    self._carried.setdefault(s.stop - s.start, []).append((self.pulls, s.start, entry))
            self.pulls += 1
        return list(range(first, self.pulls))

    def _push(self, segment: Segment) -> list[int]:
        """The numbers of the forces on the moving points of a segment."""
        first = self.pushes
        for stop in segment.stops:
            if stop.sort != MOVING or stop.point is None:
                continue
            for j in self._driving(stop.point):
                slide = self._slide.setdefault((stop.number, j), len(self.slides))
                if slide == len(self.slides):
                    self.slides.append((stop.point, j))
                self._slid.append((self.pushes, slide, segment.path * self.size + j))
            self.pushes += 1
        return list(range(first, self.pushes))

    def _driving(self, point: PathPoint) -> list[int]:
        """The columns on which the coordinates of a moving point depend."""
        names = point.driving(self.system) if isinstance(point, DrivenPoint) else ()
        joints = {self._joint_of(name) for name in names}
        return [j for i in sorted(joints) for j in range(self._slices[i].start, self._slices[i].stop)]

    def _joint_of(self, name: str) -> int:
        """The body whose joint has a coordinate, or an angle that a quaternion has replaced."""
        system = self.system
        if name in system.angle_names:
            return system.angle_names[name][0]
        place = system.coordinate_names.index(name)
        return next(i for i, s in enumerate(system.q_slices) if s.start <= place < s.stop)

    @cached_property
    def moving(self) -> list[int]:
        return sorted({first + k for n, rows in self._carried.items() for _, first, _ in rows for k in range(n)})

    @property
    def buffers(self) -> dict[str, tuple[int, int]]:
        """How bodies and points move with the columns."""
        return {"axes": (len(self.moving), 6), "slides": (len(self.slides), 3)}

    def moves(self, poses: Poses, q: Array) -> dict[str, list[Array]]:
        """The rows of `buffers` at a pose q (nq,): v and omega (6,) of motions, and the derivatives (3,) of moving
        points in their bodies' frames by a velocity."""
        axes = {}
        for i, (R, p) in enumerate(poses):
            s = self._motions[i]
            if s.start == s.stop:
                continue
            S_omega, S_v = self.system.bodies[i].joint.subspace(q[self.system.moving_q[i]])
            for k, j in enumerate(range(s.start, s.stop)):
                omega = matvec(R, S_omega[:, k])
                axes[j] = joined([matvec(R, S_v[:, k]) - cross(omega, p), omega])
        points = list({id(point): point for point, _ in self.slides}.values())
        offsets = {id(point): 3 * k for k, point in enumerate(points)}

        def local(motion: Array) -> Array:
            after = self.system.displaced(q, motion)
            return joined([np.zeros(0), *(point.local(self.system, after) for point in points)])

        rates = jacobian_at(local, np.zeros(self.size), like=q) if points else np.zeros((0, self.size))
        slides = [rates[offsets[id(point)] : offsets[id(point)] + 3, j] for point, j in self.slides]
        return {"axes": [axes[j] for j in self.moving], "slides": slides}

    @property
    def tables(self) -> Iterator[tuple[Callable[..., Array], dict[str, Link], Link]]:
        """Formulas of what forces do, what they gather, and the rows to which the results add."""
        for n, carried in self._carried.items():
            pulls, first, entries = np.array(carried).T
            axes = np.searchsorted(self.moving, first[:, None] + np.arange(n))
            gather = {"pull": ("pulls", pulls), "axes": ("axes", axes)}
            yield _entries, gather, ("entries", entries[:, None] + np.arange(n))
        if self.slides:
            pushes, slides, entries = np.array(self._slid).T
            gather = {"pull": ("pushes", pushes), "axes": ("slides", slides[:, None])}
            yield _entries, gather, ("entries", entries[:, None])


def itself(*, value: Array) -> Array:
    return value


def _entries(*, pull: Array, axes: Array) -> Array:
    """(n,) what a force (k,) does along axes (n, k)."""
    return np.sum(axes * pull, axis=-1)
