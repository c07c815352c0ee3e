"""Files that a setup's run writes: beside the setup, all or none, and none over another or over what was read."""

from pathlib import Path

import numpy as np
import pytest

import myoquat as mq
from myoquat.apps.command import main
from myoquat.apps.opensim_tools import run_setup
from myoquat.apps.opensim_tools.outputs import Outputs
from myoquat.data import load_model
from myoquat.data.files import file_name, write_text
from myoquat.data.setups import read_setup
from myoquat.joints import ModelError
from myoquat.muscle import Muscle, PathPoint
from myoquat.muscle.laws import Millard2012
from tests.analysis.motion.conftest import edited
from tests.bodies import limbs

SETUP = """<OpenSimDocument Version="40000"><AnalyzeTool name="swing"><model_file>limb.osim</model_file>
<coordinates_file>swing.mot</coordinates_file><initial_time>0</initial_time><final_time>1</final_time><results_directory>out</results_directory><AnalysisSet><objects>
<MuscleAnalysis name="Muscles"><compute_moments>true</compute_moments></MuscleAnalysis></objects></AnalysisSet>
</AnalyzeTool></OpenSimDocument>"""
PLANTED = "x/../../../victim/planted"


@pytest.fixture
def folder(tmp_path):
    """A limb with a muscle, its swing, and a setup, in a folder beside that of a victim."""
    place = tmp_path / "setup"
    place.mkdir()
    (tmp_path / "victim").mkdir()
    path = (PathPoint("ground", (0.1, 0.2, 0.0)), PathPoint("foot", (0.05, -0.1, 0.0)))
    muscle = Muscle("front", path, law=Millard2012(400.0, 0.15, 0.15, tendon="rigid", damping=0.0))
    mq.Model(limbs(limb="knee", foot="ankle"), (muscle,), name="limb").save(place / "limb.osim")
    rows = "".join(f"{t:.17g}\t{20 * np.sin(6 * t):.17g}\n" for t in np.arange(0.0, 0.35, 0.05))
    (place / "swing.mot").write_text(f"swing\nnRows=7\nnColumns=2\ninDegrees=yes\nendheader\ntime\tknee\n{rows}")
    (place / "setup.xml").write_text(SETUP)
    return place


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.filterwarnings("ignore")
def test_a_coordinate_cannot_be_named_to_write_elsewhere(folder):
    """The name of a coordinate is part of the name of the file of its moment arms."""
    assert [path.name for path in run_setup(folder / "setup.xml")][-1] == "swing_Muscles_MomentArm_ankle.sto"
    edited(folder / "limb.osim", '"ankle"', f'"{PLANTED}"')
    victim = folder.parent / "victim" / "planted.sto"
    victim.write_text("kept")
    (folder / "out" / "swing_Muscles_MomentArm_x").mkdir()  # which makes the path one that exists
    before = files(folder.parent)
    with pytest.raises(ModelError, match="holds a separator of folders"):
        run_setup(folder / "setup.xml")
    assert files(folder.parent) == before


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "a/b",
        "a\\b",
        "a:b",
        "a\nb",
        "a\x00",
        "a\x7f",
        "\x9b",
        "nul",
        "Com1.sto",
        "a.",
        "a ",
        "é" * 128,
    ],
)
def test_names_that_are_no_names_of_files_are_rejected(name):
    with pytest.raises(ModelError, match="would be that of a file"):
        file_name(name)


@pytest.mark.parametrize("name", ["swing_knee.sto", "nullify", "console.sto", "a b", "..a", "Knie-Öffnung", "é" * 127])
def test_other_names_are_taken(name, tmp_path):
    assert file_name(name) == name
    write_text(tmp_path / name, "text")
    assert files(tmp_path) == {name: b"text"}


def test_outputs_of_a_setup_have_possible_names(folder):
    old = ">out<"
    for new, words in ((">a/con/b<", "reserved on Windows"), (">a&#9;b<", "holds '\\\\t'")):
        with pytest.raises(ModelError, match=words):
            read_setup(edited(folder / "setup.xml", old, new))
        old = new


@pytest.mark.filterwarnings("ignore")
def test_a_file_in_place_of_the_folder_of_results_leaves_all_as_it_was(folder):
    (folder / "out").write_text("a file")
    before = files(folder)
    with pytest.raises(NotADirectoryError, match="out is not a folder"):
        run_setup(folder / "setup.xml")
    assert files(folder) == before


@pytest.mark.filterwarnings("ignore")
def test_results_replace_no_file_that_was_read(folder):
    """Neither one that the setup names, nor one that such a file names."""
    (folder / "swing.mot").rename(folder / "swing_Muscles_Length.sto")
    edited(folder / "setup.xml", "swing.mot", "swing_Muscles_Length.sto", ">out<", "><")
    before = files(folder)
    with pytest.raises(ModelError, match=r"swing_Muscles_Length\.sto: this file was read, and the results would"):
        run_setup(folder / "setup.xml")
    assert files(folder) == before


@pytest.mark.filterwarnings("ignore")
def test_results_do_not_replace_each_other(folder):
    """Two analyses of one name have the same files; so have names in capitals or not, on some systems."""
    start, end = SETUP.index("<MuscleAnalysis"), SETUP.index("</objects>")
    other = SETUP[start:end].replace('"Muscles"', '"muscles"')
    (folder / "setup.xml").write_text(SETUP[:end] + other + SETUP[end:])
    with pytest.raises(ModelError, match="two results would have this place"):
        run_setup(folder / "setup.xml")
    assert not (folder / "out").exists()


def test_files_that_were_moved_are_moved_back_where_one_cannot_be(tmp_path, monkeypatch):
    (tmp_path / "old.txt").write_text("old")
    outputs = Outputs(overwrite=True)
    for name in ("old.txt", "new/a.txt", "b.txt"):
        outputs.add(tmp_path / name, lambda to: write_text(to, "new"))
    move = Path.replace
    monkeypatch.setattr(
        Path, "replace", lambda self, to: move(self, to if to.name != "b.txt" else tmp_path / "no" / "b")
    )
    with pytest.raises(FileNotFoundError):
        outputs.write()
    assert files(tmp_path) == {"old.txt": b"old"}
    assert not (tmp_path / "new").exists()


@pytest.mark.filterwarnings("ignore")
def test_a_model_is_given_where_the_setup_names_none(folder, capsys):
    """OpenSim's application writes setups whose <model_file> is Unassigned."""
    (folder / "limb.osim").rename(folder.parent / "other.osim")
    edited(folder / "setup.xml", "limb.osim", "Unassigned")
    with pytest.raises(ModelError, match=r"<model_file> names no model; --model FILE \(model=FILE\) gives one"):
        run_setup(folder / "setup.xml")
    main(["run", str(folder / "setup.xml"), "--model", str(folder.parent / "other.osim"), "--quiet"])
    assert (folder / "out" / "swing_Muscles_Length.sto").exists()
    with pytest.raises(SystemExit):
        main(["run", str(folder / "setup.xml"), "--model", "missing.osim"])
    assert "'missing.osim' does not exist" in capsys.readouterr().err


def test_markers_of_a_file_of_their_own(folder, tmp_path):
    """load_model and `myoquat scale` take a <MarkerSet>; markers of the same name are replaced."""
    marker = '<Marker name="{}"><body>{}</body><location>0.1 0 {}</location><fixed>true</fixed></Marker>'
    text = "<OpenSimDocument><MarkerSet><objects>{}</objects></MarkerSet></OpenSimDocument>"
    path = tmp_path / "markers.xml"
    path.write_text(text.format(marker.format("heel", "limb", 1) + marker.format("wall", "ground", 2)))
    model = load_model(folder / "limb.osim", marker_set=path)
    assert [(m.name, m.body, m.position, m.fixed) for m in model.markers] == [
        ("heel", "limb", (0.1, 0.0, 1.0), True), ("wall", "ground", (0.1, 0.0, 2.0), True),
    ]  # fmt: skip
    model.save(folder / "marked.osim")
    path.write_text(text.format(marker.format("heel", "limb", 3)))
    again = load_model(folder / "marked.osim", marker_set=path)
    assert [m.position[2] for m in again.markers] == [3.0, 2.0]
    options = ["--factor", "limb=2", "--marker-set", str(path)]
    main(["scale", str(folder / "limb.osim"), str(folder / "big.osim"), *options])
    assert load_model(folder / "big.osim").markers[0].position == pytest.approx((0.2, 0.0, 6.0))
    path.write_text(text.format(marker.format("heel", "ghost", 3)))
    with pytest.raises(ModelError, match=r"markers\.xml: marker 'heel': body 'ghost' does not exist"):
        load_model(folder / "limb.osim", marker_set=path)
