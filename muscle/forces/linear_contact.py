"""Linear contact: a spring and a damper between two surfaces of any type, with friction."""

from collections.abc import Sequence

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.errors import ModelError
from myoquat.joints.functions.base import engaged
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.ranges import NotNegative, Positive, check_ranges
from myoquat.muscle.contact import ContactSurface, Touch, can_touch
from myoquat.muscle.forces.contact import ContactForce, Friction

__all__ = ["LinearContact"]


@dataclass(frozen=True)
class LinearContact(ContactForce):
    """Two surfaces press by f = max(k d + c s(d) v, 0) at d > 0, and rub by mu f: d = depth + margin.

    The speed v [m/s] is that at which they approach. The surfaces are a half-space and a convex solid, or two convex
    solids: spheres, capsules and ellipsoids.

    stiffness            k [N/m]
    damping              c [N s/m], which sets in smoothly over the depth `transition` (`CoordinateLimit`), so that the
                         force is continuous
    friction             the coefficient mu of Coulomb friction, as `Friction.over_speed` tells
    margin               [m] the distance from which on the surfaces press
    transition           [m]
    transition_velocity  [m/s] at which friction is greatest

    Solids have one contact point at a time, where they are deepest. The direction is defined up to the depth at which
    cores overlap (`myoquat.muscle.contact.surfaces`). For an ellipsoid that is its least radius of curvature, for
    spheres and capsules their radius. Deeper solids press with the force of that depth along the line of their centres.
    Raises ModelError for surfaces that do not touch, such as two half-spaces.

    >>> import myoquat as mq
    >>> from myoquat.muscle.forces import ContactHalfSpace, ContactSphere, LinearContact
    >>> ball = mq.Body("ball", "ground", mq.joints.PrismaticJoint((0, 1, 0)), mass=1.0)
    >>> table = ContactHalfSpace("table", "ground")
    >>> force = LinearContact("contact", table, ContactSphere("round", "ball", radius=0.1), stiffness=1e4)
    >>> model = mq.Model(mq.ArticulatedSystem((ball,)), forces=(force,))
    >>> mq.muscle.limit_torques(model, [0.098], [0.0]).round(2)  # [N] 2 mm deep
    array([20.])
    """

    first: ContactSurface
    second: ContactSurface
    stiffness: Positive
    damping: NotNegative = 0.0
    friction: NotNegative = 0.0
    margin: float = 0.0
    transition: Positive = 0.001
    transition_velocity: Positive = 0.01

    @property
    def pairs(self) -> Sequence[tuple[ContactSurface, ContactSurface]]:
        pair = self.first, self.second
        return [pair if can_touch(*pair) else pair[::-1]]

    def pressed(self, pair: int, place: Touch, speed: Array, square: Array) -> tuple[Array, Array]:
        d = place.depth + self.margin
        damped = self.damping * engaged(d, self.transition) * speed
        f = np.where(d > 0, np.maximum(self.stiffness * d + damped, 0.0), 0.0)
        return f, f * Friction(self.friction, self.friction, 0.0, self.transition_velocity).over_speed(square)

    def stored(self, pair: int, place: Touch) -> Array:
        """(...) [J] k d^2 / 2."""
        d = np.maximum(place.depth + self.margin, 0.0)
        return self.stiffness / 2 * d * d

    def energy_rate(self, system: ArticulatedSystem, q: Array, u: Array) -> Array:
        """The pressure at rest times the rate of the depth: an iteration finds the depth of solids, which then has no
        derivative."""
        poses = system.poses(q)
        shifts = system.shifts(q, u, poses, system.ground)
        place, _, _, speed = self.approach(0, self.pairs[0], poses, shifts)
        return self.pressed(0, place, 0.0 * speed, 0.0 * speed)[0] * speed

    def check(self, system: ArticulatedSystem) -> None:
        check_ranges(self, self.element)
        for surface in (self.first, self.second):
            surface.check(system, self.element)
        if not (can_touch(self.first, self.second) or can_touch(self.second, self.first)):
            types = " and ".join(type(surface).__name__ for surface in (self.first, self.second))
            raise ModelError(f"contact between {types} is not supported", element=self.element)
        super().check(system)
