"""Equality constraints of MJCF files: what they hold, and MuJoCo's residuals of them."""

import importlib.util

import numpy as np
import pytest

from myoquat.data import load_model
from myoquat.dynamics.constraints import constraints_of
from myoquat.joints import ModelError

needs_mujoco = pytest.mark.skipif(importlib.util.find_spec("mujoco") is None, reason="mujoco is not installed")
TEXT = """<mujoco><compiler angle="radian"/><default><geom contype="0" conaffinity="0"/></default><worldbody>
<site name="w" pos="0.2 0 0.1" euler="0.1 0.2 0.3"/>
<body name="a" pos="0 0.1 0" euler="0.3 0 0.2"><joint name="j1" axis="0 1 0" ref="0.2"/><geom size="0.1"/>
<body name="b" pos="0.2 0 0.1"><joint name="j2" axis="1 0 1"/><joint name="j3" type="slide" axis="0 0 1"/>
<geom size="0.1"/><site name="s" pos="0 0.1 0" euler="0 0.4 0"/></body></body>
<body name="c" pos="0.1 0.3 0.2"><joint name="j4" axis="0 0 1"/><geom size="0.1" pos="0.1 0 0"/></body>
</worldbody><equality>{0}</equality></mujoco>"""


def read(tmp_path, equality):
    path = tmp_path / "x.xml"
    path.write_text(TEXT.format(equality))
    return load_model(path, strict=True)


@pytest.mark.peers
@needs_mujoco
@pytest.mark.parametrize(
    "equality",
    [
        '<connect body1="b" body2="c" anchor="0.05 0.1 -0.1"/>',
        '<connect body1="b" anchor="0.05 0.1 -0.1"/>',
        '<connect site1="s" site2="w"/>',
        '<weld body1="b" body2="c" anchor="0.05 0.1 -0.1"/>',
        '<weld body1="b" relpose="0.1 0 0.2 0.5 0.5 -0.5 0.5"/>',
        '<weld site1="s" site2="w"/>',
        '<joint joint1="j1" polycoef="0.3"/>',
        '<joint joint1="j1" joint2="j4" polycoef="0.1 0.5 0 0.2"/>',
    ],
)
def test_constraints_measure_what_mujocos_do(equality, tmp_path, rng):
    import mujoco  # noqa: PLC0415 - a peer

    model = read(tmp_path, equality)
    engine = mujoco.MjModel.from_xml_path(str(tmp_path / "x.xml"))
    data = mujoco.MjData(engine)
    (constraint,) = constraints_of(model)
    for q in rng.normal(size=(5, 4)) * 0.5:
        data.qpos[:] = q
        mujoco.mj_forward(engine, data)
        ours, theirs = constraint.position(model.system, q, np.zeros(())), data.efc_pos
        assert len(ours) == len(theirs)
        point = slice(0, 3)  # in other axes
        if len(ours) >= 3:
            np.testing.assert_allclose(np.linalg.norm(ours[point]), np.linalg.norm(theirs[point]), atol=1e-12)
        else:
            np.testing.assert_allclose(np.abs(ours), np.abs(theirs), atol=1e-12)
        if len(ours) == 6:  # MuJoCo's is the sine of half the angle
            angle = np.linalg.norm(ours[3:])
            assert abs(np.sin(angle / 2)) == pytest.approx(np.linalg.norm(theirs[3:]) / _scale(engine), abs=1e-9)


def _scale(engine):
    """Of MuJoCo's error of rotation, its torquescale."""
    return engine.eq_data[0, 10]


def test_poses_of_the_file_satisfy_them(tmp_path):
    model = read(
        tmp_path,
        '<connect body1="b" body2="c" anchor="0.05 0.1 -0.1"/><weld body1="b" body2="c"/><joint joint1="j3"/>',
    )
    start = np.array([0.2, 0.0, 0.0, 0.0])
    for constraint in constraints_of(model):
        np.testing.assert_allclose(constraint.position(model.system, start, np.zeros(())), 0.0, atol=1e-14)


@pytest.mark.parametrize(
    ("equality", "words"),
    [
        ('<connect body1="x" anchor="0 0 0"/>', "'x' is no body"),
        ('<weld site1="s" site2="x"/>', "'x' is no site"),
        ('<joint joint1="x"/>', "'x' is no hinge"),
        ("<connect/>", "needs the attribute 'body1'"),
    ],
)
def test_constraints_that_cannot_be_are_refused(equality, words, tmp_path):
    with pytest.raises(ModelError, match=words):
        read(tmp_path, equality)
