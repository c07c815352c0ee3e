"""Newton's method for a path over several surfaces: all its tangent points at once.

For every touched surface an iterate holds a geodesic. It begins at the point P where the path comes onto the surface,
in the direction t, has the length s, and ends at Q. The length of the path is stationary where two conditions hold at
both ends of each line d between two surfaces. The line is tangent, d . n = 0 with the normal n, and goes straight on,
d . b = 0 with b = n x t. Newton's method moves P by alpha t + beta b, turns t by gamma about n, and moves Q by epsilon
t + eta b. Here eta = beta a + gamma r, where a, r are the surface's Jacobi fields along the geodesic. Source: A.
Scholz, M. Sherman, I. Stavness, S. Delp, A. Kecskemethy, A fast multi-obstacle muscle wrapping method using natural
geodesic variations, Multibody System Dynamics 36, 2016.

On a shortest path a move along the path moves nothing aside. Of the four conditions of a surface, those of the lines
aside therefore form a system of their own. It has one unknown beta per surface. The line before Q of the surface before
gives gamma, and the line behind ties beta to that of the next surface. The tangencies give alpha and epsilon. The terms
that are left out are of second order near the solution, as those are that Newton's method leaves out. Where the length
is not convex in beta, the step goes downhill: no start ends in a saddle point.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.vectors import joined
from myoquat.kernels import after_newton_step, choose
from myoquat.kernels.symbolic.arrays import is_symbolic
from myoquat.muscle.wrapping.contact_solve import SolvedContact
from myoquat.muscle.wrapping.geodesic_segments import (
    Geodesic,
    GeodesicEnd,
    GeodesicSegment,
    PlacedSurface,
    followed,
    moved_geodesic,
    within_plane,
)
from myoquat.muscle.wrapping.order_along_path import before, in_order
from myoquat.muscle.wrapping.surfaces.base import Line, Near
from myoquat.muscle.wrapping.surfaces.geodesics import MIN_STEP_RAD
from myoquat.muscle.wrapping.surfaces.vectors import dot, unit

__all__ = [
    "NewtonIterate",
    "NewtonProblem",
    "follow",
    "in_world",
    "moving_contacts",
    "newton_start",
    "newton_step",
    "start_of_solver",
]

MAX_TURN = 0.5  # [rad] by which one step may turn directions and normals
MIN_DIVISOR = 1e-30  # no number is divided by one of a smaller magnitude


@dataclass(frozen=True)
class NewtonProblem:
    """The surfaces, which of them (...) the path touches, their order along the path (...), and its ends (..., 3)."""

    surfaces: tuple[PlacedSurface, ...]
    on: tuple[Array, ...]
    order: tuple[Array, ...]
    ends: Line


@dataclass(frozen=True)
class NewtonIterate:
    """A geodesic on each surface, in its frame; and by how much (...) [rad] the last step turned, at least
    MIN_STEP_RAD."""

    geodesics: tuple[Geodesic, ...]
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


@dataclass(frozen=True)
class _Line:
    """The straight piece on one side of a surface.

    length  [m] along the path
    above   by how much it leaves the tangent plane there, d . n, as a row of the unknowns beta and 1
    """

    length: Array
    above: Array


@dataclass(frozen=True)
class _Ray:
    """The quantities aside at a surface, as rows (..., k + 1) of the unknowns beta of all surfaces and 1.

    gamma, eta  of the step
    turn        by how much t turns at Q
    line        the line before
    """

    gamma: Array
    eta: Array
    turn: Array
    line: _Line


@dataclass(frozen=True)
class _Move:
    """alpha, beta, gamma, epsilon, eta (...) of a surface."""

    alpha: Array
    beta: Array
    gamma: Array
    epsilon: Array
    eta: Array

    def turn(self, segment: GeodesicSegment) -> Array:
        """(...) [rad] by about how much directions and normals turn."""
        at_P = np.abs(self.alpha * segment.P.curved) + np.abs(self.beta * segment.P.twisted)
        result: Array = np.abs(self.gamma) + at_P + np.abs(self.epsilon * segment.Q.curved)
        return result


@dataclass(frozen=True)
class OnSurface:
    """A geodesic in the world, and whether (...) the path is on its surface."""

    segment: GeodesicSegment
    on: Array

    @property
    def P(self) -> GeodesicEnd:
        return self.segment.P

    @property
    def Q(self) -> GeodesicEnd:
        return self.segment.Q


def newton_start(problem: NewtonProblem, contacts: Sequence[SolvedContact]) -> NewtonIterate:
    """The iterate from contacts near the solution, each in its surface's frame."""
    surfaces, on, start = problem.surfaces, problem.on, problem.ends[0]
    geodesics = []
    Q = [placed.in_world(c.Q) for placed, c in zip(surfaces, contacts, strict=True)]
    for i, (placed, c) in enumerate(zip(surfaces, contacts, strict=True)):
        here = on[i][..., None]
        P = np.where(here, c.P, placed.wrap.onto(np.ones(3) + 0.0 * c.P))
        t = within_plane(P - placed.seen(before(problem.order, on, i, Q, start)), unit(placed.wrap.normal(P)))
        geodesics.append(Geodesic(P, t, np.where(on[i], c.arc, 0.0), c.Q))
    return NewtonIterate(tuple(geodesics), MAX_TURN + 0.0 * start[..., 0])


def start_of_solver(iterate: NewtonIterate, number: int, on: Array) -> Near:
    """Where the path meets the surface of this number, for a solver to begin where it is touched, `on` (...)."""
    geodesic = iterate.geodesics[number]
    arc = geodesic.length
    return Near(geodesic.P, geodesic.Q, arc, on & (arc > 0), on & ~on)


def follow(problem: NewtonProblem, iterate: NewtonIterate, turn: Array) -> list[GeodesicSegment]:
    """The geodesics of an iterate, each in its surface's frame; by how much (...) [rad] the last step turned."""
    return [
        followed(placed, geodesic, on, turn)
        for placed, geodesic, on in zip(problem.surfaces, iterate.geodesics, problem.on, strict=True)
    ]


def in_world(problem: NewtonProblem, segments: Sequence[GeodesicSegment]) -> list[OnSurface]:
    """Geodesics of the surfaces' frames in the world."""
    pairs = zip(segments, problem.surfaces, problem.on, strict=True)
    return [OnSurface(c.in_world(placed), on) for c, placed, on in pairs]


def newton_step(iterate: NewtonIterate, problem: NewtonProblem) -> NewtonIterate:
    """The iterate after a step of Newton's method; surfaces that are not touched stay."""
    given = in_world(problem, follow(problem, iterate, iterate.turn))
    moves = _moves(problem, given, downhill=True)
    turns = [np.where(c.on, move.turn(c.segment), 0.0) for c, move in zip(given, moves, strict=True)]
    turn = sum(turns, 0.0 * iterate.turn)
    share = (MAX_TURN / np.maximum(turn, MAX_TURN))[..., None]
    found = [
        choose(c.on, _moved(placed, x, c, move, share), x)
        for placed, x, c, move in zip(problem.surfaces, iterate.geodesics, given, moves, strict=True)
    ]
    return NewtonIterate(tuple(found), np.maximum(turn, MIN_STEP_RAD))


class _Touched(NamedTuple):
    """Where a solved path comes onto a surface and leaves it, P and Q (..., 3) in the surface's frame, and the length
    (...) of its geodesic."""

    P: Array
    Q: Array
    arc: Array


def moving_contacts(problem: NewtonProblem, contacts: Sequence[SolvedContact]) -> list[SolvedContact]:
    """The contacts of a solved path, with the derivatives of P, Q and arc by the ends of the path and the frames of the
    surfaces: those of a step of Newton's method (`after_newton_step`). They have none with a ring, whose tube a path
    through it may leave in between, and none where sizes of surfaces vary."""
    if any(placed.prototype.ring or is_symbolic(placed.numbers) for placed in problem.surfaces):
        return list(contacts)

    def geodesics() -> list[GeodesicSegment]:
        start = newton_start(problem, contacts)
        return follow(problem, start, MIN_STEP_RAD + 0.0 * start.turn)

    def step(touched: list[_Touched], segments: list[GeodesicSegment]) -> list[_Touched]:
        moved, moves = [], _moves(problem, in_world(problem, segments))
        for x, on, c, move in zip(touched, problem.on, segments, moves, strict=True):
            alpha, beta, epsilon, eta = (k[..., None] for k in (move.alpha, move.beta, move.epsilon, move.eta))
            P, Q = c.P.x + alpha * c.P.t + beta * c.P.b, c.Q.x + epsilon * c.Q.t + eta * c.Q.b
            moved.append(choose(on, _Touched(P, Q, x.arc + move.epsilon - move.alpha), x))
        return moved

    found = after_newton_step(step, [_Touched(c.P, c.Q, c.arc) for c in contacts], geodesics)
    return [replace(c, P=x.P, Q=x.Q, arc=x.arc) for c, x in zip(contacts, found, strict=True)]


def _moves(problem: NewtonProblem, given: Sequence[OnSurface], downhill: bool = False) -> list[_Move]:
    """Newton's step for each surface."""
    along, put_back = in_order(problem.order, given)
    return put_back(_moves_along(along, problem.ends, downhill))


def _moves_along(segments: Sequence[OnSurface], ends: Line, downhill: bool) -> list[_Move]:
    """Newton's step, of the surfaces in the order of the path."""
    rays = _rays(segments, ends[0])
    straight, behind = _behind(segments, rays, ends[1])
    beta = _eliminated(straight, downhill)
    given = joined([*(x[..., None] for x in beta), 1.0 + 0.0 * beta[0][..., None]])
    found = []
    for c, ray, line, own in zip(segments, rays, behind, beta, strict=True):
        gamma, eta, risen, above = (dot(row, given) for row in (ray.gamma, ray.eta, ray.line.above, line.above))
        alpha = -_ratio(risen + ray.line.length * c.P.twisted * own, ray.line.length * c.P.curved)
        epsilon = -_ratio(above + line.length * c.Q.twisted * eta, line.length * c.Q.curved)
        found.append(_Move(alpha, own, gamma, epsilon, eta))
    return found


def _rays(segments: Sequence[OnSurface], start: Array) -> list[_Ray]:
    """From the start on, how rays go through that leave it."""
    *unknowns, one = np.eye(len(segments) + 1)
    x, b, aside, found = start, 0.0 * start, 0.0 * one, []
    for c, own in zip(segments, unknowns, strict=True):
        d, P, fields = c.P.x - x, c.P, c.segment
        length = dot(d, P.t)
        gamma = _ratio(_row(dot(d, P.b), one) + own - _row(dot(b, P.b), aside), length[..., None])
        above = _row(dot(d, P.n), one) - _row(dot(b, P.n), aside)
        eta, turn = _row(fields.a, own) + _row(fields.r, gamma), _row(fields.da, own) + _row(fields.dr, gamma)
        found.append(_Ray(gamma, eta, turn, _Line(length, above)))
        on = c.on[..., None]
        x, b, aside = np.where(on, c.Q.x, x), np.where(on, c.Q.b, b), np.where(on, eta, aside)
    return found


def _behind(segments: Sequence[OnSurface], rays: Sequence[_Ray], end: Array) -> tuple[list[Array], list[_Line]]:
    """The conditions that the line behind each surface goes straight on, as rows, and these lines."""
    *unknowns, one = np.eye(len(segments) + 1)
    x, b, aside = end, 0.0 * end, 0.0 * one
    straight, lines = [], []
    for c, ray, own in zip(reversed(segments), reversed(rays), reversed(unknowns), strict=True):
        d, Q = x - c.Q.x, c.Q
        length = dot(d, Q.t)
        on = c.on[..., None]
        row = _row(dot(d, Q.b), one) + _row(dot(b, Q.b), aside) - ray.eta - _row(length, ray.turn)
        straight.append(np.where(on, row, own))
        lines.append(_Line(length, _row(dot(d, Q.n), one) + _row(dot(b, Q.n), aside)))
        x, b, aside = np.where(on, c.P.x, x), np.where(on, c.P.b, b), np.where(on, own, aside)
    return straight[::-1], lines[::-1]


def _moved(placed: PlacedSurface, geodesic: Geodesic, c: OnSurface, move: _Move, share: Array) -> Geodesic:
    """The geodesic of a surface after as much of a move."""
    P, Q = c.P, c.Q
    alpha, beta, gamma, epsilon, eta = (
        share * x[..., None] for x in (move.alpha, move.beta, move.gamma, move.epsilon, move.eta)
    )
    length = geodesic.length[..., None] + epsilon - alpha
    at_P, at_Q = P.x + alpha * P.t + beta * P.b, Q.x + epsilon * Q.t + eta * Q.b
    return moved_geodesic(placed, at_P, P.t + gamma * P.b, length[..., 0], at_Q, c.on)


def _row(x: Array, row: Array) -> Array:
    return x[..., None] * row


def _ratio(x: Array, y: Array) -> Array:
    """x / y, where y may vanish."""
    result: Array = x / np.where(np.abs(y) > MIN_DIVISOR, y, MIN_DIVISOR)
    return result


def _eliminated(rows: Sequence[Array], downhill: bool) -> list[Array]:
    """(...) each, the unknowns for which all rows (..., k + 1) vanish.

    A pivot is below zero where the length is convex: then a thin pencil of rays from the start widens up to the next
    surface (`saddle_points`). Where `downhill`, others change their sign, so that the step leads away from a maximum.
    """
    rows = list(rows)
    for k in range(len(rows)):
        pivot = rows[k][..., k, None]
        rows[k] = _ratio(rows[k], -np.abs(pivot) if downhill else pivot)
        for i in range(len(rows)):
            if i != k:
                rows[i] = rows[i] - rows[i][..., k, None] * rows[k]
    return [-row[..., -1] for row in rows]
