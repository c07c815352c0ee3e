"""Results are data from strangers: no text in them becomes the path of a file."""

import json
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
import zarr

from myoquat.analysis.studies import Study, recompute, study_of
from myoquat.analysis.studies.identity import surroundings
from myoquat.analysis.studies.store import stored_description
from myoquat.data import load_model

VARY = {"muscles.*.max_isometric_force": {"uniform": [0.8, 1.2], "relative": True}}
STUDY = Study("two_link", VARY, samples=6, duration=0.01)


def test_other_programs_open_a_store_at_once(tmp_path):
    """xarray warns of a store whose root does not repeat what its arrays say."""
    STUDY.run(tmp_path / "results")
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
def test_a_model_s_name_in_a_store_names_no_file_here_and_on_a_worker(hostile, name):
    compute_block = pytest.importorskip("myoquat.analysis.studies.cluster", exc_type=ImportError).compute_block
    named, folder = hostile
    path = named(name.format(folder=folder))
    before = files(folder)
    assert study_of(path).model.content_key == STUDY.model.content_key
    assert recompute(path, 2).status == 1
    arrays, _ = compute_block(f"of {name}", json.dumps(stored_description(path)), 0, 6, surroundings())
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
