"""Actuation: forces, speeds and powers of muscles and of actuators with one control."""

import numpy as np
import pandas as pd

from myoquat.apps.opensim_tools.analyses.moving import Moving, note
from myoquat.apps.opensim_tools.outputs import Outputs
from myoquat.core.typing import Array
from myoquat.data.setups.analyses import ActuationSetup
from myoquat.joints.vectors import matvec
from myoquat.muscle import path_jacobian
from myoquat.muscle.actuators import ScalarActuator
from myoquat.muscle.actuators.base import with_controls

__all__ = ["actuation"]

Columns = dict[str, tuple[Array, Array, Array]]  # force, speed and power (k,) by name


def actuation(moving: Moving, setup: ActuationSetup, outputs: Outputs) -> None:
    """Note the files of forces, speeds and powers: of muscles only where their states are known."""
    rows = moving.rows(setup.interval)
    found = _muscle_actuation(moving, rows) | _actuator_actuation(moving, rows)
    index = pd.Index(moving.motion.time[rows], name="time")
    for k, (ending, title) in enumerate((("force", "Forces"), ("speed", "Speeds"), ("power", "Powers"))):
        path = moving.file(setup.name, ending)
        table = pd.DataFrame({name: parts[k] for name, parts in found.items()}, index)
        outputs.table(path, table, f"Actuator{title}", False)


def _muscle_actuation(moving: Moving, rows: Array) -> Columns:
    """Tension, speed at which the path grows longer, and the power that the tension gives, -F dl/dt."""
    model, motion, tensions = moving.model, moving.motion, moving.tensions
    if tensions is None:
        note("forces, speeds and powers of the muscles are left out: their states are not in the file")
        return {}
    assert motion.u is not None
    speeds = matvec(path_jacobian(model, motion.q[rows]), motion.u[rows])
    columns = zip(model.muscle_names, tensions[rows].T, speeds.T, strict=True)
    return {name: (F, rate, -F * rate) for name, F, rate in columns}


def _actuator_actuation(moving: Moving, rows: Array) -> Columns:
    """Force or torque at the controls, the speed that it acts along, and their product: the power."""
    model, motion = moving.model, moving.motion
    assert motion.u is not None
    found: Columns = {}
    for actuator, own in with_controls(model.actuators):
        if isinstance(actuator, ScalarActuator):
            unit = np.full((len(rows), 1), 1 / actuator.optimal_force)
            speed = (actuator.force(model.system, motion.q[rows], unit) * motion.u[rows]).sum(axis=-1)
            force = actuator.optimal_force * moving.controls[rows, own.start]
            found[actuator.name] = force, speed, force * speed
        else:
            note(f"the actuator {actuator.name!r} is left out: it has more than one control")
    return found
