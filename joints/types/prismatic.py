"""The prismatic (sliding) joint."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from joints.types.base import CoordinateJoint, JointFacts
from joints.types.direction import unit_axis

__all__ = ["PrismaticJoint"]

FACTS = JointFacts("prismatic", ("position",), ("m",), "joint axis", ("speed",), ("m/s",), "joint axis")


@dataclass(frozen=True)
class PrismaticJoint(CoordinateJoint):
    """q = the displacement (1) [m] along `axis` (unit vector, the same in joint and child frame), u = its rate [m/s].

    A longer or shorter axis is normalized; one of length zero or with NaN raises ValueError.
    """

    kind: ClassVar[str] = "prismatic"
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis))

    @property
    def facts(self) -> JointFacts:
        return FACTS

    def transform(self, q: Any) -> tuple[Any, Any]:
        return np.eye(3), q * np.array(self.axis)

    def subspace(self, q: Any) -> tuple[Any, Any]:
        return np.zeros((3, 1)), np.array(self.axis)[:, None]
