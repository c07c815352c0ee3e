"""Functions of one coordinate that move the axes of custom joints: one file each, all with the same verbs."""

from joints.functions.base import AxisFunction
from joints.functions.polynomial import Constant, Linear, Polynomial

__all__ = ["AxisFunction", "Constant", "Linear", "Polynomial"]
