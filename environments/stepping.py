"""Batches of states advanced by compiled steps, and the compiled formulas of a task."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import fields, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from myoquat.core import FOREIGN, Array, check_type, frozen, is_foreign, unchecked
from myoquat.dynamics import inverse_mass_matrix
from myoquat.dynamics.constraints import constraints_of
from myoquat.dynamics.constraints.equations import imposed
from myoquat.dynamics.integrators import SemiImplicitEuler, StateEquations, StepFormula
from myoquat.dynamics.simulation.controls import Inputs
from myoquat.dynamics.simulation.methods import MethodChoice
from myoquat.dynamics.simulation.problem import Problem
from myoquat.kernels import Outcome, compile
from myoquat.kernels.tracing.context import code_kept
from myoquat.muscle.forces.coordinates import CoordinateLimit
from myoquat.muscle.model import Model
from myoquat.muscle.states import start_activations

from .tasks import Situation, Task


def with_implicit_damping(model: Model, step: float) -> Model:
    """The model whose explicit steps of semi-implicit Euler are those of `model` with implicit damping of joints.

    Damping D at the speed after a step h: M udot = tau - D (u + h udot), or (M + h D) udot = tau - D u. The damping
    coefficients of joints times h are added to the inertia of their rotors. MuJoCo's integrator "Euler" is that
    (MuJoCo's documentation, Computation, Numerical integration). Energies of the result are not those of the model.
    """
    bodies = tuple(
        unchecked(body, {"rotor_inertia": body.rotor_inertia + step * body.damping}) for body in model.system.bodies
    )
    return unchecked(model, {"system": unchecked(model.system, {"bodies": bodies})})


@frozen
class ImplicitlyDamped(StateEquations):
    """The equations of an environment: damping of joints is implicit in a step of `step` [s], with the varied damping
    and rotor inertia of each state. The parameter "clock" (...,) is the time [s] at which a run of steps begins, for
    each state its own. Muscles and controls that the model's own inputs prescribe follow these."""

    step: float = 0.0

    @classmethod
    def of(cls, equations: StateEquations, step: float) -> "ImplicitlyDamped":
        """The equations with implicit damping in a step [s]."""
        kept = {f.name: getattr(equations, f.name) for f in fields(equations)}
        own = tuple(name for name in equations.acting if name != "torque")
        return cls(**kept | {"own_inputs": own, "step": step})

    @property
    def key(self) -> Hashable:
        return (super().key, self.step)

    @property
    def parameters(self) -> dict[str, Any]:
        return super().parameters | {"clock": ()}

    def acceleration(self, t: Array, q: Array, u: Array, given: Mapping[str, Any]) -> Array:
        return super(ImplicitlyDamped, self._damped).acceleration(t, q, u, given)

    def stabilized(self, x: Array, stabilization: str, t: Array | float = 0.0) -> Array:
        """The state x projected in the metric M + h D, in which constraint forces act over the step."""
        return super(ImplicitlyDamped, self._damped).stabilized(x, stabilization, t)

    @property
    def _damped(self) -> "ImplicitlyDamped":
        return self.of_model(with_implicit_damping(self.muscled, self.step))


class StepsByClock(SemiImplicitEuler):
    """Semi-implicit Euler that adds the parameter "clock" to the time of its steps."""

    name: ClassVar[str] = "environment"

    def formula(self, equations: StateEquations, stabilization: str) -> StepFormula:
        formula = super().formula(equations, stabilization)

        def step(t: Array, h: Array, x: Array, *values: Array) -> Array:
            return formula(t + equations.named(values)["clock"], h, x, *values)

        return StepFormula(step=step, bound=formula.bound)


TURN_PER_STEP = 0.4  # natural frequency of a stop times the step of the integrator, far below the stability bound 2
DAMPING_RATIO = 0.5
TRANSITION = 0.01  # [rad or m] over which a stop sets in


def with_joint_stops(model: Model, step: float) -> Model:
    """The model with a compliant stop at both ends of each coordinate range that has no limit yet.

    step: [s] of the integrator. Stiffness and damping are as high as it resolves: k = A (0.4 / step)^2 and c = A 0.4 /
    step. A = 1 / (M^-1)_jj is the effective inertia of the coordinate at the start. MuJoCo's own stops are soft
    constraints; these are forces of about the same stiffness. Angles that quaternions have replaced get none.

    >>> import myoquat as mq
    >>> from myoquat.environments import with_joint_stops
    >>> from myoquat.muscle.coordinates import Coordinate
    >>> hinge = mq.joints.RevoluteJoint((0, 0, 1))
    >>> bar = mq.Body("bar", "ground", hinge, mass=1.0, inertia=(1.0, 1.0, 1.0, 0, 0, 0), coordinate_names=("turn",))
    >>> model = mq.Model(mq.ArticulatedSystem((bar,)), (), coordinates=(Coordinate("turn", (0.0, 1.0)),))
    >>> with_joint_stops(model, 0.002).limits[0].upper_stiffness  # of the inertia 1 kg m^2 [N m/rad]
    40000.0
    """
    check_type("model", model, Model)
    if not (isinstance(step, Real) and 0 < step < np.inf):
        raise ValueError(f"step must be a positive number [s], not {step!r}")
    system = model.system
    inertia = 1.0 / np.diagonal(np.asarray(inverse_mass_matrix(model, model.start)))
    column = {name.removesuffix("_dot"): k for k, name in enumerate(system.velocity_names)}
    limited = {limit.coordinate for limit in model.limits if isinstance(limit, CoordinateLimit)}
    frequency, stops = TURN_PER_STEP / step, []
    for coordinate in model.coordinates:
        name = coordinate.name
        if coordinate.range is None or name in limited or name not in column:
            continue
        low, high = coordinate.range
        size = float(inertia[column[name]])
        stiffness = size * frequency**2
        stops.append(
            CoordinateLimit(f"{name}_stop", name, low, high, stiffness, stiffness, TRANSITION,
                            2 * DAMPING_RATIO * size * frequency)
        )  # fmt: skip
    return replace(model, limits=(*model.limits, *stops))


METHOD = "semi_implicit_euler"


class Stepper:
    """The states x (n, size) of a task's model: their start, their way over one action, and what is seen of them.

    task; names: numbers of the model that differ between states, as `myoquat.muscle.Parameters` takes them.
    """

    def __init__(self, task: Task, names: Iterable[str] = ()) -> None:
        model = self.model = task.model
        self.task = task
        self.method = StepsByClock()
        held = constraints_of(model, ())
        self.problem = Problem(model, MethodChoice(METHOD, "projection"), held, names, False, bool(held))
        self.names = self.problem.names
        self.equations = ImplicitlyDamped.of(self.problem.equations, task.step)
        prescribed = {own.name for own in model.inputs}
        self.muscles = [i for i, name in enumerate(model.muscle_names) if name not in prescribed]
        self.controls = [i for i, name in enumerate(model.control_names) if name not in prescribed]
        if not self.actions:
            raise ValueError("task: its model has neither muscles nor actuators, so that no action moves it")
        bounds = np.array([b for actuator in model.actuators for b in actuator.bounds]).reshape(-1, 2)
        self.control_bounds = bounds[self.controls]  # (k, 2) over which actions spread
        for name, pair in zip(self.actions[len(self.muscles) :], self.control_bounds, strict=True):
            if not np.isfinite(pair).all():
                raise ValueError(f"task: actuator {name!r} has no bounds, over which actions from -1 to 1 could spread")
        self._compiled: dict[Hashable, Any] = {}  # by what it is
        self._weights = tuple(task.weights.items())
        self._drawn = any(name.startswith("inputs.") for name in self.names)  # numbers of inputs differ between states
        self._checked = 0  # steps from the start of an episode whose prescribed inputs are known to be allowed

    def follow_code(self) -> None:
        """Trace users' code in the task and its model again, which may read a global, a class attribute or weights that
        have changed; machine code is found by the traced program."""
        weights = tuple(self.task.weights.items())
        if is_foreign(type(self.task)) or self.model.content_key.startswith(FOREIGN) or weights != self._weights:
            self._compiled.clear()
            self._weights = weights

    def _kept(self, key: Hashable, build: Callable[[], Any]) -> Any:
        """What `build` compiles, once."""
        if key not in self._compiled:
            with code_kept():
                self._compiled[key] = build()
        return self._compiled[key]

    def _varied(self, p: Array | None) -> Array | None:
        """The numbers of each state, None where all have the same."""
        return p if self.names else None

    @property
    def actions(self) -> tuple[str, ...]:
        """The muscles and controls that actions move, in their order: those that the model does not prescribe."""
        model = self.model
        return (*(model.muscle_names[i] for i in self.muscles), *(model.control_names[i] for i in self.controls))

    # ---- states --------------------------------------------------------------------------------------------------

    def start(self, q: Array, u: Array, p: Array | None) -> Array:
        """(n, size) states at poses q and speeds u, muscles not active, prescribed coordinates where they have to be.
        ValueError for one off the constraints."""
        equations, model, t, varied = self.equations, self.model, self.task.start_time, self._varied(p)
        q, u = imposed(model, q, u, t)
        try:
            q, u = self.problem.started(q, u, varied, t)
        except ValueError as error:
            raise ValueError(f"task: {str(error).partition(';')[0]}") from None
        given, inputs = dict[str, Any](), Inputs()
        if equations.muscles:  # those that the model prescribes begin as in `simulate`, others with inputs of zero
            own = equations.over_time(model, model.muscle_names, varied)(np.array([t]))[..., 0, :]
            own = model.check_activation(np.broadcast_to(own, (len(q), equations.muscles)))
            activation = start_activations(model, own, {*equations.excited}.difference(self.muscles))
            given = dict.fromkeys(("excitation", "activation"), own)
            inputs = Inputs(activation=activation, excitation=own)
        return self.method.begin(equations, q, u, *self.problem.own_start(q, given, inputs, varied))

    def advance(self, x: Array, actions: Array, time: Array, p: Array | None) -> tuple[Array, Array]:
        """(x (n, size), failed (n,)) after one action (n, m + k) each, from times (n,) [s] since the reset. A failed
        state stays at its last good one."""
        task, block = self.task, 1 if len(x) == 1 else None
        if len(self.muscles) < len(self.model.muscles):  # the model prescribes some
            self._check_prescribed(time, p)
        given = self._inputs(actions) | {"clock": task.start_time + time} | ({"p": p} if self.names else {})
        loop = self._kept(("loop", block), lambda: self.method.kept_loop(self.equations, "projection", block))
        ran = loop(x, h=task.step, steps=task.control_steps, every=task.control_steps, **given)
        return ran.final, ran.reason != Outcome.COMPLETED

    def _check_prescribed(self, time: Array, p: Array | None) -> None:
        """ValueError where inputs that the model prescribes leave [0, 1] during an action from times (n,) [s]. Where
        they are the same in all states, they are computed once for every time."""
        task = self.task
        end = round(float(time.max()) / task.step) + task.control_steps
        if self._drawn:
            steps = task.step * np.arange(task.control_steps)
            self.equations.check_prescribed(task.start_time + time[:, None] + steps, p)
        elif end > self._checked:
            self.equations.check_prescribed(task.start_time + task.step * np.arange(self._checked, end))
            self._checked = end

    def _inputs(self, actions: Array) -> dict[str, Any]:
        found: dict[str, Any] = {}
        moved = len(self.muscles)  # columns that the model prescribes stay zero: the equations replace them
        if self.equations.muscles:
            name = "excitation" if self.equations.excited else "activation"
            found[name] = np.zeros((len(actions), self.equations.muscles))
            if moved:
                formula = self.task.excitations
                if self.task.compiled:
                    formula = self._kept(
                        "actions", lambda: compile(self.task.excitations, {"a": moved}, ["excitations"])
                    )
                found[name][:, self.muscles] = formula(actions[:, :moved])
        if self.equations.actuated:
            low, high = self.control_bounds.T
            found["controls"] = np.zeros((len(actions), self.equations.actuated))
            found["controls"][:, self.controls] = low + 0.5 * (high - low) * (actions[:, moved:] + 1.0)
        return found

    # ---- formulas ------------------------------------------------------------------------------------------------

    def situation(self, time: Array, x: Array, goal: Array, *p: Array) -> Situation:
        """The arguments of the task's formulas at states x (..., size)."""
        equations, model = self.equations, self.model
        q, u = equations.split(x)
        activation = equations.rest(x)[..., : len(equations.excited)]
        if p:
            model = equations.fixed(p[0]).muscled
        return Situation(time, q, u, activation, goal, self.task.control_step, model)

    def _seen(self, time: Array, x: Array, goal: Array, *p: Array) -> dict[str, Array]:
        seen = self.situation(time, x, goal, *p)
        terms = self.task.terms(seen)
        return {"observation": self.task.observe(seen), "reward": self.task.reward(terms), **terms}

    def look(self, time: Array, x: Array, goal: Array, p: Array | None) -> dict[str, Array]:
        """Observation (n, o), reward (n,) and the terms (n,) by name."""
        task, lanes, arguments = self.task, 1 if len(x) == 1 else None, (time, x, goal, *((p,) if self.names else ()))
        if not task.compiled:
            return self._seen(*arguments)
        kernel = self._kept(("look", lanes, goal.shape[-1]), lambda: compile(
            self._seen, dict(zip(("time", "x", "goal", "p"), (values.shape[1:] for values in arguments), strict=False)),
            name=type(task).__name__, lanes=lanes,
        ))  # fmt: skip
        return dict(zip(kernel.outputs, kernel(*arguments), strict=True))
