"""The sphere: the path lies in the plane of its ends and the centre."""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints.vectors import dot
from myoquat.kernels.symbolic.arrays import as_array

from .base import Contact, Geodesic, Line, Near
from .circle import SURFACE_TOLERANCE, Plane, RoundWrap, Winding, inner, outer
from .vectors import nearest, plane_of, project, unit


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
        e1, e2 = plane_of(A, B)
        ahead, hint = (None if x is None else project(as_array(x), e1, e2) for x in (self.ahead, self.hint))
        a, b = project(A, e1, e2), project(B, e1, e2)
        winding = self.string(a, b, ahead, hint, plane_turns=True)
        if hint is not None:
            winding = self._over_hint(winding, a, b, hint)
        P, Q = (x[..., None] * e1 + y[..., None] * e2 for x, y in (winding.P, winding.Q))
        arc, jump = self.radius * winding.angle, np.stack(winding.jump, axis=-1)
        return Contact(winding.on, P, Q, arc, winding.inside, jump, winding.missed)

    @property
    def half_axes(self) -> Array | None:
        if self.quadrant != "all" or self.hint is not None or self.holds_inside:
            return None
        return as_array(self.radius)[..., None] * np.ones(3)

    def _over_hint(self, winding: Winding, a: Plane, b: Plane, hint: Plane) -> Winding:
        """The path over the hint, which is seen from elsewhere as the plane of the ends and the centre turns.

        Where the hint is across that plane the path changes sides.
        """
        whole = as_array(self.hint)
        share = np.sqrt(inner(hint, hint) / dot(whole, whole))
        farther = np.sqrt(np.maximum(inner(a, a), inner(b, b)))
        turns = share * np.abs(outer(a, b)) / np.where(farther > 0, farther, 1.0)
        part = turns / np.where(farther > 0, turns + farther, 1.0)
        first, second = (np.where(winding.inside, x, np.minimum(x * part, turns)) for x in winding.jump)
        return replace(winding, jump=(first, second))

    @property
    def on_one_piece(self) -> bool:
        return self.ahead is not None and self.rule == "shortest"

    def in_the_way(self, A: Array, B: Array) -> Array:
        ahead = self.ahead
        assert ahead is not None  # as it has a side
        found: Array = self.cut(A, B) & ((dot(A, ahead) > 0) | (dot(B, ahead) > 0))
        return found

    def cut(self, A: Array, B: Array) -> Array:
        return self.holds(nearest(A, B))

    def holds(self, x: Array) -> Array:
        result: Array = dot(x, x) <= (1 - SURFACE_TOLERANCE) * self.radius * self.radius
        return result

    def onto(self, x: Array) -> Array:
        result: Array = as_array(self.radius)[..., None] * unit(x)
        return result

    def normal(self, P: Array) -> Array:
        return P

    def geodesic(self, P: Array, t: Array, length: Array, step: Array | float = 0.0) -> Geodesic:
        R = as_array(self.radius)
        angle = length[..., 0] / R
        c, s = np.cos(angle), np.sin(angle)
        x = c[..., None] * P + (R * s)[..., None] * t
        return Geodesic(x, c[..., None] * t - (s / R)[..., None] * P, c, -s / R, R * s, c)
