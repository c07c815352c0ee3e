"""The shortest string around a circle in the plane, used by spheres and cylinders."""

from typing import Any

import numpy as np

from myoquat.core import Array, frozen
from myoquat.kernels import choose

__all__ = [
    "SURFACE_TOLERANCE",
    "Direction",
    "Plane",
    "Winding",
    "among_surfaces",
    "around",
    "beside",
    "inner",
    "jump_of",
    "nearest",
    "or_to_tie",
    "outside",
    "straight_pieces",
    "tangent",
]

SURFACE_TOLERANCE = 2e-12  # of the square of the radius, up to which an end of a path lies on the surface: round-off
Plane = tuple[Array, Array]  # x, y
Direction = tuple[Array | float, Array | float]
Both = tuple[Array, Array]  # a number for each end


@frozen
class Winding:
    """The string from a over the circle to b; where `on` is false it does not touch and the rest only stays finite.

    before, after  [m] the straight pieces
    P, Q           where they meet the circle
    angle          [rad] of the arc on the circle
    inside         whether an end lies inside
    jump           [m] about how far each end would have to move by itself to make the length jump
    """

    on: Array
    before: Array
    after: Array
    P: Plane
    Q: Plane
    angle: Array
    inside: Array
    jump: Both


def around(
    a: Plane, b: Plane, radius: Array | float, ahead: Direction | None = None, sided: Array | bool = False
) -> Winding:
    """The shortest string from a to b around the circle, or the one that does not cross the ray against `ahead`.

    `ahead` may have any length. With length zero nothing is behind. If `sided`, a string with both ends behind runs
    around the front, past both sides, even where the straight line clears the circle.

    The direction turns by Delta from a to b. Of this turn arctan(t / r) is straight at each end, with t = sqrt(rho^2 -
    r^2). The string touches where more is left: angle = |Delta| - arctan(t_a / r) - arctan(t_b / r) > 0. This also
    distinguishes a straight line that meets the circle from one that does not. Length and tangents are continuous
    there. The angle is the argument of one product of complex numbers, a* b (r - i t_a) (r - i t_b), its cross product
    without the sign.
    """
    inside, depth, a, b = outside(a, b, radius)
    cross, along = a[0] * b[1] - a[1] * b[0], a[0] * b[0] + a[1] * b[1]
    aside, sense = np.abs(cross), np.where(cross < 0, -1.0, 1.0)
    behind: Array = inside & ~inside
    never: Array = np.inf + 0.0 * along
    sides = never, never
    if ahead is not None:
        behind, sides = _behind(a, b, cross, ahead, sided)
        aside, sense = np.where(behind, -aside, aside), np.where(behind, -sense, sense)
    before, after = straight_pieces(a, b, radius)
    even, odd = radius * radius - before * after, radius * (before + after)
    real, imaginary = along * even + aside * odd, aside * even - along * odd
    angle = np.arctan2(imaginary, real)
    if ahead is not None:
        angle = np.where(behind & (angle < 0), angle + 2 * np.pi, angle)
    P, Q = tangent(a, before, radius, sense), tangent(b, after, radius, -sense)
    on = ((imaginary > 0) | ((imaginary == 0) & (real < 0)) | behind) & ~inside  # angle > 0, known before the angle
    return Winding(on, before, after, P, Q, angle, inside, jump_of(on, inside, depth, sides))


def among_surfaces(jump: Both, neighbours: tuple[Plane, Plane], ends: tuple[Plane, Plane], ahead: Direction) -> Both:
    """How far each end of a path over several surfaces would have to move, from the `jump` of the neighbours on it.

    No other part of the path crosses the ray against `ahead`. Therefore the length jumps also where an end or a
    neighbour crosses it beyond another surface. Around the front two senses are equally long for neighbours in one
    direction behind, but not the whole paths.
    """
    a, b = neighbours
    fronts = [ahead[0] * p[0] + ahead[1] * p[1] for p in neighbours]
    sides = [ahead[0] * p[1] - ahead[1] * p[0] for p in neighbours]
    around_front = (fronts[0] < 0) & (fronts[1] < 0) & (sides[0] * sides[1] > 0)
    cross = np.abs(a[0] * b[1] - a[1] * b[0])
    found = []
    for own, p, other, end in zip(jump, neighbours, (b, a), ends, strict=True):
        beyond = (end[0] != p[0]) | (end[1] != p[1])
        turned = np.where(around_front, cross / np.sqrt(np.where(around_front, inner(other, other), 1.0)), np.inf)
        crossing = np.minimum(_to_ray_behind(end, ahead), _to_ray_behind(p, ahead))
        found.append(np.minimum(np.minimum(own, turned), np.where(beyond, crossing, np.inf)))
    return found[0], found[1]


def or_to_tie(jump: Both, on: Array, a: Plane, b: Plane) -> Both:
    """The `jump` of both ends, or how far each is from where both ways around are equally long, if that is nearer.

    There the rate of the length jumps. An end is then on the line through the other one and the centre.
    """
    cross, apart = np.abs(a[0] * b[1] - a[1] * b[0]), on & (a[0] * b[0] + a[1] * b[1] < 0)
    found = [
        np.minimum(own, np.where(apart, cross / np.sqrt(np.where(apart, inner(other, other), 1.0)), np.inf))
        for own, other in zip(jump, (b, a), strict=True)
    ]
    return found[0], found[1]


def beside(a: Plane, b: Plane, radius: Array | float, hint: Direction) -> Winding:
    """The string from a to b over the side of the circle on which the direction `hint` points.

    It goes around in the sense of hint x (b - a), like a string laid over the hint under tension. The azimuths of both
    tangent points are counted from the hint, within half a turn. The string touches where the second lies ahead of the
    first, be it by more than half a turn. Elsewhere it is straight, unless that would run into the circle: then it goes
    the shorter way. The length jumps where the string touches and b - a turns past the hint's direction. It also jumps
    where a tangent point passes the point opposite to the hint.
    """
    short = around(a, b, radius)
    inside, depth, a, b = outside(a, b, radius)
    aside = hint[0] * (b[1] - a[1]) - hint[1] * (b[0] - a[0])
    left, right = (_way(a, b, (short.before, short.after), radius, hint, sense) for sense in (1.0, -1.0))
    P, Q, angle, opposite = choose(aside >= 0, left, right)
    P, Q, angle = choose((angle <= 0) & short.on, (short.P, short.Q, short.angle), (P, Q, angle))
    on = (angle > 0) & ~inside
    size = np.sqrt(hint[0] * hint[0] + hint[1] * hint[1])
    turns = np.where((left[2] > 0) | (right[2] > 0), np.abs(aside) / np.where(size > 0, size, 1.0), np.inf)
    jump = jump_of(on, inside, depth, (np.minimum(turns, opposite[0]), np.minimum(turns, opposite[1])))
    return Winding(on, short.before, short.after, P, Q, angle, inside, jump)


def jump_of(on: Array, inside: Array, depth: Both, sides: Both) -> Both:
    """How far each end is from where the length jumps: from the circle, `depth`, or from where the string changes
    sides."""
    first, second = (
        np.where(inside, own, np.minimum(side, np.where(on, own, np.inf)))
        for own, side in zip(depth, sides, strict=True)
    )
    return first, second


def _way(
    a: Plane, b: Plane, straight: tuple[Array, Array], radius: Array | float, hint: Direction, sense: float
) -> tuple[Plane, Plane, Array, Both]:
    """The string around the circle in a sense: both tangent points and the angle between them.

    The last result is how near each end is to where its own tangent point is opposite to the hint.
    """
    P, Q = tangent(a, straight[0], radius, sense), tangent(b, straight[1], radius, -sense)
    first, second = (np.arctan2(hint[0] * p[1] - hint[1] * p[0], hint[0] * p[0] + hint[1] * p[1]) for p in (P, Q))
    opposite = (np.pi - np.abs(first)) * straight[0], (np.pi - np.abs(second)) * straight[1]
    return P, Q, sense * (second - first), opposite


def outside(a: Plane, b: Plane, radius: Array | float) -> tuple[Array, Both, Plane, Plane]:
    """Whether an end lies inside the circle, how near each is to it, and the ends, moved away where one lies inside."""
    edge = (1 - SURFACE_TOLERANCE) * (radius * radius)
    inside = ~((inner(a, a) > edge) & (inner(b, b) > edge))
    depth = np.abs(np.sqrt(inner(a, a)) - radius), np.abs(np.sqrt(inner(b, b)) - radius)
    a, b = ((np.where(inside, 2.0 * radius, p[0]), np.where(inside, 0.0, p[1])) for p in (a, b))
    return inside, depth, a, b


def inner(p: Direction, q: Direction) -> Any:
    """The inner product of two directions in the plane."""
    return p[0] * q[0] + p[1] * q[1]


def nearest(a: Plane, b: Plane) -> Plane:
    """The point of the segment from a to b that is nearest to the centre."""
    d = b[0] - a[0], b[1] - a[1]
    square = inner(d, d)
    share = np.minimum(np.maximum(-inner(a, d) / np.where(square > 0, square, 1.0), 0.0), 1.0)
    return a[0] + share * d[0], a[1] + share * d[1]


def straight_pieces(a: Plane, b: Plane, radius: Array | float) -> Both:
    """The lengths of the tangents from both ends. That of an end on the circle is not zero, so that it has a direction;
    it changes the length of the string by less than round-off, as the cube of it."""
    least = SURFACE_TOLERANCE * (radius * radius)
    first, second = (np.sqrt(np.maximum(inner(p, p) - radius * radius, least)) for p in (a, b))
    return first, second


def tangent(p: Plane, straight: Array, radius: Array | float, sense: Array | float) -> Plane:
    """Where the tangent from p meets the circle, on the side to which `sense` turns."""
    factor = radius / inner(p, p)
    return (
        factor * (radius * p[0] - sense * straight * p[1]),
        factor * (radius * p[1] + sense * straight * p[0]),
    )


def _behind(a: Plane, b: Plane, cross: Array, ahead: Direction, sided: Array | bool) -> tuple[Array, Both]:
    """Whether the straight line from a to b passes behind, and how near each end is to where the string changes
    sides."""
    sides, fronts = [ahead[0] * p[1] - ahead[1] * p[0] for p in (a, b)], [inner(ahead, p) for p in (a, b)]
    crossing = (sides[0] * sides[1] < 0) & (cross * (sides[1] - sides[0]) < 0)
    rear = sided & (fronts[0] < 0) & (fronts[1] < 0)
    square = inner(ahead, ahead)
    size = np.where(square > 0, square, 1.0)
    aside = [np.where(rear, np.inf, _to_ray_behind(p, ahead)) for p in (a, b)]
    # and, with the other end behind on the same side, from the line across it through the centre
    alike = sided & (sides[0] * sides[1] > 0)
    level = [
        np.where(alike & (other < 0), np.abs(front) / np.sqrt(size), np.inf) for front, other in (fronts, fronts[::-1])
    ]
    near = np.minimum(aside[0], level[0]), np.minimum(aside[1], level[1])
    return crossing | (rear & alike), near


def _to_ray_behind(p: Plane, ahead: Direction) -> Array:
    """How near a point is to the ray against `ahead`: the distance aside, or to its start."""
    side, front = ahead[0] * p[1] - ahead[1] * p[0], ahead[0] * p[0] + ahead[1] * p[1]
    square = inner(ahead, ahead)
    size = np.where(square > 0, square, 1.0)
    result: Array = np.sqrt(np.where(front < 0, side * side / size, inner(p, p)))
    return result
