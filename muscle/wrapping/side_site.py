"""Spheres and cylinders as MuJoCo's tendons meet them: on the side of a side site, or along the inner side.

With a side site outside of the surface MuJoCo 4 takes the shortest path that winds around the surface as the way from
one end over the side site to the other does. In the plane across the axis, or of the ends and the centre, that path
never crosses the ray against the side site: the rule of a quadrant (`Wrap`) without what a `WrapCylinder` adds for two
ends behind. With a side site inside, the path touches the inner side in one point, where it is shortest [the
documentation of MuJoCo 4, XML Reference, "spatial/geom/sidesite"]. Earlier versions chose the side otherwise.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.errors import ModelError
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.kernels import while_loop
from myoquat.kernels.symbolic.arrays import as_array
from myoquat.muscle.wrapping.surfaces.base import Contact, Line, Near, Wrap
from myoquat.muscle.wrapping.surfaces.circle import Plane, Winding, around
from myoquat.muscle.wrapping.surfaces.cylinder import WrapCylinder
from myoquat.muscle.wrapping.surfaces.sphere import WrapSphere
from myoquat.muscle.wrapping.surfaces.vectors import plane_of, project

__all__ = ["InsideCylinder", "InsideSphere", "SideCylinder"]

MAX_NEWTON_STEPS = 60
NEWTON_TOLERANCE = (
    1e-12  # of the angle between the ends, by which the last step moves; the next one would move by its square
)


@dataclass(frozen=True, kw_only=True)
class SideCylinder(WrapCylinder):
    """A cylinder that a path passes on the side of its quadrant where the straight line would cross the half plane
    behind: as a `WrapCylinder`, but a path with both ends behind that clears the cylinder is straight.

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

    @property
    def held(self) -> bool:
        return False

    def _winding(self, A: Array, B: Array, line: Line | None) -> Winding:
        a, b = ((x[..., 0], x[..., 1]) for x in (A, B))
        return around(a, b, self.radius, self._side(line))

    def check(self, system: ArticulatedSystem, element: str, count: int) -> None:
        super().check(system, element, count)
        if self.hint is not None:
            raise ModelError(f"a {self.kind} has no hint; its quadrant tells the side", element=element)


# ---- inside --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Touching:
    """The string that touches a circle in one point P: whether it does, whether an end lies inside, how near each end
    is to the circle where that matters, and how far the solver is from its solution."""

    on: Array
    P: Plane
    inside: Array
    jump: Array
    missed: Array


def _within(a: Plane, b: Plane, radius: Array) -> _Touching:
    """The shortest string from a to b that touches the circle, where the straight segment does not meet it.

    With psi the angle from a to P and G that from a to b, the length
    sqrt(|a|^2 + r^2 - 2 |a| r cos psi) + sqrt(|b|^2 + r^2 - 2 |b| r cos(G - psi)) has one minimum in [0, G], which
    Newton's method finds within brackets.
    """
    square = radius * radius
    inside = ~(np.minimum(_dot(a, a), _dot(b, b)) > square)
    a = np.where(inside, 2.0 * radius, a[0]), np.where(inside, 0.0, a[1])
    b = np.where(inside, 0.0, b[0]), np.where(inside, 2.0 * radius, b[1])
    x = _nearest(a, b)
    on = (_dot(x, x) > square) & ~inside
    cross = a[0] * b[1] - a[1] * b[0]
    G = np.arctan2(np.abs(cross), _dot(a, b))
    far, near = (np.sqrt(_dot(p, p)) for p in (a, b))
    psi = 0.5 * G
    search = _Bracket(psi, 0.0 * G, G, psi > np.inf)
    triangle, where = _Triangle(far / radius, near / radius, G), on & (G > 0)
    found = while_loop(_unconverged, _narrowed, search, triangle, max_steps=MAX_NEWTON_STEPS, where=where)
    psi = np.where(cross < 0, -found.psi, found.psi)
    cos, sin = np.cos(psi) * radius / far, np.sin(psi) * radius / far
    P = cos * a[0] - sin * a[1], sin * a[0] + cos * a[1]
    jump = np.stack([np.where(on | inside, np.abs(size - radius), np.inf) for size in (far, near)], axis=-1)
    return _Touching(on, P, inside, jump, np.where(where & ~found.converged, 1.0, 0.0))


@dataclass(frozen=True)
class _Triangle:
    """The distances A, B (...) of both ends from the centre of a circle of radius 1, and the angle G (...) between."""

    A: Array
    B: Array
    G: Array


@dataclass(frozen=True)
class _Bracket:
    """The angle psi (...) between its lower and upper bound (...), and whether (...) it converged."""

    psi: Array
    low: Array
    high: Array
    converged: Array


def _unconverged(search: _Bracket) -> Array:
    return ~search.converged


def _narrowed(search: _Bracket, triangle: _Triangle) -> _Bracket:
    """A step of Newton's method within the bracket, or its middle."""
    psi, low, high = search.psi, search.low, search.high
    A, B, G = triangle.A, triangle.B, triangle.G
    (f, df), (g, dg) = _slope(A, psi), _slope(B, G - psi)
    slope = f - g
    low, high = np.where(slope < 0, psi, low), np.where(slope < 0, high, psi)
    curve = df + dg
    after = psi - slope / np.where(curve > 0, curve, 1.0)
    bracketed = (curve > 0) & (after >= low) & (after <= high)
    after = np.where(bracketed, after, 0.5 * (low + high))
    return _Bracket(after, low, high, (np.abs(after - psi) <= NEWTON_TOLERANCE * G) | (slope == 0.0))


def _slope(A: Array, psi: Array) -> tuple[Array, Array]:
    """d and d^2 over dpsi of the distance sqrt(A^2 + 1 - 2 A cos psi) of a point from one on the unit circle."""
    half = np.sin(0.5 * psi)
    size = np.sqrt((A - 1.0) * (A - 1.0) + 4.0 * A * half * half)
    first = A * np.sin(psi) / size
    return first, (A * np.cos(psi) - first * first) / size


def _dot(p: Plane, q: Plane) -> Array:
    result: Array = p[0] * q[0] + p[1] * q[1]
    return result


def _nearest(a: Plane, b: Plane) -> Plane:
    """The point of the segment from a to b that is nearest to the centre."""
    d = b[0] - a[0], b[1] - a[1]
    square = _dot(d, d)
    share = np.minimum(np.maximum(-_dot(a, d) / np.where(square > 0, square, 1.0), 0.0), 1.0)
    return a[0] + share * d[0], a[1] + share * d[1]


@dataclass(frozen=True, kw_only=True)
class _Inside(Wrap):
    """A surface that holds a path on its inner side, where there is no side to choose."""

    solved: ClassVar[bool] = True
    _sided: ClassVar[bool] = False

    @property
    def divides(self) -> bool:
        return False

    def check(self, system: ArticulatedSystem, element: str, count: int) -> None:
        super().check(system, element, count)
        if self.quadrant != "all" or self.hint is not None:
            raise ModelError(f"a {self.kind} has neither quadrant nor hint", element=element)


@dataclass(frozen=True, kw_only=True)
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
        flat = _within(project(A, e1, e2), project(B, e1, e2), as_array(self.radius))
        P = flat.P[0][..., None] * e1 + flat.P[1][..., None] * e2
        return Contact(flat.on, P, P, 0.0 * P[..., 0], flat.inside, flat.jump, flat.missed)


@dataclass(frozen=True, kw_only=True)
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
        flat = _within((A[..., 0], A[..., 1]), (B[..., 0], B[..., 1]), as_array(self.radius))
        before, after = (np.sqrt((x[..., 0] - flat.P[0]) ** 2 + (x[..., 1] - flat.P[1]) ** 2) for x in (A, B))
        z = A[..., 2] + (B[..., 2] - A[..., 2]) * before / (before + after)
        P = np.stack([*flat.P, z], axis=-1)
        return Contact(flat.on, P, P, 0.0 * z, flat.inside, flat.jump, flat.missed)
