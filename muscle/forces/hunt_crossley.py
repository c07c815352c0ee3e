"""Hunt-Crossley contact: Hertz's pressure, dissipation and friction."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from myoquat.core.records import Record, dataclass
from myoquat.core.typing import Array
from myoquat.joints.errors import ModelError
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.ranges import NotNegative, Positive, check_ranges
from myoquat.kernels.symbolic.arrays import may_be_nonzero
from myoquat.muscle.contact import ContactHalfSpace, ContactSurface, Touch, has_curvature
from myoquat.muscle.forces.contact import ContactForce, Friction, raised

__all__ = ["ContactMaterial", "HuntCrossley"]


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class HuntCrossley(ContactForce):
    """Surfaces of different bodies press by f = 4/3 k sqrt(R k) d^(3/2) (1 + 3/2 c v) >= 0 and rub by mu f.

    OpenSim's HuntCrossleyForce. Here d > 0 is the depth, v the speed at which the surfaces approach, and R the
    effective radius of curvature. The moduli E and dissipations c of the two, with k_i = E_i^(2/3), give

        s_1 = k_2 / (k_1 + k_2),  s_2 = 1 - s_1,  k = k_1 s_1,  c = c_1 s_1 + c_2 s_2.

    A coefficient of friction is 2 mu_1 mu_2 / (mu_1 + mu_2). Sources: Sherman, Seth, Delp 2011, Procedia IUTAM 2,
    241-261; Hunt, Crossley 1975, J. Appl. Mech. 42, 440. Friction is as `Friction.over_speed` tells, with its greatest
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
                found += [(one, other) for one, other in ((a, b), (b, a)) if has_curvature(one[0], other[0])][:1]
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
        mu_s, mu_d, mu_v = (_together(getattr(first, key), getattr(second, key)) for key in FRICTION)
        return f, f * Friction(mu_s, mu_d, mu_v, self.transition_velocity).over_speed(square)

    def stored(self, pair: int, place: Touch) -> Array:
        """(...) [J] 2/5 of Hertz's force times the depth. It is the potential of the pressure for spheres; the radius
        of an ellipsoid changes as it turns, for which no work is done [Simbody]."""
        return 0.4 * _hertz(self._stiffness(pair)[0], place) * place.depth

    def check(self, system: ArticulatedSystem) -> None:
        check_ranges(self, self.element)
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
            flat = isinstance(a, ContactHalfSpace) and isinstance(b, ContactHalfSpace)
            if a.body != b.body and not (flat or has_curvature(a, b) or has_curvature(b, a)):
                raise ModelError(f"contact between {a.name!r} and {b.name!r} is not supported", element=self.element)


FRICTION = ("static_friction", "dynamic_friction", "viscous_friction")


def _hertz(k: float, place: Touch) -> Array:
    """(...) 4/3 k sqrt(R k) d^(3/2) [N], zero where the surfaces are apart."""
    result: Array = 4.0 / 3.0 * k * np.sqrt(place.radius * k) * raised(place.depth)
    return result


def _together(first: float, second: float) -> float:
    """2 a b / (a + b), 0 of zeros."""
    return 2 * first * second / (first + second) if may_be_nonzero(first) or may_be_nonzero(second) else 0.0
