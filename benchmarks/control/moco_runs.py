"""One problem by OpenSim Moco: `python -m benchmarks.control.moco_runs track FOLDER`, or inverse.

The settings are those of opensim-core's testMocoTrack (gait10dof18musc) and testMocoInverse (18 muscles), with the
tolerances of the published solutions. The last line that it prints is a JSON object.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import opensim

WELDED = ("subtalar_r", "mtp_r", "subtalar_l", "mtp_l")
TOLERANCE = 1e-4


def _processed(model: Path, *operators: Any) -> Any:
    """The model with its operators; they are kept alive by the caller's tuple."""
    processor = opensim.ModelProcessor(str(model))
    for operator in operators:
        processor.append(operator)
    return processor


def _track(folder: Path) -> Any:
    loads = opensim.ModOpAddExternalLoads(str(folder / "walk_gait1018_subject01_grf.xml"))
    operators = opensim.ModOpRemoveMuscles(), opensim.ModOpAddReserves(100), loads
    model = _processed(folder / "walk_gait1018_subject01.osim", *operators)
    reference = opensim.TableProcessor(str(folder / "walk_gait1018_state_reference.mot"))
    low_pass = opensim.TabOpLowPassFilter(6)
    reference.append(low_pass)
    track = opensim.MocoTrack()
    track.setModel(model)
    track.setStatesReference(reference)
    track.set_states_global_tracking_weight(10.0)
    track.set_allow_unused_references(True)
    track.set_track_reference_position_derivatives(True)
    track.set_initial_time(0.5)
    track.set_final_time(1.0)
    study = track.initialize()
    solver = opensim.MocoCasADiSolver.safeDownCast(study.updSolver())
    solver.set_optim_convergence_tolerance(TOLERANCE)
    solver.set_optim_constraint_tolerance(TOLERANCE)
    return study.solve()


def _inverse(folder: Path) -> Any:
    welded = opensim.StdVectorString()
    for joint in WELDED:
        welded.append(joint)
    operators = (
        opensim.ModOpReplaceJointsWithWelds(welded), opensim.ModOpReplaceMusclesWithDeGrooteFregly2016(),
        opensim.ModOpIgnorePassiveFiberForcesDGF(), opensim.ModOpTendonComplianceDynamicsModeDGF("implicit"),
        opensim.ModOpAddExternalLoads(str(folder / "subject_walk_armless_external_loads.xml")),
    )  # fmt: skip
    model = _processed(folder / "subject_walk_armless_18musc.osim", *operators)
    kinematics = opensim.TableProcessor(str(folder / "subject_walk_armless_coordinates.mot"))
    low_pass = opensim.TabOpLowPassFilter(6)
    kinematics.append(low_pass)
    inverse = opensim.MocoInverse()
    inverse.setModel(model)
    inverse.setKinematics(kinematics)
    inverse.set_kinematics_allow_extra_columns(True)
    inverse.set_initial_time(0.450)
    inverse.set_final_time(1.0)
    inverse.set_mesh_interval(0.025)
    inverse.set_convergence_tolerance(TOLERANCE)
    inverse.set_constraint_tolerance(TOLERANCE)
    return inverse.solve().getMocoSolution()


RUNS: dict[str, Callable[[Path], Any]] = {"track": _track, "inverse": _inverse}


def _main(name: str, folder: str) -> None:
    opensim.Logger.setLevelString("error")
    begun = time.perf_counter()
    solution = RUNS[name](Path(folder))
    found = {
        "seconds": time.perf_counter() - begun, "solver_seconds": solution.getSolverDuration(),
        "iterations": solution.getNumIterations(), "status": solution.getStatus(),
        "objective": solution.getObjective(),
    }  # fmt: skip
    print(json.dumps(found))


if __name__ == "__main__":
    _main(*sys.argv[1:])
