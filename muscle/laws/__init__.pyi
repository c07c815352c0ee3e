from .base import ForceLaw as ForceLaw, PushWarning as PushWarning
from .degroote_fregly import DeGrooteFregly2016 as DeGrooteFregly2016
from .exponential import CubicExponentialMuscle as CubicExponentialMuscle, ExponentialMuscle as ExponentialMuscle
from .hill import HillLaw as HillLaw
from .ligament import Blankevoort1991 as Blankevoort1991, Ligament as Ligament
from .millard import Millard2012 as Millard2012
from .mujoco import ClippedMujocoMuscle as ClippedMujocoMuscle, MujocoMuscle as MujocoMuscle
from .path_affine import (
    AffinePath as AffinePath,
    ClippedAffinePath as ClippedAffinePath,
    PathActuator as PathActuator,
    PathFriction as PathFriction,
    PathLimit as PathLimit,
    PathSpring as PathSpring,
    SlackSpring as SlackSpring,
)
from .rigid_tendon import RigidTendonMuscle as RigidTendonMuscle
from .schutte import Schutte1993 as Schutte1993
from .table import LAWS as LAWS
from .thelen import Thelen2003 as Thelen2003
