"""Contact in MJCF files: which pairs of geoms meet is MuJoCo's rule; the force is this package's."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

from myoquat.data import UnsupportedWarning, load_model
from myoquat.data.mjcf.reading.bodies import Skeleton
from myoquat.data.mjcf.reading.contacts import pairs_of
from myoquat.data.mjcf.reading.softness import Softness
from myoquat.data.mjcf.source import open_source
from myoquat.data.reports import ImplausibleValues, UnsupportedElements
from myoquat.joints import ModelError
from myoquat.muscle import limit_torques
from myoquat.muscle.forces import ContactMaterial, ContactSphere, HuntCrossley, RotationLimit
from tests.data.mujoco_engine import forward, opened, read, write

NOTES = UnsupportedElements(), ImplausibleValues()

MANY = """<mujoco><option>{0}</option>
<default><geom margin="50"/><pair margin="50"/></default><worldbody><geom name="floor" type="plane" size="1 1 1"/>
<geom name="wall" size="0.1"/><body name="a"><freejoint/><geom name="a1" size="0.1" condim="1"/>
<geom name="a2" type="capsule" size="0.1 0.1" contype="2" conaffinity="1"/>
<body name="welded"><geom name="w1" type="box" size="0.1 0.1 0.1"/>
<body name="b"><joint/><frame pos="0 0 0.1"><geom name="b1" type="ellipsoid" size="0.1 0.2 0.3" conaffinity="2"/>
</frame>
<body name="c" pos="0.1 0 0.2"><joint/><geom name="c1" size="0.1" contype="0"/>
<geom name="c2" size="0.1" contype="0" conaffinity="0"/>
</body></body></body></body>
<body name="d" pos="0.2 0 0.1"><joint/><geom name="d1" size="0.1"/>
<geom name="d2" type="cylinder" size="0.1 0.1" contype="4"/></body>
<body name="e" pos="0.1 0.3 0"><joint/><geom name="e1" size="0.1" condim="1"/></body></worldbody>
<contact><exclude body1="d" body2="e"/><pair geom1="c2" geom2="a1" friction="0.3"/>
<pair geom1="d1" geom2="floor" condim="1"/></contact>
</mujoco>"""
CAPSULE = """<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1" euler="10 20 0" friction="0"/>
<body name="a"><freejoint/><geom name="pill" type="capsule" size="0.1 0.2" pos="0.1 0 0" euler="0 30 0" friction="0"/>
</body></worldbody></mujoco>"""


@pytest.mark.peers
@pytest.mark.parametrize("flag", ["", '<flag filterparent="disable"/>', '<flag contact="disable"/>'])
def test_the_pairs_are_mujocos(flag, tmp_path):
    path = write(tmp_path, MANY.format(flag))
    engine, data = opened(path)
    theirs = {frozenset(engine.geom(int(i)).name for i in contact.geom) for contact in data.contact}
    for source in (open_source(opened_as, False, *NOTES) for opened_as in (path, engine)):
        pairs = pairs_of(Skeleton(source))
        assert {frozenset((pair.first.name, pair.second.name)) for pair in pairs} == theirs
        assert len(pairs) == len(theirs)
        frictions = {frozenset((pair.first.name, pair.second.name)): pair.friction for pair in pairs}
        for contact in data.contact:
            key = frozenset(engine.geom(int(i)).name for i in contact.geom)
            assert frictions[key] == pytest.approx(contact.friction[0] if contact.dim > 1 else 0.0)
        assert list(frictions.values()).count(0.0) == (2 if pairs else 0)


SOFT = """<mujoco><worldbody><geom name="a" type="plane" size="1 1 1" margin="0.1" solref="{0}" solmix="2"/>
<body><freejoint/><geom name="b" size=".1" margin="0.3" solref="0.03 1" solimp=".8 .9 .01" priority="{1}"/></body>
</worldbody></mujoco>"""


@pytest.mark.peers
@pytest.mark.parametrize("first", ["0.01 0.5", "-100 -5"])
@pytest.mark.parametrize("priority", ["0", "1"])
def test_margins_and_softness_of_a_pair_are_mujocos(first, priority, tmp_path):
    path = write(tmp_path, SOFT.format(first, priority))
    engine, data = opened(path)
    contact = data.contact[0]
    for source in (open_source(opened_as, False, *NOTES) for opened_as in (path, engine)):
        (pair,) = pairs_of(Skeleton(source))
        assert pair.margin == pytest.approx(contact.includemargin)
        assert pair.softness.solref == pytest.approx(contact.solref)
        assert (pair.softness.impedance, pair.softness.width) == pytest.approx(contact.solimp[1:3])


RESTING = """<mujoco><option timestep="0.001"/><default><geom condim="1" solref="{0}" solimp="0.9 0.9 0.001"/></default>
<worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 {1}"><freejoint/><geom {2}/></body></worldbody></mujoco>"""


@pytest.mark.peers
@pytest.mark.parametrize("solref", ["0.02 1", "-2000 -100"])
@pytest.mark.parametrize(("height", "geom"), [("0.1", 'size="0.1"'),
                                              ("0.1", 'type="capsule" size="0.1 0.3" euler="0 90 0"')])  # fmt: skip
def test_a_body_rests_on_a_plane_as_deep_as_in_mujoco(solref, height, geom, tmp_path):
    path = write(tmp_path, RESTING.format(solref, height, geom))
    engine, data = opened(path)
    mujoco.mj_step(engine, data, nstep=3000)
    with pytest.warns(UnsupportedWarning, match="shape of the world"):
        model = load_model(path, contact=True)
    weight = 9.81 * float(engine.body_mass[1])
    assert limit_torques(model, data.qpos, np.zeros(6)) == pytest.approx([0, 0, weight, 0, 0, 0], abs=1e-5 * weight)


@pytest.mark.peers
def test_a_capsule_presses_on_a_plane_in_proportion_to_mujocos_depths(tmp_path, rng):
    path = write(tmp_path, CAPSULE)
    with pytest.warns(UnsupportedWarning, match="1 geom .shape of the world.,"):
        model = load_model(path, contact=True)
    engine, data = opened(path)
    stiffness, _ = Softness().spring(float(engine.body_invweight0[1, 0]))
    touched = 0
    for x in rng.normal(size=(10, 7)):
        q = np.array([*0.1 * x[:3], *(x[3:] / np.linalg.norm(x[3:]))])
        forward(engine, data, qpos=q)
        depths = [max(-contact.dist, 0.0) for contact in data.contact]
        expected = stiffness * sum(depths)
        force = limit_torques(model, q, np.zeros(6))[:3]
        assert np.linalg.norm(force) == pytest.approx(expected, rel=1e-9, abs=1e-9)
        touched += bool(depths)
    assert touched > 3


def test_contact_is_read_where_it_is_asked_for_and_other_pairs_are_named(tmp_path):
    path = write(tmp_path, MANY.format(""))
    with pytest.warns(UnsupportedWarning, match="2 pair .without contact=True., lines"):
        assert load_model(path).forces == ()
    with pytest.warns(UnsupportedWarning) as caught:
        model = load_model(path, contact=True)
    text = str(caught[0].message)
    assert "contact of box w1 and sphere d1; they pass through each other" in text
    assert "without" not in text
    assert {type(force).__name__ for force in model.forces} == {"LinearContact"}
    assert limit_torques(model, model.start, np.zeros(model.system.nu)).any()


def test_spheres_about_one_point_are_left_out_with_a_report_and_have_no_force(tmp_path):
    path = write(
        tmp_path,
        """<mujoco><worldbody><body name="a"><joint/><geom name="one" size="0.1"/><body name="b"><joint axis="1 0 0"/>
        <inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><body name="c"><joint axis="0 1 0"/>
        <geom name="two" size="0.2"/></body></body></body></worldbody></mujoco>""",
    )
    with pytest.warns(UnsupportedWarning, match="sphere one and sphere two, whose centres always coincide"):
        model = load_model(path, contact=True)
    assert model.forces == ()
    balls = ContactSphere("one", "a", radius=0.1), ContactSphere("two", "c", radius=0.2)
    forced = replace(model, forces=(HuntCrossley("contact", (ContactMaterial(balls, 1e6),)),))
    with pytest.raises(ModelError, match="'one' and 'two' always coincide"):
        limit_torques(forced, forced.start, np.zeros(3))


LIMITS = """<mujoco><compiler angle="radian"/><worldbody><body name="a"><joint name="j" range="-0.5 0.7" margin="0.1"
solreflimit="0.05 0.8" axis="0 1 0"/><geom size="0.1" pos="0 0 0.3"/><site name="s" pos="0 0 0.5"/></body>
<site name="o" pos="0.4 0 0.2"/></worldbody><tendon><spatial name="t" range="0.2 0.4" margin="0.05"
solreflimit="-500 -10" solimplimit="0.8 0.85 0.002"><site site="o"/><site site="s"/></spatial>
<fixed name="f" range="-0.2 0.3"><joint joint="j" coef="2"/></fixed></tendon></mujoco>"""


@pytest.mark.peers
def test_limits_have_the_resting_stiffness_of_mujocos_and_begin_at_their_margins(tmp_path):
    path = write(tmp_path, LIMITS)
    engine, _ = opened(path)
    for source in (path, engine):
        model = load_model(source)
        (limit,) = model.limits
        assert (limit.lower, limit.upper) == pytest.approx((-0.4, 0.6))
        k, _ = Softness((0.05, 0.8)).spring(float(engine.dof_invweight0[0]))
        assert limit.upper_stiffness == pytest.approx(k)
        spatial, fixed = (muscle.law for muscle in model.muscles)
        assert (spatial.shortest_length, spatial.longest_length) == pytest.approx((0.25, 0.35))
        k, _ = Softness((-500.0, -10.0), 0.85).spring(float(engine.tendon_invweight0[0]))
        assert spatial.stiffness == pytest.approx(k)
        k, _ = Softness().spring(float(engine.tendon_invweight0[1]))
        assert fixed.stiffness == pytest.approx(k)


FALLING = """<mujoco><worldbody><geom type="plane" size="1 1 1"/><body><freejoint/><geom size="0.1" condim="{}"/></body>
</worldbody></mujoco>"""


@pytest.mark.parametrize(("condim", "what"), [(4, "spinning about the normal"), (6, "spinning and rolling")])
def test_torsional_and_rolling_friction_are_reported_with_their_effect(condim, what, tmp_path):
    with pytest.warns(UnsupportedWarning, match=f"condim {condim}; {what} is not braked"):
        read(tmp_path, FALLING.format(condim), contact=True)
    with pytest.warns(UnsupportedWarning) as caught:
        read(tmp_path, FALLING.format(3), contact=True)
    assert "condim" not in str(caught[0].message)


@pytest.mark.parametrize(
    "joints",
    [
        '<joint axis="0 1 0" range="-1 1"/>',
        '<joint axis="0 1 0"/><joint axis="1 0 0" range="-1 1"/>',
        '<joint name="x" type="slide" axis="1 0 0" range="-1 1"/><joint name="y" type="slide" axis="0 1 0"/>'
        '<joint name="z" type="slide"/><joint type="ball"/>',
    ],
)
def test_unnamed_joints_and_slides_of_a_free_body_have_limits(joints, tmp_path):
    (limit,) = read(
        tmp_path,
        f'<mujoco><compiler angle="radian"/><worldbody><body>{joints}<geom size="0.1"/></body></worldbody></mujoco>',
    ).limits
    assert (limit.lower, limit.upper) == (-1.0, 1.0)
    assert limit.upper_stiffness > 0


BALL = """<mujoco><compiler angle="degree"/><default><geom contype="0" conaffinity="0"/></default><worldbody>
<body name="a" pos="0.1 0 1" euler="10 20 30"><joint name="hip" type="ball" range="0 {0}" margin="0.05"
solreflimit="0.05 0.9"/><geom type="box" size="0.02 0.03 0.2" pos="0 0 -0.2"/></body></worldbody></mujoco>"""


@pytest.mark.peers
def test_ball_joints_are_limited_where_mujocos_are(tmp_path, rng):
    path = write(tmp_path, BALL.format(60))
    engine, data = opened(path)
    k = Softness((0.05, 0.9)).spring(float(engine.dof_invweight0[0]))
    for source in (path, engine):
        (limit,) = load_model(source, strict=True).forces
        assert (limit.stiffness, limit.damping) == pytest.approx(k)
    model = load_model(path, strict=True)
    assert isinstance(limit, RotationLimit)
    assert limit.upper == pytest.approx(np.deg2rad(60) - 0.05)
    active = 0
    for Q in rng.normal(size=(40, 4)):
        q = Q / np.linalg.norm(Q)
        forward(engine, data, qpos=q)
        depth = float(limit.measures(model.system, q)[0]) - np.deg2rad(60)
        torque = limit_torques(model, q, np.zeros(3))
        assert data.nefc == (depth > -0.05)
        if not data.nefc:
            assert not torque.any()
            continue
        active += 1
        assert -depth == pytest.approx(data.efc_pos[0], abs=1e-12)
        strength = np.linalg.norm(torque)
        np.testing.assert_allclose(torque, strength * data.efc_J.ravel()[:3], atol=1e-9 * max(strength, 1.0))
    assert active > 10


def test_ball_joints_that_may_turn_at_will_have_no_limit(tmp_path):
    assert not read(tmp_path, BALL.format(200), strict=True).forces


def test_solids_without_a_formula_for_their_contact_are_named(tmp_path):
    text = (
        '<mujoco><worldbody><geom name="rod" type="capsule" size=".1 1"/><body pos="0 0 0.2"><freejoint/>'
        '<geom name="egg" type="ellipsoid" size="0.2 0.1 0.1"/></body></worldbody></mujoco>'
    )
    with pytest.warns(UnsupportedWarning, match="contact of capsule rod and ellipsoid egg; they pass through each"):
        assert not read(tmp_path, text, contact=True).forces
