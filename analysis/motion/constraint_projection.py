"""Projection of q, u and udot of smoothed motions onto the constraints under which they were fitted.

All free coordinates change, as little as possible. `myoquat.analysis.recruitment.redundancy.assembled_motion` lets
dependent coordinates change first.
"""

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from myoquat.analysis.motion.fitted import FittedMotion
from myoquat.analysis.motion.inverse_kinematics import MotionWarning
from myoquat.analysis.motion.structure import PoseStructure, split_couplers
from myoquat.analysis.motion.task_coordinates import velocity_of
from myoquat.core.typing import Array
from myoquat.data.motions import Motion
from myoquat.dynamics.constraints import ConstraintArrays, Constraints, constraints_of
from myoquat.dynamics.constraints.own import modes_of
from myoquat.dynamics.rows import least_motions
from myoquat.joints.compiled import kernel_for
from myoquat.joints.constraints import Constraint, Holonomic, Locked
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.validation import SystemLike, system_of
from myoquat.joints.vectors import matvec
from myoquat.kernels import Kernel, compile
from myoquat.muscle.coordinates import Coupler, follow
from myoquat.muscle.model import Model

__all__ = ["MotionConstraints", "constraints_of_motion"]

PROJECTION_TOLERANCE = 1e-10  # |phi| [m, rad] up to which a pose is on the constraints
MIN_REPORTED_VIOLATION = 1e-4  # |phi| [m, rad] of a recorded motion above which a warning reports the projection


class MotionConstraints:
    """Constraints that a motion satisfies, its couplers among them, and the velocities that they leave alone."""

    def __init__(
        self, system: ArticulatedSystem, couplers: Sequence[Coupler], own: Sequence[Constraint], locked: frozenset[int]
    ) -> None:
        self.system, self.locked = system, locked
        self.couplers, driving_angles = split_couplers(system, couplers)
        self.holonomic = (*driving_angles, *(c for c in own if isinstance(c, Holonomic)))
        everything = constraints_of(Model(system, couplers=tuple(couplers), constraints=tuple(own)))
        self.all = ConstraintArrays(Constraints(system, everything)) if everything else None
        self.moving = np.array([0.0 if k in locked else 1.0 for k in range(system.nu)])

    def poses(self, time: Array, q: Array) -> Array:
        """(t, nq) poses brought onto the holonomic constraints by the smallest motions that are asked for.

        Raises ValueError for poses that cannot be brought there.
        """
        if not self.holonomic:
            return q
        structure = PoseStructure(self.system, (), (), (), self.couplers, self.locked, (), self.holonomic)
        kernel = kernel_for(("pose_brought", structure.key), lambda content: _kernel(structure, content))
        phi = ConstraintArrays(Constraints(self.system, self.holonomic))
        q = kernel(structure.allowed(q), time)
        off = np.abs(phi.position(q, time)).max(axis=-1)
        if not (off <= PROJECTION_TOLERANCE).all():
            row = int(np.argmax(~(off <= PROJECTION_TOLERANCE)))
            raise ValueError(
                f"frame {row} (time {time[row]:g} s) cannot be brought onto the constraints of the model: they stay "
                f"off by {off[row]:.3g}. Fit the motion with them (inverse_kinematics), or take the model without them"
            )
        return q

    def rates(self, time: Array, q: Array, u: Array, udot: Array) -> tuple[Array, Array]:
        """u and udot (t, nu) changed as little as possible so that A u = -phi_t and A udot = b."""
        if self.all is None:
            return u, udot
        A = self.all.jacobian(q, time) * self.moving
        for _ in range(2):  # the second takes off the round-off of the first
            u = u - self.moving * least_motions(A, self.all.rate(q, u, time))
        bias = self.all.bias(q, u, time)
        whole = self.all.jacobian(q, time)
        for _ in range(2):
            udot = udot - self.moving * least_motions(A, matvec(whole, udot) - bias)
        return u, udot

    def projected(self, motion: Motion) -> Motion:
        """The motion with its poses, u and udot on the constraints and couplers."""
        q = motion.q.copy()
        follow(self.couplers, self.system, q)
        return self.with_rates(replace(motion, q=self.poses(motion.time, q)))

    def with_rates(self, motion: Motion) -> Motion:
        """The motion, whose poses are on the constraints, with u and udot that are."""
        assert motion.u is not None
        assert motion.udot is not None
        u, udot = self.rates(motion.time, motion.q, motion.u, motion.udot)
        return replace(motion, u=u, udot=udot)

    def warn_if_violated(self, motion: Motion) -> None:
        """Warn with MotionWarning of a recorded motion that is off the holonomic constraints by more than 1e-4."""
        if not self.holonomic:
            return
        time, phi = motion.time, ConstraintArrays(Constraints(self.system, self.holonomic))
        off = np.abs(phi.position(motion.q, time))
        if off.max(initial=0.0) > MIN_REPORTED_VIOLATION:
            row, k = np.unravel_index(int(np.argmax(off)), off.shape)
            warnings.warn(
                f"the motion is off the constraints of the model by up to {off[row, k]:.3g} (frame {row}, time "
                f"{time[row]:g} s) and is moved onto them",
                MotionWarning,
                stacklevel=3,
            )


def constraints_of_motion(motion: Motion, model: SystemLike | None) -> MotionConstraints:
    """The constraints of a motion of a model; without one, those with which it was fitted."""
    if model is not None:
        system = system_of(model)
        rates = velocity_of(system)
        coordinates = model.coordinates if isinstance(model, Model) else ()
        locked = frozenset(rates[c.name] for c in coordinates if c.locked and c.name in rates)
        own = (*model.constraints, *modes_of(model)) if isinstance(model, Model) else ()
        own = tuple(constraint for constraint in own if not isinstance(constraint, Locked))
        return MotionConstraints(motion.system, tuple(getattr(model, "couplers", ())), own, locked)
    problem = motion.problem if isinstance(motion, FittedMotion) else None
    if problem is None:
        return MotionConstraints(motion.system, (), (), frozenset())
    return MotionConstraints(motion.system, problem.couplers, problem.constraints, problem.locked)


def _kernel(structure: PoseStructure, content: str | None) -> Kernel:
    def brought(q: Array, t: Array) -> Array:
        return structure.brought(q, t)

    return compile(brought, {"q": structure.system.nq, "t": ()}, ["q_new"], content=content)
