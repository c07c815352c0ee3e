"""Solved paths and their jumps: the poses near one, and the poses beyond one. Both depend on solved paths alone."""

from collections.abc import Sequence
from dataclasses import field, replace
from functools import cached_property

import numpy as np

from myoquat import kernels
from myoquat.core import Array, frozen, scipy
from myoquat.dynamics.constraints import ConstraintArrays, Constraints, constraints_of
from myoquat.dynamics.rows import Rows
from myoquat.joints.evaluation import kernel_for
from myoquat.muscle import Model, Muscle, MusclePath, PathFlag, PathPoint, PoseVariables, path_jacobian, path_lengths
from myoquat.muscle.segments.flags import flags, lock_sines
from myoquat.muscle.segments.lengths import lengths, velocity_jacobian

from .poses import assembled

EXCLUDED = PathFlag.JUMP | PathFlag.UNSOLVED | PathFlag.COINCIDENT


@frozen
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
        l = lengths(model.system, model.paths, q)
        return l, velocity_jacobian(model.system, model.paths, q), flags(model.system, model.paths, q, near)

    kernel = kernel_for(
        ("solved paths", near, model.content_key),
        lambda content: kernels.compile(
            formula, {"q": model.system.nq}, ["l", "J", "flags"], name="solved_paths", content=content
        ),
    )
    l, J, found = kernel(q)
    return SolvedPaths(q, l, J, found.astype(int))


@frozen
class StraightPaths:
    """Lengths (n, m) [m] and Jacobians (n, m, nu) of the straight pieces between the `straight_points` of paths, and of
    whole paths without their surfaces."""

    fixed: tuple[Array, Array]
    free: tuple[Array, Array]


def straight_points(muscle: Muscle) -> tuple[PathPoint, ...]:
    """The longest run of consecutive points that are fixed on their bodies, none where these are of one body or the
    path has pulleys."""
    runs: list[list[PathPoint]] = [[]]
    for point in muscle.path.points:
        if type(point) is PathPoint:
            runs[-1].append(point)
        else:
            runs.append([])
    longest = max(runs, key=len)
    return tuple(longest) if not muscle.path.pulleys and len({point.body for point in longest}) > 1 else ()


def straight_paths(model: Model, q: Array) -> StraightPaths:
    """The straight pieces of paths at poses (n, nq)."""
    runs = [straight_points(muscle) for muscle in model.muscles]
    chosen = [k for k, run in enumerate(runs) if run]
    length, J = np.zeros((len(q), len(runs))), np.zeros((len(q), len(runs), model.system.nu))
    if chosen:
        length[:, chosen], J[:, chosen] = _bare(
            model, [replace(model.muscles[k], path=MusclePath(runs[k])) for k in chosen], q
        )
    return StraightPaths((length, J), _bare(model, model.muscles, q))


def _bare(model: Model, muscles: Sequence[Muscle], q: Array) -> tuple[Array, Array]:
    """Lengths and Jacobians of paths without surfaces."""
    bare = tuple(replace(muscle, path=replace(muscle.path, wraps=())) for muscle in muscles)
    bare_model = replace(model, muscles=bare, groups=(), inputs=(), file=None)
    return path_lengths(bare_model, q), path_jacobian(bare_model, q)


def allowed_motions(model: Model, q: Array) -> Array | None:
    """(n, nu, nu) the projection of velocities onto those that constraints, couplers and locks allow at poses (n, nq),
    None where every velocity is allowed."""
    wanted = constraints_of(model)
    if not wanted:
        return None
    held = ConstraintArrays(Constraints(model.system, wanted))
    return np.eye(model.system.nu) - Rows(held.jacobian(q, 0.0).mT, held.tolerance(q, 0.0)).projector


ARM_JUMP_M, ARM_STEP = 5e-3, 0.02  # [m] of a moment arm's jump, within such a step [rad or m] of every velocity
LENGTH_JUMP_M = 2e-4  # [m] of a length's jump nearby
STEP_JUMP_M = 3e-4  # [m] of a length's jump beyond which poses are left out
ARM_SIGNS = (1, 1, 1, 1), (1, -1, 1, -1), (1, 1, -1, -1)  # of four velocities each, beside random ones
ARM_SEED = 12345
NEIGHBORS, WAYS = 40, 2  # of a pose: among which those nearer to the center are looked for, and how many of these
MIN_INWARD = 0.6  # of the length of a step, by which it leads towards the center
MAX_HALVINGS = 6  # of a step, until a jump is certain
SAME_ERROR = 0.75  # of the error of a step, that one half of it keeps where the length jumps


def inspected_paths(model: Model, q: Array, allowed: Array | None, near: float) -> SolvedPaths:
    """The paths of a model at poses (n, nq), with where they jump nearby.
    `allowed` projects onto the motions that constraints let pass."""
    solved = solved_paths(model, q, near)
    return replace(solved, jumping=_jumping(model, solved, allowed, near) | _near_lock(model, q))


def _near_lock(model: Model, q: Array) -> Array:
    """(n, m) whether angles on which a path depends are within ARM_STEP of a lock: there they have no value, and the
    length jumps."""
    found = np.zeros((len(q), len(model.muscles)), dtype=bool)
    for k, muscle in enumerate(model.muscles):
        for sine in lock_sines(model.system, muscle.path, q):
            found[:, k] |= sine < ARM_STEP
    return found


def _jumping(model: Model, solved: SolvedPaths, allowed: Array | None, near: float) -> Array:
    """(n, m) whether a length or a moment arm jumps nearby, because the path changes to the other side of a surface.

    Near a jump of a moment arm the second difference J(q + v) - 2 J(q) + J(q - v) does not vanish with the step v. Near
    a jump of the length l(q + v) - l(q) is not the mean of J(q) v and J(q + v) v. The test takes random directions with
    every velocity of size ARM_STEP, along motions that the projection `allowed` lets pass. The directions of a pose
    differ in the signs of every other velocity and every other pair. Only muscles with surfaces count.
    """
    wrapped = np.flatnonzero([bool(muscle.path.wraps) for muscle in model.muscles])
    found = np.zeros(solved.length.shape, dtype=bool)
    rng, n = np.random.default_rng(ARM_SEED), len(solved.q)
    signs, number = rng.choice([-1.0, 1.0], (n, model.system.nu)), np.arange(model.system.nu)
    own = np.zeros((n, len(wrapped)), dtype=bool)
    length, J = solved.length[:, wrapped], solved.jacobian[:, wrapped]
    for change_of_signs in ARM_SIGNS if len(wrapped) else ():
        v = ARM_STEP * signs * np.array(change_of_signs)[number % 4]
        v = v if allowed is None else np.matvec(allowed, v)
        slope, change = _along(J, v), -2.0 * J
        for s in (1.0, -1.0):
            moved = solved_paths(model, model.system.integrate(solved.q, s * v), near)
            other = moved.jacobian[:, wrapped]
            errors = _length_errors(moved.length[:, wrapped] - length, s * slope, s * _along(other, v))
            own |= ~(errors < LENGTH_JUMP_M)
            change += other
        own |= _greater(change, allowed, ARM_JUMP_M)
    found[:, wrapped] = own
    return found


def _length_errors(change: Array, at_start: Array, at_end: Array) -> Array:
    """By how much a change of lengths on a step is not the mean of the rates at both ends, l' = J v."""
    return np.abs(change - 0.5 * (at_start + at_end))


def _along(J: Array, v: Array) -> Array:
    """(n, m) rates of lengths with Jacobians J (n, m, nu) along v (n, nu)."""
    return np.matvec(J, v)


def _greater(J: Array, allowed: Array | None, limit: float) -> Array:
    """(n, m) whether Jacobians (n, m, nu) are greater than a limit along motions that the projection lets pass. A
    projection makes none greater."""
    found: Array = ~(np.einsum("nmk,nmk->nm", J, J) < limit**2)
    if allowed is not None:
        pose, muscle = np.nonzero(found)
        found[pose, muscle] = ~(np.linalg.norm(np.vecmat(J[pose, muscle], allowed[pose]), axis=-1) < limit)
    return found


# ---- poses beyond a jump -------------------------------------------------------------------------------------


def beyond_jumps(model: Model, solved: SolvedPaths, variables: PoseVariables, muscles: Array, near: float) -> Array:
    """(n, k) whether the lengths of some muscles jump on a way from the center of a set of poses to each of them.

    Ways begin at the pose nearest to the center of the variables and lead over poses of the set, always farther out.
    Each pose has steps from WAYS of its neighbors. On a step v without a jump l(q + v) - l(q) is the mean of J(q) v and
    J(q + v) v. Where it is not, by more than STEP_JUMP_M, the step is halved: a jump stays in one of the
    halves, all other errors become smaller.
    """
    found = np.zeros((len(solved.q), len(muscles)), dtype=bool)
    jumping = np.flatnonzero((solved.flags[:, muscles] & int(PathFlag.JUMP)).any(axis=0))
    if len(jumping) and len(solved.q):
        own = [int(muscles[k]) for k in jumping]
        length, J = solved.length[:, own], solved.jacobian[:, own]
        finite: Array = np.logical_and.reduce(np.isfinite(length), axis=-1)
        inner = _inner_poses(model, solved.q, variables, finite)
        way, end = np.nonzero(inner >= 0)
        steps = _Steps.between(solved.q, length, J, inner[way, end], end)
        jumps = np.zeros((*inner.shape, len(own)), dtype=bool)
        jumps[way, end] = _jumps_on(model, steps, own, near)
        found[:, jumping] = _reached_over(inner, jumps)
    return found


def _inner_poses(model: Model, q: Array, variables: PoseVariables, solved: Array) -> Array:
    """(WAYS, n) the poses before each one on the ways from the center, among those that are `solved`; -1 where there
    are no more."""
    x = np.stack(variables.values(model.system, q), axis=-1)
    balls, center = len(variables.balls), np.zeros(variables.size)
    for k in range(0, 4 * balls, 4):
        x[:, k : k + 4] *= np.where(x[:, [k]] < 0, -1.0, 1.0)  # Q and -Q are one rotation
        center[k] = 1.0
    radius = np.linalg.norm(x - center, axis=-1)
    first = int(np.argmin(np.where(solved, radius, np.inf)))
    distance, others = scipy.spatial.cKDTree(x).query(x, k=min(NEIGHBORS, len(x)))
    distance, others = distance.reshape(len(x), -1), others.reshape(len(x), -1)
    inward = (radius[others] < radius[:, None] - MIN_INWARD * distance) & solved[others]
    nearest = np.argsort(~inward, axis=1, kind="stable")[:, :WAYS]  # neighbors are sorted by their distance
    found = np.where(np.take_along_axis(inward, nearest, axis=1), np.take_along_axis(others, nearest, axis=1), -1).T
    found[0] = np.where(found[0] < 0, first, found[0])  # those without neighbors farther in: one step from the first
    found[:, first] = -1
    return found


def _reached_over(inner: Array, jumps: Array) -> Array:
    """(n, k) whether there is a jump on a way from the first pose. `inner` (w, n) are the poses before each one, and
    `jumps` (w, n, k) are those on the steps from these."""
    found: Array = np.logical_or.reduce(jumps)
    before: Array = np.zeros_like(found)
    while not np.array_equal(before, found):
        before = found
        found = before | np.logical_or.reduce((inner >= 0)[..., None] & before[inner])
    return found


@frozen
class _Steps:
    """Steps between poses q (s, 2, nq) with lengths (s, 2, k) and Jacobians (s, 2, k, nu)."""

    q: Array
    length: Array
    jacobian: Array

    @classmethod
    def between(cls, q: Array, length: Array, jacobian: Array, start: Array, end: Array) -> "_Steps":
        """Steps between the poses of these numbers."""
        return cls(*(np.stack([x[start], x[end]], axis=1) for x in (q, length, jacobian)))

    def errors(self, model: Model) -> Array:
        """(s, k) `_length_errors` of the steps."""
        v = model.system.difference(self.q[:, 0], self.q[:, 1])
        rates = (_along(self.jacobian[:, k], v) for k in (0, 1))
        return _length_errors(self.length[:, 1] - self.length[:, 0], *rates)

    def halves(self, model: Model, at: Array, muscles: list[int], near: float) -> "_Steps":
        """The first halves of some of the steps, then the second ones."""
        start, end = self.q[at, 0], self.q[at, 1]
        middle = assembled(model, model.system.integrate(start, 0.5 * model.system.difference(start, end)))
        solved = solved_paths(model, middle, near)
        parts = ((self.q, middle), (self.length, solved.length[:, muscles]),
                 (self.jacobian, solved.jacobian[:, muscles]))  # fmt: skip
        return _Steps(*(np.concatenate([np.stack([x[at, 0], m], axis=1), np.stack([m, x[at, 1]], axis=1)])
                        for x, m in parts))  # fmt: skip


def _jumps_on(model: Model, steps: _Steps, muscles: list[int], near: float) -> Array:
    """(s, k) whether lengths jump on steps."""
    errors = steps.errors(model)
    found, number = np.zeros(errors.shape, dtype=bool), np.arange(len(errors))
    for _ in range(MAX_HALVINGS):
        at = np.flatnonzero((errors > STEP_JUMP_M).any(axis=-1))
        if not len(at):
            break
        steps, before = steps.halves(model, at, muscles, near), errors[at]
        errors, number = steps.errors(model), number[at]
        worst = np.fmax(errors[: len(at)], errors[len(at) :])
        np.logical_or.at(found, number, (before > STEP_JUMP_M) & (worst > SAME_ERROR * before))
        number = np.tile(number, 2)
        errors = np.where(found[number], 0.0, errors)
    np.logical_or.at(found, number, errors > STEP_JUMP_M)
    return found
