"""The first second: importing kernels, and building and compiling a model's formulas, each in fresh processes."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from typing import Any

_IMPORT = """
import time, json
import casadi, llvmlite.binding, numpy
start = time.perf_counter()
from myoquat import kernels
print(json.dumps({"import kernels, after numpy, casadi and llvmlite": time.perf_counter() - start}))
"""
_BUILD = """
import time, json
import numpy as np
from myoquat import kernels
from myoquat.data import load_model
from myoquat.muscle.segments.lengths import velocity_jacobian
from myoquat.muscle.segments.lengths import lengths
start = time.perf_counter()
model = load_model("two_link")
loaded = time.perf_counter()
both = lambda q: (lengths(model.system, model.paths, q), velocity_jacobian(model.system, model.paths, q))
kernel = kernels.compile(both, {"q": 8}, ["lengths", "jacobian"])
kernel(model.system.random(8, np.random.default_rng(0)))
ready = time.perf_counter()
where = "from the cache" if kernel.source == "cache" else "built and compiled"
print(json.dumps({"two_link file": loaded - start, "two_link lengths and Jacobian " + where: ready - loaded}))
"""
TARGET_SECONDS = {
    "import kernels, after numpy, casadi and llvmlite": 0.1,
    "two_link lengths and Jacobian built and compiled": 0.3,
    "two_link lengths and Jacobian from the cache": 0.1,
}


def run(repeats: int = 7) -> list[dict[str, Any]]:
    """Rows in seconds: median and quartiles over fresh processes, and what was asked of them."""
    times: dict[str, list[float]] = {}
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o700)
            for script in (_IMPORT, _BUILD, _BUILD):
                for name, seconds in _seconds(script, folder).items():
                    times.setdefault(name, []).append(seconds)
    return [_row(name, values) for name, values in times.items()]


def _seconds(script: str, cache: str) -> dict[str, float]:
    """What a fresh process measured."""
    environment = {**os.environ, "MYOQUAT_CACHE": cache}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def _row(name: str, values: list[float]) -> dict[str, Any]:
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    asked = {"asked": TARGET_SECONDS[name]} if name in TARGET_SECONDS else {}
    return {"work": "fresh processes, s", "what": name, "median": median, "low": low, "high": high, **asked}
