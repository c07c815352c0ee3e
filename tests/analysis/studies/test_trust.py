"""What is promised of stored results: one writer, damage found and mended, the code that made them known."""

import ast
import hashlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import xarray as xr

import myoquat
from myoquat.analysis.studies import StoreError, identity as machine_module, open_results, store, verify_results
from myoquat.analysis.studies.identity import DRAWN, SOURCE_FOLDERS, fingerprint
from myoquat.analysis.studies.results import verify
from myoquat.analysis.studies.study import RunOptions, compute
from myoquat.apps.command import main
from myoquat.joints import Shape
from myoquat.kernels.runtime.settings import target
from myoquat.muscle.coordinates import Coordinate
from tests.analysis.studies.conftest import STUDY

FILE = """
format = "myoquat-study"
version = 1
model = "two_link"
sample = { samples = 60 }
vary = { "muscles.*.max_isometric_force" = { uniform = [0.8, 1.2], relative = true } }
simulate = { duration = 0.05 }
keep = { times = 5, summaries = ["work"] }
"""


@pytest.fixture
def path(filled):
    return filled


def flip(path, place=50):
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


# ---- damage ------------------------------------------------------------------------------------------------


def test_resume_computes_again_what_is_damaged(path, whole):
    flip(path / "q" / "c" / "4" / "0" / "0")
    flip(path / "status" / "c" / "8", 2)
    cut = path / "q" / "c" / "6" / "0" / "0"
    cut.write_bytes(cut.read_bytes()[:100])
    _, report = compute(STUDY, path, RunOptions(resume=True))
    assert list(report.damaged) == [4, 6, 8]
    assert "q cannot be read" in report.damaged[4]
    assert "checksum" in report.damaged[4]
    assert report.blocks == 3
    xr.testing.assert_identical(open_results(path).load(), whole)


@pytest.mark.parametrize(
    "name", ["values", "status", "stopped_at", "q_final", "u_final", "q", "u", "work", "fingerprint"]
)
def test_a_flipped_bit_is_found_in_every_array(path, name):
    chunk = path / name / "c" / "3"
    flip(next(file for file in (chunk, *chunk.rglob("*")) if file.is_file()), 3)
    found = verify_results(path)
    assert list(found.damaged) == [3]
    assert found.damaged[3].startswith(name)
    assert not found.intact
    assert found.complete


def test_damaged_labels_are_found_and_mended(path, whole):
    label = next(file for file in (path / "coordinate" / "c").rglob("*") if file.is_file())
    flip(label, 10)
    assert verify_results(path).labels == ("coordinate",)
    STUDY.run(path, resume=True)
    assert verify_results(path).intact
    xr.testing.assert_identical(open_results(path).load(), whole)


def test_a_damaged_description_of_an_array_is_named(path):
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
    with pytest.raises(StoreError, match="samples: 60 -> 61"):
        verify(replace(STUDY, samples=61), path)


# ---- the code that made them -------------------------------------------------------------------------------


def other_code(monkeypatch, **changes):
    changed = fingerprint() | changes
    monkeypatch.setattr(store, "fingerprint", lambda: changed)
    return changed


def partly(path):
    """A store whose blocks 6 to 8 are not there."""
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


def test_a_processor_is_named_as_in_stores_of_earlier_versions():
    """Which are refused on any other."""
    assert machine_module.machine()["features"] == hashlib.sha256(target().features.encode()).hexdigest()[:16]


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
import sys, myoquat.analysis.studies.engine
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


def test_modules_that_draw_are_imported_by_none_that_computes():
    """So they can change no number. The package of studies offers their functions; others import them on use."""
    package, found = Path(myoquat.__file__).parent, set()
    for file in (file for folder in SOURCE_FOLDERS for file in (package / folder).rglob("*.py")):
        text = file.read_text()
        if file.name in DRAWN or not any(name.removesuffix(".py") in text for name in DRAWN):
            continue
        for node in ast.walk(ast.parse(text)):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if any(f"{name.rpartition('.')[2]}.py" in DRAWN for name in names):
                found.add(file.relative_to(package).as_posix())
    assert found == {"analysis/studies/__init__.py"}


def test_every_source_counts_but_those_of_figures(tmp_path, monkeypatch):
    for folder in SOURCE_FOLDERS:
        (tmp_path / folder / "inner").mkdir(parents=True)
        (tmp_path / folder / "inner" / "formula.py").write_bytes(b"x = 1\ny = 2\n")
    monkeypatch.setattr(machine_module, "_folder", lambda name: tmp_path / name)
    digests = [machine_module._digest()]
    for name in DRAWN:  # figures may look otherwise
        (tmp_path / "analysis" / "studies").mkdir(exist_ok=True)
        (tmp_path / "analysis" / "studies" / name).write_text("color = 'red'")
        assert machine_module._digest() == digests[0]
    for folder in SOURCE_FOLDERS:
        (tmp_path / folder / "inner" / "formula.py").write_bytes(b"x = 1\ny = 3\n")
        digests.append(machine_module._digest())
    (tmp_path / "kernels" / "inner" / "formula.py").rename(tmp_path / "kernels" / "inner" / "other.py")
    digests.append(machine_module._digest())
    assert len(set(digests)) == len(SOURCE_FOLDERS) + 2
    (tmp_path / "joints" / "inner" / "formula.py").write_bytes(b"x = 1\r\ny = 3\r\n")
    assert machine_module._digest() == digests[-1]
    monkeypatch.setattr(machine_module, "_folder", lambda name: tmp_path / "empty")
    with pytest.raises(RuntimeError, match="no sources are in"):
        machine_module._digest()


def test_a_study_is_the_same_whatever_its_model_is_called_and_looks_like(path):
    model = STUDY.model
    bodies = tuple(replace(body, shapes=(Shape("sphere", (0.1,)),)) for body in model.system.bodies)
    other = replace(model, name="other", description="words", system=replace(model.system, bodies=bodies))
    _, report = compute(replace(STUDY, model=other), path, RunOptions(resume=True))
    assert not report.blocks  # all are there
    locked = replace(model, coordinates=(Coordinate(model.system.coordinate_names[-1], range=(-1.0, 1.0)),))
    with pytest.raises(StoreError, match="what differs: model: two_link"):
        compute(replace(STUDY, model=locked), path, RunOptions(resume=True))
