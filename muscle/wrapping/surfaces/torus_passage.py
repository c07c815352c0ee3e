"""The shortest path through a ring, around the inner side of its tube, by Newton's method.

The path has one moment c about the axis (`torus_moments`). Three unknowns meet three conditions. The unknowns are the
azimuths of the points where the path comes onto the tube and leaves it, and a number w for the rest. Both lines have
the moment c, and the path between the points spans the azimuth between them.

The number w orders the paths over the tube by how far they go around the axis. Up to w = w1 they are geodesics of the
moment c = h (1 - exp(-w)), with the radius h of the hole. At w1, where h^3 = R c^2, the normal curvature of a geodesic
vanishes at its innermost point. Beyond it a path lifts off there, and crosses the hole on the line of `bridge` with the
parameter sqrt(w - w1). The signs of w and c are equal.

A solution is a local minimum if its lines do not enter the tube and the geodesic bends away from the surface. Its lines
must not cross the plane of the ring outside of it. Between ends on the same side of that plane another solution may run
over the tube, through the hole, and back around the outside. No two other solutions were found between the same ends.

Newton's method starts from four paths, until it finds a solution. Those touch the tube at the azimuths of both ends, of
the first end, or of the last one, and, across the hole, of both ends.
"""

from functools import reduce

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.vectors import joined
from myoquat.kernels import call_where, choose, fixed_point, while_loop
from myoquat.muscle.wrapping.surfaces.base import Near
from myoquat.muscle.wrapping.surfaces.geodesics import finite
from myoquat.muscle.wrapping.surfaces.torus_moments import Tangent, Turn, along_tube, bridge, passes_tube, tangent
from myoquat.muscle.wrapping.surfaces.vectors import dot

__all__ = ["MAX_RESIDUAL", "Passage", "crossing", "shortest_through"]

MAX_RESIDUAL = 1e-9  # [rad] of the conditions of a converged path
MAX_CHANGE = 0.5  # [rad] of the azimuths, and of w, in one step
MAX_NEWTON_STEPS, NEWTON_TOLERANCE = 40, 1e-7  # [1, rad] change of the last step; its error is the square of that
MAX_W = 30.0  # of a geodesic: there c equals h up to rounding errors
MAX_BRIDGE_W = 2.0  # above w1: a line across the axis of the ring has pi / 2


@dataclass(frozen=True)
class Passage:
    """A path through the ring: where (..., 3) [m] it comes onto the tube and leaves it at last, the length (...) [m]
    between, and the residual (...) of the conditions, infinite while it is no shortest path."""

    P: Array
    Q: Array
    arc: Array
    missed: Array


@dataclass(frozen=True)
class _Ring:
    """The problem.

    A, B  (..., 3) the ends
    R, r  (...) radii of ring and tube
    P, Q  (..., 3) where a path near the solution comes onto the tube and leaves it, if `known` (...)
    """

    A: Array
    B: Array
    R: Array
    r: Array
    P: Array
    Q: Array
    known: Array

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


@dataclass(frozen=True)
class _Unknowns:
    """The azimuths (...) at which the path comes onto the tube and leaves it, and the number w (...)."""

    phi: Array
    psi: Array
    w: Array


@dataclass(frozen=True)
class _Path:
    """The path of the unknowns.

    P, Q      the lines at both ends
    c         (...) [m] the moment
    c_rate    (...) of the moment, by w
    turn      (...) the azimuth from P to Q
    rates     (...) each, of `turn` by phi, psi and w
    arc       (...) [m] the length from P to Q
    bears     (...) whether every geodesic runs forwards and bends away from the tube
    """

    P: Tangent
    Q: Tangent
    c: Array
    c_rate: Array
    turn: Array
    rates: tuple[Array, Array, Array]
    arc: Array
    bears: Array


def shortest_through(A: Array, B: Array, R: Array, r: Array, where: Array, near: Near | None = None) -> Passage:
    """The shortest path from A to B (..., 3) around the inner side of a tube of radius r (...) and ring radius R.

    where  (...) elsewhere nothing is sought
    near   a path from which Newton's method starts first, if it is known
    """
    P, Q, known = (A, B, where & ~where) if near is None else (near.P, near.Q, near.known)
    ring = _Ring(A, B, R, r, P + 0.0 * A, Q + 0.0 * A, known)
    zero = 0.0 * R
    begin = _Attempt(Passage(A, B, zero, zero + np.inf), zero)
    return while_loop(_unsolved, _attempted, begin, ring, max_steps=5, where=where).passage


def crossing(A: Array, B: Array) -> Array:
    """(..., 3) where the line from A to B (..., 3) meets the plane z = 0.

    Between points on the same side it is at the share of the way that the magnitudes of their heights give.
    """
    share = np.abs(A[..., 2]) / np.maximum(np.abs(A[..., 2]) + np.abs(B[..., 2]), 1e-300)
    result: Array = A + share[..., None] * (B - A)
    return result


# ---- starts --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Attempt:
    """The passage found so far, and how many starts (...) are done."""

    passage: Passage
    number: Array


def _unsolved(attempt: _Attempt) -> Array:
    result: Array = ~(attempt.passage.missed <= MAX_RESIDUAL)
    return result


def _attempted(attempt: _Attempt, ring: _Ring) -> _Attempt:
    """What Newton's method finds from the next start."""
    number, zero = attempt.number, 0.0 * attempt.number
    phi, turn = _azimuth(ring.A), _about_axis(ring.A, ring.B)
    last, near = _azimuth(ring.B), _azimuth(ring.P)
    across = ring.least_bridge + 0.5 * np.abs(turn)
    starts = [
        _Unknowns(near, near + _about_axis(ring.P, ring.Q), zero),
        _Unknowns(phi, phi + turn, zero),
        _Unknowns(last, last, zero),
        _Unknowns(phi, phi, zero),
        _Unknowns(phi, phi + turn, np.where(turn < 0, -across, across)),
    ]
    number = np.where(ring.known, number, np.maximum(number, 1.0))
    start = reduce(lambda x, i: choose(number == float(i), starts[i], x), range(1, 5), starts[0])
    begin = number >= 0
    end = fixed_point(_newton, start, ring, tolerance=NEWTON_TOLERANCE, max_steps=MAX_NEWTON_STEPS, where=begin)
    return _Attempt(_judged(end, ring), number + 1.0)


def _azimuth(x: Array) -> Array:
    """(...) the angle of points (..., 3) around the z axis."""
    result: Array = np.arctan2(x[..., 1], x[..., 0])
    return result


def _about_axis(A: Array, B: Array) -> Array:
    """(...) the angle about the axis from A to B (..., 3), within half a turn."""
    cross = A[..., 0] * B[..., 1] - A[..., 1] * B[..., 0]
    result: Array = np.arctan2(cross, A[..., 0] * B[..., 0] + A[..., 1] * B[..., 1])
    return result


# ---- Newton's method -----------------------------------------------------------------------------------------


def _path(at: _Unknowns, ring: _Ring) -> _Path:
    R, r, h, side, w1 = ring.R, ring.r, ring.R - ring.r, ring.side, ring.least_bridge
    P, Q = tangent(ring.A, at.phi, R, r, side), tangent(ring.B, at.psi, R, r, -side)
    over = (side * P.u < 0) & (side * Q.u > 0)  # the innermost points
    size, sign = np.abs(at.w), np.where(at.w < 0, -1.0, 1.0)
    lifts = over & (size > w1)
    v = np.sqrt(np.where(lifts, np.minimum(size - w1, MAX_BRIDGE_W), 1.0))
    gap = bridge(sign * v, R, r)
    share = np.exp(-np.minimum(size, MAX_W))
    c = np.where(lifts, gap.moment, sign * h * (1.0 - share))
    c_rate = np.where(lifts, 0.5 * gap.moment_rate / v, h * share)
    u = side * np.where(lifts, gap.u, 0.0)
    before = along_tube(P.u, np.where(lifts, -u, Q.u), c, R, r)
    none = 0.0 * before.arc
    after = call_where(_along_tube, (u, Q.u, c, R, r), lifts, Turn(none, none, none))
    leaving = c * r * gap.psi_rate / (gap.rho * np.sqrt(gap.rho * gap.rho - c * c))
    by_w = side * (before.rate + after.rate) * c_rate + np.where(lifts, (0.5 * gap.phi_rate - leaving) / v, 0.0)
    turn = side * (before.phi + after.phi) + np.where(lifts, gap.phi, 0.0)
    arc = side * (before.arc + after.arc)
    forwards = np.where(lifts, (side * before.arc > 0) & (side * after.arc > 0), arc > 0)
    bends = lifts | ~over | (h * h * h > R * c * c)
    arc = arc + np.where(lifts, gap.length, 0.0)
    rates = -side * _bent(P, c, r), side * _bent(Q, c, r), by_w
    return _Path(P, Q, c, c_rate, turn, rates, arc, forwards & bends)


def _along_tube(turn: tuple[Array, Array, Array, Array, Array]) -> Turn:
    return along_tube(*turn)


def _bent(line: Tangent, c: Array, r: Array) -> Array:
    """(...) dphi along a geodesic of moment c for dphi of the half plane in which the line touches."""
    square = line.rho * line.rho - c * c
    tiny = 1e-30 * r * r
    result: Array = c * r * line.turning / (line.rho * np.sqrt(np.maximum(square, tiny)))
    return result


def _newton(at: _Unknowns, ring: _Ring) -> _Unknowns:
    """A step: the conditions are -c_P - c = 0, c_Q - c = 0 and turn - (psi - phi) = 0."""
    path = _path(at, ring)
    h0, h1, h2 = -path.P.moment - path.c, path.Q.moment - path.c, path.turn - (at.psi - at.phi)
    a, b, g = -path.P.rate, path.Q.rate, path.c_rate
    d0, d1, d2 = 1.0 + path.rates[0], path.rates[1] - 1.0, path.rates[2]
    by_phi, by_psi = b * d2 + d1 * g, a * d2 + d0 * g
    det = a * by_phi + d0 * b * g
    det = np.where(det != 0, det, 1.0)
    moves = [
        (-h0 * by_phi + g * (d1 * h1 - b * h2)) / det,
        (-h1 * by_psi + g * (d0 * h0 - a * h2)) / det,
        (a * (d1 * h1 - b * h2) + d0 * b * h0) / det,
    ]
    scale = MAX_CHANGE / reduce(np.maximum, [np.abs(x) for x in moves], MAX_CHANGE + 0.0 * at.w)
    return _Unknowns(*(x + scale * move for x, move in zip((at.phi, at.psi, at.w), moves, strict=True)))


def _judged(at: _Unknowns, ring: _Ring) -> Passage:
    """The passage of the last iterate."""
    path, R, r = _path(at, ring), ring.R, ring.r
    P, Q = path.P, path.Q
    missed = (np.abs(P.moment + path.c) + np.abs(Q.moment - path.c)) / (R - r)
    missed = missed + np.abs(path.turn - (at.psi - at.phi))
    minimal = path.bears & finite(joined([P.P, Q.P, path.arc[..., None]]))[..., 0]
    for x, end in ((P.P, ring.A), (Q.P, ring.B)):  # no line enters the tube, or passes the ring
        middle = crossing(x, end)
        inside = dot(middle[..., :2], middle[..., :2]) < R * R
        minimal = minimal & passes_tube(x, end, R, r) & ((x[..., 2] * end[..., 2] >= 0) | inside)
    found = Passage(P.P, Q.P, path.arc, np.where(minimal, missed, np.inf))
    return choose(minimal, found, Passage(ring.A, ring.B, 0.0 * R, np.inf + 0.0 * R))
