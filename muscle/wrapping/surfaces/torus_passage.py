"""A taut path through a ring, around the inner side of its tube, by Newton's method.

The path has one moment c about the axis (`moments`). Where it bears on the tube once, three unknowns, the azimuths of
the points where it comes on and leaves and c, meet three conditions: both lines have the moment c, and a geodesic of
moment c spans the azimuth between the points. Between ends on opposite sides of the axis the path can bear twice and
cross the hole in between, on a line that touches both sides; the line's parameter then takes the place of c.

A solution is the path where it is taut: its lines do not enter the tube, and the geodesic bends away from the surface.
No two such solutions were found between the same ends. Newton's method starts where a string over the edge of the hole
would lie; then with a path that bears twice; then at the azimuths of the ends. Where none of these leads to a taut path
one end is turned about the axis to the azimuth of the other, where the path is plane, and turns back step by step.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.stacking import joined
from myoquat.kernels import iterate
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

__all__ = ["Passage", "azimuth", "crossing", "taut_through"]

NEWTON = 14.0  # steps, of which one that is shortened counts as
SHORTENED = 3.0
PATIENT = 36.0  # steps at last
SETTLED = 1e-7  # [rad, m] by which the last but one step may move
FARTHEST = 0.8  # [rad] of the azimuths that one step may change
NEARER = 0.7  # of the way to the radius of the hole, where no geodesic crosses it, that c may go
LEAST = 0.3  # of the parameter of a line across the hole that is left after a step
TURNS = 4  # to the azimuth at which a string over the edge of the hole would lie
BACK = 16  # steps in which an end that was turned about the axis turns back
SHORT = 0.2  # parameter of a line across the hole between two points near each other
SOLVED = 1e-9  # of the conditions, which are angles
LOST = 1e9  # how far a path is from a solution that was not found

Attempt = Callable[[Array, Array], Array]  # the numbers of the passage before and what is given -> of the one found


@dataclass(frozen=True)
class Passage:
    """P, Q (..., 3) [m] where the path comes onto the tube and where it leaves at last; arc (...) [m] between; missed
    (...) by how much the conditions are not met, or LOST; phi, psi (...) the azimuths of P and Q and c (...) [m] the
    moment that were found, whether they make a taut path or not."""

    numbers: Array

    @property
    def P(self) -> Array:
        return self.numbers[..., 0:3]

    @property
    def Q(self) -> Array:
        return self.numbers[..., 3:6]

    @property
    def arc(self) -> Array:
        return self.numbers[..., 6]

    @property
    def missed(self) -> Array:
        return self.numbers[..., 7]

    @property
    def found(self) -> Array:
        """(..., 3) the azimuths of P and Q, and the moment."""
        return self.numbers[..., 8:11]


@dataclass(frozen=True)
class _Ring:
    """What is given: the ends, the radii, 1 where psi grows along the path and -1 where it falls, and where a path that
    is nearly right comes onto the tube and leaves it."""

    numbers: Array

    @property
    def ends(self) -> tuple[Array, Array]:
        return self.numbers[..., 0:3], self.numbers[..., 3:6]

    @property
    def radii(self) -> tuple[Array, Array]:
        return self.numbers[..., 6], self.numbers[..., 7]

    @property
    def hole(self) -> Array:
        result: Array = self.numbers[..., 6] - self.numbers[..., 7]
        return result

    @property
    def side(self) -> Array:
        return self.numbers[..., 8]

    @property
    def near(self) -> tuple[Array, Array]:
        return self.numbers[..., 9:12], self.numbers[..., 12:15]

    @property
    def between(self) -> Array:
        """(...) the angle about the axis from A to B, within half a turn."""
        return _about_axis(*self.ends)

    def lines(self, unknowns: Array, turned: Array | float = 0.0) -> tuple[Tangent, Tangent]:
        """The path in the air at both ends, seen from the tube; B may be turned about the axis."""
        A, B = self.ends
        cos, sin = np.cos(turned), np.sin(turned)
        x, y = cos * B[..., 0] - sin * B[..., 1], sin * B[..., 0] + cos * B[..., 1]
        B = np.stack([x, y, B[..., 2]], axis=-1)
        return (
            tangent(A, unknowns[..., 0], *self.radii, self.side),
            tangent(B, unknowns[..., 1], *self.radii, -self.side),
        )


def taut_through(A: Array, B: Array, R: Array, r: Array, where: Array, near: Near | None = None) -> Passage:
    """The taut path from A to B (..., 3) around the inner side of a tube of radius r (...) along a ring of radius R.

    where (...): elsewhere nothing is sought. near: where to begin; where it is rough, only a string over the edge of
    the hole is looked at.
    """
    none = 0.0 * (A[..., 0] + B[..., 0])
    begin = [A, B] if near is None else [near.P, near.Q]
    given = joined([A, B, *(x[..., None] for x in (R, r, _side(A, B))), *begin])
    numbers = joined(
        [A + none[..., None], B + none[..., None], np.stack([none, none + LOST, none, none, none], axis=-1)]
    )
    if near is not None:
        numbers = iterate(_guessed, numbers, given, 1, where=where & near.rough)
        numbers = iterate(_from_near, numbers, given, 1, where=where & near.known)
        where = where & ~near.rough
    attempts: list[Attempt] = [
        _from_edge,
        partial(_across, NEWTON),
        partial(_from_end, 1),
        partial(_from_end, 0),
        _from_both,
        partial(_across, PATIENT),
        _turned_back,
        _lifted,
    ]
    for attempt in attempts:
        numbers = iterate(attempt, numbers, given, 1, where=where & ~(numbers[..., 7] <= SOLVED))
    return Passage(numbers)


def crossing(A: Array, B: Array) -> Array:
    """(..., 3) where the line from A to B (..., 3) meets the plane z = 0; between points on the same side, where it is
    as much of the way as their heights have it."""
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
    """The changes of phi at both points and of the third unknown, from the conditions `h` and the slopes of the moment,
    by the third unknown, and of the last condition by all three."""
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


def _over_gap(ring: _Ring, unknowns: Array) -> tuple[tuple[Tangent, Tangent], Bridge, list[Turn], Array]:
    """The lines of a path that bears twice, the one across the hole, the geodesics before and behind that, and the
    azimuth from P to Q, from phi at P and Q and the parameter of the line across."""
    P, Q = ring.lines(unknowns)
    gap = bridge(unknowns[..., 2], *ring.radii)
    at = ring.side * gap.u
    turns = [along_tube(P.u, -at, gap.moment, *ring.radii), along_tube(at, Q.u, gap.moment, *ring.radii)]
    return (P, Q), gap, turns, ring.side * (turns[0].phi + turns[1].phi) + gap.phi


def _bearing_once(unknowns: Array, given: Array) -> Array:
    """A step for phi at P and Q, the moment, the share of the way that B has turned back, and how many are left."""
    ring, c, share = _Ring(given), unknowns[..., 2], unknowns[..., 3]
    side, hole, r = ring.side, ring.hole, ring.radii[1]
    lines = P, Q = ring.lines(unknowns, (share - 1.0) * ring.between)
    turn = along_tube(P.u, Q.u, c, *ring.radii)
    h = -P.moment - c, Q.moment - c, side * turn.phi - (unknowns[..., 1] - unknowns[..., 0])
    slopes = 1.0 + 0.0 * c, 1.0 - side * _bent(P, c, r), side * _bent(Q, c, r) - 1.0, side * turn.rate
    moves = _corrected(lines, h, slopes)
    largest = np.maximum(np.abs(moves[0]), np.abs(moves[1]))
    scale = FARTHEST / np.maximum(largest, FARTHEST)
    moment = np.minimum(np.maximum(scale * moves[2], -NEARER * (hole + c)), NEARER * (hole - c))
    further = np.minimum(share + 1.0 / BACK, 1.0)
    settled = (largest <= SETTLED) & (np.abs(moment) <= SETTLED * hole) & (share >= 1.0)
    left = _left(unknowns[..., 4], np.where(share < 1.0, 1.0, scale), settled)
    return np.stack(
        [unknowns[..., 0] + scale * moves[0], unknowns[..., 1] + scale * moves[1], c + moment, further, left], axis=-1
    )


def _bearing_twice(unknowns: Array, given: Array) -> Array:
    """A step for phi at P and Q and the parameter of the line across the hole, and how many are left."""
    ring, v = _Ring(given), unknowns[..., 2]
    side, r = ring.side, ring.radii[1]
    lines, gap, turns, phi = _over_gap(ring, unknowns)
    (P, Q), c = lines, gap.moment
    h = -P.moment - c, Q.moment - c, phi - (unknowns[..., 1] - unknowns[..., 0])
    at_gap = c * r * gap.psi_rate / (gap.rho * np.sqrt(gap.rho * gap.rho - c * c))
    by_v = side * (turns[0].rate + turns[1].rate) * gap.moment_rate + gap.phi_rate - 2.0 * at_gap
    slopes = gap.moment_rate, 1.0 - side * _bent(P, c, r), side * _bent(Q, c, r) - 1.0, by_v
    moves = _corrected(lines, h, slopes)
    largest = np.maximum(np.maximum(np.abs(moves[0]), np.abs(moves[1])), np.abs(moves[2]))
    scale = FARTHEST / np.maximum(largest, FARTHEST)
    moved = np.where(v < 0, np.minimum(v + scale * moves[2], LEAST * v), np.maximum(v + scale * moves[2], LEAST * v))
    left = _left(unknowns[..., 3], scale, largest <= SETTLED)
    return np.stack([unknowns[..., 0] + scale * moves[0], unknowns[..., 1] + scale * moves[1], moved, left], axis=-1)


def _left(left: Array, scale: Array, settled: Array) -> Array:
    """(...) how many steps are left after one that was taken to a `scale`: steps that are shortened again and again go
    round in circles."""
    return np.where(settled, 0.0, np.maximum(left - np.where(scale < 1.0, SHORTENED, 1.0), 0.0))


# ---- what they find ----------------------------------------------------------------------------------------


def _judged_once(unknowns: Array, given: Array) -> Array:
    """(..., 11) the passage, from phi at P and Q and the moment."""
    ring, c = _Ring(given), unknowns[..., 2]
    P, Q = ring.lines(unknowns)
    turn = along_tube(P.u, Q.u, c, *ring.radii)
    phi, arc = ring.side * turn.phi, ring.side * turn.arc
    over = (ring.side * P.u < 0) & (ring.side * Q.u > 0)
    bends = (ring.hole * ring.hole * ring.hole > ring.radii[0] * c * c) | ~over
    taut = (arc > 0) & bends & _lines_pass(ring, P, Q)
    return _packed(ring, (P, Q), (unknowns[..., 0], unknowns[..., 1], c), (phi, arc), taut)


def _judged_twice(unknowns: Array, given: Array) -> Array:
    """(..., 11) the passage, from phi at P and Q and the parameter of the line across the hole."""
    ring = _Ring(given)
    (P, Q), gap, turns, phi = _over_gap(ring, unknowns)
    arcs = [ring.side * turn.arc for turn in turns]
    taut = (arcs[0] > 0) & (arcs[1] > 0) & _lines_pass(ring, P, Q)
    arc = arcs[0] + gap.length + arcs[1]
    return _packed(ring, (P, Q), (unknowns[..., 0], unknowns[..., 1], gap.moment), (phi, arc), taut)


def _lines_pass(ring: _Ring, P: Tangent, Q: Tangent) -> Array:
    A, B = ring.ends
    return passes_tube(P.P, A, *ring.radii) & passes_tube(Q.P, B, *ring.radii)


def _packed(
    ring: _Ring, lines: tuple[Tangent, Tangent], found: tuple[Array, ...], between: tuple[Array, Array], taut: Array
) -> Array:
    """(..., 11) the passage: `found` are the azimuths of P and Q and the moment, `between` the azimuth and the length
    from P to Q. It is lost where it is not taut, or where these are no numbers."""
    (P, Q), (first, last, c), (phi, arc) = lines, found, between
    missed = (np.abs(P.moment + c) + np.abs(Q.moment - c)) / ring.hole + np.abs(phi - (last - first))
    numbers = joined([P.P, Q.P, np.stack([arc, np.where(taut, missed, LOST), first, last, c], axis=-1)])
    known = np.sum(np.abs(numbers), axis=-1) <= 2.0 * LOST
    lost = 0.0 * c[..., None] + np.array([0.0] * 7 + [LOST] + [0.0] * 3)
    result: Array = np.where(known[..., None], numbers, lost)
    return result


# ---- attempts ----------------------------------------------------------------------------------------------


def _once(phi: tuple[Array, Array], c: Array, share: float, given: Array) -> Array:
    steps = NEWTON if share else NEWTON + BACK
    start = np.stack([*phi, c, 0.0 * c + share, 0.0 * c + steps], axis=-1)
    return _judged_once(iterate(_bearing_once, start, given, int(steps), left=-1), given)


def _twice(phi: tuple[Array, Array], v: Array, steps: float, given: Array) -> Array:
    start = np.stack([*phi, v, 0.0 * v + steps], axis=-1)
    return _judged_twice(iterate(_bearing_twice, start, given, int(steps), left=-1), given)


def _guessed(_: Array, given: Array) -> Array:
    """The plane path near where a string over the edge of the hole lies, which is no solution."""
    ring = _Ring(given)
    phi = _at_edge(ring)
    P, Q = ring.lines(np.stack([phi, phi], axis=-1))
    arc = 2.0 * ring.radii[1] * ring.side * (np.arctan(Q.u) - np.arctan(P.u))
    return joined([P.P, Q.P, np.stack([arc, 0.0 * arc + LOST, phi, phi, 0.0 * arc], axis=-1)])


def _from_near(_: Array, given: Array) -> Array:
    """The path that bears once near one that is nearly right."""
    ring = _Ring(given)
    P, Q = ring.near
    phi = azimuth(P)
    psi = phi + _about_axis(P, Q)
    return _once((phi, psi), _moment(ring, phi, psi), 1.0, given)


def _from_edge(_: Array, given: Array) -> Array:
    """The path that bears once near where a string over the edge of the hole lies."""
    ring = _Ring(given)
    phi = _at_edge(ring)
    return _once((phi, phi), _moment(ring, phi, phi), 1.0, given)


def _moment(ring: _Ring, phi: Array, psi: Array) -> Array:
    """(...) [m] the mean moment of the lines at two azimuths, within the hole's radius."""
    P, Q = ring.lines(np.stack([phi, psi], axis=-1))
    result: Array = within(0.5 * (Q.moment - P.moment), NEARER * ring.hole)
    return result


def _at_edge(ring: _Ring) -> Array:
    """(...) the azimuth at which a string over the edge of the hole lies."""
    A, B = ring.ends
    pull = crossing(A, B)
    for _turn in range(TURNS):
        flat = direction(pull * np.array([1.0, 1.0, 0.0]))
        edge = ring.hole[..., None] * flat
        pull = unit(A - edge) + unit(B - edge)
    return azimuth(pull)


def _across(steps: float, _: Array, given: Array) -> Array:
    """The path that bears twice, near the azimuths of the ends."""
    ring = _Ring(given)
    phi, turn = azimuth(ring.ends[0]), ring.between
    v = np.where(turn < 0, -1.0, 1.0) * np.sqrt(0.5 * np.maximum(np.abs(turn), SHORT * SHORT))
    return _twice((phi, phi + turn), v, steps, given)


def _from_end(number: int, _: Array, given: Array) -> Array:
    """The path that bears once near the azimuth of an end."""
    phi = azimuth(_Ring(given).ends[number])
    return _once((phi, phi), 0.0 * phi, 1.0, given)


def _from_both(_: Array, given: Array) -> Array:
    """The path that bears once and comes on and leaves near the azimuths of the ends."""
    phi, turn = azimuth(_Ring(given).ends[0]), _Ring(given).between
    return _once((phi, phi + turn), 0.0 * phi, 1.0, given)


def _turned_back(_: Array, given: Array) -> Array:
    """The path that bears once, from the plane one to an end that was turned about the axis and turns back."""
    phi = azimuth(_Ring(given).ends[0])
    return _once((phi, phi), 0.0 * phi, 0.0, given)


def _lifted(before: Array, given: Array) -> Array:
    """The path that bears twice, near one that bears once without being taut."""
    phi, psi, _ = (Passage(before).found[..., i] for i in range(3))
    return _twice((phi, psi), np.where(psi < phi, -SHORT, SHORT), PATIENT, given)
