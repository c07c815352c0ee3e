"""MyoSuite's models (package `myo-sim`) beside MuJoCo: agreement, the wait before first results, and steps.

MuJoCo runs as its own `mj_step`; contacts are off in both.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import warnings
from dataclasses import replace
from time import process_time
from typing import Any

import mujoco
import myo_sim
import numpy as np

from myoquat.data import load_model
from myoquat.dynamics import Simulator
from myoquat.joints.quaternion import rotation_matrix
from myoquat.muscle import Model, law_forces, muscle_forces, path_flags, path_jacobian, path_lengths
from myoquat.muscle.laws import PathLimit

NAMES = ("myoelbow", "myofinger", "myohand", "myoarm", "myotorso", "myolegs", "myolegs26", "myofullbody")
STEPPED = ("myofinger", "myohand", "myoarm", "myolegs", "myofullbody")
STATES, REPEATS = 64, 5
STEPS = {"semi_implicit_euler": 400, "rk4": 100}
POSES = int(os.environ.get("MYOQUAT_MYOSUITE_POSES", "1000"))  # 10,000 take minutes in MuJoCo
TOLERANCE = 1e-10
CHUNK = 250  # poses whose Jacobians are in memory together
WRAPPING = "mujoco3" if mujoco.__version__.startswith("3.") else "mujoco"  # the rule of the installed version

_FIRST = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
import myo_sim
engine = myo_sim.load(sys.argv[1])[0]
began = time.perf_counter()
from myoquat.data import load_model
from myoquat.muscle import path_jacobian, path_lengths
model = load_model(engine, wrapping=sys.argv[2])
read = time.perf_counter() - began
path_lengths(model, model.start), path_jacobian(model, model.start)
print(json.dumps([read, time.perf_counter() - began]))
"""


def run() -> list[dict[str, Any]]:
    """Rows of differences, seconds, and microseconds for a step."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = [row for name in NAMES for row in _agreement(name)]
        rows += [_first(name) for name in NAMES]
        return rows + [row for name in STEPPED for row in _steps(name)]


def _loaded(name: str) -> tuple[Any, Any, Model]:
    engine, data = myo_sim.load(name)
    return engine, data, load_model(engine, wrapping=WRAPPING)


def _random(engine: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Poses within the ranges of hinges and slides, and velocities, as MuJoCo counts them."""
    rng = np.random.default_rng(0)
    q = np.repeat(engine.qpos0[None], count, axis=0)
    for j in np.flatnonzero(engine.jnt_type >= 2):
        q[:, engine.jnt_qposadr[j]] = rng.uniform(*engine.jnt_range[j], count)
    return q, rng.normal(size=(count, engine.nv)) * 3.0


def _ours(engine: Any, q: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Velocities with the linear ones of free joints in the axes of the child."""
    u = u.copy()
    for j in np.flatnonzero(engine.jnt_type == 0):
        at, dof = engine.jnt_qposadr[j], engine.jnt_dofadr[j]
        R = np.asarray(rotation_matrix(q[:, at + 3 : at + 7]))
        u[:, dof : dof + 3] = np.einsum("nji,nj->ni", R, u[:, dof : dof + 3])
    return u


def _agreement(name: str) -> list[dict[str, Any]]:
    """Greatest differences of lengths, Jacobians and forces from MuJoCo's at random poses."""
    engine, data, model = _loaded(name)
    q, v = _random(engine, POSES)
    model = replace(model, muscles=tuple(m for m in model.muscles if not isinstance(m.law, PathLimit)))
    tendons = [engine.tendon(i).name for i in range(engine.ntendon)]
    rows = [tendons.index(muscle) for muscle in model.muscle_names]
    actuators = {tendons[engine.actuator_trnid[i, 0]]: i for i in range(engine.nu)}
    driven = replace(model, muscles=tuple(m for m in model.muscles if m.law is not None))
    columns = [actuators[muscle] for muscle in driven.muscle_names]
    mine = [model.muscle_names.index(muscle) for muscle in driven.muscle_names]
    a = np.random.default_rng(1).uniform(size=(POSES, engine.nu))
    found: dict[str, list[np.ndarray]] = {"length": [], "speed": [], "force": []}
    entries = 0.0
    for row, (x, w, act) in enumerate(zip(q, v, a, strict=True)):
        mujoco.mj_resetData(engine, data)
        data.qpos[:], data.qvel[:], data.act[:] = x, w, act
        mujoco.mj_fwdPosition(engine, data)
        mujoco.mj_fwdVelocity(engine, data)
        mujoco.mj_fwdActuation(engine, data)
        if row % CHUNK == 0:
            J = _their_columns(engine, q[row : row + CHUNK], path_jacobian(model, q[row : row + CHUNK]))
        entries = max(entries, np.abs(J[row % CHUNK] - _dense(engine, data)[rows]).max())
        for key, values in zip(found, (data.ten_length, data.ten_velocity, data.actuator_force), strict=True):
            found[key].append(values.copy())
    length, speed, force = (np.array(values) for values in found.values())
    u = _ours(engine, q, v)
    ours, flags = path_lengths(model, q), path_flags(model, q)
    rates = np.einsum("nmj,nj->nm", path_jacobian(model, q), u)
    laws = law_forces(driven, length[:, rows][:, mine], speed[:, rows][:, mine], a[:, columns])
    whole = muscle_forces(driven, q, u, a[:, columns])
    theirs, size = -force[:, columns], np.maximum(np.abs(force[:, columns]), 1.0)
    missed = np.abs(ours - length[:, rows])
    return [
        {
            "work": f"against MuJoCo at {POSES} random poses", "model": name, "muscles": len(driven.muscles),
            "length, m": missed.max(), "over 1e-10": int((missed > TOLERANCE).sum()),
            "entry of ten_J, m/rad": entries,
            "speed (J qvel), m/s": np.abs(rates - speed[:, rows]).max(),
            "force at its length and speed": (np.abs(laws - theirs) / size).max(),
            "force": (np.abs(whole - theirs) / size).max(), "flagged as near a jump": int(((flags & 4) > 0).sum()),
        }
    ]  # fmt: skip


def _their_columns(engine: Any, q: np.ndarray, J: np.ndarray) -> np.ndarray:
    """Jacobians (n, m, nv) of MuJoCo's qvel: the linear velocities of free joints in world axes."""
    for j in np.flatnonzero(engine.jnt_type == 0):
        at, dof = engine.jnt_qposadr[j], engine.jnt_dofadr[j]
        R = np.asarray(rotation_matrix(q[:, at + 3 : at + 7]))
        J[..., dof : dof + 3] = J[..., dof : dof + 3] @ np.swapaxes(R, -1, -2)
    return J


def _dense(engine: Any, data: Any) -> np.ndarray:
    """(tendons, nv) `ten_J`, whose sparsity moved from mjData to mjModel in version 3.6."""
    sparsity = engine if hasattr(engine, "ten_J_rownnz") else data
    columns = np.asarray(sparsity.ten_J_colind).ravel()
    J, values = np.zeros((engine.ntendon, engine.nv)), np.asarray(data.ten_J).ravel()
    for row, (first, count) in enumerate(zip(sparsity.ten_J_rowadr, sparsity.ten_J_rownnz, strict=True)):
        J[row, columns[first : first + count]] = values[first : first + count]
    return J


def _first(name: str, repeats: int = 3) -> dict[str, Any]:
    """Seconds to lengths and Jacobians in a new process, from the compiled model on."""
    cold, cached, read = [], [], []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            cold.append(_seconds(name, folder)[1])
            loaded, total = _seconds(name, folder)
            cached.append(total)
            read.append(loaded)
    row = {"work": "first lengths and Jacobians in new processes, s", "model": name}
    return row | {
        "read": statistics.median(read),
        "cold": statistics.median(cold),
        "from the cache": statistics.median(cached),
    }


def _seconds(name: str, cache: str) -> tuple[float, float]:
    environment = {**os.environ, "MYOQUAT_CACHE": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", _FIRST, name, WRAPPING]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    read, total = json.loads(done.stdout.splitlines()[-1])
    return float(read), float(total)


def _steps(name: str) -> list[dict[str, Any]]:
    """Microseconds of processor time for a step of a state: MuJoCo's own integrator, and ours on many states."""
    engine, data, model = _loaded(name)
    engine.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    rng = np.random.default_rng(0)
    excitation = rng.uniform(0.0, 0.3, (STATES, len(model.muscles)))
    driven = [k for k, muscle in enumerate(model.muscles) if muscle.activation_dynamics is not None]
    start, h = np.tile(model.start, (STATES, 1)), float(engine.opt.timestep)
    activation = np.full(excitation.shape, 0.05)
    simulators = {method: Simulator(model, method=method) for method in STEPS}

    def peer(count: int = 2_000) -> float:
        mujoco.mj_resetData(engine, data)
        data.qpos[:], data.ctrl[:], data.act[:] = model.start, excitation[0, driven], 0.05
        began = process_time()
        mujoco.mj_step(engine, data, nstep=count)
        return (process_time() - began) / count

    def ours(method: str) -> float:
        duration = h * STEPS[method]
        began = process_time()
        motion = simulators[method](start, np.zeros(model.system.nu), duration, step=h, output_step=duration,
                                    activation=activation, excitation=excitation)  # fmt: skip
        taken = (process_time() - began) / (STEPS[method] * STATES)
        assert np.isfinite(motion.final_q).all()
        return taken

    times: dict[str, list[float]] = {"mj_step": [], **{method: [] for method in STEPS}}
    for repeat in range(REPEATS + 1):
        for route, values in times.items():
            taken = peer() if route == "mj_step" else ours(route)
            if repeat:
                values.append(taken)
    medians = {route: statistics.median(values) for route, values in times.items()}
    return [
        {"work": f"a step of {h:g} s, {STATES} states side by side, us of processor time", "model": name,
         "route": route, "median": 1e6 * median, "ratio": medians["mj_step"] / median}
        for route, median in medians.items()
    ]  # fmt: skip
