"""The ellipsoid: straight to the surface, along a geodesic, straight away, solved together.

Seen from A the points where a line can touch form an ellipse: with x scaled to the unit sphere, x_A . p = 1. Two
numbers are unknown: its angle theta, and the length s of the geodesic that starts there, along the line. The line must
leave towards B. Along the geodesic the tangent plane passes through B twice, before B and behind it. At the second one
the line would come back on itself. The first one is where a string around the circle of curvature leaves for B.

Newton's method starts from the shortest planar path (`planar_paths`), and from another one where that may lead to a
path as short. It goes downhill: where the length is not convex in theta, theta changes by as much as one step may.

A geodesic x(s) obeys x'' = -j D x / |D x|^4, D = diag(1 / radii^2), where j = |D x|^2 x' . D x' stays constant along it
(Joachimsthal's theorem; W. Klingenberg, Riemannian Geometry, 3.5). The right side holds no velocity, and Stoermer's
rule integrates it.
"""

from functools import reduce
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints.ranges import Range
from myoquat.joints.vectors import cross, dot, joined
from myoquat.kernels import call_where, choose, fixed_point
from myoquat.kernels.symbolic.arrays import as_array

from .base import MAX_DISTANCE_M, Contact, Geodesic, Line, Near, Wrap
from .circle import SURFACE_TOLERANCE
from .geodesics import MIN_STEP_RAD, Force, finite, followed, within
from .planar_paths import Chord
from .vectors import direction, nearest, size, unit

MAX_NEWTON_STEPS = 12  # for theta and s; three to five are usual
NEWTON_TOLERANCE = 2e-7  # [rad, largest radius] change of the last step; its error is the square of that
MAX_PART_RATIO = 0.46  # length of a part of a geodesic over the radius of curvature along it
PART_FACTORS = (
    (1.0, 3.0),
    (2e-2, 2.0),
    (MIN_STEP_RAD, 1.5),
)  # after a step [rad] longer than the first, parts grow by the second
PLANES = 16  # at equal angles, in which a path starts
MAX_EXCESS_RATIO = 1.25  # of two planar lengths less the straight line's, up to which both paths are solved; 1.13 met
MAX_PLANAR_RATIO = 1.02  # of a path's length to its start's: longer ones are none; 1 but for errors of quadrature
SAME_POINT = 1e-4  # [largest radius] up to which two solutions are one
MAX_NEWTON_CHANGE = 0.5  # [rad] change of theta in one step, and of s seen from the largest radius
MAX_SHRINKAGE = 0.75  # part of s that one step may take away: no path runs backwards


class _Path(NamedTuple):
    """A path over the ellipsoid.

    P, Q         (..., 3) where it comes onto the surface and leaves it
    arc, length  (...) its length on the surface, and its whole length
    missed       (...) how far it may be from the solution
    """

    P: Array
    Q: Array
    arc: Array
    length: Array
    missed: Array


# The ends a, b (..., 3) of a path whose straight line runs into the ellipsoid, scaled to the unit sphere, and its radii
_Ends = tuple[Array, Array, Array]


@frozen(kw_only=True)
class WrapEllipsoid(Wrap):
    """An ellipsoid whose half axes `radii` [m] lie along the axes of its frame.

    The path takes the shorter way in every quadrant, since it would slip off a longer one. OpenSim's path, which reads
    a quadrant here, takes the shorter one too. Lengths are right to 1e-10 of the largest radius where the smallest is
    no less than 0.4 of it. Down to a quarter they are right to 1e-9. The more a geodesic bends, the more parts it is
    integrated in.

    >>> import numpy as np
    >>> from myoquat.muscle import WrapEllipsoid
    >>> ellipsoid = WrapEllipsoid(body="thorax", radii=(0.05, 0.05, 0.05))  # a sphere as the simplest case
    >>> contact = ellipsoid.contact(np.array([0.1, 0.01, 0.0]), np.array([-0.1, 0.01, 0.0]))
    >>> float(contact.arc.round(3)), bool(contact.missed < 1e-9)
    (0.042, True)
    """

    radii: Annotated[tuple[float, float, float], Range(0.0, open_low=True)]

    kind: ClassVar[str] = "ellipsoid"
    shape: ClassVar[str] = "ellipsoid"
    _sided: ClassVar[bool] = False

    @property
    def solved(self) -> bool:
        return True

    def sizes(self) -> dict[str, float]:
        return {f"radius {axis}": radius for axis, radius in zip("xyz", self.radii, strict=True)}

    def resized(self, factors: Array, along: Array) -> dict[str, Any]:
        """Each half axis along itself."""
        return {"radii": tuple(along * np.array(self.radii))}

    def contact(self, A: Array, B: Array, line: Line | None = None, near: Near | None = None) -> Contact:
        scale = _largest(as_array(self.radii))[..., None]
        radii, A, B = as_array(self.radii) / scale, A / scale, B / scale  # in units of the largest radius
        a, b = A / radii, B / radii
        inside = ~((dot(a, a) > 1 - SURFACE_TOLERANCE) & (dot(b, b) > 1 - SURFACE_TOLERANCE))
        a, b = (np.where(inside[..., None], far, _raised(x)) for x, far in ((a, [2.0, 0.0, 0.0]), (b, [0.0, 2.0, 0.0])))
        middle = nearest(a, b)
        on, zero, never = (dot(middle, middle) < 1.0) & ~inside, 0.0 * a[..., 0], inside & ~inside
        nothing = _Path(A + 0.0 * a, B + 0.0 * a, zero, zero, zero + MAX_DISTANCE_M)
        known = never if near is None else near.known
        ends = a, b, np.broadcast_to(radii, a.shape, subok=True)
        start, second = call_where(_planar_starts, ends, on & ~known, (nothing, nothing))
        if near is not None:
            last = near.P / scale, near.Q / scale, near.arc / scale[..., 0]
            start = choose(known, _Path(*last, zero + np.inf, zero + MIN_STEP_RAD), start)
        straight = size(A - B)
        doubtful = on & ~known & (second.length - straight < MAX_EXCESS_RATIO * (start.length - straight))
        # planar paths do not tell which of two minima is the shorter one
        rough = never if near is None else near.rough & ~doubtful
        first, other = _solved(ends, start, on & ~rough), _solved(ends, second, doubtful)
        both = (first.missed <= NEWTON_TOLERANCE) & (other.missed <= NEWTON_TOLERANCE)
        shorter = (other.missed <= NEWTON_TOLERANCE) & ~(both & (first.length <= other.length))
        found, apart = choose(shorter, other, first), np.abs(first.length - other.length)
        ties = np.where(both & (size(first.P - other.P) > SAME_POINT), apart, np.inf)
        depths = [np.where(on | inside, -_largest(-radii) * np.abs(size(x / radii) - 1.0), np.inf) for x in (A, B)]
        jump = scale * np.stack([np.minimum(x, ties) for x in depths], axis=-1)
        missed = np.where(on, found.missed, 0.0)
        return Contact(on, scale * found.P, scale * found.Q, scale[..., 0] * found.arc, inside, jump, missed)

    @property
    def half_axes(self) -> Array | None:
        return as_array(self.radii)

    def cut(self, A: Array, B: Array) -> Array:
        radii = as_array(self.radii)
        return self.holds(nearest(A / radii, B / radii) * radii)

    def holds(self, x: Array) -> Array:
        scaled = x / as_array(self.radii)
        result: Array = dot(scaled, scaled) <= 1 - SURFACE_TOLERANCE
        return result

    def onto(self, x: Array) -> Array:
        result: Array = unit(x / as_array(self.radii)) * as_array(self.radii)
        return result

    def normal(self, P: Array) -> Array:
        radii = as_array(self.radii)
        result: Array = P / (radii * radii)
        return result

    def geodesic(self, P: Array, t: Array, length: Array, step: Array | float = 0.0) -> Geodesic:
        radii = as_array(self.radii)
        zero = 0.0 * length
        y, dy = joined([zero + 1.0, zero]), joined([zero, zero + 1.0])
        part = MAX_PART_RATIO * longer(step + zero[..., 0])[..., None]
        x, t, y, dy = geodesic(P, t, y, dy, length, 1.0 / (radii * radii), part)
        return Geodesic(x, t, y[..., 0], dy[..., 0], y[..., 1], dy[..., 1])


def _largest(x: Array) -> Array:
    """(...) the largest of three numbers (..., 3)."""
    result: Array = np.maximum(np.maximum(x[..., 0], x[..., 1]), x[..., 2])
    return result


def _raised(x: Array) -> Array:
    """A scaled point (..., 3), a little outside where it lies on the surface, so that tangents from it have a
    direction."""
    square = dot(x, x)
    near = (square > 1 - SURFACE_TOLERANCE) & (square < 1 + SURFACE_TOLERANCE)
    return np.where(near, np.sqrt((1 + SURFACE_TOLERANCE) / np.where(near, square, 1.0)), 1.0)[..., None] * x


# ---- starts --------------------------------------------------------------------------------------------------


def _planar_starts(ends: _Ends) -> tuple[_Path, _Path]:
    """Two of the paths in PLANES planes through both ends.

    The first is the shortest. The second is the shortest other one that is shorter than those in the planes beside it.
    """
    chord, radii = Chord.between(*ends), ends[2]
    planes = [chord.path_at(np.cos(x), np.sin(x)) for x in np.arange(PLANES) * (2 * np.pi / PLANES)]
    first = reduce(lambda x, y: choose(y.length < x.length, y, x), planes)
    second = first._replace(length=MAX_DISTANCE_M + 0.0 * first.length)
    for k, x in enumerate(planes):
        valley = (x.length <= planes[k - 1].length) & (x.length < planes[(k + 1) % PLANES].length)
        second = choose(valley & (x.length > first.length) & (x.length < second.length), x, second)
    starts = []
    for x in (first, second):
        P, Q = chord.ends_of(x)
        starts.append(_Path(P * radii, Q * radii, x.arc, x.length, np.pi + 0.0 * x.arc))
    return starts[0], starts[1]


# ---- Newton's method -----------------------------------------------------------------------------------------


def _solved(ends: _Ends, start: _Path, where: Array) -> _Path:
    """The path that Newton's method finds from a start that missed by an angle, `where` (...) it is sought. Elsewhere
    the start."""
    a, b, radii = ends
    zero, center = 0.0 * a[..., 0], a / dot(a, a)[..., None]
    f1 = _on_outline(start.P / radii, a, center)
    f2 = cross(unit(a), f1)
    end = fixed_point(
        _newton, _Iterate(zero, start.arc, start.Q, zero, start.missed, zero), (a, b, center, f1, f2, 1.0 / radii),
        tolerance=NEWTON_TOLERANCE, max_steps=MAX_NEWTON_STEPS, where=where, watched=_watched,
    )  # fmt: skip
    solved = finite(_watched(end))
    theta, arc = np.where(solved, end.theta[..., None], 0.0), np.where(solved[..., 0], end.s, start.arc)
    P = (center + np.cos(theta) * f1 + np.sin(theta) * f2) * radii
    Q = np.where(solved, end.end, start.Q)
    length = size(P - a * radii) + arc + size(b * radii - Q)
    solved = solved[..., 0] & where & (length < MAX_PLANAR_RATIO * start.length)
    return _Path(P, Q, arc, length, np.where(solved, end.missed, MAX_DISTANCE_M))


class _Iterate(NamedTuple):
    """Newton's iterate.

    theta     (...) [rad] the angle
    s         (...) [m] the length of the geodesic
    end       (..., 3) [m] its end
    missed    (...) how far it may be from the solution
    step      (...) [rad] the last step, at least MIN_STEP_RAD
    rotation  (...) [rad] the last change of theta
    """

    theta: Array
    s: Array
    end: Array
    missed: Array
    step: Array
    rotation: Array


def _watched(x: _Iterate) -> Array:
    """(..., 7) the numbers that converge."""
    return joined([np.stack([x.theta, x.s], axis=-1), x.end, np.stack([x.missed, x.step], axis=-1)])


def _on_outline(p: Array, a: Array, center: Array) -> Array:
    """(..., 3) from the centre to the point nearest to p of the circle on which lines from a touch the unit sphere."""
    out = p - center
    size = np.sqrt(1.0 - dot(center, center))[..., None]
    along = unit(a)
    result: Array = size * direction(out - dot(out, along)[..., None] * along)
    return result


def _newton(state: _Iterate, tangents: tuple[Array, Array, Array, Array, Array, Array]) -> _Iterate:
    """A step of Newton's method: it leaves about its square times the greatest curvature.

    `slope` is below zero where the length is convex in theta.

    tangents  (..., 3) each: the scaled ends, the centre and two radii of the circle in which lines from the first one
              touch the unit sphere, and one over the ellipsoid's radii
    """
    a, b, center, f1, f2, scale = tangents
    theta = state.theta[..., None]
    c, s = np.cos(theta), np.sin(theta)
    x, dx = (center + c * f1 + s * f2) / scale, (c * f2 - s * f1) / scale
    v, dv = _tangent(x - a / scale, dx)
    D = scale * scale
    size, least = -1 / _largest(-scale), 1 / _largest(scale)
    curvature = size / (least * least)
    part = MAX_PART_RATIO * longer(state.step)
    along, side = dot(dx, v)[..., None], unit(cross(D * x, v))
    y, dy = dot(dx, side)[..., None], dot(dv, side)[..., None]
    x, v, y, dy = geodesic(x, v, y, dy, state.s[..., None], D, part[..., None])
    B, n = b / scale, D * x
    across = cross(n, v)
    steep = np.sqrt(dot(n, n))[..., None]
    dx = along * v + y / steep * across
    dn = D * dx
    dacross = cross(dn, v) - dy * steep * v
    h1, h2 = _ahead(B - x, v, n, D), dot(B - x, across)
    h1_theta = -dot(v, D * dx) / dot(v, D * v)
    h2_theta = dot(B - x, dacross) - dot(dx, across)
    h2_s = dot(B - x, cross(D * v, v))
    slope, aside = h1_theta * h2_s + h2_theta, h1 * h2_s + h2
    newton = within(-aside / np.where(slope < 0, slope, -1.0), MAX_NEWTON_CHANGE)
    downhill = np.where(slope < 0, newton, np.where(aside < 0, -MAX_NEWTON_CHANGE, MAX_NEWTON_CHANGE))
    back = downhill * state.rotation < 0
    half = np.maximum(0.5 * np.abs(state.rotation), MIN_STEP_RAD)
    rotation = np.where(back, within(downhill, half), downhill)
    run = within(h1 + h1_theta * rotation, MAX_NEWTON_CHANGE * size)
    run = np.maximum(run, -MAX_SHRINKAGE * state.s)
    end = x + dx * rotation[..., None] + v * run[..., None]
    moved = np.abs(rotation) * size + np.abs(run)
    step = np.maximum(moved / size, MIN_STEP_RAD)
    return _Iterate(state.theta + rotation, state.s + run, end, curvature * moved * moved, step, rotation)


def longer(step: Array) -> Array:
    """(...) how many times as long parts of a geodesic may be after a step of so much [rad]."""
    times: Array = 1.0 + 0.0 * step
    for least, factor in reversed(PART_FACTORS):
        times = np.where(step > least, factor, times)
    return times


def _ahead(d: Array, v: Array, n: Array, D: Array) -> Array:
    """(...) [m] how far ahead of x, where n = D x, a string around the circle of curvature leaves it for x + d.

    The string goes in the direction v. For a point within the circle it is how far ahead the circle is nearest to that.
    The angle is that of the point, seen from the circle's centre, less the one that its straight piece takes.
    """
    steep = np.sqrt(dot(n, n))
    radius = steep / dot(v, D * v)
    along, above = dot(d, v), radius + dot(d, n) / steep
    straight = along * along + (above - radius) * (above + radius)
    straight = np.sqrt(np.maximum(straight, 0.0))
    angle = np.arctan2(along * radius - above * straight, above * radius + along * straight)
    result: Array = radius * np.where((along < 0) & (angle > 0), angle - 2 * np.pi, angle)
    return result


def _tangent(line: Array, dline: Array) -> tuple[Array, Array]:
    """A line's unit direction and its derivative."""
    size = np.sqrt(dot(line, line))[..., None]
    v = line / size
    dv = dline / size
    return v, dv - v * dot(v, dv)[..., None]


def _bending(x: Array, v: Array, D: Array) -> Array:
    """x'' = -bending D x."""
    n = D * x
    return dot(v, D * v) / dot(n, n)


def geodesic(
    x: Array, v: Array, y: Array, dy: Array, length: Array, D: Array, part: Array
) -> tuple[Array, Array, Array, Array]:
    """Point and unit velocity after `length` (..., 1), and how far neighbours are aside, y (..., n), with the rates dy.

    All are of the start where given. Of two geodesics near each other the distance aside obeys Jacobi's equation
    y'' = -K y with Gauss' curvature K. What it is along stays as it was. D = 1 / radii^2 (..., 3), and a part has the
    length `part` (..., 1) of the distance within which the normal turns by an angle of order one.
    """
    steps = np.broadcast_to(D, x.shape, subok=True), part
    z, w = followed(_part, joined([x, y]), joined([v, dy]), length, _longest, steps)
    return z[..., :3], w[..., :3], z[..., 3:], w[..., 3:]


def _longest(y: Array, w: Array, steps: tuple[Array, Array]) -> Array:
    """(..., 1) how long a part may be from x with the velocity v.

    It is a share of the distance at which |D x|, by which the right side divides, may vanish for a complex length. D x
    turns and grows as D v, and D v as D x''.
    """
    x, v, (D, part) = y[..., :3], w[..., :3], steps
    n, dn = D * x, D * v
    square = dot(n, n)
    rate = dot(dn, dn) / square + _bending(x, v, D) * np.sqrt(dot(D * n, D * n) / square)
    longest: Array = part / np.sqrt(rate)[..., None]
    return longest


def _part(y: Array, w: Array, steps: tuple[Array, Array]) -> Force:
    """The right side, x'' = -j D x / |D x|^4 and y'' = -D1 D2 D3 y / |D x|^4, along a part that begins at (x, y)."""
    D, v = steps[0], w[..., :3]
    n = D * y[..., :3]
    j = (dot(n, n) * dot(v, D * v))[..., None]
    aside = -(D[..., :1] * D[..., 1:2] * D[..., 2:])
    factors = joined([-j * D, *(aside for _ in range(y.shape[-1] - 3))])

    def force(y: Array) -> Array:
        n = D * y[..., :3]
        g = 1.0 / dot(n, n)
        found: Array = (g * g)[..., None] * (factors * y)
        return found

    return force
