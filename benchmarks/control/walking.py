"""Predictive walking: a half cycle of a planar model of 10 degrees of freedom and 18 muscles, with contact of the feet.

No recording is tracked. The motion is symmetric, the speed is given and the duration is not. The mean metabolic power
by weight and speed counts, with terms that keep controls and accelerations small and the trunk upright. `MYOQUAT_GAIT`
names OpenSim's gait10dof18musc.osim. Positions of the contact are those of Moco's example2DWalking [A. Falisse, in C.
L. Dembia et al., PLoS Comput. Biol. 16, e1008493, 2020], its stiffness and friction those of [A. Falisse et al., J. R.
Soc. Interface 16, 20190402, 2019], rounded. `MYOQUAT_WALK_PICTURE` names a .png to which the walk is drawn. Times are
of the processor.
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import myoquat as mq
from benchmarks.control.timing import timed
from benchmarks.control.walking_picture import draw_walk, sole
from myoquat.analysis.control import (
    Accelerations,
    BoundaryConstraint,
    Effort,
    Ipopt,
    MetabolicEnergy,
    OwnGoal,
    Periodic,
    Point,
    Problem,
    Solution,
)
from myoquat.core import Array
from myoquat.joints.frames import total_mass
from myoquat.muscle import ActivationDynamics, Model, Muscle, contact_forces
from myoquat.muscle.forces import ContactHalfSpace, ContactSphere, SmoothSphereHalfSpace
from myoquat.muscle.laws import DeGrooteFregly2016, HillLaw

SPEED, DURATION, INTERVALS = 1.2, (0.4, 0.75), (40, 80)  # m/s, s of a half cycle
HEEL, FRONT = ((0.0313, 0.0104, 0.0), 0.035), ((0.1774, -0.0157, -0.0052), 0.015)  # place on the calcaneus, radius [m]
CONTACT: dict[str, Any] = {
    "stiffness": 1e6, "dissipation": 2.0, "static_friction": 0.8, "dynamic_friction": 0.8, "viscous_friction": 0.5,
    "transition_velocity": 0.2, "hertz_smoothing": 200.0, "hunt_crossley_smoothing": 50.0, "rounded_friction": True,
}  # fmt: skip
LEAST = 0.01  # activation and excitation
SOLVERS = tuple(Ipopt(1e-6, 1e-5, 300, options={"mu_init": mu}) for mu in (1e-3, 1e-4))  # the second from a solution
BOUNDS = {
    "pelvis_tilt": (-0.5, 0.3), "pelvis_ty": (0.75, 1.05), "hip_flexion": (-0.9, 1.0), "knee_angle": (-1.8, 0.02),
    "ankle_angle": (-0.7, 0.6), "lumbar_extension": (-0.6, 0.3),
}  # fmt: skip
LOADED = 0.2  # of the body's weight on a foot, from which it must not slide


def rows() -> list[dict[str, Any]]:
    """Two rows: from a guess of straight lines, 40 intervals of the midpoint rule, then 80 from that solution."""
    file = Path(os.environ.get("MYOQUAT_GAIT", ""))
    if not file.is_file():
        return [{"work": "MYOQUAT_GAIT names no file gait10dof18musc.osim", "route": "none"}]
    found, start = [], None
    for intervals, solver in zip(INTERVALS, SOLVERS, strict=True):
        problem = walking_problem(walker(file), intervals)
        begin = guess(problem) if start is None else start
        once = replace(solver, max_iterations=1)
        _, first = timed(lambda problem=problem, begin=begin, once=once: problem.solve(begin, once))
        start, seconds = timed(lambda problem=problem, begin=begin, solver=solver: problem.solve(begin, solver))
        found.append({
            "work": f"predictive walking, 18 muscles, {intervals} intervals, {SPEED} m/s", "route": "myoquat",
            "seconds": seconds, "first": first + seconds, "in_formulas": start.evaluation_seconds,
            "iterations": start.iterations, "status": start.status.value, "objective": start.objective, **start.goals,
            "violation": start.violation, "kkt_error": start.kkt_error, **_described(start),
        })  # fmt: skip
    assert start is not None
    if os.environ.get("MYOQUAT_WALK_PICTURE"):
        draw_walk(start, Path(os.environ["MYOQUAT_WALK_PICTURE"]))
    return found


def _described(solution: Solution) -> dict[str, float]:
    """What makes it a walk: half cycle [s], step [m], and trunk [deg] from the vertical. Also the greatest vertical
    force in units of the body's weight, and the distance [m] that a loaded foot slides."""
    model = solution.model
    assert isinstance(model, Model)
    weight = total_mass(model.system) * float(np.linalg.norm(model.system.gravity))
    force = contact_forces(model, solution.q, solution.u)[..., 1] / weight  # heel and front of the right, then the left
    trunk = np.degrees(solution["pelvis_tilt"] + solution["lumbar_extension"])
    slides = []
    for k, side in enumerate("rl"):
        loaded = force[:, 2 * k : 2 * k + 2].sum(axis=1) > LOADED
        on_heel = force[:, 2 * k] > force[:, 2 * k + 1]
        for place, pressed in ((HEEL[0], on_heel), (FRONT[0], ~on_heel)):
            x = sole(solution, side, place)[loaded & pressed, 0]
            slides.append(float(np.ptp(x)) if len(x) else 0.0)
    step = solution["pelvis_tx"][-1] - solution["pelvis_tx"][0]
    return {
        "half_cycle": solution.duration, "step": float(step), "trunk_least": float(trunk.min()),
        "trunk_greatest": float(trunk.max()), "peak_weight": float(force.sum(axis=1).max()), "slides": max(slides),
    }  # fmt: skip


def walker(file: Path) -> Model:
    """The model with rigid tendons, the curves of De Groote and Fregly, and contact of the feet."""
    model = mq.load_model(file, rotations="file")
    floor = ContactHalfSpace("floor", "ground")
    contacts = [
        SmoothSphereHalfSpace(f"{end}_{side}", ContactSphere(f"{end}_{side}", f"calcn_{side}", place, radius), floor,
                              **CONTACT)
        for side in "rl" for end, (place, radius) in (("heel", HEEL), ("front", FRONT))
    ]  # fmt: skip
    muscles = tuple(map(_smooth_curves, model.muscles))
    return replace(model, muscles=muscles, forces=(*model.forces, *contacts))


def _smooth_curves(muscle: Muscle) -> Muscle:
    law = muscle.law
    assert isinstance(law, HillLaw)
    curves = DeGrooteFregly2016(
        law.max_isometric_force, law.optimal_fiber_length, law.tendon_slack_length, law.pennation,
        law.max_contraction_velocity, "rigid", damping=0.01,
    )  # fmt: skip
    return replace(muscle, law=curves, activation_dynamics=ActivationDynamics())


def _lean(point: Point) -> Array:
    """The square of the angle of the trunk from the vertical."""
    result: Array = (point["pelvis_tilt"] + point["lumbar_extension"]) ** 2
    return result


def walking_problem(model: Model, intervals: int) -> Problem:
    """A symmetric half cycle at the given speed."""
    names = (*model.system.coordinate_names, *model.muscle_names)
    pairs = {name: _other(name) for name in names if name.endswith(("_r", "_l"))}
    pairs |= {f"{m}.activation": f"{_other(m)}.activation" for m in model.muscle_names}
    advance = BoundaryConstraint(
        "speed", lambda first, last, duration: last["pelvis_tx"] - first["pelvis_tx"] - SPEED * duration
    )
    bounds: dict[str, Any] = {name: (LEAST, 1.0) for m in model.muscle_names for name in (m, f"{m}.activation")}
    for name in model.system.coordinate_names:
        stem = name.removesuffix("_r").removesuffix("_l")
        if stem in BOUNDS:
            bounds[name] = BOUNDS[stem]
    back = model.system.velocity_names[model.system.coordinate_names.index("lumbar_extension")]
    weight = total_mass(model.system) * 9.81
    goals = (
        MetabolicEnergy(mean=True, scale=weight * SPEED, name="cost of transport"),
        Effort(weight=0.5, mean=True), Accelerations(weight=2e-5, mean=True),
        OwnGoal(_lean, mean=True, name="trunk"),
    )  # fmt: skip
    return Problem(
        model, DURATION, goals, intervals, "midpoint", torques={back: 30.0}, initial={"pelvis_tx": 0.0},
        bounds=bounds | {f"{back}.torque": (-1.0, 1.0)}, constraints=(advance,),
        periodic=Periodic(pairs, free=("pelvis_tx",)),
    )  # fmt: skip


def _other(name: str) -> str:
    return name[:-1] + ("l" if name.endswith("r") else "r")


def guess(problem: Problem) -> dict[str, Any]:
    """A step of the right leg in straight lines, at the given speed."""
    s, model = np.linspace(0.0, 1.0, 21), problem.model
    duration = 0.55
    swing, stance = -0.3 + 0.8 * s, 0.5 - 0.8 * s
    poses: dict[str, Array | float] = {
        "pelvis_tx": SPEED * duration * s, "pelvis_ty": 0.93, "pelvis_tilt": -0.05, "lumbar_extension": -0.1,
        "hip_flexion_r": swing, "hip_flexion_l": stance, "knee_angle_r": -0.2 - 0.9 * np.sin(np.pi * s),
        "knee_angle_l": -0.15, "ankle_angle_r": 0.0, "ankle_angle_l": 0.1,
    }  # fmt: skip
    assert isinstance(model, Model)
    rates = {}
    for name, values in poses.items():
        velocity = model.system.velocity_names[model.system.coordinate_names.index(name)]
        rates[velocity] = np.gradient(np.broadcast_to(values, s.shape), s * duration)
    activations = {name: 0.1 for m in model.muscle_names for name in (m, f"{m}.activation")}
    return {"duration": duration, **poses, **rates, **activations}
