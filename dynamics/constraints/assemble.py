"""Poses brought onto constraints."""

import math
from collections.abc import Sequence

import numpy as np

from myoquat.core import Array, ArrayLike, Pair, real_array
from myoquat.dynamics.rows import least_motions
from myoquat.joints.constraints import Constraint, Holonomic
from myoquat.joints.evaluation import SystemLike, system_of
from myoquat.muscle import Model

from .equations import Constraints, constraints_of
from .evaluate import ConstraintArrays

ASSEMBLY_TOLERANCE = 1e-10  # |phi| [m, rad] of an assembled pose
MAX_NEWTON_STEPS, MAX_HALVINGS = 100, 12  # of Newton's method; of a step
MAX_COORDINATE_STEP = 0.5  # [rad, m] that a step may move the coordinate of a velocity that nothing drives
DEPENDENT_COORDINATE_WEIGHT = 1e-3  # of its motion, relative to that of an independent coordinate


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
    model: SystemLike, q: ArrayLike, constraints: Sequence[Constraint] = (), *, time: ArrayLike = 0.0,
    strict: bool = True,
) -> Array:  # fmt: skip
    """(..., nq) poses near q (..., nq) that satisfy the constraints of a model, and further ones, at times (...) [s].

    Dependent coordinates, which couplers or functions of time drive, move first: where they alone can satisfy all
    constraints, nothing else moves. Elsewhere a motion of an independent coordinate counts 1000 times as much as one of
    a dependent coordinate. Coordinates that the model has locked stay. Every step is the smallest motion that satisfies
    the linearized constraints, in the Euclidean norm of the velocities with these weights. Steps end when |phi| <
    1e-10. The result is a pose nearby, not exactly the nearest. Constraints on velocities do not matter. Redundant
    constraints are allowed.

    Raises AssemblyError where no such pose is found, with the first of them and the constraint that is off the most.
    With strict=False those poses are NaN. ValueError for arrays that do not fit.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.dynamics.constraints import PointLoop, assemble
    >>> model = mq.load_model("two_link")
    >>> q = assemble(model, model.start_q, [PointLoop("B", "ground", (0, 0, -1.0), (0.5, 0.0, -1.5))])
    >>> R, p = model.system.poses(q)["B"]
    >>> np.allclose(p + R @ [0, 0, -1.0], [0.5, 0.0, -1.5])
    True
    """
    system, wanted, at = system_of(model), constraints_of(model, constraints), real_array("time", time)
    start = system.check_q(q)
    rows = np.array(start.reshape(math.prod(start.shape[:-1]), system.nq))
    held = Constraints(system, wanted)
    arrays = ConstraintArrays(held)
    times = np.broadcast_to(at, start.shape[:-1]).reshape(-1)
    if not wanted or not len(rows) or not arrays.position(rows, times).shape[-1]:
        return rows.reshape(start.shape)
    tries = mobilities(model, constraints)
    driven = (tries[0] > 0) if len(tries) > 1 else np.zeros(system.nu, dtype=bool)
    given, residual = rows.copy(), np.full(len(rows), np.inf)
    for moving in tries:  # rows become what the first that assembles them makes of them, or else the last
        open_ = np.flatnonzero(~(residual < ASSEMBLY_TOLERANCE))
        if len(open_):
            part = given[open_]
            residual[open_] = _solve(arrays, part, times[open_], moving, driven)
            rows[open_] = part
    failed = ~(residual < ASSEMBLY_TOLERANCE)
    if failed.any() and strict:
        batch = start.shape[:-1]
        first, *_ = numbers = np.flatnonzero(failed).tolist()
        off = [float(np.abs(c.position(system, rows[first], times[first])).max(initial=0.0)) for c in wanted]
        worst = int(np.argmax(off))
        raise AssemblyError(
            f"{len(numbers)} of {len(rows)} poses cannot be assembled; at pose {first} {wanted[worst].label} "
            f"(number {worst + 1}) stays off by {off[worst]:.3g}",
            tuple(tuple(int(i) for i in np.unravel_index(k, batch)) for k in numbers),
            residual.reshape(batch),
        )
    rows[failed] = np.nan
    return rows.reshape(start.shape)


def mobilities(model: SystemLike, constraints: Sequence[Constraint] = ()) -> tuple[Array, ...]:
    """How easily each velocity (nu,) moves when constraints are met, in the order in which this is tried. First only
    the dependent coordinates of couplers move, if there are any. Then all move, independent ones reluctantly and locked
    ones never."""
    system = system_of(model)
    moving, driven = np.ones(system.nu), np.zeros(system.nu)
    known = {*system.coordinate_names}
    for coordinate in model.coordinates if isinstance(model, Model) else ():
        if coordinate.locked and coordinate.name in known:
            moving[list(system.indices.velocities_of_coordinate(coordinate.name))] = 0.0
    for constraint in constraints_of(model, constraints):
        if isinstance(constraint, Holonomic) and constraint.driven in known:
            driven[list(system.indices.velocities_of_coordinate(constraint.driven))] = 1.0
    if not driven.any():
        return (moving,)
    return moving * driven, moving * np.where(driven > 0, 1.0, DEPENDENT_COORDINATE_WEIGHT)


def _solve(arrays: ConstraintArrays, q: Array, t: Array, moving: Array, driven: Array) -> Array:
    """(n,) |phi| at rows q (n, nq), which are moved in place until none of them gets nearer. Velocities that are driven
    (nu,) may go far in one step: their constraints are linear in them."""
    left: Array = np.abs(arrays.position(q, t)).max(axis=-1)
    if not moving.any():
        return left
    open_ = np.flatnonzero(left > 0)
    for _ in range(MAX_NEWTON_STEPS):
        if not len(open_):
            break
        phi = arrays.position(q[open_], t[open_])
        P = arrays.position_jacobian(q[open_], t[open_]) * moving
        step = -moving * least_motions(P, phi)
        far = np.abs(step * ~driven).max(axis=-1, keepdims=True)
        step *= MAX_COORDINATE_STEP / np.maximum(far, MAX_COORDINATE_STEP)
        found, error = _shortened(arrays, q[open_], t[open_], step, left[open_])
        better = error < left[open_]
        q[open_[better]], left[open_[better]] = found[better], error[better]
        open_ = open_[better & (error > 0)]
    return left


def _shortened(arrays: ConstraintArrays, q: Array, t: Array, step: Array, before: Array) -> Pair:
    """(q, |phi|) after steps that are halved where they do not help."""
    share = np.ones(len(q))
    found, error = q, before
    for _ in range(MAX_HALVINGS):
        found = arrays.system.integrate(q, share[:, None] * step)
        error = np.abs(arrays.position(found, t)).max(axis=-1)
        worse = ~(error < before) & (before > ASSEMBLY_TOLERANCE)
        if not worse.any():
            break
        share = np.where(worse, share / 2, share)
    return found, error
