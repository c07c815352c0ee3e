"""Muscle redundancy: convex programs beside Clarabel, an abduction beside its published solution, and a walk.

The walk is in `benchmarks.own.walk`, where MYOQUAT_WALK names its folder. The abduction is that of I. Belli et al.,
Does enforcing glenohumeral joint stability matter?, PLoS ONE 18, 2023. The environment variable MYOQUAT_SHOULDER names
a folder with TSM_subject_noWeight.osim, ABD01.mot and ABD01.npz. The latter holds `with_gh` and `without_gh`:
activations of 33 muscles and controls of the model's coordinate actuators. Its angles are low-passed at 3 Hz and
brought onto the model's constraint, a point of the clavicle held to the scapula; derivatives are central differences.
Muscles have neither damping nor a least activation there, and the first eight actuators cost nothing. It is also solved
with elastic tendons, as one problem with least activations of 0.01, and for the least metabolic power.
"""

import os
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import clarabel
import numpy as np
from scipy.sparse import csc_matrix

from benchmarks.measure import Route, alternate, rows
from benchmarks.own.walk import walking
from myoquat.analysis.recruitment import Coupled, Effort, JointCone, MetabolicEffort, Reserve, Sequential, redundancy
from myoquat.analysis.recruitment.convex import Programs, Status, are_met, solve_programs
from myoquat.analysis.recruitment.redundancy.equations import Demands, secants
from myoquat.data import Motion, load_motion
from myoquat.muscle import Model
from myoquat.muscle.metabolics import Bhargava2004, MetabolicCost, Umberger2010
from validation.belli_shoulder import cone_of, load_shoulder, moving, reserves

EQUATIONS, VARIABLES, FRAMES = 14, 40, 2000
COSTS = (Bhargava2004(), Umberger2010())


def run() -> list[dict[str, Any]]:
    """Rows beside Clarabel, then, where the data are, rows of the walk, and of the abduction with and without the
    cone."""
    found = _beside_clarabel(np.random.default_rng(0))
    walk, folder = os.environ.get("MYOQUAT_WALK"), os.environ.get("MYOQUAT_SHOULDER")
    return found + (walking(Path(walk)) if walk else []) + (_abduction(Path(folder)) if folder else [])


# ---- random programs ---------------------------------------------------------------------------------------


def _programs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """A third feasible, a third barely, a third, in general, not; one cone each."""
    k, e, n = FRAMES, EQUATIONS, VARIABLES
    A = 30 * rng.normal(size=(k, e, n)) * (rng.random((k, e, n)) < 0.4)
    x = rng.uniform(0, 1, (k, n)) ** 2
    b = np.einsum("ken,kn->ke", A, x) * np.resize([1.0, 1.5, 3.0], k)[:, None]
    G, h = 100 * rng.normal(size=(k, 1, 3, n)), 100 * rng.normal(size=(k, 1, 3))
    v = np.einsum("kcdn,kn->kcd", G, x) + h
    h[..., 0] += np.linalg.norm(v[..., 1:], axis=-1) - v[..., 0]
    return {"A": A, "b": b, "G": G, "h": h}


def _in_clarabel(A: np.ndarray, b: np.ndarray, G: np.ndarray, h: np.ndarray) -> tuple[str, float]:
    n = A.shape[-1]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = 1e-11
    every = csc_matrix(np.concatenate([A, -np.eye(n), np.eye(n), -G[0]]))
    right = np.concatenate([b, np.zeros(n), np.ones(n), h[0]])
    cones = [clarabel.ZeroConeT(len(b)), clarabel.NonnegativeConeT(2 * n), clarabel.SecondOrderConeT(3)]
    solver = clarabel.DefaultSolver(csc_matrix(2 * np.eye(n)), np.zeros(n), every, right, cones, settings)
    solution = solver.solve()
    return str(solution.status), solution.obj_val


def _beside_clarabel(rng: np.random.Generator) -> list[dict[str, Any]]:
    given = _programs(rng)
    every = Programs.of(**given)
    found = solve_programs(every)
    theirs = [_in_clarabel(*(given[name][k] for name in ("A", "b", "G", "h"))) for k in range(FRAMES)]
    refuted = np.array(["PrimalInfeasible" in status for status, _ in theirs])
    same = int((refuted == (found.status == Status.INFEASIBLE)).sum())
    solved = found.status == Status.SOLVED
    both = solved & np.array(
        [status == "Solved" for status, _ in theirs]
    )  # not where it gives up at a looser tolerance
    objective = np.array([value for _, value in theirs])
    off = np.abs(found.objective / objective - 1)[both]
    gap = np.abs(found.objective - found.bound)[solved] / found.objective[solved]
    few = 100
    routes = {
        "myoquat": Route(lambda: solve_programs(every), FRAMES),
        "clarabel": Route(
            lambda: [_in_clarabel(*(given[name][k] for name in ("A", "b", "G", "h"))) for k in range(few)], few
        ),
    }
    work = f"{EQUATIONS} equations, {VARIABLES} variables, a cone; {FRAMES} programs"
    counts = {s.name.lower(): int((found.status == s).sum()) for s in Status}
    return rows(
        work,
        alternate(routes, 3),
        "clarabel",
        "us",
        same_status=f"{same} of {FRAMES}",
        off=off.max(),
        gap=gap.max(),
        **counts,
    )


# ---- the abduction -----------------------------------------------------------------------------------------


def _abduction(folder: Path) -> list[dict[str, Any]]:
    model, _, cone = moving_abduction(folder)
    recorded = load_motion(folder / "ABD01.mot", model)
    published = np.load(folder / "ABD01.npz")
    cases = (("with cone", "with_gh", (cone,)), ("without cone", "without_gh", ()))
    found = [_case(model, recorded, published[key], cones, name) for name, key, cones in cases]
    motion = moving(model, recorded)
    found += [_stretched(model, motion, cone), _whole(model, motion, cone)]
    return [*found, *(_least_power(model, motion, cone, cost) for cost in COSTS)]


def _stretched(model: Model, motion: Motion, cone: JointCone) -> dict[str, Any]:
    """With elastic tendons where muscles have one, whose fibers need some damping."""
    changes = {"tendon": "elastic", "minimum_activation": 0.01, "damping": 0.1}
    laws = [replace(m.law, **changes) if m.law.tendon_slack_length > 0 else m.law for m in model.muscles]
    elastic = replace(model, muscles=tuple(replace(m, law=law) for m, law in zip(model.muscles, laws, strict=True)))
    rigid = redundancy(elastic, motion, reserves=reserves(model), cones=[cone])
    start = time.process_time()
    found = redundancy(elastic, motion, reserves=reserves(model), cones=[cone], tendons="elastic")
    seconds = time.process_time() - start
    return {
        "work": f"ABD01, with cone, elastic tendons, {len(motion.time)} frames",
        "route": "myoquat",
        "unsolved": int((~are_met(found.status)).sum()),
        "equations": np.abs(found.residual).max(),
        "rms to rigid": np.sqrt(np.mean((found.activation - rigid.activation) ** 2)),
        "processor [s]": seconds,
    }


def _whole(model: Model, motion: Motion, cone: JointCone) -> dict[str, Any]:
    """All frames as one problem, between frames by themselves and one after the other."""
    laws = [replace(m.law, minimum_activation=0.01) for m in model.muscles]
    living = replace(model, muscles=tuple(replace(m, law=law) for m, law in zip(model.muscles, laws, strict=True)))
    free, after = (
        redundancy(living, motion, reserves=reserves(model), cones=[cone], dynamics=dynamics)
        for dynamics in (None, Sequential())
    )
    start = time.process_time()
    found = redundancy(living, motion, reserves=reserves(model), cones=[cone], dynamics=Coupled())
    seconds = time.process_time() - start
    assert found.trial is not None
    return {
        "work": f"ABD01, with cone, one problem, {len(motion.time)} frames",
        "route": "myoquat",
        "unsolved": int((~are_met(found.status)).sum()),
        "equations": np.abs(found.residual).max(),
        "effort": found.trial.effort,
        "bound": found.trial.bound,
        "by themselves": free.effort.sum(),
        "one after the other": after.effort.sum(),
        "processor [s]": seconds,
    }


def _least_power(model: Model, motion: Motion, cone: JointCone, cost: MetabolicCost) -> dict[str, Any]:
    """Every 40th frame with metabolic power as the effort."""
    part = Motion(model.system, *(getattr(motion, name)[::40] for name in ("time", "q", "u", "udot")))
    start = time.process_time()
    found = redundancy(model, part, reserves=reserves(model), cones=[cone], effort=MetabolicEffort(cost=cost))
    seconds = time.process_time() - start
    return {
        "work": f"ABD01, with cone, power by {type(cost).__name__}, {len(part.time)} frames",
        "route": "myoquat",
        **{s.name.lower(): int((found.status == s).sum()) for s in Status},
        "equations": np.abs(found.residual).max(),
        "greatest gap": ((found.effort - found.bound) / found.effort).max(),
        "processor per frame [ms]": 1e3 * seconds / len(part.time),
    }


def moving_abduction(folder: Path) -> tuple[Model, Motion, JointCone]:
    """The model, its motion and the cone of the socket."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trial = load_shoulder(folder, "ABD01")
    return trial.model, trial.motion, cone_of(trial.model)


def _case(
    model: Model, recorded: Motion, published: np.ndarray, cones: tuple[JointCone, ...], name: str
) -> dict[str, Any]:
    given = reserves(model)
    found = redundancy(model, moving(model, recorded), reserves=given, cones=cones)
    start = time.perf_counter()
    motion = moving(model, recorded)
    moved = time.perf_counter()
    found = redundancy(model, motion, reserves=given, cones=cones)
    end = time.perf_counter()
    m = len(model.muscles)
    return {
        "work": f"ABD01, {name}, {len(motion.time)} frames",
        "route": "myoquat",
        "unsolved": int((~are_met(found.status)).sum()),
        "equations": np.abs(found.residual).max(),
        "outside [rad]": max(0.0, -found.margin.min(initial=np.inf)) if cones else 0.0,
        "rms to published": np.sqrt(np.mean((found.activation - published[:, :m]) ** 2)),
        "saved of published": 1 - _beside_published(model, motion, published, given, cones),
        "motion [s]": moved - start,
        "redundancy [s]": end - moved,
    }


def _beside_published(
    model: Model, motion: Motion, published: np.ndarray, reserves: list[Reserve], cones: tuple[JointCone, ...]
) -> float:
    """The greatest ratio, over the frames, of the least effort to the published one. The published solution's own
    residuals are allowed. Its torques are asked for, and its cone is as wide as it made it."""
    demands = Demands.of_motion(model, motion, None, reserves, cones)
    F0, F1 = secants(demands.tensions, demands.lower, len(motion.time))
    x = published[:, : len(model.muscles) + len(reserves)].copy()
    x[:, : len(model.muscles)] = np.clip(x[:, : len(model.muscles)], 0.0, 1.0)
    programs = demands.programs(F0, F1, Effort())
    values = programs.cone_values(x)
    h = programs.h.copy()
    h[..., 0] += np.maximum(np.linalg.norm(values[..., 1:], axis=-1) - values[..., 0], 0.0)
    found = solve_programs(replace(programs, b=programs.b + programs.residual(x), h=h))
    return float((found.objective / programs.objective(x)).max())
