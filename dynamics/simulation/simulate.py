"""simulate: from a model and its state at the start to a trajectory."""

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from tqdm import tqdm

from myoquat.dynamics.constraints import Constraint, ConstraintArrays, Constraints
from myoquat.dynamics.equations import forward_dynamics
from myoquat.dynamics.integrators import StateEquations, VariedEquations
from myoquat.dynamics.simulation.adaptive import ADAPTIVE, EVENT
from myoquat.dynamics.simulation.batches import solve_batch
from myoquat.dynamics.simulation.controls import Control
from myoquat.dynamics.simulation.events import Event
from myoquat.dynamics.simulation.schedule import Schedule
from myoquat.dynamics.simulation.simulator import BASELINE, Run, Simulator
from myoquat.dynamics.simulation.trajectory import REASONS, Trajectory
from myoquat.joints.checks import check_state
from myoquat.joints.door import system_of
from myoquat.joints.quaternion import normalize
from myoquat.kernels import Steps
from myoquat.muscle.evaluate import limit_torques, muscle_torques
from myoquat.muscle.model import Model

__all__ = ["SimulationWarning", "simulate"]

LONG = 1_000_000  # steps times states from which a progress bar is shown on a terminal


class SimulationWarning(UserWarning):
    """A simulation stopped before its end; the trajectory holds what was computed."""


def simulate(
    model: Any,
    q0: Any = None,
    u0: Any = None,
    duration: float = 1.0,
    step: float | None = None,
    rtol: float | None = None,
    activation: Any = None,
    torque: Any = None,
    constraints: tuple[Any, ...] = (),
    method: str = "rk4",
    stabilization: str = "projection",
    output_step: float | None = None,
    *,
    excitation: Any = None,
    muscle_states: Any = None,
    parameters: Mapping[str, Any] | None = None,
    events: Sequence[Event] = (),
    project_start: bool = False,
    progress: bool | None = None,
) -> Trajectory:
    """Move a Model or an ArticulatedSystem from q0 (..., nq), u0 (..., nu) over `duration` [s].

    q0, u0         the start, by default the model's own (neutral and at rest if it names none); leading axes
                   broadcast with those of activation and torque and run side by side.
    method         of fixed step: "rk4", "lie_rk4", "euler" (semi-implicit), "variational" (symplectic); adaptive:
                   "dop853", "rk45", "radau" (implicit, for stiff muscles). rtol asks for an adaptive one, dop853 if
                   method is left at "rk4".
    step           [s] of a fixed-step method, 1e-3 by default; shortened so that whole steps fill duration and
                   output_step. Of an adaptive method, its first step.
    rtol           bound on the local error of a step of an adaptive method, 1e-6 by default, relative to 1 + |x|.
    stabilization  "projection" divides every Q by its length after each step and brings the state onto the
                   constraints, along M^-1 A^T; "norm" divides every Q by its length alone, which is the geometric
                   projection onto the unit sphere, and leaves constraints to drift; "baumgarte" pulls both back;
                   "none". Adaptive methods know no "norm".
    constraints    `myoquat.dynamics.constraints` that the motion obeys; redundant ones need dop853 or rk45.
    activation     in [0, 1], the model's own by default: (m,), (..., m), a pair (times (k,), values (..., k, m)),
                   linear in between, or a function of t; torque (nu,) [N m] on u likewise, zero by default.
    excitation     of a model with activation dynamics, in every form of activation, which is then a state: activation
                   is its start (..., m), equal to the excitation if it is not given, and the other way round. Muscles
                   without activation dynamics act as they are excited.
    muscle_states  (..., ns) the start of `myoquat.muscle.state_names`, such as the fiber lengths [m] of elastic
                   tendons; in equilibrium at rest by default. Stiff tendons need small steps, or radau.
    parameters     numbers of the model by name (`myoquat.muscle.parameter_names`, patterns with `*` too), each an
                   array (...) whose axes broadcast with those of q0 and u0: every run has a model of its own.
                   With the methods rk4, lie_rk4 and euler, without constraints.
    output_step    [s] between rows of the trajectory; every step by default.
    events         `Event`s to look for, with an adaptive method; they end up in `Trajectory.occurrences`.
    project_start  True divides quaternions of q0 by their lengths and moves the start onto the constraints; otherwise
                   one that is off by more than 1e-6 is refused, with the violation.
    progress       True, False, or None for a bar on long runs in a terminal.

    A state that blows up (not finite, or |u| beyond 1e6) stops alone: a SimulationWarning gives time, state and norm
    of the acceleration, `Trajectory.stopped` and `.reason` keep it, later rows are NaN. Raises ValueError for an
    unknown method or stabilization, times that are not positive, and values that do not fit, ModelError for a
    singular mass matrix.
    """
    system = system_of(model)
    q, u = _start(model, q0, u0, project_start)
    inputs = {
        "activation": activation, "torque": torque, "excitation": excitation, "muscle_states": muscle_states
    }  # fmt: skip
    adaptive = method in ADAPTIVE or rtol is not None
    parameters = dict(parameters or {})
    if adaptive and parameters:
        raise ValueError("parameters need a method of fixed step, rk4, lie_rk4 or euler; adaptive ones take one model")
    constraints = tuple(constraints)
    rank = count = 0
    if constraints:
        q, u, rank, count = _constrained_start(system, constraints, q, u, project_start)
    if events and not adaptive:
        raise ValueError(f"events need an adaptive method, one of {', '.join(ADAPTIVE)}, not {method!r}")
    if adaptive and stabilization == "norm":
        raise ValueError("stabilization 'norm' is one of fixed steps; adaptive methods take projection or baumgarte")
    if adaptive:
        method = "dop853" if method == "rk4" else method
        run, simulator, controls, steps, occurrences = _adaptive(
            model, q, u, duration, step, rtol, inputs, method, stabilization, output_step, events, constraints,
            rank < count,
        )  # fmt: skip
    else:
        if rank < count:
            raise ValueError(
                f"{count} constraints of rank {rank} at the start: redundant ones need an adaptive method, one of "
                f"dop853 and rk45 (rtol=...)"
            )
        run, simulator, controls = _fixed(
            model, q, u, duration, step, inputs, method, stabilization, output_step, progress, constraints, parameters
        )
        steps = np.broadcast_to(Schedule.of(duration, step, output_step).steps, run.stopped.shape)[()]
        occurrences = ()
    given = {name: control.at(run.time) for name, control in controls.items()}
    equations, seen = simulator.equations, given | {"own": run.own}
    trajectory = Trajectory(
        model, run.time, run.q, run.u, equations.activation(seen) if equations.muscles else None, given.get("torque"),
        f"{method}, {stabilization}", run.stopped, run.reason, steps, occurrences, constraints,
        equations.states(seen), given.get("excitation"), simulator.values(parameters), tuple(simulator.names),
    )  # fmt: skip
    if np.isin(run.reason, (Steps.RAN, EVENT), invert=True).any():
        message = _stop_message(simulator.equations, run, controls, trajectory.parameters)
        warnings.warn(message, SimulationWarning, stacklevel=2)
    return trajectory


def _fixed(
    model: Any, q: Any, u: Any, duration: float, step: float | None, inputs: dict[str, Any], method: str,
    stabilization: str, output_step: float | None, progress: bool | None, constraints: tuple[Constraint, ...],
    parameters: dict[str, Any],
) -> tuple[Run, Simulator, dict[str, Control]]:  # fmt: skip
    """By a compiled loop, all states side by side."""
    simulator = Simulator(
        model, method=method, stabilization=stabilization, outside=inputs["torque"] is not None,
        constraints=constraints, parameters=parameters,
    )  # fmt: skip
    if simulator.held is not None and stabilization == "projection" and method != "euler" and simulator.held.varies():
        raise ValueError(
            f"constraints that change with time: method {method!r} cannot project onto them; use "
            "stabilization='baumgarte' or an adaptive method (rtol=...)"
        )
    controls = simulator.controls(inputs["activation"], inputs["torque"], inputs["excitation"])
    states = math.prod(np.broadcast_shapes(q.shape[:-1], u.shape[:-1]))
    total = round(duration / (step or 1e-3)) if duration > 0 and math.isfinite(duration) else 0
    hidden = (None if states * total >= LONG else True) if progress is None else not progress
    with tqdm(total=total, unit="step", disable=hidden, leave=False) as bar:
        run = simulator(
            q, u, duration, step=step, output_step=output_step, parameters=parameters, tick=bar.update, **inputs
        )
    return run, simulator, controls


def _adaptive(
    model: Any, q: Any, u: Any, duration: float, step: float | None, rtol: float | None, inputs: dict[str, Any],
    method: str, stabilization: str, output_step: float | None, events: Sequence[Event],
    constraints: tuple[Constraint, ...], redundant: bool,
) -> tuple[Run, Simulator, dict[str, Control], Any, Any]:  # fmt: skip
    """By SciPy's solvers, state after state."""
    if method not in ADAPTIVE:
        raise ValueError(f"rtol needs an adaptive method, one of {', '.join(ADAPTIVE)}, not {method!r}")
    rtol = 1e-6 if rtol is None else rtol
    if not 1e-14 < rtol < 1:
        raise ValueError(f"rtol must lie between 1e-14 and 1, not {rtol!r}")
    if redundant and method == "radau":
        raise ValueError("method 'radau' needs independent constraints; dop853 and rk45 take redundant ones")
    outside = inputs["torque"] is not None
    simulator = Simulator(model, stabilization=stabilization, outside=outside, constraints=constraints)
    controls = simulator.controls(inputs["activation"], inputs["torque"], inputs["excitation"])
    start = (q, u, *simulator.own_start(q, controls, inputs["activation"], inputs["muscle_states"]))
    schedule = Schedule.of(duration, step, output_step)
    rows = np.minimum(schedule.times[1:], duration)  # 3 times 0.1 is a little more than 0.3
    constant = (BASELINE * schedule.h,) if simulator.equations.baumgarte else ()
    run, steps, occurrences = solve_batch(
        model, simulator.equations, start, duration, controls,
        output=None if output_step is None else rows, events=events, method=method, rtol=rtol,
        parameters=constant, project=stabilization == "projection", first_step=step,
        redundant=redundant,
    )  # fmt: skip
    return run, simulator, controls, steps, occurrences


def _start(model: Any, q0: Any, u0: Any, project: bool) -> tuple[np.ndarray, np.ndarray]:
    """The checked start; the model's own where nothing is given."""
    system = system_of(model)
    own_q, own_u = getattr(model, "start_q", None), getattr(model, "start_u", None)
    q = q0 if q0 is not None else system.neutral() if own_q is None else own_q
    u = u0 if u0 is not None else np.zeros(system.nu) if own_u is None else own_u
    if project:
        q = np.array(check_state("q0", q, system.nq, system.coordinate_names))
        for s in system.quaternion_slices():
            q[..., s] = normalize(q[..., s])
    try:
        return system.check_q(q), system.check_u(u)
    except ValueError as error:
        hint = "; project_start=True divides by the length" if "must be 1 to within" in str(error) else ""
        raise ValueError(f"{error}{hint}") from None


def _constrained_start(
    system: Any, constraints: tuple[Constraint, ...], q: np.ndarray, u: np.ndarray, project: bool
) -> tuple[np.ndarray, np.ndarray, int, int]:
    """The start on the constraints, their rank there and their number; ValueError with the violation otherwise."""
    held = ConstraintArrays(Constraints(system, constraints))
    batch = np.broadcast_shapes(q.shape[:-1], u.shape[:-1])
    q, u = (np.array(np.broadcast_to(x, (*batch, x.shape[-1]))) for x in (q, u))
    if project:
        for where in np.ndindex(batch):
            q[where], u[where] = held.nearest(q[where], u[where])
    held.check(q, u)
    ranks = [held.rank(q[where], 0.0) for where in np.ndindex(batch)]
    return q, u, min(ranks, default=0), held.count


def _stop_message(equations: StateEquations, run: Run, controls: dict[str, Any], parameters: Any) -> str:
    """Time, state and |udot| of the first state that stopped."""
    failed = np.isin(run.reason, (Steps.RAN, EVENT), invert=True)
    where = tuple(int(i) for i in np.argwhere(failed)[0]) if run.reason.ndim else ()
    time, q, u = float(run.stopped[where]), run.final_q[where], run.final_u[where]
    values = {name: _picked(control.at(np.array([time]))[..., 0, :], where) for name, control in controls.items()}
    values["own"] = run.final_own[where]
    norm = _acceleration_norm(equations, q, u, values, parameters, where)
    which = f"state {list(where)} of {np.count_nonzero(failed)} that stopped" if where else "the simulation stopped"
    return (
        f"{which} at t = {time:.6g} s: {REASONS[int(run.reason[where])]}; last good state q = {_shown(q)}, "
        f"u = {_shown(u)}, |udot| = {norm:.6g}. Rows after it are NaN; a smaller step may help"
    )


def _acceleration_norm(
    equations: StateEquations, q: Any, u: Any, values: dict[str, Any], parameters: Any, where: tuple[int, ...]
) -> float:
    """|udot| of one state, NaN where there is none: off the unit sphere or at a lock."""
    model, backend = equations.model, "kernel"
    if parameters is not None and isinstance(equations, VariedEquations):
        model, backend = equations.bound(_picked(parameters, where)), "numpy"  # one model of many, not worth a kernel
    with np.errstate(all="ignore"):
        try:
            tau = values.get("torque", np.zeros(equations.system.nu))
            if isinstance(model, Model):
                tau = tau + limit_torques(model, q, u, backend=backend)
            if equations.muscles:
                activation, states = equations.activation(values), equations.states(values)
                tau = tau + muscle_torques(model, q, u, activation, states, backend=backend)
            return float(np.linalg.norm(forward_dynamics(model, q, u, tau, backend=backend)))
        except ValueError:
            return math.nan


def _picked(values: np.ndarray, where: tuple[int, ...]) -> np.ndarray:
    """The values of one batch element."""
    axes = values.ndim - 1
    index = where[len(where) - axes :] if axes else ()
    return values[tuple(i if n > 1 else 0 for i, n in zip(index, values.shape, strict=False))]


def _shown(array: np.ndarray) -> str:
    return np.array2string(array, precision=4, threshold=20, max_line_width=10**6)
