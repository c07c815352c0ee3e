"""Loads of joints while muscles act: forces and moments on their surfaces, in any frame at any point."""

from collections.abc import Sequence
from functools import cached_property
from types import NoneType
from typing import Any

import numpy as np

from myoquat.analysis.motion.inverse_dynamics import ConstraintForces, Load, external_wrenches, load_about, load_columns
from myoquat.analysis.motion.joint_angles import carried_by
from myoquat.analysis.motion.prescribed import prescribed_controls
from myoquat.core import (
    Array,
    ArrayLike,
    Curve,
    Curves,
    check_types,
    frozen,
    indices_of,
    is_imported,
    pandas as pd,
    real_array,
    time_table,
)
from myoquat.data.motions import Forces, Motion, MotionLike, motion_of
from myoquat.data.motions.series import check_series
from myoquat.dynamics import external_force, forward_dynamics, inverse_dynamics, joint_reactions
from myoquat.dynamics.constraints import ConstrainedMotion
from myoquat.joints.multibody.system import Poses
from myoquat.joints.vectors import vecmat
from myoquat.muscle.acting import acts_on_bodies
from myoquat.muscle.evaluate import acting_wrenches, actuator_forces, limit_torques, muscle_wrenches, path_jacobian
from myoquat.muscle.loads import world_point
from myoquat.muscle.model import Model
from myoquat.muscle.points import DrivenPoint

SIDES = ("child", "parent")


@frozen(eq=False)
class JointLoads(Curves):
    """Loads in the joints of a model along a motion.

    motion       with the accelerations that belong to the loads
    wrench       (t, bodies, 6) the force [N] and the torque [N m] on each body through its joint, at its origin in
                 world axes
    applied      (t, bodies, 6) those of muscles and external loads on the bodies, in the same way
    driven       (t, nu) [N m, N] those of actuators, and of muscles on the coordinates that move points of their paths
                 or that fitted paths depend on
    constraints  the forces of the model's constraints, None for a model without

    A wrench is all that passes through a joint: actuators, springs, dampers, limits, couplers and locks included. Every
    body's momentum is therefore balanced. It is NaN where redundant constraints leave it open: `undetermined` names
    these joints.

    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import joint_loads
    >>> from myoquat.data import Motion
    >>> bob = mq.Body("bob", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0, 0, -0.5))
    >>> model = mq.Model(mq.ArticulatedSystem((bob,)))
    >>> still = Motion(model, [0.0, 0.1], [[0.0], [0.0]], [[0.0], [0.0]], [[0.0], [0.0]])
    >>> loads = joint_loads(model, still)
    >>> loads.of("bob").force.round(2) + 0.0  # it hangs at rest: m g
    array([[ 0.  ,  0.  , 19.62],
           [ 0.  ,  0.  , 19.62]])
    """

    model: Model
    motion: Motion
    wrench: Array
    applied: Array
    driven: Array
    constraints: ConstraintForces | None = None

    def __repr__(self) -> str:
        lost = self.undetermined
        rest = f"; not determined: {', '.join(lost)}" if lost else ""
        return f"<JointLoads {self.wrench.shape[1]} joints, {len(self.motion.time)} frames{rest}>"

    @property
    def undetermined(self) -> tuple[str, ...]:
        """The joints whose load redundant constraints leave open in some frame; their loads are NaN there."""
        lost = np.asarray(np.isnan(self.wrench).any(axis=(0, 2)))
        return tuple(self._name(i) for i, own in enumerate(lost) if own and self._name(i) in self.joints)

    @cached_property
    def _poses(self) -> Poses:
        return self.model.system.poses(self.motion.q)

    def of(self, joint: str, *, on: str = "child", frame: str = "ground", point: ArrayLike | None = None) -> Load:
        """The load of a joint, by its name or that of its body, `on` its "child" or its "parent".

        frame  in whose axes it is given: a body, "ground", whatever that is called, or "child" or "parent", the bodies
               that the joint joins.
        point  (3,) [m] in the child body's axes about which the moment is. None for the centre of the joint's frame on
               the side that the load acts on.

        ValueError for a joint, a frame or a side that does not exist.
        """
        if on not in SIDES:
            raise ValueError(f"on is 'child' or 'parent', not {on!r}")
        i = self._index(joint)
        poses, (carrier, parent) = self._poses, self._ends(i)
        system = self.model.system
        names = {"child": carrier, "parent": parent, "ground": system.ground}
        indices_of("body", [frame] if frame not in names else [], (system.ground, *system.body_names))
        body = system.bodies[i]
        force, moment, origin = self.wrench[:, i, :3], self.wrench[:, i, 3:], poses[body.name][1]
        at = origin if on == "child" else world_point(poses, body.parent, body.position)
        if point is not None:
            at = world_point(poses, carrier, real_array("point", point))
        sign = 1.0 if on == "child" else -1.0
        return load_about(at, sign * force, sign * moment, origin, poses[names.get(frame, frame)])

    def to_dataframe(
        self, joints: Sequence[str] | None = None, *, on: str = "child", frame: str = "ground"
    ) -> "pd.DataFrame":
        """Columns '<joint>_on_<body>_in_<frame>_fx' ... '_mx' ... '_px' ..., as OpenSim's JointReaction names them,
        over the index time [s]. All joints of the file if none are named."""
        columns: dict[str, Array] = {}
        for joint in self.joints if joints is None else joints:
            i = self._index(joint)
            ends = dict(zip(SIDES, self._ends(i), strict=True))
            load = self.of(joint, on=on, frame=frame)
            columns |= load_columns(f"{self._name(i)}_on_{ends[on]}_in_{ends.get(frame, frame)}", load)
        return time_table(self.motion.time, columns)

    def curves(self) -> dict[str, Curve]:
        """force, moment and point of the loads on the children over (time, joint, axis), in the axes of the ground."""
        parts = [np.stack(x, axis=1) for x in zip(*(self.of(joint) for joint in self.joints), strict=True)]
        dims, units = ("time", "joint", "axis"), ("N", "N m", "m")
        return {name: Curve(dims, x, unit) for name, x, unit in zip(Load._fields, parts, units, strict=True)}

    def labels(self) -> dict[str, Any]:
        """Times, names of the joints, and axes."""
        return {"time": self.motion.time, "joint": list(self.joints), "axis": list("xyz")}

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints in order, without those that only fix a body to the frame of its own joint."""
        bodies = self.model.system.bodies
        return tuple(self._name(i) for i, b in enumerate(bodies) if b.joint_name or not b.joint.is_weld)

    @cached_property
    def residual(self) -> "pd.DataFrame":
        """A column per velocity: the generalized force [N m, N] that the motion lacks.

        It is what the motion needs beyond muscles, actuators, external loads, and the model's limits and constraints.
        It is zero where these alone move it. Springs and dampers are no part of it. Motors (`torque`), and the forces
        that hold locks and couplers, are.
        """
        m, system = self.motion, self.model.system
        torque = _lacking(self.model, m, m.accelerations, self.applied, self.driven)
        if self.constraints is not None:
            torque = torque - self.constraints.force
        return time_table(m.time, torque, system.velocity_names)

    def _index(self, joint: str) -> int:
        bodies = self.model.system.bodies
        index = {b.name: i for i, b in enumerate(bodies)} | {b.joint_name: i for i, b in enumerate(bodies)}
        indices_of("joint", [joint], [name for name in index if name])
        return index[joint]

    def _name(self, i: int) -> str:
        body = self.model.system.bodies[i]
        return body.joint_name or body.name

    def _ends(self, i: int) -> tuple[str, str]:
        """The bodies that a joint joins: the one that it carries, and its parent."""
        body = self.model.system.bodies[i]
        return carried_by(self.model.system, body), body.parent


def joint_loads(
    model: Model,
    motion: MotionLike,
    muscle_forces: "ArrayLike | pd.DataFrame | None" = None,
    loads: Forces | None = None,
    torque: ArrayLike | None = None,
    wrenches: ArrayLike | None = None,
    controls: ArrayLike | None = None,
) -> JointLoads:
    """Forces and moments in every joint of a model that moves under muscles and loads, and those of its constraints.

    motion         q and u, and udot, the accelerations. Without udot they follow from muscles, loads, gravity, the
                   model's limits and passive forces, and `torque` (forward dynamics), as in OpenSim's JointReaction.
    muscle_forces  (t, m) tensions [N] at the times of the motion, in the order of the model's muscles. Or a table whose
                   columns are muscles by name (columns of others are passed over). None: muscles do not pull. Muscles
                   on fitted paths pull on bones where their own paths do (`MusclePath.anatomy`), with the moments of
                   the fit.
    loads          external loads, interpolated at the times of the motion.
    torque         (t, nu) what motors at the joints give, such as reserves. It is for a motion without udot, or a model
                   with constraints, whose forces depend on it.
    wrenches       (t, bodies, 6) further forces [N] and torques [N m] on the bodies at their origins, in world axes.
    controls       (t, k) of the model's actuators in the order of `Model.control_names`, with the activations of
                   delayed ones in their place. None: those that the model's own `inputs` prescribe, zero for others.

    Each body's momentum is balanced, whether or not the forces produce the motion. Missing forces appear in the loads
    about the joints' own axes, and in `JointLoads.residual`. Constraint forces are those that the balance leaves. Where
    forces are missing, they are those of the motion that the forces would cause (`ConstrainedMotion` of
    `dynamics.constraints`). Redundant constraints leave some loads open, which are NaN. Without udot, locked
    coordinates stay and couplers are followed; what holds them is in the loads. `Redundancy.joint_loads` has the loads
    of a solution.

    Raises ValueError for a motion of another system or without u, and for tensions, torques or wrenches of another
    shape or with NaN. It is raised for a table without a muscle of the model, and for a torque that has no effect.
    ModelError for constraints on velocities, passive forces of one's own that do not say on which bodies they act, and
    muscles that pull on paths which are functions of coordinates alone.

    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import joint_loads
    >>> from myoquat.data import Motion
    >>> bob = mq.Body("bob", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0, 0, -0.5))
    >>> model = mq.Model(mq.ArticulatedSystem((bob,)))
    >>> swing = Motion(model, [0.0, 0.1], [[0.0], [0.0]], [[0.0], [3.0]], [[0.0], [0.0]])
    >>> joint_loads(model, swing).of("bob").force.round(2) + 0.0  # m g, and m g + m l omega^2
    array([[ 0.  ,  0.  , 19.62],
           [ 0.  ,  0.  , 28.62]])
    """
    check_types(model=(model, Model), loads=(loads, (Forces, NoneType)))
    motion = motion_of(motion)
    model = motion.check_system(model)
    system = model.system
    u = motion.speeds
    if motion.udot is not None and torque is not None and not model.constraints:
        raise ValueError("torque has no effect on a motion that has its accelerations, without constraints")
    if controls is None:
        controls = prescribed_controls(model, motion.time)
    else:
        controls = check_series("controls", controls, (len(motion.time), len(model.control_names)))
    applied, driven = np.zeros((len(motion.time), len(system.bodies), 6)), np.zeros(u.shape)
    own = applied
    if acts_on_bodies(model) or controls is not None:
        own = acting_wrenches(model, motion.q, u, motion.time, controls=controls)
    if muscle_forces is not None:
        tensions = _tensions(model, motion, muscle_forces)
        applied = applied + muscle_wrenches(model, motion.q, tensions)
        driven = _driven(model, motion, tensions, applied)
    if controls is not None:
        driven = driven + actuator_forces(model, motion.q, u, controls)
    if loads is not None:
        applied = applied + external_wrenches(system, motion, loads)
    if wrenches is not None:
        applied = applied + check_series("wrenches", wrenches, applied.shape)
    motors = np.zeros(driven.shape) if torque is None else check_series("torque", torque, driven.shape)
    return _balanced(model, motion, (applied, own), driven, motors)


def _balanced(model: Model, motion: Motion, wrenches: tuple[Array, Array], driven: Array, motors: Array) -> JointLoads:
    """The loads with all forces known: accelerations where the motion has none, constraints, then the joints.

    wrenches: those applied, and those of the model's passive forces and actuators.
    """
    applied, own = wrenches
    system, q, u, udot = model.system, motion.q, motion.speeds, motion.udot
    constrained = bool(model.constraints)
    held = ConstrainedMotion(model, q, motion.time) if constrained or (udot is None and _restricted(model)) else None
    if udot is None:
        udot = _accelerations(model, motion, applied, driven + motors, held)
        motion = Motion(system, motion.time, q, u, udot)
    if held is None or not constrained:
        return JointLoads(model, motion, joint_reactions(system, q, u, udot, applied + own), applied, driven)
    multipliers = held.multipliers(_lacking(model, motion, udot, applied, driven + motors))
    wrench = joint_reactions(system, q, u, udot, applied + own + held.wrenches(multipliers))
    wrench[held.undetermined] = np.nan
    return JointLoads(model, motion, wrench, applied, driven, ConstraintForces.of_multipliers(held, multipliers))


def _restricted(model: Model) -> bool:
    return bool(model.couplers) or not all(coordinate.free for coordinate in model.coordinates)


def _lacking(model: Model, motion: Motion, udot: Array, applied: Array, driven: Array) -> Array:
    """(t, nu) what a motion with accelerations udot needs beyond all forces but those of constraints."""
    torque = inverse_dynamics(model, motion.q, motion.speeds, udot, applied) - driven
    if model.limits or model.forces:
        torque = torque - limit_torques(model, motion.q, motion.speeds, motion.time)
    return torque


def _accelerations(
    model: Model, motion: Motion, applied: Array, driven: Array, held: ConstrainedMotion | None
) -> Array:
    """(t, nu) udot that the forces cause, constraints kept, couplers followed and locked coordinates at rest."""
    q, u = motion.q, motion.speeds
    if held is not None:
        return held.acceleration(u, -_lacking(model, motion, np.zeros(u.shape), applied, driven))
    tau = driven + limit_torques(model, q, u, motion.time) if model.limits or model.forces else driven
    return forward_dynamics(model.system, q, u, tau, applied)


def _tensions(model: Model, motion: Motion, given: "ArrayLike | pd.DataFrame") -> Array:
    if is_imported("pandas") and isinstance(given, pd.DataFrame):
        labels = [str(label) for label in given.columns]
        given = given.to_numpy(dtype=float)[:, indices_of("column of tensions for", model.muscle_names, labels)]
    return check_series("muscle_forces", given, (len(motion.time), len(model.muscles)))


def _driven(model: Model, motion: Motion, tensions: Array, wrenches: Array) -> Array:
    """(t, nu) what is left of -J^T F beyond the forces on the bodies: the work where a point moves along its body."""
    if not any(isinstance(point, DrivenPoint) for muscle in model.muscles for point in muscle.path.points):
        return np.zeros((len(motion.time), model.system.nu))
    return -vecmat(tensions, path_jacobian(model, motion.q)) - external_force(model, motion.q, wrenches)
