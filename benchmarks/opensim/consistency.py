"""Are moment arms the slopes of lengths?

The error |dl/du - J| is evaluated at 100,000 random poses of every model, in the coordinates of its file and in
quaternions. OpenSim's own inconsistency stands beside it. Poses lie within the ranges of the coordinates. Couplers
drive their dependent coordinates. Slopes are central differences of order 4 with steps of 1e-3 rad or m along each
velocity. They may miss by more than 1e-9, for example where a path lifts off a surface or a point comes in between.
Then they are taken again with steps down to 1e-7, and the best ones count. Muscles are left out, and counted:

- at poses within 1e-6 of a jump of their length
- where a path may not be the shortest (`path_flags`)
- where it lifts off within the smallest step

OpenSim gets the wide steps alone; there poses within 1e-2 of a jump are left out. `MYOQUAT_OPENSIM_MODELS` names a
folder of .osim files; without it the small one of the tests is taken.
"""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.opensim.osim import in_opensim, loaded, model_files, random_poses
from myoquat.joints import convert_coordinates
from myoquat.muscle import Model, PathFlag, path_flags, path_jacobian, path_lengths

POSES, OPENSIM_POSES = 100_000, 100
POSES_PER_BLOCK = 5_000
WIDE, FINER, ENOUGH = 1e-3, (1e-5, 1e-6, 1e-7), 1e-9
TARGET_DIFFERENCE = 1e-8
NEAR, NEAR_WIDE = 1e-6, 1e-2


def run() -> list[dict[str, Any]]:
    """Rows of worst and typical errors."""
    return [row for file in model_files() for row in _rows(file)]


def _rows(file: Path) -> list[dict[str, Any]]:
    model = loaded(file)
    q = random_poses(model, np.random.default_rng(0), POSES)
    ball = model.with_rotations("quaternion")
    work = f"{file.stem}: |dl/du - J| [m] at {POSES} poses"
    rows = [{"work": work, "route": "myoquat, coordinates of the file"} | _errors(model, q)]
    if ball.system != model.system:
        there = convert_coordinates(model.system, ball.system, q)
        rows.append({"work": work, "route": "myoquat, quaternions"} | _errors(ball, there))
    theirs = in_opensim("differences.py", file, {"q": q[:OPENSIM_POSES], "step": np.array(WIDE)})
    misses = np.abs(theirs["arms"] - theirs["slopes"])[..., theirs["plain"]].max(axis=-1)
    known = [model.muscle_names.index(name) for name in theirs["muscles"]]
    left = _left_out(model, q[:OPENSIM_POSES], NEAR_WIDE)[:, known]
    rows.append({"work": work, "route": f"OpenSim, {OPENSIM_POSES} poses"} | _summary(misses, left))
    return rows


def _errors(model: Model, q: np.ndarray) -> dict[str, float]:
    parts = [misses(model, q[i : i + POSES_PER_BLOCK]) for i in range(0, len(q), POSES_PER_BLOCK)]
    misses, left = (np.concatenate(column) for column in zip(*parts, strict=True))
    return _summary(misses, left)


def misses(model: Model, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(poses, muscles) the worst miss over the velocities, and whether it is left out."""
    J = path_jacobian(model, q)
    worst, left = np.zeros(J.shape[:-1]), _left_out(model, q, NEAR)
    for k in range(model.system.nu):
        miss = np.abs(_slopes(model, q, k, WIDE) - J[..., k])
        again = (miss > ENOUGH).any(axis=-1)
        for h in FINER if again.any() else ():
            miss[again] = np.minimum(miss[again], np.abs(_slopes(model, q[again], k, h) - J[again][..., k]))
        worst = np.maximum(worst, miss)
        far = (miss > TARGET_DIFFERENCE).any(axis=-1)
        if far.any():
            left[far] |= (miss[far] > TARGET_DIFFERENCE) & _lifts_off(model, q[far], k)
    return worst, left


def _lifts_off(model: Model, q: np.ndarray, k: int) -> np.ndarray:
    """(poses, muscles) whether a path touches a surface at one end of the smallest step along u_k, not at the other."""
    ends = (model.system.integrate(q, step * FINER[-1] * np.eye(model.system.nu)[k]) for step in (-2, 2))
    before, after = (path_flags(model, end, NEAR) & PathFlag.WRAPPED for end in ends)
    return before != after


def _left_out(model: Model, q: np.ndarray, near: float) -> np.ndarray:
    """(poses, muscles) whether a length jumps nearby, or may not be the shortest."""
    return (path_flags(model, q, near) & (PathFlag.JUMP | PathFlag.UNSOLVED)) > 0


def _slopes(model: Model, q: np.ndarray, k: int, h: float) -> np.ndarray:
    """(poses, muscles) dl/du_k by differences of order 4."""
    direction = np.eye(model.system.nu)[k]
    a, b, c, d = (path_lengths(model, model.system.integrate(q, step * h * direction)) for step in (-2, -1, 1, 2))
    return (a - 8 * b + 8 * c - d) / (12 * h)


def _summary(misses: np.ndarray, left: np.ndarray) -> dict[str, float]:
    kept = misses[~left]
    median, high = np.quantile(kept, (0.5, 0.99))
    found = {"worst": kept.max(), "middle": median, "99 %": high, "share above 1e-8": np.mean(kept > TARGET_DIFFERENCE)}
    return {name: float(value) for name, value in found.items()} | {"left out": int(np.sum(left))}
