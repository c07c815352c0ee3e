"""Spheres and cylinders as MuJoCo's tendons meet them: on the side of a side site, or along the inner side.

With a side site outside of the surface, MuJoCo 4 takes the shortest path with a given winding. It winds around the
surface as the way from one end over the side site to the other does. In the plane across the axis, or of the ends and
the centre, that path never crosses the ray against the side site. This is the rule of a quadrant (`Wrap`) without the
addition of a `WrapCylinder` for two ends behind. With a side site inside, the path touches the inner side in one point,
where it is shortest. Source: the documentation of MuJoCo 4, XML Reference, "spatial/geom/sidesite". Earlier versions
chose the side otherwise (`HalfPlaneCylinder`).
"""

from dataclasses import replace
from typing import ClassVar, NamedTuple

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints.errors import ModelError
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.kernels import choose, while_loop
from myoquat.kernels.symbolic.arrays import as_array
from myoquat.muscle.wrapping.surfaces.base import Contact, Line, Near, Wrap
from myoquat.muscle.wrapping.surfaces.circle import (
    Direction,
    Plane,
    Winding,
    around,
    inner,
    jump_of,
    nearest,
    outside,
    straight_pieces,
    tangent,
)
from myoquat.muscle.wrapping.surfaces.cylinder import WrapCylinder, across
from myoquat.muscle.wrapping.surfaces.sphere import WrapSphere
from myoquat.muscle.wrapping.surfaces.vectors import always, plane_of, project

__all__ = [
    "HalfPlaneCylinder",
    "HalfPlaneSphere",
    "InsideCylinder",
    "InsideSphere",
    "MujocoInsideCylinder",
    "MujocoInsideSphere",
    "SideCylinder",
]

SMALLEST = 1e-15  # [m^2] of a determinant below which MuJoCo takes lines as parallel
MAX_NEWTON_STEPS = 60
ANGLE_TOLERANCE = 2e-15  # [rad], a few times the round-off of a sum of angles
MUJOCO_ANGLE_TOLERANCE = 1e-6  # [rad], that of MuJoCo 3.17 and 4.0, whose points of contact are those of this iteration


@frozen(kw_only=True)
class SideCylinder(WrapCylinder):
    """A cylinder that a path passes on the side of its quadrant where the straight line crosses the half plane behind.

    It differs from a `WrapCylinder` in one case: a path with both ends behind that clears the cylinder is straight.
    This is MuJoCo's rule, the quadrant being the direction to the side site. The length jumps where an end crosses the
    half plane behind while the path touches, or goes around.

    >>> import numpy as np
    >>> from myoquat.muscle import SideCylinder, WrapCylinder
    >>> A, B = np.array([-0.1, 0.04, 0.0]), np.array([-0.01, 0.05, 0.0])
    >>> surfaces = [cls(body="femur", radius=0.03, quadrant="+x") for cls in (SideCylinder, WrapCylinder)]
    >>> [bool(surface.contact(A, B).on) for surface in surfaces]
    [False, True]
    """

    kind: ClassVar[str] = "side_cylinder"
    rule: ClassVar[str] = "mujoco"

    @property
    def sided(self) -> bool:
        return False

    def _winding(self, A: Array, B: Array, line: Line | None) -> Winding:
        return around(*across((A, B)), self.radius, self._side(line))

    def check(self, system: ArticulatedSystem, element: str, count: int) -> None:
        super().check(system, element, count)
        if self.hint is not None:
            raise ModelError(f"a {self.kind} has no hint; its quadrant tells the side", element=element)


# ---- until version 3.17 ---------------------------------------------------------------------------------------


@frozen(kw_only=True)
class HalfPlaneCylinder(SideCylinder):
    """A cylinder that a path passes as in MuJoCo up to version 3.17: behind it, on the side against its quadrant, no
    path is straight.

    A path is straight where its straight line clears the surface on the side of the side site. That is, its point
    nearest to the axis, or to the centre, is on the half plane of the side site. Elsewhere it takes one of two tangent
    paths, one in each sense. Of these it takes the one whose two points of contact lie more towards the side site,
    unless its straight pieces cross. Where they cross in both senses, the path is straight. The rule is that of
    `wrap_circle` in MuJoCo's `engine_util_misc.c` (E. Todorov and others, Apache-2.0). The length jumps where the line
    behind leaves the half plane.

    >>> import numpy as np
    >>> from myoquat.muscle import HalfPlaneCylinder, SideCylinder
    >>> A, B = np.array([-0.1, 0.04, 0.0]), np.array([-0.01, 0.05, 0.0])
    >>> surfaces = [cls(body="femur", radius=0.03, quadrant="+x") for cls in (HalfPlaneCylinder, SideCylinder)]
    >>> [bool(surface.contact(A, B).on) for surface in surfaces]
    [True, False]
    """

    kind: ClassVar[str] = "half_plane_cylinder"
    rule: ClassVar[str] = "mujoco3"

    def _winding(self, A: Array, B: Array, line: Line | None) -> Winding:
        side = self._side(line)
        assert side is not None  # `check` asks for a quadrant
        return _half_plane_path(*across((A, B)), self.radius, side)


@frozen(kw_only=True)
class HalfPlaneSphere(WrapSphere):
    """A sphere that a path passes as in MuJoCo up to version 3.17: as a `HalfPlaneCylinder` in the plane of the ends
    and the centre.

    >>> import numpy as np
    >>> from myoquat.muscle import HalfPlaneSphere, WrapSphere
    >>> A, B = np.array([-0.1, 0.04, 0.0]), np.array([-0.01, 0.05, 0.0])
    >>> surfaces = [cls(body="femur", radius=0.03, quadrant="+x") for cls in (HalfPlaneSphere, WrapSphere)]
    >>> [bool(surface.contact(A, B).on) for surface in surfaces]
    [True, False]
    """

    kind: ClassVar[str] = "half_plane_sphere"
    rule: ClassVar[str] = "mujoco3"

    @property
    def on_one_piece(self) -> bool:
        return False

    def _winding(self, a: Plane, b: Plane, ahead: Direction | None) -> Winding:
        assert ahead is not None
        return _half_plane_path(a, b, self.radius, ahead, plane_turns=True)


def _half_plane_path(a: Plane, b: Plane, radius: Array | float, side: Direction, plane_turns: bool = False) -> Winding:
    """The path from a to b on the side of a direction of any length.

    If plane_turns, the plane is that of the ends and the centre, so that the side as seen in it turns with them.
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
        cross = np.abs(a[0] * b[1] - a[1] * b[0])
        arm, other_arm = cross / other_arm, cross / arm
    jump = jump_of(on, inside, depth, (np.minimum(aside, tie * arm), np.minimum(aside, tie * other_arm)))
    return Winding(on, before, after, P, Q, angle, inside, jump)


def _cross(a: Plane, P: Plane, b: Plane, Q: Plane) -> Array:
    """Whether the segments from a to P and from b to Q cross: at shares of both, here times the determinant."""
    x, y, gap = (P[0] - a[0], P[1] - a[1]), (Q[0] - b[0], Q[1] - b[1]), (a[0] - b[0], a[1] - b[1])
    det = y[1] * x[0] - y[0] * x[1]
    sign, size = np.where(det < 0, -1.0, 1.0), np.abs(det)
    shares = [sign * (p[0] * gap[1] - p[1] * gap[0]) for p in (x, y)]
    within = (np.minimum(*shares) >= 0) & (np.maximum(*shares) <= size)
    found: Array = within & (size >= SMALLEST)
    return found


# ---- inside --------------------------------------------------------------------------------------------------


def _within(a: Plane, b: Plane, radius: Array, tolerance: float) -> tuple[Plane, Contact]:
    """The shortest string from a to b that touches the circle in one point, where the straight segment does not meet
    it: the point, and its contact without the points and the arc.

    Both straight pieces meet the normal in P at one angle theta. Let A and B be the radius over the distances of the
    ends from the centre, and G the angle between the ends. Then f(theta) = asin(A sin theta) + asin(B sin theta) - 2
    theta + G = 0. The function f is concave and falls, so that Newton's method descends from pi / 2 to the solution. It
    ends at |f| <= tolerance [rad].
    """
    square = radius * radius
    inside = ~(np.minimum(inner(a, a), inner(b, b)) > square)
    a = np.where(inside, 2.0 * radius, a[0]), np.where(inside, 0.0, a[1])
    b = np.where(inside, 0.0, b[0]), np.where(inside, 2.0 * radius, b[1])
    x = nearest(a, b)
    on = (inner(x, x) > square) & ~inside
    far, near = (np.sqrt(inner(p, p)) for p in (a, b))
    cross, both = a[0] * b[1] - a[1] * b[0], far * near
    triangle = radius / far, radius / near, inner(a, b) / both, np.abs(cross) / both
    begin = _search(np.pi / 2 + 0.0 * cross, triangle)
    found = while_loop(
        lambda search: search.f < -tolerance, _descended, begin, triangle, max_steps=MAX_NEWTON_STEPS, where=on
    )
    # from the end that is first in the positive sense, as MuJoCo turns: with f < 0 the other end gives another point
    first = cross > 0
    P = _turned(choose(first, a, b), np.where(first, triangle[0], triangle[1]), found)
    jump = np.stack([np.where(on | inside, np.abs(size - radius), np.inf) for size in (far, near)], axis=-1)
    missed = np.where(on & (found.f < -tolerance), 1.0, 0.0)
    none = Contact.none(0.0 * np.stack([cross] * 3, axis=-1))
    return P, replace(none, on=on, inside=inside, jump=jump, missed=missed)


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


@frozen(kw_only=True)
class _Inside(Wrap):
    """A surface that holds a path on its inner side, where there is no side to choose."""

    solved: ClassVar[bool] = True
    holds_inside: ClassVar[bool] = True
    _sided: ClassVar[bool] = False
    _tolerance: ClassVar[float] = ANGLE_TOLERANCE

    @property
    def divides(self) -> bool:
        return False

    def meets(self, A: Array, B: Array) -> Array:
        return always(A[..., 0] + B[..., 0])

    def check(self, system: ArticulatedSystem, element: str, count: int) -> None:
        super().check(system, element, count)
        if self.quadrant != "all" or self.hint is not None:
            raise ModelError(f"a {self.kind} has neither quadrant nor hint", element=element)


@frozen(kw_only=True)
class InsideSphere(_Inside, WrapSphere):
    """A sphere whose inner side holds a path that would pass it by: MuJoCo's wrapping with a side site inside.

    The path touches the sphere in one point, where both straight pieces meet it at the same angle. A path whose
    straight line meets the sphere is free, and so is one with an end inside.

    >>> import numpy as np
    >>> from myoquat.muscle import InsideSphere
    >>> ring = InsideSphere(body="hand", radius=0.01)
    >>> contact = ring.contact(np.array([0.05, 0.03, 0.0]), np.array([-0.05, 0.03, 0.0]))
    >>> contact.P.round(6) + 0.0
    array([0.  , 0.01, 0.  ])
    """

    kind: ClassVar[str] = "inside_sphere"

    def contact(self, A: Array, B: Array, line: Line | None = None, near: Near | None = None) -> Contact:
        e1, e2 = plane_of(A, B)
        (x, y), c = _within(project(A, e1, e2), project(B, e1, e2), as_array(self.radius), self._tolerance)
        P = x[..., None] * e1 + y[..., None] * e2
        return replace(c, P=P, Q=P)


@frozen(kw_only=True)
class InsideCylinder(_Inside, WrapCylinder):
    """A cylinder whose inner side holds a path: as an `InsideSphere` in the plane across the axis, along
    which the path climbs evenly. `length` is for pictures: it holds paths beyond its ends too.

    >>> import numpy as np
    >>> from myoquat.muscle import InsideCylinder
    >>> ring = InsideCylinder(body="hand", radius=0.01)
    >>> contact = ring.contact(np.array([0.05, 0.03, 0.0]), np.array([-0.05, 0.03, 0.02]))
    >>> contact.P.round(6) + 0.0
    array([0.  , 0.01, 0.01])
    """

    kind: ClassVar[str] = "inside_cylinder"

    def contact(self, A: Array, B: Array, line: Line | None = None, near: Near | None = None) -> Contact:
        (x, y), c = _within(*across((A, B)), as_array(self.radius), self._tolerance)
        before, after = (np.sqrt((end[..., 0] - x) ** 2 + (end[..., 1] - y) ** 2) for end in (A, B))
        P = np.stack([x, y, A[..., 2] + (B[..., 2] - A[..., 2]) * before / (before + after)], axis=-1)
        return replace(c, P=P, Q=P)


@frozen(kw_only=True)
class MujocoInsideSphere(InsideSphere):
    """An `InsideSphere` whose point of contact is as inexact as MuJoCo's, whose iteration ends at 1e-6 rad.

    The Jacobian equals MuJoCo's, and differs from the derivative of the length by up to 1e-7. The length differs by
    the square of that.

    >>> import numpy as np
    >>> from myoquat.muscle import InsideSphere, MujocoInsideSphere
    >>> A, B = np.array([0.05, 0.03, 0.0]), np.array([-0.02, 0.07, 0.0])
    >>> exact, theirs = (cls(body="hand", radius=0.01).contact(A, B).P for cls in (InsideSphere, MujocoInsideSphere))
    >>> bool(0 < np.linalg.norm(theirs - exact) < 1e-8)
    True
    """

    kind: ClassVar[str] = "mujoco_inside_sphere"
    _tolerance: ClassVar[float] = MUJOCO_ANGLE_TOLERANCE


@frozen(kw_only=True)
class MujocoInsideCylinder(InsideCylinder):
    """An `InsideCylinder` whose point of contact is as inexact as MuJoCo's: as a `MujocoInsideSphere`.

    >>> import numpy as np
    >>> from myoquat.muscle import InsideCylinder, MujocoInsideCylinder
    >>> A, B = np.array([0.05, 0.03, 0.0]), np.array([-0.02, 0.07, 0.01])
    >>> surfaces = [cls(body="hand", radius=0.01) for cls in (InsideCylinder, MujocoInsideCylinder)]
    >>> exact, theirs = (surface.contact(A, B).P for surface in surfaces)
    >>> bool(0 < np.linalg.norm(theirs - exact) < 1e-8)
    True
    """

    kind: ClassVar[str] = "mujoco_inside_cylinder"
    _tolerance: ClassVar[float] = MUJOCO_ANGLE_TOLERANCE
