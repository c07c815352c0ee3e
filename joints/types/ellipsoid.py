"""Three rotations of a body whose origin moves on an ellipsoid."""

from dataclasses import replace
from typing import ClassVar, Self

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array, Pair
from myoquat.joints.types.base import JointFacts, Vector3
from myoquat.joints.types.turns import EulerJoint, PointedJoint
from myoquat.kernels import as_array

__all__ = ["EllipsoidJoint"]


@dataclass(frozen=True)
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
