"""Predictive walking: a half cycle of a planar model of 10 degrees of freedom and 18 muscles, with contact of the feet.

No recording is tracked. The motion is symmetric, the speed is given and the duration is not. The mean metabolic power
by weight and speed counts, with terms that keep controls and accelerations small. `MYOQUAT_GAIT` names OpenSim's
gait10dof18musc.osim. Contact as in Moco's example2DWalking [A. Falisse, in C. L. Dembia et al., PLoS Comput. Biol. 16,
e1008493, 2020]: a sphere at the heel and one at the front of each foot. Times are of the processor.
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import myoquat as mq
from benchmarks.control.timing import timed
from myoquat.analysis.control import (
    Accelerations,
    BoundaryConstraint,
    Effort,
    Ipopt,
    MetabolicPower,
    Periodic,
    Problem,
    Solution,
)
from myoquat.core.typing import Array
from myoquat.muscle import ActivationDynamics, Model, Muscle, contact_forces
from myoquat.muscle.forces import ContactHalfSpace, ContactSphere, SmoothSphereHalfSpace
from myoquat.muscle.laws import DeGrooteFregly2016, HillLaw

__all__ = ["rows"]

SPEED, DURATION, INTERVALS = 1.2, (0.4, 0.75), 40  # m/s, s of a half cycle
HEEL, FRONT = ((0.0313, 0.0104, 0.0), 0.035), ((0.1774, -0.0157, -0.0052), 0.015)  # place on the calcaneus, radius [m]
CONTACT: dict[str, float] = {
    "stiffness": 3067776.0, "dissipation": 2.0, "static_friction": 0.8, "dynamic_friction": 0.8,
    "viscous_friction": 0.5, "transition_velocity": 0.2, "hertz_smoothing": 200.0, "hunt_crossley_smoothing": 50.0,
}  # fmt: skip
LEAST = 0.01  # activation and excitation
SOLVER = Ipopt(1e-4, 1e-4, 1000, "limited-memory")  # fewer iterations on gait than exact second derivatives
BOUNDS = {
    "pelvis_tilt": (-0.5, 0.3), "pelvis_ty": (0.75, 1.05), "hip_flexion": (-0.9, 1.0), "knee_angle": (-1.8, 0.02),
    "ankle_angle": (-0.7, 0.6), "lumbar_extension": (-0.6, 0.3),
}  # fmt: skip


def rows() -> list[dict[str, Any]]:
    """Two rows: from a guess of straight lines, 40 intervals of the midpoint rule, then 80 from that solution."""
    file = Path(os.environ.get("MYOQUAT_GAIT", ""))
    if not file.is_file():
        return [{"work": "MYOQUAT_GAIT names no file gait10dof18musc.osim", "route": "none"}]
    found, start = [], None
    for intervals in (INTERVALS, 2 * INTERVALS):
        problem = walking_problem(walker(file), intervals)
        begin = guess(problem) if start is None else start
        _, first = timed(lambda problem=problem, begin=begin: problem.solve(begin, replace(SOLVER, max_iterations=1)))
        start, seconds = timed(lambda problem=problem, begin=begin: problem.solve(begin, SOLVER))
        found.append({
            "work": f"predictive walking, 18 muscles, {intervals} intervals, {SPEED} m/s", "route": "myoquat",
            "seconds": seconds, "first": first + seconds, "in_formulas": start.evaluation_seconds,
            "iterations": start.iterations, "status": start.status.value, "objective": start.objective, **start.goals,
            "half_cycle": start.duration, "peak_weight": _peak(start), "violation": start.violation,
        })  # fmt: skip
    return found


def _peak(solution: Solution) -> float:
    """The greatest vertical force on the ground, in units of the body's weight."""
    model = solution.model
    assert isinstance(model, Model)
    force = contact_forces(model, solution.q, solution.u)[..., 1].sum(axis=-1)
    return float(force.max() / (_mass(model) * np.linalg.norm(model.system.gravity)))


def _mass(model: Model) -> float:
    return float(sum(body.mass for body in model.system.bodies))


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


def walking_problem(model: Model, intervals: int = INTERVALS) -> Problem:
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
    weight = _mass(model) * 9.81
    goals = (
        MetabolicPower(mean=True, scale=weight * SPEED, name="cost of transport"),
        Effort(weight=0.5, mean=True), Accelerations(weight=2e-5, mean=True),
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
