"""IPOPT, as CasADi ships it, on a program of compiled blocks.

CasADi takes objective, constraints and their derivatives as functions; each writes the numbers of the compiled kernels
into IPOPT's own arrays. Source: A. Waechter, L. T. Biegler, On the implementation of an interior-point filter
line-search algorithm for large-scale nonlinear programming, Mathematical Programming 106, 2006.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from numbers import Real
from typing import Any

import numpy as np

from myoquat.analysis.control.program import Program
from myoquat.analysis.control.solvers.callbacks import NONE, Timed, sparsity_of
from myoquat.analysis.control.solvers.progress import Iterate, Stop, interruptible
from myoquat.analysis.control.solvers.settings import check_options
from myoquat.core.arguments import check_types
from myoquat.core.lazy_imports import casadi
from myoquat.core.records import dataclass
from myoquat.core.typing import Array

__all__ = ["Ipopt", "Iterates", "run_ipopt"]

HESSIANS = ("exact", "limited-memory")
Watch = Callable[[Iterate], Any]  # True asks to stop


@dataclass(frozen=True)
class Ipopt:
    """Options of the solver.

    tolerance             of the scaled KKT error
    constraint_tolerance  of the unscaled constraints
    hessian               "exact" by second derivatives of every block, or "limited-memory", L-BFGS. This takes more
                          iterations, each of them cheaper, and often fewer iterations on gait problems.
    barrier               initial barrier parameter of the bounds, None for IPOPT's 0.1. At 1e-3 the solver stays near a
                          good guess, and the excitations of a motion, most of which are small, stay near their bounds.
    print_level           0 (silent) to 12; 5 prints a line for every iteration.
    options               any further options of IPOPT by their names, such as {"mu_strategy": "adaptive"}.

    >>> from myoquat.analysis.control import Ipopt
    >>> Ipopt(tolerance=1e-6, max_iterations=500).hessian
    'exact'
    """

    tolerance: float = 1e-8
    constraint_tolerance: float = 1e-6
    max_iterations: int = 1000
    hessian: str = "exact"
    barrier: float | None = None
    print_level: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_options(self)
        check_types(constraint_tolerance=(self.constraint_tolerance, Real))
        if self.hessian not in HESSIANS:
            raise ValueError(f"hessian is one of {', '.join(HESSIANS)}, not {self.hessian!r}")
        if not (self.tolerance > 0 and self.constraint_tolerance > 0 and self.max_iterations >= 0):
            raise ValueError("tolerances must be positive, max_iterations at least 0")

    def named(self) -> dict[str, Any]:
        """All options by IPOPT's names."""
        own: dict[str, Any] = {
            "tol": self.tolerance,
            "constr_viol_tol": self.constraint_tolerance,
            "max_iter": self.max_iterations,
            "print_level": self.print_level,
            "sb": "yes",
            "hessian_approximation": self.hessian,
        }
        if self.barrier is not None:
            own["mu_init"] = self.barrier
        return {f"ipopt.{name}": value for name, value in (own | dict(self.options)).items()}


@dataclass(frozen=True, eq=False)
class Iterates:
    """How a solution ended: x, multipliers of constraints and bounds, and IPOPT's own status. It also has, by
    iteration, the objective and the greatest infeasibilities of primal and dual equations."""

    x: Array
    constraint_multipliers: Array
    bound_multipliers: Array
    status: str
    iterations: int
    seconds: float
    evaluation_seconds: float
    objective: Array
    primal: Array
    dual: Array


def run_ipopt(
    program: Program, start: Array, bounds: Array, limits: Array, options: Ipopt, watch: Watch | None = None
) -> Iterates:
    """Solve from `start` (n,) within bounds (n, 2) of x and limits (m, 2) of the constraints. `watch` is given every
    `Iterate`; where it returns True, and after an interrupt from the keyboard, the solver stops there.

    Raises MissingExtraError where CasADi is not installed, and what a formula raises.
    """
    functions = _Functions(program, options.hessian == "exact")
    settings = {**functions.options, **options.named(), "print_time": False, "show_eval_warnings": False}
    given = {"x0": start, "lbx": bounds[:, 0], "ubx": bounds[:, 1], "lbg": limits[:, 0], "ubg": limits[:, 1]}
    with interruptible() as stop:
        seen = functions.watcher(_Watcher(limits, options.max_iterations, watch, stop))
        settings |= {"no_nlp_grad": True, "error_on_fail": False, "iteration_callback": seen}
        solver = casadi.nlpsol("control", "ipopt", functions.nlp, settings)
        begun = time.perf_counter()
        found = solver(**given)
        seconds = time.perf_counter() - begun
    if functions.errors:
        raise functions.errors[0]
    stats = solver.stats()
    history = stats.get("iterations", {})
    x, of_constraints, of_bounds = (np.array(found[name]).ravel() for name in ("x", "lam_g", "lam_x"))
    objective, primal, dual = (np.array(history.get(name, ()), dtype=float) for name in ("obj", "inf_pr", "inf_du"))
    status, iterations = str(stats["return_status"]), int(stats["iter_count"])
    return Iterates(
        x, of_constraints, of_bounds, status, iterations, seconds, functions.seconds, objective, primal, dual
    )


class _Watcher:
    """Tells of every iterate, and whether to stop there."""

    def __init__(self, limits: Array, max_iterations: int, watch: Watch | None, stop: Stop) -> None:
        self.limits, self.max_iterations, self.watch, self.stop = limits, max_iterations, watch, stop
        self.begun, self.count = time.perf_counter(), 0

    def __call__(self, arguments: Sequence[Array], results: Sequence[Array]) -> None:
        x, f, g = arguments[:3]
        if self.watch is not None:
            missed = np.maximum(self.limits[:, 0] - g, g - self.limits[:, 1]) if g.size else np.zeros(0)
            iterate = Iterate(
                self.count, x.copy(), float(f[0]), float(missed.max(initial=0.0)),
                time.perf_counter() - self.begun, self.max_iterations,
            )  # fmt: skip
            self.stop.came = self.watch(iterate) is True or self.stop.came
        self.count += 1
        results[0][0] = float(self.stop.came)


class _Functions(Timed):
    """The program as functions of CasADi."""

    def __init__(self, program: Program, exact: bool) -> None:
        super().__init__()
        self.program = program
        n, m = program.size, program.rows
        dense = casadi.Sparsity.dense
        x, p = {"x": dense(n)}, {"p": dense(0, 1)}
        self.nlp = self.function("nlp", x | p, {"f": dense(1), "g": dense(m)}, self._values)
        jacobian = sparsity_of(program.jacobian_pattern, (m, n))
        self.options = {
            "grad_f": self.function("grad_f", x | p, {"f": dense(1), "grad_f_x": dense(n)}, self._gradient),
            "jac_g": self.function("jac_g", x | p, {"g": dense(m), "jac_g_x": jacobian}, self._jacobian),
        }
        if exact:
            inputs = x | p | {"lam_f": dense(1), "lam_g": dense(m)}
            outputs = {"triu_hess_gamma_x_x": sparsity_of(program.hessian_pattern, (n, n))}
            self.options["hess_lag"] = self.function("hess_lag", inputs, outputs, self._hessian)

    def watcher(self, watcher: _Watcher) -> Any:
        """A function of CasADi that is called at every iterate."""
        n, m, dense = self.program.size, self.program.rows, casadi.Sparsity.dense
        inputs = {"x": dense(n), "f": dense(1), "g": dense(m), "lam_x": dense(n), "lam_g": dense(m)}
        return self.function("watch", inputs | {"lam_p": dense(0, 1)}, {"stop": dense(1)}, watcher)

    def _values(self, arguments: Sequence[Array], results: Sequence[Array]) -> None:
        self._constraints_and_objective(arguments[0], results[0], results[1])

    def _constraints_and_objective(self, x: Array, f: Array, g: Array) -> None:
        if f.size:
            f[0] = self.program.objective(x)
        if g.size:
            g[:] = self.program.constraints(x)

    def _gradient(self, arguments: Sequence[Array], results: Sequence[Array]) -> None:
        self._constraints_and_objective(arguments[0], results[0], NONE)
        if results[1].size:
            results[1][:] = self.program.gradient(arguments[0])

    def _jacobian(self, arguments: Sequence[Array], results: Sequence[Array]) -> None:
        self._constraints_and_objective(arguments[0], NONE, results[0])
        if results[1].size:
            self.program.jacobian(arguments[0], results[1])

    def _hessian(self, arguments: Sequence[Array], results: Sequence[Array]) -> None:
        x, _, factor, multipliers = arguments
        if results[0].size:
            self.program.hessian(x, float(factor[0]) if factor.size else 0.0, multipliers, results[0])
