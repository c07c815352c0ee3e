"""Goals of forces: moments of the joints, contact forces, and the force in a joint as a goal or inside a cone."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from myoquat.analysis.control.conditions import PathCondition
from myoquat.analysis.control.plants import ModelPlant, Plant
from myoquat.analysis.control.points import Point, interpolated_rows
from myoquat.analysis.fits import JointForceFits
from myoquat.analysis.recruitment import JointCone
from myoquat.core import Array, check_types, frozen, indices_of
from myoquat.data.motions import Forces
from myoquat.dynamics.constraints.evaluate import constraint_wrenches, holds_velocities
from myoquat.dynamics.inverse import joint_wrenches
from myoquat.joints.errors import ModelError
from myoquat.joints.ranges import Positive, check_ranges
from myoquat.joints.vectors import matvec, vecmat, vector
from myoquat.muscle.acting import tensions, wrenches
from myoquat.muscle.forces import Contact, ContactForce
from myoquat.muscle.model import Model
from myoquat.muscle.path import paths_on_bones
from myoquat.muscle.segments.path_segments import wrenches as muscle_wrenches

from .base import IntegralGoal, WeightedGoal
from .tracking import FollowsTable


def _moving(plant: Plant, title: str) -> ModelPlant:
    if not isinstance(plant, ModelPlant):
        raise ValueError(f"goal {title!r}: moments are no unknowns without a model, or where its motion is prescribed")
    return plant


@frozen
class JointMoments(WeightedGoal, IntegralGoal):
    """The integral of sum_i w_i m_i^2 over the generalized forces m [N m, N] on the velocities.

    They are the sum of muscles, actuators and torques. weights: by names of velocities, 1 where a name is missing; `of`
    names those that count, all by default.

    >>> from myoquat.analysis.control import JointMoments
    >>> JointMoments(of=("knee_angle_r_dot",), weight=1e-4).title
    'JointMoments'
    """

    def _names(self, plant: Plant) -> Sequence[str]:
        return _moving(plant, self.title).velocity_names

    def integrand(self, plant: Plant, point: Point, data: Array) -> Array:
        return self._summed(plant, _moving(plant, self.title).moments(point) ** 2)


@frozen
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
        return self._summed(plant, (_moving(plant, self.title).moments(point)[..., rows] - data) ** 2)


@frozen
class TrackContactForces(WeightedGoal, IntegralGoal):
    """The integral of sum_i w_i |F_i - F_ref_i|^2 [N^2] over recorded loads, such as ground reactions.

    F_i is the force of the model's contacts on the bodies of a load.

    loads    recorded `Forces`, each on a body; between the rows splines of the fifth degree
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

    _what = "load"
    _many = "loads"
    loads: Forces
    bodies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def check(self, plant: Plant, timed: bool) -> None:
        check_types(loads=(self.loads, Forces))
        super().check(plant, timed)
        indices_of("load", self.bodies, self.loads.names)
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

    def _names(self, plant: Plant) -> Sequence[str]:
        return self.loads.names

    def content(self, plant: Plant) -> Hashable:
        return super().content(plant), tuple(self._carried()), self.loads.force_frames

    def samples(self, plant: Plant, time: Array) -> Array:
        return interpolated_rows(self.loads.time, self.loads.force.reshape(len(self.loads.time), -1), time)

    def integrand(self, plant: Plant, point: Point, data: Array) -> Array:
        poses, found, terms = point.system.poses(point.q), contacts_at(plant, point), list[Array]()
        for k, (_, bodies) in enumerate(self._carried()):
            recorded = matvec(poses[self.loads.force_frames[k]][0], data[..., 3 * k : 3 * k + 3])
            terms.append(np.sum((_on(bodies, found) - recorded) ** 2, axis=-1))
        return self._summed(plant, vector(terms))


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


def joint_force(plant: ModelPlant, point: Point, body: str, pulls: JointForceFits | None) -> Array:
    """The formula: (..., 3) [N] the force of a joint's child, with all that it carries, on the parent, in its axes.

    It is what acts on the child and all that it carries, less what accelerates these bodies. `pulls` has the pull of
    unit tensions of the muscles that it names; the others pull where their paths of points do.
    """
    system, at = plant.system, plant.instant(point)
    if not point.udot.shape[-1]:
        raise ValueError("the force in a joint needs accelerations, which multiple shooting does not have as unknowns")
    i = system.indices.body(body)
    parent, _ = system.poses(point.q)[system.bodies[i].parent]
    tension, fitted = tensions(plant.equations.model, at), {} if pulls is None else pulls.functions
    acting = wrenches(plant.equations.model, replace(at, activation=None))
    if tension is not None:
        placed = [k for k, name in enumerate(plant.muscle_names) if name not in fitted]
        paths = paths_on_bones(plant.equations.muscled.muscles[k] for k in placed)
        columns = vector([tension[..., k] for k in placed]) if placed else np.zeros(0)
        acting = acting + muscle_wrenches(system, paths, point.q, columns)
    if plant.constraints is not None:
        held = plant.constraints.constraints
        acting = acting + constraint_wrenches(
            held, point.q, point.t, plant.constraints.all_multipliers(point.multipliers)
        )
    passing = joint_wrenches(system, point.q, point.u, point.udot, acting)[..., i, :3]
    result: Array = -vecmat(passing, parent)
    for name, parts in fitted.items():
        assert tension is not None
        F = tension[..., plant.muscle_names.index(name)]
        result = result + np.stack([F * f.value(system, point.q) for f in parts], axis=-1)
    return result


def _checked(plant: Plant, what: str, body: str, pulls: JointForceFits | None) -> ModelPlant:
    """The plant; ValueError where the force in the joint is not known."""
    if not isinstance(plant, ModelPlant):
        raise ValueError(f"{what}: the force in a joint needs a model whose motion is not prescribed")
    for part in plant.constraints.constraints.parts if plant.constraints is not None else ():
        if holds_velocities(part):
            raise ValueError(f"{what}: {part.label} holds velocities, so that its force on bodies is not known")
    try:
        plant.system.indices.body(body)
    except KeyError as error:
        raise ValueError(f"{what}: {error.args[0]}") from None
    fitted = {} if pulls is None else pulls.functions
    if pulls is not None and plant.system.indices.body(pulls.body) != plant.system.indices.body(body):
        raise ValueError(f"{what}: pulls are fits for the joint of {pulls.body!r}, not {body!r}")
    indices_of(f"muscle for pulls of the {what}:", fitted, plant.muscle_names)
    try:
        if plant.muscle_names:
            paths_on_bones(muscle for muscle in plant.equations.muscled.muscles if muscle.name not in fitted)
    except ModelError as error:
        raise ValueError(f"{what}: {error}. Or give pulls=fit_joint_forces(model, body, poses), of the model with its "
                         "own paths") from None  # fmt: skip
    return plant


@frozen
class JointLoad(IntegralGoal):
    """The integral of |f|^2 / scale^2, f [N] being the force in a joint under all that acts on the model.

    body   the joint's child
    pulls  fits of muscles' pulls by `fit_joint_forces`, needed for paths that are functions of coordinates alone; other
           muscles pull where their paths of points do
    scale  [N]

    Where constraints are redundant, those carry nothing that others imply. Raises ValueError for a body that does not
    exist, for paths that are functions of coordinates alone, without `pulls`, and for constraints on velocities.

    >>> from myoquat.analysis.control import JointLoad
    >>> JointLoad("shank", scale=1000.0, weight=0.1).title
    'JointLoad'
    """

    body: str
    pulls: JointForceFits | None = None
    scale: float = 1.0

    def check(self, plant: Plant, timed: bool) -> None:
        super().check(plant, timed)
        _checked(plant, f"goal {self.title!r}", self.body, self.pulls)
        if not self.scale > 0:
            raise ValueError(f"goal {self.title!r}: the scale must be positive, not {self.scale}")

    def integrand(self, plant: Plant, point: Point, data: Array) -> Array:
        assert isinstance(plant, ModelPlant)
        f = joint_force(plant, point, self.body, self.pulls) / self.scale
        return np.sum(f * f, axis=-1)


@frozen
class InsideCone(PathCondition):
    """The force in a joint stays inside a `JointCone`, at every point of the motion where controls are defined.

    cone    its joint, direction n and half angle a
    pulls   fits of muscles' pulls, as for `JointLoad`
    margin  [N] m: tan(a) n . f >= sqrt(|f - (n . f) n|^2 + m^2), which is smooth and holds inside the cone only
    scale   [N] of this row

    Raises ValueError as `JointLoad`.

    >>> from myoquat.analysis.control import InsideCone
    >>> from myoquat.analysis.recruitment import JointCone
    >>> InsideCone(JointCone("humerus", (1.0, 0.0, 0.0), half_angle=0.5)).title
    "cone of the force in the joint of 'humerus'"
    """

    cone: JointCone
    pulls: JointForceFits | None = None
    margin: Positive = 1.0
    scale: Positive = 100.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ranges(self, "InsideCone")

    @property
    def title(self) -> str:
        return f"cone of the force in the joint of {self.cone.joint!r}"

    @property
    def interval(self) -> Array:
        return np.array([[0.0, np.inf]])

    def check(self, plant: Plant) -> None:
        _checked(plant, self.title, self.cone.joint, self.pulls)

    def rows(self, plant: Plant, point: Point) -> Array:
        assert isinstance(plant, ModelPlant)
        f = joint_force(plant, point, self.cone.joint, self.pulls)
        along, *across = (np.sum(row * f, axis=-1) for row in self.cone.frame)
        aside = np.sqrt(across[0] ** 2 + across[1] ** 2 + self.margin**2)
        return (np.tan(self.cone.half_angle) * along - aside) / self.scale
