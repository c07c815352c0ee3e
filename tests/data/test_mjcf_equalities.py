"""Equality constraints of MJCF files: what they hold, and MuJoCo's residuals of them."""

from dataclasses import replace

import numpy as np
import pytest

import myoquat as mq
from myoquat.data import load_model
from myoquat.dynamics.constraints import Constraints, constraints_of
from myoquat.dynamics.constraints.evaluate import ConstraintArrays
from myoquat.joints import ModelError
from myoquat.muscle import MusclePath, PathPoint, WrapSphere
from myoquat.muscle.constraints import PathLengthConstraint
from myoquat.muscle.segments.lengths import lengths
from tests.data.mujoco_engine import forward, opened, read, write

TEXT = """<mujoco><compiler angle="radian"/><default><geom contype="0" conaffinity="0"/></default><worldbody>
<site name="w" pos="0.2 0 0.1" euler="0.1 0.2 0.3"/>
<body name="a" pos="0 0.1 0" euler="0.3 0 0.2"><joint name="j1" axis="0 1 0" ref="0.2"/><geom size="0.1"/>
<body name="b" pos="0.2 0 0.1"><joint name="j2" axis="1 0 1"/><joint name="j3" type="slide" axis="0 0 1"/>
<geom size="0.1"/><site name="s" pos="0 0.1 0" euler="0 0.4 0"/></body></body>
<body name="c" pos="0.1 0.3 0.2"><joint name="j4" axis="0 0 1"/><geom size="0.1" pos="0.1 0 0"/><site name="c"/></body>
</worldbody><tendon><spatial name="t1"><site site="w"/><site site="s"/></spatial>
<spatial name="t2"><site site="s"/><site site="c"/></spatial>
<fixed name="f1"><joint joint="j1" coef="0.5"/><joint joint="j4" coef="-1.5"/></fixed>
<fixed name="f2"><joint joint="j3" coef="2"/></fixed>
<fixed name="f3"><joint joint="j3" coef="1"/><joint joint="j1" coef="-1"/></fixed></tendon>
<equality>{0}</equality></mujoco>"""


def holding(tmp_path, equality):
    return read(tmp_path, TEXT.format(equality), strict=True)


def test_the_only_joint_of_a_file_is_held(tmp_path):
    path = write(
        tmp_path,
        """<mujoco><compiler angle="radian"/><worldbody><body><joint name="j" axis="0 1 0" ref="0.2"/>
        <geom size="0.1" pos="0.1 0 0"/></body></worldbody><equality><joint joint1="j" polycoef="0.3"/></equality>
        </mujoco>
        """,
    )
    model = load_model(path, strict=True)
    way = mq.simulate(model, [0.5], [0.0], 0.1, step=1e-2)  # under gravity, at ref + 0.3
    assert way.q[-1] == pytest.approx([0.5], abs=1e-9)
    model.save(tmp_path / "y.xml")
    assert load_model(tmp_path / "y.xml").constraints[0].coefficients == pytest.approx((0.5,))
    with pytest.raises(ModelError, match="depend on a coordinate, and this one on none"):
        model.save(tmp_path / "y.osim")


HELD = (
    '<connect name="pin" body1="b" body2="c" anchor="0.05 0.1 -0.1"/>',
    '<connect body1="b" anchor="0.05 0.1 -0.1"/>',
    '<connect site1="s" site2="w"/>',
    '<weld name="glue" body1="b" body2="c" anchor="0.05 0.1 -0.1"/>',
    '<weld body1="b" relpose="0.1 0 0.2 0.5 0.5 -0.5 0.5"/>',
    '<weld site1="s" site2="w"/>',
    '<joint joint1="j1" polycoef="0.3"/>',
    '<joint joint1="j1" polycoef="0.3 1 0.7"/>',
    '<joint joint1="j1" joint2="j4" polycoef="0.1 0.5 0 0.2"/>',
    '<tendon tendon1="t1" polycoef="0.02"/>',
    '<tendon tendon1="t1" tendon2="t2" polycoef="0.01 0.5 0 3"/>',
    '<tendon tendon1="f1"/>',
    '<tendon tendon1="f2" polycoef="0.3 1 0.7"/>',
    '<tendon tendon1="f1" tendon2="f3" polycoef="0.1 0.5"/>',
    '<tendon tendon1="f1" tendon2="f2" polycoef="0.1 0.5 -0.7 0 0.2"/>',
)


@pytest.mark.peers
@pytest.mark.parametrize("equality", HELD)
def test_constraints_measure_what_mujocos_do(equality, tmp_path, rng):
    model = holding(tmp_path, equality)
    engine, data = opened(tmp_path / "x.xml")
    (constraint,) = constraints_of(model)
    for q in rng.normal(size=(5, 4)) * 0.5:
        forward(engine, data, qpos=q)
        ours, theirs = constraint.position(model.system, q, 0.0) / getattr(constraint, "scale", 1.0), data.efc_pos
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


AROUND = """<mujoco><compiler angle="radian"/><default><geom contype="0" conaffinity="0"/></default><worldbody>
<site name="w" pos="0 -0.05 0.3"/><geom name="wheel" type="cylinder" size="0.06 0.1" euler="1.5707963 0 0" mass="0"/>
<site name="front" pos="0.2 0 0"/>
<body name="a"><joint name="j1" axis="0 1 0"/><geom size="0.05" pos="0 0 -0.3"/><site name="s" pos="0.01 0.04 -0.3"/>
<geom name="ball" size="0.04" pos="0.02 0 -0.4" mass="0"/><body name="b" pos="0 0 -0.4"><joint name="j2" axis="0 1 0"/>
<geom size="0.05" pos="0 0 -0.2"/><site name="e" pos="0.03 0 -0.2"/></body></body></worldbody>
<tendon><spatial name="t1"><site site="w"/><geom geom="wheel" sidesite="front"/><site site="s"/></spatial>
<spatial name="t2"><site site="s"/><geom geom="ball"/><site site="e"/></spatial></tendon>
<equality>{0}</equality></mujoco>"""


@pytest.mark.peers
@pytest.mark.parametrize(
    "equality",
    ['<tendon tendon1="t1" polycoef="0.01"/>', '<tendon tendon1="t1" tendon2="t2" polycoef="0.01 0.5 0 3"/>'],
)
def test_tendons_around_surfaces_are_held_as_mujocos_are(equality, tmp_path, rng):
    path = write(tmp_path, AROUND.format(equality))
    model = load_model(path, wrapping="mujoco")
    engine, data = opened(path)
    held = ConstraintArrays(Constraints(model.system, constraints_of(model)))
    touched = 0
    for q, u in zip(rng.uniform(-1, 1, size=(20, 2)), rng.normal(size=(20, 2)), strict=True):
        forward(engine, data, qpos=q, qvel=u)
        touched += int((data.wrap_obj[:] >= 0).any())
        assert held.position(q, 0.0) == pytest.approx(data.efc_pos, abs=1e-12)
        assert held.position_jacobian(q, 0.0).ravel() == pytest.approx(data.efc_J.ravel()[:2], abs=1e-12)
        h = 1e-6  # A udot = b along the motion: the rate of A u
        rates = [held.jacobian(model.system.integrate(q, s * u), 0.0) @ u for s in (-h, h)]
        assert held.bias(q, u, 0.0) == pytest.approx(-(rates[1] - rates[0]) / (2 * h), rel=1e-5, abs=1e-7)
    assert touched > 5


def test_a_rope_of_constant_length_does_no_work_and_one_with_a_solved_contact_is_rejected():
    hinge = mq.joints.RevoluteJoint((0, 0, 1))
    box = {"mass": 1.0, "center_of_mass": (0.3, 0, 0), "inertia": (0.01, 0.01, 0.01, 0, 0, 0)}
    bodies = mq.Body("arm", "ground", hinge, **box), mq.Body("fore", "arm", hinge, position=(0.6, 0, 0), **box)
    model = mq.Model(mq.ArticulatedSystem(bodies, gravity=(0, -9.81, 0)))
    rope = MusclePath((PathPoint("ground", (0.1, 0.3, 0)), PathPoint("fore", (0.2, -0.1, 0.0))))
    q = np.array([0.1, 0.3])
    held = PathLengthConstraint(rope, float(lengths(model.system, (rope,), q)[0]), (0.0,))
    motion = mq.simulate(model, q, np.zeros(2), 0.5, step=2e-3, constraints=(held,))
    energy = mq.dynamics.kinetic_energy(model, motion.q, motion.u) + mq.dynamics.potential_energy(model, motion.q)
    assert np.ptp(energy) < 1e-7
    assert held.position(model.system, motion.q[-1], np.zeros(())) == pytest.approx([0.0], abs=1e-12)
    around = replace(rope, wraps=(WrapSphere(body="arm", radius=0.05, name="ball"),))
    replace(held, path=around).check(model.system)
    inside = replace(rope, wraps=(WrapSphere(body="arm", radius=0.05, rule="inside", name="ring"),))
    with pytest.raises(ModelError, match="wraps around ring, where a solver finds the contact"):
        replace(held, path=inside).check(model.system)
    with pytest.raises(ModelError, match="one coefficient, not 2"):
        replace(held, coefficients=(0.0, 1.0)).check(model.system)
