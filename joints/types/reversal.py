"""A joint that carries the body which another joint type takes as its parent."""

from dataclasses import replace
from typing import ClassVar, Self

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array, Pair
from myoquat.joints.types.base import CoordinateJoint, JointFacts
from myoquat.joints.vectors import cross, matvec, row_cross, transpose, vecmat

__all__ = ["ReversedJoint"]


@dataclass(frozen=True)
class ReversedJoint(CoordinateJoint):
    """`joint` with its bodies exchanged: q and u are its own, its joint frame is carried and its child frame carries.

    If the joint has the transform (R, p), this one has (R^T, -R^T p). If the motion or drift of the joint is omega, v,
    that of this one is -R omega, (R omega) x p - R v. Raises ValueError for a joint whose velocities are not the rates
    of its coordinates, or one that is reversed itself.

    >>> import numpy as np
    >>> from myoquat.joints import PlanarJoint, ReversedJoint
    >>> R, p = ReversedJoint(PlanarJoint()).transform(np.array([0.3, 0.1, np.pi / 2]))
    >>> p.round(3)  # the parent's place, seen from the child
    array([-0.1,  0.3, -0. ])
    """

    kind: ClassVar[str] = "reversed"
    joint: CoordinateJoint

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.joint, CoordinateJoint) or self.joint.forward is not self.joint:
            raise ValueError(
                "a reversed joint needs one whose velocities are the rates of its coordinates, "
                f"not a {self.joint.kind} joint"
            )

    @property
    def forward(self) -> CoordinateJoint:
        return self.joint

    @property
    def facts(self) -> JointFacts:
        return replace(self.joint.facts, kind=self.kind)

    def scaled(self, parent: tuple[float, ...], child: tuple[float, ...]) -> Self:
        """With the joint on the child's factors."""
        return replace(self, joint=self.joint.scaled(child, parent))

    def transform(self, q: Array) -> Pair:
        R, p = self.joint.transform(q)
        return transpose(R), -vecmat(p, R)

    def subspace(self, q: Array) -> Pair:
        (R, p), (S_omega, S_v) = self.joint.transform(q), self.joint.subspace(q)
        turned = -(R @ S_omega)
        return turned, row_cross(p, turned) - R @ S_v

    def drift(self, q: Array, u: Array) -> Pair:
        (R, p), (c_omega, c_v) = self.joint.transform(q), self.joint.drift(q, u)
        turned = -matvec(R, c_omega)
        return turned, cross(p, turned) - matvec(R, c_v)

    def damped(self, q: Array, u: Array) -> Array:
        return self.joint.damped(q, u)

    def neutral(self) -> Array:
        return self.joint.neutral()

    def random(self, n: int, rng: "np.random.Generator") -> Array:
        return self.joint.random(n, rng)
