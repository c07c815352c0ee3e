"""Equations of motion, constraints, integrators and simulation."""

from myoquat.dynamics import constraints, udwadia_kalaba
from myoquat.dynamics.equations import (
    bias_force,
    external_force,
    forward_dynamics,
    gravity_force,
    inverse_dynamics,
    inverse_mass_matrix,
    joint_reactions,
    kinetic_energy,
    mass_matrix,
    potential_energy,
    power,
    wrench_at,
)
from myoquat.dynamics.gamma import Gamma, forward_dynamics_gamma
from myoquat.dynamics.ground import ground_reactions
from myoquat.dynamics.quaternion_form import first_order_form, quaternion_accelerations, quaternion_form
from myoquat.dynamics.simulation import (
    Event,
    Occurrence,
    Run,
    SimulationWarning,
    Simulator,
    StiffnessWarning,
    Trajectory,
    simulate,
)
from myoquat.dynamics.skeleton import (
    PlanarSkeleton,
    skeleton_bias,
    skeleton_end,
    skeleton_fd,
    skeleton_id,
    skeleton_mass,
)

__all__ = [
    "Event",
    "Gamma",
    "Occurrence",
    "PlanarSkeleton",
    "Run",
    "SimulationWarning",
    "Simulator",
    "StiffnessWarning",
    "Trajectory",
    "bias_force",
    "constraints",
    "external_force",
    "first_order_form",
    "forward_dynamics",
    "forward_dynamics_gamma",
    "gravity_force",
    "ground_reactions",
    "inverse_dynamics",
    "inverse_mass_matrix",
    "joint_reactions",
    "kinetic_energy",
    "mass_matrix",
    "potential_energy",
    "power",
    "quaternion_accelerations",
    "quaternion_form",
    "simulate",
    "skeleton_bias",
    "skeleton_end",
    "skeleton_fd",
    "skeleton_id",
    "skeleton_mass",
    "udwadia_kalaba",
    "wrench_at",
]
