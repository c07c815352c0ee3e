"""The torus: a ring through which a path passes, bearing on the inner side of its tube."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from myoquat.kernels.arrays import as_array
from myoquat.kernels.typing import Array
from myoquat.muscle.wrapping.base import Contact, Line, Wrap
from myoquat.muscle.wrapping.circle import around
from myoquat.muscle.wrapping.moments import clear_of_tube
from myoquat.muscle.wrapping.through import SOLVED, azimuth, crossing, taut_through
from myoquat.muscle.wrapping.vectors import dot, unit

__all__ = ["WrapTorus"]


@dataclass(frozen=True, kw_only=True)
class WrapTorus(Wrap):
    """A torus around the z axis of its frame: a tube of `tube_radius` [m] along a ring of `ring_radius` [m] (OpenSim's
    inner and outer radius).

    A path passes through the ring: it never crosses the plane of the ring outside of it, whatever the quadrant. The
    length jumps where an end of it does. Between ends on opposite sides of the axis it may bear on both sides of the
    hole; `arc` then holds the line across. Where several surfaces act on one piece, this holds on the path's stretch
    between the neighbours of the torus; beyond the next surface a path may come back past the outside of the tube, as
    a thread through a ring does.

    Lengths are right to 1e-12 of the radius of the tube where the hole's is no less than 0.05 of it, to 1e-9 down to
    0.01. A path whose ends are on the same side of the plane of the ring, and which would come onto the tube and leave
    it on its outer side, is flagged as unsolved.

    >>> import numpy as np
    >>> from myoquat.muscle import WrapTorus
    >>> ring = WrapTorus(body="femur", ring_radius=0.05, tube_radius=0.01)  # a path passes through the hole
    >>> contact = ring.contact(np.array([0.08, 0.0, 0.1]), np.array([0.08, 0.0, -0.1]))
    >>> bool(contact.on), float(contact.arc.round(4))
    (True, 0.0077)
    """

    ring_radius: float
    tube_radius: float

    kind: ClassVar[str] = "torus"
    solved: ClassVar[bool] = True

    def sizes(self) -> dict[str, float]:
        return {
            "ring_radius": self.ring_radius,
            "tube_radius": self.tube_radius,
            "ring_radius - tube_radius": self.ring_radius - self.tube_radius,
        }

    def numbers(self) -> tuple[Any, ...]:
        return (self.ring_radius, self.tube_radius)

    def shaped(self, numbers: Array) -> Self:
        changes: dict[str, Any] = {"ring_radius": numbers[..., 0], "tube_radius": numbers[..., 1]}
        return replace(self, **changes)

    def resized(self, factors: Array, along: Array) -> dict[str, Any]:
        """Both radii by the mean in the plane of the ring."""
        mean = (along[0] + along[1]) / 2
        return {"ring_radius": self.ring_radius * mean, "tube_radius": self.tube_radius * mean}

    def contact(
        self, A: Array, B: Array, line: Line | None = None, where: Array | bool = True, backwards: bool = False
    ) -> Contact:
        none = 0.0 * (A[..., 0] + B[..., 0])
        R, r = self.ring_radius + none, self.tube_radius + none
        x = crossing(A, B)
        through = (A[..., 2] * B[..., 2] >= 0) | (dot(x[..., :2], x[..., :2]) < R * R)
        inside = self.holds(A) | self.holds(B)
        free = through & clear_of_tube(A, B, R, r)
        wraps = ~free & ~inside & where
        path = taut_through(A, B, R, r, free, (wraps | (free & where)) if backwards else wraps)
        on = wraps & (path.missed <= SOLVED)
        return Contact(
            on, path.P, path.Q, path.arc, inside, self._jump(A, B, azimuth(x)), np.where(wraps, path.missed, 0.0)
        )

    def _jump(self, A: Array, B: Array, phi: Array) -> Array:
        """How far an end is from the plane outside of the ring, in the half plane at an azimuth."""
        out = np.stack([np.cos(phi), np.sin(phi), 0.0 * phi], axis=-1)
        ends = [(dot(x, out) - self.ring_radius, x[..., 2]) for x in (A, B)]
        return around(ends[0], ends[1], self.tube_radius, (-1.0, 0.0)).jump

    def holds(self, x: Array) -> Array:
        aside = np.sqrt(x[..., 0] * x[..., 0] + x[..., 1] * x[..., 1]) - self.ring_radius
        result: Array = aside * aside + x[..., 2] * x[..., 2] <= self.tube_radius * self.tube_radius
        return result

    def meets(self, A: Array, B: Array) -> Array:
        """Nowhere: without the solver nothing is known."""
        return np.zeros(np.broadcast_shapes(A.shape[:-1], B.shape[:-1])) > 0

    def onto(self, x: Array) -> Array:
        ring = self.ring_radius * unit(x * np.array([1.0, 1.0, 0.0]))
        return ring + self.tube_radius * unit(x - ring)

    def normal(self, P: Array) -> Array:
        flat = np.stack([P[..., 0], P[..., 1], 0.0 * P[..., 2]], axis=-1)
        result: Array = P - as_array(self.ring_radius)[..., None] * unit(flat)
        return result
