"""A model whose motion is prescribed: which controls produce the torques that inverse dynamics asks for.

Lengths, speeds and moment arms of the muscles and the needed torques are known at every time. They are data of the
points, and the equations are those of the muscles alone:

    C^T (ID(q, u, udot) - loads) = sum_i r_i F_i(a_i, l_i, ldot_i, l_M,i) + C^T tau(c),

C spans the velocities that locks, couplers and constraints leave free, so that the forces of constraints drop out.
Where numbers of more than laws of muscles are unknown, q, u, udot, C and the loads are the data.
"""

from collections.abc import Hashable
from dataclasses import replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from myoquat.analysis.control.points import Point, interpolated_pose, interpolated_rows, interpolated_velocity
from myoquat.analysis.motion import inverse_dynamics_of_motion
from myoquat.analysis.recruitment import consistent_motion
from myoquat.analysis.recruitment.free import check_recorded, free_velocities
from myoquat.analysis.recruitment.redundancy.actuators import control_columns
from myoquat.analysis.recruitment.redundancy.assembled_motion import check_locked
from myoquat.core import Array
from myoquat.data.motions import Forces, Motion
from myoquat.dynamics.inverse import inverse
from myoquat.joints.errors import ModelError
from myoquat.joints.vectors import joined, matvec, vecmat, vector
from myoquat.muscle import path_jacobian, path_lengths
from myoquat.muscle.acting import torques
from myoquat.muscle.model import Model
from myoquat.muscle.segments.path_segments import paths_at
from myoquat.muscle.states import forces_of_laws, residuals_of_laws

from .model import Acting, MuscledPlant

OF_MUSCLES = ("law", "activation_dynamics")  # whose parameters change no length and no moment arm
MIN_ARM = 1e-12  # [m, -] moment arms and gains of controls below it at all frames are structurally zero
LINEARITY_CONTROL = 0.5  # control at which actuators are compared with affine functions


class PrescribedPlant(MuscledPlant):
    """The muscles, actuators and torques of a model along a motion under external loads; poses are no unknowns."""

    def __init__(self, model: Model, motion: Motion, acting: Acting, loads: Forces | None) -> None:
        """ModelError where the force of an actuator is not an affine function of its control."""
        super().__init__(model, acting, False)
        self.model: Model = model
        self.motion, self.loads = motion, loads
        locations = self.unknown.binding.locations if self.unknown.binding else ()
        if self.unknown.binding:
            check_recorded(self.unknown.binding)
        self.posed = any(place.steps[0] != "muscles" or place.steps[2] not in OF_MUSCLES for place in locations)
        self.free_names, _ = free_velocities(model, motion.q[:1], motion.time[:1])
        once, twice = (control_columns(model, motion.q[:1], k * LINEARITY_CONTROL)[0].T for k in (1, 2))
        for name, one, two in zip(self.actuator_names, once, twice, strict=True):
            if not np.allclose(2 * one, two):
                raise ModelError(f"the force of {name!r} is not proportional to its control")

    @property
    def residual_names(self) -> tuple[str, ...]:
        torques = tuple(f"torque of {name}" for name in self.free_names)
        return (*torques, *(f"equation of {name}" for name in self.state_names))

    @cached_property
    def _structure(self) -> tuple[Array, Array]:
        """(m, n) and (k, n): whether a muscle or a control has an effect on a free velocity at any frame."""
        *_, arms, gains = self._effects(self.motion.q, self.motion.time)
        return np.abs(arms).max(axis=0) > MIN_ARM, np.abs(gains).max(axis=0) > MIN_ARM

    @cached_property
    def content(self) -> Hashable:
        if self.posed:
            return "posed", self.equations.key, tuple(self.torque_indices), self.torque_scales, self.acting.frames
        arms, gains = self._structure
        return "prescribed", self.equations.key, arms.tobytes(), gains.tobytes(), len(self.free_names)

    # ---- data of the points ----------------------------------------------------------------------------------

    def motion_at(self, time: Array) -> Motion:
        """The motion at other times, on the model's couplers and constraints, with u and udot; ValueError where it
        moves a locked coordinate."""
        motion = self.motion
        if motion.udot is not None:
            udot = interpolated_rows(motion.time, motion.udot, time)
        else:
            u = motion.u if motion.u is not None else interpolated_velocity(motion, motion.time)
            udot = interpolated_rows(motion.time, u, time, 1)
        q, u = interpolated_pose(motion, time), interpolated_velocity(motion, time)
        found = consistent_motion(self.model, Motion(motion.system, time, q, u, udot))
        check_locked(self.model, found)
        return found

    def _effects(self, q: Array, time: Array) -> tuple[Array, Array, Array, Array]:
        """C (t, nu, n), the Jacobian (t, m, nu) of the paths, (t, m, n) moment arms of the muscles, and (t, k, n) those
        of a unit of every other control."""
        _, C = free_velocities(self.model, q, time, self.free_names)
        axes = np.array(self.torque_scales)[:, None] * np.eye(self.model.system.nu)[self.torque_indices]
        torques = np.broadcast_to(axes, (len(q), *axes.shape))
        units = np.concatenate([np.swapaxes(control_columns(self.model, q), -1, -2), torques], axis=1)
        J = path_jacobian(self.model, q)
        return C, J, -J @ C, units @ C

    def samples(self, time: Array) -> Array:
        at = self.motion_at(time)
        if self.posed:
            _, C = free_velocities(self.model, at.q, at.time, self.free_names)
            loads = [] if self.loads is None else [self.loads.resampled(time).numbers]
            return np.concatenate([at.q, at.u, at.udot, C.reshape(len(time), -1), *loads], axis=1)
        bare = replace(self.model, inputs=())  # `actuation` has prescribed controls
        torque = inverse_dynamics_of_motion(bare, at, self.loads).torque
        C, J, arms, gains = self._effects(at.q, at.time)
        of_arms, of_gains = self._structure
        length, speed = path_lengths(self.model, at.q), matvec(J, at.speeds)
        needed = np.einsum("tij,ti->tj", C, torque)
        return np.concatenate([needed, length, speed, arms[:, of_arms], gains[:, of_gains]], axis=1)

    # ---- equations -------------------------------------------------------------------------------------------

    def _parts(self, point: Point) -> tuple[Array, ...]:
        """Of a `posed` motion q, u, udot, C and loads."""
        data, nq, nu, n = point.prescribed, self.model.system.nq, self.model.system.nu, len(self.free_names)
        ends = np.cumsum([0, nq, nu, nu, nu * n, self.acting.frames.width])
        q, u, udot, C, loads = (data[..., i:j] for i, j in pairwise(ends))
        return q, u, udot, C.reshape(*C.shape[:-1], nu, n), loads

    def muscle_paths(self, point: Point) -> tuple[Array, Array]:
        if self.posed:
            q, u, *_ = self._parts(point)
            way = paths_at(self.model.system, self.model.paths, q, u)
            return way.length, way.speed
        n, m, data = len(self.free_names), len(self.muscle_names), point.prescribed
        return data[..., n : n + m], data[..., n + m : n + 2 * m]

    def residual(self, point: Point) -> Array:
        n, m, data = len(self.free_names), len(self.muscle_names), point.prescribed
        length, speed = self.muscle_paths(point)
        given, equations = self.given(point), self.equations

        def fibers(activation: Array, state: Array, rate: Array) -> Array:
            return residuals_of_laws(self.model, (length, speed, activation), state, rate)

        if self.posed:  # what the motion lacks on the free velocities
            q, u, udot, C, loads = self._parts(point)
            system = self.model.system
            acting = self.acting.frames.acting(system, q, loads) if self.loads is not None else []
            at = equations.instant(point.t, q, u, given | {"torque": self.torque(point)})
            lacking = vecmat(inverse(system, q, u, udot) - torques(self.model, replace(at, loads=acting)), C)
            return joined([lacking, *self.own_rows(point, given, fibers)])
        parts = []
        if self.muscle_names:
            activation, states = equations.activation(given), equations.states(given)
            parts.append(forces_of_laws(self.model, length, speed, activation, states))
        if self.actuator_names:
            parts.append(equations.actuation(given))
        if self.torque_scales:
            parts.append(point.controls[..., m + len(self.actuator_names) :])
        act = joined(parts)
        missing, place = [data[..., j] for j in range(n)], n + 2 * m
        for i, j in np.argwhere(np.concatenate(self._structure)):
            missing[j] = missing[j] - data[..., place] * act[..., i]
            place += 1
        return joined([vector(missing), *self.own_rows(point, given, fibers)])
