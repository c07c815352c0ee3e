"""Quaternions as rotations.

Q = (Q0, Q1, Q2, Q3): scalar first (`quaternion_from_scalar_last` converts), Hamilton product, an array of shape
(..., 4) of floats, SymPy or CasADi symbols.
R(Q) takes child-frame components to the parent frame. Every function accepts any nonzero Q, since the stages of an
integrator leave the unit sphere a little; identities that need |Q| = 1 say so. All raise ValueError for a wrong
shape, a number that is not finite, or a zero quaternion.
"""

import numpy as np

from myoquat.core import Array, ArrayLike, check_types, scipy
from myoquat.kernels.symbolic.arrays import ADVICE, as_array, formula, is_symbolic

from .vectors import MATRIX3, QUATERNION, VECTOR3, components, cross, dot, matrix, prescaled, transpose, vector

EXTENSIONS = ("polynomial", "normalized", "homogeneous")
ORTHONORMAL_TOLERANCE = 1e-6  # largest |R^T R - I| of a float matrix that counts as a rotation
ADVICE["Rotation"] = "a SciPy Rotation is no array of numbers: `myoquat.joints.quaternion_from_rotation` takes it"


@formula(Q=QUATERNION)
def rotation_matrix(Q: ArrayLike, extension: str = "polynomial") -> Array:
    """(..., 3, 3) rotation matrix R(Q), child to parent; orthonormal for |Q| = 1.

    `extension` says how R continues off the unit sphere. J_Q depends on it, no torque does.

    "polynomial"   the formula below, as in the muscle Jacobian study
    "normalized"   R(Q/|Q|)
    "homogeneous"  |Q|^2 R(Q/|Q|)

    >>> from myoquat import joints
    >>> joints.rotation_matrix([0.5, 0.5, 0.5, 0.5])  # x -> y -> z -> x
    array([[0., 0., 1.],
           [1., 0., 0.],
           [0., 1., 0.]])
    """
    if extension not in EXTENSIONS:
        raise ValueError(f"unknown extension {extension!r}; known: {', '.join(EXTENSIONS)}")
    w, x, y, z = components(normalize(Q) if extension == "normalized" else Q)
    one = w * w + x * x + y * y + z * z if extension == "homogeneous" else 1
    return matrix(
        [
            [one - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), one - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), one - 2 * (x * x + y * y)],
        ]
    )


@formula(R=MATRIX3)
def quaternion_from_matrix(R: ArrayLike) -> Array:
    """(..., 4) unit quaternion of rotation matrices R (..., 3, 3), with its largest component positive.

    4 Q Q^T is linear in R; the row with the largest diagonal entry is the well-conditioned one. Raises ValueError
    for float matrices that are further than 1e-6 from a rotation.

    >>> from myoquat import joints
    >>> joints.quaternion_from_matrix([[1, 0, 0], [0, -1, 0], [0, 0, -1]])
    array([0., 1., 0., 0.])
    """
    R = as_array(R)
    if not is_symbolic(R):
        error = np.abs(transpose(R) @ R - np.eye(3)).max(axis=(-2, -1), initial=0.0)
        wrong = (error > ORTHONORMAL_TOLERANCE) | (np.linalg.det(R) < 0)
        if np.any(wrong):
            where = tuple(np.argwhere(wrong)[0].tolist())
            raise ValueError(
                f"quaternion_from_matrix: R{list(where) if where else ''} is not a rotation: "
                f"|R^T R - I| = {error[where]:.3g}, det R = {np.linalg.det(R)[where]:.6g}"
            )
    (a, b, c), (d, e, f), (g, h, i) = (components(row) for row in components(transpose(R)))
    rows = [
        vector([1 + a + e + i, h - f, c - g, d - b]), vector([h - f, 1 + a - e - i, b + d, c + g]),
        vector([c - g, b + d, 1 - a + e - i, f + h]), vector([d - b, c + g, f + h, 1 - a - e + i])
    ]  # fmt: skip
    best, diagonal = rows[0], rows[0][..., 0]
    for k in (1, 2, 3):
        larger = rows[k][..., k] > diagonal
        best = np.where(larger[..., None], rows[k], best)
        diagonal = np.where(larger, rows[k][..., k], diagonal)
    return best / _norm(best)[..., None]


@formula(P=QUATERNION, Q=QUATERNION)
def quaternion_multiply(P: ArrayLike, Q: ArrayLike) -> Array:
    """(..., 4) Hamilton product P Q; R(P Q) = R(P) R(Q) for unit P and Q.

    >>> from myoquat import joints
    >>> joints.quaternion_multiply([0, 1.0, 0, 0], [0, 0, 1.0, 0])  # i j = k
    array([0., 0., 0., 1.])
    """
    a, b, c, d = components(P)
    w, x, y, z = components(Q)
    return vector(
        [
            a * w - b * x - c * y - d * z,
            a * x + b * w + c * z - d * y,
            a * y - b * z + c * w + d * x,
            a * z + b * y - c * x + d * w,
        ]
    )


@formula(Q=QUATERNION)
def quaternion_conjugate(Q: ArrayLike) -> Array:
    """(..., 4) conjugate (Q0, -Q1, -Q2, -Q3): the inverse rotation, and Q Q* = |Q|^2.

    >>> from myoquat import joints
    >>> joints.quaternion_conjugate([0.5, 0.5, 0.5, 0.5])
    array([ 0.5, -0.5, -0.5, -0.5])
    """
    w, x, y, z = components(Q)
    return vector([w, -x, -y, -z])


@formula(Q=QUATERNION)
def normalize(Q: ArrayLike) -> Array:
    """(..., 4) Q / |Q|.

    >>> from myoquat import joints
    >>> joints.normalize([3.0, 0, 0, 4.0])
    array([0.6, 0. , 0. , 0.8])
    """
    Q = prescaled(as_array(Q))
    return Q / _norm(Q)[..., None]


def _norm(Q: Array) -> Array:
    return np.sqrt(dot(Q, Q))


@formula(v=VECTOR3)
def quaternion_exp(v: ArrayLike) -> Array:
    """(..., 4) unit quaternion (cos(|v|/2), sin(|v|/2) v/|v|) of the rotation vector v (..., 3) [rad].

    Smooth through v = 0, exact derivatives included: below |v| = 0.1 the series of sin(h)/h stands in, with
    h = |v|/2, to round-off.

    >>> import numpy as np
    >>> from myoquat import joints
    >>> joints.quaternion_exp([np.pi / 2, 0, 0]).round(4)  # a quarter turn about x
    array([0.7071, 0.7071, 0.    , 0.    ])
    """
    v = as_array(v)
    square = dot(v, v) / 4
    small = square < 0.0025
    half = np.sqrt(np.where(small, 1.0, square))
    series = 1 - square / 6 * (1 - square / 20 * (1 - square / 42 * (1 - square / 72)))
    cosine_series = 1 - square / 2 * (1 - square / 12 * (1 - square / 30 * (1 - square / 56)))
    sinc = np.where(small, series, np.sin(half) / half)
    cosine = np.where(small, cosine_series, np.cos(half))
    x, y, z = components(v)
    return vector([cosine, sinc / 2 * x, sinc / 2 * y, sinc / 2 * z])


@formula(Q=QUATERNION)
def quaternion_log(Q: ArrayLike) -> Array:
    """(..., 3) rotation vector v [rad] with quaternion_exp(v) = Q / |Q|; its length lies in [0, 2 pi].

    Lengths above pi belong to Q0 < 0, where -Q gives the shorter way round. At Q = (-1, 0, 0, 0) every axis serves;
    (2 pi, 0, 0) is returned. Smooth through Q = (1, 0, 0, 0), exact derivatives included.

    >>> from myoquat import joints
    >>> joints.quaternion_log([0, 0, 0, 1.0]).round(4)  # half a turn about z
    array([0.    , 0.    , 3.1416])
    """
    w, x, y, z = components(prescaled(as_array(Q)))
    square = x * x + y * y + z * z
    turned = np.logical_and(square <= 0, w < 0)
    small = np.logical_and(square < 1e-3 * w * w, w > 0)  # the series of arctan(s)/s, s = |(x, y, z)|/w
    tangent = np.where(small, square, 0.0) / np.where(small, w * w, 1.0)
    series = 1 - tangent * (1 / 3 - tangent * (1 / 5 - tangent * (1 / 7 - tangent * (1 / 9 - tangent / 11))))
    length = np.sqrt(np.where(np.logical_or(small, square <= 0), 1.0, square))
    ratio = np.where(small, 2 * series / np.where(small, w, 1.0), 2 * np.arctan2(length, w) / length)
    return vector([np.where(turned, 2 * np.pi, ratio * x), ratio * y, ratio * z])


def random_quaternions(n: int | tuple[int, ...], rng: "np.random.Generator") -> Array:
    """(n, 4) unit quaternions, uniform over the sphere (both signs of every rotation); n may be a shape.

    >>> import numpy as np
    >>> from myoquat import joints
    >>> Q = joints.random_quaternions(5, np.random.default_rng(0))
    >>> Q.shape, bool(np.allclose(np.linalg.norm(Q, axis=-1), 1))
    ((5, 4), True)
    """
    check_types(n=(n, (int, np.integer, tuple)), rng=(rng, np.random.Generator))
    shape = (n,) if isinstance(n, (int, np.integer)) else tuple(n)
    return normalize(rng.standard_normal((*shape, 4)))


def quaternion_from_rotation(rotation: "scipy.spatial.transform.Rotation") -> Array:
    """(..., 4) scalar-first unit quaternion of a `scipy.spatial.transform.Rotation`.

    >>> from scipy.spatial.transform import Rotation
    >>> from myoquat import joints
    >>> joints.quaternion_from_rotation(Rotation.from_euler("x", 90, degrees=True)).round(4)
    array([0.7071, 0.7071, 0.    , 0.    ])
    """
    check_types(rotation=(rotation, "scipy.spatial.transform.Rotation"))
    return np.roll(rotation.as_quat(), 1, axis=-1)


@formula(Q=QUATERNION)
def quaternion_from_scalar_last(Q: ArrayLike) -> Array:
    """(..., 4) quaternion (Q0, Q1, Q2, Q3) of one written scalar last, (x, y, z, w), as SciPy, ROS and C3D have it.

    >>> from myoquat.joints import quaternion_from_scalar_last
    >>> quaternion_from_scalar_last([0.6, 0.0, 0.0, 0.8])  # as SciPy, ROS and OpenSim's sensor files have it
    array([0.8, 0.6, 0. , 0. ])
    """
    x, y, z, w = components(Q)
    return vector([w, x, y, z])


@formula(Q=QUATERNION)
def quaternion_to_scalar_last(Q: ArrayLike) -> Array:
    """(..., 4) the quaternion Q = (Q0, Q1, Q2, Q3) written scalar last, (Q1, Q2, Q3, Q0).

    >>> from myoquat.joints import quaternion_to_scalar_last
    >>> quaternion_to_scalar_last([0.8, 0.6, 0.0, 0.0])
    array([0.6, 0. , 0. , 0.8])
    """
    w, x, y, z = components(Q)
    return vector([x, y, z, w])


def rotation_from_quaternion(Q: ArrayLike) -> "scipy.spatial.transform.Rotation":
    """`scipy.spatial.transform.Rotation` of Q (..., 4), which SciPy normalizes.

    >>> from myoquat import joints
    >>> joints.rotation_from_quaternion([0, 0, 0, 1.0]).as_rotvec(degrees=True)
    array([  0.,   0., 180.])
    """
    return scipy.spatial.transform.Rotation.from_quat(np.roll(normalize(Q), -1, axis=-1))


# ---- Rates of rotation vectors: the inverse of the derivative of the exponential map of rotations -----------------


def rotation_vector_rate(v: Array, omega: Array, in_child: bool = True) -> Array:
    """(..., 3) vdot of a rotation vector v (..., 3) [rad] at the angular velocity omega (..., 3) [rad/s] of the child.

    The components of omega are those of the child, with Q = Q0 exp(v), or of the parent, with Q = exp(v) Q0:

        vdot = omega +- v x omega / 2 + (1 - (a/2) cot(a/2)) / a^2 v x (v x omega),  a = |v| < 2 pi,

    with + for the child and - for the parent [A. Iserles et al., Lie-group methods, Acta Numerica 9, 2000, eq. 2.46].
    Smooth through v = 0, derivatives included; singular at a = 2 pi.
    """
    square = dot(v, v)[..., None]
    small = square < 0.01
    a = np.sqrt(np.where(small, 1.0, square))
    series = (1 + square / 60 * (1 + square / 42 * (1 + square / 40))) / 12
    ratio = (1 - a / 2 * np.cos(a / 2) / np.sin(a / 2)) / np.where(small, 1.0, square)
    turned = cross(v, omega)
    half = turned / 2 if in_child else -turned / 2
    return omega + half + np.where(small, series, ratio) * cross(v, turned)
