"""The solver of a study of Moco: mesh, transcription, tolerances, and goals that it adds."""

import re
from collections.abc import Sequence

from myoquat.analysis.control.goals.base import Goal
from myoquat.analysis.control.goals.muscles import TendonForceRates
from myoquat.analysis.control.goals.smoothness import Accelerations
from myoquat.analysis.control.solvers.ipopt import Ipopt
from myoquat.analysis.control.transcriptions import Gauss, HermiteSimpson, Radau, Transcription, Trapezoid
from myoquat.core.records import dataclass
from myoquat.data.document import boolean, number, numbers, text
from myoquat.data.reports import UnsupportedElements
from myoquat.data.xml import Element, complain

__all__ = ["Settings", "read_settings"]

INTERVALS, SCHEME = 100, "hermite-simpson"
IPOPT = Ipopt(1e-8, 1e-4, 3000, "limited-memory")  # where Moco leaves its settings to IPOPT
LEFT_OUT = ("minimize_lagrange_multipliers", "scale_variables_using_bounds")


@dataclass(frozen=True, eq=False)
class Settings:
    """Intervals, transcription, solver, the goals that Moco's solver adds, and the name of the file of the guess."""

    intervals: int | Sequence[float]
    method: Transcription
    solver: Ipopt
    goals: tuple[Goal, ...]
    guess_file: str = ""


def read_settings(solver: Element | None, elastic: bool, unsupported: UnsupportedElements) -> Settings:
    """Those of a MocoCasADiSolver; Moco's own without one. elastic: whether the model has elastic tendons."""
    if solver is None:
        return Settings(INTERVALS, HermiteSimpson(linear_controls=True), IPOPT, ())
    mesh = numbers(solver, "mesh", None, ())
    intervals: int | Sequence[float] = mesh or int(number(solver, "num_mesh_intervals", INTERVALS))
    method = _transcription(solver)
    for tag in LEFT_OUT:
        if boolean(solver, tag):
            unsupported.count(solver, tag)
    if text(solver, "optim_solver", "ipopt") != "ipopt":
        unsupported.count(solver, f"optim_solver {text(solver, 'optim_solver')}")
    return Settings(intervals, method, _ipopt(solver), _goals(solver, elastic), text(solver, "guess_file", ""))


def _transcription(solver: Element) -> Transcription:
    scheme = text(solver, "transcription_scheme", SCHEME)
    linear = boolean(solver, "interpolate_control_mesh_interior_points", True)
    if scheme in ("hermite-simpson", "trapezoidal"):
        return HermiteSimpson(linear_controls=linear) if scheme == "hermite-simpson" else Trapezoid()
    found = re.fullmatch(r"legendre-gauss(-radau)?-([1-9])", scheme)
    if found is None:
        complain(solver.find("transcription_scheme"), f"the transcription {scheme!r} is not known")
    return (Radau if found[1] else Gauss)(int(found[2]))


def _ipopt(solver: Element) -> Ipopt:
    tolerance, feasible, most = (
        number(solver, f"optim_{name}", -1.0)
        for name in ("convergence_tolerance", "constraint_tolerance", "max_iterations")
    )
    return Ipopt(
        tolerance if tolerance > 0 else IPOPT.tolerance,
        feasible if feasible > 0 else IPOPT.constraint_tolerance,
        int(most) if most > 0 else IPOPT.max_iterations,
        text(solver, "optim_hessian_approximation", IPOPT.hessian),
    )


def _goals(solver: Element, elastic: bool) -> tuple[Goal, ...]:
    """The goals of implicit derivatives."""
    found: list[Goal] = []
    if boolean(solver, "minimize_implicit_auxiliary_derivatives") and elastic:
        weight = number(solver, "implicit_auxiliary_derivatives_weight", 1.0)
        found.append(TendonForceRates(weight=weight, name="auxiliary_derivatives"))
    implicit = text(solver, "multibody_dynamics_mode", "explicit") == "implicit"
    if implicit and boolean(solver, "minimize_implicit_multibody_accelerations"):
        weight = number(solver, "implicit_multibody_accelerations_weight", 1.0)
        found.append(Accelerations(weight=weight, name="multibody_accelerations"))
    return tuple(found)
