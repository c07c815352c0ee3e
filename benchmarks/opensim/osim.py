"""Model files in OpenSim and here: lengths, moment arms, poses, masses, muscle forces, and the time that they take.

`MYOQUAT_OPENSIM_MODELS` names a folder of .osim files; without it the small one of the tests is taken. OpenSim runs in
a process of its own. Moment arms are compared with the unit-tension route, J^T f, which follows no couplers.
"""

import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from myoquat import dynamics, kernels
from myoquat.data import load_model
from myoquat.data.reports import UnsupportedWarning
from myoquat.dynamics.inverse import passive_force
from myoquat.muscle import Model, PathFlag, path_flags
from myoquat.muscle.coordinates import follow
from myoquat.muscle.laws import HillLaw
from myoquat.muscle.segments.lengths import lengths, velocity_jacobian

SMALL_LEG = Path(__file__).parents[2] / "tests" / "data" / "small_leg.osim"
POSES, TIMED, BATCH, BLOCK = 200, 10, 100_000, 4096
MAX_JUMP_DISTANCE_M = 1e-3  # to a jump of a length, within which the two programs may stand on different sides of it


def run() -> list[dict[str, Any]]:
    """Rows of agreement and of speed for every model."""
    return [row for file in model_files() for row in _rows(file)]


def model_files() -> list[Path]:
    """The files of MYOQUAT_OPENSIM_MODELS, or the small one of the tests."""
    folder = os.environ.get("MYOQUAT_OPENSIM_MODELS")
    return sorted(Path(folder).glob("*.osim")) if folder else [SMALL_LEG]


def _rows(file: Path) -> list[dict[str, Any]]:
    begin = time.perf_counter()
    model = loaded(file)
    kernel = both_kernel(model)
    kernel(np.array(model.start_q))
    cold = time.perf_counter() - begin
    rng = np.random.default_rng(0)
    q = random_poses(model, rng, POSES)
    u, udot = rng.normal(size=(2, *q.shape))
    activation, stretch = rng.uniform(0, 1, (POSES, m := len(model.muscles))), rng.uniform(0.99, 1.05, (POSES, m))
    given = {"q": q, "u": u, "udot": udot, "activation": activation, "stretch": stretch, "timed": np.array(TIMED)}
    theirs = in_opensim("reference.py", file, given)
    errors = agreement(model, kernel, q, theirs) | dynamic_agreement(model, q, u, udot, theirs)
    errors |= _muscle_errors(model, activation, theirs)
    worst = {name: float(error) for name, error in errors.items()}
    rows: list[dict[str, Any]] = [{"work": f"{file.stem}: agreement at {POSES} poses", "route": "worst"} | worst]
    mine = seconds_per_pose(kernel, random_poses(model, rng, BATCH))
    routes = {
        "OpenSim, computeMomentArm of everything": theirs["seconds_lengths"] + theirs["seconds_moment_arms"],
        "OpenSim, unit tensions and J^T f": theirs["seconds_lengths"] + theirs["seconds_unit_tensions"],
        "myoquat, two threads": mine,
    }
    work = f"{file.stem}: all lengths and moment arms; read and compile {cold:.2f} s"
    slow = "OpenSim, computeMomentArm of everything"
    for route, seconds in routes.items():
        ratio = float(routes[slow] / seconds)
        rows.append(
            {"work": work, "route": route, "against": slow, "ratio": ratio, "median": seconds * 1e6, "unit": "us"}
        )
    return rows


def loaded(file: Path) -> Model:
    """The model in a file, without the warning about unsupported elements."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnsupportedWarning)
        return load_model(file)


def random_poses(model: Model, rng: np.random.Generator, count: int) -> np.ndarray:
    """(count, nq) within the ranges of the coordinates, or a unit where they have none, couplers followed."""
    low, high = np.array([c.range or (-1.0, 1.0) for c in model.coordinates]).reshape(-1, 2).T
    q = rng.uniform(low, high, (count, len(low)))
    follow(model.couplers, model.system, q)
    return q


def both_kernel(model: Model) -> Any:
    def both(q: Any) -> Any:
        return lengths(model.system, model.paths, q), velocity_jacobian(model.system, model.paths, q)

    return kernels.compile(both, {"q": model.system.nq}, ["lengths", "jacobian"])


def seconds_per_pose(kernel: Any, q: np.ndarray) -> float:
    """Seconds per pose in cache-sized blocks, the median of five repetitions."""
    l, J = kernel(q[:BLOCK])
    repetitions = []
    for _ in range(5):
        begin = time.perf_counter()
        for i in range(0, len(q) - BLOCK + 1, BLOCK):
            kernel(q[i : i + BLOCK], out=(l, J), threads=2)
        repetitions.append((time.perf_counter() - begin) / (len(q) // BLOCK * BLOCK))
    return float(np.median(repetitions))


def in_opensim(script: str, file: Path, given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What a script of this folder makes of arrays, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        states, found = Path(folder) / "states.npz", Path(folder) / "results.npz"
        np.savez(states, **given)
        path = Path(__file__).with_name(script)
        command = [sys.executable, str(path), str(file), str(states), str(found)]
        subprocess.run(command, check=True, stderr=subprocess.PIPE, text=True)
        with np.load(found) as results:
            return dict(results)


def agreement(model: Model, kernel: Any, q: Any, theirs: Any) -> dict[str, float]:
    """Worst differences of muscles without wrapping, where OpenSim is exact, and of coordinates whose rates are
    OpenSim's speeds. Rates of its ball and free joints are not."""
    ours = zip(model.system.coordinate_names, theirs["names"], strict=True)
    assert all(name == other or name.endswith(f".{other}") for name, other in ours)  # of several joints: JOINT.NAME
    read = np.array([str(name) in model.muscle_names for name in theirs["muscles"]], dtype=bool)
    straight = (theirs["wraps"] == 0)[read]
    known = [model.muscle_names.index(str(name)) for name in theirs["muscles"][read]]
    wraps = [model.muscles[i].path.wraps for i in known]
    around = np.array([len(w) == 1 and w[0].shape == "cylinder" for w in wraps], dtype=bool)
    sure = ((path_flags(model, q, MAX_JUMP_DISTANCE_M) & ~PathFlag.WRAPPED) == 0)[:, known]
    l, J = kernel(q)
    l, J = l[:, known], J[:, known]
    lengths = theirs["lengths"].reshape(len(q), len(read))[:, read]
    arms = theirs["arms"].reshape(len(q), len(read), J.shape[-1])[:, read][..., theirs["order"].astype(int)]
    poses = model.system.poses(q)
    mine = [_pose(len(q), *poses[str(body)]) for body in theirs["bodies"]]
    plain = theirs["plain"].astype(bool)
    return {
        "lengths [m]": np.abs(l - lengths)[:, straight].max(initial=0),
        "around a cylinder [m]": np.abs(l - lengths)[around & sure].max(initial=0),
        "moment arms [m]": np.abs(-J - arms)[:, straight][..., plain].max(initial=0),
        "poses": np.abs(np.stack(mine, axis=1) - theirs["poses"]).max(initial=0) if mine else 0.0,
    }


def dynamic_agreement(model: Model, q: Any, u: Any, udot: Any, theirs: Any) -> dict[str, float]:
    """Worst relative differences of mass matrices and inverse dynamics; ModelError for a singular mass matrix."""
    count, plain = len(theirs["mass"]), theirs["plain"].astype(bool)
    M = dynamics.mass_matrix(model, q[:count])[:, plain][..., plain]
    state = q[:count], u[:count] * plain
    tau = dynamics.inverse_dynamics(model, *state, udot[:count] * plain)
    tau = (tau - passive_force(model.system, *state))[:, plain]  # springs are forces of the file
    mass, inverse = theirs["mass"][:, plain][..., plain], theirs["inverse"][:, plain]
    return {"mass, relative": _relative(M, mass), "inverse dynamics, relative": _relative(tau, inverse)}


def _muscle_errors(model: Model, activation: np.ndarray, theirs: Any) -> dict[str, float]:
    """Worst differences at OpenSim's own path lengths. Those of tendon forces are relative to the force, or to 1e-3 of
    the greatest isometric one if that is larger. Those of fiber speeds are over the greatest one (OpenSim solves for
    these to 1e-10 of a force)."""
    errors = {"muscle forces, relative": 0.0, "fiber speeds, of vmax": 0.0}
    for i, muscle in enumerate(model.muscles):
        law: Any = muscle.law
        if not isinstance(law, HillLaw):
            continue
        l, v, fiber, force, rate = (
            theirs[f"muscle_{key}"][:, i] for key in ("length", "speed", "fiber", "force", "rate")
        )
        given = (l, v, activation[:, i], fiber[:, None] if law.states else None)
        pulls = np.abs(law.force(*given) - force) / np.maximum(force, 1e-3 * law.max_isometric_force)
        fastest = law.max_contraction_velocity * law.optimal_fiber_length
        rates = (law.state_rate(*given)[:, 0] - rate) / fastest if law.states else np.zeros(1)
        for name, error in zip(errors, (pulls, rates), strict=True):
            errors[name] = max(errors[name], float(np.abs(error).max()))
    return errors


def _relative(mine: np.ndarray, theirs: np.ndarray) -> float:
    """The worst difference, of the greatest number."""
    return float(np.abs(mine - theirs).max(initial=0.0) / np.abs(mine).max(initial=1e-300))


def _pose(n: int, R: np.ndarray, p: np.ndarray) -> np.ndarray:
    """(n, 12) rotation by rows, and position."""
    flat = np.broadcast_to(R, (n, 3, 3)).reshape(n, 9)
    return np.concatenate([flat, np.broadcast_to(p, (n, 3))], axis=-1)
