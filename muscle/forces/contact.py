"""What contact forces share: pairs of surfaces that press on each other and rub."""

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.vectors import dot
from myoquat.muscle.contact import (
    ContactCapsule,
    ContactEllipsoid,
    ContactHalfSpace,
    ContactSphere,
    ContactSurface,
    Touch,
    touch,
)
from myoquat.muscle.forces.base import LoadingForce
from myoquat.muscle.loads import Load, Poses, point_velocity

__all__ = [
    "Contact",
    "ContactCapsule",
    "ContactEllipsoid",
    "ContactForce",
    "ContactHalfSpace",
    "ContactSphere",
    "ContactSurface",
    "Friction",
    "raised",
]


@dataclass(frozen=True)
class Contact:
    """The forces of two bodies on each other.

    first, second  names of the bodies
    point          (..., 3) [m] where the forces act, in world axes
    force          (..., 3) [N] on the second body, in world axes. Its opposite acts on the first body
    pressure       (...) [N] the force's part along the normal

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.muscle.forces import ContactHalfSpace, ContactMaterial, ContactSphere, HuntCrossley
    >>> ball = mq.Body("ball", "ground", mq.joints.PrismaticJoint((0, 1, 0)), mass=1.0)
    >>> surfaces = ContactSphere("round", "ball", radius=0.1), ContactHalfSpace("floor", "ground")
    >>> force = HuntCrossley("contact", (ContactMaterial(surfaces, stiffness=1e6),))
    >>> system = mq.ArticulatedSystem((ball,))
    >>> q, u = np.array([0.099]), np.zeros(1)
    >>> poses = system.poses(q)
    >>> (contact,) = force.contacts(poses, system.shifts(q, u, poses, "ground"))
    >>> contact.first, contact.second, float(np.round(contact.pressure, 2))
    ('ground', 'ball', 4.71)
    """

    first: str
    second: str
    point: Array
    force: Array
    pressure: Array


@dataclass(frozen=True)
class Friction:
    """Coefficients of friction: static, dynamic, viscous [s/m], and the speed [m/s] of the greatest static friction."""

    static: float
    dynamic: float
    viscous: float
    transition: float

    def over_speed(self, square: Array, rounded: bool = False) -> Array:
        """(...) friction per pressure and speed [s/m] at the square (...) of the speed of slip v. With r = v / v_t,

            mu / v = min(r, 1) (mu_d + 2 (mu_s - mu_d) / (1 + r^2)) / v + mu_v,   min(r, 1) / v = 1 / max(v, v_t)

        Source: Simbody, HuntCrossleyForce. It is finite at rest. Real friction sticks; this one creeps at up to v_t. If
        `rounded`, 1 / sqrt(v^2 + v_t^2) replaces 1 / max(v, v_t). There is then no corner at v_t, and at most 29 % less
        friction.
        """
        r2 = square / self.transition**2
        mu = self.dynamic + 2 * (self.static - self.dynamic) / (1 + r2)
        least = self.transition**2
        result: Array = mu / np.sqrt(square + least if rounded else np.maximum(square, least)) + self.viscous
        return result


class ContactForce(LoadingForce):
    """Forces between surfaces of bodies where they touch.

    >>> from myoquat.muscle.forces import ContactForce, HuntCrossley, SmoothSphereHalfSpace
    >>> issubclass(HuntCrossley, ContactForce), issubclass(SmoothSphereHalfSpace, ContactForce)
    (True, True)
    """

    margin = 0.0  # [m] distance at which surfaces begin to press

    @property
    @abstractmethod
    def pairs(self) -> Sequence[tuple[ContactSurface, ContactSurface]]:
        """The surfaces that can touch, of two bodies each."""

    def center(self, pair: int, place: Touch) -> Array:
        """(..., 3) [m] where a pair, by its number, presses: midway between the surfaces."""
        return place.point

    @abstractmethod
    def pressed(self, pair: int, place: Touch, speed: Array, square: Array) -> tuple[Array, Array]:
        """(pressure (...) [N], friction over slip (...) [N s/m]) of a pair: the formula.

        speed   [m/s] at which the surfaces approach each other
        square  [m^2/s^2] of the speed at which they slip
        """

    def stored(self, pair: int, place: Touch) -> Array:
        """(...) [J] what a pressed pair stores, the integral of the pressure at rest over the depth; zero if it stores
        nothing."""
        return np.zeros(())

    def energy(self, system: ArticulatedSystem, q: Array) -> Array:
        poses = system.poses(q)
        total: Array = np.zeros(())
        for k, pair in enumerate(self.pairs):
            total = total + self.stored(k, touch(*pair, poses, self.margin))
        return total

    def contacts(self, poses: Poses, shifts: Poses) -> list[Contact]:
        """What every pair does at the poses of the bodies and their velocities (`ArticulatedSystem.shifts` of u)."""
        return [self._contact(k, pair, poses, shifts) for k, pair in enumerate(self.pairs)]

    def _contact(self, k: int, pair: tuple[ContactSurface, ContactSurface], poses: Poses, shifts: Poses) -> Contact:
        place, point, v, speed = self.approach(k, pair, poses, shifts)
        slip = v - speed[..., None] * place.normal
        pressure, drag = self.pressed(k, place, speed, dot(slip, slip))
        force = pressure[..., None] * place.normal + drag[..., None] * slip
        return Contact(pair[0].body, pair[1].body, point, force, pressure)

    def approach(
        self, k: int, pair: tuple[ContactSurface, ContactSurface], poses: Poses, shifts: Poses
    ) -> tuple[Touch, Array, Array, Array]:
        """Where a pair touches, the point (..., 3) [m] where it presses, the velocity (..., 3) [m/s] of the first body
        against the second there, and its part along the normal, which is the rate of the depth."""
        place = touch(*pair, poses, self.margin)
        point = self.center(k, place)
        first, second = (point_velocity(shifts, poses, surface.body, point) for surface in pair)
        return place, point, first - second, dot(first - second, place.normal)

    def loads(self, poses: Poses, shifts: Poses, t: Array | None = None) -> list[Load]:
        found = []
        for contact in self.contacts(poses, shifts):
            found.append(Load(contact.first, contact.point, -contact.force))
            found.append(Load(contact.second, contact.point, contact.force))
        return found

    def check(self, system: ArticulatedSystem) -> None:
        for pair in self.pairs:
            self.check_bodies(system, *(surface.body for surface in pair))


def raised(x: Array) -> Array:
    """(...) max(x, 0)^(3/2), whose derivative is finite at and below 0."""
    deep = x > 0
    y = np.where(deep, x, 1.0)
    result: Array = np.where(deep, y * np.sqrt(y), 0.0)
    return result
