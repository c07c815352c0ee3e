from .controls import Inputs as Inputs, StateFeedback as StateFeedback
from .events import Event as Event, Occurrence as Occurrence
from .methods import Run as Run
from .results.trajectory import Trajectory as Trajectory
from .simulate import SimulationWarning as SimulationWarning, Simulator as Simulator, simulate as simulate
from .stiffness import StiffnessWarning as StiffnessWarning
