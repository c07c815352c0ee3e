"""Derivatives of one interval of direct collocation: the midpoint rule between two states of two_link and its muscles.

34 variables (two states of 14, six activations), 14 equations, the Hessian of multipliers times equations. Each is
built in a new process without a cache, then found in it by another one. And the gradient of a whole simulation.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np

import myoquat as mq
from myoquat.dynamics import Inputs, simulation_gradient

_SCRIPT = """
import json, time
import numpy as np
from myoquat import kernels
from myoquat.data import load_model
from myoquat.dynamics import articulated
from myoquat.joints.quaternion import quaternion_exp, quaternion_multiply
from myoquat.muscle import states

model, h = load_model("two_link"), 0.01

def turned(q, u, time):
    balls = [quaternion_multiply(q[..., 4 * i : 4 * i + 4], quaternion_exp(time * u[..., 3 * i : 3 * i + 3]))
             for i in range(2)]
    return np.concatenate(balls, axis=-1)

def equations(z):
    before, after, activation = z[..., :14], z[..., 14:28], z[..., 28:]
    u = (before[..., 8:] + after[..., 8:]) / 2
    q = turned(before[..., :8], u, h / 2)
    udot = articulated.forward(model.system, q, u, states.torques(model, q, u, activation))
    moved = after[..., :8] - turned(before[..., :8], u, h)
    return np.concatenate([moved, after[..., 8:] - before[..., 8:] - h * udot], axis=-1)

rng = np.random.default_rng(0)
z, y_bar = rng.normal(size=(4096, 34)) * 0.1, rng.normal(size=(4096, 14))
z[:, [0, 4, 14, 18]] += 1
made = {"equations": lambda: kernels.compile(equations, {"z": 34}, ["y"], name="interval", content="interval")}
made["Jacobian"] = lambda: found["equations"].jacobian(sparse=True)
made["gradient"] = lambda: found["equations"].vjp()
made["Hessian"] = lambda: found["gradient"].jacobian("z_bar", "z", sparse=True)
found, rows = {}, []
for what, make in made.items():
    began = time.perf_counter()
    found[what] = kernel = make()
    built = time.perf_counter() - began
    given = (z, y_bar)[: len(kernel.inputs)]
    kernel(*given, threads=1)
    times = []
    for _ in range(9):
        began = time.perf_counter()
        kernel(*given, threads=1)
        times.append(time.perf_counter() - began)
    entries = len(kernel.rows) if kernel.patterns else sum(np.prod(shape) for shape in kernel.outputs.values())
    rows.append({"what": what, "numbers": int(entries), "built": built, "us": 1e6 * sorted(times)[4] / len(z)})
print(json.dumps(rows))
"""
TARGET_SECONDS = {"Hessian": 0.5}  # [s] to be built


def run() -> list[dict[str, Any]]:
    """Rows: how many numbers each has, seconds until it is there, and microseconds of one thread per interval."""
    with tempfile.TemporaryDirectory() as folder:
        cold, cached = _rows(folder), _rows(folder)
    return [
        {"work": "one interval of two_link", "what": row["what"], "numbers": row["numbers"], "built, s": row["built"]}
        | {"from the cache, s": again["built"], "us per interval": row["us"]}
        | ({"asked, s": TARGET_SECONDS[row["what"]]} if row["what"] in TARGET_SECONDS else {})
        for row, again in zip(cold, cached, strict=True)
    ] + [_of_simulations()]


def _of_simulations() -> dict[str, Any]:
    """The gradient of 1 s of two_link by 600 activations, against the simulation, in turns."""
    model, activation = mq.load_model("two_link"), np.full((100, 6), 0.3)
    inputs, constant = Inputs(activation), np.full(6, 0.3)
    calls = {
        "gradient": lambda: simulation_gradient(model, inputs=inputs, intervals=100, final=lambda q, u: q[..., 1]),
        "simulation": lambda: mq.simulate(model, activation=constant),
    }
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(10):
        for name, call in calls.items():
            began = time.process_time()
            call()
            seconds[name].append(time.process_time() - began)
    middle = {name: statistics.median(times[1:]) for name, times in seconds.items()}
    ratio = middle["gradient"] / middle["simulation"]
    return {"work": "gradient of 1 s of two_link, 600 activations, over the simulation", "ratio": ratio, "asked": 6.0}


def _rows(cache: str) -> list[dict[str, Any]]:
    """What a new process measured."""
    environment = {**os.environ, "MYOQUAT_CACHE": cache}
    done = subprocess.run([sys.executable, "-c", _SCRIPT], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)
