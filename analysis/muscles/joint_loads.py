"""What joints carry while muscles act: forces and moments on their surfaces, seen from any frame at any point."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from types import NoneType
from typing import NamedTuple

import numpy as np

from myoquat.analysis.motion.inverse_dynamics import external_wrenches
from myoquat.analysis.muscles.free import coupler_drift, free_velocities
from myoquat.data.motions import Forces, Motion
from myoquat.data.motions.series import indices_of
from myoquat.dynamics import external_force, forward_dynamics, inverse_dynamics, joint_reactions, mass_matrix
from myoquat.joints.errors import ModelError
from myoquat.joints.system import Poses
from myoquat.joints.types import FixedJoint
from myoquat.joints.vectors import cross, matvec, vecmat
from myoquat.kernels.kinds import check_kinds, real_array
from myoquat.kernels.libraries import is_imported
from myoquat.kernels.libraries import pandas as pd
from myoquat.kernels.typing import Array, ArrayLike
from myoquat.muscle.contact_forces import force_wrenches
from myoquat.muscle.evaluate import limit_torques, muscle_wrenches, path_jacobian
from myoquat.muscle.forces import LoadingForce
from myoquat.muscle.forces.coordinate_spring import CoordinateForce
from myoquat.muscle.limits import has_loads
from myoquat.muscle.model import Model
from myoquat.muscle.points import DrivenPoint

__all__ = ["JointLoads", "Load", "joint_loads"]

SIDES = ("child", "parent")
AXES = ("x", "y", "z")


class Load(NamedTuple):
    """force [N], moment [N m] about the point, and the point [m], each (t, 3) in the axes of one frame (the point seen
    from its origin).

    >>> import numpy as np
    >>> from myoquat.analysis.muscles import Load
    >>> load = Load(force=np.array([0.0, 0, 20.0]), moment=np.zeros(3), point=np.zeros(3))
    >>> load.force
    array([ 0.,  0., 20.])
    """

    force: Array
    moment: Array
    point: Array


@dataclass(frozen=True, eq=False)
class JointLoads:
    """wrench (t, bodies, 6): the force [N] and the torque [N m] that each body gets through its joint, at its origin in
    world axes: all that passes there, with actuators, springs and dampers of the joint, so that every body's momentum
    is balanced. `applied` (t, bodies, 6) is what muscles and external loads do to the bodies, in the same way; `driven`
    (t, nu) [N m, N] what muscles do to the coordinates that move points of their paths. `motion` has the accelerations
    that they belong to.

    >>> import myoquat as mq
    >>> from myoquat.analysis.muscles import joint_loads
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

    def __repr__(self) -> str:
        return f"<JointLoads {self.wrench.shape[1]} joints, {len(self.motion.time)} frames>"

    @cached_property
    def _poses(self) -> Poses:
        return self.model.system.poses(self.motion.q)

    def of(self, joint: str, *, on: str = "child", frame: str = "ground", point: ArrayLike | None = None) -> Load:
        """The load of a joint, by its name or that of its body, `on` its "child" or its "parent".

        frame  in whose axes it is given: a body, the ground, or "child" or "parent", the bodies that the joint joins.
        point  (3,) [m] in the child body's axes about which the moment is; None for the centre of the joint's frame on
               the side that the load acts on.

        ValueError for a joint, a frame or a side that does not exist.
        """
        if on not in SIDES:
            raise ValueError(f"on is 'child' or 'parent', not {on!r}")
        i = self._index(joint)
        poses, (carrier, parent) = self._poses, self._ends(i)
        names = {"child": carrier, "parent": parent}
        system = self.model.system
        indices_of("body", [frame] if frame not in names else [], (system.ground, *system.body_names))
        body = system.bodies[i]
        force, moment, origin = self.wrench[:, i, :3], self.wrench[:, i, 3:], poses[body.name][1]
        R_parent, p_parent = poses[body.parent]
        at = origin if on == "child" else p_parent + matvec(R_parent, np.array(body.position))
        if point is not None:
            R, p = poses[carrier]
            at = p + matvec(R, real_array("point", point))
        moment = moment + cross(origin - at, force)
        sign = 1.0 if on == "child" else -1.0
        R, p = poses[names.get(frame, frame)]
        return Load(vecmat(sign * force, R), vecmat(sign * moment, R), vecmat(at - p, R) + np.zeros(force.shape))

    def to_dataframe(
        self, joints: Sequence[str] | None = None, *, on: str = "child", frame: str = "ground"
    ) -> "pd.DataFrame":
        """Columns '<joint>_on_<body>_in_<frame>_fx' ... '_mx' ... '_px' ..., as OpenSim's JointReaction names them,
        over the index time [s]; all joints of the file if none are named."""
        columns: dict[str, Array] = {}
        for joint in self.joints if joints is None else joints:
            i = self._index(joint)
            ends = dict(zip(SIDES, self._ends(i), strict=True))
            load = self.of(joint, on=on, frame=frame)
            root = f"{self._name(i)}_on_{ends[on]}_in_{ends.get(frame, frame)}"
            for kind, values in zip("fmp", load, strict=True):
                columns |= {f"{root}_{kind}{axis}": values[:, k] for k, axis in enumerate(AXES)}
        return pd.DataFrame(columns, index=pd.Index(self.motion.time, name="time"))

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints in order, without those that only fix a body to the frame of its own joint."""
        bodies = self.model.system.bodies
        return tuple(self._name(i) for i, b in enumerate(bodies) if b.joint_name or not isinstance(b.joint, FixedJoint))

    @cached_property
    def residual(self) -> "pd.DataFrame":
        """A column per velocity: the generalized force [N m, N] that the motion needs beyond muscles, external loads
        and the model's limits; zero where these alone move it. Springs and dampers are no part of it."""
        m, system = self.motion, self.model.system
        torque = inverse_dynamics(system, m.q, m.u, m.udot, self.applied) - self.driven  # type: ignore[arg-type]
        if self.model.limits or self.model.forces:
            torque = torque - limit_torques(self.model, m.q, m.u, m.time)  # type: ignore[arg-type]
        return pd.DataFrame(torque, pd.Index(m.time, name="time"), pd.Index(system.velocity_names))

    def _index(self, joint: str) -> int:
        bodies = self.model.system.bodies
        places = {b.name: i for i, b in enumerate(bodies)} | {b.joint_name: i for i, b in enumerate(bodies)}
        indices_of("joint", [joint], [name for name in places if name])
        return places[joint]

    def _name(self, i: int) -> str:
        body = self.model.system.bodies[i]
        return body.joint_name or body.name

    def _ends(self, i: int) -> tuple[str, str]:
        """The bodies that a joint joins: one that is only the frame of the joint stands for the one that it carries."""
        bodies = self.model.system.bodies
        body = bodies[i]
        carried = [b for b in bodies if b.parent == body.name and not b.joint_name and isinstance(b.joint, FixedJoint)]
        frame = body.name == f"{body.joint_name}_frame" and len(carried) == 1
        return (carried[0].name if frame else body.name), body.parent


def joint_loads(
    model: Model,
    motion: Motion,
    muscle_forces: "ArrayLike | pd.DataFrame | None" = None,
    loads: Forces | None = None,
    torque: ArrayLike | None = None,
    wrenches: ArrayLike | None = None,
) -> JointLoads:
    """Forces and moments in every joint of a model that moves while muscles pull and loads act.

    motion         q and u, and udot, the accelerations. Without udot they are those that muscles, loads, gravity, the
                   model's limits and `torque` cause (forward dynamics), as OpenSim's JointReaction takes them.
    muscle_forces  (t, m) tensions [N] in the order of the model's muscles, or a table whose columns are muscles by name
                   (columns of others are passed over), at the times of the motion. None: muscles do not pull.
    loads          external loads, interpolated at the times of the motion.
    torque         (t, nu) what motors at the joints give, for a motion without udot.
    wrenches       (t, bodies, 6) further forces [N] and torques [N m] on the bodies at their origins, in world axes.

    Each body's momentum is balanced, whether or not the forces produce the motion: what is missing appears in the loads
    about the joints' own axes, and in `JointLoads.residual`. Without udot, locked coordinates stay and couplers
    are followed; what holds them is in the loads.
    Raises ValueError for a motion of another system or without u, tensions or wrenches of another shape or with NaN, a
    table without a muscle of the model, and, without udot, couplers of coordinates that a quaternion has replaced;
    ModelError for a model with constraints or passive forces between bodies.

    >>> import myoquat as mq
    >>> from myoquat.analysis.muscles import joint_loads
    >>> from myoquat.data import Motion
    >>> bob = mq.Body("bob", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0, 0, -0.5))
    >>> model = mq.Model(mq.ArticulatedSystem((bob,)))
    >>> swing = Motion(model, [0.0, 0.1], [[0.0], [0.0]], [[0.0], [3.0]], [[0.0], [0.0]])
    >>> joint_loads(model, swing).of("bob").force.round(2) + 0.0  # m g, and m g + m l omega^2
    array([[ 0.  ,  0.  , 19.62],
           [ 0.  ,  0.  , 28.62]])
    """
    check_kinds(model=(model, Model), motion=(motion, Motion), loads=(loads, (Forces, NoneType)))
    system = model.system
    motion.check_system(system)
    if motion.u is None:
        raise ValueError("the motion has no u; smooth(motion) or differentiate(motion) finds it")
    _check_pairs(model)
    if motion.udot is not None and torque is not None:
        raise ValueError("torque has no effect on a motion that has its accelerations")
    applied, driven = np.zeros((len(motion.time), len(system.bodies), 6)), np.zeros(motion.u.shape)
    if muscle_forces is not None:
        tensions = _tensions(model, motion, muscle_forces)
        applied = applied + muscle_wrenches(model, motion.q, tensions)
        driven = _driven(model, motion, tensions, applied)
    if loads is not None:
        applied = applied + external_wrenches(system, motion, loads)
    if wrenches is not None:
        applied = applied + _further(wrenches, applied.shape)
    if motion.udot is None:
        given = driven if torque is None else driven + real_array("torque", torque)
        motion = Motion(system, motion.time, motion.q, motion.u, _accelerations(model, motion, applied, given))
    assert motion.udot is not None
    assert motion.u is not None
    own = force_wrenches(model, motion.q, motion.u, motion.time) if has_loads(model) else 0.0
    wrench = joint_reactions(system, motion.q, motion.u, motion.udot, applied + own)
    return JointLoads(model, motion, wrench, applied, driven)


def _further(given: ArrayLike, shape: tuple[int, ...]) -> Array:
    wrenches = real_array("wrenches", given)
    if wrenches.shape != shape or not np.isfinite(wrenches).all():
        raise ValueError(f"wrenches must be finite numbers of shape {shape}, not {wrenches.shape}")
    return wrenches


def _check_pairs(model: Model) -> None:
    """ModelError for constraints and springs between bodies, whose part in the loads is not known here."""
    between = [c.label for c in model.constraints]
    between += [force.element for force in model.forces if not isinstance(force, (CoordinateForce, LoadingForce))]
    if between:
        raise ModelError(
            "its part in the loads of joints is not determined; take the model without", element=between[0]
        )


def _tensions(model: Model, motion: Motion, given: "ArrayLike | pd.DataFrame") -> Array:
    if is_imported("pandas") and isinstance(given, pd.DataFrame):
        labels = [str(label) for label in given.columns]
        given = given.to_numpy(dtype=float)[:, indices_of("column of tensions for", model.muscle_names, labels)]
    tensions = real_array("muscle_forces", given)
    shape = (len(motion.time), len(model.muscles))
    if tensions.shape != shape or not np.isfinite(tensions).all():
        raise ValueError(f"muscle_forces must be finite numbers of shape {shape}, not {tensions.shape}")
    return tensions


def _driven(model: Model, motion: Motion, tensions: Array, wrenches: Array) -> Array:
    """(t, nu) what is left of -J^T F beyond the forces on the bodies: the work where a point moves along its body."""
    if not any(isinstance(point, DrivenPoint) for muscle in model.muscles for point in muscle.path):
        return np.zeros((len(motion.time), model.system.nu))
    result: Array = -vecmat(tensions, path_jacobian(model, motion.q)) - external_force(model, motion.q, wrenches)
    return result


def _accelerations(model: Model, motion: Motion, applied: Array, tau: Array) -> Array:
    """(t, nu) udot = C w + d that the forces cause, C^T (M udot + b - tau) = 0: locked coordinates at rest, couplers
    followed, d what their curvature adds."""
    q, u, system = motion.q, motion.u, model.system
    assert u is not None
    if model.limits or model.forces:
        tau = tau + limit_torques(model, q, u, motion.time)
    if not model.couplers and not any(c.locked for c in model.coordinates):
        return forward_dynamics(system, q, u, tau, applied)
    C, d = free_velocities(model, q)[1], coupler_drift(model, q, u)
    missing = tau - inverse_dynamics(system, q, u, d, applied)
    normal = np.swapaxes(C, -1, -2) @ mass_matrix(system, q) @ C
    w = np.linalg.solve(normal, vecmat(missing, C)[..., None])[..., 0]
    result: Array = matvec(C, w) + d
    return result
