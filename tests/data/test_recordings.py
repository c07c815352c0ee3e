"""Recordings of suits (.mvnx) and skeletons (.bvh): read, written, used, and broken in many ways."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

import myoquat as mq
from myoquat import ModelError
from myoquat.analysis import motion as mo
from myoquat.apps.command import main as command_line
from myoquat.data import load_bvh, load_motion, load_orientations, load_suit, load_table, save_bvh
from myoquat.joints import quaternion_exp, quaternion_from_matrix
from tests.bodies import afloat, on_ball, on_hinge
from tests.data.tables import rejected

SHEET = """<?xml version="1.0" encoding="UTF-8"?>
<mvnx xmlns="http://www.xsens.com/mvn/mvnx" version="4">
<subject label="Suit" frameRate="{rate}" segmentCount="{n}"><segments>{segments}</segments>
<sensors><sensor label="Hips"/></sensors><joints><joint label="jHip"><connector1>a/b</connector1></joint></joints>
<frames segmentCount="{n}" sensorCount="1" jointCount="1">
{frames}</frames></subject></mvnx>
"""


def numbers(values):
    return " ".join(f"{x:.12g}" for x in np.ravel(values))


def sheet(names, time, Q, x, rate=100, poses=()):
    """The text of a recording: orientations (t, n, 4) and positions (t, n, 3), z upwards."""
    frames = [
        f'<frame time="0" tc="0" type="{name}"><orientation>{numbers(pose)}</orientation>'
        f"<position>{numbers(0 * x[0])}</position></frame>"
        for name, pose in poses
    ]
    frames += [
        f'<frame time="{round(1000 * t)}" index="{k}" type="normal"><orientation>{numbers(Q[k])}</orientation>'
        f"<position>{numbers(x[k])}</position><velocity>{numbers(0 * x[k])}</velocity>"
        f"<sensorOrientation>1 0 0 0</sensorOrientation><jointAngle>{numbers([k, -k, 0.5])}</jointAngle></frame>"
        for k, t in enumerate(time)
    ]
    segments = "".join(f'<segment label="{name}" id="{k + 1}"/>' for k, name in enumerate(names))
    return SHEET.format(rate=rate, n=len(names), segments=segments, frames="\n".join(frames))


def legs():
    """A pelvis that floats, and two legs on ball joints."""
    bodies = (
        afloat("pelvis", mass=0.0),
        on_ball("femur_r", parent="pelvis", position=(0.0, -0.1, 0.1)),
        on_ball("femur_l", parent="pelvis", position=(0.0, -0.1, -0.1)),
    )
    return mq.Model(mq.ArticulatedSystem(bodies))


def moved(model, frames=30, rate=240):
    time = np.arange(frames) / rate
    turns = [quaternion_exp(np.stack([a * np.sin(4 * time), b * time, c * np.cos(5 * time)], axis=-1))
             for a, b, c in ((0.3, 0.2, 0.1), (0.9, -0.4, 0.2), (-0.8, 0.3, 0.4))]  # fmt: skip
    there = np.stack([1.2 * time, 0.9 + 0.02 * np.sin(20 * time), 0.1 * time], axis=-1)
    return mo.Motion(model, time, np.concatenate([there, *turns], axis=1))


def test_a_suit_moves_a_model_by_inverse_kinematics(tmp_path):
    model = legs()
    motion = moved(model)
    names = ("Pelvis", "RightUpperLeg", "LeftUpperLeg")
    bodies = dict(zip(names, model.system.body_names, strict=True))
    up = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])  # from a model's axes to a laboratory whose z is up
    mounted = Rotation.from_rotvec([[0.3, 0.1, 0.2], [1.0, -0.5, 0.2], [-0.4, 0.2, 0.9]]).as_matrix()

    def seen(q):
        poses = model.system.poses(q)
        R = [
            np.broadcast_to(up @ poses[body][0], (*q.shape[:-1], 3, 3)) @ M
            for body, M in zip(bodies.values(), mounted, strict=True)
        ]
        x = [poses[body][1] @ up.T for body in bodies.values()]
        return quaternion_from_matrix(np.stack(R, axis=-3)), np.stack(x, axis=-2)

    Q, x = seen(motion.q)
    rest = seen(model.start)[0]
    (tmp_path / "walk.mvnx").write_text(sheet(names, motion.time, Q, x, 240, [("tpose", rest)]), encoding="utf-8")
    suit = load_suit(tmp_path / "walk.mvnx", axes="x z -y")
    assert_allclose(suit.segments.time, motion.time, atol=1e-12)  # frame numbers, not the file's milliseconds
    assert_allclose(suit.origins.positions[:, 0], motion.q[:, :3], atol=1e-9)
    assert suit.sensors.names == ("Hips",)
    assert list(suit.joint_angles.columns) == ["jHip_x", "jHip_y", "jHip_z"]
    assert suit.joint_angles.attrs["units"]["jHip_x"] == "deg"
    sensors = mo.calibrate_orientations(model, suit.poses["tpose"], bodies)
    fit = mo.inverse_kinematics(model, suit.segments, sensors=sensors)
    assert fit.success
    assert_allclose(fit.sensor_error, 0, atol=1e-6)
    for body in bodies.values():
        assert_allclose(model.system.poses(fit.q)[body][0], model.system.poses(motion.q)[body][0], atol=1e-6)
    again = load_orientations(tmp_path / "walk.mvnx", axes="x z -y")
    assert_allclose(again.quaternions, suit.segments.quaternions)
    assert_allclose(mo.load_markers(tmp_path / "walk.mvnx", "x z -y").positions, suit.origins.positions)
    assert_allclose(load_table(tmp_path / "walk.mvnx").to_numpy(), suit.joint_angles.to_numpy())
    assert "poses: tpose" in repr(suit)


ONE = (("Pelvis",), np.arange(3) / 100, np.tile([1.0, 0, 0, 0], (3, 1, 1)), np.zeros((3, 1, 3)))


test_broken_recordings_of_suits_are_one_sentence = rejected(
    sheet(*ONE), "a.mvnx",
    ("<mvnx", "<!DOCTYPE mvnx [<!ENTITY a 'b'>]><mvnx", "document types and entities are refused"),
    ("mvnx", "mvn", "the root element is <mvn>, not <mvnx>"),
    ("</frames>", "", "this is not valid XML"),
    ('type="normal"', 'type="odd"', "there is no frame of type 'normal'", None),
    ("<orientation>1 0 0 0", "<orientation>1 0 0", "orientation has 3 numbers, not 4 for each of 1 segments"),
    ("<orientation>1 0 0 0", "<orientation>1 0 0 x", "orientation holds what is not a number"),
    ("<orientation>1 0 0 0", "<orientation>1 0 0 inf", "orientation holds inf"),
    ("<orientation>1 0 0 0", "<orientation>1 0 0 1", "has length 1.41421, not 1", None),
    ('frameRate="100"', 'frameRate="0"', "frameRate is '0', not a positive number"),
    ('time="10"', 'time="x"', "the time of a frame is 'x', not a whole number"),
    ('time="10" index="1"', 'time="0"', "the time of a frame, 0 s, is not after 0 s", None),
    ('label="Pelvis"', 'label=""', "a <segment> has no label"),
    ('<segment label="Pelvis" id="1"/>', '<segment label="A"/><segment label="A"/>', "the segment 'A' comes twice"),
    ("<position>0 0 0</position>", "", "the frames have no position", None),
    ("<jointAngle>1 -1 0.5</jointAngle>", "", "some frames have jointAngle, others do not"),
    read=load_suit,
)  # fmt: skip


def test_other_files_than_recordings_of_suits_are_rejected(tmp_path):
    with pytest.raises(ModelError, match="no such file"):
        load_suit(tmp_path / "b.mvnx")
    (tmp_path / "b.xml").touch()
    with pytest.raises(ModelError, match=r"recordings of suits are read from \.mvnx files"):
        load_suit(tmp_path / "b.xml")
    with pytest.raises(ModelError, match="AddBiomechanics is not read: its library nimblephysics"):
        load_table(tmp_path / "walk.b3d")
    (tmp_path / "walk.b3d").write_bytes(b"")
    with pytest.raises(ModelError, match="AddBiomechanics is not read: its library"):
        load_motion(tmp_path / "walk.b3d", mq.load_model("two_link"))


# ---- skeletons ---------------------------------------------------------------------------------------------------


def evaluated(text):
    """Positions (t, 3) and rotations (t, 3, 3) of each joint of a BVH text, by an evaluation of its own."""
    head, _, rows = text.partition("MOTION")
    words, joints, stack = head.split(), [], []
    k = 1
    while k < len(words):
        if words[k] in ("ROOT", "JOINT"):
            joints.append({"name": words[k + 1], "parent": stack[-1] if stack else None})
            stack.append(len(joints) - 1)
            k += 3
        elif words[k] == "End":
            stack.append(None)
            k += 3
        elif words[k] == "OFFSET":
            if stack[-1] is not None:
                joints[stack[-1]]["offset"] = np.array(words[k + 1 : k + 4], dtype=float)
            k += 4
        elif words[k] == "CHANNELS":
            count = int(words[k + 1])
            joints[stack[-1]]["channels"] = words[k + 2 : k + 2 + count]
            k += 2 + count
        else:
            stack.pop()
            k += 1
    values = np.array([line.split() for line in rows.strip().splitlines()[2:]], dtype=float)
    found, first = {}, 0
    for joint in joints:
        R, p = (found[joints[joint["parent"]]["name"]] if joint["parent"] is not None
                else (np.tile(np.eye(3), (len(values), 1, 1)), np.zeros((len(values), 3))))  # fmt: skip
        shift, turn = np.tile(joint["offset"], (len(values), 1)), np.tile(np.eye(3), (len(values), 1, 1))
        for channel in joint["channels"]:
            column = values[:, first]
            first += 1
            if channel.endswith("position"):
                shift[:, "XYZ".index(channel[0])] += column
            else:
                turn = turn @ Rotation.from_euler(channel[0], column[:, None], degrees=True).as_matrix()
        found[joint["name"]] = (R @ turn, p + np.einsum("tij,tj->ti", R, shift))
    return found


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), order=st.sampled_from(["ZXY", "XYZ", "YZX"]))
def test_trees_with_slides_and_several_roots_come_back(tmp_path_factory, seed, order):
    """By an independent evaluation of the file, and as they are read."""
    rng = np.random.default_rng(seed)
    ground = ["ground", "world"][rng.integers(2)]
    bodies = [on_hinge("a b", "y", parent=ground, position=(0.1, 0.2, 0.3), mass=0.0)]
    for k in range(5):
        joint = [mq.joints.SphericalJoint(), mq.joints.PrismaticJoint((0, 1, 0)), mq.joints.FloatingJoint(),
                 mq.joints.RevoluteJoint((1, 0, 0))][rng.integers(4)]  # fmt: skip
        parent = [ground, *(body.name for body in bodies)][rng.integers(len(bodies) + 1)]
        Q = rng.normal(size=4)
        bodies.append(mq.Body(f"b{k}", parent, joint, tuple(rng.normal(size=3)), tuple(Q / np.linalg.norm(Q)),
                              center_of_mass=tuple(rng.normal(size=3)), mass=1.0))  # fmt: skip
    system = mq.ArticulatedSystem(tuple(bodies), ground)
    steps = np.cumsum(0.1 * rng.normal(size=(12, system.nu)), axis=0)
    motion = mo.Motion(
        system, 2.0 + np.arange(12) / 50, system.integrate(np.tile(mq.Model(system).start, (12, 1)), steps)
    )
    path = tmp_path_factory.mktemp("bvh") / "a.bvh"
    save_bvh(motion, path, order=order)
    found, again = evaluated(path.read_text(encoding="utf-8")), load_bvh(path)
    assert_allclose(again.time - again.time[0], motion.time - 2.0, atol=1e-9)
    read, poses = again.system.poses(again.q), system.poses(motion.q)
    for body in system.bodies:
        name = body.name.replace(" ", "_")
        R, p = (np.broadcast_to(x, (12, *x.shape[-k:])) for k, x in zip((2, 1), poses[body.name], strict=True))
        for turn, place in ((found[name][0], found[name][1] / 100), read[name]):
            assert_allclose(turn, R, atol=1e-8)
            assert_allclose(place, p, atol=1e-8)


HIP = "HIERARCHY\nROOT hip\n{\nOFFSET 0 0 0\nCHANNELS 3 Zrotation Xrotation Yrotation\n}\n"
HIP += "MOTION\nFrames: 1\nFrame Time: 0.1\n1 2 3\n"


test_broken_skeletons_are_one_sentence = rejected(
    HIP, "a.bvh",
    ("HIERARCHY", "HIER", "the first line is not 'HIERARCHY'"),
    ("ROOT", "JOINT", "'JOINT hip' is not expected here"),
    ("\n{", "", "a line '{' is expected here"),
    ("OFFSET 0 0 0", "OFFSET 0 0", "the line must be 'OFFSET X Y Z' with numbers"),
    ("OFFSET 0 0 0", "OFFSET 0 0 nan", "the line must be 'OFFSET X Y Z' with numbers"),
    ("CHANNELS 3", "CHANNELS 2", "the line must be 'CHANNELS N' and N of Xposition"),
    ("Yrotation", "Zrotation", "the line must be 'CHANNELS N' and N of Xposition"),
    ("}\n", "}\nROOT hip\n{\nOFFSET 0 0 0\nCHANNELS 0\n}\n", "the joint 'hip' comes twice"),
    ("Frames: 1", "Frames: 2", "the header says 2 frames; there are 1"),
    ("Frames: 1", "Frames: x", "the line must be 'Frames: N'"),
    ("Frame Time: 0.1", "Frame Time: 0", "the time of a frame is 0 s"),
    ("1 2 3", "1 2", "2 columns; the header names 3"),
    ("1 2 3", "1 2 x", "'x' is not a number"),
    ("MOTION\nFrames: 1\nFrame Time: 0.1\n1 2 3\n", "", "the file ends too early"),
    read=load_bvh,
)  # fmt: skip


def test_what_a_skeleton_file_cannot_hold_is_rejected(tmp_path):
    model = legs()
    uneven = mo.Motion(model, [0.0, 0.1, 0.3], [model.start] * 3)
    with pytest.raises(ValueError, match="the times are not even, resample first"):
        save_bvh(uneven, tmp_path / "a.bvh")
    with pytest.raises(ValueError, match="order is three different axes such as 'ZXY', not 'ZXZ'"):
        save_bvh(uneven, tmp_path / "a.bvh", order="ZXZ")
    with pytest.raises(ValueError, match="at least 2 frames are needed, not 1"):
        save_bvh(mo.Motion(model, [0.0], [model.start]), tmp_path / "a.bvh")
    table = load_table(_written(tmp_path))
    assert list(table.columns) == ["hip Zrotation", "hip Xrotation", "hip Yrotation"]
    with pytest.raises(ValueError, match="tables are not written in the format skeletons; `save_bvh`"):
        mq.data.save_table(table, tmp_path / "b.bvh")
    with pytest.raises(FileExistsError):
        save_bvh(moved(model), tmp_path / "hip.bvh")


def _written(folder):
    (folder / "hip.bvh").write_text(HIP, encoding="utf-8")
    return folder / "hip.bvh"


def test_the_command_converts_a_motion(tmp_path, capsys):
    model = mq.load_model("two_link")
    mo.Motion(model, [0.0, 0.1], [model.start] * 2).save(tmp_path / "a.mot")
    files = [str(tmp_path / name) for name in ("a.bvh", "a.toml")]
    command_line(["convert", "two_link", files[0], "--motion", str(tmp_path / "a.mot")])
    assert "wrote" in capsys.readouterr().out
    assert load_bvh(files[0]).system.body_names == ("A", "B")
    with pytest.raises(SystemExit):
        command_line(["convert", "two_link", files[1], "--motion", str(tmp_path / "a.mot")])
    assert "with --motion, OUTPUT must end in .bvh, .mot, .sto" in capsys.readouterr().err


def test_a_simulation_is_saved_for_programs_of_animation(tmp_path):
    model = mq.load_model("two_link")
    found = mq.simulate(model, duration=0.05, step=1e-2)
    found.save(tmp_path / "swing.bvh")
    found.to_motion().save(tmp_path / "motion.bvh")
    assert (tmp_path / "swing.bvh").read_text() == (tmp_path / "motion.bvh").read_text()
