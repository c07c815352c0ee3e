"""Activations beside published ones, at the angles that were published with them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from myoquat.analysis.recruitment import ReserveActuator, redundancy
from myoquat.core import Array, frozen
from myoquat.data import load_motion
from myoquat.dynamics.constraints import ConstraintArrays, Constraints
from myoquat.joints.constraints import PointLoop
from myoquat.muscle.actuators import ScalarActuator
from myoquat.muscle.loads import Load, Poses, world_point
from myoquat.muscle.model import Model
from validation.instrumented_shoulder import (
    CUTOFF,
    JOINT,
    MARKERS,
    Trial,
    force_of,
    glenoid_axes,
    reserves_of_study,
    study_model,
)
from validation.rules import BorderCone, published_rules
from validation.solver_steps import as_set, central_rates, filtered

CONSTRAINT_STRENGTH_N = 100.0  # [N] of a unit control of a constraint's force; its weight is zero


@frozen
class LoopForce(ScalarActuator):
    """The force of a `PointLoop` along a world axis on the points of its two bodies, which need not coincide."""

    loop: PointLoop
    along: tuple[float, float, float]

    def loads(self, poses: Poses, f: Array) -> list[Load]:
        """The force at the first point, and the opposite one at the second."""
        force = f * np.array(self.along)
        first = world_point(poses, self.loop.first, self.loop.first_point)
        second = world_point(poses, self.loop.second, self.loop.second_point)
        return [Load(self.loop.first, first, force), Load(self.loop.second, second, -force)]


def at_published_angles(
    folder: Path, trial: Trial, names: Sequence[str], model_file: str | None = None
) -> tuple[pd.DataFrame, float]:
    """For each rule, how far activations and forces are from the published ones; and the gap [m] of the constraint.

    A row has the RMS difference of all activations, that of the muscle that differs the most, and the mean efforts. It
    also has the RMS differences of the force [N] from the measured one. The gap is how far the published angles leave
    the constraint open.

    The study evaluated muscles and masses at its own angles and at the speeds that it set (`solver_steps`), which are
    not on the constraint. The constraint acts there by its force alone, on the two points where they are.
    """
    model = study_model(folder, trial.name, "file", model_file)
    loops = [c for c in model.constraints if isinstance(c, PointLoop)]
    recorded = load_motion(folder / f"published_ik_{trial.name}.mot", model, start=model.start)
    arrays = ConstraintArrays(Constraints(model.system, model.constraints))
    model = replace(model, constraints=())
    motion = as_set(model, central_rates(replace(recorded, q=filtered(recorded, CUTOFF))))
    gap = float(np.abs(arrays.position(motion.q, motion.time)).max(initial=0.0))
    forces = [LoopForce(f"{loop.name}_{'xyz'[k]}", loop, tuple(np.eye(3)[k]), optimal_force=CONSTRAINT_STRENGTH_N)
              for loop in loops for k in range(3)]  # fmt: skip
    reserves = [*reserves_of_study(model, motion), *(ReserveActuator(force, weight=0.0) for force in forces)]
    rules = published_rules(model, JOINT, *MARKERS)
    rows = {}
    glenoid, measured = rules["polynomial"], np.linalg.norm(trial.measured, axis=-1)
    assert isinstance(glenoid, BorderCone)
    for name in names:
        file = folder / f"published_activations_{name}.csv"
        if not file.is_file():
            continue
        found = redundancy(model, motion, reserves=reserves, cones=[] if name == "none" else [rules[name]])
        table = pd.read_csv(file)
        rows[name] = _difference(found.activation, _at(table, model.muscle_names, motion.time), model)
        force = np.linalg.norm(force_of(found, name) @ glenoid_axes(glenoid).T, axis=-1)
        at = np.interp(motion.time[0] + trial.covered, motion.time, force)
        rows[name]["force here, RMS difference [N]"] = float(np.sqrt(np.mean((at - measured) ** 2)))
        rows[name]["force published, RMS difference [N]"] = _force_difference(table, trial)
    return pd.DataFrame.from_dict(rows, orient="index"), gap


def _at(table: pd.DataFrame, names: Sequence[str], time: Array) -> Array:
    """(t, n) columns of a published table at times (t,) [s]."""
    own = table["time"].to_numpy(dtype=float)
    return np.stack([np.interp(time, own, table[name].to_numpy(dtype=float)) for name in names], axis=-1)


def _force_difference(table: pd.DataFrame, trial: Trial) -> float:
    """The RMS difference [N] of the published magnitude of the force from the measured one."""
    time = table["time"].to_numpy(dtype=float)
    time = time[time <= trial.time[-1]]
    measured = np.interp(time, trial.time, np.linalg.norm(trial.force, axis=-1))
    published = np.linalg.norm(_at(table, ("Fx", "Fy", "Fz"), time), axis=-1)
    return float(np.sqrt(np.mean((published - measured) ** 2)))


def _difference(own: Array, published: Array, model: Model) -> dict[str, float | str]:
    rms = np.sqrt(np.mean((own - published) ** 2, axis=0))
    return {
        "RMS of activations": float(np.sqrt(np.mean((own - published) ** 2))),
        "muscle that differs most": model.muscle_names[int(rms.argmax())],
        "its RMS": float(rms.max()),
        "mean effort": float(np.mean(np.sum(own**2, axis=-1))),
        "published mean effort": float(np.mean(np.sum(published**2, axis=-1))),
    }
