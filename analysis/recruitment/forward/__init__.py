"""Does it move? Muscles that drive a model forward along a motion, while feedback keeps it there."""

from .check import Tracking, forward_check, track
from .control import computed_muscle_control

__all__ = ["Tracking", "computed_muscle_control", "forward_check", "track"]
