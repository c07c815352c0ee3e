"""Newton's method for a path over several surfaces: all its tangent points at once.

For every touched surface an iterate holds a geodesic: where it begins, P, its direction t there, its length, and its
end Q. A step moves P by alpha t + beta b, turns t by gamma about the normal n, and moves Q by epsilon t + eta b. Here
b = n x t and eta = beta a + gamma r, with the Jacobi fields a and r. The page docs/wrapping_algorithm.md states the
conditions and the source.

On a shortest path a move along the path moves nothing aside. Of the four conditions of a surface, those of the lines
aside therefore form a system of their own. It has one unknown beta per surface. The line before Q of the surface before
gives gamma, and the line behind ties beta to that of the next surface. The tangencies give alpha and epsilon. The terms
that are left out are of second order near the solution, as those are that Newton's method leaves out. Where a pivot of
this system is positive, the length is not convex in beta. The step then goes downhill.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints.vectors import cross, dot, joined, vecmat
from myoquat.kernels import after_newton_step, call_where, choose
from myoquat.kernels.symbolic.arrays import is_symbolic

from .route import PlacedSurface, Route, in_order
from .surfaces.base import Contact, Wrap
from .surfaces.geodesics import MIN_STEP_RAD
from .surfaces.vectors import direction, size, unit

MAX_TURN = 0.5  # [rad] by which one step may turn directions and normals
MIN_DIVISOR = 1e-30  # no number is divided by one of a smaller magnitude

_Touched = tuple[Array, Array, Array]  # P, Q (..., 3) and the length (...) of the geodesic between


@frozen
class PathGeodesic:
    """A geodesic in its surface's frame: where it begins, P, its direction t there, its length (...) [m], and its end Q
    (..., 3)."""

    P: Array
    t: Array
    length: Array
    Q: Array


@frozen
class NewtonIterate:
    """A geodesic on each surface; and by how much (...) [rad] the last step turned, at least MIN_STEP_RAD."""

    geodesics: tuple[PathGeodesic, ...]
    turn: Array

    @property
    def numbers(self) -> Array:
        """(..., n) all of them."""
        columns = [x for g in self.geodesics for x in (g.P, g.t, g.length[..., None], g.Q)]
        return joined([*columns, self.turn[..., None]])

    def is_finite(self) -> Array:
        """(...) whether all numbers are finite and none is far beyond any length or angle."""
        result: Array = np.sum(np.abs(self.numbers), axis=-1) <= 1e9
        return result


def newton_start(route: Route) -> NewtonIterate:
    """The iterate from a path near the solution."""
    geodesics = []
    for i, (placed, c) in enumerate(zip(route.segment.surfaces, route.contacts, strict=True)):
        P = np.where(c.on[..., None], c.P, placed.wrap.onto(np.ones(3) + 0.0 * c.P))
        t = _within_plane(P - route.neighbours(i)[0], unit(placed.wrap.normal(P)))
        geodesics.append(PathGeodesic(P, t, np.where(c.on, c.arc, 0.0), c.Q))
    return NewtonIterate(tuple(geodesics), MAX_TURN + 0.0 * route.segment.start[..., 0])


def newton_step(iterate: NewtonIterate, route: Route) -> NewtonIterate:
    """The iterate after a step of Newton's method; surfaces that the path does not touch stay."""
    segments = _followed(route, iterate, iterate.turn)
    moves = _moves(route, segments, downhill=True)
    turns = [np.where(on, move.turn(c), 0.0) for on, c, move in zip(route.on, segments, moves, strict=True)]
    turn = sum(turns, 0.0 * iterate.turn)
    share = MAX_TURN / np.maximum(turn, MAX_TURN)
    found = []
    surfaces = route.segment.surfaces
    for placed, on, x, c, move in zip(surfaces, route.on, iterate.geodesics, segments, moves, strict=True):
        moved = _moved(x.length, c, _Move(*(share * k for k in move)))
        found.append(call_where(partial(_onto_surface, placed.prototype), (placed.numbers, moved), on, x))
    return NewtonIterate(tuple(found), np.maximum(turn, MIN_STEP_RAD))


def moving_contacts(route: Route) -> list[Contact]:
    """The contacts of a solved path, with the derivatives of P, Q and arc by the ends of the path and the frames of the
    surfaces: those of a step of Newton's method (`after_newton_step`). They have none with a ring, whose tube a path
    through it may leave in between, and none where sizes of surfaces vary."""
    contacts = route.contacts
    if any(placed.prototype.ring or is_symbolic(placed.numbers) for placed in route.segment.surfaces):
        return list(contacts)

    def step(touched: list[_Touched], segments: list[_Segment]) -> list[_Touched]:
        moved = [_moved(x[2], c, move) for x, c, move in zip(touched, segments, _moves(route, segments), strict=True)]
        return [choose(on, (x.P, x.Q, x.length), y) for on, x, y in zip(route.on, moved, touched, strict=True)]

    found = after_newton_step(step, [(c.P, c.Q, c.arc) for c in contacts], lambda: _solution(route))
    return [replace(c, P=P, Q=Q, arc=arc) for c, (P, Q, arc) in zip(contacts, found, strict=True)]


def pencil_width(route: Route) -> Array:
    """(...) [1/rad] the least width of a thin pencil of rays from the start of a solved path, where it leaves a surface
    and at the end. If it is positive, the path is a minimum of the length.

    The width y is zero at the start, with the rate 1, and obeys y'' = -K y with the Gaussian curvature K; K = 0 on
    straight pieces [Jacobi's condition; W. Klingenberg, Riemannian Geometry, 2.5]. Where the normals of two surfaces
    differ, neither lets the path move aside on the other. The pencil is then wider, which this leaves out.
    """
    x, end = route.segment.start, route.segment.end
    zero = 0.0 * x[..., 0]
    width, rate, least = zero, zero + 1.0, zero + 1.0
    along, _ = in_order(route.order, _in_world(route, _solution(route)))
    for c, on in along:
        near = width + rate * size(c.P.x - x)
        width, rate = choose(on, (c.a * near + c.r * rate, c.da * near + c.dr * rate), (width, rate))
        least, x = np.where(on, np.minimum(least, width), least), np.where(on[..., None], c.Q.x, x)
    result: Array = np.minimum(least, width + rate * size(end - x))
    return result


def _solution(route: Route) -> "list[_Segment]":
    """The geodesics of a solved path."""
    start = newton_start(route)
    return _followed(route, start, MIN_STEP_RAD + 0.0 * start.turn)


# ---- geodesics in their surfaces' frames ---------------------------------------------------------------------


@frozen
class _End:
    """An end of a geodesic.

    x        the point
    t        the direction
    n        the normal
    b        n x t
    curved   (...) [1/m] by how much n turns along t, times t
    twisted  (...) [1/m] by how much n turns along b, times t
    """

    x: Array
    t: Array
    n: Array
    b: Array
    curved: Array
    twisted: Array

    def in_world(self, placed: PlacedSurface) -> "_End":
        t, n, b = (vecmat(v, placed.axes) for v in (self.t, self.n, self.b))
        return _End(placed.in_world(self.x), t, n, b, self.curved, self.twisted)


@frozen
class _Segment:
    """A geodesic, with its Jacobi fields a, r and their rates at the end."""

    P: _End
    Q: _End
    a: Array
    da: Array
    r: Array
    dr: Array


class _Move(NamedTuple):
    """What a step changes (...) at a surface."""

    alpha: Array
    beta: Array
    gamma: Array
    epsilon: Array
    eta: Array

    def turn(self, c: _Segment) -> Array:
        """(...) [rad] by about how much directions and normals turn."""
        at_P = np.abs(self.alpha * c.P.curved) + np.abs(self.beta * c.P.twisted)
        result: Array = np.abs(self.gamma) + at_P + np.abs(self.epsilon * c.Q.curved)
        return result


def _followed(route: Route, iterate: NewtonIterate, turn: Array) -> list[_Segment]:
    """The geodesics of an iterate, followed from their starts; by how much (...) [rad] the last step turned."""
    found = []
    for placed, x, on in zip(route.segment.surfaces, iterate.geodesics, route.on, strict=True):
        zero, number = 0.0 * x.P, 0.0 * x.length
        end = _End(zero, zero, zero, zero, number, number)
        none = _Segment(end, end, number, number, number, number)
        begin = placed.numbers, x.P, x.t, x.length[..., None], turn
        found.append(call_where(partial(_follow, placed.prototype), begin, on, none))
    return found


def _in_world(route: Route, segments: Sequence[_Segment]) -> list[tuple[_Segment, Array]]:
    """Geodesics of the surfaces' frames in the world, and whether (...) the path is on each."""
    placed = zip(segments, route.segment.surfaces, route.on, strict=True)
    return [(replace(c, P=c.P.in_world(own), Q=c.Q.in_world(own)), on) for c, own, on in placed]


def _follow(surface: Wrap, begin: tuple[Array, Array, Array, Array, Array]) -> _Segment:
    numbers, P, t, length, turn = begin
    wrap = surface.shaped(numbers)
    end = wrap.geodesic(P, t, length, step=turn)
    return _Segment(_end(wrap, P, t), _end(wrap, end.x, end.t), end.a, end.da, end.r, end.dr)


def _end(wrap: Wrap, x: Array, t: Array) -> _End:
    n = unit(wrap.normal(x))
    b = cross(n, t)
    bent = wrap.bent(x, t)
    return _End(x, t, n, b, dot(t, bent), dot(b, bent))


def _moved(length: Array, c: _Segment, move: _Move) -> PathGeodesic:
    """A geodesic of a length (...) after a move, to first order."""
    alpha, beta, gamma, epsilon, eta = (x[..., None] for x in move)
    P, Q = c.P.x + alpha * c.P.t + beta * c.P.b, c.Q.x + epsilon * c.Q.t + eta * c.Q.b
    return PathGeodesic(P, c.P.t + gamma * c.P.b, length + move.epsilon - move.alpha, Q)


def _onto_surface(surface: Wrap, moved: tuple[Array, PathGeodesic]) -> PathGeodesic:
    """The geodesic of a surface near one that is not quite on it."""
    numbers, x = moved
    wrap = surface.shaped(numbers)
    P = wrap.onto(x.P)
    return PathGeodesic(P, _within_plane(x.t, unit(wrap.normal(P))), x.length, wrap.onto(x.Q))


def _within_plane(v: Array, n: Array) -> Array:
    """(..., 3) the direction of v in the plane across the unit vector n; zero where it has none."""
    return direction(v - dot(v, n)[..., None] * n)


# ---- the linear system ---------------------------------------------------------------------------------------


def _moves(route: Route, segments: Sequence[_Segment], downhill: bool = False) -> list[_Move]:
    """Newton's step for each surface.

    Quantities aside are rows (..., k + 1) of the unknowns beta of all surfaces and 1. Surfaces that are not touched
    come last, so that they are no neighbours of others.
    """
    order = [np.where(on, x, np.inf) for on, x in zip(route.on, route.order, strict=True)]
    found, put_back = in_order(order, _in_world(route, segments))
    along, touched = [c for c, _ in found], [on[..., None] for _, on in found]
    *unknowns, one = np.eye(len(along) + 1)
    x, end, b, aside = route.segment.start, route.segment.end, 0.0 * route.segment.start, 0.0 * one
    straight, rays = [], []
    for i, c in enumerate(along):
        d, P, Q = c.P.x - x, c.P, c.Q
        before = dot(d, P.t)
        gamma = _ratio(_row(dot(d, P.b), one) + unknowns[i] - _row(dot(b, P.b), aside), before[..., None])
        above_P = _row(dot(d, P.n), one) - _row(dot(b, P.n), aside)
        eta, turn = _row(c.a, unknowns[i]) + _row(c.r, gamma), _row(c.da, unknowns[i]) + _row(c.dr, gamma)
        y, b, own = end, 0.0 * end, 0.0 * one
        if i + 1 < len(along):
            y, b = (np.where(touched[i + 1], new, old) for new, old in ((along[i + 1].P.x, y), (along[i + 1].P.b, b)))
            own = unknowns[i + 1]
        d = y - Q.x
        behind = dot(d, Q.t)
        row = _row(dot(d, Q.b), one) + _row(dot(b, Q.b), own) - eta - _row(behind, turn)
        straight.append(np.where(touched[i], row, -unknowns[i]))
        above_Q = _row(dot(d, Q.n), one) + _row(dot(b, Q.n), own)
        rays.append((gamma, eta, above_P, above_Q, before, behind))
        x, b, aside = Q.x, Q.b, eta
    beta = _eliminated(straight, downhill)
    solution = joined([*(x[..., None] for x in beta), 1.0 + 0.0 * beta[0][..., None]])
    moves = []
    for c, own, (*rows, before, behind) in zip(along, beta, rays, strict=True):
        gamma, eta, above_P, above_Q = (dot(row, solution) for row in rows)
        alpha = -_ratio(above_P + before * c.P.twisted * own, before * c.P.curved)
        epsilon = -_ratio(above_Q + behind * c.Q.twisted * eta, behind * c.Q.curved)
        moves.append(_Move(alpha, own, gamma, epsilon, eta))
    return put_back(moves)


def _row(x: Array, row: Array) -> Array:
    return x[..., None] * row


def _ratio(x: Array, y: Array) -> Array:
    """x / y, where y may vanish."""
    result: Array = x / np.where(np.abs(y) > MIN_DIVISOR, y, MIN_DIVISOR)
    return result


def _eliminated(rows: Sequence[Array], downhill: bool) -> list[Array]:
    """(...) each, the unknowns for which all rows (..., k + 1) vanish. Where `downhill`, positive pivots change their
    sign, so that the step leads away from a maximum."""
    rows = list(rows)
    for k in range(len(rows)):
        pivot = rows[k][..., k, None]
        rows[k] = _ratio(rows[k], -np.abs(pivot) if downhill else pivot)
        for i in range(len(rows)):
            if i != k:
                rows[i] = rows[i] - rows[i][..., k, None] * rows[k]
    return [-row[..., -1] for row in rows]
