"""Bands of uncertain inputs on OpenSim's reference outputs, for the setup files that give curves.

Angles of InverseKinematicsTool, generalized forces of InverseDynamicsTool, activations and forces of StaticOptimization
and reactions of JointReaction, with models and recordings of the setup. Forces are proportional to activations, as
OpenSim's static optimization takes them. A reserve of 1 N m on each coordinate lets every sample have a solution:
weaker muscles, and the recorded motion with other inertias.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from myoquat.analysis.recruitment import Effort
from myoquat.analysis.studies import (
    LoadsWanted,
    MotionSteps,
    UncertainCurves,
    UncertainInputs,
    uncertain_angles,
    uncertain_loads,
    uncertain_torques,
)
from myoquat.apps.opensim_tools.moving import loaded_motion, moving_of
from myoquat.apps.opensim_tools.tools import nearest_rows, task_weights
from myoquat.core import scipy
from myoquat.data import Motion, load_model
from myoquat.data.motions import load_forces, load_markers
from myoquat.data.setups import AnalyzeSetup, InverseDynamicsSetup, InverseKinematicsSetup, read_setup
from myoquat.data.setups.analyses import StaticOptimizationSetup

TIME_DIGITS = 9  # recorded times that agree to these are one
RESERVE = 1.0  # [N m, N] of a unit control


def bands_of(path: Path, inputs: UncertainInputs) -> UncertainCurves | None:
    """The curves of a setup file with bands; None for a tool whose outputs are no curves."""
    setup = read_setup(path)
    if isinstance(setup, InverseKinematicsSetup):
        return _angles(setup, inputs)
    if isinstance(setup, InverseDynamicsSetup):
        return _torques(setup, inputs)
    return _loads(setup, inputs) if isinstance(setup, AnalyzeSetup) else None


def curves_of(found: UncertainCurves | None, file: str, names: Sequence[str]) -> UncertainCurves | None:
    """The curves of some columns of an expected file under the names of the columns; None where there are none."""
    if found is None:
        return None
    ending = ".force" if file.endswith("_force.sto") else ".activation"
    own = {name: full for name in names for full in (name, f"{name}{ending}") if full in found.names}
    return replace(found.of(list(own.values())), names=tuple(own)) if own else None


# ---- parts -----------------------------------------------------------------------------------------------------------


def _angles(setup: InverseKinematicsSetup, inputs: UncertainInputs) -> UncertainCurves:
    model, markers = load_model(setup.model), load_markers(setup.markers)
    rows = nearest_rows(markers.time, *setup.times)
    seen = replace(markers, time=markers.time[rows], positions=markers.positions[rows])
    used, weights, wanted = task_weights(model, seen, setup.tasks, setup.coordinates, setup.path)
    return uncertain_angles(model, seen.select(used), inputs, MotionSteps(weights, wanted))


def _torques(setup: InverseDynamicsSetup, inputs: UncertainInputs) -> UncertainCurves:
    model = load_model(setup.model)
    motion = loaded_motion(setup.coordinates, model, in_degrees=True).between(*setup.times)
    loads = None if setup.loads is None else load_forces(setup.loads)
    steps = MotionSteps(cutoff=setup.cutoff, method="angles")
    return uncertain_torques(model, motion, loads, inputs, steps)


def _loads(setup: AnalyzeSetup, inputs: UncertainInputs) -> UncertainCurves:
    """Of the recorded motion at even times, with a reserve on each coordinate; coordinates are filtered as the setup
    says, states are not."""
    moving = moving_of(setup, "file")
    model, recorded, cutoff = moving.model, moving.motion, None
    if setup.coordinates is not None:
        recorded, cutoff = loaded_motion(setup.coordinates, model, in_degrees=True), setup.cutoff
    time, first = np.unique(recorded.time.round(TIME_DIGITS), return_index=True)
    even = np.linspace(time[0], time[-1], len(time))
    motion = Motion(model.system, even, scipy.interpolate.CubicSpline(time, recorded.q[first])(even))
    power = next((a.power for a in setup.analyses if isinstance(a, StaticOptimizationSetup)), 2.0)
    wanted = LoadsWanted(RESERVE, effort=Effort(power=power), on="child", frame="child", proportional=True)
    return uncertain_loads(model, motion, moving.loads, inputs, MotionSteps(cutoff=cutoff, method="angles"), wanted)
