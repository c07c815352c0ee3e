"""Muscles: paths, lengths and their Jacobians in every parameterization, force laws, model files."""

from joints.errors import ModelError
from muscle.activation import ActivationDynamics
from muscle.evaluate import (
    activation_rates,
    equilibrium_states,
    limit_torques,
    muscle_forces,
    muscle_state_rates,
    muscle_state_residuals,
    muscle_torques,
    path_flags,
    path_jacobian,
    path_lengths,
)
from muscle.flags import PathFlag
from muscle.laws import LAWS, ForceLaw, LawA, LawB
from muscle.library import load_model, published_models
from muscle.limits import CoordinateLimit
from muscle.model import Model
from muscle.parameters import Parameters, parameter_names
from muscle.path import Muscle
from muscle.points import ConditionalPoint, MovingPoint, PathPoint
from muscle.states import state_names
from muscle.wrapping import Wrap, WrapCylinder, WrapEllipsoid, WrapSphere, WrapTorus

__all__ = [
    "LAWS",
    "ActivationDynamics",
    "ConditionalPoint",
    "CoordinateLimit",
    "ForceLaw",
    "LawA",
    "LawB",
    "Model",
    "ModelError",
    "MovingPoint",
    "Muscle",
    "Parameters",
    "PathFlag",
    "PathPoint",
    "Wrap",
    "WrapCylinder",
    "WrapEllipsoid",
    "WrapSphere",
    "WrapTorus",
    "activation_rates",
    "equilibrium_states",
    "limit_torques",
    "load_model",
    "muscle_forces",
    "muscle_state_rates",
    "muscle_state_residuals",
    "muscle_torques",
    "parameter_names",
    "path_flags",
    "path_jacobian",
    "path_lengths",
    "published_models",
    "state_names",
]
