"""Controlled systems: a model, or one's own differential equations, with one interface."""

from .base import Plant, UnknownParameters
from .model import Equations, ModelPlant, MuscledPlant, OwnPlant, PrescribedPlant

__all__ = [
    "Equations",
    "ModelPlant",
    "MuscledPlant",
    "OwnPlant",
    "Plant",
    "PrescribedPlant",
    "UnknownParameters",
]
