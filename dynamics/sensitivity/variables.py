"""What forward and inverse dynamics are functions of, and their derivatives by all of it in one formula."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.dynamics import articulated, inverse
from myoquat.dynamics.integrators import StateEquations
from myoquat.dynamics.sensitivity.recursions import forward_derivatives, has_recursion, inverse_derivatives
from myoquat.joints.evaluation import system_of
from myoquat.joints.multibody import state
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.multibody.tree import Layout
from myoquat.joints.vectors import joined
from myoquat.kernels.symbolic.arrays import as_array
from myoquat.kernels.tracing.derivatives import jacobian_at
from myoquat.muscle.parameters import Parameters

__all__ = ["DynamicsVariables", "second_order_displaced"]

Values = dict[str, Any]  # name -> (..., n), f_ext (..., bodies, 6)


@dataclass(frozen=True)
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
        self, t: Any, values: Values, d: Array, displaced: Callable[[Layout, Array, Array], Array] = state.displaced
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
            before, after = (self._own_inputs(t, own) for own in (values, found))
            for name, value in after.items():
                found[name] = found[name] + value - before[name]
        return found

    def _own_inputs(self, t: Any, values: Values) -> dict[str, Any]:
        """(..., n) the inputs of which the model has functions of its own, 0 in the columns that these do not give."""
        equations = self.equations
        own = replace(equations, own_inputs=tuple(name for name in self.prescribed if name in equations.inputs))
        zero = {name: np.zeros(equations.inputs[name]) for name in own.own_inputs}
        return own.of_model(self.varied.bind(values["parameters"])).prescribed(t, zero)  # type: ignore[union-attr]

    def value(self, t: Any, values: Values) -> Array:
        """(..., nu + k) udot or tau, then the multipliers of the constraints."""
        bound = self._bound(values)
        system, q, u, f_ext = bound.system, values["q"], values["u"], values.get("f_ext")
        force = self._own_force(bound, t, values)
        if not self.constrained:
            if self.forward:
                return articulated.forward(system, q, u, values["tau"] + force, f_ext)
            return inverse.inverse(system, q, u, values["udot"], f_ext) - force
        held = bound.constrained
        if self.forward:
            outside = 0.0 if f_ext is None else inverse.external(system, q, f_ext)
            return joined([*held.acceleration(q, u, t, values["tau"] + force + outside)])
        lacking = inverse.inverse(system, q, u, values["udot"], f_ext) - force
        carried, multipliers = held.carried(q, t, lacking)
        return joined([lacking - carried, multipliers])

    def derivatives(self, t: Any, values: Values) -> Array:
        """(..., nu + k, sum of `sizes`) of `value` by a small change of the variables."""
        start = np.zeros(sum(self.sizes.values()))
        if self.constrained or not has_recursion(self.system):
            return jacobian_at(lambda d: self.value(t, self.changed(t, values, d)), start, like=values["q"])
        nu, q, u, f_ext = self.system.nu, values["q"], values["u"], values.get("f_ext")
        if self.forward:
            tau = values["tau"] + self._own_force(self.equations, t, values)
            joints = forward_derivatives(self.system, q, u, tau, f_ext)
        else:
            joints = inverse_derivatives(self.system, q, u, values["udot"], f_ext)
        if start.size == 3 * nu and not self.acting:
            return joints
        inverse_mass = joints[..., 2 * nu :]
        udot = articulated.forward(self.system, q, u, tau, f_ext) if self.forward else values["udot"]
        others = jacobian_at(lambda d: self._beside(t, values, udot, d), start, like=q)
        others = inverse_mass @ others if self.forward else -others
        rest = np.zeros((*joints.shape[:-1], start.size - 3 * nu))
        return np.concatenate([joints, rest], axis=-1) + others

    def _beside(self, t: Any, values: Values, udot: Array, d: Array) -> Array:
        """(..., nu) generalized forces that the recursions over the joints do not differentiate. They are those of the
        model, of f_ext by itself, and the changes by other numbers of the model at the same motion."""
        changed = self.changed(t, values, d)
        force = self._own_force(self._bound(changed), t, changed)
        if self.wrenches:
            force = force + inverse.external(self.system, values["q"], changed["f_ext"])
        if self.varied is not None:
            system = self._bound(changed).system
            force = force - inverse.inverse(system, values["q"], values["u"], udot, values.get("f_ext"))
        return force

    def _bound(self, values: Values) -> StateEquations:
        """The equations with the parameters in them."""
        if self.varied is None:
            return self.equations
        model = self.varied.bind(values["parameters"])
        return self.equations.of_model(model) if self.acting else replace(self.equations, model=system_of(model))

    def _own_force(self, equations: StateEquations, t: Any, values: Mapping[str, Any]) -> Array:
        """(..., nu) of muscles, limits, passive forces and actuators; zero where they do not act."""
        if not self.acting:
            return np.zeros(self.system.nu)
        given = {name: values[name] for name in equations.inputs}
        if equations.own:
            given["own"] = values["muscle_states"]
        return equations.force(t, values["q"], values["u"], given)


def second_order_displaced(layout: Layout, q: Array, motion: Array) -> Array:
    """(..., nq) coordinates after unit time at constant u = `motion` (..., nu), exact to second order: q + N d +
    (the derivative of N d along N d) / 2."""
    first = state.rates(layout, q, motion)
    bend = jacobian_at(lambda s: state.rates(layout, q + s * first, motion), np.zeros(1), like=as_array(q))[..., 0]
    return q + first + bend / 2
