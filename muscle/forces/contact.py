"""What contact forces share: pairs of surfaces that press on each other and rub."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import combinations

import numpy as np

from myoquat.core import Array, Record, frozen
from myoquat.joints import ArticulatedSystem, ModelError
from myoquat.joints.functions.base import engaged
from myoquat.joints.ranges import NotNegative, Positive, check_ranges
from myoquat.joints.vectors import dot
from myoquat.kernels.symbolic.arrays import may_be_nonzero
from myoquat.muscle.contact import (
    CURVED,
    ContactCapsule as ContactCapsule,
    ContactEllipsoid as ContactEllipsoid,
    ContactHalfSpace as ContactHalfSpace,
    ContactSphere as ContactSphere,
    ContactSurface as ContactSurface,
    Touch,
    can_touch,
    surface_types,
    touch,
)
from myoquat.muscle.loads import Load, Poses, point_velocity

from .base import LoadingForce


@frozen
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


def friction_over_speed(
    square: Array, coefficients: Iterable[float], transition: float, rounded: bool = False
) -> Array:
    """(...) friction per pressure and speed [s/m] at the square (...) of the speed of slip v. With r = v / v_t,

        mu / v = min(r, 1) (mu_d + 2 (mu_s - mu_d) / (1 + r^2)) / v + mu_v,   min(r, 1) / v = 1 / max(v, v_t)

    for the `coefficients` of static, dynamic and viscous [s/m] friction and the `transition` speed v_t [m/s] of the
    greatest static friction. Source: Simbody, HuntCrossleyForce. It is finite at rest. Real friction sticks; this one
    creeps at up to v_t. If `rounded`, 1 / sqrt(v^2 + v_t^2) replaces 1 / max(v, v_t). There is then no corner at v_t,
    and at most 29 % less friction.
    """
    (static, dynamic, viscous), least = coefficients, transition**2
    mu = dynamic + 2 * (static - dynamic) / (1 + square / least)
    return mu / np.sqrt(square + least if rounded else np.maximum(square, least)) + viscous


class ContactForce(LoadingForce):
    """Forces between surfaces of bodies where they touch.

    >>> from myoquat.muscle.forces import ContactForce, HuntCrossley, SmoothSphereHalfSpace
    >>> issubclass(HuntCrossley, ContactForce), issubclass(SmoothSphereHalfSpace, ContactForce)
    (True, True)
    """

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
            total = total + self.stored(k, touch(*pair, poses))
        return total

    def contacts(self, poses: Poses, shifts: Poses) -> list[Contact]:
        """What every pair does at the poses of the bodies and their velocities (`ArticulatedSystem.shifts` of u)."""
        found = []
        for k, pair in enumerate(self.pairs):
            place = touch(*pair, poses)
            point = self.center(k, place)
            first, second = (point_velocity(shifts, poses, surface.body, point) for surface in pair)
            v = first - second
            speed = dot(v, place.normal)
            slip = v - speed[..., None] * place.normal
            pressure, drag = self.pressed(k, place, speed, dot(slip, slip))
            force = pressure[..., None] * place.normal + drag[..., None] * slip
            found.append(Contact(pair[0].body, pair[1].body, point, force, pressure))
        return found

    def loads(self, poses: Poses, shifts: Poses, t: Array | None = None) -> list[Load]:
        found = []
        for contact in self.contacts(poses, shifts):
            found.append(Load(contact.first, contact.point, -contact.force))
            found.append(Load(contact.second, contact.point, contact.force))
        return found

    def check(self, system: ArticulatedSystem) -> None:
        super().check(system)
        for surface in vars(self).values():
            if isinstance(surface, ContactSurface):
                surface.check(system, self.element)
        for pair in self.pairs:
            self.check_apart(*(surface.body for surface in pair))


def raised(x: Array) -> Array:
    """(...) max(x, 0)^(3/2), whose derivative is finite at and below 0."""
    deep = x > 0
    y = np.where(deep, x, 1.0)
    return np.where(deep, y * np.sqrt(y), 0.0)


# ---- Hunt-Crossley contact ------------------------------------------------------------------------------------------
# Hunt-Crossley contact: Hertz's pressure, dissipation and friction.


@frozen
class ContactMaterial(Record):
    """The material of surfaces.

    stiffness                          the plane-strain modulus [N/m^2]
    dissipation                        [s/m]
    static_friction, dynamic_friction  coefficients
    viscous_friction                   coefficient [s/m]

    >>> from myoquat.muscle.forces import ContactHalfSpace, ContactMaterial, ContactSphere
    >>> surfaces = ContactSphere("heel", "calcaneus", radius=0.02), ContactHalfSpace("floor", "ground")
    >>> rubber = ContactMaterial(surfaces, stiffness=1e6, dissipation=1.0, static_friction=0.8, dynamic_friction=0.6)
    >>> [surface.name for surface in rubber.surfaces]
    ['heel', 'floor']
    """

    surfaces: tuple[ContactSurface, ...]
    stiffness: Positive
    dissipation: NotNegative = 0.0
    static_friction: NotNegative = 0.0
    dynamic_friction: NotNegative = 0.0
    viscous_friction: NotNegative = 0.0


@frozen
class HuntCrossley(ContactForce):
    """Surfaces of different bodies press by f = 4/3 k sqrt(R k) d^(3/2) (1 + 3/2 c v) >= 0 and rub by mu f.

    OpenSim's HuntCrossleyForce. Here d > 0 is the depth, v the speed at which the surfaces approach, and R the
    effective radius of curvature. The moduli E and dissipations c of the two, with k_i = E_i^(2/3), give

        s_1 = k_2 / (k_1 + k_2),  s_2 = 1 - s_1,  k = k_1 s_1,  c = c_1 s_1 + c_2 s_2.

    A coefficient of friction is 2 mu_1 mu_2 / (mu_1 + mu_2). Sources: Sherman, Seth, Delp 2011, Procedia IUTAM 2,
    241-261; Hunt, Crossley 1975, J. Appl. Mech. 42, 440. Friction is as `friction_over_speed` tells, with its greatest
    at transition_velocity [m/s]. Half-spaces touch spheres and ellipsoids, spheres each other.

    >>> import myoquat as mq
    >>> from myoquat.muscle.forces import ContactHalfSpace, ContactMaterial, ContactSphere, HuntCrossley
    >>> ball = mq.Body("ball", "ground", mq.joints.PrismaticJoint((0, 1, 0)), mass=1.0)
    >>> surfaces = ContactSphere("round", "ball", radius=0.1), ContactHalfSpace("floor", "ground")
    >>> force = HuntCrossley("contact", (ContactMaterial(surfaces, stiffness=1e6),))
    >>> model = mq.Model(mq.ArticulatedSystem((ball,)), forces=(force,))
    >>> mq.muscle.limit_torques(model, [0.098], [0.0]).round(2)  # [N] 2 mm deep
    array([13.33])
    """

    materials: tuple[ContactMaterial, ...]
    transition_velocity: Positive = 0.01

    @property
    def pairs(self) -> Sequence[tuple[ContactSurface, ContactSurface]]:
        return [(a, b) for (a, _), (b, _) in self._matched]

    @property
    def _matched(self) -> list[tuple[tuple[ContactSurface, ContactMaterial], tuple[ContactSurface, ContactMaterial]]]:
        """The pairs, each surface with its material."""
        made = [(surface, material) for material in self.materials for surface in material.surfaces]
        found = []
        for a, b in combinations(made, 2):
            if a[0].body != b[0].body:
                either = (a, b), (b, a)
                found += [pair for pair in either if surface_types(*(surface for surface, _ in pair)) in CURVED][:1]
        return found

    def _stiffness(self, pair: int) -> tuple[float, float]:
        """(k, s_1) of a pair."""
        first, second = (material.stiffness ** (2.0 / 3.0) for _, material in self._matched[pair])
        share = second / (first + second)
        return first * share, share

    def center(self, pair: int, place: Touch) -> Array:
        """(..., 3) [m]: nearer to the surface that is stiffer."""
        _, share = self._stiffness(pair)
        return place.point + (place.depth * (0.5 - share))[..., None] * place.normal

    def pressed(self, pair: int, place: Touch, speed: Array, square: Array) -> tuple[Array, Array]:
        (_, first), (_, second) = self._matched[pair]
        k, share = self._stiffness(pair)
        c = first.dissipation * share + second.dissipation * (1 - share)
        f = _hertz(k, place) * np.maximum(1 + 1.5 * c * speed, 0.0)
        both = ((getattr(first, key), getattr(second, key)) for key in FRICTION)
        mu = (2 * a * b / (a + b) if may_be_nonzero(a) or may_be_nonzero(b) else 0.0 for a, b in both)
        return f, f * friction_over_speed(square, mu, self.transition_velocity)

    def stored(self, pair: int, place: Touch) -> Array:
        """(...) [J] 2/5 of Hertz's force times the depth. It is the potential of the pressure for spheres; the radius
        of an ellipsoid changes as it turns, for which no work is done [Simbody]."""
        return 0.4 * _hertz(self._stiffness(pair)[0], place) * place.depth

    def check(self, system: ArticulatedSystem) -> None:
        seen: dict[str, ContactSurface] = {}
        for material in self.materials:
            check_ranges(material, self.element)
            for surface in material.surfaces:
                surface.check(system, self.element)
                if surface.name in seen:
                    raise ModelError(f"the surface {surface.name!r} is named twice", element=self.element)
                seen[surface.name] = surface
        surfaces = list(seen.values())
        if not self.pairs:
            if len(surfaces) > 1 and len({surface.body for surface in surfaces}) == 1:
                raise ModelError(f"it acts between body {surfaces[0].body!r} and itself", element=self.element)
            types = " and ".join(type(surface).__name__ for surface in surfaces) or "nothing"
            raise ModelError(f"contact between {types} is not supported", element=self.element)
        for a, b in combinations(surfaces, 2):
            pair = surface_types(a, b)
            if a.body != b.body and not {pair, pair[::-1]} & {*CURVED, (ContactHalfSpace, ContactHalfSpace)}:
                raise ModelError(f"contact between {a.name!r} and {b.name!r} is not supported", element=self.element)
        super().check(system)


FRICTION = ("static_friction", "dynamic_friction", "viscous_friction")


def _hertz(k: float, place: Touch) -> Array:
    """(...) 4/3 k sqrt(R k) d^(3/2) [N], zero where the surfaces are apart."""
    return 4.0 / 3.0 * k * np.sqrt(place.radius * k) * raised(place.depth)


# ---- Linear contact -------------------------------------------------------------------------------------------------
# Linear contact: a spring and a damper between two surfaces of any type, with friction.


@frozen
class LinearContact(ContactForce):
    """Two surfaces press by f = max(k d + c s(d) v, 0) at d > 0, and rub by mu f: d = depth + margin.

    The speed v [m/s] is that at which they approach. The surfaces are a half-space and a sphere, a capsule or an
    ellipsoid, or two spheres or capsules.

    stiffness            k [N/m]
    damping              c [N s/m], which sets in smoothly over the depth `transition` (`CoordinateLimit`), so that the
                         force is continuous
    friction             the coefficient mu of Coulomb friction, as `friction_over_speed` tells
    margin               [m] the distance from which on the surfaces press
    transition           [m]
    transition_velocity  [m/s] at which friction is greatest

    Solids have one contact point at a time, where they are deepest. Where the segments of capsules or the centres of
    spheres meet, the solids press with the force of that depth along the line of their centres. Raises ModelError for
    surfaces that do not touch, such as two half-spaces.

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
        return f, f * friction_over_speed(square, (self.friction, self.friction, 0.0), self.transition_velocity)

    def stored(self, pair: int, place: Touch) -> Array:
        """(...) [J] k d^2 / 2."""
        d = np.maximum(place.depth + self.margin, 0.0)
        return self.stiffness / 2 * d * d

    def check(self, system: ArticulatedSystem) -> None:
        if not can_touch(*self.pairs[0]):
            types = " and ".join(type(surface).__name__ for surface in (self.first, self.second))
            raise ModelError(f"contact between {types} is not supported", element=self.element)
        super().check(system)


# ---- A sphere on a half-space with a contact force that is smooth everywhere, for optimal control -------------------


QUADRATURE_PANELS, NODES_PER_PANEL = 6, 12  # of the Gauss quadrature of the stored energy
MAX_SWITCH_ARGUMENT = 20.0  # b_d times the height above the floor; the switch (1 + tanh) / 2 is below 1e-17 there


@frozen
class SmoothSphereHalfSpace(ContactForce):
    """Hunt-Crossley contact with smooth switches: OpenSim's SmoothSphereHalfSpaceForce.

    Source: Serrancoli et al. 2019, IEEE Trans. Neural Syst. Rehabil. Eng. 27, 1655. Let d be the depth, v the speed of
    approach, s the slip, R the radius, and c [s/m] the dissipation. With k = E^(2/3) / 2 of the stiffness E [N/m^2],

        h = 4/3 k sqrt(R k) (d^2 + e)^(3/4) (1 + tanh(b_d d)) / 2
        f = h (1 + 3/2 c v) (1 + tanh(b_v (v + 2 / (3 c)))) / 2

    Here e = constant_contact_force, b_d = hertz_smoothing [1/m] and b_v = hunt_crossley_smoothing [s/m]. The friction
    is mu f as `friction_over_speed` tells, at the square s^2 + e. OpenSim's friction has a corner at the transition
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
        mu = (getattr(self, key) for key in FRICTION)
        return f, f * friction_over_speed(square + e, mu, self.transition_velocity, self.rounded_friction)

    def _hertz(self, depth: Array, radius: Array) -> Array:
        """(...) h [N]."""
        k = 0.5 * self.stiffness ** (2.0 / 3.0)
        soft = np.sqrt(depth * depth + self.constant_contact_force)
        smooth = 0.5 + 0.5 * np.tanh(self.hertz_smoothing * depth)
        return 4.0 / 3.0 * k * np.sqrt(radius * k) * soft * np.sqrt(soft) * smooth

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
        return total * at_rest * a * width / 2


@cache
def _gauss_legendre() -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The nodes in (-1, 1) and the weights of Gauss's quadrature."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES_PER_PANEL)
    return tuple(nodes.tolist()), tuple(weights.tolist())
