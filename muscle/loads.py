"""Loads on bodies, and the generalized forces that they are: by virtual work, whatever describes the joints."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from myoquat.joints.system import ArticulatedSystem
from myoquat.joints.vectors import cross, dot, matvec
from myoquat.kernels.derivatives import jacobian_at
from myoquat.kernels.typing import Array

__all__ = ["Load", "Poses", "generalized_force", "point_velocity", "world_point"]

Poses = Mapping[str, tuple[Array, Array]]


@dataclass(frozen=True)
class Load:
    """A force (..., 3) [N] at a point (..., 3) [m] that moves with the `body`, and a torque (..., 3) [N m]; all in
    world axes."""

    body: str
    point: Array
    force: Array
    torque: Array | None = None


def world_point(poses: Poses, body: str, point: Sequence[float]) -> Array:
    """(..., 3) [m] a body's point in the world."""
    R, p = poses[body]
    return p + matvec(R, np.array(point))


def point_velocity(shifts: Poses, poses: Poses, body: str, point: Array) -> Array:
    """(..., 3) velocity [m/s] of the body's point that is at `point` (..., 3) of the world; `shifts` are the angular
    velocities and those of the origins, `ArticulatedSystem.shifts` of u."""
    omega, v = shifts[body]
    return v + cross(omega, point - poses[body][1])


def generalized_force(system: ArticulatedSystem, q: Array, loads: Sequence[Load]) -> Array:
    """(..., nu) the forces on the velocities u that do the work of the loads: the formula, on floats and symbols."""
    if not loads:
        return np.zeros(system.nu)
    poses = system.poses(q)

    def work(motion: Array) -> Array:
        shifts = system.shifts(q, motion, poses, system.ground)
        total = np.zeros(())
        for load in loads:
            total = total + dot(load.force, point_velocity(shifts, poses, load.body, load.point))
            if load.torque is not None:
                total = total + dot(load.torque, shifts[load.body][0])
        return total[..., None]

    result: Array = jacobian_at(work, np.zeros(system.nu), like=q)[..., 0, :]
    return result
