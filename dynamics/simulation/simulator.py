"""Simulators: a model's step loop, compiled once and called on arrays of states."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from myoquat.core.arguments import options_of
from myoquat.core.typing import Array, ArrayLike
from myoquat.dynamics.constraints import Constraint, constraints_of
from myoquat.dynamics.integrators import FixedStep
from myoquat.dynamics.simulation.controls import Control, ControlLike, Inputs, StateFeedback, check_numbers
from myoquat.dynamics.simulation.methods import (
    BAUMGARTE_STEPS,
    MethodChoice,
    Run,
    Timing,
    counted,
    described,
    method_named,
)
from myoquat.dynamics.simulation.problem import Problem, SampledFeedback
from myoquat.joints import ArticulatedSystem
from myoquat.joints.evaluation import SystemLike, system_of, traced_once
from myoquat.joints.locks import check_followed_locks, check_locks
from myoquat.kernels import Outcome

__all__ = ["Simulator"]

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
