"""Which muscles pull: activations that produce a motion with the least effort, joints kept stable."""

from myoquat.analysis.recruitment.redundancy.actuators import AnyReserve, Reserve, ReserveActuator, Reserves
from myoquat.analysis.recruitment.redundancy.assembled_motion import consistent_derivatives, consistent_motion
from myoquat.analysis.recruitment.redundancy.coupled import Coupled, FrameCoupling, Sequential, WholeTrial
from myoquat.analysis.recruitment.redundancy.equations import Effort
from myoquat.analysis.recruitment.redundancy.metabolic import MetabolicEffort
from myoquat.analysis.recruitment.redundancy.redundancy import Redundancy, redundancy
from myoquat.analysis.recruitment.stability import JointCone

__all__ = [
    "AnyReserve",
    "Coupled",
    "Effort",
    "FrameCoupling",
    "JointCone",
    "MetabolicEffort",
    "Redundancy",
    "Reserve",
    "ReserveActuator",
    "Reserves",
    "Sequential",
    "WholeTrial",
    "consistent_derivatives",
    "consistent_motion",
    "redundancy",
]
