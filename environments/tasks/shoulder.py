"""Reach with the library's shoulder, past a pose where the Euler angles of its arm lock."""

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.data import load_model
from myoquat.environments.task import Start
from myoquat.environments.tasks.reach import PointsTask
from myoquat.joints import frames
from myoquat.joints.quaternion import quaternion_exp
from myoquat.muscle.coordinates import Marker
from myoquat.muscle.model import Model

__all__ = ["ShoulderReach", "shoulder_reach"]

ELEVATION = np.array([0.2, 0.6])  # [rad] of the arm, least and greatest
HAND_M = (0.0, -0.3, 0.0)  # in the axes of the forearm


@dataclass(frozen=True)
class ShoulderReach(PointsTask):
    """The arm starts raised in a random plane; the target is the hand's place for the arm raised the opposite way. The
    straight way leads through the hanging arm, where the plane of elevation of Y-Z-Y angles is undefined.
    """

    @property
    def draws(self) -> int:
        return 3

    def begin(self, shares: Array) -> Start:
        plane = 2 * np.pi * shares[:, 0]
        first, last = (ELEVATION[0] + (ELEVATION[1] - ELEVATION[0]) * shares[:, k] for k in (1, 2))
        q, system = self.raised(plane, first), self.model.system
        (hand,) = self.markers
        goal = frames.pose(system, self.raised(plane + np.pi, last), hand.body, np.array(hand.position))[1]
        return Start(q, np.zeros((len(q), system.nu)), goal)

    def raised(self, plane: Array, elevation: Array) -> Array:
        """(n, nq) the model's start with the arm raised by `elevation` (n,) about horizontal axes at the angles `plane`
        (n,) [rad]."""
        q = np.tile(self.model.start, (len(plane), 1))
        axis = np.stack([np.cos(plane), 0 * plane, np.sin(plane)], axis=-1)
        q[:, self.model.system.quaternion_slices()[-1]] = quaternion_exp(elevation[:, None] * axis)
        return q


def shoulder_reach() -> ShoulderReach:
    """Reach with the hand of the library's `thoracoscapular`."""
    model = load_model("thoracoscapular")
    assert isinstance(model, Model)
    return ShoulderReach(model, points=(Marker("hand", "forearm", HAND_M),), far=1.5)
