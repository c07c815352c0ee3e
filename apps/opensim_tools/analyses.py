"""AnalyzeTool: analyses of a motion, one after the other.

StaticOptimization as OpenSim 4 poses it.

minimise sum |x_i|^p over muscles and actuators under C^T (-J^T (F_1 a) + B c) = C^T tau, bounds on both. F_1 is the
force of the active fiber at activation 1 with a rigid tendon, along the tendon. The torque tau is the part of the
motion's demand that the model's other forces and the loads leave. Its accelerations are those of splines.

Passive forces of muscles are left out, and forces are proportional to the activation.
`myoquat.analysis.recruitment.redundancy` makes neither assumption. OpenSim lets the force of the fiber pull along the
tendon, of DeGrooteFregly2016 without the cosine of the pennation phi. Of Millard2012 it has the cosine of phi' with
sin phi' = l_0 sin phi, l_0 the optimal fiber length in m, because the pennation is that of a fiber of the normalized
length (4.6, `calcInextensibleTendonActiveFiberForce`). So does this tool, while `redundancy` has cos phi.

MuscleAnalysis: lengths, forces and powers of muscles, fibers and tendons, moment arms and moments.

Powers are those of OpenSim 4. With p1 the elastic and p2 the damping part of the passive force:

    active fiber   -(active + p2) dl_M/dt
    passive fiber  -p1 dl_M/dt
    tendon         -F dl_T/dt
    whole muscle   -F dl/dt
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from myoquat.analysis.motion.inverse_dynamics import inverse_dynamics_of_motion
from myoquat.analysis.recruitment.convex import Programs, Status, solve_programs
from myoquat.analysis.recruitment.free import free_velocities
from myoquat.analysis.recruitment.joint_loads import SIDES, JointLoads
from myoquat.analysis.recruitment.moment_arms import moment_arms
from myoquat.analysis.recruitment.redundancy.actuators import control_columns
from myoquat.core import Array, indices_of, time_table
from myoquat.data.motions import Motion
from myoquat.data.motions.angular_speeds import angular_accelerations, angular_triples, angular_velocities
from myoquat.data.motions.forces import read_external_loads
from myoquat.data.osim.controllers import read_control_bounds
from myoquat.data.osim.read import read_frame
from myoquat.data.setups import AnalyzeSetup
from myoquat.data.setups.analyses import (
    ActuationSetup,
    Analysis,
    BodyKinematicsSetup,
    ForceReporterSetup,
    JointReactionSetup,
    KinematicsSetup,
    MuscleAnalysisSetup,
    PointKinematicsSetup,
    StatesReporterSetup,
    StaticOptimizationSetup,
)
from myoquat.data.setups.motion import DEFAULT_TIMES
from myoquat.data.tables import labelled
from myoquat.data.xml import last_name
from myoquat.joints.errors import ModelError, in_file
from myoquat.joints.kinematics import frame_acceleration, frame_velocity, point_position
from myoquat.joints.quaternion import quaternion_from_matrix
from myoquat.joints.sequences import euler_from_quaternion
from myoquat.joints.vectors import cross, matvec, vecmat
from myoquat.muscle import force_wrenches, law_forces, path_jacobian
from myoquat.muscle.forces import CoordinateSpring, HuntCrossley
from myoquat.muscle.forces.coordinates import CoordinateLimit
from myoquat.muscle.laws import Blankevoort1991, DeGrooteFregly2016, Millard2012, PathSpring
from myoquat.muscle.laws.base import ForceLaw
from myoquat.muscle.laws.hill import HillLaw
from myoquat.muscle.laws.path_affine import PathActuator
from myoquat.muscle.loads import world_point
from myoquat.muscle.model import Model
from myoquat.muscle.states import state_names

from .moving import Moving, columns_at, degree_scale, moving_of, note, result_file, state_table, tell_missing_times
from .outputs import Outputs

Columns = dict[str, Array]  # (t,) by name
Tables = Iterator[tuple[str, str, "Columns | pd.DataFrame"]]  # the end of a file's name, the table's title, its columns


# ---- forces ----------------------------------------------------------------------------------------------------


def actuation(moving: Moving, setup: ActuationSetup) -> Tables:
    """Forces, speeds and powers: of muscles only where their states are known.

    The speed of a muscle is that at which its path grows longer, so that the power that it gives is -F dl/dt.
    """
    model = moving.model
    muscles = _of_muscles(moving, "forces, speeds and powers")
    force = {name: muscles[name] for name in muscles if name not in _elastic(model)}
    lengthening = labelled(model.muscle_names, moving.lengthening) if force else {}
    speed = {name: lengthening[name] for name in force}
    power = {name: -force[name] * speed[name] for name in force}
    for actuator, _, given in moving.scalar_actuators():
        name, unit = actuator.name, np.full((len(moving.time), 1), 1 / actuator.optimal_force)
        force[name] = given
        speed[name] = (actuator.force(model.system, moving.q, unit) * moving.u).sum(axis=-1)
        power[name] = force[name] * speed[name]
    yield "force", "ActuatorForces", force
    yield "speed", "ActuatorSpeeds", speed
    yield "power", "ActuatorPowers", power


def force_reporter(moving: Moving, setup: ForceReporterSetup) -> Tables:
    """Forces. Those of muscles need their states; forces without a column are reported."""
    model = moving.model
    if setup.constraints:
        note(f"{setup.name}: forces of constraints are left out")
    if any(body.stiffness or body.damping for body in model.system.bodies):
        note(f"{setup.name}: springs and dampers of whole joints are left out: they have no names here")
    path_springs = {m.name for m in model.muscles if isinstance(m.law, PathSpring)}
    tensions = _of_muscles(moving, "forces")
    ligaments = {m.name for m in model.muscles if isinstance(m.law, Blankevoort1991)}
    found = {f"{n}_tension" if n in path_springs else n: tensions[n] for n in tensions if n not in ligaments}
    found |= _of_ligaments(moving)
    found |= {actuator.name: given for actuator, _, given in moving.scalar_actuators()}
    springs = [force for force in model.forces if isinstance(force, CoordinateSpring)]
    acting: list[CoordinateSpring | CoordinateLimit] = [*springs, *model.limits]
    names = model.system.coordinate_names
    for spring in acting:
        if spring.coordinate in names and model.system.nq == model.system.nu:
            k = names.index(spring.coordinate)
            found[spring.name] = spring.force(moving.q[:, k], moving.u[:, k])
        else:
            note(f"the force {spring.name!r} is left out: its coordinate is no angle meanwhile")
    for force in model.forces:
        if isinstance(force, HuntCrossley):
            found |= _of_contact(moving, force)
        elif not isinstance(force, CoordinateSpring):
            note(f"{setup.name}: {force.element} is left out")
    yield "forces", "ForceReporter", found | _of_loads(moving)


def states_reporter(moving: Moving, setup: StatesReporterSetup) -> Tables:
    """States: of muscles only where the file of the motion has them."""
    if moving.model.muscles and moving.activation is None:
        note(f"{setup.name}: states of muscles are left out: they are not in the file")
    yield "states", "ModelStates", state_table(moving)


def _elastic(model: Model) -> dict[str, tuple[int, ForceLaw]]:
    """Springs and ligaments, which are no actuators: the index and the law of each."""
    return {m.name: (i, m.law) for i, m in enumerate(model.muscles) if m.law is not None and not m.law.activated}


def _of_muscles(moving: Moving, what: str) -> Columns:
    """The tensions; none where the states of the muscles are not known."""
    if moving.tensions is None:
        note(f"{what} of the muscles are left out: their states are not in the file")
        return {}
    return labelled(moving.model.muscle_names, moving.tensions)


def _of_ligaments(moving: Moving) -> Columns:
    """Forces, lengths and strains of Blankevoort's ligaments, whose states no file needs to hold."""
    found = Columns()
    for i, muscle in enumerate(moving.model.muscles):
        if isinstance(law := muscle.law, Blankevoort1991):
            length, speed = moving.lengths[:, i], moving.lengthening[:, i]
            still = np.zeros(length.shape)  # and without activation, which does not matter
            total, spring = (law.force(length, rate, still) for rate in (speed, still))
            strains = length / law.slack_length - 1, speed / law.slack_length
            values = {"force_spring": spring, "force_damping": total - spring, "force_total": total, "length": length,
                      "lengthening_speed": speed, "strain": strains[0], "strain_rate": strains[1]}  # fmt: skip
            found |= {f"{muscle.name}.{key}": x for key, x in values.items()}
    return found


def _of_loads(moving: Moving) -> Columns:
    """External loads as OpenSim records them: forces and torques in world axes, points in the frame of the body."""
    if moving.loads is None or moving.setup.loads is None:
        return {}
    loads, poses = moving.loads, moving.model.system.poses(moving.q)
    entries, _, _ = read_external_loads(moving.setup.loads)
    found = Columns()
    for k, entry in enumerate(entries):
        R, (of_body, origin) = poses[loads.force_frames[k]][0], poses[entry.body]
        point = world_point(poses, loads.point_frames[k], loads.point[:, k])
        parts = (
            ("F", entry.force, matvec(R, loads.force[:, k])),
            ("p", entry.force and entry.point, vecmat(point - origin, of_body)),
            ("T", entry.torque, matvec(R, loads.torque[:, k])),
        )
        for letter, given, values in parts:
            if given:
                found |= labelled([f"{entry.body}_{entry.name}_{letter}{x}" for x in "xyz"], values)
    return found


def _of_contact(moving: Moving, force: HuntCrossley) -> Columns:
    """The force and the torque about its origin on the body of every surface, in world axes."""
    system = moving.model.system
    wrenches = force_wrenches(replace(moving.model, forces=(force,)), moving.q, moving.u, moving.time)
    poses = system.poses(moving.q)
    p = np.stack([np.broadcast_to(poses[name][1], (len(moving.time), 3)) for name in system.body_names], axis=-2)
    push, turn = wrenches[..., :3], wrenches[..., 3:]
    on = dict(zip(system.body_names, np.moveaxis(wrenches, -2, 0), strict=True))
    on[system.ground] = -np.concatenate([push.sum(axis=-2), (turn + cross(p, push)).sum(axis=-2)], axis=-1)
    found, parts = Columns(), [f"{quantity}.{axis}" for quantity in ("force", "torque") for axis in "XYZ"]
    for body in [surface.body for material in force.materials for surface in material.surfaces]:
        found |= labelled([f"{force.name}.{body}.{part}" for part in parts], on[body])
    return found


# ---- kinematics ------------------------------------------------------------------------------------------------

WHOLE = "center_of_mass"
PARTS = ("X", "Y", "Z", "Ox", "Oy", "Oz")


def _orders(moving: Moving, setup: Analysis, titles: Mapping[str, str], columns: Callable[[int], Columns]) -> Tables:
    """Positions, velocities and accelerations: columns(order) under the title of an ending."""
    for order, (ending, title) in enumerate(titles.items()):
        if order == 2 and isinstance(moving.accelerations, str):
            note(f"{moving.setup.name}_{setup.name}_{ending}.sto is left out: {moving.accelerations}")
        else:
            yield ending, title, columns(order)


def kinematics(moving: Moving, setup: KinematicsSetup) -> Tables:
    """Coordinates, speeds and accelerations."""
    system, names = moving.model.system, moving.model.system.coordinate_names
    if system.nq != system.nu:
        raise ModelError(
            "Kinematics writes rates of the file's own angles; take rotations='file'", file=moving.setup.path
        )
    chosen = indices_of("coordinate", names if setup.coordinates == ("all",) else setup.coordinates, names)
    scale = degree_scale(system) if setup.in_degrees else np.ones(system.nq)

    def columns(order: int) -> Columns:
        state: Any = moving.q, moving.u, moving.accelerations
        values = state[order]
        if order and moving.angular:
            convert: Any = (angular_velocities, angular_accelerations)[order - 1]
            values = convert(moving.model, *state[: order + 1])
        return {names[k]: scale[k] * values[:, k] for k in chosen}

    titles = {"q": "Coordinates", "u": "Speeds", "dudt": "Accelerations"}
    return _orders(moving, setup, titles, columns)


def body_kinematics(moving: Moving, setup: BodyKinematicsSetup) -> Tables:
    """Positions, velocities and accelerations of the bodies' centres of mass."""
    bodies = {body.name: body for body in moving.model.system.bodies}
    known = [*(name for name, body in bodies.items() if name != f"{body.joint_name}_frame"), WHOLE]
    names = known if setup.bodies == ("all",) else setup.bodies
    indices_of("body", names, known)
    unit = np.repeat([1.0, 180 / np.pi if setup.in_degrees else 1.0], 3)

    def columns(order: int) -> Columns:
        found = Columns()
        for name in names:
            if name == WHOLE:
                heavy = [body for body in bodies.values() if body.mass]
                moments = [b.mass * _of_point(moving, b.name, b.center_of_mass, order)[..., :3] for b in heavy]
                values = np.sum(moments, axis=0) / sum(body.mass for body in heavy)
            else:
                axes = "local" if setup.local else "world"
                values = _of_point(moving, name, bodies[name].center_of_mass, order, axes)
                if order == 0:  # and the angles about the body's X, Y, Z [rad]
                    R = np.broadcast_to(moving.model.system.poses(moving.q)[name][0], (len(moving.time), 3, 3))
                    angles = euler_from_quaternion(quaternion_from_matrix(R), "XYZ")
                    values = np.concatenate([np.broadcast_to(values, angles.shape), angles], axis=-1)
                values = unit * values
            found |= labelled([f"{name}_{part}" for part in PARTS[: values.shape[-1]]], values)
        return found

    where = "bodyLocal" if setup.local else "global"
    titles = {"pos_global": "Positions", f"vel_{where}": "Velocities", f"acc_{where}": "Accelerations"}
    return _orders(moving, setup, titles, columns)


def point_kinematics(moving: Moving, setup: PointKinematicsSetup) -> Tables:
    """A point's position relative to another body, and its velocity and acceleration in the
    ground. All are in the axes of that body."""
    system = moving.model.system
    indices_of("body", [setup.body, setup.relative_to], (system.ground, *system.body_names))
    R, p = (np.asarray(x) for x in system.poses(moving.q)[setup.relative_to])

    def columns(order: int) -> Columns:
        x = _of_point(moving, setup.body, setup.point, order)[..., :3]
        return labelled([f"state_{k}" for k in range(3)], vecmat(x - p if order == 0 else x, R))

    titles = {f"{setup.point_name}_{quantity[:3].lower()}": f"Point{quantity}"
              for quantity in ("Position", "Velocity", "Acceleration")}  # fmt: skip
    return _orders(moving, setup, titles, columns)


def _of_point(moving: Moving, body: str, point: Sequence[float], order: int, axes: str = "world") -> Array:
    """(t, 3) the position of a point in the ground, or (t, 6) its velocity or acceleration with those of the turn."""
    system, q, u = moving.model.system, moving.q, moving.u
    if order == 0:
        return point_position(system, q, body, point, backend="numpy")
    if order == 1:
        return frame_velocity(system, q, u, body, point, axes=axes, backend="numpy")
    assert not isinstance(moving.accelerations, str)
    return frame_acceleration(system, q, u, moving.accelerations, body, point, axes=axes, backend="numpy")


# ---- muscles ---------------------------------------------------------------------------------------------------


def muscle_analysis(moving: Moving, setup: MuscleAnalysisSetup) -> Tables:
    """What is known of muscles: forces only where the states of the muscles are."""
    model = moving.model
    names = [m.name for m in model.muscles if isinstance(m.law, HillLaw)]
    chosen = names if setup.muscles == ("all",) else [name for name in setup.muscles if name in names]
    for name in setup.muscles:
        if setup.muscles != ("all",) and name not in names:
            note(f"the muscle {name!r} is left out: the model has none of that name with a fiber")
    if not chosen:
        note("nothing is written: the model has no muscle with a fiber that is asked for")
        return
    muscles, tensions = indices_of("muscle", chosen, model.muscle_names), moving.tensions
    found = {"Length": moving.lengths}
    if tensions is None:
        note("forces, fibers and tendons of the muscles are left out: their states are not in the file")
    else:
        states, activation = state_names(model), moving.activation
        assert activation is not None
        for i in muscles:
            name, law, own = model.muscle_names[i], model.muscles[i].law, activation[:, i]
            assert isinstance(law, HillLaw)
            if (own == 0).any():
                law.check_rates(f"muscle {name!r}")
            rows = [k for k, state in enumerate(states) if state.startswith(f"{name}.")]
            state = moving.muscle_states[:, rows] if moving.muscle_states is not None and rows else None
            of_fiber = _of_fiber(law, moving.lengths[:, i], moving.lengthening[:, i], own, state)
            for title, values in of_fiber.items():
                found.setdefault(title, np.zeros(moving.lengths.shape))[:, i] = values
    if setup.moments:
        follows = bool(model.constraints or model.couplers)
        axes = angular_triples(model)
        table = moment_arms(model, moving.q, sequence="file", follow_constraints=follows, about_axes=axes)
        known = [str(name) for name in table.columns]
        wanted = known if setup.coordinates == ("all",) else list(setup.coordinates)
        indices_of("coordinate", wanted, known)
        arms = {name: table[name].to_numpy().reshape(len(moving.time), -1) for name in wanted}
        found |= {f"MomentArm_{name}": values for name, values in arms.items()}
        if tensions is not None:
            found |= {f"Moment_{name}": values * tensions for name, values in arms.items()}
    for title, values in found.items():
        yield title, title, labelled(chosen, values[:, muscles])


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


# ---- joint reactions -------------------------------------------------------------------------------------------


def joint_reaction(moving: Moving, setup: JointReactionSetup) -> Tables:
    """Reactions of joints."""
    found = moving.joint_loads(*_forces(moving, setup))
    joints = found.joints if setup.joints == ("all",) else setup.joints
    sides, frames = (w if len(w) > 1 else w * len(joints) for w in (setup.sides, setup.frames))
    try:
        parts = [_reaction(found, *words, moving) for words in zip(joints, sides, frames, strict=True)]
    except ModelError:
        raise
    except ValueError as error:
        raise in_file(error, moving.setup.path) from None
    yield "ReactionLoads", "Joint Reaction Loads", pd.concat(parts, axis=1)


def _forces(moving: Moving, setup: JointReactionSetup) -> tuple[Array | pd.DataFrame | None, Array]:
    """Tensions of the muscles, and controls of the model's actuators at which these give the forces: those in the
    setup's file, else those of the states and of controllers.

    As in OpenSim, a file that lacks an actuator is not used, and springs and ligaments are none. Actuators of several
    controls do what these say.
    """
    model, controls = moving.model, moving.controls.copy()
    elastic = _elastic(model)
    actuators = {*model.muscle_names, *(actuator.name for actuator in model.actuators)} - elastic.keys()
    forces = None if setup.forces is None else columns_at(setup.forces, moving.time)
    if forces is not None and (lacks := sorted(actuators.difference(forces))):
        note(f"{setup.forces} is not used: it lacks {', '.join(lacks)}. Forces follow from states and controls")
        forces = None
    if forces is None:
        tensions = moving.tensions
        if tensions is None:
            message = "JointReaction with muscles needs <forces_file>, of all actuators, or states of muscles"
            raise ModelError(message, file=moving.setup.path)
        return (tensions if tensions.size else None), controls
    for actuator, column, _ in moving.scalar_actuators(forces):
        controls[:, column] = forces[actuator.name] / actuator.optimal_force
    for name, (i, law) in elastic.items():
        forces[name] = law.force(moving.lengths[:, i], moving.lengthening[:, i], np.zeros(len(forces)))
    return (forces if model.muscles else None), controls


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


# ---- static optimization ---------------------------------------------------------------------------------------


class Posed(NamedTuple):
    """The problems of the frames of `motion`, their unknowns by name, and the force (t, n) of each per unit of it."""

    motion: Motion
    programs: Programs
    names: tuple[str, ...]
    gains: Array


def static_optimization(moving: Moving, setup: StaticOptimizationSetup) -> Tables:
    """Activations and forces."""
    posed = posed_as_opensim(moving, setup)
    time, found = posed.motion.time, solve_programs(posed.programs)
    failed = np.flatnonzero(found.status != Status.SOLVED)
    if len(failed):
        note(f"{setup.name}: {len(failed)} of {len(time)} frames have no solution, the first at {time[failed[0]]:g} s; "
             "what violates their equations the least is written for them")  # fmt: skip
    forces = labelled(posed.names, found.x * posed.gains) | _of_loads(moving)
    yield "activation", "Static Optimization", labelled(posed.names, found.x)
    yield "force", "ModelForces", forces


def posed_as_opensim(moving: Moving, setup: StaticOptimizationSetup) -> Posed:
    """The problem of every frame that the setup asks for."""
    model, motion = moving.model, moving.motion
    if motion.udot is None:
        raise ModelError(
            "StaticOptimization needs <coordinates_file>: accelerations are derivatives of coordinates",
            file=moving.setup.path,
        )
    pulling = [i for i, m in enumerate(model.muscles) if isinstance(m.law, (HillLaw, PathActuator))]
    gain, rest, columns = _strengths(moving, pulling, setup.physiology)
    needed = inverse_dynamics_of_motion(model, motion, moving.loads).torque
    C = free_velocities(model, motion.q, motion.time)[1]
    arms = -np.swapaxes(path_jacobian(model, motion.q) @ C, -1, -2)
    lower, upper = _bounds(moving, pulling)
    A = np.concatenate([arms[..., pulling] * gain[:, None, :], np.swapaxes(C, -1, -2) @ columns], axis=-1)
    b = vecmat(needed, C) - matvec(arms, rest)
    optimal = [getattr(a, "optimal_force", 1.0) for a in model.actuators for _ in a.control_names]
    of_actuators = np.broadcast_to(np.array(optimal), (len(b), len(optimal)))  # the force at a control of 1
    return Posed(
        motion,
        Programs.of(A, b, powers=setup.power, lower=lower, upper=upper),
        (*(model.muscle_names[i] for i in pulling), *model.control_names),
        np.concatenate([gain, of_actuators], axis=-1),
    )


def _strengths(moving: Moving, pulling: Sequence[int], physiology: bool) -> tuple[Array, Array, Array]:
    """Strengths of muscles and actuators: (t, k), (t, m), (t, nu, r).

    Tensions (t, k) of the muscles in `pulling` per activation. Tensions (t, m) of the other elements, which act without
    activation. Generalized forces (t, nu, r) of the actuators at controls of 1.
    """
    model, lengths, speeds = moving.model, moving.lengths, moving.lengthening
    plain = replace(model, muscles=tuple(replace(m, law=_active(m.law)) for m in model.muscles))
    at_rest = law_forces(plain, lengths, speeds, np.zeros(lengths.shape))
    gain = (law_forces(plain, lengths, speeds, np.ones(lengths.shape)) - at_rest)[:, list(pulling)]
    for k, i in enumerate(pulling):
        law = plain.muscles[i].law
        if isinstance(law, (Millard2012, DeGrooteFregly2016)):
            cosine = law.fiber(lengths[:, i], speeds[:, i], np.ones(len(lengths)))[1]
            scale = law.optimal_fiber_length if isinstance(law, Millard2012) else 0.0
            gain[:, k] *= np.sqrt(1 - scale**2 * (1 - cosine**2)) / cosine
    if not physiology:
        of_law = [model.muscles[i].law for i in pulling]
        gain = np.array([law.max_isometric_force if isinstance(law, HillLaw) else gain[0, k]
                         for k, law in enumerate(of_law)]) + np.zeros(gain.shape)  # fmt: skip
    at_rest[:, list(pulling)] = 0.0
    return gain, at_rest, control_columns(model, moving.q)


def _active(law: ForceLaw | None) -> ForceLaw | None:
    """The law whose force is proportional to the activation, beside a passive part."""
    if not isinstance(law, HillLaw):
        return law
    undamped: dict[str, Any] = {"damping": 0.0} if hasattr(law, "damping") else {}
    return replace(law, tendon="rigid", minimum_activation=0.0, **undamped)


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


RUN: dict[type, Callable[..., Tables]] = {  # an analysis is one row
    ActuationSetup: actuation,
    ForceReporterSetup: force_reporter,
    StatesReporterSetup: states_reporter,
    KinematicsSetup: kinematics,
    BodyKinematicsSetup: body_kinematics,
    PointKinematicsSetup: point_kinematics,
    MuscleAnalysisSetup: muscle_analysis,
    StaticOptimizationSetup: static_optimization,
    JointReactionSetup: joint_reaction,
}


def run_analyze(setup: AnalyzeSetup, outputs: Outputs) -> None:
    """Run the analyses of a motion and note their files."""
    moving = moving_of(setup, outputs.rotations)
    if setup.times != tuple(DEFAULT_TIMES.values()):  # which setups name without asking for it
        tell_missing_times(moving.time, setup.times, outputs.tell)
    analyse(moving, outputs)


def analyse(moving: Moving, outputs: Outputs) -> None:
    """Run the analyses of a setup on its motion and note their files."""
    for analysis in moving.setup.analyses:
        before, recorded = len(outputs.files), moving.recorded(analysis.interval)
        in_degrees = analysis.in_degrees and isinstance(analysis, (KinematicsSetup, BodyKinematicsSetup))
        for ending, title, columns in RUN[type(analysis)](recorded, analysis):
            path = result_file(moving.setup, f"{analysis.name}_{ending}.sto")
            outputs.table(path, time_table(recorded.time, columns), title, in_degrees)
        outputs.tell(f"{analysis.name}: {len(recorded.time)} frames, {len(outputs.files) - before} files")
