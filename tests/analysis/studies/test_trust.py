"""What is promised of stored results: one writer, damage found and mended, the code that made them known."""

import contextlib
import json
import multiprocessing
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import myoquat
from myoquat.analysis.apps.command import main
from myoquat.analysis.studies import LockedError, StoreError, Study, open_results, recompute, verify_results
from myoquat.analysis.studies.run import RunOptions, compute
from myoquat.analysis.studies.storage import durable, store
from myoquat.analysis.studies.storage import machine as machine_module
from myoquat.analysis.studies.storage.lock import Lock
from myoquat.analysis.studies.storage.machine import SOURCE_FOLDERS, fingerprint
from myoquat.analysis.studies.storage.store import Store
from myoquat.analysis.studies.storage.verification import verify

VARY = {"muscles.*.max_isometric_force": {"uniform": [0.8, 1.2], "relative": True}}
STUDY = Study("two_link", VARY, samples=60, duration=0.05, times=5, summaries=("work",))
BLOCK = 7
FILE = """
format = "myoquat-study"
version = 1
model = "two_link"
sample = { samples = 60 }
vary = { "muscles.*.max_isometric_force" = { uniform = [0.8, 1.2], relative = true } }
simulate = { duration = 0.05 }
keep = { times = 5, summaries = ["work"] }
"""


@pytest.fixture(scope="module")
def whole():
    return STUDY.run(block=BLOCK)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results"


def flip(path, place=50):
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


# ---- damage ------------------------------------------------------------------------------------------------


def test_resume_computes_again_what_is_damaged(path, whole):
    STUDY.run(path, block=BLOCK)
    flip(path / "q" / "c" / "4" / "0" / "0")
    flip(path / "status" / "c" / "8", 2)
    _, report = compute(STUDY, path, RunOptions(resume=True))
    assert list(report.damaged) == [4, 8]
    assert "q cannot be read" in report.damaged[4]
    assert "checksum" in report.damaged[4]
    assert report.blocks == 2
    xr.testing.assert_identical(open_results(path).load(), whole)


@pytest.mark.parametrize(
    "name", ["values", "status", "stopped_at", "q_final", "u_final", "q", "u", "work", "fingerprint"]
)
def test_a_flipped_bit_is_found_in_every_array(path, name):
    STUDY.run(path, block=BLOCK)
    chunk = path / name / "c" / "3"
    flip(next(file for file in (chunk, *chunk.rglob("*")) if file.is_file()), 3)
    found = verify_results(path)
    assert list(found.damaged) == [3]
    assert found.damaged[3].startswith(name)
    assert not found.intact
    assert found.complete


def test_damaged_labels_are_found_and_mended(path, whole):
    STUDY.run(path, block=BLOCK)
    label = next(file for file in (path / "coordinate" / "c").rglob("*") if file.is_file())
    flip(label, 10)
    assert verify_results(path).labels == ("coordinate",)
    STUDY.run(path, resume=True)
    assert verify_results(path).intact
    xr.testing.assert_identical(open_results(path).load(), whole)


def test_a_damaged_description_of_an_array_is_named(path):
    STUDY.run(path, block=BLOCK)
    file = path / "q" / "zarr.json"
    file.write_text(file.read_text().replace("60", "61"))
    with pytest.raises(StoreError, match="the description of the array 'q' is damaged"):
        STUDY.run(path, resume=True)
    file.write_text("{")
    with pytest.raises(StoreError, match="missing or its description damaged"):
        verify_results(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda stored: stored["chunk_grid"]["configuration"]["chunk_shape"].__setitem__(0, 0),
        lambda stored: stored.update(data_type="float32"),
        lambda stored: stored["codecs"].pop(),  # the checksum
        lambda stored: stored["codecs"].append({"name": "gzip", "configuration": {"level": 1}}),
    ],
    ids=["chunks of nothing", "number type", "no checksum", "compressed"],
)
def test_arrays_described_otherwise_are_refused_before_numbers_are_asked_for(path, change):
    STUDY.run(path, block=BLOCK)
    file = path / "q" / "zarr.json"
    stored = json.loads(file.read_text())
    change(stored)
    file.write_text(json.dumps(stored))
    with pytest.raises(StoreError, match="the description of an array"):
        open_results(path)


def sweep(*arguments):
    try:
        return main(["sweep", *map(str, arguments)]) or 0
    except SystemExit as end:
        return end.code


def test_sweep_verifies_and_repairs(tmp_path, path, whole, capsys):
    file = tmp_path / "study.toml"
    file.write_text(FILE)
    STUDY.run(path, block=BLOCK)
    assert sweep(file, "--output", path, "--verify") == 0
    assert "9 of 9 blocks are intact, 0 are not there" in capsys.readouterr().out
    flip(path / "u" / "c" / "2" / "0" / "0")
    (path / "status" / "c" / "5").unlink()
    assert sweep(file, "--output", path, "--verify") == 1
    text = capsys.readouterr().out
    assert "block 2 is damaged: u cannot be read" in text
    assert "7 of 9 blocks are intact, 1 are not there" in text
    assert sweep(file, "--output", path, "--repair") == 0
    assert "block 2 was damaged and is computed again" in capsys.readouterr().out
    found = verify_results(path)
    assert found.intact
    assert found.missing == (5,)
    assert sweep(file, "--output", path, "--verify") == 1
    assert sweep(file, "--output", path, "--resume") == 0
    assert sweep(file, "--output", path, "--verify") == 0
    xr.testing.assert_identical(open_results(path).load(), whole)


def test_results_of_another_study_are_not_verified(path):
    STUDY.run(path)
    other = Study("two_link", VARY, samples=61, duration=0.05, times=5, summaries=("work",))
    with pytest.raises(StoreError, match="samples: 60 -> 61"):
        verify(other, path)


# ---- the code that made them -------------------------------------------------------------------------------


def other_code(monkeypatch, **changes):
    changed = fingerprint() | changes
    monkeypatch.setattr(store, "fingerprint", lambda: changed)
    return changed


def partly(path):
    """A store whose blocks 6 to 8 are not there."""
    STUDY.run(path, block=BLOCK)
    for block in (6, 7, 8):
        (path / "status" / "c" / str(block)).unlink()


@pytest.mark.parametrize(
    ("what", "value"), [("sources", "0123"), ("numpy", "1.0.0"), ("casadi", "3"), ("llvm", "1.2.3")]
)
def test_other_code_does_not_resume_unless_that_is_allowed(path, monkeypatch, what, value):
    partly(path)
    own = fingerprint()
    changed = other_code(monkeypatch, **{what: value})
    with pytest.raises(StoreError, match=rf"results of other code.*what differs: {what}: .* -> .*--any-code"):
        STUDY.run(path, resume=True)
    found = STUDY.run(path, resume="any-code")
    assert json.loads(found.attrs["fingerprints"]) == [own, changed]
    assert found.fingerprint.values.tolist() == [1] * 42 + [2] * 18
    monkeypatch.undo()
    with pytest.raises(StoreError, match="results of other code"):
        STUDY.run(path, resume=True)
    assert STUDY.run(path, resume="any-code").fingerprint.values.tolist() == [1] * 42 + [2] * 18


def test_sweep_allows_any_code(tmp_path, path, monkeypatch, capsys):
    (tmp_path / "study.toml").write_text(FILE)
    partly(path)
    other_code(monkeypatch, scipy="0")
    assert sweep(tmp_path / "study.toml", "--output", path, "--resume") == 2
    assert "scipy" in capsys.readouterr().err
    assert sweep(tmp_path / "study.toml", "--output", path, "--any-code") == 0
    with pytest.raises(ValueError, match="resume is True, False or 'any-code'"):
        STUDY.run(path, resume="all")


def test_the_fingerprint_is_of_all_sources_that_an_engine_imports():
    script = """
import sys, myoquat.analysis.studies.execution.engines
print("\\n".join(m.__file__ for n, m in sys.modules.items() if n.startswith("myoquat.") and m.__file__))
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    package = Path(myoquat.__file__).parent
    for file in map(Path, ran.stdout.split()):
        inner = file.relative_to(package).as_posix()
        reads_files = inner.startswith("data/")  # what it reads is part of the study's description
        assert (
            reads_files
            or inner == "analysis/__init__.py"
            or inner.startswith(tuple(f"{folder}/" for folder in SOURCE_FOLDERS))
        )


def test_every_source_counts(tmp_path, monkeypatch):
    for folder in SOURCE_FOLDERS:
        (tmp_path / folder / "inner").mkdir(parents=True)
        (tmp_path / folder / "inner" / "formula.py").write_bytes(b"x = 1\ny = 2\n")
    monkeypatch.setattr(machine_module.myoquat, "__file__", str(tmp_path / "__init__.py"))
    digests = [machine_module._digest()]
    for folder in SOURCE_FOLDERS:
        (tmp_path / folder / "inner" / "formula.py").write_bytes(b"x = 1\ny = 3\n")
        digests.append(machine_module._digest())
    (tmp_path / "kernels" / "inner" / "formula.py").rename(tmp_path / "kernels" / "inner" / "other.py")
    digests.append(machine_module._digest())
    assert len(set(digests)) == len(SOURCE_FOLDERS) + 2
    (tmp_path / "joints" / "inner" / "formula.py").write_bytes(b"x = 1\r\ny = 3\r\n")
    assert machine_module._digest() == digests[-1]


# ---- one writer --------------------------------------------------------------------------------------------


def test_error_of_a_second_writer_names_the_first(path):
    with_lock = Lock.of(path)
    words = rf"is being written by process {os.getpid()} on {platform.node()} since \d{{4}}-"
    for resume in (False, True):
        with pytest.raises(LockedError, match=words):
            STUDY.run(path, resume=resume)
    with_lock.release()
    STUDY.run(path)
    assert [file.name for file in path.parent.iterdir()] == ["results"]  # neither lock nor anything else is left


def forkserver():
    """Processes that start with what a study imports: the server imports it once."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["myoquat.analysis.studies.run", __name__])
    return context


def hold(path, sending):
    Lock.of(path)
    sending.send("held")
    signal.pause()


@pytest.mark.skipif(os.name == "nt", reason="kill -9 is a matter of POSIX")
def test_the_lock_of_a_process_that_died_is_taken_over(path):
    context = forkserver()
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=hold, args=(path, sending))
    process.start()
    assert receiving.recv() == "held"
    with pytest.raises(LockedError, match=f"by process {process.pid} on"):
        STUDY.run(path)
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert (path.parent / ".results.lock").exists()
    STUDY.run(path)


def test_a_lock_of_another_host_is_left(path):
    owner = {"host": "elsewhere", "process": "12", "since": "2026-01-01 00:00:00"}
    (path.parent / ".results.lock").write_text(json.dumps(owner))
    with pytest.raises(LockedError, match=r"by process 12 on elsewhere since .* remove .*\.results\.lock"):
        STUDY.run(path)
    (path.parent / ".results.lock").unlink()
    STUDY.run(path)


def resumed(path, begin, sending):
    begin.wait()
    try:
        STUDY.run(path, resume=True, block=BLOCK)
        sending.send("done")
    except Exception as error:
        sending.send(f"{type(error).__name__}: {error}")


def test_three_at_once_on_a_new_store(path, whole):
    context = forkserver()
    begin = context.Barrier(3)
    found, processes = [], []
    for _ in range(3):
        receiving, sending = context.Pipe(duplex=False)
        processes.append(context.Process(target=resumed, args=(path, begin, sending)))
        processes[-1].start()
        found.append(receiving)
    ends = [receiving.recv() for receiving in found]
    for process in processes:
        process.join()
    assert "done" in ends
    assert all(end == "done" or end.startswith("LockedError: ") for end in ends)
    xr.testing.assert_identical(open_results(path).load(), whole)


@pytest.mark.parametrize("replaced", [False, True])
def test_a_store_that_is_removed_meanwhile_is_noticed_at_the_next_block(path, monkeypatch, replaced):
    write, written = Store.write, []

    def removed_after_the_second(self, block, arrays):
        write(self, block, arrays)
        written.append(block)
        if len(written) == 2:
            shutil.rmtree(path)
            if replaced:
                shutil.copytree(path.parent / "other", path)

    STUDY.run(path.parent / "other")
    monkeypatch.setattr(Store, "write", removed_after_the_second)
    message = r"was removed or replaced while it was written; block (\d) is not stored"
    with pytest.raises((StoreError, OSError), match=message) as refused:
        STUDY.run(path, block=BLOCK, threads=1)
    assert len(written) == 2
    assert int(re.search(message, str(refused.value))[1]) not in written  # those ready together come in any order
    assert path.exists() == replaced
    assert not (path.parent / ".results.lock").exists()


def test_what_a_run_has_stored_is_on_the_disk_when_it_ends(path, monkeypatch):
    flushed, flush = set(), durable.flush

    def recorded(path):
        flush(path)
        flushed.add(path)

    monkeypatch.setattr(durable, "flush", recorded)
    monkeypatch.setattr(store, "flush", recorded)
    STUDY.run(path, block=BLOCK)
    begun = path.with_name(".results.begun")
    for entry in (path, *path.rglob("*")):
        assert entry in flushed or begun / entry.relative_to(path) in flushed
        if entry.suffix == ".json":
            assert begun / entry.relative_to(path) in flushed  # before the store had its name
    assert path.parent in flushed


def test_the_report_of_an_untouched_store_names_no_damage(path):
    _, report = compute(STUDY, path, RunOptions(block=BLOCK))
    assert report.damaged == {}
    assert np.all(open_results(path).fingerprint == 1)


def test_a_store_with_a_link_inside_is_not_resumed(path, tmp_path):
    """What resuming writes would land where the link leads."""
    STUDY.run(path, block=BLOCK, progress=False)
    victim = tmp_path / "victim"
    (path / "u_final").rename(victim)
    (path / "u_final").symlink_to(victim, target_is_directory=True)
    (victim / "c" / "0" / "0").unlink()
    before = sorted(victim.rglob("*"))
    with pytest.raises(StoreError, match="u_final is a link"):
        STUDY.run(path, block=BLOCK, resume=True, progress=False)
    assert sorted(victim.rglob("*")) == before


# ---- descriptions that are damaged ---------------------------------------------------------------------------------

ENTRIES = {
    "no model": lambda study: study.pop("model"),
    "a model that is text": lambda study: study.update(model="two_link"),
    "a model that is a number": lambda study: study.update(model=1e308),
    "a model that is a list": lambda study: study.update(model=[None]),
    "a model without a name": lambda study: study["model"].pop("name"),
    "a model without contents": lambda study: study["model"].pop("content"),
    "contents that are nothing": lambda study: study["model"].update(content=None),
    "parameters that are a number": lambda study: study.update(vary=1.0),
    "parameters without pairs": lambda study: study.update(vary=[None]),
    "a parameter without a name": lambda study: study["vary"][0].__setitem__(0, None),
    "steps that are endless": lambda study: study.update(summary_step=1e308),
}
TEXTS = {
    "nothing": None,
    "a number": 5,
    "no JSON": "[",
    "lists in lists": "[" * 100_000,
    "null": "null",
    "a list": "[[1]]",
    "text": '"x"',
}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A store of a few samples, and its study."""
    study = Study("two_link", VARY, samples=2, duration=0.01, summaries=("work",))
    folder = tmp_path_factory.mktemp("small") / "results"
    study.run(folder)
    return study, folder


def refuses_or_reads(study, folder):
    """Every way to the results ends in what is promised."""
    for read in (open_results, verify_results, lambda at: recompute(open_results(at), 0),
                 lambda at: study.run(at, resume=True), lambda at: study.run(at, resume="any-code")):  # fmt: skip
        with contextlib.suppress(StoreError, ValueError, OSError):
            read(folder)


@pytest.mark.parametrize("change", ENTRIES.values(), ids=ENTRIES)
def test_a_damaged_study_ends_in_an_error_that_is_promised(small, path, change):
    study, folder = small
    shutil.copytree(folder, path)
    found = json.loads((path / "zarr.json").read_text())
    described = json.loads(found["attributes"]["study"])
    change(described)
    found["attributes"]["study"] = json.dumps(described)
    (path / "zarr.json").write_text(json.dumps(found))
    refuses_or_reads(study, path)
    with pytest.raises(StoreError, match=r"another study|damaged"):
        study.run(path, resume=True)


@pytest.mark.parametrize("key", ["study", "fingerprints", "machine", "myoquat"])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_entries_that_tell_nothing_end_in_errors_that_are_promised(small, path, key, text):
    study, folder = small
    shutil.copytree(folder, path)
    found = json.loads((path / "zarr.json").read_text())
    found["attributes"] |= {key: text}
    (path / "zarr.json").write_text(json.dumps(found))
    refuses_or_reads(study, path)
    if key in ("study", "fingerprints"):
        with pytest.raises(StoreError, match="results"):
            study.run(path, resume=True)


def test_labels_take_no_more_memory_than_their_files(small, path):
    """A count of texts in a block of 80 bytes, or a shape, asked for gigabytes."""
    _, folder = small
    for name, change in (
        ("velocity/c/0", lambda old: (5 * 10**6).to_bytes(4, "little") + old[4:]),
        ("parameter/zarr.json", lambda old: json.dumps(json.loads(old) | {"shape": [2 * 10**7]}).encode()),
    ):
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(folder, path)
        (path / name).write_bytes(change((path / name).read_bytes()))
        tracemalloc.start()
        try:
            with pytest.raises(StoreError, match="the description of an array, or a label, is damaged"):
                open_results(path)
            assert verify_results(path).labels == (name.partition("/")[0],)
            assert tracemalloc.get_traced_memory()[1] < 2e7
        finally:
            tracemalloc.stop()
