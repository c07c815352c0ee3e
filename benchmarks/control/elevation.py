"""A measured arm elevation past the lock of the glenohumeral joint, tracked by the muscles of the library's shoulder.

`MYOQUAT_ELEVATION` names a folder with `Elevation_yzy_simulation.mot` of zoufaond/Quaternion-Predictive-SHR
(Motions/par1/Elevation, commit 5fac2889). It has 100 frames of the angles of the sternoclavicular (YZX),
acromioclavicular (YZX) and glenohumeral (YZY) joint in degrees. GH_z is less than 0.6 degrees for the first 0.23 s. The
bones turn as measured from their pose in the first frame, in which the arm hangs, as the model's does at its start.
Paths over surfaces are fits around the motion. Times are of the processor.
"""

import os
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import myoquat as mq
from benchmarks.control.timing import timed
from myoquat.analysis.control import Effort, IntegralGoal, Ipopt, Problem, Solution
from myoquat.analysis.control.points import interpolated_pose
from myoquat.analysis.fits import FitSettings, cloud_poses, fit_paths
from myoquat.analysis.recruitment import consistent_motion
from myoquat.core import Array
from myoquat.data import Motion
from myoquat.joints import (
    convert_coordinates,
    quaternion_conjugate,
    quaternion_from_euler,
    quaternion_multiply,
    rotation_matrix,
)

FILE = "Elevation_yzy_simulation.mot"
ANGLES = {
    "clavicle": ("YZX", ("SC_y", "SC_z", "SC_x")),
    "scapula": ("YZX", ("AC_y", "AC_z", "AC_x")),
    "humerus": ("YZY", ("GH_y", "GH_z", "GH_yy")),
}
NODES = 72
POSES, SPREAD = 600, 0.1  # of the fits: how many, and by how many rad they are off the motion
FIT = FitSettings(1e-3, 2e-3)
TRACKING, EFFORT, RESERVE = 10.0, 0.01, 10.0  # weights, the last one relative to that of muscles
RESERVE_TORQUE = 10.0  # N m
FROM_AFAR = Ipopt(1e-6, max_iterations=500)
SOLVER = replace(FROM_AFAR, options={"mu_init": 1e-3})  # stays near the measured motion
GUESSES = 10


def rows() -> list[dict[str, Any]]:
    """A row for quaternions and one for Euler angles: from the measured motion, and from ten random guesses."""
    file = Path(os.environ.get("MYOQUAT_ELEVATION", "")) / FILE
    if not file.is_file():
        return [{"work": f"MYOQUAT_ELEVATION names no folder with {FILE}", "route": "none"}]
    measured = _measured(file)
    return [_row(name, measured) for name in ("quaternion", "sequence")]


def _row(rotations: str, measured: Motion) -> dict[str, Any]:
    solution, first = timed(lambda: _whole(rotations, measured))
    again = median(timed(lambda: _whole(rotations, measured))[1] for _ in range(2))
    problem, rng, found = _problem(rotations, measured), np.random.default_rng(0), []
    names = problem.plant.velocity_names
    for _ in range(GUESSES):
        guess = {name: rng.normal(size=4) for name in names}
        found.append(timed(lambda guess=guess: problem.solve(guess, FROM_AFAR)))
    solved = [s for s, _ in found if s.success]
    return {
        "work": f"measured elevation through glenohumeral lock, {NODES} nodes (opty: 2,309 s)", "route": rotations,
        "seconds": again, "first": first, "iterations": solution.iterations, "status": solution.status.value,
        "objective": solution.objective, "degrees": _off(solution, measured), "violation": solution.violation,
        "norm_error": solution.norm_error, "converged": len(solved), "of": GUESSES,
        "guess_iterations": median(s.iterations for s, _ in found), "guess_seconds": median(t for _, t in found),
        "best": min((s.objective for s in solved), default=np.nan),
        "worst": max((s.objective for s in solved), default=np.nan),
    }  # fmt: skip


def _whole(rotations: str, measured: Motion) -> Solution:
    """Fits, problem and solution."""
    problem = _problem(rotations, measured)
    near, system = consistent_motion(mq.load_model("thoracoscapular"), measured), problem.plant.system
    assert system is not None
    return problem.solve(Motion(system, near.time, convert_coordinates(near.system, system, near.q)), SOLVER)


# ---- the problem -----------------------------------------------------------------------------------------------


def _measured(file: Path) -> Motion:
    """The motion of the library's shoulder whose bones turn as those of the file; off its constraints."""
    names, *lines = file.read_text().split("endheader\n")[1].splitlines()
    values = dict(zip(names.split(), np.array([line.split() for line in lines], dtype=float).T, strict=True))
    turned, parts = np.array([1.0, 0, 0, 0]), []
    bones = []
    for sequence, columns in ANGLES.values():
        own = quaternion_from_euler(np.radians([values[c] for c in columns]).T, sequence)
        turned = quaternion_multiply(turned, own)
        bones.append(quaternion_multiply(turned, quaternion_conjugate(turned[:1])))
    for parent, bone in zip([np.array([1.0, 0, 0, 0]), *bones], bones, strict=False):
        parts.append(quaternion_multiply(quaternion_conjugate(parent), bone))
    return Motion(mq.load_model("thoracoscapular"), values["time"], np.concatenate(parts, axis=1))


def _problem(rotations: str, measured: Motion) -> Problem:
    model = mq.load_model("thoracoscapular", rotations)
    near = consistent_motion(mq.load_model("thoracoscapular"), measured)
    poses = cloud_poses(model, convert_coordinates(near.system, model.system, near.q), POSES, SPREAD)
    wrapped = tuple(muscle.name for muscle in model.muscles if muscle.path.wraps)
    model = model.with_fitted_paths(fit_paths(model, poses, muscles=wrapped, settings=FIT))
    torques = dict.fromkeys(model.system.velocity_names, RESERVE_TORQUE)
    effort = Effort(weight=EFFORT, weights={f"{name}.torque": RESERVE for name in torques})
    goals = _Bones(measured, weight=TRACKING), effort
    return Problem(model, float(measured.time[-1]), goals, NODES - 1, "midpoint", torques=torques)


@dataclass(frozen=True)
class _Bones(IntegralGoal):
    """Follows the rotation of each bone on its parent, whatever describes the joint: |R - R_ref|^2 = 4 (1 - cos)."""

    motion: Motion

    def content(self, plant: Any) -> Any:
        return "bones"

    def samples(self, plant: Any, time: Array) -> Array:
        q = interpolated_pose(self.motion, time)
        rotations = [rotation_matrix(q[:, s]) for s in self.motion.system.quaternion_slices()]
        return np.stack(rotations, axis=1).reshape(len(time), -1)

    def integrand(self, plant: Any, point: Any, data: Array) -> Array:
        poses, total = point.system.poses(point.q), np.zeros(())
        for k, R in enumerate(_on_parents([poses[bone][0] for bone in ANGLES])):
            off = R.reshape((*R.shape[:-2], 9)) - data[..., 9 * k : 9 * k + 9]
            total = total + np.sum(off * off, axis=-1)
        return total


def _on_parents(R: list[Array]) -> list[Array]:
    """The rotation of each bone on the one before it."""
    return [R[0], *(np.swapaxes(a, -1, -2) @ b for a, b in pairwise(R))]


def _off(solution: Solution, measured: Motion) -> float:
    """Root mean square of the angle [deg] by which the glenohumeral joint is off the measured rotation."""
    system = solution.statement.plant.system
    assert system is not None
    ours, theirs = system.poses(solution.q), measured.system.poses(interpolated_pose(measured, solution.time))
    R, S = (_on_parents([poses[bone][0] for bone in ANGLES])[-1] for poses in (ours, theirs))
    cosine = (np.einsum("tij,tij->t", R, S) - 1) / 2
    return float(np.degrees(np.sqrt(np.mean(np.arccos(np.clip(cosine, -1, 1)) ** 2))))
