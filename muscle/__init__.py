"""Muscles: paths, lengths and their Jacobians in every parameterization, force laws, the model."""

from myoquat.joints.errors import ModelError
from myoquat.muscle.activation import ActivationDynamics
from myoquat.muscle.checks import check_laws
from myoquat.muscle.contact_forces import contact_forces, contact_pairs, force_wrenches
from myoquat.muscle.evaluate import (
    acting_torques,
    acting_wrenches,
    activation_rates,
    actuator_forces,
    elastic_energy,
    equilibrium_states,
    law_forces,
    limit_torques,
    muscle_forces,
    muscle_state_rates,
    muscle_state_residuals,
    muscle_torques,
    muscle_wrenches,
    path_flags,
    path_jacobian,
    path_lengths,
    unit_wrenches,
)
from myoquat.muscle.fitted import FittedPoint, FittedSet, PoseFunction, PoseVariables, SurfaceTerm, fitted_path
from myoquat.muscle.functional import LengthPoint, function_path
from myoquat.muscle.inputs import PrescribedInput
from myoquat.muscle.laws import LAWS, CubicExponentialMuscle, ExponentialMuscle, ForceLaw
from myoquat.muscle.limits import CoordinateLimit
from myoquat.muscle.model import Model
from myoquat.muscle.parameters import Parameters, parameter_names
from myoquat.muscle.path import Muscle, MuscleGroup, PathWrap, Pulley
from myoquat.muscle.points import ConditionalPoint, MovingPoint, PathPoint
from myoquat.muscle.segments.flags import PathFlag
from myoquat.muscle.states import state_names
from myoquat.muscle.wrapping import (
    HalfPlaneCylinder,
    HalfPlaneSphere,
    InsideCylinder,
    InsideSphere,
    MujocoInsideCylinder,
    MujocoInsideSphere,
    SideCylinder,
    Wrap,
    WrapCylinder,
    WrapEllipsoid,
    WrapSphere,
    WrapTorus,
)

__all__ = [
    "LAWS",
    "ActivationDynamics",
    "ConditionalPoint",
    "CoordinateLimit",
    "CubicExponentialMuscle",
    "ExponentialMuscle",
    "FittedPoint",
    "FittedSet",
    "ForceLaw",
    "HalfPlaneCylinder",
    "HalfPlaneSphere",
    "InsideCylinder",
    "InsideSphere",
    "LengthPoint",
    "Model",
    "ModelError",
    "MovingPoint",
    "MujocoInsideCylinder",
    "MujocoInsideSphere",
    "Muscle",
    "MuscleGroup",
    "Parameters",
    "PathFlag",
    "PathPoint",
    "PathWrap",
    "PoseFunction",
    "PoseVariables",
    "PrescribedInput",
    "Pulley",
    "SideCylinder",
    "SurfaceTerm",
    "Wrap",
    "WrapCylinder",
    "WrapEllipsoid",
    "WrapSphere",
    "WrapTorus",
    "acting_torques",
    "acting_wrenches",
    "activation_rates",
    "actuator_forces",
    "check_laws",
    "contact_forces",
    "contact_pairs",
    "elastic_energy",
    "equilibrium_states",
    "fitted_path",
    "force_wrenches",
    "function_path",
    "law_forces",
    "limit_torques",
    "muscle_forces",
    "muscle_state_rates",
    "muscle_state_residuals",
    "muscle_torques",
    "muscle_wrenches",
    "parameter_names",
    "path_flags",
    "path_jacobian",
    "path_lengths",
    "state_names",
    "unit_wrenches",
]
