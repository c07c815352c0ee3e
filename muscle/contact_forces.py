"""What bodies do to each other where they touch, on batches of states through compiled kernels."""

import numpy as np

from myoquat.core.arguments import check_types
from myoquat.core.typing import Array, ArrayLike
from myoquat.joints.vectors import joined
from myoquat.muscle.acting import check_placed, wrenches
from myoquat.muscle.argument_validation import MuscleCall
from myoquat.muscle.forces import Contact, ContactForce
from myoquat.muscle.model import Model

__all__ = ["contact_forces", "contact_pairs", "force_wrenches"]


def contact_pairs(model: Model) -> tuple[tuple[str, str, str], ...]:
    """(force, first surface, second surface) by name of every pair of surfaces that can touch.

    >>> import myoquat as mq
    >>> from myoquat.muscle.forces import ContactHalfSpace, ContactMaterial, ContactSphere, HuntCrossley
    >>> ball = mq.Body("ball", "ground", mq.joints.PrismaticJoint((0, 1, 0)), mass=1.0)
    >>> rubber = ContactMaterial((ContactSphere("round", "ball", radius=0.1), ContactHalfSpace("floor", "ground")), 1e6)
    >>> model = mq.Model(mq.ArticulatedSystem((ball,)), forces=(HuntCrossley("contact", (rubber,)),))
    >>> mq.muscle.contact_pairs(model)
    (('contact', 'floor', 'round'),)
    """
    check_types(model=(model, Model))
    found = [force for force in model.forces if isinstance(force, ContactForce)]
    return tuple((force.name, first.name, second.name) for force in found for first, second in force.pairs)


def contact_forces(
    model: Model, q: ArrayLike, u: ArrayLike, *, out: np.ndarray | None = None, backend: str = "kernel"
) -> Array:
    """(..., k, 7) force (3) [N], point (3) [m] and pressure [N] of every pair of `contact_pairs`.

    The force on the second surface's body acts at the point, both in world axes. The pressure is the force's part along
    the normal. Forces are zero where surfaces are apart. Raises ValueError as `path_lengths` does.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.joints.types import PrismaticJoint
    >>> from myoquat.muscle.forces import ContactHalfSpace, ContactMaterial, ContactSphere, HuntCrossley
    >>> body = mq.Body("ball", "ground", PrismaticJoint((0, 1, 0)), mass=1.0)
    >>> rubber = ContactMaterial((ContactSphere("round", "ball", radius=0.1), ContactHalfSpace("floor", "ground")), 1e6)
    >>> model = mq.Model(mq.ArticulatedSystem((body,)), forces=(HuntCrossley("contact", (rubber,)),))
    >>> mq.muscle.contact_forces(model, [[0.099], [0.101]], [0.0])[:, 0].round(2)
    array([[ 0.  ,  4.71,  0.  ,  0.  , -0.  ,  0.  ,  4.71],
           [ 0.  ,  0.  ,  0.  ,  0.  ,  0.  ,  0.  ,  0.  ]])
    """
    check_types(model=(model, Model))
    found = [force for force in model.forces if isinstance(force, ContactForce)]
    system = model.system

    def formula(q: Array, u: Array) -> Array:
        poses = system.poses(q)
        shifts = system.shifts(q, u, poses, system.ground)
        rows = [_row(contact) for force in found for contact in force.contacts(poses, shifts)]
        return np.stack(np.broadcast_arrays(*rows, subok=True), axis=-2) if rows else np.zeros((*q.shape[:-1], 0, 7))

    return MuscleCall(model).q(q).u(u).run_muscles("contact_forces", formula, 2, out, backend)


def force_wrenches(
    model: Model,
    q: ArrayLike,
    u: ArrayLike,
    time: ArrayLike | None = None,
    *,
    out: np.ndarray | None = None,
    backend: str = "kernel",
) -> Array:
    """(..., bodies, 6) forces [N] and torques [N m] of the model's passive forces on the bodies at their origins.

    They are in world axes, and come from contacts, prescribed forces, springs and bushings. They are external wrenches
    f_ext with the generalized forces that are part of `limit_torques`. Forces on coordinates act within joints, on no
    body. Raises ValueError as `limit_torques` does.

    >>> import myoquat as mq
    >>> from myoquat.muscle.forces import ContactHalfSpace, ContactMaterial, ContactSphere, HuntCrossley
    >>> ball = mq.Body("ball", "ground", mq.joints.PrismaticJoint((0, 1, 0)), mass=1.0)
    >>> rubber = ContactMaterial((ContactSphere("round", "ball", radius=0.1), ContactHalfSpace("floor", "ground")), 1e6)
    >>> model = mq.Model(mq.ArticulatedSystem((ball,)), forces=(HuntCrossley("contact", (rubber,)),))
    >>> mq.muscle.force_wrenches(model, [0.099], [0.0])[0].round(2) + 0.0  # the floor lifts the ball
    array([0.  , 4.71, 0.  , 0.  , 0.  , 0.  ])
    """
    check_types(model=(model, Model))
    check_placed(model)
    call = MuscleCall(model).q(q).u(u).time(time)
    return call.run_muscles("force_wrenches", call.at_instant(wrenches), 2, out, backend)


def _row(contact: Contact) -> Array:
    """(..., 7) of one contact."""
    return joined([contact.force, contact.point, contact.pressure[..., None]])
