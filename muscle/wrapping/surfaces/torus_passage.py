"""The shortest path through a ring, around the inner side of its tube, by Newton's method.

The path has one moment c about the axis (`moments`). If it bears on the tube once, there are three unknowns: c, and the
azimuths of the points where it comes on and leaves. They meet three conditions: both lines have the moment c, and a
geodesic of moment c spans the azimuth between the points. Between ends on opposite sides of the axis the path can bear
twice. It then crosses the hole in between, on a line that touches both sides. The line's parameter then takes the place
of c.

A solution is a local minimum if its lines do not enter the tube and the geodesic bends away from the surface. Its lines
must not cross the plane of the ring outside of it. Between ends on the same side of that plane another solution may run
over the tube, through the hole, and back around the outside. No two other solutions were found between the same ends.

Newton's method starts from a string over the edge of the hole. If that fails, it starts from a path with two contacts,
then at the azimuths of the ends. If all of these fail, one end is turned about the axis to the azimuth of the other,
where the path is plane. From there it turns back step by step.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.vectors import joined
from myoquat.kernels import while_loop
from myoquat.muscle.wrapping.surfaces.base import Near
from myoquat.muscle.wrapping.surfaces.geodesics import within
from myoquat.muscle.wrapping.surfaces.torus_moments import (
    Bridge,
    Tangent,
    Turn,
    along_tube,
    bridge,
    passes_tube,
    tangent,
)
from myoquat.muscle.wrapping.surfaces.vectors import direction, dot, unit

__all__ = ["Passage", "azimuth", "crossing", "shortest_through"]

MAX_NEWTON_STEPS = 14.0  # of an attempt; a step that is shortened counts as SHORTENED_STEPS
SHORTENED_STEPS = 3.0
MAX_LAST_NEWTON_STEPS = 36.0  # of the last attempts, which start far from the solution
NEWTON_TOLERANCE = 1e-7  # [rad, m] change of the last step; its error is the square of that
MAX_AZIMUTH_CHANGE = 0.8  # [rad] of one step
MAX_MOMENT_SHARE = 0.7  # of the way to the radius of the hole, where no geodesic crosses it, that one step may go
MIN_PARAMETER_SHARE = 0.3  # of the parameter of a line across the hole that one step leaves
EDGE_ITERATIONS = 4  # for the azimuth at which a string over the edge of the hole would lie
RETURN_STEPS = 16  # in which an end that was turned about the axis turns back
START_PARAMETER = 0.2  # of a line across the hole between two points near each other
MAX_RESIDUAL = 1e-9  # [rad] of the conditions of a converged path
UNSOLVED_RESIDUAL = 1e9  # [rad] marks a solution that was not found


@dataclass(frozen=True)
class Passage:
    """A path through the ring.

    P         (..., 3) [m] where it comes onto the tube
    Q         (..., 3) [m] where it leaves at last
    arc       (...) [m] between
    missed    (...) the residual of the conditions, or UNSOLVED_RESIDUAL
    phi, psi  (...) the azimuths of P and Q of the last iterate, even where it is no shortest path
    c         (...) [m] the moment of the last iterate
    """

    P: Array
    Q: Array
    arc: Array
    missed: Array
    phi: Array
    psi: Array
    c: Array

    def or_else(self, condition: Array, other: "Passage") -> "Passage":
        """This passage where the condition (...) holds, elsewhere another."""
        column = condition[..., None]
        return Passage(
            np.where(column, self.P, other.P), np.where(column, self.Q, other.Q),
            *(np.where(condition, getattr(self, name), getattr(other, name))
              for name in ("arc", "missed", "phi", "psi", "c")),
        )  # fmt: skip


@dataclass(frozen=True)
class _Ring:
    """The problem.

    ends   A, B (..., 3)
    radii  R, r of ring and tube
    side   1 where psi grows along the path and -1 where it falls
    near   where a path near the solution comes onto the tube and leaves it
    """

    ends: tuple[Array, Array]
    radii: tuple[Array, Array]
    side: Array
    near: tuple[Array, Array]

    @property
    def hole(self) -> Array:
        result: Array = self.radii[0] - self.radii[1]
        return result

    @property
    def between(self) -> Array:
        """(...) the angle about the axis from A to B, within half a turn."""
        return _about_axis(*self.ends)

    def lines(self, phi: Array, psi: Array, turned: Array | float = 0.0) -> tuple[Tangent, Tangent]:
        """The straight parts of the path at both ends, which touch at the azimuths phi and psi (...); B may be turned
        about the axis."""
        A, B = self.ends
        cos, sin = np.cos(turned), np.sin(turned)
        x, y = cos * B[..., 0] - sin * B[..., 1], sin * B[..., 0] + cos * B[..., 1]
        B = np.stack([x, y, B[..., 2]], axis=-1)
        return (
            tangent(A, phi, *self.radii, self.side),
            tangent(B, psi, *self.radii, -self.side),
        )


Attempt = Callable[[Passage, _Ring], Passage]  # from the passage before to the one that is found


def shortest_through(A: Array, B: Array, R: Array, r: Array, where: Array, near: Near | None = None) -> Passage:
    """The shortest path from A to B (..., 3) around the inner side of a tube of radius r (...) and ring radius R.

    where  (...) elsewhere nothing is sought
    near   where to begin. Where it is rough, only a string over the edge of the hole is tried
    """
    none = 0.0 * (A[..., 0] + B[..., 0])
    A, B = (x + none[..., None] for x in (A, B))
    ring = _Ring((A, B), (R, r), _side(A, B), (A, B) if near is None else (near.P, near.Q))
    path = Passage(A, B, none, none + UNSOLVED_RESIDUAL, none, none, none)

    def tried(attempt: Attempt, where: Array) -> Passage:
        return while_loop(_always, attempt, path, ring, max_steps=1, where=where)

    if near is not None:
        path = tried(_guessed, where & near.rough)
        path = tried(_from_near, where & near.known)
        where = where & ~near.rough
    attempts: list[Attempt] = [
        _from_edge,
        partial(_across, MAX_NEWTON_STEPS),
        partial(_from_end, 1),
        partial(_from_end, 0),
        _from_both,
        partial(_across, MAX_LAST_NEWTON_STEPS),
        _turned_back,
        _lifted,
    ]
    for attempt in attempts:
        path = tried(attempt, where & ~(path.missed <= MAX_RESIDUAL))
    return path


def _always(_: Passage) -> bool:
    return True


def crossing(A: Array, B: Array) -> Array:
    """(..., 3) where the line from A to B (..., 3) meets the plane z = 0.

    Between points on the same side it is at the share of the way that the magnitudes of their heights give.
    """
    share = np.abs(A[..., 2]) / np.maximum(np.abs(A[..., 2]) + np.abs(B[..., 2]), 1e-300)
    result: Array = A + share[..., None] * (B - A)
    return result


def azimuth(x: Array) -> Array:
    """(...) the angle of points (..., 3) around the z axis."""
    result: Array = np.arctan2(x[..., 1], x[..., 0])
    return result


def _about_axis(A: Array, B: Array) -> Array:
    """(...) the angle about the axis from A to B (..., 3), within half a turn."""
    cross = A[..., 0] * B[..., 1] - A[..., 1] * B[..., 0]
    result: Array = np.arctan2(cross, A[..., 0] * B[..., 0] + A[..., 1] * B[..., 1])
    return result


def _side(A: Array, B: Array) -> Array:
    """(...) 1 where psi grows on the way from A to B through the ring, -1 where it falls. Between ends on the same side
    of the plane the path goes over the tube, from the outer end to the inner one."""
    above = np.where(A[..., 2] > 0, 1.0, -1.0)
    outward = dot(B[..., :2], B[..., :2]) > dot(A[..., :2], A[..., :2])
    result: Array = np.where((A[..., 2] * B[..., 2] > 0) & outward, -above, above)
    return result


# ---- Newton's method ---------------------------------------------------------------------------------------


def _corrected(lines: tuple[Tangent, Tangent], h: Sequence[Array], slopes: Sequence[Array]) -> tuple[Array, ...]:
    """The changes of phi at both points and of the third unknown, by Newton's method.

    h       the conditions
    slopes  those of the moment, by the third unknown, and of the last condition, by all three unknowns
    """
    P, Q = lines
    a, b = -P.rate, Q.rate
    g, d1, d2, d3 = slopes
    by_third = (b * d3 + d2 * g, a * d3 + d1 * g)
    det = a * by_third[0] + d1 * b * g
    det = np.where(det != 0, det, 1.0)
    return (
        (-h[0] * by_third[0] + g * (d2 * h[1] - b * h[2])) / det,
        (-h[1] * by_third[1] + g * (d1 * h[0] - a * h[2])) / det,
        (a * (d2 * h[1] - b * h[2]) + d1 * b * h[0]) / det,
    )


def _bent(line: Tangent, c: Array, r: Array) -> Array:
    """(...) dphi along a geodesic of moment c for dphi of the half plane in which the line touches."""
    square = line.rho * line.rho - c * c
    tiny = 1e-30 * r * r
    result: Array = c * r * line.turning / (line.rho * np.sqrt(np.maximum(square, tiny)))
    return result


@dataclass(frozen=True)
class _OneBearing:
    """Iterate of a path that bears once.

    phi, psi  (...) the azimuths of P and Q
    c         (...) the moment
    share     (...) of the way that B has turned back
    left      (...) how many steps are left
    """

    phi: Array
    psi: Array
    c: Array
    share: Array
    left: Array


@dataclass(frozen=True)
class _TwoBearings:
    """Iterate of a path that bears twice.

    phi, psi  (...) the azimuths of P and Q
    v         (...) the parameter of the line across the hole
    left      (...) how many steps are left
    """

    phi: Array
    psi: Array
    v: Array
    left: Array


def _unfinished(iterate: _OneBearing | _TwoBearings) -> Array:
    result: Array = np.abs(iterate.left) > 0
    return result


def _over_gap(ring: _Ring, at: _TwoBearings) -> tuple[tuple[Tangent, Tangent], Bridge, list[Turn], Array]:
    """The parts of a path that bears twice, and the azimuth from P to Q.

    The parts are the lines at both ends, the one across the hole, and the geodesics before and behind that. They follow
    from phi at P and Q and the parameter of the line across.
    """
    P, Q = ring.lines(at.phi, at.psi)
    gap = bridge(at.v, *ring.radii)
    u = ring.side * gap.u
    turns = [along_tube(P.u, -u, gap.moment, *ring.radii), along_tube(u, Q.u, gap.moment, *ring.radii)]
    return (P, Q), gap, turns, ring.side * (turns[0].phi + turns[1].phi) + gap.phi


def _bearing_once(at: _OneBearing, ring: _Ring) -> _OneBearing:
    """A step of Newton's method for a path that bears once."""
    c, share = at.c, at.share
    side, hole, r = ring.side, ring.hole, ring.radii[1]
    lines = P, Q = ring.lines(at.phi, at.psi, (share - 1.0) * ring.between)
    turn = along_tube(P.u, Q.u, c, *ring.radii)
    h = -P.moment - c, Q.moment - c, side * turn.phi - (at.psi - at.phi)
    slopes = 1.0 + 0.0 * c, 1.0 - side * _bent(P, c, r), side * _bent(Q, c, r) - 1.0, side * turn.rate
    moves = _corrected(lines, h, slopes)
    largest = np.maximum(np.abs(moves[0]), np.abs(moves[1]))
    scale = MAX_AZIMUTH_CHANGE / np.maximum(largest, MAX_AZIMUTH_CHANGE)
    moment = np.minimum(np.maximum(scale * moves[2], -MAX_MOMENT_SHARE * (hole + c)), MAX_MOMENT_SHARE * (hole - c))
    further = np.minimum(share + 1.0 / RETURN_STEPS, 1.0)
    converged = (largest <= NEWTON_TOLERANCE) & (np.abs(moment) <= NEWTON_TOLERANCE * hole) & (share >= 1.0)
    left = _left(at.left, np.where(share < 1.0, 1.0, scale), converged)
    return _OneBearing(at.phi + scale * moves[0], at.psi + scale * moves[1], c + moment, further, left)


def _bearing_twice(at: _TwoBearings, ring: _Ring) -> _TwoBearings:
    """A step of Newton's method for a path that bears twice."""
    v, side, r = at.v, ring.side, ring.radii[1]
    lines, gap, turns, phi = _over_gap(ring, at)
    (P, Q), c = lines, gap.moment
    h = -P.moment - c, Q.moment - c, phi - (at.psi - at.phi)
    at_gap = c * r * gap.psi_rate / (gap.rho * np.sqrt(gap.rho * gap.rho - c * c))
    by_v = side * (turns[0].rate + turns[1].rate) * gap.moment_rate + gap.phi_rate - 2.0 * at_gap
    slopes = gap.moment_rate, 1.0 - side * _bent(P, c, r), side * _bent(Q, c, r) - 1.0, by_v
    moves = _corrected(lines, h, slopes)
    largest = np.maximum(np.maximum(np.abs(moves[0]), np.abs(moves[1])), np.abs(moves[2]))
    scale = MAX_AZIMUTH_CHANGE / np.maximum(largest, MAX_AZIMUTH_CHANGE)
    stepped, nearest = v + scale * moves[2], MIN_PARAMETER_SHARE * v
    moved = np.where(v < 0, np.minimum(stepped, nearest), np.maximum(stepped, nearest))
    left = _left(at.left, scale, largest <= NEWTON_TOLERANCE)
    return _TwoBearings(at.phi + scale * moves[0], at.psi + scale * moves[1], moved, left)


def _left(left: Array, scale: Array, converged: Array) -> Array:
    """(...) how many steps are left after one that was shortened by `scale`; an iteration of shortened steps cycles."""
    return np.where(converged, 0.0, np.maximum(left - np.where(scale < 1.0, SHORTENED_STEPS, 1.0), 0.0))


# ---- what they find ----------------------------------------------------------------------------------------


def _judged_once(at: _OneBearing, ring: _Ring) -> Passage:
    """The passage of the last iterate."""
    c = at.c
    P, Q = ring.lines(at.phi, at.psi)
    turn = along_tube(P.u, Q.u, c, *ring.radii)
    phi, arc = ring.side * turn.phi, ring.side * turn.arc
    over = (ring.side * P.u < 0) & (ring.side * Q.u > 0)
    bends = (ring.hole * ring.hole * ring.hole > ring.radii[0] * c * c) | ~over
    minimal = (arc > 0) & bends & _lines_pass(ring, P, Q)
    return _passage(ring, (P, Q), (at.phi, at.psi, c), (phi, arc), minimal)


def _judged_twice(at: _TwoBearings, ring: _Ring) -> Passage:
    """The passage of the last iterate."""
    (P, Q), gap, turns, phi = _over_gap(ring, at)
    arcs = [ring.side * turn.arc for turn in turns]
    minimal = (arcs[0] > 0) & (arcs[1] > 0) & _lines_pass(ring, P, Q)
    arc = arcs[0] + gap.length + arcs[1]
    return _passage(ring, (P, Q), (at.phi, at.psi, gap.moment), (phi, arc), minimal)


def _lines_pass(ring: _Ring, P: Tangent, Q: Tangent) -> Array:
    """(...) whether neither line enters the tube, or crosses the plane of the ring outside of it."""
    passed = [passes_tube(line.P, end, *ring.radii) for line, end in zip((P, Q), ring.ends, strict=True)]
    inside = [_crosses_inside(line.P, end, ring.radii[0]) for line, end in zip((P, Q), ring.ends, strict=True)]
    result: Array = passed[0] & passed[1] & inside[0] & inside[1]
    return result


def _crosses_inside(P: Array, x: Array, R: Array) -> Array:
    """(...) whether the line from P to x (..., 3) crosses the plane z = 0 within the ring, or not at all."""
    at = crossing(P, x)
    result: Array = (P[..., 2] * x[..., 2] >= 0) | (dot(at[..., :2], at[..., :2]) < R * R)
    return result


def _passage(
    ring: _Ring, lines: tuple[Tangent, Tangent], found: tuple[Array, ...], between: tuple[Array, Array], minimal: Array
) -> Passage:
    """The passage of azimuths of P and Q and a moment, `found`; `between` are the azimuth and the length from P to Q.

    Its residual is UNSOLVED_RESIDUAL where it is no shortest path, or where these are not finite.
    """
    (P, Q), (first, last, c), (phi, arc) = lines, found, between
    missed = (np.abs(P.moment + c) + np.abs(Q.moment - c)) / ring.hole + np.abs(phi - (last - first))
    path = Passage(P.P, Q.P, arc, np.where(minimal, missed, UNSOLVED_RESIDUAL), first, last, c)
    numbers = joined([P.P, Q.P, np.stack([arc, path.missed, first, last, c], axis=-1)])
    known = np.sum(np.abs(numbers), axis=-1) <= 2.0 * UNSOLVED_RESIDUAL
    zero = 0.0 * c
    return path.or_else(known, Passage(0.0 * P.P, 0.0 * Q.P, zero, zero + UNSOLVED_RESIDUAL, zero, zero, zero))


# ---- attempts ----------------------------------------------------------------------------------------------


def _once(phi: tuple[Array, Array], c: Array, share: float, ring: _Ring) -> Passage:
    steps = MAX_NEWTON_STEPS if share else MAX_NEWTON_STEPS + RETURN_STEPS
    start = _OneBearing(*phi, c, 0.0 * c + share, 0.0 * c + steps)
    return _judged_once(while_loop(_unfinished, _bearing_once, start, ring, max_steps=int(steps)), ring)


def _twice(phi: tuple[Array, Array], v: Array, steps: float, ring: _Ring) -> Passage:
    start = _TwoBearings(*phi, v, 0.0 * v + steps)
    return _judged_twice(while_loop(_unfinished, _bearing_twice, start, ring, max_steps=int(steps)), ring)


def _guessed(_: Passage, ring: _Ring) -> Passage:
    """The plane path near where a string over the edge of the hole lies, which is no solution."""
    phi = _at_edge(ring)
    P, Q = ring.lines(phi, phi)
    arc = 2.0 * ring.radii[1] * ring.side * (np.arctan(Q.u) - np.arctan(P.u))
    return Passage(P.P, Q.P, arc, 0.0 * arc + UNSOLVED_RESIDUAL, phi, phi, 0.0 * arc)


def _from_near(_: Passage, ring: _Ring) -> Passage:
    """The path that bears once near one that is nearly right."""
    P, Q = ring.near
    phi = azimuth(P)
    psi = phi + _about_axis(P, Q)
    return _once((phi, psi), _moment(ring, phi, psi), 1.0, ring)


def _from_edge(_: Passage, ring: _Ring) -> Passage:
    """The path that bears once near where a string over the edge of the hole lies."""
    phi = _at_edge(ring)
    return _once((phi, phi), _moment(ring, phi, phi), 1.0, ring)


def _moment(ring: _Ring, phi: Array, psi: Array) -> Array:
    """(...) [m] the mean moment of the lines at two azimuths, within the hole's radius."""
    P, Q = ring.lines(phi, psi)
    result: Array = within(0.5 * (Q.moment - P.moment), MAX_MOMENT_SHARE * ring.hole)
    return result


def _at_edge(ring: _Ring) -> Array:
    """(...) the azimuth at which a string over the edge of the hole lies."""
    A, B = ring.ends
    pull = crossing(A, B)
    for _iteration in range(EDGE_ITERATIONS):
        flat = direction(pull * np.array([1.0, 1.0, 0.0]))
        edge = ring.hole[..., None] * flat
        pull = unit(A - edge) + unit(B - edge)
    return azimuth(pull)


def _across(steps: float, _: Passage, ring: _Ring) -> Passage:
    """The path that bears twice, near the azimuths of the ends."""
    phi, turn = azimuth(ring.ends[0]), ring.between
    v = np.where(turn < 0, -1.0, 1.0) * np.sqrt(0.5 * np.maximum(np.abs(turn), START_PARAMETER * START_PARAMETER))
    return _twice((phi, phi + turn), v, steps, ring)


def _from_end(number: int, _: Passage, ring: _Ring) -> Passage:
    """The path that bears once near the azimuth of an end."""
    phi = azimuth(ring.ends[number])
    return _once((phi, phi), 0.0 * phi, 1.0, ring)


def _from_both(_: Passage, ring: _Ring) -> Passage:
    """The path that bears once and comes on and leaves near the azimuths of the ends."""
    phi, turn = azimuth(ring.ends[0]), ring.between
    return _once((phi, phi + turn), 0.0 * phi, 1.0, ring)


def _turned_back(_: Passage, ring: _Ring) -> Passage:
    """The path that bears once, from the plane one to an end that was turned about the axis and turns back."""
    phi = azimuth(ring.ends[0])
    return _once((phi, phi), 0.0 * phi, 0.0, ring)


def _lifted(before: Passage, ring: _Ring) -> Passage:
    """The path that bears twice, near one that bears once and is no shortest path."""
    phi, psi = before.phi, before.psi
    start = np.where(psi < phi, -START_PARAMETER, START_PARAMETER)
    return _twice((phi, psi), start, MAX_LAST_NEWTON_STEPS, ring)
