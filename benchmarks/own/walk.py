"""Muscle redundancy of a walk, gait2392's 92 muscles: processor time per frame, beside Clarabel.

The environment variable MYOQUAT_WALK names OpenSim's example Gait2392_Simbody, the folder of that name among the
Pipelines of opensim-org/opensim-models. It has the model, and the kinematics and ground reactions that its residual
reduction works with and gives, low-passed at 6 Hz. Reserves of 100 N m (300 N and N m at the pelvis) have the weight of
muscles. Clarabel is given the convex programs of some of the frames. The force laws are their tangents at our
solutions, and the least effort is therefore the same.
"""

import time
from pathlib import Path
from typing import Any

import clarabel
import numpy as np
from scipy.sparse import csc_matrix

from myoquat.analysis.motion import smooth
from myoquat.analysis.recruitment import Effort, Redundancy, Reserve, redundancy
from myoquat.analysis.recruitment.convex import Programs, are_met
from myoquat.analysis.recruitment.redundancy.equations import Demands
from myoquat.data import Forces, Motion, load_forces, load_model, load_motion
from myoquat.muscle import Model

POWERS = (2.0, 5.0)
CUTOFF_HZ = 6.0  # Hz
CLARABEL_STRIDE = 50  # frames between those that Clarabel is given
REPEATS = 5


def walking(folder: Path) -> list[dict[str, Any]]:
    """Two rows for each power: ours, all from poses and loads to activations, and Clarabel's, the programs alone."""
    model = load_model(folder / "OutputReference" / "subject01_simbody_adjusted.osim")
    recorded = folder / "OutputReference" / "ResultsRRA" / "subject01_walk1_RRA_Kinematics_q.mot"
    motion = smooth(load_motion(recorded, model, in_degrees=True), CUTOFF_HZ)
    loads = load_forces(folder / "subject01_walk1_grf.xml")
    return [row for power in POWERS for row in _rows(model, motion, loads, power)]


def _rows(model: Model, motion: Motion, loads: Forces, power: float) -> list[dict[str, Any]]:
    names = [name for name in model.system.velocity_names if not name.startswith("mtp")]
    reserves = [Reserve(name, 300.0 if name.startswith("pelvis") else 100.0) for name in names]
    frames, seconds, theirs = len(motion.time), [], []
    found = redundancy(model, motion, loads, effort=Effort(power=power), reserves=reserves)
    some = np.arange(0, frames, CLARABEL_STRIDE)
    programs = _programs(model, motion, loads, found, some)
    for _ in range(REPEATS):
        start = time.process_time()
        found = redundancy(model, motion, loads, effort=Effort(power=power), reserves=reserves)
        seconds.append((time.process_time() - start) / frames)
        start = time.process_time()
        least = [_in_clarabel(programs, k, power) for k in range(len(some))]
        theirs.append((time.process_time() - start) / len(some))
    own, other = float(np.median(seconds)), float(np.median(theirs))
    shared = {
        "against": "clarabel",
        "unit": "us of the processor per frame",
        "unsolved": int((~are_met(found.status)).sum()),
        "equations": np.abs(found.residual).max(),
        "off": np.abs(found.effort[some] / least - 1).max(),
    }
    work = f"gait2392 walking, p = {power:g}, {frames} frames"
    return [
        {"work": work, "route": "myoquat", "ratio": other / own, "median": 1e6 * own, **shared},
        {"work": work, "route": "clarabel", "ratio": 1.0, "median": 1e6 * other, **shared},
    ]


def _programs(model: Model, motion: Motion, loads: Forces, found: Redundancy, frames: np.ndarray) -> Programs:
    """Those of some frames, on tangents at the activations that were found."""
    demands = Demands.of_motion(model.with_rigid_tendons(), motion, loads, found.reserves, ()).subset(frames)
    return demands.programs(*demands.tangents(found.activation[frames]), Effort())


def _in_clarabel(programs: Programs, k: int, power: float) -> float:
    """The least effort of one program; powers other than 2 by a cone for every variable, t >= |x|^p."""
    A, b, low, high = programs.A[k], programs.b[k], programs.lower[k], programs.upper[k]
    n = A.shape[1]
    eye, few, many = np.eye(n), np.isfinite(low), np.isfinite(high)
    rows, right = [A, -eye[few], eye[many]], [b, -low[few], high[many]]
    cones: list[Any] = [clarabel.ZeroConeT(len(b)), clarabel.NonnegativeConeT(int(few.sum() + many.sum()))]
    P, c = 2 * np.eye(n), np.zeros(n)
    if power != 2:
        rows = [np.concatenate([part, np.zeros(part.shape)], axis=1) for part in rows]
        powers = np.zeros((n, 3, 2 * n))  # (t, 1, x) in the cone t^(1/p) 1^(1 - 1/p) >= |x|
        powers[:, 0, n:], powers[:, 2, :n] = -eye, -eye
        rows.append(powers.reshape(-1, 2 * n))
        right.append(np.tile([0.0, 1.0, 0.0], n))
        cones += n * [clarabel.PowerConeT(1 / power)]
        P, c = np.zeros((2 * n, 2 * n)), np.repeat([0.0, 1.0], n)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    every = csc_matrix(np.concatenate(rows))
    solution = clarabel.DefaultSolver(csc_matrix(P), c, every, np.concatenate(right), cones, settings).solve()
    return float(solution.obj_val)
