"""InverseKinematicsTool, and what its tasks mean."""

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from myoquat.analysis.motion.fitted import FittedMotion
from myoquat.analysis.motion.inverse_kinematics import MotionWarning, inverse_kinematics
from myoquat.apps.opensim_tools.moved import tell_missing_times
from myoquat.apps.opensim_tools.outputs import Outputs
from myoquat.core.typing import Array
from myoquat.data import load_model
from myoquat.data.files import file_name
from myoquat.data.motions import Markers, load_markers, load_motion
from myoquat.data.setups import InverseKinematicsSetup, Task
from myoquat.joints.errors import ModelError
from myoquat.muscle.model import Model

__all__ = ["fitted_to_tasks", "run_inverse_kinematics", "task_weights"]

XYZ = ("_tx", "_ty", "_tz")


def run_inverse_kinematics(
    setup: InverseKinematicsSetup, outputs: Outputs, rotations: str, tell: Callable[[str], None]
) -> None:
    """Fit the poses and note the files: angles, marker errors, positions of the model's markers."""
    model = load_model(setup.model, rotations)
    markers = load_markers(setup.markers)
    markers = _rows(markers, nearest_rows(markers.time, *setup.times))
    if not len(markers.time):
        raise ModelError("no frame lies in <time_range>", file=setup.path)
    tell_missing_times(markers.time, setup.times, tell)
    fit = fitted_to_tasks(model, markers, setup.tasks, setup.coordinates, setup.path, setup.constraint_weight)
    if not any(task.target == "marker" for task in setup.tasks):
        message = (
            f"the task set names no marker: all {len(fit.marker_names)} that the model has are followed, with weight 1"
        )
        warnings.warn(f"{setup.path}: {message}", MotionWarning, stacklevel=2)
    tell(f"{len(fit.time)} frames, marker RMS {np.nanmax(fit.marker_rms) * 1e3:.3g} mm at most, "
         f"{int((~fit.converged).sum())} not converged")  # fmt: skip
    outputs.table(setup.motion, fit.angles(in_degrees=True), "Coordinates", True)
    if setup.errors:
        path = setup.results / file_name(f"{setup.name}_ik_marker_errors.sto")
        outputs.table(path, _errors(fit), "Model Marker Errors from IK", False)
    if setup.locations:
        path = setup.results / file_name(f"{setup.name}_ik_model_marker_locations.sto")
        outputs.table(path, _locations(model, fit), "Model Marker Locations from IK", False)


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
    if not len(time):
        return slice(0, 0)
    half = np.diff(time).max(initial=0.0) / 2
    if first > time[-1] + half or last < time[0] - half:
        return slice(0, 0)
    first, last = max(first, time[0]), min(last, time[-1])
    return slice(int(np.argmin(np.abs(time - first))), int(np.argmin(np.abs(time - last))) + 1)


def _rows(markers: Markers, rows: slice) -> Markers:
    return Markers(markers.time[rows], markers.names, markers.positions[rows], markers.frame)


def _errors(fit: FittedMotion) -> pd.DataFrame:
    squares = np.nan_to_num(fit.marker_error) ** 2
    columns = {
        "total_squared_error": squares.sum(axis=-1),
        "marker_error_RMS": np.nan_to_num(fit.marker_rms),
        "marker_error_max": np.sqrt(squares.max(axis=-1)),
    }
    return pd.DataFrame(columns, pd.Index(fit.time, name="time"))


def _locations(model: Model, fit: FittedMotion) -> pd.DataFrame:
    poses, own = model.system.poses(fit.q), {marker.name: marker for marker in model.markers}
    columns: dict[str, Array] = {}
    for name in fit.marker_names:
        R, p = poses[own[name].body]
        x = p + R @ np.array(own[name].position)
        columns |= {name + end: np.broadcast_to(x, (len(fit.time), 3))[:, k] for k, end in enumerate(XYZ)}
    return pd.DataFrame(columns, pd.Index(fit.time, name="time"))
