"""Strangers' files: mutants of every format are read, or refused as is promised; and what the fuzzer once found."""

import json
import time
import zipfile

import numpy as np
import pytest
from fuzz import FORMATS, fuzz
from fuzz.formats import DATA, STUDY
from volume import draws

from myoquat.analysis.studies import StoreError, Study, open_results
from myoquat.analysis.studies.results import verify_results
from myoquat.data import load_model
from myoquat.data.storage import read_motion
from myoquat.data.toml.models import line_of
from myoquat.dynamics import Trajectory, simulate
from myoquat.joints.errors import ModelError
from myoquat.kernels.runtime.cache import Cache

# A mutant of a store takes 0.15 s, and one of a recording begins two processes
COUNTS = dict.fromkeys(FORMATS, draws(50, 300)) | {"store": draws(12, 40)}


@pytest.mark.posix
@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.filterwarnings("ignore")
def test_mutants_are_read_or_refused_as_promised(file_format, tmp_path):
    report = fuzz(FORMATS[file_format], COUNTS[file_format], tmp_path)
    assert not report.foreign, str(report.foreign)[:5000]


def toml(text, tmp_path):
    path = tmp_path / "model.toml"
    path.write_text('format = "myoquat-model"\nversion = 1\n' + text)
    return path


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('bodies = [{name = "A", parent = "ground"}]', 3),
        ('[["bodies"]]\nname = "A"\nparent = "ground"', 4),
        ('[[bodies]]\nname = "A"\nparent = "ground"\njoint = {type = []}', 4),
        (f'[[bodies]]\nname = "A"\nparent = "ground"\nmass = {"9" * 400}\njoint = {{type = "fixed"}}', 4),
        (".".join(["a"] * 50000) + " = 1", 3),
    ],
)
def test_model_files_are_refused_with_their_line(text, line, tmp_path):
    with pytest.raises(ModelError) as caught:
        load_model(toml(text, tmp_path))
    assert caught.value.line == line
    assert len(str(caught.value)) < 2000


def test_the_line_of_a_key_is_found_at_once_in_a_large_file():
    """Expressions over the whole text took 8 s for a mutant of 4 MB, most of it brackets in long lines."""
    text = f"x = {'[' * 3000}1{']' * 3000}\n" * 700 + '[table]\na = {deep = 1, "deeper" = 2}\n'
    start = time.perf_counter()
    keys = ("absent", "table", "a", "deep", "deeper")
    assert [line_of(text, [key]) for key in keys] == [None, 701, 702, 702, 702]
    assert line_of(text, [f"absent{i}" for i in range(20)]) is None
    assert time.perf_counter() - start < 3


def test_tables_in_tables_in_tables_are_refused(tmp_path):
    function = '{type = "constant", value = 1.0}'
    for _ in range(250):
        function = f'{{type = "multiplier", function = {function}, scale = 1.0}}'
    coupler = f'[[couplers]]\nname = "c"\ndependent = "a.q"\nindependent = "a.q"\nfunction = {function}'
    with pytest.raises(ModelError, match="nested more than 16 deep"):
        load_model(
            toml(f'[[bodies]]\nname = "a"\nparent = "ground"\n[bodies.joint]\ntype = "revolute"\n{coupler}', tmp_path)
        )


LEG = (DATA / "small_leg.osim").read_text()
FIRST = "<socket_parent>/ground</socket_parent><translation>0 0.1 0</translation>"


def test_a_thousand_frames_on_each_other_are_refused(tmp_path):
    frame = (
        '<PhysicalOffsetFrame name="f{}"><socket_parent>{}</socket_parent><translation>0.001 0 0</translation>'
        "<orientation>0 0 0</orientation></PhysicalOffsetFrame>"
    )
    chain = "".join(frame.format(i, f"/jointset/root/f{i - 1}" if i else "/ground") for i in range(1000))
    changed = LEG.replace("<frames>", f"<frames>{chain}", 1)
    (tmp_path / "leg.osim").write_text(changed.replace(FIRST, FIRST.replace("/ground", "/jointset/root/f999")))
    with pytest.raises(ModelError, match="frames stand on each other in a circle, or more than") as caught:
        load_model(tmp_path / "leg.osim")
    assert caught.value.line == LEG.count("\n", 0, LEG.index("<frames>")) + 1


@pytest.mark.parametrize(
    ("muscle", "number", "message"),
    [
        ("Thelen2003Muscle", "<Flen>0</Flen>", "eccentric_force must be finite and above 1, not 0.0"),
        ("Thelen2003Muscle", "<Af>-1</Af>", "concentric_shape must be positive and finite, not -1.0"),
        ("Thelen2003Muscle", "<KshapeActive>0</KshapeActive>", "active_shape must be positive and finite, not 0.0"),
    ],
)
def test_numbers_of_muscles_in_files_that_cannot_be(muscle, number, message, tmp_path):
    place = LEG.index(">", LEG.index(f"<{muscle} ")) + 1
    (tmp_path / "leg.osim").write_text(LEG[:place] + number + LEG[place:])
    with pytest.raises(ModelError, match=message) as caught:
        load_model(tmp_path / "leg.osim")
    assert caught.value.line == LEG.count("\n", 0, place) + 1


def test_a_study_with_a_mark_of_byte_order_is_read(tmp_path):
    (tmp_path / "study.toml").write_bytes(b"\xef\xbb\xbf" + STUDY)
    assert Study.load(tmp_path / "study.toml").samples == 8


@pytest.mark.parametrize("damage", ["[]", "{", "[" * 100_000, "5", '{"summaries": 5}'])
def test_a_store_whose_study_is_damaged_is_refused(damage, tmp_path):
    (store,) = FORMATS["store"].seeds(tmp_path)
    described = json.loads((store / "zarr.json").read_text())
    described["attributes"]["study"] = damage
    (store / "zarr.json").write_text(json.dumps(described))
    with pytest.raises(StoreError, match="is damaged"):
        open_results(store)


@pytest.mark.parametrize("change", [{"start_u": ["x" * 20_000]}, {"vary": 5.0}, {"start_q": [2.0] * 8}, {"model": {}}])
def test_what_a_damaged_study_makes_is_no_foreign_error_of_its_verification(change, tmp_path):
    (store,) = FORMATS["store"].seeds(tmp_path)
    described = json.loads((store / "zarr.json").read_text())
    study = json.loads(described["attributes"]["study"]) | change
    described["attributes"]["study"] = json.dumps(study)
    (store / "zarr.json").write_text(json.dumps(described))
    with pytest.raises(StoreError, match="damaged") as caught:
        verify_results(store)
    assert len(str(caught.value)) < 2000


def test_messages_are_short():
    assert len(str(ModelError("x" * 800_000, element="y" * 800_000))) < 2000


def test_a_table_of_many_columns_is_read_at_once(tmp_path):
    labels = "\t".join(f"c{i}" for i in range(100_000))
    (tmp_path / "wide.sto").write_text(f"endheader\ntime\t{labels}\n" + "0\t" + "\t".join(["1"] * 100_000) + "\n")
    assert read_motion(tmp_path / "wide.sto").shape == (1, 100_000)


@pytest.mark.parametrize(
    "change", [{"final": "no"}, {"times": True}, {"limits": 3}, {"summaries": 5}, {"duration": 1e300}]
)
def test_studies_check_their_arguments(change):
    given = {"model": "two_link", "vary": {"bodies.A.mass": {"uniform": [4.0, 5.0]}}, "samples": 2}
    with pytest.raises(ValueError, match=next(iter(change))):
        Study(**given, **change)
    with pytest.raises(ValueError, match="samples"):
        Study(**given | {"samples": 10**19})
    with pytest.raises(ValueError, match="increasing"):
        Study(**given, activation=([0.0, 0.0], np.zeros((2, 6))))


def test_simulations_without_end_are_refused():
    with pytest.raises(ValueError, match="steps"):
        simulate(load_model("two_link"), duration=1.0, step=1e-300)


def test_trajectories_check_their_arrays(tmp_path):
    simulate(load_model("two_link"), duration=0.002).save(tmp_path / "a.npz")
    arrays = dict(np.load(tmp_path / "a.npz"))
    for changed in ({"u": arrays["u"][:1]}, {"q": arrays["q"].astype(str)}):
        np.savez(tmp_path / "b.npz", **arrays | changed)
        with pytest.raises(ValueError, match=next(iter(changed))):
            Trajectory.load(tmp_path / "b.npz")
    del arrays["model"]
    np.savez(tmp_path / "b.npz", **arrays)
    with pytest.raises(ValueError, match="no saved trajectory"):
        Trajectory.load(tmp_path / "b.npz")


def test_archives_that_no_trajectory_is(tmp_path):
    """An array's header that ends in the middle, and one that would become 2 GiB."""
    header = b"\x93NUMPY\x01\x00" + (24).to_bytes(2, "little") + b"{'descr': ['<f8', (3,)  \n"
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("q.npy", header)
    with pytest.raises(ValueError, match="no saved trajectory"):
        Trajectory.load(tmp_path / "a.npz")
    with zipfile.ZipFile(tmp_path / "b.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("q.npy", bytes(1000))
    content = (tmp_path / "b.npz").read_bytes()
    (tmp_path / "b.npz").write_bytes(content.replace((1000).to_bytes(4, "little"), (2**31).to_bytes(4, "little")))
    with pytest.raises(ValueError, match=r"would take 2\.0 GiB"):
        Trajectory.load(tmp_path / "b.npz")


@pytest.mark.posix
def test_entries_that_others_may_write_are_not_there(tmp_path):
    cache = Cache(tmp_path / "cache")
    cache.store("a", {"size": 1}, b"code")
    (path,) = cache.folder.glob("*.kernel")
    assert cache.load("a") is not None
    path.chmod(0o666)
    assert cache.load("a") is None
    path.chmod(0o600)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert cache.load("a") is None
