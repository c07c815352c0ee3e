"""Force laws: one file each, all with the verbs of `muscle.laws.base.ForceLaw`."""

from muscle.laws.base import ForceLaw
from muscle.laws.degroote_fregly import DeGrooteFregly2016
from muscle.laws.hill import HillLaw
from muscle.laws.law_a import LawA
from muscle.laws.law_b import LawB
from muscle.laws.ligament import Ligament
from muscle.laws.millard import Millard2012
from muscle.laws.rigid_tendon import RigidTendonMuscle
from muscle.laws.springs import PathActuator, PathSpring
from muscle.laws.thelen import Thelen2003

LAWS: dict[str, type[ForceLaw]] = {
    law.kind: law
    for law in (
        LawA,
        LawB,
        Thelen2003,
        DeGrooteFregly2016,
        Millard2012,
        RigidTendonMuscle,
        Ligament,
        PathSpring,
        PathActuator,
    )
}

__all__ = [
    "LAWS",
    "DeGrooteFregly2016",
    "ForceLaw",
    "HillLaw",
    "LawA",
    "LawB",
    "Ligament",
    "Millard2012",
    "PathActuator",
    "PathSpring",
    "RigidTendonMuscle",
    "Thelen2003",
]
