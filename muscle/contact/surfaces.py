"""Surfaces that bodies touch each other with: half-spaces, and convex solids as cores swept by a ball.

Each point of a solid is within a radius of its core. A core is known by its support function: its point that is
farthest along a direction. Between disjoint cores the closest points are defined, and so are normal and depth of two
solids that overlap by less than both radii. The radius of an ellipsoid is its least radius of curvature, c^2 / a for
half axes a >= b >= c. Its core is then convex, and the swept core is the ellipsoid itself (Schneider 2014, Convex
Bodies: The Brunn-Minkowski Theory, section 3.2).
"""

import math
from collections.abc import Callable
from functools import reduce
from typing import Any, ClassVar

import numpy as np

from myoquat.core.arguments import holds_masked
from myoquat.core.records import Record, dataclass
from myoquat.core.typing import Array
from myoquat.joints.errors import ModelError
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.ranges import NotNegative, Positive, check_ranges, is_plausible, size_limit
from myoquat.joints.vectors import dot
from myoquat.kernels.symbolic.arrays import as_array

__all__ = [
    "ContactCapsule",
    "ContactEllipsoid",
    "ContactHalfSpace",
    "ContactSphere",
    "ContactSurface",
    "Core",
    "Support",
]

Vector = tuple[float, float, float]
ORIGIN: Vector = (0.0, 0.0, 0.0)
TINY = 1e-300  # keeps a division by a length of zero finite; the quotient is zero
Support = Callable[[Array, Array], Array]


@dataclass(frozen=True)
class Core:
    """A convex core and the ball that sweeps it.

    support  (direction (..., 3), sizes (k,)) -> (..., 3), the farthest point in the frame of the surface
    sizes    (k,) numbers of the core
    radius   [m] of the ball
    reach    [m] the greatest distance of the swept core from its centre
    """

    support: Support
    sizes: Array
    radius: Any
    reach: Any


def _farthest_of_point(direction: Array, sizes: Array) -> Array:
    return 0.0 * direction


def _farthest_of_segment(direction: Array, sizes: Array) -> Array:
    x, z = direction[..., 0], direction[..., 2]
    return np.stack([0.0 * x, 0.0 * x, np.where(z < 0, -sizes[..., 0], sizes[..., 0])], axis=-1)


def _farthest_of_ellipsoid(direction: Array, sizes: Array) -> Array:
    radii = sizes[..., :3]
    stretched = radii * direction
    size, length = np.sqrt(dot(stretched, stretched)), np.sqrt(dot(direction, direction))
    on_surface = radii * stretched / np.maximum(size, TINY)[..., None]
    return on_surface - (sizes[..., 3] / np.maximum(length, TINY))[..., None] * direction


@dataclass(frozen=True)
class ContactSurface(Record):
    """A surface fixed to a body, at `position` [m] in its frame.

    >>> from myoquat.muscle.forces import ContactHalfSpace, ContactSphere, ContactSurface
    >>> all(issubclass(surface, ContactSurface) for surface in (ContactHalfSpace, ContactSphere))
    True
    """

    segment: ClassVar[bool] = False  # whether it is a segment that a ball sweeps
    name: str
    body: str
    position: Vector = ORIGIN

    @property
    def core(self) -> Core | None:
        """The core of a convex solid; None for other surfaces."""
        return None

    def check(self, system: ArticulatedSystem, element: str) -> None:
        """ModelError, in the words of the force that has the surface, for a body that does not exist or numbers that
        cannot be."""
        what = f"surface {self.name!r}: "
        if self.body not in (system.ground, *system.body_names):
            raise ModelError(f"{what}body {self.body!r} does not exist", element=element)
        check_ranges(self, element, what)
        for key, value in vars(self).items():
            vector = isinstance(value, tuple) or holds_masked(value)
            if vector and not all(isinstance(x, float) and is_plausible(x) for x in value):
                raise ModelError(f"{what}{key} must be finite{size_limit(value)}, not {value!r}", element=element)


@dataclass(frozen=True)
class ContactHalfSpace(ContactSurface):
    """All that lies behind the plane through `position` with the outward `normal`, of any length, in the body's frame:
    a floor or a wall.

    >>> from myoquat.muscle.forces import ContactHalfSpace
    >>> ContactHalfSpace("floor", "ground").normal  # up in OpenSim's models
    (0.0, 1.0, 0.0)
    """

    normal: Vector = (0.0, 1.0, 0.0)

    def check(self, system: ArticulatedSystem, element: str) -> None:
        super().check(system, element)
        if not any(self.normal):
            raise ModelError(f"surface {self.name!r}: normal must not be zero", element=element)


@dataclass(frozen=True)
class ContactSphere(ContactSurface):
    """A ball of `radius` [m] about `position`.

    >>> from myoquat.muscle.forces import ContactSphere
    >>> ContactSphere("heel", "calcaneus", position=(0.01, -0.02, 0.0), radius=0.02).radius
    0.02
    """

    segment: ClassVar[bool] = True
    radius: Positive = 1.0

    @property
    def core(self) -> Core:
        return Core(_farthest_of_point, np.zeros(1), self.radius, self.radius)


@dataclass(frozen=True)
class _OrientedSurface(ContactSurface):
    """A surface whose frame the unit quaternion `orientation` turns in the body's."""

    orientation: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)

    def check(self, system: ArticulatedSystem, element: str) -> None:
        super().check(system, element)
        if not abs(math.hypot(*self.orientation) - 1) <= 1e-6:
            what = f"surface {self.name!r}: orientation must be a unit quaternion, not {self.orientation}"
            raise ModelError(what, element=element)


@dataclass(frozen=True)
class ContactEllipsoid(_OrientedSurface):
    """A solid ellipsoid about `position` with half axes `radii` [m] along the axes of its frame.

    The unit quaternion `orientation` turns this frame in the body's.

    >>> from myoquat.muscle.forces import ContactEllipsoid
    >>> ContactEllipsoid("heel", "calcaneus", position=(0.0, -0.02, 0.0), radii=(0.03, 0.02, 0.02)).radii
    (0.03, 0.02, 0.02)
    """

    radii: Vector = (1.0, 1.0, 1.0)

    def check(self, system: ArticulatedSystem, element: str) -> None:
        super().check(system, element)
        if not all(value > 0 for value in self.radii):
            raise ModelError(f"surface {self.name!r}: radii must be positive, not {self.radii}", element=element)

    @property
    def core(self) -> Core:
        longest = reduce(np.maximum, self.radii)
        radius = reduce(np.minimum, self.radii) ** 2 / longest
        return Core(_farthest_of_ellipsoid, as_array((*self.radii, radius)), radius, longest)


@dataclass(frozen=True)
class ContactCapsule(_OrientedSurface):
    """All points within `radius` [m] of a segment about `position`, along z of its frame, `half_length` [m] each way.

    >>> from myoquat.muscle.forces import ContactCapsule
    >>> ContactCapsule("finger", "phalanx", radius=0.008, half_length=0.01).half_length
    0.01
    """

    segment: ClassVar[bool] = True
    radius: Positive = 1.0
    half_length: NotNegative = 0.0

    @property
    def core(self) -> Core:
        return Core(_farthest_of_segment, as_array((self.half_length,)), self.radius, self.half_length + self.radius)
