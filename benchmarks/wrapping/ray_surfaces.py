"""Surfaces over which rays are shot: quadrics and tori, each with its outline, geodesics and curvatures.

A body is a row of NUMBERS_PER_SURFACE numbers: center c, axes R as columns (row by row), three of the shape, and 1 for
a cylinder. The numbers of a quadric |k x|^2 = 1 are its inverse half axes k (0 along the axis of a cylinder). Those of
a torus are the radii of its ring and of its tube, and 0. Both are seen from their frames here.
"""

from dataclasses import dataclass

import numpy as np

Array = np.ndarray
NUMBERS_PER_SURFACE = 16
MAX_HALF_TURNS = 1.1, 2.1  # half turns that are followed: of a closed surface, of a cylinder
FORWARD = 48  # steps along half a turn
OVERLAP = 1.02  # of a turn about the axis of a torus, so that no path lies between its last angle and its first


@dataclass(frozen=True)
class Shape:
    """Quadrics. D (..., 3) are the data of the shape that geodesics need."""

    halves: bool = False  # whether the outline is two curves, one in each half of its angles

    def data(self, body: Array) -> Array:
        D: Array = body[..., 12:15] ** 2
        return D

    def step(self, body: Array, v: Array) -> tuple[Array, Array]:
        """(...) [m] of a geodesic in the direction v, and how many steps are followed."""
        cylinder, k = body[..., 15] > 0, body[..., 12:15]
        flat = np.where(cylinder, np.maximum(np.sqrt(v[..., 0] ** 2 + v[..., 1] ** 2), 0.1), 1.0)
        least = np.where(cylinder, k[..., 0], np.minimum(np.minimum(k[..., 0], k[..., 1]), k[..., 2]))
        count = np.where(cylinder, float(round(FORWARD * MAX_HALF_TURNS[1] / MAX_HALF_TURNS[0])), float(FORWARD))
        return MAX_HALF_TURNS[0] * np.pi / least / flat / FORWARD, count

    def outline(self, body: Array, a: Array, u: Array) -> Array:
        """(..., 3) where a line from a touches the surface; u (...) from 0 to 1; of a cylinder half a side."""
        k = body[..., 12:15]
        return np.where(body[..., 15:16] > 0, _cylinder_outline(a, k, u), _closed_outline(a, k, u))

    def normal(self, D: Array, x: Array) -> Array:
        """(..., 3) the outer unit normal."""
        return unit(D * x)

    def bent(self, D: Array, x: Array, v: Array) -> Array:
        """(..., 3) x'' of a geodesic."""
        n = D * x
        return -(dot(v, D * v) / dot(n, n))[..., None] * n

    def curvature(self, D: Array, x: Array) -> Array:
        """(...) [1/m^2] the Gaussian curvature."""
        n = D * x
        K: Array = D[..., 0] * D[..., 1] * D[..., 2] / dot(n, n) ** 2
        return K

    def allowed(self, D: Array, x: Array, y: Array, v: Array) -> Array | bool:
        """(...) whether a string stays on the surface on its way from x to y, in the direction v there."""
        return True


@dataclass(frozen=True)
class _Torus(Shape):
    """Tori, which a path passes through the ring: it does not cross the plane z = 0 outside of it."""

    halves: bool = True

    def data(self, body: Array) -> Array:
        return body[..., 12:15]

    def step(self, body: Array, v: Array) -> tuple[Array, Array]:
        r = body[..., 13]
        return 3.0 * np.pi * r / FORWARD, FORWARD + 0.0 * r

    def outline(self, body: Array, a: Array, u: Array) -> Array:
        """In the plane of an azimuth the line from the projection of a touches the tube's circle on two sides."""
        R, r = body[..., 12], body[..., 13]
        phi = 2 * np.pi * OVERLAP * (2 * np.where(u < 0.5, u, u - 0.5))
        x, y = R - a[..., 0] * np.cos(phi) - a[..., 1] * np.sin(phi), -a[..., 2]
        opening = np.arccos(np.maximum(-r / np.sqrt(x * x + y * y), -1.0))
        psi = np.arctan2(y, x) + np.where(u < 0.5, opening, -opening)
        rho = R + r * np.cos(psi)
        return np.stack([rho * np.cos(phi), rho * np.sin(phi), r * np.sin(psi)], axis=-1)

    def normal(self, D: Array, x: Array) -> Array:
        return unit(x - D[..., :1] * unit(x * np.array([1.0, 1.0, 0.0])))

    def bent(self, D: Array, x: Array, v: Array) -> Array:
        return -self._pressed(D, x, v)[..., None] * self.normal(D, x)

    def _pressed(self, D: Array, x: Array, v: Array) -> Array:
        """(...) [1/m] the normal curvature along v, positive where a string is pressed onto the tube."""
        R, r, rho = D[..., 0], D[..., 1], np.sqrt(x[..., 0] ** 2 + x[..., 1] ** 2)
        around = (x[..., 0] * v[..., 1] - x[..., 1] * v[..., 0]) / rho
        result: Array = (dot(v, v) - around * around) / r + around * around * (rho - R) / (r * rho)
        return result

    def curvature(self, D: Array, x: Array) -> Array:
        R, r, rho = D[..., 0], D[..., 1], np.sqrt(x[..., 0] ** 2 + x[..., 1] ** 2)
        K: Array = (rho - R) / (r * r * rho)
        return K

    def allowed(self, D: Array, x: Array, y: Array, v: Array) -> Array | bool:
        outside = np.sqrt(y[..., 0] ** 2 + y[..., 1] ** 2) > D[..., 0]
        result: Array = (self._pressed(D, y, v) > -1e-6) & ~((x[..., 2] * y[..., 2] < 0) & outside)
        return result


QUADRIC = Shape()
TORUS = _Torus()


def _cylinder_outline(a: Array, k: Array, u: Array) -> Array:
    half = np.where(u < 0.5, u, u - 0.5)
    sense, climb = np.where(u < 0.5, 1.0, -1.0), (half * 2 - 0.5) * np.pi * 0.999
    r, square = 1 / k[..., 0], a[..., 0] ** 2 + a[..., 1] ** 2
    t, f = np.sqrt(square - r * r), r / square
    x, y = f * (r * a[..., 0] - sense * t * a[..., 1]), f * (r * a[..., 1] + sense * t * a[..., 0])
    return np.stack([x, y, a[..., 2] + t * np.sin(climb) / np.cos(climb)], axis=-1)


def _closed_outline(a: Array, k: Array, u: Array) -> Array:
    k = np.where(k > 0, k, 1.0)
    s = a * k
    square = dot(s, s)[..., None]
    aside = np.where(s[..., :1] ** 2 < 0.36 * square, np.array([1.0, 0, 0]), np.array([0, 1.0, 0]))
    e1 = unit(cross(s, aside))
    e2, angle = unit(cross(s, e1)), (2 * np.pi * u)[..., None]
    circle = np.cos(angle) * e1 + np.sin(angle) * e2
    return (s / square + np.sqrt(1 - 1 / square) * circle) / k


def cross(a: Array, b: Array) -> Array:
    (ax, ay, az), (bx, by, bz) = ([x[..., i] for i in range(3)] for x in (a, b))
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-1)


def dot(a: Array, b: Array) -> Array:
    return np.sum(a * b, axis=-1)


def size(v: Array) -> Array:
    return np.sqrt(dot(v, v))


def unit(v: Array) -> Array:
    return v / size(v)[..., None]
