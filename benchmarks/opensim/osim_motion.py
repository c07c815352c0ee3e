"""Model files in motion, in OpenSim and here: 0.2 s of excited muscles, every state at the end, and the time it takes.

`MYOQUAT_OPENSIM_MODELS` names a folder of .osim files; those of which something is not read are left out, as are
couplers, which only OpenSim obeys. OpenSim's Manager integrates with its default method; ours are DOP853 with a like
tolerance, and RK4 for one state and for 64 side by side. Errors are against DOP853 at 1e-11: of OpenSim's too, so that
its error is the difference between the two programs. The start is between the file's and the middle of the ranges.
Outside a range OpenSim's moment arms of moving points are not those of its lengths.
"""

import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from myoquat.data import load_model
from myoquat.data.reports import UnsupportedWarning
from myoquat.dynamics import simulate
from myoquat.muscle import Model

DURATION, STEP, SIDE_BY_SIDE = 0.2, 2e-4, 64
MIDWAY, WIDE = 0.5, 4.5  # of the way; ranges [rad, m] wider than that are no limits of a joint
TOLERANCES = (1e-4, 1e-6, 1e-8)


def run() -> list[dict[str, Any]]:
    """Rows of error and time for every model that can be compared."""
    folder = os.environ.get("MYOQUAT_OPENSIM_MODELS")
    if not folder:
        return [{"work": "MYOQUAT_OPENSIM_MODELS names no folder of models", "route": "none"}]
    return [row for file in sorted(Path(folder).glob("*.osim")) for row in _rows(file)]


def _rows(file: Path) -> list[dict[str, Any]]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnsupportedWarning)
        try:
            model = load_model(file)
        except UnsupportedWarning as reason:
            return [{"work": f"{file.stem}: left out", "route": str(reason)[:60]}]
    if model.couplers:
        return [{"work": f"{file.stem}: left out", "route": "couplers"}]
    excitation = np.random.default_rng(0).uniform(0.02, 0.3, len(model.muscles))
    start = np.array(model.start_q)
    low, high = np.array([c.range for c in model.coordinates]).T
    q = np.where(high - low < WIDE, start + MIDWAY * ((low + high) / 2 - start), start)
    given: dict[str, Any] = {"q0": q, "excitation": excitation, "activation": np.full(len(model.muscles), 0.05)}
    exact = simulate(model, duration=DURATION, rtol=1e-11, output_step=DURATION, **given)
    theirs = _opensim(file, exact, given)
    assert tuple(theirs["names"]) == model.system.coordinate_names
    work = f"{file.stem}: {DURATION} s of motion, {len(model.muscles)} muscles; 1 state"
    found = [
        (f"OpenSim, accuracy {tolerance:g}", float(seconds), _error(exact, state))
        for tolerance, seconds, state in zip(TOLERANCES, theirs["seconds"], theirs["states"], strict=True)
    ]
    for tolerance in TOLERANCES:
        seconds, way = _timed(
            lambda r=tolerance: simulate(model, duration=DURATION, rtol=r, output_step=DURATION, **given)
        )
        found.append((f"myoquat, DOP853, rtol {tolerance:g}", seconds, _error(exact, _end(way))))
    seconds, way = _timed(lambda: simulate(model, duration=DURATION, step=STEP, output_step=DURATION, **given))
    found.append((f"myoquat, RK4, {STEP:g} s", seconds, _error(exact, _end(way))))
    many = given | {"excitation": np.tile(excitation, (SIDE_BY_SIDE, 1))}
    seconds, way = _timed(lambda: simulate(model, duration=DURATION, step=STEP, output_step=DURATION, **many))
    found.append((f"the same, per state of {SIDE_BY_SIDE}", seconds / SIDE_BY_SIDE, _error(exact, _end(way)[0])))
    slow = f"OpenSim, accuracy {TOLERANCES[1]:g}"
    against = next(seconds for route, seconds, _ in found if route == slow)
    common = {"work": work, "against": slow, "unit": "ms"}
    return [
        common | {"route": route, "ratio": against / seconds, "median": seconds * 1e3, "error": error}
        for route, seconds, error in found
    ]


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """The median of five calls after the first, which compiles."""
    way, times = call(), []
    for _ in range(5):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return float(np.median(times)), way


def _end(way: Any) -> np.ndarray:
    """(..., n) q, activations and fiber lengths at the end."""
    return np.concatenate([way.q, way.activation, way.muscle_states], axis=-1)[..., -1, :]


def _error(exact: Any, state: np.ndarray) -> float:
    return float(np.abs(_end(exact) - state).max())


def _opensim(file: Path, exact: Any, given: dict[str, Any]) -> dict[str, np.ndarray]:
    """OpenSim's states at the end and seconds, in a process of its own, from our start."""
    with tempfile.TemporaryDirectory() as folder:
        start, found = Path(folder) / "start.npz", Path(folder) / "found.npz"
        model: Model = exact.model
        np.savez(
            start, q=exact.q[0], u=exact.u[0], fibers=exact.muscle_states[0], duration=np.array(DURATION),
            tolerances=np.array(TOLERANCES), elastic=np.array([bool(m.law and m.law.states) for m in model.muscles]),
            activation=given["activation"], excitation=given["excitation"],
        )  # fmt: skip
        script = Path(__file__).with_name("manager.py")
        subprocess.run([sys.executable, str(script), str(file), str(start), str(found)], check=True)
        with np.load(found) as results:
            return dict(results)
