"""A socket whose edge was measured: a star-shaped cone of directions, convex or not."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from myoquat.analysis.recruitment.stability.rule import OrientedRule, SearchedRule
from myoquat.core.typing import Array

__all__ = ["GLENOID_POLYNOMIAL", "BorderCone"]

FULL_TURN = 2 * np.pi
# The stability ratio of the glenoid about its axis, from concavity-compression tests. They are coefficients of powers 0
# to 6 of the angle [rad] from its superior edge over the anterior one. Source: I. M. I. Hasan et al., IEEE TNSRE, 2025,
# 10.1109/TNSRE.2025.3635012; there in percent and degrees.
_PER_DEGREE = (50.915928515941545, 0.116047310713347, -0.024526120335986, 3.899916118022262e-4,
               -2.309728860559176e-6, 5.880441464447251e-9, -5.430378773797311e-12)  # fmt: skip
GLENOID_POLYNOMIAL = tuple(c / 100 * (180 / np.pi) ** k for k, c in enumerate(_PER_DEGREE))


@dataclass(frozen=True)
class BorderCone(OrientedRule, SearchedRule):
    """The force f on the parent crosses the socket within its measured border: |f - (n . f) n| <= r(a) n . f.

    a is the angle [rad] of f about the direction, from e1 towards e2. With x = a - `start` in [0, 2 pi), r(a) = sum_k
    c_k x^k, and `polynomial` holds the c_k. The unit vector of `direction` is n. That of the part of `axis` across it
    is e1, and e2 = n x e1. The default border is that of the glenoid, with `axis` from its centre to its posterior edge
    [I. M. I. Hasan et al., IEEE TNSRE, 2025, 10.1109/TNSRE.2025.3635012].

    The cone need not be convex. `redundancy` therefore searches the angle a. For one angle the forces form a plane
    sector, which is convex. The least effort over all angles is that of the rule.

    Raises ValueError for a border that is not positive, a vector of length zero, and an axis along the direction.

    >>> from myoquat.analysis.recruitment import BorderCone
    >>> glenoid = BorderCone("shoulder", direction=(0, 0, 1), axis=(1, 0, 0))
    >>> glenoid.ratio([0.0, 1.5708]).round(3)  # along e1 and e2
    array([0.296, 0.509])
    """

    polynomial: tuple[float, ...] = GLENOID_POLYNOMIAL
    start: float = np.pi / 2

    monotone: ClassVar[bool] = False
    equation_count: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.ratio(np.linspace(0, FULL_TURN, 721)) > 0).all():
            raise ValueError(f"rule of {self.joint!r}: the border r(a) must be positive at all angles")

    def ratio(self, angle: Array) -> Array:
        """(...) r at angles (...) [rad]."""
        past = np.mod(np.asarray(angle, dtype=float) - self.start, FULL_TURN)
        return np.asarray(np.polynomial.polynomial.polyval(past, self.polynomial))

    def cones(self, parameter: Array) -> Array:
        """(t, 3, 3) of the sector 0 <= e . f <= r n . f in the plane of n and e = cos(a) e1 + sin(a) e2."""
        n, e1, e2 = self.frame
        e = np.cos(parameter)[:, None] * e1 + np.sin(parameter)[:, None] * e2
        half = self.ratio(parameter)[:, None] / 2 * n
        return np.stack([half, e - half, np.zeros(half.shape)], axis=1)

    def equations(self, parameter: Array) -> Array:
        """(t, 1, 3) the normal of the sector's plane."""
        _, e1, e2 = self.frame
        normal: Array = np.cos(parameter)[:, None] * e2 - np.sin(parameter)[:, None] * e1
        return normal[:, None]

    def edge(self, azimuth: Array) -> Array:
        """(...) [rad] of the border."""
        return np.asarray(np.arctan(self.ratio(azimuth)))

    # ---- the search ------------------------------------------------------------------------------------------

    @property
    def grid(self) -> Array:
        """(36,) angles [rad] at which the search begins."""
        angles: Array = np.arange(36) * FULL_TURN / 36
        return angles

    def cost(self, parameter: Array) -> Array:
        """(t,) zero: the border is a condition, not a part of the effort."""
        return np.zeros(len(parameter))

    def parameter_of(self, force: Array) -> Array:
        """(t,) [rad] the angles of forces (t, 3) about the direction."""
        _, first, second = np.moveaxis(force @ self.frame.T, -1, 0)
        return np.asarray(np.mod(np.arctan2(second, first), FULL_TURN))

    def outer(self) -> Array:
        """(3, 3) the round cone around the border: no effort of the rule is less than there."""
        widest = float(self.ratio(np.linspace(0, FULL_TURN, 7201)).max())
        found: Array = self.frame / np.array([[1.0], [widest], [widest]])
        return found
