"""Surfaces that bodies touch each other with."""

import math
from dataclasses import replace

from myoquat.core.arguments import holds_masked
from myoquat.core.records import Record, dataclass
from myoquat.joints.errors import ModelError
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.ranges import NotNegative, Positive, check_ranges, is_plausible, size_limit

__all__ = [
    "ContactBox",
    "ContactCapsule",
    "ContactCylinder",
    "ContactEllipsoid",
    "ContactHalfSpace",
    "ContactHull",
    "ContactRim",
    "ContactSphere",
    "ContactSurface",
]

Vector = tuple[float, float, float]
ORIGIN: Vector = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class ContactSurface(Record):
    """A surface fixed to a body, at `position` [m] in its frame.

    >>> from myoquat.muscle.forces import ContactHalfSpace, ContactSphere, ContactSurface
    >>> all(issubclass(surface, ContactSurface) for surface in (ContactHalfSpace, ContactSphere))
    True
    """

    name: str
    body: str
    position: Vector = ORIGIN

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

    radius: Positive = 1.0


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
        _check_positive(self, "radii", element)


@dataclass(frozen=True)
class ContactCapsule(_OrientedSurface):
    """All points within `radius` [m] of a segment about `position`, along z of its frame, `half_length` [m] each way.

    >>> from myoquat.muscle.forces import ContactCapsule
    >>> ContactCapsule("finger", "phalanx", radius=0.008, half_length=0.01).half_length
    0.01
    """

    radius: Positive = 1.0
    half_length: NotNegative = 0.0


@dataclass(frozen=True)
class ContactBox(_OrientedSurface):
    """A box about `position` with half the lengths of its edges, `half_sizes` [m].

    Its edges are rounded by a tenth of the least of them, so that every point of its surface has a normal.

    >>> from myoquat.muscle.forces import ContactBox
    >>> ContactBox("seat", "ground", half_sizes=(0.2, 0.02, 0.2)).half_sizes
    (0.2, 0.02, 0.2)
    """

    half_sizes: Vector = (1.0, 1.0, 1.0)

    def check(self, system: ArticulatedSystem, element: str) -> None:
        super().check(system, element)
        _check_positive(self, "half_sizes", element)


@dataclass(frozen=True)
class ContactCylinder(_OrientedSurface):
    """A solid cylinder about `position`, its axis along z of its frame.

    Its rims are rounded by a tenth of the lesser of `radius` and `half_length` [m].

    >>> from myoquat.muscle.forces import ContactCylinder
    >>> ContactCylinder("handle", "tool", radius=0.01, half_length=0.05).radius
    0.01
    """

    radius: Positive = 1.0
    half_length: Positive = 1.0


@dataclass(frozen=True)
class ContactHull(_OrientedSurface):
    """All points within `radius` [m] of the convex hull of `vertices` [m], in the frame at `position`.

    >>> from myoquat.muscle.forces import ContactHull
    >>> wedge = ((0.0, 0.0, 0.0), (0.1, 0.0, 0.0), (0.0, 0.1, 0.0), (0.0, 0.0, 0.05))
    >>> len(ContactHull("wedge", "tool", vertices=wedge, radius=0.002).vertices)
    4
    """

    vertices: tuple[Vector, ...] = ()
    radius: Positive = 1.0

    def check(self, system: ArticulatedSystem, element: str) -> None:
        replace(self, vertices=()).check_plain(system, element)
        if not self.vertices or not all(len(v) == 3 and all(map(math.isfinite, v)) for v in self.vertices):
            what = f"surface {self.name!r}: vertices must be points of three finite numbers"
            raise ModelError(what, element=element)

    def check_plain(self, system: ArticulatedSystem, element: str) -> None:
        """What other surfaces have to satisfy too."""
        super().check(system, element)


@dataclass(frozen=True)
class ContactRim(_OrientedSurface):
    """A point of a rim, the circle of `radius` [m] about z of its frame that a ball of `tube_radius` [m] sweeps.

    It is the point at an `angle` [rad] from the one nearest to a plane. Three of them, 120 degrees apart, let a
    cylinder stand.

    >>> from myoquat.muscle.forces import ContactRim
    >>> ContactRim("base", "cup", radius=0.03, tube_radius=0.003).angle
    0.0
    """

    radius: Positive = 1.0
    tube_radius: Positive = 0.1
    angle: float = 0.0


def _check_positive(surface: ContactSurface, key: str, element: str) -> None:
    values = getattr(surface, key)
    if not all(value > 0 for value in values):
        raise ModelError(f"surface {surface.name!r}: {key} must be positive, not {values}", element=element)
