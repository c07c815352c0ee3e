"""Which muscles pull: activations that produce a motion with the least effort, joints kept stable."""

from myoquat.analysis.recruitment.stability import JointCone

from .actuators import AnyReserve, Reserve, ReserveActuator, Reserves
from .assembled_motion import consistent_derivatives, consistent_motion
from .coupled import Coupled, FrameCoupling, Sequential, WholeTrial
from .equations import Effort
from .metabolic import MetabolicEffort
from .redundancy import Redundancy, redundancy

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
