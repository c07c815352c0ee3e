"""Many problems of optimal control of one structure: the same kernels with other numbers, sample by sample."""

from collections.abc import Iterator, Mapping
from contextlib import closing, nullcontext
from dataclasses import field, fields, is_dataclass, replace
from enum import Enum
from functools import cached_property
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
import xarray as xr

from myoquat.analysis.control import Equations, Explanation, Ipopt, Problem, Solution, SolutionStatus
from myoquat.analysis.control.discretization import Sites
from myoquat.analysis.control.goals.base import IntegralGoal
from myoquat.analysis.control.guesses import sites_at_rest
from myoquat.analysis.control.ipopt import Iterates
from myoquat.core import FOREIGN, PATH, Array, check_types, digest, frozen, is_foreign, progress_bar
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.kernels.tracing.trace import trace
from myoquat.muscle import Model

from .design import Axis, Design, axes_of, parameters_of
from .identity import numbers_of
from .store import FINGERPRINT, Contents, Store, Variable
from .study import RunOptions


@frozen(eq=False)
class ProblemStudy:
    """A problem that is solved for every sample of varied parameters of its model.

    vary, design, samples, seed as in `Study`. Varied numbers are parameters with one value each, so that all samples
    share the compiled kernels: nothing is built again. Every search starts at the solved sample whose parameters are
    nearest, in units of their standard deviations, and at `guess` before there is one.

    ValueError for a problem of equations of one's own, and for parameters that the problem already has as unknowns.

    >>> import myoquat as mq
    >>> from myoquat.analysis.control import Effort, Problem
    >>> from myoquat.analysis.studies import ProblemStudy
    >>> block = mq.Body("block", "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=1.0, coordinate_names=("x",))
    >>> model = mq.Model(mq.ArticulatedSystem((block,)))
    >>> ends = {"initial": {"x": 0.0, "x_dot": 0.0}, "final": {"x": 1.0, "x_dot": 0.0}}
    >>> problem = Problem(model, 1.0, (Effort(),), 8, torques=("x_dot",), **ends)
    >>> study = ProblemStudy(problem, {"bodies.block.mass": [1.0, 2.0, 3.0]}, design="grid")
    >>> study.run(progress=False).objective.values.round(4)  # 12 m^2
    array([ 12.,  48., 108.])
    """

    problem: Problem
    vary: Mapping[str, Any]
    design: str = "latin_hypercube"
    samples: int | None = None
    seed: int = 0
    solver: Ipopt = field(default_factory=Ipopt)
    guess: Any = None

    def __post_init__(self) -> None:
        check_types(problem=(self.problem, Problem), solver=(self.solver, Ipopt))
        if isinstance(self.problem.model, Equations) or not isinstance(self.problem.model, Model):
            raise ValueError("a study of problems varies parameters of a Model; the problem has none")
        twice = set(self.names) & set(self.problem.plant.parameter_names)
        if twice:
            raise ValueError(f"vary: {min(twice)!r} is an unknown of the problem already")
        _ = self._design

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The varied parameters, in the order of the columns of `values`."""
        return parameters_of(self.problem.model, self.vary).names

    @cached_property
    def _design(self) -> Design:
        defaults = parameters_of(self.problem.model, self.vary).defaults
        axes: tuple[Axis, ...] = tuple(axes_of(self.problem.model, self.vary))
        return Design(self.design, axes, defaults, self.samples, self.seed)

    @cached_property
    def values(self) -> Array:
        """(n, np) of the parameters in every sample."""
        return self._design.values(0, self._design.count)

    def problem_of(self, sample: int) -> Problem:
        """The problem of a sample, by its number."""
        own = dict(zip(self.names, map(float, self.values[sample]), strict=True))
        return replace(self.problem, parameters={**self.problem.parameters, **own})

    def run(
        self, output: str | Path | None = None, *, resume: bool | str = False, progress: bool | None = None
    ) -> xr.Dataset:
        """Solve all samples. The Dataset has over `sample` values, status, objective, iterations, seconds, violation,
        duration, and at the nodes time, and every quantity of `Solution.to_dataframe` by name.

        output: a store, as that of `Study.run`, to which every solution is written when it is found. An interrupt
        (Ctrl-C) ends the run. The last iterate of the sample is kept too, as "interrupted". `resume`: go on there, as
        `Study.run` does. Solved samples are read, damaged ones are solved again, and the interrupted one starts at its
        last iterate. Samples that were not reached are "failed" with NaN.

        Raises as `Study.run`. A study is another one if anything differs that changes a number: values, fields of the
        problem with all data in them, what formulas of one's own compute, the solver's options and the guess. Names of
        goals and printing change none.
        """
        check_types(output=(output, (*PATH, type(None))))
        again = RunOptions(resume).resume
        store = None if output is None else Store.open(_contents(self), {}, output, 1, again)
        with nullcontext() if store is None else closing(store):
            found: dict[int, Solution] = {}
            if store is not None:
                for k in sorted(set(range(store.blocks)) - set(store.pending())):
                    found[k] = _solution(self.problem_of(k), store.read(k))
            done = sum(s.status is not SolutionStatus.INTERRUPTED for s in found.values())
            spread = np.std(self.values, axis=0)
            with progress_bar(len(self.values), "problem", progress, done) as bar:
                for sample, values in enumerate(self.values):
                    start: Any = found.get(sample)
                    if start is not None and start.status is not SolutionStatus.INTERRUPTED:
                        continue
                    if start is None:  # the solved sample whose parameters are nearest, or the guess
                        solved = [k for k, solution in found.items() if solution.success]
                        off = (self.values[solved] - values) / np.where(spread > 0, spread, 1.0)
                        nearest = np.sum(off**2, axis=1).argmin() if solved else -1
                        start = found[solved[nearest]] if solved else self.guess
                    found[sample] = solution = self.problem_of(sample).solve(start, self.solver)
                    if store is not None:
                        store.write(sample, _arrays(values, solution))
                    if solution.status is SolutionStatus.INTERRUPTED:
                        break
                    bar.update(1)
        return _dataset(self, found)


# ---- what tells a study from others ------------------------------------------------------------------------------

NOT_OF_RESULTS = ("name", "print_level")  # fields that change no number


def _described(study: ProblemStudy) -> dict[str, Any]:
    """All that changes a number, as JSON can hold it: names and values of the parameters, a digest of the rest by part.

    Functions count by what they compute: the traced formulas of the program.
    """
    problem = study.problem_of(0)
    parts = {f.name: getattr(study.problem, f.name) for f in fields(study.problem)}
    parts |= {"intervals": problem.mesh, "transcription": problem.method}
    parts |= {"torques": list(problem.torque_scales.items())}  # their order is that of the controls
    guess = study.guess.sites if isinstance(study.guess, Solution) else study.guess
    parts |= {"solver": study.solver, "guess": guess}
    described = {name: digest(*_content(part)) for name, part in parts.items()}
    posed = problem.posed(study.guess)
    blocks = posed.discretization.program.blocks
    traced = [trace(block.named, block.inputs, block.outputs, block.name).identity() for block in blocks]
    own = [goal for goal in problem.statement.of(IntegralGoal).values() if is_foreign(type(goal))]
    times = problem.start + problem.mesh * posed.discretization.duration(posed.x)
    samples = [goal.samples(problem.plant, times) for goal in own]
    described |= {"formulas": digest(*traced), "data of own goals": digest(*_content(samples))}
    return {"names": list(study.names), "values": study.values.tolist(), **described}


def _content(value: Any) -> Iterator[str | bytes]:
    """The content of a part, piece by piece: numbers by their bits, records by their fields, functions by none."""
    if isinstance(value, Model):
        yield numbers_of(value).removeprefix(FOREIGN)
    elif isinstance(value, ArticulatedSystem):
        yield value.content_key.removeprefix(FOREIGN)
    elif is_dataclass(value) and not isinstance(value, type):
        yield type(value).__qualname__
        for f in fields(value):
            if f.name not in NOT_OF_RESULTS:
                yield f.name
                yield from _content(getattr(value, f.name))
    elif isinstance(value, Mapping):
        for key in sorted(value, key=str):
            yield str(key)
            yield from _content(value[key])
    elif isinstance(value, (list, tuple)) and not all(isinstance(x, (int, float)) for x in value):
        yield str(len(value))
        for item in value:
            yield from _content(item)
    elif isinstance(value, (int, float, list, tuple, np.ndarray, np.generic)):
        array = np.asarray(value)
        yield str(array.shape)
        yield np.ascontiguousarray(array, dtype=float).tobytes() if array.dtype.kind in "biuf" else str(array.tolist())
    else:
        yield repr(value) if isinstance(value, (str, Enum, NoneType)) else type(value).__qualname__


# ---- results ---------------------------------------------------------------------------------------------------

STATUSES = tuple(SolutionStatus)  # a store has their numbers, from 1
NUMBERS = {
    "objective": ("", "value of all goals"),
    "violation": ("", "of the worst constraint"),
    "iterations": ("1", "of the solver"),
    "seconds": ("s", "that the solver took"),
    "duration": ("s", "of the motion"),
}


def _dataset(study: ProblemStudy, found: Mapping[int, Solution]) -> xr.Dataset:
    """The solutions as one table over the samples."""
    n, columns = len(study.values), dict[str, Any]()
    for k, solution in found.items():  # a quantity that has the name of a number replaces it
        rows = {name: getattr(solution, name) for name in NUMBERS} | {"time": solution.time, **solution.to_dataframe()}
        for name, row in rows.items():
            empty = ("sample", "node")[: 1 + np.ndim(row)], np.full((n, *np.shape(row)), np.nan)
            columns.setdefault(name, empty)[1][k] = row
    status = [found[k].status.value if k in found else SolutionStatus.FAILED.value for k in range(n)]
    first = {"values": (("sample", "parameter"), study.values), "status": ("sample", status)}
    return xr.Dataset(first | columns, {"parameter": list(study.names)})


def _contents(study: ProblemStudy) -> Contents:
    """What a store of solutions holds: numbers of every one, and its motion at the sites of the transcription."""
    problem = study.problem_of(0)
    sites = sites_at_rest(problem.statement)
    count = len(problem.plant.parameter_names)
    parts = {"q": sites.q, **sites.fields, "unknown": np.zeros((1, count))}
    numbered = "; ".join(f"{k}: {status.value}" for k, status in enumerate(STATUSES, 1))
    kept = [
        Variable("values", ("sample", "parameter"), "float64", "", "values of the varied parameters"),
        Variable("status", ("sample",), "int8", "", numbered),
        *(Variable(name, ("sample",), "float64", *words) for name, words in NUMBERS.items()),
        FINGERPRINT,
    ]
    labels: dict[str, tuple[tuple[str, ...], Any]] = {
        "parameter": (("parameter",), np.array(study.names)),
        "site": (("site",), np.asarray(problem.layout.fractions, dtype=float)),
    }
    for name, part in parts.items():
        if part.shape[1]:  # Zarr writes no chunk of an array without numbers
            along = ("sample", "site") if name != "unknown" else ("sample",)
            kept.append(Variable(name, (*along, f"{name}_column"), "float64", "", f"{name} of the motion"))
            labels[f"{name}_column"] = (f"{name}_column",), np.arange(float(part.shape[1]))
    return Contents(len(study.values), tuple(kept), labels, _described(study))


def _arrays(values: Array, solution: Solution) -> dict[str, Array]:
    """A solution as a block of one sample."""
    sites = solution.sites
    numbers = {name: float(getattr(solution, name)) for name in NUMBERS}
    unknown = np.zeros(0) if sites.parameters is None else sites.parameters
    status = np.int8(1 + STATUSES.index(solution.status))
    block = {"values": values, "status": status, **numbers, "q": sites.q, **sites.fields, "unknown": unknown}
    return {name: np.asarray(part)[None] for name, part in block.items()}


def _solution(problem: Problem, block: Mapping[str, Array]) -> Solution:
    found = {name: array[0] for name, array in block.items()}
    rest = sites_at_rest(problem.statement)
    fields = {name: found.get(name, empty) for name, empty in rest.fields.items()}
    sites = Sites(float(found["duration"]), found.get("q", rest.q), fields, found.get("unknown"))
    status, none = STATUSES[int(found["status"]) - 1], np.zeros(0)
    iterates = Iterates(
        none, none, none, status.value, int(found["iterations"]), float(found["seconds"]), 0.0, none, none, none
    )
    explanation = Explanation(float("nan"), float(found["violation"]), (), (), {})
    return Solution(problem.statement, sites, status, float(found["objective"]), {}, explanation, iterates)
