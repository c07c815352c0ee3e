"""Strings around a circle in the plane, and the surfaces over which paths are such strings: spheres and cylinders.

A string passes the circle on its shorter side, on the side of a direction, over a hint, or along the inner side. Its
two ends are an array (..., 2, 2), an end in each row.
"""

from typing import ClassVar, NamedTuple

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints.errors import ModelError
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.ranges import Positive
from myoquat.joints.vectors import dot
from myoquat.kernels import choose, while_loop
from myoquat.kernels.symbolic.arrays import as_array

from .base import Wrap
from .vectors import always, differ, nearest, size, unit

SURFACE_TOLERANCE = 2e-12  # of the square of the radius, up to which an end of a path lies on the surface: round-off
SMALLEST = 1e-15  # [m^2] of a determinant below which MuJoCo takes lines as parallel
MAX_NEWTON_STEPS = 60
ANGLE_TOLERANCE = {
    "inside": 2e-15,  # [rad], a few times the round-off of a sum of angles
    "mujoco_inside": 1e-6,  # that of MuJoCo 3.17 and 4.0, whose points of contact are those of this iteration
}


@frozen
class Winding:
    """A string over the circle; where `on` is false it does not touch and the rest only stays finite.

    points    (..., 2, 2) where the straight pieces meet the circle
    straight  (..., 2) [m] their lengths
    angle     (...) [rad] of the arc on the circle
    inside    (...) whether an end lies inside
    jump      (..., 2) [m] about how far each end would have to move by itself to make the length jump
    missed    how far a solver is from its solution; zero for a closed form
    """

    on: Array
    points: Array
    straight: Array
    angle: Array
    inside: Array
    jump: Array
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

    def in_the_way(self, A: Array, B: Array) -> Array:
        """Beyond the ends of a cylinder too."""
        ahead, n = self.ahead, self.axes
        assert ahead is not None  # as it has a side
        through = self.holds(nearest(A[..., :n], B[..., :n]))
        found: Array = through & ((dot(A, ahead) > 0) | (dot(B, ahead) > 0))
        return found

    def holds(self, x: Array) -> Array:
        """Beyond the ends of a cylinder too."""
        across = x[..., : self.axes]
        result: Array = dot(across, across) <= (1 - SURFACE_TOLERANCE) * self.radius * self.radius
        return result

    def onto(self, x: Array) -> Array:
        across, along = x[..., : self.axes], x[..., self.axes :]
        return np.concatenate([as_array(self.radius)[..., None] * unit(across), along], axis=-1)

    def normal(self, P: Array) -> Array:
        return np.concatenate([P[..., : self.axes], 0.0 * P[..., self.axes :]], axis=-1)

    def string(self, ends: Array, ahead: Array | None, hint: Array | None, plane_turns: bool = False) -> Winding:
        """The path in a plane between two ends, on the side of a direction or a hint (..., 2) as seen there. If
        plane_turns, the plane is that of the ends and the centre."""
        if self.holds_inside:
            return touching_inside(ends, self.radius, ANGLE_TOLERANCE[self.rule])
        if hint is not None:
            return beside(ends, self.radius, hint)
        if ahead is not None and self.rule == "mujoco3":
            return beside_half_plane(ends, self.radius, ahead, plane_turns)
        return around(ends, self.radius, ahead, self.sided)


# ---- around -----------------------------------------------------------------------------------------------------


def around(ends: Array, radius: Array | float, ahead: Array | None = None, sided: bool = False) -> Winding:
    """The shortest string around the circle, or the one that does not cross the ray against `ahead` (..., 2).

    `ahead` may have any length. With length zero nothing is behind. If `sided`, a string with both ends behind runs
    around the front, past both sides, even where the straight line clears the circle.
    """
    x, inside, depth = outside(ends, radius)
    cross, behind = outer(*_each(x)), inside & ~inside
    if ahead is not None:
        behind, sides = _behind(x, cross, ahead, sided)
    straight, points, angle, touches = way_round(x, radius, np.where(differ(behind, cross < 0), -1.0, 1.0))
    on = (touches | behind) & ~inside
    if ahead is None:  # the rate of the length jumps where both ways are equally long
        sides = _to_other_line(x, on & (dot(*_each(x)) < 0))
    angle = np.where(behind & (angle < 0), angle + 2 * np.pi, angle)
    return Winding(on, points, straight, angle, inside, _jump(on, inside, depth, sides))


def way_round(x: Array, radius: Array | float, sense: Array | float) -> tuple[Array, Array, Array, Array]:
    """The string around the circle that turns in a sense, 1 or -1 (...), from two ends outside.

    Returns its straight pieces, where they meet the circle, the angle (...) between, within half a turn, and whether
    that is above zero, which is known before the angle.

    The direction turns by Delta from a to b. Of this turn arctan(t / r) is straight at each end, with t = sqrt(rho^2 -
    r^2). The string touches where more is left: angle = Delta - arctan(t_a / r) - arctan(t_b / r) > 0. This also
    distinguishes a straight line that meets the circle from one that does not. Length and tangents are continuous
    there. The angle is the argument of one product of complex numbers, a* b (r - i t_a) (r - i t_b). The straight piece
    of an end on the circle is not zero, so that it has a direction. It changes the length of the string by less than
    round-off, as the cube of it.
    """
    r, squares = as_array(radius), dot(x, x)
    square = r * r
    straight = np.sqrt(np.maximum(squares - square[..., None], SURFACE_TOLERANCE * square[..., None]))
    turns = as_array(sense)[..., None] * np.array([1.0, -1.0]) * straight
    points = (r[..., None] / squares)[..., None] * (r[..., None, None] * x + turns[..., None] * quarter_turn(x))
    (a, b), (before, after) = _each(x), (straight[..., 0], straight[..., 1])
    along, aside = dot(a, b), sense * outer(a, b)
    even, odd = square - before * after, r * (before + after)
    real, imaginary = along * even + aside * odd, aside * even - along * odd
    return straight, points, np.arctan2(imaginary, real), (imaginary > 0) | ((imaginary == 0) & (real < 0))


def among_surfaces(jump: Array, neighbours: Array, ends: Array, ahead: Array) -> Array:
    """How far each end of a path over several surfaces would have to move, from the `jump` of the neighbours on it.

    No other part of the path crosses the ray against `ahead`. Therefore the length jumps also where an end or a
    neighbour crosses it beyond another surface. Around the front two senses are equally long for neighbours in one
    direction behind, but not the whole paths.
    """
    fronts, sides = dot(neighbours, ahead), outer(ahead, neighbours)
    around_front = (fronts[..., 0] < 0) & (fronts[..., 1] < 0) & (sides[..., 0] * sides[..., 1] > 0)
    beyond = (ends[..., 0] != neighbours[..., 0]) | (ends[..., 1] != neighbours[..., 1])
    crossing = np.minimum(_to_ray_behind(ends, ahead), _to_ray_behind(neighbours, ahead))
    near = np.minimum(_to_other_line(neighbours, around_front), np.where(beyond, crossing, np.inf))
    return np.minimum(jump, near)


def _to_other_line(x: Array, where: Array) -> Array:
    """How far each of two points is from the line through the other one and the centre, infinite but for `where`."""
    cross, where = np.abs(outer(*_each(x)))[..., None], where[..., None]
    return np.where(where, cross / np.sqrt(np.where(where, dot(x, x)[..., ::-1], 1.0)), np.inf)


def beside(ends: Array, radius: Array | float, hint: Array) -> Winding:
    """The string over the side of the circle on which the direction `hint` (..., 2) points.

    It goes around in the sense of hint x (b - a), like a string laid over the hint under tension. The azimuths of both
    tangent points are counted from the hint, within half a turn. The string touches where the second lies ahead of the
    first, be it by more than half a turn. Elsewhere it is straight, unless that would run into the circle: then it goes
    the shorter way. The length jumps where the string touches and b - a turns past the hint's direction. It also jumps
    where a tangent point passes the point opposite to the hint.
    """
    short, (x, inside, depth) = around(ends, radius), outside(ends, radius)
    aside, size, ways = outer(hint, x[..., 1, :] - x[..., 0, :]), np.sqrt(dot(hint, hint)), []
    for sense in (1.0, -1.0):
        straight, points, *_ = way_round(x, radius, sense)
        azimuth = np.arctan2(outer(hint[..., None, :], points), dot(hint[..., None, :], points))
        ways.append((points, sense * (azimuth[..., 1] - azimuth[..., 0]), (np.pi - np.abs(azimuth)) * straight))
    points, angle, opposite = choose(aside >= 0, *ways)
    points, angle = choose((angle <= 0) & short.on, (short.points, short.angle), (points, angle))
    on = (angle > 0) & ~inside
    touches = (ways[0][1] > 0) | (ways[1][1] > 0)
    turns = np.where(touches, np.abs(aside) / np.where(size > 0, size, 1.0), np.inf)
    jump = _jump(on, inside, depth, np.minimum(turns[..., None], opposite))
    return Winding(on, points, short.straight, angle, inside, jump)


def _jump(on: Array, inside: Array, depth: Array, sides: Array) -> Array:
    """How far each end is from where the length jumps: from the circle, `depth`, or from where the string changes
    sides."""
    touching = np.where(on[..., None], depth, np.inf)
    return np.where(inside[..., None], depth, np.minimum(sides, touching))


def outside(ends: Array, radius: Array | float, tolerance: float = SURFACE_TOLERANCE) -> tuple[Array, Array, Array]:
    """The ends, moved away where one lies inside the circle, whether (...) one does, and how near each is to it."""
    r, squares = as_array(radius), dot(ends, ends)
    inside = ~(np.minimum(squares[..., 0], squares[..., 1]) > (1 - tolerance) * (r * r))
    x = np.where(inside[..., None, None], 2.0 * r[..., None, None] * np.eye(2), ends)
    return x, inside, np.abs(np.sqrt(squares) - r[..., None])


def outer(p: Array, q: Array) -> Array:
    """(...) the cross product of two directions in the plane."""
    result: Array = p[..., 0] * q[..., 1] - p[..., 1] * q[..., 0]
    return result


def quarter_turn(x: Array) -> Array:
    """(..., 2) a direction in the plane, turned to the left."""
    return np.stack([-x[..., 1], x[..., 0]], axis=-1)


def _each(x: Array) -> tuple[Array, Array]:
    return x[..., 0, :], x[..., 1, :]


def _behind(x: Array, cross: Array, ahead: Array, sided: bool) -> tuple[Array, Array]:
    """Whether the straight line between the ends passes behind, and how near each end is to where the string changes
    sides."""
    sides, fronts = outer(ahead[..., None, :], x), dot(ahead[..., None, :], x)
    product, both = sides[..., 0] * sides[..., 1], (fronts[..., 0] < 0) & (fronts[..., 1] < 0)
    crossing = (product < 0) & (cross * (sides[..., 1] - sides[..., 0]) < 0)
    aside = _to_ray_behind(x, ahead)
    if not sided:
        return crossing, aside
    # with the other end behind on the same side, also from the line across the ray through the centre
    square = dot(ahead, ahead)[..., None]
    level = np.abs(fronts) / np.sqrt(np.where(square > 0, square, 1.0))
    level = np.where((product > 0)[..., None] & (fronts[..., ::-1] < 0), level, np.inf)
    return crossing | (both & (product > 0)), np.minimum(np.where(both[..., None], np.inf, aside), level)


def _to_ray_behind(x: Array, ahead: Array) -> Array:
    """How near each point is to the ray against `ahead`: the distance aside, or to its start."""
    side, front = outer(ahead[..., None, :], x), dot(ahead[..., None, :], x)
    square = dot(ahead, ahead)[..., None]
    result: Array = np.sqrt(np.where(front < 0, side * side / np.where(square > 0, square, 1.0), dot(x, x)))
    return result


# ---- until MuJoCo 3.17 ---------------------------------------------------------------------------------------


def beside_half_plane(ends: Array, radius: Array | float, side: Array, plane_turns: bool = False) -> Winding:
    """The string on the side of a direction (..., 2) of any length by the rule of MuJoCo up to version 3.17.

    It is straight where the straight line clears the circle and its point nearest to the centre is on the half plane of
    the side. Elsewhere it goes around in the sense in which the two points of contact lie more towards the side, unless
    its straight pieces cross. Where they cross in both senses it is straight. Source: `wrap_circle` in MuJoCo's
    `engine_util_misc.c` (E. Todorov and others, Apache-2.0). The length jumps where the line behind leaves the half
    plane. If plane_turns, the plane is that of the ends and the centre, so that the side as seen in it turns with them.
    """
    x, inside, depth = outside(ends, radius)
    a, b = _each(x)
    closest, apart = nearest(a, b), (a[..., 0] != b[..., 0]) | (a[..., 1] != b[..., 1])
    clear, towards = dot(closest, closest) > radius * radius, dot(closest, side)
    forced = ~(clear & (towards >= 0)) & ~inside & apart  # known before the tangents
    ways = [way_round(x, radius, sense)[:3] for sense in (-1.0, 1.0)]
    crossing = [_cross(x, points) for _, points, _ in ways]
    on = forced & ~(crossing[0] & crossing[1])
    (p, size), (q, other) = (
        (dot(m, side), np.sqrt(dot(m, m))) for m in (points[..., 0, :] + points[..., 1, :] for _, points, _ in ways)
    )
    straight, points, angle = choose(~crossing[0] & (crossing[1] | (p * other > q * size)), *ways)
    angle = np.where(angle < 0, angle + 2 * np.pi, angle)
    long = np.sqrt(dot(side, side))
    aside = np.where(clear, np.abs(towards) / long, np.inf)
    tie = np.where(crossing[0] | crossing[1], np.inf, np.abs(p / size - q / other) / (2 * long))  # [rad]
    # about how far each end moves for a turn of the path's middle against the side by 1 rad
    arms = np.sqrt(dot(x, x))
    if plane_turns:
        arms = np.abs(outer(a, b))[..., None] / arms[..., ::-1]
    jump = _jump(on, inside, depth, np.minimum(aside[..., None], tie[..., None] * arms))
    return Winding(on, points, straight, angle, inside, jump)


def _cross(x: Array, points: Array) -> Array:
    """Whether the segments from the ends to the points cross: at shares of both, here times the determinant."""
    (p, q), (a, b) = _each(points - x), _each(x)
    det = outer(p, q)
    shares = [np.where(det < 0, -1.0, 1.0) * outer(d, a - b) for d in (p, q)]
    within = (np.minimum(*shares) >= 0) & (np.maximum(*shares) <= np.abs(det))
    found: Array = within & (np.abs(det) >= SMALLEST)
    return found


# ---- inside --------------------------------------------------------------------------------------------------


def touching_inside(ends: Array, radius: Array | float, tolerance: float) -> Winding:
    """The shortest string that touches the circle in one point, where the straight segment does not meet it.

    Both straight pieces meet the normal in P at one angle theta. Let A and B be the radius over the distances of the
    ends from the centre, and G the angle between the ends. Then f(theta) = asin(A sin theta) + asin(B sin theta) - 2
    theta + G = 0. The function f is concave and falls, so that Newton's method descends from pi / 2 to the solution. It
    ends at |f| <= tolerance [rad].
    """
    x, inside, depth = outside(ends, radius, tolerance=0.0)
    (a, b), distances, r = _each(x), size(x), as_array(radius)
    middle, cross, both = nearest(a, b), outer(a, b), distances[..., 0] * distances[..., 1]
    on, ratios = (dot(middle, middle) > r * r) & ~inside, r[..., None] / distances
    triangle = ratios, dot(a, b) / both, np.abs(cross) / both
    begin = _search(np.pi / 2 + 0.0 * cross, triangle)
    found = while_loop(
        lambda search: search.f < -tolerance, _descended, begin, triangle, max_steps=MAX_NEWTON_STEPS, where=on
    )
    # from the end that is first in the positive sense, as MuJoCo turns: with f < 0 the other end gives another point
    P = _turned(*choose(cross > 0, (a, ratios[..., 0]), (b, ratios[..., 1])), found)
    points = np.stack([P, P], axis=-2)
    jump = np.where((on | inside)[..., None], depth, np.inf)
    missed = np.where(on & (found.f < -tolerance), 1.0, 0.0)
    return Winding(on, points, size(x - points), 0.0 * cross, inside, jump, missed)


# The radius of the circle over the distances of both ends from its centre, A and B (..., 2), and the cosine and sine
# (...) of the angle between the ends.
_Triangle = tuple[Array, Array, Array]


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
    (ratios, cos_between, sin_between), sin, cos = triangle, np.sin(theta), np.cos(theta)
    sines = ratios * sin[..., None]
    cosines = np.sqrt(1.0 - sines * sines)
    (a, b), (ca, cb) = ((x[..., 0], x[..., 1]) for x in (sines, cosines))
    x, y = ca * cb - a * b, ca * b + cb * a
    x, y = x * cos_between - y * sin_between, x * sin_between + y * cos_between
    double_cos, double_sin = cos * cos - sin * sin, 2.0 * sin * cos
    f = np.arctan2(y * double_cos - x * double_sin, x * double_cos + y * double_sin)
    slope = cos * dot(ratios, cosines[..., ::-1]) - 2.0 * ca * cb  # times ca cb
    return _Search(theta, sin, cos, f, f * (ca * cb) / slope)


def _turned(end: Array, ratio: Array, search: _Search) -> Array:
    """The point of the circle in the direction of an end, turned by theta - asin(ratio sin theta).

    The ratio is the radius over the distance of the end.
    """
    sin, cos, a = search.sin, search.cos, ratio * search.sin
    ca = np.sqrt(1.0 - a * a)
    c, s = (cos * ca + sin * a) * ratio, (sin * ca - cos * a) * ratio
    return c[..., None] * end + s[..., None] * quarter_turn(end)
