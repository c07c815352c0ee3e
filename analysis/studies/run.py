"""Running a study: blocks of samples, in threads of this process or on a Dask cluster, each stored when it is done."""

import importlib
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import xarray as xr

from myoquat.analysis.studies.describe import description, key_of
from myoquat.analysis.studies.engine import check_study, engine_for
from myoquat.analysis.studies.layout import sizes, variables
from myoquat.analysis.studies.machine import machine
from myoquat.analysis.studies.memory import Memory
from myoquat.analysis.studies.progress import bar
from myoquat.analysis.studies.store import Store, stored
from myoquat.kernels.settings import thread_count

if TYPE_CHECKING:
    from myoquat.analysis.studies.study import Study

__all__ = ["RunReport", "compute", "run_study"]

Done = tuple[int, float]  # (block, seconds in kernels)
BLOCK_BYTES = 48 * 2**20  # of states that a block holds while it is computed
BLOCK = 2048
WAIT = 30.0  # seconds within which a scheduler must answer


@dataclass
class RunReport:
    """What a run took: seconds of wall time, of kernels summed over threads, of compiling; threads and blocks."""

    wall: float = 0.0
    kernel: float = 0.0
    compile: float = 0.0
    threads: int = 1
    blocks: int = 0
    samples: int = 0

    @property
    def kernel_share(self) -> float:
        """Share of the threads' time that was spent in kernels."""
        return self.kernel / (self.wall * self.threads) if self.wall else 0.0


def run_study(study: "Study", output: str | Path | None = None, **options: Any) -> xr.Dataset:
    """Simulate all samples of a study: a Dataset in memory or, with `output`, in a new Zarr store at that path.

    resume=True        go on with the store at `output`, if there is one; what is there is kept and not computed again.
    threads            of this process, by default all cores; each computes and stores blocks of its own.
    block              samples per block, by default about 2048; a store keeps the block that it was begun with.
    client, scheduler  a `distributed.Client`, or the address of a Dask scheduler, which must answer in `timeout` [s]:
                       its workers compute, this process stores.
    progress           a bar: True, False, or None for on a terminal and in Jupyter only.

    The numbers are the same bit for bit however a study is run, on processors with the same instructions. Raises
    ValueError for values that the model refuses, StoreError for a store that is not this study's, OSError where nothing
    can be written; what was stored stays and can be resumed.
    """
    results, _ = compute(study, output, **options)
    return results.dataset()


def compute(
    study: "Study",
    output: str | Path | None = None,
    *,
    resume: bool = False,
    threads: int | None = None,
    block: int | None = None,
    client: Any = None,
    scheduler: str | None = None,
    timeout: float = WAIT,
    progress: bool | None = None,
) -> tuple[Store | Memory, RunReport]:
    """What `run_study` does: the filled results, and what it took."""
    began = perf_counter()
    check_study(study)
    study.check_values()
    cluster = None
    if client is not None or scheduler is not None:
        cluster = _cluster().connected(client, scheduler, timeout)
    results = _results(study, output, resume, _block_size(study, block))
    pending = results.pending()
    report = RunReport(threads=thread_count(threads), blocks=len(pending))
    if cluster is not None:
        work = cluster.blocks(study, results, pending, report, timeout)
    else:
        work = _local(study, results, pending, report)
    count = sum(end - begin for begin, end in map(results.span, pending))
    with closing(work), bar(study.count, study.count - count, progress) as shown:
        for number, seconds in work:
            begin, end = results.span(number)
            report.kernel += seconds
            report.samples += end - begin
            shown.update(end - begin)
    report.wall = perf_counter() - began
    return results, report


def _results(study: "Study", output: str | Path | None, resume: bool, block: int) -> Store | Memory:
    if output is None:
        if resume:
            raise ValueError("there is nothing to resume without an output")
        return Memory(study, block)
    if resume and Path(output).exists():
        return Store.resume(study, output)
    return Store.create(study, output, block)


def _block_size(study: "Study", block: int | None) -> int:
    """Samples per block: as asked for, else a power of 2 whose states fit the memory of a block."""
    if block is not None:
        if isinstance(block, bool) or not isinstance(block, int) or block < 1:
            raise ValueError(f"block must be a positive whole number of samples, not {block!r}")
        return min(block, study.count)
    lengths, system = sizes(study), study.model.system
    per_sample = 8 * (system.nq + system.nu) * (study.steps // study.keep.every + 1)
    per_sample += sum(8 * lengths[dim] for v in variables(study) for dim in v.dims[1:])
    size = BLOCK
    while size > 64 and size * per_sample > BLOCK_BYTES:
        size //= 2
    return min(size, study.count)


def _cluster() -> Any:
    """The module that talks to Dask, which is an extra."""
    try:
        return importlib.import_module("myoquat.analysis.studies.cluster")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{error}: running on a cluster needs the extra myoquat[cluster]") from None


def _local(study: "Study", results: Store | Memory, pending: list[int], report: RunReport) -> Iterator[Done]:
    """Compute and store blocks in threads; a few more are handed out than there are threads."""
    began = perf_counter()
    engine = engine_for(key_of({**description(study), "machine": machine()}), lambda: study)
    report.compile = perf_counter() - began

    def task(number: int) -> Done:
        arrays, seconds = engine.run(*results.span(number))
        stored(results, number, arrays)
        return number, seconds

    rest = iter(pending)
    pool = ThreadPoolExecutor(report.threads, thread_name_prefix="study")
    try:
        active: set[Future[Done]] = {pool.submit(task, n) for n in islice(rest, 2 * report.threads)}
        while active:
            finished, active = wait(active, return_when=FIRST_COMPLETED)
            active |= {pool.submit(task, n) for n in islice(rest, len(finished))}
            for future in finished:
                yield future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
