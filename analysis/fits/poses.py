"""Poses to fit paths to: the range of motion, and clouds around recorded motions."""

from collections.abc import Mapping, Sequence

import numpy as np

from myoquat.core import Array, ArrayLike, check_types, indices_of, real_array, scipy
from myoquat.dynamics.constraints import assemble, constraints_of
from myoquat.joints.quaternion import quaternion_multiply
from myoquat.muscle import Model

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
    driven = {c.dependent for c in model.couplers}
    known = {*model.system.coordinate_names, *model.system.angle_names}
    return {
        c.name: c.range
        for c in model.coordinates
        if c.range is not None and 0 < c.range[1] - c.range[0] <= MAX_RANGE
        if not c.locked and c.name not in driven and c.name in known
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
