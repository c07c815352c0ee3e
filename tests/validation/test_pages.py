"""Pages of the shoulder of Belli and others, of OpenSim's outputs and of the mapping analysis, on small data."""

import re

import numpy as np
import pytest

from myoquat.analysis.studies import UncertainCurves
from myoquat.apps.command import main as run_command
from myoquat.core import Picture
from myoquat.data import Motion, load_model
from myoquat.joints import ArticulatedSystem, Body
from myoquat.joints.errors import ModelError
from myoquat.joints.types import EulerJoint, PrismaticJoint
from myoquat.muscle import Model
from myoquat.muscle.coordinates import Marker
from myoquat.muscle.laws import Millard2012
from tests.bodies import on_hinge
from tests.validation.glenohumeral import around
from validation import belli_shoulder as belli, quaternion_jacobians as jacobians
from validation.__main__ import main
from validation.figures import activation_figure
from validation.gait import compare_folder, table_of

X, Y, Z = np.eye(3)
TIME = np.linspace(0.0, 1.0, 41)
LAW = Millard2012(1500.0, optimal_fiber_length=0.2, tendon_slack_length=0.05)
ID = """<OpenSimDocument Version="40000"><InverseDynamicsTool name="own"><model_file>arm.osim</model_file>
<time_range>0 1</time_range><coordinates_file>arm.mot</coordinates_file>
<output_gen_force_file>arm_id.sto</output_gen_force_file>
<lowpass_cutoff_frequency_for_coordinates>-1</lowpass_cutoff_frequency_for_coordinates>
</InverseDynamicsTool></OpenSimDocument>"""


def shoulder_model():
    """All coordinates of the study on a chain of light bodies, and eight muscles about the glenohumeral joint."""
    names = {axis: f"ground_thorax_t{axis}" for axis in "xyz"}
    part = {"mass": 0.5, "center_of_mass": (0.01, -0.05, 0.0), "inertia": (0.01, 0.01, 0.01, 0, 0, 0)}
    slides = [Body(f"slide_{axis}", "ground" if axis == "x" else f"slide_{chr(ord(axis) - 1)}",
                   PrismaticJoint(tuple(direction)), coordinate_names=(names[axis],))
              for axis, direction in zip("xyz", (X, Y, Z), strict=True)]  # fmt: skip
    chain = [
        Body("thorax", "slide_z", EulerJoint("XYZ"),
             coordinate_names=tuple(f"ground_thorax_rot_{a}" for a in "xyz"), **part),
        on_hinge("clavicle", tuple(Y), "clav_prot", parent="thorax", **part),
        on_hinge("clavicle_2", tuple(X), "clav_elev", parent="clavicle", **part),
        Body("scapula_1", "clavicle_2", EulerJoint("XYZ"), (0, 0, 0.1),
             coordinate_names=("scapula_abduction", "scapula_elevation", "scapula_upward_rot"), **part),
        on_hinge("scapula", tuple(Z), "scapula_winging", parent="scapula_1", **part),
        Body("humerus", "scapula", EulerJoint("YXZ"), (0, 0.03, 0.05), joint_name="GlenoHumeral",
             coordinate_names=("plane_elv", "shoulder_elv", "axial_rot"), **part),
        on_hinge("ulna", tuple(Z), "elbow_flexion", parent="humerus", position=(0, -0.3, 0), **part),
        on_hinge("radius", tuple(Y), "pro_sup", parent="ulna", **part),
    ]  # fmt: skip
    markers = (Marker("HumHead_Center", "humerus", (0, 0, 0)), Marker("Glenoid_Center", "scapula", (0, 0.03, 0.02)),
               Marker("Glenoid_Edge", "scapula", (-0.02, 0.03, 0.02)))  # fmt: skip
    system = ArticulatedSystem((*slides, *chain), gravity=(0, -9.81, 0), name="shoulder")
    return Model(system, around(LAW), markers=markers)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two trials, one a shrug; the published activations of the first are those of the solver."""
    folder = tmp_path_factory.mktemp("belli")
    model = shoulder_model()
    model.save(folder / belli.MODEL)
    start = np.full(model.system.nq, 0.1)
    start[model.system.coordinate_names.index("shoulder_elv")] = 0.6
    q = start + 0.1 * (1 - np.cos(2 * TIME))[:, None] * np.linspace(0.2, 1.0, model.system.nq)
    for name in ("ABD01", "SHRUG01"):
        Motion(model, TIME, q).save(folder / f"{name}.mot")
    known = belli.solve(belli.load_shoulder(folder, "ABD01"))
    padded = {key: np.pad(known.found[case].activation, ((0, 0), (0, 18))) for case, key in belli.CASES.items()}
    np.savez(folder / "ABD01.npz", **padded)
    return folder


def test_published_activations_are_found_again_and_shrugs_are_locked(folder, tmp_path, capsys):
    page = tmp_path / "page.html"
    main(["belli_shoulder", str(folder), str(page), "--samples", "0"])
    table = belli.table_of([belli.solve(belli.load_shoulder(folder, "ABD01"))])
    assert (table["RMS of activations"] < 1e-9).all()
    shrug = belli.load_shoulder(folder, "SHRUG01")
    for name in belli.LOCKED_IN_SHRUGS:
        assert np.ptp(shrug.motion.q[:, shrug.model.system.coordinate_names.index(name)]) == 0
    text = page.read_text()
    assert "2 trials: ABD01, SHRUG01" in text
    assert "SHRUG01, without cone" in text
    assert "published, for as many frames" in capsys.readouterr().out


def test_bands_lie_behind_the_activations_of_the_same_muscles(folder):
    """A band per drawn muscle, of the quantiles of its samples."""
    trial = belli.solve(belli.load_shoulder(folder, "ABD01"))
    names = tuple(f"{name}.activation" for name in belli.most_active(trial))
    values = np.full((len(TIME), len(names)), 0.3)
    samples = np.stack([values - 0.1, values + 0.1])[None].repeat(3, axis=0)
    found = UncertainCurves(TIME, names, ("1",) * len(names), values, samples, ("strengths",))
    axes = activation_figure(trial, found).axes
    assert len(axes) == len(names)
    for axis in axes:
        low, high = axis.collections[0].get_datalim(axis.transData).intervaly
        assert (low, high) == pytest.approx((0.2, 0.4))


def test_model_of_a_trial_is_stated_or_the_only_one(tmp_path):
    """By option, by its own name, by being alone, and of the published two by the study's numbers; else an error."""
    for name in (belli.MODEL, "ABD01.mot", "ABD21.mot", "FLX03.mot", "SHRUG.mot"):
        (tmp_path / name).touch()
    assert belli.model_of(tmp_path, "SHRUG") == (tmp_path / belli.MODEL, "the only model")
    assert belli.model_of(tmp_path, "ABD21")[1].startswith("although its number says 2 kg")
    for name in (belli.LOADED_MODEL, "FLX03.osim", "arm.osim"):
        (tmp_path / name).touch()
    names = [belli.model_of(tmp_path, trial)[0].name for trial in ("ABD01", "ABD21", "FLX03")]
    assert names == [belli.MODEL, belli.LOADED_MODEL, "FLX03.osim"]
    chosen = {"ABD01": "FLX03.osim", "": belli.MODEL}
    assert [belli.model_of(tmp_path, trial, chosen)[0].name for trial in ("ABD01", "ABD21")] == list(chosen.values())
    with pytest.raises(ModelError, match=r"several models, .*: --model SHRUG=FILE says which"):
        belli.model_of(tmp_path, "SHRUG")
    with pytest.raises(ModelError, match=r"other\.osim that --model names is not there"):
        belli.model_of(tmp_path, "ABD01", {"": "other.osim"})
    with pytest.raises(ModelError, match="no model: --model ABD01=FILE"):
        belli.model_of(tmp_path / "..", "ABD01")


def test_expected_files_of_a_setup_are_compared(tmp_path, capsys):
    """A table that was written before is met exactly; a folder without expected files is named."""
    arm = on_hinge("arm", "z", "e", mass=2.0, center_of_mass=(0.3, 0, 0))
    model = Model(ArticulatedSystem((arm,), gravity=(0, -9.81, 0), name="arm"))
    model.save(tmp_path / "arm.osim")
    Motion(model, TIME, 0.3 * np.sin(2 * TIME)[:, None]).save(tmp_path / "arm.mot")
    (tmp_path / "arm_setup.xml").write_text(ID)
    run_command(["run", str(tmp_path / "arm_setup.xml")])
    expected = (tmp_path / "arm_id.sto").read_text()
    (tmp_path / "std_arm_id.sto").write_text(expected)
    table = table_of(compare_folder(tmp_path))
    assert table["greatest difference"].item() == 0
    main(["gait", str(tmp_path), str(tmp_path / "page.html"), "--samples", "16"])
    assert "0 of 1 files agree" in capsys.readouterr().out  # its name has no tolerance of OpenSim's tests
    text = (tmp_path / "page.html").read_text()
    assert re.search(r"90% of the \d+ samples of inertias lie in the bands", text)
    assert "std_arm_id.sto: Share of each source in the variance (Sobol indices)" in text
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(ModelError, match="no files std_"):
        compare_folder(empty)


def test_mapping_page_needs_no_folder_and_shows_both_sides(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(jacobians, "path_figure", lambda model, samples: Picture())  # long to draw
    page = tmp_path / "page.html"
    main(["quaternion_jacobians", str(page), "--poses", "50", "--samples", "8"])
    text = page.read_text()
    assert "As published: greatest relative errors" in text
    assert "As corrected: greatest relative errors" in text
    assert "all mappings that should hold do" in text
    with pytest.raises(SystemExit):
        main(["gait", str(page)])
    assert "gait takes FOLDER OUTPUT, not 1 paths" in capsys.readouterr().err


def test_jacobians_lie_in_the_bands_of_their_attachments():
    """Moment arms, J_Q and J*_Q of both ball joints, at the frames of the bands; 3 mm at both ends of the muscle."""
    figure = jacobians.path_figure(load_model("two_link"), 40)
    axes = [axis for part in figure.subfigs for axis in part.axes]
    assert len(axes) == 2 * (3 + 4 + 3)
    for axis in axes:
        low, high = axis.collections[0].get_datalim(axis.transData).intervaly
        line = axis.lines[0].get_ydata()[:: jacobians.STRIDE]
        assert low < line.min() + 0.01
        assert high > line.max() - 0.01
        assert high - low < np.ptp(line) + 0.05
