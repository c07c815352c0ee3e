"""The columns of a path Jacobian: velocities or coordinates of a model, and how its bodies move with each of them."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, pairwise, takewhile

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.vectors import congruent, cross, joined, matvec, symmetric_times, upper
from myoquat.kernels.tracing.derivatives import jacobian_at
from myoquat.muscle.points import DrivenPoint, PathPoint

from .path_segments import Segment, SegmentType
from .stops import MOVING, Chart, charts, together

Poses = Sequence[tuple[Array, Array]]  # R (3, 3) and p (3,) of every body in the world


@frozen
class Columns:
    """What a Jacobian differentiates with respect to, `wrt` as in `charts`.

    A column moves a point x that its joint carries by v + omega x x + W x. All are in world axes from the origin of the
    poses. Formulas are of one pose q (nq,). Where columns are "constrained", they are also of the `eliminated`
    components of the pose's quaternions.
    """

    system: ArticulatedSystem
    wrt: str

    @property
    def inputs(self) -> dict[str, int]:
        """What the columns depend on, and how many numbers of each."""
        balls = len(self.system.quaternion_slices())
        return {"q": self.system.nq} | ({"eliminated": balls} if self.wrt == "constrained" else {})

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """Where the columns of each body's joint lie."""
        joints = [body.joint for body in self.system.bodies]
        dropped = [self.wrt == "constrained" and joint.facts.quaternion is not None for joint in joints]
        sizes = [
            joint.nu if self.wrt == "velocity" else joint.nq - less for joint, less in zip(joints, dropped, strict=True)
        ]
        return tuple(slice(a, b) for a, b in pairwise(accumulate(sizes, initial=0)))

    @cached_property
    def moving(self) -> tuple[slice, ...]:
        """Numbers of the motions of each body's joint: those of its columns. A follower moves in its own way with the
        columns of its leader and has numbers beyond all columns."""
        layout, beyond, found = self.system, self.size, list(self.slices)
        for i, leader in enumerate(layout.leaders):
            if leader != i:
                width = self.slices[leader].stop - self.slices[leader].start
                found[i] = slice(beyond, beyond + width)
                beyond += width
        return tuple(found)

    @property
    def size(self) -> int:
        """Number of columns."""
        return sum(s.stop - s.start for s in self.slices)

    @cached_property
    def straining(self) -> dict[int, slice]:
        """By the number of a body, the columns of its joint that strain the bodies that it carries.

        They are the last four, a quaternion, whose R(Q) is no rotation off the unit sphere.
        """
        if self.wrt != "coordinates":
            return {}
        return {
            i: slice(s.stop - 4, s.stop)
            for i, (body, s) in enumerate(zip(self.system.bodies, self.slices, strict=True))
            if body.joint.facts.quaternion is not None
        }

    def motions(self, poses: Poses, q: Array, *eliminated: Array) -> tuple[dict[int, Array], dict[int, Array]]:
        """v and omega (6,) by the number of the motion (`moving`); W and Q (10,) by that of a body whose joint strains.

        W is the strain of the quaternion Q itself. That of a component Q_k is Q_k W.
        """
        axes, strains = {}, {}
        around = charts(self.system, q, self.wrt, *eliminated)
        for i, leader in enumerate(self.system.leaders):
            (R, p), s, chart = poses[i], self.moving[i], around[leader]
            if s.start == s.stop:
                continue
            S_omega, S_v, S_W = self._subspace(i, q, chart)
            for k, j in enumerate(range(s.start, s.stop)):
                omega = matvec(R, S_omega[:, k])
                axes[j] = joined([matvec(R, S_v[:, k]) - cross(omega, p), omega])
            if i in self.straining:
                Q, W = chart.start[-4:], congruent(R, S_W)
                strains[i] = joined([W, Q])
                for k, j in enumerate(range(s.stop - 4, s.stop)):
                    axes[j] = axes[j] - joined([Q[k] * symmetric_times(W, p), np.zeros(3)])
        return axes, strains

    def _subspace(self, i: int, q: Array, chart: Chart) -> tuple[Array, Array, Array]:
        """S_omega (3, n), S_v (3, n) and S_W (6,) of the columns of a body's joint, in child-frame components.

        Along the quaternion R^T dR = skew(S_omega) + S_W and S_v = R^T dp.
        """
        joint, own = self.system.bodies[i].joint, q[self.system.moving_q[i]]
        if self.wrt == "velocity":
            return *joint.subspace(own), np.zeros(6)

        def pose(x: Array) -> Array:
            R, p = joint.transform(chart.coordinates(x))
            return joined([R.reshape(9), p])

        (R, _), rates = joint.transform(own), jacobian_at(pose, chart.start, like=q)
        turned = [R.T @ rates[:9, k].reshape(3, 3) for k in range(rates.shape[1])]
        omega = [0.5 * np.stack([B[2, 1] - B[1, 2], B[0, 2] - B[2, 0], B[1, 0] - B[0, 1]]) for B in turned]
        v = [rates[9:, k] @ R for k in range(rates.shape[1])]
        along: Array = sum((x * B for x, B in zip(own[-4:], turned[-4:], strict=False)), np.zeros((3, 3)))
        return np.stack(omega, axis=-1), np.stack(v, axis=-1), upper(0.5 * (along + along.T))

    def slides(self, slides: Sequence[tuple[PathPoint, int]], q: Array, *eliminated: Array) -> list[Array]:
        """(3,) the derivatives of moving points in their bodies' frames, each by one column j."""
        points = list({id(point): point for point, _ in slides}.values())
        offsets = {id(point): 3 * k for k, point in enumerate(points)}
        chart = together(charts(self.system, q, self.wrt, *eliminated))

        def local(x: Array) -> Array:
            after = chart.coordinates(x)
            return joined([np.zeros(0), *(point.local(self.system, after) for point in points)])

        rates = jacobian_at(local, chart.start, like=q)
        return [rates[offsets[id(point)] : offsets[id(point)] + 3, j] for point, j in slides]


# ---- Which columns of a Jacobian change which segments of paths, as rows that tables gather and add to --------------


Link = tuple[str, Array]  # a buffer and rows of it


class Reach:
    """Which columns change which segments.

    pulls, pushes   the wrenches on bodies and the forces on moving points, how many
    strained        the row of strains of a path on all that a joint which strains carries, by path and body; row 0
                    is of no joint
    rows            of a type, by the name of their buffer, the numbers (segments, n) of these
    moving          the columns that move bodies of a segment
    slides          the columns j of moving points: (point, j)
    """

    def __init__(self, columns: Columns, types: dict[SegmentType, list[Segment]]) -> None:
        self.system, self.columns, self.pulls, self.pushes = columns.system, columns, 0, 0
        self._bodies = {name: i for i, name in enumerate(self.system.body_names)}
        self.strained: dict[tuple[int, int], int] = {}
        self.rows: dict[SegmentType, dict[str, Array]] = {}
        self.slides: list[tuple[PathPoint, int]] = []
        self._slid: list[tuple[int, int, int]] = []  # push, slide, entry
        self._slide: dict[tuple[int, int], int] = {}
        self._beyond: dict[int, int] = {}  # from the row of a joint to that of the next one towards the ground
        self._carried: dict[int, list[tuple[int, int, int]]] = {}  # by n: pull, first column, first entry of the row
        for segment_type, members in types.items():
            rows = {"pulls": [self._pull(segment) for segment in members],
                    "pushes": [self._push(segment) for segment in members],
                    "strains": [self._strain(segment) for segment in members]}  # fmt: skip
            kept = {name: np.array(numbers) for name, numbers in rows.items() if numbers[0]}
            if kept:
                self.rows[segment_type] = kept

    def _pull(self, segment: Segment) -> list[int]:
        """The numbers of the wrenches on the bodies of a segment."""
        first = self.pulls
        for name in segment.bodies:
            for i in self._carriers(name, segment.base):
                s, leader = self.columns.moving[i], self.system.leaders[i]
                if s.stop > s.start:
                    first_entry = segment.path * self.columns.size + self.columns.slices[leader].start
                    row = self.pulls, s.start, first_entry - s.start
                    self._carried.setdefault(s.stop - s.start, []).append(row)
            self.pulls += 1
        return list(range(first, self.pulls))

    def _carriers(self, name: str, base: str) -> Iterator[int]:
        """The numbers of the bodies from one on down to what hangs on `base`, which carries it."""
        chain = self.system.chain_to_ground(name)
        return (self._bodies[found] for found in takewhile(lambda found: found != base, chain))

    def _strain(self, segment: Segment) -> list[int]:
        """The rows to which the strains on the bodies of a segment add."""
        return [self._strained_row(segment.path, name) for name in segment.met] if self.columns.straining else []

    def _strained_row(self, path: int, name: str) -> int:
        """The row of a path and the first joint from a body towards the ground that strains, 0 without; those beyond
        get theirs too."""
        joints = [i for i in self._carriers(name, self.system.ground) if i in self.columns.straining]
        rows = [self.strained.setdefault((path, i), len(self.strained) + 1) for i in joints]
        self._beyond.update(pairwise(rows))
        return rows[0] if rows else 0

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
                self._slid.append((self.pushes, slide, segment.path * self.columns.size + j))
            self.pushes += 1
        return list(range(first, self.pushes))

    def _driving(self, point: PathPoint) -> list[int]:
        """The columns on which the coordinates of a moving point depend."""
        names = point.driving(self.system) if isinstance(point, DrivenPoint) else ()
        slices = self.columns.slices
        joints = {self._joint_of(name) for name in names}
        return [j for i in sorted(joints) for j in range(slices[i].start, slices[i].stop)]

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
        """How bodies and points move with the columns, and how joints strain."""
        joints = len(self.columns.straining)
        return {"axes": (len(self.moving), 6), "slides": (len(self.slides), 3), "stretching": (joints, 10)}

    @property
    def tables(self) -> Iterator[tuple[Callable[..., Array], dict[str, Link], Link]]:
        """Formulas of what forces do, what they gather, and the rows to which the results add."""
        for n, carried in self._carried.items():
            pulls, first, entries = np.array(carried).T
            moved = first[:, None] + np.arange(n)
            gather = {"pull": ("pulls", pulls), "axes": ("axes", np.searchsorted(self.moving, moved))}
            yield _entries, gather, ("entries", moved + entries[:, None])
        if self._beyond:
            order = sorted(self._beyond, key=self._depth, reverse=True)
            yield (
                itself,
                {"value": ("strains", np.array(order))},
                ("strains", np.array([self._beyond[row] for row in order])),
            )
        if self.strained:
            (paths, bodies), joints = np.array(list(self.strained)).T, list(self.columns.straining)
            first = paths * self.columns.size + [self.columns.straining[i].start for i in bodies]
            gather = {"strain": ("strains", np.array(list(self.strained.values()))),
                      "joint": ("stretching", np.searchsorted(joints, bodies))}  # fmt: skip
            yield _strained, gather, ("entries", first[:, None] + np.arange(4))
        if self.slides:
            pushes, slides, entries = np.array(self._slid).T
            gather = {"pull": ("pushes", pushes), "axes": ("slides", slides[:, None])}
            yield _entries, gather, ("entries", entries[:, None])

    def _depth(self, row: int) -> int:
        """How many rows are beyond one."""
        return 1 + self._depth(self._beyond[row]) if row in self._beyond else 0


def itself(*, value: Array) -> Array:
    return value


def _entries(*, pull: Array, axes: Array) -> Array:
    """(n,) what a force (k,) does along axes (n, k)."""
    return np.sum(axes * pull, axis=-1)


def _strained(*, strain: Array, joint: Array) -> Array:
    """(4,) what a strain (6,) does along the components of a quaternion: of W and Q (10,) that of W times Q."""
    return joint[6:] * np.sum(joint[:6] * strain, axis=-1)
