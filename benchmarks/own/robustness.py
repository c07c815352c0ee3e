"""A study of a trial: the abduction of `benchmarks.own.redundancy` with other strengths, insertions and masses.

The environment variable MYOQUAT_SHOULDER names its folder. FRAMES of the recording, with the cone; strengths by 10 %,
insertions of the muscles at the humerus by 2 mm, masses by 5 %. What a sample takes is measured on SAMPLES of them.
"""

import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.own.redundancy import moving_abduction
from myoquat.analysis.studies import MuscleTrial, Study
from myoquat.data import Motion
from myoquat.muscle import Model
from validation.belli_shoulder import reserves

SAMPLES, FRAMES, ALL = 32, 800, 3600
SUMMARIES = ("mean_activation", "peak_force", "peak_load", "least_margin")


def run() -> list[dict[str, Any]]:
    """A row where the data are."""
    folder = os.environ.get("MYOQUAT_SHOULDER")
    if not folder:
        return []
    model, motion, cone = moving_abduction(Path(folder))
    motion = Motion(model.system, *(getattr(motion, name)[:FRAMES] for name in ("time", "q", "u", "udot")))
    given = reserves(model)
    study = Study(
        model,
        _varied(model),
        samples=SAMPLES,
        trial=MuscleTrial(motion, reserves=given, cones=[cone]),
        summaries=SUMMARIES,
    )
    began = time.perf_counter()
    study.run(progress=False, block=SAMPLES)
    first = time.perf_counter()
    wall, processor = time.perf_counter(), time.process_time()
    found = study.run(progress=False, block=4)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    return [
        {
            "work": f"ABD01 with cone, {SAMPLES} of {ALL} models, {FRAMES} frames",
            "route": "myoquat",
            "unsolved frames": float(found.unsolved.sum()),
            "first run [s]": first - began,
            "processor [us per frame]": 1e6 * processor / SAMPLES / FRAMES,
            "all of them [min]": wall * ALL / SAMPLES / 60,
            "all of them, processor time over two [min]": processor * ALL / SAMPLES / 120,
            "peak load [N]": f"{float(np.mean(found.peak_load)):.0f} +- {float(np.std(found.peak_load)):.0f}",
        }
    ]


def _varied(model: Model) -> dict[str, Any]:
    """Parameters by name, and how they vary."""
    vary: dict[str, Any] = {"muscles.*.max_isometric_force": {"normal": [1.0, 0.1], "relative": True}}
    for muscle in model.muscles:
        last = len(muscle.path.points) - 1
        point = muscle.path.points[last]
        if point.body == "humerus" and hasattr(point, "position"):
            for axis, at in zip("xyz", point.position, strict=True):
                vary[f"muscles.{muscle.name}.path.{last}.position.{axis}"] = {"normal": [float(at), 0.002]}
    for body in model.system.bodies:
        if body.mass > 0:
            vary[f"bodies.{body.name}.mass"] = {"normal": [1.0, 0.05], "relative": True}
    return vary
