"""Studies of `two_link`: seconds, kernel share, memory, threads and Dask; and a study killed again and again.

python -m benchmarks studies                 the table, 100,000 simulations by each route
python -m benchmarks.own.studies kills           300 x kill -9 at files drawn by chance, verified and resumed each time
python -m benchmarks.own.studies throughput      cost, bytes and messages per block, for docs/measurements/throughput.md
"""

import importlib
import itertools
import json
import multiprocessing
import os
import resource
import shutil
import signal
import statistics
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import distributed
import numpy as np
import xarray as xr

from myoquat.analysis.studies import Study, open_results
from myoquat.analysis.studies.identity import description
from myoquat.analysis.studies.results import verify_results
from myoquat.analysis.studies.study import RunOptions, compute

SAMPLES = 100_000
REPEATS = 3
BLOCK, FILES = 16, 14  # of a study that is killed: samples of a block, and files up to which it comes; a block has 8
VARY = {
    "muscles.*.max_isometric_force": {"uniform": [0.8, 1.2], "relative": True},
    "muscles.*.optimal_length": {"uniform": [0.9, 1.1], "relative": True},
}


def study(samples: int) -> Study:
    """1 s of two_link by RK4 at 1e-3 s; 6 strengths and 6 optimal lengths varied; final states and 10 times kept."""
    return Study("two_link", VARY, samples=samples, duration=1.0, step=1e-3, times=10)


def run(samples: int = SAMPLES) -> list[dict[str, Any]]:
    """Rows with seconds, kernel share and peak memory of each route, in turn; the ratio is to one thread."""
    routes: dict[str, Callable[..., Any]] = {"1 thread": _threads, "2 threads": _threads, "Dask, 2 workers": _dask}
    found: dict[str, list[dict[str, float]]] = {name: [] for name in routes}
    for _ in range(REPEATS):
        for name, route in routes.items():
            found[name].append(_alone(route, samples, int(name[0]) if name[0].isdigit() else 2))
    median = {name: {key: statistics.median(r[key] for r in runs) for key in runs[0]} for name, runs in found.items()}
    return [
        {
            "work": f"two_link: {samples} simulations of 1 s, stored",
            "route": name,
            "against": "1 thread",
            "ratio": median["1 thread"]["seconds"] / row["seconds"],
            "median": row["seconds"],
            "low": min(r["seconds"] for r in found[name]),
            "high": max(r["seconds"] for r in found[name]),
            "unit": "s",
            "kernel share": row["kernel share"],
            "peak memory [GB]": row["memory"],
            "stored [MB]": row["stored"],
        }
        for name, row in median.items()
    ]


def _alone(route: Callable[..., Any], *arguments: Any) -> dict[str, float]:
    """What a route returns in a fresh process, whose peak memory is its own."""
    context = multiprocessing.get_context("spawn")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_sent, args=(sending, route, arguments))
    process.start()
    found: dict[str, float] = receiving.recv()
    process.join()
    return found


def _sent(sending: Any, route: Callable[..., Any], arguments: Any) -> None:
    sending.send(route(*arguments))


def _threads(samples: int, threads: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        _, report = compute(study(samples), Path(folder) / "results", RunOptions(threads=threads))
        return _measured(report, Path(folder), report.wall)


def _dask(samples: int, workers: int) -> dict[str, float]:
    """The cluster is there, its workers have imported what they need: each does so once, in 1.2 s, not once a study."""
    with (
        tempfile.TemporaryDirectory() as folder,
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.run(importlib.import_module, "myoquat.analysis.studies.cluster")
        _, report = compute(study(samples), Path(folder) / "results", RunOptions(client=client))
        return _measured(report, Path(folder), report.wall)


def _measured(report: Any, folder: Path, seconds: float) -> dict[str, float]:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    stored = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return {
        "seconds": seconds,
        "kernel share": report.kernel_share,
        "memory": max(peak, children) / 2**20,
        "stored": stored / 1e6,
    }


@click.group()
def main() -> None:
    """Studies: what kill -9 does to them, and what they cost per block."""


@main.command()
@click.option("--count", default=300, show_default=True)
@click.option("--samples", default=3_200, show_default=True)
@click.option("--seed", default=0, show_default=True)
def kills(count: int, samples: int, seed: int) -> None:
    """Kill a study of SAMPLES COUNT times, before or after a file gets its name, verify it and resume each time. Then
    compare with a whole run. Where it is killed does not depend on how fast the machine is."""
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "results"
        whole = study(samples).run(folder / "whole", block=BLOCK).load()
        done = half = verified = 0
        for number in range(count):
            file = int(rng.integers(1, FILES)) if path.exists() else int(rng.integers(1, 100))  # laid out at first
            if not _killed(samples, path, file, "before" if number % 2 else "after"):
                break
            done += 1
            half += bool(list(path.rglob("*.partial")))
            verified += path.exists() and verify_results(path).intact
        stored = int((open_results(path).status > 0).sum())
        again = study(samples).run(path, resume=True)
        xr.testing.assert_identical(again.load(), whole)
    click.echo(f"{done} kills, {half} in the middle of writing a chunk; {verified} times a store was there, and intact")
    click.echo(f"{stored} of {samples} samples were there before the last resume; the Dataset is identical")


def _killed(samples: int, path: Path, file: int, point: str) -> bool:
    """Resume the study in a process of its own, and kill that before or after its `file`th file gets its name. False if
    it has ended first."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["myoquat.analysis.studies.study", "benchmarks.own.studies"])
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_resumed, args=(samples, path, file, point, sending))
    process.start()
    sending.close()
    reached: bool = receiving.recv()
    if reached:
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
    process.join()
    return reached


def _resumed(samples: int, path: Path, file: int, point: str, sending: Any) -> None:
    count = itertools.count(1)

    def waiting(way: Callable[[Path, Any], Path]) -> Callable[[Path, Any], Path]:
        def named(self: Path, target: Any) -> Path:
            if next(count) != file:
                return way(self, target)
            if point == "after":
                way(self, target)
            sending.send(True)
            threading.Event().wait()
            raise AssertionError("killed by now")

        return named

    setattr(Path, "replace", waiting(Path.replace))  # noqa: B010
    setattr(Path, "rename", waiting(Path.rename))  # noqa: B010
    study(samples).run(path, resume=True, block=BLOCK)
    sending.send(False)


@main.command()
@click.option("--samples", default=20_000, show_default=True)
def throughput(samples: int) -> None:
    """What a block costs, stores and sends."""
    with tempfile.TemporaryDirectory() as name:
        for block in (256, 1024, 2048, 4096):
            path = Path(name) / "results"
            results, report = compute(study(samples), path, RunOptions(threads=1, block=block))
            size = sum(p.stat().st_size for p in path.rglob("*") if p.is_file())
            files = len([p for p in path.rglob("*") if p.is_file()]) / results.blocks
            click.echo(
                f"block {block:>5}: {report.kernel / samples * 1e6:6.1f} us per sample in kernels, "
                f"{(report.wall - report.kernel) / report.blocks * 1e3:6.2f} ms per block beside them, "
                f"{size / samples:6.0f} bytes per sample, {files:4.1f} files per block"
            )
            shutil.rmtree(path)
    _messages(samples)


def _messages(samples: int) -> None:
    """What Dask sends for a block: messages of the scheduler and the client, which live in this process."""
    counts: Counter[str] = Counter()
    send = distributed.batched.BatchedSend.send

    def counted(self: Any, *messages: Any) -> None:
        counts.update(message["op"] for message in messages if isinstance(message, dict))
        send(self, *messages)

    distributed.batched.BatchedSend.send = counted
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
        distributed.Client(cluster) as client,
    ):
        results, report = compute(study(samples), None, RunOptions(client=client, block=256))
    distributed.batched.BatchedSend.send = send
    listed = ", ".join(f"{count / results.blocks:.1f} {op}" for op, count in counts.most_common(6))
    click.echo(f"Dask, messages per block: {listed}")
    click.echo(f"a task carries {len(json.dumps(description(study(samples))))} bytes; {report.wall:.1f} s in all")


if __name__ == "__main__":
    main()
