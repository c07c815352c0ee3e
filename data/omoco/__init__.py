"""Optimal control problems of OpenSim Moco, .omoco: read into records."""

from myoquat.data.omoco.read import MocoFile, Processor, VariableInfo, read_moco

__all__ = ["MocoFile", "Processor", "VariableInfo", "read_moco"]
