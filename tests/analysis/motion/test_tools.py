"""Setup files of OpenSim's tools: run here and by OpenSim, and refused with file and line where they are broken."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from fuzz.setups import ID, IK, REACTION, SCALE

from myoquat.analysis.motion import MotionWarning, inverse_kinematics, scale_model
from myoquat.apps.command import main
from myoquat.apps.opensim_tools import run_setup
from myoquat.data import (
    ImplausibleWarning,
    Motion,
    UnsupportedWarning,
    load_markers,
    load_model,
    load_motion,
    load_table,
    muscle_states_from_motion,
    save_table,
)
from myoquat.data.setups import read_setup
from myoquat.data.setups.document import PROPERTIES
from myoquat.joints import ArticulatedSystem, EllipsoidJoint, EulerJoint, ModelError, frame_velocity
from myoquat.joints.functions import Linear
from myoquat.muscle import Model, Muscle, PathPoint, PrescribedInput, muscle_state_rates
from myoquat.muscle.actuators import CoordinateActuator
from myoquat.muscle.laws import Millard2012
from tests.analysis.motion.conftest import edited, shown
from tests.bodies import on_joint

WANTED = "locked coordinates stay where the fit starts, away from their wanted values. 'toe_angle'"


@pytest.fixture
def folder(leg, tmp_path):
    """A leg, its slow walk and what its markers show."""
    flat = replace(leg, couplers=())
    flat.save(tmp_path / "leg.osim")
    t = np.arange(60) / 100
    k = np.arange(leg.system.nq)
    q = flat.start + 0.3 * np.sin(3 * t[:, None] + k) * (np.array(leg.system.coordinate_names) != "toe_angle")
    q[:, leg.system.coordinate_names.index("shank_angle")] -= 0.6
    motion = Motion(flat.system, t, q)
    motion.save(tmp_path / "walk.mot")
    shown(flat, motion, 0.002, np.random.default_rng(3)).save(tmp_path / "walk.trc")
    tasks = "".join(f'<IKMarkerTask name="{m.name}"/>' for m in flat.markers[1:] if m.name != "thigh0")
    for name, text in (("ik.xml", IK.format(tasks=tasks)), ("id.xml", ID), ("jr.xml", REACTION), ("scale.xml", SCALE)):
        (tmp_path / name).write_text(text)
    return tmp_path


def test_inverse_kinematics_of_a_setup(folder):
    with pytest.warns(MotionWarning, match=WANTED):
        written = run_setup(folder / "ik.xml")
    assert [p.name for p in written] == ["ik.mot", "walk_ik_marker_errors.sto", "walk_ik_model_marker_locations.sto"]
    model, markers = load_model(folder / "leg.osim"), load_markers(folder / "walk.trc").between(0.05, 0.3)
    used = [name for name in markers.names if name != model.markers[0].name]
    weights = {"thigh0": 2.0, "toe_angle": 3.0 * (len(used) + 1)}
    with pytest.warns(MotionWarning, match=WANTED):
        fit = inverse_kinematics(model, markers.select(used), weights, coordinates={"toe_angle": 0.1})
    table = load_table(folder / "ik.mot")
    assert np.allclose(table, fit.angles(in_degrees=True), atol=1e-6)
    assert table.attrs["name"] == "Coordinates"
    errors = load_table(folder / "out" / "walk_ik_marker_errors.sto")
    assert np.allclose(errors["marker_error_RMS"], fit.marker_rms, atol=1e-9)
    again = load_motion(folder / "ik.mot", model)
    poses, first = model.system.poses(again.q), {m.name: m for m in model.markers}["thigh0"]
    x = poses["thigh"][1] + poses["thigh"][0] @ np.array(first.position)
    positions = load_table(folder / "out" / "walk_ik_model_marker_locations.sto")
    assert np.allclose(positions[["thigh0_tx", "thigh0_ty", "thigh0_tz"]], x, atol=1e-9)


def test_tasks_without_a_marker_are_reported(folder):
    text = (folder / "ik.xml").read_text()
    edited(folder / "ik.xml", text[text.index("<IKTaskSet>") : text.index("</IKTaskSet>")], "<IKTaskSet>")
    with pytest.warns(MotionWarning, match=r"ik\.xml: the task set names no marker: all 23 that the model has"):
        run_setup(folder / "ik.xml")


LEFT_OUT = "left out: {}, which the setup asks for and the recording lacks"
TIMES = [  # setup, first and last time, and what is left out of them
    ("ik.xml", -2, 7, "-2 to 0 s and 0.59 to 7 s"),
    ("jr.xml", 0, 7, "0.59 to 7 s"),
    ("jr.xml", 0, 1, ""),  # OpenSim's default
    ("ik.xml", "-Inf <!-- all -- of it -->", "Inf", ""),  # as OpenSim's tool writes all frames
    ("jr.xml", "-Inf", "infinity", ""),
]


def lasting(path, first, last):
    """The setup, over other times."""
    text = re.sub("<time_range>[^<]*", f"<time_range>{first} {last}", path.read_text())
    text = re.sub("<initial_time>[^<]*", f"<initial_time>{first}", text)
    path.write_text(re.sub("<final_time>[^<]*", f"<final_time>{last}", text))
    return path


@pytest.mark.filterwarnings(f"ignore:{WANTED}")
@pytest.mark.parametrize(("file", "first", "last", "left_out"), TIMES)
def test_times_that_a_recording_lacks_are_reported(folder, file, first, last, left_out):
    """Not those of a tool that names 0 to 1 s or all times. A recording has 60 frames."""
    lines: list[str] = []
    written = run_setup(lasting(folder / file, first, last), tell=lines.append)
    assert len(load_table(written[0])) == 60
    assert [line for line in lines if line.startswith("left out")] == [LEFT_OUT.format(left_out)] * bool(left_out)


def test_times_that_the_motion_of_inverse_dynamics_lacks_raise_a_warning(folder):
    with pytest.warns(MotionWarning, match="left out: -1 to 0 s and 0.59 to 100 s, which the setup asks for"):
        run_setup(lasting(folder / "id.xml", -1, 100))


@pytest.mark.parametrize(
    ("file", "first", "last", "words"),
    [
        ("ik.xml", 7, 8, r"ik\.xml: no frame lies in <time_range>"),
        ("id.xml", 100, 101, r"id\.xml: the times 100 to 101 s .*: no frame lies there$"),
        ("ik.xml", "nan", "inf", "<time_range> must be finite numbers or Inf, not 'nan inf'"),
    ],
)
def test_times_without_a_frame_are_rejected(folder, file, first, last, words):
    with pytest.raises(ModelError, match=words):
        run_setup(lasting(folder / file, first, last))


def test_reactions_in_the_frame_of_a_joint(folder):
    """A frame a quarter turn about z from that of the foot, whose x is the foot's y, at (0.1, 0.2, 0.3) m."""
    text = (folder / "leg.osim").read_text()
    joint = text.index('name="foot_offset"', text.index("<JointSet"))
    end = text.index("</frames>", joint)
    tilted = '<PhysicalOffsetFrame name="tilted"><socket_parent>/bodyset/foot</socket_parent><translation>0.1 0.2 0.3'
    tilted += f"</translation><orientation>0 0 {np.pi / 2}</orientation></PhysicalOffsetFrame>"
    (folder / "leg.osim").write_text(text[:end] + tilted + text[end:])
    path = edited(folder / "jr.xml", ">thigh foot<", ">foot foot<", ">child ground<", ">child foot/tilted<",
                  ">child parent<", ">child<")  # fmt: skip
    run_setup(path)
    table = load_table(folder / "out" / "walk_JointReaction_ReactionLoads.sto")
    assert list(table.columns)[9:11] == ["foot_on_foot_in_tilted_fx", "foot_on_foot_in_tilted_fy"]
    body, frame = (table.to_numpy()[:, 9 * k : 9 * k + 9].reshape(-1, 3, 3) for k in (0, 1))
    body = body - [[0, 0, 0], [0, 0, 0], [0.1, 0.2, 0.3]]
    np.testing.assert_allclose(frame, np.stack([body[..., 1], -body[..., 0], body[..., 2]], axis=-1), atol=1e-9)
    with pytest.raises(ModelError, match="the model has no frame 'foot/lost'"):
        run_setup(edited(path, "foot/tilted", "foot/lost"))


TOOL = """
import os
os.chdir(arguments[0])
tool = opensim.InverseDynamicsTool("id.xml")
tool.setResultsDir("theirs")
assert tool.run()
analysis = opensim.AnalyzeTool("jr.xml")
analysis.setResultsDir("theirs")
assert analysis.run()
answer = True
"""


@pytest.mark.peers
@pytest.mark.parametrize("rotations", ["file", "quaternion"])
def test_files_are_those_of_opensim(folder, in_opensim, rotations):
    """Its tools on the same setups: torques, forces at joints and reactions agree, column by column. A motor that the
    model drives by itself acts in inverse dynamics."""
    model = load_model(folder / "leg.osim")
    drive = CoordinateActuator("drive", "shank_angle", optimal_force=3.0, upper=1.0)
    inputs = (PrescribedInput("drive", Linear(5.0, 4.0)),)
    replace(model, actuators=(drive,), inputs=inputs).save(folder / "driven.osim")
    (folder / "driven.osim").replace(folder / "leg.osim")
    reported = "<joints_to_report_body_forces>ALL</joints_to_report_body_forces></InverseDynamicsTool>"
    (folder / "id.xml").write_text(ID.replace("</InverseDynamicsTool>", reported))
    in_opensim(TOOL, str(folder))
    tables = {
        "id.sto": "id.xml",
        "body_forces_at_joints.sto": "id.xml",
        "walk_JointReaction_ReactionLoads.sto": "jr.xml",
    }
    for name, setup in tables.items():
        run_setup(folder / setup, rotations=rotations)
        ours, theirs = load_table(folder / "out" / name), load_table(folder / "theirs" / name)
        assert set(ours.columns) == set(theirs.columns)
        assert np.allclose(ours.index, theirs.index, atol=1e-6)
        difference = np.abs(ours[theirs.columns].to_numpy() - theirs.to_numpy()).max()
        assert difference < 1e-5 * theirs.abs().max().max(), name


def test_no_file_is_written_for_forces_at_joints_that_the_model_lacks(folder):
    """OpenSim 4.6 reports such names in its log, and writes the generalized forces alone."""
    reported = "<joints_to_report_body_forces>ghost</joints_to_report_body_forces></InverseDynamicsTool>"
    (folder / "id.xml").write_text(ID.replace("</InverseDynamicsTool>", reported))
    with pytest.warns(UserWarning, match="names 'ghost', which is no joint of the model"):
        run_setup(folder / "id.xml")
    assert [path.name for path in (folder / "out").iterdir()] == ["id.sto"]


BOB = on_joint("bob", EulerJoint("XYZ"), mass=2.0, center_of_mass=(0.1, 0.05, -0.2), inertia=1.0)


def saved(model, file, tag="BallJoint"):
    """The file of a model whose ball joint has another type there."""
    model.save(file)
    text = file.read_text()
    assert "GimbalJoint" in text
    file.write_text(text.replace("GimbalJoint", tag))
    return file


@pytest.mark.parametrize("rotations", ["file", "quaternion"])
@pytest.mark.parametrize("tag", ["BallJoint", "GimbalJoint"])
def test_moments_of_a_ball_joint_are_about_the_axes_of_its_parent(tmp_path, tag, rotations):
    """What holds a weight. OpenSim 4.6 has -(r x m g) for a BallJoint, a FreeJoint and others moved by an angular
    velocity, and the shares along the axes of the angles for a GimbalJoint."""
    model = Model(ArticulatedSystem((BOB,), gravity=(0.0, -9.81, 0.0)))
    saved(model, tmp_path / "leg.osim", tag)
    names, q = model.system.coordinate_names, np.array([0.5, 0.7, 0.4])
    Motion(model, 0.01 * np.arange(60), np.tile(q, (60, 1))).save(tmp_path / "walk.mot")
    (tmp_path / "id.xml").write_text(ID)
    run_setup(tmp_path / "id.xml", rotations=rotations)
    found = load_table(tmp_path / "out" / "id.sto")[[f"{name}_moment" for name in names]].to_numpy()
    R = model.system.poses(q)["bob"][0]
    holding = -np.cross(R @ np.array(BOB.center_of_mass), [0.0, -2.0 * 9.81, 0.0])
    x, y = q[:2]
    axes = np.array([[1, 0, np.sin(y)], [0, np.cos(x), -np.sin(x) * np.cos(y)], [0, np.sin(x), np.cos(x) * np.cos(y)]])
    np.testing.assert_allclose(
        found, np.tile(holding if tag == "BallJoint" else axes.T @ holding, (len(found), 1)), atol=1e-7
    )


def test_start_speeds_of_a_ball_joint_are_an_angular_velocity(tmp_path):
    """In the axes of the parent, as OpenSim 4.6 takes them."""
    system, omega = ArticulatedSystem((BOB,)), (0.3, -0.4, 0.6)
    model = Model(system, start_q=(0.5, 0.7, 0.4), start_u=omega)
    found = load_model(saved(model, tmp_path / "bob.osim"))
    velocity = frame_velocity(found.system, np.array(found.start_q), np.array(found.start_u), "bob")
    np.testing.assert_allclose(velocity[3:], omega, rtol=1e-14)
    gliding = replace(found, system=ArticulatedSystem((replace(BOB, joint=EllipsoidJoint((0.1, 0.2, 0.15))),)))
    gliding.save(tmp_path / "gliding.osim")
    np.testing.assert_allclose(load_model(tmp_path / "gliding.osim").start_u, found.start_u, rtol=1e-14)


def test_force_on_an_angle_of_a_ball_joint_is_reported(tmp_path):
    """OpenSim 4.6 applies it along the angular velocity in axes of the parent."""
    system = ArticulatedSystem((BOB,))
    motor = CoordinateActuator("motor", system.coordinate_names[1])
    file = saved(Model(system, actuators=(motor,)), tmp_path / "bob.osim")
    with pytest.warns(ImplausibleWarning, match=r"about axes of the parent, .* on angles of a <BallJoint>.*motor"):
        assert load_model(file).actuators == (motor,)


def test_scaling_of_a_setup(folder, capsys):
    main(["run", str(folder / "scale.xml")])
    assert "the model lacks: ghost" in capsys.readouterr().err
    generic, trial = load_model(folder / "leg.osim"), load_markers(folder / "walk.trc")
    first = trial.between(0, 0.1)
    positions = {m.name: np.array(m.position) for m in generic.markers}
    pair = [first.names.index(n) for n in ("thigh0", "thigh1")]
    seen = np.linalg.norm(first.positions[:, pair[0]] - first.positions[:, pair[1]], axis=-1).mean()
    ratio = seen / np.linalg.norm(positions["thigh0"] - positions["thigh1"])
    person = scale_model(generic, factors={"thigh": ratio, "shank": (1.1, 1.0, 0.9)}, mass=40.0)
    found = load_model(folder / "scaled.osim")
    assert sum(b.mass for b in found.system.bodies) == pytest.approx(40.0)
    for a, b in zip(found.system.bodies, person.system.bodies, strict=True):
        assert np.allclose(a.inertia, b.inertia)
        assert np.allclose(a.position, b.position)
    placed, pose = load_model(folder / "placed.osim"), load_motion(folder / "static.mot", found)
    poses = placed.system.poses(pose.q[0])
    for marker in placed.markers:
        R, p = poses[marker.body]
        wanted = trial.positions[0, trial.names.index(marker.name)]
        assert np.allclose(R @ np.array(marker.position) + p, wanted, atol=1e-8)
    states = load_table(folder / "static.mot")  # in radians, as OpenSim writes states
    joint = found.system.bodies[0].joint_name or found.system.bodies[0].name
    assert f"/jointset/{joint}/{found.system.coordinate_names[0]}/value" in states
    assert not states.attrs["in_degrees"]
    assert (states[[name for name in states if name.endswith("/speed")]] == 0).all(axis=None)
    assert "<location>" in (folder / "markers.xml").read_text()
    assert f"<segment>{'shank'}</segment>" in (folder / "factors.xml").read_text()


@pytest.mark.filterwarnings("ignore:.*the model lacks. ghost")
def test_markers_that_the_static_trial_does_not_show_are_reported(folder):
    """One that it lacks goes, as in OpenSim, and one that no frame shows stays where it is."""
    trial, lines = load_markers(folder / "walk.trc"), []
    before = {m.name: m.position for m in load_model(folder / "leg.osim").markers}
    kept = [name for name in trial.names if name != "shank2"]
    seen = trial.select(kept)
    seen.positions[:, kept.index("shank1")] = np.nan
    seen.save(folder / "walk.trc", overwrite=True)
    with pytest.warns(MotionWarning, match="no frame of the static trial shows are not moved: shank1"):
        run_setup(folder / "scale.xml", tell=lines.append)
    (line,) = [line for line in lines if "static trial lacks" in line]
    assert line.endswith(": shank2")
    placed = {m.name: m.position for m in load_model(folder / "placed.osim").markers}
    assert "shank2" not in placed
    assert placed["shank1"] == pytest.approx(tuple(np.multiply((1.1, 1.0, 0.9), before["shank1"])))


@pytest.mark.filterwarnings("ignore:.*the model lacks. ghost")
@pytest.mark.parametrize(("name", "most"), [("walk.trc", "4"), ("walk.sto", "0.004")])
def test_markers_that_move_in_the_static_trial_are_reported(folder, name, most):
    """OpenSim compares the way along each axis with <max_marker_movement>, in the unit of the file. Gaps are no way."""
    trial = load_markers(folder / "walk.trc").between(0, 0.1)
    still = np.repeat(trial.positions[:1], len(trial.time), axis=0)
    still[-1, trial.names.index("shank1")] += 0.003
    still[1, trial.names.index("shank2"), 2] -= 0.005
    still[2, trial.names.index("shank1")] = np.nan
    moved = replace(trial, positions=still)
    if name == "walk.trc":
        moved.save(folder / name, units="mm", overwrite=True)
    else:
        table = moved.to_dataframe().set_axis([f"{n}_t{axis}" for n in trial.names for axis in "xyz"], axis=1)
        save_table(table.fillna(123.0), folder / name)
        (folder / name).write_text((folder / name).read_text().replace("123.0", "nan"))
    text = (folder / "scale.xml").read_text().replace("0 0<", "0 0.1<").replace("walk.trc", name)
    limit = f"<max_marker_movement>{most}</max_marker_movement>"
    text = text.replace("<output_marker_file>", f"{limit}<output_marker_file>")
    (folder / "scale.xml").write_text(text)
    with pytest.warns(MotionWarning, match="move more than <max_marker_movement> in the static trial: shank2$"):
        run_setup(folder / "scale.xml")


@pytest.mark.filterwarnings("ignore:.*the model lacks. ghost")
def test_muscles_of_the_static_pose_are_in_balance(folder):
    """OpenSim's file of states has the fiber lengths too. Force of the tendon is that of the fiber."""
    leg = load_model(folder / "leg.osim")
    path = (PathPoint("pelvis", (0.05, 0.0, 0.0)), PathPoint("shank", (0.05, -0.1, 0.0)))
    muscle = Muscle("thigh", path, Millard2012(800.0, 0.1, 0.35, damping=0.1))
    replace(leg, muscles=(muscle,)).save(folder / "leg.osim", overwrite=True)
    run_setup(folder / "scale.xml")
    placed = load_model(folder / "placed.osim")
    q = load_motion(folder / "static.mot", placed).q
    activation, fibers = muscle_states_from_motion(placed, load_table(folder / "static.mot"))
    rates = muscle_state_rates(placed, q, np.zeros((1, placed.system.nu)), activation, fibers)
    np.testing.assert_allclose(rates, 0, atol=1e-9)


def test_nothing_is_written_unless_all_is(folder, monkeypatch):
    """A tool that fails at its last file leaves none; one that must not replace files refuses before it works."""
    before = {p.name for p in folder.iterdir()}

    def broken(*_, **__):
        raise OSError("the disk is full")

    monkeypatch.setattr("myoquat.apps.opensim_tools.outputs.write_text", broken)
    setup = edited(folder / "scale.xml", "ghost", "thigh")
    with pytest.raises(OSError, match="disk is full"):
        run_setup(setup)
    assert {p.name for p in folder.iterdir()} == before
    run_setup(folder / "id.xml")
    with pytest.raises(FileExistsError):
        run_setup(folder / "id.xml", overwrite=False)


@pytest.mark.parametrize(
    ("file", "old", "new", "message", "line"),
    [
        ("ik.xml", "leg.osim", "log.osim", "names 'log.osim', which does not exist", 3),
        ("ik.xml", "0.05 0.3", "0.3 0.05", "ends before it begins", 10),
        ("ik.xml", "manual_value", "guess", "<value_type> is one of", 7),
        ("ik.xml", "<weight>2", "<weight>-2", "a weight must not be negative", 5),
        ("id.xml", "<coordinates_file>walk.mot</coordinates_file>", "", "needs <coordinates_file>", 1),
        ("jr.xml", "JointReaction", "StaticMuscle", "the analysis <StaticMuscle> is not known", 4),
        ("jr.xml", "child parent", "child both", "is of child and parent, not 'both'", 5),
        ("scale.xml", "measurements manualScale", "guess", "is of measurements, manualScale, not 'guess'", 3),
        ("scale.xml", "thigh0 thigh1<", "thigh0<", "must be two names, not 1", 5),
        ("ik.xml", ">out<", ">../out<", "results_directory> names", 11),
        ("ik.xml", "ik.mot", "/tmp/ik.mot", "outside the folder of this setup", 10),
        ("scale.xml", "factors.xml", "../../factors.xml", "--anywhere (anywhere=True) writes there", 10),
        ("jr.xml", 'name="walk"', 'name="../walk"', "holds a separator of folders", 1),
        ("id.xml", "InverseDynamicsTool", "RRATools", "<RRATools> is no tool that is known here; known: ScaleTool", 1),
    ],
)
def test_broken_setups_are_named_with_their_line(folder, file, old, new, message, line):
    path = edited(folder / file, old, new)
    with pytest.raises(ModelError) as caught:
        run_setup(path)
    assert message in str(caught.value)
    assert f"{file}:{line}:" in str(caught.value)
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("id.xml", "time_range>", "time_rnge>", "time_rnge (unknown in InverseDynamicsTool; nearest: time_range), li"),
        ("ik.xml", "<weight>2", "<weight>2</weight><weight>3", "weight (comes again in IKMarkerTask, where the first"),
        ("jr.xml", "on_bodies>", "on_body>", "apply_on_body (unknown in JointReaction; nearest: apply_on_bodies), "),
        ("scale.xml", "MarkerPair>", "Pair>", "Pair (unknown in MarkerPairSet; it holds MarkerPair), line 5"),
    ],
)
def test_elements_that_are_unknown_or_come_again_are_reported(folder, file, old, new, message):
    path = edited(folder / file, old, new)
    with pytest.warns(UnsupportedWarning, match=re.escape(f": 1 {message}")):
        read_setup(path)


KNOWN_PROPERTIES = """
answer = {}
for name in arguments:
    thing = getattr(opensim, name)()
    answer[name] = [thing.getPropertyByIndex(k).getName() for k in range(thing.getNumProperties())]
"""


@pytest.mark.peers
def test_all_properties_of_opensim_s_tools_are_known(in_opensim):
    objects = {"Analyses": "AnalysisSet", "orientation_weights": "OrientationWeightSet"}
    for name, properties in in_opensim(KNOWN_PROPERTIES, *PROPERTIES).items():
        assert {objects.get(x, x) for x in properties} <= {*PROPERTIES[name].split()}, name


def test_sets_are_written_into_xml_files_alone(folder):
    path = edited(folder / "scale.xml", "factors.xml", "conftest.py", "ghost", "thigh")
    with pytest.raises(ModelError, match=r"end in \.xml"):
        run_setup(path)


def test_a_setup_writes_elsewhere_where_it_is_allowed(folder):
    (folder / "setups").mkdir()
    setup = edited(folder / "id.xml", ">out<", ">../out<", ">leg.osim", ">../leg.osim", ">walk.mot", ">../walk.mot")
    setup = str(setup.rename(folder / "setups" / "id.xml"))
    with pytest.raises(SystemExit):
        main(["run", setup])
    main(["run", "--quiet", "--anywhere", setup])
    assert (folder / "out" / "id.sto").exists()


def test_plain_commands(folder, capsys):
    leg, trial, fitted, torques = (str(folder / name) for name in ("leg.osim", "walk.trc", "a.mot", "a.sto"))
    main(["ik", leg, trial, fitted, "--weight", "thigh0=2", "--errors", str(folder / "e.csv")])
    main(["id", leg, fitted, torques, "--cutoff", "8", "--rotations", "file"])
    assert len(load_table(torques)) == 60
    for options in (
        ["--factor", "thigh=1.2", "--factor", "shank=1,1.1,1", "--measure", "foot0,foot1=foot,toe", "--markers", trial],
        ["--trial", trial, "--stretch", "leg=thigh,shank:Y"],
    ):
        main(["scale", leg, str(folder / f"{len(options)}.osim"), *options, "--mass", "30"])
        assert "30 kg" in capsys.readouterr().out
    foreign = load_table(fitted)
    foreign["hat"] = 0.0
    save_table(foreign, folder / "foreign.mot")
    arguments = ["id", leg, str(folder / "foreign.mot"), str(folder / "b.sto")]
    with pytest.raises(SystemExit):
        main(arguments)
    assert "'hat' is no coordinate of the model" in (printed := capsys.readouterr().err)
    assert "--ignore" in printed
    main([*arguments, "--ignore", "hat"])


class Page(HTMLParser):
    """Tags and attributes of a page, and its text."""

    def __init__(self):
        super().__init__()
        self.tags, self.links, self.text = [], [], ""

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [value for name, value in attributes if name in ("src", "href", "xlink:href")]

    def handle_data(self, data):
        self.text += data


def test_reports_are_pages_by_themselves(folder):
    """A figure for every table, nothing to load, and names of strangers as text."""
    setup = edited(folder / "id.xml", 'name="walk"', 'name="a&lt;script&gt;$b"')
    written = run_setup(setup, report=folder / "id.html")
    assert [path.name for path in written] == ["id.sto", "id.html"]
    page = Page()
    page.feed((folder / "id.html").read_text())
    assert page.tags.count("svg") == 1
    assert "script" not in page.tags
    assert all(link.startswith("#") for link in page.links)
    assert "a<script>$b" in page.text
    assert "toe_angle_moment" in page.text
    with pytest.raises(FileExistsError):
        run_setup(setup, report=folder / "id.html", overwrite=False)
    with pytest.raises(ValueError, match=r"ends in \.html"):
        run_setup(setup, report=folder / "id.pdf")


def test_folders_may_be_separated_as_on_windows(folder):
    assert run_setup(edited(folder / "id.xml", ">out<", ">.\\out<")) == [folder / "out" / "id.sto"]
