"""fatrop, as CasADi ships it: an interior-point method whose linear systems are solved by a Riccati recursion.

CasADi's plugin takes no ready derivatives among its options; they are found in its cache of functions instead. Source:
L. Vanroye, A. Sathya, J. De Schutter, W. Decre, FATROP: a fast constrained optimal control problem solver for robot
trajectory optimization and control, IROS 2023.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from myoquat.analysis.control.program import Program
from myoquat.analysis.control.solvers.callbacks import Evaluation, Timed, sparsity_of
from myoquat.analysis.control.solvers.ipopt import Iterates, Watch
from myoquat.analysis.control.solvers.progress import Iterate, Stop, interruptible
from myoquat.analysis.control.solvers.settings import check_options
from myoquat.analysis.control.solvers.stages import StagedProgram
from myoquat.core.lazy_imports import MissingExtraError, casadi
from myoquat.core.typing import Array

__all__ = ["Fatrop", "run_fatrop"]

WORDS = {"SOLVER_RET_SUCCESS": "Solve_Succeeded", "SOLVER_RET_NAN": "Invalid_Number_Detected"}  # to those of IPOPT
STOPPED, FAILED = "User_Requested_Stop", "Error_In_Step_Computation"
LIMITED = "Maximum_Iterations_Exceeded"


@dataclass(frozen=True)
class Fatrop:
    """Options of fatrop, which takes problems stage by stage, with exact derivatives.

    tolerance    of the KKT error.
    barrier      with which the barrier of the bounds begins, None for fatrop's own.
    print_level  0 (silent) or more.
    options      any further options of fatrop by their names.

    It has no goals of changes, such as `ControlRates`, and no phases: `Ipopt` has. Raises ValueError for tolerances and
    barriers that are not positive.

    >>> from myoquat.analysis.control import Fatrop
    >>> Fatrop(tolerance=1e-6).max_iterations
    1000
    """

    tolerance: float = 1e-8
    max_iterations: int = 1000
    barrier: float | None = None
    print_level: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_options(self)
        if not (self.tolerance > 0 and self.max_iterations >= 0):
            raise ValueError("tolerance must be positive, max_iterations at least 0")

    def named(self) -> dict[str, Any]:
        """All options by fatrop's names."""
        own: dict[str, Any] = {
            "tolerance": self.tolerance, "max_iter": self.max_iterations, "print_level": self.print_level,
        }  # fmt: skip
        if self.barrier is not None:
            own["mu_init"] = self.barrier
        return own | dict(self.options)


def run_fatrop(
    program: Program, positions: Array, posed: tuple[Array, Array, Array], options: Fatrop, watch: Watch | None = None
) -> Iterates:
    """Solve from a start (n,) within bounds (n, 2) of x and limits (m, 2) of the constraints, the three of `posed`.

    positions (n,) of the variables are those of `StagedProgram`. `watch` as in `run_ipopt`. Raises MissingExtraError
    where CasADi is not installed or was built without fatrop. Raises ValueError for a program that has no stages, and
    the errors of formulas.
    """
    if not casadi.has_nlpsol("fatrop"):
        raise MissingExtraError("this build of CasADi has no fatrop; the wheels of CasADi 3.7 and later have")
    start, bounds, limits = posed
    staged = StagedProgram(program, positions, bounds, limits)
    with interruptible() as stop:
        functions = _Functions(staged, options.max_iterations, watch, stop)
        solver = casadi.nlpsol("control", "fatrop", functions.nlp, functions.settings | {"fatrop": options.named()})
        b, g = staged.bounds, staged.limits
        begun = time.perf_counter()
        try:
            found = solver(x0=staged.start(start), lbx=b[:, 0], ubx=b[:, 1], lbg=g[:, 0], ubg=g[:, 1])
        except RuntimeError:
            if functions.errors and not isinstance(functions.errors[0], _Stopped):
                raise functions.errors[0] from None
            found = None
        seconds = time.perf_counter() - begun
    return _iterates(staged, functions, solver.stats() if found is not None else {}, found, seconds)


def _iterates(
    staged: StagedProgram, functions: "_Functions", stats: dict[str, Any], found: Any, seconds: float
) -> Iterates:
    """The result in the variables and rows of the program."""
    if found is None or functions.stop.came:
        x, of_rows, of_bounds = functions.x, functions.multipliers, np.zeros(staged.size)
    else:
        x, of_rows, of_bounds = (np.array(found[name]).ravel() for name in ("x", "lam_g", "lam_x"))
    iterations = int(stats.get("iter_count", max(len(functions.history) - 1, 0)))
    word = WORDS.get(str(stats.get("unified_return_status", "")), FAILED)
    if word == FAILED and iterations >= functions.max_iterations:
        word = LIMITED
    word = STOPPED if functions.stop.came else word
    held = of_bounds[staged.home]
    held[staged.fixed] = of_rows[staged.fixed_rows]
    history, nothing = functions.history, np.zeros(0)
    objective, primal = (np.array(history).reshape(-1, 2)[:, i] for i in range(2))
    return Iterates(
        x[staged.home], of_rows[staged.row_home], held, word, iterations, seconds, functions.seconds, objective,
        primal, nothing,
    )  # fmt: skip


class _Stopped(Exception):
    """Who watches asked to stop."""


class _Functions(Timed):
    """The program as functions of CasADi, by the names under which fatrop looks for them."""

    def __init__(self, staged: StagedProgram, max_iterations: int, watch: Watch | None, stop: Stop) -> None:
        super().__init__()
        self.staged, self.watch, self.stop, self.max_iterations = staged, watch, stop, max_iterations
        self.history, self.begun = list[tuple[float, float]](), time.perf_counter()
        self.x, self.multipliers = np.zeros(staged.size), np.zeros(staged.rows)
        n, m, dense = staged.size, staged.rows, casadi.Sparsity.dense
        at = {"x": dense(n), "p": dense(0, 1)}
        pulled = at | {"lam_f": dense(1), "lam_g": dense(m)}
        f, g, slope = {"f": dense(1)}, {"g": dense(m)}, {"grad_gamma_x": dense(n)}
        hessian = {"hess_gamma_x_x": sparsity_of(staged.hessian_pattern, (n, n))}
        jacobian = {"jac_g_x": sparsity_of(staged.jacobian_pattern, (m, n))}
        self.nlp = self.function("nlp", at, f | g, self._values)
        known = [
            self.function("nlp_f", at, f, lambda a, r: self._values(a, (r[0], np.zeros(0)))),
            self.function("nlp_g", at, g, lambda a, r: self._values(a, (np.zeros(0), r[0]))),
            self.function("nlp_grad_f", at, {"grad_f_x": dense(n)}, self._gradient),
            self.function("nlp_jac_g", at, g | jacobian, self._jacobian),
            self.function("nlp_hess_l", pulled, slope | hessian, self._hessian),
            super().function("nlp_grad", pulled, f | g | slope | {"grad_gamma_p": dense(0, 1)}, self._all),
        ]
        self.settings = {
            "cache": {function.name(): function for function in known}, "structure_detection": "manual",
            "N": staged.stages, "nx": staged.state_counts, "nu": staged.control_counts,
            "ng": staged.equation_counts.tolist(), "print_time": False, "show_eval_warnings": False,
            "error_on_fail": False,
        }  # fmt: skip

    def function(self, name: str, inputs: dict[str, Any], outputs: dict[str, Any], evaluation: Evaluation) -> Any:
        """A function of CasADi that gives nothing more once the solver shall stop, which is how fatrop stops."""

        def until_stopped(arguments: Sequence[Array], results: Sequence[Array]) -> None:
            if not self.stop.came:
                evaluation(arguments, results)
            if self.stop.came:
                raise _Stopped

        return super().function(name, inputs, outputs, until_stopped)

    def _values(self, arguments: Sequence[Array], results: Sequence[Array]) -> None:
        if results[0].size:
            results[0][0] = self.staged.program.objective(arguments[0])
        if results[1].size:
            results[1][:] = self.staged.constraints(arguments[0])

    def _gradient(self, arguments: Sequence[Array], results: Sequence[Array]) -> None:
        if results[0].size:
            results[0][:] = self.staged.program.gradient(arguments[0])

    def _jacobian(self, arguments: Sequence[Array], results: Sequence[Array]) -> None:
        self._values(arguments, (np.zeros(0), results[0]))
        if results[1].size:
            self.staged.jacobian(arguments[0], results[1])

    def _pulled(self, arguments: Sequence[Array], out: Array) -> None:
        """Write the gradient of the Lagrangian."""
        x, _, factor, multipliers = arguments
        pattern = self.staged.jacobian_pattern
        values = np.zeros(len(pattern.rows))
        self.staged.jacobian(x, values)
        columns = np.repeat(np.arange(self.staged.size), np.diff(pattern.columns))
        out[:] = float(factor[0]) * self.staged.program.gradient(x)
        out += np.bincount(columns, weights=values * multipliers[pattern.rows], minlength=self.staged.size)

    def _hessian(self, arguments: Sequence[Array], results: Sequence[Array]) -> None:
        x, _, factor, multipliers = arguments
        if results[0].size:
            self._pulled(arguments, results[0])
        if results[1].size:
            self._seen(x, multipliers)
            self.staged.hessian(x, float(factor[0]), multipliers, results[1])

    def _all(self, arguments: Sequence[Array], results: Sequence[Array]) -> None:
        self._values(arguments, results)
        if results[2].size:
            self._pulled(arguments, results[2])

    def _seen(self, x: Array, multipliers: Array) -> None:
        """Keep an iterate, which has one Hessian, and tell of it."""
        self.x, self.multipliers = x.copy(), multipliers.copy()
        g, limits = self.staged.constraints(x), self.staged.limits
        violation = float(np.maximum(limits[:, 0] - g, g - limits[:, 1]).max(initial=0.0))
        objective, count = self.staged.program.objective(x), len(self.history)
        self.history.append((objective, violation))
        if self.watch is not None:
            seconds = time.perf_counter() - self.begun
            own = x[self.staged.home]
            iterate = Iterate(count, own, objective, violation, seconds, self.max_iterations)
            self.stop.came = self.watch(iterate) is True or self.stop.came
