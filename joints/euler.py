"""Euler sequences: the twelve intrinsic ones, named by capitals as in SciPy.

phi = (p1, p2, p3) [rad], (..., 3): "YZY" means R = Ry(p1) Rz(p2) Ry(p3), child to parent. Proper sequences (first
and last axis alike) lock at sin p2 = 0, the others at cos p2 = 0. Floats, SymPy and CasADi symbols.
"""

from itertools import product

import numpy as np

from myoquat.core.typing import Array, ArrayLike
from myoquat.joints.quaternion import quaternion_multiply
from myoquat.joints.rates import CONDITION_LIMIT
from myoquat.joints.stacking import QUATERNION, VECTOR3, components, transpose, vector
from myoquat.kernels.symbolic.arrays import arctan2, as_array, formula, hypot, is_symbolic

__all__ = [
    "CONDITION_LIMIT",
    "SEQUENCES",
    "axis_rotation",
    "condition_euler",
    "euler_from_quaternion",
    "euler_rate_inverse",
    "euler_rate_matrix",
    "quaternion_from_euler",
    "rotation_matrix_from_euler",
]

SEQUENCES = tuple("".join(s) for s in product("XYZ", repeat=3) if s[0] != s[1] and s[1] != s[2])


def axes(sequence: str) -> tuple[int, int, int]:
    """Axis numbers of a sequence; ValueError if it is not one of the twelve."""
    if not isinstance(sequence, str) or sequence not in SEQUENCES:
        raise ValueError(f"unknown Euler sequence {sequence!r}; known (intrinsic): {', '.join(SEQUENCES)}")
    first, second, third = ("XYZ".index(letter) for letter in sequence)
    return first, second, third


def _handedness(first: int, second: int) -> int:
    """+1 if the axis second follows first cyclically (X, Y, Z), else -1."""
    return 1 if (second - first) % 3 == 1 else -1


def axis_quaternion(angle: Array, axis: int) -> Array:
    """(..., 4) quaternion of a rotation by angle (...) [rad] about coordinate axis 0, 1 or 2."""
    entries: list[ArrayLike] = [np.cos(angle / 2), 0.0, 0.0, 0.0]
    entries[axis + 1] = np.sin(angle / 2)
    return vector(entries)


def axis_rotation(angle: Array, axis: int) -> Array:
    """(..., 3, 3) matrix of a rotation by angle (...) [rad] about coordinate axis 0, 1 or 2."""
    c, s = np.cos(angle), np.sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    columns: dict[int, Array] = {}
    columns[axis] = vector([float(row == axis) + 0.0 * c for row in range(3)])
    columns[i] = vector([c if row == i else s if row == j else 0.0 for row in range(3)])
    columns[j] = vector([c if row == j else -s if row == i else 0.0 for row in range(3)])
    return np.stack([columns[k] for k in range(3)], axis=-1)


@formula(phi=VECTOR3)
def quaternion_from_euler(phi: ArrayLike, sequence: str) -> Array:
    """(..., 4) unit quaternion of Euler angles phi; Q0 may have either sign (continuous in phi).

    >>> import numpy as np
    >>> from myoquat import joints
    >>> joints.quaternion_from_euler([np.pi / 2, 0, 0], "XYZ").round(4)
    array([0.7071, 0.7071, 0.    , 0.    ])
    """
    first, second, third = axes(sequence)
    p1, p2, p3 = components(phi)
    Q = quaternion_multiply(axis_quaternion(p1, first), axis_quaternion(p2, second))
    return quaternion_multiply(Q, axis_quaternion(p3, third))


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
    first, second, third = axes(sequence)
    p1, p2, p3 = components(phi)
    return axis_rotation(p1, first) @ axis_rotation(p2, second) @ axis_rotation(p3, third)


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
    sign = _handedness(first, second)
    proper = first == third
    if not proper:  # R_c(p3) = R_b(-t) R_a(p3) R_b(t), t = sign pi/2: a proper sequence about shifted p2
        Q = quaternion_multiply(Q, axis_quaternion(np.array(-sign * np.pi / 2), second))
    w, v = Q[..., 0], components(Q[..., 1:])
    a, b, c = v[first], v[second], sign * v[3 - first - second]
    p2 = 2 * arctan2(hypot(b, c), hypot(w, a))
    half_sum, half_difference = arctan2(a, w), arctan2(c, b)
    p1, p3 = half_sum + half_difference, half_sum - half_difference
    if not proper and sign > 0:  # (p1, p2, p3) and (p1 + pi, -p2, p3 + pi) are one proper rotation
        p1, p2, p3 = p1 + np.pi, np.pi / 2 - p2, p3 + np.pi
    elif not proper:
        p2 = p2 - np.pi / 2
    return vector([_wrapped(p1), p2, _wrapped(p3)])


def _wrapped(angle: Array) -> Array:
    """The angle in (-pi, pi]; it comes from (-2 pi, 3 pi]."""
    angle = np.where(angle > np.pi, angle - 2 * np.pi, angle)
    return np.where(angle <= -np.pi, angle + 2 * np.pi, angle)


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
    first, second, third = axes(sequence)
    _, p2, p3 = components(phi)
    R3 = transpose(axis_rotation(p3, third))
    R32 = R3 @ transpose(axis_rotation(p2, second))
    last = np.broadcast_to(np.eye(3)[third], R3[..., 0].shape, subok=True)
    return np.stack([R32[..., :, first], R3[..., :, second], last], axis=-1)


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
    if is_symbolic(phi):
        return np.maximum(tangent, 1 / tangent)
    with np.errstate(divide="ignore"):
        return np.maximum(tangent, 1 / tangent)


def check_lock(phi: ArrayLike, sequence: str, function: str) -> None:
    """Raise ValueError if float poses are locked past a condition number of 1e12."""
    if is_symbolic(phi):
        return
    condition = condition_euler(phi, sequence)
    if np.any(condition > CONDITION_LIMIT):
        where = tuple(int(i) for i in np.argwhere(condition > CONDITION_LIMIT)[0])
        raise ValueError(
            f"{function}: {sequence} is in gimbal lock at pose {list(where)} (condition number "
            f"{condition[where]:.3g}); use a quaternion or another sequence there"
        )


@formula(phi=VECTOR3)
def euler_rate_inverse(phi: ArrayLike, sequence: str) -> Array:
    """(..., 3, 3) inverse of B(phi): phidot = B^-1 omega. Raises ValueError past a condition number of 1e12.

    In closed form: the rows are the cross products of the columns of B over its determinant.

    >>> import numpy as np
    >>> from myoquat import joints
    >>> phi = [0.1, 0.2, 0.3]
    >>> np.allclose(joints.euler_rate_inverse(phi, "XYZ") @ joints.euler_rate_matrix(phi, "XYZ"), np.eye(3))
    True
    """
    check_lock(phi, sequence, "euler_rate_inverse")
    B = euler_rate_matrix(phi, sequence)
    b1, b2, b3 = components(B)
    volume = np.sum(b1 * np.cross(b2, b3), axis=-1)
    rows = np.stack([np.cross(b2, b3), np.cross(b3, b1), np.cross(b1, b2)], axis=-2)
    result: Array = rows / volume[..., None, None]
    return result
