"""The shortest path through a ring, around the inner side of its tube, by Newton's method for its moment.

The whole path, on and off the tube, has one moment c [m], that of its unit direction about the axis of the ring, the z
axis here. "A torus" in docs/wrapping_algorithm.md states the conditions, the number w that takes the place of c, and
what makes a solution a local minimum.

A point of the tube is at azimuth phi around the ring of radius R, and at angle psi around the tube of radius r. The
innermost points have psi = pi. The variable u = tan((psi - pi) / 2) replaces psi, since rho (1 + u^2) = h + H u^2. The
radii of the hole and of the rim are h = R - r and H = R + r. The integrals along a geodesic are over w with sinh w = u
sqrt((H - |c|) / (h - |c|)). They have no singularity nearer than pi / 2 above and below the real w, for every |c| < h.

Up to w = w1 paths are geodesics of the moment c = h (1 - exp(-w)). At w1, where h^3 = R c^2, the normal curvature of a
geodesic vanishes at its innermost point. Beyond it a path lifts off there, and crosses the hole on the line of
`_bridge` with the parameter sqrt(w - w1). The signs of w and c are equal.
"""

from functools import reduce
from typing import NamedTuple

import numpy as np

from myoquat.core import Array
from myoquat.joints.vectors import dot, joined
from myoquat.kernels import call_where, choose, fixed_point, while_loop

from .base import Line, Near
from .geodesics import finite
from .vectors import gauss_nodes

MAX_RESIDUAL = 1e-9  # [rad] of the conditions of a converged path
MAX_CHANGE = 0.5  # [rad] of the azimuths, and of w, in one step
MAX_NEWTON_STEPS, NEWTON_TOLERANCE = 40, 1e-7  # [1, rad] change of the last step; its error is the square of that
MAX_W = 30.0  # of a geodesic: there c equals h up to rounding errors
MAX_BRIDGE_W = 2.0  # above w1: a line across the axis of the ring has pi / 2
NODES = 28  # of Gauss quadrature along a geodesic
MIN_TANGENT_LENGTH = 1e-4  # of the tube's radius: least length of a tangent across the axis, by which is divided

Passage = tuple[Array, Array, Array, Array]  # P, Q (..., 3), the length (...) between, and the residual (...)
Unknowns = tuple[Array, Array, Array]  # the azimuths (...) of P and Q, and the number w (...)


class _Ring(NamedTuple):
    """The problem: its ends A, B (..., 3), and the radii R, r (...) of ring and tube."""

    A: Array
    B: Array
    R: Array
    r: Array

    @property
    def side(self) -> Array:
        """(...) 1 where psi grows on the way from A to B through the ring, -1 where it falls. Between ends on the same
        side of the plane the path goes over the tube, from the outer end to the inner one."""
        A, B = self.A, self.B
        above = np.where(A[..., 2] > 0, 1.0, -1.0)
        outward = dot(B[..., :2], B[..., :2]) > dot(A[..., :2], A[..., :2])
        result: Array = np.where((A[..., 2] * B[..., 2] > 0) & outward, -above, above)
        return result

    @property
    def least_bridge(self) -> Array:
        """(...) the w from which on a path crosses the hole on a line."""
        result: Array = -np.log(1.0 - np.sqrt(1.0 - self.r / self.R))
        return result


class _Path(NamedTuple):
    """The path of the unknowns.

    P, Q, arc  (..., 3) where it comes onto the tube and leaves it, and the length (...) between
    bears      (...) whether every geodesic runs forwards and bends away from the tube
    missed     (...) each, of the three conditions: -c_P - c, c_Q - c and the azimuth spanned less psi - phi
    rates      (...) each, of the first by phi, of the second by psi, of c by w, and of the third by phi, psi and w
    """

    P: Array
    Q: Array
    arc: Array
    bears: Array
    missed: tuple[Array, Array, Array]
    rates: tuple[Array, Array, Array, Array, Array, Array]


def shortest_through(ends: Line, R: Array, r: Array, where: Array, near: Near | None = None) -> Passage:
    """The shortest path between two points (..., 3) around the inner side of a tube of radius r (...), ring radius R.

    Found are where it comes onto the tube and leaves it at last, the length between, and the residual of the
    conditions, infinite while it is no shortest path.

    Newton's method starts from `near` if that is known. Otherwise it starts from four paths until it finds a solution.
    They touch the tube at the azimuths of both ends, of the last end, of the first end, and, across the hole, of both.

    where  (...) elsewhere nothing is sought
    """
    A, B = ends
    ring, known = _Ring(A, B, R, r), where & ~where if near is None else near.known
    first, last, turn = _azimuth(A), _azimuth(B), _about_axis(A, B)
    across = np.where(turn < 0, -1.0, 1.0) * (ring.least_bridge + 0.5 * np.abs(turn))
    zero, P, Q = 0.0 * R, *((A, B) if near is None else (near.P + 0.0 * A, near.Q + 0.0 * A))
    begin = _azimuth(P), _azimuth(P) + _about_axis(P, Q), zero
    starts = begin, (first, first + turn, zero), (last, last, zero), (first, first, zero), (first, first + turn, across)
    found = (A, B, zero, zero + np.inf), np.where(known, zero, 1.0)
    return while_loop(_unsolved, _attempted, found, (ring, starts), max_steps=5, where=where)[0]


def _unsolved(attempt: tuple[Passage, Array]) -> Array:
    result: Array = ~(attempt[0][3] <= MAX_RESIDUAL)
    return result


def _attempted(attempt: tuple[Passage, Array], problem: tuple[_Ring, tuple[Unknowns, ...]]) -> tuple[Passage, Array]:
    """What Newton's method finds from the start of a number (...), and the next number."""
    number, (ring, starts) = attempt[1], problem
    start = reduce(lambda x, i: choose(number == float(i), starts[i], x), range(1, len(starts)), starts[0])
    end = fixed_point(_newton, start, ring, tolerance=NEWTON_TOLERANCE, max_steps=MAX_NEWTON_STEPS, where=number >= 0)
    return _judged(end, ring), number + 1.0


def crossing(A: Array, B: Array) -> Array:
    """(..., 3) where the line from A to B (..., 3) meets the plane z = 0.

    Between points on the same side it is at the share of the way that the magnitudes of their heights give.
    """
    share = np.abs(A[..., 2]) / np.maximum(np.abs(A[..., 2]) + np.abs(B[..., 2]), 1e-300)
    result: Array = A + share[..., None] * (B - A)
    return result


def _azimuth(x: Array) -> Array:
    """(...) the angle of points (..., 3) around the z axis."""
    result: Array = np.arctan2(x[..., 1], x[..., 0])
    return result


def _about_axis(A: Array, B: Array) -> Array:
    """(...) the angle about the axis from A to B (..., 3), within half a turn."""
    cross = A[..., 0] * B[..., 1] - A[..., 1] * B[..., 0]
    result: Array = np.arctan2(cross, A[..., 0] * B[..., 0] + A[..., 1] * B[..., 1])
    return result


def _newton(at: Unknowns, ring: _Ring) -> Unknowns:
    """A step."""
    path = _path(at, ring)
    (h0, h1, h2), (a, b, g, d0, d1, d2) = path.missed, path.rates
    by_phi, by_psi = b * d2 + d1 * g, a * d2 + d0 * g
    det = a * by_phi + d0 * b * g
    det = np.where(det != 0, det, 1.0)
    moves = [
        (-h0 * by_phi + g * (d1 * h1 - b * h2)) / det,
        (-h1 * by_psi + g * (d0 * h0 - a * h2)) / det,
        (a * (d1 * h1 - b * h2) + d0 * b * h0) / det,
    ]
    scale = MAX_CHANGE / reduce(np.maximum, [np.abs(x) for x in moves], MAX_CHANGE + 0.0 * at[2])
    phi, psi, w = (x + scale * move for x, move in zip(at, moves, strict=True))
    return phi, psi, w


def _judged(at: Unknowns, ring: _Ring) -> Passage:
    """The passage of the last iterate."""
    (A, B, R, r), path = ring, _path(at, ring)
    missed = (np.abs(path.missed[0]) + np.abs(path.missed[1])) / (R - r) + np.abs(path.missed[2])
    minimal = path.bears & finite(joined([path.P, path.Q, path.arc[..., None]]))[..., 0]
    for x, end in ((path.P, A), (path.Q, B)):  # no line enters the tube, or passes the ring
        middle = crossing(x, end)
        inside = dot(middle[..., :2], middle[..., :2]) < R * R
        minimal = minimal & _passes_tube(x, end, R, r) & ((x[..., 2] * end[..., 2] >= 0) | inside)
    none = A, B, 0.0 * R, np.inf + 0.0 * R
    found: Passage = choose(minimal, (path.P, path.Q, path.arc, np.where(minimal, missed, np.inf)), none)
    return found


# ---- the path of the unknowns --------------------------------------------------------------------------------


def _path(at: Unknowns, ring: _Ring) -> _Path:
    (A, B, R, r), (phi, psi, w), h, side, w1 = ring, at, ring.R - ring.r, ring.side, ring.least_bridge
    P, Q = _tangent(A, phi, R, r, side), _tangent(B, psi, R, r, -side)
    over = (side * P.u < 0) & (side * Q.u > 0)  # the innermost points
    size, sign = np.abs(w), np.where(w < 0, -1.0, 1.0)
    lifts = over & (size > w1)
    v = np.sqrt(np.where(lifts, np.minimum(size - w1, MAX_BRIDGE_W), 1.0))
    gap = _bridge(sign * v, R, r)
    share = np.exp(-np.minimum(size, MAX_W))
    c = np.where(lifts, gap.moment, sign * h * (1.0 - share))
    c_rate = np.where(lifts, 0.5 * gap.moment_rate / v, h * share)
    u = side * np.where(lifts, gap.u, 0.0)
    before = _along_tube((P.u, np.where(lifts, -u, Q.u), c, R, r))
    none = 0.0 * c
    after = call_where(_along_tube, (u, Q.u, c, R, r), lifts, (none, none, none))
    leaving = c * r * gap.psi_rate / (gap.rho * np.sqrt(gap.rho * gap.rho - c * c))
    by_w = side * (before[2] + after[2]) * c_rate + np.where(lifts, (0.5 * gap.phi_rate - leaving) / v, 0.0)
    turn = side * (before[0] + after[0]) + np.where(lifts, gap.phi, 0.0)
    arc = side * (before[1] + after[1])
    forwards = np.where(lifts, (side * before[1] > 0) & (side * after[1] > 0), arc > 0)
    bends = lifts | ~over | (h * h * h > R * c * c)
    missed = -P.moment - c, Q.moment - c, turn - (psi - phi)
    # dphi along a geodesic of moment c for dphi of the half plane in which the line touches
    bent = [c * r * x.turning / (x.rho * np.sqrt(np.maximum(x.rho * x.rho - c * c, 1e-30 * r * r))) for x in (P, Q)]
    rates = -P.rate, Q.rate, c_rate, 1.0 - side * bent[0], side * bent[1] - 1.0, by_w
    return _Path(P.P, Q.P, arc + np.where(lifts, gap.length, 0.0), forwards & bends, missed, rates)


class _Tangent(NamedTuple):
    """The line from a point to where it touches the tube, in the half plane through the axis at azimuth phi.

    P              (..., 3) [m] where it touches
    u              (...) the place around the tube
    rho            (...) [m] the distance of P from the axis
    moment         (...) [m] of the direction from P to the point
    turning, rate  of psi and of the moment, by phi
    """

    P: Array
    u: Array
    rho: Array
    moment: Array
    turning: Array
    rate: Array


class _Bridge(NamedTuple):
    """A line across the hole that touches the tube on both sides of the plane of the ring.

    moment                           (...) [m]
    u                                (...) > 0, at which the line touches, and at -u
    rho                              (...) [m] the distance of both points from the axis
    phi                              (...) between the points
    length                           (...) [m]
    moment_rate, psi_rate, phi_rate  of the moment, of psi at u, and of phi, by the parameter of `_bridge`
    """

    moment: Array
    u: Array
    rho: Array
    phi: Array
    length: Array
    moment_rate: Array
    psi_rate: Array
    phi_rate: Array


def _tangent(x: Array, phi: Array, R: Array, r: Array, side: Array) -> _Tangent:
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
    return _Tangent(P, -up / (1.0 - out), rho, moment, turning, rate)


def _along_tube(turn: tuple[Array, Array, Array, Array, Array]) -> tuple[Array, Array, Array]:
    """phi, the arc, and dphi / dc (...) of the geodesic of moment c, |c| < R - r, from u = `start` to `end` (...); all
    are negative where u falls.

    phi = int c r dpsi / (rho sqrt(rho^2 - c^2)), arc = int r rho dpsi / sqrt(rho^2 - c^2).
    """
    start, end, c, R, r = turn
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
        bend, wide = ((h - m) + (H - m) * s) * far, n * one
        share = weight / (np.sqrt(far) * bend * wide)  # one division for all three
        parts = share * bend * one * one, share * bend * n * n, share * wide * wide
        sums = [x + part for x, part in zip(sums, parts, strict=True)]
    factor = 2.0 * r * half / np.sqrt(H - m)
    return c * factor * sums[0], factor * sums[1], factor * sums[2]


def _arsinh(x: Array) -> Array:
    """The inverse of sinh, by functions that a processor takes for several numbers at once."""
    size = np.abs(x)
    result: Array = np.where(x < 0, -1.0, 1.0) * np.log1p(size + size * size / (1.0 + np.sqrt(1.0 + size * size)))
    return result


def _bridge(v: Array, R: Array, r: Array) -> _Bridge:
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
    return _Bridge(
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


def _passes_tube(P: Array, x: Array, R: Array, r: Array) -> Array:
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
