"""Goals of forces: moments of the joints, and what bodies press on each other."""

from collections.abc import Hashable, Mapping
from dataclasses import field
from typing import Any

import numpy as np

from myoquat.analysis.control.goals.base import IntegralGoal, check_weights
from myoquat.analysis.control.goals.tracking import FollowsTable
from myoquat.analysis.control.plants import ModelPlant, Plant
from myoquat.analysis.control.points import Point
from myoquat.core.arguments import check_types, indices_of
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.data.motions import Forces
from myoquat.joints.vectors import matvec
from myoquat.muscle.forces import Contact, ContactForce
from myoquat.muscle.model import Model

__all__ = ["JointMoments", "TrackContactForces", "TrackMoments"]


def _moving(plant: Plant, title: str) -> ModelPlant:
    if not isinstance(plant, ModelPlant):
        raise ValueError(f"goal {title!r}: moments are no unknowns without a model, or where its motion is prescribed")
    return plant


@dataclass(frozen=True)
class JointMoments(IntegralGoal):
    """The integral of sum_i w_i m_i^2 over the generalized forces m [N m, N] on the velocities.

    They are the sum of muscles, actuators and torques. weights: by names of velocities, 0 where a name is missing. None
    for 1 everywhere.

    >>> from myoquat.analysis.control import JointMoments
    >>> JointMoments({"knee_angle_r_dot": 1.0}, weight=1e-4).title
    'JointMoments'
    """

    weights: Mapping[str, float] | None = None

    def check(self, plant: Plant, timed: bool) -> None:
        super().check(plant, timed)
        names = _moving(plant, self.title).velocity_names
        indices_of("velocity", self.weights or {}, names)
        check_weights(self.title, self.weights or {})

    def _factors(self, plant: Plant) -> tuple[float, ...]:
        given = dict.fromkeys(plant.velocity_names, 1.0) if self.weights is None else self.weights
        return tuple(float(given.get(name, 0.0)) for name in plant.velocity_names)

    def content(self, plant: Plant) -> Hashable:
        return "joint moments", self._factors(plant)

    def integrand(self, plant: Plant, point: Point, data: Array) -> Array:
        moments = _moving(plant, self.title).moments(point)
        result: Array = np.sum(moments**2 * self._factors(plant), axis=-1)
        return result


@dataclass(frozen=True)
class TrackMoments(FollowsTable):
    """The integral of sum_i w_i (m_i - m_ref_i)^2 over generalized forces m [N m, N] on velocities by name.

    They are the sum of muscles, actuators and torques. m_ref are recorded ones, such as those of inverse dynamics.

    names    velocities
    time     (t,) [s]
    values   (t, n) of m_ref; between the rows a spline of the fifth degree
    weights  by name, 1 where a name is missing

    >>> import numpy as np
    >>> from myoquat.analysis.control import TrackMoments
    >>> TrackMoments(("elbow_dot",), [0.0, 1.0], np.zeros((2, 1))).names
    ('elbow_dot',)
    """

    def check(self, plant: Plant, timed: bool) -> None:
        super().check(plant, timed)
        indices_of("velocity", self.names, _moving(plant, self.title).velocity_names)

    def integrand(self, plant: Plant, point: Point, data: Array) -> Array:
        rows = list(indices_of("velocity", self.names, plant.velocity_names))
        d = _moving(plant, self.title).moments(point)[..., rows] - data
        result: Array = np.sum(d**2 * self._factors, axis=-1)
        return result


@dataclass(frozen=True)
class TrackContactForces(IntegralGoal):
    """The integral of sum_i w_i |F_i - F_ref_i|^2 [N^2] over recorded loads, such as ground reactions.

    F_i is the force of the model's contacts on the bodies of a load.

    loads    recorded `Forces`, each on a body
    bodies   name of a load -> all bodies of the model whose contacts add up to it, such as the calcaneus and the toes.
             By default the body of the load alone.
    weights  by name of a load, 1 where a load is missing

    Raises ValueError for loads on bodies without contact.

    >>> import numpy as np
    >>> from myoquat.analysis.control import TrackContactForces
    >>> from myoquat.data import Forces
    >>> none = np.zeros((2, 1, 3))
    >>> plate = Forces([0.0, 1.0], ("right",), ("calcn_r",), none, none, none)
    >>> TrackContactForces(plate, {"right": ("calcn_r", "toes_r")}, weight=1e-5).title
    'TrackContactForces'
    """

    loads: Forces
    bodies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)

    def check(self, plant: Plant, timed: bool) -> None:
        super().check(plant, timed)
        check_types(loads=(self.loads, Forces))
        indices_of("load", [*self.bodies, *self.weights], self.loads.names)
        check_weights(self.title, self.weights)
        _moving(plant, self.title)
        pairs = [pair for force in _contact_forces(plant) for pair in force.pairs]
        touching = {surface.body for pair in pairs for surface in pair}
        for name, bodies in self._carried():
            if not touching & set(bodies):
                raise ValueError(f"goal {self.title!r}: no contact acts on {', '.join(bodies)}, the bodies of {name!r}")

    def _carried(self) -> list[tuple[str, tuple[str, ...]]]:
        """The bodies of every load."""
        own = dict(zip(self.loads.names, self.loads.bodies, strict=True))
        return [(name, tuple(self.bodies.get(name, (own[name],)))) for name in self.loads.names]

    def content(self, plant: Plant) -> Hashable:
        weights = tuple(float(self.weights.get(name, 1.0)) for name in self.loads.names)
        return "contact forces", tuple(self._carried()), self.loads.force_frames, weights

    def width(self, plant: Plant) -> int:
        return 3 * len(self.loads.names)

    def samples(self, plant: Plant, time: Array) -> Array:
        return self.loads.resampled(time).force.reshape(len(time), -1)

    def integrand(self, plant: Plant, point: Point, data: Array) -> Array:
        poses, total = point.system.poses(point.q), np.zeros(())
        found = contacts_at(plant, point)
        for k, (name, bodies) in enumerate(self._carried()):
            recorded = matvec(poses[self.loads.force_frames[k]][0], data[..., 3 * k : 3 * k + 3])
            d = _on(bodies, found) - recorded
            total = total + float(self.weights.get(name, 1.0)) * np.sum(d**2, axis=-1)
        return total


def _contact_forces(plant: Plant) -> list[ContactForce]:
    model: Any = getattr(plant, "model", None)
    return [force for force in model.forces if isinstance(force, ContactForce)] if isinstance(model, Model) else []


def contacts_at(plant: Plant, point: Point) -> list[Contact]:
    """The forces of every pair of surfaces at a point: the formula."""
    system = point.system
    poses = system.poses(point.q)
    shifts = system.shifts(point.q, point.u, poses, system.ground)
    return [contact for force in _contact_forces(plant) for contact in force.contacts(poses, shifts)]


def _on(bodies: tuple[str, ...], contacts: list[Contact]) -> Array:
    """(..., 3) [N] the sum of what contacts exert on these bodies."""
    total: Array = np.zeros(3)
    for contact in contacts:
        if (contact.second in bodies) != (contact.first in bodies):
            total = total + (contact.force if contact.second in bodies else -contact.force)
    return total
