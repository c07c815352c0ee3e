"""Sockets that may be left, at a price: penalties on the angle between the force and the direction."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from myoquat.analysis.recruitment.stability.rule import SearchedRule
from myoquat.core.typing import Array

__all__ = ["ConditionalPenalty", "CurvedPenalty", "DirectionPenalty", "PlanarPenalty"]

MIN_TANGENT, MAX_TANGENT = 1e-3, 1e3  # of the half angles, in the search


@dataclass(frozen=True)
class DirectionPenalty(SearchedRule):
    """Adds weight * p(s) to the effort, where s is the tangent of an angle of the force f on the parent.

    The angle is that to the unit vector n of `direction`: s = |f - (n . f) n| / (n . f), n . f >= 0. p never falls with
    s.

    The sum is not convex. For a given bound on s the forces form a round cone, which is convex. `redundancy` therefore
    searches s: the least of effort plus penalty over all cones is that of the rule.

    Raises ValueError for a weight that is negative or not finite, and a direction of length zero.
    """

    weight: float = 3.0

    monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (np.isfinite(self.weight) and self.weight >= 0):
            raise ValueError(f"rule of {self.joint!r}: weight must not be negative, but is {self.weight}")

    def penalty(self, tangent: Array) -> Array:
        """(...) p at tangents s (...)."""
        raise NotImplementedError

    def cones(self, parameter: Array) -> Array:
        """(t, 3, 3) round cones whose half angles have the tangents (t,)."""
        width = np.stack([np.ones(len(parameter)), parameter, parameter], axis=-1)
        found: Array = self.frame / width[..., None]
        return found

    def edge(self, azimuth: Array) -> Array:
        """(...) [rad] a right angle: only forces out of the socket are excluded."""
        return np.full(np.shape(azimuth), np.pi / 2)

    # ---- the search ------------------------------------------------------------------------------------------

    @property
    def grid(self) -> Array:
        """(32,) tangents at which the search begins."""
        return np.geomspace(MIN_TANGENT, MAX_TANGENT, 32)

    def cost(self, parameter: Array) -> Array:
        """(t,) weight * p."""
        found: Array = self.weight * self.penalty(parameter)
        return found

    def parameter_of(self, force: Array) -> Array:
        """(t,) the tangents of the angles between forces (t, 3) and the direction, within the search's span."""
        along, first, second = np.moveaxis(force @ self.frame.T, -1, 0)
        across = np.hypot(first, second)
        steep = across >= MAX_TANGENT * along
        return np.clip(np.where(steep, MAX_TANGENT, across / np.where(steep, 1.0, along)), MIN_TANGENT, MAX_TANGENT)

    def outer(self) -> Array:
        """(3, 3) the half space n . f >= 0: no effort of the rule is less than there."""
        found: Array = self.frame * np.array([[1.0], [0.0], [0.0]])
        return found


@dataclass(frozen=True)
class PlanarPenalty(DirectionPenalty):
    """p(s) = s^2: the part of the force along a flat socket over the part into it, squared ["planar" in I. M. I. Hasan
    et al., IEEE TNSRE, 2025, 10.1109/TNSRE.2025.3635012].

    >>> from myoquat.analysis.recruitment import PlanarPenalty
    >>> PlanarPenalty("shoulder", direction=(0, 0, 1)).cost([0.5])  # 3 * 0.25
    array([0.75])
    """

    def penalty(self, tangent: Array) -> Array:
        """(...) s^2."""
        return np.square(tangent)


@dataclass(frozen=True)
class ConditionalPenalty(DirectionPenalty):
    """p(s) = s^2 where s > `ratio`, and 0 elsewhere: leaving a round socket costs, the more the farther ["conditional"
    in I. M. I. Hasan et al., IEEE TNSRE, 2025, 10.1109/TNSRE.2025.3635012].

    Raises ValueError for a ratio outside (0.001, 1000) too.

    >>> from myoquat.analysis.recruitment import ConditionalPenalty
    >>> ConditionalPenalty("shoulder", direction=(0, 0, 1)).cost([0.4, 1.0])
    array([0., 3.])
    """

    ratio: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not MIN_TANGENT < self.ratio < MAX_TANGENT:
            raise ValueError(
                f"rule of {self.joint!r}: ratio must lie in ({MIN_TANGENT}, {MAX_TANGENT}), not {self.ratio}"
            )

    def penalty(self, tangent: Array) -> Array:
        """(...) s^2 beyond the ratio."""
        s = np.asarray(tangent, dtype=float)
        return np.where(s > self.ratio, s * s, 0.0)

    @property
    def grid(self) -> Array:
        """(33,) tangents at which the search begins, the ratio among them."""
        return np.sort(np.append(super().grid, self.ratio))


@dataclass(frozen=True)
class CurvedPenalty(DirectionPenalty):
    """p = tan(alpha)^2, alpha the angle [rad] between the force and the normal of a spherical socket where it crosses
    that ["curve" in I. M. I. Hasan et al., IEEE TNSRE, 2025, 10.1109/TNSRE.2025.3635012].

    The line of the force at the angle theta starts at the centre of the head. This is `offset` [m] from the centre of
    the socket's sphere of `radius` [m]. The line crosses the sphere after the distance d:

        d = sqrt(radius^2 - (offset sin(theta))^2) - offset cos(theta)
        alpha = theta - asin(d sin(theta) / radius)

    Raises ValueError unless 0 <= offset < radius too.

    >>> from myoquat.analysis.recruitment import CurvedPenalty
    >>> CurvedPenalty("shoulder", direction=(0, 0, 1), radius=0.1, offset=0.06).cost([0.5]).round(4)
    array([0.2328])
    """

    radius: float = 0.1
    offset: float = 0.065

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.offset < self.radius < np.inf:
            raise ValueError(
                f"rule of {self.joint!r}: 0 <= offset < radius is needed, not {self.offset} and {self.radius}"
            )

    def penalty(self, tangent: Array) -> Array:
        """(...) tan(alpha)^2."""
        theta = np.arctan(tangent)
        sine, cosine = np.sin(theta), np.cos(theta)
        along = np.sqrt(self.radius**2 - (self.offset * sine) ** 2) - self.offset * cosine
        return np.asarray(np.tan(theta - np.arcsin(along * sine / self.radius)) ** 2)
