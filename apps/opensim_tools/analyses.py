"""AnalyzeTool: analyses of a motion, one after the other.

StaticOptimization as OpenSim 4 poses it.

minimise sum |x_i|^p over muscles and actuators under C^T (-J^T (F_1 a) + B c) = C^T tau, bounds on both. F_1 is the
force of the active fiber at activation 1 with a rigid tendon, along the tendon. The torque tau is the part of the
motion's demand that the model's other forces and the loads leave. Its accelerations are those of splines.

Passive forces of muscles are left out, and forces are proportional to the activation.
`myoquat.analysis.recruitment.redundancy` makes neither assumption. For the laws in ALONG_FIBER, OpenSim lets the force
of the fiber pull along the tendon, without the cosine of the pennation (4.6, `calcInextensibleTendonActiveFiberForce`).
So does this tool, while `redundancy` does not.

MuscleAnalysis: lengths, forces and powers of muscles, fibers and tendons, moment arms and moments.

Powers are those of OpenSim 4. With p1 the elastic and p2 the damping part of the passive force:

    active fiber   -(active + p2) dl_M/dt
    passive fiber  -p1 dl_M/dt
    tendon         -F dl_T/dt
    whole muscle   -F dl/dt
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from myoquat.analysis.motion.inverse_dynamics import inverse_dynamics_of_motion
from myoquat.analysis.recruitment.convex import Programs, Status, solve_programs
from myoquat.analysis.recruitment.free import free_velocities
from myoquat.analysis.recruitment.joint_loads import SIDES, JointLoads
from myoquat.analysis.recruitment.moment_arms import moment_arms
from myoquat.apps.opensim_tools.moving import Moving, degree_scale, moving_of, note, tell_missing_times, unbounded
from myoquat.apps.opensim_tools.outputs import Outputs
from myoquat.core.arguments import indices_of
from myoquat.core.typing import Array
from myoquat.data.external_loads import read_external_loads
from myoquat.data.files import file_name
from myoquat.data.motions import Motion, load_table
from myoquat.data.motions.motion import selected_frames
from myoquat.data.motions.series import interpolated
from myoquat.data.osim.controllers import read_control_bounds
from myoquat.data.osim.read import read_frame
from myoquat.data.setups import AnalyzeSetup
from myoquat.data.setups.analyses import (
    ActuationSetup,
    BodyKinematicsSetup,
    ForceReporterSetup,
    JointReactionSetup,
    KinematicsSetup,
    MuscleAnalysisSetup,
    PointKinematicsSetup,
    StaticOptimizationSetup,
)
from myoquat.data.xml import last_name
from myoquat.joints.errors import ModelError, in_file
from myoquat.joints.kinematics import frame_acceleration, frame_velocity, point_position
from myoquat.joints.quaternion import quaternion_from_matrix
from myoquat.joints.sequences import euler_from_quaternion
from myoquat.joints.vectors import cross, matvec, vecmat
from myoquat.muscle import actuator_forces, force_wrenches, law_forces, path_jacobian, path_lengths
from myoquat.muscle.actuators import ScalarActuator, with_controls
from myoquat.muscle.forces import CoordinateSpring, HuntCrossley
from myoquat.muscle.forces.coordinates import CoordinateLimit
from myoquat.muscle.laws import DeGrooteFregly2016, Millard2012
from myoquat.muscle.laws.base import ForceLaw
from myoquat.muscle.laws.hill import HillLaw
from myoquat.muscle.laws.path_affine import PathActuator
from myoquat.muscle.loads import world_point
from myoquat.muscle.model import Model
from myoquat.muscle.states import state_names

__all__ = [
    "Posed",
    "actuation",
    "analyse",
    "body_kinematics",
    "force_reporter",
    "joint_reaction",
    "kinematics",
    "muscle_analysis",
    "point_kinematics",
    "posed_as_opensim",
    "run_analyze",
    "static_optimization_of",
]

Columns = dict[str, tuple[Array, Array, Array]]  # force, speed and power (k,) by name


def actuation(moving: Moving, setup: ActuationSetup, outputs: Outputs) -> None:
    """Note the files of forces, speeds and powers: of muscles only where their states are known."""
    rows = moving.rows(setup.interval)
    found = _muscle_actuation(moving, rows) | _actuator_actuation(moving, rows)
    index = pd.Index(moving.motion.time[rows], name="time")
    for k, (ending, title) in enumerate((("force", "Forces"), ("speed", "Speeds"), ("power", "Powers"))):
        path = moving.file(setup.name, ending)
        table = pd.DataFrame({name: parts[k] for name, parts in found.items()}, index)
        outputs.table(path, table, f"Actuator{title}", False)


def _muscle_actuation(moving: Moving, rows: Array) -> Columns:
    """Tension, speed at which the path grows longer, and the power that the tension gives, -F dl/dt."""
    model, motion, tensions = moving.model, moving.motion, moving.tensions
    if tensions is None:
        note("forces, speeds and powers of the muscles are left out: their states are not in the file")
        return {}
    assert motion.u is not None
    speeds = matvec(path_jacobian(model, motion.q[rows]), motion.u[rows])
    columns = zip(model.muscle_names, tensions[rows].T, speeds.T, strict=True)
    return {name: (F, rate, -F * rate) for name, F, rate in columns}


def _actuator_actuation(moving: Moving, rows: Array) -> Columns:
    """Force or torque at the controls, the speed that it acts along, and their product: the power."""
    model, motion = moving.model, moving.motion
    assert motion.u is not None
    found: Columns = {}
    for actuator, own in with_controls(model.actuators):
        if isinstance(actuator, ScalarActuator):
            unit = np.full((len(rows), 1), 1 / actuator.optimal_force)
            speed = (actuator.force(model.system, motion.q[rows], unit) * motion.u[rows]).sum(axis=-1)
            force = actuator.optimal_force * moving.controls[rows, own.start]
            found[actuator.name] = force, speed, force * speed
        else:
            note(f"the actuator {actuator.name!r} is left out: it has more than one control")
    return found


COLUMNS = [f"{quantity}.{axis}" for quantity in ("force", "torque") for axis in "XYZ"]


def force_reporter(moving: Moving, setup: ForceReporterSetup, outputs: Outputs) -> None:
    """Note the file of forces. Forces of muscles need their states; forces without a column are reported."""
    if setup.constraints:
        note(f"{setup.name}: forces of constraints are left out")
    if any(body.stiffness or body.damping for body in moving.model.system.bodies):
        note(f"{setup.name}: springs and dampers of whole joints are left out: they have no names here")
    rows = moving.rows(setup.interval)
    found = _of_muscles(moving, rows) | _of_actuators(moving, rows) | _of_coordinates(moving, rows)
    loads = _of_loads(moving, rows)
    for force in moving.model.forces:
        if isinstance(force, HuntCrossley):
            found |= _of_contact(moving, rows, force)
        elif not isinstance(force, CoordinateSpring):
            note(f"{setup.name}: {force.element} is left out")
    table = pd.DataFrame(found | loads, pd.Index(moving.motion.time[rows], name="time"))
    outputs.table(moving.file(setup.name, "forces"), table, "ForceReporter", False)


def _of_loads(moving: Moving, rows: Array) -> dict[str, Array]:
    """External loads as OpenSim records them: forces and torques in world axes, points in the frame of the body."""
    if moving.loads is None or moving.setup.loads is None:
        return {}
    loads, poses = moving.loads, moving.model.system.poses(moving.motion.q[rows])
    entries, _, _ = read_external_loads(moving.setup.loads)
    found: dict[str, Array] = {}
    for k, entry in enumerate(entries):
        R, (of_body, origin) = poses[loads.force_frames[k]][0], poses[entry.body]
        point = world_point(poses, loads.point_frames[k], loads.point[rows, k])
        parts = (
            ("F", entry.force, matvec(R, loads.force[rows, k])),
            ("p", entry.force and entry.point, vecmat(point - origin, of_body)),
            ("T", entry.torque, matvec(R, loads.torque[rows, k])),
        )
        for letter, given, values in parts:
            if given:
                found |= {f"{entry.body}_{entry.name}_{letter}{x}": values[:, i] for i, x in enumerate("xyz")}
    return found


def _of_muscles(moving: Moving, rows: Array) -> dict[str, Array]:
    tensions = moving.tensions
    if tensions is None:
        note("forces of the muscles are left out: their states are not in the file")
        return {}
    return dict(zip(moving.model.muscle_names, tensions[rows].T, strict=True))


def _of_actuators(moving: Moving, rows: Array) -> dict[str, Array]:
    """Of those with one control."""
    return {
        actuator.name: actuator.optimal_force * moving.controls[rows, own.start]
        for actuator, own in with_controls(moving.model.actuators)
        if isinstance(actuator, ScalarActuator)
    }


def _of_coordinates(moving: Moving, rows: Array) -> dict[str, Array]:
    """Springs and limits of single coordinates of the file's own angles."""
    model, motion = moving.model, moving.motion
    names = model.system.coordinate_names
    springs = [force for force in model.forces if isinstance(force, CoordinateSpring)]
    acting: list[CoordinateSpring | CoordinateLimit] = [*springs, *model.limits]
    assert motion.u is not None
    found: dict[str, Array] = {}
    for force in acting:
        if force.coordinate in names and model.system.nq == model.system.nu:
            k = names.index(force.coordinate)
            found[force.name] = force.force(motion.q[rows, k], motion.u[rows, k])
        else:
            note(f"the force {force.name!r} is left out: its coordinate is no angle meanwhile")
    return found


def _of_contact(moving: Moving, rows: Array, force: HuntCrossley) -> dict[str, Array]:
    """The force and the torque about its origin on the body of every surface, in world axes."""
    model, motion = moving.model, moving.motion
    system = model.system
    assert motion.u is not None
    q, u, time = motion.q[rows], motion.u[rows], motion.time[rows]
    wrenches = force_wrenches(replace(model, forces=(force,)), q, u, time)
    poses = system.poses(q)
    p = np.stack([np.broadcast_to(poses[name][1], (len(rows), 3)) for name in system.body_names], axis=-2)
    push, turn = wrenches[..., :3], wrenches[..., 3:]
    on_ground = -np.concatenate([push.sum(axis=-2), (turn + cross(p, push)).sum(axis=-2)], axis=-1)
    found: dict[str, Array] = {}
    for body in [surface.body for material in force.materials for surface in material.surfaces]:
        own = on_ground if body == system.ground else wrenches[:, system.body_names.index(body)]
        found |= dict(zip([f"{force.name}.{body}.{part}" for part in COLUMNS], own.T, strict=True))
    return found


WHOLE = "center_of_mass"
PARTS = ("X", "Y", "Z", "Ox", "Oy", "Oz")
DEGREE = np.pi / 180


def kinematics(moving: Moving, setup: KinematicsSetup, outputs: Outputs) -> None:
    """Note the files of coordinates, speeds and accelerations."""
    system, motion, rows = moving.model.system, moving.motion, moving.rows(setup.interval)
    if system.nq != system.nu:
        raise ModelError(
            "Kinematics writes rates of the file's own angles; take rotations='file'", file=moving.setup.path
        )
    names = system.coordinate_names
    chosen = indices_of("coordinate", names if setup.coordinates == ("all",) else setup.coordinates, names)
    scale = degree_scale(system) if setup.in_degrees else np.ones(system.nq)
    parts = (("q", "Coordinates", motion.q), ("u", "Speeds", motion.u), ("dudt", "Accelerations", moving.accelerations))
    for ending, title, values in parts:
        path = moving.file(setup.name, ending)
        if isinstance(values, str):
            note(f"{path.name} is left out: {values}")
            continue
        assert values is not None
        table = _table(moving, rows, [names[k] for k in chosen], (values * scale)[:, chosen])
        outputs.table(path, table, title, setup.in_degrees)


def body_kinematics(moving: Moving, setup: BodyKinematicsSetup, outputs: Outputs) -> None:
    """Note the files of positions, velocities and accelerations of the bodies' centres of mass."""
    system, rows = moving.model.system, moving.rows(setup.interval)
    known = [body.name for body in system.bodies if body.name != f"{body.joint_name}_frame"]
    names = [*known, WHOLE] if setup.bodies == ("all",) else list(setup.bodies)
    indices_of("body", names, [*known, WHOLE])
    where = "bodyLocal" if setup.local else "global"
    masses = np.array([body.mass for body in system.bodies])
    for order, (ending, title) in enumerate((("pos", "Positions"), ("vel", "Velocities"), ("acc", "Accelerations"))):
        path = moving.file(setup.name, f"{ending}_{'global' if order == 0 else where}")
        if order == 2 and isinstance(moving.accelerations, str):
            note(f"{path.name} is left out: {moving.accelerations}")
            continue
        needed = range(len(masses)) if WHOLE in names else [i for i, b in enumerate(system.bodies) if b.name in names]
        found = {system.bodies[i].name: _of_body(moving, rows, i, order, setup.local) for i in needed}
        columns, labels = [], []
        for name in names:
            if name == WHOLE:
                columns.append(_of_whole(moving, rows, order))
                labels += [f"{name}_{part}" for part in PARTS[:3]]
            else:
                turned = found[name] * np.repeat([1.0, 1 / DEGREE if setup.in_degrees else 1.0], 3)
                columns.append(turned)
                labels += [f"{name}_{part}" for part in PARTS]
        outputs.table(path, _table(moving, rows, labels, np.concatenate(columns, axis=-1), cut=False), title,
                      setup.in_degrees)  # fmt: skip


def point_kinematics(moving: Moving, setup: PointKinematicsSetup, outputs: Outputs) -> None:
    """Note the files of a point's position relative to another body, and of its velocity and acceleration in the
    ground. All are in the axes of that body."""
    system, motion, rows = moving.model.system, moving.motion, moving.rows(setup.interval)
    known = (system.ground, *system.body_names)
    indices_of("body", [setup.body, setup.relative_to], known)
    R, p = (np.asarray(x) for x in system.poses(motion.q[rows])[setup.relative_to])
    for order, (ending, title) in enumerate((("pos", "PointPosition"), ("vel", "PointVelocity"),
                                             ("acc", "PointAcceleration"))):  # fmt: skip
        path = moving.file(setup.name, f"{setup.point_name}_{ending}")
        if order == 2 and isinstance(moving.accelerations, str):
            note(f"{path.name} is left out: {moving.accelerations}")
            continue
        x = _of_point(moving, rows, setup.body, setup.point, order)[..., :3]
        seen = vecmat(x - p if order == 0 else x, R)
        outputs.table(path, _table(moving, rows, ["state_0", "state_1", "state_2"], seen, cut=False), title, False)


# ---- parts -------------------------------------------------------------------------------------------------


def _table(moving: Moving, rows: Array, labels: Sequence[str], values: Array, cut: bool = True) -> pd.DataFrame:
    index = pd.Index(moving.motion.time[rows], name="time")
    values = values[rows] if cut else np.broadcast_to(values, (len(rows), values.shape[-1]))
    return pd.DataFrame(values, index, pd.Index(list(labels)))


def _of_point(moving: Moving, rows: Array, body: str, point: Sequence[float], order: int) -> Array:
    """(k, 3) the position of a point in the ground, or (k, 6) its velocity or acceleration with those of the turn."""
    system, q = moving.model.system, moving.motion.q[rows]
    if body == system.ground:
        return np.broadcast_to(np.array([*point, 0, 0, 0]) if order == 0 else np.zeros(6), (len(rows), 6))
    if order == 0:
        return point_position(system, q, body, point, backend="numpy")
    assert moving.motion.u is not None
    u = moving.motion.u[rows]
    if order == 1:
        return frame_velocity(system, q, u, body, point, backend="numpy")
    assert not isinstance(moving.accelerations, str)
    return frame_acceleration(system, q, u, moving.accelerations[rows], body, point, backend="numpy")


def _of_body(moving: Moving, rows: Array, i: int, order: int, local: bool) -> Array:
    """(k, 6) of the centre of mass; the turn as angles about the body's X, Y, Z [rad], or as vector."""
    system = moving.model.system
    body = system.bodies[i]
    x = _of_point(moving, rows, body.name, body.center_of_mass, order)
    R = np.broadcast_to(system.poses(moving.motion.q[rows])[body.name][0], (len(rows), 3, 3))
    if order == 0:
        return np.concatenate([x[..., :3], euler_from_quaternion(quaternion_from_matrix(R), "XYZ")], axis=-1)
    return np.concatenate([vecmat(x[..., :3], R), vecmat(x[..., 3:], R)], axis=-1) if local else x


def _of_whole(moving: Moving, rows: Array, order: int) -> Array:
    """(k, 3) of the centre of mass of all bodies, in the ground."""
    bodies = [body for body in moving.model.system.bodies if body.mass]
    total = sum(body.mass * _of_point(moving, rows, body.name, body.center_of_mass, order)[..., :3] for body in bodies)
    result: Array = np.asarray(total) / sum(body.mass for body in bodies)
    return result


def muscle_analysis(moving: Moving, setup: MuscleAnalysisSetup, outputs: Outputs) -> None:
    """Note the files of what is known: forces only where the states of the muscles are."""
    model = moving.model
    names = [m.name for m in model.muscles if isinstance(m.law, HillLaw)]
    chosen = names if setup.muscles == ("all",) else [name for name in setup.muscles if name in names]
    for name in setup.muscles:
        if setup.muscles != ("all",) and name not in names:
            note(f"the muscle {name!r} is left out: the model has none of that name with a fiber")
    if not chosen:
        note("nothing is written: the model has no muscle with a fiber that is asked for")
        return
    rows = moving.rows(setup.interval)
    columns = indices_of("muscle", chosen, model.muscle_names)
    found, tensions = _of_paths(moving, rows), moving.tensions
    if tensions is None:
        note("forces, fibers and tendons of the muscles are left out: their states are not in the file")
    else:
        found |= _of_fibers(moving, rows, columns, found["Length"])
    arms = _arms(moving, setup, rows) if setup.moments else {}
    found |= {f"MomentArm_{name}": values for name, values in arms.items()}
    if tensions is not None:
        found |= {f"Moment_{name}": values * tensions[rows] for name, values in arms.items()}
    index = pd.Index(moving.motion.time[rows], name="time")
    for title, values in found.items():
        path = moving.file(setup.name, title)
        outputs.table(path, pd.DataFrame(values[:, columns], index, pd.Index(chosen)), title, False)


def _of_paths(moving: Moving, rows: Array) -> dict[str, Array]:
    return {"Length": path_lengths(moving.model, moving.motion.q[rows])}


def _arms(moving: Moving, setup: MuscleAnalysisSetup, rows: Array) -> Mapping[str, Array]:
    """(k, m) moment arms by coordinate of the file."""
    follows = bool(moving.model.constraints or moving.model.couplers)
    table = moment_arms(moving.model, moving.motion.q[rows], sequence="file", follow_constraints=follows)
    wanted = list(map(str, table.columns)) if setup.coordinates == ("all",) else list(setup.coordinates)
    indices_of("coordinate", wanted, [str(name) for name in table.columns])
    return {name: table[name].to_numpy().reshape(len(rows), -1) for name in wanted}


def _of_fibers(moving: Moving, rows: Array, columns: list[int], lengths: Array) -> dict[str, Array]:
    """(k, m) of muscles, fibers and tendons."""
    model, motion = moving.model, moving.motion
    assert motion.u is not None
    q, activation = motion.q[rows], moving.activation
    assert activation is not None
    speeds = matvec(path_jacobian(model, q), motion.u[rows])
    found: dict[str, Array] = {}
    for i in columns:
        law = model.muscles[i].law
        assert isinstance(law, HillLaw)
        if (activation[rows, i] == 0).any():
            law.check_rates(f"muscle {model.muscle_names[i]!r}")
        state_columns = [k for k, name in enumerate(state_names(model)) if name.startswith(f"{model.muscle_names[i]}.")]
        state = (
            None if moving.muscle_states is None or not state_columns else moving.muscle_states[rows][:, state_columns]
        )
        given = lengths[:, i], speeds[:, i], activation[rows, i]
        for name, values in _of_fiber(law, *given, state).items():
            found.setdefault(name, np.zeros(lengths.shape))[:, i] = values
    return found


def _of_fiber(law: HillLaw, length: Array, speed: Array, activation: Array, state: Array | None) -> dict[str, Array]:
    """(k,) of one muscle, by the names of OpenSim's files."""
    l, cosine, rate = law.fiber(length, speed, activation, state)
    norm, v = l / law.optimal_fiber_length, rate / (law.max_contraction_velocity * law.optimal_fiber_length)
    active, elastic, damping = (law.max_isometric_force * x for x in law.fiber_parts(norm, v, activation))
    passive = elastic + damping
    tension = law.force(length, speed, activation, state)
    turn = -rate / l * law.width / (l * cosine)
    return {
        "TendonLength": length - l * cosine,
        "FiberLength": l,
        "NormalizedFiberLength": norm,
        "PennationAngle": np.arccos(cosine),
        "FiberVelocity": rate,
        "NormFiberVelocity": v,
        "PennationAngularVelocity": turn,
        "TendonForce": tension,
        "FiberForce": active + passive,
        "ActiveFiberForce": active,
        "PassiveFiberForce": passive,
        "ActiveFiberForceAlongTendon": active * cosine,
        "PassiveFiberForceAlongTendon": passive * cosine,
        "FiberActivePower": -(active + damping) * rate,
        "FiberPassivePower": -elastic * rate,
        "TendonPower": -tension * (speed - rate / cosine),
        "MuscleActuatorPower": -tension * speed,
    }


def joint_reaction(moving: Moving, setup: JointReactionSetup, outputs: Outputs) -> None:
    """Note the file of the reactions."""
    found = moving.joint_loads(*_forces(moving, setup))
    table = _reactions(found, setup, moving).iloc[moving.rows(setup.interval)]
    path = moving.file(setup.name, "ReactionLoads")
    outputs.table(path, table, "Joint Reaction Loads", False)


def _forces(moving: Moving, setup: JointReactionSetup) -> tuple[Array | pd.DataFrame | None, Array]:
    """Tensions of the muscles, and controls of the model's actuators: those in the setup's file, else those of the
    states."""
    model, motion = moving.model, moving.motion
    if setup.forces is None:
        tensions = moving.tensions
        if tensions is None:
            message = "JointReaction of a model with muscles needs <forces_file>, tensions by muscle, or their states"
            raise ModelError(message, file=moving.setup.path)
        return (tensions if tensions.size else None), moving.controls
    forces = _at(setup.forces, motion.time)
    return (forces if model.muscles else None), _controls(moving, forces)


def _at(path: Path, time: Array) -> pd.DataFrame:
    """The columns of a file at other times; at its ends half a step further, since resampled files end there."""
    table = load_table(path)
    given = table.index.to_numpy(dtype=float)
    half = np.diff(given).max(initial=0.0) / 2
    if len(time) and (not len(given) or time[0] < given[0] - half or time[-1] > given[-1] + half):
        message = f"forces are needed from {time[0]:g} to {time[-1]:g} s"
        raise ModelError(
            f"{message}, and given from {given[0]:g} to {given[-1]:g} s" if len(given) else message, file=path
        )
    at = np.clip(time, *given[[0, -1]]) if len(given) else time
    values = interpolated(given, table.to_numpy(dtype=float), at, np.inf)
    return pd.DataFrame(values, columns=table.columns)


def _controls(moving: Moving, forces: pd.DataFrame) -> Array:
    """(t, k) the controls at which actuators give the forces in the file; those of several controls are left out by
    name."""
    model, motion = moving.model, moving.motion
    controls = np.zeros((len(motion.time), len(model.control_names)))
    for actuator in model.actuators:
        if actuator.name not in forces:
            continue
        if not isinstance(actuator, ScalarActuator):
            note(f"the actuator {actuator.name!r} is left out: it has several controls")
            continue
        controls[:, model.control_names.index(actuator.name)] = forces[actuator.name] / actuator.optimal_force
    return controls


def _reactions(found: JointLoads, setup: JointReactionSetup, moving: Moving) -> pd.DataFrame:
    joints = found.joints if setup.joints == ("all",) else setup.joints
    sides, frames = (w if len(w) > 1 else w * len(joints) for w in (setup.sides, setup.frames))
    try:
        parts = [_reaction(found, joint, side, frame, moving)
                 for joint, side, frame in zip(joints, sides, frames, strict=True)]  # fmt: skip
    except ModelError:
        raise
    except ValueError as error:
        raise in_file(error, moving.setup.path) from None
    return pd.concat(parts, axis=1)


def _reaction(found: JointLoads, joint: str, side: str, name: str, moving: Moving) -> pd.DataFrame:
    """The columns of a joint in a frame.

    The frame is a body, the ground, "child" or "parent". It may also be fixed to a body, such as the frame
    "knee/tibia_offset" of a joint.
    """
    system = moving.model.system
    if "/" not in name.strip("/") and last_name(name) in (*SIDES, system.ground, *system.body_names):
        return found.to_dataframe([joint], on=side, frame=last_name(name))
    frame = read_frame(moving.setup.model, name)
    table = found.to_dataframe([joint], on=side, frame=frame.body)
    force, moment, point = np.split(table.to_numpy(), 3, axis=1)
    table[:] = np.concatenate([vecmat(x, frame.R) for x in (force, moment, point - frame.p)], axis=1)
    end = len("_fx")
    return table.rename(columns=lambda label: f"{label[: -end - len(frame.body)]}{last_name(name)}{label[-end:]}")


ALONG_FIBER = (Millard2012, DeGrooteFregly2016)


class Posed(NamedTuple):
    """The problems of the frames of `motion`, their unknowns by name, and the force (t, n) of each per unit of it."""

    motion: Motion
    programs: Programs
    names: tuple[str, ...]
    gains: Array


def static_optimization_of(moving: Moving, setup: StaticOptimizationSetup, outputs: Outputs) -> None:
    """Note the files of activations and forces."""
    posed = posed_as_opensim(moving, setup)
    motion, found = posed.motion, solve_programs(posed.programs)
    failed = np.flatnonzero(found.status != Status.SOLVED)
    if len(failed):
        t = motion.time[failed[0]]
        note(f"{setup.name}: {len(failed)} of {len(motion.time)} frames have no solution, the first at {t:g} s; what "
             "violates their equations the least is written for them")  # fmt: skip
    activations = pd.DataFrame(found.x, pd.Index(motion.time, name="time"), pd.Index(posed.names))
    loads = pd.DataFrame(_of_loads(moving, moving.rows(setup.interval)), activations.index)
    _note_files(moving, setup, outputs, activations, pd.concat([activations * posed.gains, loads], axis=1))


def posed_as_opensim(moving: Moving, setup: StaticOptimizationSetup) -> Posed:
    """The problem of every frame that the setup asks for."""
    rows = moving.rows(setup.interval)
    motion = _frames(moving, rows)
    model = moving.model
    pulling = [i for i, m in enumerate(model.muscles) if isinstance(m.law, (HillLaw, PathActuator))]
    gain, rest, columns = _strengths(model, motion, pulling, setup.physiology)
    needed = inverse_dynamics_of_motion(model, motion, moving.loads).torque
    C = free_velocities(model, motion.q, motion.time)[1]
    J = path_jacobian(model, motion.q)
    arms = -np.swapaxes(J @ C, -1, -2)
    lower, upper = _bounds(moving, pulling)
    A = np.concatenate([arms[..., pulling] * gain[:, None, :], np.swapaxes(C, -1, -2) @ columns], axis=-1)
    b = vecmat(needed, C) - matvec(arms, rest)
    of_actuators = np.broadcast_to(_optimal(model), (len(rows), columns.shape[-1]))
    return Posed(
        motion,
        Programs.of(A, b, powers=setup.power, lower=lower, upper=upper),
        (*(model.muscle_names[i] for i in pulling), *model.control_names),
        np.concatenate([gain, of_actuators], axis=-1),
    )


def _note_files(
    moving: Moving, setup: StaticOptimizationSetup, outputs: Outputs, activations: pd.DataFrame, forces: pd.DataFrame
) -> None:
    root = f"{moving.setup.name}_{setup.name}"
    results = moving.setup.results
    outputs.table(results / file_name(f"{root}_activation.sto"), activations, "Static Optimization", False)
    outputs.table(results / file_name(f"{root}_force.sto"), forces, "ModelForces", False)


def _frames(moving: Moving, rows: Array) -> Motion:
    """The frames with accelerations."""
    motion = moving.motion
    if motion.udot is None:
        raise ModelError(
            "StaticOptimization needs <coordinates_file>: accelerations are derivatives of coordinates",
            file=moving.setup.path,
        )
    assert motion.u is not None
    return selected_frames(motion, rows)


def _strengths(model: Model, motion: Motion, pulling: Sequence[int], physiology: bool) -> tuple[Array, Array, Array]:
    """Strengths of muscles and actuators: (t, k), (t, m), (t, nu, r).

    Tensions (t, k) of the muscles in `pulling` per activation. Tensions (t, m) of the other elements, which act without
    activation. Generalized forces (t, nu, r) of the actuators at controls of 1.
    """
    J = path_jacobian(model, motion.q)
    assert motion.u is not None
    lengths, speeds = path_lengths(model, motion.q), matvec(J, motion.u)
    plain = replace(model, muscles=tuple(replace(m, law=_active(m.law)) for m in model.muscles))
    at_rest = law_forces(plain, lengths, speeds, np.zeros(lengths.shape))
    gain = (law_forces(plain, lengths, speeds, np.ones(lengths.shape)) - at_rest)[:, list(pulling)]
    for k, i in enumerate(pulling):
        law = plain.muscles[i].law
        if isinstance(law, ALONG_FIBER):
            gain[:, k] /= law.fiber(lengths[:, i], speeds[:, i], np.ones(len(lengths)))[1]
    if not physiology:
        of_law = [model.muscles[i].law for i in pulling]
        gain = np.array([law.max_isometric_force if isinstance(law, HillLaw) else gain[0, k]
                         for k, law in enumerate(of_law)]) + np.zeros(gain.shape)  # fmt: skip
    at_rest[:, list(pulling)] = 0.0
    count = len(model.control_names)
    columns = [actuator_forces(unbounded(model), motion.q, motion.u, np.broadcast_to(row, (len(lengths), count)))
               for row in np.eye(count)]  # fmt: skip
    return gain, at_rest, np.stack(columns, axis=-1) if columns else np.zeros((*motion.u.shape, 0))


def _active(law: ForceLaw | None) -> ForceLaw | None:
    """The law whose force is proportional to the activation, beside a passive part."""
    if not isinstance(law, HillLaw):
        return law
    undamped: dict[str, Any] = {"damping": 0.0} if hasattr(law, "damping") else {}
    return replace(law, tendon="rigid", minimum_activation=0.0, **undamped)


def _optimal(model: Model) -> Array:
    """(r,) the force of every actuator at a control of 1."""
    return np.array([getattr(a, "optimal_force", 1.0) for a in model.actuators for _ in a.control_names])


def _bounds(moving: Moving, pulling: Sequence[int]) -> tuple[Array, Array]:
    """Least and greatest activations and controls: those of the file, else of the law."""
    model, given = moving.model, read_control_bounds(moving.setup.model)
    rows = []
    for i in pulling:
        law = model.muscles[i].law
        least = law.minimum_activation if isinstance(law, HillLaw) else -np.inf
        most = 1.0 if isinstance(law, HillLaw) else np.inf
        low, high = given.get(model.muscle_names[i], (None, None))
        rows.append((least if low is None else low, most if high is None else high))
    rows += [bounds for actuator in model.actuators for bounds in actuator.bounds]
    lower, upper = np.array(rows).reshape(-1, 2).T
    return lower, upper


RUN: dict[type, Callable[..., None]] = {
    ActuationSetup: actuation,
    ForceReporterSetup: force_reporter,
    KinematicsSetup: kinematics,
    BodyKinematicsSetup: body_kinematics,
    PointKinematicsSetup: point_kinematics,
    MuscleAnalysisSetup: muscle_analysis,
    StaticOptimizationSetup: static_optimization_of,
    JointReactionSetup: joint_reaction,
}

DEFAULT_TIMES = (0.0, 1.0)  # of OpenSim's tool, which setups name without asking for it


def run_analyze(setup: AnalyzeSetup, outputs: Outputs, rotations: str, tell: Callable[[str], None]) -> None:
    """Run the analyses of a motion and note their files."""
    for name in setup.left_out:
        note(f"{name} is left out: it is not known here")
    moving = moving_of(setup, rotations)
    if setup.times != DEFAULT_TIMES:
        tell_missing_times(moving.motion.time, setup.times, tell)
    analyse(moving, outputs, tell)


def analyse(moving: Moving, outputs: Outputs, tell: Callable[[str], None]) -> None:
    """Run the analyses of a setup on its motion and note their files."""
    for analysis in moving.setup.analyses:
        before = len(outputs.files)
        RUN[type(analysis)](moving, analysis, outputs)
        tell(f"{analysis.name}: {len(moving.rows(analysis.interval))} frames, {len(outputs.files) - before} files")
