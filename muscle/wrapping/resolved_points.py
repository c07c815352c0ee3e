"""Points of a path in every frame that asks for them."""

from collections.abc import Mapping

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints.vectors import matvec, vecmat

__all__ = ["Poses", "Site"]

Poses = Mapping[str, tuple[Array, Array]]  # body -> R, p in the world


@frozen
class Site:
    """A point [m]: `world` (..., 3), and `local` in the frame of `body` if it is fixed to one ("" if not)."""

    world: Array
    body: str = ""
    local: Array | None = None

    @classmethod
    def of(cls, poses: Poses, body: str, local: Array) -> "Site":
        """The point `local` (..., 3) of a body."""
        R, p = poses[body]
        return cls(p + matvec(R, local), body, local)

    def seen_from(self, poses: Poses, body: str) -> Array:
        """(..., 3) the point in the frame of a body."""
        if body == self.body and self.local is not None:
            return self.local
        R, p = poses[body]
        return vecmat(self.world - p, R)

    def or_else(self, condition: Array | bool, other: "Site") -> "Site":
        """This point where the condition holds, elsewhere another."""
        if isinstance(condition, bool):
            return self
        return Site(np.where(condition[..., None], self.world, other.world))
