"""JointReaction: what the joints carry."""

from pathlib import Path

import numpy as np
import pandas as pd

from myoquat.analysis.recruitment.joint_loads import SIDES, JointLoads
from myoquat.apps.opensim_tools.analyses.moving import Moving, note
from myoquat.apps.opensim_tools.outputs import Outputs
from myoquat.core.typing import Array
from myoquat.data.document import last_name
from myoquat.data.motions import load_table
from myoquat.data.motions.series import interpolated
from myoquat.data.osim.read import read_frame
from myoquat.data.setups.analyses import JointReactionSetup
from myoquat.joints.errors import ModelError, in_file
from myoquat.joints.vectors import vecmat
from myoquat.muscle.actuators import ScalarActuator

__all__ = ["joint_reaction"]


def joint_reaction(moving: Moving, setup: JointReactionSetup, outputs: Outputs) -> None:
    """Note the file of the reactions."""
    found = moving.joint_loads(*_forces(moving, setup))
    table = _reactions(found, setup, moving).iloc[moving.rows(setup.interval)]
    path = moving.file(setup.name, "ReactionLoads")
    outputs.table(path, table, "Joint Reaction Loads", False)


def _forces(moving: Moving, setup: JointReactionSetup) -> tuple[Array | pd.DataFrame | None, Array]:
    """Tensions of the muscles, and controls of the model's actuators: those in the setup's file, else those of the
    states."""
    model, motion = moving.model, moving.motion
    if setup.forces is None:
        tensions = moving.tensions
        if tensions is None:
            message = "JointReaction of a model with muscles needs <forces_file>, tensions by muscle, or their states"
            raise ModelError(message, file=moving.setup.path)
        return (tensions if tensions.size else None), moving.controls
    forces = _at(setup.forces, motion.time)
    return (forces if model.muscles else None), _controls(moving, forces)


def _at(path: Path, time: Array) -> pd.DataFrame:
    """The columns of a file at other times; at its ends half a step further, since resampled files end there."""
    table = load_table(path)
    given = table.index.to_numpy(dtype=float)
    half = np.diff(given).max(initial=0.0) / 2
    if len(time) and (not len(given) or time[0] < given[0] - half or time[-1] > given[-1] + half):
        message = f"forces are needed from {time[0]:g} to {time[-1]:g} s"
        raise ModelError(
            f"{message}, and given from {given[0]:g} to {given[-1]:g} s" if len(given) else message, file=path
        )
    at = np.clip(time, *given[[0, -1]]) if len(given) else time
    values = interpolated(given, table.to_numpy(dtype=float), at, np.inf)
    return pd.DataFrame(values, columns=table.columns)


def _controls(moving: Moving, forces: pd.DataFrame) -> Array:
    """(t, k) the controls at which actuators give the forces in the file; those of several controls are left out by
    name."""
    model, motion = moving.model, moving.motion
    controls = np.zeros((len(motion.time), len(model.control_names)))
    for actuator in model.actuators:
        if actuator.name not in forces:
            continue
        if not isinstance(actuator, ScalarActuator):
            note(f"the actuator {actuator.name!r} is left out: it has several controls")
            continue
        controls[:, model.control_names.index(actuator.name)] = forces[actuator.name] / actuator.optimal_force
    return controls


def _reactions(found: JointLoads, setup: JointReactionSetup, moving: Moving) -> pd.DataFrame:
    joints = found.joints if setup.joints == ("all",) else setup.joints
    sides, frames = (w if len(w) > 1 else w * len(joints) for w in (setup.sides, setup.frames))
    try:
        parts = [_reaction(found, joint, side, frame, moving)
                 for joint, side, frame in zip(joints, sides, frames, strict=True)]  # fmt: skip
    except ModelError:
        raise
    except ValueError as error:
        raise in_file(error, moving.setup.path) from None
    return pd.concat(parts, axis=1)


def _reaction(found: JointLoads, joint: str, side: str, name: str, moving: Moving) -> pd.DataFrame:
    """The columns of a joint in a frame.

    The frame is a body, the ground, "child" or "parent". It may also be fixed to a body, such as the frame
    "knee/tibia_offset" of a joint.
    """
    system = moving.model.system
    if "/" not in name.strip("/") and last_name(name) in (*SIDES, system.ground, *system.body_names):
        return found.to_dataframe([joint], on=side, frame=last_name(name))
    frame = read_frame(moving.setup.model, name)
    table = found.to_dataframe([joint], on=side, frame=frame.body)
    force, moment, point = np.split(table.to_numpy(), 3, axis=1)
    table[:] = np.concatenate([vecmat(x, frame.R) for x in (force, moment, point - frame.p)], axis=1)
    end = len("_fx")
    return table.rename(columns=lambda label: f"{label[: -end - len(frame.body)]}{last_name(name)}{label[-end:]}")
