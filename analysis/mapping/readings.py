"""How the angles of a ball joint are read in the mapping analysis: by an Euler sequence, or by a model file's axes."""

from abc import ABC, abstractmethod

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.euler import (
    condition_euler,
    euler_rate_inverse,
    euler_rate_matrix,
    quaternion_from_euler,
)
from myoquat.joints.types import Angles
from myoquat.joints.types.gimbal import inverse_rate_matrix
from myoquat.joints.vectors import matvec, vecmat

__all__ = ["AnglesReading", "Reading", "SequenceReading"]


class Reading(ABC):
    """Three angles phi (..., 3) [rad] of a ball joint, omega = B(phi) phidot in child-frame components."""

    @property
    @abstractmethod
    def label(self) -> str:
        """The name of the angles in titles."""

    @abstractmethod
    def quaternion(self, phi: Array) -> Array:
        """(..., 4) Q."""

    @abstractmethod
    def beside_lock(self, distance: Array, first: Array | float, last: Array | float) -> Array:
        """(..., 3) angles with the second one [rad] away from its lock, inside the interval of the first solution."""

    def outer(self, rng: np.random.Generator) -> tuple[float, float]:
        """First and last rotation [rad] of a random pose beside the lock."""
        first, last = rng.uniform(-np.pi, np.pi, 2)
        return first, last

    @abstractmethod
    def rate_matrix(self, phi: Array) -> Array:
        """(..., 3, 3) B."""

    @abstractmethod
    def rate_inverse(self, phi: Array) -> Array:
        """(..., 3, 3) B^-1."""

    @abstractmethod
    def condition(self, phi: Array) -> Array:
        """(...) condition number of B, or a bound of it that is at most three times as large."""

    def to_spatial(self, J_phi: Array, phi: Array) -> Array:
        """(..., 3) J = J_phi B^-1."""
        return vecmat(J_phi, self.rate_inverse(phi))

    def from_spatial(self, J: Array, phi: Array) -> Array:
        """(..., 3) J_phi = J B."""
        return vecmat(J, self.rate_matrix(phi))

    def rates(self, omega: Array, phi: Array) -> Array:
        """(..., 3) phidot = B^-1 omega."""
        return matvec(self.rate_inverse(phi), omega)


@dataclass(frozen=True)
class SequenceReading(Reading):
    """An Euler sequence."""

    sequence: str

    @property
    def label(self) -> str:
        return self.sequence

    def quaternion(self, phi: Array) -> Array:
        return quaternion_from_euler(phi, self.sequence)

    def beside_lock(self, distance: Array, first: Array | float, last: Array | float) -> Array:
        middle = distance if self.sequence[0] == self.sequence[2] else np.pi / 2 - distance
        return np.stack(np.broadcast_arrays(first, middle, last), axis=-1)

    def rate_matrix(self, phi: Array) -> Array:
        return euler_rate_matrix(phi, self.sequence)

    def rate_inverse(self, phi: Array) -> Array:
        return euler_rate_inverse(phi, self.sequence)

    def condition(self, phi: Array) -> Array:
        return condition_euler(phi, self.sequence)


@dataclass(frozen=True)
class AnglesReading(Reading):
    """The coordinates that the model's file has for the joint, about axes of its own."""

    angles: Angles

    @property
    def label(self) -> str:
        return "(" + ", ".join(self.angles.names) + ")"

    def quaternion(self, phi: Array) -> Array:
        return self.angles.quaternion(phi)

    def outer(self, rng: np.random.Generator) -> tuple[float, float]:
        """Inside the ranges of the coordinates, if there are any: outside, the other triple of the rotation is read."""
        if not self.angles.ranges:
            return super().outer(rng)
        first, _, last = self.angles.rotations(rng.uniform(*np.array(self.angles.ranges).T))
        return first, last

    def beside_lock(self, distance: Array, first: Array | float, last: Array | float) -> Array:
        f = np.stack(np.broadcast_arrays(first, self.angles.beside_lock(distance), last), axis=-1)
        return self.angles.coordinates(f)

    def rate_matrix(self, phi: Array) -> Array:
        return self.angles.rate_matrix(phi)

    def rate_inverse(self, phi: Array) -> Array:
        return inverse_rate_matrix(self.angles, phi)

    def condition(self, phi: Array) -> Array:
        """|B| |B^-1| by Frobenius norms."""
        squares = [np.sum(A * A, axis=(-2, -1)) for A in (self.rate_matrix(phi), self.rate_inverse(phi))]
        result: Array = np.sqrt(squares[0] * squares[1])
        return result
