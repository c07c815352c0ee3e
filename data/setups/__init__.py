"""Setup files of OpenSim's tools, .xml, as records: what they name, each with its line, and nothing run."""

from collections.abc import Callable
from pathlib import Path

from myoquat.data.setups.analyses import AnalyzeSetup, read_analyze
from myoquat.data.setups.control import CmcSetup, RraSetup, Task, read_cmc, read_rra
from myoquat.data.setups.document import SetupDocument, open_setup
from myoquat.data.setups.motion import (
    ForwardSetup,
    InverseDynamicsSetup,
    InverseKinematicsSetup,
    SensorPlacerSetup,
    SensorTrackingSetup,
    read_forward,
    read_inverse_dynamics,
    read_inverse_kinematics,
    read_sensor_placer,
    read_sensor_tracking,
)
from myoquat.data.setups.scale import ScaleSetup, read_scale
from myoquat.joints.errors import ModelError, errors_in

__all__ = [
    "SETUPS",
    "AnalyzeSetup",
    "CmcSetup",
    "ForwardSetup",
    "InverseDynamicsSetup",
    "InverseKinematicsSetup",
    "RraSetup",
    "ScaleSetup",
    "SensorPlacerSetup",
    "SensorTrackingSetup",
    "Setup",
    "Task",
    "read_setup",
]

Setup = (
    ScaleSetup
    | InverseKinematicsSetup
    | InverseDynamicsSetup
    | AnalyzeSetup
    | CmcSetup
    | RraSetup
    | ForwardSetup
    | SensorPlacerSetup
    | SensorTrackingSetup
)

SETUPS: dict[str, Callable[[SetupDocument], Setup]] = {
    "ScaleTool": read_scale,
    "InverseKinematicsTool": read_inverse_kinematics,
    "InverseKinemtaticsTool": read_inverse_kinematics,  # spelt so in examples of OpenSim
    "InverseDynamicsTool": read_inverse_dynamics,
    "AnalyzeTool": read_analyze,
    "CMCTool": read_cmc,
    "RRATool": read_rra,
    "ForwardTool": read_forward,
    "IMUPlacer": read_sensor_placer,
    "IMUInverseKinematicsTool": read_sensor_tracking,
}


def read_setup(path: str | Path, anywhere: bool = False, model: str | Path | None = None) -> Setup:
    """The setup in a file of one of OpenSim's tools.

    The tools are ScaleTool, InverseKinematicsTool, InverseDynamicsTool, AnalyzeTool, CMCTool, RRATool, ForwardTool,
    IMUPlacer and IMUInverseKinematicsTool. Files that it names are looked for from its own folder.

    anywhere  it may name outputs outside that folder.
    model     a file in place of <model_file>, which OpenSim's application leaves unassigned.

    Raises ModelError with file and line for another document, an unknown tool, and a missing or invalid entry. It is
    raised too for a file that does not exist and an output elsewhere.
    """
    document = open_setup(Path(path), anywhere, None if model is None else Path(model))
    read = SETUPS.get(document.root.tag)
    if read is None:
        known = ", ".join(name for name in SETUPS if "Kinemt" not in name)
        raise ModelError(
            f"<{document.root.tag}> is no tool that is known here; known: {known}",
            file=path,
            line=document.root.sourceline,
        )
    with errors_in(path):
        return read(document)
