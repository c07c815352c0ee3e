"""The sphere: the path lies in the plane of its ends and the centre."""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints.vectors import cross, matvec, vecmat
from myoquat.kernels.symbolic.arrays import as_array

from .base import Contact, Geodesic, Line, Near
from .circle import RoundWrap
from .vectors import nearest, plane_of, size


@frozen(kw_only=True)
class WrapSphere(RoundWrap):
    """A sphere of `radius` [m] around the origin of its frame.

    >>> import numpy as np
    >>> from myoquat.muscle import WrapSphere
    >>> sphere = WrapSphere(body="humerus", radius=0.05)
    >>> contact = sphere.contact(np.array([0.1, 0.01, 0.0]), np.array([-0.1, 0.01, 0.0]))
    >>> float(contact.arc.round(3))  # [m] on the sphere
    0.042
    """

    kind: ClassVar[str] = "sphere"
    shape: ClassVar[str] = "sphere"

    def resized(self, factors: Array, along: Array) -> dict[str, Any]:
        """The radius by the mean of the body's factors."""
        return {"radius": self.radius * factors.sum() / 3}

    def contact(self, A: Array, B: Array, line: Line | None = None, near: Near | None = None) -> Contact:
        plane = plane_of(A, B)
        c, _ = self.string(A, B, plane)
        jump = c.jump if self.hint is None else self._over_hint(c, A, B, plane)
        return replace(c, P=vecmat(c.P, plane), Q=vecmat(c.Q, plane), jump=jump)

    @property
    def half_axes(self) -> Array | None:
        if self.quadrant != "all" or self.hint is not None or self.holds_inside:
            return None
        return as_array(self.radius)[..., None] * np.ones(3)

    def _over_hint(self, c: Contact, A: Array, B: Array, plane: Array) -> Array:
        """(..., 2) `jump` of the path over the hint, which is seen from elsewhere as the plane of the ends and the
        centre turns. Where the hint is across that plane the path changes sides."""
        hint = as_array(self.hint)
        share, farther = size(matvec(plane, hint)) / size(hint), np.maximum(size(A), size(B))
        turns = share * size(cross(A, B)) / np.where(farther > 0, farther, 1.0)
        part = turns / np.where(farther > 0, turns + farther, 1.0)
        seen = np.minimum(c.jump * part[..., None], turns[..., None])
        return np.where(c.inside[..., None], c.jump, seen)

    def cut(self, A: Array, B: Array) -> Array:
        return self.holds(nearest(A, B))

    def geodesic(self, P: Array, t: Array, length: Array, step: Array | float = 0.0) -> Geodesic:
        R = as_array(self.radius)
        angle = length[..., 0] / R
        c, s = np.cos(angle), np.sin(angle)
        x = c[..., None] * P + (R * s)[..., None] * t
        return Geodesic(x, c[..., None] * t - (s / R)[..., None] * P, c, -s / R, R * s, c)
