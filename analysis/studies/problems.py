"""Many problems of optimal control of one structure: the same kernels with other numbers, sample by sample."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, fields, is_dataclass, replace
from enum import Enum
from functools import cached_property
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
import xarray as xr

from myoquat.analysis.control import Equations, Ipopt, Problem, Solution, SolutionStatus
from myoquat.analysis.control.discretization import Sites
from myoquat.analysis.control.explanation import Explanation
from myoquat.analysis.control.guesses import sites_at_rest
from myoquat.analysis.control.solvers.ipopt import Iterates
from myoquat.analysis.control.statement import Statement
from myoquat.analysis.control.transcriptions.base import Layout
from myoquat.analysis.studies.design import Axis, Design, axes_of, parameters_of
from myoquat.analysis.studies.durable import StoreError, check_links
from myoquat.core.arguments import PATH, check_types
from myoquat.core.content import FOREIGN, digest, is_foreign
from myoquat.core.progress import progress_bar
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.data.files import read_arrays, read_text
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.kernels.tracing.trace import trace
from myoquat.muscle import Model

__all__ = ["ProblemStudy", "load_sites", "save_sites", "solution_from_sites"]


def save_sites(path: Path, sites: Sites) -> None:
    """Write the motion at every site, replacing the file as a whole."""
    parameters = {} if sites.parameters is None else {"parameters": sites.parameters}
    fields = {f"field_{name}": values for name, values in sites.fields.items()}
    written = path.with_name(f".{path.name}")
    with written.open("wb") as to:
        arrays: dict[str, Any] = {"duration": np.array(sites.duration), "q": sites.q} | parameters | fields
        np.savez(to, **arrays)
    written.replace(path)


def load_sites(path: Path, statement: Statement, layout: Layout) -> Sites:
    """What `save_sites` wrote of this problem; ValueError for a file that is damaged, or of another problem."""
    found = read_arrays(path, "motion of a problem")
    expected = sites_at_rest(statement, layout)
    shapes = {"duration": (), "q": expected.q.shape} | {f"field_{name}": x.shape for name, x in expected.fields.items()}
    for name, shape in shapes.items():
        array = found.get(name)
        if array is None or array.dtype.kind != "f" or array.shape != shape:
            raise ValueError(f"{path}: the motion of this problem has numbers {name!r} of shape {shape}")
    if not (np.isfinite(found["q"]).all() and np.isfinite(found["duration"])):
        raise ValueError(f"{path}: the pose or the duration is not finite")
    fields = {name: found[f"field_{name}"] for name in expected.fields}
    return Sites(float(found["duration"]), found["q"], fields, found.get("parameters"))


def solution_from_sites(statement: Statement, layout: Layout, sites: Sites, numbers: Mapping[str, Any]) -> Solution:
    """A solution that was stored: its motion, its status, and the `numbers` objective, violation, iterations and
    seconds; multipliers and explanations were not kept. ValueError where these are none."""
    if not isinstance(numbers, Mapping) or numbers.get("status") not in {s.value for s in SolutionStatus}:
        raise ValueError("the status of a solution is unknown")
    if not all(isinstance(numbers.get(name), (int, float)) for name in ("objective", "violation", "seconds")):
        raise ValueError("the numbers of a solution are missing")
    if not isinstance(numbers.get("iterations"), int):
        raise ValueError("the number of iterations of a solution is missing")
    none = np.zeros(0)
    iterates = Iterates(
        none, none, none, str(numbers["status"]), int(numbers["iterations"]), float(numbers["seconds"]), 0.0, none,
        none, none,
    )  # fmt: skip
    explanation = Explanation(float("nan"), float(numbers["violation"]), (), (), {})
    status = next(s for s in SolutionStatus if s.value == numbers["status"])
    return Solution(statement, layout, sites, status, float(numbers["objective"]), {}, explanation, iterates)


INDEX = "problems.json"  # of a folder of results: parameters, values and what was found


@dataclass(frozen=True, eq=False)
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
        twice = set(self.names) & set(self.problem.plant.unknown.names)
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
        self, output: str | Path | None = None, *, resume: bool = False, progress: bool | None = None
    ) -> xr.Dataset:
        """Solve all samples. The Dataset has over `sample` values, status, objective, iterations, seconds, violation,
        duration, and at the nodes time, and every quantity of `Solution.to_dataframe` by name.

        output: a folder, to which every solution is written when it is found. An interrupt (Ctrl-C) ends the run. The
        last iterate of the sample is kept too, as "interrupted". `resume`: go on there. Solved samples are read, and
        the interrupted one starts at its last iterate. Samples that were not reached are "failed" with NaN.

        FileExistsError for a folder that holds results, unless `resume`. ValueError for those of another study, with
        the names of what differs, and StoreError for damaged ones and for a folder with links. A study is another one
        if anything differs that changes a number: values, fields of the problem with all data in them, what formulas of
        one's own compute, the solver's options and the guess. Names of goals and printing change none.
        """
        check_types(output=(output, (*PATH, type(None))))
        place = None if output is None else _Folder(Path(output), self, resume)
        found: dict[int, Solution] = {} if place is None else place.read()
        done = sum(s.status is not SolutionStatus.INTERRUPTED for s in found.values())
        with progress_bar(len(self.values), "problem", progress, done) as bar:
            for sample in range(len(self.values)):
                before = found.get(sample)
                if before is not None and before.status is not SolutionStatus.INTERRUPTED:
                    continue
                start = before or self._nearest(sample, found)
                found[sample] = solution = self.problem_of(sample).solve(start, self.solver)
                if place is not None:
                    place.write(sample, solution)
                if solution.status is SolutionStatus.INTERRUPTED:
                    break
                bar.update(1)
        return _dataset(self, found)

    def _nearest(self, sample: int, found: Mapping[int, Solution]) -> Any:
        """The solved sample whose parameters are nearest, or the guess."""
        solved = [k for k, solution in found.items() if solution.success]
        if not solved:
            return self.guess
        spread = np.std(self.values, axis=0)
        off = (self.values[solved] - self.values[sample]) / np.where(spread > 0, spread, 1.0)
        return found[solved[int(np.argmin(np.sum(off**2, axis=1)))]]


# ---- what tells a study from others ------------------------------------------------------------------------------

NOT_OF_RESULTS = ("name", "print_level")  # fields that change no number


def _described(study: ProblemStudy) -> dict[str, Any]:
    """All that changes a number, as JSON can hold it: names and values of the parameters, a digest of the rest by part.

    Functions count by what they compute: the traced formulas of the program.
    """
    problem = study.problem_of(0)
    parts = {f.name: getattr(study.problem, f.name) for f in fields(study.problem)}
    parts |= {"intervals": study.problem.mesh, "transcription": study.problem.method}
    guess = study.guess.sites if isinstance(study.guess, Solution) else study.guess
    parts |= {"solver": study.solver, "guess": guess}
    described = {name: digest(*_content(part)) for name, part in parts.items()}
    posed = problem.posed(study.guess)
    formulas = [block.formula for block in posed.discretization.program.blocks]
    traced = [trace(f, {"v": f.size, "d": max(f.data, 1)}, f.outputs, f.name).identity() for f in formulas]
    own = [goal for goal in problem.statement.integrals if is_foreign(type(goal))]
    times = problem.start + problem.mesh * posed.discretization.duration(posed.x)
    samples = [goal.samples(problem.plant, times) for goal in own]
    described |= {"formulas": digest(*traced), "data of own goals": digest(*_content(samples))}
    return {"names": list(study.names), "values": study.values.tolist(), **described}


def _content(value: Any) -> Iterator[str | bytes]:
    """The content of a part, piece by piece: numbers by their bits, records by their fields, functions by none."""
    if isinstance(value, (Model, ArticulatedSystem)):
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

NUMBERS = ("objective", "violation", "duration", "iterations", "seconds")


def _dataset(study: ProblemStudy, found: Mapping[int, Solution]) -> xr.Dataset:
    """The solutions as one table over the samples."""
    n, nodes = len(study.values), len(study.problem.mesh)
    status = [found[k].status.value if k in found else SolutionStatus.FAILED.value for k in range(n)]
    data: dict[str, Any] = {"values": (("sample", "parameter"), study.values), "status": ("sample", status)}
    for name in NUMBERS:
        data[name] = "sample", [float(getattr(found[k], name)) if k in found else np.nan for k in range(n)]
    data["time"] = ("sample", "node"), _stacked([found[k].time if k in found else None for k in range(n)], nodes)
    frames = {k: solution.to_dataframe() for k, solution in found.items()}
    for name in map(str, next(iter(frames.values())).columns if frames else ()):
        columns = [frames[k][name].to_numpy() if k in frames else None for k in range(n)]
        data[name] = ("sample", "node"), _stacked(columns, nodes)
    return xr.Dataset(data, {"parameter": list(study.names)})


def _stacked(rows: Sequence[Array | None], nodes: int) -> Array:
    return np.stack([np.full(nodes, np.nan) if row is None else row for row in rows])


def _index_of(index: Path) -> dict[str, Any]:
    """The study and what was found; StoreError for a file that does not say so."""
    try:
        found = dict(json.loads(read_text(index)))
        return {"study": found["study"], "found": dict(found["found"])}
    except (ValueError, LookupError, TypeError, RecursionError):
        raise StoreError(f"{index}: the index of the results is damaged") from None


class _Folder:
    """Solutions in a folder, one file each, and an index of the study and of what was found."""

    def __init__(self, path: Path, study: ProblemStudy, resume: bool) -> None:
        self.path, self.study = path, study
        described = _described(study)
        index = path / INDEX
        if index.exists() and not resume:
            raise FileExistsError(f"{path} holds results of a study; resume=True goes on with them")
        self.index: dict[str, Any] = {"study": described, "found": {}}
        if index.exists():
            check_links(path)
            self.index = _index_of(index)
            if self.index["study"] != described:
                stored = self.index["study"] if isinstance(self.index["study"], Mapping) else {}
                other = [name for name, value in described.items() if stored.get(name) != value]
                raise ValueError(f"{path} holds results of another study; what differs: {', '.join(other)}")
        path.mkdir(parents=True, exist_ok=True)

    def _file(self, sample: int) -> Path:
        return self.path / f"sample_{sample:06d}.npz"

    def read(self) -> dict[int, Solution]:
        """What was stored."""
        found = {}
        for key, numbers in self.index["found"].items():
            sample = int(key) if key.isdecimal() else -1
            if not 0 <= sample < len(self.study.values):
                raise StoreError(f"{self.path}: the index of the results is damaged: there is no sample {key[:20]!r}")
            problem = self.study.problem_of(sample)
            try:
                sites = load_sites(self._file(sample), problem.statement, problem.layout)
                found[sample] = solution_from_sites(problem.statement, problem.layout, sites, numbers)
            except ValueError as error:
                raise StoreError(f"{self.path}: sample {sample} is damaged: {error}") from None
        return found

    def write(self, sample: int, solution: Solution) -> None:
        """Store a solution, then note it in the index, which is replaced as a whole."""
        save_sites(self._file(sample), solution.sites)
        self.index["found"][str(sample)] = {
            "status": solution.status.value, "objective": solution.objective, "violation": solution.violation,
            "iterations": solution.iterations, "seconds": solution.seconds,
        }  # fmt: skip
        written = self.path / f".{INDEX}"
        written.write_text(json.dumps(self.index), encoding="utf-8")
        written.replace(self.path / INDEX)
