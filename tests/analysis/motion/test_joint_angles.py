"""Angles of joints: SciPy's decompositions, rotations rebuilt from what is read, and what the ISB's names say."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from myoquat.analysis.motion import joint_angles, swing_twist, tilt_torsion
from myoquat.analysis.motion.joint_angles import ISB
from myoquat.data import Motion
from myoquat.joints import ArticulatedSystem, quaternion_exp, quaternion_multiply, random_quaternions, rotation_matrix
from myoquat.joints.sequences import SEQUENCES
from myoquat.joints.types import FixedJoint
from tests.bodies import on_ball, on_hinge, on_joint

UPPER = on_ball("upper", joint_name="shoulder")
LOWER = on_ball("lower", parent="upper")
ARM = ArticulatedSystem((UPPER, LOWER))
STILL = [1.0, 0.0, 0.0, 0.0]


def motion_of(Q, upper=STILL):
    Q = np.atleast_2d(Q)
    return Motion(ARM, np.arange(len(Q)) * 0.01, np.hstack([np.broadcast_to(upper, Q.shape), Q]))


def angle_vectors(v, n=60):
    """Quaternions that turn evenly about v."""
    return quaternion_exp(np.linspace(0, 1, n)[:, None] * np.array(v))


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_every_sequence_is_scipys(sequence, rng):
    for Q in random_quaternions(5, rng):
        found = joint_angles(motion_of(Q), "lower", sequence)
        assert np.allclose(Rotation.from_euler(sequence, found.values[0]).as_matrix(), rotation_matrix(Q), atol=1e-12)
        assert np.isfinite(found.condition).all()


def test_values_are_continuous_through_turns(rng):
    """A motion of several turns about the first axis, and one past the edge of the middle angle's range."""
    turns = joint_angles(motion_of(angle_vectors((0, 0, 20.0), 400)), "lower", "ZXY").values
    assert np.allclose(turns[-1], (20.0, 0, 0), atol=1e-9)
    past = joint_angles(motion_of(angle_vectors((2.5, 0, 0), 301)), "lower", "ZXY").values
    assert np.abs(np.diff(past, axis=0)).max() < 0.1
    helical = joint_angles(motion_of(angle_vectors((4.0, 1.0, 0.0), 300)), "lower", "helical")
    assert np.allclose(helical.values[-1], (4.0, 1.0, 0.0))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_swing_and_twist_compose(axis, rng):
    Q = random_quaternions(200, rng)
    swing, twist = swing_twist(Q, axis)
    assert np.abs(swing[:, axis]).max() == 0
    again = quaternion_multiply(quaternion_exp(swing), quaternion_exp(twist[:, None] * np.eye(3)[axis]))
    assert np.allclose(rotation_matrix(again), rotation_matrix(Q), atol=1e-12)
    azimuth, tilt, torsion = tilt_torsion(Q, axis).T
    name = "XYZ"[axis] + "XYZ"[(axis + 2) % 3] + "XYZ"[axis]
    expected = Rotation.from_euler(name, np.stack([azimuth, tilt, torsion - azimuth], -1)).as_matrix()
    assert np.allclose(expected, rotation_matrix(Q), atol=1e-10)
    assert (tilt >= 0).all()


# What each positive angle does to a point of the distal segment on the right side: (group, angle, point, towards).
DOWN, FRONT, RIGHT, UP = (0, -1, 0), (1, 0, 0), (0, 0, 1), (0, 1, 0)
LEFT, BACK = (0, 0, -1), (-1, 0, 0)
MEANINGS = [
    ("hip", "flexion", DOWN, FRONT), ("hip", "adduction", DOWN, LEFT), ("hip", "internal_rotation", FRONT, LEFT),
    ("knee", "extension", DOWN, FRONT), ("ankle", "dorsiflexion", FRONT, UP), ("ankle", "inversion", DOWN, LEFT),
    ("spine", "extension", UP, BACK), ("spine", "right_bending", UP, RIGHT), ("spine", "left_rotation", FRONT, LEFT),
    ("sternoclavicular", "protraction", RIGHT, FRONT), ("sternoclavicular", "depression", RIGHT, DOWN),
    ("scapulothoracic", "medial_rotation", RIGHT, DOWN), ("scapulothoracic", "posterior_tilt", UP, BACK),
    ("elbow", "flexion", DOWN, FRONT), ("elbow", "pronation", FRONT, LEFT), ("wrist", "flexion", DOWN, FRONT),
    ("wrist", "ulnar_deviation", DOWN, LEFT),
]  # fmt: skip


@pytest.mark.parametrize(("group", "angle", "point", "towards"), MEANINGS)
def test_positive_angles_mean_what_they_say(group, angle, point, towards):
    """The turn that takes the point towards the direction, on the right; its mirror image on the left."""
    mirror = np.array([1.0, 1.0, -1.0])
    for side, flip in (("right", np.ones(3)), ("left", mirror)):
        v = 0.3 * np.cross(point * flip, towards * flip)
        found = joint_angles(motion_of(quaternion_exp(v)), "lower", f"ISB {group}", side=side)
        values = dict(zip(found.names, found.values[0], strict=True))
        assert values.pop(angle) == pytest.approx(0.3)
        assert np.allclose(list(values.values()), 0.0, atol=1e-12)
        assert ISB[group].source in found.convention


def test_an_arm_that_is_raised():
    """Abduction in the frontal plane: plane of elevation 0; forward flexion: 90 degrees; both elevations positive."""
    for direction, plane in ((RIGHT, 0.0), (FRONT, np.pi / 2)):
        motion = motion_of(angle_vectors(1.5 * np.cross(DOWN, direction), 50)[1:])
        found = joint_angles(motion, "lower", "thoracohumeral")
        assert np.allclose(found.values[-1, :2], (plane, 1.5), atol=1e-9)
        assert (np.diff(found.values[:, 1]) > 0).all()
        assert found.condition[0] > found.condition[-1]


def test_relative_to_a_static_pose(rng):
    rest, Q = random_quaternions(2, rng)
    upper = random_quaternions(1, rng)[0]
    pose = motion_of(np.stack([rest, rest]), upper)
    assert np.allclose(joint_angles(pose, "lower", "hip", relative_to=pose).values, 0, atol=1e-7)
    turned = joint_angles(motion_of(quaternion_multiply(quaternion_exp([0, 0, 0.4]), rest)), "lower", "hip",
                          relative_to=pose.q[0])  # fmt: skip
    assert np.allclose(turned.values, [[0.4, 0, 0]], atol=1e-9)
    both = joint_angles(motion_of(Q, upper), ("ground", "lower"), "XYZ").values[0]
    assert np.allclose(Rotation.from_euler("XYZ", both).as_matrix(), rotation_matrix(quaternion_multiply(upper, Q)))
    assert joint_angles(motion_of(Q, upper), "shoulder", "helical").names[0] == "helical_x"


def test_other_axes():
    """A model with z up and y left: its hip flexes about -y."""
    flexed = motion_of(quaternion_exp([0, -0.5, 0]))
    found = joint_angles(flexed, "lower", "hip", axes=("x z -y", "x z -y"))
    assert np.allclose(found.values, [[0.5, 0, 0]])
    assert found.to_dataframe(in_degrees=True)["flexion"].iloc[0] == pytest.approx(np.degrees(0.5))


def test_a_body_that_turns_on_the_frame_of_a_joint_is_not_carried_by_the_joint():
    """A body welded to the frame is: the angle is then that of the body, here 0.2 of 0.2 + 0.3 rad."""
    turning = ArticulatedSystem((on_hinge("hip_frame", joint_name="hip"), on_hinge("leg", parent="hip_frame")))
    welded = ArticulatedSystem((turning.bodies[0], on_joint("leg", FixedJoint(), parent="hip_frame")))
    for system, q in ((turning, [[0.2, 0.3]]), (welded, [[0.2]])):
        assert np.allclose(joint_angles(Motion(system, [0.0], q), "hip").values, [[0.2, 0, 0]])


def test_bad_input():
    motion = motion_of(STILL)
    for given, words in (
        ({"joint": "lowr"}, "no joint 'lowr'; nearest: lower"),
        ({"joint": ("upper", "hand")}, "no body 'hand'"),
        ({"joint": "lower", "convention": "toe"}, "unknown convention 'toe'"),
        ({"joint": "lower", "convention": "swing-twist"}, "'swing-twist x'"),
        ({"joint": "lower", "side": "both"}, "'right' or 'left'"),
    ):
        with pytest.raises(ValueError, match=words):
            joint_angles(motion, **given)
