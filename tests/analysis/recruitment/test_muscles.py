"""Moment arms by their names, couplers followed, and the power check."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from myoquat.analysis.recruitment import moment_arm_surface, moment_arms, power_check
from myoquat.data import load_model
from myoquat.joints import ArticulatedSystem, euler_from_quaternion, quaternion_from_euler, rotation_matrix
from myoquat.joints.errors import ModelError
from myoquat.joints.functions import Linear
from myoquat.joints.types import FloatingJoint, SphericalJoint
from myoquat.muscle import Model, Muscle, PathFlag, PathPoint, WrapSphere, path_jacobian, path_lengths
from myoquat.muscle.coordinates import Coordinate, Coupler
from tests.bodies import on_hinge, with_muscles

pytestmark = pytest.mark.filterwarnings("ignore::myoquat.data.UnsupportedWarning")
FILE = Path(__file__).parents[2] / "data" / "small_leg.osim"


@pytest.fixture(scope="module")
def leg():
    return load_model(FILE)


def test_columns_of_coordinates_are_minus_dl_dq(leg, rng):
    q = leg.system.random(3, rng)
    table = moment_arms(leg, q, np.array(["knee", "flexion"]))
    assert list(table.index.names) == ["pose", "muscle"]
    J = path_jacobian(leg, q, "coordinates")
    k = leg.system.coordinate_names.index("knee")
    np.testing.assert_allclose(table["knee"].to_numpy(), -J[..., k].ravel(), atol=1e-13)
    one = moment_arms(leg, q[0])
    assert one.loc["straight", "flexion"] == table.loc[(0, "straight"), "flexion"]


def test_ball_joints_have_torques_of_a_unit_tension_in_either_frame(rng):
    model = load_model("two_link")
    q = model.system.random(4, rng)
    child, parent = (moment_arms(model, q, frame=frame) for frame in ("child", "parent"))
    assert list(child.columns[:3]) == [f"A.torque_{x} [child]" for x in "xyz"]
    assert list(parent.columns[:3]) == [f"A.torque_{x} [parent]" for x in "xyz"]
    R = np.repeat(rotation_matrix(q[:, :4]), 6, axis=0)
    turned = np.einsum("nij,nj->ni", R, child.iloc[:, :3].to_numpy())
    np.testing.assert_allclose(parent.iloc[:, :3].to_numpy(), turned, atol=1e-14)


def test_sequences_reach_floating_joints_and_models_from_files():
    """-dl/dphi by differences: a body that floats, and a file's model whose points depend on the angles it had."""
    leg = replace(load_model(FILE, rotations="quaternion"), couplers=())
    assert any(isinstance(body.joint, FloatingJoint) for body in leg.system.bodies)
    q = np.array(leg.start_q)
    table = moment_arms(leg, q, sequence="YXZ")
    for body, iq in zip(leg.system.bodies, leg.system.q_slices, strict=True):
        if not isinstance(body.joint, (SphericalJoint, FloatingJoint)):
            continue
        s = slice(iq.stop - 4, iq.stop)
        phi = euler_from_quaternion(q[s], "YXZ")
        ends = []
        for move in np.concatenate([np.eye(3), -np.eye(3)]) * 1e-6:
            moved = q.copy()
            moved[s] = quaternion_from_euler(phi + move, "YXZ")
            ends.append(path_lengths(leg, moved))
        slopes = (np.array(ends[:3]) - ends[3:]) / 2e-6
        columns = [f"{body.name}.p{i} [YXZ]" for i in (1, 2, 3)]
        if set(columns) <= set(table.columns):
            np.testing.assert_allclose(table[columns].to_numpy(), -slopes.T, atol=1e-8)
    assert sum("[YXZ]" in name for name in table.columns) >= 6


def test_the_file_s_angles_have_moment_arms_on_a_quaternion_model_and_one_of_another_sequence(leg, rng):
    """Against the model with the file's angles, by each of the ways to ask; left sides turn about negative axes."""
    ball = load_model(FILE, rotations="quaternion")
    names = ["flexion", "adduction", "rotation"]
    x = rng.uniform(-0.6, 0.6, (5, 3))
    q = leg.pose(dict(zip(names, x.T, strict=True)))
    there = ball.pose(dict(zip(names, x.T, strict=True)))
    np.testing.assert_allclose(path_lengths(ball, there), path_lengths(leg, q), atol=1e-13)
    wanted = moment_arms(leg, q, names)
    for table in (moment_arms(ball, there, names), moment_arms(ball, there, sequence="file")[names]):
        pd.testing.assert_frame_equal(table, wanted, atol=1e-12)
    pd.testing.assert_frame_equal(moment_arms(ball, there, sequence="ZXY")[names], wanted, atol=1e-12)
    euler = load_model(FILE, rotations="YZX")
    found = moment_arms(euler, euler.pose(dict(zip(names, x.T, strict=True))), names)
    pd.testing.assert_frame_equal(found, wanted, atol=1e-12)
    surface = moment_arm_surface(ball, {"flexion": [0.0, 0.4]})
    by_file = moment_arm_surface(leg, {"flexion": [0.0, 0.4]})
    np.testing.assert_allclose(surface["moment_arm"], by_file["moment_arm"], atol=1e-12)
    assert surface["flexion"].attrs["units"] == "rad"


def test_couplers_are_followed_along_their_chain(leg, rng):
    """The arm of back_1 is the derivative with neck_1 moving by half of it, and swing by a quarter."""
    chain = Coupler("more", "swing", "neck_1", Linear(0.5))
    model = replace(leg, couplers=(*leg.couplers, chain))
    q = model.system.random(5, rng)
    table = moment_arms(model, q, ["back_1", "neck_1"])
    names, h = model.system.coordinate_names, 1e-6
    move = np.zeros(model.system.nq)
    for name, rate in (("back_1", 1.0), ("neck_1", 0.5), ("swing", 0.25)):
        move[names.index(name)] = rate
    slope = (path_lengths(model, q + h * move) - path_lengths(model, q - h * move)) / (2 * h)
    np.testing.assert_allclose(table["back_1"].to_numpy(), -slope.ravel(), atol=1e-9)
    with pytest.raises(ModelError, match="drive each other: neck_1 -> back_1 -> neck_1"):
        replace(leg, couplers=(*leg.couplers, Coupler("back", "back_1", "neck_1", Linear())))
    double = replace(leg, couplers=(*leg.couplers, Coupler("again", "neck_1", "knee", Linear())))
    with pytest.raises(ValueError, match="'neck_1' depends on two couplers"):
        moment_arms(double, q)


def test_unknown_things_are_named(leg):
    q = np.array(leg.start_q)
    with pytest.raises(ValueError, match="no moment arm 'elbow'; nearest: root_rx"):
        moment_arms(leg, q, ["elbow"])
    with pytest.raises(ValueError, match="frame is one of child, parent"):
        moment_arms(leg, q, frame="world")


@pytest.mark.parametrize("rotations", ["file", "quaternion"])
def test_powers_balance(leg, rotations):
    check = power_check(leg if rotations == "file" else leg.with_rotations(rotations), 200)
    assert check.holds
    assert "balance" in check.to_text()
    assert list(check.table.index) == list(leg.muscle_names)


def test_lengths_that_bend_sharply_raise_no_false_alarm(monkeypatch):
    """A path that passes its hinge's end at 10 um: l = sqrt(d^2 + a b x^2) nearly, whose third derivative is 1e8."""
    hinge = ArticulatedSystem((on_hinge("arm", "z", "x"),))
    path = PathPoint("ground", (0.1, 0.0, 0.0)), PathPoint("arm", (0.1 + 1e-5, 0.0, 0.0))
    model = Model(hinge, (Muscle("near", path),), coordinates=(Coordinate("x", (-2e-4, 2e-4)),))
    check = power_check(model, 100)
    assert check.holds
    assert len(check.left_out) < 20
    monkeypatch.setattr("myoquat.analysis.recruitment.power.path_jacobian", lambda m, q: 1.001 * path_jacobian(m, q))
    wrong = power_check(model, 100)
    assert not wrong.holds
    assert "do not balance; worst:" in wrong.to_text()


def test_unsolved_paths_are_named_with_their_poses(leg, monkeypatch):
    """They are left out of the balance, whatever their powers, and the text and a table say which they are."""
    ball = WrapSphere(body="ground", position=(9.0, 0.0, 0.0), radius=0.01)
    leg = with_muscles(leg, path=lambda m: replace(m.path, wraps=(ball,)))
    at = np.zeros((50, len(leg.muscles)), dtype=int)
    at[[3, 3, 17], [0, 1, 1]] = PathFlag.UNSOLVED
    at[5, 2] = PathFlag.JUMP
    monkeypatch.setattr("myoquat.analysis.recruitment.power.path_flags", lambda model, q, near: at)
    check = power_check(leg, 50)
    first, second, third = leg.muscle_names[:3]
    unsolved = check.left_out[check.left_out["reason"] == "unsolved"]
    assert list(zip(unsolved["pose"], unsolved["muscle"], strict=True)) == [(3, first), (3, second), (17, second)]
    assert set(leg.system.coordinate_names) < set(check.left_out.columns)
    assert third in list(check.left_out["muscle"][check.left_out["reason"] == "near a jump"])
    text = check.to_text()
    assert "Left out at 2 poses, since these paths are unsolved (not certainly the shortest):" in text
    assert f"  pose 3: {first}, {second}\n  pose 17: {second}\n" in text
    assert list(check.table["unsolved"][[first, second, third]]) == [1, 2, 0]
