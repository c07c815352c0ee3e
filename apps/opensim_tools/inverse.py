"""InverseKinematicsTool, InverseDynamicsTool, ScaleTool, IMUPlacer and IMUInverseKinematicsTool."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from lxml import etree

from myoquat.analysis.motion.fitted import FittedMotion
from myoquat.analysis.motion.gait import landmarks
from myoquat.analysis.motion.inverse_dynamics import JointTorques, inverse_dynamics_of_motion
from myoquat.analysis.motion.inverse_kinematics import inverse_kinematics
from myoquat.analysis.motion.scaling import Measurement, mean_pose, moved_markers, scale_factors
from myoquat.analysis.motion.sensors import calibrate_orientations
from myoquat.analysis.motion.smoothing import smooth_angles
from myoquat.analysis.motion.structure import Sensor
from myoquat.analysis.recruitment.redundancy.actuators import unbounded
from myoquat.core import Array
from myoquat.data import load_model
from myoquat.data.c3d import LENGTHS, read_c3d_points, unit_in
from myoquat.data.files import file_name, write_text
from myoquat.data.motions import Markers, Orientations, load_markers, load_motion, load_orientations
from myoquat.data.motions.angular_speeds import angular_triples, axes_of_angles
from myoquat.data.motions.coordinates import muscle_columns
from myoquat.data.motions.series import TIME_TOLERANCE_S, row_at
from myoquat.data.osim import with_markers
from myoquat.data.osim.read import child_frames
from myoquat.data.osim.sets import SensorFrame, model_with_sensors, read_sensor_frames
from myoquat.data.setups import InverseDynamicsSetup, InverseKinematicsSetup, ScaleSetup, Task
from myoquat.data.setups.motion import SensorPlacerSetup, SensorTrackingSetup
from myoquat.data.setups.scale import PlacerSetup, ScalerSetup
from myoquat.data.tables import labelled, over_time
from myoquat.data.trc import read_markers
from myoquat.data.xml import add, add_set, document_text
from myoquat.joints.errors import ModelError
from myoquat.joints.vectors import axis_angle_matrix, matvec
from myoquat.muscle.model import Model
from myoquat.muscle.scaling import scaled

from .moving import (
    cut_motion,
    fibers_at_rest,
    loaded_motion,
    loads_at,
    note,
    result_file,
    start_activation,
    state_columns,
    tell_missing_times,
    tell_undriven,
)
from .outputs import Outputs
from .sections import scaling_sections


def run_inverse_kinematics(setup: InverseKinematicsSetup, outputs: Outputs) -> None:
    """Fit the poses and note the files: angles, marker errors, positions of the model's markers."""
    model = load_model(setup.model, outputs.rotations)
    markers = load_markers(setup.markers)
    markers = _rows(markers, nearest_rows(markers.time, *setup.times))
    if not len(markers.time):
        raise ModelError("no frame lies in <time_range>", file=setup.path)
    tell_missing_times(markers.time, setup.times, outputs.tell)
    fit = fitted_to_tasks(model, markers, setup.tasks, setup.coordinates, setup.path, setup.constraint_weight)
    if not any(task.target == "marker" for task in setup.tasks):
        all_markers = f"all {len(fit.marker_names)} that the model has are followed, with weight 1"
        note(f"{setup.path}: the task set names no marker: {all_markers}")
    outputs.tell(f"{len(fit.time)} frames, marker RMS {np.nanmax(fit.marker_rms) * 1e3:.3g} mm at most, "
                 f"{int((~fit.converged).sum())} not converged")  # fmt: skip
    outputs.table(setup.motion, fit.angles(in_degrees=True), "Coordinates", True)
    if setup.errors:
        squares = np.nan_to_num(fit.marker_error) ** 2
        columns = {
            "total_squared_error": squares.sum(axis=-1),
            "marker_error_RMS": np.nan_to_num(fit.marker_rms),
            "marker_error_max": np.sqrt(squares.max(axis=-1)),
        }
        path = result_file(setup, "ik_marker_errors.sto")
        outputs.table(path, over_time(fit.time, columns), "Model Marker Errors from IK")
    if setup.locations:
        names = [f"{name}_t{axis}" for name in fit.marker_names for axis in "xyz"]
        locations = landmarks(model, fit, fit.marker_names).positions.reshape(len(fit.time), -1)
        path = result_file(setup, "ik_model_marker_locations.sto")
        outputs.table(path, over_time(fit.time, labelled(names, locations)), "Model Marker Locations from IK")


def fitted_to_tasks(
    model: Model, markers: Markers, tasks: Sequence[Task], coordinates: Path | None, setup: Path,
    constraint_weight: float = np.inf,
) -> FittedMotion:  # fmt: skip
    """The poses of the tasks of a setup: markers that have one, all if no marker has, and wanted coordinates.

    OpenSim divides the part of the markers by the sum of their weights. Here weights of coordinates, and finite weights
    of constraints, are multiplied by that sum.
    """
    used, weights, wanted = task_weights(model, markers, tasks, coordinates, setup)
    total = sum(weights[name] for name in used)
    pull = constraint_weight * total if total else np.inf
    return inverse_kinematics(model, markers.select(used), weights, coordinates=wanted, constraint_weight=pull)


def task_weights(
    model: Model, markers: Markers, tasks: Sequence[Task], coordinates: Path | None, setup: Path
) -> tuple[list[str], dict[str, float], dict[str, Array]]:
    """The markers that are fitted, the weights of these and of the wanted coordinates, and the wanted values."""
    known = {marker.name for marker in model.markers}
    named = {task.name: task.weight for task in tasks if task.target == "marker"}
    used = [name for name in markers.names if name in known and (name in named or not named)]
    if not used:
        raise ModelError("no marker of the file has a task and is a marker of the model", file=setup)
    weights = {name: named.get(name, 1.0) for name in used}
    total = sum(weights.values())
    wanted: dict[str, Array] = {}
    for task in (task for task in tasks if task.target == "coordinate"):
        wanted[task.name] = _wanted(model, task, markers.time, coordinates, setup)
        weights[task.name] = task.weight * total
    return used, weights, wanted


def _wanted(model: Model, task: Task, time: Array, coordinates: Path | None, setup: Path) -> Array:
    """The wanted values of a coordinate task [rad or m], (t,) or one."""
    if task.wanted == "manual_value":
        return np.asarray(task.value)
    try:
        if task.wanted == "default_value":
            return np.asarray(model.system.coordinate(task.name, model.start))
        if coordinates is None:
            raise ModelError(f"the task of {task.name!r} takes its value from <coordinate_file>, which is missing")
        motion = load_motion(coordinates, model, start=model.start)
        values = motion.system.coordinate(task.name, motion.q)
    except (KeyError, ModelError) as error:
        raise ModelError(str(error.args[0]), file=setup) from None
    return np.interp(time, motion.time, values)


def nearest_rows(time: Array, first: float, last: float) -> slice:
    """Rows from the one nearest to `first` to the one nearest to `last`; none if they lie outside by half a step."""
    half = np.diff(time).max(initial=0.0) / 2
    if not len(time) or first > time[-1] + half or last < time[0] - half:
        return slice(0, 0)
    start, end = (int(np.argmin(np.abs(time - t))) for t in np.clip([first, last], time[0], time[-1]))
    return slice(start, end + 1)


def _rows(markers: Markers, rows: slice) -> Markers:
    return Markers(markers.time[rows], markers.names, markers.positions[rows], markers.frame)


def run_inverse_dynamics(setup: InverseDynamicsSetup, outputs: Outputs) -> None:
    """Find the generalized forces and note their file."""
    model = load_model(setup.model, outputs.rotations)
    found = _inverse_dynamics(setup, model)
    torques = found.of_coordinates()
    for angles in angular_triples(model):
        _turn_to_parents_axes(torques, found, angles)
    outputs.tell(f"{len(torques)} frames, {len(torques.columns)} generalized forces")
    outputs.table(setup.output, torques, "Inverse Dynamics Generalized Forces")
    if setup.joints:
        own = found if outputs.rotations == "file" else _inverse_dynamics(setup, load_model(setup.model, "file"))
        forces = _forces_at_joints(setup, own)
        if len(forces.columns):  # OpenSim writes no file without a joint
            outputs.table(setup.body_forces, forces, "Inverse Dynamics Body Forces at Specified Joints")


def _turn_to_parents_axes(torques: pd.DataFrame, found: JointTorques, angles: Sequence[str]) -> None:
    """Replace the moments along three angles of a joint, of turns about x, y and z, by those about the axes of the
    frame on the parent. OpenSim has these where the speeds of a joint are an angular velocity: f with E^T f = tau for
    the columns E of the angles' axes."""
    columns = [f"{name}_moment" for name in angles]
    x, y, _ = (found.motion.system.coordinate(name, found.motion.q) for name in angles)
    transposed = axes_of_angles(x, y).mT
    torques[columns] = np.linalg.solve(transposed, torques[columns].to_numpy()[..., None])[..., 0]


def _inverse_dynamics(setup: InverseDynamicsSetup, model: Model) -> JointTorques:
    """The generalized forces of the setup's motion."""
    words = {word.lower() for word in setup.excluded}
    if model.muscles and not words & {"muscles", "all"}:
        raise ModelError(
            "<forces_to_exclude> must name muscles: inverse dynamics here leaves them out", file=setup.path
        )
    if "all" in words:
        model = replace(model, limits=())
    whole = loaded_motion(setup.coordinates, model, in_degrees=True)
    tell_undriven(model, whole, setup.coordinates, "their values are taken as they are, as OpenSim's tool does")
    moving = smooth_angles(whole, setup.cutoff)
    _, motion = cut_motion(moving, setup.times, setup.path)
    tell_missing_times(moving.time, setup.times, note)  # OpenSim has rows there that stem from padding for its filter
    return inverse_dynamics_of_motion(unbounded(model), motion, loads_at(setup.loads, motion.time))


def _forces_at_joints(setup: InverseDynamicsSetup, found: JointTorques) -> pd.DataFrame:
    """The equivalent force [N] and moment [N m] on the child of each reported joint at its frame, in ground axes."""
    system, frames, time, q = found.motion.system, child_frames(setup.model), found.motion.time, found.motion.q
    names = list(frames) if any(name.lower() == "all" for name in setup.joints) else setup.joints
    for name in (name for name in names if name not in frames):
        unknown = f"names {name!r}, which is no joint of the model; it is left out"
        note(f"{setup.path}: <joints_to_report_body_forces> {unknown}")
    poses, columns = system.poses(q), dict[str, Array]()
    for name in (name for name in names if name in frames):
        total = np.zeros((2, len(time), 3))
        for body, iq, iu in zip(system.bodies, system.q_slices, system.u_slices, strict=True):
            if name == body.joint_name and body.joint.nu:
                parts = equivalent_force(body.joint.subspace(q[:, iq]), found.torque[:, iu])
                total += [matvec(poses[body.name][0], part) for part in parts]
        labels = [f"{name}_{frames[name]}_{letter}{axis}" for letter in "FM" for axis in "XYZ"]
        columns |= labelled(labels, np.concatenate(list(total), axis=-1))
    return over_time(time, columns)


def equivalent_force(subspace: tuple[Array, Array], tau: Array) -> tuple[Array, Array]:
    """The force and the moment (t, 3) on a body that do the work of generalized forces tau (t, nu) of its joint.

    subspace: (S_omega, S_v), each (t, 3, nu). One of the two, force or moment, comes first: its least-squares solution
    of S^T F = tau. The other one takes the rest. First is the one that gives more for its own size. This is the rule of
    `Joint::calcEquivalentSpatialForce` in OpenSim 4.6; where the axes of a joint allow several answers, others exist.
    """
    moment_rows, force_rows = (np.swapaxes(S, -1, -2) + np.zeros((len(tau), 1, 1)) for S in subspace)
    inverses = [np.linalg.pinv(rows) for rows in (force_rows, moment_rows)]
    alone = [matvec(inverse, tau) for inverse in inverses]
    given = [matvec(rows, x) for rows, x in zip((force_rows, moment_rows), alone, strict=True)]
    sizes = [np.linalg.norm(x, axis=-1) for x in (*alone, *given)]
    force_size, moment_size, by_force, by_moment = sizes
    moment_first = (by_moment * force_size > by_force * moment_size)[:, None]
    force = np.where(moment_first, matvec(inverses[0], tau - given[1]), alone[0])
    moment = np.where(moment_first, alone[1], matvec(inverses[1], tau - given[0]))
    return force, moment


def run_sensor_placer(setup: SensorPlacerSetup, outputs: Outputs) -> None:
    """Place the sensors on their bodies, and note the model with them: the file as it is, with a frame for each."""
    model = load_model(setup.model)
    seen = _turned(setup.orientations, setup.turn)
    sensors = calibrate_orientations(model, seen, base=setup.base, heading=setup.heading or "z")
    outputs.tell(f"{len(sensors)} sensors placed")
    centers = {body.name: body.center_of_mass for body in model.system.bodies}
    frames = [SensorFrame(s.name, s.body, s.orientation, tuple(centers[s.body])) for s in sensors]
    text = model_with_sensors(setup.model, frames)
    outputs.add(setup.output, lambda to: write_text(to, text))


def run_sensor_tracking(setup: SensorTrackingSetup, outputs: Outputs) -> None:
    """Fit the poses to the sensors, and note the angles and the errors. Where the model is stays where it starts."""
    model, frames = load_model(setup.model, outputs.rotations), read_sensor_frames(setup.model)
    if not frames:
        raise ModelError("the model has no sensors: frames of bodies called '..._imu'; IMUPlacer makes them",
                         file=setup.model)  # fmt: skip
    sensors = [Sensor(f.name, f.body, f.orientation) for f in frames]  # type: ignore[arg-type]
    seen = _turned(setup.orientations, setup.turn).between(*setup.times)
    if not len(seen.time):
        raise ModelError("no frame lies in <time_range>", file=setup.path)
    tell_missing_times(seen.time, setup.times, outputs.tell)
    weights = {sensor.name: setup.weights.get(sensor.name, 1.0) for sensor in sensors if sensor.name in seen.names}
    # OpenSim divides the part of the sensors by the sum of their weights
    pull = setup.constraint_weight * sum(weights.values()) if weights else np.inf
    fit = inverse_kinematics(model, seen, weights, sensors=sensors, locked=_held(model), constraint_weight=pull)
    outputs.tell(f"{len(fit.time)} frames, {np.degrees(np.nanmax(fit.sensor_error)):.3g} degrees at most, "
                 f"{int((~fit.converged).sum())} not converged")  # fmt: skip
    name = f"ik_{setup.orientations.stem}"
    motion = setup.motion or setup.results / file_name(f"{name}.mot")
    outputs.table(motion, fit.angles(in_degrees=True), name, True)
    if setup.errors:
        errors = over_time(fit.time, labelled(fit.sensor_names, fit.sensor_error))
        beside = motion if setup.motion else setup.results / name  # OpenSim keeps the ending of <output_motion_file>
        outputs.table(beside.with_name(file_name(f"{beside.name}_orientationErrors.sto")), errors, "OrientationErrors")


def _turned(path: Path, angles: tuple[float, ...]) -> Orientations:
    """The sensors in the axes of the model."""
    x, y, z = (axis_angle_matrix(axis, np.asarray(angle)) for axis, angle in zip(np.eye(3), angles, strict=True))
    return load_orientations(path).turned(z @ y @ x)


def _held(model: Model) -> list[str]:
    """Coordinates that stay: those that are locked, and those of joints on the ground that turn nothing, which sensors
    do not see."""
    system = model.system
    names = [c.name for c in model.coordinates if c.locked]
    for body, iq in zip(system.bodies, system.q_slices, strict=True):
        if body.parent == system.ground and body.joint.facts.quaternion is None:
            turns = np.broadcast_to(body.joint.subspace(model.start[iq])[0], (3, body.joint.nu))
            names += [n for n, column in zip(body.names_of_coordinates, turns.T, strict=True) if not column.any()]
    return list(dict.fromkeys(names))


def run_scale(setup: ScaleSetup, outputs: Outputs) -> None:
    """Scale the model, place its markers, and note the files."""
    model = generic = with_markers(load_model(setup.model), setup.markers)
    if setup.scaler is not None:
        scaler = setup.scaler
        factors = _factors(model, scaler, outputs.tell)
        model = scaled(model, factors, setup.mass, scaler.keep_masses)
        outputs.tell(f"scaled, {sum(body.mass for body in model.system.bodies):.6g} kg")
        outputs.add(scaler.model, model.save)
        entries = [("Scale", "", {"scales": tuple(s), "segment": name, "apply": True})
                   for name, s in factors.items() if not name.endswith("_frame")]  # fmt: skip
        outputs.xml(scaler.factor_file, lambda: _document("ScaleSet", entries))
    trial = next((part.trial for part in (setup.scaler, setup.placer) if part is not None and part.trial), None)
    static, sized = None if trial is None else load_markers(trial), model
    outputs.sections.append(lambda: scaling_sections(generic, sized, static))
    if setup.placer is not None:
        _place(setup, setup.placer, model, outputs)


def _place(setup: ScaleSetup, placer: PlacerSetup, model: Model, outputs: Outputs) -> None:
    static = _cut(load_markers(placer.trial), placer.times, outputs.tell)
    if placer.most_movement is not None:
        read = {".trc": read_markers, ".c3d": read_c3d_points}.get(placer.trial.suffix.lower())
        unit = "m" if read is None else read(placer.trial).attrs["header"]["Units"]  # others are in metres
        most, x = placer.most_movement * unit_in(LENGTHS, unit, "Units"), static.positions
        ways = (np.fmax.reduce(x, axis=0) - np.fmin.reduce(x, axis=0)).max(axis=-1)
        if moved := [name for name, way in zip(static.names, ways, strict=True) if way > most]:
            note(f"markers move more than <max_marker_movement> in the static trial: {', '.join(moved)}")
    trial = mean_pose(static)
    seen = dict(zip(trial.names, np.isfinite(trial.positions[0]).all(axis=-1), strict=True))
    if gone := [m.name for m in model.markers if m.name not in seen]:
        outputs.tell(f"markers that the static trial lacks are left out of the placed model: {', '.join(gone)}")
    model = replace(model, markers=tuple(m for m in model.markers if m.name in seen))
    if unseen := [m.name for m in model.markers if not (seen[m.name] or m.fixed)]:
        note(f"markers that no frame of the static trial shows are not moved: {', '.join(unseen)}")
    fit = fitted_to_tasks(model, trial, placer.tasks, placer.coordinates, setup.path)
    if placer.move:
        model = moved_markers(model, trial, fit.q[0], {m.name for m in model.markers if m.fixed})
    outputs.tell(f"markers placed, RMS {fit.marker_rms[0] * 1e3:.3g} mm before")
    outputs.add(placer.model, model.save)
    path = {body: f"/bodyset/{body}" for body in model.system.body_names} | {model.system.ground: "/ground"}
    entries = [("Marker", m.name, {"socket_parent_frame": path[m.body], "location": m.position,
                                   "fixed": m.fixed}) for m in model.markers]  # fmt: skip
    outputs.xml(placer.marker_file, lambda: _document("MarkerSet", entries))
    if placer.motion is not None:
        columns = state_columns(model, fit.q, np.zeros((1, model.system.nu)))
        own = np.array([[start_activation(m) for m in model.muscles]])
        if own.size:
            columns |= muscle_columns(model, own, fibers_at_rest(model, fit.q, own))
        outputs.table(placer.motion, over_time(fit.time, columns), "static pose")


def _factors(model: Model, scaler: ScalerSetup, tell: Callable[[str], None]) -> dict[str, Array]:
    """The factors. Measurements with missing markers, and missing bodies, are reported and left out, as in OpenSim."""
    trial = None if scaler.trial is None else _cut(load_markers(scaler.trial), scaler.times, tell)
    bodies = (model.system.ground, *model.system.body_names)
    known = {m.name for m in model.markers} & set(trial.names if trial is not None else ())
    measurements = []
    for entry in scaler.measurements:
        missing = sorted({name for pair in entry.pairs for name in pair} - known)
        unknown = [name for name, _ in entry.bodies if name not in bodies]
        if unknown:
            note(f"the measurement {entry.name!r} names bodies that the model lacks: {', '.join(unknown)}")
        if missing or not entry.pairs:
            note(f"the measurement {entry.name!r} is not used; markers are missing: {', '.join(missing)}")
            continue
        axes = {name: word for name, word in entry.bodies if name in bodies}
        measurements.append(Measurement(entry.name, entry.pairs, axes))
    factors = {name: values for name, values in scaler.factors if name in bodies}
    for name, _ in scaler.factors:
        if name not in bodies:
            note(f"the model has no body {name!r}, whose factors are given")
    return scale_factors(model, trial, measurements, factors=factors, order=scaler.order)


def _cut(markers: Markers, times: tuple[float, float], tell: Callable[[str], None]) -> Markers:
    """The frames from the last not later than the first time, to the first not earlier than the last time."""
    time = markers.time
    end = min(int(np.searchsorted(time, times[1] - TIME_TOLERANCE_S, side="left")), len(time) - 1)
    rows = slice(row_at(time, times[0]), end + 1)
    tell_missing_times(time[rows], times, tell)
    return _rows(markers, rows)


def _document(tag: str, entries: list[tuple[str, str, dict[str, Any]]]) -> str:
    """An OpenSim document of one set: tag, name and values of each entry."""
    root = etree.Element("OpenSimDocument", Version="40000")
    holder = add_set(root, tag)
    for tag_of_entry, name, values in entries:
        element = add(holder, tag_of_entry, name=name)
        for key, value in values.items():
            add(element, key, value)
    return document_text(root)
