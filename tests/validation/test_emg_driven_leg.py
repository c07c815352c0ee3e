"""`python -m validation emg_driven_leg` on a leg of its own, and the published muscle in its limits."""

from dataclasses import replace

import numpy as np
import pytest

from myoquat.analysis.recruitment import calibrate_moments, moment_posterior
from myoquat.analysis.recruitment.emg.moment_calibration import trial_arrays
from myoquat.analysis.studies import UncertainInputs
from myoquat.data import Emg
from myoquat.joints import ArticulatedSystem
from myoquat.joints.errors import ModelError
from myoquat.muscle import ActivationDynamics, Model, Muscle, PathPoint
from myoquat.muscle.laws import Thelen2003
from tests.bodies import on_hinge
from validation.__main__ import main
from validation.ceinms import ceinms_force, load_subject
from validation.emg_driven_leg import load_leg, trial_names
from validation.leg_bands import joint_forces

MUSCLES = {"soleus": (-0.04, "shank", "foot", 3000.0), "tibialis": (0.04, "shank", "foot", 900.0),
           "vastus": (0.04, "ground", "shank", 3000.0), "hamstring": (-0.04, "ground", "shank", 1500.0)}  # fmt: skip
JOINTS = {"ankle_angle_r": ("tibialis", "soleus"), "knee_angle_r": ("vastus", "hamstring")}
MUSCLE = """<muscle><name>{}</name><C1>-0.5</C1><C2>-0.5</C2><shapeFactor>-1</shapeFactor>
<optimalFiberLength>0.1</optimalFiberLength><pennationAngle>5</pennationAngle>
<tendonSlackLength>0.25</tendonSlackLength><maxIsometricForce>{}</maxIsometricForce>
<strengthCoefficient>{}</strengthCoefficient></muscle>"""
CURVE = "<Curve><name>{}</name><xPoints>{}</xPoints><yPoints>{}</yPoints></Curve>"
TIME = np.arange(0.0, 6.0, 0.02)


def subject_text(strength):
    curves = (
        CURVE.format("activeForceLength", "0 0.5 1 1.5 2", "0 0.5 1 0.5 0"),
        CURVE.format("passiveForceLength", "0 0.5 1 1.5 2", "0 0 0 0.5 2"),
        CURVE.format("forceVelocity", "-1 -0.5 0 0.5 1", "0 0.3 1 1.4 1.6"),
    )
    default = f"<percentageChange>0.15</percentageChange><damping>0.5</damping>{''.join(curves)}"
    muscles = "".join(MUSCLE.format(name, force, strength) for name, (_, _, _, force) in MUSCLES.items())
    one = "<{0}><name>{1}</name><muscleSequence>{2}</muscleSequence></{0}>"
    joints = "".join(one.format("DoF", name, " ".join(own)) for name, own in JOINTS.items())
    channels = "".join(one.format("Channel", name, name) for name in MUSCLES)
    return (f"<subject><muscleDefault>{default}</muscleDefault><muscles>{muscles}</muscles><DoFs>{joints}</DoFs>"
            f"<Channels>{channels}</Channels></subject>")  # fmt: skip


def write_table(path, columns, degrees="no"):
    rows = ["\t".join(f"{x:.10f}" for x in row) for row in np.column_stack([TIME, *columns.values()])]
    head = f"{path.stem}\nversion=1\nnRows={len(TIME)}\nnColumns={len(columns) + 1}\ninDegrees={degrees}\nendheader"
    path.write_text("\n".join([head, "\t".join(["time", *columns]), *rows]) + "\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two trials of a leg with two hinges; moments follow the envelopes."""
    folder = tmp_path_factory.mktemp("leg")
    bodies = tuple(on_hinge(name, "z", angle, parent=parent, position=at, mass=3.0)
                   for name, parent, at, angle in (("shank", "ground", (0, 0, 0), "knee_angle_r"),
                                                   ("foot", "shank", (0, -0.4, 0), "ankle_angle_r")))  # fmt: skip
    law = Thelen2003(1000.0, optimal_fiber_length=0.1, tendon_slack_length=0.25)
    muscles = tuple(Muscle(name, (PathPoint(a, (x, 0.3 if a == "ground" else -0.06, 0.0)),
                                  PathPoint(b, (x, -0.05, 0.0))), law,
                           activation_dynamics=ActivationDynamics(form="piecewise", minimum_activation=0.01))
                    for name, (x, a, b, _) in MUSCLES.items())  # fmt: skip
    Model(ArticulatedSystem(bodies, name="leg"), muscles).save(folder / "gait2392_subject.osim")
    for file, strength in (("subjectCalibrated.xml", 0.5), ("subjectUncalibrated.xml", 1.0)):
        (folder / file).write_text(subject_text(strength))
    for name, pace in (("slow", 5.0), ("fast", 7.0)):
        wave = {m: 0.05 + 0.4 * np.clip(np.sin(pace * TIME + k), 0, None) ** 2 for k, m in enumerate(MUSCLES)}
        write_table(folder / f"{name}_emgFilt.sto", wave)
        angles = {"knee_angle_r": -20 + 15 * np.sin(pace * TIME), "ankle_angle_r": 8 * np.cos(pace * TIME)}
        write_table(folder / f"{name}_ik.sto", angles, "yes")
        moments = {"ankle_angle_r_moment": 30 * wave["tibialis"] - 90 * wave["soleus"],
                   "knee_angle_r_moment": 80 * wave["vastus"] - 50 * wave["hamstring"]}  # fmt: skip
        write_table(folder / f"{name}_id.sto", moments)
    return folder


def test_page_shows_calibration_and_prediction_and_repeats_its_bits(folder, capsys, monkeypatch):
    """Both trials are on the page, the calibrated moments are nearer than the published ones, and a second run writes
    the same bits."""
    monkeypatch.setattr("validation.pages.DRAWS", 40)
    pages = [folder / "first.html", folder / "second.html"]
    for page in pages:
        arguments = ["emg_driven_leg", str(folder), str(page), "--trial", "slow", "--samples", "16"]
        assert main(arguments) is None
    printed = capsys.readouterr().out
    row = {line.split()[0] + line.split()[1]: line.split()[-2:] for line in printed.splitlines() if line.count("[N m]")}
    for joint in JOINTS:
        assert float(row[f"{joint}here"][0]) < float(row[f"{joint}published"][0])
    text = pages[0].read_text()
    assert text == pages[1].read_text()
    assert text.count("<svg") == 4
    assert text.count("90% of the 16 samples of parameters, attachments lie in the bands") == 2
    assert "Other content than published under this name: gait2392_subject.osim, subjectCalibrated.xml" in text


def test_joint_forces_are_those_of_the_muscles_that_pass(folder):
    """The shank has muscles of both joints: with one muscle at each joint, its tension, and the band holds it."""
    data = load_leg(folder, ["slow"])
    own = tuple(m for m in data.model.muscles if m.name in ("soleus", "vastus"))
    trial = data.trials["slow"]
    signal = trial.emg.signal[:, [data.model.muscle_names.index(m.name) for m in own]]
    trial = replace(trial, emg=Emg(trial.emg.time, tuple(m.name for m in own), signal, "1"))
    found = calibrate_moments(replace(data.model, muscles=own), [trial], error_time=0.5)
    forces = joint_forces(moment_posterior(found, samples=40), trial, UncertainInputs(frames=11))
    rows = UncertainInputs(frames=11).times(len(trial.motion.time))
    record = trial_arrays(found.original, replace(trial, moments={}), found.velocities).at(rows)
    tension = found.tensions_along(record)
    order = [found.original.muscle_names.index(name) for name in ("soleus", "vastus")]  # ankle, knee
    np.testing.assert_allclose(forces.values, tension[:, order], rtol=1e-12)
    low, high = forces.bands
    assert (low < high).all()
    assert ((forces.values > low) & (forces.values < high)).mean() > 0.8


def test_muscle_at_rest_pulls_as_its_curves_say(folder):
    """Full activation at the optimal length: strength times force times the cosine of the pennation."""
    subject = load_subject(folder / "subjectCalibrated.xml")
    length = 0.25 + 0.1 * np.cos(np.radians(5.0))
    force = ceinms_force(subject, "soleus", TIME, np.full(len(TIME), length), np.ones(len(TIME)))
    np.testing.assert_allclose(force, 0.5 * 3000 * np.cos(np.radians(5.0)), rtol=1e-12)


def test_trials_and_files_that_are_missing_are_named(folder, tmp_path):
    assert trial_names(folder) == ["fast", "slow"]
    with pytest.raises(ModelError, match=r"no trial 'run' .* fast, slow"):
        load_leg(folder, ["run"])
    (tmp_path / "subject.xml").write_text("<subject/>")
    with pytest.raises(ModelError, match="not a subject of CEINMS"):
        load_subject(tmp_path / "subject.xml")
