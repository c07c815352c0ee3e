"""Controlled systems: a model, or one's own differential equations, with one interface."""

from .base import Plant, UnknownParameters
from .model import Equations, ModelPlant, MuscledPlant, OwnPlant
from .prescribed import PrescribedPlant

__all__ = [
    "Equations",
    "ModelPlant",
    "MuscledPlant",
    "OwnPlant",
    "Plant",
    "PrescribedPlant",
    "UnknownParameters",
]
