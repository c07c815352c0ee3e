"""From markers to poses: the time of a frame of a walk with 37 velocities and 41 markers, and the memory of 100,000.

The person of `benchmarks.own.systems` with hinges at ankles, toes, wrists and hands, walks at 100 frames per second;
markers have 1 mm of noise. `MYOQUAT_GAIT` names a folder with the setups of OpenSim's gait example. They are its
ScaleTool's, InverseKinematicsTool's and InverseDynamicsTool's, each in a folder of its own. `myoquat run` of all three
runs in one new process that finds its kernels compiled.
"""

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from benchmarks.measure import Route, alternate, rows
from benchmarks.own.systems import person
from myoquat.analysis.motion import inverse_kinematics
from myoquat.core import Array
from myoquat.data import Markers
from myoquat.joints import ArticulatedSystem, Body, RevoluteJoint
from myoquat.muscle import Model
from myoquat.muscle.coordinates import Marker

FRAMES, CALLS, MANY, RATE, NOISE = 1000, 100, 100_000, 100.0, 1e-3
MARKERS = {"pelvis": 4, "trunk": 5, "thigh": 3, "shank": 3, "sole": 3, "toes": 1, "arm": 2, "radius": 2, "hand": 2}
CHAIN = """
import time
begin = time.perf_counter()
from myoquat.apps.opensim_tools import run_setup
import sys
for path in sys.argv[1:]:
    run_setup(path, anywhere=True)
print(time.perf_counter() - begin)
"""


def walker() -> Model:
    """37 velocities, 41 markers."""
    base = person()
    extra, light = [], {"mass": 0.1, "inertia": (1e-4, 1e-4, 1e-4, 0.0, 0.0, 0.0)}
    for side in "lr":
        for parent, axis, name, at in (
            ("foot", (1.0, 0.0, 0.0), "sole", (0.0, 0.0, -0.04)), ("sole", (0.0, 1.0, 0.0), "toes", (0.15, 0.0, 0.0)),
            ("forearm", (0.0, 0.0, 1.0), "radius", (0.0, 0.0, 0.0)),
            ("radius", (0.0, 1.0, 0.0), "wrist", (0.0, 0.0, -0.25)),
            ("wrist", (1.0, 0.0, 0.0), "hand", (0.0, 0.0, 0.0)),
        ):  # fmt: skip
            joint = RevoluteJoint(axis=axis)
            extra.append(Body(f"{name}_{side}", f"{parent}_{side}", joint, at, **light))
    rng = np.random.default_rng(0)
    system = ArticulatedSystem((*base.bodies, *extra), name="walker")
    markers = [
        Marker(f"{body}{k}", body, tuple(rng.uniform(-0.12, 0.12, 3)))
        for body in system.body_names
        for k in range(MARKERS.get(body.partition("_")[0], 0))
    ]
    return Model(system, name="walker", markers=tuple(markers))


def walk(model: Model, frames: int) -> Markers:
    """Velocities are sums of waves, small about hinges; markers with noise."""
    rng, system = np.random.default_rng(1), model.system
    time_ = np.arange(frames) / RATE
    waves, phases = rng.normal(size=(2, system.nu)), rng.uniform(0, 6, (2, system.nu))
    u = sum(waves[k] * np.cos(2 * np.pi * (k + 1) * time_[:, None] + phases[k]) for k in range(2))
    q = np.empty((frames, system.nq))
    q[0] = model.start
    for k in range(1, frames):
        q[k] = system.integrate(q[k - 1], u[k] / RATE)
    poses = system.poses(q)
    x = np.stack([poses[m.body][1] + poses[m.body][0] @ np.array(m.position) for m in model.markers], axis=1)
    return Markers(time_, tuple(m.name for m in model.markers), x + NOISE * rng.normal(size=x.shape))


def run() -> list[dict[str, Any]]:
    """Rows of one frame, of a batch on one core, of memory, and of the tools."""
    return [*_frames(), *_memory(), *_tools()]


def _frames() -> list[dict[str, Any]]:
    model = walker()
    trial = walk(model, FRAMES)
    fit = inverse_kinematics(model, trial)
    ones = [
        replace(trial, time=trial.time[k : k + 1], positions=trial.positions[k : k + 1]) for k in range(1, CALLS + 1)
    ]
    routes = {
        f"batch of {FRAMES}": Route(lambda: inverse_kinematics(model, trial), FRAMES),
        "each from the one before": Route(lambda: inverse_kinematics(model, trial, method="sequential"), FRAMES),
        "a call for each, from the one before": Route(lambda: _stream(model, ones, fit.q[:1]), CALLS),
    }
    with mock.patch.dict(os.environ, {"MYOQUAT_THREADS": "1"}):
        times = alternate(routes)
    size = f"{model.system.nu} velocities, {len(model.markers)} markers"
    return rows(f"inverse kinematics, {size}, per frame on one core", times, f"batch of {FRAMES}", "us")


def _stream(model: Model, frames: list[Markers], q: Array) -> None:
    """Frames that come one by one: a call for each, from the pose of the one before."""
    for frame in frames:
        q = inverse_kinematics(model, frame, start=q).q


def _memory() -> list[dict[str, Any]]:
    """The peak of a process of its own that fits 100,000 frames."""
    found = subprocess.run([sys.executable, "-m", __name__], check=True, capture_output=True, text=True).stdout
    work = f"inverse kinematics of {MANY} frames, {len(walker().markers)} markers: peak memory of the process"
    return [{"work": work, "route": "myoquat", "median": float(found.split()[-1]), "unit": "GB"}]


def _fit_many() -> None:
    """Fit a walk that goes back and forth, and tell the peak of memory [GB]."""
    model = walker()
    short = walk(model, FRAMES).positions
    there_and_back = np.concatenate([short, short[::-1]])
    positions = np.tile(there_and_back, (MANY // len(there_and_back), 1, 1))
    trial = Markers(np.arange(len(positions)) / RATE, tuple(m.name for m in model.markers), positions)
    assert inverse_kinematics(model, trial).converged.all()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)  # kB on Linux


def _tools() -> list[dict[str, Any]]:
    """Seconds of `myoquat run` of the gait example's setups, the first of which fills the cache."""
    folder = os.environ.get("MYOQUAT_GAIT")
    if not folder:
        return [{"work": "MYOQUAT_GAIT names no folder of setups", "route": "none"}]
    names = ("Scale", "InverseKinematics", "InverseDynamics")
    with tempfile.TemporaryDirectory() as place:
        shutil.copytree(folder, place, dirs_exist_ok=True)
        setups = [str(next(Path(place).rglob(f"*_Setup_{name}.xml"))) for name in names]
        command = [sys.executable, "-W", "ignore", "-c", CHAIN, *setups]
        times = [float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])
                 for _ in range(4)]  # fmt: skip
    work = "scaling, inverse kinematics and inverse dynamics of OpenSim's gait example, a new process"
    return [{"work": work, "route": "kernels compiled before", "median": statistics.median(times[1:]), "unit": "s"},
            {"work": work, "route": "the first time", "median": times[0], "unit": "s"}]  # fmt: skip


if __name__ == "__main__":
    _fit_many()
