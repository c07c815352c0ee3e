"""Second-order cones s_0 >= |(s_1, s_2, ...)|: formulas on arrays (..., d), d >= 2.

Source: [V] L. Vandenberghe, The CVXOPT linear and quadratic cone program solvers, 2010, sections 4 and 5.
"""

from typing import NamedTuple

import numpy as np

from myoquat.core import Array
from myoquat.joints.vectors import joined, matvec, vecmat, vector


class Scaling(NamedTuple):
    """The Nesterov-Todd scaling of a pair s, z inside the cone: W z = W^-1 s [V, section 4.1].

    W = V diag(values) V^T. V (..., d, d) has its orthonormal eigenvectors as columns, values (..., d) its eigenvalues.
    Near the boundary these differ so much that the entries of W would lose the small ones to rounding.
    """

    V: Array
    values: Array

    def along(self, x: Array) -> Array:
        """(..., d) V^T x."""
        return vecmat(x, self.V)

    def back(self, x: Array) -> Array:
        """(..., d) V x."""
        return matvec(self.V, x)

    def times(self, x: Array) -> Array:
        """(..., d) W x."""
        return self.back(self.values * self.along(x))

    def divides(self, x: Array) -> Array:
        """(..., d) W^-1 x."""
        return self.back(self.along(x) / self.values)


def scaling(s: Array, z: Array) -> Scaling:
    """The scaling of s and z (..., d), both strictly inside.

    With s and z over their sizes, w = (s + J z) / |s + J z| and J = diag(1, -1, ...). With u = w_1 / |w_1| the
    eigenvalues and eigenvectors are

        eta (w_0 + |w_1|)          (1, u) / sqrt(2)
        eta^2 over the first one   (1, -u) / sqrt(2)
        eta                        vectors across these
    """
    size_s, size_z = np.sqrt(inside(s))[..., None], np.sqrt(inside(z))[..., None]
    w = s / size_s + _J(z / size_z)
    w = w / np.sqrt(inside(w))[..., None]
    eta = np.sqrt(size_s / size_z)
    length = np.sqrt(np.sum(w[..., 1:] * w[..., 1:], axis=-1))[..., None]
    turned = length > 0
    u = np.where(turned, w[..., 1:] / np.where(turned, length, 1.0), identity(w.shape[-1] - 1))
    most = eta * (w[..., :1] + length)
    values = joined([most, eta * eta / most, *(w.shape[-1] - 2) * [eta]])
    return Scaling(_basis(u), values)


def _basis(u: Array) -> Array:
    """(..., d, d) columns (1, u), (1, -u) over sqrt(2), and (0, across).

    They come from Householder's reflection that takes the first axis to u or -u [Golub, Van Loan, Matrix Computations,
    section 5.1].
    """
    first = identity(u.shape[-1])
    v = u + np.where(u[..., :1] < 0, -1.0, 1.0) * first
    across = np.eye(u.shape[-1]) - v[..., :, None] * v[..., None, :] * (2 / np.sum(v * v, axis=-1))[..., None, None]
    one, root = 1.0 + 0.0 * u[..., :1], np.sqrt(0.5)
    columns = [joined([root * one, sign * root * u]) for sign in (1, -1)]
    columns += [joined([0.0 * one, across[..., k]]) for k in range(1, u.shape[-1])]
    return vector(columns)


def identity(d: int) -> Array:
    """(d,) e = (1, 0, ...), for which e o x = x."""
    return np.eye(d)[0]


def inside(x: Array) -> Array:
    """(...) x_0^2 - |x_1|^2, positive inside the cone (and inside its mirror image)."""
    rest = np.sqrt(np.sum(x[..., 1:] * x[..., 1:], axis=-1))
    return (x[..., 0] - rest) * (x[..., 0] + rest)


def product(x: Array, y: Array) -> Array:
    """(..., d) x o y = (x . y, x_0 y_1 + y_0 x_1)."""
    first = np.sum(x * y, axis=-1)[..., None]
    return joined([first, x[..., :1] * y[..., 1:] + y[..., :1] * x[..., 1:]])


def divided(x: Array, y: Array) -> Array:
    """(..., d) the r with x o r = y, x inside."""
    first = ((x[..., 0] * y[..., 0] - np.sum(x[..., 1:] * y[..., 1:], axis=-1)) / inside(x))[..., None]
    rest = (y[..., 1:] - first * x[..., 1:]) / x[..., :1]
    return joined([first, rest])


def longest_step(x: Array, change: Array) -> Array:
    """(...) the greatest alpha for which x + alpha change is in the cone, x inside; 1e300 where none leaves it.

    b^2 - a c is never negative, as x lies inside, but zero along x itself, where rounding decides its sign.
    """
    a, c = inside(change), inside(x)
    b = x[..., 0] * change[..., 0] - np.sum(x[..., 1:] * change[..., 1:], axis=-1)
    root = np.sqrt(np.maximum(b * b - a * c, 0.0))
    leaves = root > b
    return np.where(leaves, c / np.where(leaves, root - b, 1.0), 1e300)


def _J(x: Array) -> Array:
    return joined([x[..., :1], -x[..., 1:]])
