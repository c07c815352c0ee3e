"""Angles of three successive rotations: Euler sequences about coordinate axes, Davenport sequences about any."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from myoquat.core import Array, ArrayLike, real_array
from myoquat.kernels.symbolic.arrays import as_array, formula, is_symbolic

from .quaternion import quaternion_conjugate, quaternion_multiply, rotation_matrix
from .rates import ill_conditioned
from .vectors import (
    QUATERNION,
    VECTOR3,
    axis_angle_matrix,
    components,
    cross,
    dot,
    inverse_columns,
    joined,
    matvec,
    prescaled,
    vecmat,
    vector,
)

# ---- Euler sequences: the twelve intrinsic ones, named by capitals as in SciPy ------------------------------------
#
# phi = (p1, p2, p3) [rad], (..., 3): "YZY" means R = Ry(p1) Rz(p2) Ry(p3), child to parent. Proper sequences (first
# and last axis alike) lock at sin p2 = 0, the others at cos p2 = 0. Floats, SymPy and CasADi symbols.


SEQUENCES = tuple("".join(s) for s in product("XYZ", repeat=3) if s[0] != s[1] and s[1] != s[2])


def axes(sequence: str) -> tuple[int, int, int]:
    """Axis numbers of a sequence; ValueError if it is not one of the twelve."""
    if not isinstance(sequence, str) or sequence not in SEQUENCES:
        raise ValueError(f"unknown Euler sequence {sequence!r}; known (intrinsic): {', '.join(SEQUENCES)}")
    first, second, third = ("XYZ".index(letter) for letter in sequence)
    return first, second, third


def _axes_of(sequence: str) -> Any:
    """(3, 3) the axes of a sequence."""
    return np.eye(3)[[*axes(sequence)]].tolist()


def axis_quaternion(angle: Array, axis: ArrayLike) -> Array:
    """(..., 4) quaternion of a rotation by angle (...) [rad] about a unit axis (3,)."""
    return joined([np.cos(angle / 2)[..., None], np.sin(angle / 2)[..., None] * as_array(axis)])


@formula(phi=VECTOR3)
def quaternion_from_euler(phi: ArrayLike, sequence: str) -> Array:
    """(..., 4) unit quaternion of Euler angles phi; Q0 may have either sign (continuous in phi).

    >>> import numpy as np
    >>> from myoquat import joints
    >>> joints.quaternion_from_euler([np.pi / 2, 0, 0], "XYZ").round(4)
    array([0.7071, 0.7071, 0.    , 0.    ])
    """
    return quaternion_from_davenport(phi, _axes_of(sequence))


@formula(phi=VECTOR3)
def rotation_matrix_from_euler(phi: ArrayLike, sequence: str) -> Array:
    """(..., 3, 3) R(phi) as the product of three rotations about coordinate axes.

    >>> import numpy as np
    >>> from myoquat import joints
    >>> joints.rotation_matrix_from_euler([0, 0, np.pi / 2], "XYZ").round(4)
    array([[ 0., -1.,  0.],
           [ 1.,  0.,  0.],
           [ 0.,  0.,  1.]])
    """
    R1, R2, R3 = map(axis_angle_matrix, _axes_of(sequence), components(phi))
    return R1 @ R2 @ R3


@formula(Q=QUATERNION)
def euler_from_quaternion(Q: ArrayLike, sequence: str) -> Array:
    """(..., 3) Euler angles of Q, p1 and p3 in (-pi, pi], p2 in [0, pi] or, for three different axes,
    [-pi/2, pi/2].

    With half angles the sum and the difference of p1 and p3 come separately. So R(phi) = R(Q) to round-off also at the
    lock, where only one of the two is determined. The other is taken as zero. Half-angle idea: E. Bernardes, S.
    Viollet, PLoS ONE 17(11), 2022.

    >>> from myoquat import joints
    >>> joints.euler_from_quaternion([0.8, 0.6, 0, 0], "XYZ").round(4)
    array([1.287, 0.   , 0.   ])
    """
    first, second, third = axes(sequence)
    Q = as_array(Q)
    sign = 1 if (second - first) % 3 == 1 else -1  # whether the second axis follows the first (X, Y, Z)
    proper = first == third
    if not proper:  # R_c(p3) = R_b(-t) R_a(p3) R_b(t), t = sign pi/2: a proper sequence about shifted p2
        Q = quaternion_multiply(Q, axis_quaternion(np.array(-sign * np.pi / 2), np.eye(3)[second]))
    w, v = Q[..., 0], components(Q[..., 1:])
    a, b, c = v[first], v[second], sign * v[3 - first - second]
    p2 = 2 * np.arctan2(np.hypot(b, c), np.hypot(w, a))
    half_sum, half_difference = np.arctan2(a, w), np.arctan2(c, b)
    p1, p3 = half_sum + half_difference, half_sum - half_difference
    if not proper and sign > 0:  # (p1, p2, p3) and (p1 + pi, -p2, p3 + pi) are one proper rotation
        p1, p2, p3 = p1 + np.pi, np.pi / 2 - p2, p3 + np.pi
    elif not proper:
        p2 = p2 - np.pi / 2
    return vector([wrapped(p1), p2, wrapped(p3)])


@formula(phi=VECTOR3)
def euler_rate_matrix(phi: ArrayLike, sequence: str) -> Array:
    """(..., 3, 3) matrix B(phi): omega = B phidot, omega in child-frame components.

    Its columns are the three axes seen from the child: R3^T R2^T e1, R3^T e2, e3. Singular at the lock.

    >>> from myoquat import joints
    >>> joints.euler_rate_matrix([0.0, 0.0, 0.0], "XYZ")  # omega = phidot at the neutral pose
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    return davenport_rate_matrix(phi, _axes_of(sequence))


@formula(phi=VECTOR3)
def condition_euler(phi: ArrayLike, sequence: str) -> Array:
    """(...) condition number of B(phi): 1 half way between locks, infinite at a lock.

    The first and third axis enclose an angle with cosine c. The singular values of B are sqrt(1 +- |c|) and 1. The
    condition number is therefore |cot(a/2)|, where a is the angle to the nearer lock. This form keeps full accuracy
    beside the lock.

    >>> import numpy as np
    >>> from myoquat import joints
    >>> joints.condition_euler([0.0, np.pi / 2, 0.0], "YZY").round(4)  # half way between two locks
    np.float64(1.0)
    """
    first, _, third = axes(sequence)
    phi = as_array(phi)
    angle = phi[..., 1] if first == third else phi[..., 1] + np.pi / 2
    tangent = np.abs(np.tan(angle / 2))
    with np.errstate(divide="ignore"):
        return np.maximum(tangent, 1 / tangent)


def check_lock(phi: ArrayLike, sequence: str, function: str) -> None:
    """Raise ValueError if float poses are locked past a condition number of 1e12."""
    if is_symbolic(phi):
        return
    condition = condition_euler(phi, sequence)
    if (where := ill_conditioned(condition)) is not None:
        raise ValueError(
            f"{function}: {sequence} is in gimbal lock at pose {list(where)} (condition number "
            f"{condition[where]:.3g}); use a quaternion or another sequence there"
        )


@formula(phi=VECTOR3)
def euler_rate_inverse(phi: ArrayLike, sequence: str) -> Array:
    """(..., 3, 3) inverse of B(phi): phidot = B^-1 omega. Raises ValueError past a condition number of 1e12.

    In closed form (`myoquat.joints.vectors.inverse_columns`).

    >>> import numpy as np
    >>> from myoquat import joints
    >>> phi = [0.1, 0.2, 0.3]
    >>> np.allclose(joints.euler_rate_inverse(phi, "XYZ") @ joints.euler_rate_matrix(phi, "XYZ"), np.eye(3))
    True
    """
    check_lock(phi, sequence, "euler_rate_inverse")
    return inverse_columns(euler_rate_matrix(phi, sequence))


# --------------------------------------------------------------------------------------------------------------
#
# Generalized Davenport angles: three rotations about any fixed axes, R = R(a1, f1) R(a2, f2) R(a3, f3).
#
# Each unit axis a_k is fixed in the frame that the rotations before it have reached. R takes child components to the
# parent frame. Let g1 be the angle between a1 and a2, g3 that between a2 and a3, and theta that between a1 and R a3.
# The spherical law of cosines holds on the triangle a1, a2, R(a2, f2) a3:
#
#     cos theta = cos g1 cos g3 + sin g1 sin g3 cos(f2 - f*),  f* = atan2(a1 . (a2 x a3), a1 . a3 - cos g1 cos g3).
#
# A rotation is reached if and only if |g1 - g3| <= theta <= min(g1 + g3, 2 pi - g1 - g3). Two triples reach it, f2 =
# f* + t and f2 = f* - t, which meet at the lock, sin t = 0. All rotations are reached if and only if a2 is orthogonal
# to both others. The angle from any other rotation to the nearest one that is reached is the amount by which theta
# exceeds its bounds.
#
# Sources: P. B. Davenport, Rotations about nonorthogonal axes, AIAA Journal 11(6), 1973, pp. 853-857; M. D. Shuster,
# F. L. Markley, Generalization of the Euler angles, Journal of the Astronautical Sciences 51(2), 2003, pp. 123-132,
# eqs. 14-27; half-angle formulas of the spherical triangle, which keep full accuracy beside the lock.


PARALLEL_SINE = 1e-6  # least sine of the angle between two successive axes
LOCK_AT_ZERO = 1e-9  # [rad] f* this close to 0 or +-pi counts as there, so that f2 = 0 is an end of its interval
Axes = Sequence[Sequence[float]]


def _axes(axes: Axes) -> tuple[Array, Array, Array]:
    """The three unit axes (3,); ValueError unless they are three vectors of which successive ones differ."""
    A = real_array("axes", axes)
    if A.shape != (3, 3) or not np.isfinite(A).all():
        raise ValueError(f"axes must be three finite vectors of three numbers, not {axes}")
    lengths = np.linalg.norm(A, axis=-1, keepdims=True)
    if not lengths.all():
        raise ValueError(f"an axis must not have length zero: {axes}")
    a1, a2, a3 = A / lengths
    if min(np.linalg.norm(np.cross(a1, a2)), np.linalg.norm(np.cross(a2, a3))) < PARALLEL_SINE:
        raise ValueError(f"two successive axes must not be parallel: {axes}")
    return a1, a2, a3


def _middle(a1: Array, a2: Array, a3: Array) -> tuple[float, float]:
    """(f*, s): where the solutions meet, and the sign s of the first solution f2 = f* + s t with t in [0, pi].

    The interval of the first solution holds f2 = 0.
    """
    start = float(np.arctan2(a1 @ np.cross(a2, a3), a1 @ a3 - (a1 @ a2) * (a2 @ a3)))
    if abs(start) < LOCK_AT_ZERO:
        return start, 1.0
    return start, 1.0 if start < 0 and start > LOCK_AT_ZERO - np.pi else -1.0


@formula(Q=QUATERNION)
def davenport_from_quaternion(Q: ArrayLike, directions: Axes, second: bool = False) -> Array:
    """(..., 3) angles f [rad] of Q about three axes, `directions` (3, 3), in (-pi, pi].

    Where the axes cannot reach Q, the angles are those of the nearest rotation that they can reach; `unreached_angle`
    says how far it is.

    The first of the two solutions has f2 in the half turn from a lock to the next one that holds zero. `second` gives
    the other. In the lock of orthogonal axes only the sum or the difference of f1 and f3 is determined, and f3 follows
    from f1. Therefore R(f) = R(Q) everywhere. Raises ValueError for successive axes that are parallel.

    >>> import numpy as np
    >>> from myoquat import joints
    >>> axes = (0, 1, 0), (-1, 0, 0), (-0.1, 1, 0)  # the third one is six degrees off
    >>> Q = joints.quaternion_from_davenport([0.3, 0.8, -0.5], axes)
    >>> joints.davenport_from_quaternion(Q, axes).round(12)
    array([ 0.3,  0.8, -0.5])
    """
    (a1, a2, a3), Q = _axes(directions), prescaled(as_array(Q))
    v, theta, g1, g3 = _triangle(Q, (a1, a2, a3))
    N = np.sin((theta + g1 - g3) / 2) * np.sin((theta - g1 + g3) / 2)
    D = np.sin((g1 + g3 + theta) / 2) * np.sin((g1 + g3 - theta) / 2)
    start, sign = _middle(a1, a2, a3)
    n, d = _root(N) * (-sign if second else sign), _root(D)  # tan(t / 2) = |n| / d; f2 = start + t or start - t
    s, c = np.sin(start / 2) * d + np.cos(start / 2) * n, np.cos(start / 2) * d - np.sin(start / 2) * n
    f2 = np.arctan2(2 * s * c, c * c - s * s)
    w = matvec(axis_angle_matrix(a2, f2), a3)
    v, w = _across(v, a1), _across(w, a1)
    f1 = np.arctan2(dot(a1, cross(w, v)), dot(w, v))
    before = quaternion_multiply(axis_quaternion(f1, a1), axis_quaternion(f2, a2))
    rest = quaternion_multiply(quaternion_conjugate(before), Q)
    s, c = dot(rest[..., 1:], a3), rest[..., 0]
    return vector([f1, f2, np.arctan2(2 * s * c, c * c - s * s)])


def _triangle(Q: Array, axes: tuple[Array, Array, Array]) -> tuple[Array, Array, float, float]:
    """R(Q) a3 (..., 3), whatever the length of Q, the angle theta (...) to full accuracy at 0 and pi, g1 and g3."""
    a1, a2, a3 = axes
    v = matvec(rotation_matrix(Q, "homogeneous"), a3) / dot(Q, Q)[..., None]
    apart, along = v - a1, v + a1
    theta = 2 * np.arctan2(np.sqrt(dot(apart, apart)), np.sqrt(dot(along, along)))
    g1, g3 = (float(np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b)) for a, b in ((a1, a2), (a2, a3)))
    return v, theta, g1, g3


def _across(v: Array, a: Array) -> Array:
    """(..., 3) the part of v (..., 3) orthogonal to a unit vector a (3,)."""
    return v - dot(a, v)[..., None] * a


def _root(x: Array) -> Array:
    """sqrt(x), and zero with its derivative where x is negative."""
    positive = x > 0
    return np.where(positive, np.sqrt(np.where(positive, x, 1.0)), 0.0)


def wrapped(angle: Array) -> Array:
    """The angle in (-pi, pi]; it comes from (-3 pi, 3 pi]."""
    angle = np.where(angle > np.pi, angle - 2 * np.pi, angle)
    return np.where(angle <= -np.pi, angle + 2 * np.pi, angle)


@formula(phi=VECTOR3)
def quaternion_from_davenport(phi: ArrayLike, directions: Axes) -> Array:
    """(..., 4) unit quaternion of rotations by phi (..., 3) [rad] about three axes (3, 3); Q0 may have either sign.

    >>> import numpy as np
    >>> from myoquat import joints
    >>> joints.quaternion_from_davenport([np.pi / 2, 0, 0], [(1, 0, 0), (0, 1, 0), (0, 0, 1)]).round(4)
    array([0.7071, 0.7071, 0.    , 0.    ])
    """
    turns = [*map(axis_quaternion, components(phi), _axes(directions))]
    return quaternion_multiply(quaternion_multiply(turns[0], turns[1]), turns[2])


@formula(phi=VECTOR3)
def davenport_rate_matrix(phi: ArrayLike, directions: Axes) -> Array:
    """(..., 3, 3) matrix B(phi): omega = B phidot, omega in child-frame components.

    Its columns are the axes seen from the child: R3^T R2^T a1, R3^T a2, a3. Its determinant is -sin g1 sin g3 sin(f2 -
    f*).

    >>> from myoquat import joints
    >>> joints.davenport_rate_matrix([0.0, 0.0, 0.0], [(0, 1, 0), (1, 0, 0), (0, 0, 1)])
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 1.]])
    """
    return vector(child_axes(_axes(directions), components(phi)))


def child_axes(axes: Sequence[ArrayLike], angles: Sequence[Array]) -> list[Array]:
    """The axes b_k (..., 3) in child components."""
    seen: list[Array] = []
    for axis, angle in zip(axes, angles, strict=True):
        if seen:
            R = axis_angle_matrix(axis, angle)
            seen = [vecmat(b, R) for b in seen]
        seen.append(np.asarray(axis, dtype=float))
    return seen


def condition_davenport(phi: ArrayLike, directions: Axes) -> Array:
    """(...) condition number of B(phi) by its singular values, floats only: infinite, or past 1e15, in the lock.

    >>> from myoquat import joints
    >>> joints.condition_davenport([0.3, 0.0, 0.1], [(1, 0, 0), (0, 1, 0), (0, 0, 1)]).round(12)
    np.float64(1.0)
    """
    return np.linalg.cond(davenport_rate_matrix(real_array("phi", phi), directions))


def beside_lock(distance: Array, directions: Axes) -> Array:
    """(...) second angle f2 [rad] at a distance (...) from the lock f*, inside the interval of the first solution."""
    start, sign = _lock_angle(tuple(map(tuple, directions)))
    return start + sign * distance


def lock_sine(f2: Array, directions: Axes) -> Array:
    """(...) |sin(f2 - f*)| of the second angle f2 [rad]: zero in the lock, one half way between two locks; |cos f2| for
    orthogonal axes."""
    start, _ = _lock_angle(tuple(map(tuple, directions)))
    return np.abs(np.sin(f2 - start))


@lru_cache(maxsize=256)
def _lock_angle(directions: tuple[tuple[float, ...], ...]) -> tuple[float, float]:
    """The first result of `_middle`, kept for each set of axes, since every call of forward dynamics needs it."""
    return _middle(*_axes(directions))


@formula(Q=QUATERNION)
def unreached_angle(Q: ArrayLike, directions: Axes) -> Array:
    """(...) angle [rad] from Q to the nearest rotation that three axes (3, 3) can reach; zero where they reach it.

    >>> import numpy as np
    >>> from myoquat import joints
    >>> axes = (0, 1, 0), (-1, 0, 0), (-0.1, 1, 0)
    >>> joints.unreached_angle([1.0, 0, 0, 0], axes).round(12)
    np.float64(0.0)
    >>> back = joints.quaternion_exp([0.0, 0.0, -np.arctan(0.1)])  # takes the third axis onto the first
    >>> np.degrees(joints.unreached_angle(back, axes)).round(4)
    np.float64(5.7106)
    """
    _, theta, g1, g3 = _triangle(prescaled(as_array(Q)), _axes(directions))
    least, most = abs(g1 - g3), min(g1 + g3, 2 * np.pi - g1 - g3)
    return np.maximum(np.maximum(least - theta, theta - most), 0.0)
