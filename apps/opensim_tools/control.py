"""CMCTool, by the computed muscle control of this package: rigid tendons, no activation dynamics, frames as far apart
as its window."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd

from myoquat.analysis.motion.angle_smoothing import natural_spline, smooth_angles
from myoquat.analysis.recruitment.forward import Tracking, computed_muscle_control
from myoquat.analysis.recruitment.redundancy import ReserveActuator, consistent_motion
from myoquat.apps.opensim_tools.analyses.moving import note
from myoquat.apps.opensim_tools.moved import (
    actuators_of,
    degree_scale,
    loaded_motion,
    loads_at,
    tell_missing_times,
)
from myoquat.apps.opensim_tools.outputs import Outputs
from myoquat.apps.report import summary_of
from myoquat.core.typing import Array
from myoquat.data import load_model
from myoquat.data.files import file_name
from myoquat.data.motions import Motion
from myoquat.data.setups import CmcSetup
from myoquat.joints.errors import ModelError, in_file
from myoquat.muscle.actuators import ScalarActuator
from myoquat.muscle.model import Model

__all__ = ["run_cmc"]

SPEEDS, ERRORS = "Kinematics_u", "pErr"


def run_cmc(setup: CmcSetup, outputs: Outputs, tell: Callable[[str], None]) -> None:
    """Follow the motion of a setup and note the files of what the model did, its controls, forces and errors."""
    for name in setup.left_out:
        note(f"{name} is left out: it is not known here")
    model = load_model(setup.model, "file")
    reserves = _reserves(setup, model)
    model = replace(model, actuators=(), inputs=())
    motion = _frames(setup, model)
    tell_missing_times(motion.time, setup.times, tell)
    loads = loads_at(setup.loads, motion.time)
    found = computed_muscle_control(
        model, consistent_motion(model, motion), loads, reserves=reserves, bandwidth=_bandwidths(setup, model)
    )
    if not found.complete:
        note(f"the simulation ended at {found.motion.time[-1]:g} s, before {motion.time[-1]:g} s")
    _note_cmc_files(setup, found, outputs)
    tell(f"{len(found.motion.time)} frames; {summary_of(found)}")


def _frames(setup: CmcSetup, model: Model) -> Motion:
    """The motion of the file at the beginning of every window, with derivatives of its splines."""
    whole = loaded_motion(setup.coordinates, model, in_degrees=True)
    try:
        whole = smooth_angles(whole, setup.cutoff)
    except ValueError as error:
        raise in_file(error, setup.coordinates) from None
    first, last = max(setup.times[0], whole.time[0]), min(setup.times[1], whole.time[-1])
    if not last - first >= setup.window:
        raise ModelError(f"from {first:g} to {last:g} s there is no window of {setup.window:g} s", file=setup.path)
    time = first + setup.window * np.arange(int((last - first) / setup.window + 1e-9) + 1)
    spline = natural_spline(whole.time, whole.q)
    return Motion(model.system, time, *(spline(time, order) for order in range(3)))


def _reserves(setup: CmcSetup, model: Model) -> list[ReserveActuator]:
    """The actuators of the model and of the setup, which help where muscles cannot."""
    found = []
    for name, actuator in actuators_of(model, setup.force_sets).items():
        if isinstance(actuator, ScalarActuator):
            found.append(ReserveActuator(actuator))
        else:
            note(f"<{type(actuator).__name__}> {name} is left out: reserves are of one control")
    return found


def _bandwidths(setup: CmcSetup, model: Model) -> Array:
    """(nu,) [rad/s] of the velocities, those without a task with the least of the tasks'."""
    least = min(setup.tracked.values())
    untracked = sorted({c.name for c in model.coordinates if not c.locked} - set(setup.tracked) - _cmc_driven(model))
    if untracked:
        note(f"{', '.join(untracked)}: without a task in the setup, and tracked with the least gain of the tasks, "
             f"kp = {least**2:g}")  # fmt: skip
    found = np.full(model.system.nu, least)
    for name, bandwidth in setup.tracked.items():
        if name not in model.system.coordinate_names:
            note(f"the task of {name!r} is left out: the model has no such coordinate")
            continue
        found[list(model.system.indices.velocities_of_coordinate(name))] = bandwidth
    return found


def _cmc_driven(model: Model) -> set[str]:
    return {coupler.dependent for coupler in model.couplers}


def _note_cmc_files(setup: CmcSetup, found: Tracking, outputs: Outputs) -> None:
    system, motion = found.model.system, found.motion
    scale = degree_scale(system)
    names, muscles = system.coordinate_names, found.model.muscle_names
    assert motion.u is not None
    parts: tuple[tuple[str, str, tuple[str, ...], Array, bool], ...] = (
        ("Kinematics_q", "Coordinates", names, motion.q * scale, True),
        (SPEEDS, "Speeds", names, motion.u * scale, True),
        ("controls", "controls", muscles, found.activation, False),
        ("Actuation_force", "Actuator Forces", muscles, found.force, False),
        (ERRORS, "PositionErrors", names, found.error, False),
    )
    for ending, title, labels, values, degrees in parts:
        table = pd.DataFrame(values, pd.Index(motion.time, name="time"), pd.Index(labels))
        if ending == "Actuation_force":
            helped = {f"{name}_help": found.help[:, k] for k, name in enumerate(found.velocities)}
            table = table.assign(**helped)
        outputs.table(setup.results / file_name(f"{setup.name}_{ending}.sto"), table, title, degrees)
