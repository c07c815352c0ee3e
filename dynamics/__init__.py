"""Equations of motion, constraints, integrators and simulation."""

from dynamics.equations import (
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
from dynamics.simulation import Event, Occurrence, Run, SimulationWarning, Simulator, Trajectory, simulate
from dynamics.skeleton import (
    PlanarSkeleton,
    skeleton_bias,
    skeleton_end,
    skeleton_fd,
    skeleton_id,
    skeleton_mass,
)

__all__ = [
    "Event",
    "Occurrence",
    "PlanarSkeleton",
    "Run",
    "SimulationWarning",
    "Simulator",
    "Trajectory",
    "bias_force",
    "external_force",
    "forward_dynamics",
    "gravity_force",
    "inverse_dynamics",
    "inverse_mass_matrix",
    "joint_reactions",
    "kinetic_energy",
    "mass_matrix",
    "potential_energy",
    "power",
    "simulate",
    "skeleton_bias",
    "skeleton_end",
    "skeleton_fd",
    "skeleton_id",
    "skeleton_mass",
    "wrench_at",
]
