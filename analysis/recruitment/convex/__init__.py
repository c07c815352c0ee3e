"""Convex programs of one shape, solved side by side: muscle redundancy is many of them, one per frame."""

from .coupled_programs import CoupledSolution, CouplingRows, solve_coupled
from .program import Programs, Status, are_met
from .separable import solve_separable
from .solve import Solutions, solve_minimax, solve_programs

__all__ = [
    "CoupledSolution",
    "CouplingRows",
    "Programs",
    "Solutions",
    "Status",
    "are_met",
    "solve_coupled",
    "solve_minimax",
    "solve_programs",
    "solve_separable",
]
