"""Solved paths at many poses: lengths, Jacobians and flags from one kernel, and the motions that constraints allow."""

from collections.abc import Sequence
from dataclasses import field, replace
from functools import cached_property

import numpy as np

from myoquat import kernels
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.dynamics.constraints import ConstraintArrays, Constraints, constraints_of
from myoquat.joints.compiled import kernel_for
from myoquat.muscle import Model, Muscle, PathFlag, PathPoint, path_jacobian, path_lengths
from myoquat.muscle.segments.flags import flags
from myoquat.muscle.segments.lengths import lengths, velocity_jacobian

__all__ = [
    "EXCLUDED",
    "SolvedPaths",
    "StraightPaths",
    "allowed_motions",
    "solved_paths",
    "straight_paths",
    "straight_points",
]

EXCLUDED = PathFlag.JUMP | PathFlag.UNSOLVED | PathFlag.COINCIDENT
RANK_TOLERANCE = 1e-9  # of the greatest singular value of the constraints: rows below it depend on the others


@dataclass(frozen=True)
class SolvedPaths:
    """Lengths (n, m) [m], Jacobians (n, m, nu) and flags (n, m) of paths at poses q (n, nq). If it was looked for,
    whether a length or a moment arm jumps nearby (n, m)."""

    q: Array
    length: Array
    jacobian: Array
    flags: Array
    jumping: Array = field(default_factory=lambda: np.zeros((), dtype=bool))

    @cached_property
    def finite_jacobian(self) -> Array:
        """(n, m, nu) the Jacobians, zero where they do not exist."""
        return np.where(np.isfinite(self.jacobian).all(axis=-1, keepdims=True), self.jacobian, 0.0)

    @cached_property
    def usable(self) -> Array:
        """(n, m) whether a length is smooth near the pose: no jump, a solved path, and a finite Jacobian."""
        smooth: Array = ((self.flags & int(EXCLUDED)) == 0) & ~self.jumping
        return smooth & np.isfinite(self.jacobian).all(axis=-1) & np.isfinite(self.length)


def solved_paths(model: Model, q: Array, near: float) -> SolvedPaths:
    """The paths of a model at poses (n, nq); `near` as for `path_flags`."""

    def formula(q: Array) -> tuple[Array, Array, Array]:
        l = lengths(model.system, model.muscles, q)
        return l, velocity_jacobian(model.system, model.muscles, q), flags(model.system, model.muscles, q, near)

    kernel = kernel_for(
        ("solved paths", near, model.content_key),
        lambda content: kernels.compile(
            formula, {"q": model.system.nq}, ["l", "J", "flags"], name="solved_paths", content=content
        ),
    )
    l, J, found = kernel(q)
    return SolvedPaths(q, l, J, found.astype(int))


@dataclass(frozen=True)
class StraightPaths:
    """Lengths (n, m) [m] and Jacobians (n, m, nu) of the straight pieces between the `straight_points` of paths, and of
    whole paths without their surfaces."""

    fixed: tuple[Array, Array]
    free: tuple[Array, Array]


def straight_points(muscle: Muscle) -> tuple[PathPoint, ...]:
    """The longest run of consecutive points that are fixed on their bodies, none where these are of one body or the
    path has pulleys."""
    runs: list[list[PathPoint]] = [[]]
    for point in muscle.path:
        if type(point) is PathPoint:
            runs[-1].append(point)
        else:
            runs.append([])
    longest = max(runs, key=len)
    return tuple(longest) if not muscle.pulleys and len({point.body for point in longest}) > 1 else ()


def straight_paths(model: Model, q: Array) -> StraightPaths:
    """The straight pieces of paths at poses (n, nq)."""
    runs = [straight_points(muscle) for muscle in model.muscles]
    chosen = [k for k, run in enumerate(runs) if run]
    length, J = np.zeros((len(q), len(runs))), np.zeros((len(q), len(runs), model.system.nu))
    if chosen:
        length[:, chosen], J[:, chosen] = _bare(model, [replace(model.muscles[k], path=runs[k]) for k in chosen], q)
    return StraightPaths((length, J), _bare(model, model.muscles, q))


def _bare(model: Model, muscles: Sequence[Muscle], q: Array) -> tuple[Array, Array]:
    """Lengths and Jacobians of paths without surfaces."""
    bare = tuple(replace(muscle, wraps=()) for muscle in muscles)
    bare_model = replace(model, muscles=bare, groups=(), file=None)
    return path_lengths(bare_model, q), path_jacobian(bare_model, q)


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
