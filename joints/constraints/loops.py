"""Loops: points, frames, distances and axes of two bodies held together."""

from typing import ClassVar

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints import ArticulatedSystem, ModelError, frames, quaternion_from_euler, rotation_matrix
from myoquat.joints.multibody import state
from myoquat.joints.types.base import perpendiculars, unit_axis
from myoquat.joints.vectors import axial, dot, matvec, transpose, vecmat
from myoquat.kernels.symbolic.arrays import as_array

from .base import Holonomic, NonHolonomic, check_bodies, point_of

Vector = tuple[float, float, float]
ORIGIN: Vector = (0.0, 0.0, 0.0)


@frozen
class Pair(Holonomic):
    """Two bodies, one of which may be the ground."""

    first: str
    second: str

    @property
    def named_coordinates(self) -> tuple[str, ...]:
        return ()

    def _apart(self, system: ArticulatedSystem, q: Array) -> Array:
        """(..., 3) from the second body's point to the first one's, of a type that has such points."""
        ends = ((self.first, self.first_point), (self.second, self.second_point))  # type: ignore[attr-defined]
        first, second = (point_of(system, q, *end) for end in ends)
        return first - second

    def check(self, system: ArticulatedSystem) -> None:
        check_bodies(system, self.first, self.second)
        if self.first == self.second:
            raise ModelError(f"a constraint between body {self.first!r} and itself", element=self.label)


@frozen
class PointLoop(Pair):
    """A point of each body at one place: phi = p1 - p2 (3) [m], world axes. Points in body frames [m].

    `axes` tells which of x, y, z are held. Use "xz" for a mechanism that moves in that plane anyway, because the third
    is redundant there.

    >>> import myoquat as mq
    >>> from myoquat.dynamics.constraints import PointLoop
    >>> sled = mq.Body("sled", "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=1.0)
    >>> bob = mq.Body("bob", "sled", mq.joints.RevoluteJoint((0, 1, 0)), mass=1.0, center_of_mass=(0, 0, -1.0))
    >>> loop = PointLoop("bob", "ground", (0, 0, -1.0), (0, 0, -1.0), axes="x")  # its end stays at x = 0
    >>> way = mq.simulate(mq.ArticulatedSystem((sled, bob)), [0.0, 0.0], [0.5, 0.5], duration=0.1, constraints=[loop])
    >>> bool(abs(mq.joints.point_position(way.system, way.q, "bob", [0, 0, -1.0])[:, 0]).max() < 1e-6)
    True
    """

    first_point: Vector = ORIGIN
    second_point: Vector = ORIGIN
    axes: str = "xyz"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.axes or not set(self.axes) <= set("xyz") or len(set(self.axes)) < len(self.axes):
            raise ValueError(f"axes are some of x, y, z, not {self.axes!r}")

    def position(self, system: ArticulatedSystem, q: Array, t: Array) -> Array:
        d = self._apart(system, q)
        return d if self.axes == "xyz" else d[..., self._held]

    def position_jacobian(self, system: ArticulatedSystem, q: Array, t: Array) -> Array:
        """(..., k, nu) difference of the Jacobians of both points, which is cheaper than derivatives of phi."""
        ends = (self.first, self.first_point), (self.second, self.second_point)
        first, second = (frames.jacobian(system, q, body, as_array(point))[..., :3, :] for body, point in ends)
        return (first - second)[..., self._held, :]

    @property
    def _held(self) -> list[int]:
        return ["xyz".index(axis) for axis in self.axes]


@frozen
class Distance(Pair):
    """Two points `distance` > 0 apart: phi = (|p1 - p2|^2 - d^2) / (2 d) (1) [m], a massless rod.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.dynamics.constraints import Distance
    >>> ball = mq.ArticulatedSystem((mq.Body("ball", "ground", mq.joints.FloatingJoint(), mass=1.0),))
    >>> rope = Distance("ball", "ground", distance=2.0)
    >>> rope.position(ball, np.array([3.0, 0, 0, 1, 0, 0, 0]), 0.0)  # (d^2 - 2^2) / (2 * 2), zero where it holds
    array([1.25])
    """

    first_point: Vector = ORIGIN
    second_point: Vector = ORIGIN
    distance: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.distance > 0:
            raise ValueError(f"a distance must be positive, not {self.distance}; PointLoop holds points together")

    def position(self, system: ArticulatedSystem, q: Array, t: Array) -> Array:
        d = self._apart(system, q)
        return (dot(d, d)[..., None] - self.distance**2) / (2 * self.distance)


def _across(axis: Vector, R: Array, d: Array) -> Array:
    """(..., 2) components of d (..., 3) in the axes R along two directions perpendicular to an axis."""
    return matvec(np.stack(perpendiculars(unit_axis(axis))), vecmat(d, R))


@frozen
class PointOnLine(Pair):
    """A point of the second body on a line of the first: phi = (e1 . d, e2 . d) (2) [m].

    d goes from the line's `first_point` to `second_point`, in the first body's axes. E1 and e2 are perpendicular to the
    line's `axis`, and to each other.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.dynamics.constraints import PointOnLine
    >>> ball = mq.ArticulatedSystem((mq.Body("ball", "ground", mq.joints.FloatingJoint(), mass=1.0),))
    >>> rail = PointOnLine("ground", "ball", axis=(0, 0, 1))
    >>> rail.position(ball, np.array([0.1, 0.2, 5.0, 1, 0, 0, 0]), 0.0).round(3)  # [m] away from the z axis
    array([0.1, 0.2])
    """

    constants: ClassVar[tuple[str, ...]] = ("axis",)
    first_point: Vector = ORIGIN
    axis: Vector = (0.0, 0.0, 1.0)
    second_point: Vector = ORIGIN

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "axis", unit_axis(self.axis))

    def position(self, system: ArticulatedSystem, q: Array, t: Array) -> Array:
        R, _ = system.poses(q)[self.first]
        return _across(self.axis, R, -self._apart(system, q))


@frozen
class ParallelAxes(Pair):
    """Axes of two bodies parallel: phi = (e1 . a2, e2 . a2) (2), e1 and e2 perpendicular to the first body's axis.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.dynamics.constraints import ParallelAxes
    >>> ball = mq.ArticulatedSystem((mq.Body("ball", "ground", mq.joints.SphericalJoint(), mass=1.0),))
    >>> upright = ParallelAxes("ball", "ground", (0, 0, 1), (0, 0, 1))
    >>> upright.position(ball, np.array([1.0, 0, 0, 0]), 0.0) + 0.0
    array([0., 0.])
    """

    constants: ClassVar[tuple[str, ...]] = ("first_axis", "second_axis")
    first_axis: Vector = (0.0, 0.0, 1.0)
    second_axis: Vector = (0.0, 0.0, 1.0)

    def position(self, system: ArticulatedSystem, q: Array, t: Array) -> Array:
        poses = system.poses(q)
        (R1, _), (R2, _) = poses[self.first], poses[self.second]
        return _across(self.first_axis, R1, matvec(R2, as_array(unit_axis(self.second_axis))))


@frozen
class Weld(Pair):
    """A frame of each body at one pose: phi = (R1^T (p1 - p2) [m], log(R1^T R2) [rad]) (6), in the first one's axes.

    The frames sit at points and XYZ angles [rad] in their bodies. The logarithm is smooth up to half a turn. Where the
    bodies can only move in a plane, the rows across it are zero also off the constraint, wherever the plane turns.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.dynamics.constraints import Weld
    >>> ball = mq.ArticulatedSystem((mq.Body("ball", "ground", mq.joints.FloatingJoint(), mass=1.0),))
    >>> Weld("ball", "ground").position(ball, np.array([0.1, 0.0, 0.0, 1, 0, 0, 0]), 0.0).round(3) + 0.0
    array([0.1, 0. , 0. , 0. , 0. , 0. ])
    """

    first_point: Vector = ORIGIN
    second_point: Vector = ORIGIN
    first_angles: Vector = ORIGIN
    second_angles: Vector = ORIGIN

    def position(self, system: ArticulatedSystem, q: Array, t: Array) -> Array:
        poses = system.poses(q)
        R1, R2 = (
            poses[body][0] @ rotation_matrix(quaternion_from_euler(as_array(angles), "XYZ"))
            for body, angles in ((self.first, self.first_angles), (self.second, self.second_angles))
        )
        return np.concatenate([vecmat(self._apart(system, q), R1), rotation_log(transpose(R1) @ R2)], axis=-1)


def rotation_log(R: Array) -> Array:
    """(..., 3) rotation vector of R (..., 3, 3), smooth through the identity; of no use at half a turn."""
    v = axial(R)
    cosine = (R[..., 0, 0] + R[..., 1, 1] + R[..., 2, 2] - 1) / 2
    square = dot(v, v)  # sin^2 of the angle
    small = (square < 1e-3) & (cosine > 0)
    s = np.where(small, square, 0.0)
    series = 1 + s * (1 / 6 + s * (3 / 40 + s * (5 / 112 + s * (35 / 1152 + s * 63 / 2816))))  # arcsin(x) / x
    sine = np.sqrt(np.where(small, 1.0, square))
    return v * np.where(small, series, np.arctan2(sine, cosine) / sine)[..., None]


# ---- A point of one body on a surface of another, as the shoulder blade glides over the ribs ----------------------


@frozen
class OnSurface(Pair):
    """A point of the second body lies on an ellipsoid of the first: phi = (F - 1) / |grad F| (1) [m].

    phi is the distance from the surface to first order, positive outside. F = sum (x_i / r_i)^2 for the half axes r =
    `radii` [m]. The point x is in the frame of the ellipsoid, which sits at `first_point` and XYZ angles `first_angles`
    [rad] in its body. The point glides without friction, and the force is along the surface's normal. The force may
    also pull, since the constraint holds on both sides. phi is not defined at the ellipsoid's centre.

    >>> import myoquat as mq
    >>> from myoquat.dynamics.constraints import OnSurface, assemble
    >>> model = mq.load_model("two_link")
    >>> ribs = OnSurface("ground", "B", second_point=(0, 0, -1.0), radii=(0.9, 1.2, 1.8))
    >>> q = assemble(model, model.start_q, [ribs])
    >>> bool(abs(ribs.position(model.system, q, 0.0)[0]) < 1e-10)
    True
    """

    first_point: Vector = ORIGIN
    second_point: Vector = ORIGIN
    first_angles: Vector = ORIGIN
    radii: Vector = (1.0, 1.0, 1.0)

    def check(self, system: ArticulatedSystem) -> None:
        super().check(system)
        if len(self.radii) != 3 or not all(0 < radius < np.inf for radius in self.radii):
            raise ModelError(f"radii must be three positive lengths [m], not {self.radii!r}", element=self.label)

    def position(self, system: ArticulatedSystem, q: Array, t: Array) -> Array:
        R, _ = system.poses(q)[self.first]
        d = -self._apart(system, q)
        turned = rotation_matrix(quaternion_from_euler(as_array(self.first_angles), "XYZ"))
        s = vecmat(vecmat(d, R), turned) / as_array(self.radii)
        n = s / as_array(self.radii)
        return ((dot(s, s) - 1) / (2 * np.sqrt(dot(n, n))))[..., None]


# ---- A ball that rolls on a plane without slipping ----------------------------------------------------------------


@frozen
class Rolling(NonHolonomic):
    """A ball of `radius` about `centre` in the frame of `body` rolls on a plane of the world without slipping.

    psi (3) [m/s] is the velocity of the body's point that touches the plane, in world axes. The plane runs through
    `plane_point` with the `normal`, both in the world. The constraint also keeps phi (1) [m], the height of the centre
    over the plane less the radius.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.dynamics.constraints import Rolling
    >>> ball = mq.ArticulatedSystem((mq.Body("ball", "ground", mq.joints.FloatingJoint(), mass=1.0),))
    >>> q, u = np.array([0, 0, 0.1, 1, 0, 0, 0]), np.array([0.5, 0, 0, 0, 5.0, 0])  # v = omega r
    >>> Rolling("ball", radius=0.1).rate(ball, q, u, 0.0) + 0.0
    array([0., 0., 0.])
    """

    constants: ClassVar[tuple[str, ...]] = ("normal",)
    body: str
    radius: float
    centre: Vector = (0.0, 0.0, 0.0)
    normal: Vector = (0.0, 0.0, 1.0)
    plane_point: Vector = (0.0, 0.0, 0.0)

    def check(self, system: ArticulatedSystem) -> None:
        check_bodies(system, self.body)

    def position(self, system: ArticulatedSystem, q: Array, t: Array) -> Array:
        over = point_of(system, q, self.body, self.centre) - as_array(self.plane_point)
        return (np.sum(over * as_array(unit_axis(self.normal)), axis=-1) - self.radius)[..., None]

    def rate(self, system: ArticulatedSystem, q: Array, u: Array, t: Array) -> Array:
        R, _ = system.poses(q)[self.body]
        n = as_array(unit_axis(self.normal))
        foot = as_array(self.centre) - self.radius * vecmat(n, R)

        def along(s: Array) -> Array:  # the material point that touches now
            R, p = system.poses(state.displaced(system, q, s * u))[self.body]
            return p + matvec(R, foot)

        return state.rate_along(along, q)
