"""Muscles of a prescribed walk beside Moco's published inverse problem.

`MYOQUAT_MOCO_INVERSE` names a folder with opensim-core's data of `testMocoInverse`: subject_walk_armless_18musc.osim,
subject_walk_armless_coordinates.mot, subject_walk_armless_external_loads.xml with its .mot, and, for the comparison,
std_testMocoInverse_subject_18musc_solution.sto. Times are of the processor.
"""

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import myoquat as mq
from benchmarks.control.timing import timed
from myoquat.analysis.control import BoundaryConstraint, Effort, Ipopt, Problem, Solution, TendonForceRates
from myoquat.analysis.motion import smooth
from myoquat.data import load_forces, load_motion, load_table
from myoquat.muscle import ActivationDynamics, Model, Muscle
from myoquat.muscle.laws import DeGrooteFregly2016, HillLaw

MODEL, SOLUTION = "subject_walk_armless_18musc.osim", "std_testMocoInverse_subject_18musc_solution.sto"
REPEATS = 5
START, DURATION, INTERVALS = 0.45, 0.55, 22
LEAST = 0.01  # activation and excitation
SOLVER = Ipopt(1e-6, 1e-4, barrier=1e-3)
GUESSES, SPREAD = 10, 0.3  # guesses whose activations and excitations differ by up to this part of them


def rows() -> list[dict[str, Any]]:
    """A row: 18 muscles with activation dynamics, 10 of them with elastic tendons, and 15 actuators."""
    folder = Path(os.environ.get("MYOQUAT_MOCO_INVERSE", ""))
    if not (folder / MODEL).is_file():
        return [{"work": f"MYOQUAT_MOCO_INVERSE names no folder with {MODEL}", "route": "none"}]
    model = mq.load_model(folder / MODEL)
    model = replace(model, muscles=tuple(map(_smooth_curves, model.muscles)))
    arms = ("arm_*", "elbow_*", "pro_sup_*", "wrist_*")
    motion = smooth(load_motion(folder / "subject_walk_armless_coordinates.mot", model, ignore=arms), 6.0, order=6)
    loads = load_forces(folder / "subject_walk_armless_external_loads.xml")

    def ours(guess: dict[str, float] | None = None) -> Solution:
        return _problem(model, prescribed=motion, loads=loads).solve(guess, SOLVER)

    found = [timed(ours) for _ in range(REPEATS + 1)]
    solution = found[0][0]
    others = [timed(partial(ours, guess)) for guess in _guesses(model)]
    return [
        {"work": "moco_inverse, 18 muscles (Moco: 13.0 s, 54 iterations, 0.876387, tolerance 1e-4)",
         "route": "myoquat", "seconds": median(s for _, s in found[1:]), "first": found[0][1],
         "iterations": solution.iterations, "objective": solution.objective, **solution.goals,
         "activation_rms": _difference(model, solution, folder / SOLUTION)},
        {"work": f"moco_inverse from {GUESSES} guesses of activation that differ by 30 %", "route": "myoquat",
         "converged": sum(other.success for other, _ in others), "seconds": max(s for _, s in others),
         "fewest": min(other.iterations for other, _ in others), "most": max(other.iterations for other, _ in others),
         "objective": min(other.objective for other, _ in others),
         "largest": max(other.objective for other, _ in others)},
    ]  # fmt: skip


def _guesses(model: Model) -> list[dict[str, float]]:
    """Guesses whose activations and excitations differ from muscle to muscle."""
    rng, found = np.random.default_rng(0), []
    for _ in range(GUESSES):
        level = dict(
            zip(model.muscle_names, 0.3 * rng.uniform(1 - SPREAD, 1 + SPREAD, len(model.muscles)), strict=True)
        )
        found.append(level | {f"{name}.activation": a for name, a in level.items()})
    return found


def _smooth_curves(muscle: Muscle) -> Muscle:
    """The muscle with the curves of De Groote and Fregly, without passive fiber force, as Moco replaces it."""
    law, dynamics = muscle.law, muscle.activation_dynamics
    assert isinstance(law, HillLaw)
    assert dynamics is not None
    curves = DeGrooteFregly2016(
        law.max_isometric_force, law.optimal_fiber_length, law.tendon_slack_length, law.pennation,
        law.max_contraction_velocity, law.tendon, law.tendon_strain, 0.0,
        damping=getattr(law, "damping", 0.0), passive_scale=0.0,
    )  # fmt: skip
    own = ActivationDynamics(dynamics.activation_time, dynamics.deactivation_time)
    return replace(muscle, law=curves, activation_dynamics=own)


def _problem(model: Model, **given: Any) -> Problem:
    """Least excitations, and the initial activation that the initial excitation holds."""
    names = model.muscle_names

    def unequal(first: Any, last: Any, duration: Any) -> list[Any]:
        return [first[name] - first[f"{name}.activation"] for name in names]

    zeros = (0.0,) * len(names)
    bounds = {name: (LEAST, 1.0) for muscle in names for name in (muscle, f"{muscle}.activation")}
    goals = Effort(name="excitation_effort"), TendonForceRates(weight=0.01, name="auxiliary_derivatives")
    held = (BoundaryConstraint("initial activation", unequal, zeros, zeros),)
    return Problem(model, DURATION, goals, INTERVALS, start=START, bounds=bounds, constraints=held, **given)


def _difference(model: Model, solution: Solution, path: Path) -> float:
    """RMS difference of all activations from Moco's over all points, NaN without its file."""
    if not path.is_file():
        return float("nan")
    theirs = load_table(path)
    there = solution.layout.having("w")
    w, names = solution.sites.fields["w"][there], solution.state_names
    at = solution.statement.start + solution.layout.fractions[there] * solution.duration
    off = [
        w[:, names.index(f"{m}.activation")] - np.interp(at, theirs.index, theirs[f"/forceset/{m}/activation"])
        for m in model.muscle_names
    ]
    return float(np.sqrt(np.mean(np.square(off))))
