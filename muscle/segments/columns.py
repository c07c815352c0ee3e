"""The columns of a path Jacobian: velocities or coordinates of a model, and how its bodies move with each of them."""

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.vectors import congruent, cross, joined, matvec, symmetric_times, upper
from myoquat.kernels.tracing.derivatives import jacobian_at
from myoquat.muscle.points import PathPoint
from myoquat.muscle.segments.charts import Chart, charts, together

__all__ = ["Columns", "Poses"]

Poses = Sequence[tuple[Array, Array]]  # R (3, 3) and p (3,) of every body in the world


@dataclass(frozen=True)
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
        layout, beyond, found = self.system.layout, self.size, list(self.slices)
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
        for i, leader in enumerate(self.system.layout.leaders):
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
        joint, own = self.system.bodies[i].joint, q[self.system.layout.moving_q[i]]
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
