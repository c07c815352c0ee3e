"""A socket that bears a force along one line only."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from myoquat.analysis.recruitment.stability.rule import StabilityRule
from myoquat.core.typing import Array

__all__ = ["CentralForce"]


@dataclass(frozen=True)
class CentralForce(StabilityRule):
    """The force f on the parent points along `direction`: two equations e1 . f = e2 . f = 0, and n . f >= 0.

    It is the strictest rule, a cone of no width ["point" in I. M. I. Hasan et al., IEEE TNSRE, 2025,
    10.1109/TNSRE.2025.3635012].

    >>> from myoquat.analysis.recruitment import CentralForce
    >>> CentralForce("shoulder", direction=(0, 0, 2)).direction
    (0.0, 0.0, 1.0)
    """

    equation_count: ClassVar[int] = 2

    def cones(self, parameter: Array) -> Array:
        """(t, 3, 3) of the half space n . f >= 0."""
        rows = self.frame * np.array([[1.0], [0.0], [0.0]])
        return np.broadcast_to(rows, (len(parameter), 3, 3))

    def equations(self, parameter: Array) -> Array:
        """(t, 2, 3) e1 and e2."""
        return np.broadcast_to(self.frame[1:], (len(parameter), 2, 3))

    def edge(self, azimuth: Array) -> Array:
        """(...) zero."""
        return np.zeros(np.shape(azimuth))
