"""Shortest paths around an ellipsoid in planes through both ends. Scaled by its radii the ellipsoid is the unit sphere.

All these planes contain the line between the ends, the *chord*, and cut the sphere in circles. The chord lies at a
distance `height` from the centre. A plane turned by an angle from the plane through the centre lies at a distance
sin(angle) height from the centre. Its circle has the radius rho, rho^2 = 1 - sin(angle)^2 height^2, and the chord lies
h = cos(angle) height off its centre. The straight pieces have the same length in every plane, as tangents from one
point to one sphere. If the chord runs through the sphere, the path over the circle turns by

    angle = arg((h - i x_a) (h + i x_b) (rho - i t_a) (rho - i t_b)) ,

where x_a < 0 < x_b are the ends along the chord, from the point nearest to the centre, and t are the straight pieces.
Lengths before scaling are a quadratic form of directions in the plane. Gauss quadrature integrates that of the arc.
"""

from typing import NamedTuple

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints.vectors import cross, dot

from .base import MAX_DISTANCE_M
from .vectors import direction, gauss_nodes, plane_of, size, unit

MIN_CIRCLE_RADIUS = 0.1  # of a circle that is considered, over the unit sphere's
CENTRAL_CHORD_HEIGHT = 1e-8  # up to which a chord counts as running through the centre
GAUSS_NODES = 3  # an odd number


class PlanarPath(NamedTuple):
    """A path over the sphere in one plane: cosine and sine (...) of the plane's angle, `arc` (...) [m] on the surface,
    and the whole `length` (...) [m]."""

    cos: Array
    sin: Array
    arc: Array
    length: Array


@frozen
class Chord:
    """The line between the scaled ends.

    d         (..., 3) along the line
    w         (..., 3) from the centre towards the nearest point of the line
    v         (..., 3) across both
    ends      (...) each, where the ends are along the line
    height    (...) of the line over the centre
    straight  (...) each, the straight pieces
    products  (...) each, the products of d, w, v in true lengths
    """

    d: Array
    w: Array
    v: Array
    ends: tuple[Array, Array]
    height: Array
    straight: tuple[Array, Array]
    products: tuple[Array, Array, Array, Array, Array, Array]  # dd, dw, dv, ww, wv, vv

    @classmethod
    def between(cls, a: Array, b: Array, radii: Array) -> "Chord":
        """Between two scaled points (..., 3) outside the sphere, on a line that runs through it."""
        d = unit(b - a)
        foot = a - dot(a, d)[..., None] * d
        height = size(foot)
        w = np.where((height > CENTRAL_CHORD_HEIGHT)[..., None], direction(foot), plane_of(a, b)[..., 1, :])
        v = cross(d, w)
        D, W, V = (x * radii for x in (d, w, v))
        products = dot(D, D), dot(D, W), dot(D, V), dot(W, W), dot(W, V), dot(V, V)
        straight = np.sqrt(dot(a, a) - 1.0), np.sqrt(dot(b, b) - 1.0)
        return cls(d, w, v, (dot(a, d), dot(b, d)), height, straight, products)

    def path_at(self, cos: Array | float, sin: Array | float) -> PlanarPath:
        """The path in the plane turned by an angle from the plane through the centre, around the side of the turn.

        Beyond a right angle this is the longer way in its plane. The length is MAX_DISTANCE_M if the circle is
        narrower than MIN_CIRCLE_RADIUS or not touched.
        """
        (xa, xb), (ta, tb), (dd, dw, dv, ww, wv, vv) = self.ends, self.straight, self.products
        h, wide, rho = self._circle(cos, sin)
        re, im = h * h + xa * xb, h * (xb - xa)
        u, v = rho * rho - ta * tb, rho * (ta + tb)
        angle = np.arctan2(im * u - re * v, re * u + im * v)
        angle = np.where((h < 0) & (angle < 0), angle + 2 * np.pi, angle)
        across, mixed = cos * cos * ww + 2 * cos * sin * wv + sin * sin * vv, cos * dw + sin * dv
        even, odd = 0.5 * (dd + across), 0.5 * (dd - across)
        (px, py), (qx, qy) = self._spokes(h, rho)
        straight = [
            t * np.sqrt(even + odd * (y * y - x * x) - 2 * mixed * x * y)
            for t, (x, y) in ((ta, (px, py)), (tb, (qx, qy)))
        ]
        # the path's direction, from that of the chord on, turns from one spoke to the other: cosine and sine of the sum
        c, s = py * qy - px * qx, -px * qy - py * qx
        middle, *pairs = list(zip(*(x.tolist() for x in gauss_nodes(GAUSS_NODES)), strict=True))[GAUSS_NODES // 2 :]
        total = middle[1] * np.sqrt(even + odd * c + mixed * s)
        for node, weight in pairs:  # the others are their reflections
            cn, sn = np.cos(node * angle), np.sin(node * angle)
            level, rise = even + cn * (odd * c + mixed * s), sn * (odd * s - mixed * c)
            total = total + weight * (np.sqrt(level + rise) + np.sqrt(level - rise))
        arc = 0.5 * angle * rho * total
        none = 0.0 * arc
        length = np.where(wide & (angle > 0), straight[0] + arc + straight[1], MAX_DISTANCE_M)
        return PlanarPath(cos + none, sin + none, arc, length)

    def ends_of(self, path: PlanarPath) -> tuple[Array, Array]:
        """(..., 3) where a path comes onto the unit sphere, and where it leaves it."""
        h, _, rho = self._circle(path.cos, path.sin)
        cos, sin = path.cos[..., None], path.sin[..., None]
        up, aside = cos * self.w + sin * self.v, cos * self.v - sin * self.w
        center = -(self.height * path.sin)[..., None] * aside
        P, Q = (center + (rho * x)[..., None] * self.d + (rho * y)[..., None] * up for x, y in self._spokes(h, rho))
        return P, Q

    def _circle(self, cos: Array | float, sin: Array | float) -> tuple[Array, Array, Array]:
        """The height of the chord over the centre of the circle in a plane, whether this is wide, and its radius."""
        off = sin * self.height
        square = 1.0 - off * off
        wide = square > MIN_CIRCLE_RADIUS**2
        return cos * self.height, wide, np.sqrt(np.where(wide, square, 1.0))

    def _spokes(self, h: Array, rho: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """Unit vectors in the plane to where the path comes onto the circle, and where it leaves it."""
        (xa, xb), (ta, tb) = self.ends, self.straight
        a, b = 1.0 / (rho * rho + ta * ta), 1.0 / (rho * rho + tb * tb)
        return ((rho * xa + ta * h) * a, (rho * h - ta * xa) * a), ((rho * xb - tb * h) * b, (rho * h + tb * xb) * b)
