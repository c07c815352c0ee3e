"""Inverse kinematics of recorded trials: beside OpenSim's solver at an accuracy of 1e-9, and the time of constraints.

`MYOQUAT_TRIALS` names a folder. A trial is a folder in it with markers (.trc) and one model, or with models called like
the markers (raise.trc, model_raise.osim). Weights are those of <IKMarkerTask>s of an .xml file beside them, else 1.
OpenSim follows the trial frame by frame in angles; ours are found in angles and in quaternions. A coordinate is weakly
determined if 1 mm of noise in the markers turns it by more than 1 degree. OpenSim's poses miss the constraints by its
accuracy. Their cost is that after a projection onto them. Seconds are of the processor, on one thread, with the
constraints and without them in turns.
"""

import os
import statistics
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from lxml import etree

from benchmarks.opensim.osim import in_opensim
from myoquat.analysis.motion import FittedMotion, inverse_kinematics
from myoquat.analysis.motion.smoothing import MotionConstraints
from myoquat.data import Markers, Motion, load_markers, load_model
from myoquat.muscle import Model

ACCURACY, NOISE, WEAK, REPEATS = 1e-9, 1e-3, 1.0, 25
ROTATIONS = {"angles": "file", "quaternions": "quaternion"}


class _Trial(NamedTuple):
    """Files of a trial, its markers, and the weights of those that the model knows."""

    file: Path
    name: str
    markers: Markers
    weights: dict[str, float]


def run() -> list[dict[str, Any]]:
    """A row for every trial in angles and in quaternions."""
    folder = os.environ.get("MYOQUAT_TRIALS")
    if not folder:
        return [{"work": "MYOQUAT_TRIALS names no folder of trials", "route": "none"}]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [row for trial in _trials(Path(folder)) for row in _rows(trial)]


def _trials(folder: Path) -> Iterator[_Trial]:
    for recording in sorted(folder.rglob("*.trc")):
        models = sorted(recording.parent.glob("*.osim"))
        named = [file for file in models if file.stem.endswith(recording.stem)]
        if len(models) == 1 or len(named) == 1:
            file = (named or models)[0]
            markers, known = load_markers(recording), {marker.name for marker in load_model(file).markers}
            tasks = _tasks(recording.parent)
            weights = {name: tasks.get(name, 0.0) if tasks else 1.0 for name in markers.names if name in known}
            yield _Trial(file, f"{recording.parent.name}/{recording.stem}", markers, weights)


def _tasks(folder: Path) -> dict[str, float]:
    """The weights of the first file with tasks."""
    for file in sorted(folder.glob("*.xml")):
        tasks = list(etree.parse(file, etree.XMLParser(recover=True)).getroot().iter("IKMarkerTask"))
        if tasks:
            applied = [task for task in tasks if task.findtext("apply", "true").strip().lower() == "true"]
            return {task.get("name"): float(task.findtext("weight", "1")) for task in applied}
    return {}


def _rows(trial: _Trial) -> list[dict[str, Any]]:
    models = {route: load_model(trial.file, rotations=rotations) for route, rotations in ROTATIONS.items()}
    found = {route: inverse_kinematics(model, trial.markers, trial.weights) for route, model in models.items()}
    theirs = _opensim(trial, found["angles"])
    return [_row(trial, route, models[route], found, theirs) for route in models]


def _opensim(trial: _Trial, fit: FittedMotion) -> Motion:
    """OpenSim's motion in the coordinates of ours in angles."""
    names = [name for name in trial.markers.names if trial.weights.get(name, 0.0) > 0]
    columns = [trial.markers.names.index(name) for name in names]
    data = {
        "times": trial.markers.time,
        "markers": trial.markers.positions[:, columns],
        "names": np.array(names),
        "weights": np.array([trial.weights[name] for name in names]),
        "accuracy": np.array(ACCURACY),
    }
    theirs = in_opensim("follow.py", trial.file, data)
    columns_of = {str(name): k for k, name in enumerate(theirs["names"])}
    order = [columns_of.get(name, columns_of.get(name.rpartition(".")[2])) for name in fit.system.coordinate_names]
    return Motion(fit.system, fit.time, theirs["values"][:, order])


def _row(trial: _Trial, route: str, model: Model, found: dict[str, FittedMotion], theirs: Motion) -> dict[str, Any]:
    fit, angles = found[route], found["angles"]
    ours, other = fit.angles(in_degrees=True), theirs.angles(in_degrees=True)
    turns = [name for name in angles.system.coordinate_names if not name.endswith(("_tx", "_ty", "_tz"))]
    apart = (ours[turns] - other[turns]).abs().max()
    weak = [name for name in turns if _spread(angles).get(f"{name}_dot", 0.0) > WEAK]
    assert angles.problem is not None
    cost = angles.problem.cost(_projected(angles, theirs.q), angles.data)
    work = f"inverse kinematics of {trial.name}, {len(fit.time)} frames, OpenSim at {ACCURACY:g}"
    row: dict[str, Any] = {"work": work, "route": route}
    row |= {"converged": int(fit.converged.sum()), "angles, deg": float(apart.drop(weak).max())}
    row |= {"weakly determined, deg": float(apart[weak].max()) if weak else 0.0, "which": " ".join(weak)}
    row |= {"cost above": float(((fit.cost - cost) / cost).max()), "constraint": float(fit.constraint_error.max())}
    return row | _times(trial, model)


def _projected(fit: FittedMotion, q: np.ndarray) -> np.ndarray:
    """Poses on the constraints of a fit."""
    problem = fit.problem
    assert problem is not None
    constraints = MotionConstraints(fit.system, problem.couplers, problem.constraints, problem.locked)
    poses: np.ndarray = constraints.poses(fit.time, problem.allowed(q))
    return poses


def _spread(fit: FittedMotion) -> dict[str, float]:
    """Degrees by which 1 mm of noise turns a velocity's coordinate, in the worst frame."""
    names, C = fit.covariance(NOISE)
    return dict(zip(names, np.degrees(np.sqrt(np.einsum("tii->ti", C))).max(axis=0), strict=True))


def _times(trial: _Trial, model: Model) -> dict[str, Any]:
    """Microseconds of the thread per frame with the model's constraints, and how many times those without."""
    models = {"with": model} | ({"without": replace(model, constraints=())} if model.constraints else {})
    times: dict[str, list[float]] = {name: [] for name in models}
    with mock.patch.dict(os.environ, {"MYOQUAT_THREADS": "1"}):
        for repeat in range(REPEATS + 1):
            for name, one in models.items():
                began = time.thread_time()
                inverse_kinematics(one, trial.markers, trial.weights)
                if repeat:
                    times[name].append(time.thread_time() - began)
    medians = {name: statistics.median(values) / len(trial.markers.time) * 1e6 for name, values in times.items()}
    row = {"median": medians["with"], "unit": "us"}
    return row | ({"times without": medians["with"] / medians["without"]} if "without" in medians else {})
