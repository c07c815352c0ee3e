"""What derivatives are asked for: a checked state with its inputs, and dynamics as a function of all its variables."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from myoquat.core import Array, ArrayLike, Pair, frozen
from myoquat.dynamics import articulated, inverse
from myoquat.dynamics.constraints import Constraint, constraints_of
from myoquat.dynamics.integrators import StateEquations
from myoquat.dynamics.simulation.controls import Inputs, check_no_feedback
from myoquat.dynamics.simulation.methods import MethodChoice
from myoquat.dynamics.simulation.problem import Problem, Start
from myoquat.joints import ArticulatedSystem
from myoquat.joints.evaluation import SystemLike, compiled, kernel_for, system_of
from myoquat.joints.locks import check_followed_locks, check_locks
from myoquat.joints.multibody import state
from myoquat.joints.multibody.tree import Layout
from myoquat.joints.vectors import joined, transpose
from myoquat.kernels import Kernel, as_array
from myoquat.kernels.tracing.derivatives import jacobian_at
from myoquat.muscle import Model, Parameters, PathFlag, path_flags
from myoquat.muscle.constraints.path_length import solved_surface

from .recursions import forward_derivatives, has_recursion, inverse_derivatives

ONE_SIDED = PathFlag.JUMP | PathFlag.UNSOLVED | PathFlag.COINCIDENT | PathFlag.LOCKED


def one_sided_paths(model: SystemLike, q: ArrayLike) -> Array:
    """(..., m) bool: muscles whose path at q has a jump or a kink nearby, or no certain solution: bits of ONE_SIDED."""
    if not isinstance(model, Model):
        return np.zeros((*np.shape(q)[:-1], 0), dtype=bool)
    return (path_flags(model, q) & int(ONE_SIDED)) != 0


def check_curved_paths(model: SystemLike, derivatives: int = 2, parameters: Iterable[str] = ()) -> None:
    """ValueError for a muscle whose path a solver finds, if its length has fewer `derivatives` than are needed: two for
    the derivatives of forces, three for their Hessians. So for `parameters` that are sizes of its surfaces."""
    for muscle in model.muscles if isinstance(model, Model) else ():
        if (surface := solved_surface(muscle.path, derivatives)) is not None:
            wanted = ("derivatives of forces need second", "Hessians of forces need third")[derivatives - 2]
            raise ValueError(
                f"muscle {muscle.name!r}: a solver finds its path around {surface}. Lengths and moment arms have exact "
                f"values there, but {wanted} derivatives of lengths. Fitted paths have them: "
                "model.with_fitted_paths(fit_paths(model, poses)) replaces the path"
            )
        for name in parameters if solved_surface(muscle.path) else ():
            if name.startswith(f"muscles.{muscle.name}.wraps.") and not {"position", "orientation"} & {
                *name.split(".")
            }:
                raise ValueError(
                    f"parameters: {name!r} is a size of a surface. A solver finds the path of muscle {muscle.name!r}, "
                    "and derivatives by sizes are not known there"
                )


def checked_start(
    model: SystemLike, given: tuple[ArrayLike | None, ArrayLike | None], constraints: Sequence[Constraint],
    choice: MethodChoice, *, parameters: Iterable[str] = (), external_torque: bool = True, time: float = 0.0,
) -> tuple[Problem, Start]:  # fmt: skip
    """The equations of motion, and a state on their constraints and clear of locks. Raises as `simulate` does."""
    held = constraints_of(model, constraints) if system_of(model).nu else ()
    start = Start.of(model, *given, held, project=False, time=time)
    problem = Problem(model, choice, held, parameters, external_torque, start.redundant)
    (check_followed_locks if held else check_locks)(problem.system, start.q, "the state")
    return problem, start


@frozen
class StatePoint:
    """The states x (..., n) of equations of motion at a time, and the values of their inputs, (..., k) each."""

    equations: StateEquations
    time: float
    x: Array
    values: tuple[Array, ...]

    @classmethod
    def of(
        cls, model: SystemLike, given: tuple[ArrayLike | None, ArrayLike | None], inputs: Inputs,
        constraints: Sequence[Constraint] = (), time: float = 0.0, choice: MethodChoice | None = None,
        external_torque: bool = True,
    ) -> "StatePoint":  # fmt: skip
        """The state from the arguments of `simulate`, with torques on u among the inputs unless said otherwise. Raises
        as that does."""
        if not system_of(model).nu:
            raise ValueError("the model has no coordinates, so that there is nothing to differentiate")
        check_no_feedback(inputs)
        chosen = choice or MethodChoice("rk4", "none")
        problem, start = checked_start(model, given, constraints, chosen, external_torque=external_torque, time=time)
        controls = problem.controls(inputs)
        at_start = problem.at_start(controls, inputs, time, (start.q, start.u))
        own = problem.own_start(start.q, at_start, inputs)
        x = joined([start.q, start.u, *own])
        return cls(problem.equations, time, x, tuple(at_start.values()))

    @property
    def input_names(self) -> tuple[str, ...]:
        """The name of every component of the inputs, in order."""
        equations = self.equations
        names: dict[str, Sequence[str]] = {"torque": [f"torque.{name}" for name in equations.system.velocity_names]}
        if isinstance(model := equations.model, Model):
            names |= dict.fromkeys(("excitation", "activation"), model.muscle_names) | {"controls": model.control_names}
        return tuple(name for key in equations.inputs for name in names[key])


# --------------------------------------------------------------------------------------------------------------
#
# The tangent space of the state x = (q, u, w): small changes, with three numbers for each quaternion.


@frozen
class StateTangent:
    """Small changes (dq, du, dw) of states: a small motion (nu), velocities (nu) and the states of muscles."""

    equations: StateEquations

    @property
    def size(self) -> int:
        """Number of components."""
        return 2 * self.equations.system.nu + len(self.equations.own)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the components: small motions, velocities, states of muscles and actuators."""
        velocities = self.equations.system.velocity_names
        return (*(f"d{name}" for name in velocities), *velocities, *self.equations.own)

    def moved(self, x: Array, change: Array) -> Array:
        """(..., n) x after a small change (..., size), exact to first order."""
        q, *others = self.equations.parts(x)
        dq, *changes = self.split(change)
        moved = (part + d for part, d in zip(others, changes, strict=False))
        return joined([state.displaced(self.equations.system, q, dq), *moved])

    def split(self, change: Array) -> tuple[Array, Array, Array]:
        """(dq, du, dw) of a change (..., size)."""
        nu = self.equations.system.nu
        dq, du, dw = np.split(change, [nu, 2 * nu], axis=-1)
        return dq, du, dw

    def components(self, x: Array, dx: Array) -> Array:
        """(..., size) the change whose x moves by dx (..., n), a tangent vector at x."""
        q, _ = self.equations.split(x)
        dq, *others = self.equations.parts(dx)
        return joined([state.velocities(self.equations.system, q, dq), *others])

    def structure(self, x: Array) -> Array:
        """(..., nu, nu) C(q, u): beside a motion, a small change of pose moves by ddq/dt = C dq + du.

        Let N(q) u = qdot. Then C dq is the Lie bracket of the two fields. It is N^+ times the derivative of N u along N
        dq, minus that of N dq along N u. For a ball joint with velocities in the child's frame it is -omega x dq, for
        coordinates zero.
        """
        layout = self.equations.system
        q, u = self.equations.split(x)
        moved = partial(state.displaced, layout, q)
        turned = jacobian_at(lambda d: state.rates(layout, moved(d), u), np.zeros(layout.nu), like=q)
        carried = state.rate_along(lambda s: state.rate_matrix(layout, moved(s * u)), q)
        return state.rate_inverse(layout, q) @ (turned - carried)


def changed_inputs(equations: StateEquations, values: Sequence[Array], change: Array) -> list[Array]:
    """The inputs, the first of the values, plus a change (..., m) of all their components."""
    ends = np.cumsum([0, *equations.inputs.values()])
    return [v + change[..., i:j] for v, i, j in zip(values, ends, ends[1:], strict=False)]


def derivatives_by_change(
    key: tuple[Hashable, ...], formula: Callable[..., Array], sizes: Mapping[str, Any], given: Sequence[Any], size: int
) -> Pair:
    """The value (..., k) of a formula of the inputs `sizes` and a change (size,), where the change is zero, and its
    derivatives (..., k, size) by the change.

    A kernel finds them one direction after the other: its code is some three times that of the formula, however many
    results there are.
    """
    name, still = str(key[0]), np.zeros(size)
    kernel = compiled(key, formula, {**sizes, "change": size}, ["value"], name=name)
    along = kernel_for(("along", *key), lambda _: kernel.jvp(wrt="change"))
    for_all = [np.expand_dims(x, -1 - len(shape)) for x, shape in zip(given, kernel.inputs.values(), strict=False)]
    return np.asarray(kernel(*given, still)), transpose(np.asarray(along(*for_all, still, np.eye(size))))


def state_tangent(equations: StateEquations) -> Kernel:
    """The kernel of x (n,) -> how the components of x move with a change (n, size), and the converse (size, n)."""
    tangent = StateTangent(equations)

    def formula(x: Array) -> Pair:
        basis = jacobian_at(lambda d: tangent.moved(x, d), np.zeros(tangent.size), like=x)
        components = jacobian_at(lambda d: tangent.components(x, d), np.zeros(equations.size), like=x)
        return basis, components

    key, sizes = ("state tangent", equations.key), {"x": equations.size}
    return compiled(key, formula, sizes, ["basis", "components"], name="state_tangent")


# --------------------------------------------------------------------------------------------------------------
#
# What forward and inverse dynamics are functions of, and their derivatives by all of it in one formula.


START = np.zeros(())  # the time [s] of dynamics without one
Values = dict[str, Any]  # name -> (..., n), f_ext (..., bodies, 6)


@frozen
class DynamicsVariables:
    """Forward dynamics, of tau, or inverse dynamics, of udot, as a function of its variables.

    equations  the model, its constraints and, with `acting`, its muscles, forces and actuators.
    forward    which of the two.
    acting     whether the model's own forces and constraints act beside its joints.
    wrenches   whether external wrenches f_ext act.
    varied     numbers of the model that are variables too.
    prescribed names of inputs whose values are those of the model's own functions, which change with their numbers.
    """

    equations: StateEquations
    forward: bool
    acting: bool
    wrenches: bool
    varied: Parameters | None
    prescribed: tuple[str, ...] = ()

    @property
    def key(self) -> Hashable:
        """Equal for equal functions."""
        names = () if self.varied is None else (self.varied.names, self.varied.model.content_key)
        return (self.equations.key, self.forward, self.acting, self.wrenches, names, self.prescribed)

    @property
    def system(self) -> ArticulatedSystem:
        """The bodies and joints."""
        return self.equations.system

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape of every variable, in order."""
        system, equations = self.system, self.equations
        found: dict[str, tuple[int, ...]] = {"q": (system.nq,), "u": (system.nu,)}
        found["tau" if self.forward else "udot"] = (system.nu,)
        if self.wrenches:
            found["f_ext"] = (len(system.bodies), 6)
        if self.acting:
            found |= {name: (size,) for name, size in equations.inputs.items()}
            found |= {"muscle_states": (len(equations.own),)} if equations.own else {}
        if self.varied is not None:
            found["parameters"] = (len(self.varied.names),)
        return found

    @property
    def sizes(self) -> dict[str, int]:
        """Number of directions of every variable, in order: of q the components of a small motion."""
        return {name: int(np.prod(shape)) for name, shape in self.shapes.items()} | {"q": self.system.nu}

    @property
    def constrained(self) -> bool:
        """Whether multipliers are part of the result."""
        return self.acting and bool(self.equations.constraints)

    # ---- values ------------------------------------------------------------------------------------------------

    def changed(
        self, values: Values, d: Array, displaced: Callable[[Layout, Array, Array], Array] = state.displaced
    ) -> Values:
        """The variables after a small change d (..., sum of `sizes`)."""
        found, start = dict(values), 0
        for name, size in self.sizes.items():
            part, start = d[..., start : start + size], start + size
            if name == "q":
                found["q"] = displaced(self.system, values["q"], part)
            elif name == "f_ext":
                found[name] = values[name] + part.reshape((*part.shape[:-1], *self.shapes[name]))
            else:
                found[name] = values[name] + part
        if self.varied is not None and any(name.startswith("inputs.") for name in self.varied.names):
            before, after = (self._own_inputs(own) for own in (values, found))
            for name, value in after.items():
                found[name] = found[name] + value - before[name]
        return found

    def _own_inputs(self, values: Values) -> dict[str, Any]:
        """(..., n) the inputs of which the model has functions of its own, 0 in the columns that these do not give."""
        equations = self.equations
        own = replace(equations, own_inputs=tuple(name for name in self.prescribed if name in equations.inputs))
        zero = {name: np.zeros(equations.inputs[name]) for name in own.own_inputs}
        return own.of_model(self.varied.bind(values["parameters"])).prescribed(START, zero)  # type: ignore[union-attr]

    def value(self, values: Values) -> Array:
        """(..., nu + k) udot or tau, then the multipliers of the constraints."""
        bound = self._bound(values)
        system, q, u, f_ext = bound.system, values["q"], values["u"], values.get("f_ext")
        force = self._own_force(bound, values)
        if not self.constrained:
            if self.forward:
                return articulated.forward(system, q, u, values["tau"] + force, f_ext)
            return inverse.inverse(system, q, u, values["udot"], f_ext) - force
        held = bound.constrained
        if self.forward:
            outside = 0.0 if f_ext is None else inverse.external(system, q, f_ext)
            return joined([*held.acceleration(q, u, START, values["tau"] + force + outside)])
        lacking = inverse.inverse(system, q, u, values["udot"], f_ext) - force
        carried, multipliers = held.carried(q, START, lacking)
        return joined([lacking - carried, multipliers])

    def derivatives(self, values: Values) -> Array:
        """(..., nu, sum of `sizes`) of `value` by a small change of the variables, without constraints."""
        start = np.zeros(sum(self.sizes.values()))
        if not has_recursion(self.system):
            return jacobian_at(lambda d: self.value(self.changed(values, d)), start, like=values["q"])
        nu, q, u, f_ext = self.system.nu, values["q"], values["u"], values.get("f_ext")
        if self.forward:
            tau = values["tau"] + self._own_force(self.equations, values)
            joints = forward_derivatives(self.system, q, u, tau, f_ext)
        else:
            joints = inverse_derivatives(self.system, q, u, values["udot"], f_ext)
        if start.size == 3 * nu and not self.acting:
            return joints
        udot = articulated.forward(self.system, q, u, tau, f_ext) if self.forward else values["udot"]
        others = jacobian_at(lambda d: self._beside(values, udot, d), start, like=q)
        others = joints[..., 2 * nu :] @ others if self.forward else -others
        rest = np.zeros((*joints.shape[:-1], start.size - 3 * nu))
        return np.concatenate([joints, rest], axis=-1) + others

    def _beside(self, values: Values, udot: Array, d: Array) -> Array:
        """(..., nu) generalized forces that the recursions over the joints do not differentiate. They are those of the
        model, of f_ext by itself, and the changes by other numbers of the model at the same motion."""
        changed = self.changed(values, d)
        force = self._own_force(self._bound(changed), changed)
        if self.wrenches:
            force = force + inverse.external(self.system, values["q"], changed["f_ext"])
        if self.varied is not None:
            system = self._bound(changed).system
            force = force - inverse.inverse(system, values["q"], values["u"], udot, values.get("f_ext"))
        return force

    def evaluated_derivatives(self, name: str, arrays: Sequence[Array]) -> Array:
        """(..., nu + k, sum of `sizes`) the same through a kernel, with constraints too, from the variables
        in order."""
        key = name, self.key
        if self.constrained:
            formula = lambda *given: self.value(self.changed(self.named(given[:-1]), given[-1]))  # noqa: E731
            return derivatives_by_change(key, formula, self.shapes, arrays, sum(self.sizes.values()))[1]
        kernel = compiled(key, lambda *x: self.derivatives(self.named(x)), self.shapes, [name], name=name)
        return np.asarray(kernel(*arrays))

    def named(self, arrays: Sequence[Any]) -> Values:
        """The variables by name, from these in order."""
        return dict(zip(self.shapes, arrays, strict=True))

    def _bound(self, values: Values) -> StateEquations:
        """The equations with the parameters in them."""
        if self.varied is None:
            return self.equations
        model = self.varied.bind(values["parameters"])
        return self.equations.of_model(model) if self.acting else replace(self.equations, model=system_of(model))

    def _own_force(self, equations: StateEquations, values: Mapping[str, Any]) -> Array:
        """(..., nu) of muscles, limits, passive forces and actuators; zero where they do not act."""
        if not self.acting:
            return np.zeros(self.system.nu)
        given = {name: values[name] for name in equations.inputs}
        if equations.own:
            given["own"] = values["muscle_states"]
        return equations.force(START, values["q"], values["u"], given)


def second_order_displaced(layout: Layout, q: Array, motion: Array) -> Array:
    """(..., nq) coordinates after unit time at constant u = `motion` (..., nu), exact to second order: q + N d +
    (the derivative of N d along N d) / 2."""
    first = state.rates(layout, q, motion)
    bend = state.rate_along(lambda s: state.rates(layout, q + s * first, motion), as_array(q))
    return q + first + bend / 2
