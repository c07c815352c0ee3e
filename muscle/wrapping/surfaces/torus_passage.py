"""The shortest path through a ring, around the inner side of its tube, by Newton's method for its moment.

The whole path, on and off the tube, has one moment c [m], that of its unit direction about the axis of the ring, the z
axis here. "A torus" in docs/wrapping_algorithm.md states the conditions, the number w that takes the place of c, and
how Newton's method goes from a path in one plane to that between the ends.

Lengths and angles are seen from both ends alike. Paths are mirrored so that c is not negative, and so that the tube
lies below the line from each end. A point of the tube is at the angle psi around it, zero at the innermost points and
positive towards the end. The variable u = tan(psi / 2) stands for it. The radii are R of the ring, r of the tube, and
h = R - r of the hole.

Up to w = w1 paths are geodesics of the moment c = h (1 - exp(-w)). At w1, where h^3 = R c^2, the normal curvature of a
geodesic vanishes at its innermost point. Beyond it a path lifts off there, and crosses the hole on the line of
`_bridge` with the parameter w - w1.
"""

from typing import NamedTuple

import numpy as np

from myoquat.core import Array
from myoquat.joints.vectors import cross, dot, joined
from myoquat.kernels import choose, constant, fixed_point, while_loop
from myoquat.kernels.tracing.derivatives import jacobian_at

from .base import Line
from .vectors import gauss_nodes, pair

MAX_RESIDUAL = 1e-9  # [rad] of the conditions of a solved path
MAX_CHANGE = 0.4  # [rad] of the azimuths, and of w, in one step
MAX_ATTEMPTS, SMALLER = 3, 0.3  # the steps of each are so many times as far as those of the one before
MAX_NEWTON_STEPS, NEWTON_TOLERANCE = 120, 1e-8  # [1, rad] change of the last step; its error is the square of that
MAX_W = 30.0  # of a geodesic: there c equals h up to rounding errors
MAX_BRIDGE_W = 2.0  # above w1: a line across the axis of the ring has pi / 2
NODES = 16  # of Gauss quadrature along a geodesic, from where it is innermost to each end
MIN_TANGENT_LENGTH = 1e-4  # of the tube's radius: least length of a tangent across the axis, by which is divided

Passage = tuple[Array, Array, Array, Array]  # P, Q (..., 3), the length (...) between, and the residual (...)


class _Ring(NamedTuple):
    """The problem.

    rho, z  (..., 2) [m] distance of each end from the axis, and height over the plane, positive where the path comes
            down to the innermost points
    turn    (..., 1) azimuth between both ends, 0 to pi
    R, r    (..., 1) [m] radii of ring and tube
    limit   (..., 1) [rad] by how much azimuths and w may change in a step
    """

    rho: Array
    z: Array
    turn: Array
    R: Array
    r: Array
    limit: Array


class _Path(NamedTuple):
    """The path of the unknowns x (..., 3): how far around the axis each end is from where the path touches, and w.

    rho, z   (..., 2) [m] where the path comes onto the tube and leaves it at last, as in `_Ring`
    arcs     (..., 2) [m] length of the geodesics towards each end
    gap      (..., 1) [m] length of the line across the hole
    lets_go  (..., 2) whether the path would reach the line across the hole before it comes onto the tube
    other    (..., 3) unknowns of the same path without that contact
    missed   (..., 3) [rad] of the three conditions: no corner where lines touch, and the azimuth `turn`
    """

    rho: Array
    z: Array
    arcs: Array
    gap: Array
    lets_go: Array
    other: Array
    missed: Array


def shortest_through(ends: Line, R: Array, r: Array, where: Array) -> Passage:
    """The shortest path between two points (..., 3) around the inner side of a tube of radius r (...), ring radius R.

    Found are where it comes onto the tube and leaves it at last, the length between, and the residual of the
    conditions, infinite while it is no shortest path.

    where  (...) elsewhere nothing is sought
    """
    A, B = ends
    start = (A, B, 0.0 * R, np.inf + 0.0 * R), MAX_CHANGE + 0.0 * R
    return while_loop(_unsolved, _attempted, start, (A, B, R, r), max_steps=MAX_ATTEMPTS, where=where)[0]


def _unsolved(attempt: tuple[Passage, Array]) -> Array:
    result: Array = ~(attempt[0][3] < np.inf)
    return result


def _attempted(attempt: tuple[Passage, Array], problem: tuple[Array, Array, Array, Array]) -> tuple[Passage, Array]:
    """The passage that steps up to a limit [rad] lead to, and the next limit."""
    (A, B, R, r), limit = problem, attempt[1]
    ends = pair(A, B)
    rho, azimuth = np.sqrt(dot(ends[..., :2], ends[..., :2])), np.arctan2(ends[..., 1], ends[..., 0])
    between = azimuth[..., 1] - azimuth[..., 0]
    around = np.abs(between)
    sense = np.where((between < 0) == (around > np.pi), 1.0, -1.0)
    # between ends on one side of the plane the path goes over the tube, from the outer end to the inner one
    same = A[..., 2] * B[..., 2] > 0
    above, inner = A[..., 2] > np.where(same, 0.0, B[..., 2]), same[..., None] & (rho < rho[..., ::-1])
    side = np.where(above[..., None] == inner[..., :1], -1.0, 1.0) * np.array([1.0, -1.0])
    ring = _Ring(
        rho,
        side * ends[..., 2],
        (np.pi - np.abs(np.pi - around))[..., None],
        R[..., None],
        r[..., None],
        limit[..., None],
    )
    start = joined([np.where(inner, ring.turn, 0.0), 0.0 * ring.turn])
    x = fixed_point(_newton, start, ring, tolerance=NEWTON_TOLERANCE, max_steps=MAX_NEWTON_STEPS, where=around >= 0)
    path = _path(x, ring)
    angle = azimuth + sense[..., None] * np.array([1.0, -1.0]) * x[..., :2]
    touched = np.stack([path.rho * np.cos(angle), path.rho * np.sin(angle), side * path.z], axis=-1)
    clear = _passes_tube(touched, ends, ring.R, ring.r) & ~crosses_outside(touched, ends, ring.R) & ~path.lets_go
    arc, missed = np.sum(path.arcs, axis=-1), np.sum(np.abs(path.missed), axis=-1)
    solved = clear[..., 0] & clear[..., 1] & (arc > 0) & (missed <= MAX_RESIDUAL)
    passage = touched[..., 0, :], touched[..., 1, :], arc + path.gap[..., 0], missed
    return choose(solved, passage, (A, B, 0.0 * R, np.inf + 0.0 * R)), SMALLER * limit


def _newton(x: Array, ring: _Ring) -> Array:
    """A step."""
    path = _path(x, ring)
    slopes = jacobian_at(lambda x: _path(x, ring).missed, x)
    a, b, c = (slopes[..., i, :] for i in range(3))
    bc = cross(b, c)
    det = dot(a, bc)[..., None]
    moved = sum(
        h[..., None] * x for h, x in zip(np.moveaxis(path.missed, -1, 0), (bc, cross(c, a), cross(a, b)), strict=True)
    )
    moved = moved / np.where(det != 0, det, 1.0)
    largest = np.max(np.abs(moved), axis=-1)[..., None]
    new = np.maximum(x - moved * (ring.limit / np.maximum(largest, ring.limit)), 0.0)
    lets_go = (path.lets_go[..., :1] | path.lets_go[..., 1:]) & (path.missed[..., 2:] < MAX_RESIDUAL)
    return np.where(lets_go, path.other, new)


def _path(x: Array, ring: _Ring) -> _Path:
    (rho, z, turn, R, r, _), theta, w, h = ring, x[..., :2], x[..., 2:], ring.R - ring.r
    # in the half plane at theta from an end, the line from there touches a circle around the middle of the tube
    a, aside, least = rho * np.cos(theta) - R, rho * np.sin(theta), MIN_TANGENT_LENGTH * r
    square = a * a + z * z
    across = np.sqrt(np.maximum(square - r * r, least * least))
    up, out = (r * z + across * a) / square, (r * a - across * z) / square
    touched = R + r * out
    u = up / (1.0 - out)
    # the path between: one geodesic, or two and a line across the hole
    over = (u[..., :1] > 0) & (u[..., 1:] > 0)  # the innermost points
    beyond = w + np.log(1.0 - np.sqrt(1.0 - r / R))
    lifts = over & (beyond > 0)
    line_moment, line_u, line_turn, line = _bridge(np.where(lifts, np.minimum(beyond, MAX_BRIDGE_W), 1.0), R, r)
    c = np.where(lifts, line_moment, h * (1.0 - np.exp(-np.minimum(w, MAX_W))))
    short = np.maximum(-u, 0.0)  # where an end is this side of the innermost points, the geodesic begins there
    phi, arcs = _along_tube(np.where(lifts, line_u, short[..., ::-1] - short), u, c, R, r)
    azimuth = np.sum(theta + phi, axis=-1)[..., None] + np.where(lifts, line_turn, 0.0)
    first = arcs[..., :1] < arcs[..., 1:]
    lets_go = lifts & (arcs < 0) & np.concatenate([first, ~first], axis=-1)
    other = joined([theta + np.where(lets_go, line_turn, 0.0), -np.log(1.0 - c / h)])
    along = np.sqrt(np.maximum(touched * touched - c * c, 1e-30 * h * h))
    corner = (aside * along - across * c) / (touched * np.sqrt(across * across + aside * aside))
    missed = joined([corner, azimuth - turn])
    return _Path(touched, r * up, arcs, np.where(lifts, line, 0.0), lets_go, other, missed)


def _along_tube(start: Array, end: Array, c: Array, R: Array, r: Array) -> tuple[Array, Array]:
    """phi and the arc (...) of the geodesic of moment c, |c| < h, from u = `start` to `end` (...).

    phi = int c r dpsi / (rho sqrt(rho^2 - c^2)), arc = int r rho dpsi / sqrt(rho^2 - c^2). The derivative of phi is
    that of the integrals: its integrand at both ends, and int r rho dpsi / sqrt(rho^2 - c^2)^3 by c.
    """
    start_at, end_at, c_at = constant((start, end, c))
    phi, arc, by_c = _integrals(start_at, end_at, c_at, R, r)

    def rate(u: Array) -> Array:
        one = 1.0 + u * u
        rho = R - r * (2.0 - one) / one
        return 2.0 * c_at * r / (one * rho * np.sqrt(rho * rho - c_at * c_at))

    moved = rate(end_at) * (end - end_at) - rate(start_at) * (start - start_at)
    return phi + moved + by_c * (c - c_at), arc


def _integrals(start: Array, end: Array, c: Array, R: Array, r: Array) -> tuple[Array, Array, Array]:
    """Those of `_along_tube` (...).

    They are over v with sinh v = t sqrt(k), where t = tan(psi / 4), and -k and -1 / k are the squares of t at which rho
    = |c|. They have no singularity nearer than pi / 2 above and below the real v, for every |c| < h.
    """
    h, m = R - r, np.abs(c)
    half_sum = 1.0 + 4.0 * r / (h - m)
    k = half_sum + np.sqrt(half_sum * half_sum - 1.0)
    first, last = (_arsinh(np.sqrt(k) * u / (1.0 + np.sqrt(1.0 + u * u))) for u in (start, end))
    middle, half = 0.5 * (first + last), 0.5 * (last - first)
    sums = [0.0 * middle] * 3
    for node, weight in zip(*(x.tolist() for x in gauss_nodes(NODES)), strict=True):
        e = np.exp(middle + half * node)
        t = 0.5 * (e - 1.0 / e)
        s = t * t / k
        one, wide = (1.0 + s) * (1.0 + s), 8.0 * r * s
        near, far = h * one + wide, (h + m) * one + wide  # rho and rho + |c|, times (1 + s)^2
        beyond = far * ((h - m) * one + wide)  # rho^2 - c^2, times (1 + s)^4
        share = weight / ((1.0 + s) * near * beyond * np.sqrt(far * (s + k)))  # one division for all three
        parts = beyond * one * one, beyond * near * near, one * one * near * near
        sums = [x + share * part for x, part in zip(sums, parts, strict=True)]
    factor = 4.0 * r * half / np.sqrt(h - m)
    return c * factor * sums[0], factor * sums[1], factor * sums[2]


def _arsinh(x: Array) -> Array:
    """The inverse of sinh, by functions that a processor takes for several numbers at once."""
    size = np.abs(x)
    result: Array = np.where(x < 0, -1.0, 1.0) * np.log1p(size + size * size / (1.0 + np.sqrt(1.0 + size * size)))
    return result


def _bridge(angle: Array, R: Array, r: Array) -> tuple[Array, Array, Array, Array]:
    """The moment, u where it touches, azimuth between and length of a line across the hole that touches both sides.

    It passes the axis at the distance p = h cos(angle). At 0 both points meet at the innermost, where the direction is
    asymptotic; at pi / 2 the line crosses the axis. Seen along rho, the line is the hyperbola rho^2 = p^2 + z^2 / x
    that touches the circle of the tube twice. Therefore p^2 x (1 + x) = h H x - r^2 with H = R + r, at rho = R / (1 +
    x).
    """
    h, H = R - r, R + r
    p = h * np.cos(angle)
    x = 2.0 * r * r / (h * H - p * p + h * np.sin(angle) * np.sqrt(H * H - p * p))
    rho, slant = R / (1.0 + x), np.sqrt(1.0 + x)
    flat = np.sqrt(np.maximum((rho - p) * (rho + p), 1e-30 * h * h))
    u = np.sqrt(x) * flat / (r + x * rho)
    return p / slant, u, 4.0 * np.arctan(flat / (rho + p)), 2.0 * flat * slant


def crosses_outside(A: Array, B: Array, R: Array) -> Array:
    """(...) whether the straight line from A to B (..., 3) crosses the plane z = 0 outside of the radius R (...)."""
    up, down = np.abs(A[..., 2]), np.abs(B[..., 2])
    x = A + (up / np.maximum(up + down, 1e-300))[..., None] * (B - A)
    result: Array = (A[..., 2] * B[..., 2] < 0) & (dot(x[..., :2], x[..., :2]) > R * R)
    return result


def _passes_tube(P: Array, x: Array, R: Array, r: Array) -> Array:
    """(...) whether the line that touches the tube at P (..., 3) goes on to x (..., 3) without entering it.

    (|x|^2 + R^2 - r^2)^2 - 4 R^2 rho^2, which is below zero within the tube, is a polynomial of degree four along a
    line. It has a double root at P. Divided by that, it is least at the share `vertex` of the way.
    """
    d = x - P
    square, flat = dot(d, d), dot(d[..., :2], d[..., :2])
    vertex = -2.0 * dot(P, d) / square
    past = vertex - np.minimum(np.maximum(vertex, 0.0), 1.0)
    result: Array = square * past * past + 2.0 * (dot(P, P) + R * R - r * r) > 4.0 * R * R * flat / square
    return result
