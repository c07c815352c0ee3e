"""Laws of optimal control, studies and environments: each equals a simulation or another analysis of the same model."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from myoquat.analysis.control import Effort, Ipopt, Problem
from myoquat.analysis.recruitment import redundancy
from myoquat.analysis.recruitment.tolerances import NEWTON_GAP
from myoquat.analysis.studies import Study
from myoquat.data import Motion
from myoquat.dynamics import simulate
from myoquat.environments import PoseTask, VectorEnvironment
from myoquat.environments.stepping import with_implicit_damping

from .case import STATES, Case
from .checks import Broken, NotHere, close, from_one_start
from .compiled import varied

STRENGTH = 1000.0  # [N m, N] of reserves
EXCITATION = 0.5


def prescribed_motion(case: Case) -> None:
    """Optimal control of a prescribed motion is muscle redundancy, at the points of every transcription.

    The effort J = |x|^2 of activations and reserves x has its least value at x* under linear equations and bounds.
    There J(x) >= J(x*) + |x - x*|^2, so that |x - x*|^2 is at most the effort of a frame minus its lower bound, which
    redundancy certifies. Large reserves make both numbers large, and their difference is 1e-11 of them at first.
    """
    m, system, start = case.model, case.system, float(case.t[0])
    t = np.linspace(0.0, 0.1, 11)[:, None]
    motion = Motion(m, start + t[:, 0], system.integrate(case.q[0], t * case.u[0] + t * t / 2 * case.udot[0]))
    problem = Problem(m, 0.1, (Effort(),), 2, case.options["transcription"], start, prescribed=motion,
                      torques=dict.fromkeys(system.velocity_names, STRENGTH))  # fmt: skip
    solution = problem.solve(solver=Ipopt(tolerance=1e-11))
    if not solution.success:
        raise Broken(str(solution.status))
    frames = problem.plant.motion_at(solution.control_time)
    expected = redundancy(m, frames, reserves=STRENGTH, backend="numpy")
    gap = np.nan_to_num(expected.effort - expected.bound)
    if (gap > NEWTON_GAP * np.maximum(expected.effort, 1.0)).any():
        raise Broken(f"efforts exceed their bounds by {gap.max():.1e}")
    n, off = len(m.muscles), max(1e-4, 1.1 * float(np.sqrt(gap.max(initial=0.0))))
    close("activations", solution.controls[:, :n], expected.activation, off)
    close("reserves", solution.controls[:, n:], expected.reserve / STRENGTH, off)


def solution_forward(case: Case) -> None:
    """A solution, simulated forward, reproduces itself, or comes nearer to that with more intervals.

    Activations start as the model names them, and fibers in equilibrium. Left free, lengths cost nothing, and the first
    interval would begin with a jump that no number of intervals resolves. The same jump follows from an activation that
    is a control. Excitations and such activations are constant. An optimal one leaves its bound with a kink, and the
    error depends on where in an interval this is. It also alternates from point to point. Muscles tense faster than
    they relax, so that the mean of two excitations costs less than one.
    """
    m, system, start, duration = case.model, case.system, float(case.t[0]), 0.02
    free = simulate(m, case.q[0], case.u[0], duration, step=1e-3, start_time=start)
    ends: dict[str, Any] = {"initial": {"q": case.q[0], "u": case.u[0]}, "final": {"u": free.u[-1] + 0.1}}
    fibers = [name for name in case.equations.own if name.endswith("fiber_length")]
    if m.muscles and not case.prescribes("muscle_names"):
        ends["bounds"] = {"m": (EXCITATION, EXCITATION)}
    if "m.activation" in case.equations.own:
        (muscle,) = m.muscles
        ends["initial"] |= {
            "m.activation": muscle.activation,
            **dict(zip(fibers, free.muscle_states[0] if fibers else (), strict=True)),
        }
    elif fibers:
        raise NotHere("the fiber jumps with its activation")
    error = np.inf
    for intervals in (4, 16, 64):  # the last one where a mode of the model is faster than the first
        torques = dict.fromkeys(system.velocity_names, 10.0)
        problem = Problem(m, duration, (Effort(),), intervals, "radau", start, torques=torques, **ends)
        solution = problem.solve(solver=Ipopt(tolerance=1e-9))
        if not solution.success:
            raise NotHere(str(solution.status))
        before, error = error, solution.simulate().largest
        if error < 1e-6 or (error < 0.1 and 2 * error < before < np.inf):
            return
        if before < 0.1:
            break
    raise Broken(f"{intervals} intervals: a forward simulation is off by {error:.1e}, with a quarter by {before:.1e}")


def studies(case: Case) -> None:
    """A study equals simulations of its members, and one that was interrupted and resumed equals one that was not."""
    numbers = varied(case, 1)
    if not numbers:
        raise NotHere("no numbers")
    (name, value), (q, u) = *numbers.items(), (case.q[0], case.u[0])
    options: dict[str, Any] = {"duration": 2e-3, "step": 1e-3, "start_q": q, "start_u": u, "times": 2}
    study = Study(case.model, {name: [value, value * 1.003]}, design="grid", **options)
    with tempfile.TemporaryDirectory() as folder:
        stored = Path(folder) / "results"
        with from_one_start():
            whole = study.run(stored, block=1, progress=False).load()
        for part in ("status", "q"):  # as if the second block had not been reached
            shutil.rmtree(stored / part / "c" / "1", ignore_errors=True)
            (stored / part / "c" / "1").unlink(missing_ok=True)
        resumed = study.run(stored, resume=True, progress=False).load()
    if not resumed.identical(whole):
        raise Broken("resumed results differ")
    for i, values in enumerate(study.values()):
        alone = simulate(study.parameters.bind(values), q, u, 2e-3, step=1e-3)
        for quantity in ("q", "u"):
            close(f"{quantity} of member {i}", whole[quantity].values[i], getattr(alone, quantity)[1:], 1e-11)


def environment(case: Case) -> None:
    """Steps of an environment are a simulation with implicit damping of joints, from muscles at rest."""
    m, h, system = case.model, 1e-3, case.system
    if not {*m.muscle_names, *m.control_names} - {prescribed.name for prescribed in m.inputs}:
        raise NotHere("nothing acts")
    if m.constraints and any(c.prescribed is not None for c in m.coordinates):
        raise NotHere("episodes begin at rest, off constraints of bodies that a prescribed coordinate moves")
    task = PoseTask(m, h, 3, low=m.start_q, high=m.start_q, start_time=float(case.t[0]))
    with from_one_start():
        envs = VectorEnvironment(task, STATES)
    envs.reset(seed=0)
    actions = np.linspace(-0.8, 0.8, STATES)[:, None] * np.ones(envs.action_space.shape)
    envs.step(actions)
    moved = envs.episodes.x
    names = [name for name in m.muscle_names if name not in {given.name for given in m.inputs}]
    inputs: dict[str, Any] = {}
    if names:
        excitation = np.asarray(task.excitations(actions[:, : len(names)]))
        dynamics = bool(case.equations.excited)
        inputs = {"activation": 0.0 * excitation, "excitation": excitation} if dynamics else {"activation": excitation}
    if actions.shape[1] > len(names):
        low, high = np.array([b for actuator in m.actuators for b in actuator.bounds]).T
        inputs["controls"] = low + (actions[:, len(names) :] + 1) / 2 * (high - low)
    start = np.broadcast_to(m.start_q, (STATES, system.nq)), np.zeros((STATES, system.nu))
    damped = with_implicit_damping(m, h)
    options: dict[str, Any] = {"step": h, "method": "semi_implicit_euler", "start_time": float(case.t[0])}
    if "activation" in inputs:
        rest = simulate(damped, *start, h, **options, **inputs | {"activation": 0.0 * excitation})
        inputs["muscle_states"] = None if rest.muscle_states is None else rest.muscle_states[:, 0]
    run = simulate(damped, *start, 3 * h, **options, **inputs)
    state = np.concatenate([run.q[:, -1], run.u[:, -1]], axis=-1)
    close("state after a step", moved[:, : state.shape[-1]], state, 1e-11)
