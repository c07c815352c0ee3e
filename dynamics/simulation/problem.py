"""What step loops and adaptive methods share: a model's equations of motion, and the checks of a call's inputs."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from myoquat.core.arguments import check_type, real_array
from myoquat.core.typing import Array, ArrayLike
from myoquat.dynamics.constraints import Constraint, ConstraintArrays, Constraints
from myoquat.dynamics.integrators import StateEquations
from myoquat.dynamics.regularity import check_regular
from myoquat.dynamics.simulation.controls import (
    Control,
    ControlLike,
    Inputs,
    Law,
    StateFeedback,
    check_returned,
    is_constant,
)
from myoquat.dynamics.simulation.methods import BY_ACCELERATION, MethodChoice
from myoquat.dynamics.simulation.schedule import STEP_COUNT_TOLERANCE
from myoquat.dynamics.simulation.start import MuscleStarts, check_varied_start
from myoquat.joints.evaluation import SystemLike, system_of
from myoquat.joints.ranges import check_state
from myoquat.muscle.evaluate import equilibrium_states
from myoquat.muscle.inputs import InputsOverTime
from myoquat.muscle.model import Model, check_laws
from myoquat.muscle.parameters import Parameters
from myoquat.muscle.states import check_start, state_names

__all__ = ["Problem", "SampledFeedback"]


Check = Callable[[ArrayLike], Array]


class Problem:
    """The equations of motion of a Model or an ArticulatedSystem, and the checks of what a simulation gives them.

    choice       the method, which decides what may vary.
    constraints  that the motion satisfies.
    parameters   names of the numbers of the model that calls give.
    external_torque  whether external torques act.
    redundant    whether the constraints may imply each other.
    feedback     compiled laws by the input that they give.

    Raises ValueError for a stabilization that is unknown and for parameters that cannot vary. Raises ModelError for a
    singular mass matrix or a muscle without a force law.
    """

    def __init__(
        self, model: SystemLike, choice: MethodChoice, constraints: Sequence[Constraint] = (),
        parameters: Iterable[str] = (), external_torque: bool = False, redundant: bool = False,
        feedback: Mapping[str, StateFeedback] | None = None,
    ) -> None:  # fmt: skip
        choice.check_stabilization()
        if isinstance(model, Model):
            check_laws(model)
        self.choice, self.system = choice, system_of(model)
        self.model = model if isinstance(model, Model) else self.system
        self.varied = _varied(self.model, list(parameters), choice)
        equations = StateEquations(
            self.model, external_torque, choice.baumgarte, tuple(constraints), redundant, varied=self.varied
        )
        self.feedback = dict(feedback or {})
        self.equations = replace(equations, feedback=_laws(equations, self.feedback))
        check_regular(self.system, constrained=bool(constraints))
        self.constraint_arrays = ConstraintArrays(Constraints(self.system, constraints)) if constraints else None

    @property
    def names(self) -> tuple[str, ...]:
        """The numbers of the model that calls give."""
        return () if self.varied is None else self.varied.names

    def values(self, given: Mapping[str, ArrayLike]) -> Array | None:
        """(..., n) the parameters, in the order of `names`, from arrays (...) by name; None without. ValueError for
        names that are missing or not varied, and for values that the model refuses."""
        found = self._stacked(given)
        return found if self.varied is None or found is None else self.varied.check(found)

    def _stacked(self, given: Mapping[str, ArrayLike]) -> Array | None:
        """(..., n) the parameters as they are given; ValueError for names that are missing or not varied."""
        if self.varied is None:
            if given:
                raise ValueError(f"parameters: this Simulator varies none; make it with parameters={list(given)}")
            return None
        found: dict[str, Array] = {}
        for pattern, values in given.items():
            for name in (pattern,) if pattern in self.names else Parameters.of(self.model, pattern).names:
                if name in found:
                    raise ValueError(f"parameters: {name!r} is given twice, the second time by {pattern!r}")
                found[name] = real_array(f"parameters: {name}", values)
        strange = [name for name in found if name not in self.names]
        missing = [name for name in self.names if name not in found]
        if strange or missing:
            raise ValueError(f"parameters: missing are {missing}, and {strange} are not varied by this Simulator")
        columns = [found[name] for name in self.names]
        try:
            return np.stack(np.broadcast_arrays(*columns), axis=-1)
        except ValueError:
            shapes = ", ".join(f"{name} {value.shape}" for name, value in found.items())
            raise ValueError(f"parameters: the arrays do not broadcast: {shapes}") from None

    def check_start(self, q: Array, u: Array, p: Array | None, t: float = 0.0) -> None:
        """ValueError for a run that starts off the constraints, which the numbers p (..., n) of each run may move."""
        if self.constraint_arrays is None:
            return
        if p is None:
            self.constraint_arrays.check(q, u, t)
            return
        check_varied_start(self.equations, q, u, p, t)

    # ---- inputs of the muscles and torques ---------------------------------------------------------------------

    def controls(self, inputs: Inputs) -> dict[str, Control]:
        """The inputs by name, but those that compiled feedback gives; ValueError for values that are missing, not
        finite or out of range."""
        laws = dict(self.equations.feedback)
        every = self._given(self._with_feedback(inputs))
        return {name: self._control(name, given, check) for name, given, check in every if name not in laws}

    def _with_feedback(self, inputs: Inputs) -> Inputs:
        """The inputs with the compiled feedback; ValueError where a call gives something else for it."""
        for name in self.feedback:
            given = getattr(inputs, name)
            if given is not None and not (isinstance(given, StateFeedback) and given == self.feedback[name]):
                raise ValueError(f"{name}: the feedback of this Simulator gives it; make one without for other values")
        laws: dict[str, Any] = {**self.feedback}
        return replace(inputs, **laws)

    def _control(self, name: str, given: ControlLike, check: Check) -> Control:
        """One input; ValueError for feedback that had to be compiled with the equations."""
        if not isinstance(given, StateFeedback):
            return Control(name, given, check)
        if given.period is None:
            raise ValueError(f"{name}: feedback without a period is compiled; Simulator(..., feedback=...) takes it")
        if self.choice.adaptive:
            raise ValueError(f"{name}: feedback with a period needs a method of fixed step, not {self.choice.name!r}")
        return SampledFeedback(name, given, check)

    def _given(self, inputs: Inputs) -> Iterator[tuple[str, ControlLike, Check]]:
        """Name, values and check of every input that acts."""
        if self.equations.muscles:
            assert isinstance(self.model, Model)
            name = "excitation" if self.equations.excited else "activation"
            given_as = "activation" if inputs.excitation is None else "excitation"
            check = partial(self.model.check_activation, name=given_as)
            yield name, self._muscle_input(self.model, inputs), check
        elif any(_has_values(given) for given in (inputs.activation, inputs.excitation)):
            raise ValueError("activation: the model has no muscles")
        if self.equations.actuated:
            assert isinstance(self.model, Model)
            given = self._own_controls(self.model, inputs) if inputs.controls is None else inputs.controls
            yield "controls", given, self.model.check_controls
        elif inputs.controls is not None and _has_values(inputs.controls):
            raise ValueError("controls: the model has no actuators")
        if self.equations.external_torque:
            system = self.system
            given = np.zeros(system.nu) if inputs.torque is None else inputs.torque
            yield "torque", given, lambda values: check_state("torque", values, system.nu, system.velocity_names)
        elif inputs.torque is not None:
            raise ValueError(
                "torque: this Simulator was made without; Simulator(..., external_torque=True) takes torques"
            )

    def _muscle_input(self, model: Model, inputs: Inputs) -> ControlLike:
        """The input of the muscles: excitations where there are activation dynamics, activations otherwise."""
        activation, excitation = inputs.activation, inputs.excitation
        if not self.equations.excited and activation is not None and excitation is not None:
            raise ValueError("excitation: no muscle has activation dynamics; give either this or activation")
        if self.equations.excited and activation is not None and not is_constant(activation):
            name = model.muscle_names[self.equations.excited[0]]
            raise ValueError(
                f"activation: a state of muscle {name!r} and others, of which only the start (..., m) can be given; "
                "excitation= takes tables and functions of time"
            )
        if excitation is not None:
            return excitation
        if not self.equations.excited and activation is not None:
            return activation
        if _prescribes(model):
            return self._own_inputs(model, model.muscle_names, inputs)
        return _default_activation(model) if activation is None else activation

    def _own_controls(self, model: Model, inputs: Inputs) -> ControlLike:
        """The controls that the model has itself; zero without."""
        if not any(own.name in model.control_names for own in model.inputs):
            return np.zeros(len(model.control_names))
        return self._own_inputs(model, model.control_names, inputs)

    def _own_inputs(self, model: Model, names: tuple[str, ...], inputs: Inputs) -> InputsOverTime:
        """The model's own inputs of these names, with the numbers of each run where theirs vary."""
        return self.equations.over_time(model, names, self._stacked(inputs.parameters))  # `run` checks them

    def fed_back(self, inputs: Inputs, t: Array | float, q: Array, u: Array) -> dict[str, Array]:
        """(..., n) what compiled feedback gives at times t and states q (..., nq), u (..., nu), checked; NaN where
        these are."""
        if not self.feedback:
            return {}
        checks = {name: check for name, _, check in self._given(self._with_feedback(inputs))}
        found = self.equations.fed_back(np.asarray(t), q, u)
        missing: Array = np.asarray(np.isnan(u).any(axis=-1) | np.isnan(q).any(axis=-1))
        return {name: check_returned(name, found[name], q.shape[:-1], checks[name], missing) for name in found}

    def at_start(
        self, controls: Mapping[str, Control], inputs: Inputs, time: float, state: tuple[Array, Array]
    ) -> dict[str, Array]:
        """(..., n) every input at the start (q (..., nq), u (..., nu)) and its time; sampled feedback is sampled."""
        batch = np.broadcast_shapes(*(part.shape[:-1] for part in state))
        q, u = (x if x.shape[:-1] == batch else np.broadcast_to(x, (*batch, x.shape[-1])) for x in state)
        for control in controls.values():
            if isinstance(control, SampledFeedback):
                control.sample(time, q, u)
        given = {name: control.at(np.array([time]))[..., 0, :] for name, control in controls.items()}
        return given | self.fed_back(inputs, time, q, u)

    # ---- the states of muscles and actuators at the start -------------------------------------------------------

    def own_start(
        self, q: Array, given: Mapping[str, Array], inputs: Inputs, p: Array | None = None
    ) -> tuple[Array, ...]:
        """The states of muscles at the start, where inputs have the values `given`, and the activations of delayed
        actuators."""
        return *self.muscle_start(q, given, inputs, p), *self.equations.delayed_start(p)

    def muscle_start(
        self, q: Array, given: Mapping[str, Array], inputs: Inputs, p: Array | None = None
    ) -> tuple[Array, ...]:
        """The muscles' states at the start, at its time: activations and the states of the laws. Activations are given
        or equal to the excitations. Where the model prescribes the excitations, activations start as it names them. The
        states of the laws are given or in equilibrium at rest. ValueError where they do not fit or there is no
        equilibrium."""
        names = state_names(self.model) if isinstance(self.model, Model) else ()
        if inputs.muscle_states is not None and not names:
            raise ValueError("muscle_states: this model's muscles have none")
        if not self.equations.of_muscles:
            return ()
        assert isinstance(self.model, Model)
        excited = list(self.equations.excited)
        at_start = given["excitation" if excited else "activation"]
        if excited and inputs.activation is not None:
            assert not callable(inputs.activation)  # refused by `controls`: a state has a start, not a course
            assert not isinstance(inputs.activation, StateFeedback)
            own_start = self.model.check_activation(inputs.activation)
            follows = np.isin(np.arange(self.equations.muscles), excited)
            at_start = np.where(follows, own_start, at_start)
        elif excited and inputs.excitation is None and _prescribes(self.model):
            own = [math.nan if muscle.activation is None else muscle.activation for muscle in self.model.muscles]
            at_start = np.where(np.isnan(own), at_start, own)
        if inputs.muscle_states is not None:
            states = check_start(self.model, "muscle_states", inputs.muscle_states)
        elif p is not None:
            states = self._equilibria(q, at_start, p)
        else:
            states = equilibrium_states(self.model, q, at_start)
        return at_start[..., excited], states

    def _equilibria(self, q: Array, activation: Array, p: Array) -> Array:
        """The laws' states at rest, each with its own numbers; ValueError where there is no balance."""
        batch = np.broadcast_shapes(q.shape[:-1], activation.shape[:-1], p.shape[:-1])
        flat = [np.broadcast_to(x, (*batch, x.shape[-1])).reshape(-1, x.shape[-1]) for x in (q, activation, p)]
        _, states = MuscleStarts(self.equations)(*flat)
        if not np.isfinite(states).all():
            sample = int(np.argwhere(~np.isfinite(states))[0, 0])
            raise ValueError(f"muscle_states: sample {sample} of the parameters has no equilibrium at the start")
        return states.reshape(*batch, states.shape[-1])


def _has_values(given: ControlLike | None) -> bool:
    return given is not None and (callable(given) or isinstance(given, StateFeedback) or bool(np.size(given)))


def _laws(equations: StateEquations, feedback: Mapping[str, StateFeedback]) -> tuple[tuple[str, Law], ...]:
    """The compiled laws by the input of the equations that they give; ValueError for an input that there is none."""
    found = {}
    for name, given in feedback.items():
        check_type(f"feedback[{name!r}]", given, StateFeedback)
        if name == "activation" and equations.excited:
            raise ValueError("activation: a state of muscles with activation dynamics; feedback gives excitation=")
        acts = "activation" if name == "excitation" and not equations.excited else name
        if acts not in equations.acting:
            raise ValueError(f"{name}: no such input of this model, which has {list(equations.acting)}")
        if given.period is not None:
            raise ValueError(f"{name}: feedback with a period is not compiled; give it to the call, not to a Simulator")
        found[acts] = given.law
    return tuple(found.items())


def _varied(model: SystemLike, names: Sequence[str], choice: MethodChoice) -> Parameters | None:
    """The numbers of the model with these names, None for none; ValueError for what a simulation cannot vary."""
    if not names:
        return None
    if choice.name not in BY_ACCELERATION and not choice.adaptive:
        raise ValueError(
            f"parameters vary with adaptive methods (rtol=) and {', '.join(BY_ACCELERATION)}, not {choice.name!r}"
        )
    return Parameters.of(model, names).acting("q0, u0, activation")


def _prescribes(model: Model) -> bool:
    """Whether the model has inputs of its own for muscles."""
    return any(own.name in model.muscle_names for own in model.inputs)


def _default_activation(model: Model) -> Array:
    """(m,) the activations that the model names, 0 of ligaments and springs; ValueError if it leaves one open."""
    found = [muscle.default_activation for muscle in model.muscles]
    if None in found:
        name = model.muscle_names[found.index(None)]
        raise ValueError(f"activation: the model names none for muscle {name!r}; give activation= (--activation)")
    return np.array(found, dtype=float)


# --------------------------------------------------------------------------------------------------------------
#
# A feedback law in one run of a digital controller: called once a period, its values held in between.


SAMPLE_TIME_TOLERANCE = 1e-6  # of a period: how much rounding may move the time of a row before that of its sample


class SampledFeedback(Control):
    """The values of a law of a period in one run: each held until the next.

    name   of the input.
    check  validates values (..., n).
    """

    def __init__(self, name: str, feedback: StateFeedback, check: Callable[[ArrayLike], Array]) -> None:
        super().__init__(name, _unknown, check)
        self._law = feedback.law
        self.period = math.inf if feedback.period is None else feedback.period
        self._times: list[float] = []
        self._values: list[Array] = []

    def steps(self, h: float) -> int:
        """How many steps of h [s] a period has; ValueError if it is no whole number of them."""
        count = round(self.period / h)
        if count < 1 or abs(count * h - self.period) > STEP_COUNT_TOLERANCE * max(count, 1000) * h:
            raise ValueError(
                f"{self.name}: the period of the feedback, {self.period:g} s, is no whole number of steps of {h:g} s"
            )
        return count

    def sample(self, t: float, q: Array, u: Array, stopped: Array | bool = False) -> None:
        """Call the law at time t and the states q (..., nq), u (..., nu), and hold what it returns; NaN for states that
        have `stopped` (...)."""
        returned = self._law(np.array(t), q.copy(), u.copy())
        values = check_returned(self.name, returned, q.shape[:-1], self._check, stopped)
        self._times.append(t)
        self._values.append(values)

    def over(self, start: float, h: float, steps: int) -> Array:
        """The values that are held now."""
        return self._values[-1]

    def at(self, times: Array) -> Array:
        """(..., t, n) the values held at times (t,), those at a sample belonging to it."""
        found = np.searchsorted(np.array(self._times), times + SAMPLE_TIME_TOLERANCE * self.period, side="right") - 1
        return np.stack([self._values[max(k, 0)] for k in found], axis=-2)


def _unknown(time: float) -> ArrayLike:
    """No values by the time alone: `SampledFeedback` returns those of its samples."""
    raise ValueError(f"no sample at {time} s")
