"""Controlled systems: a model, or one's own differential equations, with one interface."""

from collections.abc import Mapping
from typing import Any

from myoquat.data.motions import Forces, Motion
from myoquat.joints.evaluation import SystemLike, system_of
from myoquat.muscle.loads import LoadFrames
from myoquat.muscle.model import Model

from .base import Plant, UnknownParameters, parameters_of_equations, parameters_of_model
from .model import Acting, Equations, ModelPlant, MuscledPlant, OwnPlant
from .prescribed import PrescribedPlant

__all__ = [
    "Equations",
    "ModelPlant",
    "MuscledPlant",
    "OwnPlant",
    "Plant",
    "PrescribedPlant",
    "UnknownParameters",
    "plant_of",
]


def plant_of(
    model: SystemLike | Equations, motion: Motion | None, torques: Mapping[str, float], loads: Forces | None,
    parameters: Mapping[str, Any],
) -> Plant:  # fmt: skip
    """The plant of a model or a system under torques and loads, along a motion if it is prescribed, or of equations of
    one's own. ValueError for torques, loads or a motion of equations, and for a motion of another system."""
    if isinstance(model, Equations):
        if motion is not None:
            raise ValueError("prescribed is a motion of a model; equations of one's own have none")
        if torques or loads is not None:
            raise ValueError("torques and loads act on the bodies of a model; equations of one's own have none")
        return OwnPlant(model, parameters_of_equations(parameters))
    frames = LoadFrames() if loads is None else loads.frames
    if motion is None:
        return ModelPlant(model, Acting(torques, frames, parameters_of_model(model, parameters)))
    model = motion.check_system(model)
    whole = model if isinstance(model, Model) else Model(system_of(model))
    return PrescribedPlant(whole, motion, Acting(torques, frames, parameters_of_model(whole, parameters)), loads)
