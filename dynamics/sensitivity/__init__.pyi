from .gradient import SimulationGradient as SimulationGradient, simulation_gradient as simulation_gradient
from .linearize import Linearization as Linearization, linearize as linearize, model_function as model_function
from .steps import StepDerivatives as StepDerivatives, step_derivatives as step_derivatives
