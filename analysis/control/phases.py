"""Phases: problems one after the other, solved as one, and the joins between them."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from types import NoneType
from typing import Any

import numpy as np

from myoquat.core import Array, Record, Solved, check_items, check_types, frozen

from .conditions import BoundaryConstraint, Periodic, equality, periodic_constraint
from .discretization import Posed, block_of_ends
from .ipopt import Ipopt, Iterates, SolutionStatus, run_ipopt
from .problem import Problem, check_same_unknowns
from .program import Block, Program
from .quantities import Quantities
from .solution import Explanation, Solution, explanation_of, solution_of


@frozen
class Join(Record):
    """Between two phases, all coordinates, velocities and states that both have by name are continuous.

    free         names that are not, such as velocities that jump at an impact
    constraints  further `BoundaryConstraint`s, of the last point of the phase before, the first point after, and the
                 duration of the phase before

    >>> from myoquat.analysis.control import Join
    >>> Join(free=("knee_angle_r_dot",)).free
    ('knee_angle_r_dot',)
    """

    free: tuple[str, ...] = ()
    constraints: tuple[BoundaryConstraint, ...] = ()


def continuity(before: Quantities, after: Quantities, join: Join) -> list[BoundaryConstraint]:
    """[quantities that are continuous between phases], [] for none. ValueError for free names that neither has."""
    for name in join.free:
        if name not in after.unknowns and name not in after.balls:
            before.unknown(name, "join")
    common = [n for n, u in before.unknowns.items() if u.field != "controls" and n in after.unknowns]
    zero = {n for n in before.constant & after.constant if before.unknowns[n].field == "u"}
    pairs = [(before.spelled(n), after.spelled(n)) for n in common if n not in zero.union(join.free)]
    shared = [n for n in before.plant.parameter_names if n in after.plant.parameter_names and n not in join.free]
    turns = [(before.balls[n][0], after.balls[n][0]) for n in before.balls if n in after.balls and n not in join.free]
    return equality("continuity", [*pairs, *((f"parameters.{n}",) * 2 for n in shared)], turns)


@frozen(eq=False)
class Phases:
    """Problems one after the other: each has its own model, contacts, controls, goals, constraints, mesh and duration.

    problems     at least two.
    joins        what goes on from each to the next, one `Join` fewer than problems; by default all that both have by
                 name. Parameters of the same name are equal.
    constraints  `BoundaryConstraint`s of the first point of the first phase, the last point of the last one, and the
                 whole duration.
    periodic     a `Periodic` motion of the whole; the first and the last phase need the same unknowns.

    Each problem keeps its own time: data over time are those from its `start` on.

    >>> from myoquat.analysis.control import Duration, Equations, Phases, Problem
    >>> ends = {"x": 0.0, "v": 0.0}, {"x": 1.0, "v": 0.0}
    >>> thrust, brakes = (
    ...     Equations(("x", "v"), (), lambda point, force=force: (point["v"], force + 0.0 * point["v"]))
    ...     for force in (1.0, -1.0)
    ... )
    >>> speedup = Problem(thrust, (0.1, 5.0), (Duration(),), 4, initial=ends[0])
    >>> slowdown = Problem(brakes, (0.1, 5.0), (Duration(),), 4, final=ends[1])
    >>> solution = Phases((speedup, slowdown)).solve()
    >>> [round(phase.duration, 6) for phase in solution.phases]
    [1.0, 1.0]
    """

    problems: Sequence[Problem]
    joins: Sequence[Join] = ()
    constraints: Sequence[BoundaryConstraint] = ()
    periodic: Periodic | None = None

    def __post_init__(self) -> None:
        check_items("problems", self.problems, Problem)
        check_items("joins", self.joins, Join)
        check_items("constraints", self.constraints, BoundaryConstraint)
        if len(self.problems) < 2:
            raise ValueError("phases need at least two problems")
        if self.joins and len(self.joins) != len(self.problems) - 1:
            raise ValueError(f"{len(self.problems)} phases have {len(self.problems) - 1} joins, not {len(self.joins)}")
        if self.periodic is not None:
            check_same_unknowns(self.problems[0].plant, self.problems[-1].plant)

    def solve(self, guesses: Sequence[Any] | None = None, solver: Ipopt | None = None) -> "PhasedSolution":
        """The solution from a guess for each phase, as `Problem.solve` takes them, None for those of the problems.
        Raises what `Problem.solve` raises."""
        check_types(solver=(solver, (Ipopt, NoneType)))
        given = [None] * len(self.problems) if guesses is None else list(guesses)
        if len(given) != len(self.problems):
            raise ValueError(f"{len(self.problems)} phases need as many guesses, not {len(given)}")
        joined = _Joined([problem.posed(guess) for problem, guess in zip(self.problems, given, strict=True)], self)
        found = run_ipopt(joined.program, joined.x, joined.bounds, joined.limits, solver or Ipopt())
        program, times = joined.program, joined.times(joined.program.fractions, found.x)
        explanation = explanation_of(program, joined.labels, times, joined.bounds, joined.limits, found)
        parts = [
            solution_of(posed.discretization, joined.part(k, found), explanation)
            for k, posed in enumerate(joined.posed)
        ]
        return PhasedSolution(tuple(parts), parts[0].status, explanation)


class _Joined:
    """The programs of all phases, and their joins, as one."""

    def __init__(self, posed: list[Posed], phases: Phases) -> None:
        self.posed, blocks = posed, list[Block]()
        self.offsets = np.cumsum([0, *(p.discretization.size for p in posed)])
        self.first_rows = np.cumsum([0, *(p.discretization.program.rows for p in posed)])
        for k, p in enumerate(posed):
            for block in p.discretization.program.blocks:
                words = tuple(f"phase {k + 1}: {name}" for name in block.row_names)
                variables, times = block.variables + self.offsets[k], block.times + k
                blocks.append(replace(block, variables=variables, times=times, row_names=words))
        names, whole = [problem.quantities for problem in phases.problems], list[Any](phases.constraints)
        if phases.periodic is not None:
            driven = "controls" in phases.problems[0].layout.fields[0]
            whole += periodic_constraint(phases.periodic, names[0], driven)
        programs = [(p.discretization, int(offset)) for p, offset in zip(posed, self.offsets, strict=False)]
        for k, join in enumerate(phases.joins or [Join()] * (len(posed) - 1)):
            if kept := [*continuity(names[k], names[k + 1], join), *join.constraints]:
                blocks.append(block_of_ends("join", programs[k : k + 2], -1, kept))
        if whole:
            blocks.append(block_of_ends("join", programs, 0, whole))
        self.program = Program(blocks, int(self.offsets[-1]))
        self.x = np.concatenate([p.x for p in posed])
        self.bounds = np.concatenate([p.bounds for p in posed])
        self.limits = np.concatenate([*(p.limits for p in posed), self.program.limits[self.first_rows[-1] :]])

    @property
    def labels(self) -> list[str]:
        """Names of the variables."""
        each = enumerate((p.discretization.labels[0] for p in self.posed), start=1)
        return [f"phase {k}: {name}" for k, names in each for name in names]

    def times(self, fractions: Array, x: Array) -> Array:
        """(...) [s] since the start of the first phase."""
        parts = np.split(x, self.offsets[1:-1])
        lasting = [p.discretization.duration(part) for p, part in zip(self.posed, parts, strict=True)]
        ends = np.cumsum([0.0, *lasting])
        return np.interp(fractions, np.arange(len(ends)), ends)

    def part(self, k: int, found: Iterates) -> Iterates:
        """The solution of the k-th phase."""
        own, rows = slice(*self.offsets[k : k + 2]), slice(*self.first_rows[k : k + 2])
        return replace(
            found, x=found.x[own], bound_multipliers=found.bound_multipliers[own],
            constraint_multipliers=found.constraint_multipliers[rows],
        )  # fmt: skip


@frozen(eq=False, repr=False)
class PhasedSolution(Solved):
    """What `Phases.solve` found: a `Solution` of every phase, with the explanation of the whole.

    >>> from myoquat.analysis.control import PhasedSolution, Phases
    >>> "duration" in dir(PhasedSolution), "solve" in dir(Phases)
    (True, True)
    """

    phases: tuple[Solution, ...]
    status: SolutionStatus
    explanation: Explanation

    def __repr__(self) -> str:
        what = "converged" if self.success else f"NOT SOLVED: {self.status.sentence}"
        return f"<PhasedSolution {len(self.phases)} phases, objective {self.objective:.6g}, {what}>"

    @property
    def success(self) -> bool:
        """Whether it is a solution."""
        return self.status.success

    @property
    def objective(self) -> float:
        """The sum of the objectives of all phases."""
        return float(sum(phase.objective for phase in self.phases))

    @property
    def duration(self) -> float:
        """[s] of all phases."""
        return float(sum(phase.duration for phase in self.phases))

    @cached_property
    def time(self) -> Array:
        """(t,) [s] of the nodes of all phases since the start of the first, the joins twice."""
        starts = np.cumsum([0.0, *(phase.duration for phase in self.phases[:-1])])
        return np.concatenate([a + p.time - p.time[0] for a, p in zip(starts, self.phases, strict=True)])

    def __getitem__(self, name: str) -> Array:
        """(t,) a coordinate, angle, velocity or state by its name at the nodes of all phases; KeyError for one that a
        phase does not have."""
        return np.concatenate([phase[name] for phase in self.phases])

    def explain(self) -> str:
        """How the solver ended, the goals of every phase, and where constraints, bounds and multipliers are worst."""
        lines = [f"{self.status.name}: {self.status.sentence}.", f"Objective {self.objective:.8g}:"]
        for k, phase in enumerate(self.phases, start=1):
            lines.append(f"  phase {k}, {phase.duration:.4g} s: {phase.objective:.8g}")
            lines += [f"    {name}: {value:.8g}" for name, value in phase.goals.items()]
        return "\n".join([*lines, *self.explanation.lines()])
