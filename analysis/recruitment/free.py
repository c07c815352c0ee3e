"""The independent velocities of a model with locked and coupled coordinates and constraints. Torques and moment arms
are projected onto them, so that the forces of the constraints drop out.
"""

from collections.abc import Sequence

import numpy as np

from myoquat.analysis.motion.structure import split_couplers
from myoquat.analysis.motion.task_coordinates import (
    coordinate_rates,
    coordinate_value,
    driving_velocities,
    frames_in_lock,
    task_coordinates,
    velocity_of,
)
from myoquat.core import Array, ArrayLike, check_types, pandas as pd, scipy
from myoquat.dynamics import mass_matrix
from myoquat.dynamics.constraints import ConstraintArrays, Constraints
from myoquat.joints.constraints import Constraint
from myoquat.joints.ranges import check_array
from myoquat.joints.vectors import components, vecmat
from myoquat.muscle import Model, Parameters, path_jacobian

FORCED = ("system", "forces", "limits", "actuators", "inputs", "muscles")  # parts whose numbers leave a motion as it is


def check_recorded(parameters: Parameters) -> None:
    """ValueError for a parameter that a recorded motion forbids: of its start, couplers, constraints or markers, and of
    joints where constraints hold them."""
    constrained = isinstance(parameters.model, Model) and parameters.model.constraints
    for name, place in zip(parameters.names, parameters.locations, strict=True):
        if place.steps[0] not in FORCED or (constrained and place.moves_joint):
            raise ValueError(
                f"{name!r} cannot vary where the motion is recorded, since that motion is on the model's constraints. "
                "Bodies, gravity, forces, limits, actuators, inputs and muscles can vary, joints without constraints"
            )


MIN_PIVOT = 1e-10  # of the greatest pivot: rows of A below it depend on the others
GIMBAL_LOCK_SINE = 1e-9  # sine of an angle's distance from gimbal lock
MIN_SINGULAR_VALUE = 1e-7  # of the greatest singular value of the driven columns: below it the motion is not determined


def free_torques(model: Model, q: ArrayLike, torque: ArrayLike, time: ArrayLike = 0.0) -> "pd.DataFrame":
    """Torques on the free velocities, C^T tau with u = C u_free: a row per pose of q (..., nq), torque (..., nu), at
    `time` (...) [s], on which constraints may depend.

    Forces of constraints do no work and have dropped out. These torques, on the free velocities alone, give the motion
    under the constraints that `torque` gives with any forces of them. Raises ValueError as `free_moment_arms` does.

    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import free_torques
    >>> from myoquat.dynamics.constraints import CoordinateCoupler
    >>> bodies = [mq.Body(name, "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=1.0) for name in ("a", "b")]
    >>> couple = CoordinateCoupler("b.position", "a.position")
    >>> model = mq.Model(mq.ArticulatedSystem(tuple(bodies)), constraints=(couple,))
    >>> free_torques(model, [0.0, 0.0], [1.0, 3.0]).to_numpy()  # both push what moves as one
    array([[4.]])
    """
    check_types(model=(model, Model))
    system = model.system
    rows = system.check_q(q).reshape(-1, system.nq)
    tau = system.check_u(torque, "torque").reshape(-1, system.nu)
    names, C = free_velocities(model, rows, check_array("time", time).reshape(-1))
    return pd.DataFrame(vecmat(tau, C), columns=pd.Index(names))


def free_moment_arms(model: Model, q: ArrayLike, time: ArrayLike = 0.0) -> "pd.DataFrame":
    """Moment arms along the motions that locks, couplers and constraints leave, -J C: rows (pose, muscle), a column per
    free velocity. Per pose of q (..., nq) at `time` (...) [s], which must lie on the constraints (`assemble`).

    Raises ValueError where the velocities that the constraints drive, chosen at the first pose, are not determined by
    the free ones at a later one.

    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import free_moment_arms
    >>> from myoquat.dynamics.constraints import CoordinateCoupler
    >>> from myoquat.muscle import PathPoint
    >>> bodies = [mq.Body(name, "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=1.0) for name in ("a", "b")]
    >>> spring = mq.Muscle("band", (PathPoint("ground", (-1.0, 0, 0)), PathPoint("b", (0.0, 0, 0))))
    >>> couple = CoordinateCoupler("b.position", "a.position")
    >>> model = mq.Model(mq.ArticulatedSystem(tuple(bodies)), (spring,), constraints=(couple,))
    >>> free_moment_arms(model, [0.0, 0.0]).to_numpy().round(3)
    array([[-1.]])
    """
    check_types(model=(model, Model))
    rows = model.system.check_q(q).reshape(-1, model.system.nq)
    names, C = free_velocities(model, rows, check_array("time", time).reshape(-1))
    arms = -path_jacobian(model, rows) @ C
    index = pd.MultiIndex.from_product([range(len(rows)), model.muscle_names], names=["pose", "muscle"])
    return pd.DataFrame(arms.reshape(-1, len(names)), index=index, columns=pd.Index(names, name="moment arm"))


def free_velocities(
    model: Model, q: Array, time: Array | float = 0.0, names: Sequence[str] | None = None
) -> tuple[tuple[str, ...], np.ndarray]:
    """(names, C (poses, nu, n)) of the free velocities: u = C u_free at q (poses, nq) and time (poses,) [s].

    Locked and prescribed coordinates are left out, couplers are followed, and A C = 0 for the model's constraints.
    `names` are those that were chosen at another pose of the same motion; None chooses at the first pose.
    Raises ValueError for poses at which velocities are not determined that the constraints drive at the first pose. It
    is raised too where an angle of a quaternion that drives a coordinate is in its lock.
    """
    free, C = _coupled(model, q)
    constraints = (*model.constraints, *split_couplers(model.system, model.couplers)[1])
    if constraints and len(q):
        free, C = _constrained(model, constraints, (q, time), free, C, names)
    return tuple(model.system.velocity_names[k] for k in free), C


def led_velocities(
    model: Model, q: Array, untracked: Array, time: Array | float = 0.0, chosen: Sequence[str] | None = None
) -> tuple[tuple[str, ...], np.ndarray]:
    """(names, L (poses, nu, n)) of the free velocities that no entry of `untracked` (nu,) marks.

    L = Ct - Cf (Cf^T M Cf)^-1 Cf^T M Ct, where Ct and Cf are the columns of C (`free_velocities`) of tracked and of
    untracked velocities. Because L^T M Cf = 0, the accelerations of untracked velocities drop out of L^T (M udot + b).
    So L^T tau gives the tracked velocities what they need whatever the others do [O. Khatib, IEEE J. Robot. Autom. 3,
    1987, the dynamically consistent inverse]. A velocity that drives a tracked one counts as tracked. `chosen` are the
    free velocities as for `free_velocities`.

    Raises ValueError as `free_velocities` does, and where nothing is tracked.
    """
    names, C = free_velocities(model, q, time, chosen)
    rows = [model.system.velocity_names.index(name) for name in names]
    drives = np.abs(C[:, ~untracked]).max(axis=(0, 1), initial=0.0) > 0
    open_ = untracked[rows] & ~drives
    if open_.all():
        raise ValueError("no velocity is tracked: a bandwidth must be positive")
    tracked, free = C[..., ~open_], C[..., open_]
    inertia = free.mT @ mass_matrix(model, q)
    led = tracked - free @ np.linalg.solve(inertia @ free, inertia @ tracked)
    return tuple(name for name, left in zip(names, open_, strict=True) if not left), led


def _constrained(
    model: Model, constraints: Sequence[Constraint], poses: tuple[Array, Array | float], free: list[int], C: np.ndarray,
    names: Sequence[str] | None,
) -> tuple[list[int], np.ndarray]:  # fmt: skip
    """Fewer free velocities: some are driven by the others, A C = 0; without `names` the first pose decides which."""
    held = ConstraintArrays(Constraints(model.system, constraints))
    B = held.jacobian(*poses) @ C
    if names is None:
        _, R, order = scipy.linalg.qr(B[0], mode="economic", pivoting=True)
        pivots = np.abs(np.diag(R))
        rank = int((pivots > MIN_PIVOT * pivots.max(initial=0.0)).sum())
        driven, rest = sorted(order[:rank]), sorted(order[rank:])
    else:
        rest = [k for k, i in enumerate(free) if model.system.velocity_names[i] in names]
        driven = sorted({*range(len(free))} - {*rest})
        rank = len(driven)
    U, sizes, V = np.linalg.svd(B[:, :, driven], full_matrices=False)
    lost = np.flatnonzero(sizes[:, rank - 1] < MIN_SINGULAR_VALUE * sizes.max()) if rank else np.zeros(0, dtype=int)
    if len(lost):
        names = ", ".join(model.system.velocity_names[free[k]] for k in driven)
        raise ValueError(f"at pose {lost[0]} the constraints do not determine the velocities {names}")
    X = -V.mT @ (U.mT @ B[:, :, rest] / sizes[..., None])
    return [free[k] for k in rest], C[:, :, rest] + C[:, :, driven] @ X


def _coupled(model: Model, q: Array) -> tuple[list[int], np.ndarray]:
    """The free velocities without the constraints, and C, read-only: one matrix for all poses without couplers."""
    system = model.system
    rates, tasks = velocity_of(system), task_coordinates(system)
    C = np.tile(np.eye(system.nu), (len(q) if model.couplers else 1, 1, 1))
    held = {rates[c.name] for c in model.coordinates if not c.free and c.name in rates}
    followed, _ = split_couplers(system, model.couplers)
    for coupler in followed:
        driver = tasks[coupler.independent]
        if len(locked := frames_in_lock(driver, q, GIMBAL_LOCK_SINE)):
            raise ValueError(
                f"at pose {locked[0]} the angle {coupler.independent!r}, which drives {coupler.dependent!r}, is in its "
                "lock and has no rate. Leave this pose out, or take the model with the file's angles "
                "(rotations='file')"
            )
        slope = coupler.scale * coupler.function.slope(coordinate_value(driver, components(q)))
        row = rates[coupler.dependent]
        C[:, row] = 0.0
        for k, rate in zip(driving_velocities(driver), coordinate_rates(driver, q), strict=True):
            C[:, row] += (slope * rate)[..., None] * C[:, k]
    C[:, sorted(held)] = 0.0
    driven = {rates[coupler.dependent] for coupler in followed}
    free = [k for k in range(system.nu) if k not in held and k not in driven]
    return free, np.broadcast_to(C[:, :, free], (len(q), system.nu, len(free)))
