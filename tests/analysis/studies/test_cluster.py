"""The same study on a Dask cluster, and clusters that fail."""

import os
import signal
import socket
import subprocess
import sys
from dataclasses import replace

import pytest
import xarray as xr

from myoquat.analysis.studies import open_results
from myoquat.analysis.studies.study import RunOptions, compute
from tests.analysis.studies.conftest import STUDY, before_block

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("default")  # Dask's own warnings on starting and stopping are not ours


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        yield cluster


def test_a_cluster_gives_the_same_bits(cluster, whole, tmp_path):
    results, report = compute(STUDY, tmp_path / "results", RunOptions(scheduler=cluster.scheduler_address, block=7))
    assert report.threads == 2
    xr.testing.assert_identical(results.dataset().load(), whole)
    with distributed.Client(cluster) as client:
        xr.testing.assert_identical(STUDY.run(client=client, block=16), whole)
        assert client.status == "running"  # left as it was


LONG = replace(STUDY, samples=200, duration=4.0)  # about a quarter of a second of work, in blocks of 8


@pytest.fixture(scope="module")
def long_whole():
    return LONG.run()


@pytest.mark.posix
def test_a_killed_worker_costs_nothing(cluster, long_whole, tmp_path, monkeypatch):
    with distributed.Client(cluster) as client:
        before = set(client.run(os.getpid).values())
        before_block(monkeypatch, 4, lambda: os.kill(min(before), signal.SIGKILL))
        found = LONG.run(tmp_path / "results", client=client, block=8)
        client.wait_for_workers(2)
        assert set(client.run(os.getpid).values()) != before
    xr.testing.assert_identical(found.load(), long_whole)


# A scheduler and a worker in a process of their own
CLUSTER = """
import sys, distributed
options = {"processes": False, "protocol": "tcp://", "dashboard_address": ":0"}
print(distributed.LocalCluster(n_workers=1, threads_per_worker=1, **options).scheduler_address, flush=True)
sys.stdin.read()
"""


def test_a_scheduler_that_dies_leaves_what_is_stored(long_whole, tmp_path, monkeypatch):
    """kill -9 of the scheduler; the study then ends without a cluster."""
    path, pipes = tmp_path / "results", {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", CLUSTER], stderr=subprocess.DEVNULL, **pipes) as process:
        before_block(monkeypatch, 4, process.kill)
        with pytest.raises(ConnectionError, match="resume goes on"):
            LONG.run(path, scheduler=process.stdout.readline().strip(), block=8, timeout=5)
        process.kill()
    monkeypatch.undo()
    assert 0 < (open_results(path).status > 0).sum() < LONG.count
    xr.testing.assert_identical(LONG.run(path, resume=True).load(), long_whole)


def test_a_scheduler_that_does_not_answer():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(ConnectionError, match=r"does not answer within 0.5 s"):
            STUDY.run(scheduler=address, timeout=0.5)
    with pytest.raises(ValueError, match="not both"):
        STUDY.run(scheduler=address, client=object())


def test_a_cluster_without_workers():
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0") as empty,
        pytest.raises(ConnectionError, match=r"has no workers within 1 s"),
    ):
        STUDY.run(scheduler=empty.scheduler_address, timeout=1)
