"""The columns of a path Jacobian: velocities or coordinates of a model, and how its bodies move with each of them."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, pairwise, takewhile
from typing import Any

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.vectors import congruent, cross, joined, matvec, symmetric_times, upper
from myoquat.kernels.tracing.derivatives import jacobian_at
from myoquat.muscle.points import DrivenPoint, PathPoint

from .path_segments import Segment, SegmentType
from .stops import MOVING, Chart, charts, slides, together

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

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """Where the columns of each body's joint lie."""
        joints = [body.joint for body in self.system.bodies]
        dropped = [self.wrt == "constrained" and joint.facts.quaternion is not None for joint in joints]
        sizes = [
            joint.nu if self.wrt == "velocity" else joint.nq - less for joint, less in zip(joints, dropped, strict=True)
        ]
        return tuple(slice(a, b) for a, b in pairwise(accumulate(sizes, initial=0)))

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

    def motion(self, i: int, poses: Poses, q: Array, chart: Chart) -> tuple[list[Array], list[Array]]:
        """v and omega (6,) of every column of a body's joint, or of its leader's, and the strain W (6,) of every one
        that strains. `chart` is that of the joint of the columns."""
        (R, p), axes, strains = poses[i], list[Array](), list[Array]()
        S_omega, S_v, S_W = self._subspace(i, q, chart)
        for k in range(S_omega.shape[1]):
            omega = matvec(R, S_omega[:, k])
            axes.append(joined([matvec(R, S_v[:, k]) - cross(omega, p), omega]))
        if i in self.straining:
            Q, W = chart.start[-4:], congruent(R, S_W)
            strains = [Q[k] * W for k in range(4)]
            for k in range(4):
                axes[k - 4] = axes[k - 4] - joined([Q[k] * symmetric_times(W, p), np.zeros(3)])
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


# ---- Which columns of a Jacobian change which segments of paths, as rows of tables -----------------------------------


MOTIONS = {"pulls": ("axes", 6), "strains": ("stretching", 6), "pushes": ("slides", 3)}


class Reach:
    """Which columns change which segments.

    Segments exert wrenches on bodies, the pulls, strains on all that joints carry, and pushes on moving points. Columns
    move bodies, strain them, and slide points, in arrays that MOTIONS names, with the numbers in a row of each. All
    are by the name of the force.

    forces   how many there are
    motions  the first row of what moves in its array: by the number of the body, or by number of the point and column
    rows     of a type, the numbers (segments, n) of its forces
    """

    def __init__(self, columns: Columns, types: dict[SegmentType, list[Segment]]) -> None:
        self.system, self.columns = columns.system, columns
        self._bodies = {name: i for i, name in enumerate(self.system.body_names)}
        self.points: dict[int, PathPoint] = {}
        self.forces, self._sizes = (dict.fromkeys(MOTIONS, 0) for _ in range(2))
        self.motions: dict[str, dict[Any, int]] = {name: {} for name in MOTIONS}
        self._effects: dict[str, dict[int, list[tuple[int, int, int]]]] = {name: {} for name in MOTIONS}
        self.rows: dict[SegmentType, dict[str, Array]] = {}
        for segment_type, members in types.items():
            for name, forces in (("pulls", self._pulls), ("strains", self._strains), ("pushes", self._pushes)):
                rows = [self._numbered(name, segment.path, forces(segment)) for segment in members]
                if rows[0]:
                    self.rows.setdefault(segment_type, {})[name] = np.array(rows)

    def _numbered(self, name: str, path: int, forces: Iterable[Iterable[tuple[Any, slice]]]) -> list[int]:
        """The numbers of forces, each with what it moves and the columns of that."""
        first, motions = self.forces[name], self.motions[name]
        for moved in forces:
            for key, columns in moved:
                if n := columns.stop - columns.start:
                    if key not in motions:
                        motions[key] = self._sizes[name]
                        self._sizes[name] += n
                    effect = self.forces[name], motions[key], path * self.columns.size + columns.start
                    self._effects[name].setdefault(n, []).append(effect)
            self.forces[name] += 1
        return list(range(first, self.forces[name]))

    def _pulls(self, segment: Segment) -> Iterator[list[tuple[int, slice]]]:
        """What the wrenches on the bodies of a segment move."""
        slices, leaders = self.columns.slices, self.system.leaders
        for name in segment.bodies:
            yield [(i, slices[leaders[i]]) for i in self._carriers(name, segment.base)]

    def _strains(self, segment: Segment) -> Iterator[list[tuple[int, slice]]]:
        """What the strains of the bodies of a segment move, whether or not the segment is on one side of it."""
        straining = self.columns.straining
        for name in segment.met if straining else ():
            yield [(i, straining[i]) for i in self._carriers(name, self.system.ground) if i in straining]

    def _pushes(self, segment: Segment) -> Iterator[list[tuple[tuple[int, int], slice]]]:
        """What the forces on the moving points of a segment move."""
        for stop in segment.stops:
            if stop.sort == MOVING and stop.point is not None:
                self.points[stop.number] = stop.point
                yield [((stop.number, j), slice(j, j + 1)) for j in self._driving(stop.point)]

    def _carriers(self, name: str, base: str) -> Iterator[int]:
        """The numbers of the bodies from one on down to what hangs on `base`, which carries it."""
        chain = self.system.chain_to_ground(name)
        return (self._bodies[found] for found in takewhile(lambda found: found != base, chain))

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

    def moved(self, poses: Poses, q: Array, *eliminated: Array) -> dict[str, list[Array]]:
        """The rows of these arrays."""
        columns, bodies = self.columns, {*self.motions["pulls"], *self.motions["strains"]}
        around = charts(self.system, q, columns.wrt, *eliminated)
        moved = {i: columns.motion(i, poses, q, around[self.system.leaders[i]]) for i in bodies}
        slid = slides(self.system, self.points.values(), q, together(around))
        return {
            "axes": [row for i in self.motions["pulls"] for row in moved[i][0]],
            "stretching": [row for i in self.motions["strains"] for row in moved[i][1]],
            "slides": [slid[id(self.points[number])][:, j] for number, j in self.motions["pushes"]],
        }

    @property
    def effects(self) -> Iterator[tuple[str, int, Array]]:
        """By force, and by how many columns one changes, (3, k) the number of each, the first row of what moves and the
        first entry of the Jacobian."""
        for name, by_width in self._effects.items():
            for count, effects in by_width.items():
                yield name, count, np.array(effects).T
