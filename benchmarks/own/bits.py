"""No timing: digests of results, bit for bit, to compare two states of the code.

Lengths, Jacobians, a simulation and static optimization of six models at seeded random poses. `MYOQUAT_SHOULDER` names
the folder of MOBL_ARMS_41.osim and TSM_subject_noWeight.osim, `MYOQUAT_OPENSIM_MODELS` that of gait2392.osim and
Rajagopal2016.osim. A structural change leaves every digest as it was. To compare two states on one machine, since the
last bits depend on its instructions and libraries:

    MYOQUAT_BITS_FILE=bits.json python -m benchmarks bits     before the change: the file is made
    MYOQUAT_BITS_FILE=bits.json python -m benchmarks bits     after it: each row says whether its bits are the same
"""

import hashlib
import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import myoquat as mq
from benchmarks.opensim.osim import random_poses
from myoquat.analysis.recruitment import static_optimization
from myoquat.muscle import Model

MODELS = {
    "two_link": "",
    "thoracoscapular": "",
    "gait2392": "MYOQUAT_OPENSIM_MODELS",
    "Rajagopal2016": "MYOQUAT_OPENSIM_MODELS",
    "TSM_subject_noWeight": "MYOQUAT_SHOULDER",
    "MOBL_ARMS_41": "MYOQUAT_SHOULDER",
}
POSES, OPTIMIZED = 500, 20
DURATION, STEP = 0.01, 1e-4  # [s] of the simulation, with activations of 0.1


def run() -> list[dict[str, Any]]:
    """A row per model and quantity; with MYOQUAT_BITS_FILE also how each compares with the digests in that file."""
    rows = [row for name, variable in MODELS.items() for row in _rows(name, variable)]
    if file := os.environ.get("MYOQUAT_BITS_FILE"):
        _compare(rows, Path(file))
    return rows


def _compare(rows: list[dict[str, Any]], file: Path) -> None:
    """Add to each row whether its bits are those in the file, which is written where it is not there."""
    found = {f"{row['work']}, {row['route']}": row["digest"] for row in rows if "digest" in row}
    if not file.exists():
        file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    before = json.loads(file.read_text(encoding="utf-8"))
    for row in rows:
        if "digest" in row:
            known = before.get(f"{row['work']}, {row['route']}")
            row["bits"] = "not in the file" if known is None else "same" if known == row["digest"] else "differ"


def _rows(name: str, variable: str) -> list[dict[str, Any]]:
    file = Path(os.environ.get(variable, "")) / f"{name}.osim"
    if variable and not file.is_file():
        return [{"work": f"{variable} names no folder with {file.name}", "route": "none"}]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = mq.load_model(file if variable else name)
        return [{"work": name, "route": what, "digest": _digest(make, model)} for what, make in QUANTITIES.items()]


def _digest(make: Callable[[Model], Any], model: Model) -> str:
    """Of the bits of an array, or the error in one line."""
    try:
        return hashlib.sha256(np.ascontiguousarray(make(model)).tobytes()).hexdigest()[:32]
    except ValueError as error:
        return str(error).splitlines()[0][:60]


def _poses(model: Model, count: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return random_poses(model, rng, count) if model.coordinates else model.system.random(count, rng)


def _simulated(model: Model) -> np.ndarray:
    activation = np.full(len(model.muscles), 0.1)
    return mq.simulate(model, duration=DURATION, step=STEP, activation=activation, project_start=True).q


def _optimized(model: Model) -> np.ndarray:
    """Activations for a torque of 1 at every velocity, from rest, with strong reserves."""
    q = _poses(model, OPTIMIZED)
    nothing = np.zeros((OPTIMIZED, model.system.nu))
    return static_optimization(model, q, nothing, nothing + 1.0, reserves=100.0).activation


QUANTITIES: dict[str, Callable[[Model], Any]] = {
    "lengths": lambda model: mq.path_lengths(model, _poses(model, POSES)),
    "Jacobian": lambda model: mq.path_jacobian(model, _poses(model, POSES)),
    "simulation": _simulated,
    "static optimization": _optimized,
}
