"""simulate: from a model and its state at the start to a trajectory; and simulators, compiled once, called often."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from myoquat.core import Array, ArrayLike, counted, options_of, progress_bar, warn_user
from myoquat.dynamics.constraints import Constraint, constraints_of
from myoquat.dynamics.integrators import FixedStep
from myoquat.joints import ArticulatedSystem, CoordinateWarning
from myoquat.joints.conversion.balls import branch_message
from myoquat.joints.evaluation import SystemLike, system_of, traced_once
from myoquat.joints.locks import check_followed_locks, check_locks
from myoquat.kernels import Outcome

from .adaptive import AdaptiveProblem, solve_batch
from .controls import Control, ControlLike, Inputs, StateFeedback, check_numbers, compiled_feedback
from .events import Event, stop_message
from .methods import ADAPTIVE, BAUMGARTE_STEPS, MethodChoice, Run, Timing, described, method_named
from .problem import Problem, SampledFeedback, Start
from .results.trajectory import Trajectory
from .stiffness import StiffnessWarning, stiffness_message

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
        warn_user(message, category)


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


# ---- Simulators: a model's step loop, compiled once and called on arrays of states ----------------------------------


STEPS_PER_CHUNK = 20_000  # steps between two looks at the progress bar and at an interrupt

Tick = Callable[[int], Any]


class Simulator:
    """Fixed-step simulation of a Model or an ArticulatedSystem, compiled once, called on many states.

        simulator = Simulator(model)
        run = simulator(q0, u0, 4.0, step=1e-3, activation=np.full(6, 0.5))    # q0 (..., nq), u0 (..., nu)

    method, stabilization, constraints  as for `simulate`
    external_torque                     whether calls give torques
    parameters                          names of the numbers of the model that calls give
    redundant                           whether constraints may imply each other, at all poses
    feedback                            a `StateFeedback` without a period for each input that it gives

    Raises ValueError for a method or stabilization that is unknown and for parameters that cannot vary. Raises
    ModelError for a singular mass matrix or a muscle without a force law.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.dynamics import Simulator
    >>> sled = mq.Body("sled", "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=2.0)
    >>> simulator = Simulator(mq.ArticulatedSystem((sled,)))  # compiled once, called often
    >>> [float(simulator([0.0], [speed], 1.0, step=0.1).final_q[0].round(6)) for speed in (1.0, 2.0)]
    [1.0, 2.0]
    """

    def __init__(
        self, model: SystemLike, *, method: str = "rk4", stabilization: str = "projection",
        external_torque: bool = False, constraints: Sequence[Constraint] = (), parameters: Iterable[str] = (),
        redundant: bool = False, feedback: Mapping[str, StateFeedback] | None = None,
    ) -> None:  # fmt: skip
        held = constraints_of(model, constraints) if system_of(model).nu else ()
        self.problem = Problem(
            model, MethodChoice(method, stabilization), held, parameters, external_torque, redundant, feedback
        )

    @classmethod
    def of(cls, problem: Problem) -> "Simulator":
        """The simulator of equations that are made already."""
        simulator = cls.__new__(cls)
        simulator.problem = problem
        return simulator

    @property
    def method(self) -> FixedStep:
        """The method."""
        return method_named(self.problem.choice.name)

    @property
    def model(self) -> SystemLike:
        """The Model or ArticulatedSystem that moves."""
        return self.problem.model

    @property
    def system(self) -> ArticulatedSystem:
        """The articulated system that moves."""
        return self.problem.system

    def __repr__(self) -> str:
        choice = self.problem.choice
        numbers = {"constraint": self.problem.equations.constraints, "parameter": self.problem.names}
        counts = [counted(len(found), name, f"{name}s") for name, found in numbers.items() if found]
        return f"<Simulator of {described(self.model)}: {', '.join([choice.name, choice.stabilization, *counts])}>"

    def __call__(
        self, q0: ArrayLike, u0: ArrayLike, duration: float, *, step: float | None = None,
        activation: ControlLike | None = None, torque: ControlLike | None = None,
        excitation: ControlLike | None = None, muscle_states: ArrayLike | None = None,
        output_step: float | None = None, time_constant: float | None = None,
        parameters: Mapping[str, ArrayLike] | None = None, controls: ControlLike | None = None,
        tick: Tick | None = None, inputs: Inputs | None = None,
    ) -> Run:  # fmt: skip
        """Advance q0 (..., nq), u0 (..., nu); arguments as for `simulate`, leading axes broadcast.

        `time_constant` [s] is that of Baumgarte's stabilization, ten steps by default. `tick(steps)` is called as steps
        are done.
        """
        single = Inputs(activation, torque, excitation, muscle_states, parameters or {}, controls)
        inputs = options_of("inputs", inputs, single)
        return self.run((q0, u0), Timing(duration, step, output_step), inputs, time_constant, tick)

    def run(
        self, start: tuple[ArrayLike, ArrayLike], timing: Timing, inputs: Inputs, time_constant: float | None = None,
        tick: Tick | None = None, controls: dict[str, Control] | None = None, own: Array | None = None,
    ) -> Run:  # fmt: skip
        """What a call does, from the same arguments gathered in records. own (..., n): the states of muscles and
        actuators at the start, such as `Run.final_own`, in place of those that the inputs imply."""
        schedule, problem = timing.counted, self.problem
        q = check_numbers("q0", self.system.check_q(start[0], "q0"))
        check = check_followed_locks if problem.equations.constraints else check_locks
        check(self.system, q, "the start")
        u = check_numbers("u0", self.system.check_u(start[1], "u0"))
        controls = problem.controls(inputs) if controls is None else controls
        with traced_once():
            p, begin = problem.begun((q, u), timing.start, inputs, controls, own)
            constants: dict[str, Any] = {} if p is None else {"p": p}
            if problem.equations.baumgarte:
                constants["time_constant"] = BAUMGARTE_STEPS * schedule.h if time_constant is None else time_constant
            return self._advance(self.method.begin(problem.equations, *begin), timing, controls, constants, tick)

    def _advance(
        self, x: Array, timing: Timing, controls: dict[str, Control], constants: dict[str, Any], tick: Tick | None
    ) -> Run:
        """The steps from the method's states x (..., n), chunk by chunk."""
        schedule, equations, method = timing.counted, self.problem.equations, self.method
        sampled = {c: c.steps(schedule.h) for c in controls.values() if isinstance(c, SampledFeedback)}
        every = math.gcd(schedule.every, *sampled.values())
        chunk = max(1, STEPS_PER_CHUNK // every) * every
        period = math.gcd(*sampled.values()) or schedule.steps
        rows: list[Array] = []
        stopped: Any = np.nan
        reason: Any = int(Outcome.COMPLETED)
        first = 0
        while first < schedule.steps:
            steps = min(chunk, period - first % period, schedule.steps - first)
            start, done = timing.start + first * schedule.h, np.asarray(reason) != Outcome.COMPLETED
            for control in (c for c, count in sampled.items() if first and first % count == 0):
                control.sample(start, *method.end(equations, x), done)
            inputs: dict[str, Any] = {
                name: c.over(start, schedule.h, steps) for name, c in controls.items()
            } | constants
            single = x.ndim == 1 and np.ndim(constants.get("p", 0)) <= 1  # a single state is fastest in one lane
            single = single and all(np.ndim(getattr(value, "values", value)) <= 2 for value in inputs.values())
            loop = method.kept_loop(equations, self.problem.choice.stabilization, 1 if single else None)
            held = np.where(done[..., None], np.nan, x)  # stopped lanes stay where they are
            ran = loop(held, h=schedule.h, steps=steps, every=every, start=start, **inputs)
            newly = (ran.stopped >= 0) & ~done
            stopped = np.where(newly, start + ran.stopped * schedule.h, stopped)
            x = np.where(done[..., None], x, ran.final)
            reason = np.where(newly, ran.reason, reason)
            rows.append(ran.states if first == 0 else ran.states[..., 1:, :])
            first += steps
            if tick is not None:
                tick(steps)
        states = np.concatenate(rows, axis=-2) if len(rows) > 1 else rows[0]
        states = states[..., :: schedule.every // every, :]
        own, final_own = equations.rest(states), equations.rest(x)
        ends = *method.end(equations, states), *method.end(equations, x)
        return Run(timing.start + schedule.times, *ends, stopped, reason, own, final_own)
