"""CMCTool: its setup, and the files of a limb that follows a motion."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import myoquat as mq
from myoquat.analysis.motion.inverse_kinematics import MotionWarning
from myoquat.analysis.recruitment import computed_muscle_control
from myoquat.apps.opensim_tools import run_setup, tools
from myoquat.data import Motion, load_table
from myoquat.data.setups import CmcSetup, read_setup
from myoquat.joints import ModelError
from myoquat.joints.functions import Constant
from myoquat.muscle import ActivationDynamics, Muscle, PathPoint
from myoquat.muscle.actuators import CoordinateActuator
from myoquat.muscle.laws import Millard2012
from tests.bodies import limbs

SETUP = """<OpenSimDocument Version="20302"><CMCTool name="limb"><model_file>limb.osim</model_file>
<force_set_files>motors.xml</force_set_files><results_directory>found</results_directory>
<initial_time>0.1</initial_time><final_time>0.18</final_time><desired_kinematics_file>swing.mot</desired_kinematics_file>
<task_set_file>tasks.xml</task_set_file><constraints_file>limits.xml</constraints_file>
<cmc_time_window>0.01</cmc_time_window></CMCTool></OpenSimDocument>"""
TASKS = """<CMC_TaskSet><objects><CMC_Joint name="knee"><on>true</on><active>true false false</active>
<kp>400 1 1</kp><kv>{0} 1 1</kv>
<coordinate>knee</coordinate></CMC_Joint>{1}</objects></CMC_TaskSet>"""
DYNAMICS = ActivationDynamics(form="piecewise", minimum_activation=0.01)
MOTORS = """<ActuatorSet><objects><CoordinateActuator name="motor"><coordinate>knee</coordinate>
<optimal_force>1</optimal_force></CoordinateActuator><TorqueActuator name="twist"><bodyA>limb</bodyA>
<bodyB>ground</bodyB><axis>0 0 1</axis></TorqueActuator><BodyActuator name="push">
<socket_body>/bodyset/limb</socket_body></BodyActuator></objects></ActuatorSet>"""


@pytest.fixture
def folder(tmp_path):
    """A limb on a hinge with two muscles, its swing, and what a setup names."""
    muscles = []
    for name, side in (("front", 0.1), ("back", -0.1)):
        path = (PathPoint("ground", (side, 0.2, 0.0)), PathPoint("limb", (side / 2, -0.1, 0.0)))
        law = Millard2012(400.0, 0.15, 0.15, tendon="rigid", damping=0.0)
        muscles.append(Muscle(name, path, law=law, activation_dynamics=DYNAMICS))
    model = mq.Model(limbs(limb="knee"), tuple(muscles), name="limb")
    model.save(tmp_path / "limb.osim")
    t = np.arange(0.0, 0.35, 0.005)
    Motion(model, t, np.radians(20 * np.sin(6 * t))[:, None]).save(tmp_path / "swing.mot")
    files = {"setup": SETUP, "tasks": TASKS.format(40, ""), "motors": MOTORS, "limits": "<ControlSet/>"}
    for name, text in files.items():
        (tmp_path / f"{name}.xml").write_text(text)
    return tmp_path


def test_a_limb_follows_its_swing(folder, monkeypatch):
    """Frames as far apart as the window, coordinates near those of the file, and what has no equal is named."""
    followed = partial(computed_muscle_control, backend="numpy", step=1e-3)
    monkeypatch.setattr(tools, "computed_muscle_control", followed)
    analyses = '<AnalysisSet><objects><Kinematics name="moves"/><ForceReporter name="forces"/></objects></AnalysisSet>'
    (folder / "setup.xml").write_text(SETUP.replace("<task_set", f"{analyses}<task_set"))
    limb = mq.load_model(folder / "limb.osim")
    replace(limb, inputs=(mq.muscle.PrescribedInput("front", Constant(0.1)),)).save(
        folder / "limb.osim", overwrite=True
    )
    with pytest.warns(MotionWarning) as messages:
        written = run_setup(folder / "setup.xml")
    words = " ".join(str(one.message) for one in messages)
    assert "<constraints_file> is left out" in words
    assert "<BodyActuator> push is left out" in words
    assert "the model's controllers of front are left out" in words
    tables = {path.name.removeprefix("limb_").removesuffix(".sto"): path for path in written}
    tables = {name: load_table(path) if path.suffix == ".sto" else path for name, path in tables.items()}
    several = {f"{name}_{end}" for name, ends in (("moves", "q u dudt"), ("Actuation", "force speed power"))
               for end in ends.split()}  # fmt: skip
    assert set(tables) == several | {"controls", "pErr", "states", "forces_forces", "controls.xml"}
    assert list(tables["states"]) == [
        *(f"/jointset/limb/knee/{part}" for part in ("value", "speed")),
        *(f"/forceset/{name}/activation" for name in ("front", "back")),
    ]
    q = tables["moves_q"]
    columns = ["front", "back", "motor", "twist"]
    np.testing.assert_array_equal(tables["forces_forces"][columns], tables["Actuation_force"][columns])
    np.testing.assert_allclose(tables["states"].iloc[:, 0], np.radians(q["knee"]), atol=1e-12)
    np.testing.assert_allclose(q.index, 0.1 + 0.01 * np.arange(9), atol=1e-12)
    assert np.abs(q["knee"] - 20 * np.sin(6 * q.index)).max() < 0.5
    np.testing.assert_allclose(np.radians(q["knee"] - 20 * np.sin(6 * q.index)), -tables["pErr"]["knee"], atol=1e-5)
    controls, forces = tables["controls"], tables["Actuation_force"]
    assert list(controls.columns) == list(forces.columns) == ["front", "back", "motor", "twist"]
    assert controls[["front", "back"]].to_numpy().min() >= 0.0
    np.testing.assert_allclose(controls[["motor", "twist"]], forces[["motor", "twist"]], atol=1e-12)  # of 1 N m
    assert (forces[["motor", "twist"]].abs().max() > 1e-3).all()
    assert (forces[["front", "back"]].max() > 1.0).all()


def test_setups_that_have_no_equal(folder):
    found = read_setup(folder / "setup.xml")
    assert isinstance(found, CmcSetup)
    assert (found.window, found.tracked) == (0.01, {"knee": 20.0})
    second = "<active>true</active><kp>100</kp><kv>20</kv><coordinate>b</coordinate>"
    other = TASKS.format(40, f'<CMC_Joint name="b">{second}</CMC_Joint>')
    (folder / "tasks.xml").write_text(other.replace("CMC_", "rdCMC_"))  # as versions before 4 name them
    older = read_setup(folder / "setup.xml")
    assert isinstance(older, CmcSetup)
    assert older.tracked == {"knee": 20.0, "b": 10.0}
    for text, words in (
        (TASKS.format(30, ""), "damp critically"), (other.replace(">b<", ">knee<"), "a second task for the coordinate"),
        (TASKS.format(40, "<CMC_Point><active>true</active></CMC_Point>"), "not <CMC_Point>"),
        ("<CMC_TaskSet/>", "no task is on"), (TASKS.format(40, "").replace("true false", "yes false"), "not 'yes'"),
        (TASKS.format(40, "").replace("<kp>", "<weight>0 1 1</weight><kp>"), "no task is on"),
    ):  # fmt: skip
        (folder / "tasks.xml").write_text(text)
        with pytest.raises(ModelError, match=words):
            read_setup(folder / "setup.xml")


def test_a_coordinate_without_a_task_is_left_free(folder):
    """A hip without a task over a knee with one. Both have motors, and effort f^2 over their strengths squared. Values
    of OpenSim 4.6's CMCTool with the same files and a window of 1 ms [degrees]."""
    motors = CoordinateActuator("a", "hip", optimal_force=5.0), CoordinateActuator("b", "knee", optimal_force=20.0)
    model = mq.Model(limbs(2.0, thigh="hip", shank="knee"), actuators=motors, name="limb")
    model.save(folder / "limb.osim", overwrite=True)
    t = np.arange(0.0, 0.65, 0.005)
    swing = np.stack([0.3 + 0.2 * np.sin(3 * t), 0.4 * np.sin(5 * t)], axis=1)
    Motion(model, t, swing).save(folder / "swing.mot", overwrite=True)
    setup = SETUP.replace("<force_set_files>motors.xml</force_set_files>", "").replace("0.18<", "0.4<")
    setup = setup.replace("<constraints_file>limits.xml</constraints_file>", "")
    (folder / "setup.xml").write_text(setup.replace(">0.1<", ">0<"))
    with pytest.warns(MotionWarning, match="hip: without a task in the setup, and left free"):
        written = run_setup(folder / "setup.xml")
    q = load_table(next(path for path in written if path.name == "limb_Kinematics_q.sto"))
    expected = [[17.18873385, 0.0], [19.04644523, 10.9871315], [17.85364221, 19.28174238], [14.00011257, 22.85354007]]
    np.testing.assert_allclose(q.iloc[[0, 10, 20, 30]][["hip", "knee"]], expected, atol=0.01)
    errors = load_table(next(path for path in written if path.name == "limb_pErr.sto"))
    assert list(errors.columns) == ["knee"]  # OpenSim has the coordinates of tasks
    np.testing.assert_allclose(errors["knee"], 0.4 * np.sin(5 * q.index) - np.radians(q["knee"]), atol=1e-4)
