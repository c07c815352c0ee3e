"""OpenSim's tools, each a function of its setup that notes the files to be written.

They are InverseKinematicsTool, InverseDynamicsTool, IMUPlacer, IMUInverseKinematicsTool and ScaleTool, and those of
motions that forces cause. CMCTool finds controls that follow a motion, RRATool a motion that is consistent with its
ground reactions, and ForwardTool the motion that controls cause.
"""

import math
from collections.abc import Callable, Sequence
from copy import deepcopy
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
from myoquat.analysis.recruitment import ResidualOptions, dynamically_consistent
from myoquat.analysis.recruitment.forward import computed_muscle_control
from myoquat.analysis.recruitment.free import free_velocities
from myoquat.analysis.recruitment.redundancy import ReserveActuator
from myoquat.analysis.recruitment.redundancy.actuators import control_columns, unbounded
from myoquat.apps.report import summary_of
from myoquat.core import Array, time_table
from myoquat.data import load_model
from myoquat.data.c3d import LENGTHS, read_c3d_points, unit_in
from myoquat.data.files import file_name, write_text
from myoquat.data.motions import Markers, Motion, Orientations, load_markers, load_motion, load_orientations
from myoquat.data.motions.angular_speeds import angular_triples, axes_of_angles
from myoquat.data.motions.coordinates import muscle_columns
from myoquat.data.motions.forces import read_external_loads
from myoquat.data.motions.series import TIME_TOLERANCE_S, row_at
from myoquat.data.osim import with_markers
from myoquat.data.osim.controllers import PRESCRIBED, read_inputs
from myoquat.data.osim.document import modernize_names
from myoquat.data.osim.forces import external_force
from myoquat.data.osim.read import child_frames
from myoquat.data.osim.sets import SensorFrame, model_with_sensors, read_sensor_frames
from myoquat.data.reports import UnsupportedElements
from myoquat.data.setups import (
    CmcSetup,
    ForwardSetup,
    InverseDynamicsSetup,
    InverseKinematicsSetup,
    RraSetup,
    ScaleSetup,
    Task,
)
from myoquat.data.setups.motion import Control, SensorPlacerSetup, SensorTrackingSetup, read_controls
from myoquat.data.setups.scale import PlacerSetup, ScalerSetup
from myoquat.data.tables import labelled
from myoquat.data.trc import read_markers
from myoquat.data.xml import add, add_set, document_text
from myoquat.dynamics import Trajectory, simulate
from myoquat.joints.errors import ModelError, errors_in
from myoquat.joints.functions import AxisFunction, Constant, NaturalSpline, PiecewiseConstant
from myoquat.joints.vectors import axis_angle_matrix, matvec
from myoquat.muscle.actuators import ActivationCoordinateActuator, CoordinateActuator, ScalarActuator
from myoquat.muscle.forces import CoordinateSpring, PrescribedForce
from myoquat.muscle.inputs import PrescribedInput
from myoquat.muscle.model import Model
from myoquat.muscle.scaling import scaled
from myoquat.muscle.states import state_names

from .analyses import analyse
from .moving import (
    Moving,
    actuators_of,
    cut_motion,
    degree_scale,
    driving_tasks,
    even_motion,
    fibers_at_rest,
    loaded_motion,
    loads_at,
    note,
    note_tracking,
    read_states,
    result_file,
    start_activation,
    state_columns,
    state_table,
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
        outputs.table(path, time_table(fit.time, columns), "Model Marker Errors from IK")
    if setup.locations:
        names = [f"{name}_t{axis}" for name in fit.marker_names for axis in "xyz"]
        locations = landmarks(model, fit, fit.marker_names).positions.reshape(len(fit.time), -1)
        path = result_file(setup, "ik_model_marker_locations.sto")
        outputs.table(path, time_table(fit.time, locations, names), "Model Marker Locations from IK")


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
        # OpenSim has the moments about the axes of the frame on the parent where the speeds of a joint are an angular
        # velocity: f with E^T f = tau for the columns E of the angles' axes
        columns = [f"{name}_moment" for name in angles]
        x, y, _ = (found.motion.system.coordinate(name, found.motion.q) for name in angles)
        tau = torques[columns].to_numpy()[..., None]
        torques[columns] = np.linalg.solve(axes_of_angles(x, y).mT, tau)[..., 0]
    outputs.tell(f"{len(torques)} frames, {len(torques.columns)} generalized forces")
    outputs.table(setup.output, torques, "Inverse Dynamics Generalized Forces")
    if setup.joints:
        own = found if outputs.rotations == "file" else _inverse_dynamics(setup, load_model(setup.model, "file"))
        forces = _forces_at_joints(setup, own)
        if len(forces.columns):  # OpenSim writes no file without a joint
            outputs.table(setup.body_forces, forces, "Inverse Dynamics Body Forces at Specified Joints")


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
    return time_table(time, columns)


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
        errors = time_table(fit.time, fit.sensor_error, fit.sensor_names)
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
        outputs.table(placer.motion, time_table(fit.time, columns), "static pose")


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


# ---- CMCTool -----------------------------------------------------------------------------------------------------


def run_cmc(setup: CmcSetup, outputs: Outputs) -> None:
    """Follow the motion of a setup and note the files of what the model did, its controls, forces and errors."""
    whole = load_model(setup.model, "file")
    reserves = []  # the actuators of the model and of the setup, which help where muscles cannot
    for name, actuator in actuators_of(whole, setup.force_sets).items():
        if isinstance(actuator, ScalarActuator):
            reserves.append(ReserveActuator(actuator))
        else:
            note(f"<{type(actuator).__name__}> {name} is left out: reserves are of one control")
    if whole.inputs:
        names = ", ".join(own.name for own in whole.inputs)
        note(f"the model's controllers of {names} are left out; OpenSim adds their values to what it finds")
    model = replace(whole, actuators=(), inputs=())

    def windows(first: float, last: float) -> Array:
        if not last - first >= setup.window:
            raise ModelError(f"from {first:g} to {last:g} s there is no window of {setup.window:g} s", file=setup.path)
        return first + setup.window * np.arange(int((last - first) / setup.window + 1e-9) + 1)

    motion, tracked = even_motion(setup, model, windows, outputs.tell), driving_tasks(model, setup.tracked)
    free = {c.name for c in model.coordinates if c.free} - model.driven
    if untracked := sorted(free - set(tracked)):
        note(f"{', '.join(untracked)}: without a task in the setup, and left free")
    bandwidths = np.zeros(model.system.nu)
    for name, bandwidth in tracked.items():
        bandwidths[list(model.system.indices.velocities_of_coordinate(name))] = bandwidth
    loads = loads_at(setup.loads, motion.time)
    found = computed_muscle_control(model, motion, loads, reserves=reserves, bandwidth=bandwidths)
    done = found.motion
    if not found.complete:
        note(f"the simulation ended at {done.time[-1]:g} s, before {motion.time[-1]:g} s")
    assert found.reserve is not None
    shares = found.reserve / np.array([r.strength for r in reserves])
    rigid = whole.with_rigid_tendons()
    acting = unbounded(replace(rigid, actuators=tuple(r.actuator for r in reserves), inputs=()))
    moving = Moving(setup, acting, done, loads_at(setup.loads, done.time), shares, found.activation)
    stated = replace(
        moving, model=replace(acting, muscles=whole.muscles),
        muscle_states=fibers_at_rest(whole, done.q, found.activation),
    )  # fmt: skip
    controls = labelled(whole.muscle_names, found.activation) | labelled(acting.control_names, shares)
    note_tracking(stated, controls, found.error, setup.tracked, outputs)
    analyse(moving, outputs)
    outputs.tell(f"{len(done.time)} frames; {summary_of(found)}")


# ---- ForwardTool -------------------------------------------------------------------------------------------------

MAX_ROW_INTERVAL_S = 0.01


def run_forward(setup: ForwardSetup, outputs: Outputs) -> None:
    """Move the model of a setup and note the files of its states, its controls and the analyses."""
    model = load_model(setup.model, "file")
    model = replace(model, actuators=tuple(actuators_of(model, setup.force_sets).values()))
    # it starts at the row of the file of states that is not later than the time, or as the model says
    time, q, u, activation, fibers = setup.times[0], model.start, None, None, None
    if setup.states is None:
        if state_names(model) and not setup.equilibrium:
            note("fiber lengths start in balance: the file of the model's own is not read")
        if model.muscles:
            activation = np.array([start_activation(muscle) for muscle in model.muscles])
    else:
        begun, *states, acting = read_states(setup.states, model, time)
        activation, fibers = (None if x is None else x[0] for x in states)
        time, q, u = float(begun.time[0]), begun.q[0], np.zeros(model.system.nu) if begun.u is None else begun.u[0]
        model = replace(model, actuators=tuple(
            replace(a, activation=float(acting[a.name][0]))
            if isinstance(a, ActivationCoordinateActuator) and a.name in acting else a
            for a in model.actuators
        ))  # fmt: skip
    span = setup.times[1] - time
    if not span > 0:
        raise ModelError(f"the states start at {time:g} s, not before {setup.times[1]:g} s", file=setup.path)
    driven = _corrected(setup, _driven(setup, model))
    follows = any(muscle.activation_dynamics is not None for muscle in model.muscles)  # else inputs are activations
    motion = simulate(
        driven, q, u, span, rtol=setup.tolerance, activation=activation if follows else None,
        muscle_states=None if setup.equilibrium else fibers,
        output_step=span / math.ceil(span / min(setup.longest_step, MAX_ROW_INTERVAL_S)),
        start_time=time, project_start=True,
    )  # fmt: skip
    rows = int(np.isfinite(motion.q).all(axis=-1).sum())
    outputs.tell(f"{rows} rows to {motion.time[rows - 1]:g} s, {motion.steps} steps")
    moving = _moving(setup, model, driven, motion, rows)
    # states in radians and in degrees, and controls of the model
    inputs = motion.excitation if motion.excitation is not None else motion.activation
    controls = {} if inputs is None else labelled(model.muscle_names, inputs[:rows])
    if motion.controls is not None:
        controls |= labelled(model.control_names, motion.controls[:rows, : len(model.control_names)])
    outputs.table(result_file(setup, "controls.sto"), time_table(moving.time, controls), "controls")
    for ending, scale in (("states.sto", 1.0), ("states_degrees.mot", degree_scale(model.system))):
        outputs.table(result_file(setup, ending), state_table(moving, scale), "states", ending.endswith("mot"))
    analyse(moving, outputs)


def _driven(setup: ForwardSetup, model: Model) -> Model:
    """The model with the loads and the controllers of a setup, beside its own; controls without a controller are
    zero."""
    known = (*model.muscle_names, *model.control_names)
    inputs = [*model.inputs, *(PrescribedInput(name, Constant(0.0)) for name in known[:1])]
    if setup.prescribed:
        unsupported, root = UnsupportedElements(), deepcopy(setup.root)
        for holder in root.findall("ControllerSet/objects"):
            for element in list(holder):
                if element.tag != PRESCRIBED:
                    holder.remove(element)
        modernize_names(root)
        inputs += read_inputs(root, known, unsupported, setup.path.parent)
        unsupported.report(setup.path, strict=False)
    for path in setup.controls:
        controls = read_controls(path)
        inputs += [PrescribedInput(name, _function(controls[name])) for name in known if name in controls]
    muscles = set(model.muscle_names)
    inputs = [_in_range(given) if given.name in muscles else given for given in inputs]
    loads: tuple[PrescribedForce, ...] = ()
    if setup.loads is not None:
        entries, file, _ = read_external_loads(setup.loads)
        if not file.is_file():
            raise ModelError(f"the data file {file.name!r} does not exist", file=setup.loads)
        with errors_in(setup.loads):
            loads = tuple(external_force(entry, file) for entry in entries)
    return replace(unbounded(model), inputs=tuple(inputs), forces=(*model.forces, *loads))


def _function(control: Control) -> AxisFunction:
    """A control as a function of the time; those of the ends beyond."""
    times, values = tuple(map(float, control.time)), tuple(map(float, control.values))
    if len(times) == 1:
        return Constant(values[0])
    if control.steps:  # each value since the time before
        return PiecewiseConstant(times, (*values[1:], values[-1]))
    return NaturalSpline(times, values, 1)


def _in_range(given: PrescribedInput) -> PrescribedInput:
    """An excitation from 0 to 1, as OpenSim's activation dynamics take it."""
    function = given.function
    if isinstance(function, (NaturalSpline, PiecewiseConstant)):
        return replace(given, function=replace(function, y=tuple(np.clip(function.y, 0.0, 1.0))))
    return given


def _corrected(setup: ForwardSetup, model: Model) -> Model:
    """The model with -kp (x - x_d) - kv (x' - x_d') on its free coordinates, x_d being those of the file of states."""
    if not setup.corrections:
        return model
    assert setup.states is not None
    wanted = loaded_motion(setup.states, model, in_degrees=False)
    held = {c.name for c in model.coordinates if not c.free} | model.driven
    times, forces, actuators, inputs = tuple(map(float, wanted.time)), [], [], []
    for k, name in enumerate(model.system.coordinate_names):
        if name in held:
            continue
        for n, (kp, kv) in enumerate(setup.corrections):
            label = f"{name}_corrector" + (f"_{n + 1}" if n else "")
            forces.append(CoordinateSpring(label, name, stiffness=kp, damping=kv))
            actuators.append(CoordinateActuator(label, name))
            aim = tuple(map(float, kp * wanted.q[:, k] + kv * wanted.speeds[:, k]))
            inputs.append(PrescribedInput(label, NaturalSpline(times, aim, 1) if len(times) > 1 else Constant(aim[0])))
    return replace(
        model, forces=(*model.forces, *forces), actuators=(*model.actuators, *actuators),
        inputs=(*model.inputs, *inputs),
    )  # fmt: skip


def _moving(setup: ForwardSetup, model: Model, driven: Model, motion: Trajectory, rows: int) -> Moving:
    """The data of the analyses: the motion of the model, its muscles' states and its controls. Those of the actuators
    that corrections add are what they and their springs do together."""
    acting = motion.controls if motion.actuation is None else motion.actuation
    activation, fibers = (None if x is None else x[:rows] for x in (motion.activation, motion.muscle_states))
    own, count = Motion(model.system, motion.time[:rows], motion.q[:rows], motion.u[:rows]), len(model.control_names)
    controls = np.zeros((rows, count)) if acting is None else acting[:rows].copy()
    springs = {force.name: force for force in driven.forces if isinstance(force, CoordinateSpring)}
    for column, name in enumerate(driven.control_names[count:], count):
        k = model.system.coordinate_names.index(springs[name].coordinate)
        controls[:, column] += springs[name].force(motion.q[:rows, k], motion.u[:rows, k])
    loads = loads_at(setup.loads, own.time)
    acting_model = replace(model, actuators=driven.actuators, inputs=())
    return Moving(setup, acting_model, own, loads, controls, activation, fibers)


# ---- RRATool -----------------------------------------------------------------------------------------------------

FRAME_S = 0.005  # [s] between the frames, at which the residual meets its bounds
BOUND = 5.0  # [N], [N m] of each component of the residual
UNTRACKED = 0.01  # weight of coordinates without a task
RESIDUALS = ("FX", "FY", "FZ", "MX", "MY", "MZ")
MAX_UNACTUATED = 1e-6  # of the greatest generalized force: beyond it actuators are missing


def run_rra(setup: RraSetup, outputs: Outputs) -> None:
    """Make the motion of a setup consistent and note the files of its kinematics, actuators, errors and model."""
    whole = load_model(setup.model, "file")
    model = replace(whole, muscles=(), groups=(), actuators=(), inputs=(), forces=(), limits=())
    actuators = tuple(actuators_of(model, setup.force_sets).values())

    def frames(first: float, last: float) -> Array:
        count = round((last - first) / FRAME_S) + 1
        if not count >= 16:
            raise ModelError(f"from {first:g} to {last:g} s there are fewer than 16 frames", file=setup.path)
        return np.linspace(first, last, count)

    motion = even_motion(setup, model, frames, outputs.tell)
    loads = loads_at(setup.loads, motion.time)
    # weights of the free velocities: those of the tasks over their median, little for others
    system, (velocities, _) = model.system, free_velocities(model, motion.q[:1], motion.time[:1])
    rows = {name: system.indices.velocities_of_coordinate(name) for name in system.coordinate_names}
    free = [name for name, its in rows.items() if {system.velocity_names[row] for row in its} & set(velocities)]
    given = {name: weight for name, weight in driving_tasks(model, setup.weights).items() if name in free}
    middle = float(np.median(list(given.values()))) if given else 1.0
    weights = {name: given[name] / middle if name in given else UNTRACKED for name in free}
    options = ResidualOptions(BOUND, BOUND, body=setup.body, weights=weights, shift=0.05)
    found = dynamically_consistent(model, motion, loads, options=options)
    outputs.tell(summary_of(found))
    if not found.success:
        note(f"the residual exceeds {options.force:g} N or {options.torque:g} N m in some frames")
    if setup.output is not None:
        bodies = {body.name: body for body in found.model.system.bodies}
        changed = tuple(replace(b, center_of_mass=bodies[b.name].center_of_mass) for b in whole.system.bodies)
        adjusted = replace(whole, system=replace(whole.system, bodies=changed))
        shift = ", ".join(f"{1000 * x:.2f}" for x in found.shift)
        outputs.tell(f"center of mass of {setup.body} shifted by {shift} mm")
        outputs.add(setup.output, lambda to: adjusted.save(to, overwrite=True))
    acting = unbounded(replace(found.model, actuators=actuators))
    # controls (t, k) of the actuators that give the motion
    torque = inverse_dynamics_of_motion(found.model, found.motion, loads).torque
    names, C = free_velocities(found.model, found.motion.q, found.motion.time)
    A, b = np.einsum("tij,tik->tjk", C, control_columns(acting, found.motion.q)), np.einsum("tij,ti->tj", C, torque)
    controls = np.einsum("tkj,tj->tk", np.linalg.pinv(A), b)
    missing = np.abs(np.einsum("tjk,tk->tj", A, controls) - b).max(axis=0, initial=0.0)
    still = np.flatnonzero(missing > MAX_UNACTUATED * np.abs(b).max(initial=0.0))
    if len(still):
        note(f"no actuator of the setup moves {', '.join(names[k] for k in still)} as the motion does")
    moving, error = Moving(setup, acting, found.motion, loads, controls), found.recorded.q - found.motion.q
    note_tracking(moving, labelled(acting.control_names, controls), error, setup.weights, outputs)
    forces = dict(zip(RESIDUALS, found.residual.T, strict=True))
    forces |= {actuator.name: given for actuator, _, given in moving.scalar_actuators(forces)}
    most = ", ".join(f"{name} {np.abs(force).max():.3g}" for name, force in forces.items())
    outputs.tell(f"at most {most} along the axes of the setup's actuators")
    means = "".join(f"{name} average = {force.mean():.6g}\n" for name, force in forces.items())
    text = f"Average Residuals:\n\n{means}"
    outputs.add(result_file(setup, "avgResiduals.txt"), lambda to: write_text(to, text))
    analyse(moving, outputs)
