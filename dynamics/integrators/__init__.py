"""Integrators: one file per method, all with the verbs of `dynamics.integrators.base`."""

from dynamics.integrators.base import FixedStep
from dynamics.integrators.equations import StateEquations
from dynamics.integrators.lie_rk4 import LieRungeKutta4
from dynamics.integrators.rk4 import RungeKutta4
from dynamics.integrators.semi_implicit import SemiImplicitEuler
from dynamics.integrators.variational import Variational
from dynamics.integrators.varied import VariedEquations

FIXED_STEP: dict[str, FixedStep] = {
    method.name: method for method in (RungeKutta4(), LieRungeKutta4(), SemiImplicitEuler(), Variational())
}

__all__ = [
    "FIXED_STEP",
    "FixedStep",
    "LieRungeKutta4",
    "RungeKutta4",
    "SemiImplicitEuler",
    "StateEquations",
    "Variational",
    "VariedEquations",
]
