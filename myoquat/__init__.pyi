from . import (
    analysis as analysis,
    apps as apps,
    data as data,
    dynamics as dynamics,
    joints as joints,
    kernels as kernels,
    muscle as muscle,
)
from .analysis import (
    Study as Study,
    control as control,
    mapping_analysis as mapping_analysis,
    motion as motion,
    open_results as open_results,
    recruitment as recruitment,
    studies as studies,
)
from .apps.viewer.films import film as film
from .apps.viewer.window import view as view
from .core.solved import NotSolvedError as NotSolvedError
from .data import library_models as library_models, load_model as load_model
from .dynamics import (
    Trajectory as Trajectory,
    forward_dynamics as forward_dynamics,
    inverse_dynamics as inverse_dynamics,
    mass_matrix as mass_matrix,
    simulate as simulate,
)
from .joints import ArticulatedSystem as ArticulatedSystem, Body as Body, ModelError as ModelError
from .muscle import (
    Model as Model,
    Muscle as Muscle,
    muscle_forces as muscle_forces,
    muscle_torques as muscle_torques,
    path_jacobian as path_jacobian,
    path_lengths as path_lengths,
)

__version__: str
