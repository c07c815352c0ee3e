from .gradient import SimulationGradient as SimulationGradient
from .gradient import simulation_gradient as simulation_gradient
from .linearize import Linearization as Linearization
from .linearize import linearize as linearize
from .linearize import model_function as model_function
from .steps import StepDerivatives as StepDerivatives
from .steps import step_derivatives as step_derivatives
