"""Batches of states advanced by compiled steps, and the compiled formulas of a task."""

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np

from myoquat.core.content import FOREIGN, is_foreign
from myoquat.core.typing import Array
from myoquat.dynamics.constraints import constraints_of
from myoquat.dynamics.simulation.controls import Inputs
from myoquat.dynamics.simulation.methods import MethodChoice
from myoquat.dynamics.simulation.problem import Problem
from myoquat.environments.damping import ImplicitlyDamped, StepsByClock
from myoquat.environments.situation import Situation
from myoquat.environments.task import Task
from myoquat.kernels import Kernel, Outcome, StepLoop, compile
from myoquat.kernels.runtime.build import code_kept
from myoquat.muscle.states import state_names

__all__ = ["Stepper"]

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
        self.problem = Problem(model, MethodChoice(METHOD, "projection"), held, list(names), False, bool(held))
        self.equations = ImplicitlyDamped.of(self.problem.equations, task.step)
        prescribed = {own.name for own in model.inputs}
        self.muscles = [i for i, name in enumerate(model.muscle_names) if name not in prescribed]
        self.controls = [i for i, name in enumerate(model.control_names) if name not in prescribed]
        if not self.actions:
            raise ValueError("task: its model has neither muscles nor actuators, so that no action moves it")
        self.control_bounds = self._control_bounds()
        self._loops: dict[bool, StepLoop] = {}
        self._weights = tuple(task.weights.items())

    def follow_code(self) -> None:
        """Trace users' code in the task and its model again, which may read a global, a class attribute or weights that
        have changed; machine code is found by the traced program."""
        weights = tuple(self.task.weights.items())
        if is_foreign(type(self.task)) or self.model.content_key.startswith(FOREIGN) or weights != self._weights:
            self._loops.clear()
            self._kernels.clear()
            vars(self).pop("_excitations", None)
            self._weights = weights

    @property
    def names(self) -> tuple[str, ...]:
        """The numbers of the model that differ between states."""
        return self.problem.names

    @property
    def actions(self) -> tuple[str, ...]:
        """The muscles and controls that actions move, in their order: those that the model does not prescribe."""
        model = self.model
        return (*(model.muscle_names[i] for i in self.muscles), *(model.control_names[i] for i in self.controls))

    def _control_bounds(self) -> Array:
        """(k, 2) lowest and highest control that actions move; ValueError for one without bounds."""
        bounds = np.array([b for actuator in self.model.actuators for b in actuator.bounds]).reshape(-1, 2)
        bounds = bounds[self.controls]
        for name, pair in zip(self.actions[len(self.muscles) :], bounds, strict=True):
            if not np.isfinite(pair).all():
                raise ValueError(f"task: actuator {name!r} has no bounds, over which actions from -1 to 1 could spread")
        return bounds

    # ---- states --------------------------------------------------------------------------------------------------

    def start(self, q: Array, u: Array, p: Array | None) -> Array:
        """(n, size) states at poses q and speeds u, muscles not active; ValueError for one off the constraints."""
        try:
            self.problem.check_start(q, u, p if self.names else None)
        except ValueError as error:
            raise ValueError(f"task: {str(error).partition(';')[0]}") from None
        return self.method.begin(self.equations, q, u, *self._own_start(q, p))

    def _own_start(self, q: Array, p: Array | None) -> tuple[Array, ...]:
        if not self.equations.own:
            return ()
        quiet = self._prescribed(np.zeros((len(q), self.equations.muscles)), p)
        if not state_names(self.model):
            activation = (quiet[:, : len(self.equations.excited)],) if self.equations.excited else ()
            start = self.equations.delayed_start(p if self.names else None)
            delayed = tuple(np.broadcast_to(x, (len(q), x.shape[-1])) for x in start)
            return (*activation, *delayed)
        name = "excitation" if self.equations.excited else "activation"
        inputs = Inputs(activation=quiet, excitation=quiet) if self.equations.excited else Inputs(activation=quiet)
        return self.problem.own_start(q, {name: quiet}, inputs, p if self.names else None)

    def _prescribed(self, quiet: Array, p: Array | None) -> Array:
        """(n, m) the inputs of muscles where episodes begin: zero but for those that the model prescribes."""
        name = "excitation" if self.equations.excited else "activation"
        start = np.array(self.task.start_time)
        if p is None or not any(own.startswith("inputs.") for own in self.names):
            return np.asarray(self.equations.prescribed(start, {name: quiet}).get(name, quiet))
        rows = [self.equations.fixed(own).prescribed(start, {name: row}) for own, row in zip(p, quiet, strict=True)]
        return np.stack([own.get(name, row) for own, row in zip(rows, quiet, strict=True)])

    def advance(self, x: Array, actions: Array, time: Array, p: Array | None) -> tuple[Array, Array]:
        """(x (n, size), failed (n,)) after one action (n, m + k) each, from times (n,) [s] since the reset. A failed
        state stays at its last good one."""
        task, given = self.task, self._inputs(actions) | {"clock": self.task.start_time + time}
        if p is not None and self.names:
            given["p"] = p
        loop = self._loop(len(x) == 1)
        ran = loop(x, h=task.step, steps=task.control_steps, every=task.control_steps, **given)
        return ran.final, ran.reason != Outcome.COMPLETED

    def _inputs(self, actions: Array) -> dict[str, Any]:
        found: dict[str, Any] = {}
        moved = len(self.muscles)  # columns that the model prescribes stay zero: the equations replace them
        if self.equations.muscles:
            name = "excitation" if self.equations.excited else "activation"
            found[name] = np.zeros((len(actions), self.equations.muscles))
            if moved:
                found[name][:, self.muscles] = self._excitations(actions[:, :moved])
        if self.equations.actuated:
            low, high = self.control_bounds.T
            found["controls"] = np.zeros((len(actions), self.equations.actuated))
            found["controls"][:, self.controls] = low + 0.5 * (high - low) * (actions[:, moved:] + 1.0)
        return found

    def _loop(self, single: bool) -> StepLoop:
        if single not in self._loops:
            self._loops[single] = self.method.kept_loop(self.equations, "projection", 1 if single else None)
        return self._loops[single]

    # ---- formulas ------------------------------------------------------------------------------------------------

    @cached_property
    def _excitations(self) -> Any:
        formula = self.task.excitations
        if not self.task.compiled:
            return formula
        with code_kept():
            return compile(formula, {"actions": len(self.muscles)}, ["excitations"])

    def situation(self, time: Array, x: Array, goal: Array, *p: Array) -> Situation:
        """The arguments of the task's formulas at states x (..., size)."""
        equations, model = self.equations, self.model
        q, u = equations.split(x)
        if equations.excited and len(equations.excited) < equations.muscles:
            raise ValueError("task: either all muscles of its model have activation dynamics or none")
        activation = equations.rest(x)[..., : len(equations.excited)]
        if p:
            model = equations.fixed(p[0]).muscled
        return Situation(time, q, u, activation, goal, self.task.control_step, model)

    def _seen(self, time: Array, x: Array, goal: Array, *p: Array) -> dict[str, Array]:
        seen = self.situation(time, x, goal, *p)
        terms = self.task.terms(seen)
        return {"observation": self.task.observe(seen), "reward": self.task.reward(terms), **terms}

    @cached_property
    def _kernels(self) -> dict[tuple[int, bool], tuple[Kernel, list[str]]]:
        return {}

    def look(self, time: Array, x: Array, goal: Array, p: Array | None) -> dict[str, Array]:
        """Observation (n, o), reward (n,) and the terms (n,) by name."""
        varied = () if p is None or not self.names else (p,)
        if not self.task.compiled:
            return self._seen(time, x, goal, *varied)
        kernel, names = self._kernel(goal.shape[-1], len(x) == 1)
        return dict(zip(names, kernel(time, x, goal, *varied), strict=True))

    def _kernel(self, goals: int, single: bool) -> tuple[Kernel, list[str]]:
        key = goals, single
        if key not in self._kernels:
            names: list[str] = []

            def formula(*arguments: Array) -> dict[str, Array]:
                found = self._seen(*arguments)
                names[:] = list(found)
                return found

            inputs: dict[str, Any] = {"time": (), "x": self.equations.size, "goal": goals}
            if self.names:
                inputs["p"] = len(self.names)
            with code_kept():
                kernel = compile(formula, inputs, name=type(self.task).__name__, lanes=1 if single else None)
            self._kernels[key] = kernel, names
        return self._kernels[key]
