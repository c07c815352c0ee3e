"""Shortest paths through a ring by their moment about its axis.

On a surface of revolution rho^2 phi' = c is constant along a geodesic (Clairaut's relation). It is also constant along
a straight line, and at a tangent point both have the same direction. So the whole path, on and off the tube, has one
moment c [m]. It is that of its unit direction about the axis of the ring, the z axis here.

A point of the tube is at azimuth phi around the ring of radius R, and at angle psi around the tube of radius r. The
innermost points have psi = pi. The variable u = tan((psi - pi) / 2) replaces psi, since rho (1 + u^2) = h + H u^2. The
radii of the hole and of the rim are h = R - r and H = R + r. The integrals along a geodesic are over w with sinh w = u
sqrt((H - |c|) / (h - |c|)). They have no singularity nearer than pi / 2 above and below the real w, for every |c| < h.
"""

from functools import reduce

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.muscle.wrapping.surfaces.vectors import dot, gauss_nodes

__all__ = ["Bridge", "Tangent", "Turn", "along_tube", "bridge", "clear_of_tube", "passes_tube", "tangent"]

NODES = 28  # of Gauss quadrature along a geodesic
MIN_TANGENT_LENGTH = 1e-4  # of the tube's radius: least length of a tangent across the axis, by which is divided


@dataclass(frozen=True)
class Tangent:
    """The line from a point to where it touches the tube, in the half plane through the axis at azimuth phi.

    P              (..., 3) [m] where it touches
    u              (...) the place around the tube
    rho            (...) [m] the distance of P from the axis
    length         (...) [m]
    moment         (...) [m] of the direction from P to the point
    turning, rate  of psi and of the moment, by phi
    """

    P: Array
    u: Array
    rho: Array
    length: Array
    moment: Array
    turning: Array
    rate: Array


@dataclass(frozen=True)
class Turn:
    """A geodesic between two angles around the tube: phi (...), arc (...) [m], and rate = dphi / dc (...) [1/m]."""

    phi: Array
    arc: Array
    rate: Array


@dataclass(frozen=True)
class Bridge:
    """A line across the hole that touches the tube on both sides of the plane of the ring.

    moment                           (...) [m]
    u                                (...) > 0, at which the line touches, and at -u
    rho                              (...) [m] the distance of both points from the axis
    phi                              (...) between the points
    length                           (...) [m]
    moment_rate, psi_rate, phi_rate  of the moment, of psi at u, and of phi, by the parameter of `bridge`
    """

    moment: Array
    u: Array
    rho: Array
    phi: Array
    length: Array
    moment_rate: Array
    psi_rate: Array
    phi_rate: Array


def tangent(x: Array, phi: Array, R: Array, r: Array, side: Array) -> Tangent:
    """The line from x (..., 3); side (...): 1 where psi grows from x to the tube, -1 where it falls.

    In the half plane it touches a circle, at psi = alpha + side arccos(r / d). There x is at the distance d and the
    angle alpha from the centre of the tube. Where x is within the tube's circle the line is not a tangent.
    """
    cos, sin = np.cos(phi), np.sin(phi)
    a, b = x[..., 0] * cos + x[..., 1] * sin - R, x[..., 2]
    aside = x[..., 1] * cos - x[..., 0] * sin
    square = a * a + b * b
    least = MIN_TANGENT_LENGTH * r
    across = np.sqrt(np.maximum(square - r * r, least * least))
    up, out = (r * b + side * across * a) / square, (r * a - side * across * b) / square
    rho = R + r * out
    turning = side * aside * out / across
    length = np.sqrt(across * across + aside * aside)
    moment = aside * rho / length
    aside_rate = -(a + R)
    rate = (rho * aside_rate - r * up * turning * aside) / length
    rate = rate - moment * aside * (a + aside_rate) / (length * length)
    P = np.stack([rho * cos, rho * sin, r * up], axis=-1)
    return Tangent(P, -up / (1.0 - out), rho, length, moment, turning, rate)


def along_tube(start: Array, end: Array, c: Array, R: Array, r: Array) -> Turn:
    """The geodesic of moment c, |c| < R - r, from u = `start` to `end` (...); all negative where u falls.

    phi = int c r dpsi / (rho sqrt(rho^2 - c^2)), arc = int r rho dpsi / sqrt(rho^2 - c^2).
    """
    h, H, m = R - r, R + r, np.abs(c)
    k = np.sqrt((H - m) / (h - m))
    first, last = _arsinh(start * k), _arsinh(end * k)
    middle, half = 0.5 * (first + last), 0.5 * (last - first)
    sums = [0.0 * k] * 3
    for node, weight in zip(*(x.tolist() for x in gauss_nodes(NODES)), strict=True):
        e = np.exp(middle + half * node)
        u = 0.5 * (e - 1.0 / e) / k
        s = u * u
        far, one, n = (h + m) + (H + m) * s, 1.0 + s, h + H * s
        bend, turn = ((h - m) + (H - m) * s) * far, n * one
        share = weight / (np.sqrt(far) * bend * turn)  # one division for all three
        parts = share * bend * one * one, share * bend * n * n, share * turn * turn
        sums = [x + part for x, part in zip(sums, parts, strict=True)]
    factor = 2.0 * r * half / np.sqrt(H - m)
    return Turn(c * factor * sums[0], factor * sums[1], factor * sums[2])


def _arsinh(x: Array) -> Array:
    """The inverse of sinh, by functions that a processor takes for several numbers at once."""
    size = np.abs(x)
    result: Array = np.where(x < 0, -1.0, 1.0) * np.log1p(size + size * size / (1.0 + np.sqrt(1.0 + size * size)))
    return result


def bridge(v: Array, R: Array, r: Array) -> Bridge:
    """The line that touches both sides and passes the axis at the distance p = h cos(v^2), 0 < |v|, v^2 <= pi / 2.

    At 0 both points meet at the innermost, where the direction is asymptotic; at v^2 = pi / 2 the line crosses the
    axis. The signs of v, phi and the moment are equal. Seen along rho, the line is the hyperbola rho^2 = p^2 + z^2 / x
    that touches the circle of the tube twice. Therefore p^2 x (1 + x) = h H x - r^2, at rho = R / (1 + x).
    """
    h, H, side = R - r, R + r, np.where(v < 0, -1.0, 1.0)
    p, p_rate = h * np.cos(v * v), -h * np.sin(v * v)  # by v^2, as all rates below
    root = np.sqrt(H * H - p * p)
    x = 2.0 * r * r / (h * H - p * p - p_rate * root)
    x_rate = -2.0 * p * x * (1.0 + x) / root
    rho = R / (1.0 + x)
    rho_rate = -rho * x_rate / (1.0 + x)
    flat = np.sqrt(np.maximum((rho - p) * (rho + p), 1e-30 * h * h))
    slant = np.sqrt(1.0 + x)
    out, up = R * x / ((1.0 + x) * r), np.sqrt(x) * flat / r
    by = 2.0 * v
    return Bridge(
        moment=side * p / slant,
        u=up / (1.0 + out),
        rho=rho,
        phi=side * 2.0 * np.arctan2(flat, p),
        length=2.0 * flat * slant,
        moment_rate=side * by * (p_rate - 0.5 * p * x_rate / (1.0 + x)) / slant,
        psi_rate=by * rho_rate / (r * up),
        phi_rate=side * by * -2.0 * (p_rate * rho - p * rho_rate) / (rho * flat),
    )


def clear_of_tube(A: Array, B: Array, R: Array, r: Array) -> Array:
    """(...) whether the line between two points (..., 3) outside of the tube does not enter it.

    (|x|^2 + R^2 - r^2)^2 - 4 R^2 rho^2, which is below zero within the tube, is a polynomial of degree four along a
    line. Its least value is at an end or where its derivative vanishes.
    """
    d = B - A
    g = dot(A, A) + R * R - r * r, 2.0 * dot(A, d), dot(d, d)
    s = dot(A[..., :2], A[..., :2]), 2.0 * dot(A[..., :2], d[..., :2]), dot(d[..., :2], d[..., :2])
    cube = 4.0 * g[2] * g[2]
    slope = [
        (2.0 * g[0] * g[1] - 4.0 * R * R * s[1]) / cube,
        (2.0 * g[1] * g[1] + 4.0 * g[0] * g[2] - 8.0 * R * R * s[2]) / cube,
        6.0 * g[1] * g[2] / cube,
    ]
    depths = []
    for root in _roots_of_cubic(*slope):
        t = np.minimum(np.maximum(root, 0.0), 1.0)
        away = g[0] + t * (g[1] + t * g[2])
        depths.append(away * away - 4.0 * R * R * (s[0] + t * (s[1] + t * s[2])))
    result: Array = reduce(np.minimum, depths) > 0
    return result


def _roots_of_cubic(c0: Array, c1: Array, c2: Array) -> tuple[Array, Array, Array]:
    """The real roots of x^3 + c2 x^2 + c1 x + c0; where there is one, thrice."""
    shift = c2 / 3.0
    p, q = c1 - c2 * shift, c0 - c1 * shift + 2.0 * shift**3
    third, half = p / 3.0, q / 2.0
    square = half * half + third**3
    # three: 2 sqrt(-p/3) cos(angle / 3 + 2 pi k / 3)
    angle = np.arctan2(np.sqrt(np.maximum(-square, 0.0)), -half) / 3.0
    size = 2.0 * np.sqrt(np.maximum(-third, 0.0))
    # one: Cardano's, without cancellation
    w = np.abs(half) + np.sqrt(np.maximum(square, 0.0))
    w = np.exp(np.log(np.where(w > 0, w, 1.0)) / 3.0)
    single = np.where(half < 0, 1.0, -1.0) * (w - third / w)
    roots = [np.where(square > 0, single, size * np.cos(angle + 2.0 * np.pi * k / 3.0)) - shift for k in range(3)]
    return roots[0], roots[1], roots[2]


def passes_tube(P: Array, x: Array, R: Array, r: Array) -> Array:
    """(...) whether the line that touches the tube at P (..., 3) goes on to x (..., 3) without entering it.

    The surface then bends away from the line at P. The polynomial of `clear_of_tube` along the line has a double root
    at P, which is divided out.
    """
    d = x - P
    square, along, flat = dot(d, d), dot(P, d), dot(d[..., :2], d[..., :2])
    a, b = square * square, 4.0 * along * square
    c = 4.0 * along * along + 2.0 * (dot(P, P) + R * R - r * r) * square - 4.0 * R * R * flat
    t = np.minimum(np.maximum(-b / (2.0 * a), 0.0), 1.0)
    result: Array = np.minimum(c, np.minimum((a * t + b) * t + c, a + b + c)) > 0
    return result
