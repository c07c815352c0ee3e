"""Optimal control: beside CasADi alone on the same program, Moco's published tracking problem, and a gimbal lock.

Environment variables name the data:

- `MYOQUAT_MOCO`: a folder with opensim-core's data of `testMocoTrack`: walk_gait1018_subject01.osim,
  walk_gait1018_state_reference.mot, walk_gait1018_subject01_grf.xml and .mot
- `MYOQUAT_MOCO_INVERSE`: a folder with the data of `testMocoInverse`
- `MYOQUAT_MOCO_WALK`: a folder with the data of `exampleMocoTrack`
- `MYOQUAT_ELEVATION`: a folder with a measured arm elevation
- `MYOQUAT_SHOULDER`: a folder with an abduction
- `MYOQUAT_GAIT`: the file gait10dof18musc.osim of OpenSim's models

Times are of the processor. `MYOQUAT_MOCO_RUNS=track,inverse` runs Moco itself beside the second and third.
"""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import casadi
import numpy as np

import myoquat as mq
from benchmarks.control import elevation, inverse as inverse_problem, moco, shoulder, walk, walking
from benchmarks.control.timing import timed
from myoquat.analysis.control import (
    Effort,
    HermiteSimpson,
    IntegralGoal,
    Ipopt,
    Problem,
    Solution,
    TrackPose,
    TrackSpeeds,
)
from myoquat.analysis.control.points import StateSpace
from myoquat.analysis.motion import smooth
from myoquat.core import Array
from myoquat.data import Motion, load_forces, load_motion
from myoquat.dynamics import inverse
from myoquat.joints import quaternion_exp, quaternion_multiply
from myoquat.joints.multibody.state import integrate
from myoquat.kernels import as_array, as_casadi_vector, symbols_casadi
from myoquat.muscle import Model, states

REPEATS = 5
TRACKING, EFFORT = 10.0, 0.01
TOLERANCE = 1e-10
GUESSES = 10
TILT = np.radians(4)
FOLLOWS = 0.02  # rad, rad/s


def run() -> list[dict[str, Any]]:
    """A row per problem and route."""
    rows = [*_two_link(100), *_two_link(400, peer=False), *_gait(), *inverse_problem.rows(), *walk.rows()]
    return [*rows, *moco.rows(), *_lock(), *elevation.rows(), *shoulder.rows(), *walking.rows()]


# ---- two_link beside CasADi alone ------------------------------------------------------------------------------


def _two_link(intervals: int, peer: bool = True) -> list[dict[str, Any]]:
    """Tracking of a simulated motion of 1 s by six muscles, the midpoint rule on the group."""
    model = mq.load_model("two_link")
    way = mq.simulate(model, duration=1.0, step=1e-3, output_step=1 / intervals)
    goals = TrackPose(Motion(model, way.time, way.q), weight=TRACKING), Effort(weight=EFFORT)

    def ours() -> Solution:
        start = {"q": way.q[0], "u": way.u[0]}
        problem = Problem(model, 1.0, goals, intervals, "midpoint", initial=start)
        return problem.solve(solver=Ipopt(tolerance=TOLERANCE))

    _, cold = timed(ours)
    solutions = [timed(ours) for _ in range(REPEATS)]
    solution, seconds = solutions[0][0], median(s for _, s in solutions)
    work = f"two_link tracking, {intervals} intervals"
    own = {
        "work": work, "route": "myoquat", "seconds": seconds, "first": cold, "iterations": solution.iterations,
        "objective": solution.objective, "norm_error": solution.norm_error, "in_formulas": solution.evaluation_seconds,
    }  # fmt: skip
    if not peer:
        return [own]
    solver, start, bounds = casadi_alone(model, goals[0], way)
    found, alone = timed(lambda: solver(x0=start, lbg=0, ubg=0, lbx=bounds[0], ubx=bounds[1]))
    objective = float(found["f"])
    theirs = {
        "work": work, "route": "CasADi alone", "seconds": alone, "iterations": solver.stats()["iter_count"],
        "objective": objective, "difference": abs(solution.objective - objective),
    }  # fmt: skip
    return [own, theirs]


def casadi_alone(model: Model, goal: TrackPose, way: Any) -> tuple[Any, Array, tuple[Array, Array]]:
    """The program of the midpoint rule between the frames of a simulation from t = 0, with four unknowns for each
    quaternion and CasADi's own derivatives: solver, start, and bounds."""
    layout, n = model.system, len(way.time) - 1
    h = way.time[-1] / n
    x0, x1, a, reference = (symbols_casadi(name, (k,)) for name, k in (("x0", 14), ("x1", 14), ("a", 6), ("r", 8)))
    q0, u0, q1, u1 = x0[:8], x0[8:], x1[:8], x1[8:]
    u = (u0 + u1) / 2
    q = integrate(layout, q0, h / 2 * u)
    torque = inverse.inverse(model.system, q, u, (u1 - u0) / h) - states.torques(model, q, u, a, None)
    d = StateSpace(layout).displacement(reference, q)
    cost = h * (TRACKING * np.sum(d * d, axis=-1) + EFFORT * np.sum(a * a, axis=-1))
    rows = casadi.vertcat(as_casadi_vector(q1 - integrate(layout, q0, h * u)), as_casadi_vector(torque))
    inputs = [as_casadi_vector(v) for v in (x0, x1, a, reference)]
    step = casadi.Function("step", inputs, [rows, as_casadi_vector(as_array([cost]))])
    X, A = casadi.MX.sym("X", 14, n + 1), casadi.MX.sym("A", 6, n)
    plant = Problem(model, way.time[-1], (goal,), n, "midpoint").plant
    data = goal.samples(plant, (np.arange(n) + 0.5) * h)
    constraints, costs = step.map(n)(X[:, :-1], X[:, 1:], A, casadi.DM(data.T))
    unknowns = casadi.vertcat(casadi.vec(X), casadi.vec(A))
    program = {"x": unknowns, "f": casadi.sum2(costs), "g": casadi.vec(constraints)}
    options = {"ipopt.print_level": 0, "print_time": False, "ipopt.tol": TOLERANCE, "ipopt.sb": "yes"}
    nodes = np.concatenate([way.q, way.u], axis=1)
    low, high = np.full((n + 1, 14), -np.inf), np.full((n + 1, 14), np.inf)
    low[0] = high[0] = nodes[0]
    bounds = np.append(low, np.zeros(6 * n)), np.append(high, np.ones(6 * n))
    return casadi.nlpsol("alone", "ipopt", program, options), np.append(nodes, np.full(6 * n, 0.3)), bounds


# ---- Moco's tracking problem -----------------------------------------------------------------------------------


def _gait() -> list[dict[str, Any]]:
    """Torque-driven tracking of a walk, 0.5 s, 25 intervals of Hermite-Simpson with linear controls, as Moco has it."""
    folder = Path(os.environ.get("MYOQUAT_MOCO", ""))
    if not (folder / "walk_gait1018_subject01.osim").is_file():
        return [{"work": "MYOQUAT_MOCO names no folder with walk_gait1018_subject01.osim", "route": "none"}]
    model = replace(mq.load_model(folder / "walk_gait1018_subject01.osim"), muscles=())
    motion = smooth(load_motion(folder / "walk_gait1018_state_reference.mot", model), 6.0, order=6)
    goals = TrackPose(motion, weight=10.0), TrackSpeeds(motion, weight=10.0), Effort(weight=0.001)
    torques = dict.fromkeys(model.system.velocity_names, 100.0)
    loads = load_forces(folder / "walk_gait1018_subject01_grf.xml")

    def ours() -> Solution:
        method = HermiteSimpson(linear_controls=True)
        return Problem(model, 0.5, goals, 25, method, start=0.5, torques=torques, loads=loads).solve()

    _, cold = timed(ours)
    solutions = [timed(ours) for _ in range(REPEATS)]
    solution = solutions[0][0]
    work = "gait10dof18musc, torque-driven tracking (Moco: 9.5 s, 84 iterations, 0.0398195, tolerance 1e-4)"
    return [
        {"work": work, "route": "myoquat", "seconds": median(s for _, s in solutions), "first": cold,
         "iterations": solution.iterations, "objective": solution.objective, "kkt_error": solution.kkt_error}
    ]  # fmt: skip


# ---- through a gimbal lock -------------------------------------------------------------------------------------


def _lock() -> list[dict[str, Any]]:
    """An arm on a ball joint, torques in all directions, an elevation past the lock of YZY. Ten random guesses, and the
    number of solutions whose torques follow the motion in a forward simulation."""
    rows = []
    for rotations in ("quaternion", "YZY"):
        model = Model(_arm()).with_rotations(rotations)
        problem = _elevation(model)
        problem.solve()
        rng, found = np.random.default_rng(0), []
        for _ in range(GUESSES):
            guess = {name: rng.normal(size=4) for name in model.system.velocity_names}
            solution, seconds = timed(
                lambda problem=problem, guess=guess: problem.solve(guess, Ipopt(max_iterations=300))
            )
            found.append((solution, seconds))
        solved = [s for s, _ in found if s.success]
        rows.append({
            "work": "elevation past the lock at 4 degrees, 10 random guesses", "route": rotations,
            "converged": len(solved), "iterations": median(s.iterations for s, _ in found),
            "seconds": median(t for _, t in found), "objective": min((s.objective for s in solved), default=np.nan),
            "largest": max((s.objective for s in solved), default=np.nan),
            "follows": sum(bool(s.simulate().largest < FOLLOWS) for s in solved),
        })  # fmt: skip
    return rows


def _arm() -> mq.ArticulatedSystem:
    joint = mq.joints.SphericalJoint(sequence="YZY")
    inertia = (0.02, 0.02, 0.002, 0.0, 0.0, 0.0)
    return mq.ArticulatedSystem(
        (mq.Body("arm", "ground", joint, mass=2.0, center_of_mass=(0, 0, -0.15), inertia=inertia),)
    )


def _elevation(model: Model) -> Problem:
    """A turn about x, tilted by four degrees, past the pose in which the first and the third axis of YZY coincide."""
    start = quaternion_multiply(quaternion_exp(np.array([-0.6, 0.0, 0.0])), quaternion_exp(np.array([0, 0, TILT])))
    path = [quaternion_multiply(quaternion_exp(np.array([1.2 * s, 0.0, 0.0])), start) for s in np.linspace(0, 1, 31)]
    reference = Motion(_arm(), np.linspace(0, 1, 31), np.array(path))
    system, tracked = model.system, _Hand(reference)
    torques = dict.fromkeys(system.velocity_names, 10.0)
    initial = {"q": mq.joints.convert_coordinates(_arm(), system, reference.q[0]), "u": 0.0}
    return Problem(model, 1.0, (tracked, Effort(weight=1e-3)), 30, torques=torques, initial=initial)


@dataclass(frozen=True)
class _Hand(IntegralGoal):
    """Follows the rotation matrix of a motion, whatever describes the joint: |R - R_ref|^2 = 4 (1 - cos angle)."""

    motion: Motion

    def content(self, plant: Any) -> Any:
        return "hand"

    def samples(self, plant: Any, time: Array) -> Array:
        Q = mq.joints.normalize(np.array([np.interp(time, self.motion.time, c) for c in self.motion.q.T]).T)
        return mq.joints.rotation_matrix(Q).reshape(len(time), 9)

    def integrand(self, plant: Any, point: Any, data: Array) -> Array:
        R, _ = point.system.poses(point.q)["arm"]
        result: Array = np.sum((R.reshape((*R.shape[:-2], 9)) - data) ** 2, axis=-1)
        return result
