"""Blocks of a study on a Dask cluster: its workers compute, this process stores.

A task is a few kilobytes, the study as text and the block's place; its result is the block's arrays. A worker compiles
the study once. What Dask does when a worker dies, it does here: its blocks go to another one.
"""

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Any

import distributed

from .engine import engine_for, user_code
from .identity import arguments_of, description, differences, key_of, surroundings
from .specification import Specification

_LOST = (
    distributed.KilledWorker,
    distributed.client.FutureCancelledError,
    distributed.client.FuturesCancelledError,
    distributed.comm.CommClosedError,
    distributed.TimeoutError,
)
_STORED = "What is stored stays; resume goes on with it"
BLOCKS_PER_THREAD = 3  # handed out at a time: one is computed, the others are in transfer


class ClusterError(ConnectionError):
    """A cluster that does not answer, has no workers, or computes other bits."""


def connected(client: Any, scheduler: str | None, timeout: float) -> tuple[Any, bool]:
    """The client, or one of the scheduler at an address, and whether it was made here. Raises ClusterError if that does
    not answer in time."""
    if client is not None and scheduler is not None:
        raise ValueError("give a client or a scheduler's address, not both")
    own = client is None
    if own:
        # `distributed.Client` waits forever for one that takes the connection and keeps silent, so that the scheduler
        # first says who it is; in a thread of its own, since a notebook's has a running event loop
        async def identity() -> None:
            async with distributed.rpc(scheduler) as remote:
                await asyncio.wait_for(remote.identity(), timeout)

        try:
            with ThreadPoolExecutor(1) as pool:
                pool.submit(asyncio.run, identity()).result()
        except (OSError, TimeoutError, ValueError) as error:
            reason = f": {error}" if str(error) else ""
            raise ClusterError(f"the scheduler {scheduler} does not answer within {timeout:g} s{reason}") from None
        client = distributed.Client(scheduler, timeout=timeout, set_as_default=False)
    try:
        client.wait_for_workers(1, timeout=timeout)
    except (OSError, TimeoutError) as error:
        if own:
            client.close()
        raise ClusterError(f"the scheduler {scheduler or client} has no workers within {timeout:g} s") from error
    return client, own


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


class ClusterEngine:
    """Runs blocks of a study on a cluster; threads that store them wait for it. A cluster that was connected for a
    study is left when it is done."""

    def __init__(
        self, study: Specification, code: dict[str, str], client: Any, scheduler: str | None, timeout: float
    ) -> None:
        found = description(study)
        if not found["model"]["file"]:
            raise ValueError(
                f"the model {study.model.name!r} cannot be written to a file, and so not sent to workers. Types of "
                "joints and forces of your own need an entry point (`myoquat.data.toml.records`)"
            )
        self.key, self.text = key_of({**found, "user_code": code}), json.dumps(found)
        self.code, self.timeout = code, timeout
        self.client, self.own = connected(client, scheduler, timeout)
        self.threads = max(sum(self.client.nthreads().values()), 1)
        self.workers = BLOCKS_PER_THREAD * self.threads
        self.tasks: set[Any] = set()

    def run(self, begin: int, end: int) -> Any:
        """(all that is kept of samples begin ... end - 1, seconds spent in kernels). ClusterError if the scheduler is
        gone, or all workers."""
        given = self.key, self.text, begin, end, surroundings(), self.code
        try:
            task = self.client.submit(compute_block, *given, key=f"study-{self.key[:12]}-{begin}")
            self.tasks.add(task)
            ended, silent = threading.Event(), monotonic()
            task.add_done_callback(lambda _: ended.set())
            while not ended.wait(1.0):
                if self.client.status == "running" and self.client.nthreads():
                    silent = monotonic()
                elif monotonic() - silent > self.timeout:
                    raise ClusterError(f"the cluster has not answered for {self.timeout:g} s. {_STORED}")
            result = task.result(timeout=self.timeout)
        except _LOST as error:
            raise ClusterError(f"the cluster is lost: {error}. {_STORED}") from error
        self.tasks.discard(task)
        task.release()
        return result

    def close(self) -> None:
        """Give up what runs."""
        if self.client.status == "running":  # else what runs is lost with the scheduler
            self.client.cancel(list(self.tasks))
        self.tasks.clear()
        if self.own:
            self.client.close(timeout=5)
