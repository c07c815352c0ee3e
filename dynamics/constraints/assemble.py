"""Poses brought onto constraints."""

import math
from collections.abc import Sequence

import numpy as np

from myoquat.dynamics.constraints.equations import Constraints
from myoquat.dynamics.constraints.evaluate import ConstraintArrays
from myoquat.dynamics.constraints.least import least_motions
from myoquat.dynamics.constraints.own import constraints_of
from myoquat.joints.constraints import Constraint
from myoquat.joints.door import SystemLike, system_of
from myoquat.joints.system import ArticulatedSystem
from myoquat.kernels.typing import Array, ArrayLike
from myoquat.muscle.model import Model

__all__ = ["AssemblyError", "assemble"]

ASSEMBLED = 1e-10  # |phi| [m, rad] of an assembled pose
ROUNDS, HALVINGS = 100, 12  # of Newton's method; of a step
LONGEST = 0.5  # [rad, m] that a round may move one velocity's coordinate


class AssemblyError(ValueError):
    """Poses that cannot be brought onto the constraints: their numbers in the batch, and |phi| (...) of all poses.

    >>> import myoquat as mq
    >>> from myoquat.dynamics.constraints import PointLoop, assemble
    >>> rod = mq.ArticulatedSystem((mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=1.0),))
    >>> far = PointLoop("rod", "ground", (0.0, 0.0, -1.0), (0.0, 0.0, -3.0))
    >>> try:
    ...     q = assemble(rod, [0.1], [far])
    ... except mq.dynamics.constraints.AssemblyError as error:
    ...     print(error.residual.shape, error.residual.max().round(3))
    () 2.0
    """

    def __init__(self, message: str, poses: tuple[tuple[int, ...], ...], residual: Array) -> None:
        super().__init__(message)
        self.poses, self.residual = poses, residual


def assemble(
    model: SystemLike,
    q: ArrayLike,
    constraints: Sequence[Constraint] = (),
    *,
    time: float = 0.0,
    strict: bool = True,
) -> Array:
    """(..., nq) poses near q (..., nq) that satisfy the constraints of a model, and further ones, at a time [s].

    Every pose moves by the smallest motion that the linearized constraints ask for, in the Euclidean norm of the
    velocities, until |phi| < 1e-10; coordinates that the model has locked stay. That is a pose nearby, not exactly the
    nearest. Constraints on velocities do not matter. Redundant constraints are no hindrance.

    Raises AssemblyError where no such pose is found, with the first of them and the constraint that is off the most;
    with strict=False those poses are NaN. ValueError for arrays that do not fit.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.dynamics.constraints import PointLoop, assemble
    >>> model = mq.load_model("two_link")
    >>> q = assemble(model, model.start_q, [PointLoop("B", "ground", (0, 0, -1.0), (0.5, 0.0, -1.5))])
    >>> R, p = model.system.poses(q)["B"]
    >>> np.allclose(p + R @ [0, 0, -1.0], [0.5, 0.0, -1.5])
    True
    """
    system, wanted = system_of(model), constraints_of(model, constraints)
    start = system.check_q(q)
    rows = np.array(start.reshape(math.prod(start.shape[:-1]), system.nq))
    held = Constraints(system, wanted)
    arrays = ConstraintArrays(held)
    if not wanted or not len(rows) or not arrays.position(rows, time).shape[-1]:
        return rows.reshape(start.shape)
    residual = _solve(arrays, rows, time, _moving(model))
    failed = ~(residual < ASSEMBLED)
    if failed.any() and strict:
        batch = start.shape[:-1]
        poses = tuple(tuple(int(i) for i in np.unravel_index(k, batch)) for k in np.flatnonzero(failed))
        raise AssemblyError(_message(system, wanted, rows, failed, time), poses, residual.reshape(batch))
    rows[failed] = np.nan
    return rows.reshape(start.shape)


def _moving(model: SystemLike) -> Array:
    """(nu,) 1 for velocities that assembling may use, 0 for those of locked coordinates."""
    system = system_of(model)
    moving = np.ones(system.nu)
    for coordinate in model.coordinates if isinstance(model, Model) else ():
        if coordinate.locked and coordinate.name in system.coordinate_names:
            moving[list(system.indices.velocities_of_coordinate(coordinate.name))] = 0.0
    return moving


def _solve(arrays: ConstraintArrays, q: Array, t: float, moving: Array) -> Array:
    """(n,) |phi| at rows q (n, nq), which are moved in place until none of them gets nearer."""
    left: Array = np.abs(arrays.position(q, t)).max(axis=-1)
    if not moving.any():
        return left
    open_ = np.flatnonzero(left > 0)
    for _ in range(ROUNDS):
        if not len(open_):
            break
        phi = arrays.position(q[open_], t)
        P = arrays.position_jacobian(q[open_], t) * moving
        step = -moving * least_motions(P, phi)
        step *= np.minimum(1.0, LONGEST / np.maximum(np.abs(step).max(axis=-1, keepdims=True), LONGEST))
        found, error = _shortened(arrays, q[open_], t, step, left[open_])
        better = error < left[open_]
        q[open_[better]], left[open_[better]] = found[better], error[better]
        open_ = open_[better & (error > 0)]
    return left


def _shortened(arrays: ConstraintArrays, q: Array, t: float, step: Array, before: Array) -> tuple[Array, Array]:
    """(q, |phi|) after steps that are halved where they do not help."""
    share = np.ones(len(q))
    found, error = q, before
    for _ in range(HALVINGS):
        found = arrays.system.integrate(q, share[:, None] * step)
        error = np.abs(arrays.position(found, t)).max(axis=-1)
        worse = ~(error < before) & (before > ASSEMBLED)
        if not worse.any():
            break
        share = np.where(worse, share / 2, share)
    return found, error


def _message(system: ArticulatedSystem, constraints: Sequence[Constraint], q: Array, failed: Array, t: float) -> str:
    """Which poses, and how far off the worst constraint of the first of them is."""
    first = int(np.flatnonzero(failed)[0])
    off = [float(np.abs(c.position(system, q[first], np.array(t))).max(initial=0.0)) for c in constraints]
    worst = int(np.argmax(off))
    return (
        f"{int(failed.sum())} of {len(q)} poses cannot be assembled; at pose {first} {constraints[worst].label} "
        f"(number {worst + 1}) stays off by {off[worst]:.3g}"
    )
