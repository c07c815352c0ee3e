"""Motions assembled on a model's couplers and constraints, dependent coordinates first, and the check of a motion.

Smoothing changes all free coordinates alike: `myoquat.analysis.motion.smoothing`.
"""

from dataclasses import replace

import numpy as np

from myoquat.analysis.motion.smoothing import differentiate, with_consistent_rates
from myoquat.core import check_types
from myoquat.data.motions import Motion, MotionLike, motion_of
from myoquat.dynamics.constraints import ConstraintArrays, Constraints, assemble, constraints_of
from myoquat.dynamics.constraints.assemble import mobilities
from myoquat.joints.conversion.balls import on_branches_of
from myoquat.joints.vectors import matvec
from myoquat.muscle.model import Model

MAX_VIOLATION = 1e-6  # of a position [m, rad], or of a rate relative to 1 and the greatest velocity


def consistent_motion(model: Model, motion: MotionLike) -> Motion:
    """The motion on the model's couplers and constraints.

    Every pose is brought there by `assemble`. The rates, where there are any, get the smallest changes after which A u
    = 0 and A udot = b. Dependent coordinates change first.

    A motion whose poses are moved needs its derivatives anew: `consistent_derivatives`. Raises AssemblyError for poses
    that cannot be brought there.

    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import consistent_motion
    >>> from myoquat.data import Motion
    >>> from myoquat.dynamics.constraints import CoordinateCoupler
    >>> bodies = [mq.Body(name, "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=1.0) for name in ("a", "b")]
    >>> couple = CoordinateCoupler("b.position", "a.position")
    >>> model = mq.Model(mq.ArticulatedSystem(tuple(bodies)), constraints=(couple,))
    >>> still = [[0.0, 0.0]] * 2
    >>> consistent_motion(model, Motion(model, [0.0, 0.1], [[0.1, 0.1], [0.2, 0.18]], still, still)).q.round(3)
    array([[0.1, 0.1],
           [0.2, 0.2]])
    """
    check_types(model=(model, Model))
    motion = motion_of(motion)
    model = on_branches_of(model, motion.system)
    constraints = constraints_of(model)
    if not constraints:
        return motion
    motion = replace(motion, q=assemble(model, motion.q, time=motion.time))
    if motion.u is None:
        return motion
    return with_consistent_rates(ConstraintArrays(Constraints(model.system, constraints)), motion, mobilities(model))


def consistent_derivatives(model: Model, motion: MotionLike) -> Motion:
    """The motion on the model's couplers and constraints, with u and udot that belong to the moved poses.

    Poses come first, then their derivatives (`differentiate`), then the least changes that make these exact.

    Raises ValueError as `consistent_motion` and `differentiate` do.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import consistent_derivatives
    >>> from myoquat.data import Motion
    >>> from myoquat.dynamics.constraints import CoordinateCoupler
    >>> bodies = [mq.Body(name, "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=1.0) for name in ("a", "b")]
    >>> couple = CoordinateCoupler("b.position", "a.position")
    >>> model = mq.Model(mq.ArticulatedSystem(tuple(bodies)), constraints=(couple,))
    >>> time = np.linspace(0.0, 1.0, 21)
    >>> motion = consistent_derivatives(model, Motion(model, time, np.stack([time**2, 0 * time], axis=1)))
    >>> motion.u[10].round(9), motion.udot[10].round(9)  # b follows a
    (array([1., 1.]), array([2., 2.]))
    """
    check_types(model=(model, Model))
    motion = motion_of(motion)
    poses = consistent_motion(model, replace(motion, u=None, udot=None))
    return consistent_motion(model, differentiate(poses))


def check_consistent(model: Model, motion: Motion) -> None:
    """ValueError, with the frame, for a motion off the model's couplers and constraints by more than 1e-6, or one that
    moves a locked coordinate."""
    constraints, q, u, udot = constraints_of(model), motion.q, motion.speeds, motion.accelerations
    check_locked(model, motion)
    if not constraints or not len(motion.time):
        return
    held = ConstraintArrays(Constraints(model.system, constraints))
    size = 1 + np.abs(u).max(axis=-1, keepdims=True) ** 2 + np.abs(udot).max(axis=-1, keepdims=True)
    off = {
        "position": held.position(q, motion.time),
        "velocity": held.rate(q, u, motion.time) / size,
        "acceleration": (matvec(held.jacobian(q, motion.time), udot) - held.bias(q, u, motion.time)) / size,
    }
    for name, values in off.items():
        worst = float(np.abs(values).max(initial=0.0))
        if not worst <= MAX_VIOLATION:
            frame = int(np.unravel_index(np.argmax(np.abs(values)), values.shape)[0])
            raise ValueError(
                f"frame {frame} of the motion is off the model's couplers and constraints: a {name} by {worst:.3g}, "
                f"allowed is {MAX_VIOLATION:g}; consistent_motion(model, motion) brings it there"
            )


def check_locked(model: Model, motion: Motion) -> None:
    """ValueError, with the time, for a locked coordinate that a motion with u and udot moves."""
    u, udot, system = motion.speeds, motion.accelerations, model.system
    for coordinate in model.coordinates:
        if coordinate.locked and coordinate.name in system.coordinate_names:
            rows = list(system.indices.velocities_of_coordinate(coordinate.name))
            moving = np.abs(np.concatenate([u[:, rows], udot[:, rows]], axis=1)).max(axis=1, initial=0.0)
            if (moving > MAX_VIOLATION).any():
                first = motion.time[np.argmax(moving > MAX_VIOLATION)]
                raise ValueError(
                    f"coordinate {coordinate.name!r} is locked, but the motion moves it (first at {first:g} s); free "
                    "it in the model, or keep it still in the motion"
                )
