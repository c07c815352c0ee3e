"""Steps of environments: semi-implicit Euler with implicit damping of joints, each state with a clock of its own."""

from collections.abc import Hashable, Mapping
from dataclasses import fields
from typing import Any, ClassVar

from myoquat.core.records import dataclass, unchecked
from myoquat.core.typing import Array
from myoquat.dynamics.integrators import SemiImplicitEuler, StateEquations, StepFormula, VariedEquations
from myoquat.muscle.model import Model

__all__ = ["ImplicitlyDamped", "StepsByClock", "with_implicit_damping"]


def with_implicit_damping(model: Model, step: float) -> Model:
    """The model whose explicit steps of semi-implicit Euler are those of `model` with implicit damping of joints.

    Damping D at the speed after a step h: M udot = tau - D (u + h udot), or (M + h D) udot = tau - D u. The damping
    coefficients of joints times h are added to the inertia of their rotors. MuJoCo's integrator "Euler" is that
    (MuJoCo's documentation, Computation, Numerical integration). Energies of the result are not those of the model.
    """
    bodies = tuple(
        unchecked(body, {"rotor_inertia": body.rotor_inertia + step * body.damping}) for body in model.system.bodies
    )
    result: Model = unchecked(model, {"system": unchecked(model.system, {"bodies": bodies})})
    return result


@dataclass(frozen=True)
class ImplicitlyDamped(VariedEquations):
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
        damped = self.of_model(with_implicit_damping(self.muscled, self.step))
        return super(ImplicitlyDamped, damped).acceleration(t, q, u, given)


class StepsByClock(SemiImplicitEuler):
    """Semi-implicit Euler that adds the parameter "clock" to the time of its steps."""

    name: ClassVar[str] = "environment"

    def formula(self, equations: StateEquations, stabilization: str) -> StepFormula:
        formula = super().formula(equations, stabilization)

        def step(t: Array, h: Array, x: Array, *values: Array) -> Array:
            return formula(t + equations.named(values)["clock"], h, x, *values)

        return StepFormula(step=step, bound=formula.bound)
