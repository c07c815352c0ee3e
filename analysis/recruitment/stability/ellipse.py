"""A socket that is longer than wide: an elliptic cone of directions."""

from dataclasses import dataclass

import numpy as np

from myoquat.analysis.recruitment.stability.rule import OrientedRule
from myoquat.core.typing import Array

__all__ = ["EllipticCone"]


@dataclass(frozen=True)
class EllipticCone(OrientedRule):
    """The force f on the parent lies within an elliptic cone.

    The condition is (f . e1 / r1)^2 + (f . e2 / r2)^2 <= (f . n)^2, f . n >= 0. Here n is the unit vector of
    `direction`, e1 that of the part of `axis` across it, and e2 = n x e1. The `ratios` r1, r2 are the tangents of the
    half angles along e1 and e2. All vectors are in the parent's axes.

    For the glenoid, with `axis` to its posterior edge, ratios of 0.34 and 0.61 come from concavity-compression tests
    [I. M. I. Hasan et al., IEEE TNSRE, 2025, 10.1109/TNSRE.2025.3635012].

    Raises ValueError for ratios that are not positive, a vector of length zero, and an axis along the direction.

    >>> from myoquat.analysis.recruitment import EllipticCone
    >>> glenoid = EllipticCone("shoulder", direction=(0, 0, 1), axis=(1, 0, 0), ratios=(0.34, 0.61))
    >>> glenoid.margin([[0.0, 0.5, 1.0], [0.5, 0.0, 1.0]]).round(3)  # [rad] inside along e2, outside along e1
    array([ 0.084, -0.136])
    """

    ratios: tuple[float, float]

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.ratios) != 2 or not all(np.isfinite(r) and r > 0 for r in self.ratios):
            raise ValueError(f"rule of {self.joint!r}: ratios must be two positive numbers, not {self.ratios}")

    def cones(self, parameter: Array) -> Array:
        """(t, 3, 3) the same for all frames."""
        rows = self.frame / np.array([[1.0], [self.ratios[0]], [self.ratios[1]]])
        return np.broadcast_to(rows, (len(parameter), 3, 3))

    def edge(self, azimuth: Array) -> Array:
        """(...) [rad] of the ellipse."""
        first, second = np.cos(azimuth) / self.ratios[0], np.sin(azimuth) / self.ratios[1]
        return np.asarray(np.arctan(1 / np.hypot(first, second)))
