"""Paths of real models over their whole ranges: time, what no solver settles, slopes, and jumps without a flag.

`MYOQUAT_SHOULDER` names the folder of MOBL_ARMS_41.osim and TSM_subject_noWeight.osim, `MYOQUAT_OPENSIM_MODELS` that of
Rajagopal2016.osim. Poses are random within the ranges of the coordinates, couplers followed. Microseconds per pose are
of the processor, one thread: of each block of poses the least of several calls. Poses of a motion are alike, so that no
lane waits for others. Slopes of lengths are taken along one random direction for each pose. Where a spline of the
kinematics has a kink beside the pose, only the differences on one side are right. The error is therefore the least of
three. Sweeps go through the range of every free coordinate in 1,000 steps. A jump counts as flagged where a flag but
WRAPPED stands on either side of it, 1e-9 of a step apart.
"""

import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.opensim.osim import both_kernel, loaded, random_poses
from benchmarks.wrapping.jumps import jumps
from myoquat.muscle import Model, PathFlag, path_flags, path_lengths
from myoquat.muscle.coordinates import follow

FILES = {
    "MOBL_ARMS_41": "MYOQUAT_SHOULDER",
    "TSM_subject_noWeight": "MYOQUAT_SHOULDER",
    "Rajagopal2016": "MYOQUAT_OPENSIM_MODELS",
}
TIMED, BLOCK, CALLS = 4000, 400, 8
FLAGGED, SLOPES, APART = 40_000, 20_000, 1e-5  # poses; and between two lengths of a slope
STEPS, BASES = 1000, 8  # of a sweep; and random poses from which coordinates are swept
CENTRAL = {-2: 1 / 12, -1: -2 / 3, 1: 2 / 3, 2: -1 / 12}  # weights of lengths, fourth order
FORWARD = {0: -25 / 12, 1: 4.0, 2: -3.0, 3: 4 / 3, 4: -1 / 4}
BACKWARD = {-place: -weight for place, weight in FORWARD.items()}


def run() -> list[dict[str, Any]]:
    """Rows of every model that is found."""
    return [row for stem, variable in FILES.items() for row in _rows(stem, variable)]


def _rows(stem: str, variable: str) -> list[dict[str, Any]]:
    file = Path(os.environ.get(variable, "")) / f"{stem}.osim"
    if not file.is_file():
        return [{"work": f"{variable} names no folder with {file.name}", "route": "none"}]
    model, rng = loaded(file), np.random.default_rng(0)
    q = random_poses(model, rng, FLAGGED)
    work = f"{stem}: lengths and moment arms of {len(model.muscles)} muscles, one thread"
    motion = q[0] + np.linspace(0.0, 1.0, TIMED)[:, None] * (q[1] - q[0])
    follow(model.couplers, model.system, motion)
    poses = {"random poses": q[:TIMED], "poses of a motion between two of them": motion}
    timed = [
        {"work": work, "route": route, "median": _per_pose(model, x) * 1e6, "unit": "us"} for route, x in poses.items()
    ]
    sweeps = {"start": np.array(model.start_q)[None], f"{BASES} random poses": q[:BASES]}
    return [*timed, _known(model, stem, q, rng), *(_swept(model, stem, *begin) for begin in sweeps.items())]


def _per_pose(model: Model, q: np.ndarray) -> float:
    """Seconds of the processor."""
    kernel = both_kernel(model)
    out = kernel(q[:BLOCK])
    blocks = [[_seconds(kernel, q[i : i + BLOCK], out) for i in range(0, len(q), BLOCK)] for _ in range(CALLS)]
    return float(np.min(blocks, axis=0).sum() / len(q))


def _seconds(kernel: Any, q: np.ndarray, out: Any) -> float:
    begin = time.process_time()
    kernel(q, out=out, threads=1)
    return time.process_time() - begin


def _known(model: Model, stem: str, q: np.ndarray, rng: np.random.Generator) -> dict[str, Any]:
    """What is flagged at random poses, and the worst slope where nothing is."""
    bits = path_flags(model, q)
    shares = {bit.name.lower(): float(np.mean(bits & bit != 0)) for bit in PathFlag if bit != PathFlag.WRAPPED}
    error = _slope_errors(model, q[:SLOPES], rng)
    clear = bits[:SLOPES] & ~int(PathFlag.WRAPPED) == 0
    return {
        "work": f"{stem}: {len(q)} random poses, shares of the pairs of pose and muscle",
        "route": "flags",
        **shares,
        "NaN": int(np.isnan(path_lengths(model, q)).sum()),
        "slope, m": float(error[clear].max()),
    }


def _slope_errors(model: Model, q: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(N, m) [m] how far slopes of lengths are from moment arms, along a random direction, one for each pose."""
    driven = {coupler.dependent for coupler in model.couplers}
    direction = rng.normal(size=q.shape) * [name not in driven for name in model.system.coordinate_names]
    offsets = sorted({*CENTRAL, *FORWARD, *BACKWARD})
    moved = {place: q + place * APART * direction for place in offsets}
    for x in moved.values():
        follow(model.couplers, model.system, x)
    lengths = {place: path_lengths(model, x) for place, x in moved.items()}
    J = both_kernel(model)(q)[1]

    def error(weights: dict[int, float]) -> np.ndarray:
        slope, u = (sum(w * x[place] for place, w in weights.items()) / APART for x in (lengths, moved))
        return np.abs(slope - np.einsum("nij,nj->ni", J, u))

    return np.minimum.reduce([error(weights) for weights in (CENTRAL, FORWARD, BACKWARD)])


def _swept(model: Model, stem: str, begin: str, bases: np.ndarray) -> dict[str, Any]:
    """Jumps along every free coordinate from each of some poses."""
    names, driven = model.system.coordinate_names, {coupler.dependent for coupler in model.couplers}
    free = [c for c in model.coordinates if c.name not in driven and c.range and c.range[0] < c.range[1]]
    lines = [(base, names.index(c.name), c.range) for c in free for base in bases]

    def poses(line: np.ndarray, share: np.ndarray) -> np.ndarray:
        q = np.array([lines[i][0] for i in line])
        low, high = np.array([lines[i][2] for i in line]).T
        q[np.arange(len(q)), [lines[i][1] for i in line]] = low + share * (high - low)
        follow(model.couplers, model.system, q)
        return q

    found = jumps(lambda *at: path_lengths(model, poses(*at)), len(lines), STEPS)
    sides = [path_flags(model, poses(found.line, x)) for x in (found.before, found.after)] if len(found.line) else []
    flagged = np.zeros(len(found.line), dtype=bool)
    for bits in sides:
        flagged |= bits[np.arange(len(flagged)), found.column] & ~int(PathFlag.WRAPPED) != 0
    at = found.column[~flagged], found.line[~flagged]
    whose = {(model.muscles[c].name, names[lines[i][1]]) for c, i in zip(*at, strict=True)}
    return {
        "work": f"{stem}: sweeps of {len(free)} coordinates, {STEPS} steps each",
        "route": f"from {begin}",
        "jumps": len(flagged),
        "not flagged": int(np.sum(~flagged)),
        "whose": ", ".join(f"{muscle} along {name}" for muscle, name in sorted(whose)) or "none",
    }
