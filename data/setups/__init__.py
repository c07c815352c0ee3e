"""Setup files of OpenSim's tools, .xml, as records: what they name, each with its line, and nothing run."""

from pathlib import Path

from myoquat.joints.errors import ModelError, errors_in

from .document import Setup, open_setup, read_record
from .motion import (
    AnalyzeSetup,
    CmcSetup,
    ForwardSetup,
    InverseDynamicsSetup,
    InverseKinematicsSetup,
    RraSetup,
    SensorPlacerSetup,
    SensorTrackingSetup,
    Task,
)
from .scale import ScaleSetup

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

SETUPS: dict[str, type[Setup]] = {
    "ScaleTool": ScaleSetup,
    "InverseKinematicsTool": InverseKinematicsSetup,
    "InverseKinemtaticsTool": InverseKinematicsSetup,  # spelt so in examples of OpenSim
    "InverseDynamicsTool": InverseDynamicsSetup,
    "AnalyzeTool": AnalyzeSetup,
    "CMCTool": CmcSetup,
    "RRATool": RraSetup,
    "ForwardTool": ForwardSetup,
    "IMUPlacer": SensorPlacerSetup,
    "IMUInverseKinematicsTool": SensorTrackingSetup,
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
    setup_type = SETUPS.get(document.root.tag)
    if setup_type is None:
        known = ", ".join(name for name in SETUPS if "Kinemt" not in name)
        raise ModelError(
            f"<{document.root.tag}> is no tool that is known here; known: {known}",
            file=path,
            line=document.root.sourceline,
        )
    with errors_in(path):
        return read_record(setup_type, document, document.root)
