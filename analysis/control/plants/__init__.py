"""What is controlled: a model, or one's own differential equations, behind one set of verbs."""

from collections.abc import Mapping

from myoquat.analysis.control.plants.base import Plant
from myoquat.analysis.control.plants.loads import LoadFrames
from myoquat.analysis.control.plants.model import ModelPlant
from myoquat.analysis.control.plants.muscled import MuscledPlant
from myoquat.analysis.control.plants.own import Equations, OwnPlant
from myoquat.analysis.control.plants.prescribed import PrescribedPlant
from myoquat.data.motions import Forces, Motion
from myoquat.joints.validation import SystemLike, system_of
from myoquat.muscle.model import Model

__all__ = [
    "Equations",
    "LoadFrames",
    "ModelPlant",
    "MuscledPlant",
    "OwnPlant",
    "Plant",
    "PrescribedPlant",
    "plant_of",
    "prescribed_plant",
]


def plant_of(model: SystemLike | Equations, torques: Mapping[str, float], frames: LoadFrames) -> Plant:
    """The plant of a model, a system or equations of one's own; ValueError for torques or loads on equations."""
    if not isinstance(model, Equations):
        return ModelPlant(model, torques, frames)
    if torques or frames.bodies:
        raise ValueError("torques and loads act on the bodies of a model; equations of one's own have none")
    return OwnPlant(model)


def prescribed_plant(
    model: SystemLike | Equations, motion: Motion, torques: Mapping[str, float], loads: Forces | None
) -> Plant:
    """The plant of a model along a motion; ValueError for equations of one's own and for a motion of another system."""
    if isinstance(model, Equations):
        raise ValueError("prescribed is a motion of a model; equations of one's own have none")
    motion.check_system(system_of(model))
    whole = model if isinstance(model, Model) else Model(system_of(model))
    return PrescribedPlant(whole, motion, torques, loads)
