"""What step loops and adaptive methods share: a model's equations of motion, and the checks of a call's inputs."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from myoquat.core import Array, ArrayLike, Pair, check_type, frozen, real_array, unchecked
from myoquat.dynamics.constraints import Constraint, ConstraintArrays, Constraints
from myoquat.dynamics.constraints.equations import imposed
from myoquat.dynamics.constraints.evaluate import MAX_START_VIOLATION
from myoquat.dynamics.integrators import StateEquations
from myoquat.dynamics.regularity import check_regular
from myoquat.joints import normalize
from myoquat.joints.errors import OffSphereError
from myoquat.joints.evaluation import SystemLike, compiled, system_of
from myoquat.joints.locks import check_followed_locks
from myoquat.joints.ranges import check_array, check_state, warn_far
from myoquat.joints.vectors import joined, spread, vector
from myoquat.muscle import Model, Parameters, check_laws
from myoquat.muscle.evaluate import equilibria, equilibrium_states
from myoquat.muscle.inputs import InputsOverTime
from myoquat.muscle.laws.shared_structure import numbers_of
from myoquat.muscle.segments.lengths import lengths
from myoquat.muscle.states import check_start, elastic, start_activations, state_names

from .controls import Control, ControlLike, Inputs, Law, StateFeedback, check_numbers, check_returned, is_constant
from .methods import BY_ACCELERATION, STEP_COUNT_TOLERANCE, MethodChoice

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
        return self.equations.names

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
            return vector(columns)
        except ValueError:
            shapes = ", ".join(f"{name} {value.shape}" for name, value in found.items())
            raise ValueError(f"parameters: the arrays do not broadcast: {shapes}") from None

    def started(self, q: Array, u: Array, p: Array | None, t: float = 0.0) -> Pair:
        """Where runs with numbers p (..., n) of their own start: see `varied_start`."""
        if self.constraint_arrays is not None and p is not None:
            return varied_start(self.equations, q, u, p, t)
        if self.constraint_arrays is not None:
            self.constraint_arrays.check(q, u, t)
        return q, u

    # ---- inputs of the muscles and torques ---------------------------------------------------------------------

    def controls(self, inputs: Inputs) -> dict[str, Control]:
        """The inputs by name, but those that compiled feedback gives; ValueError for values that are missing, not
        finite or out of range, and for feedback that had to be compiled with the equations."""
        laws, found = dict(self.equations.feedback), dict[str, Control]()
        for name, given, check in self._given(inputs):
            if name in laws:
                continue
            if not isinstance(given, StateFeedback):
                found[name] = Control(name, given, check)
                continue
            if given.period is None:
                raise ValueError(
                    f"{name}: feedback without a period is compiled; Simulator(..., feedback=...) takes it"
                )
            if self.choice.adaptive:
                raise ValueError(
                    f"{name}: feedback with a period needs a method of fixed step, not {self.choice.name!r}"
                )
            found[name] = SampledFeedback(name, given, check)
        return found

    def _given(self, inputs: Inputs) -> Iterator[tuple[str, ControlLike, Check]]:
        """Name, values and check of every input that acts, the compiled feedback among them; ValueError where a call
        gives something else for it."""
        for name in self.feedback:
            value = getattr(inputs, name)
            if value is not None and not (isinstance(value, StateFeedback) and value == self.feedback[name]):
                raise ValueError(f"{name}: the feedback of this Simulator gives it; make one without for other values")
        laws: dict[str, Any] = {**self.feedback}
        inputs, model, equations, system = replace(inputs, **laws), self.model, self.equations, self.system
        if isinstance(model, Model) and equations.muscles:
            check = partial(model.check_activation, name="activation" if inputs.excitation is None else "excitation")
            yield "excitation" if equations.excited else "activation", self._muscle_input(model, inputs), check
        elif any(_has_values(value) for value in (inputs.activation, inputs.excitation)):
            raise ValueError("activation: the model has no muscles")
        if isinstance(model, Model) and equations.actuated:
            given, names = inputs.controls, model.control_names
            if given is None:
                given = self._own_inputs(model, names, inputs) if _prescribes(model, names) else np.zeros(len(names))
            yield "controls", given, model.check_controls
        elif inputs.controls is not None and _has_values(inputs.controls):
            raise ValueError("controls: the model has no actuators")
        if equations.external_torque:
            given = np.zeros(system.nu) if inputs.torque is None else inputs.torque
            yield "torque", given, lambda values: check_state("torque", values, system.velocity_names)
        elif inputs.torque is not None:
            raise ValueError(
                "torque: this Simulator was made without; Simulator(..., external_torque=True) takes torques"
            )

    def _muscle_input(self, model: Model, inputs: Inputs) -> ControlLike:
        """The input of the muscles: excitations where there are activation dynamics, activations otherwise; by default
        the model's own inputs, or the activations that it names, 0 of ligaments and springs."""
        activation, excitation, excited = inputs.activation, inputs.excitation, self.equations.excited
        if not excited and activation is not None and excitation is not None:
            raise ValueError("excitation: no muscle has activation dynamics; give either this or activation")
        if excited and activation is not None and not is_constant(activation):
            raise ValueError(
                f"activation: a state of muscle {model.muscle_names[excited[0]]!r} and others, of which only the start "
                "(..., m) can be given; excitation= takes tables and functions of time"
            )
        if excitation is not None:
            return excitation
        if _prescribes(model, model.muscle_names) and (excited or activation is None):
            return self._own_inputs(model, model.muscle_names, inputs)
        if activation is not None:
            return activation
        found = [muscle.default_activation for muscle in model.muscles]
        if None in found:
            name = model.muscle_names[found.index(None)]
            raise ValueError(f"activation: the model names none for muscle {name!r}; give activation= (--activation)")
        return np.array(found, dtype=float)

    def _own_inputs(self, model: Model, names: tuple[str, ...], inputs: Inputs) -> InputsOverTime:
        """The model's own inputs of these names, with the numbers of each run where theirs vary."""
        return self.equations.over_time(model, names, self._stacked(inputs.parameters))  # `run` checks them

    def fed_back(self, inputs: Inputs, t: Array | float, q: Array, u: Array) -> dict[str, Array]:
        """(..., n) what compiled feedback gives at times t and states q (..., nq), u (..., nu), checked; NaN where
        these are."""
        if not self.feedback:
            return {}
        checks = {name: check for name, _, check in self._given(inputs)}
        found = self.equations.fed_back(np.asarray(t), q, u)
        missing: Array = np.asarray(np.isnan(u).any(axis=-1) | np.isnan(q).any(axis=-1))
        return {name: check_returned(name, found[name], q.shape[:-1], checks[name], missing) for name in found}

    def at_start(self, controls: Mapping[str, Control], inputs: Inputs, time: float, state: Pair) -> dict[str, Array]:
        """(..., n) every input at the start (q (..., nq), u (..., nu)) and its time; sampled feedback is sampled."""
        q, u = spread(*state)
        for control in controls.values():
            if isinstance(control, SampledFeedback):
                control.sample(time, q, u)
        given = {name: control.at(np.array([time]))[..., 0, :] for name, control in controls.items()}
        return given | self.fed_back(inputs, time, q, u)

    def begun(
        self, start: Pair, time: float, inputs: Inputs, controls: Mapping[str, Control], own: Array | None = None
    ) -> tuple[Array | None, tuple[Array, ...]]:
        """The numbers of each run, and where it starts: q, u and, unless `own` gives them, the states of muscles and
        actuators."""
        p = self.values(inputs.parameters)
        q, u = start if p is None else self.started(*start, p, time)
        given = self.at_start(controls, inputs, time, (q, u))
        return p, (q, u, *(self.own_start(q, given, inputs, p) if own is None else (own,)))

    # ---- the states of muscles and actuators at the start -------------------------------------------------------

    def own_start(
        self, q: Array, given: Mapping[str, Array], inputs: Inputs, p: Array | None = None
    ) -> tuple[Array, ...]:
        """The states of muscles at the start, where inputs have the values `given`, and the activations of delayed
        actuators.

        Activations are given or equal to the excitations. Where the model prescribes the excitations, activations start
        as it names them. The states of the laws are given or in equilibrium at rest, with the numbers p (..., n) of
        each run. ValueError where they do not fit or there is no equilibrium."""
        equations, model, delayed = self.equations, self.model, self.equations.delayed_start(p)
        if inputs.muscle_states is not None and not (isinstance(model, Model) and state_names(model)):
            raise ValueError("muscle_states: this model's muscles have none")
        if not equations.of_muscles:
            return delayed
        assert isinstance(model, Model)
        excited = list(equations.excited)
        activation = given["excitation" if excited else "activation"]
        if excited and inputs.activation is not None:
            assert not callable(inputs.activation)  # refused by `controls`: a state has a start, not a course
            assert not isinstance(inputs.activation, StateFeedback)
            follows = np.isin(np.arange(equations.muscles), excited)
            activation = np.where(follows, model.check_activation(inputs.activation), activation)
        elif excited and inputs.excitation is None and _prescribes(model, model.muscle_names):
            activation = start_activations(model, activation, excited)
        if inputs.muscle_states is not None:
            states = check_start(model, "muscle_states", inputs.muscle_states)
        elif p is None:
            states = equilibrium_states(model, q, activation)
        else:
            given_rows = spread(q, activation, p)
            _, states = muscle_starts(equations, *(x.reshape(-1, x.shape[-1]) for x in given_rows))
            if not np.isfinite(states).all():
                sample = int(np.argwhere(~np.isfinite(states))[0, 0])
                raise ValueError(f"muscle_states: sample {sample} of the parameters has no equilibrium at the start")
            states = states.reshape(*given_rows[0].shape[:-1], states.shape[-1])
        return activation[..., excited], states, *delayed


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


def _prescribes(model: Model, names: Sequence[str]) -> bool:
    """Whether the model has inputs of its own among these."""
    return any(own.name in names for own in model.inputs)


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


# ---- The state at which a simulation starts --------------------------------------------------------------------------


@frozen
class Start:
    """A checked start, q (..., nq) and u (..., nu), on the constraints, `redundant` if some nearly depend on others,
    `contradictory` if a warning has said that no acceleration satisfies all, with the model's own numbers."""

    q: Array
    u: Array
    constraints: tuple[Constraint, ...] = ()
    redundant: bool = False
    contradictory: bool = False

    @classmethod
    def of(
        cls, model: SystemLike, q0: ArrayLike | None, u0: ArrayLike | None, constraints: Sequence[Constraint],
        project: bool, time: float = 0.0, varied: bool = False,
    ) -> "Start":  # fmt: skip
        """The start from the arguments of `simulate`; the model's own where nothing is given, neutral and at rest where
        it names none. Prescribed coordinates start where their functions say, locked ones at rest. Raises ValueError,
        with the violation, for a state off the manifold unless `project` is true. `varied`: numbers of the model vary,
        so that whoever knows them checks the constraints."""
        system = system_of(model)
        own_q, own_u = getattr(model, "start_q", None), getattr(model, "start_u", None)
        q = q0 if q0 is not None else system.neutral() if own_q is None else own_q
        u = u0 if u0 is not None else np.zeros(system.nu) if own_u is None else own_u
        check_numbers("q0", check_array("q0", q))
        check_numbers("u0", check_array("u0", u))
        if project:
            q = np.array(check_state("q0", q, system.coordinate_names))
            for s in system.quaternion_slices():
                q[..., s] = normalize(q[..., s])
        try:
            q, u = system.check_q(q, "q0"), system.check_u(u, "u0")
        except OffSphereError as error:
            raise OffSphereError(f"{error}; project_start=True divides by the length") from None
        q, u = imposed(model, q, u, time)
        warn_far(q, system.angles)
        if not constraints:
            return cls(q, u)
        check_followed_locks(system, q, "the start")
        arrays = ConstraintArrays(Constraints(system, constraints))
        if not system.nu:
            arrays.check(q, u, time)
            return cls(q, u)
        if varied and project:
            raise ValueError("project_start: with parameters, give each run a q0, u0 on its own constraints")
        q, u = map(np.array, spread(q, u))
        batch = q.shape[:-1]
        if project:
            for where in np.ndindex(batch):
                q[where], u[where] = arrays.nearest(q[where], u[where], time)
        if not varied:
            arrays.check(q, u, time)
        redundant = any(arrays.dependent(q[where], time) for where in np.ndindex(batch))
        contradictory = redundant and arrays.warn_contradictions(q, u, time)
        return cls(q, u, arrays.constraints.parts, redundant, contradictory)


# ---- Where the muscles' states of every sample begin: in equilibrium, with the numbers of that sample ----------------


def varied_start(equations: StateEquations, q: Array, u: Array, p: Array, t: float = 0.0) -> Pair:
    """Where runs start: at q (..., nq), u (..., nu), prescribed coordinates where the functions with the numbers p
    (..., n) of each run have them. ValueError for a run that starts off the constraints, which its numbers may move."""
    system, varied = equations.system, equations.varied
    if varied is not None and any(location.steps[0] in ("coordinates", "couplers") for location in varied.locations):
        rows = spread(q, u, p)
        states = [
            imposed(varied.bind(rows[2][run]), rows[0][run], rows[1][run], t) for run in np.ndindex(rows[2].shape[:-1])
        ]
        q, u = (np.reshape(x, (*rows[2].shape[:-1], -1)) for x in zip(*states, strict=True))

    def violated(q: Array, u: Array, t: Array, p: Array) -> Array:
        held = equations.fixed(p).constrained
        return joined([held.position(q, t), held.rate(q, u, t)])

    sizes = {"q": system.nq, "u": system.nu, "t": (), "p": len(equations.names)}
    kernel = compiled(("start on constraints", equations.key), violated, sizes, ["violated"], name="start")
    off = np.abs(np.asarray(kernel(q, u, t, p)))
    if not (off <= MAX_START_VIOLATION).all():
        *run, row = (int(i) for i in np.argwhere(~(off <= MAX_START_VIOLATION))[0])
        raise ValueError(
            f"the start of run {', '.join(map(str, run)) or 0} violates the constraints "
            f"with its own parameters: row {row} is off by "
            f"{off[(*run, row)]:.3g}, allowed is {MAX_START_VIOLATION:g}; give each run a q0, u0 on its constraints"
        )
    return q, u


def muscle_starts(equations: StateEquations, q: Array, activation: Array, p: Array | None) -> tuple[Array, ...]:
    """Activations of the excited muscles, equal to the excitations, and the laws' states at rest, (samples, n) each; q
    (samples, nq), activation (samples, m). NaN where a muscle finds no balance."""
    types = elastic(equations.muscled)

    def formula(q: Array, p: Array) -> tuple[Array, ...]:
        """Path lengths (m,), and of every type of laws its numbers (laws, numbers)."""
        bound = equations.fixed(p if equations.names else None).muscled
        numbers = [
            vector([x + np.zeros(len(members)) + 0.0 * q[..., 0] for x in numbers_of(law).values()])
            for members, law in elastic(bound)
        ]
        return lengths(bound.system, bound.paths, q), *numbers

    sizes: dict[str, Any] = {"q": equations.system.nq, "p": (max(len(equations.names), 1),)}
    outputs = ["lengths", *(f"law_type_{i}" for i in range(len(types)))]
    kernel = compiled(("muscle_starts", equations.key), formula, sizes, outputs, name="muscle_starts", threads=1)
    found = kernel(q=q, p=np.zeros((1, 1)) if p is None else p)
    l, *values = found if isinstance(found, tuple) else (found,)
    laws = [
        (members, unchecked(law, dict(zip(numbers_of(law), np.moveaxis(value, -1, 0), strict=True))))
        for (members, law), value in zip(types, values, strict=True)
    ]
    activation = np.broadcast_to(activation, l.shape)
    return activation[:, list(equations.excited)], equilibria(equations.muscled, l, activation, laws)
