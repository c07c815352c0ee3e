"""The cylinder: in the plane across its axis a string around a circle, and along the axis a helix."""

from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints.ranges import Range
from myoquat.joints.vectors import dot
from myoquat.kernels.symbolic.arrays import as_array

from .base import Contact, Geodesic, Line, Near
from .circle import RoundWrap, outer, quarter_turn, sides_among_surfaces, way_round
from .vectors import pair


@frozen(kw_only=True)
class WrapCylinder(RoundWrap):
    """A cylinder of `radius` [m] around the z axis of its frame, from -length / 2 to length / 2 [m].

    Unrolled, the path is a straight line: it climbs evenly, on the straight pieces as on the surface. A path that would
    touch only beyond one end passes the surface by, and its length jumps there. One whose inner side holds the path
    does so beyond its ends too.

    >>> from dataclasses import replace
    >>> import numpy as np
    >>> from myoquat.muscle import WrapCylinder
    >>> cylinder = WrapCylinder(body="femur", radius=0.03)  # its axis is z of its frame
    >>> A, B = np.array([0.1, 0.01, 0.0]), np.array([-0.1, 0.01, 0.0])
    >>> contact = cylinder.contact(A, B)
    >>> contact.P.round(4), float(contact.arc.round(4))  # where the path comes onto it, how far it runs on it
    (array([0.0061, 0.0294, 0.    ]), 0.0122)
    >>> A, B = np.array([-0.1, 0.04, 0.0]), np.array([-0.01, 0.05, 0.0])  # behind, on a line that clears the cylinder
    >>> surfaces = [replace(cylinder, quadrant="+x", rule=rule) for rule in ("shortest", "mujoco", "mujoco3")]
    >>> [bool(surface.contact(A, B).on) for surface in surfaces]
    [True, False, True]
    >>> ring = WrapCylinder(body="hand", radius=0.01, rule="inside")
    >>> contact = ring.contact(np.array([0.05, 0.03, 0.0]), np.array([-0.05, 0.03, 0.02]))
    >>> contact.P.round(6) + 0.0
    array([0.  , 0.01, 0.01])
    """

    length: Annotated[float, Range(0.0, open_low=True, infinite=True)] = np.inf

    kind: ClassVar[str] = "cylinder"
    shape: ClassVar[str] = "cylinder"
    axes: ClassVar[int] = 2
    quadrants: ClassVar[tuple[str, ...]] = ("+x", "-x", "+y", "-y")

    def resized(self, factors: Array, along: Array) -> dict[str, Any]:
        """The radius by the mean across the axis, the length along it."""
        return {"radius": self.radius * (along[0] + along[1]) / 2, "length": self.length * along[2]}

    def contact(self, A: Array, B: Array, line: Line | None = None, near: Near | None = None) -> Contact:
        side = None
        if line is not None:
            ends = pair(*(x[..., :2] for x in line))
            a, b = ends[..., 0, :], ends[..., 1, :]
            side = np.where(outer(a, b) < 0, -1.0, 1.0)[..., None] * quarter_turn(a - b)
        c, straight = self.string(A, B, np.eye(2, 3), side)
        before, after = straight[..., 0], straight[..., 1]
        flat = before + c.arc + after
        slope = (B[..., 2] - A[..., 2]) / (flat if self.hint is None else np.where(flat > 0, flat, 1.0))
        zP = A[..., 2] + slope * before
        zQ = zP if self.holds_inside else B[..., 2] - slope * after
        P, Q = (np.concatenate([x, z[..., None]], axis=-1) for x, z in ((c.P, zP), (c.Q, zQ)))
        half = np.inf if self.holds_inside else self.length / 2
        # the touching end nearer to the middle decides
        to_end = np.where(c.on, np.abs(half - np.minimum(np.abs(zP), np.abs(zQ))), np.inf)
        jump = np.minimum(c.jump, to_end[..., None])
        if self.sided and line is not None and self.ahead is not None:
            jump = np.minimum(jump, sides_among_surfaces(pair(A[..., :2], B[..., :2]), ends, self.ahead[:2]))
        return replace(c, on=c.on & ~_beyond(zP, zQ, half), P=P, Q=Q, arc=c.arc * np.sqrt(1 + slope * slope), jump=jump)

    @property
    def sided(self) -> bool:
        return self.on_one_piece

    @property
    def divides(self) -> bool:
        return self.ahead is None and self.hint is None and not self.holds_inside

    def cut(self, A: Array, B: Array) -> Array:
        """Within the ends of the cylinder."""
        d, half = B - A, self.length / 2
        a, b, c = (x[..., 0] * y[..., 0] + x[..., 1] * y[..., 1] for x, y in ((d, d), (A, d), (A, A)))
        square = b * b - a * (c - as_array(self.radius) ** 2)
        through = (square > 0) & (a > 0)
        root, a = np.sqrt(np.where(through, square, 0.0)), np.where(a > 0, a, 1.0)
        first, last = np.maximum((-b - root) / a, 0.0), np.minimum((-b + root) / a, 1.0)
        beyond = _beyond(A[..., 2] + first * d[..., 2], A[..., 2] + last * d[..., 2], half)
        found: Array = through & (first < last) & ~beyond
        return found if self.ahead is None else found | self.crossed(A, B)

    def crossed(self, A: Array, B: Array) -> Array:
        """The half plane behind, within the ends of the cylinder."""
        ahead = self.ahead
        if ahead is None:
            return super().crossed(A, B)
        side = np.array([-ahead[1], ahead[0], 0.0])
        a, b = dot(A, side), dot(B, side)
        crosses = a * b < 0
        x = A + (a / np.where(crosses, a - b, 1.0))[..., None] * (B - A)
        found: Array = crosses & (dot(x, ahead) < 0) & (np.abs(x[..., 2]) <= self.length / 2)
        return found

    def opensim_differs(self, A: Array, B: Array) -> Array:
        """OpenSim goes round the side of the first tangent point that is ahead. It adds nearly a turn to one that leads
        by more than half a turn to the left. It also goes round where the line is free but passes the axis behind,
        between an end ahead and an end behind (`WrapCylinder::wrapLine` of OpenSim 4.6)."""
        assert self.ahead is not None  # as it is sided
        ahead, ends = self.ahead[:2], pair(A[..., :2], B[..., :2])
        ours, _ = self.string(A, B, np.eye(2, 3))
        a, d = ends[..., 0, :], ends[..., 1, :] - ends[..., 0, :]
        front, step = dot(ahead, a), dot(ahead, d)
        free = (front * (front + step) < 0) & (front * dot(d, d) - dot(a, d) * step < 0)
        first, second = (dot(ahead, way_round(ends, self.radius, sense)[0]) > 0 for sense in (1.0, -1.0))
        left, right, left_end, right_end = first[..., 0], second[..., 0], second[..., 1], first[..., 1]
        turns_left = np.where(left != right, left, ~left_end & (left | right_end))
        known = left | right | left_end | right_end
        to_left = outer(a, ours.P) > 0
        other = (known & (turns_left != to_left)) | (to_left & (ours.arc > np.pi * self.radius))
        found: Array = np.where(ours.on, other, free)
        return found

    def middle(self, A: Array, B: Array) -> Array:
        """The point of the axis, within its ends."""
        d, half = B - A, self.length / 2
        a, b = (x[..., 0] * d[..., 0] + x[..., 1] * d[..., 1] for x in (d, A))
        z = A[..., 2] - b / np.where(a > 0, a, 1.0) * d[..., 2]
        z = np.minimum(np.maximum(z, -half), half)
        return np.stack([0.0 * z, 0.0 * z, z], axis=-1)

    def geodesic(self, P: Array, t: Array, length: Array, step: Array | float = 0.0) -> Geodesic:
        s, R = length[..., 0], as_array(self.radius)
        angle = s * (P[..., 0] * t[..., 1] - P[..., 1] * t[..., 0]) / (R * R)
        cos, sin = np.cos(angle), np.sin(angle)
        x, v = (
            np.stack([cos * w[..., 0] - sin * w[..., 1], sin * w[..., 0] + cos * w[..., 1], w[..., 2]], axis=-1)
            for w in (P, t)
        )
        rise = np.stack([0.0 * s, 0.0 * s, s * t[..., 2]], axis=-1)
        return Geodesic(x + rise, v, 1.0 + 0.0 * s, 0.0 * s, s, 1.0 + 0.0 * s)


def _beyond(first: Array, last: Array, half: Array | float) -> Array:
    """(...) whether two heights are both beyond one end of a cylinder of this half length."""
    result: Array = (np.minimum(first, last) > half) | (np.maximum(first, last) < -half)
    return result
