"""InverseDynamicsTool."""

from collections.abc import Callable
from dataclasses import replace

from myoquat.analysis.motion.angle_smoothing import smooth_angles
from myoquat.analysis.motion.inverse_dynamics import inverse_dynamics_of_motion
from myoquat.apps.opensim_tools.moved import cut_motion, loaded_motion, loads_at, warn_of_missing_times
from myoquat.apps.opensim_tools.outputs import Outputs
from myoquat.data import load_model
from myoquat.data.setups import InverseDynamicsSetup
from myoquat.joints.errors import ModelError

__all__ = ["run_inverse_dynamics"]


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
    moving = smooth_angles(loaded_motion(setup.coordinates, model, in_degrees=True), setup.cutoff)
    _, motion = cut_motion(moving, setup.times, setup.path)
    warn_of_missing_times(moving.time, setup.times, setup.path)
    torques = inverse_dynamics_of_motion(model, motion, loads_at(setup.loads, motion.time)).of_coordinates()
    tell(f"{len(torques)} frames, {len(torques.columns)} generalized forces")
    outputs.table(setup.output, torques, "Inverse Dynamics Generalized Forces", False)
