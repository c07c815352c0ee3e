"""Three rotations of a body whose origin moves on an ellipsoid."""

import math
from dataclasses import replace
from typing import ClassVar, Self

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.types.base import CoordinateJoint, JointFacts
from myoquat.joints.types.turns import EULER, EulerJoint
from myoquat.joints.vectors import cross, matvec, vecmat
from myoquat.kernels.symbolic.arrays import as_array

__all__ = ["EllipsoidJoint"]

FACTS = replace(EULER, kind="ellipsoid")
NORMAL_AXIS = np.array([0.0, 0.0, 1.0])  # e, the child's axis that tells the place


@dataclass(frozen=True)
class EllipsoidJoint(CoordinateJoint):
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

    kind: ClassVar[str] = "ellipsoid"
    facts: ClassVar[JointFacts] = FACTS
    radii: tuple[float, float, float]
    sequence: str = "XYZ"

    def __post_init__(self) -> None:
        super().__post_init__()
        EulerJoint(self.sequence)  # knows its sequences
        if len(self.radii) != 3 or not all(math.isfinite(r) and r > 0 for r in self.radii):
            raise ValueError(f"the radii of an ellipsoid joint must be three positive numbers, not {self.radii}")

    @property
    def euler_joint(self) -> EulerJoint:
        """The joint of the rotations alone."""
        return EulerJoint(self.sequence)

    def scaled(self, parent: tuple[float, ...], child: tuple[float, ...]) -> Self:
        """With the radii times the parent's factors."""
        x, y, z = (radius * factor for radius, factor in zip(self.radii, parent, strict=True))
        return replace(self, radii=(x, y, z))

    def transform(self, q: Array) -> tuple[Array, Array]:
        R, _ = self.euler_joint.transform(q)
        return R, as_array(self.radii) * R[..., :, 2]

    def subspace(self, q: Array) -> tuple[Array, Array]:
        """S_omega = B(phi), S_v = R^T D R (b x e) for the columns b of B."""
        (R, _), (B, _) = self.euler_joint.transform(q), self.euler_joint.subspace(q)
        columns = [self._slid(R, cross(B[..., :, k], NORMAL_AXIS)) for k in range(3)]
        return B, np.stack(columns, axis=-1)

    def drift(self, q: Array, u: Array) -> tuple[Array, Array]:
        """omega's as of the Euler joint; v's from v = R^T D R (omega x e)."""
        (R, _), (B, _), (c_omega, _) = (
            self.euler_joint.transform(q),
            self.euler_joint.subspace(q),
            self.euler_joint.drift(q, u),
        )
        omega = matvec(B, u)
        v = self._slid(R, cross(omega, NORMAL_AXIS))
        rate = cross(omega, cross(omega, NORMAL_AXIS)) + cross(c_omega, NORMAL_AXIS)
        return c_omega, self._slid(R, rate) - cross(omega, v)

    def _slid(self, R: Array, x: Array) -> Array:
        """R^T D R x."""
        return vecmat(as_array(self.radii) * matvec(R, x), R)

    def random(self, n: int, rng: "np.random.Generator") -> Array:
        """Uniform over the rotations, not over the angles."""
        return self.euler_joint.random(n, rng)
