"""Results are data from strangers: no text in them becomes the path of a file."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import zarr

from myoquat.analysis.studies import Study, recompute, study_of
from myoquat.analysis.studies.identity import description, surroundings
from myoquat.apps.command import main
from myoquat.data import load_model

VARY = {"muscles.*.max_isometric_force": {"uniform": [0.8, 1.2], "relative": True}}
STUDY = Study("two_link", VARY, samples=6, duration=0.01)


def test_other_programs_open_a_store_at_once(tmp_path):
    """xarray warns of a store whose root does not repeat what its arrays say."""
    STUDY.run(tmp_path / "results", progress=False)
    with xr.open_zarr(tmp_path / "results", chunks=None) as found:
        assert found.sizes["sample"] == 6
        assert (found.status == 1).all()


def files(folder):
    return {path for path in folder.rglob("*") if "results" not in path.parts}


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    """(a function that gives stored results another model's name, the folder in which nothing may appear)."""
    folder = tmp_path / "around"
    (folder / "inner").mkdir(parents=True)
    monkeypatch.chdir(folder / "inner")

    def named(name):
        path = tmp_path / "results"
        STUDY.run(path)
        group = zarr.open_group(path, mode="r+")
        study = json.loads(group.attrs["study"])
        study["model"]["name"] = name
        group.attrs["study"] = json.dumps(study)
        return path

    return named, folder


NAMES = ("{folder}/written", "../written", "../../around/written", "inner/../written", "written\0", "\n", "..")


@pytest.mark.parametrize("name", NAMES)
def test_a_model_s_name_in_a_store_names_no_file(hostile, name):
    named, folder = hostile
    path = named(name.format(folder=folder))
    before = files(folder)
    assert study_of(path).model.content_key == STUDY.model.content_key
    assert recompute(path, 2).status == 1
    assert files(folder) == before


@pytest.mark.parametrize("name", NAMES)
def test_nor_on_a_worker_of_a_cluster(hostile, name):
    compute_block = pytest.importorskip("myoquat.analysis.studies.cluster", exc_type=ImportError).compute_block
    _, folder = hostile
    found = description(STUDY)
    found["model"]["name"] = name.format(folder=folder)
    before = files(folder)
    arrays, _ = compute_block(f"of {name}", json.dumps(found), 0, 6, surroundings())
    assert np.array_equal(arrays["values"], STUDY.values())
    assert files(folder) == before


@pytest.mark.parametrize("name", ["left/right", "/absolute", "../up"])
def test_a_model_may_have_any_name(tmp_path, name):
    model = load_model("two_link")
    study = replace(STUDY, model=replace(model, name=name, system=replace(model.system, name=name)))
    path = tmp_path / "results"
    whole = study.run(path)
    again = study_of(path)
    assert again.model.name == name
    xr.testing.assert_identical(again.run().load(), whole.load())
    assert np.array_equal(recompute(path, 3).q_final[0], whole.q_final[3])
    xr.testing.assert_identical(study.run(path, resume=True).load(), whole)


def test_a_sweep_of_a_model_with_slashes_in_its_name(tmp_path, capsys):
    text = load_model("two_link")
    replace(text, name="left/right").save(tmp_path / "model.toml")
    source = Path(tmp_path / "model.toml").read_text()
    (tmp_path / "model.toml").write_text(source.replace('name = "two_link"', 'name = "left/right"', 1))
    (tmp_path / "study.toml").write_text(
        'format = "myoquat-study"\nversion = 1\nmodel = "model.toml"\n[sample]\nsamples = 4\n'
        '[vary]\n"muscles.*.max_isometric_force" = { uniform = [0.8, 1.2], relative = true }\n'
        "[simulate]\nduration = 0.01\n"
    )
    arguments = ["sweep", str(tmp_path / "study.toml"), "--output", str(tmp_path / "results")]
    for more in ([], ["--resume"], ["--verify"]):
        with pytest.raises(SystemExit) as end:
            raise SystemExit(main([*arguments, *more]) or 0)
        assert end.value.code == 0
    assert study_of(tmp_path / "results").model.name == "left/right"
