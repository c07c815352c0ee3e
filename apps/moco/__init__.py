"""Problems of OpenSim Moco, .omoco, as problems of `myoquat.control`."""

from .study import MocoStudy, load_moco_study

__all__ = ["MocoStudy", "load_moco_study"]
