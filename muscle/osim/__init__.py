"""OpenSim's model files, .osim, as OpenSim 4 saves them: read into models."""

from muscle.osim.read import read_osim

__all__ = ["read_osim"]
