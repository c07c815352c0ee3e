"""Poses to fit paths to, the paths that are solved there, and their jumps.

Poses are those of the range of motion, and clouds around recorded motions. Those near a jump and those beyond one
depend on solved paths alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from itertools import groupby

import numpy as np

from myoquat import kernels
from myoquat.core import Array, ArrayLike, check_types, frozen, indices_of, real_array, scipy
from myoquat.dynamics.constraints import ConstraintArrays, Constraints, assemble, constraints_of
from myoquat.dynamics.rows import Rows
from myoquat.joints.evaluation import kernel_for
from myoquat.joints.quaternion import quaternion_multiply
from myoquat.muscle import Model, Muscle, MusclePath, PathFlag, PathPoint, PoseVariables, path_jacobian, path_lengths
from myoquat.muscle.segments.flags import flags, lock_sines
from myoquat.muscle.segments.lengths import lengths, velocity_jacobian

MAX_RANGE = 2 * np.pi + 1e-9  # [rad or m]; wider ones are no ranges of motion
MAX_BATCHES = 20  # of poses, until enough satisfy the constraints


def range_poses(
    model: Model,
    n: int,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    turns: Mapping[str, float] | None = None,
    seed: int = 0,
) -> Array:
    """(n, nq) poses over the range of motion, quasi-random, on the constraints of the model.

    ranges  of coordinates by name [rad or m], angles of a model file that a quaternion has replaced among them. By
            default all that the model gives a range of at most a turn and neither locks nor couples
    turns   of ball joints by the names of their bodies: the greatest angle [rad] of rotations from the start. By
            default ball joints whose model file had no angles take all rotations alike

    All else stays where the model starts. Constraints are satisfied by `assemble`; poses that it moves out of the
    ranges by more than a tenth of their width are left out.

    Raises ValueError for a name that is unknown and where too few poses satisfy the constraints.

    >>> import myoquat as mq
    >>> from myoquat.analysis.fits import range_poses
    >>> range_poses(mq.load_model("two_link"), 5).shape
    (5, 8)
    """
    check_types(model=(model, Model), n=(n, int), seed=(seed, int))
    chosen, system = dict(_own_ranges(model) if ranges is None else ranges), model.system
    balls = [body for body in system.bodies if body.joint.facts.quaternion is not None]
    slices = dict(zip((body.name for body in balls), system.quaternion_slices(), strict=True))
    if turns is None:
        turns = {body.name: np.pi for body in balls if getattr(body.joint, "angles", None) is None}
    for name in turns:
        if name not in slices:
            raise ValueError(f"range_poses: the joint of body {name!r} has no quaternion that could turn")
    sampler = scipy.stats.qmc.Sobol(max(1, len(chosen) + 3 * len(turns)), rng=np.random.default_rng(seed))
    found: list[Array] = []
    for _ in range(MAX_BATCHES):
        x = sampler.random(1 << max(6, (n - 1).bit_length()))
        q = model.pose({name: low + x[:, k] * (high - low) for k, (name, (low, high)) in enumerate(chosen.items())})
        q = np.array(np.broadcast_to(q, (len(x), system.nq)), order="C")
        for k, (body, angle) in enumerate(turns.items()):
            own = _turned(x.T[len(chosen) + 3 * k :][:3], angle)
            q[:, slices[body]] = quaternion_multiply(q[:, slices[body]], own)
        q = assembled(model, q)
        found.append(q[_inside(model, chosen, q)])
        if sum(map(len, found)) >= n:
            return np.concatenate(found)[:n]
    raise ValueError(f"range_poses: {MAX_BATCHES} times {n} poses in the ranges held only {sum(map(len, found))} that "
                     "satisfy the constraints")  # fmt: skip


def cloud_poses(model: Model, motion: ArrayLike, n: int, spread: float, seed: int = 0) -> Array:
    """(n, nq) poses around recorded ones `motion` (..., nq), assembled on the constraints.

    Each is a recorded pose, moved by normal velocities times `spread` [rad or m]. Only coordinates that move in the
    recording are moved.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis.fits import cloud_poses
    >>> model = mq.load_model("two_link")
    >>> motion = np.stack([model.start, model.system.integrate(model.start, [0, 0, 0.3, 0, 0, 0])])
    >>> q = cloud_poses(model, motion, 10, spread=0.1)
    >>> bool(np.ptp(q[:, 4:], axis=0).max() < 1e-12)  # the second joint does not move in the motion
    True
    """
    check_types(model=(model, Model), n=(n, int), seed=(seed, int))
    system, rng = model.system, np.random.default_rng(seed)
    recorded = system.check_q(real_array("motion", motion)).reshape(-1, system.nq)
    start = recorded[rng.integers(len(recorded), size=n)]
    moving = np.abs(system.difference(recorded[0], recorded)).max(axis=0) > 1e-9
    moved = system.integrate(start, spread * rng.normal(size=(n, system.nu)) * moving)
    return assembled(model, moved)


def _own_ranges(model: Model) -> dict[str, tuple[float, float]]:
    """The ranges of the model's own coordinates, where they are ranges of motion."""
    known = {*model.system.coordinate_names, *model.system.angle_names}
    return {
        c.name: c.range
        for c in model.coordinates
        if c.range is not None and 0 < c.range[1] - c.range[0] <= MAX_RANGE
        if not c.locked and c.name not in model.driven and c.name in known
    }


def _turned(x: Array, greatest: float) -> Array:
    """(n, 4) rotations by at most an angle, uniform among these, of numbers x (3, n) in [0, 1].

    The angle a has the density 1 - cos a, so that a - sin a is uniform; the axis is uniform on the sphere.
    """
    angles = np.linspace(0.0, greatest, 1001)
    a = np.interp(x[0] * (greatest - np.sin(greatest)), angles - np.sin(angles), angles)
    z, azimuth = 2.0 * x[1] - 1.0, 2.0 * np.pi * x[2]
    rho = np.sqrt(1.0 - z * z)
    axis = np.stack([rho * np.cos(azimuth), rho * np.sin(azimuth), z], axis=-1)
    return np.concatenate([np.cos(0.5 * a)[:, None], np.sin(0.5 * a)[:, None] * axis], axis=-1)


def assembled(model: Model, q: Array) -> Array:
    """(n, nq) poses on the constraints of the model, NaN where there are none nearby."""
    return assemble(model, q, strict=False) if constraints_of(model) else q


def _inside(model: Model, ranges: Mapping[str, tuple[float, float]], q: Array) -> Array:
    """(n,) whether poses exist and lie in the ranges, nearly."""
    found: Array = np.logical_and.reduce(np.isfinite(q), axis=-1)
    safe = np.where(found[:, None], q, model.start)
    for name in ranges.keys() & model.system.coordinate_names:
        (low, high), x = ranges[name], model.system.coordinate(name, safe)
        off = np.abs((x - 0.5 * (low + high) + np.pi) % (2 * np.pi) - np.pi)
        found = found & (off <= 0.6 * (high - low))
    return found


def given_poses(model: Model, poses: ArrayLike | None, n: int = 4000, seed: int = 0) -> Array:
    """(n, nq) the poses that were given, or so many of `range_poses`; ValueError for poses off the unit sphere."""
    found = range_poses(model, n, seed=seed) if poses is None else model.system.check_q(real_array("poses", poses))
    return found.reshape(-1, model.system.nq)


def chosen_muscles(model: Model, muscles: Sequence[str] | None) -> tuple[Sequence[str], list[int]]:
    """Names and numbers of the muscles, all without names; ValueError for names of no muscle."""
    names = model.muscle_names if muscles is None else muscles
    return names, indices_of("muscle", names, model.muscle_names)


# ---- Solved paths and their jumps --------------------------------------------------------------------------------

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


def straight_points(muscle: Muscle) -> tuple[PathPoint, ...]:
    """The longest run of consecutive points that are fixed on their bodies, none where these are of one body or the
    path has pulleys."""
    runs = groupby(muscle.path.points, key=lambda point: type(point) is PathPoint)
    longest = max((tuple(run) for fixed, run in runs if fixed), key=len, default=())
    return longest if not muscle.path.pulleys and len({point.body for point in longest}) > 1 else ()


def straight_paths(model: Model, q: Array) -> list[tuple[Array, Array]]:
    """Lengths (n, m) [m] and Jacobians (n, m, nu) at poses (n, nq): of the straight pieces between the
    `straight_points` of paths, zero without any, and of whole paths without their surfaces."""
    runs = [straight_points(muscle) for muscle in model.muscles]
    chosen = [k for k, run in enumerate(runs) if run]
    pieces = [replace(model.muscles[k], path=MusclePath(runs[k])) for k in chosen]
    bare = [replace(muscle, path=replace(muscle.path, wraps=())) for muscle in model.muscles]
    found = []
    for at, muscles in ((chosen, pieces), (range(len(bare)), bare)):
        length, J = np.zeros((len(q), len(bare))), np.zeros((len(q), len(bare), model.system.nu))
        if muscles:
            part = replace(model, muscles=tuple(muscles), groups=(), inputs=(), file=None)
            length[:, at], J[:, at] = path_lengths(part, q), path_jacobian(part, q)
        found.append((length, J))
    return found


def allowed_motions(model: Model, q: Array) -> Array:
    """(n, nu, nu) the projection of velocities onto those that constraints, couplers and locks allow at poses
    (n, nq)."""
    every, wanted = np.eye(model.system.nu), constraints_of(model)
    if not wanted:
        return np.broadcast_to(every, (len(q), *every.shape))
    held = ConstraintArrays(Constraints(model.system, wanted))
    return every - Rows(held.jacobian(q, 0.0).mT, held.tolerance(q, 0.0)).projector


ARM_JUMP_M, ARM_STEP = 5e-3, 0.02  # [m] of a moment arm's jump, within such a step [rad or m] of every velocity
LENGTH_JUMP_M = 2e-4  # [m] of a length's jump nearby
STEP_JUMP_M = 3e-4  # [m] of a length's jump beyond which poses are left out
ARM_SIGNS = (1, 1, 1, 1), (1, -1, 1, -1), (1, 1, -1, -1)  # of four velocities each, beside random ones
ARM_SEED = 12345
NEIGHBORS, WAYS = 40, 2  # of a pose: among which those nearer to the center are looked for, and how many of these
MIN_INWARD = 0.6  # of the length of a step, by which it leads towards the center
MAX_HALVINGS = 6  # of a step, until a jump is certain
SAME_ERROR = 0.75  # of the error of a step, that one half of it keeps where the length jumps


def inspected_paths(model: Model, q: Array, allowed: Array, near: float) -> SolvedPaths:
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


def _jumping(model: Model, solved: SolvedPaths, allowed: Array, near: float) -> Array:
    """(n, m) whether a length or a moment arm jumps nearby, because the path changes to the other side of a surface.

    Near a jump of a moment arm the second difference J(q + v) - 2 J(q) + J(q - v) does not vanish with the step v. Near
    a jump of the length l(q + v) - l(q) is not the mean of J(q) v and J(q + v) v. The test takes random directions with
    every velocity of size ARM_STEP, along motions that the projection `allowed` lets pass. The directions of a pose
    differ in the signs of every other velocity and every other pair. Only muscles with surfaces count.
    """
    wrapped = np.flatnonzero([bool(muscle.path.wraps) for muscle in model.muscles])
    found, number = np.zeros(solved.length.shape, dtype=bool), np.arange(model.system.nu)
    signs = np.random.default_rng(ARM_SEED).choice([-1.0, 1.0], (len(solved.q), len(number)))
    length, J = solved.length[:, wrapped], solved.jacobian[:, wrapped]
    for change_of_signs in ARM_SIGNS if len(wrapped) else ():
        v = np.matvec(allowed, ARM_STEP * signs * np.array(change_of_signs)[number % 4])
        change = -2.0 * J
        for step in (v, -v):
            moved = solved_paths(model, model.system.integrate(solved.q, step), near)
            other = moved.jacobian[:, wrapped]
            errors = _length_errors(moved.length[:, wrapped] - length, J, other, step)
            found[:, wrapped] |= ~(errors < LENGTH_JUMP_M)
            change += other
        found[:, wrapped] |= ~(np.linalg.norm(change @ allowed, axis=-1) < ARM_JUMP_M)
    return found


def _length_errors(change: Array, start: Array, end: Array, v: Array) -> Array:
    """(n, m) by how much changes of lengths on steps v (n, nu) are not the mean of their rates J v at both ends."""
    return np.abs(change - 0.5 * (np.matvec(start, v) + np.matvec(end, v)))


# ---- poses beyond a jump -------------------------------------------------------------------------------------


def beyond_jumps(model: Model, solved: SolvedPaths, variables: Mapping[int, PoseVariables], near: float) -> Array:
    """(n, m) whether the lengths of the muscles that have `variables` jump on a way from the center of a set of poses
    to each of them.

    Ways begin at the pose nearest to the center of the variables and lead over poses of the set, always farther out.
    Each pose has steps from WAYS of its neighbors. On a step v without a jump l(q + v) - l(q) is the mean of J(q) v and
    J(q + v) v. Where it is not, by more than STEP_JUMP_M, the step is halved: a jump stays in one of the
    halves, all other errors become smaller.
    """
    found = np.zeros(solved.length.shape, dtype=bool)
    groups: dict[PoseVariables, list[int]] = {}
    for k in np.flatnonzero((solved.flags & int(PathFlag.JUMP)).any(axis=0)).tolist():
        if k in variables:
            groups.setdefault(variables[k], []).append(k)
    for center, muscles in groups.items():
        finite: Array = np.logical_and.reduce(np.isfinite(solved.length[:, muscles]), axis=-1)
        inner = _inner_poses(model, solved.q, center, finite)
        way, end = np.nonzero(inner >= 0)
        jumps = np.zeros((*inner.shape, len(muscles)), dtype=bool)
        jumps[way, end] = _jumps_on(model, solved, np.stack([inner[way, end], end]), muscles, near)
        found[:, muscles] = _reached_over(inner, jumps)
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


def _jumps_on(model: Model, solved: SolvedPaths, steps: Array, muscles: list[int], near: float) -> Array:
    """(s, k) whether lengths of some muscles jump on steps (2, s) between poses of these numbers."""
    number = np.arange(steps.shape[1])  # of the step that is halved
    found = np.zeros((len(number), len(muscles)), dtype=bool)
    before = np.full(found.shape, np.inf)
    q, length, J = solved.q, solved.length[:, muscles], solved.jacobian[:, muscles]
    for halvings in range(MAX_HALVINGS + 1):
        start, end = steps
        v = model.system.difference(q[start], q[end])
        errors = _length_errors(length[end] - length[start], J[start], J[end], v)
        if halvings:
            worst = np.tile(np.fmax(*np.split(errors, 2)), (2, 1))
            np.logical_or.at(found, number, (before > STEP_JUMP_M) & (worst > SAME_ERROR * before))
            errors = np.where(found[number] | ~(before > STEP_JUMP_M), 0.0, errors)
        at = np.flatnonzero((errors > STEP_JUMP_M).any(axis=-1))
        if not len(at) or halvings == MAX_HALVINGS:
            break
        middle = assembled(model, model.system.integrate(q[start[at]], 0.5 * v[at]))
        new, own = solved_paths(model, middle, near), len(q) + np.arange(len(at))
        q, length = np.concatenate([q, middle]), np.concatenate([length, new.length[:, muscles]])
        J = np.concatenate([J, new.jacobian[:, muscles]])
        steps = np.concatenate([[start[at], own], [own, end[at]]], axis=1)
        number, before = np.tile(number[at], 2), np.tile(errors[at], (2, 1))
    np.logical_or.at(found, number, errors > STEP_JUMP_M)
    return found
