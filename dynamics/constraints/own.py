"""The constraints that a model holds by itself."""

from collections.abc import Sequence

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.constraints import Constraint, CoordinateCoupler
from myoquat.joints.evaluation import SystemLike, system_of
from myoquat.muscle.coordinates import Coupler, in_order
from myoquat.muscle.model import Model

__all__ = ["as_constraint", "constraints_of", "imposed", "modes_of"]


def constraints_of(model: SystemLike, given: Sequence[Constraint] = ()) -> tuple[Constraint, ...]:
    """The constraints that a motion of a model satisfies: its `constraints`, its couplers, its locked and prescribed
    coordinates, and those `given` beside them, each once. A locked coordinate that a coupler drives follows that. A
    system alone has no constraints of its own.

    >>> import myoquat as mq
    >>> from myoquat.dynamics.constraints import constraints_of
    >>> constraints_of(mq.load_model("two_link"))
    ()
    """
    system_of(model)
    own: list[Constraint] = []
    if isinstance(model, Model):
        own += model.constraints
        own += map(as_constraint, model.couplers)
        own += modes_of(model)
    return (*own, *(constraint for constraint in given if constraint not in own))


def modes_of(model: Model) -> list[Constraint]:
    """The constraints of the locked and the prescribed coordinates that the system has."""
    driven, system = {coupler.dependent for coupler in model.couplers}, model.system
    known = {*system.coordinate_names, *system.angle_names}
    held = (c for c in model.coordinates if c.name in known and not (c.locked and c.name in driven))
    return [constraint for c in held if (constraint := c.constraint) is not None]


def imposed(model: SystemLike, q: Array, u: Array, time: float) -> tuple[Array, Array]:
    """The state q (..., nq), u (..., nu) at a time, where prescribed coordinates follow their functions, coordinates
    that these drive by couplers follow them, and locked ones are at rest."""
    if not isinstance(model, Model) or all(c.free for c in model.coordinates):
        return q, u
    index = {name: i for i, name in enumerate(model.system.coordinate_names)}
    velocities = model.system.indices.velocities_of_coordinate
    q, u, moved = np.array(q, dtype=float), np.array(u, dtype=float), set()
    for coordinate in (c for c in model.coordinates if not c.free and c.name in index):
        u[..., list(velocities(coordinate.name))] = 0.0
        if coordinate.prescribed is not None and not coordinate.locked:
            q[..., index[coordinate.name]] = coordinate.prescribed.value(np.asarray(time))
            u[..., list(velocities(coordinate.name))] = coordinate.prescribed.slope(np.asarray(time))
            moved.add(coordinate.name)
    for coupler in in_order(model.couplers):
        if coupler.independent in moved and coupler.dependent in index:
            driver, function = q[..., index[coupler.independent]], coupler.function
            q[..., index[coupler.dependent]] = coupler.scale * function.value(driver)
            rate = u[..., list(velocities(coupler.independent))]
            u[..., list(velocities(coupler.dependent))] = coupler.scale * function.slope(driver)[..., None] * rate
            moved.add(coupler.dependent)
    return q, u


def as_constraint(coupler: Coupler) -> CoordinateCoupler:
    """The constraint that a coupler is."""
    return CoordinateCoupler(coupler.dependent, coupler.independent, coupler.function, coupler.scale, name=coupler.name)
