"""Inverse dynamics of a recorded motion: the torques at its joints under external loads."""

from collections.abc import Sequence
from types import NoneType
from typing import Any, NamedTuple, Self

import numpy as np

from myoquat.core import (
    Array,
    ArrayLike,
    Curve,
    Curves,
    Pair,
    check_types,
    frozen,
    indices_of,
    pandas as pd,
    time_table,
)
from myoquat.data.motions import Forces, Motion, MotionLike, motion_of
from myoquat.data.motions.angles import balls, unwrapped_angles
from myoquat.dynamics import inverse_dynamics
from myoquat.dynamics.constraints import ConstrainedMotion
from myoquat.joints.constraints import Constraint
from myoquat.joints.evaluation import Input, SystemLike, evaluate, system_of
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.quaternion import rotation_matrix
from myoquat.joints.vectors import cross, matvec, vecmat
from myoquat.muscle.evaluate import acting_torques
from myoquat.muscle.loads import body_wrenches, world_point
from myoquat.muscle.model import Model

from .continuity import check_jumps
from .prescribed import prescribed_controls

AXES = ("x", "y", "z")
ORIGIN = (0.0, 0.0, 0.0)


class Load(NamedTuple):
    """A force, and a moment about a point, in the axes of one frame.

    force   (t, 3) [N]
    moment  (t, 3) [N m] about the point
    point   (t, 3) [m] from the frame's origin

    >>> import numpy as np
    >>> from myoquat.analysis.recruitment import Load
    >>> load = Load(force=np.array([0.0, 0, 20.0]), moment=np.zeros(3), point=np.zeros(3))
    >>> load.force
    array([ 0.,  0., 20.])
    """

    force: Array
    moment: Array
    point: Array


def load_about(point: Array, force: Array, moment: Array, origin: Array, axes: Pair) -> Load:
    """A force and its moment about `origin`, all in world axes, about another point, in the axes of a frame."""
    R, p = axes
    moment = moment + cross(origin - point, force)
    return Load(*(vecmat(x, R) + np.zeros(moment.shape) for x in (force, moment, point - p)))


def load_columns(root: str, load: Load) -> dict[str, Array]:
    """Columns '<root>_fx' ... '_mx' ... '_px' ..., as OpenSim's JointReaction names them."""
    return {f"{root}_{letter}{axis}": values[:, k]
            for letter, values in zip("fmp", load, strict=True) for k, axis in enumerate(AXES)}  # fmt: skip


@frozen(eq=False)
class ConstraintForces:
    """multipliers (t, k) of the rows of `motion`: constraints between bodies, then those on coordinates, couplers and
    locks among them. They are NaN where redundant constraints leave them open. force (t, nu) [N m, N] are the
    generalized forces of `Model.constraints`, without couplers and locks.

    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import joint_loads
    >>> from myoquat.data import Motion
    >>> from myoquat.dynamics.constraints import PointLoop
    >>> rod = mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0.5, 0, 0))
    >>> hook = PointLoop("rod", "ground", (1.0, 0, 0), (1.0, 0, 0), axes="z", name="hook")
    >>> model = mq.Model(mq.ArticulatedSystem((rod,)), constraints=(hook,))
    >>> still = Motion(model, [0.0], [[0.0]], [[0.0]], [[0.0]])
    >>> joint_loads(model, still).constraints.of("hook", on="rod").force.round(2) + 0.0  # half of the weight
    array([[0.  , 0.  , 9.81]])
    """

    motion: ConstrainedMotion
    multipliers: Array
    force: Array

    @classmethod
    def of_multipliers(cls, motion: ConstrainedMotion, multipliers: Array) -> Self:
        """Of multipliers of which some may not be determined."""
        count = len(motion.model.constraints)
        force = motion.force(multipliers, slice(0, motion.row_slices[count - 1].stop if count else 0))
        return cls(motion, np.where(motion.undetermined_rows, np.nan, multipliers), force)

    def __repr__(self) -> str:
        return (
            f"<ConstraintForces {', '.join(c.label for c in self.motion.constraints)}; {len(self.multipliers)} frames>"
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The constraints between bodies: by name, or what they are where they have none."""
        return tuple(c.name or c.label for c in self.motion.on_bodies)

    @property
    def undetermined(self) -> tuple[str, ...]:
        """Those whose force redundant constraints leave open in some frame."""
        lost: Array = np.asarray(np.isnan(self.multipliers).any(axis=0))
        return tuple(name for name, rows in zip(self.names, self.motion.row_slices, strict=False) if lost[rows].any())

    def of(self, name: str, on: str, *, frame: str = "ground", point: ArrayLike | None = None) -> Load:
        """The force and moment of a constraint between bodies on a body that it holds, or the ground.

        frame  in whose axes: a body, or "ground", whatever it is called.
        point  (3,) [m] in the axes of the body `on`, about which the moment is. None for the constraint's own point
               there, or the body's origin where it has none.

        ValueError for a constraint, a body or a frame that does not exist.
        """
        system, names = self.motion.model.system, self.names
        place = indices_of("constraint between bodies", [name], names)[0]
        on, frame = (system.ground if body == "ground" else body for body in (on, frame))
        indices_of("body", [on, frame], (system.ground, *system.body_names))
        rows, poses = self.motion.row_slices[place], system.poses(self.motion.q)
        wrenches = np.einsum("tkbi,tk->tbi", self.motion.unit_wrenches[:, rows], self.multipliers[:, rows])
        forces, moments = wrenches[..., :3], wrenches[..., 3:]
        if on == system.ground:  # about its origin it has the opposite of what all bodies have
            arms = np.stack([poses[body][1] + np.zeros((len(forces), 3)) for body in system.body_names], axis=1)
            force, moment = -forces.sum(axis=1), -(moments + cross(arms, forces)).sum(axis=1)
        else:
            k = system.body_names.index(on)
            force, moment = forces[:, k], moments[:, k]
        at = world_point(poses, on, _own_point(self.motion.on_bodies[place], on) if point is None else point)
        return load_about(at, force, moment, poses[on][1], poses[frame])

    def to_dataframe(self, *, frame: str = "ground") -> "pd.DataFrame":
        """Loads of every constraint between bodies on every body on which it acts, over the index time [s].

        The columns are '<constraint>_on_<body>_in_<frame>_fx' ... '_mx' ... '_px' ...
        """
        columns: dict[str, Array] = {}
        system = self.motion.model.system
        for place, name in enumerate(self.names):
            acts = (
                np.abs(self.motion.unit_wrenches[:, self.motion.row_slices[place]]).max(axis=(0, 1, 3), initial=0.0) > 0
            )
            for body in [body for body, own in zip(system.body_names, acts, strict=True) if own]:
                columns |= load_columns(f"{name}_on_{body}_in_{frame}", self.of(name, body, frame=frame))
        return time_table(self.motion.time, columns)


def _own_point(constraint: Constraint, on: str) -> tuple[float, float, float]:
    for side in ("first", "second"):
        if getattr(constraint, side, None) == on:
            return getattr(constraint, f"{side}_point", ORIGIN)
    return ORIGIN


@frozen(eq=False)
class JointTorques(Curves):
    """Generalized forces on the velocities of a motion, and the external loads with which they were found.

    torque       (t, nu) [N m, N], whose power is torque . u. On a ball joint it is the torque vector in the joint's
                 velocity frame (child or parent). On a floating joint it is the force and the torque.
    wrenches     (t, bodies, 6) the external forces [N] and torques [N m] on the bodies at their origins, in world axes
    constraints  the forces of the model's constraints, if `motors` were named

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis import motion as mo
    >>> arm = mq.Body("arm", "ground", mq.joints.RevoluteJoint(), mass=2.0, center_of_mass=(0.5, 0.0, 0.0))
    >>> time = np.linspace(0.0, 1.0, 21)
    >>> motion = mo.Motion(mq.ArticulatedSystem((arm,)), time, time[:, None] ** 2)
    >>> found = mo.inverse_dynamics_of_motion(motion.system, mo.differentiate(motion))
    >>> found, found.wrenches.shape
    (<JointTorques 1 velocities, 21 frames>, (21, 1, 6))
    """

    motion: Motion
    torque: Array
    wrenches: Array
    constraints: ConstraintForces | None = None

    def __repr__(self) -> str:
        rest = f", residuals at {', '.join(self.roots)}" if self.roots else ""
        return f"<JointTorques {self.torque.shape[1]} velocities, {len(self.motion.time)} frames{rest}>"

    @property
    def roots(self) -> tuple[str, ...]:
        """Bodies that move freely against the ground: what their joints would have to give is a residual."""
        system = self.motion.system
        return tuple(b.name for b in system.bodies if b.parent == system.ground and b.joint.nu == 6)

    def to_dataframe(self) -> "pd.DataFrame":
        """A column per velocity of the system, over the index time [s]."""
        return time_table(self.motion.time, self.torque, self.motion.system.velocity_names)

    def curves(self) -> dict[str, Curve]:
        """The torques over (time, velocity)."""
        return {"torque": Curve(("time", "velocity"), self.torque, [*self.motion.system.force_units.values()])}

    def labels(self) -> dict[str, Any]:
        """Times and names of the velocities."""
        return {"time": self.motion.time, "velocity": list(self.motion.system.velocity_names)}

    def residuals(self) -> "pd.DataFrame":
        """The columns of the roots: forces [N] and torques [N m] that nothing in the model gives."""
        system = self.motion.system
        columns = [k for b, s in zip(system.bodies, system.u_slices, strict=True) if b.name in self.roots
                  for k in range(s.start, s.stop)]  # fmt: skip
        return self.to_dataframe().iloc[:, columns]

    def of_coordinates(self) -> "pd.DataFrame":
        """Generalized forces on the coordinates of the file that the model came from, named as OpenSim's tool does.

        The column of an angle is '<coordinate>_moment' [N m], that of another coordinate '<coordinate>_force', in N for
        a length and N m for one of unit "1" (`attrs["units"]`). For angles
        that a quaternion has replaced (`Motion.angles`) they are B^T tau, with omega = B xdot. They exist in gimbal
        lock too. Quaternion joints without named angles keep the columns of their velocities.
        """
        system, q = self.motion.system, self.motion.q
        named = {ball.body: ball for ball in balls(system)}
        columns: dict[str, Array] = {}
        for i, (body, iq, iu) in enumerate(zip(system.bodies, system.q_slices, system.u_slices, strict=True)):
            names, tau = body.names_of_coordinates, self.torque[:, iu]
            if body.joint.facts.quaternion is None:
                units = body.joint.facts.coordinate_units
                columns |= {_labelled(n, u): tau[:, k] for k, (n, u) in enumerate(zip(names, units, strict=True))}
            elif i not in named:
                columns |= {n: tau[:, k] for k, n in enumerate(body.names_of_velocities)}
            else:
                ball, Q = named[i], q[:, iq.stop - 4 : iq.stop]
                R = rotation_matrix(Q)
                child = tau[:, -3:] if ball.in_child else vecmat(tau[:, -3:], R)
                moments = vecmat(child, ball.angles.rate_matrix(unwrapped_angles(ball.angles, Q)))
                if body.joint.span == "all":
                    force = matvec(R, tau[:, :3]) if ball.in_child else tau[:, :3]
                    columns |= {_labelled(n, "m"): force[:, k] for k, n in enumerate(names[:3])}
                columns |= {_labelled(n, ball.angles.units[k]): moments[:, k] for k, n in enumerate(ball.angles.names)}
        numbers = {_labelled(n, unit): "N m" for n, unit in system.coordinate_units.items() if unit == "1"}
        about = {"name": "Inverse Dynamics", "in_degrees": False, "header": {}, "units": numbers}
        return time_table(self.motion.time, columns, **about)

    def power(self) -> "pd.DataFrame":
        """A column per body: the power [W] that flows in through its joint, torque . u."""
        system, u = self.motion.system, self.motion.speeds
        parts = {b.name: np.sum(self.torque[:, s] * u[:, s], axis=-1)
                 for b, s in zip(system.bodies, system.u_slices, strict=True)}  # fmt: skip
        return time_table(self.motion.time, parts)


def inverse_dynamics_of_motion(
    model: SystemLike, motion: MotionLike, loads: Forces | None = None, *, motors: Sequence[str] | None = None,
    controls: ArrayLike | None = None,
) -> JointTorques:  # fmt: skip
    """The torques that the joints of a model need for a motion (q, u, udot) under external loads.

    torque = M udot + b - J^T f_ext, less what the model's own limits, passive forces and prescribed `inputs` of its
    actuators give. Gravity, springs and dampers of the joints are in b. Muscles are not: they produce the torque.
    loads: interpolated by straight lines at the times of the motion. Each is a force at a point and a free torque, in
    the frames and on the body that it names.
    Those on the ground do nothing.

    motors: the velocities, or coordinates of one velocity, that are driven. Then the model's constraints, couplers and
    locks carry the rest, `JointTorques.constraints`, and torque is what the motors give. Other velocities have what
    neither gives, zero but for rounding where the motors suffice. None: all velocities are driven, and the torque
    includes forces of constraints, since the motion does not determine them.
    `myoquat.analysis.recruitment.free_torques` has torques without them.

    controls: (t, k) of the model's actuators, in the order of `Model.control_names`, with the activations of delayed
    ones in their place. None: those that the model's `inputs` prescribe, zero for others.

    Raises ValueError for a motion of another system, or without u and udot (`smooth` and `differentiate` find them). It
    is raised for loads on or in frames that do not exist (with the nearest ones), and for loads on no body. It is
    raised for times that the loads do not cover, and for motors that do not exist. It is raised for motors that push
    against constraints, so that neither is determined. ModelError where a moving leaf has no mass, and for constraints
    on velocities if motors are named.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis import motion as mo
    >>> arm = mq.Body("arm", "ground", mq.joints.RevoluteJoint(), mass=2.0, center_of_mass=(0.5, 0.0, 0.0))
    >>> time = np.linspace(0.0, 1.0, 21)
    >>> motion = mo.Motion(mq.ArticulatedSystem((arm,)), time, time[:, None] ** 2)
    >>> found = mo.inverse_dynamics_of_motion(motion.system, mo.differentiate(motion))
    >>> found.torque[10].round(6)  # m l^2 udot = 2 kg (0.5 m)^2 2 rad/s^2, about the vertical
    array([1.])
    """
    check_types(loads=(loads, (Forces, NoneType)))
    motion = motion_of(motion)
    model = motion.check_system(model)
    system = system_of(model)
    u, udot = motion.speeds, motion.accelerations
    check_jumps(motion, steady=True)
    wrenches = np.zeros((len(motion.time), len(system.bodies), 6))
    if loads is not None:
        wrenches = external_wrenches(system, motion, loads)
    torque = inverse_dynamics(model, motion.q, u, udot, wrenches)
    if isinstance(model, Model):
        acting = prescribed_controls(model, motion.time) if controls is None else controls
        if model.limits or model.forces or acting is not None:
            torque = torque - acting_torques(model, motion.q, u, motion.time, controls=acting)
    if motors is None:
        return JointTorques(motion, torque, wrenches)
    own = model if isinstance(model, Model) else Model(system)
    constrained = ConstrainedMotion(own, motion.q, motion.time)
    rows = [velocity_row(system, name) for name in motors]
    try:
        multipliers = constrained.shared(torque, rows)
    except ValueError as error:
        raise ValueError(f"motors {', '.join(motors)}: {error}") from None
    forces = ConstraintForces.of_multipliers(constrained, multipliers)
    return JointTorques(motion, torque - constrained.force(multipliers), wrenches, forces)


def velocity_row(system: ArticulatedSystem, name: str) -> int:
    """The number of a velocity, by its name or by that of a coordinate whose rate it is; ValueError for neither."""
    if name in system.coordinate_names:
        rows = system.indices.velocities_of_coordinate(name)
        if len(rows) == 1:
            return int(rows[0])
    return indices_of("velocity", [name], system.velocity_names)[0]


def external_wrenches(model: SystemLike, motion: MotionLike, loads: Forces) -> Array:
    """(t, bodies, 6) external forces [N] and torques [N m] on the bodies at their origins, in world axes.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis import motion as mo
    >>> arm = mq.Body("arm", "ground", mq.joints.RevoluteJoint(), mass=2.0, center_of_mass=(0.5, 0.0, 0.0))
    >>> time = np.linspace(0.0, 1.0, 21)
    >>> motion = mo.Motion(mq.ArticulatedSystem((arm,)), time, time[:, None] ** 2)
    >>> push, point = np.zeros((21, 1, 3)), np.zeros((21, 1, 3))
    >>> push[..., 2], point[..., 0] = 10.0, 1.0  # N upwards, at 1 m along the arm
    >>> loads = mo.Forces(time, ("hand",), ("arm",), push, point, 0 * push, ("ground",), ("arm",))
    >>> mo.external_wrenches(motion.system, motion, loads)[0, 0] + 0.0
    array([  0.,   0.,  10.,   0., -10.,   0.])
    """
    check_types(loads=(loads, Forces))
    motion = motion_of(motion)
    system = system_of(model)
    check_frames(system, loads)
    if not len(motion.time) or not loads.bodies:
        return np.zeros((len(motion.time), len(system.bodies), 6))
    frames = loads.frames
    numbers = loads.resampled(motion.time).numbers

    def wrenches(q: Array, numbers: Array) -> Array:
        return body_wrenches(system, q, frames.acting(system, q, numbers))

    inputs = {
        "q": Input(motion.q, motion.q, (system.nq,)),
        "numbers": Input(numbers, numbers, (frames.width,)),
    }
    return evaluate("external_wrenches", (system.content_key, frames), wrenches, inputs, 2)


def check_frames(system: ArticulatedSystem, loads: Forces) -> None:
    """ValueError for a load on no body, or in the axes of a body that the system lacks."""
    known = (system.ground, *system.body_names)
    for name, *frames in zip(loads.names, loads.bodies, loads.force_frames, loads.point_frames, strict=True):
        if not frames[0]:
            raise ValueError(f"the load {name!r} is on no body yet; loads.applied_to({{{name!r}: ...}}) says on which")
        indices_of(f"body for the load {name!r}:", frames, known)


def _labelled(name: str, unit: str) -> str:
    return f"{name}_{'moment' if unit == 'rad' else 'force'}"
