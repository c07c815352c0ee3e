"""Contact in MJCF files: which pairs of geoms meet is MuJoCo's rule; the force is this package's."""

import importlib.util
from dataclasses import replace

import numpy as np
import pytest

from myoquat.data import UnsupportedWarning, load_model
from myoquat.data.mjcf.reading.bodies import read_skeleton
from myoquat.data.mjcf.reading.compiled import document_of
from myoquat.data.mjcf.reading.contacts import STIFFNESS_PA, pairs_of
from myoquat.data.mjcf.reading.document import document_in, read_document
from myoquat.joints import ModelError
from myoquat.muscle import limit_torques
from myoquat.muscle.forces import ContactMaterial, ContactSphere, HuntCrossley

needs_mujoco = pytest.mark.skipif(importlib.util.find_spec("mujoco") is None, reason="mujoco is not installed")
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
@needs_mujoco
@pytest.mark.parametrize("flag", ["", '<flag filterparent="disable"/>', '<flag contact="disable"/>'])
def test_the_pairs_are_mujocos(flag, tmp_path):
    import mujoco  # noqa: PLC0415 - a peer

    path = tmp_path / "x.xml"
    path.write_text(MANY.format(flag))
    engine = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(engine)
    mujoco.mj_forward(engine, data)
    theirs = {frozenset(engine.geom(int(i)).name for i in contact.geom) for contact in data.contact}
    for document in (read_document(path), document_in(document_of(engine))):
        pairs = pairs_of(document, read_skeleton(document))
        assert {frozenset((pair.first.name, pair.second.name)) for pair in pairs} == theirs
        assert len(pairs) == len(theirs)
        frictions = {frozenset((pair.first.name, pair.second.name)): pair.friction for pair in pairs}
        for contact in data.contact:
            key = frozenset(engine.geom(int(i)).name for i in contact.geom)
            assert frictions[key] == pytest.approx(contact.friction[0] if contact.dim > 1 else 0.0)
        assert list(frictions.values()).count(0.0) == (2 if pairs else 0)


@pytest.mark.peers
@needs_mujoco
def test_a_capsule_presses_on_a_plane_by_hertz_at_mujocos_depths(tmp_path, rng):
    import mujoco  # noqa: PLC0415 - a peer

    path = tmp_path / "x.xml"
    path.write_text(CAPSULE)
    with pytest.warns(UnsupportedWarning, match="1 geom .shape of the world.,"):
        model = load_model(path, contact=True)
    engine = mujoco.MjModel.from_xml_path(str(path))
    data, k = mujoco.MjData(engine), STIFFNESS_PA ** (2 / 3) / 2
    touched = 0
    for x in rng.normal(size=(10, 7)):
        q = np.array([*0.1 * x[:3], *(x[3:] / np.linalg.norm(x[3:]))])
        data.qpos[:] = q
        mujoco.mj_forward(engine, data)
        depths = [max(-contact.dist, 0.0) for contact in data.contact]
        expected = sum(4 / 3 * k * np.sqrt(0.1 * k) * depth**1.5 for depth in depths)
        force = limit_torques(model, q, np.zeros(6))[:3]
        assert np.linalg.norm(force) == pytest.approx(expected, rel=1e-9, abs=1e-9)
        touched += bool(depths)
    assert touched > 3


def test_contact_is_read_where_it_is_asked_for_and_other_pairs_are_named(tmp_path):
    path = tmp_path / "x.xml"
    path.write_text(MANY.format(""))
    with pytest.warns(UnsupportedWarning, match="contact .section."):
        assert load_model(path).forces == ()
    with pytest.warns(UnsupportedWarning) as caught:
        model = load_model(path, contact=True)
    text = str(caught[0].message)
    assert "contact of sphere wall and box w1; they pass through each other" in text
    assert "section" not in text
    assert {type(force).__name__ for force in model.forces} == {"HuntCrossley"}
    assert limit_torques(model, model.start, np.zeros(model.system.nu)).any()


@pytest.mark.parametrize(("old", "message"), [('geom1="c2"', "'no' is no geom"), ('body1="d"', "'no' is no body")])
def test_pairs_of_what_does_not_exist_are_rejected(old, message, tmp_path):
    path = tmp_path / "x.xml"
    path.write_text(MANY.format("").replace(old, f'{old[:5]}="no"'))
    with pytest.raises(ModelError, match=message):
        load_model(path, contact=True)


def test_spheres_about_one_point_are_left_out_with_a_report_and_have_no_force(tmp_path):
    path = tmp_path / "x.xml"
    path.write_text(
        """<mujoco><worldbody><body name="a"><joint/><geom name="one" size="0.1"/><body name="b"><joint axis="1 0 0"/>
        <inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><body name="c"><joint axis="0 1 0"/>
        <geom name="two" size="0.2"/></body></body></body></worldbody></mujoco>"""
    )
    with pytest.warns(UnsupportedWarning, match="sphere one and sphere two, whose centres always coincide"):
        model = load_model(path, contact=True)
    assert model.forces == ()
    balls = ContactSphere("one", "a", radius=0.1), ContactSphere("two", "c", radius=0.2)
    forced = replace(model, forces=(HuntCrossley("contact", (ContactMaterial(balls, 1e6),)),))
    with pytest.raises(ModelError, match="'one' and 'two' always coincide"):
        limit_torques(forced, forced.start, np.zeros(3))
