"""Solved paths at many poses: lengths, Jacobians and flags from one kernel, and the motions that constraints allow."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from myoquat import kernels
from myoquat.core.typing import Array
from myoquat.dynamics.constraints import ConstraintArrays, Constraints, constraints_of
from myoquat.joints.compiled import kernel_for
from myoquat.muscle import ConditionalPoint, Model, Muscle, PathFlag, PathPoint, path_jacobian, path_lengths
from myoquat.muscle.segments.flags import flags
from myoquat.muscle.segments.lengths import lengths, velocity_jacobian

__all__ = [
    "EXCLUDED",
    "SolvedPaths",
    "allowed_motions",
    "inspected_paths",
    "is_straight",
    "solved_paths",
    "straight_paths",
]

EXCLUDED = PathFlag.JUMP | PathFlag.UNSOLVED | PathFlag.COINCIDENT
ARM_JUMP_M, ARM_STEP = 5e-3, 0.02  # [m] of a moment arm's jump, within such a step [rad or m] of every velocity
LENGTH_JUMP_M = 2e-4  # [m] of a length's jump
ARM_SIGNS = (1, 1, 1, 1), (1, -1, 1, -1), (1, 1, -1, -1)  # of four velocities each, beside random ones
ARM_SEED = 12345
RANK_TOLERANCE = 1e-9  # of the greatest singular value of the constraints: rows below it depend on the others


@dataclass(frozen=True)
class SolvedPaths:
    """Lengths (n, m) [m], Jacobians (n, m, nu) and flags (n, m) of paths at poses q (n, nq). If they were looked for,
    whether a length or a moment arm jumps nearby (n, m), and a bit for each conditional point that is on a path (n, m).
    """

    q: Array
    length: Array
    jacobian: Array
    flags: Array
    jumping: Array = field(default_factory=lambda: np.zeros((), dtype=bool))
    on_path: Array = field(default_factory=lambda: np.zeros((), dtype=int))

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


def inspected_paths(model: Model, q: Array, allowed: Array | None, near: float) -> SolvedPaths:
    """The paths of a model at poses (n, nq), with where they jump nearby and their conditional points.
    `allowed` projects onto the motions that constraints let pass."""
    solved = solved_paths(model, q, near)
    return replace(solved, jumping=_jumping(model, solved, allowed, near), on_path=_on_path(model, q))


def _jumping(model: Model, solved: SolvedPaths, allowed: Array | None, near: float) -> Array:
    """(n, m) whether a length or a moment arm jumps nearby, because the path changes to the other side of a surface.

    There the second difference J(q + v) - 2 J(q) + J(q - v) does not vanish with the step v, or l(q + v) - l(q) is not
    the mean of J(q) v and J(q + v) v. It is looked for in random directions with every velocity of size ARM_STEP, along
    motions that the projection `allowed` lets pass. The directions of a pose differ in the signs of every other
    velocity and every other pair. It depends on solved paths alone. Only muscles with surfaces count.
    """
    wrapped = np.array([bool(muscle.wraps) for muscle in model.muscles])
    found = np.zeros(solved.length.shape, dtype=bool)
    rng, n = np.random.default_rng(ARM_SEED), len(solved.q)
    signs, number = rng.choice([-1.0, 1.0], (n, model.system.nu)), np.arange(model.system.nu)
    for change_of_signs in ARM_SIGNS if wrapped.any() else ():
        v = ARM_STEP * signs * np.array(change_of_signs)[number % 4]
        v = v if allowed is None else np.matvec(allowed, v)
        change = -2.0 * solved.jacobian
        for s in (1.0, -1.0):
            moved = solved_paths(model, model.system.integrate(solved.q, s * v), near)
            mean = 0.5 * (solved.jacobian + moved.jacobian)
            found |= ~(np.abs(moved.length - solved.length - s * np.matvec(mean, v)) < LENGTH_JUMP_M)
            change = change + moved.jacobian
        change = change if allowed is None else change @ allowed
        found |= ~(np.linalg.norm(change, axis=-1) < ARM_JUMP_M)
    result: Array = found & wrapped
    return result


def _on_path(model: Model, q: Array) -> Array:
    """(n, m) a bit for each conditional point that is on a path."""
    found = np.zeros((len(q), len(model.muscles)), dtype=int)
    for k, muscle in enumerate(model.muscles):
        conditional = [point for point in muscle.path if isinstance(point, ConditionalPoint)]
        for bit, point in enumerate(conditional):
            found[:, k] |= np.asarray(point.active(model.system, q)).astype(int) << bit
    return found


def is_straight(muscle: Muscle) -> bool:
    """Whether a path without its surfaces is straight between points that are fixed on their bodies."""
    return not muscle.pulleys and all(type(point) is PathPoint for point in muscle.path)


def straight_paths(model: Model, q: Array) -> tuple[Array, Array]:
    """(n, m) lengths and (n, m, nu) Jacobians of the straight pieces between the points of paths that `is_straight`,
    zero for the others."""
    chosen = [k for k, muscle in enumerate(model.muscles) if is_straight(muscle)]
    length = np.zeros((len(q), len(model.muscles)))
    J = np.zeros((*length.shape, model.system.nu))
    if chosen:
        bare = replace(model, muscles=tuple(replace(model.muscles[k], wraps=()) for k in chosen), groups=(), file=None)
        length[:, chosen], J[:, chosen] = path_lengths(bare, q), path_jacobian(bare, q)
    return length, J


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
