"""`python -m validation instrumented_shoulder` on a shoulder of its own, whose measured force is known."""

import re
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from myoquat.analysis.studies import UncertainInputs
from myoquat.analysis.studies.uncertain_loads import SOURCES
from myoquat.data import Motion
from myoquat.dynamics.constraints import assemble
from myoquat.joints import ArticulatedSystem, Body
from myoquat.joints.constraints import PointLoop
from myoquat.joints.errors import ModelError
from myoquat.joints.types import EulerJoint
from myoquat.muscle import Model
from myoquat.muscle.coordinates import Marker
from myoquat.muscle.laws import Millard2012
from tests.analysis.motion.conftest import shown
from tests.bodies import on_hinge, with_muscles
from tests.validation.glenohumeral import around
from validation.__main__ import main
from validation.credibility import FACTORS, credibility, pedigree
from validation.files import file_states
from validation.instrumented_shoulder import (
    HASHES,
    carried_by_reserves,
    compare,
    force_with_bands,
    load_trial,
    measured_force,
    study_model,
)

LAW = Millard2012(1500.0, optimal_fiber_length=0.2, tendon_slack_length=0.05, tendon="rigid")
SETUP = """<OpenSimDocument Version="40000"><InverseKinematicsTool><marker_file>of_another_trial.trc</marker_file>
<time_range>0 0.6</time_range><IKTaskSet><objects>{}</objects></IKTaskSet></InverseKinematicsTool></OpenSimDocument>"""
HEAD = "Patient: test\n \nTime\tFgx\tFgy\tFgz\tFg\n[s]\t[N]\t[N]\t[N]\t[N]\n"


def write_force(path, time, force):
    rows = [f"{t + 0.934:.9f}\t" + "\t".join(f"{x:.9f}" for x in f) + "\t0" for t, f in zip(time, force, strict=True)]
    path.write_text(HEAD + "\n".join(rows) + "\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A clavicle and a scapula whose ends are held together, and an arm on a ball joint with eight muscles."""
    folder = tmp_path_factory.mktemp("shoulder")
    part = {"mass": 0.8, "center_of_mass": (0.02, -0.05, 0.02), "inertia": (0.01, 0.01, 0.01, 0, 0, 0)}
    names = ("elv_1", "elv_2", "elv_3")
    bodies = (
        Body("clavicle", "ground", EulerJoint("XYZ"), (0, 1.4, 0.02), coordinate_names=("c1", "c2", "c3"), **part),
        Body("scapula", "ground", EulerJoint("XYZ"), (0, 1.3, 0.1), coordinate_names=("s1", "s2", "s3"), **part),
        Body("humerus", "scapula", EulerJoint("XYZ"), (0, 0.03, 0.05), coordinate_names=names,
             joint_name="GlenoHumeral", **part),
        on_hinge("ulna", "z", "elbow_flexion", parent="humerus", position=(0, -0.3, 0), **part),
    )  # fmt: skip
    socket = (
        Marker("HumHead_Center", "humerus", (0.0, 0.0, 0.0)),
        Marker("Glenoid_Center", "scapula", (0.0, 0.03, 0.02)),
        Marker("Glenoid_Edge", "scapula", (-0.015, 0.03, 0.02)),
    )
    corners = ((0.1, 0.0, 0.0), (0.0, 0.12, 0.0), (0.0, 0.0, 0.14))
    seen = tuple(Marker(f"{body.name}{k}", body.name, p) for body in bodies for k, p in enumerate(corners))
    loop = PointLoop("clavicle", "scapula", (0.0, 0.0, 0.12), (0.0, 0.1, 0.04), name="AC")
    system = ArticulatedSystem(bodies, gravity=(0, -9.81, 0), name="shoulder")
    model = Model(system, around(LAW), markers=(*seen, *socket), constraints=(loop,))
    model.save(folder / "model_raise.osim")
    time = np.linspace(0.0, 0.6, 31)
    held = assemble(model, np.outer(1 - np.cos(3 * time), np.linspace(0.02, 0.4, 10)))
    Motion(model, time, held).save(folder / "published_ik_raise.mot")
    shown(model, Motion(model, time, held)).select([m.name for m in seen]).save(folder / "raise.trc")
    tasks = "".join(f'<IKMarkerTask name="{m.name}"><weight>1</weight></IKMarkerTask>' for m in seen)
    (folder / "published_ik_setup.xml").write_text(SETUP.format(tasks))
    write_force(folder / "measured_force_raise.txt", time, np.ones((31, 3)))
    trial = load_trial(folder, "raise")
    known = compare(trial, ["ellipse"])[0]
    write_force(folder / "measured_force_raise.txt", time, known.force)
    columns = {"time": time, **dict(zip(model.muscle_names, known.found.activation.T, strict=True))}
    pd.DataFrame(columns | dict(zip(("Fx", "Fy", "Fz"), known.force.T, strict=True))).to_csv(
        folder / "published_activations_ellipse.csv", index=False
    )
    return folder


def test_the_force_that_was_measured_is_found_again(folder, capsys):
    """Measured and published are what the chain gave: all differences vanish, and the page holds tables and figures."""
    page = folder / "page.html"
    arguments = [
        "instrumented_shoulder",
        str(folder),
        str(page),
        "--trial",
        "raise",
        "--rule",
        "ellipse",
        "--samples",
        "0",
    ]
    assert main(arguments) is None
    printed = capsys.readouterr().out
    force, activation = (float(row.split()[0]) for row in re.findall(r"^ellipse +(\d.*)$", printed, re.MULTILINE))
    assert force < 1e-3  # the file's digits [N]
    assert activation < 0.01  # the study's filter, which does not keep the constraint
    text = page.read_text()
    assert text.count("<svg") == 2
    assert all(f"<h2>{factor}</h2>" in text for factor in FACTORS)
    assert "correlation" in text
    assert "Not in the list of known files, taken as they are: raise.trc" in text
    assert "leave the constraint open by up to 0.0 mm" in text
    assert float(re.search(r"constraints: (\S+) m", printed)[1]) < 1e-12


def test_directions_are_those_of_the_glenoid(folder):
    """The marker on the posterior edge shows forward; lateral points from the socket to the head."""
    trial = load_trial(folder, "raise")
    force = compare(trial, ["ellipse"])[0].force
    assert (force[:, 2] < 0).all()
    assert (np.abs(force[:, 0]) <= 0.34 * np.abs(force[:, 2]) * (1 + 1e-9)).all()
    assert (np.abs(force[:, 1]) <= 0.61 * np.abs(force[:, 2]) * (1 + 1e-9)).all()


def test_bands_of_the_force_hold_the_recorded_one(folder):
    """The curves are those of the rule at the evaluated frames. Every sample's magnitude is that of its parts. The
    shares are those of all sources."""
    trial = load_trial(folder, "raise")
    found = force_with_bands(trial, "ellipse", UncertainInputs(samples=16, frames=3))
    own = compare(trial, ["ellipse"])[0].force[[0, 15, 30]]
    np.testing.assert_allclose(found.values[:, 1:], own, atol=1e-5)
    np.testing.assert_allclose(found.samples[..., 0], np.linalg.norm(found.samples[..., 1:], axis=-1), rtol=1e-12)
    assert found.names == ("magnitude", "forward", "upward", "lateral")
    assert found.sources == SOURCES
    low, high = found.bands()
    assert (low < high).all()


def test_a_trial_takes_another_model_of_the_folder(folder, tmp_path):
    shutil.copyfile(folder / "model_raise.osim", tmp_path / "saved.osim")
    assert study_model(tmp_path, "raise", "file", "saved.osim") == study_model(folder, "raise", "file")


def test_a_file_without_a_table_is_refused(tmp_path):
    (tmp_path / "force.txt").write_text("Patient\n")
    with pytest.raises(ModelError, match="no table with the columns Time Fgx"):
        measured_force(tmp_path / "force.txt")
    (tmp_path / "force.txt").write_text(HEAD + "0 1 2 x\n")
    with pytest.raises(ModelError, match="not a table of numbers"):
        measured_force(tmp_path / "force.txt")


def test_files_are_compared_with_the_published_ones(tmp_path):
    assert set(file_states(tmp_path, HASHES).values()) == {"missing"}
    (tmp_path / "lateral_raise.trc").write_text("other")
    assert file_states(tmp_path, HASHES)["lateral_raise.trc"] == "other content"
    lines = pedigree(tmp_path, HASHES, ["lateral_raise.trc", "forward_flexion.trc"])
    assert any(line.startswith("Other content") and "lateral_raise.trc" in line for line in lines)
    assert any(line.startswith("Not in the list of known files") and "forward_flexion.trc" in line for line in lines)


def test_headings_are_those_of_the_standard():
    """Each factor has a section, and an unknown one is named."""
    said = credibility({"Validation": "None."})
    assert [section.heading for section in said] == list(FACTORS)
    assert said[FACTORS.index("Input pedigree")].sentences == ("No statement is made.",)
    with pytest.raises(ValueError, match="'Beauty' is no factor"):
        credibility({"Beauty": "much"})


def test_reserves_that_carry_the_motion_are_named(folder):
    """Muscles of a thousandth of the strength leave nearly all torque of the shoulder to the reserves."""
    trial = load_trial(folder, "raise")

    def sentences(factor):
        law = lambda m: replace(m.law, max_isometric_force=factor * m.law.max_isometric_force)  # noqa: E731
        strong = replace(trial, model=with_muscles(trial.model, law=law))
        return carried_by_reserves(compare(strong, ["none"])[0])

    weak = sentences(1e-3)
    assert len(weak) == 3
    assert all(re.match(r"WARNING, rule none: reserves carry (9\d|100)% of the torque of humerus", s) for s in weak)
    assert "reserves carry 21% of the torque of humerus.omega_x" in sentences(1.0)[0]  # its five muscles do the rest
