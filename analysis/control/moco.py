"""Trajectories in the files of OpenSim Moco: solutions written for Moco and others, and Moco's read as guesses.

A file is a table over time with states, controls, multipliers, derivatives, slacks and parameters, in this order. Its
header says how many of each there are. States are named by paths such as /jointset/hip_r/hip_flexion_r/value and
/forceset/soleus_r/activation, controls by those of forces. Source: OpenSim Moco, MocoTrajectory.h and .cpp
(C. L. Dembia, N. A. Bianco, A. Falisse, J. L. Hicks, S. L. Delp, PLoS Comput. Biol. 16, e1008493, 2020).
"""

import re
from collections.abc import Mapping
from dataclasses import field, replace
from itertools import islice
from numbers import Real
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np

from myoquat.analysis.motion.task_coordinates import velocity_of
from myoquat.core import PATH, Array, check_types, frozen, pandas as pd, real_array, time_table
from myoquat.data.motions import Motion, load_table, motion_from_states, save_table, states_from_motion
from myoquat.data.motions.angular_speeds import angular_triples, axes_of_angles
from myoquat.data.motions.series import check_time
from myoquat.data.osim.document import names_at_root
from myoquat.joints.evaluation import SystemLike, system_of
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.vectors import matvec
from myoquat.muscle import Model, muscle_forces
from myoquat.muscle.actuators import CoordinateActuator
from myoquat.muscle.laws import HillLaw

from .discretization import Sites, Statement
from .guesses import with_fibers
from .plants import ModelPlant, MuscledPlant, Plant, PrescribedPlant
from .points import interpolated_pose
from .solution import Solution

# ---- Reserves and residuals: the torques that Moco's operators add ------------------------------------------------


def reserve_torques(model: Model, strength: float = 1.0, *, ground: bool | None = None) -> dict[str, float]:
    """Torques on coordinates that nothing else determines or drives, as the `torques` of a `Problem`: strength [N m, N]
    by velocity. So Moco's ModOpAddReserves adds them.

    ground  None: of all joints; False: of those between bodies; True: of joints on the ground, whose torques are
            residuals, as of ModOpAddResiduals

    Locked coordinates, those that couplers determine, and those with an actuator have none. Ball joints with a
    quaternion have none either, since Moco has coordinates of one velocity only. ValueError for a strength that is not
    positive.

    >>> import myoquat as mq
    >>> from myoquat.analysis.control import reserve_torques
    >>> hinge = mq.joints.RevoluteJoint((0, 1, 0))
    >>> arm = mq.Body("upper", "ground", hinge, mass=1.0), mq.Body("fore", "upper", hinge, mass=1.0)
    >>> model = mq.Model(mq.ArticulatedSystem(arm))
    >>> reserve_torques(model, 100.0), reserve_torques(model, 2.0, ground=True)
    ({'upper.speed': 100.0, 'fore.speed': 100.0}, {'upper.speed': 2.0})
    """
    check_types(model=(model, Model), strength=(strength, Real), ground=(ground, (bool, NoneType)))
    if not (np.isfinite(strength) and strength > 0):
        raise ValueError(f"strength must be positive, not {strength}")
    on_ground = units_on_ground(model.system)
    names, own = drivable_coordinates(model, skip_driven=True), own_velocities(model.system)
    return {own[name]: float(strength) for name in names if ground in (None, name in on_ground)}


def drivable_coordinates(model: Model, skip_driven: bool) -> list[str]:
    """Coordinates of one velocity that no lock, no coupler and, if asked for, no actuator determines."""
    held = {*model.locked, *model.driven}
    held |= {a.coordinate for a in model.actuators if isinstance(a, CoordinateActuator)} if skip_driven else set()
    return [name for name in own_velocities(model.system) if name not in held]


def own_velocities(system: ArticulatedSystem) -> dict[str, str]:
    """The velocity of every coordinate that has one of its own, by name."""
    return {name: system.velocity_names[k] for name, k in velocity_of(system).items()}


def units_on_ground(system: ArticulatedSystem) -> dict[str, str]:
    """The unit of every coordinate of a joint on the ground."""
    return {
        name: unit
        for body in system.bodies
        if body.parent == system.ground
        for name, unit in zip(body.names_of_coordinates, body.joint.facts.coordinate_units, strict=True)
    }


COLUMNS = ("states", "controls", "input_controls", "multipliers", "derivatives", "slacks")  # in the order of a file
ACTIVATION, TENDON = "activation", "normalized_tendon_force"
ADDED = r"(reserve|residual)_jointset_.*"  # the names of actuators that Moco's operators add to coordinates

Columns = Mapping[str, Array]


@frozen(eq=False)
class MocoTrajectory:
    """A trajectory by Moco's names and in the units of its files.

    Angles are in rad, lengths in m, tendon forces in units of the greatest isometric force.

    time            (t,) [s]
    states          (t,) each, by name
    controls        (t,) each, by name
    input_controls  (t,) each, by name
    multipliers     (t,) each, by name
    derivatives     (t,) each, by name
    slacks          (t,) each, by name
    parameters      a number each, by name
    header          the other entries of the file's header, such as objective and status

    `Problem.solve(guess=trajectory)` starts from it, `trajectory.save(path)` writes it, and `load_moco_trajectory`
    reads one. ValueError for columns of another length than time, and times that do not increase.

    >>> import numpy as np
    >>> from myoquat.analysis.control import MocoTrajectory
    >>> time = np.array([0.0, 1.0])
    >>> trajectory = MocoTrajectory(time, {"/jointset/slider/x/value": time**2}, {"/forceset/motor": 1 - time})
    >>> list(trajectory.to_dataframe().columns)
    ['/jointset/slider/x/value', '/forceset/motor']
    """

    time: Array
    states: Columns = field(default_factory=dict)
    controls: Columns = field(default_factory=dict)
    input_controls: Columns = field(default_factory=dict)
    multipliers: Columns = field(default_factory=dict)
    derivatives: Columns = field(default_factory=dict)
    slacks: Columns = field(default_factory=dict)
    parameters: Mapping[str, float] = field(default_factory=dict)
    header: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "time", check_time(self.time))
        for group in COLUMNS:
            columns = getattr(self, group).items()
            given = {name: real_array(f"{group}: {name}", x, self.time.shape) for name, x in columns}
            object.__setattr__(self, group, given)

    def to_dataframe(self) -> "pd.DataFrame":
        """All columns over the index time [s]; parameters are constant columns."""
        columns: dict[str, Any] = {name: x for group in COLUMNS for name, x in getattr(self, group).items()}
        counts = {f"num_{group}": str(len(getattr(self, group))) for group in (*COLUMNS, "parameters")}
        header = counts | dict(self.header)
        return time_table(self.time, columns | dict(self.parameters), name="", in_degrees=False, header=header)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the .sto file. FileExistsError for an existing file unless `overwrite`."""
        frame = self.to_dataframe()
        save_table(frame, path, overwrite=overwrite, header=frame.attrs["header"])


def load_moco_trajectory(path: str | Path) -> MocoTrajectory:
    """The trajectory or solution in a .sto file that Moco or `MocoTrajectory.save` wrote.

    ModelError for a file that is no table over time; ValueError for one whose header does not count the columns, and
    for one in degrees.

    >>> import tempfile
    >>> from myoquat.analysis.control import MocoTrajectory, load_moco_trajectory
    >>> file = tempfile.mkdtemp() + "/trajectory.sto"
    >>> MocoTrajectory([0.0, 1.0], controls={"/forceset/motor": [1.0, 0.0]}, parameters={"mass": 2.0}).save(file)
    >>> load_moco_trajectory(file).parameters
    {'mass': 2.0}
    """
    check_types(path=(path, PATH))
    frame = load_table(path)
    header, labels = dict(frame.attrs["header"]), list(map(str, frame.columns))
    if "num_states" not in header or "num_controls" not in header:
        raise ValueError(f"{path}: the header has no num_states and num_controls: this is no trajectory of Moco")
    if frame.attrs["in_degrees"]:
        raise ValueError(f"{path}: the header says inDegrees=yes; Moco's trajectories are in radians")
    counts = {}
    for group in (*COLUMNS, "parameters"):
        text = header.pop(f"num_{group}", "0").strip()
        if not text.isdecimal():
            raise ValueError(f"{path}: num_{group} in the header must be a whole number, not {text!r}")
        counts[group] = int(text)
    if sum(counts.values()) != len(labels):
        raise ValueError(f"{path}: the header counts {sum(counts.values())} columns, but there are {len(labels)}")
    rest = iter(labels)
    parts = {group: {n: frame[n].to_numpy(float) for n in islice(rest, count)} for group, count in counts.items()}
    parameters = {name: float(x[0]) for name, x in parts.pop("parameters").items()}
    return MocoTrajectory(frame.index.to_numpy(float), **parts, parameters=parameters, header=header)


# ---- from a solution -------------------------------------------------------------------------------------------


def moco_trajectory(solution: Solution) -> MocoTrajectory:
    """A solution with the names that Moco gives to states and controls, at all points that have states.

    These are the nodes, and the points of Hermite-Simpson, Gauss and Radau inside the intervals, as in Moco's files.

    Fiber lengths become normalized tendon forces. Torques on velocities become actuators 'reserve_jointset_...' of the
    same scale. Multipliers keep the names that they have here; their signs are not those of Simbody. Quaternions, which
    Moco does not have, keep their names. Joints and forces outside the sets of the model's .osim or .omoco file have no
    set in their names: '/motor'. ValueError for equations of one's own.

    >>> import myoquat as mq
    >>> from myoquat.analysis.control import Effort, Problem, moco_trajectory
    >>> slider = mq.Body("block", "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=1.0, coordinate_names=("x",))
    >>> ends = {"x": 0.0, "x_dot": 0.0}, {"x": 1.0, "x_dot": 0.0}
    >>> system = mq.ArticulatedSystem((slider,))
    >>> problem = Problem(system, 1.0, (Effort(),), 4, torques=("x_dot",), initial=ends[0], final=ends[1])
    >>> trajectory = moco_trajectory(problem.solve())
    >>> list(trajectory.states), list(trajectory.controls)
    (['/jointset/block/x/value', '/jointset/block/x/speed'], ['/forceset/reserve_jointset_block_x'])
    """
    check_types(solution=(solution, Solution))
    plant = solution.statement.plant
    if not isinstance(plant, MuscledPlant):
        raise ValueError("a trajectory of Moco needs a model; a problem of equations of one's own has none")
    layout = solution.layout
    every = replace(solution, statement=replace(solution.statement, layout=replace(layout, nodes=layout.having("w"))))
    labels = [f"/forceset/{name}" for name in (*plant.muscle_names, *plant.actuator_names)]
    labels += [f"/forceset/reserve_jointset_{label}" for label in _driven_coordinates(plant).values()]
    controls = dict(zip(labels, solution.controls_at(every.time).T, strict=True))
    multipliers = {
        name: np.interp(every.time, solution.multiplier_time, column)
        for name, column in zip(solution.multiplier_names, solution.multipliers.T, strict=True)
    }
    header = {"objective": f"{solution.objective:.9g}", "num_iterations": str(solution.iterations)}
    header |= {f"objective_{name.replace(' ', '_')}": f"{value:.9g}" for name, value in solution.goals.items()}
    header |= {"success": str(solution.success).lower(), "status": solution.status.value}
    header |= {"solver_duration": f"{solution.seconds:.6f}"}
    apart = _names_at_root(plant.model)

    def in_file(label: str) -> str:
        """'/forceset/motor' -> '/motor' where the file has the motor outside its sets."""
        parts = label.split("/")
        return label if parts[2] not in apart else "/".join(("", *parts[2:]))

    states = _of_coordinates(plant.model, every.motion) | _of_muscles(plant, every)
    states, controls = ({in_file(label): x for label, x in group.items()} for group in (states, controls))
    return MocoTrajectory(every.time, states, controls, multipliers=multipliers, header=header)


def _names_at_root(model: object) -> set[str]:
    """Names of joints and forces that the file of a model has outside its sets; Moco's paths to these name no set."""
    file = getattr(model, "file", None)
    return names_at_root(file) if file and file.suffix.lower() in (".osim", ".omoco") and file.is_file() else set()


def _in_set(label: str, apart: set[str]) -> str:
    """'/motor' -> '/forceset/motor', and '/slider/x/value' -> '/jointset/slider/x/value'."""
    parts = label.split("/")
    if len(parts) < 2 or parts[1] not in apart:
        return label
    return ("/jointset" if parts[-1] in ("value", "speed") else "/forceset") + label


def _of_coordinates(model: SystemLike, motion: Motion) -> dict[str, Array]:
    """Values and speeds of all coordinates by Moco's names; some speeds are an angular velocity there."""
    frame = motion_from_states(motion.system, motion.time, motion.q, motion.u)
    values: dict[str, Array] = {}
    speeds: dict[str, Array] = {}
    joints = joint_names(motion.system)
    for label in map(str, frame.columns):
        speed = label.endswith("_u") and label[:-2] in joints
        name = label[:-2] if speed else label
        path = f"/jointset/{joints[name]}/{name}" if name in joints else f"/jointset/{name}"
        (speeds if speed else values)[f"{path}/{'speed' if speed else 'value'}"] = frame[label].to_numpy(float)
    for names in angular_triples(model):
        labels = [f"/jointset/{joints[name]}/{name}/speed" for name in names]
        axes, rates = axes_of_angles(*(frame[name].to_numpy(float) for name in names[:2])), [speeds[n] for n in labels]
        speeds |= dict(zip(labels, matvec(axes, np.stack(rates, axis=-1)).T, strict=True))
    return values | speeds


def joint_names(system: ArticulatedSystem) -> dict[str, str]:
    """The name of the joint of every coordinate, and of every angle that a quaternion has replaced."""
    found = {name: body.joint_name or body.name for body in system.bodies for name in body.names_of_coordinates}
    for name, (k, _) in system.angle_names.items():
        found[name] = system.bodies[k].joint_name or system.bodies[k].name
    return found


def _label(state: str) -> str:
    """'motor.activation' -> '/forceset/motor/activation'."""
    return "/".join(("/forceset", *state.rsplit(".", 1)))


def _of_muscles(plant: MuscledPlant, solution: Solution) -> dict[str, Array]:
    """Activations and normalized tendon forces by Moco's names."""
    columns = zip(plant.state_names, solution.states.T, strict=True)
    found = {_label(name): column for name, column in columns if name.endswith(f".{ACTIVATION}")}
    first, last = plant.law_states
    if last > first:
        motion, active = solution.motion, np.clip(np.asarray(solution.activation), 0, 1)
        states = solution.states[:, first:last]
        tension = muscle_forces(plant.equations.muscled, motion.q, motion.speeds, active, states)
        for k, muscle in enumerate(plant.equations.muscled.muscles):
            if isinstance(muscle.law, HillLaw) and muscle.law.states:
                found[f"/forceset/{muscle.name}/{TENDON}"] = tension[:, k] / muscle.law.max_isometric_force
    return found


def _driven_coordinates(plant: MuscledPlant) -> dict[str, str]:
    """'<joint>_<coordinate>' of every torque, by the name of its control; a velocity without a coordinate of its own
    keeps its name."""
    first, system = len(plant.muscle_names) + len(plant.actuator_names), system_of(plant.model)
    rows = {velocity: name for name, velocity in own_velocities(system).items()}
    joints, found = joint_names(system), {}
    for control in plant.control_names[first:]:
        velocity = control.removesuffix(".torque")
        name = rows.get(velocity, velocity)
        found[control] = f"{joints[name]}_{name}" if name in joints else name
    return found


# ---- as a guess ------------------------------------------------------------------------------------------------


def sites_of_trajectory(statement: Statement, trajectory: MocoTrajectory, otherwise: Sites) -> Sites:
    """The sites `otherwise` with what a trajectory knows of pose, velocities, activations and controls, and fibers in
    equilibrium. A duration that is free is that of the trajectory.

    Raises ValueError where it does not cover the duration, and for coordinates, controls, and states of muscles and
    actuators that the model does not have.
    """
    duration = otherwise.duration
    if not statement.fixed:
        duration = float(np.clip(trajectory.time[-1] - statement.start, *statement.duration))
    plant, times = statement.plant, statement.times(duration)
    apart = _names_at_root(getattr(plant, "model", None))
    states = {_in_set(label, apart): x for label, x in trajectory.states.items()}
    trajectory = replace(trajectory, states=states)
    if times[0] < trajectory.time[0] - 1e-6 or times[-1] > trajectory.time[-1] + 1e-6:
        raise ValueError(
            f"guess: the trajectory covers {trajectory.time[0]:g} to {trajectory.time[-1]:g} s; the motion lasts from "
            f"{times[0]:g} to {times[-1]:g} s"
        )
    sites = replace(otherwise, duration=duration)
    if not isinstance(plant, PrescribedPlant):
        sites = _with_motion(plant, times, trajectory, sites)
    fields = {name: np.array(values) for name, values in with_fibers(statement, sites).fields.items()}
    for name, columns in (("w", _known_states(plant, trajectory)), ("controls", _known_controls(plant, trajectory))):
        for k, column in columns.items():
            fields[name][:, k] = np.interp(times, trajectory.time, column)
    return replace(sites, fields=fields)


def _known_states(plant: Plant, trajectory: MocoTrajectory) -> dict[int, Array]:
    """Columns of states. Those of a muscle or an actuator of the problem that has none here are left out."""
    muscles = plant.model.muscle_names if isinstance(plant, MuscledPlant) and isinstance(plant.model, Model) else ()
    parts = {*muscles, *plant.control_names, *(name.partition(".")[0] for name in plant.state_names)}
    others = [x for x in trajectory.states if not x.startswith("/jointset/")]
    if unknown := [x for x in others if not x.startswith("/forceset/") or x.split("/")[2] not in parts]:
        raise ValueError(
            f"guess: the trajectory has states that the problem has not: {', '.join(unknown)}; muscles and actuators "
            f"of the problem: {', '.join(sorted(parts)) or 'none'}"
        )
    labels = enumerate(map(_label, plant.state_names))
    return {k: trajectory.states[label] for k, label in labels if label in trajectory.states}


def _known_controls(plant: Plant, trajectory: MocoTrajectory) -> dict[int, Array]:
    """Columns of controls: muscles and actuators by name, torques by the coordinate on which they act."""
    found = {label.rpartition("/")[2]: np.asarray(x) for label, x in trajectory.controls.items()}
    added = {name.partition("_jointset_")[2]: x for name, x in found.items() if re.fullmatch(ADDED, name)}
    driven = _driven_coordinates(plant) if isinstance(plant, MuscledPlant) else {}
    expected = {*plant.control_names, *(name for name in found if name.partition("_jointset_")[2] in driven.values())}
    if unknown := [name for name in found if name not in expected]:
        raise ValueError(
            f"guess: the trajectory has controls that the problem has not: {', '.join(unknown)}; "
            f"those of the problem: {', '.join(plant.control_names) or 'none'}"
        )
    known: dict[int, Any] = {k: found.get(name) for k, name in enumerate(plant.control_names)}
    known |= {plant.control_names.index(name): added.get(label) for name, label in driven.items()}
    return {k: x for k, x in known.items() if x is not None}


def _with_motion(plant: Plant, times: Array, trajectory: MocoTrajectory, sites: Sites) -> Sites:
    """Pose, velocities and their rates from the columns of coordinates."""
    columns = {name: x for name, x in trajectory.states.items() if name.startswith("/jointset/")}
    if not columns or not isinstance(plant, ModelPlant):
        return sites
    frame = pd.DataFrame(dict(columns), trajectory.time)
    start = getattr(plant.model, "start", None)
    poses, velocities = states_from_motion(plant.model, frame, in_degrees=False, start=start)
    at = np.clip(times, trajectory.time[0], trajectory.time[-1])
    q = interpolated_pose(Motion(plant.system, trajectory.time, poses), at)
    if velocities is None:
        return replace(sites, q=q)
    u = np.stack([np.interp(at, trajectory.time, column) for column in velocities.T], axis=-1)
    udot = np.gradient(u, times, axis=0) if len(times) > 1 else 0.0 * u
    return replace(sites, q=q, fields=sites.fields | {"u": u, "udot": udot})
