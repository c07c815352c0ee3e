"""A rotation has two triples of the file's angles: the model's description and the motion say which one is meant."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import myoquat as mq
from myoquat.analysis.recruitment import moment_arms
from myoquat.data import Motion, load_motion, save_table
from myoquat.joints import CoordinateWarning, convert_coordinates, with_branches
from myoquat.muscle import ExponentialMuscle, PathFlag, path_flags
from myoquat.muscle.coordinates import Coordinate
from tests.joints.phantom_arm import arm

TIME = np.linspace(0.0, 1.0, 41)
WIDE = {"plane": (-1.6, 3.14), "elev": (-0.8, 2.5), "back": (-99.0, 99.0), "axial": (-1.5, 1.5)}
ELEV = 2  # the column of the elevation


def both(ranges=None):
    """The arm with muscles as its file has it, and with a quaternion."""
    model = arm()
    laws = tuple(replace(muscle, law=ExponentialMuscle(0.5, 500.0)) for muscle in model.muscles)
    model = replace(model, muscles=laws)
    if ranges:
        model = replace(model, coordinates=tuple(Coordinate(*item) for item in ranges.items()))
    return model, model.with_rotations("quaternion")


def motions(folder, model, ball, elevation):
    """A motion in the file's angles at the elevations (t,), read for both descriptions."""
    plane, axial = 0.2 + 0.3 * np.sin(TIME), 0.4 - 0.5 * TIME
    table = pd.DataFrame(
        {
            "glide": 0.3 * elevation + 0.05,
            "plane": plane,
            "elev": elevation,
            "back": -plane,
            "axial": axial,
            "elbow": TIME,
        },
        index=pd.Index(TIME, name="time"),
    )
    table.attrs = {"in_degrees": False}
    save_table(table, folder / "m.mot")
    return load_motion(folder / "m.mot", model), load_motion(folder / "m.mot", ball)


@pytest.mark.parametrize("ranges", [None, WIDE], ids=["narrow", "wide"])
@pytest.mark.parametrize("elevation", [0.91 - 1.5 * TIME, -0.1 - 0.5 * TIME], ids=["through the lock", "beyond it"])
def test_a_motion_in_the_files_angles_is_the_same_in_both_descriptions(tmp_path, ranges, elevation):
    """Narrow ranges leave out the elevation that is given, wide ones hold both triples of many of the rotations."""
    model, ball = both(ranges)
    x, z = motions(tmp_path, model, ball, elevation)
    ours = z.check_system(ball)
    np.testing.assert_allclose(mq.path_lengths(ours, z.q), mq.path_lengths(model, x.q), rtol=0, atol=1e-12)
    np.testing.assert_allclose(convert_coordinates(ours.system, model.system, z.q), x.q, atol=1e-9)
    np.testing.assert_allclose(z.angles()["elev"], elevation, atol=1e-9)
    names = ["plane", "axial", "elbow"]
    arms = [moment_arms(m, motion.q, names).to_numpy() for m, motion in ((model, x), (ours, z))]
    np.testing.assert_allclose(arms[1], arms[0], atol=1e-12)
    assert not (path_flags(ours, z.q) & PathFlag.OPEN).any()


def test_a_pose_that_leaves_the_branch_open_is_flagged():
    """Both triples lie in the wide ranges. The muscles on the frames and on the moving point depend on them."""
    model, ball = both(WIDE)
    q = model.pose({"plane": -0.2, "elev": -0.3, "axial": 0.2})
    z = convert_coordinates(model.system, ball.system, q)
    there = dict(zip(ball.muscle_names, (path_flags(ball, z) & PathFlag.OPEN) > 0, strict=True))
    assert there == {"over": True, "under": True, "moves": True}
    clear = convert_coordinates(model.system, ball.system, model.pose({"plane": 0.1, "elev": 1.3, "axial": 0.2}))
    assert not (path_flags(ball, clear) & PathFlag.OPEN).any()


def test_conversion_warns_where_the_other_triple_is_meant():
    model, ball = both(WIDE)
    near, far = (model.pose({"plane": plane, "elev": -0.3, "axial": 0.2}) for plane in (0.1, 2.9))
    z = convert_coordinates(model.system, ball.system, near)  # the start's triple is the nearer one
    np.testing.assert_allclose(mq.path_lengths(ball, z), mq.path_lengths(model, near), atol=1e-13)
    with pytest.warns(CoordinateWarning, match="two triples of plane, elev, axial"):
        z = convert_coordinates(model.system, ball.system, far)
    chosen = replace(ball, system=with_branches(ball.system, {"arm": ((2.9, -0.3, 0.2),)}))
    np.testing.assert_allclose(mq.path_lengths(chosen, z), mq.path_lengths(model, far), atol=1e-13)


def test_conversion_warns_of_angles_out_of_their_ranges():
    """The quaternion stands for the triple in the ranges, with which moving points and couplers differ."""
    model, ball = both()
    q = model.pose({"plane": 0.1, "elev": -0.3, "axial": 0.2})
    with pytest.warns(CoordinateWarning, match=r"stands for \[-3.0416, 0.3, 0.2\] rad, not for \[0.1, -0.3, 0.2\]"):
        z = convert_coordinates(model.system, ball.system, q)
    assert np.abs(mq.path_lengths(ball, z) - mq.path_lengths(model, q)).max() > 1e-3
    chosen = replace(ball, system=with_branches(ball.system, {"arm": ((0.1, -0.3, 0.2),)}))
    np.testing.assert_allclose(mq.path_lengths(chosen, z), mq.path_lengths(model, q), atol=1e-13)


def test_a_motion_of_quaternions_is_continuous_from_its_first_frame(tmp_path):
    model, ball = both(WIDE)
    _, z = motions(tmp_path, model, ball, 0.91 - 1.5 * TIME)
    triples = ((0.0, 1.0, 0.0), (2.5, 0.6, 0.0), (-2.5, 0.6, 0.0))
    blank = replace(ball, system=with_branches(ball.system, {"arm": triples}))
    assert Motion(blank, TIME, z.q).system.coordinate("elev", z.q)[-1] == pytest.approx(-0.59)
    assert blank.system.coordinate("elev", z.q)[-1] == pytest.approx(0.59, abs=0.2)


def test_start_past_the_lock_is_the_one_that_is_meant():
    """Without ranges past the lock: the start's own triple decides."""
    model = replace(both()[0], start_q=(0.0, 0.4, -0.6, -0.4, 0.3, 0.5))
    ball = model.with_rotations("quaternion")
    np.testing.assert_allclose(mq.path_lengths(ball, ball.start), mq.path_lengths(model, model.start), atol=1e-13)
    assert ball.system.coordinate("elev", ball.start) == pytest.approx(-0.6)


def test_a_body_without_named_angles_has_no_branch():
    with pytest.raises(mq.ModelError, match="no ball joint with named angles carries a body 'fore'"):
        with_branches(both()[1].system, {"fore": ((0.0, 0.0, 0.0),)})
