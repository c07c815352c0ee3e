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

__all__ = [
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
    "wrench_at",
]
