"""Spheres and cylinders as tendons of MuJoCo up to version 3.17 meet them, on the side of a side site.

A path is straight where its straight line clears the surface on the side of the side site. That is, its point nearest
to the axis, or to the centre, is on the half plane of the side site. Elsewhere it takes one of two tangent paths, one
in each sense. Of these it takes the one whose two points of contact lie more towards the side site, unless its straight
pieces cross. Where they cross in both senses, the path is straight. The rule is that of `wrap_circle` in MuJoCo's
`engine_util_misc.c` (E. Todorov and others, Apache-2.0). MuJoCo 4 has replaced it (see `side_site`). The length jumps
where the line behind leaves the half plane.
"""

from typing import ClassVar

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.muscle.wrapping.side_site import SideCylinder
from myoquat.muscle.wrapping.surfaces.base import Line
from myoquat.muscle.wrapping.surfaces.circle import (
    Direction,
    Plane,
    Winding,
    inner,
    nearest,
    outside,
    straight_pieces,
    tangent,
)
from myoquat.muscle.wrapping.surfaces.cylinder import across
from myoquat.muscle.wrapping.surfaces.sphere import WrapSphere

__all__ = ["HalfPlaneCylinder", "HalfPlaneSphere", "half_plane_path"]

SMALLEST = 1e-15  # [m^2] of a determinant below which MuJoCo takes lines as parallel


@dataclass(frozen=True, kw_only=True)
class HalfPlaneCylinder(SideCylinder):
    """A cylinder that a path passes as in MuJoCo up to version 3.17: behind it, on the side against its quadrant, no
    path is straight.

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
        return half_plane_path(*across((A, B)), self.radius, side)


@dataclass(frozen=True, kw_only=True)
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
        return half_plane_path(a, b, self.radius, ahead, plane_turns=True)


def half_plane_path(a: Plane, b: Plane, radius: Array | float, side: Direction, plane_turns: bool = False) -> Winding:
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
    (x, size), (y, other) = (_middle(side, *way) for way in ways)
    first = ~crossing[0] & (crossing[1] | (x * other > y * size))
    P, Q = (tuple(np.where(first, x, y) for x, y in zip(p, q, strict=True)) for p, q in zip(*ways, strict=True))
    turn = np.where(first, -1.0, 1.0) * (P[0] * Q[1] - P[1] * Q[0])
    angle = np.arctan2(turn, P[0] * Q[0] + P[1] * Q[1])
    angle = np.where(turn < 0, angle + 2 * np.pi, angle)
    long = np.sqrt(inner(side, side))
    aside = np.where(clear, np.abs(towards) / long, np.inf)
    tie = np.where(crossing[0] | crossing[1], np.inf, np.abs(x / size - y / other) / (2 * long))  # [rad]
    arms = _arms(a, b, plane_turns)
    jump = [
        np.where(inside, own, np.minimum(np.minimum(aside, tie * arm), np.where(on, own, np.inf)))
        for own, arm in zip(depth, arms, strict=True)
    ]
    return Winding(on, before, after, P, Q, angle, inside, (jump[0], jump[1]), clear & (towards < 0))


def _arms(a: Plane, b: Plane, plane_turns: bool) -> tuple[Array, Array]:
    """About how far each end moves for a turn of the path's middle against the side by 1 rad."""
    first, second = (np.sqrt(inner(p, p)) for p in (a, b))
    if not plane_turns:
        return first, second
    cross = np.abs(a[0] * b[1] - a[1] * b[0])
    return cross / second, cross / first


def _cross(a: Plane, P: Plane, b: Plane, Q: Plane) -> Array:
    """Whether the segments from a to P and from b to Q cross: at shares of both, here times the determinant."""
    x, y, gap = (P[0] - a[0], P[1] - a[1]), (Q[0] - b[0], Q[1] - b[1]), (a[0] - b[0], a[1] - b[1])
    det = y[1] * x[0] - y[0] * x[1]
    sign, size = np.where(det < 0, -1.0, 1.0), np.abs(det)
    shares = [sign * (p[0] * gap[1] - p[1] * gap[0]) for p in (x, y)]
    within = (np.minimum(*shares) >= 0) & (np.maximum(*shares) <= size)
    found: Array = within & (size >= SMALLEST)
    return found


def _middle(side: Direction, P: Plane, Q: Plane) -> tuple[Array, Array]:
    """How far the sum of two points lies towards the side, and its size."""
    middle = P[0] + Q[0], P[1] + Q[1]
    return inner(middle, side), np.sqrt(inner(middle, middle))
