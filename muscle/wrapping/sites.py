"""Points of a path in every frame that asks for them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from myoquat.joints.vectors import matvec, vecmat

__all__ = ["Poses", "Site", "distance"]

Poses = Mapping[str, tuple[Any, Any]]  # body -> R, p in the world


@dataclass(frozen=True)
class Site:
    """A point [m]: `world` (..., 3), and `local` in the frame of `body` if it is fixed to one ("" if not)."""

    world: Any
    body: str = ""
    local: Any = None

    @classmethod
    def of(cls, poses: Poses, body: str, local: Any) -> "Site":
        """The point `local` (..., 3) of a body."""
        R, p = poses[body]
        return cls(p + matvec(R, local), body, local)

    def seen_from(self, poses: Poses, body: str) -> Any:
        """(..., 3) the point in the frame of a body."""
        if body == self.body:
            return self.local
        R, p = poses[body]
        return vecmat(self.world - p, R)

    def or_else(self, condition: Any, other: "Site") -> "Site":
        """This point where the condition holds, elsewhere another."""
        if condition is True:
            return self
        return Site(np.where(condition[..., None], self.world, other.world))


def distance(a: Site, b: Site) -> Any:
    """(...) [m] from one point to the other."""
    d = b.world - a.world
    return np.sqrt(np.sum(d * d, axis=-1))
