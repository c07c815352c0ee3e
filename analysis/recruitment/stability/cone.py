"""A round socket: a cone of directions about its axis."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from myoquat.analysis.recruitment.stability.rule import StabilityRule
from myoquat.analysis.recruitment.stability.socket_markers import SocketMarkers
from myoquat.core.typing import Array
from myoquat.muscle.model import Model

__all__ = ["JointCone"]


@dataclass(frozen=True)
class JointCone(StabilityRule):
    """The force of a joint's child on its parent lies within `half_angle` [rad] of `direction` (3,).

    With n the unit vector of the direction, in the parent's axes, tan(half_angle) n . f >= |f - (n . f) n|. `joint` is
    named by itself or by the body that it carries. Raises ValueError for a direction of length zero, and a half angle
    outside (0, pi / 2).

    >>> from myoquat.analysis.recruitment import JointCone
    >>> glenoid = JointCone("shoulder", direction=(0.0, 0.0, 1.0), half_angle=0.5)
    >>> glenoid.half_angle  # [rad] between the direction and the force of the child on its parent
    0.5
    """

    half_angle: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.half_angle < np.pi / 2:
            raise ValueError(f"cone of {self.joint!r}: half_angle must lie in (0, pi / 2), not {self.half_angle}")

    @classmethod
    def from_markers(cls, model: Model, joint: str, head: str, centre: str, rim: str) -> Self:
        """The cone through a rim, from markers in the model's start pose.

        Its apex is at the marker `head`, the centre of the head. Its axis is the line to `centre`, the centre of the
        socket. It passes through the marker `rim` on the edge of the socket.

        ValueError for a marker that does not exist.
        """
        socket = SocketMarkers.of(model, joint, head, centre, rim)
        return cls(joint, socket.direction, socket.half_angle)

    def cones(self, parameter: Array) -> Array:
        """(t, 3, 3) the same for all frames."""
        rows = np.array([[1.0], *2 * [[1 / np.tan(self.half_angle)]]]) * self.frame
        return np.broadcast_to(rows, (len(parameter), 3, 3))

    def edge(self, azimuth: Array) -> Array:
        """(...) the half angle."""
        return np.full(np.shape(azimuth), self.half_angle)
