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
from myoquat.analysis.recruitment import static_optimization
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
_LINKS = """
import json, sys, time
import numpy as np
from myoquat.dynamics import forward_dynamics, simulate
from myoquat.joints import ArticulatedSystem, Body, RevoluteJoint, SphericalJoint
count, joint, shape = sys.argv[1].split(",")
rng = np.random.default_rng(0)
def link(k):
    parent = k - 1 if shape == "chain" else (k - 1) // 2
    hinge = RevoluteJoint(tuple(rng.normal(size=3)))
    return Body(
        f"b{k}", f"b{parent}" if k else "ground", SphericalJoint() if joint == "balls" else hinge,
        position=tuple(rng.uniform(-0.3, 0.3, 3)), mass=rng.uniform(1.0, 2.0),
        center_of_mass=tuple(rng.uniform(-0.2, 0.2, 3)), inertia=(0.1, 0.1, 0.1, 0.0, 0.0, 0.0),
    )
system = ArticulatedSystem(tuple(link(k) for k in range(int(count))))
q, u = system.random(1, rng)[0], np.zeros(system.nu)
began = time.perf_counter()
WORK
print(json.dumps(time.perf_counter() - began))
"""
_LINK_WORK = {
    "forward dynamics": "forward_dynamics(system, q, u, u)",
    "simulate, two steps": "simulate(system, q, u, duration=2e-4, step=1e-4)",
}
COUNTS = (10, 100, 1_000, 10_000)  # of muscles of one type
LINKS = (6, 12, 24, 48, 96, 192, 384)
_IMPORTS = ("import myoquat", "from myoquat.dynamics import simulate")
_IMPORTS += ("from myoquat.analysis.recruitment import static_optimization",)


def run(repeats: int = 3) -> list[dict[str, Any]]:
    """Rows in seconds: medians over new processes."""
    rows = [
        {"work": "imports, s", "what": code, "median": statistics.median(_import(code) for _ in range(repeats + 2))}
        for code in _IMPORTS
    ]
    rows += [_row(path, what, script, repeats) for path in model_files() for what, script in _WORK.items()]
    work = "muscles of one type, first lengths and moment arms"
    rows += [{"work": work, "muscles": count, **_grown(_MANY, str(count), repeats)} for count in COUNTS]
    return rows + [row for joint in ("balls", "hinges") for shape in ("chain", "tree") for row in _links(joint, shape)]


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


def _links(joint: str, shape: str) -> list[dict[str, Any]]:
    """First results of systems of more and more links on joints of one type, once each."""
    return [
        {
            "work": f"links on joints of one type, first {what}", "joints": joint, "shape": shape, "links": count,
            **_grown(_LINKS.replace("WORK", script), f"{count},{joint},{shape}", 1),
        }
        for what, script in _LINK_WORK.items()
        for count in LINKS
    ]  # fmt: skip


def _grown(script: str, argument: str, repeats: int) -> dict[str, Any]:
    """Seconds of a script, nothing compiled before, and bytes of code and tables."""
    seconds, sizes = [], []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            seconds.append(_seconds(script, Path(argument), folder))
            sizes.append(sum(file.stat().st_size for file in Path(folder).iterdir()))
    return {"cold, s": statistics.median(seconds), "code and tables, kB": statistics.median(sizes) / 1e3}


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
