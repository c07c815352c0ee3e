"""Forces of actuators at their controls: forces on bodies, which joints pass on, and generalized forces at joints."""

from dataclasses import replace

import numpy as np

from myoquat.core.typing import Array
from myoquat.data.motions import Motion
from myoquat.muscle import actuator_forces
from myoquat.muscle.actuators import ScalarActuator
from myoquat.muscle.actuators.base import with_controls
from myoquat.muscle.loads import body_wrenches
from myoquat.muscle.model import Model

__all__ = ["actuated"]


def actuated(model: Model, motion: Motion, controls: Array) -> tuple[Array | None, Array | None]:
    """Generalized forces (t, nu) of actuators on coordinates, and wrenches (t, bodies, 6) of actuators on bodies.

    Wrenches are at the bodies' origins in world axes. The actuators have the controls (t, k). None where there are no
    forces.
    """
    if not controls.any():
        return None, None
    assert motion.u is not None
    system, poses = model.system, model.system.poses(motion.q)
    loads, at_joints = [], controls.copy()
    for actuator, columns in with_controls(model.actuators):
        if not actuator.in_joints:
            loads += actuator.loads(poses, actuator.scaled(controls[:, columns]))
            at_joints[:, columns] = 0.0
    free = tuple(replace(a, lower=-np.inf, upper=np.inf) if isinstance(a, ScalarActuator) else a
                 for a in model.actuators)  # fmt: skip
    torque = actuator_forces(replace(model, actuators=free, inputs=()), motion.q, motion.u, at_joints)
    wrenches = body_wrenches(system, motion.q, loads) if loads else None
    return (torque if at_joints.any() else None), wrenches
