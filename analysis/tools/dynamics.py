"""InverseDynamicsTool, and AnalyzeTool with its JointReaction."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from myoquat.analysis.motion.angle_smoothing import smooth_angles
from myoquat.analysis.motion.inverse_dynamics import inverse_dynamics_of_motion
from myoquat.analysis.muscles.joint_loads import JointLoads, joint_loads
from myoquat.analysis.tools.kinematics import rows_between
from myoquat.analysis.tools.outputs import Outputs
from myoquat.data import load_model
from myoquat.data.motions import Motion, load_forces, load_motion, load_table
from myoquat.data.motions.series import interpolated
from myoquat.data.setups import AnalyzeSetup, InverseDynamicsSetup, JointReactionSetup
from myoquat.joints.errors import ModelError
from myoquat.muscle.model import Model

__all__ = ["run_analyze", "run_inverse_dynamics"]


def run_inverse_dynamics(
    setup: InverseDynamicsSetup, outputs: Outputs, rotations: str, tell: Callable[[str], None]
) -> None:
    """Find the generalized forces and note their file."""
    model = load_model(setup.model, rotations)
    words = {word.lower() for word in setup.excluded}
    if model.muscles and not words & {"muscles", "all"}:
        raise ModelError(
            "<forces_to_exclude> must name muscles: inverse dynamics here leaves them out", file=setup.path
        )
    if "all" in words:
        model = replace(model, limits=())
    motion = _cut(smooth_angles(_loaded(setup.coordinates, model), setup.cutoff), setup.times)
    loads = None if setup.loads is None else load_forces(setup.loads)
    torques = inverse_dynamics_of_motion(model, motion, loads).of_coordinates()
    tell(f"{len(torques)} frames, {len(torques.columns)} generalized forces")
    outputs.table(setup.output, torques, "Inverse Dynamics Generalized Forces", False)


def run_analyze(setup: AnalyzeSetup, outputs: Outputs, rotations: str, tell: Callable[[str], None]) -> None:
    """Run the analyses of a motion and note their files."""
    model = load_model(setup.model, rotations)
    if setup.coordinates is not None:
        motion = smooth_angles(_loaded(setup.coordinates, model), setup.cutoff)
    else:
        assert setup.states is not None
        motion = load_motion(setup.states, model, start=model.start)
    motion = _cut(motion, setup.times)
    forward = Motion(motion.system, motion.time, motion.q, motion.u)  # accelerations are those that the forces cause
    loads = None if setup.loads is None else load_forces(setup.loads)
    for reaction in setup.reactions:
        found = joint_loads(model, forward, _tensions(model, motion, reaction, setup.path), loads)
        table = _reactions(found, reaction, setup.path)
        tell(f"{reaction.name}: {len(table)} frames, {len(table.columns) // 9} joints")
        path = setup.results / f"{setup.name}_{reaction.name}_ReactionLoads.sto"
        outputs.table(path, table, "Joint Reaction Loads", False)


def _loaded(path: Path, model: Model) -> Motion:
    """The motion in a file of coordinates; what it does not hold keeps its start, as in OpenSim, and columns of other
    models are passed over."""
    table = load_table(path)
    own = {*model.system.coordinate_names, *model.system.angle_names}
    names = [str(label) for label in table.columns]
    ignore = [name for name in names if name.rpartition("/")[2] not in own and name.split("/")[-2:-1] == []]
    kept = [name for name in names if name not in ignore]
    if not kept:
        raise ModelError("no column is a coordinate of the model", file=path)
    in_degrees = table.attrs.get("in_degrees")
    return load_motion(path, model, in_degrees=True if in_degrees is None else None, start=model.start, ignore=ignore)


def _cut(motion: Motion, times: tuple[float, float]) -> Motion:
    rows = rows_between(motion.time, *times)
    u, udot = (None if x is None else x[rows] for x in (motion.u, motion.udot))
    return Motion(motion.system, motion.time[rows], motion.q[rows], u, udot)


def _tensions(model: Model, motion: Motion, setup: JointReactionSetup, path: Path) -> pd.DataFrame | None:
    if setup.forces is not None:
        table = load_table(setup.forces)
        values = interpolated(table.index.to_numpy(dtype=float), table.to_numpy(dtype=float), motion.time, np.inf)
        return pd.DataFrame(values, columns=table.columns)
    if model.muscles:
        raise ModelError("JointReaction of a model with muscles needs <forces_file>: tensions by muscle", file=path)
    return None


def _reactions(found: JointLoads, setup: JointReactionSetup, path: Path) -> pd.DataFrame:
    joints = found.joints if setup.joints == ("all",) else setup.joints
    sides, frames = (w if len(w) > 1 else w * len(joints) for w in (setup.sides, setup.frames))
    try:
        parts = [found.to_dataframe([joint], on=side, frame=frame)
                 for joint, side, frame in zip(joints, sides, frames, strict=True)]  # fmt: skip
    except ValueError as error:
        raise ModelError(str(error), file=path) from None
    return pd.concat(parts, axis=1)
