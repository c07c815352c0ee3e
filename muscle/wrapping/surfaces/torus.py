"""The torus: a ring through which a path passes, bearing on the inner side of its tube."""

from functools import reduce
from typing import Any, ClassVar

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints.errors import ModelError
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.ranges import Positive
from myoquat.joints.vectors import dot, joined
from myoquat.kernels.symbolic.arrays import as_array

from .base import Contact, Geodesic, Line, Near, Wrap
from .circle import SURFACE_TOLERANCE
from .geodesics import Force, followed
from .torus_passage import crosses_outside, shortest_through
from .vectors import differ, direction

MIN_HEIGHT_RATIO = 1e-7  # of an end over the tube, to its radius: lower ones are raised; lengths change by 1e-10 of it
MAX_PART_RATIO = 0.8  # length of a part of a geodesic over the smaller of tube radius and distance from the axis


@frozen(kw_only=True)
class WrapTorus(Wrap):
    """A torus around the z axis of its frame: a tube of `tube_radius` [m] along a ring of `ring_radius` [m].

    OpenSim's WrapTorus calls them inner_radius (of the tube) and outer_radius (of the ring).

    A path passes through the ring: it never crosses the plane of the ring outside of it, whatever the quadrant. The
    length jumps where an end of it does. Between ends on opposite sides of the axis it may bear on both sides of the
    hole; `arc` then holds the line across.

    Where several surfaces act on one piece, no straight line of the path crosses the plane outside of the ring. No
    other surface leads the path across it, even if that path would be shorter. A path that crosses is taken only where
    no other is found. It is flagged as beside a jump, because the other surface may let go of it.

    Lengths are right to 1e-11 of the radius of the tube where the hole's is no less than 0.01 of it. Two sorts of
    paths are flagged as unsolved. The ends of one are on the same side of the plane of the ring, and it would touch the
    tube on its outer side. Both ends of the other lie on a thin tube, or very near to it.

    >>> import numpy as np
    >>> from myoquat.muscle import WrapTorus
    >>> ring = WrapTorus(body="femur", ring_radius=0.05, tube_radius=0.01)  # a path passes through the hole
    >>> contact = ring.contact(np.array([0.08, 0.0, 0.1]), np.array([0.08, 0.0, -0.1]))
    >>> bool(contact.on), float(contact.arc.round(4))
    (True, 0.0077)
    """

    ring_radius: Positive
    tube_radius: Positive

    kind: ClassVar[str] = "torus"
    shape: ClassVar[str] = "torus"
    ring: ClassVar[bool] = True

    @property
    def solved(self) -> bool:
        return True

    def check(self, system: ArticulatedSystem, element: str, count: int) -> None:
        super().check(system, element, count)
        if not self.tube_radius < self.ring_radius:
            radii = f"tube_radius {self.tube_radius} must be below ring_radius {self.ring_radius}"
            raise ModelError(f"{self._words}: {radii}", element=element)

    def resized(self, factors: Array, along: Array) -> dict[str, Any]:
        """Both radii by the mean in the plane of the ring."""
        mean = (along[0] + along[1]) / 2
        return {"ring_radius": self.ring_radius * mean, "tube_radius": self.tube_radius * mean}

    def contact(self, A: Array, B: Array, line: Line | None = None, near: Near | None = None) -> Contact:
        none = 0.0 * (A[..., 0] + B[..., 0])
        inside = self.holds(A) | self.holds(B)
        A, B = (self._raised(x + none[..., None]) for x in (A, B))
        wraps = self.meets(A, B) & ~inside
        P, Q, arc, missed = shortest_through((A, B), self.ring_radius + none, self.tube_radius + none, wraps)
        on = wraps & (missed < np.inf)
        jump = np.stack([self._jump(end, inside, on) for end in (A, B)], axis=-1)
        if line is not None:
            changed = differ(A[..., 2] * B[..., 2] < 0, line[0][..., 2] * line[1][..., 2] < 0)
            jump = np.where(changed[..., None], 0.0, jump)
        return Contact(on, P, Q, arc, inside, jump, np.where(wraps, missed, 0.0))

    def _raised(self, x: Array) -> Array:
        """A point (..., 3), a little outside where it lies on the tube, so that tangents from it have a direction."""
        n, (_, _, to_middle) = self.normal(x), self._from_middle(x)
        r = as_array(self.tube_radius)
        near = (to_middle < (1 + MIN_HEIGHT_RATIO) * r) & ~self.holds(x)
        above = np.where(near, ((1 + MIN_HEIGHT_RATIO) * r - to_middle) / np.where(near, to_middle, 1.0), 0.0)
        raised: Array = x + above[..., None] * n
        return raised

    def _jump(self, x: Array, inside: Array, on: Array) -> Array:
        """(...) how far an end (..., 3) is from the plane outside of the ring, or from the tube.

        The tube counts where the path touches it, `on` (...), or an end lies `inside` (...).
        """
        to_tube = np.abs(self._from_middle(x)[2] - self.tube_radius)
        near = np.minimum(self.distance_from_plane(x), np.where(on, to_tube, np.inf))
        result: Array = np.where(inside, to_tube, near)
        return result

    def distance_from_plane(self, x: Array) -> Array:
        """(...) [m] of a point (..., 3) from the plane of the ring outside of it; inside from the tube's middle."""
        out, up, to_middle = self._from_middle(x)
        result: Array = np.where(out > 0, np.abs(up), to_middle)
        return result

    def _from_middle(self, x: Array) -> tuple[Array, Array, Array]:
        """How far (...) a point (..., 3) is outside of the ring, above its plane, and from the middle of the tube."""
        out, up = np.sqrt(dot(x[..., :2], x[..., :2])) - self.ring_radius, x[..., 2]
        return out, up, np.sqrt(out * out + up * up)

    def cut(self, A: Array, B: Array) -> Array:
        """(|x|^2 + R^2 - r^2)^2 - 4 R^2 rho^2, below zero within the tube, is a polynomial along a line. Its least
        value is at an end or where its derivative vanishes."""
        R, r, d = as_array(self.ring_radius), as_array(self.tube_radius), B - A
        g = dot(A, A) + R * R - r * r, 2.0 * dot(A, d), dot(d, d)
        s = 2.0 * dot(A[..., :2], d[..., :2]), dot(d[..., :2], d[..., :2])
        cube = 4.0 * g[2] * g[2]
        roots = _roots_of_cubic(
            (2.0 * g[0] * g[1] - 4.0 * R * R * s[0]) / cube,
            (2.0 * g[1] * g[1] + 4.0 * g[0] * g[2] - 8.0 * R * R * s[1]) / cube,
            6.0 * g[1] * g[2] / cube,
        )
        shares = [np.minimum(np.maximum(root, 0.0), 1.0)[..., None] for root in roots]
        result: Array = reduce(np.minimum, [self._from_middle(A + share * d)[2] for share in shares]) <= r
        return result

    def crossed(self, A: Array, B: Array) -> Array:
        return crosses_outside(A, B, as_array(self.ring_radius))

    def holds(self, x: Array) -> Array:
        out, up, _ = self._from_middle(x)
        result: Array = out * out + up * up <= (1 - SURFACE_TOLERANCE) * self.tube_radius * self.tube_radius
        return result

    def in_the_way(self, A: Array, B: Array) -> Array:
        """Whether it crosses the plane of the ring within it."""
        found: Array = (A[..., 2] * B[..., 2] < 0) & ~self.crossed(A, B)
        return found

    def onto(self, x: Array) -> Array:
        R, r = (as_array(size)[..., None] for size in (self.ring_radius, self.tube_radius))
        ring = R * direction(x * np.array([1.0, 1.0, 0.0]))
        result: Array = ring + r * direction(x - ring)
        return result

    def normal(self, P: Array) -> Array:
        flat = np.stack([P[..., 0], P[..., 1], 0.0 * P[..., 2]], axis=-1)
        result: Array = P - as_array(self.ring_radius)[..., None] * direction(flat)
        return result

    def geodesic(self, P: Array, t: Array, length: Array, step: Array | float = 0.0) -> Geodesic:
        R, r = (as_array(x)[..., None] for x in (self.ring_radius, self.tube_radius))
        zero = 0.0 * length
        moment = P[..., :1] * t[..., 1:2] - P[..., 1:2] * t[..., :1]
        y, w = joined([P, zero + 1.0, zero]), joined([t, zero, zero + 1.0])
        z, w = followed(_part, y, w, length, _longest, (R + zero, r + zero, moment))
        return Geodesic(z[..., :3], w[..., :3], z[..., 3], w[..., 3], z[..., 4], w[..., 4])

    def bent(self, P: Array, v: Array) -> Array:
        R, r = (as_array(x)[..., None] for x in (self.ring_radius, self.tube_radius))
        x, y = P[..., :1], P[..., 1:2]
        along = R * (x * v[..., 1:2] - y * v[..., :1]) / (x * x + y * y) ** 1.5
        result: Array = (v - along * np.concatenate([-y, x, 0.0 * x], axis=-1)) / r
        return result


_Tube = tuple[Array, Array, Array]  # the radii R of the ring and r of the tube, and the moment of a geodesic (..., 1)


def _part(y: Array, w: Array, tube: _Tube) -> Force:
    """The right side, x'' = -k n and y'' = -K y, with the curvatures k along the path and K of the surface.

    A geodesic of moment c goes around the axis by c / rho of its way (Clairaut's theorem), and around the tube by the
    rest.
    """
    R, r, c = tube

    def force(y: Array) -> Array:
        ring = R / np.sqrt(y[..., :1] * y[..., :1] + y[..., 1:2] * y[..., 1:2])
        n = joined([(1.0 - ring) * y[..., :2], y[..., 2:3]]) / r
        outward = (1.0 - ring) / r  # cos(psi) / rho
        around = c * c * ring * ring / (R * R)
        k = (1.0 - around) / r + around * outward
        return joined([-k * n, -outward / r * y[..., 3:]])

    return force


def _longest(y: Array, w: Array, tube: _Tube) -> Array:
    """(..., 1) how long a part may be: of the lesser of the tube's radius and the distance from the axis."""
    rho = np.sqrt(y[..., :1] * y[..., :1] + y[..., 1:2] * y[..., 1:2])
    longest: Array = MAX_PART_RATIO * np.minimum(tube[1], rho)
    return longest


def _roots_of_cubic(c0: Array, c1: Array, c2: Array) -> tuple[Array, Array, Array]:
    """The real roots of x^3 + c2 x^2 + c1 x + c0; where there is one, thrice."""
    shift = c2 / 3.0
    p, q = c1 - c2 * shift, c0 - c1 * shift + 2.0 * shift**3
    third, half = p / 3.0, q / 2.0
    square = half * half + third**3
    # three: 2 sqrt(-p/3) cos(angle / 3 + 2 pi k / 3)
    angle = np.arctan2(np.sqrt(np.maximum(-square, 0.0)), -half) / 3.0
    size = 2.0 * np.sqrt(np.maximum(-third, 0.0))
    # one: Cardano's, without cancellation
    w = np.abs(half) + np.sqrt(np.maximum(square, 0.0))
    w = np.exp(np.log(np.where(w > 0, w, 1.0)) / 3.0)
    single = np.where(half < 0, 1.0, -1.0) * (w - third / w)
    roots = [np.where(square > 0, single, size * np.cos(angle + 2.0 * np.pi * k / 3.0)) - shift for k in range(3)]
    return roots[0], roots[1], roots[2]
