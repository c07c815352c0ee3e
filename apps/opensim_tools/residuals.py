"""RRATool: the motion that is consistent with its ground reactions, with the files that OpenSim's tool writes."""

from dataclasses import replace

import numpy as np

from myoquat.analysis.motion import inverse_dynamics_of_motion
from myoquat.analysis.recruitment import ConsistentMotion, ResidualOptions, dynamically_consistent
from myoquat.analysis.recruitment.free import free_velocities
from myoquat.analysis.recruitment.redundancy.actuators import control_columns, unbounded
from myoquat.apps.report import summary_of
from myoquat.core import Array
from myoquat.data import load_model
from myoquat.data.files import write_text
from myoquat.data.motions import Forces, Motion
from myoquat.data.setups import RraSetup
from myoquat.data.tables import labelled
from myoquat.joints.errors import ModelError
from myoquat.muscle.model import Model

from .analyses import analyse
from .moving import Moving, actuators_of, driving_tasks, even_motion, loads_at, note, note_tracking, result_file
from .outputs import Outputs

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
    options = ResidualOptions(BOUND, BOUND, body=setup.body, weights=_weights(setup, model, motion), shift=0.05)
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
    controls = _controls(acting, found, loads)
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


def _weights(setup: RraSetup, model: Model, motion: Motion) -> dict[str, float]:
    """The weights of the free velocities: those of the tasks over their median, little for others."""
    known = model.system.coordinate_names
    names, _ = free_velocities(model, motion.q[:1], motion.time[:1])
    system = model.system
    rows = {name: system.indices.velocities_of_coordinate(name) for name in known}
    free = [name for name in known if {system.velocity_names[row] for row in rows[name]} & set(names)]
    given = {name: weight for name, weight in driving_tasks(model, setup.weights).items() if name in free}
    middle = float(np.median(list(given.values()))) if given else 1.0
    return {name: given[name] / middle if name in given else UNTRACKED for name in free}


def _controls(model: Model, found: ConsistentMotion, loads: Forces | None) -> Array:
    """(t, k) the controls of actuators that give the motion."""
    motion = found.motion
    torque = inverse_dynamics_of_motion(found.model, motion, loads).torque
    names, C = free_velocities(found.model, motion.q, motion.time)
    A, b = np.einsum("tij,tik->tjk", C, control_columns(model, motion.q)), np.einsum("tij,ti->tj", C, torque)
    controls: Array = np.einsum("tkj,tj->tk", np.linalg.pinv(A), b)
    missing = np.abs(np.einsum("tjk,tk->tj", A, controls) - b).max(axis=0, initial=0.0)
    rows = np.flatnonzero(missing > MAX_UNACTUATED * np.abs(b).max(initial=0.0))
    if len(rows):
        note(f"no actuator of the setup moves {', '.join(names[k] for k in rows)} as the motion does")
    return controls
