"""ForwardTool: its setup, the files of what moves, and OpenSim's tool beside it."""

import shutil
from types import SimpleNamespace

import numpy as np
import pytest

import myoquat as mq
from myoquat.analysis.motion.inverse_kinematics import MotionWarning
from myoquat.apps.opensim_tools import run_setup
from myoquat.apps.opensim_tools.analyses import force_reporter
from myoquat.apps.opensim_tools.moving import Moving
from myoquat.data import UnsupportedWarning, load_table
from myoquat.data.motions import Motion
from myoquat.data.osim.sets import read_force_set
from myoquat.data.setups import ForwardSetup, read_setup
from myoquat.data.setups.analyses import ForceReporterSetup
from myoquat.joints import ModelError
from myoquat.muscle import ActivationDynamics, Muscle, PathPoint
from myoquat.muscle.coordinates import Coordinate
from myoquat.muscle.forces import (
    ContactHalfSpace,
    ContactMaterial,
    ContactSphere,
    CoordinateSpring,
    HuntCrossley,
    PointSpring,
)
from myoquat.muscle.forces.coordinates import CoordinateLimit
from myoquat.muscle.laws import PathActuator, Thelen2003
from tests.analysis.motion.conftest import edited
from tests.bodies import limbs, on_hinge

SETUP = """<OpenSimDocument Version="40000"><ForwardTool name="limb"><model_file>limb.osim</model_file>
<force_set_files>motors.xml</force_set_files><results_directory>found</results_directory>
<initial_time>0.105</initial_time><final_time>0.3</final_time>
<integrator_error_tolerance>1e-8</integrator_error_tolerance>
<solve_for_equilibrium_for_auxiliary_states>false</solve_for_equilibrium_for_auxiliary_states>
<AnalysisSet name="Analyses"><objects><Kinematics name="Kinematics"><on>true</on></Kinematics><ForceReporter name="All">
<on>true</on></ForceReporter></objects></AnalysisSet>
<ControllerSet name="Controllers"><objects>
<ControlSetController name="steps"><controls_file>steps.xml</controls_file></ControlSetController>
<ControlSetController name="table"><controls_file>table.sto</controls_file></ControlSetController>
<CorrectionController name="correction"><kp>4</kp><kv>1</kv></CorrectionController>
</objects></ControllerSet>
<external_loads_file>loads.xml</external_loads_file><states_file>states.sto</states_file></ForwardTool></OpenSimDocument>"""
MOTORS = """<ForceSet><objects><TorqueActuator name="twist"><bodyA>shank</bodyA><bodyB>ground</bodyB><axis>0 0 1</axis>
<optimal_force>2</optimal_force></TorqueActuator></objects></ForceSet>"""
BODIES, PARTS = ("shank", "ground"), [f"{quantity}.{axis}" for quantity in ("force", "torque") for axis in "XYZ"]
DYNAMICS = ActivationDynamics(form="piecewise", minimum_activation=0.01)
NODE = "<ControlLinearNode><t>{0}</t><value>{1}</value></ControlLinearNode>"
CONTROL = """<ControlLinear name="{0}"><use_steps>{1}</use_steps><extrapolate>false</extrapolate>
<x_nodes>{2}</x_nodes></ControlLinear>"""
LOADS = """<OpenSimDocument Version="40000"><ExternalLoads name="loads"><objects><ExternalForce name="push">
<applied_to_body>shank</applied_to_body><force_expressed_in_body>ground</force_expressed_in_body>
<point_expressed_in_body>shank</point_expressed_in_body><force_identifier>f</force_identifier>
<point_identifier>p</point_identifier></ExternalForce></objects><datafile>loads.sto</datafile></ExternalLoads>
</OpenSimDocument>"""


def storage(name, labels, rows):
    text = "\n".join("\t".join(f"{x:.17g}" for x in row) for row in rows)
    return f"{name}\nversion=1\nnRows={len(rows)}\nnColumns={len(labels)}\ninDegrees=no\nendheader\n" + (
        "\t".join(labels) + "\n" + text + "\n"
    )


@pytest.fixture
def folder(tmp_path):
    """A thigh, whose hinge is locked but for a start elsewhere, and a shank with two elastic muscles."""
    muscles = []
    for name, side in (("front", 0.05), ("back", -0.05)):
        path = (PathPoint("thigh", (side, -0.1, 0.0)), PathPoint("shank", (side, -0.1, 0.0)))
        law = Thelen2003(400.0, 0.15, 0.25)
        muscles.append(Muscle(name, path, law, activation_dynamics=DYNAMICS))
    heel = ContactSphere("heel", "shank", (0.0, -0.4, 0.0), 0.05)
    floor = ContactHalfSpace("floor_plane", "ground", (0.0, -0.81, 0.0), (0.0, 1.0, 0.0))
    model = mq.Model(
        limbs(thigh="hip", shank="knee"),
        tuple(muscles),
        name="limb",
        coordinates=(Coordinate("hip", locked=True), Coordinate("knee")),
        limits=(CoordinateLimit("stop", "knee", -0.1, 0.0, 20.0, 20.0, 0.2),),
        forces=(HuntCrossley("floor", (ContactMaterial((heel, floor), stiffness=1e4, dissipation=0.5),)),),
        start_q=(0.2, 0.0),
    )
    model.save(tmp_path / "limb.osim")
    labels = ["time", "/jointset/thigh/hip/value", "/jointset/thigh/hip/speed", "/jointset/shank/knee/value"]
    labels += ["/jointset/shank/knee/speed"]
    labels += [f"/forceset/{m}/{x}" for m in ("front", "back") for x in ("activation", "fiber_length")]
    # of the row at the start alone the activations count, so that others may be impossible
    rows = [(t, 0.2, 0.0, 0.1 * t, 0.1, 0.3 + 3 * (t == 0.4), 0.15, 0.1, 0.16) for t in (0.0, 0.1, 0.2, 0.4)]
    times = np.linspace(0.0, 0.5, 26)
    push = [(t, 3 * np.sin(20 * t), 2.0, 0.0, 0.0, -0.3, 0.01) for t in times]
    steps = CONTROL.format(
        "front", "true", "".join(NODE.format(t, v) for t, v in ((0.1, 0.2), (0.15, 0.8), (0.25, 0.3)))
    )
    twist = CONTROL.format("twist", "false", "".join(NODE.format(t, v) for t, v in ((0.0, 0.0), (0.4, 1.0))))
    files = {
        "setup.xml": SETUP,
        "motors.xml": MOTORS,
        "loads.xml": LOADS,
        "steps.xml": '<OpenSimDocument Version="40000"><ControlSet name="c"><objects>'
        f"{steps}{twist}</objects></ControlSet></OpenSimDocument>",
        "table.sto": storage("controls", ["time", "back.excitation"], [(0.0, 0.1), (0.2, 0.6), (0.5, 0.1)]),
        "loads.sto": storage("loads", ["time", "fx", "fy", "fz", "px", "py", "pz"], push),
        "states.sto": storage("states", labels, rows),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def tables(folder, setup="setup.xml"):
    return {path.name.removeprefix("limb_"): load_table(path) for path in run_setup(folder / setup)}


def assert_near(mine, theirs, everywhere, at_end):
    """Rows of theirs are joined by lines."""
    for label in mine:
        found = np.interp(mine.index, theirs.index, theirs[label])
        off, scale = np.abs(mine[label].to_numpy() - found), max(1.0, np.abs(found).max())
        assert off.max() < everywhere * scale, label
        assert off[-1] < at_end * scale, label


@pytest.mark.peers
def test_the_limb_moves_as_in_opensim(folder, tmp_path_factory, in_opensim):
    there = tmp_path_factory.mktemp("opensim") / "limb"
    shutil.copytree(folder, there)
    in_opensim("import os\nos.chdir(arguments[0])\nanswer = opensim.ForwardTool('setup.xml').run()", str(there))
    ours = tables(folder)
    assert set(ours) == {"controls.sto", "states.sto", "states_degrees.mot", "Kinematics_q.sto", "Kinematics_u.sto",
                         "Kinematics_dudt.sto", "All_forces.sto"}  # fmt: skip
    for name in ("states.sto", "states_degrees.mot"):
        mine, theirs = ours[name], load_table(there / "found" / f"limb_{name}")
        assert list(mine.columns) == list(theirs.columns)
        for table in (mine, theirs):
            np.testing.assert_allclose(table.index[[0, -1]], (0.1, 0.3), rtol=1e-12)
        theirs = theirs[~theirs.index.duplicated()]
        assert_near(mine, theirs, 5e-4, 5e-6)
    mine, theirs = ours["All_forces.sto"], load_table(there / "found" / "limb_All_forces.sto")
    pushed = {f"shank_push_{part}{axis}" for part in "Fp" for axis in "xyz"}
    named = {"front", "back", "twist", "stop", "knee_corrector"}
    assert set(mine) == {*named, *(f"floor.{b}.{p}" for b in BODIES for p in PARTS), *pushed}
    assert_near(mine, theirs, 5e-3, 1e-5)
    dudt = "Kinematics_dudt.sto"
    assert_near(ours[dudt], load_table(there / "found" / f"limb_{dudt}"), 0.02, 1e-4)  # with the correction's torque
    assert np.abs(mine["floor.shank.force.Y"]).max() > 1.0
    knee = ours["states.sto"]["/jointset/shank/knee/value"]
    assert np.abs(np.degrees(knee) - ours["states_degrees.mot"]["/jointset/shank/knee/value"]).max() < 1e-9
    assert np.abs(knee - knee.iloc[0]).max() > 0.05


def test_the_locked_joint_is_held_and_controls_are_those_of_the_files(folder):
    found = tables(folder)
    assert np.abs(found["states.sto"]["/jointset/thigh/hip/value"] - 0.2).max() < 1e-9
    controls = found["controls.sto"]
    np.testing.assert_allclose(controls["twist"], controls.index / 0.4, atol=1e-12)
    np.testing.assert_allclose(
        controls["back"], np.interp(controls.index, (0.0, 0.2, 0.5), (0.1, 0.6, 0.1)), atol=1e-12
    )
    np.testing.assert_allclose(controls["front"][controls.index < 0.149], 0.8)
    assert np.diff(controls.index).max() < 0.01 + 1e-12


def test_fibers_start_in_balance_where_the_setup_says_so(folder):
    label = "/forceset/front/fiber_length"
    before = tables(folder)["states.sto"][label].iloc[0]
    assert before == pytest.approx(0.15)  # as in the file
    setup = folder / "setup.xml"
    tag = "solve_for_equilibrium_for_auxiliary_states"
    setup.write_text(setup.read_text().replace(f"<{tag}>false", f"<{tag}>true"))
    assert abs(tables(folder)["states.sto"][label].iloc[0] - before) > 1e-4


def test_torques_of_files_without_a_version_push_the_other_way(folder):
    """As in OpenSim, whose documents before 10905 name the direction of the reaction."""
    (old,) = read_force_set(folder / "motors.xml")
    (folder / "motors.xml").write_text(f'<OpenSimDocument Version="40000">{MOTORS}</OpenSimDocument>')
    (new,) = read_force_set(folder / "motors.xml")
    assert (old.axis, new.axis) == ((0.0, 0.0, -1.0), (0.0, 0.0, 1.0))


@pytest.mark.filterwarnings("ignore::myoquat.analysis.motion.inverse_kinematics.MotionWarning")
def test_without_states_the_model_s_own_start(folder):
    text = SETUP[: SETUP.index("<ControllerSet")] + (
        '<ControllerSet name="c"><objects><PrescribedController name="p"><actuator_list>front twist</actuator_list>'
        '<FunctionSet name="ControlFunctions"><objects><NaturalCubicSpline name="front"><x>0 1 2 3</x><y>0 1 2 3</y>'
        '</NaturalCubicSpline><Constant name="twist"><value>0.5</value></Constant></objects></FunctionSet>'
        '</PrescribedController><ToyReflexController name="toy"/></objects></ControllerSet></ForwardTool>'
        "</OpenSimDocument>"
    )
    (folder / "own.xml").write_text(text)
    with pytest.warns(MotionWarning) as messages:
        found = tables(folder, "own.xml")
    words = " ".join(str(one.message) for one in messages)
    assert "<ToyReflexController> toy is left out" in words
    assert "fiber lengths start in balance" in words
    states, controls = found["states.sto"], found["controls.sto"]
    assert (states.index[0], states.iloc[0]["/jointset/thigh/hip/value"]) == (0.105, 0.2)
    assert states.iloc[0]["/forceset/front/activation"] == 0.05
    np.testing.assert_allclose(controls["front"], controls.index, atol=1e-12)
    assert (controls["twist"] == 0.5).all()
    assert (controls["back"] == 0.0).all()
    (folder / "own.xml").write_text(text.replace("Constant", "Unknown"))
    with pytest.warns(UnsupportedWarning, match="function that is not known"):
        tables(folder, "own.xml")


def test_springs_and_what_has_no_column(tmp_path):
    hinge = on_hinge("shank", "z", "knee", damping=0.1)
    forces = (
        CoordinateSpring("spring", "knee", stiffness=3.0, rest=0.1, damping=0.2),
        PointSpring("rope", "ground", "shank", (1.0, 0.0, 0.0), (0.0, -1.0, 0.0), 5.0, 0.1),
    )
    model = mq.Model(mq.ArticulatedSystem((hinge,)), forces=forces)
    q, u = np.random.default_rng(0).normal(size=(2, 5, 1))
    moving = Moving(
        SimpleNamespace(results=tmp_path, name="swing"), model, Motion(model.system, np.arange(5.0), q, u), None,
        np.zeros((5, 0)),
    )  # fmt: skip
    with pytest.warns(MotionWarning) as messages:
        ((ending, _, table),) = force_reporter(moving, ForceReporterSetup("forces", 1, True, True))
    words = " ".join(str(one.message) for one in messages)
    for part in ("constraints", "whole joints", "rope"):
        assert part in words
    assert ending == "forces"
    np.testing.assert_allclose(table["spring"], (-3 * (q - 0.1) - 0.2 * u)[:, 0], rtol=1e-14)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("<final_time>0.3", "<final_time>0.1", "must be later than"),
        ("<integrator_error_tolerance>1e-8", "<integrator_error_tolerance>0", "must be positive"),
        ("<states_file>states.sto</states_file>", "", "<CorrectionController> needs <states_file>"),
        ("<model_file>limb.osim", "<model_file>", "<model_file> names no model; --model FILE"),
        ("<force_set_files>", "<replace_force_set>true</replace_force_set><force_set_files>", "must be false"),
    ],
)
def test_setups_that_cannot_be(folder, old, new, words):
    assert isinstance(read_setup(folder / "setup.xml"), ForwardSetup)
    with pytest.raises(ModelError, match=words):
        read_setup(edited(folder / "setup.xml", old, new))


def test_states_after_the_end_are_refused(folder):
    edited(folder / "setup.xml", "0.105", "0.05", "<final_time>0.3", "<final_time>0.06")
    text = (folder / "states.sto").read_text().splitlines()
    (folder / "states.sto").write_text("\n".join(text[:7] + text[9:]).replace("nRows=4", "nRows=2") + "\n")
    with pytest.raises(ModelError, match=r"not before 0\.06 s"):
        run_setup(folder / "setup.xml")


LATE = """<OpenSimDocument Version="40000"><ForceSet><objects><ActivationCoordinateActuator name="twist">
<coordinate>knee</coordinate><optimal_force>2</optimal_force><activation_time_constant>0.05</activation_time_constant>
<default_activation>0.1</default_activation></ActivationCoordinateActuator></objects></ForceSet></OpenSimDocument>"""
AGAIN = """<OpenSimDocument Version="40000"><AnalyzeTool name="again"><model_file>limb.osim</model_file>
<force_set_files>motors.xml</force_set_files><results_directory>seen</results_directory><initial_time>0</initial_time>
<final_time>1</final_time><states_file>found/limb_states.sto</states_file><AnalysisSet name="Analyses"><objects>
<ForceReporter name="All"><on>true</on></ForceReporter></objects></AnalysisSet></AnalyzeTool></OpenSimDocument>"""


def test_delayed_actuators_begin_with_the_file_of_states_and_are_seen_in_it(folder):
    """da/dt = (x - a) / tau under x = t / 0.4: a = x - tau / 0.4 + c exp(-t / tau)."""
    (folder / "motors.xml").write_text(LATE)
    states = (folder / "states.sto").read_text().splitlines()
    at = states.index("endheader")
    column = ["/forceset/twist/activation"] + ["0.7"] * 4
    rows = [f"{row}\t{entry}" for row, entry in zip(states[at + 1 :], column, strict=True)]
    text = "\n".join([*states[: at + 1], *rows, ""]).replace("nColumns=9", "nColumns=10")
    (folder / "states.sto").write_text(text)
    found = tables(folder)
    activation = found["states.sto"]["/forceset/twist/activation"]
    t, start = activation.index, 0.7 - (0.1 / 0.4 - 0.05 / 0.4)
    expected = t / 0.4 - 0.05 / 0.4 + start * np.exp(-(t - 0.1) / 0.05)
    np.testing.assert_allclose(activation, expected, atol=1e-6)
    np.testing.assert_allclose(found["controls.sto"]["twist"], t / 0.4, atol=1e-12)
    np.testing.assert_allclose(found["All_forces.sto"]["twist"], 2 * activation, rtol=1e-9)
    (folder / "again.xml").write_text(AGAIN)
    (seen,) = (load_table(path) for path in run_setup(folder / "again.xml"))
    np.testing.assert_allclose(seen["twist"], 2 * activation, rtol=1e-6)


def test_an_actuator_without_a_controller_does_nothing(tmp_path):
    """A pendulum, m l^2 x'' = -m g l sin x, beside a string that nothing pulls: small oscillations in closed form."""
    bob = on_hinge("bob", "z", "x", center_of_mass=(0.0, -0.4, 0.0))
    path = PathPoint("ground", (0.2, 0.0, 0.0)), PathPoint("bob", (0.1, -0.3, 0.0))
    system = mq.ArticulatedSystem((bob,), gravity=(0.0, -9.81, 0.0))
    mq.Model(system, (Muscle("string", path, PathActuator(100.0)),), name="bob", start_q=(1e-3,)).save(
        tmp_path / "bob.osim"
    )
    setup = """<OpenSimDocument Version="40000"><ForwardTool name="bob"><model_file>bob.osim</model_file>
<results_directory>.</results_directory><initial_time>0</initial_time><final_time>0.5</final_time>
<integrator_error_tolerance>1e-9</integrator_error_tolerance></ForwardTool>
</OpenSimDocument>"""
    (tmp_path / "setup.xml").write_text(setup)
    written = run_setup(tmp_path / "setup.xml")
    states = load_table(next(path for path in written if path.name == "bob_states.sto"))
    expected = 1e-3 * np.cos(np.sqrt(9.81 / 0.4) * states.index)
    np.testing.assert_allclose(states["/jointset/bob/x/value"], expected, atol=1e-8)
