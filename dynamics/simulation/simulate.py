"""simulate: from a model and its state at the start to a trajectory."""

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from myoquat.core.arguments import options_of
from myoquat.core.progress import progress_bar
from myoquat.core.typing import ArrayLike
from myoquat.dynamics.constraints import Constraint, constraints_of
from myoquat.dynamics.simulation.adaptive import AdaptiveProblem, solve_batch
from myoquat.dynamics.simulation.controls import Control, ControlLike, Inputs, compiled_feedback
from myoquat.dynamics.simulation.events import Event, stop_message
from myoquat.dynamics.simulation.methods import ADAPTIVE, MethodChoice, Run, Timing
from myoquat.dynamics.simulation.problem import Problem, Start
from myoquat.dynamics.simulation.results.trajectory import Trajectory
from myoquat.dynamics.simulation.simulator import Simulator
from myoquat.dynamics.simulation.stiffness import StiffnessWarning, stiffness_message
from myoquat.joints import CoordinateWarning
from myoquat.joints.conversion.branches import branch_message
from myoquat.joints.evaluation import SystemLike, traced_once

__all__ = ["SimulationWarning", "simulate"]


MIN_STEPS_WITH_PROGRESS = 1_000_000  # steps times states from which a progress bar is shown on a terminal


class SimulationWarning(UserWarning):
    """A simulation stopped before its end; the trajectory holds what was computed.

    >>> import warnings
    >>> import myoquat as mq
    >>> from myoquat.dynamics import SimulationWarning
    >>> ball = mq.Body("ball", "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=1e-9, damping=10.0)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", SimulationWarning)
    ...     way = mq.simulate(mq.ArticulatedSystem((ball,)), [0.0], [1.0], duration=0.1)
    >>> caught[0].category.__name__, way.complete  # a step of 1 ms is too long by far
    ('SimulationWarning', False)
    """


def simulate(
    model: SystemLike, q0: ArrayLike | None = None, u0: ArrayLike | None = None, duration: float = 1.0,
    step: float | None = None, rtol: float | None = None, activation: ControlLike | None = None,
    torque: ControlLike | None = None, constraints: "Sequence[Constraint]" = (), method: str = "rk4",
    stabilization: str = "projection", output_step: float | None = None, *, excitation: ControlLike | None = None,
    controls: ControlLike | None = None, muscle_states: ArrayLike | None = None,
    parameters: "Mapping[str, ArrayLike] | None" = None, events: "Sequence[Event]" = (), project_start: bool = False,
    progress: bool | None = None, start_time: float = 0.0, inputs: "Inputs | None" = None,
) -> "Trajectory":  # fmt: skip
    """Move a Model or an ArticulatedSystem over `duration` [s].

    q0, u0         (..., nq), (..., nu) the start; default the model's own, or neutral and at rest. Leading axes
                   broadcast with those of inputs and parameters: runs side by side.
    step           [s] 1e-3, shortened to divide duration and output_step; of adaptive methods the first.
    rtol           bound on a step's error relative to 1 + |x|; asks for an adaptive method (1e-6).
    activation     (..., m) in [0, 1]; the start, with activation dynamics
    excitation     (..., m) with activation dynamics
    torque         (..., nu) on u [N m, N]
    controls       (..., k) of actuators. All four: constants, (times, values), functions of t, or `StateFeedback`s.
    muscle_states  (..., ns) the start; `help(Inputs)` has all defaults.
    constraints    of `myoquat.dynamics.constraints`, beside the model's own.
    method         fixed step: "rk4", "lie_rk4", "semi_implicit_euler", "variational"; adaptive: "dop853" (default
                   with rtol), "rk45", "radau" (implicit, for stiff muscles).
    stabilization  "projection" onto |Q| = 1 and constraints after each step, "norm" (|Q| alone), "baumgarte", "none".
    output_step    [s] between rows; default every step.
    parameters     numbers by name or pattern, arrays (...): a model for each run. Not with "variational".
    events         `Event`s for adaptive methods, kept in `Trajectory.occurrences`.
    project_start  move the start onto |Q| = 1 and constraints, else 1e-6 off raises.
    progress       a bar: True, False, None for long runs in terminals.
    start_time     [s] of the first row and of functions of t.
    inputs         `Inputs`: all inputs and parameters in one record.

    A run that is not finite, or with |u| > 1e6, stops: later rows are NaN, `Trajectory.reason` says why, with a
    SimulationWarning. ValueError for arguments that do not fit, TypeError for symbols, ModelError for singular masses.

    >>> import myoquat as mq
    >>> motion = mq.simulate(mq.load_model("two_link"), duration=0.1, step=1e-3, output_step=0.05)
    >>> motion.time
    array([0.  , 0.05, 0.1 ])
    """
    single = Inputs(activation, torque, excitation, muscle_states, dict(parameters or {}), controls)
    inputs = options_of("inputs", inputs, single)
    choice, timing = MethodChoice.of(method, stabilization, rtol), Timing(duration, step, output_step, start_time)
    held, varied = constraints_of(model, constraints), bool(inputs.parameters)
    start = Start.of(model, q0, u0, held, project_start, start_time, varied)
    problem = Problem(model, choice, start.constraints, inputs.parameters, inputs.torque is not None, start.redundant,
                      compiled_feedback(inputs))  # fmt: skip
    given = problem.controls(inputs)
    if choice.adaptive:
        run, steps, occurrences = _adaptive(problem, start, timing, inputs, given, events)
    elif events:
        raise ValueError(f"events need an adaptive method, one of {', '.join(ADAPTIVE)}, not {choice.name!r}")
    else:
        total, occurrences = timing.counted.steps, ()
        states = math.prod(np.broadcast_shapes(start.q.shape[:-1], start.u.shape[:-1]))
        shown = states * total >= MIN_STEPS_WITH_PROGRESS if progress is None else progress
        with progress_bar(total, "step", progress if shown else False) as bar:
            run = Simulator.of(problem).run((start.q, start.u), timing, inputs, tick=bar.update, controls=given)
        steps = np.broadcast_to(total, run.stopped.shape)[()]
    trajectory = _trajectory(problem, inputs, given, run, steps, occurrences)
    arrays = problem.constraint_arrays
    if start.redundant and not (varied or start.contradictory) and arrays is not None:
        arrays.warn_contradictions(trajectory.q, trajectory.u, trajectory.time)
    _warn(stop_message(problem.equations, run, given, trajectory.parameters), SimulationWarning)
    _warn(branch_message(trajectory.system, trajectory.time, trajectory.q), CoordinateWarning)
    _warn(None if choice.adaptive else stiffness_message(trajectory, choice.name, timing.counted.h), StiffnessWarning)
    return trajectory


def _warn(message: str | None, category: type[Warning]) -> None:
    """A warning to the caller of `simulate`, if there is something to say."""
    if message is not None:
        warnings.warn(message, category, stacklevel=3)


def _trajectory(
    problem: Problem, inputs: Inputs, controls: Mapping[str, Control], run: Run, steps: Any, occurrences: Any
) -> Trajectory:
    """What was computed, with the inputs at its times."""
    equations = problem.equations
    given = {name: control.at(run.time) for name, control in controls.items()}
    given |= problem.fed_back(inputs, run.time, run.q, run.u)
    seen = given | {"own": run.own}
    return Trajectory(
        problem.model, run.time, run.q, run.u,
        activation=equations.activation(seen) if equations.muscles else None,
        torque=given.get("torque"),
        method=f"{problem.choice.name}, {problem.choice.stabilization}",
        stopped=run.stopped,
        code=run.reason,
        steps=steps,
        occurrences=occurrences,
        constraints=equations.constraints,
        muscle_states=equations.states(seen),
        excitation=given.get("excitation"),
        controls=given.get("controls"),
        actuation=equations.actuation(seen) if equations.delayed else None,
        parameters=problem.values(inputs.parameters),
        parameter_names=problem.names,
    )  # fmt: skip


@traced_once()
def _adaptive(
    problem: Problem, start: Start, timing: Timing, inputs: Inputs, controls: dict[str, Control],
    events: Sequence[Event],
) -> tuple[Run, Any, Any]:  # fmt: skip
    """By SciPy's solvers, state after state."""
    p, begin = problem.begun((start.q, start.u), timing.start, inputs, controls)
    return solve_batch(AdaptiveProblem(problem.equations, controls, problem.choice, timing, tuple(events), p), begin)
