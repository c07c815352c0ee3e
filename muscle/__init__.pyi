from .activation import ActivationDynamics as ActivationDynamics
from .evaluate import (
    acting_torques as acting_torques,
    acting_wrenches as acting_wrenches,
    activation_rates as activation_rates,
    actuator_forces as actuator_forces,
    contact_forces as contact_forces,
    contact_pairs as contact_pairs,
    elastic_energy as elastic_energy,
    equilibrium_states as equilibrium_states,
    force_wrenches as force_wrenches,
    law_forces as law_forces,
    limit_torques as limit_torques,
    muscle_forces as muscle_forces,
    muscle_state_rates as muscle_state_rates,
    muscle_state_residuals as muscle_state_residuals,
    muscle_torques as muscle_torques,
    muscle_wrenches as muscle_wrenches,
    path_flags as path_flags,
    path_jacobian as path_jacobian,
    path_lengths as path_lengths,
    unit_wrenches as unit_wrenches,
)
from .fitted import (
    FittedPoint as FittedPoint,
    FittedSet as FittedSet,
    LengthPoint as LengthPoint,
    PoseFunction as PoseFunction,
    PoseVariables as PoseVariables,
    SurfaceTerm as SurfaceTerm,
    fitted_path as fitted_path,
    function_path as function_path,
)
from .forces.coordinates import CoordinateLimit as CoordinateLimit
from .inputs import PrescribedInput as PrescribedInput
from .laws import (
    LAWS as LAWS,
    CubicExponentialMuscle as CubicExponentialMuscle,
    ExponentialMuscle as ExponentialMuscle,
    ForceLaw as ForceLaw,
)
from .model import Model as Model, check_laws as check_laws
from .parameters import Parameters as Parameters, parameter_names as parameter_names
from .path import Muscle as Muscle, MuscleGroup as MuscleGroup, MusclePath as MusclePath, Pulley as Pulley
from .points import ConditionalPoint as ConditionalPoint, MovingPoint as MovingPoint, PathPoint as PathPoint
from .segments.flags import PathFlag as PathFlag
from .states import state_names as state_names
from .wrapping import (
    Wrap as Wrap,
    WrapCylinder as WrapCylinder,
    WrapEllipsoid as WrapEllipsoid,
    WrapSphere as WrapSphere,
    WrapTorus as WrapTorus,
)
