"""Surfaces that bodies touch each other with."""

import math
from dataclasses import dataclass

from myoquat.core.records import Record
from myoquat.joints.errors import ModelError
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.ranges import Positive, check_ranges

__all__ = ["ContactEllipsoid", "ContactHalfSpace", "ContactSphere", "ContactSurface"]

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
            if isinstance(value, tuple) and not all(isinstance(x, float) and math.isfinite(x) for x in value):
                raise ModelError(f"{what}{key} must be finite, not {value!r}", element=element)


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
class ContactEllipsoid(ContactSurface):
    """A solid ellipsoid about `position` with half axes `radii` [m] along the axes of its frame, which the unit
    quaternion `orientation` turns in the body's.

    >>> from myoquat.muscle.forces import ContactEllipsoid
    >>> ContactEllipsoid("heel", "calcaneus", position=(0.0, -0.02, 0.0), radii=(0.03, 0.02, 0.02)).radii
    (0.03, 0.02, 0.02)
    """

    orientation: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    radii: Vector = (1.0, 1.0, 1.0)

    def check(self, system: ArticulatedSystem, element: str) -> None:
        super().check(system, element)
        if not abs(math.hypot(*self.orientation) - 1) <= 1e-6:
            what = f"surface {self.name!r}: orientation must be a unit quaternion, not {self.orientation}"
            raise ModelError(what, element=element)
        if not all(radius > 0 for radius in self.radii):
            raise ModelError(f"surface {self.name!r}: radii must be positive, not {self.radii}", element=element)
