"""ForceReporter: what muscles, actuators, springs, limits and contacts give, by the names of OpenSim's columns."""

from dataclasses import replace

import numpy as np
import pandas as pd

from myoquat.apps.opensim_tools.analyses.moving import Moving, note
from myoquat.apps.opensim_tools.outputs import Outputs
from myoquat.core.typing import Array
from myoquat.data.setups.analyses import ForceReporterSetup
from myoquat.joints.vectors import cross
from myoquat.muscle import force_wrenches
from myoquat.muscle.actuators import ScalarActuator
from myoquat.muscle.actuators.base import with_controls
from myoquat.muscle.forces import CoordinateSpring, HuntCrossley
from myoquat.muscle.limits import CoordinateLimit

__all__ = ["force_reporter"]

COLUMNS = [f"{quantity}.{axis}" for quantity in ("force", "torque") for axis in "XYZ"]


def force_reporter(moving: Moving, setup: ForceReporterSetup, outputs: Outputs) -> None:
    """Note the file of forces. Forces of muscles need their states; forces without a column are reported."""
    if setup.constraints:
        note(f"{setup.name}: forces of constraints are left out")
    if any(body.stiffness or body.damping for body in moving.model.system.bodies):
        note(f"{setup.name}: springs and dampers of whole joints are left out: they have no names here")
    rows = moving.rows(setup.interval)
    found = _of_muscles(moving, rows) | _of_actuators(moving, rows) | _of_coordinates(moving, rows)
    for force in moving.model.forces:
        if isinstance(force, HuntCrossley):
            found |= _of_contact(moving, rows, force)
        elif not isinstance(force, CoordinateSpring):
            note(f"{setup.name}: {force.element} is left out")
    table = pd.DataFrame(found, pd.Index(moving.motion.time[rows], name="time"))
    outputs.table(moving.file(setup.name, "forces"), table, "ForceReporter", False)


def _of_muscles(moving: Moving, rows: Array) -> dict[str, Array]:
    tensions = moving.tensions
    if tensions is None:
        note("forces of the muscles are left out: their states are not in the file")
        return {}
    return dict(zip(moving.model.muscle_names, tensions[rows].T, strict=True))


def _of_actuators(moving: Moving, rows: Array) -> dict[str, Array]:
    """Of those with one control."""
    return {
        actuator.name: actuator.optimal_force * moving.controls[rows, own.start]
        for actuator, own in with_controls(moving.model.actuators)
        if isinstance(actuator, ScalarActuator)
    }


def _of_coordinates(moving: Moving, rows: Array) -> dict[str, Array]:
    """Springs and limits of single coordinates of the file's own angles."""
    model, motion = moving.model, moving.motion
    names = model.system.coordinate_names
    springs = [force for force in model.forces if isinstance(force, CoordinateSpring)]
    acting: list[CoordinateSpring | CoordinateLimit] = [*springs, *model.limits]
    assert motion.u is not None
    found: dict[str, Array] = {}
    for force in acting:
        if force.coordinate in names and model.system.nq == model.system.nu:
            k = names.index(force.coordinate)
            found[force.name] = force.force(motion.q[rows, k], motion.u[rows, k])
        else:
            note(f"the force {force.name!r} is left out: its coordinate is no angle meanwhile")
    return found


def _of_contact(moving: Moving, rows: Array, force: HuntCrossley) -> dict[str, Array]:
    """The force and the torque about its origin on the body of every surface, in world axes."""
    model, motion = moving.model, moving.motion
    system = model.system
    assert motion.u is not None
    q, u, time = motion.q[rows], motion.u[rows], motion.time[rows]
    wrenches = force_wrenches(replace(model, forces=(force,)), q, u, time)
    poses = system.poses(q)
    p = np.stack([np.broadcast_to(poses[name][1], (len(rows), 3)) for name in system.body_names], axis=-2)
    push, turn = wrenches[..., :3], wrenches[..., 3:]
    on_ground = -np.concatenate([push.sum(axis=-2), (turn + cross(p, push)).sum(axis=-2)], axis=-1)
    found: dict[str, Array] = {}
    for body in [surface.body for material in force.materials for surface in material.surfaces]:
        own = on_ground if body == system.ground else wrenches[:, system.body_names.index(body)]
        found |= dict(zip([f"{force.name}.{body}.{part}" for part in COLUMNS], own.T, strict=True))
    return found
