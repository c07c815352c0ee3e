"""All force laws in one table, by the name that files give them."""

from myoquat.muscle.laws.base import ForceLaw
from myoquat.muscle.laws.degroote_fregly import DeGrooteFregly2016
from myoquat.muscle.laws.exponential import CubicExponentialMuscle, ExponentialMuscle
from myoquat.muscle.laws.ligament import Blankevoort1991, Ligament
from myoquat.muscle.laws.millard import Millard2012
from myoquat.muscle.laws.mujoco import ClippedMujocoMuscle, MujocoMuscle
from myoquat.muscle.laws.path_affine import (
    AffinePath,
    ClippedAffinePath,
    PathActuator,
    PathFriction,
    PathLimit,
    PathSpring,
    SlackSpring,
)
from myoquat.muscle.laws.rigid_tendon import RigidTendonMuscle
from myoquat.muscle.laws.schutte import Schutte1993
from myoquat.muscle.laws.thelen import Thelen2003

__all__ = ["LAWS"]

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
