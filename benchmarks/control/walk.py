"""Moco's muscle-driven tracking of a walk: 80 muscles with rigid tendons, paths by polynomials, periodic.

`MYOQUAT_MOCO_WALK` names a folder with opensim-core's data of `exampleMocoTrack`: subject_walk_scaled.osim,
subject_walk_scaled_FunctionBasedPathSet.xml, coordinates.sto, grf_walk.xml and .mot. The comparison also needs
exampleMocoTrack_muscle_driven_state_tracking_solution.sto. Times are of the processor.

IPOPT starts near the bounds of the excitations (barrier), where most of them stay.
"""

import os
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import myoquat as mq
from benchmarks.control.timing import timed
from myoquat.analysis.control import (
    Effort,
    HermiteSimpson,
    Ipopt,
    Periodic,
    Problem,
    Solution,
    TrackPose,
    TrackSpeeds,
    load_moco_trajectory,
)
from myoquat.data import Motion, load_forces, load_paths, load_table
from myoquat.muscle import Model

MODEL, PATHS = "subject_walk_scaled.osim", "subject_walk_scaled_FunctionBasedPathSet.xml"
THEIRS = "exampleMocoTrack_muscle_driven_state_tracking_solution.sto"
START, DURATION, INTERVALS = 0.48, 1.13, 57
MARGIN = 0.03  # s, of the recorded motion beyond both ends
LEAST, GUESS = 0.01, 0.05  # activation and excitation
WIDTH = 1.5  # of the active force-length curve
RESIDUALS = {"tilt": 250.0, "list": 250.0, "rotation": 250.0, "tx": 50.0, "ty": 50.0, "tz": 50.0}  # N m, N
TOES = "mtp_r", "mtp_l"
FOLLOWER = "_beta"  # coordinates of the patellae, which follow the knees
SOLVER = Ipopt(1e-7, 1e-4, barrier=1e-3)
REPEATS = 2


def rows() -> list[dict[str, Any]]:
    """A row: 57 intervals of the midpoint rule, from the recorded motion."""
    folder = Path(os.environ.get("MYOQUAT_MOCO_WALK", ""))
    if not (folder / MODEL).is_file():
        return [{"work": f"MYOQUAT_MOCO_WALK names no folder with {MODEL}", "route": "none"}]
    problem = _problem(folder)
    guess = {name: GUESS for muscle in problem.model.muscle_names for name in (muscle, f"{muscle}.activation")}
    found = [timed(lambda: problem.solve(guess, SOLVER)) for _ in range(REPEATS + 1)]
    solution = found[0][0]
    theirs = _goals_of_theirs(problem, folder / THEIRS)
    return [
        {"work": "moco_walk, 80 muscles, 57 intervals (Moco: 265.7 s, 58 iterations, 0.164666)", "route": "myoquat",
         "seconds": median(s for _, s in found[1:]), "first": found[0][1], "iterations": solution.iterations,
         "status": solution.status.value, "objective": solution.objective, **solution.goals,
         "violation": solution.violation, "activation_rms": _difference(solution, folder / THEIRS),
         **{f"{name} of Moco's solution": value for name, value in theirs.items()}}
    ]  # fmt: skip


def _goals_of_theirs(problem: Problem, file: Path) -> dict[str, float]:
    """What Moco's solution costs by the goals here, on its own points of Hermite-Simpson; empty without its file."""
    if not file.is_file():
        return {}
    same = replace(problem, transcription=HermiteSimpson(linear_controls=True))
    return same.goal_values(load_moco_trajectory(file))


def _problem(folder: Path) -> Problem:
    """Periodic tracking of pose and speeds with little effort, the ground reactions being given."""
    model = muscle_driven(mq.load_model(folder / MODEL, rotations="file").with_welds(TOES), folder / PATHS)
    motion, names = recorded(model, folder / "coordinates.sto"), model.system.velocity_names
    tracked = tuple(name for name in names if FOLLOWER not in name)
    residuals = {velocity(model, f"pelvis_{end}"): scale for end, scale in RESIDUALS.items()}
    controls = [f"{name}.torque" for name in residuals]
    goals = (
        TrackPose(motion, of=tracked, name="poses"), TrackSpeeds(motion, of=tracked, name="speeds"),
        Effort(weight=0.1, weights=dict.fromkeys(controls, 10.0)),
    )  # fmt: skip
    bounds = {name: (LEAST, 1.0) for muscle in model.muscle_names for name in (muscle, f"{muscle}.activation")}
    return Problem(
        model, DURATION, goals, INTERVALS, "midpoint", start=START, torques=residuals,
        loads=load_forces(folder / "grf_walk.xml"), bounds=bounds | dict.fromkeys(controls, (-1.0, 1.0)),
        periodic=Periodic(free=("pelvis_tx",)),
    )  # fmt: skip


def velocity(model: Model, coordinate: str) -> str:
    """The name of the velocity of a coordinate."""
    (place,) = model.system.indices.velocities_of_coordinate(coordinate)
    return model.system.velocity_names[place]


def muscle_driven(model: Model, paths: Path) -> Model:
    """The model with OpenSim's fitted paths, rigid tendons, and the curves of De Groote and Fregly without passive
    fiber force and with a wider active curve."""
    model = model.with_rigid_tendons().with_degroote_fregly_muscles().with_fitted_paths(load_paths(paths))
    return replace(model, muscles=tuple(
        replace(m, law=replace(m.law, passive_scale=0.0, width_scale=WIDTH)) for m in model.muscles
    ))  # fmt: skip


def recorded(model: Model, file: Path) -> Motion:
    """The recorded motion; patellae follow the knees, since the file has other numbers for them, and toes are still."""
    table = load_table(file)
    columns = {label.split("/")[-2]: label for label in map(str, table.columns)}
    names = [name.removesuffix(FOLLOWER) for name in model.system.coordinate_names]
    near = table.loc[START - MARGIN : START + DURATION + MARGIN].rename(columns={v: k for k, v in columns.items()})
    return Motion(model, near.index.to_numpy(), near.reindex(columns=names, fill_value=0.0).to_numpy())


def _difference(solution: Solution, file: Path) -> float:
    """Root mean square of the differences of all activations from Moco's; NaN without its file."""
    if not file.is_file():
        return float("nan")
    theirs = load_moco_trajectory(file)
    off = [
        solution[name] - np.interp(solution.time, theirs.time, theirs.states[f"/forceset/{name.replace('.', '/')}"])
        for name in solution.state_names
    ]
    return float(np.sqrt(np.mean(np.square(off))))
