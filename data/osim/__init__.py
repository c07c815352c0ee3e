"""OpenSim's model files, .osim, as OpenSim 4 saves them: read into models, and written from them."""

from myoquat.data.osim.read import read_model
from myoquat.data.osim.write import write_model
from myoquat.data.reports import UnsupportedWarning

__all__ = ["UnsupportedWarning", "read_model", "write_model"]
