from . import analysis as analysis
from . import data as data
from . import dynamics as dynamics
from . import joints as joints
from . import kernels as kernels
from . import muscle as muscle
from .analysis import Study as Study
from .analysis import mapping_analysis as mapping_analysis
from .analysis import open_results as open_results
from .data import library_models as library_models
from .data import load_model as load_model
from .data import load_urdf as load_urdf
from .dynamics import Trajectory as Trajectory
from .dynamics import forward_dynamics as forward_dynamics
from .dynamics import inverse_dynamics as inverse_dynamics
from .dynamics import mass_matrix as mass_matrix
from .dynamics import simulate as simulate
from .joints import ArticulatedSystem as ArticulatedSystem
from .joints import Body as Body
from .joints import ModelError as ModelError
from .muscle import Model as Model
from .muscle import Muscle as Muscle
from .muscle import muscle_forces as muscle_forces
from .muscle import muscle_torques as muscle_torques
from .muscle import path_jacobian as path_jacobian
from .muscle import path_lengths as path_lengths

__version__: str
