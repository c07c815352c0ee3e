"""Convex programs of one shape, solved side by side: muscle redundancy is many of them, one per frame."""

from myoquat.analysis.recruitment.convex.greatest import solve_greatest
from myoquat.analysis.recruitment.convex.linked import Linked, solve_linked
from myoquat.analysis.recruitment.convex.links import Links
from myoquat.analysis.recruitment.convex.minima import lower_bounds
from myoquat.analysis.recruitment.convex.outcome import Status, are_met
from myoquat.analysis.recruitment.convex.program import Programs
from myoquat.analysis.recruitment.convex.separable import solve_separable
from myoquat.analysis.recruitment.convex.solve import Solutions, solve_programs

__all__ = [
    "Linked",
    "Links",
    "Programs",
    "Solutions",
    "Status",
    "are_met",
    "lower_bounds",
    "solve_greatest",
    "solve_linked",
    "solve_programs",
    "solve_separable",
]
