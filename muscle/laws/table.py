"""All force laws in one table, by the name that files give them."""

from .base import ForceLaw
from .degroote_fregly import DeGrooteFregly2016
from .exponential import CubicExponentialMuscle, ExponentialMuscle
from .ligament import Blankevoort1991, Ligament
from .millard import Millard2012
from .mujoco import ClippedMujocoMuscle, MujocoMuscle
from .path_affine import AffinePath, ClippedAffinePath, PathActuator, PathFriction, PathLimit, PathSpring, SlackSpring
from .rigid_tendon import RigidTendonMuscle
from .schutte import Schutte1993
from .thelen import Thelen2003

LAWS: dict[str, type[ForceLaw]] = {
    law.kind: law
    for law in (
        CubicExponentialMuscle,
        ExponentialMuscle,
        Thelen2003,
        DeGrooteFregly2016,
        Millard2012,
        RigidTendonMuscle,
        Schutte1993,
        Ligament,
        Blankevoort1991,
        PathSpring,
        PathActuator,
        MujocoMuscle,
        ClippedMujocoMuscle,
        AffinePath,
        ClippedAffinePath,
        SlackSpring,
        PathFriction,
        PathLimit,
    )
}
