"""Simulators: a model's step loop, compiled once and called on arrays of states."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dynamics.constraints import Constraint, ConstraintArrays, Constraints
from dynamics.integrators import FIXED_STEP, FixedStep, StateEquations
from dynamics.regularity import check_regular
from dynamics.simulation.controls import Control
from dynamics.simulation.schedule import Schedule
from joints.checks import check_state
from joints.compiled import kernel_for
from joints.errors import ModelError
from kernels import StepLoop
from muscle.model import Model

__all__ = ["Run", "Simulator"]

CHUNK = 20_000  # steps between two looks at the progress bar and at an interrupt
BASELINE = 10.0  # Baumgarte's time constant in steps, where none is given


@dataclass(frozen=True)
class Run:
    """Arrays of one run for a batch (...): time (t,), q (..., t, nq), u (..., t, nu), NaN after a stop.

    final_q, final_u: the last good state; stopped (...,): the time of the step that failed, NaN if none did;
    reason (...,): Steps.RAN, NOT_FINITE or BOUND.
    """

    time: np.ndarray
    q: np.ndarray
    u: np.ndarray
    final_q: np.ndarray
    final_u: np.ndarray
    stopped: np.ndarray
    reason: np.ndarray


class Simulator:
    """Fixed-step simulation of a Model or an ArticulatedSystem, compiled once, called on many states.

        simulator = Simulator(model)
        run = simulator(q0, u0, 4.0, step=1e-3, activation=np.full(6, 0.5))    # q0 (..., nq), u0 (..., nu)

    method, stabilization, constraints as for `simulate`; `outside`: whether calls give torques. Raises ValueError for a
    method or stabilization that is unknown, ModelError for a singular mass matrix or a muscle without force law.
    """

    def __init__(
        self, model: Any, *, method: str = "rk4", stabilization: str = "projection", outside: bool = False,
        constraints: Sequence[Constraint] = (),
    ) -> None:  # fmt: skip
        self.method = method_named(method)
        if stabilization not in self.method.stabilizations:
            raise ValueError(
                f"stabilization {stabilization!r} is unknown for method {method!r}; there are: "
                f"{', '.join(self.method.stabilizations)}"
            )
        check_laws(model)
        self.stabilization = stabilization
        self.equations = StateEquations(model, outside, stabilization == "baumgarte", tuple(constraints))
        self.model = model
        self.system = self.equations.system
        check_regular(self.system)
        self.held = ConstraintArrays(Constraints(self.system, constraints)) if constraints else None
        self._loops: dict[int | None, StepLoop] = {}

    def __call__(
        self,
        q0: Any,
        u0: Any,
        duration: float,
        *,
        step: float | None = None,
        activation: Any = None,
        torque: Any = None,
        output_step: float | None = None,
        time_constant: float | None = None,
        tick: Callable[[int], Any] | None = None,
    ) -> Run:
        """Advance q0 (..., nq), u0 (..., nu); arguments as for `simulate`, leading axes broadcast.

        `tick(steps)` is called as steps are done.
        """
        schedule = Schedule.of(duration, step, output_step)
        q, u = self.system.check_q(q0), self.system.check_u(u0)
        controls = self.controls(activation, torque)
        constant = BASELINE * schedule.h if time_constant is None else time_constant
        parameters = {"time_constant": constant} if self.equations.baumgarte else {}
        x = self.method.begin(self.equations, q, u)
        return self._arrays(*self._advance(x, schedule, controls, parameters, tick), schedule)

    def controls(self, activation: Any, torque: Any) -> dict[str, Control]:
        """The inputs by name; ValueError for values that are missing, not finite or out of range."""
        found = {}
        if self.equations.muscles:
            given = default_activation(self.model) if activation is None else activation
            found["activation"] = Control("activation", given, self.model.check_activation)
        elif activation is not None and np.size(activation):
            raise ValueError("activation: the model has no muscles")
        if self.equations.outside:
            system = self.system
            given = np.zeros(system.nu) if torque is None else torque
            check = lambda values: check_state("torque", values, system.nu, system.velocity_names)  # noqa: E731
            found["torque"] = Control("torque", given, check)
        elif torque is not None:
            raise ValueError("torque: this Simulator was made without; Simulator(..., outside=True) takes torques")
        return found

    def _advance(
        self,
        x: np.ndarray,
        schedule: Schedule,
        controls: dict[str, Control],
        parameters: dict[str, Any],
        tick: Callable[[int], Any] | None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """States (..., rows, n), final states, stopping times and reasons, chunk by chunk."""
        chunk = max(1, CHUNK // schedule.every) * schedule.every
        rows: list[np.ndarray] = []
        stopped: Any = np.nan
        reason: Any = 0
        for first in range(0, schedule.steps, chunk):
            steps, start = min(chunk, schedule.steps - first), first * schedule.h
            inputs = {name: control.over(start, schedule.h, steps) for name, control in controls.items()}
            ran = self._loop(x, inputs)(
                np.where(np.asarray(reason)[..., None], np.nan, x),  # stopped lanes stay where they are
                h=schedule.h, steps=steps, every=schedule.every, start=start, **inputs, **parameters,
            )  # fmt: skip
            newly = (ran.stopped >= 0) & ~np.asarray(reason, dtype=bool)
            stopped = np.where(newly, start + ran.stopped * schedule.h, stopped)
            x = np.where(np.asarray(reason, dtype=bool)[..., None], x, ran.final)
            reason = np.where(newly, ran.reason, reason)
            rows.append(ran.states if first == 0 else ran.states[..., 1:, :])
            if tick is not None:
                tick(steps)
        return np.concatenate(rows, axis=-2) if len(rows) > 1 else rows[0], x, stopped, reason

    def _loop(self, x: np.ndarray, inputs: dict[str, Any]) -> StepLoop:
        """The loop for this many states: a single one is fastest in one lane."""
        single = x.ndim == 1 and all(np.ndim(getattr(value, "values", value)) <= 2 for value in inputs.values())
        lanes = 1 if single else None
        if lanes not in self._loops:
            key = ("simulate", self.method.name, self.stabilization, self.equations.key, lanes)
            build = lambda: self.method.loop(self.equations, self.stabilization, lanes)  # noqa: E731
            self._loops[lanes] = kernel_for(key, build)
        return self._loops[lanes]

    def _arrays(self, states: Any, final: Any, stopped: Any, reason: Any, schedule: Schedule) -> Run:
        q, u = self.method.end(self.equations, states)
        final_q, final_u = self.method.end(self.equations, final)
        return Run(schedule.times, q, u, final_q, final_u, stopped, reason)


def method_named(name: str) -> FixedStep:
    """The fixed-step method of that name; ValueError, listing all, if there is none."""
    if name not in FIXED_STEP:
        raise ValueError(f"method {name!r} is unknown; there are: {', '.join(FIXED_STEP)}")
    return FIXED_STEP[name]


def check_laws(model: Any) -> None:
    """ModelError for a muscle without a force law or strength, or with states of its own, which are not integrated."""
    for muscle in model.muscles if isinstance(model, Model) else ():
        if muscle.law is not None and muscle.law.states:
            raise ModelError(
                f"law {muscle.law.kind!r} has states of its own ({', '.join(muscle.law.states)}), which simulate does "
                "not integrate yet; tendon='rigid' has none",
                element=f"muscle {muscle.name!r}",
                file=model.file,
            )
        if muscle.law is None or muscle.law.open_parameters():
            lacking = "force law" if muscle.law is None else ", ".join(muscle.law.open_parameters())
            raise ModelError(f"no {lacking} is given", element=f"muscle {muscle.name!r}", file=model.file)


def default_activation(model: Model) -> np.ndarray:
    """(m,) the activations that the model names; ValueError if it leaves one open."""
    for muscle in model.muscles:
        if muscle.activation is None:
            raise ValueError(f"activation: the model names none for muscle {muscle.name!r}; give activation=")
    return np.array([muscle.activation for muscle in model.muscles], dtype=float)
