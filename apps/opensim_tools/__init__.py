"""OpenSim's tools, run from their own setup files, with the files that they write."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from myoquat.analysis.control import moco_trajectory
from myoquat.apps.moco import load_moco_study
from myoquat.apps.report import Drawn, Numbers, Section, check_report, write_report
from myoquat.data import load_model
from myoquat.data.files import file_name, files_read
from myoquat.data.setups import (
    AnalyzeSetup,
    CmcSetup,
    ForwardSetup,
    InverseDynamicsSetup,
    InverseKinematicsSetup,
    RraSetup,
    ScaleSetup,
    SensorPlacerSetup,
    SensorTrackingSetup,
    read_setup,
)
from myoquat.joints.errors import errors_in

from .analyses import run_analyze
from .moving import note
from .outputs import Outputs
from .sections import angle_units
from .tools import (
    run_cmc,
    run_forward,
    run_inverse_dynamics,
    run_inverse_kinematics,
    run_rra,
    run_scale,
    run_sensor_placer,
    run_sensor_tracking,
)

__all__ = ["SUFFIX", "run_moco", "run_setup"]


def run_setup(
    path: str | Path,
    *,
    model: str | Path | None = None,
    rotations: str = "file",
    overwrite: bool = True,
    anywhere: bool = False,
    tell: Callable[[str], None] = lambda line: None,
    report: str | Path | None = None,
) -> list[Path]:
    """Run a setup file of OpenSim's tools from its own folder; write and return the files that it names.

    The tools are ScaleTool, InverseKinematicsTool, InverseDynamicsTool, AnalyzeTool, CMCTool, RRATool, ForwardTool,
    IMUPlacer and IMUInverseKinematicsTool. A problem of Moco, .omoco, is solved, and its solution is written as
    '<name>_solution.sto' beside the file. AnalyzeTool runs Kinematics, BodyKinematics, PointKinematics, MuscleAnalysis,
    StaticOptimization, JointReaction, Actuation and ForceReporter. A warning names unsupported analyses, and quantities
    that the files do not determine, such as forces of muscles without their states. CMCTool has tasks of coordinates
    with critically damped gains, and actuators of one control as reserves. Tendons are rigid and controls act at once,
    as in `myoquat.analysis.recruitment.computed_muscle_control`, in coordinates of the file. RRATool solves
    `myoquat.analysis.recruitment.dynamically_consistent` with bounds of 5 N and 5 N m. ForwardTool has controls
    of files and functions, loads, corrections toward the states of a file, and analyses. Its rows are as far apart as
    the longest step allows, up to 0.01 s.

    model      a file in place of the setup's <model_file>, which OpenSim's application leaves unassigned
    rotations  of ball joints meanwhile, "file" or "quaternion"; results are in the file's coordinates
    overwrite  whether files that exist are replaced, as OpenSim's tools do
    anywhere   whether the setup may write outside its own folder, which a stranger's should not
    tell       called with every line about the progress
    report     an .html page, in any folder, with all lines of `tell` and a figure of every table

    Files are written after everything is computed: all, or none if one would replace another or a file that was read.
    ModelError with file and line for a broken setup, missing files, unknown elements, and paths outside its folder.
    Otherwise errors of the functions that do the work, with the setup's name.
    """
    page, path, lines = None if report is None else Path(report), Path(path), list[str]()
    check_report(page, overwrite)

    def tell_and_keep(line: str) -> None:
        lines.append(line)
        tell(line)

    outputs = Outputs(overwrite, tell_and_keep, rotations)
    with files_read() as read:
        if path.suffix.lower() == SUFFIX:
            if model is not None:
                raise ValueError(
                    f"{path}: a problem of Moco names its model itself; --model (model=) is for other setups"
                )
            run_moco(path, outputs)
            units = dict[str, str]()
        else:
            setup = read_setup(path, anywhere, model)
            outputs.tell(f"{type(setup).__name__.removesuffix('Setup')} {setup.name!r}, model {setup.model.name}")
            for name in getattr(setup, "left_out", ()):
                note(f"{name} is left out: it is not known here")
            with errors_in(setup.path):
                RUNS[type(setup)](setup, outputs)
            units = angle_units(load_model(setup.model)) if page is not None else {}
    if page is not None:
        sections: list[Section | Numbers | Drawn] = [section for make in outputs.sections for section in make()]
        sections += [Section(place.name, table, units=units) for place, table in outputs.tables]
        outputs.add(page, lambda to: write_report(to, path.name, lines, sections))
    return outputs.write(read)


RUNS: dict[type, Callable[[Any, Outputs], None]] = {  # a tool is one row
    ScaleSetup: run_scale,
    InverseKinematicsSetup: run_inverse_kinematics,
    InverseDynamicsSetup: run_inverse_dynamics,
    CmcSetup: run_cmc,
    RraSetup: run_rra,
    ForwardSetup: run_forward,
    SensorPlacerSetup: run_sensor_placer,
    SensorTrackingSetup: run_sensor_tracking,
    AnalyzeSetup: run_analyze,
}


SUFFIX = ".omoco"


def run_moco(path: Path, outputs: Outputs) -> None:
    """Solve the MocoStudy, MocoTrack or MocoInverse in a file, and write '<name>_solution.sto' beside it.

    A solution that did not converge is written too, as Moco's sealed ones can be. Its header says so.
    """
    study = load_moco_study(path)
    place = path.parent / file_name(f"{study.name}_solution.sto")
    outputs.tell(f"Moco {study.name!r}: {study.problem!r}")
    for line in study.left_out:
        outputs.tell(f"left out: {line}")
    solution = study.solve()
    outputs.tell(solution.explain())
    trajectory = moco_trajectory(solution)
    outputs.add(place, lambda to: trajectory.save(to))
