"""RRATool: the motion that is consistent with its ground reactions, with the files that OpenSim's tool writes."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd

from myoquat.analysis.motion import inverse_dynamics_of_motion
from myoquat.analysis.motion.smoothing import natural_spline
from myoquat.analysis.recruitment import ConsistentMotion, ResidualOptions, dynamically_consistent
from myoquat.analysis.recruitment.free import free_velocities
from myoquat.apps.opensim_tools.analyses import analyse
from myoquat.apps.opensim_tools.moving import (
    Moving,
    actuators_of,
    assembled_motion,
    filtered_motion,
    loads_at,
    note,
    state_columns,
    tell_missing_times,
    unbounded,
)
from myoquat.apps.opensim_tools.outputs import Outputs
from myoquat.apps.report import summary_of
from myoquat.core.typing import Array
from myoquat.data import load_model
from myoquat.data.files import file_name, write_text
from myoquat.data.motions import Forces, Motion
from myoquat.data.setups import RraSetup
from myoquat.data.setups.control import control_set_text
from myoquat.joints.errors import ModelError
from myoquat.muscle import acting_torques
from myoquat.muscle.model import Model

__all__ = ["run_rra"]

FRAME_S = 0.005  # [s] between the frames, at which the residual meets its bounds
BOUND = 5.0  # [N], [N m] of each component of the residual
UNTRACKED = 0.01  # weight of coordinates without a task
RESIDUALS = ("FX", "FY", "FZ", "MX", "MY", "MZ")
MAX_UNACTUATED = 1e-6  # of the greatest generalized force: beyond it actuators are missing


def run_rra(setup: RraSetup, outputs: Outputs, tell: Callable[[str], None]) -> None:
    """Make the motion of a setup consistent and note the files of its kinematics, actuators, errors and model."""
    for name in setup.left_out:
        note(f"{name} is left out: it is not known here")
    whole = load_model(setup.model, "file")
    model = replace(whole, muscles=(), groups=(), actuators=(), inputs=(), forces=(), limits=())
    actuators = tuple(actuators_of(model, setup.force_sets).values())
    motion = _frames(setup, model)
    tell_missing_times(motion.time, setup.times, tell)
    loads = loads_at(setup.loads, motion.time)
    options = ResidualOptions(BOUND, BOUND, body=setup.body, weights=_weights(setup, model, motion), shift=0.05)
    found = dynamically_consistent(model, motion, loads, options=options)
    tell(summary_of(found))
    if not found.success:
        note(f"the residual exceeds {options.force:g} N or {options.torque:g} N m in some frames")
    if setup.output is not None:
        bodies = {body.name: body for body in found.model.system.bodies}
        changed = tuple(replace(b, center_of_mass=bodies[b.name].center_of_mass) for b in whole.system.bodies)
        adjusted = replace(whole, system=replace(whole.system, bodies=changed))
        shift = ", ".join(f"{1000 * x:.2f}" for x in found.shift)
        tell(f"center of mass of {setup.body} shifted by {shift} mm")
        outputs.add(setup.output, lambda to: adjusted.save(to, overwrite=True))
    acting = unbounded(replace(found.model, actuators=actuators))
    controls = _controls(acting, found, loads)
    _note_files(setup, acting, found, loads, controls, outputs)
    analyse(Moving(setup, acting, found.motion, loads, 0, None, None, controls), outputs, tell)


def _frames(setup: RraSetup, model: Model) -> Motion:
    """The motion of the file at even times, with derivatives of its splines."""
    recorded = filtered_motion(setup.coordinates, model, setup.cutoff)
    first, last = max(setup.times[0], recorded.time[0]), min(setup.times[1], recorded.time[-1])
    count = round((last - first) / FRAME_S) + 1
    if not count >= 16:
        raise ModelError(f"from {first:g} to {last:g} s there are fewer than 16 frames", file=setup.path)
    time = np.linspace(first, last, count)
    spline = natural_spline(recorded.time, recorded.q)
    motion = Motion(model.system, time, *(spline(time, order) for order in range(3)))
    return assembled_motion(model, motion, setup.coordinates)


def _weights(setup: RraSetup, model: Model, motion: Motion) -> dict[str, float]:
    """The weights of the free velocities: those of the tasks over their median, little for others."""
    known = model.system.coordinate_names
    for name in set(setup.weights) - set(known):
        note(f"the task of {name!r} is left out: the model has no such coordinate")
    names, _ = free_velocities(model, motion.q[:1])
    system = model.system
    rows = {name: system.indices.velocities_of_coordinate(name) for name in known}
    free = [name for name in known if {system.velocity_names[row] for row in rows[name]} & set(names)]
    given = {name: weight for name, weight in setup.weights.items() if name in free}
    middle = float(np.median(list(given.values()))) if given else 1.0
    return {name: given[name] / middle if name in given else UNTRACKED for name in free}


def _controls(model: Model, found: ConsistentMotion, loads: Forces | None) -> Array:
    """(t, k) the controls of actuators that give the motion."""
    motion, count = found.motion, len(model.control_names)
    assert motion.u is not None
    torque = inverse_dynamics_of_motion(found.model, motion, loads).torque
    still = np.zeros((len(motion.time), count))
    none = acting_torques(model, motion.q, motion.u, motion.time, controls=still)
    columns = []
    for k in range(count):
        one = still.copy()
        one[:, k] = 1.0
        columns.append(acting_torques(model, motion.q, motion.u, motion.time, controls=one) - none)
    names, C = free_velocities(found.model, motion.q)
    A = (
        np.einsum("tij,tik->tjk", C, np.stack(columns, axis=-1))
        if columns
        else np.zeros((len(motion.time), len(names), 0))
    )
    b = np.einsum("tij,ti->tj", C, torque - none)
    controls: Array = np.einsum("tkj,tj->tk", np.linalg.pinv(A), b)
    missing = np.abs(np.einsum("tjk,tk->tj", A, controls) - b).max(axis=0, initial=0.0)
    rows = np.flatnonzero(missing > MAX_UNACTUATED * np.abs(b).max(initial=0.0))
    if len(rows):
        note(f"no actuator of the setup moves {', '.join(names[k] for k in rows)} as the motion does")
    return controls


def _note_files(
    setup: RraSetup, model: Model, found: ConsistentMotion, loads: Forces | None, controls: Array, outputs: Outputs
) -> None:
    motion, recorded = found.motion, found.recorded
    assert motion.u is not None
    index, names = pd.Index(motion.time, name="time"), model.system.coordinate_names
    place = setup.results
    table = pd.DataFrame(controls, index, list(model.control_names))
    outputs.table(place / file_name(f"{setup.name}_controls.sto"), table, "controls", False)
    outputs.xml(place / file_name(f"{setup.name}_controls.xml"), lambda: control_set_text(table))
    tracked = [name for name in setup.weights if name in names]
    errors = (recorded.q - motion.q)[:, [names.index(name) for name in tracked]]
    outputs.table(
        place / file_name(f"{setup.name}_pErr.sto"), pd.DataFrame(errors, index, tracked), "PositionErrors", False
    )
    columns = state_columns(model.system, motion.q, motion.u)
    outputs.table(place / file_name(f"{setup.name}_states.sto"), pd.DataFrame(columns, index), "states", False)
    means = found.residual.mean(axis=0)
    lines = [f"{name} average = {mean:.6g}" for name, mean in zip(RESIDUALS, means, strict=True)]
    text = "Average Residuals:\n\n" + "\n".join(lines) + "\n"
    outputs.add(place / file_name(f"{setup.name}_avgResiduals.txt"), lambda to: write_text(to, text))
