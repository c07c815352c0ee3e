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
from typing import NamedTuple

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints.vectors import cross, dot, joined, matvec, vecmat
from myoquat.kernels import after_newton_step, call_where, choose
from myoquat.kernels.symbolic.arrays import is_symbolic

from .route import Order, PlacedSurface, Route, Segment, in_order
from .surfaces.base import Contact, Wrap
from .surfaces.geodesics import MIN_STEP_RAD
from .surfaces.vectors import direction, size, unit

MAX_TURN = 0.5  # [rad] by which one step may turn directions and normals
MIN_DIVISOR = 1e-30  # no number is divided by one of a smaller magnitude

_Touched = tuple[Array, Array, Array]  # P, Q (..., 3) and the length (...) of the geodesic between


@frozen
class PathGeodesic:
    """A geodesic in the world: where it begins, P, its direction t there, its length (...) [m], and its end Q (..., 3).
    That it begins on the surface, and along it, is seen to where it is followed."""

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
    for i, c in enumerate(route.contacts):
        t = direction(c.P - route.neighbours(i)[0])
        geodesics.append(PathGeodesic(c.P, t, np.where(c.on, c.arc, 0.0), c.Q))
    return NewtonIterate(tuple(geodesics), MAX_TURN + 0.0 * route.segment.start[..., 0])


def newton_step(iterate: NewtonIterate, route: Route) -> NewtonIterate:
    """The iterate after a step of Newton's method; surfaces that the path does not touch stay."""
    segments = _followed(route, iterate, iterate.turn)
    moves = _moves(route, list(zip(segments, route.on, strict=True)), downhill=True)
    turns = [np.where(on, move.turn(c), 0.0) for on, c, move in zip(route.on, segments, moves, strict=True)]
    turn = sum(turns, 0.0 * iterate.turn)
    share = MAX_TURN / np.maximum(turn, MAX_TURN)
    found = []
    for on, x, c, move in zip(route.on, iterate.geodesics, segments, moves, strict=True):
        found.append(choose(on, _moved(x.length, c, _Move(*(share * k for k in move))), x))
    return NewtonIterate(tuple(found), np.maximum(turn, MIN_STEP_RAD))


def moving_contacts(segment: Segment, contacts: Sequence[Contact], order: Order) -> list[Contact]:
    """The contacts of a solved path in the surfaces' frames, with the derivatives of P, Q and arc by the ends of the
    path and the frames of the surfaces.

    The derivatives are those of a step of Newton's method (`after_newton_step`). Contacts have none with a ring, whose
    tube a path through it may leave in between, and none where sizes of surfaces vary.
    """
    surfaces = segment.surfaces
    if any(placed.prototype.ring or is_symbolic(placed.numbers) for placed in surfaces):
        return list(contacts)
    in_world = [
        replace(c, P=placed.in_world(c.P), Q=placed.in_world(c.Q)) for placed, c in zip(surfaces, contacts, strict=True)
    ]
    route = Route(segment, tuple(in_world), order)

    def seen() -> list[_Geodesic]:
        return [c.seen(placed) for placed, c in zip(surfaces, _solution(route), strict=True)]

    def step(touched: list[_Touched], geodesics: list[_Geodesic]) -> list[_Touched]:
        along = [c.in_world(placed) for placed, c in zip(surfaces, geodesics, strict=True)]
        moves = _moves(route, list(zip(along, route.on, strict=True)))
        moved = [_moved(x[2], c, move) for x, c, move in zip(touched, geodesics, moves, strict=True)]
        return [choose(on, (x.P, x.Q, x.length), y) for on, x, y in zip(route.on, moved, touched, strict=True)]

    found = after_newton_step(step, [(c.P, c.Q, c.arc) for c in contacts], seen)
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
    along, _ = in_order(route.order, list(zip(_solution(route), route.on, strict=True)))
    for c, on in along:
        near = width + rate * size(c.P.x - x)
        width, rate = choose(on, (c.a * near + c.r * rate, c.da * near + c.dr * rate), (width, rate))
        least, x = np.where(on, np.minimum(least, width), least), np.where(on[..., None], c.Q.x, x)
    result: Array = np.minimum(least, width + rate * size(end - x))
    return result


def _solution(route: Route) -> "list[_Geodesic]":
    """The geodesics of a solved path."""
    start = newton_start(route)
    return _followed(route, start, MIN_STEP_RAD + 0.0 * start.turn)


# ---- geodesics -----------------------------------------------------------------------------------------------


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

    def seen(self, placed: PlacedSurface) -> "_End":
        """In the frame of a surface."""
        t, n, b = (matvec(placed.axes, v) for v in (self.t, self.n, self.b))
        return _End(placed.seen(self.x), t, n, b, self.curved, self.twisted)


@frozen
class _Geodesic:
    """A geodesic, with its Jacobi fields a, r and their rates at the end."""

    P: _End
    Q: _End
    a: Array
    da: Array
    r: Array
    dr: Array

    def in_world(self, placed: PlacedSurface) -> "_Geodesic":
        """That of a surface's frame in the world."""
        return replace(self, P=self.P.in_world(placed), Q=self.Q.in_world(placed))

    def seen(self, placed: PlacedSurface) -> "_Geodesic":
        """That of the world in the frame of a surface."""
        return replace(self, P=self.P.seen(placed), Q=self.Q.seen(placed))


class _Move(NamedTuple):
    """What a step changes (...) at a surface."""

    alpha: Array
    beta: Array
    gamma: Array
    epsilon: Array
    eta: Array

    def turn(self, c: _Geodesic) -> Array:
        """(...) [rad] by about how much directions and normals turn."""
        at_P = np.abs(self.alpha * c.P.curved) + np.abs(self.beta * c.P.twisted)
        result: Array = np.abs(self.gamma) + at_P + np.abs(self.epsilon * c.Q.curved)
        return result


def _followed(route: Route, iterate: NewtonIterate, turn: Array) -> list[_Geodesic]:
    """The geodesics of an iterate, followed from their starts; by how much (...) [rad] the last step turned."""
    found = []
    for placed, x, on in zip(route.segment.surfaces, iterate.geodesics, route.on, strict=True):
        zero, number = 0.0 * x.P, 0.0 * x.length
        end = _End(zero, zero, zero, zero, number, number)
        none = _Geodesic(end, end, number, number, number, number)
        found.append(call_where(_follow, (placed, x, turn), on, none))
    return found


def _follow(begin: tuple[PlacedSurface, PathGeodesic, Array]) -> _Geodesic:
    placed, x, turn = begin
    wrap = placed.wrap
    P = wrap.onto(placed.seen(x.P))
    t, n = matvec(placed.axes, x.t), unit(wrap.normal(P))
    t = direction(t - dot(t, n)[..., None] * n)
    end = wrap.geodesic(P, t, x.length[..., None], step=turn)
    found = _Geodesic(_end(wrap, P, t), _end(wrap, end.x, end.t), end.a, end.da, end.r, end.dr)
    return found.in_world(placed)


def _end(wrap: Wrap, x: Array, t: Array) -> _End:
    n = unit(wrap.normal(x))
    b = cross(n, t)
    bent = wrap.bent(x, t)
    return _End(x, t, n, b, dot(t, bent), dot(b, bent))


def _moved(length: Array, c: _Geodesic, move: _Move) -> PathGeodesic:
    """A geodesic of a length (...) after a move, to first order."""
    alpha, beta, gamma, epsilon, eta = (x[..., None] for x in move)
    P, Q = c.P.x + alpha * c.P.t + beta * c.P.b, c.Q.x + epsilon * c.Q.t + eta * c.Q.b
    return PathGeodesic(P, c.P.t + gamma * c.P.b, length + move.epsilon - move.alpha, Q)


# ---- the linear system ---------------------------------------------------------------------------------------


def _moves(route: Route, geodesics: Sequence[tuple[_Geodesic, Array]], downhill: bool = False) -> list[_Move]:
    """Newton's step for each surface, from the geodesics in the world and whether (...) the path is on each.

    Quantities aside are rows (..., k + 1) of the unknowns beta of all surfaces and 1. Surfaces that are not touched
    come last, so that they are no neighbours of others.
    """
    order = [np.where(on, x, np.inf) for on, x in zip(route.on, route.order, strict=True)]
    found, put_back = in_order(order, geodesics)
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
