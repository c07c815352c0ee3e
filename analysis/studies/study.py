"""A study as its user meets it: specified in Python or in a file, run in threads or on a cluster."""

import errno
import importlib
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from html import escape
from itertools import islice
from pathlib import Path
from time import perf_counter
from types import FrameType
from typing import Any

import xarray as xr

from myoquat.core import frozen, handled_interrupts, missing_extra, progress_bar
from myoquat.data.files import read_text
from myoquat.kernels.runtime.execution import cancellable
from myoquat.kernels.runtime.settings import thread_count

from .engine import check_study, engine_for, user_code
from .identity import key_of, machine
from .specification import Specification
from .store import ANY_CODE, Contents, Results, Store, contents_of
from .study_files import MAX_BYTES, located, read_study


@contextmanager
def interrupts() -> Iterator[Callable[[], None]]:
    """While inside, remember an interrupt; the function that is handed out raises KeyboardInterrupt if one came, and so
    does the end. Where interrupts are not handled (`handled_interrupts`) none is remembered."""
    came = False

    def remember(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = True
        signal.default_int_handler(number, frame)

    def check() -> None:
        if came:
            raise KeyboardInterrupt

    with handled_interrupts(remember):
        yield check
    check()


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
    with interrupts() as check, ExitStack() as stack:
        check_study(study)
        study.check_values()
        code, contents, cluster = user_code(study), contents_of(study), None
        if options.client is not None or options.scheduler is not None:
            made = _cluster().ClusterEngine(study, code, options.client, options.scheduler, options.timeout)
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
            check()  # CasADi lets an interrupt pass while it builds the step
            rest, pool = iter(pending), ThreadPoolExecutor(workers, thread_name_prefix="study")
            try:
                active = {pool.submit(task, n) for n in islice(rest, 2 * workers)}
                while active:
                    # an interrupt that another thread receives does not end the wait
                    finished, active = wait(active, MAX_WAIT_SECONDS, FIRST_COMPLETED)
                    active |= {pool.submit(task, n) for n in islice(rest, len(finished))}
                    for number, seconds in (future.result() for future in finished):
                        check()
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


def _cluster() -> Any:
    """The module that talks to Dask, which is an extra."""
    try:
        return importlib.import_module("myoquat.analysis.studies.cluster")
    except ModuleNotFoundError as error:
        raise missing_extra(error) from None


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
