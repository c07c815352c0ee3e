"""Solved paths at many poses: lengths, Jacobians and flags from one kernel, and the motions that constraints allow."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from myoquat import kernels
from myoquat.core.typing import Array
from myoquat.dynamics.constraints import ConstraintArrays, Constraints, constraints_of
from myoquat.joints.compiled import kernel_for
from myoquat.muscle import Model, PathFlag
from myoquat.muscle.path import lengths
from myoquat.muscle.segments import jacobians
from myoquat.muscle.segments.flags import flags

__all__ = ["EXCLUDED", "SolvedPaths", "allowed_motions", "solved_paths"]

EXCLUDED = PathFlag.JUMP | PathFlag.UNSOLVED | PathFlag.COINCIDENT
RANK_TOLERANCE = 1e-9  # of the greatest singular value of the constraints: rows below it depend on the others


@dataclass(frozen=True)
class SolvedPaths:
    """Lengths (n, m) [m], Jacobians (n, m, nu) and flags (n, m) of paths at poses q (n, nq)."""

    q: Array
    length: Array
    jacobian: Array
    flags: Array

    @cached_property
    def finite_jacobian(self) -> Array:
        """(n, m, nu) the Jacobians, zero where they do not exist."""
        return np.where(np.isfinite(self.jacobian).all(axis=-1, keepdims=True), self.jacobian, 0.0)

    @cached_property
    def usable(self) -> Array:
        """(n, m) whether a length is smooth near the pose: no jump, a solved path, and a finite Jacobian."""
        smooth: Array = (self.flags & int(EXCLUDED)) == 0
        return smooth & np.isfinite(self.jacobian).all(axis=-1) & np.isfinite(self.length)


def solved_paths(model: Model, q: Array, near: float) -> SolvedPaths:
    """The paths of a model at poses (n, nq); `near` as for `path_flags`."""

    def formula(q: Array) -> tuple[Array, Array, Array]:
        l = lengths(model.system, model.muscles, q)
        return l, jacobians.velocity(model, q), flags(model, q, near)

    kernel = kernel_for(
        ("solved paths", near, model.content_key),
        lambda content: kernels.compile(
            formula, {"q": model.system.nq}, ["l", "J", "flags"], name="solved_paths", content=content
        ),
    )
    l, J, found = kernel(q)
    return SolvedPaths(q, l, J, found.astype(int))


def allowed_motions(model: Model, q: Array) -> Array | None:
    """(n, nu, nu) the projection of velocities onto those that constraints, couplers and locks allow at poses (n, nq),
    None where every velocity is allowed."""
    system, wanted = model.system, constraints_of(model)
    locked = [c.name for c in model.coordinates if c.locked and c.name in system.coordinate_names]
    rows = np.eye(system.nu)[[int(k) for name in locked for k in system.indices.velocities_of_coordinate(name)]]
    if not wanted and not len(rows):
        return None
    A = np.broadcast_to(rows, (len(q), *rows.shape))
    if wanted:
        A = np.concatenate([ConstraintArrays(Constraints(system, wanted)).jacobian(q, 0.0), A], axis=1)
    _, sizes, V = np.linalg.svd(A, full_matrices=False)
    V = np.where((sizes > RANK_TOLERANCE * sizes[:, :1])[..., None], V, 0.0)
    allowed: Array = np.eye(system.nu) - np.swapaxes(V, -1, -2) @ V
    return allowed
