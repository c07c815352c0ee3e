"""Studies as their users meet them: of simulations and trials, in threads or on a cluster, and of optimal control.

A `ProblemStudy` solves many problems of one structure: the same kernels with other numbers, sample by sample.
"""

import errno
import importlib
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing, nullcontext
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum
from functools import cached_property
from html import escape
from itertools import islice
from pathlib import Path
from time import perf_counter
from types import NoneType
from typing import Any

import numpy as np
import xarray as xr

from myoquat.analysis.control import Equations, Explanation, Ipopt, Problem, Solution, SolutionStatus
from myoquat.analysis.control.discretization import Sites
from myoquat.analysis.control.goals.base import IntegralGoal
from myoquat.analysis.control.guesses import sites_at_rest
from myoquat.analysis.control.ipopt import Iterates
from myoquat.core import (
    FOREIGN,
    PATH,
    Array,
    check_types,
    digest,
    frozen,
    interrupts,
    is_foreign,
    missing_extra,
    progress_bar,
)
from myoquat.data.files import read_text
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.kernels.runtime.execution import cancellable
from myoquat.kernels.runtime.settings import thread_count
from myoquat.kernels.tracing.trace import trace
from myoquat.muscle import Model

from .engine import check_study, engine_for, user_code
from .identity import key_of, machine, numbers_of
from .specification import Axis, Design, Specification, axes_of, parameters_of
from .store import ANY_CODE, FINGERPRINT, Contents, Results, Store, Variable, contents_of
from .study_files import MAX_BYTES, located, read_study

BLOCK_BYTES = 48 * 2**20  # of states that a block holds while it is computed
BLOCK_SECONDS = 30.0  # of work in a block, which a kill loses
LEAST_BLOCK_SAMPLES, MAX_BLOCK_SAMPLES = 8, 2048  # the least are computed side by side
MAX_TRIAL_BLOCK_SAMPLES = 16  # of a study of a trial, which computes one after the other
MAX_WAIT_SECONDS = 0.1  # between two looks at an interrupt
MAX_ANSWER_SECONDS = 30.0  # within which a scheduler must answer


@frozen
class RunOptions:
    """How a study is run, as `Study.run` takes it; repair: only the damaged blocks of a store are computed."""

    resume: bool | str = False
    threads: int | None = None
    block: int | None = None
    client: Any = None
    scheduler: str | None = None
    timeout: float = MAX_ANSWER_SECONDS
    progress: bool | None = None
    repair: bool = False

    def __post_init__(self) -> None:
        if self.resume not in (True, False, ANY_CODE):
            raise ValueError(f"resume is True, False or {ANY_CODE!r}, not {self.resume!r}")


@dataclass
class RunReport:
    """The cost of a run.

    wall     [s] of wall time
    kernel   [s] of kernels, summed over threads
    compile  [s] of compiling
    threads  their number
    blocks   number of computed blocks
    samples  number of computed samples
    damaged  the damaged blocks among them, each with its damage
    """

    wall: float = 0.0
    kernel: float = 0.0
    compile: float = 0.0
    threads: int = 1
    blocks: int = 0
    samples: int = 0
    damaged: dict[int, str] | None = None

    @property
    def kernel_share(self) -> float:
        """Share of the threads' time that was spent in kernels."""
        return self.kernel / (self.wall * self.threads) if self.wall else 0.0


def compute(
    study: Specification, output: str | Path | None = None, options: RunOptions | None = None
) -> tuple[Results, RunReport]:
    """What `Study.run` does: the filled results, and what it took.

    Blocks are computed, here or on a cluster, and stored in threads; a few more are handed out than there are threads.
    At an interrupt, blocks that are being computed are given up, and those that are being stored are stored.
    """
    options, began = RunOptions() if options is None else options, perf_counter()
    with interrupts(at_once=True) as seen, ExitStack() as stack:
        check_study(study)
        study.check_values()
        code, contents, cluster = user_code(study), contents_of(study), None
        if options.client is not None or options.scheduler is not None:
            try:
                dask = importlib.import_module("myoquat.analysis.studies.cluster")
            except ModuleNotFoundError as error:
                raise missing_extra(error) from None
            made = dask.ClusterEngine(study, code, options.client, options.scheduler, options.timeout)
            cluster = stack.enter_context(closing(made))
        block, again = _block_size(study, contents, options.block), options.resume or options.repair
        if output is None and again:
            raise ValueError("there is nothing to resume without an output")
        results = stack.enter_context(closing(
            Results(contents, code, block) if output is None
            else Store.open(contents, code, output, block, again)
        ))  # fmt: skip
        pending = sorted(results.damaged) if options.repair else results.pending()
        threads = cluster.threads if cluster else thread_count(options.threads)
        report = RunReport(threads=threads, blocks=len(pending), damaged=results.damaged)
        given_up = threading.Event()

        def task(number: int) -> tuple[int, float]:
            with cancellable(given_up):
                arrays, seconds = engine.run(*results.span(number))
            try:
                results.write(number, arrays)
            except OSError as error:
                cause = "the disk is full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else str(error)
                text = f"block {number} could not be stored: {cause}. What is stored stays; resume goes on with it"
                raise OSError(error.errno, text) from error
            return number, seconds

        left = sum(end - begin for begin, end in map(results.span, pending))
        with progress_bar(study.count, "sample", options.progress, study.count - left) as shown:
            compiling, workers = perf_counter(), cluster.workers if cluster else threads
            key = key_of({**contents.description, "machine": machine(), "user_code": code})
            engine = cluster or engine_for(key, lambda: study)
            report.compile = perf_counter() - compiling
            seen.check()  # CasADi lets an interrupt pass while it builds the step
            rest, pool = iter(pending), ThreadPoolExecutor(workers, thread_name_prefix="study")
            try:
                active = {pool.submit(task, n) for n in islice(rest, 2 * workers)}
                while active:
                    # an interrupt that another thread receives does not end the wait
                    finished, active = wait(active, MAX_WAIT_SECONDS, FIRST_COMPLETED)
                    active |= {pool.submit(task, n) for n in islice(rest, len(finished))}
                    for number, seconds in (future.result() for future in finished):
                        seen.check()
                        begin, end = results.span(number)
                        report.kernel += seconds
                        report.samples += end - begin
                        shown.update(end - begin)
            finally:
                given_up.set()
                pool.shutdown(wait=False, cancel_futures=True)
                if cluster:
                    cluster.close()
                pool.shutdown()
    seen.check()
    report.wall = perf_counter() - began
    return results, report


def _block_size(study: Specification, contents: Contents, block: int | None) -> int:
    """Samples per block: as asked for, else a power of 2 whose states fit the memory of a block and its time.

    The time of one sample on one core is estimated rather too long. A step of a simulation takes 1 us for each velocity
    and muscle, and 10 us for each surface around which a path wraps; the thoracoscapular shoulder takes half of that. A
    frame of a trial takes 20 us for each velocity and muscle, and 1 ms where frames are coupled or tendons stretch;
    arm26 and gait2354 take an eighth to a half of that.
    """
    if block is not None:
        if isinstance(block, bool) or not isinstance(block, int) or block < 1:
            raise ValueError(f"block must be a positive whole number of samples, not {block!r}")
        return min(block, study.count)
    system, muscles, trial = study.model.system, study.model.muscles, study.trial
    if trial is not None:
        simple = trial.dynamics is None and trial.tendons == "rigid"
        seconds = (2e-5 if simple else 1e-3) * len(trial.motion.time) * (system.nu + len(muscles))
        least, size = 1, MAX_TRIAL_BLOCK_SAMPLES
    else:
        wraps = sum(len(muscle.path.wraps) for muscle in muscles)
        seconds = 1e-6 * study.steps * (system.nu + len(muscles) + 10 * wraps)
        per_sample = 8 * (system.nq + system.nu) * (study.steps // study.every + 1)
        per_sample += sum(8 * contents.sizes[dim] for v in contents.variables for dim in v.dims[1:])
        least, size = LEAST_BLOCK_SAMPLES, MAX_BLOCK_SAMPLES
        while size > 64 and size * per_sample > BLOCK_BYTES:
            size //= 2
    while size > least and size * seconds > BLOCK_SECONDS:
        size //= 2
    return min(size, study.count)


@frozen(repr=False)
class Study(Specification):
    __doc__ = Specification.__doc__

    @classmethod
    def load(cls, path: str | Path) -> "Study":
        """The study in a TOML file, see `myoquat.analysis.studies.study_files`."""
        arguments = read_study(path)
        try:
            return cls(**arguments)
        except ValueError as error:
            raise located(error, Path(path), read_text(Path(path), MAX_BYTES)) from None

    def run(
        self,
        output: str | Path | None = None,
        *,
        resume: bool | str = False,
        threads: int | None = None,
        block: int | None = None,
        client: Any = None,
        scheduler: str | None = None,
        timeout: float = MAX_ANSWER_SECONDS,
        progress: bool | None = None,
    ) -> xr.Dataset:
        """Simulate all samples: a Dataset in memory or, with `output`, in a new Zarr store at that path.

        resume             True: go on with the store at `output`, if there is one. What is there is checked and kept,
                           and damaged blocks are computed again. "any-code": also where other code began it.
        threads            of this process, by default all cores; each computes and stores blocks of its own.
        block              samples per block, by default as many as take about 30 s, 2048 at most; a store keeps the
                           block that it was begun with.
        client, scheduler  a `distributed.Client`, or the address of a Dask scheduler, which must answer in `timeout`
                           [s]: its workers compute, this process stores.
        progress           a bar: True, False, or None for on a terminal and in Jupyter only.

        The numbers are the same bit for bit however a study is run, where processor, libraries and C library are the
        same. Raises ValueError for values that the model refuses. Raises StoreError for a store that is not this
        study's, that other code began, that another process is writing, or that is removed meanwhile. OSError where
        nothing can be written. What was stored stays and can be resumed.
        """
        options = RunOptions(resume, threads, block, client, scheduler, timeout, progress)
        return compute(self, output, options)[0].dataset()

    # ---- shown -----------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        facts = ", ".join(f"{value} {name}" if name in _COUNTED else value for name, value in self._facts().items())
        return f"Study({facts})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in self._facts().items()
        )
        return f"<table>{rows}</table>"

    def _facts(self) -> dict[str, str]:
        return {
            "model": repr(self.model.name),
            "varied parameters": str(len(self.parameters.names)),
            "samples": str(self.count),
            "design": self.design,
            "simulation" if self.trial is None else "trial": self.runs,
        }


_COUNTED = ("varied parameters", "samples")


# ---- Problems of optimal control ---------------------------------------------------------------------------------


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
    traced = [trace(block.named, block.inputs, block.outputs, block.name).identity for block in blocks]
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
