"""The common data of all analyses: a model, its motion, loads, and the states of its muscles where they are known."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from myoquat.analysis.control.moco import joint_names
from myoquat.analysis.motion.inverse_kinematics import MotionWarning
from myoquat.analysis.motion.prescribed import prescribed_controls
from myoquat.analysis.motion.smoothing import natural_spline, smooth_angles
from myoquat.analysis.recruitment.joint_loads import JointLoads, joint_loads
from myoquat.analysis.recruitment.redundancy import consistent_motion
from myoquat.analysis.recruitment.redundancy.actuators import unbounded
from myoquat.core import Array, frozen, pandas as pd, scipy, time_table, warn_user
from myoquat.data import load_model
from myoquat.data.files import file_name
from myoquat.data.motions import Forces, Motion, load_forces, load_motion, load_table, muscle_states_from_motion
from myoquat.data.motions.angular_speeds import angular_triples, angular_velocities, rates_of_angles
from myoquat.data.motions.coordinates import (
    actuation_from_motion,
    actuator_columns,
    bare_name,
    muscle_columns,
    states_from_motion,
)
from myoquat.data.motions.series import interpolated, row_at, rows_within
from myoquat.data.osim.sets import read_force_set
from myoquat.data.setups import AnalyzeSetup, CmcSetup, ForwardSetup, RraSetup
from myoquat.data.setups.motion import control_set_text, read_controls
from myoquat.data.tables import labelled
from myoquat.dynamics.constraints import AssemblyError, ConstraintArrays, Constraints, constraints_of
from myoquat.joints.errors import ModelError, errors_in
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.vectors import matvec
from myoquat.muscle import equilibrium_states, muscle_forces, path_jacobian, path_lengths
from myoquat.muscle.actuators import Actuator, ScalarActuator, with_controls
from myoquat.muscle.laws import DeGrooteFregly2016
from myoquat.muscle.model import Model
from myoquat.muscle.path import Muscle
from myoquat.muscle.states import state_names

from .outputs import Outputs

MAX_COUPLER_ERROR = 1e-3  # [rad, m] of a column, which rounding in a file explains


def loaded_motion(path: Path, model: Model, in_degrees: bool) -> Motion:
    """The motion in a file. Coordinates that it lacks keep their start, as in OpenSim.

    Columns of other models and of muscles are ignored. in_degrees: the unit of angles where the file does not name it.
    """
    table = load_table(path)
    own = {*model.system.coordinate_names, *model.system.angle_names}
    own |= {f"{name}_u" for name in own} | {*model.system.velocity_names}
    names = [str(label) for label in table.columns]
    ignore = [name for name in names if bare_name(name, own) not in own]
    if len(ignore) == len(names):
        raise ModelError("no column is a coordinate of the model", file=path)
    said = table.attrs.get("in_degrees")
    return load_motion(path, model, in_degrees=in_degrees if said is None else None, start=model.start, ignore=ignore)


def filtered_motion(path: Path, model: Model, cutoff: float | None) -> Motion:
    """The motion in a file of coordinates, its angles in degrees unless it says otherwise, below a cutoff [Hz]."""
    recorded = loaded_motion(path, model, in_degrees=True)
    with errors_in(path):
        return smooth_angles(recorded, cutoff)


def even_motion(
    setup: CmcSetup | RraSetup, model: Model, times: Callable[[float, float], Array], tell: Callable[[str], None]
) -> Motion:
    """The motion of a setup's file at times(first, last), with derivatives of its splines, on the constraints."""
    recorded = filtered_motion(setup.coordinates, model, setup.cutoff)
    time = times(max(setup.times[0], recorded.time[0]), min(setup.times[1], recorded.time[-1]))
    spline = natural_spline(recorded.time, recorded.q)
    motion = Motion(model.system, time, *(spline(time, order) for order in range(3)))
    tell_missing_times(time, setup.times, tell)
    return assembled_motion(model, motion, setup.coordinates)


def read_states(
    path: Path, model: Model, time: float | None = None
) -> tuple[Motion, Array | None, Array | None, dict[str, Array]]:
    """The motion in a file of states, the activations of the muscles and their states, None where it has none, and the
    activations of actuators by name. Of a time, only its row is read."""
    motion, table = loaded_motion(path, model, in_degrees=False), load_table(path)
    if time is not None:
        rows = np.array([row_at(motion.time, time)])
        motion, table = motion.rows(rows), table.iloc[rows]
    with errors_in(path):
        states = muscle_states_from_motion(model, table)
        return motion, *states, actuation_from_motion(model, table)


def with_speeds(model: Model, motion: Motion, path: Path) -> Motion:
    """The motion with the speeds of a file, by linear interpolation between its rows, as in OpenSim's AnalyzeTool.
    Speeds are in radians and metres per second; a file that declares degrees raises an error."""
    given = load_table(path)
    table = motion.angles()
    given.columns = [bare_name(str(label), {*table}) for label in given.columns]
    speeds = [name for name in table if name.endswith("_u")]
    missing = [name for name in speeds if name not in given]
    if missing:
        raise ModelError(f"the file of speeds has no column {', '.join(missing)}", file=path)
    if given.attrs.get("in_degrees"):
        raise ModelError("speeds must be in radians per second: inDegrees=no", file=path)
    time, rows = motion.time, given.index.to_numpy(dtype=float)
    if not len(rows) or not rows_within(time[[0, -1]], rows[0], rows[-1]).all():
        raise ModelError(f"speeds are needed from {time[0]:g} to {time[-1]:g} s", file=path)
    for name in speeds:
        table[name] = np.interp(time, rows, given[name])
    for names in angular_triples(model):
        x, y, omega = *(table[name].to_numpy() for name in names[:2]), table[[f"{name}_u" for name in names]].to_numpy()
        table[[f"{name}_u" for name in names]] = rates_of_angles(x, y, omega)
    q, u = states_from_motion(motion.system, table, in_degrees=False)
    return replace(motion, q=q, u=u)


def loads_at(path: Path | None, time: Array) -> Forces | None:
    """The external loads at these times, on natural cubic splines through the rows of their file, as OpenSim's
    ExternalForce has them; None for no file. ModelError for times that they do not cover."""
    if path is None:
        return None
    loads = load_forces(path)
    with errors_in(path):
        found = loads.resampled(time)
    if len(loads.time) < 3 or not len(time):
        return found
    given = {name: getattr(loads, name) for name in ("force", "point", "torque")}
    splines = {k: scipy.interpolate.CubicSpline(loads.time, x, bc_type="natural")(time) for k, x in given.items()}
    return replace(found, **splines)


def columns_at(path: Path, time: Array) -> "pd.DataFrame":
    """The columns of a file of forces at other times; at its ends half a step further, since resampled files end
    there. ModelError for times that it does not cover."""
    table = load_table(path)
    given = table.index.to_numpy(dtype=float)
    half = _longest_step(given) / 2
    if len(time) and (not len(given) or time[0] < given[0] - half or time[-1] > given[-1] + half):
        has = f", and given from {given[0]:g} to {given[-1]:g} s" if len(given) else ""
        raise ModelError(f"forces are needed from {time[0]:g} to {time[-1]:g} s{has}", file=path)
    at = np.clip(time, *given[[0, -1]]) if len(given) else time
    values = interpolated(given, table.to_numpy(dtype=float), at, np.inf)
    return time_table(time, values, table.columns)


def degree_scale(system: ArticulatedSystem) -> Array:
    """(nq,) what takes coordinates from radians to degrees, and leaves lengths alone."""
    units = [unit for body in system.bodies for unit in body.joint.facts.coordinate_units]
    return np.where(np.array(units) == "rad", 180 / np.pi, 1.0)


def cut_motion(motion: Motion, times: tuple[float, float], setup: Path) -> tuple[slice, Motion]:
    """The rows between two times, and their motion; ModelError if the motion has none of these times."""
    (first, last), (start, end), step = times, motion.time[[0, -1]], _longest_step(motion.time)
    if first > end + step or last < start - step:
        has = f"the motion has {start:g} to {end:g} s: no frame lies there"
        raise ModelError(f"the times {first:g} to {last:g} s are asked for, and {has}", file=setup)
    rows = rows_between(motion.time, *times)
    return rows, motion.rows(rows)


def tell_missing_times(time: Array, times: tuple[float, float], tell: Callable[[str], None]) -> None:
    """Tell which of the wanted times are not among those of the results, by more than one row."""
    (first, last), (start, end), step = times, time[[0, -1]], _longest_step(time)
    missing = [f"{first:g} to {start:g} s"] if np.isfinite(first) and first < start - step else []
    missing += [f"{end:g} to {last:g} s"] if np.isfinite(last) and last > end + step else []
    if missing:
        tell(f"left out: {' and '.join(missing)}, which the setup asks for and the recording lacks")


def _longest_step(time: Array) -> float:
    return float(np.diff(time).max(initial=0.0))


def rows_between(time: Array, first: float, last: float) -> slice:
    """Rows of OpenSim's Storage from `first` to `last`: from the last that is not later than each of them."""
    return slice(row_at(time, first), row_at(time, last) + 1)


def actuators_of(model: Model, force_sets: Sequence[Path]) -> dict[str, Actuator]:
    """By name the actuators of a model and of a setup's force sets, which replace those of the same name."""
    own = {actuator.name: actuator for actuator in model.actuators}
    return own | {actuator.name: actuator for path in force_sets for actuator in read_force_set(path)}


def driving_tasks(model: Model, tasks: Mapping[str, float]) -> dict[str, float]:
    """The tasks of a setup by coordinate: that of a coupled coordinate is also the task of the one that drives it. A
    warning names those of no coordinate."""
    found = {name: value for name, value in tasks.items() if name in model.system.coordinate_names}
    for name in sorted(tasks.keys() - found.keys()):
        note(f"the task of {name!r} is left out: the model has no such coordinate")
    for coupler in model.couplers:
        if coupler.dependent in found:
            found.setdefault(coupler.independent, found[coupler.dependent])
    return found


def note(message: str) -> None:
    """Tell what is left out."""
    warn_user(message, MotionWarning)


@frozen(eq=False)
class Moving:
    """A motion with u. If it comes from coordinates, it also has udot, from splines through the coordinates.

    controls (t, k) are those of actuators, with the activations of delayed ones. activation (t, m) and muscle_states
    (t, ns) are those of a states file, None where there is none.
    """

    setup: AnalyzeSetup | ForwardSetup | CmcSetup | RraSetup
    model: Model
    motion: Motion
    loads: Forces | None
    controls: Array
    activation: Array | None = None
    muscle_states: Array | None = None
    first: int = 0  # the number of the first frame in the file

    @property
    def time(self) -> Array:
        return self.motion.time

    @property
    def q(self) -> Array:
        return self.motion.q

    @property
    def u(self) -> Array:
        return self.motion.speeds

    @property
    def angular(self) -> bool:
        """Whether three speeds of a ball joint are its angular velocity to OpenSim (`Coordinate.angular`). From a file
        of coordinates alone it takes the rates of the angles for it, in the same numbers."""
        setup = self.setup
        return not isinstance(setup, AnalyzeSetup) or setup.states is not None or setup.speeds is not None

    def recorded(self, interval: int) -> "Moving":
        """The frames that an analysis records: the first, all multiples of its interval in the file's numbers, and the
        last."""
        k = np.arange(len(self.time))
        rows = np.flatnonzero(((k + self.first) % interval == 0) | (k == 0) | (k == len(k) - 1))
        if len(rows) == len(k):
            return self
        arrays = {name: getattr(self, name) for name in ("controls", "activation", "muscle_states")}
        changes: dict[str, Any] = {name: x[rows] for name, x in arrays.items() if x is not None}
        if self.loads is not None:
            changes["loads"] = self.loads.rows(rows)
        return replace(self, motion=self.motion.rows(rows), **changes)

    def joint_loads(self, tensions: "Array | pd.DataFrame | None", controls: Array) -> JointLoads:
        """The loads of joints, and the accelerations, under tensions and controls, which may be out of bounds."""
        model, forward = unbounded(self.model), replace(self.motion, udot=None)  # so that forces cause accelerations
        return joint_loads(model, forward, tensions, self.loads, controls=controls if model.actuators else None)

    def scalar_actuators(self, names: Container[str] | None = None) -> Iterator[tuple[ScalarActuator, int, Array]]:
        """The actuators of one control, of these names or all, each with its column of the controls and its force (t,).
        Others are noted as left out."""
        for actuator, own in with_controls(self.model.actuators):
            if names is not None and actuator.name not in names:
                continue
            if isinstance(actuator, ScalarActuator):
                yield actuator, own.start, actuator.optimal_force * self.controls[:, own.start]
            else:
                note(f"the actuator {actuator.name!r} is left out: it has more than one control")

    @cached_property
    def tensions(self) -> Array | None:
        """(t, m) [N] tensions of the muscles, None where their states are not known."""
        if not self.model.muscles:
            return np.zeros((len(self.time), 0))
        if self.activation is None or (self.muscle_states is None and state_names(self.model)):
            return None
        return muscle_forces(self.model, self.q, self.u, self.activation, self.muscle_states)

    @cached_property
    def accelerations(self) -> Array | str:
        """(t, nu) udot that the forces cause, as OpenSim's analyses have them, or why they are not known."""
        if self.tensions is None:
            return "accelerations are those that the forces cause, and what the muscles do is not in the file"
        try:
            return self.joint_loads(self.tensions if self.tensions.size else None, self.controls).motion.accelerations
        except ModelError as error:
            return f"accelerations are not known: {error}"

    @cached_property
    def lengths(self) -> Array:
        """(t, m) [m] of the muscles."""
        return path_lengths(self.model, self.q)

    @cached_property
    def lengthening(self) -> Array:
        """(t, m) [m/s] rates of the muscles' lengths."""
        return matvec(path_jacobian(self.model, self.q), self.u)


def result_file(setup: Any, ending: str) -> Path:
    """A file of a setup's results; ModelError for a name that no file can have."""
    return setup.results / file_name(f"{setup.name}_{ending}")


def assembled_motion(model: Model, motion: Motion, path: Path) -> Motion:
    """The motion of a file with what couplers and constraints drive, whatever the file has for it, as OpenSim assembles
    it. A warning for columns of driven coordinates that the file lacks or that move, and where a frame cannot be
    assembled: the motion is then that of the file."""
    tell_undriven(model, motion, path, "couplers of the model drive them")
    try:
        return consistent_motion(model, motion)
    except AssemblyError as error:
        note(f"the motion of {path.name} stays off the constraints of the model: {error}")
        return motion


def tell_undriven(model: Model, motion: Motion, path: Path, consequence: str) -> None:
    """A warning for coordinates that couplers drive: which have no column in the file of a motion, and which columns
    are off their couplers by more than rounding."""
    names = model.driven
    given = {bare_name(str(label), names) for label in load_table(path).columns}
    if missing := sorted(names - given):
        note(f"{path.name} has no column for {', '.join(missing)}: {consequence}")
    for held in (c for c in constraints_of(model) if getattr(c, "dependent", None) in names & given):
        arrays = ConstraintArrays(Constraints(model.system, (held,)))
        size = np.abs(arrays.position(motion.q, motion.time)).max(initial=0.0)
        if not size <= MAX_COUPLER_ERROR:
            note(f"{path.name} is off {held.label} by {size:.3g} in its column: {consequence}")


def moving_of(setup: AnalyzeSetup, rotations: str) -> Moving:
    """The motion that a setup asks for, cut to its times."""
    model = load_model(setup.model, rotations)
    driven = replace(model, actuators=tuple(actuators_of(model, setup.force_sets).values()))
    model = replace(driven, inputs=())
    if setup.states is None:
        assert setup.coordinates is not None
        whole = filtered_motion(setup.coordinates, model, setup.cutoff)
        if setup.speeds is not None:
            whole = with_speeds(model, whole, setup.speeds)
        whole = assembled_motion(model, whole, setup.coordinates)
        bends = natural_spline(whole.time, whole.speeds)(whole.time, 1)  # not the second derivatives of the coordinates
        rows, motion = cut_motion(replace(whole, udot=bends), setup.times, setup.path)
        activation, fibers, acting = None, None, dict[str, Array]()
    else:
        whole, *states, acting = read_states(setup.states, model)
        rows, motion = cut_motion(whole, setup.times, setup.path)
        motion = assembled_motion(model, motion, setup.states)
        if motion.u is None:
            raise ModelError("the file of states holds no speeds", file=setup.states)
        activation, fibers = (None if x is None else x[rows] for x in states)
        acting = {name: values[rows] for name, values in acting.items()}
    time, known = motion.time, model.control_names
    own = prescribed_controls(driven, time)
    controls = np.zeros((len(time), len(known))) if own is None else own  # zero where controllers say nothing
    for path in setup.controls:  # controllers add up
        table = read_controls(path)
        for k, name in enumerate(known):
            if name in table:
                controls[:, k] += table[name].at(time)
    for name, values in acting.items():
        controls[:, known.index(name)] = values
    return Moving(setup, model, motion, loads_at(setup.loads, time), controls, activation, fibers, rows.start)


def state_table(moving: Moving, scale: Array | float = 1.0) -> "pd.DataFrame":
    """All states that are known: `state_columns`, and those of muscles and of delayed actuators. Muscles without
    activation dynamics have no activation."""
    model = moving.model
    still = {f"/forceset/{muscle.name}/activation" for muscle in model.muscles if muscle.activation_dynamics is None}
    order = {name: k for k, name in enumerate(model.muscle_names)}
    of_muscles = muscle_columns(model, moving.activation, moving.muscle_states)
    labels = sorted((x for x in of_muscles if x not in still), key=lambda label: order[label.split("/")[2]])
    columns = state_columns(model, moving.q, moving.u, scale, moving.angular)
    others = {label: of_muscles[label] for label in labels} | actuator_columns(model, moving.controls)
    return time_table(moving.time, columns | others)


def state_columns(
    model: Model, q: Array, u: Array, scale: Array | float = 1.0, angular: bool = True
) -> dict[str, Array]:
    """Value and speed of every coordinate by OpenSim's path, of a model whose velocities are rates of coordinates, each
    times `scale`. Speeds of some joints are an angular velocity there (`Coordinate.angular`), unless not `angular`."""
    system, speeds = model.system, angular_velocities(model, q, u) if angular else u
    joints, names = joint_names(system), system.coordinate_names
    labels = [f"/jointset/{joints[name]}/{name}/{part}" for name in names for part in ("value", "speed")]
    return labelled(labels, np.stack([q * scale, speeds * scale], axis=-1).reshape(len(q), -1))


def note_tracking(
    stated: Moving, controls: dict[str, Array], error: Array, tracked: Iterable[str], outputs: Outputs
) -> None:
    """Note the files of CMCTool and RRATool beside their analyses: controls, errors (t, nq) of the tracked coordinates,
    and states."""
    names = stated.model.system.coordinate_names
    errors = {name: error[:, names.index(name)] for name in tracked if name in names}
    acting = time_table(stated.time, controls)
    outputs.table(result_file(stated.setup, "controls.sto"), acting, "controls")
    outputs.table(result_file(stated.setup, "pErr.sto"), time_table(stated.time, errors), "PositionErrors")
    outputs.table(result_file(stated.setup, "states.sto"), state_table(stated), "states")
    outputs.xml(result_file(stated.setup, "controls.xml"), lambda: control_set_text(acting))


def fibers_at_rest(model: Model, q: Array, activation: Array) -> Array | None:
    """The states of the muscles in balance at rest, None and a note without."""
    try:
        return equilibrium_states(model, q, activation)
    except ValueError as error:
        note(f"states are written without fiber lengths: {error}")
        return None


def start_activation(muscle: Muscle) -> float:
    """The activation with which a muscle starts, OpenSim's default_activation where its file gives none."""
    usual = 0.5 if isinstance(muscle.law, DeGrooteFregly2016) else 0.05
    return usual if muscle.activation is None else muscle.activation
