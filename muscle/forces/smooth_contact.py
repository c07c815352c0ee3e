"""A sphere on a half-space with a contact force that is smooth everywhere, for optimal control."""

from collections.abc import Sequence
from functools import cache

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.ranges import NotNegative, Positive, check_ranges
from myoquat.kernels.symbolic.arrays import may_be_nonzero
from myoquat.muscle.contact import ContactHalfSpace, ContactSphere, ContactSurface, Touch
from myoquat.muscle.forces.contact import ContactForce, Friction

__all__ = ["SmoothSphereHalfSpace"]

QUADRATURE_PANELS, NODES_PER_PANEL = 6, 12  # of the Gauss quadrature of the stored energy
MAX_SWITCH_ARGUMENT = 20.0  # b_d times the height above the floor; the switch (1 + tanh) / 2 is below 1e-17 there


@dataclass(frozen=True)
class SmoothSphereHalfSpace(ContactForce):
    """Hunt-Crossley contact with smooth switches: OpenSim's SmoothSphereHalfSpaceForce.

    Source: Serrancoli et al. 2019, IEEE Trans. Neural Syst. Rehabil. Eng. 27, 1655. Let d be the depth, v the speed of
    approach, s the slip, R the radius, and c [s/m] the dissipation. With k = E^(2/3) / 2 of the stiffness E [N/m^2],

        h = 4/3 k sqrt(R k) (d^2 + e)^(3/4) (1 + tanh(b_d d)) / 2
        f = h (1 + 3/2 c v) (1 + tanh(b_v (v + 2 / (3 c)))) / 2

    Here e = constant_contact_force, b_d = hertz_smoothing [1/m] and b_v = hunt_crossley_smoothing [s/m]. The friction
    is mu f as `Friction.over_speed` tells, at the square s^2 + e. OpenSim's friction has a corner at the transition
    velocity. The option rounded_friction removes it, so that solvers with second derivatives converge. A sphere above
    the floor is pulled or pushed by the remainder of the switches. With 1e-5 and 300, from 2 cm upwards, this is less
    than 1e-4 of its force at 1 cm depth.

    >>> import myoquat as mq
    >>> from myoquat.muscle.forces import ContactHalfSpace, ContactSphere, SmoothSphereHalfSpace
    >>> ball = mq.Body("ball", "ground", mq.joints.PrismaticJoint((0, 1, 0)), mass=1.0)
    >>> surfaces = ContactSphere("round", "ball", radius=0.1), ContactHalfSpace("floor", "ground")
    >>> force = SmoothSphereHalfSpace("contact", *surfaces, stiffness=1e6)
    >>> model = mq.Model(mq.ArticulatedSystem((ball,)), forces=(force,))
    >>> mq.muscle.limit_torques(model, [[0.098], [0.102]], [0.0]).ravel().round(2)  # [N] 2 mm deep, and 2 mm above
    array([26.22,  7.9 ])
    """

    sphere: ContactSphere
    half_space: ContactHalfSpace
    stiffness: Positive = 1.0
    dissipation: NotNegative = 0.0
    static_friction: NotNegative = 0.0
    dynamic_friction: NotNegative = 0.0
    viscous_friction: NotNegative = 0.0
    transition_velocity: Positive = 0.01
    constant_contact_force: Positive = 1e-5
    hertz_smoothing: Positive = 300.0
    hunt_crossley_smoothing: Positive = 50.0
    rounded_friction: bool = False

    @property
    def pairs(self) -> Sequence[tuple[ContactSurface, ContactSurface]]:
        return [(self.half_space, self.sphere)]

    def pressed(self, pair: int, place: Touch, speed: Array, square: Array) -> tuple[Array, Array]:
        c, e = self.dissipation, self.constant_contact_force
        f = self._hertz(place.depth, place.radius) * (1 + 1.5 * c * speed)
        if may_be_nonzero(c):
            f = f * (0.5 + 0.5 * np.tanh(self.hunt_crossley_smoothing * (speed + 2 / (3 * c))))
        friction = Friction(
            self.static_friction, self.dynamic_friction, self.viscous_friction, self.transition_velocity
        )
        return f, f * friction.over_speed(square + e, self.rounded_friction)

    def _hertz(self, depth: Array, radius: Array) -> Array:
        """(...) h [N]."""
        k = 0.5 * self.stiffness ** (2.0 / 3.0)
        soft = np.sqrt(depth * depth + self.constant_contact_force)
        smooth = 0.5 + 0.5 * np.tanh(self.hertz_smoothing * depth)
        result: Array = 4.0 / 3.0 * k * np.sqrt(radius * k) * soft * np.sqrt(soft) * smooth
        return result

    def stored(self, pair: int, place: Touch) -> Array:
        """(...) [J] the integral of the pressure at rest, by Gauss's quadrature: to 1e-10 of it.

        The variable is v, with depth = a sinh(v), in QUADRATURE_PANELS equal parts. h changes over depths of sqrt(e)
        and 1 / b_d. With `a` below both, its singularities lie at least pi / 2 from the real axis. The integral begins
        where h has vanished."""
        scale = np.sqrt(self.constant_contact_force)
        a = scale / (1 + self.hertz_smoothing * scale)
        first = np.arcsinh(-MAX_SWITCH_ARGUMENT / self.hertz_smoothing / a)
        width = (np.arcsinh(place.depth / a) - first) / QUADRATURE_PANELS
        total: Array = 0.0 * place.depth
        for panel in range(QUADRATURE_PANELS):
            for node, weight in zip(*_gauss_legendre(), strict=True):
                v = first + (panel + (1 + node) / 2) * width
                total = total + weight * np.cosh(v) * self._hertz(a * np.sinh(v), place.radius)
        c = self.dissipation
        at_rest = 0.5 + 0.5 * np.tanh(self.hunt_crossley_smoothing * 2 / (3 * c)) if may_be_nonzero(c) else 1.0
        result: Array = total * at_rest * a * width / 2
        return result

    def check(self, system: ArticulatedSystem) -> None:
        check_ranges(self, self.element)
        for surface in (self.sphere, self.half_space):
            surface.check(system, self.element)
        super().check(system)


@cache
def _gauss_legendre() -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The nodes in (-1, 1) and the weights of Gauss's quadrature."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES_PER_PANEL)
    return tuple(nodes.tolist()), tuple(weights.tolist())
