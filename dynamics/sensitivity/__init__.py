"""Derivatives of motions: linearization beside a state, of one step of a method, and gradients of whole simulations."""

from myoquat.dynamics.sensitivity.gradient import SimulationGradient, simulation_gradient
from myoquat.dynamics.sensitivity.linearize import Linearization, linearize, model_function
from myoquat.dynamics.sensitivity.steps import StepDerivatives, step_derivatives

__all__ = [
    "Linearization",
    "SimulationGradient",
    "StepDerivatives",
    "linearize",
    "model_function",
    "simulation_gradient",
    "step_derivatives",
]
