"""Limits of coordinates: forces that set in where a coordinate leaves its range, as ligaments and bones do."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from myoquat.core.records import Record
from myoquat.core.typing import Array
from myoquat.joints.errors import ModelError
from myoquat.joints.functions.onset import engaged, engaged_energy
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.ranges import NotNegative, Positive, check_ranges
from myoquat.joints.stacking import vector
from myoquat.joints.vectors import matvec, vecmat
from myoquat.kernels.tracing.derivatives import jacobian_at
from myoquat.muscle.forces import LoadingForce, MeasuredForce, PassiveForce
from myoquat.muscle.forces.base import loads_of
from myoquat.muscle.laws.base import ForceLaw
from myoquat.muscle.loads import body_wrenches, generalized_force
from myoquat.muscle.path import Muscle
from myoquat.muscle.segments.lengths import lengths

__all__ = [
    "CoordinateLimit",
    "elastic_bands",
    "energy",
    "has_loads",
    "is_timed",
    "stores_energy",
    "torques",
    "wrenches",
]


@dataclass(frozen=True)
class CoordinateLimit(Record):
    """A force that brings the `coordinate` x, by name, back into its range: OpenSim's CoordinateLimitForce.

        f = -k_up s(x - upper) (x - upper) + k_low s(lower - x) (lower - x) - c (s(x - upper) + s(lower - x)) dx/dt

    The coordinate may be an angle that a quaternion has replaced. The factor s rises smoothly from 0 to 1 over the
    `transition` t: s(d) = 10 z^3 - 15 z^4 + 6 z^5 with z = d / t within [0, 1].

    lower, upper                      [rad or m]
    lower_stiffness, upper_stiffness  k_low, k_up [N m/rad or N/m]
    transition                        t [rad or m]
    damping                           c [N m s/rad or N s/m]

    >>> from myoquat.muscle import CoordinateLimit
    >>> stop = CoordinateLimit("stop", "elbow", 0.0, 2.5, lower_stiffness=50.0, upper_stiffness=50.0, transition=0.1)
    >>> [round(float(stop.force(angle, 0.0)), 6) for angle in (-0.2, 1.0, 2.7)]  # [N m] back into the range
    [10.0, 0.0, -10.0]
    """

    name: str
    coordinate: str
    lower: float
    upper: float
    lower_stiffness: NotNegative
    upper_stiffness: NotNegative
    transition: Positive
    damping: NotNegative = 0.0

    def force(self, x: Array, speed: Array) -> Array:
        """(...) f [N m or N] at x (...) and dx/dt (...): the formula, on floats and symbols."""
        above, below = x - self.upper, self.lower - x
        s_above, s_below = engaged(above, self.transition), engaged(below, self.transition)
        spring = self.lower_stiffness * s_below * below - self.upper_stiffness * s_above * above
        return spring - self.damping * (s_above + s_below) * speed

    def stored(self, x: Array) -> Array:
        """(...) [J] the potential of the springs at x (...), zero inside: the formula, on floats and symbols."""
        above, below = (engaged_energy(d, self.transition) for d in (x - self.upper, self.lower - x))
        return self.upper_stiffness * above + self.lower_stiffness * below

    def check(self, system: ArticulatedSystem) -> None:
        """ModelError for a coordinate that does not exist, or impossible numbers."""
        element = f"limit {self.name!r}"
        if self.coordinate not in system.coordinate_names and self.coordinate not in system.angle_names:
            raise ModelError(f"coordinate {self.coordinate!r} does not exist", element=element)
        check_ranges(self, element)
        if self.lower > self.upper:
            raise ModelError(f"lower is above upper: {self.lower} > {self.upper}", element=element)


class HasLimits(Protocol):
    """A system with limits of its coordinates and passive forces, above all a Model, which builds on this module."""

    @property
    def system(self) -> ArticulatedSystem: ...

    @property
    def limits(self) -> Sequence[CoordinateLimit]: ...

    @property
    def forces(self) -> Sequence[PassiveForce]: ...


class HasElasticParts(HasLimits, Protocol):
    """A system with limits, passive forces, and muscles, of which ligaments store energy."""

    @property
    def muscles(self) -> tuple[Muscle, ...]: ...


def is_timed(model: HasLimits) -> bool:
    """Whether a force of the model depends on the time."""
    return any(force.timed for force in model.forces)


def torques(model: HasLimits, q: Array, u: Array, t: Array | None = None) -> Array:
    """(..., nu) generalized forces of a model's limits and passive forces on the velocities u: the formula, on floats
    and symbols. t (...) is needed where `is_timed`."""
    total = _of_limits(model, q, u)
    loading = [force for force in model.forces if isinstance(force, LoadingForce)]
    for force in model.forces:
        if not isinstance(force, LoadingForce):
            total = total + force.torque(model.system, q, u, t)
    return total + generalized_force(model.system, q, loads_of(model.system, loading, q, u, t)) if loading else total


def energy(model: HasElasticParts, q: Array) -> Array:
    """(...) [J] what limits, passive forces and ligaments store at q (..., nq): the formula, on floats and symbols."""
    system = model.system
    total: Array = np.zeros(q.shape[:-1])
    for limit in model.limits:
        total = total + limit.stored(system.coordinate(limit.coordinate, q))
    for force in model.forces:
        total = total + force.energy(system, q)
    bands = elastic_bands(model)
    found = lengths(system, bands, q) if bands else q[..., :0]
    for k, band in enumerate(bands):
        assert band.law is not None
        total = total + band.law.stored(found[..., k])
    return total


def stores_energy(model: HasElasticParts) -> bool:
    """Whether anything in the model may store energy, beside gravity and the springs of joints."""
    return bool(model.limits or model.forces or elastic_bands(model))


def elastic_bands(model: HasElasticParts) -> tuple[Muscle, ...]:
    """The muscles that store energy: those whose law says how much."""
    return tuple(m for m in model.muscles if m.law is not None and type(m.law).stored is not ForceLaw.stored)


def has_loads(model: HasLimits) -> bool:
    """Whether forces of the model act on bodies: contacts and prescribed forces, springs and bushings between bodies.

    Forces that act within joints, such as a `CoordinateSpring`, do not.
    """
    return any(isinstance(f, LoadingForce) or (isinstance(f, MeasuredForce) and not f.in_joints) for f in model.forces)


def wrenches(model: HasLimits, q: Array, u: Array, t: Array | None = None) -> Array:
    """(..., bodies, 6) what these forces are on every body at its origin, in world axes: the formula."""
    loading = [force for force in model.forces if isinstance(force, LoadingForce)]
    total = body_wrenches(model.system, q, loads_of(model.system, loading, q, u, t))
    for force in model.forces:
        if isinstance(force, MeasuredForce) and not force.in_joints:
            total = total + force.wrenches(model.system, q, u)
    return total


def _of_limits(model: HasLimits, q: Array, u: Array) -> Array:
    """(..., nu) generalized forces of the limits.

    f times the derivative of the coordinate along u, so that their power is f dx/dt whatever describes the joint.
    """
    system, limits = model.system, model.limits
    if not limits:
        return np.zeros(system.nu)

    def values(motion: Array) -> Array:
        moved = system.displaced(q, motion)
        return vector([system.coordinate(limit.coordinate, moved) for limit in limits])

    J = jacobian_at(values, np.zeros(system.nu), like=q)
    x, speed = values(np.zeros(system.nu)), matvec(J, u)
    f = vector([limit.force(x[..., i], speed[..., i]) for i, limit in enumerate(limits)])
    return vecmat(f, J)
