"""Moco's four other published walks: markers by torques, joint moments by muscles, and both with contact in 3-D.

`MYOQUAT_MOCO_WALK` names a folder with opensim-core's data of `example3DWalking`: all files but the programs. The
problems are those of its `exampleMocoTrack` and `example3DWalking`, with ranges of coordinates as bounds, as Moco has
them. The published objectives, seconds (of the wall) and iterations are those in the heads of the solutions
(opensim-core 7799ffa6, pull request 4323). A solution that stands in the folder is evaluated by the goals here. Times
are of the processor.
"""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import myoquat as mq
from benchmarks.control.timing import timed
from benchmarks.control.walk import (
    DURATION,
    FOLLOWER,
    GUESS,
    INTERVALS,
    LEAST,
    MODEL,
    PATHS,
    RESIDUALS,
    START,
    TOES,
    muscle_driven,
    recorded,
    velocity,
)
from myoquat.analysis.control import (
    Effort,
    HermiteSimpson,
    Ipopt,
    Periodic,
    Problem,
    Radau,
    TrackContactForces,
    TrackMarkers,
    TrackMoments,
    TrackPose,
    TrackSpeeds,
    load_moco_trajectory,
    reserve_torques,
)
from myoquat.analysis.motion.smoothing import smoothed_columns
from myoquat.data import Motion, load_forces, load_marker_weights, load_markers, load_table
from myoquat.joints.frames import total_mass
from myoquat.muscle import Model
from myoquat.muscle.actuators import CoordinateActuator
from myoquat.muscle.forces import SmoothSphereHalfSpace

SETS = ("ContactGeometrySet", "ContactForceSet", "ExpressionBasedCoordinateForceSet")
LIFT = 0.02  # m, by which the example raises the spheres of the feet
FEET = {f"{side}_GRF": (f"calcn_{end}", f"toes_{end}") for side, end in (("Right", "r"), ("Left", "l"))}
NEAR = {"value": 0.05, "speed": 0.1}  # distance from the recorded motion at the start


class Published(NamedTuple):
    """What the head of a published solution says."""

    file: str
    objective: float
    seconds: float
    iterations: int


def run() -> list[dict[str, Any]]:
    """A row per walk, solved by the midpoint rule from the motion of its goals, or at rest.

    `MYOQUAT_MOCO_WALKS=markers,torques` names some, and `MYOQUAT_IPOPT='{"mumps_pivot_order": 7}'` sets options.
    """
    folder = Path(os.environ.get("MYOQUAT_MOCO_WALK", ""))
    if not (folder / MODEL).is_file():
        return [{"work": f"MYOQUAT_MOCO_WALK names no folder with {MODEL}", "route": "none"}]
    rows = []
    for name in os.environ.get("MYOQUAT_MOCO_WALKS", ",".join(WALKS)).split(","):
        stated, theirs = WALKS[name]
        problem = stated(folder)
        ours = replace(problem, transcription="midpoint")
        guess = {n: GUESS for muscle in problem.model.muscle_names for n in (muscle, f"{muscle}.activation")}
        solution, seconds = timed(lambda ours=ours, guess=guess: ours.solve(guess, SOLVER))
        file = folder / f"{theirs.file}_solution.sto"
        goals = problem.goal_values(load_moco_trajectory(file)) if file.is_file() else {}
        rows.append({
            "work": f"{name} (Moco: {theirs.seconds} s, {theirs.iterations} iterations, {theirs.objective})",
            "route": "myoquat", "seconds": seconds, "iterations": solution.iterations, "status": solution.status.value,
            "objective": solution.objective, **solution.goals, "violation": solution.violation,
            **{f"{goal} in Moco's transcription": value for goal, value in problem.goal_values(solution).items()},
            **{f"{goal} of Moco's solution": value for goal, value in goals.items()},
        })  # fmt: skip
    return rows


def _markers(folder: Path, rotations: str | dict[str, str] = "file") -> Problem:
    """Markers with the weights of inverse kinematics, torques on all coordinates, measured ground reactions; joints
    with the `rotations` of `load_model`."""
    model = mq.load_model(folder / MODEL, rotations).without_muscles().with_welds(TOES)
    driven = {actuator.coordinate for actuator in model.actuators} | {c.dependent for c in model.couplers}
    names = [name for name in model.system.velocity_names if name.removesuffix("_dot") not in driven]
    residuals = {velocity(model, f"pelvis_{end}"): scale for end, scale in RESIDUALS.items()}
    torques = dict.fromkeys(names, 250.0) | residuals
    markers = load_markers(folder / "markers_walk.trc").low_passed(6.0)
    tasks = load_marker_weights(folder / "ik_tasks_walk.xml", markers.names)
    weights = {name: weight or 1.0 for name, weight in tasks.items()}  # markers without a task count 1 in Moco
    goals = TrackMarkers(markers, weights, weight=10.0, name="markers"), Effort(weight=1e-3, name="effort")
    return Problem(
        model, DURATION, goals, INTERVALS, HermiteSimpson(linear_controls=True), start=START, torques=torques,
        loads=load_forces(folder / "grf_walk.xml"),
        bounds=_ranges(model) | {f"{name}.torque": (-1.0, 1.0) for name in torques},
    )  # fmt: skip


def _moments(folder: Path) -> Problem:
    """Joint moments of inverse dynamics and lightly the motion, with muscles. Moco divides the squares of each moment
    by that of a peak, but counts the peaks from the pelvis on, whose moments it leaves out."""
    model = muscle_driven(mq.load_model(folder / MODEL, rotations="file").with_welds(TOES), folder / PATHS)
    residuals = {velocity(model, f"pelvis_{end}"): scale for end, scale in RESIDUALS.items()}
    table = load_table(folder / "id_walk.sto")
    time, values = table.index.to_numpy(), table.to_numpy()
    values = smoothed_columns(time, values, 10.0)[0]
    driven = {coupler.dependent for coupler in model.couplers}
    names = [str(label).rsplit("_", 1)[0] for label in table.columns]
    free = [k for k, name in enumerate(names) if name not in driven]
    followed = [k for k in free if not names[k].startswith("pelvis")]
    peaks = np.abs(values[:, free]).max(axis=0)[: len(followed)]
    labels = tuple(velocity(model, names[k]) for k in followed)
    weights = {label: (10.0 if "ankle" in label else 1.0) / peak**2 for label, peak in zip(labels, peaks, strict=True)}
    goals = (
        *_tracking(model, recorded(model, folder / "coordinates.sto"), 0.01, {}), Effort(weight=0.1, name="effort"),
        TrackMoments(labels, time, values[:, followed], weights=weights, weight=0.01, name="moments"),
    )  # fmt: skip
    controls = {f"{name}.torque": (-1.0, 1.0) for name in residuals}
    return Problem(
        model, DURATION, goals, INTERVALS, HermiteSimpson(linear_controls=True), start=START, torques=residuals,
        loads=load_forces(folder / "grf_walk.xml"), bounds=_ranges(model) | controls | _excitations(model, LEAST),
    )  # fmt: skip


def _in_contact(folder: Path, muscles: bool) -> Problem:
    """The motion and the ground reactions, with contact of the feet."""
    model = mq.load_model(folder / MODEL, "file", sets=[folder / f"{MODEL.split('.')[0]}_{name}.xml" for name in SETS])
    lifted = (_lifted(force) if isinstance(force, SmoothSphereHalfSpace) else force for force in model.forces)
    model = replace(model, forces=tuple(lifted))
    if muscles:
        model, torques = muscle_driven(model, folder / PATHS), dict[str, float]()
    else:
        toes = (
            CoordinateActuator(f"{name}_motor", name, optimal_force=10.0, lower=-1.0, upper=1.0)
            for name in ("mtp_angle_r", "mtp_angle_l")
        )
        model = replace(model.without_muscles(), actuators=(*model.actuators, *toes))
        torques = reserve_torques(model, 500.0, ground=False)
    motion = recorded(model, folder / "coordinates.sto")
    weight = float(total_mass(model.system) * np.linalg.norm(model.system.gravity))
    loads = load_forces(folder / "grf_walk.xml")
    goals = (
        *_tracking(model, motion, 0.05, {"pelvis_ty": 0.1}), Effort(weight=0.1, name="effort"),
        TrackContactForces(loads, FEET, weight=5e-3 / weight, name="contact"),
    )  # fmt: skip
    bounds = _ranges(model) | {f"{name}.torque": (-1.0, 1.0) for name in torques}
    for end in "rl":
        bounds |= {f"coordinates.mtp_angle_{end}": (-1.0, 1.0), velocity(model, f"mtp_angle_{end}"): (-20.0, 20.0)}
    return Problem(
        model, DURATION, goals, INTERVALS, Radau(3, linear_controls=True), start=START, torques=torques,
        initial=_near(model, motion), bounds=bounds | (_excitations(model, 0.0) if muscles else {}),
        periodic=Periodic(free=("pelvis_tx",)) if muscles else None,
    )  # fmt: skip


MARKERS = Published("exampleMocoTrack_torque_driven_marker_tracking", 0.676277, 98.7, 148)
WALKS: dict[str, tuple[Callable[[Path], Problem], Published]] = {
    "markers": (_markers, MARKERS),
    "quaternions": (partial(_markers, rotations={"femur_r": "quaternion", "femur_l": "quaternion"}), MARKERS),
    "moments": (_moments, Published("exampleMocoTrack_joint_moment_tracking", 0.091207, 4225.7, 868)),
    "torques": (partial(_in_contact, muscles=False),
                Published("example3DWalking_torque_driven_tracking", 0.031786, 276.4, 317)),
    "muscles": (partial(_in_contact, muscles=True),
                Published("example3DWalking_muscle_driven_tracking", 0.113103, 1937.0, 240)),
}  # fmt: skip
SOLVER = Ipopt(1e-7, 1e-4, barrier=1e-3, options=json.loads(os.environ.get("MYOQUAT_IPOPT", "{}")))


def _lifted(force: SmoothSphereHalfSpace) -> SmoothSphereHalfSpace:
    """The contact as the example has it, but without the corner of its friction, at which the solver cycles."""
    x, y, z = force.sphere.position
    return replace(force, sphere=replace(force.sphere, position=(x, y + LIFT, z)), rounded_friction=True)


def _tracking(model: Model, motion: Motion, weight: float, less: dict[str, float]) -> tuple[TrackPose, TrackSpeeds]:
    """Pose and speeds; `less` are coordinates whose speed has another weight and whose value has none."""
    speeds = {velocity(model, name): less.get(name, 1.0) for name in _followed(model)}
    poses = {name: float(name not in {velocity(model, c) for c in less}) for name in speeds}
    return (TrackPose(motion, weights=poses, of=tuple(poses), weight=weight, name="poses"),
            TrackSpeeds(motion, weights=speeds, of=tuple(speeds), weight=weight, name="speeds"))  # fmt: skip


def _followed(model: Model) -> list[str]:
    """The coordinates that were recorded: not those of the patellae and of the toes."""
    return [name for name in model.system.coordinate_names if FOLLOWER not in name and not name.startswith("mtp")]


def _ranges(model: Model) -> dict[str, tuple[float, float]]:
    names = {*model.system.coordinate_names}
    return {f"coordinates.{c.name}": c.range for c in model.coordinates if c.range and c.name in names}


def _excitations(model: Model, least: float) -> dict[str, tuple[float, float]]:
    return {name: (least, 1.0) for muscle in model.muscle_names for name in (muscle, f"{muscle}.activation")}


def _near(model: Model, motion: Motion) -> dict[str, tuple[float, float]]:
    """Bounds of the first state about the recorded one; couplers drive the patellae."""
    row = int(np.abs(motion.time - START).argmin())
    rates = np.gradient(motion.q, motion.time, axis=0)[row]
    found = {}
    for name, value, rate in zip(model.system.coordinate_names, motion.q[row], rates, strict=True):
        if name in _followed(model):
            found[f"coordinates.{name}"] = value - NEAR["value"], value + NEAR["value"]
            found[velocity(model, name)] = rate - NEAR["speed"], rate + NEAR["speed"]
    return found
