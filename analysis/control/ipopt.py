"""The nonlinear program of blocks, and IPOPT, as CasADi ships it, on it.

A block is one formula at many intervals or points side by side, with its exact derivatives. It takes variables v (nv,)
and data d (nd,) and gives rows of constraints and terms of the objective. All its instances go through the lanes of one
kernel call; what a call gives is added into the sparse matrices of the program.

CasADi takes objective, constraints and their derivatives as functions; each writes the numbers of the compiled kernels
into IPOPT's own arrays. Interrupts stop the solver at its last iterate. Source: A. Waechter, L. T. Biegler, On the
implementation of an interior-point filter line-search algorithm for large-scale nonlinear programming, Mathematical
Programming 106, 2006.
"""

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache, cached_property, partial
from numbers import Integral, Real
from types import NoneType
from typing import Any

import numpy as np

from myoquat import kernels
from myoquat.core import CALLABLE, Array, casadi, check_types, frozen, interrupts, scipy
from myoquat.data.motions import Motion
from myoquat.joints.evaluation import kernel_for
from myoquat.joints.vectors import joined

Formula = Callable[[Array, Array], tuple[list[Array], list[Array]]]  # of v and d: rows, terms


@frozen(eq=False)
class Block:
    """Instances (b,) of a formula in a program.

    name        of the formula, of v (..., nv) and d (..., nd)
    content     of the formula, for the key of its kernels
    variables   (b, nv) indices of the variables in the program
    data        (b, nd) numbers that the formula takes
    limits      (nr, 2) of the constraints
    weights     (b, nt) of the terms in the objective
    times       (b, nr) fractions of the duration at which the constraints hold, at least (b, 1), for messages
    row_names   of the constraints, for messages
    term_names  of the terms, for messages
    """

    name: str
    formula: Formula
    content: Hashable
    variables: Array
    data: Array
    limits: Array
    weights: Array
    times: Array
    row_names: tuple[str, ...]
    term_names: tuple[str, ...]

    @property
    def inputs(self) -> dict[str, int]:
        """Name and length of what the formula takes."""
        return {"v": self.variables.shape[1], "d": self.data.shape[1]}

    @property
    def outputs(self) -> dict[str, int]:
        """Name and length of what it gives; what it gives none of is left out."""
        sizes = {"rows": len(self.row_names), "terms": len(self.term_names)}
        return {name: n for name, n in sizes.items() if n}

    def named(self, v: Array, d: Array) -> dict[str, Array]:
        """What the formula gives, by name."""
        rows, terms = self.formula(v, d)
        parts = {"rows": rows, "terms": [term[..., None] for term in terms]}
        return {name: joined(parts[name]) for name in self.outputs}

    @cached_property
    def kernels(self) -> "BlockKernels":
        """Those of the formula, shared by all blocks of its content."""
        key = "control", self.name, self.content, *self.inputs.values()
        found: BlockKernels = kernel_for(key, lambda content: BlockKernels(self, content))
        return found

    def evaluated(self, kernel: str, x: Array) -> dict[str, Array]:
        """ "rows" and "terms" at the variables x of the program: of "value" (b, n), of "jacobian" (b, nonzeros)."""
        found = getattr(self.kernels, kernel)(x[self.variables], self.data)
        none = dict.fromkeys(("rows", "terms"), np.zeros((len(self.data), 0)))
        return none | dict(zip(self.outputs, found if isinstance(found, tuple) else (found,), strict=True))

    def pattern(self, output: str) -> tuple[Array, Array]:
        """Rows and columns within an instance of the nonzeros of the Jacobian of "rows" or "terms"."""
        rows, columns = self.kernels.jacobian.patterns[f"d{output}/dv"]
        return rows, columns

    def curvature(self, x: Array, factor: float, multipliers: Array) -> Array:
        """(b, nonzeros) of the Hessian of factor times objective plus multipliers (b * nr,) times constraints."""
        bars = {"rows": multipliers.reshape(len(self.data), -1), "terms": factor * self.weights}
        return self.kernels.hessian(x[self.variables], self.data, *(bars[name] for name in self.outputs))


class BlockKernels:
    """The compiled formula of a block and its derivatives by v; the Hessian is built when it is first asked for."""

    def __init__(self, block: Block, content: str | None) -> None:
        self.value = kernels.compile(block.named, block.inputs, block.outputs, name=block.name, content=content)
        self.jacobian = self.value.jacobian(wrt="v", sparse=True)

    @property
    def program(self) -> str:
        """Text that two blocks share only if they compute the same."""
        return self.value.program

    @cached_property
    def hessian(self) -> kernels.Kernel:
        """Second derivatives of sum rows_bar . rows + terms_bar . terms by v."""
        return self.value.hessian(wrt="v")


@frozen(eq=False)
class Pattern:
    """The nonzeros of a sparse matrix, column by column: `rows` (nonzeros,) and `columns`, the starts (n + 1,) of each
    column. `nonzeros` has the nonzero of every entry of the blocks, one behind the last for entries left out."""

    rows: Array
    columns: Array
    nonzeros: Array

    @classmethod
    def of(cls, entries: Sequence[tuple[Array, Array]], shape: tuple[int, int], upper: bool = False) -> "Pattern":
        """From the rows and columns of the entries of the blocks, of which several may share a nonzero. upper: those
        below the diagonal are left out."""
        none = np.zeros(0, dtype=np.int64)
        rows, columns = (np.concatenate([none, *(entry[k].ravel() for entry in entries)]) for k in (0, 1))
        kept = rows <= columns if upper else np.ones(len(rows), dtype=bool)
        unique, inverse = np.unique((columns * shape[0] + rows)[kept], return_inverse=True)
        nonzeros = np.full(len(rows), len(unique))
        nonzeros[kept] = inverse
        starts = np.searchsorted(unique // shape[0], np.arange(shape[1] + 1))
        return cls(unique % shape[0], starts, nonzeros)

    def sums(self, values: Sequence[Array]) -> Array:
        """(nonzeros,) the sums of the entries of the blocks."""
        n, weights = len(self.rows), np.concatenate([np.zeros(0), *(part.ravel() for part in values)])
        return np.bincount(self.nonzeros, weights=weights, minlength=n + 1)[:n]


class Program:
    """minimise sum weights . terms subject to limits of rows and bounds of x, from blocks.

    size    number of variables
    names, fractions, limits   of all constraints (rows,), block by block: words, fractions of the duration, and their
            lower and upper bounds (rows, 2)

    Each derivative is one kernel call for each block.
    """

    def __init__(self, blocks: Sequence[Block], size: int) -> None:
        self.blocks, self.size = list(blocks), size
        self.names = [name for block in blocks for name in block.row_names * len(block.data)]
        times = (block.times[:, : len(block.row_names)].ravel() for block in blocks)
        self.fractions = np.concatenate([np.zeros(0), *times])
        limits = (np.tile(block.limits, (len(block.data), 1)) for block in blocks)
        self.limits = np.concatenate([np.zeros((0, 2)), *limits])
        ends = np.cumsum([len(block.data) * len(block.row_names) for block in blocks])
        self._rows = np.split(np.arange(len(self.names)), ends[:-1])  # of each block
        self._last: dict[str, tuple[Array, list[dict[str, Array]]]] = {}

    @property
    def rows(self) -> int:
        """Number of constraints."""
        return len(self.names)

    def rows_of(self, name: str) -> Array:
        """The numbers of the constraints of the blocks of a name."""
        own = [rows for rows, block in zip(self._rows, self.blocks, strict=True) if block.name == name]
        return np.concatenate([self._rows[0][:0], *own])

    # ---- values ----------------------------------------------------------------------------------------------

    def values(self, x: Array, kernel: str = "value") -> list[dict[str, Array]]:
        """What a kernel of every block gives at x (size,), kept for the x that was asked for last."""
        last = self._last.get(kernel)
        if last is None or not np.array_equal(last[0], x):
            last = self._last[kernel] = x.copy(), [block.evaluated(kernel, x) for block in self.blocks]
        return last[1]

    def objective(self, x: Array) -> float:
        """The objective."""
        both = zip(self.values(x), self.blocks, strict=True)
        return float(sum(np.sum(values["terms"] * block.weights) for values, block in both))

    def constraints(self, x: Array) -> Array:
        """(rows,) the constraints."""
        return np.concatenate([np.zeros(0), *(part["rows"].ravel() for part in self.values(x))])

    # ---- first derivatives -----------------------------------------------------------------------------------

    def gradient(self, x: Array) -> Array:
        """(size,) of the objective."""
        found = np.zeros(self.size)
        for block, slopes in zip(self.blocks, self.values(x, "jacobian"), strict=True):
            if block.term_names:
                rows, columns = block.pattern("terms")
                values = slopes["terms"] * block.weights[:, rows]
                variables = block.variables[:, columns].ravel()
                found += np.bincount(variables, weights=values.ravel(), minlength=self.size)
        return found

    @cached_property
    def jacobian_pattern(self) -> Pattern:
        """The pattern of the derivatives of the constraints by x, (rows, size)."""
        entries = []
        for block, rows in zip(self.blocks, self._rows, strict=True):
            if block.row_names:
                i, j = block.pattern("rows")
                entries.append((rows.reshape(len(block.data), -1)[:, i], block.variables[:, j]))
        return Pattern.of(entries, (self.rows, self.size))

    def jacobian(self, x: Array) -> Array:
        """(nonzeros,) of the constraints' Jacobian."""
        return self.jacobian_pattern.sums([part["rows"] for part in self.values(x, "jacobian")])

    def jacobian_matrix(self, x: Array) -> Any:
        """(rows, size) the constraints' Jacobian, a sparse matrix of SciPy."""
        pattern, shape = self.jacobian_pattern, (self.rows, self.size)
        return scipy.sparse.csc_array((self.jacobian(x), pattern.rows, pattern.columns), shape=shape)

    # ---- second derivatives ----------------------------------------------------------------------------------

    @cached_property
    def hessian_pattern(self) -> Pattern:
        """The pattern of the upper triangle of the Lagrangian's Hessian, (size, size)."""
        curved = [(block.variables, block.kernels.hessian) for block in self.blocks]
        entries = [(variables[:, kernel.rows], variables[:, kernel.cols]) for variables, kernel in curved]
        return Pattern.of(entries, (self.size, self.size), upper=True)

    def hessian(self, x: Array, factor: float, multipliers: Array) -> Array:
        """(nonzeros,) of the upper triangle of the Hessian of the Lagrangian."""
        both = zip(self.blocks, self._rows, strict=True)
        return self.hessian_pattern.sums([block.curvature(x, factor, multipliers[rows]) for block, rows in both])


# ---- IPOPT -------------------------------------------------------------------------------------------------------


@frozen(eq=False)
class Progress:
    """One iterate of `Problem.solve`, as `watch` sees it: objective, greatest violation of a constraint, time since the
    start and what is left at most [s]. `motion()` is the motion of the iterate, for an animation.

    >>> from myoquat.analysis.control import Duration, Equations, Problem
    >>> cart = Equations(("x",), ("v",), lambda point: (point["v"],))
    >>> problem = Problem(
    ...     cart, (0.1, 9.0), (Duration(),), 4, initial={"x": 0}, final={"x": 1}, bounds={"v": (0, 1)}
    ... )
    >>> seen = []
    >>> solution = problem.solve(watch=lambda progress: seen.append(progress.iteration))
    >>> seen == list(range(solution.iterations + 1))
    True
    """

    iteration: int
    objective: float
    violation: float
    seconds: float
    seconds_left: float
    motion: Callable[[], Motion]

    def __str__(self) -> str:
        return (
            f"iteration {self.iteration}: objective {self.objective:.6g}, violation {self.violation:.2g}, "
            f"{self.seconds:.1f} s, at most {self.seconds_left:.0f} s left"
        )


PAUSE = 0.25  # s between one iterate and the next, when they are played


@dataclass(eq=False)
class IterateHistory:
    """A `watch` of `Problem.solve` that keeps the motion of every `every`-th iterate, its objective and its violation.

    every  1 to keep all iterates
    show   called with the `Progress` of every iterate too; it may return True to stop

    `mq.view(model, *history.motions)` has them side by side, `history.motion` plays them one after another.

    >>> import myoquat as mq
    >>> from myoquat.analysis.control import Effort, IterateHistory, Problem
    >>> block = mq.Body("block", "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=1.0, coordinate_names=("x",))
    >>> ends = {"initial": {"x": 0.0, "x_dot": 0.0}, "final": {"x": 1.0, "x_dot": 0.0}}
    >>> problem = Problem(mq.ArticulatedSystem((block,)), 1.0, (Effort(),), 4, torques=("x_dot",), **ends)
    >>> history = IterateHistory()
    >>> solution = problem.solve(watch=history)
    >>> len(history.motions) == solution.iterations + 1
    True
    >>> history.motion
    <Motion q, u of 1 velocities, 10 frames, 0 to 2.25 s>
    """

    every: int = 1
    show: Callable[[Progress], object] | None = None
    motions: list[Motion] = field(default_factory=list, init=False)
    objectives: list[float] = field(default_factory=list, init=False)
    violations: list[float] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        check_types(every=(self.every, int), show=(self.show, (CALLABLE, NoneType)))
        if self.every < 1:
            raise ValueError(f"every must be at least 1, not {self.every}")

    def __call__(self, progress: Progress) -> object:
        if progress.iteration % self.every == 0:
            self.motions.append(progress.motion())
            self.objectives.append(progress.objective)
            self.violations.append(progress.violation)
        return None if self.show is None else self.show(progress)

    @property
    def motion(self) -> Motion:
        """The iterates one after another, from 0 s on, with a pause of 0.25 s between them. ValueError without any."""
        if not self.motions:
            raise ValueError("no iterate was kept; give the history as watch= to Problem.solve")
        times, end = [], 0.0
        for motion in self.motions:
            times.append(motion.time - motion.time[0] + end)
            end = times[-1][-1] + PAUSE
        q, u = (np.concatenate([getattr(motion, name) for motion in self.motions]) for name in ("q", "u"))
        return Motion(self.motions[0].system, np.concatenate(times), q, u)


UNBOUNDED = -1e10  # an objective below it falls without bound


class SolutionStatus(Enum):
    """How the solver ended; `sentence` says it in words, `success` whether the result is a solution.

    >>> from myoquat.analysis.control import SolutionStatus
    >>> SolutionStatus.INFEASIBLE.success, SolutionStatus.INFEASIBLE.sentence
    (False, 'no motion near this one satisfies all constraints: the constraints named below contradict each other')
    """

    sentence: str
    words: tuple[str, ...]  # of IPOPT for it

    def __new__(cls, value: str, sentence: str, *words: str) -> "SolutionStatus":
        member = object.__new__(cls)
        member._value_, member.sentence, member.words = value, sentence, words
        return member

    SOLVED = ("solved", "converged to the tolerance", "Solve_Succeeded", "Feasible_Point_Found")
    ACCEPTABLE = (
        "acceptable",
        "converged to the looser, acceptable tolerance of the solver",
        "Solved_To_Acceptable_Level",
    )
    INFEASIBLE = (
        "infeasible",
        "no motion near this one satisfies all constraints: the constraints named below contradict each other",
        "Infeasible_Problem_Detected",
    )
    ITERATIONS = (
        "iterations",
        "stopped at the maximum number of iterations before it converged",
        "Maximum_Iterations_Exceeded",
    )
    TIME = (
        "time",
        "stopped at the time limit before it converged",
        "Maximum_CpuTime_Exceeded",
        "Maximum_WallTime_Exceeded",
    )
    STUCK = (
        "stuck",
        "the search direction became too small to go on",
        "Search_Direction_Becomes_Too_Small",
        "Error_In_Step_Computation",
    )
    RESTORATION = (
        "restoration",
        "could not get closer to the constraints from here (restoration failed)",
        "Restoration_Failed",
    )
    DIVERGING = (
        "diverging",
        "the unknowns grow without bound: a bound or a term of the objective is missing",
        "Diverging_Iterates",
    )
    UNBOUNDED = "unbounded", "the objective falls without bound: a bound or a term of the objective is missing"
    OVERDETERMINED = (
        "overdetermined",
        "there are more equations than unknowns: conditions at the ends repeat each other",
        "Not_Enough_Degrees_Of_Freedom",
    )
    NOT_FINITE = ("not finite", "a formula or a derivative gave a number that is not finite", "Invalid_Number_Detected")
    INTERRUPTED = ("interrupted", "interrupted; this is the last iterate", "User_Requested_Stop")
    FAILED = "failed", "the solver failed"

    @property
    def success(self) -> bool:
        """Whether the result is a solution."""
        return self in (SolutionStatus.SOLVED, SolutionStatus.ACCEPTABLE)


def status_of(word: str, objective: float) -> SolutionStatus:
    """The status by IPOPT's word for it. Where the objective fell too far that tells more than how IPOPT gave up."""
    status = next((status for status in SolutionStatus if word in status.words), SolutionStatus.FAILED)
    ended = status.success or status in (SolutionStatus.INTERRUPTED, SolutionStatus.NOT_FINITE)
    return SolutionStatus.UNBOUNDED if objective < UNBOUNDED and not ended else status


CasadiFormula = Callable[..., Any]  # of CasADi's arguments as arrays


@cache
def _callback_class() -> Any:
    """A class of CasADi's callbacks, made when CasADi is first needed."""

    class Callback(casadi.Callback):
        """A function of CasADi that reads and writes CasADi's own arrays, by the sparsity of its inputs and outputs."""

        def __init__(self, name: str, inputs: dict[str, Any], outputs: dict[str, Any], evaluation: Any) -> None:
            casadi.Callback.__init__(self)
            self._inputs, self._outputs, self._evaluation = list(inputs.items()), list(outputs.items()), evaluation
            self.construct(name, {})

        def get_n_in(self) -> int:
            return len(self._inputs)

        def get_n_out(self) -> int:
            return len(self._outputs)

        def get_name_in(self, i: int) -> str:
            return str(self._inputs[i][0])

        def get_name_out(self, i: int) -> str:
            return str(self._outputs[i][0])

        def get_sparsity_in(self, i: int) -> Any:
            return self._inputs[i][1]

        def get_sparsity_out(self, i: int) -> Any:
            return self._outputs[i][1]

        def has_eval_buffer(self) -> bool:
            return True

        def eval_buffer(self, arguments: Any, results: Any) -> int:
            return int(self._evaluation([_floats(a) for a in arguments], [_floats(r) for r in results]))

    return Callback


def _floats(buffer: Any) -> Array:
    """A buffer of CasADi as an array on the same memory; empty for one that it does not need."""
    return np.zeros(0) if buffer is None else np.frombuffer(buffer, dtype=float)


HESSIANS = ("exact", "limited-memory")
Watch = Callable[[Progress], Any]  # True asks to stop


@frozen
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
        check_types(
            options=(self.options, Mapping),
            tolerance=(self.tolerance, Real),
            constraint_tolerance=(self.constraint_tolerance, Real),
            barrier=(self.barrier, (Real, NoneType)),
            max_iterations=(self.max_iterations, Integral),
            print_level=(self.print_level, Integral),
        )
        if self.barrier is not None and not self.barrier > 0:
            raise ValueError(f"barrier must be positive or None, not {self.barrier}")
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


MIN_WIDE_BLOCK = 200  # variables that meet in an interval
WIDE = {"ipopt.mumps_pivot_order": 5, "ipopt.mumps_permuting_scaling": 0}  # METIS; docs/measurements/benchmarks.md


@frozen(eq=False)
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
    program: Program, start: Array, bounds: Array, limits: Array, options: Ipopt, watch: Watch | None = None,
    motion: Callable[[Array], Motion] | None = None,
) -> Iterates:  # fmt: skip
    """Solve from `start` (n,) within bounds (n, 2) of x and limits (m, 2) of the constraints. `watch` is given the
    `Progress` at every iterate, whose motion is that of its variables. Where it returns True, and after an interrupt
    from the keyboard, the solver stops there.

    Raises MissingExtraError where CasADi is not installed, and what a formula raises.
    """
    functions = _Functions(program, options.hessian == "exact")
    wide = max((block.variables.shape[1] for block in program.blocks), default=0) >= MIN_WIDE_BLOCK
    settings = {
        **functions.options,
        **(WIDE if wide else {}),
        **options.named(),
        "print_time": False,
        "show_eval_warnings": False,
    }
    given = {"x0": start, "lbx": bounds[:, 0], "ubx": bounds[:, 1], "lbg": limits[:, 0], "ubg": limits[:, 1]}
    begun, count = time.perf_counter(), 0

    def seen(x: Array, f: Array, g: Array, *_: Array) -> float:
        nonlocal count
        if watch is not None and motion is not None:
            missed = np.maximum(limits[:, 0] - g, g - limits[:, 1]) if g.size else np.zeros(0)
            seconds = time.perf_counter() - begun
            left = seconds / max(count, 1) * (options.max_iterations - count)
            at = partial(motion, x.copy())
            progress = Progress(count, float(f[0]), float(missed.max(initial=0.0)), seconds, left, at)
            stop.came = watch(progress) is True or stop.came
        count += 1
        return float(stop.came)

    with interrupts(at_once=False) as stop:
        # called at every iterate; it returns whether to stop
        callback = functions.function("watch", functions.evaluated, {"stop": casadi.Sparsity.dense(1)}, seen)
        settings |= {"no_nlp_grad": True, "error_on_fail": False, "iteration_callback": callback}
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


class _Functions:
    """The program as functions of CasADi, with the time that they take and the errors that they raise."""

    def __init__(self, program: Program, exact: bool) -> None:
        self.errors, self.seconds = list[BaseException](), 0.0
        n, m, dense = program.size, program.rows, casadi.Sparsity.dense
        self.inputs, f, g = {"x": dense(n)}, {"f": dense(1)}, {"g": dense(m)}
        self.evaluated = self.inputs | f | g | {"lam_x": dense(n), "lam_g": dense(m), "lam_p": dense(0, 1)}
        own, jacobian = self.inputs | {"p": dense(0, 1)}, {"jac_g_x": _sparsity(program.jacobian_pattern, (m, n))}

        def of_x(name: str, outputs: dict[str, Any], *formulas: Callable[[Array], Any]) -> Any:
            return self.function(name, own, outputs, *(lambda x, *_, formula=each: formula(x) for each in formulas))

        def hessian(x: Array, p: Array, factor: Array, multipliers: Array) -> Array:
            return program.hessian(x, float(factor[0]) if factor.size else 0.0, multipliers)

        self.nlp = of_x("nlp", f | g, program.objective, program.constraints)
        self.options = {
            "grad_f": of_x("grad_f", f | {"grad_f_x": dense(n)}, program.objective, program.gradient),
            "jac_g": of_x("jac_g", g | jacobian, program.constraints, program.jacobian),
        }
        if exact:
            outputs = {"triu_hess_gamma_x_x": _sparsity(program.hessian_pattern, (n, n))}
            inputs = own | {"lam_f": dense(1), "lam_g": dense(m)}
            self.options["hess_lag"] = self.function("hess_lag", inputs, outputs, hessian)

    def function(self, name: str, inputs: dict[str, Any], outputs: dict[str, Any], *formulas: CasadiFormula) -> Any:
        """A function of CasADi, each of whose outputs is what a formula gives of the inputs."""

        def write(arguments: Sequence[Array], results: Sequence[Array]) -> int:
            begun = time.perf_counter()
            try:
                for out, formula in zip(results, formulas, strict=True):
                    if out.size:  # asked for
                        out[:] = formula(*arguments)
            except BaseException as error:
                self.errors.append(error)
                return 1
            finally:
                self.seconds += time.perf_counter() - begun
            return 0

        return _callback_class()(name, inputs, outputs, write)


def _sparsity(pattern: Pattern, shape: tuple[int, int]) -> Any:
    """The pattern as CasADi has it."""
    return casadi.Sparsity(*shape, pattern.columns.tolist(), pattern.rows.tolist())
