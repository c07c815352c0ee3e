"""The wait before the first number of real models, each in new processes, beside OpenSim doing the same.

MYOQUAT_OPENSIM_MODELS names a folder of .osim files; without it the small model of the tests is taken. What is timed is
a whole script, imports included: with an empty cache of kernels, then with what the run before left in it.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.opensim.osim import model_files

__all__ = ["run"]

_LOADED = """
import json, sys, time, warnings
began = time.perf_counter()
warnings.simplefilter("ignore")
import numpy as np
from myoquat.data import load_model
model = load_model(sys.argv[1])
q = np.array(model.start)
"""
_SIMULATED = """
from myoquat.dynamics import simulate
m = len(model.muscles)
held = {"project_start": True} if model.constraints else {}
motion = simulate(model, duration=0.02, step=2e-4, activation=np.full(m, 0.05), excitation=np.full(m, 0.1), **held)
"""
_DONE = """
print(json.dumps(time.perf_counter() - began))
"""
_WORK = {
    "lengths and moment arms": f"""{_LOADED}
from myoquat.muscle import path_jacobian, path_lengths
path_lengths(model, q), path_jacobian(model, q)
{_DONE}""",
    "simulate 0.02 s": f"{_LOADED}{_SIMULATED}{_DONE}",
    "static optimization of a pose": f"""{_LOADED}
from myoquat.analysis.muscles import static_optimization
static_optimization(model, q, np.zeros(model.system.nu), np.zeros(model.system.nu), reserves=1000.0)
{_DONE}""",
}
_OPENSIM = {
    "lengths and moment arms": """
import json, sys, time
began = time.perf_counter()
import opensim
opensim.Logger.setLevelString("off")
model = opensim.Model(sys.argv[1])
state = model.initSystem()
muscles, coordinates = model.getMuscles(), model.getCoordinateSet()
for i in range(muscles.getSize()):
    muscles.get(i).getLength(state)
    for k in range(coordinates.getSize()):
        muscles.get(i).computeMomentArm(state, coordinates.get(k))
print(json.dumps(time.perf_counter() - began))
""",
    "simulate 0.02 s": """
import json, sys, time
began = time.perf_counter()
import opensim
opensim.Logger.setLevelString("off")
model = opensim.Model(sys.argv[1])
state = model.initSystem()
model.equilibrateMuscles(state)
manager = opensim.Manager(model)
manager.initialize(state)
manager.integrate(0.02)
print(json.dumps(time.perf_counter() - began))
""",
}
_MANY = """
import json, sys, time
from dataclasses import replace
import numpy as np
from myoquat.data import load_model
from myoquat.muscle import Muscle, PathPoint, path_jacobian, path_lengths
model, rng = load_model("two_link"), np.random.default_rng(0)
paths = [[PathPoint(body, tuple(rng.normal(size=3))) for body in ("ground", "A", "B")] for _ in range(int(sys.argv[1]))]
model = replace(model, muscles=tuple(Muscle(f"m{k}", tuple(path)) for k, path in enumerate(paths)))
q = np.array(model.start_q)
began = time.perf_counter()
path_lengths(model, q), path_jacobian(model, q)
print(json.dumps(time.perf_counter() - began))
"""
COUNTS = (10, 100, 1_000, 10_000)  # of muscles of one kind
_IMPORTS = ("import myoquat", "from myoquat.dynamics import simulate")
_IMPORTS += ("from myoquat.analysis.muscles import static_optimization",)


def run(repeats: int = 3) -> list[dict[str, Any]]:
    """Rows in seconds: medians over new processes."""
    rows = [
        {"work": "imports, s", "what": code, "median": statistics.median(_import(code) for _ in range(repeats + 2))}
        for code in _IMPORTS
    ]
    rows += [_row(path, what, script, repeats) for path in model_files() for what, script in _WORK.items()]
    return rows + [_many(count, repeats) for count in COUNTS]


def _row(path: Path, what: str, script: str, repeats: int) -> dict[str, Any]:
    cold, cached = [], []
    row: dict[str, Any] = {"work": "first results in new processes, s", "model": path.stem, "what": what}
    try:
        for _ in range(repeats):
            with tempfile.TemporaryDirectory() as folder:
                cold.append(_seconds(script, path, folder))
                cached.append(_seconds(script, path, folder))
    except subprocess.CalledProcessError as error:  # such as a start at which angles are at their lock
        return row | {"why": error.stderr.strip().splitlines()[-1]}
    row |= {"cold": statistics.median(cold), "from the cache": statistics.median(cached)}
    if what in _OPENSIM:
        row["OpenSim"] = statistics.median(_seconds(_OPENSIM[what], path, "off") for _ in range(repeats))
    return row


def _many(count: int, repeats: int) -> dict[str, Any]:
    """Lengths and moment arms of so many muscles of one kind, the model read: seconds, and bytes of code and tables."""
    seconds, sizes = [], []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            seconds.append(_seconds(_MANY, Path(str(count)), folder))
            sizes.append(sum(file.stat().st_size for file in Path(folder).iterdir()))
    row = {"work": "muscles of one kind, first lengths and moment arms", "muscles": count}
    return row | {"cold, s": statistics.median(seconds), "code and tables, kB": statistics.median(sizes) / 1e3}


def _import(code: str) -> float:
    timed = f"import time\nbegan = time.perf_counter()\n{code}\nprint(time.perf_counter() - began)"
    return _seconds(timed, Path(), "off")


def _seconds(script: str, path: Path, cache: str) -> float:
    """What a new process measured."""
    environment = {**os.environ, "MYOQUAT_CACHE": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # with it, every process compiles all modules anew
    command = [sys.executable, "-c", script, str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout.splitlines()[-1]))
