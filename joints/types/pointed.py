"""Joints of three rotations whose origin depends on where the body points: on an ellipsoid, or at a bent rod's end."""

from abc import abstractmethod
from dataclasses import replace
from itertools import accumulate
from typing import ClassVar, Self

import numpy as np

from myoquat.core import Array, Pair, frozen
from myoquat.joints.ranges import Positive
from myoquat.joints.vectors import cross, matvec, vecmat
from myoquat.kernels.symbolic.arrays import as_array

from .angles import Vector3
from .base import CoordinateJoint, JointFacts
from .turns import EulerJoint


class PointedJoint(CoordinateJoint):
    """The rotations of `euler_joint`; the child's origin is a function p of n = R e, e the child's `pointer` axis."""

    pointer: ClassVar[int]

    @property
    @abstractmethod
    def euler_joint(self) -> EulerJoint:
        """The joint of the rotations alone."""

    @abstractmethod
    def origin(self, n: Array) -> Array:
        """(..., 3) p at n (..., 3)."""

    @abstractmethod
    def origin_rates(self, n: Array, rate: Array, bend: Array) -> Pair:
        """(..., 3) each, the first two derivatives of p along a motion, from those of n. Written out, as derivatives by
        complex steps run through them, and these do not nest."""

    def angles_at(self, q: Array) -> Array:
        """(..., 3) angles of the Euler joint at q."""
        return q

    def transform(self, q: Array) -> Pair:
        R, _ = self.euler_joint.transform(self.angles_at(q))
        return R, self.origin(R[..., :, self.pointer])

    def subspace(self, q: Array) -> Pair:
        """S_omega = B, S_v = R^T dp along R (b x e) for the columns b of B."""
        x, e = self.angles_at(q), np.eye(3)[self.pointer]
        (R, _), (B, _) = self.euler_joint.transform(x), self.euler_joint.subspace(x)
        turned = [matvec(R, cross(B[..., :, k], e)) for k in range(3)]
        columns = [vecmat(self.origin_rates(R[..., :, self.pointer], rate, rate)[0], R) for rate in turned]
        return B, np.stack(columns, axis=-1)

    def drift(self, q: Array, u: Array) -> Pair:
        """omega's as of the Euler joint; v's from v = R^T pdot."""
        x, e = self.angles_at(q), np.eye(3)[self.pointer]
        (R, _), (B, _), (c_omega, _) = (
            self.euler_joint.transform(x), self.euler_joint.subspace(x), self.euler_joint.drift(x, u)
        )  # fmt: skip
        omega = matvec(B, u)
        turned = cross(omega, e)
        rate, bend = matvec(R, turned), matvec(R, cross(omega, turned) + cross(c_omega, e))
        p_rate, p_bend = self.origin_rates(R[..., :, self.pointer], rate, bend)
        return c_omega, vecmat(p_bend, R) - cross(omega, vecmat(p_rate, R))


@frozen
class EllipsoidJoint(PointedJoint):
    """q = phi (3) [rad] of an intrinsic Euler sequence, u = phidot [rad/s]; the origin stays on an ellipsoid.

    The child's origin is at p = D R e with D = diag(radii) and e its z axis. It thus lies on the ellipsoid with half
    axes `radii` [m] along the joint frame's axes.

    OpenSim's EllipsoidJoint [A. Seth, M. Sherman, P. Eastman, S. Delp, Minimal formulation of joint motion for
    biomechanisms, Nonlinear Dyn. 62, 2010]. On a sphere R e is the normal. The joint locks where its Euler sequence
    does. Raises ValueError for radii that are not positive.

    >>> import numpy as np
    >>> from myoquat.joints import EllipsoidJoint
    >>> R, p = EllipsoidJoint((0.1, 0.2, 0.3)).transform(np.array([0.0, np.pi / 2, 0.0]))
    >>> p.round(3)  # on the surface, where its normal has turned to
    array([0.1, 0. , 0. ])
    """

    facts: ClassVar[JointFacts] = replace(EulerJoint.facts, kind="ellipsoid")
    pointer: ClassVar[int] = 2
    radii: Vector3
    sequence: str = "XYZ"

    def __post_init__(self) -> None:
        super().__post_init__()
        EulerJoint(self.sequence)  # knows its sequences
        if len(self.radii) != 3 or min(self.radii) <= 0:
            raise ValueError(f"the radii of an ellipsoid joint must be three positive numbers, not {self.radii}")

    @property
    def euler_joint(self) -> EulerJoint:
        """The joint of the rotations alone."""
        return EulerJoint(self.sequence)

    def scaled(self, parent: tuple[float, ...], child: tuple[float, ...]) -> Self:
        """With the radii times the parent's factors."""
        x, y, z = (radius * factor for radius, factor in zip(self.radii, parent, strict=True))
        return replace(self, radii=(x, y, z))

    def origin(self, n: Array) -> Array:
        return as_array(self.radii) * n

    def origin_rates(self, n: Array, rate: Array, bend: Array) -> Pair:
        return as_array(self.radii) * rate, as_array(self.radii) * bend

    def random(self, n: int, rng: "np.random.Generator") -> Array:
        """Uniform over the rotations, not over the angles."""
        return self.euler_joint.random(n, rng)


# ---- A rod that bends into an arc of a circle: the joint of spines in one piece -----------------------------------
#
# Let theta be the angle between the rod's ends and m = sin(theta/2)^2. Then C(m) = theta / sin(theta) = sum a_n m^n
# with a_0 = 1 and a_n = a_n-1 2 n / (2 n + 1). The function h(m) = 2 (1 - m) C has the derivative h' = -K with
# K = (C - 1) / m. All of them are analytic at the straight rod, m = 0, where the series replace the closed forms.


XZY = EulerJoint("XZY")
ROD_AXIS = np.array([0.0, 1.0, 0.0])  # e, the axis of the rod at both ends
MAX_RANDOM_ANGLE_RAD = 1.5  # [rad] to which angles are drawn at random: OpenSim's end at pi / 2 - 0.01
MAX_SERIES_ARGUMENT = 0.1  # m up to which the series serve
SERIES = tuple(accumulate(range(1, 20), lambda a, n: a * 2 * n / (2 * n + 1), initial=1.0))  # a_n
SLOPES = tuple(n * a for n, a in enumerate(SERIES[2:], start=1))  # of K


@frozen
class ConstantCurvatureJoint(PointedJoint):
    """An arc of a circle of `length` d [m]: q = three angles (3) [rad] about x, z, y, u = their rates [rad/s].

    R is the Euler sequence XZY at q + `rest`. The arc leaves the joint frame's origin along e = y and arrives at the
    child's origin along n = R e. With theta, the angle between e and n, p = d (n + e) / h and h = (1 + n . e) theta /
    sin(theta).

    OpenSim's ConstantCurvatureJoint [K. Werling et al., in OpenSim 4.5]. It lacks the straight piece that OpenSim puts
    in place of an arc of less than 0.001 rad or more than 1.526 rad. The joint locks where the second angle is +-pi/2.
    It is not determined where the arc comes back along itself, theta = pi. Raises ValueError for a length that is not
    positive.

    >>> import numpy as np
    >>> from myoquat.joints import ConstantCurvatureJoint
    >>> R, p = ConstantCurvatureJoint(np.pi / 2).transform(np.array([np.pi / 2, 0.0, 0.0]))
    >>> p.round(3)  # a quarter of a circle of radius one
    array([0., 1., 1.])
    """

    facts: ClassVar[JointFacts] = JointFacts(
        "constant_curvature", ("rx", "rz", "ry"), ("rad",) * 3, "successive axes x, z, y"
    )
    pointer: ClassVar[int] = 1
    length: Positive = 1.0
    rest: Vector3 = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.rest) != 3:
            raise ValueError(f"a joint of constant curvature needs three angles, not {self.rest}")

    def scaled(self, parent: tuple[float, ...], child: tuple[float, ...]) -> Self:
        """With the length times the child's factor along y, as in OpenSim."""
        return replace(self, length=self.length * child[1])

    @property
    def euler_joint(self) -> EulerJoint:
        return XZY

    def angles_at(self, q: Array) -> Array:
        return q + as_array(self.rest)

    def origin(self, n: Array) -> Array:
        g, _, _ = _arc(n)
        return self.length * g * (n + ROD_AXIS)

    def origin_rates(self, n: Array, rate: Array, bend: Array) -> Pair:
        """Of p = d g(m) (n + e)."""
        g, slope, curvature = _arc(n)
        speed = slope * _half(rate)
        along = curvature * _half(rate) * _half(rate) + slope * _half(bend)
        first, second = speed * (n + ROD_AXIS) + g * rate, along * (n + ROD_AXIS) + 2 * speed * rate + g * bend
        return self.length * first, self.length * second

    def random(self, n: int, rng: "np.random.Generator") -> Array:
        """Angles uniform within 1.5 rad of the straight rod."""
        return rng.uniform(-MAX_RANDOM_ANGLE_RAD, MAX_RANDOM_ANGLE_RAD, (n, 3)) - np.array(self.rest)


def _half(n: Array) -> Array:
    """(..., 1) the rate of m = (1 - n . e) / 2 along that of n (..., 3)."""
    return -n[..., 1, None] / 2


def _arc(n: Array) -> tuple[Array, Array, Array]:
    """(..., 1) each: g = 1 / h, dg/dm and d2g/dm2 for the rod that arrives along the unit vector n (..., 3)."""
    square, c = n[..., 0] ** 2 + n[..., 2] ** 2, n[..., 1]
    m = square / (2 * (1 + c))
    small = m < MAX_SERIES_ARGUMENT
    sine = np.sqrt(np.where(small, 1.0, square))
    ratio = np.arctan2(sine, c) / sine  # theta / sin(theta)
    whole = np.where(small, MAX_SERIES_ARGUMENT, m)
    K = np.where(small, _series(m, SERIES[1:]), (ratio - 1) / whole)
    K_slope = np.where(small, _series(m, SLOPES), ((2 + 2 * whole * K - K) / (2 * (1 - whole)) - K) / whole)
    h = 2 * (1 - m) * (1 + m * K)
    g = 1 / h
    return g[..., None], (K * g * g)[..., None], (K_slope * g * g + 2 * K * K * g * g * g)[..., None]


def _series(m: Array, coefficients: tuple[float, ...]) -> Array:
    """The polynomial with these coefficients, that of m^0 first, by Horner's rule."""
    total = np.zeros(m.shape)
    for a in reversed(coefficients):
        total = total * m + a
    return total
