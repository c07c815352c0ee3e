"""Everything that acts on a model: the one list that equations, joint loads, energies and goals read.

Gravity, and the springs, dampers and rotors of joints, belong to the system and are in b of M udot + b = tau. All else
acts by one of four mechanisms, which are the classes of its parts:

| mechanism                   | classes                                 | on u         | on bodies               |
|-----------------------------|-----------------------------------------|--------------|-------------------------|
| loads on bodies             | `LoadingForce`, `Actuator`, `Load`      | virtual work | the loads               |
| forces f on measures x(q)   | `MeasuredForce`, `CoordinateLimit`      | J^T f        | virtual work of f       |
| tensions F along paths l(q) | `Muscle` with its law                   | -J^T F       | at points and surfaces  |
| forces on u                 | `PassiveForce`, `Actuator`: `in_joints` | itself       | none, joints pass it on |

`torques` and `wrenches` add them up at an `Instant`, `energy` has what they store. All are formulas, on floats and
symbols, of a model whose numbers may be symbols. A new part of one of these classes needs no further registration.
Measures that are `in_joints`, such as coordinates, act on no body either.
"""

from collections.abc import Sequence

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints import ModelError
from myoquat.joints.evaluation import SystemLike, system_of
from myoquat.joints.vectors import vecmat
from myoquat.kernels.tracing.derivatives import jacobian_at

from .actuators import Actuator, with_controls
from .forces import LoadingForce, MeasuredForce, PassiveForce
from .forces.base import loads_of, measured
from .laws import ForceLaw
from .loads import Load, body_wrenches, generalized_force
from .model import Model
from .path import Muscle
from .segments import path_segments
from .segments.lengths import lengths
from .states import forces


@frozen
class Instant:
    """A state of a model, and what its parts act with there.

    q, u        (..., nq) and (..., nu)
    t           (...) [s], needed where `is_timed`
    activation  (..., m) of the muscles, with the states (..., ns) of their laws. None: they do not pull
    tension     (..., m) [N] of the muscles, where it is known, in place of their activations
    controls    (..., k) of the actuators, with the activations of delayed ones in their place. None: they do nothing
    torque      (..., nu) [N m, N] further forces on the velocities
    loads       further loads on bodies
    passive     whether limits and passive forces act
    """

    q: Array
    u: Array
    t: Array | None = None
    activation: Array | None = None
    states: Array | None = None
    tension: Array | None = None
    controls: Array | None = None
    torque: Array | None = None
    loads: Sequence[Load] = ()
    passive: bool = True


def is_timed(model: Model) -> bool:
    """Whether a force of the model depends on the time."""
    return any(force.timed for force in model.forces)


def torques(model: SystemLike, at: Instant) -> Array:
    """(..., nu) the generalized forces on u of all that acts."""
    system = system_of(model)
    total: Array = np.zeros(system.nu) if at.torque is None else at.torque
    if isinstance(model, Model) and at.passive:
        if parts := [part for part in _passive(model) if isinstance(part, MeasuredForce)]:
            total = total + vecmat(*measured(system, parts, at.q, at.u))
        for force in model.forces:
            if not isinstance(force, (LoadingForce, MeasuredForce)):
                total = total + force.torque(system, at.q, at.u, at.t)
    for actuator, controls in _actuators(model, at):
        if actuator.in_joints:
            total = total + actuator.force(system, at.q, controls)
    tension = tensions(model, at)
    if tension is not None:
        assert isinstance(model, Model)
        total = total + path_segments.paths_at(system, model.paths, at.q, at.u).torque(tension)
    loads = _loads(model, at)
    return total + generalized_force(system, at.q, loads) if loads else total


def wrenches(model: SystemLike, at: Instant) -> Array:
    """(..., bodies, 6) the force [N] and torque [N m] of all that acts on every body, at its origin in world axes.

    What acts within joints is on no body. ModelError for a part that does not say where it acts: a force of one's own
    that only has a torque, and a muscle whose path is a function of coordinates alone.
    """
    system = system_of(model)
    if isinstance(model, Model) and at.passive:
        check_placed(model)
    total = body_wrenches(system, at.q, _loads(model, at))
    if isinstance(model, Model) and at.passive:
        for force in model.forces:
            if isinstance(force, MeasuredForce) and not force.in_joints:
                total = total + force.wrenches(system, at.q, at.u)
    tension = tensions(model, at)
    if tension is None:
        return total
    assert isinstance(model, Model)
    return total + path_segments.wrenches(system, model.paths_on_bones, at.q, tension)


def check_placed(model: Model) -> None:
    """ModelError for a passive force that does not say where it acts."""
    for force in model.forces:
        if not (force.in_joints or isinstance(force, (LoadingForce, MeasuredForce))):
            raise ModelError(
                "it does not say on which bodies it acts, so that the loads of joints are not determined. Make it a "
                "MeasuredForce or a LoadingForce, let it be in_joints, or take the model without",
                element=force.element,
            )


def acts_on_bodies(model: Model) -> bool:
    """Whether passive forces of the model act on bodies, not only within joints."""
    return any(not force.in_joints for force in model.forces)


def tensions(model: SystemLike, at: Instant) -> Array | None:
    """(..., m) [N] of the muscles; None where they do not act."""
    if not isinstance(model, Model) or not model.muscles or at.tension is not None or at.activation is None:
        return at.tension
    return forces(model, at.q, at.u, at.activation, at.states)


def energy(model: Model, q: Array) -> Array:
    """(...) [J] what limits, passive forces and elastic muscles, such as ligaments, store at q (..., nq)."""
    total: Array = np.zeros(q.shape[:-1])
    for part in _passive(model):
        total = total + part.energy(model.system, q)
    elastic = elastic_muscles(model)
    found = lengths(model.system, tuple(muscle.path for muscle in elastic), q) if elastic else q[..., :0]
    for k, muscle in enumerate(elastic):
        assert muscle.law is not None
        total = total + muscle.law.stored(found[..., k])
    return total


def energy_rate(model: Model, q: Array, u: Array) -> Array:
    """(...) [W] the rate of `energy` at velocities u (..., nu)."""
    system, elastic = model.system, elastic_muscles(model)
    total: Array = np.zeros(q.shape[:-1])
    for part in _passive(model):
        total = total + part.energy_rate(system, q, u)
    if not elastic:
        return total
    found = path_segments.paths_at(
        system, tuple(muscle.path for muscle in elastic), q, u
    )  # a path's speed does not ask for derivatives of its contacts
    for k, muscle in enumerate(elastic):
        stored = lambda l, law=muscle.law: law.stored(l[..., 0])[..., None]  # noqa: E731
        total = total + jacobian_at(stored, found.length[..., k : k + 1])[..., 0, 0] * found.speed[..., k]
    return total


def elastic_muscles(model: Model) -> tuple[Muscle, ...]:
    """The muscles that store energy: those whose law says how much."""
    return tuple(m for m in model.muscles if m.law is not None and type(m.law).stored is not ForceLaw.stored)


# ---- the parts ------------------------------------------------------------------------------------------------


def _passive(model: Model) -> tuple[PassiveForce, ...]:
    return *model.limits, *model.forces


def _actuators(model: SystemLike, at: Instant) -> list[tuple[Actuator, Array]]:
    """The actuators that act, each with its controls (..., k)."""
    if not isinstance(model, Model) or at.controls is None:
        return []
    return [(actuator, at.controls[..., own]) for actuator, own in with_controls(model.actuators)]


def _loads(model: SystemLike, at: Instant) -> list[Load]:
    """All loads on bodies."""
    system, found = system_of(model), list(at.loads)
    if isinstance(model, Model) and at.passive:
        loading = [force for force in model.forces if isinstance(force, LoadingForce)]
        found += loads_of(system, loading, at.q, at.u, at.t) if loading else []
    for actuator, controls in _actuators(model, at):
        if not actuator.in_joints:
            found += actuator.loads(system.poses(at.q), actuator.scaled(controls))
    return found
