"""Compliant stops at the ends of a model's coordinate ranges."""

from dataclasses import replace
from numbers import Real

import numpy as np

from myoquat.core.arguments import check_type
from myoquat.dynamics import inverse_mass_matrix
from myoquat.muscle.limits import CoordinateLimit
from myoquat.muscle.model import Model

__all__ = ["with_joint_stops"]

TURN_PER_STEP = 0.4  # natural frequency of a stop times the step of the integrator, far below the stability bound 2
DAMPING_RATIO = 0.5
TRANSITION = 0.01  # [rad or m] over which a stop sets in


def with_joint_stops(model: Model, step: float) -> Model:
    """The model with a compliant stop at both ends of each coordinate range that has no limit yet.

    step: [s] of the integrator. Stiffness and damping are as high as it resolves: k = A (0.4 / step)^2 and c = A 0.4 /
    step. A = 1 / (M^-1)_jj is the effective inertia of the coordinate at the start. MuJoCo's own stops are soft
    constraints; these are forces of about the same stiffness. Angles that quaternions have replaced get none.

    >>> import myoquat as mq
    >>> from myoquat.environments import with_joint_stops
    >>> from myoquat.muscle.coordinates import Coordinate
    >>> hinge = mq.joints.RevoluteJoint((0, 0, 1))
    >>> bar = mq.Body("bar", "ground", hinge, mass=1.0, inertia=(1.0, 1.0, 1.0, 0, 0, 0), coordinate_names=("turn",))
    >>> model = mq.Model(mq.ArticulatedSystem((bar,)), (), coordinates=(Coordinate("turn", (0.0, 1.0)),))
    >>> with_joint_stops(model, 0.002).limits[0].upper_stiffness  # of the inertia 1 kg m^2 [N m/rad]
    40000.0
    """
    check_type("model", model, Model)
    if not (isinstance(step, Real) and 0 < step < np.inf):
        raise ValueError(f"step must be a positive number [s], not {step!r}")
    system = model.system
    inertia = 1.0 / np.diagonal(np.asarray(inverse_mass_matrix(model, model.start)))
    column = {name.removesuffix("_dot"): k for k, name in enumerate(system.velocity_names)}
    limited = {limit.coordinate for limit in model.limits if isinstance(limit, CoordinateLimit)}
    frequency, stops = TURN_PER_STEP / step, []
    for coordinate in model.coordinates:
        name = coordinate.name
        if coordinate.range is None or name in limited or name not in column:
            continue
        low, high = coordinate.range
        size = float(inertia[column[name]])
        stiffness = size * frequency**2
        stops.append(
            CoordinateLimit(f"{name}_stop", name, low, high, stiffness, stiffness, TRANSITION,
                            2 * DAMPING_RATIO * size * frequency)
        )  # fmt: skip
    return replace(model, limits=(*model.limits, *stops))
