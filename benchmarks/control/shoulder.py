"""A measured abduction, tracked by 33 muscles, with the force of the glenohumeral joint inside the glenoid.

`MYOQUAT_SHOULDER` names a folder with `TSM_subject_noWeight.osim` (A. Seth and others 2019) and `ABD01.mot` of
rmr-solver (I. Belli and others 2023). The arm is raised from 20 to 100 degrees between 3 and 7 s. The scapula is on its
thorax, and the acromioclavicular joint holds by its constraint. The cone is that of the last three markers: centre of
the humeral head, centre and edge of the glenoid. Paths and pulls of the muscles on the humerus are fits around the
motion, tendons are rigid, and the time constants of activation blend. Without that, and without the small efforts of
the thorax's actuators and the goal of speeds, the solver does not converge. The midpoint rule does not see poses that
go up and down from node to node. The first run compiles. Times are of the processor.
"""

import os
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import myoquat as mq
from benchmarks.control.timing import timed
from myoquat.analysis.control import Effort, InsideCone, Ipopt, Problem, Solution, TrackPose, TrackSpeeds
from myoquat.analysis.control.points import interpolated_pose
from myoquat.analysis.fits import FitSettings, JointForceFits, cloud_poses, fit_joint_forces, fit_paths
from myoquat.analysis.motion import smooth
from myoquat.analysis.recruitment import JointCone, consistent_motion
from myoquat.data import Motion, load_motion
from myoquat.muscle import Model

MODEL, MOTION = "TSM_subject_noWeight.osim", "ABD01.mot"
START, DURATION, INTERVALS = 3.0, 4.0, 100
CUTOFF = 3.0  # Hz, as published
POSES, SPREAD = 600, 0.06  # of the fits: how many, and by how many rad they are off the motion
PATHS, PULLS = FitSettings(2e-4, 1e-3), 0.02
TRACKING, EFFORT, ACTUATORS = 1000.0, 1.0, 10.0  # weights, the last one relative to that of muscles
FREE_ACTUATORS, FREE = 8, 0.01  # of the thorax, elbow and forearm: how many, and their weight, published as 0
SPEEDS = 1.0  # weight
SOLVER = Ipopt(1e-5, 1e-5, barrier=1e-3, options={"mumps_pivot_order": 5, "mumps_permuting_scaling": 0})
REPEATS = 2


@dataclass(frozen=True)
class _Shoulder:
    """The model with fitted paths, its recorded motion on its constraints, the glenoid, and the muscles' pulls."""

    model: Model
    motion: Motion
    cone: JointCone
    pulls: JointForceFits


def rows() -> list[dict[str, Any]]:
    """A row with the cone and one without it."""
    folder = Path(os.environ.get("MYOQUAT_SHOULDER", ""))
    if not ((folder / MODEL).is_file() and (folder / MOTION).is_file()):
        return [{"work": f"MYOQUAT_SHOULDER names no folder with {MODEL} and {MOTION}", "route": "none"}]
    shoulder, fitted = timed(lambda: _shoulder(folder))
    return [_row(name, shoulder, fitted, coned) for name, coned in (("cone", True), ("no cone", False))]


def _row(name: str, shoulder: _Shoulder, fitted: float, coned: bool) -> dict[str, Any]:
    problem, built = timed(lambda: _problem(shoulder, coned))
    runs, wall = [], []
    for _ in range(REPEATS + 1):
        start = time.perf_counter()
        runs.append(timed(lambda: problem.solve(shoulder.motion, SOLVER)))
        wall.append(time.perf_counter() - start)
    solution = runs[0][0]
    return {
        "work": f"abduction, 33 muscles, {INTERVALS} intervals, midpoint", "route": name, "fits": fitted,
        "build": built, "first": runs[0][1], "seconds": median(s for _, s in runs[1:]), "wall": median(wall[1:]),
        "iterations": solution.iterations, "status": solution.status.value, "objective": solution.objective,
        "degrees": _off(solution, shoulder.motion), "violation": solution.violation,
        "norm_error": solution.norm_error, "terms": solution.goals,
    }  # fmt: skip


def _shoulder(folder: Path) -> _Shoulder:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = mq.load_model(folder / MODEL, rotations="quaternion").with_rigid_tendons().with_smooth_activation()
        recorded = load_motion(folder / MOTION, model, in_degrees=True, start=model.start)
    cone = JointCone.from_markers(model, "humerus", *(_markers(model)))
    motion = consistent_motion(model, smooth(recorded, CUTOFF))
    poses = cloud_poses(model, motion.q[(motion.time >= START) & (motion.time <= START + DURATION)], POSES, SPREAD)
    pulls = fit_joint_forces(model, "humerus", poses, error=PULLS, settings=PATHS)
    return _Shoulder(model.with_fitted_paths(fit_paths(model, poses, settings=PATHS)), motion, cone, pulls)


def _markers(model: Model) -> tuple[str, str, str]:
    """Centre of the head, centre and edge of the socket, of the last three markers: centre, head, edge."""
    centre, head, edge = (marker.name for marker in model.markers[-3:])
    return head, centre, edge


def _problem(shoulder: _Shoulder, coned: bool) -> Problem:
    model = shoulder.model
    weights = {name: FREE if k < FREE_ACTUATORS else ACTUATORS for k, name in enumerate(model.control_names)}
    effort = Effort(weight=EFFORT, weights=weights)
    constraints = (InsideCone(shoulder.cone, shoulder.pulls),) if coned else ()
    goals = TrackPose(shoulder.motion, weight=TRACKING), TrackSpeeds(shoulder.motion, weight=SPEEDS), effort
    return Problem(model, DURATION, goals, INTERVALS, "midpoint", START, constraints=constraints)


def _off(solution: Solution, motion: Motion) -> float:
    """Root mean square [deg] over all joints and nodes of what rotates."""
    system = solution.statement.plant.system
    assert system is not None
    turning = [
        k for k, name in enumerate(system.velocity_names) if name.rpartition(".")[2] not in ("v_x", "v_y", "v_z")
    ]
    d = system.difference(interpolated_pose(motion, solution.time), solution.q)[:, turning]
    return float(np.degrees(np.sqrt(np.mean(d * d))))
