"""AnalyzeTool: analyses of a motion, one after the other."""

from collections.abc import Callable

from myoquat.apps.opensim_tools.analyses.actuation import actuation
from myoquat.apps.opensim_tools.analyses.forces import force_reporter
from myoquat.apps.opensim_tools.analyses.kinematics import body_kinematics, kinematics, point_kinematics
from myoquat.apps.opensim_tools.analyses.moving import Moving, moving_of, note
from myoquat.apps.opensim_tools.analyses.muscles import muscle_analysis
from myoquat.apps.opensim_tools.analyses.optimization import static_optimization_of
from myoquat.apps.opensim_tools.analyses.reactions import joint_reaction
from myoquat.apps.opensim_tools.moved import tell_missing_times
from myoquat.apps.opensim_tools.outputs import Outputs
from myoquat.data.setups import AnalyzeSetup
from myoquat.data.setups.analyses import (
    ActuationSetup,
    BodyKinematicsSetup,
    ForceReporterSetup,
    JointReactionSetup,
    KinematicsSetup,
    MuscleAnalysisSetup,
    PointKinematicsSetup,
    StaticOptimizationSetup,
)

__all__ = ["analyse", "run_analyze"]

RUN: dict[type, Callable[..., None]] = {
    ActuationSetup: actuation,
    ForceReporterSetup: force_reporter,
    KinematicsSetup: kinematics,
    BodyKinematicsSetup: body_kinematics,
    PointKinematicsSetup: point_kinematics,
    MuscleAnalysisSetup: muscle_analysis,
    StaticOptimizationSetup: static_optimization_of,
    JointReactionSetup: joint_reaction,
}

DEFAULT_TIMES = (0.0, 1.0)  # of OpenSim's tool, which setups name without asking for it


def run_analyze(setup: AnalyzeSetup, outputs: Outputs, rotations: str, tell: Callable[[str], None]) -> None:
    """Run the analyses of a motion and note their files."""
    for name in setup.left_out:
        note(f"{name} is left out: it is not known here")
    moving = moving_of(setup, rotations)
    if setup.times != DEFAULT_TIMES:
        tell_missing_times(moving.motion.time, setup.times, tell)
    analyse(moving, outputs, tell)


def analyse(moving: Moving, outputs: Outputs, tell: Callable[[str], None]) -> None:
    """Run the analyses of a setup on its motion and note their files."""
    for analysis in moving.setup.analyses:
        before = len(outputs.files)
        RUN[type(analysis)](moving, analysis, outputs)
        tell(f"{analysis.name}: {len(moving.rows(analysis.interval))} frames, {len(outputs.files) - before} files")
