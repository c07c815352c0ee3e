"""Every model of a folder and its folders, a row each.

A row has what is left out of the model. It has the time of reading and compiling, with an empty cache of kernels and
from a full one. It has lengths and moment arms, their consistency, and OpenSim's word.

`MYOQUAT_OPENSIM_MODELS` names the folder; without it the small model of the tests is taken. Files alike are taken once.
Every model is measured in processes of its own; one that fails, or takes more than ten minutes, has a row that says
why.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.opensim.consistency import misses
from benchmarks.opensim.osim import (
    SMALL_LEG,
    agreement,
    both_kernel,
    dynamic_agreement,
    in_opensim,
    random_poses,
    seconds_per_pose,
)
from myoquat.data import load_model
from myoquat.joints import convert_coordinates
from myoquat.muscle import Model, PathFlag, path_flags, path_jacobian, path_lengths

POSES, COMPARED, BATCH = 1000, 20, 20_000
TOLERANCE = 1e-6
TIME_LIMIT_S = 600.0  # s


def run() -> list[dict[str, Any]]:
    """A row per model."""
    return [_row(file) for file in _files()]


def _files() -> Iterator[Path]:
    folder, seen = os.environ.get("MYOQUAT_OPENSIM_MODELS"), set()
    for file in sorted(Path(folder).rglob("*.osim")) if folder else [SMALL_LEG]:
        digest = hashlib.sha256(file.read_bytes()).digest()
        if digest not in seen:
            seen.add(digest)
            yield file


def _row(file: Path) -> dict[str, Any]:
    row = {"work": "models", "model": f"{file.parent.name}/{file.stem}"}
    with tempfile.TemporaryDirectory() as cache:
        cold = _measured(file, "first", cache)
        warm = cold if "why" in cold else _measured(file, "all", cache)
    row |= {"read, s": cold.get("read"), "compile, s": cold.get("compile"), "from the cache, s": warm.get("compile")}
    return row | {key: value for key, value in warm.items() if key not in ("read", "compile")}


def _measured(file: Path, what: str, cache: str) -> dict[str, Any]:
    """What a process of its own says; why it does not."""
    command = [sys.executable, "-m", "benchmarks.opensim.collection", str(file), what]
    environment = {**os.environ, "MYOQUAT_CACHE": cache}
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=TIME_LIMIT_S
        )
    except subprocess.TimeoutExpired:
        return {"why": f"no answer in {TIME_LIMIT_S:g} s"}
    lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines() or [
        f"ended by {done.returncode}"
    ]
    found: dict[str, Any] = json.loads(lines[-1]) if done.returncode == 0 else {"why": lines[-1]}
    return found


# ---- in the process of a model -----------------------------------------------------------------------------


def _measure(file: Path, what: str) -> dict[str, Any]:
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = load_model(file)
    read = time.perf_counter()
    path_lengths(model, model.start), path_jacobian(model, model.start)
    row: dict[str, Any] = {"read": read - began, "compile": time.perf_counter() - read}
    if what == "first":
        return row
    row["left out"] = "; ".join(str(warning.message).rpartition(": ")[2] for warning in caught)
    rng, kernel = np.random.default_rng(0), both_kernel(model)
    q = random_poses(model, rng, POSES)
    row["us per pose"] = seconds_per_pose(kernel, random_poses(model, rng, BATCH)) * 1e6
    row["NaN"] = int(sum(np.isnan(found).any(axis=tuple(range(1, found.ndim))).sum() for found in kernel(q)))
    row |= _consistent(model, q)
    try:
        _beside_opensim(file, model, kernel, q[:COMPARED], rng, row)
    except subprocess.CalledProcessError as error:
        row["OpenSim"] = (error.stderr.strip() or str(error)).splitlines()[-1]
    except (ValueError, AssertionError) as error:
        row["OpenSim"] = f"{type(error).__name__}: {error}".splitlines()[0]
    return row


def _consistent(model: Model, q: np.ndarray) -> dict[str, Any]:
    """The worst |dl/du - J| [m] where lengths do not jump, and the share of paths that may not be the shortest."""
    if not model.muscles:
        return {}
    unsolved = float(np.mean((path_flags(model, q, TOLERANCE) & PathFlag.UNSOLVED) > 0))
    row: dict[str, Any] = {"unsolved": unsolved, "|dl/du - J|": _worst(model, q)}
    ball = model.with_rotations("quaternion")
    if ball.system != model.system:
        row["in quaternions"] = _worst(ball, convert_coordinates(model.system, ball.system, q))
    return row


def _worst(model: Model, q: np.ndarray) -> float:
    missed, left_out = misses(model, q)
    return float(missed[~left_out].max(initial=0.0))


def _beside_opensim(
    file: Path, model: Model, kernel: Any, q: np.ndarray, rng: np.random.Generator, row: dict[str, Any]
) -> None:
    """Add the worst differences to a row; those of the dynamics last, which a singular mass matrix does not have."""
    u, udot = rng.normal(size=(2, *q.shape))
    theirs = in_opensim("reference.py", file, {"q": q, "u": u, "udot": udot})
    row.update({name: float(error) for name, error in agreement(model, kernel, q, theirs).items()})
    row.update(dynamic_agreement(model, q, u, udot, theirs))


if __name__ == "__main__":
    print(json.dumps(_measure(Path(sys.argv[1]), sys.argv[2])))
