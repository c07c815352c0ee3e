"""Limits of a ball joint: a cone of directions and a range of the twist, continuous over all rotations."""

from typing import ClassVar

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.errors import ModelError
from myoquat.joints.functions.base import engaged, engaged_energy
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.quaternion import quaternion_multiply
from myoquat.joints.vectors import axial, dot, matvec
from myoquat.kernels.symbolic.arrays import as_array
from myoquat.muscle.forces.base import MeasuredForce
from myoquat.muscle.forces.rotation_limit import joint_rotation
from myoquat.muscle.loads import unit_vector

__all__ = ["SwingTwistLimit"]

Vector = tuple[float, float, float]
ALL_ROUND = (-np.pi, np.pi)


@dataclass(frozen=True)
class SwingTwistLimit(MeasuredForce):
    """E = k_s e(d_s) + k_t e(d_t), whose torques hold a ball joint inside a cone and a range of twist.

    The forces on d are -k s(d) d, where s rises from 0 to 1 over the `transition` as for a `CoordinateLimit`. The
    function e is the integral of s(d) d; beyond the transition it is d^2 / 2 less a constant.

    R is the rotation of the `body` against the frame of its joint on the parent. It is R = S T with the twist T by the
    angle t about the `axis` a, and the swing S across it. The axis turns to R a, at the angle beta to the `center` c,
    or to a itself if `center` is zero. With the middle m and half width h of the `twist`, and the angle sigma of the
    swing,

        d_s = (cos(swing) - cos(beta)) / sin(swing),
        d_t = cos(sigma / 2)^2 (cos(h) - cos(t - m)) / sin(h), sigma the angle of the swing,

    are positive outside of beta <= `swing` and `twist`[0] <= t <= `twist`[1] [rad], and near their edges they are the
    angles beyond them. Both are linear in the entries of R, and so the potential has continuous torques at every
    rotation. This includes a swing of half a turn, where no twist is determined: there d_t = 0. With r, the axial
    vector of R,

        cos(sigma / 2)^2 = (1 + a . R a) / 2,
        cos(sigma / 2)^2 cos(t - m) = cos(m) (tr R - a . R a) / 2 + sin(m) a . r.

    swing                             in (0, pi), or pi for any direction
    twist                             of a width in (0, 2 pi), or (-pi, pi) for any twist
    swing_stiffness, twist_stiffness  k_s, k_t [N m/rad]
    transition                        [rad]

    The joint may have any description. Raises ModelError for bodies that do not exist and impossible numbers.

    >>> import numpy as np
    >>> from myoquat.muscle.forces import SwingTwistLimit
    >>> limit = SwingTwistLimit("hip limit", "thigh", swing=1.0, twist=(-0.5, 0.5))
    >>> limit.depths(np.eye(3)).round(3)  # well inside
    array([-0.546, -0.255])
    """

    in_joints: ClassVar[bool] = True
    body: str
    swing: float = np.pi
    twist: tuple[float, float] = ALL_ROUND
    axis: Vector = (0.0, 1.0, 0.0)
    center: Vector = (0.0, 0.0, 0.0)
    swing_stiffness: float = 100.0
    twist_stiffness: float = 100.0
    transition: float = 0.05

    def measures(self, system: ArticulatedSystem, q: Array) -> Array:
        """(..., 2) d_s and d_t; 0 where any direction, or any twist, is allowed."""
        return self.depths(joint_rotation(system, self.body, q))

    def force(self, x: Array, rate: Array) -> Array:
        return -as_array([self.swing_stiffness, self.twist_stiffness]) * x * engaged(x, self.transition)

    def depths(self, R: Array) -> Array:
        """(..., 2) d_s and d_t at rotations R (..., 3, 3): the formula, on floats and symbols."""
        a, c = self._directions
        turned = matvec(R, a)
        along, beta = dot(a, turned), dot(c, turned)
        trace = R[..., 0, 0] + R[..., 1, 1] + R[..., 2, 2]
        spin = dot(a, axial(R))
        (lower, upper), half = self.twist, self._half
        middle = (lower + upper) / 2
        cone = (np.cos(self.swing) - beta) / np.sin(self.swing)
        level = (1 + along) / 2 * np.cos(half) - np.cos(middle) * (trace - along) / 2 - np.sin(middle) * spin
        swung, twisted = np.where(self.swing < np.pi, cone, 0.0), np.where(half < np.pi, level / np.sin(half), 0.0)
        return np.stack([swung, twisted], axis=-1)

    @property
    def _directions(self) -> tuple[Array, Array]:
        """(3,), (3,) the unit vectors a and c."""
        axis, center = as_array(self.axis), as_array(self.center)
        return unit_vector(axis), unit_vector(np.where(dot(center, center) > 0, center, axis))

    def stored(self, x: Array) -> Array:
        e = engaged_energy(x, self.transition)
        result: Array = np.sum(as_array([self.swing_stiffness, self.twist_stiffness]) * e, axis=-1)
        return result

    def sample(self, count: int, rng: "np.random.Generator") -> Array:
        """(count, 4) unit quaternions of rotations that lie within the cone and the range, all of them equally likely.

        Directions are even on the cap and twists on the range, since the volume of rotations is sin(beta) dbeta dphi
        dt."""
        a, c = map(np.asarray, self._directions)
        first = np.cross(c, np.eye(3)[np.argmin(np.abs(c))])
        first /= np.linalg.norm(first)
        cosine, phi = rng.uniform(np.cos(min(self.swing, np.pi)), 1.0, count), rng.uniform(0, 2 * np.pi, count)
        across = np.cos(phi)[:, None] * first + np.sin(phi)[:, None] * np.cross(c, first)
        d = cosine[:, None] * c + np.sqrt(1 - cosine**2)[:, None] * across
        S = np.concatenate(
            [1 + d @ a[:, None], np.cross(a, d)], axis=-1
        )  # half way from the identity to turning a to d
        t = rng.uniform(*self.twist, count) / 2
        T = np.concatenate([np.cos(t)[:, None], np.sin(t)[:, None] * a], axis=-1)
        return quaternion_multiply(S / np.linalg.norm(S, axis=-1, keepdims=True), T)

    def check(self, system: ArticulatedSystem) -> None:
        super().check(system)
        self.check_bodies(system, self.body)
        if self.body == system.ground:
            raise ModelError("the ground has no joint", element=self.element)
        if not 0 < self.swing <= np.pi:
            raise ModelError(f"swing must lie in (0, pi], not {self.swing}", element=self.element)
        if not 0 < self._half <= np.pi:
            raise ModelError(f"twist must be a range of a width in (0, 2 pi], not {self.twist}", element=self.element)
        if not self.transition > 0:
            raise ModelError(f"transition must be positive, not {self.transition}", element=self.element)
        if not any(self.axis):
            raise ModelError("axis must not be zero", element=self.element)

    @property
    def _half(self) -> float:
        return (self.twist[1] - self.twist[0]) / 2
