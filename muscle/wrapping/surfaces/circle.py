"""Strings around a circle in the plane, and the surfaces over which paths are such strings: spheres and cylinders.

A string passes the circle on its shorter side, on the side of a direction, over a hint, or along the inner side.
"""

from typing import Any, ClassVar, NamedTuple

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints.errors import ModelError
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.ranges import Positive
from myoquat.kernels import choose, while_loop
from myoquat.kernels.symbolic.arrays import as_array

from .base import Wrap
from .vectors import always

SURFACE_TOLERANCE = 2e-12  # of the square of the radius, up to which an end of a path lies on the surface: round-off
SMALLEST = 1e-15  # [m^2] of a determinant below which MuJoCo takes lines as parallel
MAX_NEWTON_STEPS = 60
ANGLE_TOLERANCE = {
    "inside": 2e-15,  # [rad], a few times the round-off of a sum of angles
    "mujoco_inside": 1e-6,  # that of MuJoCo 3.17 and 4.0, whose points of contact are those of this iteration
}
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
    missed         how far a solver is from its solution; zero for a closed form
    """

    on: Array
    before: Array
    after: Array
    P: Plane
    Q: Plane
    angle: Array
    inside: Array
    jump: Both
    missed: Array | float = 0.0


@frozen(kw_only=True)
class RoundWrap(Wrap):
    """A surface of `radius` [m] that paths pass as strings around a circle: a sphere or a cylinder."""

    radius: Positive

    rules: ClassVar[tuple[str, ...]] = ("shortest", "mujoco", "mujoco3", *ANGLE_TOLERANCE)

    @property
    def solved(self) -> bool:
        return self.holds_inside

    @property
    def holds_inside(self) -> bool:
        return self.rule in ANGLE_TOLERANCE

    def check(self, system: ArticulatedSystem, element: str, count: int) -> None:
        super().check(system, element, count)
        if self.rule != "shortest" and self.hint is not None:
            raise ModelError(f"a {self.kind} with the rule {self.rule!r} has no hint", element=element)
        if self.holds_inside and self.quadrant != "all":
            raise ModelError(f"a {self.kind} with the rule {self.rule!r} has no quadrant", element=element)

    def meets(self, A: Array, B: Array) -> Array:
        return always(A[..., 0] + B[..., 0]) if self.holds_inside else super().meets(A, B)

    def string(
        self, a: Plane, b: Plane, ahead: Direction | None, hint: Plane | None, plane_turns: bool = False
    ) -> Winding:
        """The path in a plane from a to b, on the side of a direction or a hint as seen there. If plane_turns, the
        plane is that of the ends and the centre."""
        if self.holds_inside:
            return touching_inside(a, b, self.radius, ANGLE_TOLERANCE[self.rule])
        if hint is not None:
            return beside(a, b, self.radius, hint)
        if ahead is not None and self.rule == "mujoco3":
            return beside_half_plane(a, b, self.radius, ahead, plane_turns)
        return around(a, b, self.radius, ahead, self.sided)


# ---- around -----------------------------------------------------------------------------------------------------


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
    cross, along = outer(a, b), inner(a, b)
    aside, sense = np.abs(cross), np.where(cross < 0, -1.0, 1.0)
    behind: Array = inside & ~inside
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
    if ahead is None:  # the rate of the length jumps where both ways are equally long
        sides = _to_other_line(a, b, on & (along < 0))
    return Winding(on, before, after, P, Q, angle, inside, jump_of(on, inside, depth, sides))


def among_surfaces(jump: Both, neighbours: tuple[Plane, Plane], ends: tuple[Plane, Plane], ahead: Direction) -> Both:
    """How far each end of a path over several surfaces would have to move, from the `jump` of the neighbours on it.

    No other part of the path crosses the ray against `ahead`. Therefore the length jumps also where an end or a
    neighbour crosses it beyond another surface. Around the front two senses are equally long for neighbours in one
    direction behind, but not the whole paths.
    """
    fronts, sides = [inner(ahead, p) for p in neighbours], [outer(ahead, p) for p in neighbours]
    around_front = (fronts[0] < 0) & (fronts[1] < 0) & (sides[0] * sides[1] > 0)
    found = []
    for own, turned, p, end in zip(jump, _to_other_line(*neighbours, around_front), neighbours, ends, strict=True):
        beyond = (end[0] != p[0]) | (end[1] != p[1])
        crossing = np.minimum(_to_ray_behind(end, ahead), _to_ray_behind(p, ahead))
        found.append(np.minimum(np.minimum(own, turned), np.where(beyond, crossing, np.inf)))
    return found[0], found[1]


def _to_other_line(a: Plane, b: Plane, where: Array) -> Both:
    """How far each of two points is from the line through the other one and the centre, infinite but for `where`."""
    cross = np.abs(outer(a, b))
    first, second = (np.where(where, cross / np.sqrt(np.where(where, inner(p, p), 1.0)), np.inf) for p in (b, a))
    return first, second


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
    size = np.sqrt(inner(hint, hint))
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
    first, second = (np.arctan2(outer(hint, p), inner(hint, p)) for p in (P, Q))
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


def outer(p: Direction, q: Direction) -> Any:
    """The cross product of two directions in the plane."""
    return p[0] * q[1] - p[1] * q[0]


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
    sides, fronts = [outer(ahead, p) for p in (a, b)], [inner(ahead, p) for p in (a, b)]
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
    side, front = outer(ahead, p), inner(ahead, p)
    square = inner(ahead, ahead)
    size = np.where(square > 0, square, 1.0)
    result: Array = np.sqrt(np.where(front < 0, side * side / size, inner(p, p)))
    return result


# ---- until MuJoCo 3.17 ---------------------------------------------------------------------------------------


def beside_half_plane(a: Plane, b: Plane, radius: Array | float, side: Direction, plane_turns: bool = False) -> Winding:
    """The string from a to b on the side of a direction of any length by the rule of MuJoCo up to version 3.17.

    It is straight where the straight line clears the circle and its point nearest to the centre is on the half plane of
    the side. Elsewhere it goes around in the sense in which the two points of contact lie more towards the side, unless
    its straight pieces cross. Where they cross in both senses it is straight. Source: `wrap_circle` in MuJoCo's
    `engine_util_misc.c` (E. Todorov and others, Apache-2.0). The length jumps where the line behind leaves the half
    plane. If plane_turns, the plane is that of the ends and the centre, so that the side as seen in it turns with them.
    """
    inside, depth, a, b = outside(a, b, radius)
    closest, apart = nearest(a, b), (a[0] != b[0]) | (a[1] != b[1])
    clear, towards = inner(closest, closest) > radius * radius, inner(closest, side)
    forced = ~(clear & (towards >= 0)) & ~inside & apart  # known before the tangents
    before, after = straight_pieces(a, b, radius)
    ways = [(tangent(a, before, radius, sense), tangent(b, after, radius, -sense)) for sense in (-1.0, 1.0)]
    crossing = [_cross(a, P, b, Q) for P, Q in ways]
    on = forced & ~(crossing[0] & crossing[1])
    middles = [(P[0] + Q[0], P[1] + Q[1]) for P, Q in ways]
    (x, size), (y, other) = ((inner(m, side), np.sqrt(inner(m, m))) for m in middles)
    first = ~crossing[0] & (crossing[1] | (x * other > y * size))
    P, Q = choose(first, *ways)
    turn = np.where(first, -1.0, 1.0) * (P[0] * Q[1] - P[1] * Q[0])
    angle = np.arctan2(turn, P[0] * Q[0] + P[1] * Q[1])
    angle = np.where(turn < 0, angle + 2 * np.pi, angle)
    long = np.sqrt(inner(side, side))
    aside = np.where(clear, np.abs(towards) / long, np.inf)
    tie = np.where(crossing[0] | crossing[1], np.inf, np.abs(x / size - y / other) / (2 * long))  # [rad]
    # about how far each end moves for a turn of the path's middle against the side by 1 rad
    arm, other_arm = (np.sqrt(inner(p, p)) for p in (a, b))
    if plane_turns:
        cross = np.abs(outer(a, b))
        arm, other_arm = cross / other_arm, cross / arm
    jump = jump_of(on, inside, depth, (np.minimum(aside, tie * arm), np.minimum(aside, tie * other_arm)))
    return Winding(on, before, after, P, Q, angle, inside, jump)


def _cross(a: Plane, P: Plane, b: Plane, Q: Plane) -> Array:
    """Whether the segments from a to P and from b to Q cross: at shares of both, here times the determinant."""
    x, y, gap = (P[0] - a[0], P[1] - a[1]), (Q[0] - b[0], Q[1] - b[1]), (a[0] - b[0], a[1] - b[1])
    det = y[1] * x[0] - y[0] * x[1]
    sign, size = np.where(det < 0, -1.0, 1.0), np.abs(det)
    shares = [sign * outer(p, gap) for p in (x, y)]
    within = (np.minimum(*shares) >= 0) & (np.maximum(*shares) <= size)
    found: Array = within & (size >= SMALLEST)
    return found


# ---- inside --------------------------------------------------------------------------------------------------


def touching_inside(a: Plane, b: Plane, radius: Array | float, tolerance: float) -> Winding:
    """The shortest string from a to b that touches the circle in one point, where the straight segment does not meet
    it.

    Both straight pieces meet the normal in P at one angle theta. Let A and B be the radius over the distances of the
    ends from the centre, and G the angle between the ends. Then f(theta) = asin(A sin theta) + asin(B sin theta) - 2
    theta + G = 0. The function f is concave and falls, so that Newton's method descends from pi / 2 to the solution. It
    ends at |f| <= tolerance [rad].
    """
    square = as_array(radius) * radius
    inside = ~(np.minimum(inner(a, a), inner(b, b)) > square)
    a = np.where(inside, 2.0 * radius, a[0]), np.where(inside, 0.0, a[1])
    b = np.where(inside, 0.0, b[0]), np.where(inside, 2.0 * radius, b[1])
    x = nearest(a, b)
    on = (inner(x, x) > square) & ~inside
    far, near = (np.sqrt(inner(p, p)) for p in (a, b))
    cross, both = outer(a, b), far * near
    triangle = radius / far, radius / near, inner(a, b) / both, np.abs(cross) / both
    begin = _search(np.pi / 2 + 0.0 * cross, triangle)
    found = while_loop(
        lambda search: search.f < -tolerance, _descended, begin, triangle, max_steps=MAX_NEWTON_STEPS, where=on
    )
    # from the end that is first in the positive sense, as MuJoCo turns: with f < 0 the other end gives another point
    first = cross > 0
    P = _turned(choose(first, a, b), np.where(first, triangle[0], triangle[1]), found)
    before, after = (np.sqrt((p[0] - P[0]) ** 2 + (p[1] - P[1]) ** 2) for p in (a, b))
    first_jump, last_jump = (np.where(on | inside, np.abs(size - radius), np.inf) for size in (far, near))
    missed = np.where(on & (found.f < -tolerance), 1.0, 0.0)
    return Winding(on, before, after, P, P, 0.0 * cross, inside, (first_jump, last_jump), missed)


# The radius of the circle over the distances of both ends from its centre, A and B (...), and the cosine and sine (...)
# of the angle between the ends.
_Triangle = tuple[Array, Array, Array, Array]


class _Search(NamedTuple):
    """The angle theta (...) [rad], its sine and cosine, f (...) [rad] there, and Newton's step (...) from there."""

    theta: Array
    sin: Array
    cos: Array
    f: Array
    step: Array


def _descended(search: _Search, triangle: _Triangle) -> _Search:
    """A step of Newton's method."""
    return _search(search.theta - search.step, triangle)


def _search(theta: Array, triangle: _Triangle) -> _Search:
    """f and f / f'. f is the argument of one product of unit complex numbers, since it is between -pi and pi."""
    (A, B, cos_between, sin_between), sin, cos = triangle, np.sin(theta), np.cos(theta)
    a, b = A * sin, B * sin
    ca, cb = np.sqrt(1.0 - a * a), np.sqrt(1.0 - b * b)
    x, y = ca * cb - a * b, ca * b + cb * a
    x, y = x * cos_between - y * sin_between, x * sin_between + y * cos_between
    double_cos, double_sin = cos * cos - sin * sin, 2.0 * sin * cos
    f = np.arctan2(y * double_cos - x * double_sin, x * double_cos + y * double_sin)
    slope = cos * (A * cb + B * ca) - 2.0 * ca * cb  # times ca cb
    return _Search(theta, sin, cos, f, f * (ca * cb) / slope)


def _turned(end: Plane, ratio: Array, search: _Search) -> Plane:
    """The point of the circle in the direction of an end, turned by theta - asin(ratio sin theta).

    The ratio is the radius over the distance of the end.
    """
    x, y = end
    sin, cos, a = search.sin, search.cos, ratio * search.sin
    ca = np.sqrt(1.0 - a * a)
    c, s = (cos * ca + sin * a) * ratio, (sin * ca - cos * a) * ratio
    return c * x - s * y, s * x + c * y
