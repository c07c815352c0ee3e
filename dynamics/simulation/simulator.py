"""Simulators: a model's step loop, compiled once and called on arrays of states."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from myoquat.dynamics.constraints import Constraint, ConstraintArrays, Constraints
from myoquat.dynamics.integrators import FIXED_STEP, FixedStep, StateEquations, VariedEquations
from myoquat.dynamics.regularity import check_regular
from myoquat.dynamics.simulation.controls import Control, is_constant
from myoquat.dynamics.simulation.schedule import Schedule
from myoquat.dynamics.simulation.starts import MuscleStarts
from myoquat.joints.checks import check_state
from myoquat.joints.compiled import kernel_for
from myoquat.joints.errors import ModelError
from myoquat.kernels import StepLoop
from myoquat.muscle.evaluate import equilibrium_states
from myoquat.muscle.model import Model
from myoquat.muscle.parameters import Parameters
from myoquat.muscle.states import state_names

__all__ = ["Run", "Simulator"]

BY_ACCELERATION = ("rk4", "lie_rk4", "euler")  # methods that meet the model in its acceleration, and nowhere else
CHUNK = 20_000  # steps between two looks at the progress bar and at an interrupt
BASELINE = 10.0  # Baumgarte's time constant in steps, where none is given


@dataclass(frozen=True)
class Run:
    """Arrays of one run for a batch (...): time (t,), q (..., t, nq), u (..., t, nu), NaN after a stop.

    final_q, final_u: the last good state; stopped (...,): the time of the step that failed, NaN if none did;
    reason (...,): Steps.RAN, NOT_FINITE or BOUND; own (..., t, n) and final_own: the muscles' states likewise, in the
    order of `StateEquations.own`.
    """

    time: np.ndarray
    q: np.ndarray
    u: np.ndarray
    final_q: np.ndarray
    final_u: np.ndarray
    stopped: np.ndarray
    reason: np.ndarray
    own: np.ndarray
    final_own: np.ndarray


class Simulator:
    """Fixed-step simulation of a Model or an ArticulatedSystem, compiled once, called on many states.

        simulator = Simulator(model)
        run = simulator(q0, u0, 4.0, step=1e-3, activation=np.full(6, 0.5))    # q0 (..., nq), u0 (..., nu)

    method, stabilization, constraints as for `simulate`; `outside`: whether calls give torques; `parameters`: names of
    the numbers of the model that calls give. Raises ValueError for a method or stabilization that is unknown and for
    parameters that cannot vary, ModelError for a singular mass matrix or a muscle without force law.
    """

    def __init__(
        self, model: Any, *, method: str = "rk4", stabilization: str = "projection", outside: bool = False,
        constraints: Sequence[Constraint] = (), parameters: Iterable[str] = (),
    ) -> None:  # fmt: skip
        self.method = method_named(method)
        if stabilization not in self.method.stabilizations:
            raise ValueError(
                f"stabilization {stabilization!r} is unknown for method {method!r}; there are: "
                f"{', '.join(self.method.stabilizations)}"
            )
        check_laws(model)
        self.stabilization = stabilization
        self.varied = varied_numbers(model, parameters, method, constraints)
        self.equations: StateEquations = (
            VariedEquations(model, outside, stabilization == "baumgarte", varied=self.varied)
            if self.varied is not None
            else StateEquations(model, outside, stabilization == "baumgarte", tuple(constraints))
        )
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
        excitation: Any = None,
        muscle_states: Any = None,
        output_step: float | None = None,
        time_constant: float | None = None,
        parameters: Mapping[str, Any] | None = None,
        tick: Callable[[int], Any] | None = None,
    ) -> Run:
        """Advance q0 (..., nq), u0 (..., nu); arguments as for `simulate`, leading axes broadcast.

        `tick(steps)` is called as steps are done.
        """
        schedule = Schedule.of(duration, step, output_step)
        q, u = self.system.check_q(q0), self.system.check_u(u0)
        controls = self.controls(activation, torque, excitation)
        constant = BASELINE * schedule.h if time_constant is None else time_constant
        p = self.values(parameters)
        constants: dict[str, Any] = {"time_constant": constant} if self.equations.baumgarte else {}
        constants |= {} if p is None else {"p": p}
        x = self.method.begin(self.equations, q, u, *self.own_start(q, controls, activation, muscle_states, p))
        return self._arrays(*self._advance(x, schedule, controls, constants, tick), schedule)

    def values(self, given: Mapping[str, Any] | None) -> np.ndarray | None:
        """(..., n) the parameters, in the order of `varied.names`, from arrays (...) by name; None without. ValueError
        for names that are missing or not varied, and for values that the model refuses."""
        given = given or {}
        if self.varied is None:
            if given:
                raise ValueError(f"parameters: this Simulator varies none; make it with parameters={list(given)}")
            return None
        found: dict[str, np.ndarray] = {}
        for pattern, values in given.items():
            for name in Parameters.of(self.model, pattern).names:
                if name in found:
                    raise ValueError(f"parameters: {name!r} is given twice, the second time by {pattern!r}")
                found[name] = np.asarray(values, dtype=float)
        strange = [name for name in found if name not in self.varied.names]
        missing = [name for name in self.varied.names if name not in found]
        if strange or missing:
            raise ValueError(f"parameters: missing are {missing}, and {strange} are not varied by this Simulator")
        columns = [found[name] for name in self.varied.names]
        try:
            together = np.stack(np.broadcast_arrays(*columns), axis=-1)
        except ValueError:
            shapes = ", ".join(f"{name} {value.shape}" for name, value in found.items())
            raise ValueError(f"parameters: the arrays do not broadcast: {shapes}") from None
        return self.varied.check(together)

    @property
    def names(self) -> tuple[str, ...]:
        """The numbers of the model that calls give."""
        return () if self.varied is None else self.varied.names

    def controls(self, activation: Any, torque: Any, excitation: Any = None) -> dict[str, Control]:
        """The inputs by name; ValueError for values that are missing, not finite or out of range."""
        found = {}
        if self.equations.muscles:
            given = self._control(activation, excitation)
            name = "excitation" if self.equations.excited else "activation"
            found[name] = Control(name, given, self.model.check_activation)
        elif any(values is not None and np.size(values) for values in (activation, excitation)):
            raise ValueError("activation: the model has no muscles")
        if self.equations.outside:
            system = self.system
            given = np.zeros(system.nu) if torque is None else torque
            check = lambda values: check_state("torque", values, system.nu, system.velocity_names)  # noqa: E731
            found["torque"] = Control("torque", given, check)
        elif torque is not None:
            raise ValueError("torque: this Simulator was made without; Simulator(..., outside=True) takes torques")
        return found

    def own_start(
        self, q: np.ndarray, controls: dict[str, Control], activation: Any, muscle_states: Any,
        p: np.ndarray | None = None,
    ) -> tuple[np.ndarray, ...]:  # fmt: skip
        """The muscles' states at the start: activations, given or equal to the excitations, and the states of the laws,
        given or in equilibrium at rest. ValueError where they do not fit or there is none."""
        names = state_names(self.model) if self.equations.muscles else ()
        if muscle_states is not None and not names:
            raise ValueError("muscle_states: this model's muscles have none")
        if not self.equations.own:
            return ()
        excited = list(self.equations.excited)
        at_start = next(iter(controls.values())).at(np.zeros(1))[..., 0, :]
        if excited and activation is not None:
            given = self.model.check_activation(activation)
            follows = np.isin(np.arange(self.equations.muscles), excited)
            at_start = np.where(follows, given, at_start)
        if muscle_states is None and p is not None:
            states = self._equilibria(q, at_start, p)
        elif muscle_states is None:
            states = equilibrium_states(self.model, q, at_start)
        else:
            states = check_state("muscle_states", muscle_states, len(names), names)
        return at_start[..., excited], states

    def _equilibria(self, q: np.ndarray, activation: np.ndarray, p: np.ndarray) -> np.ndarray:
        """The laws' states at rest, each with its own numbers; ValueError where there is no balance."""
        batch = np.broadcast_shapes(q.shape[:-1], activation.shape[:-1], p.shape[:-1])
        flat = [np.broadcast_to(x, (*batch, x.shape[-1])).reshape(-1, x.shape[-1]) for x in (q, activation, p)]
        assert isinstance(self.equations, VariedEquations)
        _, states = MuscleStarts(self.equations)(*flat)
        if not np.isfinite(states).all():
            sample = int(np.argwhere(~np.isfinite(states))[0, 0])
            raise ValueError(f"muscle_states: sample {sample} of the parameters has no equilibrium at the start")
        return states.reshape(*batch, states.shape[-1])

    def _control(self, activation: Any, excitation: Any) -> Any:
        """What is given as the input of the muscles: excitations where there are activation dynamics."""
        if not self.equations.excited:
            if activation is not None and excitation is not None:
                raise ValueError("excitation: no muscle has activation dynamics; give either this or activation")
            given = excitation if activation is None else activation
            return default_activation(self.model) if given is None else given
        if activation is not None and not is_constant(activation):
            name = self.model.muscle_names[self.equations.excited[0]]
            raise ValueError(
                f"activation: a state of muscle {name!r} and others, of which only the start (..., m) can be given; "
                "excitation= takes tables and functions of time"
            )
        if excitation is not None:
            return excitation
        return default_activation(self.model) if activation is None else activation

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
            ran = self._loop(x, inputs | parameters)(
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
        single = (
            x.ndim == 1
            and np.ndim(inputs.get("p", 0)) <= 1
            and all(np.ndim(getattr(value, "values", value)) <= 2 for value in inputs.values())
        )
        lanes = 1 if single else None
        if lanes not in self._loops:
            key = ("simulate", self.method.name, self.stabilization, self.equations.key, lanes)
            build = lambda: self.method.loop(self.equations, self.stabilization, lanes)  # noqa: E731
            self._loops[lanes] = kernel_for(key, build)
        return self._loops[lanes]

    def _arrays(self, states: Any, final: Any, stopped: Any, reason: Any, schedule: Schedule) -> Run:
        q, u = self.method.end(self.equations, states)
        final_q, final_u = self.method.end(self.equations, final)
        own = (self.equations.rest(states), self.equations.rest(final))
        return Run(schedule.times, q, u, final_q, final_u, stopped, reason, *own)


def method_named(name: str) -> FixedStep:
    """The fixed-step method of that name; ValueError, listing all, if there is none."""
    if name not in FIXED_STEP:
        raise ValueError(f"method {name!r} is unknown; there are: {', '.join(FIXED_STEP)}")
    return FIXED_STEP[name]


def varied_numbers(model: Any, names: Iterable[str], method: str, constraints: Sequence[Any]) -> Parameters | None:
    """The numbers of the model with these names, None for none; ValueError for what a simulation cannot vary."""
    names = list(names)
    if not names:
        return None
    if method not in BY_ACCELERATION:
        raise ValueError(f"parameters vary with methods {', '.join(BY_ACCELERATION)}, not {method!r}")
    if constraints:
        raise ValueError("parameters do not vary under constraints: simulate one model after the other")
    varied = Parameters.of(model, names)
    for name in varied.names:
        if name.startswith(("start_q.", "start_u.")) or name.endswith(".activation"):
            raise ValueError(f"parameters: {name!r} is an input of its own: q0, u0, activation")
    return varied


def check_laws(model: Any) -> None:
    """ModelError for a muscle without a force law or strength."""
    for muscle in model.muscles if isinstance(model, Model) else ():
        if muscle.law is None or muscle.law.open_parameters():
            lacking = "force law" if muscle.law is None else ", ".join(muscle.law.open_parameters())
            raise ModelError(f"no {lacking} is given", element=f"muscle {muscle.name!r}", file=model.file)


def default_activation(model: Model) -> np.ndarray:
    """(m,) the activations that the model names; ValueError if it leaves one open."""
    for muscle in model.muscles:
        if muscle.activation is None:
            raise ValueError(f"activation: the model names none for muscle {muscle.name!r}; give activation=")
    return np.array([muscle.activation for muscle in model.muscles], dtype=float)
