"""Blocks of a study on a Dask cluster: its workers compute, this process stores.

A task is a few kilobytes, the study as text and the block's place; its result is the block's arrays. A worker compiles
the study once. What Dask does when a worker dies, it does here: its blocks go to another one.
"""

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from time import monotonic
from typing import Any

import distributed

from myoquat.analysis.studies.engines import engine_for, user_code
from myoquat.analysis.studies.identity import arguments_of, description, differences, key_of, surroundings
from myoquat.analysis.studies.results import Done, Results, RunReport, stored
from myoquat.analysis.studies.specification import Specification
from myoquat.core.records import dataclass

__all__ = ["Cluster", "ClusterError", "connected"]

_LOST = (
    distributed.KilledWorker,
    distributed.client.FutureCancelledError,
    distributed.client.FuturesCancelledError,
    distributed.comm.CommClosedError,
    distributed.TimeoutError,
)
BLOCKS_PER_THREAD = 3  # handed out at a time: one is computed, the others are in transfer


class ClusterError(ConnectionError):
    """A cluster that does not answer, has no workers, or computes other bits."""


def connected(client: Any, scheduler: str | None, timeout: float) -> "Cluster":
    """The cluster of a client, or of the scheduler at an address. Raises ClusterError if it does not answer in time."""
    if client is not None and scheduler is not None:
        raise ValueError("give a client or a scheduler's address, not both")
    own = client is None
    if own:
        _check_answers(str(scheduler), timeout)
        client = distributed.Client(scheduler, timeout=timeout, set_as_default=False)
    try:
        client.wait_for_workers(1, timeout=timeout)
    except (OSError, TimeoutError) as error:
        if own:
            client.close()
        raise ClusterError(f"the scheduler {scheduler or client} has no workers within {timeout:g} s") from error
    return Cluster(client, own)


def _check_answers(scheduler: str, timeout: float) -> None:
    """ClusterError unless the scheduler says who it is in time: `distributed.Client` waits forever for one that takes
    the connection and keeps silent. In a thread of its own, since a notebook's has a running event loop."""

    async def identity() -> None:
        async with distributed.rpc(scheduler) as remote:
            await asyncio.wait_for(remote.identity(), timeout)

    try:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(asyncio.run, identity()).result()
    except (OSError, TimeoutError, ValueError) as error:
        reason = f": {error}" if str(error) else ""
        raise ClusterError(f"the scheduler {scheduler} does not answer within {timeout:g} s{reason}") from None


def compute_block(
    key: str, text: str, begin: int, end: int, wanted: dict[str, dict[str, str]], code: dict[str, str] | None = None
) -> Any:
    """On a worker: the arrays of samples begin ... end - 1 and the seconds in kernels. `code` is that of users."""
    if surroundings() != wanted:
        raise ClusterError(
            f"a worker has {json.dumps(surroundings())}, and this process {json.dumps(wanted)}: they may compute other "
            "bits. MYOQUAT_CPU (such as x86-64-v3) on all makes processors equal"
        )
    return engine_for(key, lambda: _sent(text, code or {})).run(begin, end)


def _sent(text: str, code: dict[str, str]) -> Specification:
    """The study of a text. ClusterError if code of users is not what it is in the process that sent it."""
    study = Specification(**arguments_of(json.loads(text)))
    changed = differences(code, user_code(study))
    if changed:
        raise ClusterError(f"a worker has other code of users: {'; '.join(changed)}")
    return study


@dataclass
class Cluster:
    """A connected cluster; one that was connected for a study is left when it is done."""

    client: Any
    own: bool

    def blocks(
        self, study: Specification, code: dict[str, str], results: Results, pending: list[int], report: RunReport,
        timeout: float,
    ) -> Iterator[Done]:  # fmt: skip
        """Compute the pending blocks and store each as it comes."""
        found = description(study)
        if not found["model"]["file"]:
            raise ValueError(
                f"the model {study.model.name!r} cannot be written to a file, and so not sent to workers. Types of "
                "joints and forces of your own need an entry point (`myoquat.data.toml.records`)"
            )
        constant = key_of({**found, "user_code": code}), json.dumps(found)
        rest = iter(pending)
        with self._session():
            report.threads = sum(self.client.nthreads().values())
            tasks: dict[Any, int] = {}
            while True:
                for number in _next(rest, BLOCKS_PER_THREAD * max(report.threads, 1) - len(tasks)):
                    span = results.span(number)
                    name = f"study-{constant[0][:12]}-{span[0]}"
                    task = self.client.submit(compute_block, *constant, *span, surroundings(), code, key=name)
                    tasks[task] = number
                if not tasks:
                    return
                for task in self._finished(tasks, timeout):
                    number = tasks.pop(task)
                    arrays, seconds = task.result(timeout=timeout)
                    task.release()
                    stored(results, number, arrays)
                    yield number, seconds

    def _finished(self, tasks: dict[Any, int], timeout: float) -> list[Any]:
        """Those of the tasks that are done, at least one. ClusterError if the scheduler is gone, or all workers."""
        silent = monotonic()
        while True:
            try:
                with self.client.as_current():  # `wait` knows only the current client
                    return list(distributed.wait(list(tasks), timeout=1.0, return_when="FIRST_COMPLETED").done)
            except TimeoutError:
                if self._answers():
                    silent = monotonic()
                elif monotonic() - silent > timeout:
                    raise ClusterError(
                        f"the cluster has not answered for {timeout:g} s. What is stored stays; resume goes on with it"
                    ) from None

    def _answers(self) -> bool:
        return self.client.status == "running" and bool(self.client.nthreads())

    @contextmanager
    def _session(self) -> Iterator[None]:
        """Errors of Dask in our words; the client closed, if it is ours."""
        try:
            yield
        except _LOST as error:
            raise ClusterError(f"the cluster is lost: {error}. What is stored stays; resume goes on with it") from error
        finally:
            if self.own:
                self.client.close(timeout=5)


def _next(rest: Iterator[int], count: int) -> list[int]:
    return [number for _, number in zip(range(count), rest, strict=False)]
