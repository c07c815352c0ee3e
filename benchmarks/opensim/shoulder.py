"""The thoracoscapular shoulder: lengths and moment arms, and a second of motion with its constraint beside OpenSim.

`MYOQUAT_SHOULDER` names a folder with TSM_subject_noWeight.osim, the model of A. Seth, M. Dong, R. Matias, S. Delp,
Front. Neurorobot. 13, 90 (2019). It has 33 muscles, 17 coordinates, and a point of the clavicle held to the scapula.
The motion starts at rest in the file's pose. Activations and actuators hold it (static optimization), and excitations
are a little above them. Both programs start from the same state and integrate with error control. Wraps around
ellipsoids differ, and so do the motions. Each program's error is therefore that against its own run at a much tighter
tolerance, dop853's for both of our methods. Seconds are of the processor, one thread. Violation, and energy less the
work that was done, over the greatest kinetic energy, are those of the run at the tightest tolerance.
"""

import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.integrate import cumulative_simpson

from benchmarks.opensim.osim import both_kernel, in_opensim, seconds_per_pose
from myoquat.analysis.recruitment import static_optimization
from myoquat.data import load_model
from myoquat.dynamics import inverse_dynamics, potential_energy, simulate
from myoquat.dynamics.constraints import assemble
from myoquat.muscle import Model
from myoquat.muscle.actuators import CoordinateActuator

DURATION, REPEATS = 1.0, 3
OURS = {"dop853": (1e-3, 1e-4, 1e-5, 1e-6), "radau": (3e-4, 1e-4, 1e-5, 1e-6)}  # explicit and implicit
TIGHT, OUTPUT = 1e-10, 2.5e-4
THEIRS = (1e-3, 1e-4, 1e-5)  # the last one is the measure of the others
TRUNK_RESERVE = 1000.0  # reserve of the trunk [N, N m]
SPREAD, POSES = 0.2, 8192  # of the poses around the start [rad, m], and their number


def run() -> list[dict[str, Any]]:
    """Rows of time per pose, and of time and error of the motion."""
    folder = os.environ.get("MYOQUAT_SHOULDER")
    if not folder:
        return [{"work": "MYOQUAT_SHOULDER names no folder with the model", "route": "none"}]
    file = Path(folder) / "TSM_subject_noWeight.osim"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = load_model(file)
    start = assemble(model, model.start)
    return [_poses(model, start), *_motions(model, file, _given(model, start))]


def _poses(model: Model, start: np.ndarray) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    q = assemble(model, start + rng.uniform(-SPREAD, SPREAD, (POSES, len(start))))
    kernel = both_kernel(model)
    kernel(q)
    return {
        "work": f"{len(model.muscles)} lengths and moment arms, {POSES} poses",
        "route": "myoquat, two threads",
        "median": seconds_per_pose(kernel, q) * 1e6,
        "unit": "us",
    }


def _given(model: Model, q: np.ndarray) -> dict[str, Any]:
    """Start, activations and excitations, and controls of the actuators."""
    rest = np.zeros(model.system.nu)
    trunk = {name: TRUNK_RESERVE for name in model.system.velocity_names if "thorax" in name}
    held = static_optimization(model, q, rest, inverse_dynamics(model, q, rest, rest), reserves=trunk)
    reserve = dict(zip(held.velocities, held.reserve.tolist(), strict=True))
    actuators = [a for a in model.actuators if isinstance(a, CoordinateActuator)]
    a = np.maximum(held.activation, 0.01)
    return {
        "q0": q,
        "activation": a,
        "excitation": np.minimum(a + np.random.default_rng(0).uniform(0, 0.05, len(a)), 1.0),
        "controls": np.array([reserve.get(f"{a.coordinate}_dot", 0.0) / a.optimal_force for a in actuators]),
    }


def _motions(model: Model, file: Path, given: dict[str, Any]) -> list[dict[str, Any]]:
    tight = simulate(model, duration=DURATION, rtol=TIGHT, output_step=OUTPUT, **given)
    violation = max(np.abs(c.position(model.system, tight.q, 0.0)).max() for c in model.constraints)
    found = []
    for method, tolerances in OURS.items():
        for rtol in tolerances:
            seconds, way = _timed(model, {"method": method, "rtol": rtol, **given})
            found.append((f"myoquat, {method}, rtol {rtol:g}", seconds, float(np.abs(_end(tight) - _end(way)).max())))
    theirs = in_opensim("manager.py", file, {
        "q": tight.q[0], "u": tight.u[0], "fibers": tight.muscle_states[0], "duration": np.array(DURATION),
        "tolerances": np.array(THEIRS), "elastic": np.array([bool(m.law and m.law.states) for m in model.muscles]),
        "activation": given["activation"], "excitation": given["excitation"], "controls": given["controls"],
        "repeats": np.array(1),
    })  # fmt: skip
    for accuracy, seconds, state in zip(THEIRS[:-1], theirs["seconds"], theirs["states"], strict=False):
        error = float(np.abs(state - theirs["states"][-1]).max())
        found.append((f"OpenSim's Manager, accuracy {accuracy:g}", float(seconds), error))
    last, slowest = found[-1][:2]
    work = f"{DURATION:g} s of motion, {len(model.muscles)} muscles, AC joint held"
    common = {"work": work, "against": last, "unit": "s"}
    rows = [common | {"route": r, "ratio": slowest / s, "median": s, "error": e} for r, s, e in found]
    rows[0] |= {"violation": float(violation), "power balance": _balance(tight)}
    return rows


def _timed(model: Model, options: dict[str, Any]) -> tuple[float, Any]:
    """Seconds of the fastest run after the first, which compiles; and the motion."""
    times: list[float] = []
    for _ in range(REPEATS + 1):
        began = time.process_time()
        way = simulate(model, duration=DURATION, output_step=DURATION, **options)
        times.append(time.process_time() - began)
    return min(times[1:]), way


def _balance(way: Any) -> float:
    """Spurious energy, relative to the greatest kinetic energy."""
    work = cumulative_simpson(np.sum(way.torques * way.u, axis=-1), x=way.time, initial=0.0)
    energy = way.kinetic_energy + potential_energy(way.model, way.q)  # the work of `torques` holds all other parts
    gained = energy - energy[0] - work
    return float(np.abs(gained[::2]).max() / way.kinetic_energy.max())


def _end(way: Any) -> np.ndarray:
    """q, activations and fiber lengths at the end."""
    return np.concatenate([way.q, way.activation, way.muscle_states], axis=-1)[-1]
