"""Integrators: one class per method, all with the verbs of `myoquat.dynamics.integrators.base`."""

from .base import FixedStep, StepFormula
from .equations import StateEquations
from .explicit import LieRungeKutta4, RungeKutta4, SemiImplicitEuler
from .radau import Radau, differences
from .variational import Variational

FIXED_STEP: dict[str, FixedStep] = {
    method.name: method for method in (RungeKutta4(), LieRungeKutta4(), SemiImplicitEuler(), Variational())
}

__all__ = [
    "FIXED_STEP", "FixedStep", "LieRungeKutta4", "Radau", "RungeKutta4", "SemiImplicitEuler", "StateEquations",
    "StepFormula", "Variational", "differences"
]  # fmt: skip
