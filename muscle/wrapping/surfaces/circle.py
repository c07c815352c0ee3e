"""Strings around a circle in the plane, and the surfaces over which paths are such strings: spheres and cylinders.

A string passes the circle on its shorter side, on the side of a direction, over a hint, or along the inner side. Its
two ends are an array (..., 2, 2), an end in each row.
"""

from typing import ClassVar

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints.errors import ModelError
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.ranges import Positive
from myoquat.joints.vectors import dot, matvec
from myoquat.kernels import choose, while_loop
from myoquat.kernels.symbolic.arrays import as_array

from .base import Contact, Wrap
from .vectors import always, differ, direction, nearest, pair, size, unit

SURFACE_TOLERANCE = 2e-12  # of the square of the radius, up to which an end of a path lies on the surface: round-off
SMALLEST = 1e-15  # [m^2] of a determinant below which MuJoCo takes lines as parallel
MAX_NEWTON_STEPS = 60
ANGLE_TOLERANCE = {
    "inside": 2e-15,  # [rad], a few times the round-off of a sum of angles
    "mujoco_inside": 1e-6,  # that of MuJoCo 3.17 and 4.0, whose points of contact are those of this iteration
}


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

    @property
    def on_one_piece(self) -> bool:
        return self.ahead is not None and self.rule == "shortest"

    def check(self, system: ArticulatedSystem, element: str, count: int) -> None:
        super().check(system, element, count)
        if self.rule != "shortest" and self.hint is not None:
            raise ModelError(f"a {self.kind} with the rule {self.rule!r} has no hint", element=element)
        if self.holds_inside and self.quadrant != "all":
            raise ModelError(f"a {self.kind} with the rule {self.rule!r} has no quadrant", element=element)

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

    def string(self, A: Array, B: Array, plane: Array, side: Array | None = None) -> tuple[Contact, Array]:
        """The contact in a plane through the centre, which two directions (..., 2, 3) span, with P and Q (..., 2).

        The path is on the side of the quadrant or the hint as seen there, without both on that of a direction (..., 2).
        Ends inside the circle are moved away. Also returned are the lengths (..., 2) [m] of both straight pieces.
        """
        ahead = side if self.ahead is None else matvec(plane, self.ahead)
        ends = pair(matvec(plane, A), matvec(plane, B))
        r, squares = as_array(self.radius), dot(ends, ends)
        least = 1.0 if self.holds_inside else 1 - SURFACE_TOLERANCE
        inside = ~(np.minimum(squares[..., 0], squares[..., 1]) > least * (r * r))
        x = np.where(inside[..., None, None], 2.0 * r[..., None, None] * np.eye(2), ends)
        missed: Array | float = 0.0
        if self.holds_inside:
            found, missed = touching_inside(x, r, ANGLE_TOLERANCE[self.rule], ~inside)
        elif self.hint is not None:
            found = over_hint(x, r, matvec(plane, as_array(self.hint)))
        elif ahead is not None and self.rule == "mujoco3" and self.quadrant != "all":
            found = beside_half_plane(x, r, ahead, plane_turns=self.axes == 3)
        else:
            found = around(x, r, ahead, self.sided)
        on, points, straight, angle, sides = found
        on, depth = on & ~inside, np.abs(np.sqrt(squares) - r[..., None])
        # from where an end comes into the circle, or the string changes sides
        jump = np.where(inside[..., None], depth, np.minimum(sides, np.where(on[..., None], depth, np.inf)))
        return Contact(on, points[..., 0, :], points[..., 1, :], r * angle, inside, jump, missed), straight


# A string between two ends outside: whether (...) it touches, where its straight pieces meet the circle (..., 2, 2),
# their lengths (..., 2), the angle (...) of the arc between, and how near (..., 2) each end is to where the string
# changes sides.
String = tuple[Array, Array, Array, Array, Array | float]


# ---- around -----------------------------------------------------------------------------------------------------


def around(x: Array, r: Array, ahead: Array | None, sided: bool) -> String:
    """The shortest string around the circle, or the one that does not cross the ray against `ahead` (..., 2).

    `ahead` may have any length. With length zero nothing is behind. If `sided`, a string with both ends behind runs
    around the front, past both sides, even where the straight line clears the circle.
    """
    cross = outer(*_each(x))
    behind = ~always(cross)
    if ahead is not None:
        fronts, lefts = dot(ahead[..., None, :], x), outer(ahead[..., None, :], x)
        both, product = (fronts[..., 0] < 0) & (fronts[..., 1] < 0), lefts[..., 0] * lefts[..., 1]
        behind, sides = (product < 0) & (cross * (lefts[..., 1] - lefts[..., 0]) < 0), _to_ray_behind(x, ahead)
        if sided:
            behind = behind | (both & (product > 0))
            # with the other end behind on the same side, also from the line across the ray through the centre
            beside = (product > 0)[..., None] & (fronts[..., ::-1] < 0)
            level = np.where(beside, _to_line(x, quarter_turn(ahead)[..., None, :]), np.inf)
            sides = np.minimum(np.where(both[..., None], np.inf, sides), level)
    points, straight, angle, touches = way_round(x, r, np.where(differ(behind, cross < 0), -1.0, 1.0))
    if ahead is None:  # the rate of the length jumps where both ways are equally long
        sides = _to_other_line(x, touches & (dot(*_each(x)) < 0))
    return touches | behind, points, straight, np.where(behind & (angle < 0), angle + 2 * np.pi, angle), sides


def way_round(x: Array, radius: Array | float, sense: Array | float) -> tuple[Array, Array, Array, Array]:
    """The string around the circle that turns in a sense, 1 or -1 (...), from two ends outside.

    Returns where its straight pieces meet the circle, their lengths, the angle (...) between, within half a turn, and
    whether that is above zero, which is known before the angle.

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
    return points, straight, np.arctan2(imaginary, real), (imaginary > 0) | ((imaginary == 0) & (real < 0))


def sides_among_surfaces(neighbours: Array, ends: Array, ahead: Array) -> Array:
    """How far each end of a path over several surfaces would have to move, with its neighbours on a sided one, to make
    the length jump by the other surfaces.

    No other part of the path crosses the ray against `ahead`. Therefore the length jumps also where an end or a
    neighbour crosses it beyond another surface. Around the front two senses are equally long for neighbours in one
    direction behind, but not the whole paths.
    """
    fronts, lefts = dot(neighbours, ahead), outer(ahead, neighbours)
    around_front = (fronts[..., 0] < 0) & (fronts[..., 1] < 0) & (lefts[..., 0] * lefts[..., 1] > 0)
    beyond = (ends[..., 0] != neighbours[..., 0]) | (ends[..., 1] != neighbours[..., 1])
    crossing = np.minimum(_to_ray_behind(ends, ahead), _to_ray_behind(neighbours, ahead))
    return np.minimum(_to_other_line(neighbours, around_front), np.where(beyond, crossing, np.inf))


def over_hint(x: Array, r: Array, hint: Array) -> String:
    """The string over the side of the circle on which the direction `hint` (..., 2) points.

    It goes around in the sense of hint x (b - a), like a string laid over the hint under tension. The azimuths of both
    tangent points are counted from the hint, within half a turn. The string touches where the second lies ahead of the
    first, be it by more than half a turn. Elsewhere it is straight, unless that would run into the circle: then it goes
    the shorter way. The length jumps where the string touches and b - a turns past the hint's direction. It also jumps
    where a tangent point passes the point opposite to the hint.
    """
    short, straight, short_angle, runs_in = way_round(x, r, np.where(outer(*_each(x)) < 0, -1.0, 1.0))
    step, ways = x[..., 1, :] - x[..., 0, :], []
    for sense in (1.0, -1.0):
        points, *_ = way_round(x, r, sense)
        azimuth = np.arctan2(outer(hint[..., None, :], points), dot(hint[..., None, :], points))
        ways.append((points, sense * (azimuth[..., 1] - azimuth[..., 0]), (np.pi - np.abs(azimuth)) * straight))
    points, angle, opposite = choose(outer(hint, step) >= 0, *ways)
    points, angle = choose((angle <= 0) & runs_in, (short, short_angle), (points, angle))
    turns = np.where((ways[0][1] > 0) | (ways[1][1] > 0), _to_line(step, hint), np.inf)
    return angle > 0, points, straight, angle, np.minimum(turns[..., None], opposite)


def outer(p: Array, q: Array) -> Array:
    """(...) the cross product of two directions in the plane."""
    result: Array = p[..., 0] * q[..., 1] - p[..., 1] * q[..., 0]
    return result


def quarter_turn(x: Array) -> Array:
    """(..., 2) a direction in the plane, turned to the left."""
    return np.stack([-x[..., 1], x[..., 0]], axis=-1)


def _each(x: Array) -> tuple[Array, Array]:
    return x[..., 0, :], x[..., 1, :]


def _to_line(x: Array, along: Array) -> Array:
    """How far points (..., 2) are from the line through the centre along a direction (..., 2) of any length; zero for a
    direction of length zero."""
    length = np.sqrt(dot(along, along))
    result: Array = np.abs(outer(along, x)) / np.where(length > 0, length, 1.0)
    return result


def _to_other_line(x: Array, where: Array) -> Array:
    """How far each of two points is from the line through the other one and the centre, infinite but for `where`."""
    return np.where(where[..., None], _to_line(x, x[..., ::-1, :]), np.inf)


def _to_ray_behind(x: Array, ahead: Array) -> Array:
    """How near each point is to the ray against `ahead`: the distance aside, or to its start."""
    ahead = ahead[..., None, :]
    return np.where(dot(ahead, x) < 0, _to_line(x, ahead), np.sqrt(dot(x, x)))


# ---- until MuJoCo 3.17 ---------------------------------------------------------------------------------------


def beside_half_plane(x: Array, r: Array, side: Array, plane_turns: bool) -> String:
    """The string on the side of a direction (..., 2) of any length by the rule of MuJoCo up to version 3.17.

    It is straight where the straight line clears the circle and its point nearest to the centre is on the half plane of
    the side. Elsewhere it goes around in the sense in which the two points of contact lie more towards the side, unless
    its straight pieces cross. Where they cross in both senses it is straight. Source: `wrap_circle` in MuJoCo's
    `engine_util_misc.c` (E. Todorov and others, Apache-2.0). The length jumps where the line behind leaves the half
    plane. If plane_turns, the plane is that of the ends and the centre, so that the side as seen in it turns with them.
    """
    (a, b), edge = _each(x), quarter_turn(side)
    closest, apart = nearest(a, b), (a[..., 0] != b[..., 0]) | (a[..., 1] != b[..., 1])
    clear = dot(closest, closest) > r * r
    forced = ~(clear & (dot(closest, side) >= 0)) & apart  # known before the tangents
    ways = [way_round(x, r, sense)[:3] for sense in (-1.0, 1.0)]
    crossing = [_cross(x, points) for points, *_ in ways]
    middles = [points[..., 0, :] + points[..., 1, :] for points, *_ in ways]
    (p, long), (q, other) = ((dot(m, side), np.sqrt(dot(m, m))) for m in middles)
    points, straight, angle = choose(~crossing[0] & (crossing[1] | (p * other > q * long)), *ways)
    # about how far each end moves for a turn of the path's middle against the side by 1 rad
    arms = _to_line(x, x[..., ::-1, :]) if plane_turns else np.sqrt(dot(x, x))
    tie = _to_line(direction(middles[0]) - direction(middles[1]), edge)[..., None] / 2 * arms
    aside = np.where(clear, _to_line(closest, edge), np.inf)[..., None]
    sides = np.minimum(aside, np.where((crossing[0] | crossing[1])[..., None], np.inf, tie))
    on = forced & ~(crossing[0] & crossing[1])
    return on, points, straight, np.where(angle < 0, angle + 2 * np.pi, angle), sides


def _cross(x: Array, points: Array) -> Array:
    """Whether the segments from the ends to the points cross: at shares of both, here times the determinant."""
    (p, q), (a, b) = _each(points - x), _each(x)
    det = outer(p, q)
    shares = [np.where(det < 0, -1.0, 1.0) * outer(d, a - b) for d in (p, q)]
    within = (np.minimum(*shares) >= 0) & (np.maximum(*shares) <= np.abs(det))
    found: Array = within & (np.abs(det) >= SMALLEST)
    return found


# ---- inside --------------------------------------------------------------------------------------------------


def touching_inside(x: Array, r: Array, tolerance: float, where: Array) -> tuple[String, Array]:
    """The shortest string that touches the circle in one point, where the straight segment does not meet it, and (...)
    how far the solver is from it. It is sought `where` (...).

    Both straight pieces meet the normal in P at one angle theta. Let A and B be the radius over the distances of the
    ends from the centre, and G the angle between the ends. Then f(theta) = asin(A sin theta) + asin(B sin theta) - 2
    theta + G = 0. The function f is concave and falls, so that Newton's method descends from pi / 2 to the solution. It
    ends at |f| <= tolerance [rad].
    """
    (a, b), distances = _each(x), size(x)
    middle, cross, both = nearest(a, b), outer(a, b), distances[..., 0] * distances[..., 1]
    on, ratios = (dot(middle, middle) > r * r) & where, r[..., None] / distances
    triangle = ratios, dot(a, b) / both, np.abs(cross) / both
    theta, f, _ = while_loop(
        lambda search: search[1] < -tolerance, lambda search, triangle: _search(search[0] - search[2], triangle),
        _search(np.pi / 2 + 0.0 * cross, triangle), triangle, max_steps=MAX_NEWTON_STEPS, where=on,
    )  # fmt: skip
    # from the end that is first in the positive sense, as MuJoCo turns: with f < 0 the other end gives another point
    end, ratio = choose(cross > 0, (a, ratios[..., 0]), (b, ratios[..., 1]))
    sin, cos = np.sin(theta), np.cos(theta)
    s = ratio * sin
    c = np.sqrt(1.0 - s * s)
    # turned by theta - asin(ratio sin theta)
    P = ((cos * c + sin * s) * ratio)[..., None] * end + ((sin * c - cos * s) * ratio)[..., None] * quarter_turn(end)
    points = np.stack([P, P], axis=-2)
    return (on, points, size(x - points), 0.0 * cross, np.inf), np.where(on & (f < -tolerance), 1.0, 0.0)


# The radius of the circle over the distances of both ends from its centre, A and B (..., 2), and the cosine and sine
# (...) of the angle between the ends.
_Triangle = tuple[Array, Array, Array]


def _search(theta: Array, triangle: _Triangle) -> tuple[Array, Array, Array]:
    """theta, f and f / f'. f is the argument of one product of unit complex numbers, since it is between -pi and pi."""
    (ratios, cos_between, sin_between), sin, cos = triangle, np.sin(theta), np.cos(theta)
    sines = ratios * sin[..., None]
    cosines = np.sqrt(1.0 - sines * sines)
    (a, b), (ca, cb) = ((x[..., 0], x[..., 1]) for x in (sines, cosines))
    x, y = ca * cb - a * b, ca * b + cb * a
    x, y = x * cos_between - y * sin_between, x * sin_between + y * cos_between
    double_cos, double_sin = cos * cos - sin * sin, 2.0 * sin * cos
    f = np.arctan2(y * double_cos - x * double_sin, x * double_cos + y * double_sin)
    slope = cos * dot(ratios, cosines[..., ::-1]) - 2.0 * ca * cb  # times ca cb
    return theta, f, f * (ca * cb) / slope
