"""Any number in a model by name, to be varied: names, wildcards, and the model with these numbers replaced."""

from myoquat.muscle.parameters.names import parameter_names
from myoquat.muscle.parameters.parameters import Parameters

__all__ = ["Parameters", "parameter_names"]
