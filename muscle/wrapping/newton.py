"""A path over several surfaces, pulled taut at all its tangent points at once.

Of every touched surface a state holds where the path comes onto it, P, in which direction t, how long the geodesic
from there is, s, and where it ends, Q. The path is taut where each line d between two surfaces is tangent at both of
its ends, d . n = 0 with the normal n, and goes straight on there, d . b = 0 with b = n x t. Newton's method moves P by
alpha t + beta b, turns t by gamma about n, and moves Q by epsilon t + eta b, where eta = beta a + gamma r and a, r are
the surface's Jacobi fields along the geodesic [A. Scholz, M. Sherman, I. Stavness, S. Delp, A. Kecskemethy, A fast
multi-obstacle muscle wrapping method using natural geodesic variations, Multibody System Dynamics 36, 2016].

On a taut path, what moves along it moves nothing aside, so that of the four conditions of a surface those of the lines
aside make a system of their own, with one unknown beta per surface: the line before Q of the surface before gives
gamma, and the line behind ties beta to that of the next surface. The tangencies give alpha and epsilon. The terms left
out are of second order near the solution, as those are that Newton's method leaves out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.stacking import joined
from myoquat.muscle.wrapping.geodesic_segments import VARIED, Course, Placed, followed_on, laid, within_plane
from myoquat.muscle.wrapping.order_along_path import before, in_order
from myoquat.muscle.wrapping.surfaces.base import Contact, Line, Near
from myoquat.muscle.wrapping.surfaces.geodesics import FINE
from myoquat.muscle.wrapping.surfaces.vectors import dot, unit

__all__ = ["begun", "near", "varied"]

FARTHEST = 0.5  # [rad] by which one step may turn what it moves
TINY = 1e-30  # no number is divided by less


@dataclass(frozen=True)
class _Line:
    """The straight piece on one side of a surface: its length along the path [m], and by how much it leaves the tangent
    plane there, d . n, as a row of the unknowns beta and 1."""

    length: Array
    above: Array


@dataclass(frozen=True)
class _Ray:
    """What is aside at a surface, as rows (..., k + 1) of the unknowns beta of all surfaces and 1: gamma, eta, and by
    how much t turns at Q; and the line before."""

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

    @classmethod
    def unpacked(cls, x: Array) -> "_Move":
        return cls(*(x[..., i] for i in range(5)))

    def packed(self) -> Array:
        """(..., 5)"""
        return np.stack([self.alpha, self.beta, self.gamma, self.epsilon, self.eta], axis=-1)

    def turn(self, course: Course) -> Array:
        """(...) [rad] by about how much directions and normals turn."""
        at_P = np.abs(self.alpha * course.P.curved) + np.abs(self.beta * course.P.twisted)
        result: Array = np.abs(self.gamma) + at_P + np.abs(self.epsilon * course.Q.curved)
        return result


def begun(surfaces: Sequence[Placed], contacts: Sequence[Contact], places: Sequence[Array], start: Array) -> Array:
    """(..., VARIED k + 1) the state from contacts that are nearly right, each in its surface's frame; its last number
    is how far the step before went [rad]. places (...): of the surfaces along the path. start (..., 3): of the path."""
    on, found = [c.on for c in contacts], []
    Q = [placed.in_world(c.Q) for placed, c in zip(surfaces, contacts, strict=True)]
    for i, (placed, c) in enumerate(zip(surfaces, contacts, strict=True)):
        here = on[i][..., None]
        P = np.where(here, c.P, placed.wrap.onto(np.ones(3) + 0.0 * c.P))
        t = within_plane(P - placed.seen(before(places, on, i, Q, start)), unit(placed.wrap.normal(P)))
        found += [P, t, np.where(here, c.arc[..., None], 0.0), c.Q]
    return joined([*found, FARTHEST + 0.0 * start[..., :1]])


def near(state: Array, number: int, on: Array) -> Near:
    """Where the path meets the surface of this number, for a solver to begin where it is touched, `on` (...)."""
    z = state[..., VARIED * number : VARIED * (number + 1)]
    arc = z[..., 6]
    return Near(z[..., 0:3], z[..., 7:10], arc, on & (arc > 0), on & ~on, 0.0 * arc)


def varied(surfaces: Sequence[Placed], on: Sequence[Array], places: Sequence[Array], ends: Line, state: Array) -> Array:
    """The state (..., VARIED k + 1) after a step of Newton's method. on (...) each: a surface that is not touched
    stands still. places (...) each: along the path."""
    z = [state[..., VARIED * i : VARIED * (i + 1)] for i in range(len(surfaces))]
    given = [followed_on(*x, state[..., -1]) for x in zip(surfaces, z, on, strict=True)]
    along, put_back = in_order(places, given)
    there = [move.packed() for move in _moves([Course.unpacked(y) for y in along], ends)]
    courses, moves = [Course.unpacked(y) for y in given], [_Move.unpacked(x) for x in put_back(there)]
    turns = [np.where(c.on, move.turn(c), 0.0) for c, move in zip(courses, moves, strict=True)]
    turn = sum(turns, 0.0 * state[..., 0])[..., None]
    share = FARTHEST / np.maximum(turn, FARTHEST)
    found = [
        np.where(c.on[..., None], _moved(placed, x, c, move, share), x)
        for placed, x, c, move in zip(surfaces, z, courses, moves, strict=True)
    ]
    return joined([*found, np.maximum(turn, FINE)])


def _moves(courses: Sequence[Course], ends: Line) -> list[_Move]:
    """Newton's step, of the surfaces in the order of the path."""
    rays = _rays(courses, ends[0])
    straight, behind = _behind(courses, rays, ends[1])
    beta = _eliminated(straight)
    given = joined([*(x[..., None] for x in beta), 1.0 + 0.0 * beta[0][..., None]])
    found = []
    for c, ray, line, own in zip(courses, rays, behind, beta, strict=True):
        gamma, eta, risen, above = (dot(row, given) for row in (ray.gamma, ray.eta, ray.line.above, line.above))
        alpha = -_ratio(risen + ray.line.length * c.P.twisted * own, ray.line.length * c.P.curved)
        epsilon = -_ratio(above + line.length * c.Q.twisted * eta, line.length * c.Q.curved)
        found.append(_Move(alpha, own, gamma, epsilon, eta))
    return found


def _rays(courses: Sequence[Course], start: Array) -> list[_Ray]:
    """From the start on, how rays go through that leave it."""
    *unknowns, one = np.eye(len(courses) + 1)
    x, b, aside, found = start, 0.0 * start, 0.0 * one, []
    for course, own in zip(courses, unknowns, strict=True):
        d, P = course.P.x - x, course.P
        length = dot(d, P.t)
        gamma = _ratio(_row(dot(d, P.b), one) + own - _row(dot(b, P.b), aside), length[..., None])
        above = _row(dot(d, P.n), one) - _row(dot(b, P.n), aside)
        a, da, r, dr = course.fields
        eta, turn = _row(a, own) + _row(r, gamma), _row(da, own) + _row(dr, gamma)
        found.append(_Ray(gamma, eta, turn, _Line(length, above)))
        on = course.on[..., None]
        x, b, aside = np.where(on, course.Q.x, x), np.where(on, course.Q.b, b), np.where(on, eta, aside)
    return found


def _behind(courses: Sequence[Course], rays: Sequence[_Ray], end: Array) -> tuple[list[Array], list[_Line]]:
    """The conditions that the line behind each surface goes straight on, as rows, and these lines."""
    *unknowns, one = np.eye(len(courses) + 1)
    x, b, aside = end, 0.0 * end, 0.0 * one
    straight, lines = [], []
    for course, ray, own in zip(reversed(courses), reversed(rays), reversed(unknowns), strict=True):
        d, Q = x - course.Q.x, course.Q
        length = dot(d, Q.t)
        on = course.on[..., None]
        row = _row(dot(d, Q.b), one) + _row(dot(b, Q.b), aside) - ray.eta - _row(length, ray.turn)
        straight.append(np.where(on, row, own))
        lines.append(_Line(length, _row(dot(d, Q.n), one) + _row(dot(b, Q.n), aside)))
        x, b, aside = np.where(on, course.P.x, x), np.where(on, course.P.b, b), np.where(on, own, aside)
    return straight[::-1], lines[::-1]


def _moved(placed: Placed, z: Array, course: Course, move: _Move, share: Array) -> Array:
    """The numbers of a surface after as much of a move."""
    P, Q = course.P, course.Q
    alpha, beta, gamma, epsilon, eta = (
        share * x[..., None] for x in (move.alpha, move.beta, move.gamma, move.epsilon, move.eta)
    )
    length = z[..., 6:7] + epsilon - alpha
    return laid(
        placed, P.x + alpha * P.t + beta * P.b, P.t + gamma * P.b, length, Q.x + epsilon * Q.t + eta * Q.b, course.on
    )


def _row(x: Array, row: Array) -> Array:
    return x[..., None] * row


def _ratio(x: Array, y: Array) -> Array:
    """x / y, where y may vanish."""
    result: Array = x / np.where(np.abs(y) > TINY, y, TINY)
    return result


def _eliminated(rows: Sequence[Array]) -> list[Array]:
    """(...) each, the unknowns for which all rows (..., k + 1) vanish. Below one that is no end, the second variation
    of a shortest path is positive: no pivots are needed."""
    rows = list(rows)
    for k in range(len(rows)):
        rows[k] = _ratio(rows[k], rows[k][..., k, None])
        for i in range(len(rows)):
            if i != k:
                rows[i] = rows[i] - rows[i][..., k, None] * rows[k]
    return [-row[..., -1] for row in rows]
