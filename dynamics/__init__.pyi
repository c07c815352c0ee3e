from . import constraints as constraints, udwadia_kalaba as udwadia_kalaba
from .derivatives import (
    DynamicsHessianProduct as DynamicsHessianProduct,
    ForwardDynamicsDerivatives as ForwardDynamicsDerivatives,
    InverseDynamicsDerivatives as InverseDynamicsDerivatives,
    forward_dynamics_derivatives as forward_dynamics_derivatives,
    forward_dynamics_hvp as forward_dynamics_hvp,
    inverse_dynamics_derivatives as inverse_dynamics_derivatives,
    inverse_dynamics_hvp as inverse_dynamics_hvp,
)
from .equations import (
    SparseMassMatrix as SparseMassMatrix,
    bias_force as bias_force,
    external_force as external_force,
    forward_dynamics as forward_dynamics,
    gravity_force as gravity_force,
    inverse_dynamics as inverse_dynamics,
    inverse_mass_matrix as inverse_mass_matrix,
    joint_reactions as joint_reactions,
    kinetic_energy as kinetic_energy,
    mass_matrix as mass_matrix,
    potential_energy as potential_energy,
    power as power,
    sparse_mass_matrix as sparse_mass_matrix,
    wrench_at as wrench_at,
)
from .ground import ground_reactions as ground_reactions
from .other_coordinates import (
    Gamma as Gamma,
    first_order_form as first_order_form,
    forward_dynamics_gamma as forward_dynamics_gamma,
    quaternion_accelerations as quaternion_accelerations,
    quaternion_form as quaternion_form,
)
from .sensitivity import (
    Linearization as Linearization,
    SimulationGradient as SimulationGradient,
    StepDerivatives as StepDerivatives,
    linearize as linearize,
    model_function as model_function,
    simulation_gradient as simulation_gradient,
    step_derivatives as step_derivatives,
)
from .simulation import (
    Event as Event,
    Inputs as Inputs,
    Occurrence as Occurrence,
    Run as Run,
    SimulationWarning as SimulationWarning,
    Simulator as Simulator,
    StateFeedback as StateFeedback,
    StiffnessWarning as StiffnessWarning,
    Trajectory as Trajectory,
    simulate as simulate,
)
from .skeleton import (
    PlanarSkeleton as PlanarSkeleton,
    skeleton_bias as skeleton_bias,
    skeleton_end as skeleton_end,
    skeleton_fd as skeleton_fd,
    skeleton_id as skeleton_id,
    skeleton_mass as skeleton_mass,
)
