"""Which muscles pull: activations that produce a motion with the least effort, joints kept stable."""

from myoquat.analysis.muscles.recruitment.actuators import AnyReserve, Reserve, ReserveActuator
from myoquat.analysis.muscles.recruitment.consistent import consistent_derivatives, consistent_motion
from myoquat.analysis.muscles.recruitment.equations import Effort
from myoquat.analysis.muscles.recruitment.joint_cone import JointCone
from myoquat.analysis.muscles.recruitment.metabolic import MetabolicEffort
from myoquat.analysis.muscles.recruitment.redundancy import redundancy
from myoquat.analysis.muscles.recruitment.result import Redundancy
from myoquat.analysis.muscles.recruitment.whole import Coupled, WholeTrial

__all__ = [
    "AnyReserve",
    "Coupled",
    "Effort",
    "JointCone",
    "MetabolicEffort",
    "Redundancy",
    "Reserve",
    "ReserveActuator",
    "WholeTrial",
    "consistent_derivatives",
    "consistent_motion",
    "redundancy",
]
