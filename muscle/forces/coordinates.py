"""Springs, dampers and friction of coordinates, and limits of ball joints."""

from typing import Annotated, ClassVar

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints import ArticulatedSystem, ModelError, quaternion_multiply, rotation_matrix
from myoquat.joints.functions.base import engaged, engaged_energy
from myoquat.joints.ranges import NotNegative, Positive, Range
from myoquat.joints.vectors import axial, dot, matvec, vector
from myoquat.kernels.symbolic.arrays import as_array
from myoquat.muscle.laws.path_affine import dry_friction
from myoquat.muscle.loads import unit_vector

from .base import MeasuredForce

Angle = Annotated[float, Range(0.0, np.pi, open_low=True)]


@frozen
class CoordinateForce(MeasuredForce):
    """A force on the `coordinate` x by name; an angle that a quaternion has replaced can have one too."""

    in_joints: ClassVar[bool] = True
    coordinate: str

    def measures(self, system: ArticulatedSystem, q: Array) -> Array:
        return vector([system.coordinate(self.coordinate, q)])


@frozen
class CoordinateSpring(CoordinateForce):
    """f = -k (x - rest) - c dx/dt on the `coordinate` x by name: OpenSim's SpringGeneralizedForce.

    stiffness  k [N m/rad or N/m]
    rest       [rad or m]
    damping    c [N m s/rad or N s/m]

    The coordinate may be an angle that a quaternion has replaced.

    >>> from myoquat.muscle.forces import CoordinateSpring
    >>> spring = CoordinateSpring("spring", "knee", stiffness=20.0, rest=0.1, damping=0.5)
    >>> spring.force(0.6, 2.0)  # -20 * 0.5 - 0.5 * 2
    -11.0
    """

    stiffness: NotNegative = 0.0
    rest: float = 0.0
    damping: NotNegative = 0.0

    def force(self, x: Array, rate: Array) -> Array:
        return -self.stiffness * (x - self.rest) - self.damping * rate

    def stored(self, x: Array) -> Array:
        d = x[..., 0] - self.rest
        return self.stiffness / 2 * d * d


# ---- Dry friction of a coordinate -----------------------------------------------------------------------------------


@frozen
class CoordinateFriction(CoordinateForce):
    """f = -F tanh((dx/dt) / v_s) on the `coordinate` x by name: Coulomb's dry friction, smooth where x comes to rest.

    friction    F >= 0 [N m or N]
    slip_speed  v_s > 0 [rad/s or m/s], from which on the friction is nearly F

    MuJoCo's `frictionloss` of joints is a soft constraint with the same force where the joint slips. Here a load below
    F moves the coordinate slowly instead of not at all, with less than v_s up to 0.76 F.

    >>> from myoquat.muscle.forces import CoordinateFriction
    >>> friction = CoordinateFriction("friction", "knee", friction=0.5, slip_speed=0.01)
    >>> [float(friction.force(0.3, rate)) for rate in (-1.0, 0.0, 1.0)]
    [0.5, -0.0, -0.5]
    """

    friction: NotNegative = 0.0
    slip_speed: Positive = 0.05

    def force(self, x: Array, rate: Array) -> Array:
        return dry_friction(rate, self.friction, self.slip_speed)


# ---- A limit of the angle by which a ball joint turns, whatever the axis --------------------------------------------


@frozen
class RotationLimit(MeasuredForce):
    """f = -k s(x - x1) (x - x1) - c s(x - x1) dx/dt on the angle x in [0, pi] of a ball joint's rotation vector.

    The rotation is that of the `body` against the frame of its joint on the parent. MuJoCo's limits of ball joints are
    soft constraints of this type.

    upper       x1 in (0, pi] [rad]
    stiffness   k [N m/rad]
    transition  [rad], over which s rises smoothly from 0 to 1 as for a `CoordinateLimit`
    damping     c [N m s/rad]

    The torque acts about the axis of the rotation. At half a turn, where that axis changes its sign, the torque jumps.
    Raises ModelError for a body that does not exist and impossible numbers.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.muscle.forces import RotationLimit
    >>> ball = mq.Body("ball", "ground", mq.joints.SphericalJoint(), mass=1.0, inertia=(1, 1, 1, 0, 0, 0))
    >>> limit = RotationLimit("limit", "ball", upper=1.0, stiffness=10.0, transition=0.01)
    >>> Q = np.array([np.cos(0.6), 0.0, 0.0, np.sin(0.6)])  # 1.2 rad about z
    >>> limit.torque(mq.ArticulatedSystem((ball,)), Q, np.zeros(3)).round(6) + 0.0
    array([ 0.,  0., -2.])
    """

    in_joints: ClassVar[bool] = True
    body: str
    upper: Angle
    stiffness: NotNegative
    transition: Positive
    damping: NotNegative = 0.0

    def measures(self, system: ArticulatedSystem, q: Array) -> Array:
        """(..., 1) x."""
        R = joint_rotation(system, self.body, q)
        r = axial(R)
        square = dot(r, r)
        turned = square > 0  # a root of zero would spoil the derivative
        sine = np.where(turned, np.sqrt(np.where(turned, square, 1.0)), 0.0)
        return np.arctan2(sine, (R[..., 0, 0] + R[..., 1, 1] + R[..., 2, 2] - 1.0) / 2)[..., None]

    def force(self, x: Array, rate: Array) -> Array:
        beyond = x - self.upper
        return -engaged(beyond, self.transition) * (self.stiffness * beyond + self.damping * rate)

    def stored(self, x: Array) -> Array:
        return self.stiffness * engaged_energy(x - self.upper, self.transition)[..., 0]

    def check(self, system: ArticulatedSystem) -> None:
        super().check(system)
        self.check_child(system, self.body, "joint")


def joint_rotation(system: ArticulatedSystem, name: str, q: Array) -> Array:
    """(..., 3, 3) the rotation of a body against the frame of its joint on the parent: the formula."""
    body = system.bodies[system.indices.body(name)]
    poses = system.poses(q)
    frame = poses[body.parent][0] @ rotation_matrix(as_array(body.orientation))
    return np.swapaxes(frame, -1, -2) @ poses[body.name][0]


# ---- Limits of a ball joint -----------------------------------------------------------------------------------------
# Limits of a ball joint: a cone of directions and a range of the twist, continuous over all rotations.


Vector = tuple[float, float, float]
ALL_ROUND = (-np.pi, np.pi)


@frozen
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
    swing: Angle = np.pi
    twist: tuple[float, float] = ALL_ROUND
    axis: Vector = (0.0, 1.0, 0.0)
    center: Vector = (0.0, 0.0, 0.0)
    swing_stiffness: NotNegative = 100.0
    twist_stiffness: NotNegative = 100.0
    transition: Positive = 0.05

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
        return vector([swung, twisted])

    @property
    def _directions(self) -> tuple[Array, Array]:
        """(3,), (3,) the unit vectors a and c."""
        axis, center = as_array(self.axis), as_array(self.center)
        return unit_vector(axis), unit_vector(np.where(dot(center, center) > 0, center, axis))

    def stored(self, x: Array) -> Array:
        e = engaged_energy(x, self.transition)
        return np.sum(as_array([self.swing_stiffness, self.twist_stiffness]) * e, axis=-1)

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
        self.check_child(system, self.body, "joint")
        if not 0 < self._half <= np.pi:
            raise ModelError(f"twist must be a range of a width in (0, 2 pi], not {self.twist}", element=self.element)

    @property
    def _half(self) -> float:
        return (self.twist[1] - self.twist[0]) / 2


# ---- Limits of coordinates ------------------------------------------------------------------------------------------
# Limits of coordinates: forces that set in where a coordinate leaves its range, as ligaments and bones do.


@frozen
class CoordinateLimit(CoordinateForce):
    """A force that brings the `coordinate` x, by name, back into its range: OpenSim's CoordinateLimitForce.

        f = -k_up s(x - upper) (x - upper) + k_low s(lower - x) (lower - x) - c (s(x - upper) + s(lower - x)) dx/dt

    The coordinate may be an angle that a quaternion has replaced. The factor s rises smoothly from 0 to 1 over the
    `transition` t: s(d) = 10 z^3 - 15 z^4 + 6 z^5 with z = d / t within [0, 1].

    lower, upper                      [rad, m or 1: the coordinate's unit]
    lower_stiffness, upper_stiffness  k_low, k_up [N m/rad, N/m or N m]
    transition                        t [the coordinate's unit]
    damping                           c [N m s/rad, N s/m or N m s]

    >>> from myoquat.muscle import CoordinateLimit
    >>> stop = CoordinateLimit("stop", "elbow", 0.0, 2.5, lower_stiffness=50.0, upper_stiffness=50.0, transition=0.1)
    >>> [round(float(stop.force(angle, 0.0)), 6) for angle in (-0.2, 1.0, 2.7)]  # [N m] back into the range
    [10.0, 0.0, -10.0]
    """

    noun: ClassVar[str] = "limit"
    ordered: ClassVar[tuple[tuple[str, str], ...]] = (("lower", "upper"),)
    lower: float
    upper: float
    lower_stiffness: NotNegative
    upper_stiffness: NotNegative
    transition: Positive
    damping: NotNegative = 0.0

    def force(self, x: Array, rate: Array) -> Array:
        above, below = x - self.upper, self.lower - x
        s_above, s_below = engaged(above, self.transition), engaged(below, self.transition)
        spring = self.lower_stiffness * s_below * below - self.upper_stiffness * s_above * above
        return spring - self.damping * (s_above + s_below) * rate

    def stored(self, x: Array) -> Array:
        x = x[..., 0]
        above, below = (engaged_energy(d, self.transition) for d in (x - self.upper, self.lower - x))
        return self.upper_stiffness * above + self.lower_stiffness * below
