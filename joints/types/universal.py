"""The universal (Cardan) joint: two successive rotations."""

from typing import ClassVar

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.stacking import components
from myoquat.joints.types.base import CoordinateJoint, JointFacts
from myoquat.joints.types.direction import unit_axis
from myoquat.joints.types.successive import Vector3, angular_drift, child_axes, successive_rotations

__all__ = ["UniversalJoint"]

FACTS = JointFacts(
    "universal",
    ("angle1", "angle2"),
    ("rad", "rad"),
    "first axis in the joint frame, second after the first rotation",
    ("speed1", "speed2"),
    ("rad/s", "rad/s"),
    "first axis in the joint frame, second after the first rotation",
)


@dataclass(frozen=True)
class UniversalJoint(CoordinateJoint):
    """q = two angles (2) [rad]: a rotation about `first`, then one about `second`; u = their rates [rad/s].

    Axes are normalized; one of length zero, or two parallel ones, raise ValueError.

    >>> import numpy as np
    >>> from myoquat.joints import UniversalJoint
    >>> R, p = UniversalJoint((1, 0, 0), (0, 1, 0)).transform(np.array([np.pi / 2, np.pi / 2]))
    >>> R.round(3) + 0.0
    array([[0., 0., 1.],
           [1., 0., 0.],
           [0., 1., 0.]])
    """

    kind: ClassVar[str] = "universal"
    constants: ClassVar[tuple[str, ...]] = ("first", "second")
    first: tuple[float, float, float] = (1.0, 0.0, 0.0)
    second: tuple[float, float, float] = (0.0, 1.0, 0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "first", unit_axis(self.first))
        object.__setattr__(self, "second", unit_axis(self.second))
        if np.linalg.norm(np.cross(self.first, self.second)) < 1e-9:
            raise ValueError(f"a universal joint needs two different axes, not {self.first} twice")

    @property
    def facts(self) -> JointFacts:
        return FACTS

    @property
    def _axes(self) -> tuple[Vector3, Vector3]:
        return self.first, self.second

    def transform(self, q: Array) -> tuple[Array, Array]:
        return successive_rotations(self._axes, components(q)), np.zeros(3)

    def placed(self, R_frame: Array, p_frame: Array, q: Array) -> tuple[Array, Array]:
        return successive_rotations(self._axes, components(q), R_frame), p_frame

    def subspace(self, q: Array) -> tuple[Array, Array]:
        b1, b2 = child_axes(self._axes, components(q))
        return np.stack([b1, np.broadcast_to(b2, b1.shape)], axis=-1), np.zeros((3, 2))

    def drift(self, q: Array, u: Array) -> tuple[Array, Array]:
        return angular_drift(child_axes(self._axes, components(q)), components(u)), np.zeros(3)
