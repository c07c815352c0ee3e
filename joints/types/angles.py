"""The named angles of a ball joint: what a model file called its rotations before they became a quaternion."""

from collections.abc import Sequence
from functools import cached_property, reduce
from operator import matmul
from typing import ClassVar

import numpy as np

from myoquat.core import Array, Pair, Record, frozen
from myoquat.joints.quaternion import quaternion_conjugate, quaternion_from_matrix, quaternion_multiply
from myoquat.joints.ranges import check_ranges
from myoquat.joints.sequences import (
    beside_lock,
    davenport_from_quaternion,
    davenport_rate_matrix,
    euler_from_quaternion,
    lock_sine,
    quaternion_from_davenport,
    unreached_angle,
    wrapped,
)
from myoquat.joints.vectors import axis_angle_matrix, cross, dot, inverse_columns, matvec

MAX_AXIS_COSINE = 1e-9  # cosine between two axes
LEAST_DETERMINANT = 1e-9  # of the matrix between coordinates and rotations
OUT_OF_RANGE_WEIGHT = 1e6  # [rad] of angles outside their ranges against those farther from a triple of reference
Vector3 = tuple[float, float, float]
Branch = tuple[Vector3, ...]


@frozen
class Dependent(Record):
    """A further coordinate of a file that follows one of a ball joint's angles: x = factor x_place + offset.

    `unit` is that of the coordinate in the file, as in `Angles.units`.

    >>> import numpy as np
    >>> from myoquat.joints import Angles, Dependent
    >>> axes = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    >>> glide = Dependent("glide", place=1, factor=0.5, offset=0.25)
    >>> angles = Angles(("plane", "elevation", "rotation"), axes, dependents=(glide,))
    >>> angles.all_names
    ('plane', 'elevation', 'rotation', 'glide')
    >>> angles.coordinate(np.array([0.0, 1.0, 0.0]), place=3)
    np.float64(0.75)
    """

    name: str
    place: int
    factor: float = 1.0
    offset: float = 0.0
    unit: str = "rad"


@frozen
class Angles(Record):
    """R = R(a1, f1) R(a2, f2) R(a3, f3), by angles f that depend linearly on coordinates x = (x1, x2, x3) with `names`.

    Each unit axis a_k is fixed in the frame that the rotations before it have reached. The angles are f_k = factor_k
    y_k + offset_k. Here y is x, or `mixing` x with a matrix (3, 3) if a rotation sums several coordinates.

    Orthogonal axes: with A = [a1 a2 a3], right-handed, A^T R A is the Euler sequence XYZ. A left-handed triple counts
    its third rotation backwards. Other axes: generalized Davenport angles (`myoquat.joints.davenport_from_quaternion`),
    which reach all rotations only if a2 is orthogonal to both others. `dependents` are coordinates that follow one of
    the three.

    `branch` and `ranges` choose between the two triples of a rotation. For orthogonal axes their outer rotations differ
    by half a turn. Without a choice, f2 lies between the two locks around zero. With `ranges` of x, the triple is that
    which leaves them less. If both lie in them, or without ranges, it is that which is nearer to one of the triples x
    of `branch`, or to the middle of the ranges.

    `units` of x are "rad", or "1" where the file's coordinate is no angle (`myoquat.joints.CustomJoint`). Raises
    ValueError for axes that are not unit vectors, for successive ones that are parallel, or a factor of zero.

    >>> import numpy as np
    >>> from myoquat.joints import Angles
    >>> axes = (0.0, 1.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 0.6, 0.8)
    >>> angles = Angles(("plane", "elevation", "rotation"), axes)
    >>> Q = angles.quaternion(np.array([0.25, 0.75, -0.5]))
    >>> angles.values(Q).round(12)
    array([ 0.25,  0.75, -0.5 ])
    """

    constants: ClassVar[tuple[str, ...]] = ("axes", "factors", "offsets", "mixing", "dependents", "ranges", "branch")
    names: tuple[str, str, str]
    axes: tuple[Vector3, Vector3, Vector3]
    factors: Vector3 = (1.0, 1.0, 1.0)
    offsets: Vector3 = (0.0, 0.0, 0.0)
    mixing: tuple[Vector3, Vector3, Vector3] | None = None
    dependents: tuple[Dependent, ...] = ()
    ranges: tuple[tuple[float, float], ...] = ()
    units: tuple[str, str, str] = ("rad", "rad", "rad")
    branch: Branch = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ranges(self, None, "angles: ")
        A = np.array(self.axes, dtype=float)
        if A.shape != (3, 3) or np.abs(np.linalg.norm(A, axis=-1) - 1).max() > MAX_AXIS_COSINE:
            raise ValueError(f"the axes of a ball joint's angles must be three unit vectors, not {self.axes}")
        quaternion_from_davenport(np.zeros(3), self.axes)
        if not all(self.factors):
            raise ValueError(f"the factors of a ball joint's angles must not be zero: {self.factors}")
        if self.mixing is not None and abs(np.linalg.det(np.array(self.mixing))) < LEAST_DETERMINANT:
            raise ValueError(f"the coordinates of a ball joint do not determine its rotations: {self.mixing}")
        if len(self.ranges) not in (0, 3):
            raise ValueError(f"the ranges of a ball joint's angles must be three, not {self.ranges}")

    @property
    def all_names(self) -> tuple[str, ...]:
        """The names of x, then those of the coordinates that follow one of them."""
        return (*self.names, *(dependent.name for dependent in self.dependents))

    @property
    def all_units(self) -> tuple[str, ...]:
        """The units of the coordinates in `all_names`."""
        return (*self.units, *(dependent.unit for dependent in self.dependents))

    @cached_property
    def are_orthogonal(self) -> bool:
        """Whether the three axes are orthogonal to each other: the angles are then an Euler sequence about them."""
        A = np.array(self.axes)
        return bool(np.abs(A @ A.T - np.eye(3)).max() <= MAX_AXIS_COSINE)

    # ---- rotations and coordinates ---------------------------------------------------------------------------

    @cached_property
    def matrix(self) -> Array:
        """(3, 3) df/dx."""
        mixing = np.eye(3) if self.mixing is None else np.array(self.mixing)
        return np.array(self.factors)[:, None] * mixing

    @cached_property
    def periods(self) -> Array:
        """(3,) the least shift of each coordinate x_k [rad] by a full turn: 2 pi / |factor_k| where it turns alone."""
        steps = np.abs(2 * np.pi * np.linalg.inv(self.matrix))
        return np.where(steps > 0, steps, np.inf).min(axis=1)

    def rotations(self, x: Array) -> Array:
        """(..., 3) f [rad] of the coordinates x (..., 3)."""
        scaled = x * np.array(self.factors) if self.mixing is None else matvec(self.matrix, x)
        return scaled + np.array(self.offsets)

    def coordinates(self, f: Array) -> Array:
        """(..., 3) x of the rotations f (..., 3) [rad]."""
        if self.mixing is None:
            return (f - np.array(self.offsets)) / np.array(self.factors)
        return matvec(np.linalg.inv(self.matrix), f - np.array(self.offsets))

    def coordinate(self, x: Array, place: int) -> Array:
        """(...) the coordinate at a place of `all_names`, from x (..., 3)."""
        if place < 3:
            return x[..., place]
        dependent = self.dependents[place - 3]
        return dependent.factor * x[..., dependent.place] + dependent.offset

    def rate_matrix(self, x: Array) -> Array:
        """(..., 3, 3) B with omega = B xdot in child axes; singular in the lock."""
        B = davenport_rate_matrix(self.rotations(x), self.axes)
        if self.mixing is None:
            return B * np.array(self.factors)
        return B @ self.matrix

    # ---- quaternions -----------------------------------------------------------------------------------------

    def quaternion(self, x: Array) -> Array:
        """(..., 4) Q of the coordinates x (..., 3) [rad]."""
        return quaternion_from_davenport(self.rotations(x), self.axes)

    def are_of(self, sequence: str) -> bool:
        """Whether x is phi of an Euler sequence itself: the same axes in order, factors one and offsets zero."""
        plain = self.factors == (1.0, 1.0, 1.0) and self.offsets == (0.0, 0.0, 0.0)
        plain = plain and self.mixing is None and not self.dependents
        return plain and self.axes == tuple(tuple(np.eye(3)["XYZ".index(letter)].tolist()) for letter in sequence)

    def triple(self, Q: Array, second: bool = False) -> Array:
        """(..., 3) rotations f [rad] of Q, all in (-pi, pi], or of the nearest rotation that the axes can reach.

        In the first solution f2 lies in the half turn between two locks that holds zero. `second` gives the other
        solution.
        """
        if not self.are_orthogonal:
            return davenport_from_quaternion(Q, self.axes, second)
        A = np.array(self.axes)
        signs = np.array(
            [1.0, 1.0, np.sign(np.linalg.det(A))]
        )  # the third one counts backwards in a left-handed triple
        frame = quaternion_from_matrix(A.T * signs)
        aligned = quaternion_multiply(quaternion_multiply(quaternion_conjugate(frame), Q), frame)
        f: Array = signs * euler_from_quaternion(aligned, "XYZ")
        return wrapped(f * np.array([1.0, -1.0, 1.0]) + np.pi) if second else f

    def values(self, Q: Array) -> Array:
        """(..., 3) coordinates x [rad] of Q: the first solution of `triple`, or that which `branch` or `ranges` choose.

        In the lock of orthogonal axes, f2 = +-pi/2, only the sum or the difference of the outer rotations is
        determined. One of them is then taken as zero.
        """
        return self.both(Q)[0] if self.ranges or self.branch else self._turned(self.triple(Q))

    def both(self, Q: Array) -> Pair:
        """(..., 3), (..., 3): the coordinates that `values` gives, and those of the other triple of the rotation."""
        x, other = (self._turned(self.triple(Q, second)) for second in (False, True))
        if not (self.ranges or self.branch):
            return x, other
        second = (self._cost(other) < self._cost(x))[..., None]
        return np.where(second, other, x), np.where(second, x, other)

    def is_open(self, Q: Array) -> Array:
        """(...) whether the rotation alone leaves open which of its two triples is meant: both lie in the ranges."""
        if not self.ranges:
            return np.zeros(Q.shape[:-1]) > 0
        x, other = self.both(Q)
        return (self._excess(x) <= 0.0) & (self._excess(other) <= 0.0)

    def _cost(self, x: Array) -> Array:
        """(...) what is less for the triple x (..., 3) that is meant."""
        centers = self.branch or (tuple(np.mean(self.ranges, axis=1)),)
        costs = []  # [rad^2] squared differences, full turns aside
        for center in centers:
            difference = (x - np.array(center)) / self.periods
            turned = (difference - np.floor(difference + 0.5)) * self.periods
            costs.append(dot(turned, turned))
        cost: Array = reduce(np.minimum, costs)
        return cost + OUT_OF_RANGE_WEIGHT * self._excess(x) if self.ranges else cost

    def _turned(self, f: Array) -> Array:
        """(..., 3) coordinates of f (..., 3); one that sums several rotations within half a turn of zero."""
        x = self.coordinates(f)
        if self.mixing is None:
            return x
        periods = 2 * np.pi * np.linalg.inv(self.matrix)
        for k in range(3):
            if periods[k, k]:
                turns = np.floor(x[..., k] / periods[k, k] + 0.5)
                x = x - turns[..., None] * periods[:, k]
        return x

    def _excess(self, x: Array) -> Array:
        """(...) how far coordinates x (..., 3) are outside their ranges, together [rad]."""
        low, high = np.array(self.ranges).T
        return np.sum(np.maximum(np.maximum(low - x, x - high), 0.0), axis=-1)

    # ---- where the angles fail -------------------------------------------------------------------------------

    def lock_sine(self, x: Array) -> Array:
        """(...) |sin| of the angle from the second rotation to the lock: zero in it, one half way between two."""
        return lock_sine(self.rotations(x)[..., 1], self.axes)

    def beside_lock(self, distance: Array) -> Array:
        """(...) second rotation f2 [rad] at a distance (...) from a lock, inside the interval of the first solution."""
        return beside_lock(distance, self.axes)

    def unreached(self, Q: Array) -> Array:
        """(...) angle [rad] from Q to the nearest rotation that the axes can reach; zero where they reach it."""
        return np.zeros(Q.shape[:-1]) if self.are_orthogonal else unreached_angle(Q, self.axes)


# ---- Rotations about successive axes: what Euler, universal and custom joints share -------------------------------
#
# R = R(a1, t1) R(a2, t2) ...: each axis a_k (3,) is fixed in the frame that the rotations before it have reached. In
# child components the axes are b_k = (R(a_k+1) ... )^T a_k, and omega = sum b_k tdot_k.


def successive_rotations(axes: Sequence[Vector3], angles: Sequence[Array]) -> Array:
    """(..., 3, 3) R(a1, t1) R(a2, t2) ...; angles of shape (...) each."""
    return reduce(matmul, map(axis_angle_matrix, axes, angles)) if axes else np.eye(3)


def angular_drift(axes: Sequence[Array], rates: Sequence[Array]) -> Array:
    """(..., 3) rate of omega (child components) at constant tdot: sum over j < k of b_j tdot_j x b_k tdot_k.

    `axes` are the b_k, `rates` the tdot_k of shape (...).
    """
    omega, drift = np.zeros(3), np.zeros(3)
    for b, rate in zip(axes, rates, strict=True):
        step = b * rate[..., None]
        drift = drift + cross(omega, step)
        omega = omega + step
    return drift


def inverse_rate_matrix(angles: Angles, x: Array) -> Array:
    """(..., 3, 3) B^-1, xdot = B^-1 omega."""
    return inverse_columns(angles.rate_matrix(x))
