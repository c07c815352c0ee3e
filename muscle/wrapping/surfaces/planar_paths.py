"""Taut paths in planes through both ends of a path around an ellipsoid, which scaled by its radii is the unit sphere.

All these planes hold the line between the ends, the *chord*, and cut the sphere in circles. Turned by an angle from the
plane through the centre, a plane lies sin(angle) height off the centre, height being that of the chord; the circle in
it has the radius rho, rho^2 = 1 - sin(angle)^2 height^2, and the chord lies h = cos(angle) height off its centre. The
straight pieces are as long in every plane, as tangents from one point to one sphere. Where the chord runs through the
sphere the path over the circle turns by

    angle = arg((h - i x_a) (h + i x_b) (rho - i t_a) (rho - i t_b)) ,

x_a < 0 < x_b being the ends along the chord, from the point nearest to the centre on, and t the straight pieces. True
lengths are a quadratic form of directions in the plane; that of the arc is an integral over the root of a sine, by
Gauss quadrature.
"""

from dataclasses import dataclass

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.vectors import cross
from myoquat.muscle.wrapping.surfaces.vectors import direction, dot, plane_of, size, unit

__all__ = ["LONG", "Bow", "Chord"]

LONG = 1e3  # [m] that stands for the length of a path that is not looked at
NARROW = 0.1  # least radius of a circle that is looked at, of the unit sphere's
CENTRAL = 1e-8  # height of a chord that runs through the centre, but for rounding
NODES = tuple(zip(*(x.tolist() for x in np.polynomial.legendre.leggauss(5)), strict=True))
MIDDLE, PAIRS = NODES[2], NODES[3:]  # the others are their reflections


@dataclass(frozen=True)
class Bow:
    """A path over the sphere: of the angle by which its plane is turned, the cosine and the sine (...); and how long it
    is, `arc` (...) [m] of its `length` (...) [m] on the surface."""

    cos: Array
    sin: Array
    arc: Array
    length: Array

    def or_else(self, other: "Bow", condition: Array) -> "Bow":
        """The other one where the condition holds."""
        return Bow(
            np.where(condition, other.cos, self.cos),
            np.where(condition, other.sin, self.sin),
            np.where(condition, other.arc, self.arc),
            np.where(condition, other.length, self.length),
        )


@dataclass(frozen=True)
class Chord:
    """The line between the scaled ends. d, w, v (..., 3): along it, from the centre towards the point of it that is
    nearest, and across both; the others (...): where the ends are along it, its height, the straight pieces, and the
    products of d, w, v in true lengths."""

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
        w = np.where((height > CENTRAL)[..., None], direction(foot), plane_of(a, b)[1])
        v = cross(d, w)
        D, W, V = (x * radii for x in (d, w, v))
        products = dot(D, D), dot(D, W), dot(D, V), dot(W, W), dot(W, V), dot(V, V)
        straight = np.sqrt(dot(a, a) - 1.0), np.sqrt(dot(b, b) - 1.0)
        return cls(d, w, v, (dot(a, d), dot(b, d)), height, straight, products)

    def bow(self, cos: Array | float, sin: Array | float) -> Bow:
        """The path in the plane turned by an angle from the one through the centre, around the side to which it is
        turned: beyond a right angle this is the longer way in its plane. Its length is LONG where the circle is narrow
        or not touched."""
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
        total = MIDDLE[1] * np.sqrt(even + odd * c + mixed * s)
        for node, weight in PAIRS:
            cn, sn = np.cos(node * angle), np.sin(node * angle)
            level, rise = even + cn * (odd * c + mixed * s), sn * (odd * s - mixed * c)
            total = total + weight * (np.sqrt(level + rise) + np.sqrt(level - rise))
        arc = 0.5 * angle * rho * total
        none = 0.0 * arc
        length = np.where(wide & (angle > 0), straight[0] + arc + straight[1], LONG)
        return Bow(cos + none, sin + none, arc, length)

    def ends_of(self, bow: Bow) -> tuple[Array, Array]:
        """(..., 3) where a path comes onto the unit sphere, and where it leaves it."""
        h, _, rho = self._circle(bow.cos, bow.sin)
        cos, sin = bow.cos[..., None], bow.sin[..., None]
        up, aside = cos * self.w + sin * self.v, cos * self.v - sin * self.w
        center = -(self.height * bow.sin)[..., None] * aside
        P, Q = (center + (rho * x)[..., None] * self.d + (rho * y)[..., None] * up for x, y in self._spokes(h, rho))
        return P, Q

    def _circle(self, cos: Array | float, sin: Array | float) -> tuple[Array, Array, Array]:
        """The height of the chord over the centre of the circle in a plane, whether this is wide, and its radius."""
        off = sin * self.height
        square = 1.0 - off * off
        wide = square > NARROW**2
        return cos * self.height, wide, np.sqrt(np.where(wide, square, 1.0))

    def _spokes(self, h: Array, rho: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """Unit vectors in the plane to where the path comes onto the circle, and where it leaves it."""
        (xa, xb), (ta, tb) = self.ends, self.straight
        a, b = 1.0 / (rho * rho + ta * ta), 1.0 / (rho * rho + tb * tb)
        return ((rho * xa + ta * h) * a, (rho * h - ta * xa) * a), ((rho * xb - tb * h) * b, (rho * h + tb * xb) * b)
