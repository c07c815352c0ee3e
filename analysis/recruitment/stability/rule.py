"""The common part of all rules of joint stability: a joint, the direction into its socket, and axes across it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from myoquat.core.typing import Array

__all__ = ["OrientedRule", "SearchedRule", "StabilityRule", "margins_of"]

LENGTH_ROUNDING = 1e-15  # error of the length of a unit vector
PARALLEL_SINE = 1e-6  # sine of the angle below which two directions count as parallel


@dataclass(frozen=True)
class StabilityRule:
    """A condition on the force f that a joint's child presses on its parent with, in the parent's axes.

    `joint` is named by itself or by the body that it carries; `direction` (3,) points into the socket, and is stored
    at length 1. A rule limits the direction of f by second-order cones and equations. The first entry of T f is at
    least the length of the rest, and E f = 0. Both depend on a parameter where the rule is not convex.

    Raises ValueError for a direction of length zero.

    >>> from myoquat.analysis.recruitment import JointCone, StabilityRule
    >>> rule = JointCone("shoulder", (0.0, 0.0, 2.0), half_angle=0.5)
    >>> isinstance(rule, StabilityRule), rule.direction
    (True, (0.0, 0.0, 1.0))
    """

    joint: str
    direction: tuple[float, float, float]

    equation_count: ClassVar[int] = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "direction", _unit_vector(f"rule of {self.joint!r}: direction", self.direction))

    @property
    def frame(self) -> Array:
        """(3, 3) unit vectors in rows, in the parent's axes: the direction n, and two across it, e1 and e2 = n x e1."""
        n = np.array(self.direction)
        across = np.cross(n, np.eye(3)[int(np.argmin(np.abs(n)))])
        across = across / np.linalg.norm(across)
        return np.stack([n, across, np.cross(n, across)])

    def cones(self, parameter: Array) -> Array:
        """(t, 3, 3) T at parameters (t,)."""
        raise NotImplementedError

    def equations(self, parameter: Array) -> Array:
        """(t, k, 3) E at parameters (t,), k = `equation_count`."""
        return np.zeros((len(parameter), 0, 3))

    def outer(self) -> Array:
        """(3, 3) the T of a convex cone around all that the rule allows: no effort of the rule is less than there."""
        found: Array = self.cones(np.zeros(1))[0]
        return found

    def edge(self, azimuth: Array) -> Array:
        """(...) [rad] the greatest angle between f and the direction, for f at angles (...) [rad] about it, from e1
        towards e2."""
        raise NotImplementedError

    def margin(self, force: Array) -> Array:
        """(...) [rad] by how much forces (..., 3) are inside: what is left to the edge; negative outside."""
        along, first, second = np.moveaxis(force @ self.frame.T, -1, 0)
        angle = np.arctan2(np.hypot(first, second), along)
        result: Array = self.edge(np.arctan2(second, first)) - angle
        return result


@dataclass(frozen=True)
class OrientedRule(StabilityRule):
    """A rule for a socket that is not round. e1 is the part of `axis` (3,), in the parent's axes, across the direction.

    Raises ValueError for an axis along the direction too.
    """

    axis: tuple[float, float, float]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "axis", _unit_vector(f"rule of {self.joint!r}: axis", self.axis))
        if np.linalg.norm(np.cross(self.direction, self.axis)) < PARALLEL_SINE:
            raise ValueError(f"rule of {self.joint!r}: axis must not lie along direction, but is {self.axis}")

    @property
    def frame(self) -> Array:
        """(3, 3) unit vectors in rows, in the parent's axes: the direction n, e1, and e2 = n x e1."""
        n, toward = np.array(self.direction), np.array(self.axis)
        across = toward - (toward @ n) * n
        across = across / np.linalg.norm(across)
        return np.stack([n, across, np.cross(n, across)])


class SearchedRule(StabilityRule):
    """A rule that is convex at every value of a parameter, and adds `cost` to the effort. With `monotone` the cones at
    greater parameters hold those at smaller ones, and the cost never falls."""

    monotone: ClassVar[bool]

    @property
    def grid(self) -> Array:
        """(g,) parameters, ascending, at which the search begins."""
        raise NotImplementedError

    def cost(self, parameter: Array) -> Array:
        """(...) what the rule adds to the effort at parameters (...)."""
        raise NotImplementedError

    def parameter_of(self, force: Array) -> Array:
        """(t,) the parameters at which forces (t, 3) are just allowed."""
        raise NotImplementedError


def margins_of(rules: Sequence[StabilityRule], force: Array) -> Array:
    """(t, c) [rad] by how much forces (t, c, 3) in joints are inside the rules; negative outside."""
    if not rules:
        return np.zeros((len(force), 0))
    return np.stack([rule.margin(force[:, j]) for j, rule in enumerate(rules)], axis=-1)


def _unit_vector(what: str, vector: tuple[float, float, float]) -> tuple[float, float, float]:
    """A vector (3,) at length 1; ValueError for one that is not finite, or zero. A unit vector keeps its bits."""
    size = float(np.linalg.norm(vector))
    if len(vector) != 3 or not np.isfinite(size) or size == 0:
        raise ValueError(f"{what} must be a vector (3,), not {vector}")
    size = 1.0 if abs(size - 1) < LENGTH_ROUNDING else size
    return float(vector[0]) / size, float(vector[1]) / size, float(vector[2]) / size
