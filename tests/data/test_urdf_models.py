"""What a URDF says of joints beyond the mechanics: read into a model, written again, and the rest reported."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from myoquat.apps.command import main
from myoquat.data import UnsupportedWarning, UnwrittenWarning, load_model
from myoquat.joints.errors import ModelError
from myoquat.joints.functions import Linear
from myoquat.muscle.actuators import CoordinateActuator
from myoquat.muscle.coordinates import Coordinate, Coupler
from tests.data.tables import rejected

ARM = Path(__file__).parents[1] / "data" / "arm.urdf"
HAND = """<robot name="hand">
  <link name="palm"/>
  <link name="near"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
  <link name="far"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
  <link name="rod"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
  <joint name="tip" type="revolute"><parent link="near"/><child link="far"/>
    <limit upper="1.5" effort="1e9" velocity="0"/><mimic joint="knuckle" multiplier="0.5" offset="0.25"/></joint>
  <joint name="knuckle" type="revolute"><parent link="palm"/><child link="near"/>
    <limit lower="-0.5" upper="2" effort="30"/></joint>
  <joint name="slide" type="prismatic"><parent link="palm"/><child link="rod"/>
    <limit lower="-1e9" upper="1e9" effort="0" velocity="1e9"/></joint>
</robot>
"""


@pytest.fixture
def hand(tmp_path):
    path = tmp_path / "hand.urdf"
    path.write_text(HAND)
    return load_model(path)


def test_joints_give_names_ranges_efforts_and_couplings(hand):
    assert hand.system.coordinate_names == ("tip", "knuckle", "slide")
    assert hand.coordinates == (Coordinate("tip", (0.0, 1.5)), Coordinate("knuckle", (-0.5, 2.0)))
    assert hand.actuators == (CoordinateActuator("knuckle", "knuckle", lower=-30.0, upper=30.0),)
    assert hand.couplers == (Coupler("tip_mimics_knuckle", "tip", "knuckle", Linear(0.5, 0.25)),)
    pose = hand.pose({"knuckle": 1.0})
    assert pose[hand.system.coordinate_names.index("tip")] == 0.75
    np.testing.assert_array_equal(hand.start, hand.pose())


def test_joint_starts_where_the_joint_that_it_mimics_is_put_by_a_third(tmp_path):
    mimic = '<limit upper="2" effort="30"/><mimic joint="slide" offset="0.5"/>'
    path = tmp_path / "hand.urdf"
    path.write_text(HAND.replace('<limit lower="-0.5" upper="2" effort="30"/>', mimic))
    model = load_model(path)
    assert model.system.coordinate_names == ("tip", "knuckle", "slide")  # each mimics the next one
    np.testing.assert_array_equal(model.start, (0.5, 0.5, 0.0))


def test_it_is_written_as_it_was_read(hand, tmp_path):
    moving = replace(hand, start_q=None)
    moving.save(tmp_path / "copy.urdf")
    again = load_model(tmp_path / "copy.urdf")
    for part in ("coordinates", "actuators", "couplers", "start_q"):
        assert getattr(again, part) == getattr(hand, part)
    assert again.system.coordinate_names == hand.system.coordinate_names


def test_what_has_no_place_in_the_file_is_reported(hand, tmp_path):
    strong = CoordinateActuator("strong", "slide", optimal_force=7.0)
    uneven = CoordinateActuator("uneven", "tip", lower=-1.0, upper=3.0)
    model = replace(hand, actuators=(strong, uneven), coordinates=(Coordinate("slide", locked=True),))
    with pytest.warns(UnwrittenWarning, match=r"coordinates \(slide\); 2 actuators \(strong, uneven\); 1 starts"):
        model.save(tmp_path / "copy.urdf")
    with pytest.raises(ModelError, match="cannot hold"):
        model.save(tmp_path / "other.urdf", strict=True)
    assert not (tmp_path / "other.urdf").exists()


def test_what_is_not_read_is_reported_with_lines_and_what_it_changes(capsys):
    left = r"1 dynamics \(friction\), line 36; 1 limit \(velocity\), line 35; 1 transmission .*; 1 gazebo"
    with pytest.warns(UnsupportedWarning, match=left):
        assert load_model(ARM).control_names == ("elbow",)
    with pytest.raises(ModelError, match=left):
        load_model(ARM, strict=True)
    assert not main(["info", str(ARM)])
    reported = capsys.readouterr().out
    assert "coordinate elbow [rad]: from 0 to 2.5 rad" in reported
    assert "1 dynamics (friction), line 36: the joint moves without dry friction" in reported


def test_comments_with_two_hyphens_and_macros_are_read_over(tmp_path):
    """As urdfdom reads such files; the macros of xacro make elements, which a warning says."""
    parts = '<!-- a -- b --><xacro:leg side="l"/><link name="a"/>'
    (tmp_path / "x.urdf").write_text(f'<robot xmlns:xacro="http://ros.org/wiki/xacro" name="r">{parts}</robot>')
    with pytest.warns(UnsupportedWarning, match=r"1 leg \(a macro: expand the file first\), line 1$"):
        assert load_model(tmp_path / "x.urdf").system.body_names[-1] == "a"


test_impossible_drives_are_refused_with_their_line = rejected(
    HAND, "hand.urdf",
    ('joint="knuckle"', 'joint="thumb"', "no hinge or slider 'thumb' to mimic; known: tip, knuckle, slide", 7),
    ('lower="-0.5"', 'lower="5"', "joint 'knuckle': lower is above upper: 5 > 2", 9),
    ('effort="30"', 'effort="-30"', "joint 'knuckle': effort must not be negative, not -30", 9),
    ('joint="knuckle"', 'joint="tip"', "cannot drive itself"),
)  # fmt: skip
