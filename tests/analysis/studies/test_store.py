"""Stores of results: what is there stays readable, what is not there is known, nothing else gets in."""

import contextlib
import errno
import itertools
import json
import multiprocessing
import os
import shutil
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest
import xarray as xr
import zarr

from myoquat.analysis.studies import StoreError, Study, open_results, study
from myoquat.joints import ModelError
from tests.analysis.studies.conftest import BLOCK, STUDY, before_block


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results"


def begun(path, blocks):
    """A store of which some blocks are kept."""
    for block in set(range(9)) - set(blocks):
        for name in ("status", "q"):
            shutil.rmtree(path / name / "c" / str(block), ignore_errors=True)
            (path / name / "c" / str(block)).unlink(missing_ok=True)
    return path


def assert_resumed(path, whole):
    xr.testing.assert_identical(STUDY.run(path, resume=True).load(), whole)


@pytest.mark.usefixtures("filled")
def test_what_is_there_can_be_read_before_the_rest(path, whole):
    found = open_results(begun(path, [2]))
    there = found.status.values > 0
    assert there.nonzero()[0].tolist() == list(range(14, 21))
    xr.testing.assert_identical(found.isel(sample=there).load(), whole.isel(sample=there))


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("damage", ["a changed byte", "zeros alone"])  # the checksum of nothing is zero
def test_a_damaged_block_is_named_when_its_numbers_are_read(path, damage):
    chunk = path / "q" / "c" / "4" / "0" / "0"
    data = bytearray(chunk.read_bytes() if damage == "a changed byte" else 4)
    if damage == "a changed byte":
        data[50] ^= 1
    chunk.write_bytes(data)
    found = open_results(path)
    assert (found["status"].load() > 0).all()
    with pytest.raises(StoreError, match=f"{path.name}: block 4 of 'q' is not as it was written.*--repair"):
        found.load()


# ---- refused -----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"samples": 61}, "samples: 60 -> 61"),
        ({"seed": 1}, "seed: 0 -> 1"),
        ({"vary": {"muscles.*.max_isometric_force": {"uniform": [0.8, 1.3], "relative": True}}}, "vary.muscles.*"),
        ({"times": 1}, "times: "),
        ({"activation": [0.5] * 6}, "activation: "),
        ({"limits": {"A.omega_x": (-1.0, 1.0)}}, "limits: {} -> "),
        ({"model": "two_link_euler"}, r"model: two_link \(\w+\) -> two_link_euler"),
    ],
)
def test_a_changed_study_is_refused_with_what_changed(path, changes, message):
    with pytest.raises(StoreError, match=f"another study; what differs: .*{message}"):
        replace(STUDY, **{"start_q": None, **changes}).run(path, resume=True)
    assert open_results(path).sizes["sample"] == 60


@pytest.mark.usefixtures("filled")
def test_nothing_is_overwritten(path):
    with pytest.raises(FileExistsError, match="--resume"):
        STUDY.run(path)


def change(path, **attributes):
    group = zarr.open_group(path, mode="r+")
    group.attrs.update(attributes)


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"myoquat": "0.0.1"}, "begun with myoquat 0.0.1"),
        ({"machine": json.dumps({"cpu": "abacus"})}, "abacus.*MYOQUAT_CPU"),
        ({"format_version": 99}, "format version 99, written by myoquat .*; myoquat .* reads version 2"),
        ({"format": "something"}, "not of study results"),
    ],
)
def test_results_of_another_version_or_processor_are_refused(path, attributes, message):
    change(path, **attributes)
    with pytest.raises(StoreError, match=message):
        STUDY.run(path, resume=True)
    if "format" not in str(attributes):
        assert open_results(path).sizes["sample"] == 60  # still readable


def test_a_study_that_cannot_be_leaves_no_store(path):
    with pytest.raises(ModelError, match="no max_isometric_force is given"):
        Study("mapping_analysis", {"bodies.Clavicle.mass": [1.0]}, design="grid", activation=[0.5] * 6).run(path)
    with pytest.raises(ValueError, match="sample"):
        replace(STUDY, vary={"bodies.A.mass": {"uniform": [-2, -1]}}).run(path)
    assert not path.exists()


def test_what_is_no_store_is_refused(path):
    with pytest.raises(FileNotFoundError, match="there are no results"):
        open_results(path)
    path.mkdir()
    (path / "notes.txt").write_text("x")
    with pytest.raises(StoreError, match="not a store of study results"):
        STUDY.run(path, resume=True)
    with pytest.raises(NotADirectoryError, match="is not a directory"):
        STUDY.run(path.parent / "missing" / "results")
    with pytest.raises(ValueError, match="nothing to resume"):
        STUDY.run(resume=True)
    with pytest.raises(ValueError, match="block must be"):
        STUDY.run(block=0)


def test_a_full_disk_ends_with_a_clear_error_and_resumes(path, whole, monkeypatch):
    before_block(monkeypatch, 6, Mock(side_effect=OSError(errno.ENOSPC, "No space left on device")))
    with pytest.raises(OSError, match=r"block 5 could not be stored: the disk is full. What is stored stays"):
        STUDY.run(path, block=BLOCK, threads=1)
    monkeypatch.undo()
    assert (open_results(path).status > 0).sum() >= 5 * BLOCK
    assert_resumed(path, whole)


def test_an_interrupt_stops_after_the_blocks_at_work(path, whole, monkeypatch):
    stored = before_block(monkeypatch, 3, Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        STUDY.run(path, block=BLOCK, threads=2)
    monkeypatch.undo()
    assert 2 <= len(stored) < 8
    assert (open_results(path).status > 0).sum() == sum(min(BLOCK, 60 - BLOCK * block) for block in stored)
    assert_resumed(path, whole)


def test_an_interrupt_that_a_library_lets_pass_is_not_lost(path, whole, monkeypatch):
    """CasADi did so while a study began: the study ran to its end."""
    build = study.engine_for

    def deaf(*arguments):
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        return build(*arguments)

    monkeypatch.setattr(study, "engine_for", deaf)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in the background ignore interrupts
    try:
        with pytest.raises(KeyboardInterrupt):
            STUDY.run(path, block=BLOCK, threads=2)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    monkeypatch.undo()
    assert not (open_results(path).status > 0).any()
    assert_resumed(path, whole)


@pytest.mark.linux
def test_a_folder_that_takes_no_files():
    with pytest.raises(OSError, match=r"/proc"):  # no one can write there, root neither
        STUDY.run("/proc/results")


# ---- killed ------------------------------------------------------------------------------------------------


def run_until(path, point, number, sending):
    """Run the study to its end, or until the `number`th file gets its name: wait there to be killed."""
    replace_file, rename_file, count = Path.replace, Path.rename, itertools.count(1)

    def counted(way):
        def named(self, target):
            if next(count) != number:
                return way(self, target)
            if point == "after":
                way(self, target)
            sending.send("here")
            threading.Event().wait()

        return named

    Path.replace, Path.rename = counted(replace_file), counted(rename_file)
    STUDY.run(path, resume=True, block=BLOCK)
    sending.send("done")


@pytest.mark.posix
def test_killed_at_any_point_it_ends_with_the_same_dataset(path, whole):
    """Kill -9 again and again, a few files further each time, until a run gets through. It strikes while the store is
    laid out, before a chunk has its name, and after."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["myoquat.analysis.studies.study"])
    kills, partial = 0, 0
    first = iter((1, 2, 20))  # in the layout of the store, which begins anew each time
    for point in itertools.cycle(("before", "after")):
        number = 21 if path.exists() else next(first, 60)
        receiving, sending = context.Pipe(duplex=False)
        process = context.Process(target=run_until, args=(path, point, number, sending))
        process.start()
        sending.close()
        reached = receiving.recv()
        if reached == "here":
            os.kill(process.pid, signal.SIGKILL)
        process.join()
        kills += reached == "here"
        partial += len(list(path.rglob("*.partial")))
        if reached == "done":
            break
        assert kills < 40
    assert process.exitcode == 0
    assert kills >= 6
    assert partial >= 1
    assert not list(path.rglob("*.partial"))
    xr.testing.assert_identical(open_results(path).load(), whole)


def test_an_interrupt_gives_up_the_blocks_that_are_being_computed(path):
    """Two blocks that would take minutes; nothing of them is stored, and the store goes on to open."""
    long = replace(STUDY, samples=4096, duration=2000.0, times=1, step=1e-3)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    began = time.perf_counter()

    def interrupt():
        while not path.exists():
            time.sleep(0.01)
        time.sleep(0.5)
        signal.raise_signal(signal.SIGINT)

    threading.Thread(target=interrupt).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            long.run(path, block=2048, threads=2)
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.perf_counter() - began < 40.0
    assert not any(thread.name.startswith("study") for thread in threading.enumerate())
    assert not (open_results(path).status > 0).any()
