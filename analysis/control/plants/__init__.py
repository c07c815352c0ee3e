"""What is controlled: a model, or one's own differential equations, behind one set of verbs."""

from collections.abc import Mapping

from myoquat.analysis.control.plants.base import Plant
from myoquat.analysis.control.plants.loads import LoadFrames
from myoquat.analysis.control.plants.model import ModelPlant
from myoquat.analysis.control.plants.own import Equations, OwnPlant
from myoquat.joints.validation import SystemLike

__all__ = ["Equations", "LoadFrames", "ModelPlant", "OwnPlant", "Plant", "plant_of"]


def plant_of(model: SystemLike | Equations, torques: Mapping[str, float], frames: LoadFrames) -> Plant:
    """The plant of a model, a system or equations of one's own; ValueError for torques or loads on equations."""
    if not isinstance(model, Equations):
        return ModelPlant(model, torques, frames)
    if torques or frames.bodies:
        raise ValueError("torques and loads act on the bodies of a model; equations of one's own have none")
    return OwnPlant(model)
