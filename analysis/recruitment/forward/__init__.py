"""Does it move? Muscles that drive a model forward along a motion, while feedback keeps it there."""

from myoquat.analysis.recruitment.forward.check import Tracking, forward_check, track
from myoquat.analysis.recruitment.forward.control import computed_muscle_control

__all__ = ["Tracking", "computed_muscle_control", "forward_check", "track"]
