"""Ground reactions: what the ground does to the bodies that touch it, over a motion."""

import numpy as np

from myoquat.core import check_types
from myoquat.data import motions
from myoquat.data.motions.motion import check_motion
from myoquat.muscle import Model, contact_forces
from myoquat.muscle.forces import ContactForce


def ground_reactions(model: Model, motion: "motions.MotionLike") -> "motions.Forces":
    """The loads '<body>_ground' of the model's contacts on every body that has a surface to touch the ground with.

    force   [N] the sum over its contacts
    point   [m] their mean, weighted with the pressures: on one plane the center of pressure, and the origin where
            nothing touches
    torque  [N m] the moment about this point, on a plane the free one

    All are in the axes of the ground. `Forces.save` writes them. Raises ValueError for a batch of runs, a motion
    without velocities, and a model without contacts to the ground.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.data import Motion
    >>> from myoquat.muscle.forces import ContactHalfSpace, ContactMaterial, ContactSphere, HuntCrossley
    >>> ball = mq.Body("ball", "ground", mq.joints.PrismaticJoint((0, 1, 0)), mass=1.0)
    >>> surfaces = ContactSphere("round", "ball", radius=0.1), ContactHalfSpace("floor", "ground")
    >>> force = HuntCrossley("contact", (ContactMaterial(surfaces, stiffness=1e6),))
    >>> model = mq.Model(mq.ArticulatedSystem((ball,)), forces=(force,))
    >>> motion = Motion(model, [0.0, 0.1], [[0.099], [0.098]], [[0.0], [0.0]])
    >>> mq.dynamics.ground_reactions(model, motion).force[:, 0, 1].round(2)
    array([ 4.71, 13.33])
    """
    check_types(model=(model, Model))
    check_motion(motion)
    if motion.u is None or motion.q.ndim != 2:
        raise ValueError("ground_reactions: the motion of one run, with velocities u, is needed")
    ends = _on_ground(model)
    if not ends:
        raise ValueError("ground_reactions: the model has no contact between a body and the ground")
    moving = np.isfinite(motion.q).all(axis=-1)
    found = contact_forces(model, motion.q[moving], motion.u[moving])
    bodies = tuple(dict.fromkeys(body for _, body, _ in ends))
    loads = []
    for body in bodies:
        rows = found[:, [k for k, b, _ in ends if b == body]]
        force = rows[..., :3] * np.array([sign for _, b, sign in ends if b == body])[:, None]
        pressure = rows[..., 6]
        total = pressure.sum(axis=-1, keepdims=True)
        share = np.divide(pressure, total, out=np.zeros_like(pressure), where=total != 0)
        point = np.sum(share[..., None] * rows[..., 3:6], axis=-2)
        moment = np.sum(np.cross(rows[..., 3:6] - point[:, None], force), axis=-2)
        loads.append((force.sum(axis=-2), point, moment))
    names = tuple(f"{body}_ground" for body in bodies)
    force, point, moment = (np.stack(part, axis=1) for part in zip(*loads, strict=True))
    return motions.Forces(motion.time[moving], names, bodies, force, point, moment)


def _on_ground(model: Model) -> list[tuple[int, str, float]]:
    """(number, body, sign) of every contact of a body with the ground: 1 where the body is the second of the pair."""
    ground = model.system.ground
    pairs = [pair for force in model.forces if isinstance(force, ContactForce) for pair in force.pairs]
    found = []
    for k, (first, second) in enumerate(pairs):
        if ground in (first.body, second.body):
            found.append((k, second.body, 1.0) if first.body == ground else (k, first.body, -1.0))
    return found
