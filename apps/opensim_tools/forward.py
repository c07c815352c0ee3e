"""CMCTool, RRATool and ForwardTool: motions that forces cause, with the files that OpenSim's tools write.

CMCTool finds controls that follow a motion, RRATool a motion that is consistent with its ground reactions, and
ForwardTool the motion that controls cause.
"""

import math
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import numpy as np

from myoquat.analysis.motion import inverse_dynamics_of_motion
from myoquat.analysis.recruitment import ConsistentMotion, ResidualOptions, dynamically_consistent
from myoquat.analysis.recruitment.forward import computed_muscle_control
from myoquat.analysis.recruitment.free import free_velocities
from myoquat.analysis.recruitment.redundancy import ReserveActuator
from myoquat.analysis.recruitment.redundancy.actuators import control_columns, unbounded
from myoquat.apps.report import summary_of
from myoquat.core import Array
from myoquat.data import load_model
from myoquat.data.files import write_text
from myoquat.data.motions import Forces, Motion
from myoquat.data.motions.forces import read_external_loads
from myoquat.data.osim.controllers import PRESCRIBED, read_inputs
from myoquat.data.osim.document import modernize_names
from myoquat.data.osim.forces import external_force
from myoquat.data.reports import UnsupportedElements
from myoquat.data.setups import CmcSetup, ForwardSetup, RraSetup
from myoquat.data.setups.motion import Control, read_controls
from myoquat.data.tables import labelled, over_time
from myoquat.dynamics import Trajectory, simulate
from myoquat.joints.errors import ModelError, errors_in
from myoquat.joints.functions import AxisFunction, Constant, NaturalSpline, PiecewiseConstant
from myoquat.muscle.actuators import ActivationCoordinateActuator, CoordinateActuator, ScalarActuator
from myoquat.muscle.forces import CoordinateSpring, PrescribedForce
from myoquat.muscle.inputs import PrescribedInput
from myoquat.muscle.model import Model
from myoquat.muscle.states import state_names

from .analyses import analyse
from .moving import (
    Moving,
    actuators_of,
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
    state_table,
)
from .outputs import Outputs

# ---- CMCTool -----------------------------------------------------------------------------------------------------


def run_cmc(setup: CmcSetup, outputs: Outputs) -> None:
    """Follow the motion of a setup and note the files of what the model did, its controls, forces and errors."""
    whole = load_model(setup.model, "file")
    reserves = _reserves(setup, whole)
    if whole.inputs:
        names = ", ".join(own.name for own in whole.inputs)
        note(f"the model's controllers of {names} are left out; OpenSim adds their values to what it finds")
    model = replace(whole, actuators=(), inputs=())

    def windows(first: float, last: float) -> Array:
        if not last - first >= setup.window:
            raise ModelError(f"from {first:g} to {last:g} s there is no window of {setup.window:g} s", file=setup.path)
        return first + setup.window * np.arange(int((last - first) / setup.window + 1e-9) + 1)

    motion, bandwidths = even_motion(setup, model, windows, outputs.tell), _bandwidths(setup, model)
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
    """(nu,) [rad/s] of the velocities; 0 for those without a task, which OpenSim leaves free."""
    tracked = driving_tasks(model, setup.tracked)
    free = {c.name for c in model.coordinates if c.free} - {coupler.dependent for coupler in model.couplers}
    if untracked := sorted(free - set(tracked)):
        note(f"{', '.join(untracked)}: without a task in the setup, and left free")
    found = np.zeros(model.system.nu)
    for name, bandwidth in tracked.items():
        found[list(model.system.indices.velocities_of_coordinate(name))] = bandwidth
    return found


# ---- ForwardTool -------------------------------------------------------------------------------------------------

MAX_ROW_INTERVAL_S = 0.01


def run_forward(setup: ForwardSetup, outputs: Outputs) -> None:
    """Move the model of a setup and note the files of its states, its controls and the analyses."""
    model = load_model(setup.model, "file")
    model = replace(model, actuators=tuple(actuators_of(model, setup.force_sets).values()))
    model, time, q, u, activation, fibers = _start(setup, model)
    span = setup.times[1] - time
    if not span > 0:
        raise ModelError(f"the states start at {time:g} s, not before {setup.times[1]:g} s", file=setup.path)
    driven = _corrected(setup, _driven(setup, model))
    follows = any(muscle.activation_dynamics is not None for muscle in model.muscles)  # else inputs are activations
    motion = simulate(
        driven, q, u, span, rtol=setup.tolerance, activation=activation if follows else None, muscle_states=fibers,
        output_step=span / math.ceil(span / min(setup.longest_step, MAX_ROW_INTERVAL_S)),
        start_time=time, project_start=True,
    )  # fmt: skip
    rows = int(np.isfinite(motion.q).all(axis=-1).sum())
    outputs.tell(f"{rows} rows to {motion.time[rows - 1]:g} s, {motion.steps} steps")
    moving = _moving(setup, model, driven, motion, rows)
    _note_files(setup, model, moving, motion, outputs)
    analyse(moving, outputs)


def _start(setup: ForwardSetup, model: Model) -> tuple[Model, float, Array, Array | None, Array | None, Array | None]:
    """Where the motion starts: at the row of the file of states that is not later than the time, or as the model says.

    The model with the activations of its actuators there, the time, q, u, and activations and states of muscles.
    """
    if setup.states is None:
        if state_names(model) and not setup.equilibrium:
            note("fiber lengths start in balance: the file of the model's own is not read")
        own = [start_activation(muscle) for muscle in model.muscles]
        return model, setup.times[0], model.start, None, np.array(own) if own else None, None
    motion, *states, acting = read_states(setup.states, model, setup.times[0])
    u = np.zeros(model.system.nu) if motion.u is None else motion.u[0]
    activation, fibers = (None if x is None else x[0] for x in states)
    actuators = tuple(
        replace(a, activation=float(acting[a.name][0]))
        if isinstance(a, ActivationCoordinateActuator) and a.name in acting else a
        for a in model.actuators
    )  # fmt: skip
    begun = replace(model, actuators=actuators)
    return begun, float(motion.time[0]), motion.q[0], u, activation, None if setup.equilibrium else fibers


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
    loads = () if setup.loads is None else _loads(setup.loads)
    return replace(unbounded(model), inputs=tuple(inputs), forces=(*model.forces, *loads))


def _loads(path: Path) -> tuple[PrescribedForce, ...]:
    entries, file, _ = read_external_loads(path)
    if not file.is_file():
        raise ModelError(f"the data file {file.name!r} does not exist", file=path)
    with errors_in(path):
        return tuple(external_force(entry, file) for entry in entries)


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
    held = {c.name for c in model.coordinates if not c.free} | {c.dependent for c in model.couplers}
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


def _note_files(setup: ForwardSetup, model: Model, moving: Moving, motion: Trajectory, outputs: Outputs) -> None:
    """States in radians and in degrees, and controls of the model."""
    count = len(moving.time)
    inputs = motion.excitation if motion.excitation is not None else motion.activation
    controls = {} if inputs is None else labelled(model.muscle_names, inputs[:count])
    if motion.controls is not None:
        controls |= labelled(model.control_names, motion.controls[:count, : len(model.control_names)])
    outputs.table(result_file(setup, "controls.sto"), over_time(moving.time, controls), "controls")
    for ending, scale in (("states.sto", 1.0), ("states_degrees.mot", degree_scale(model.system))):
        outputs.table(result_file(setup, ending), state_table(moving, scale), "states", ending.endswith("mot"))


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
