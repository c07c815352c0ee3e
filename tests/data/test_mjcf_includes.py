"""Files that an MJCF file includes, text that is no XML, and compiled models."""

import warnings

import mujoco
import numpy as np
import pytest

from myoquat import dynamics
from myoquat.data import ImplausibleWarning, UnsupportedWarning, load_model
from myoquat.joints import ModelError
from myoquat.muscle import path_lengths
from tests.data.mujoco_engine import write

MAIN = """<mujoco model="arm">
  <include file="parts/defaults.xml"/>
  <worldbody>
    <body name="upper"><joint name="shoulder"/><geom size="0.1"/>
      <include file="parts/fore.xml"/>
    </body>
  </worldbody>
</mujoco>"""
DEFAULTS = '<mujocoinclude><!-- a -- b ---><default><joint damping="0.5"/></default></mujocoinclude>'
FORE = """<mujocoinclude>
  <body name="fore" pos="0 0 0.3"><joint name="elbow" axis="0 1 0"/><geom size="0.05"/>
  <include file="deeper/hand.xml"/></body>
</mujocoinclude>"""
HAND = '<mujocoinclude><body name="hand" pos="0 0 0.2"><geom size="0.02"/></body></mujocoinclude>'
FILES = {"arm.xml": MAIN, "parts/defaults.xml": DEFAULTS, "parts/fore.xml": FORE, "parts/deeper/hand.xml": HAND}
WHOLE = (
    MAIN.replace('<include file="parts/fore.xml"/>', FORE)
    .replace('<include file="deeper/hand.xml"/>', HAND)
    .replace('<include file="parts/defaults.xml"/>', DEFAULTS.replace("<!-- a -- b --->", ""))
    .replace("<mujocoinclude>", "")
    .replace("</mujocoinclude>", "")
)


def written(folder, **changes):
    """The folder of the model's file, with changes of some files, by their names without their ends."""
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(changes.get(path.stem, text))
    return folder / "arm.xml"


def test_included_elements_stand_in_place_of_the_element(tmp_path):
    one = tmp_path / "whole.xml"
    one.write_text(WHOLE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImplausibleWarning)  # hyphens in a comment
        assert load_model(written(tmp_path)).system == load_model(one).system
    assert load_model(one).system.bodies[0].damping == 0.5


def test_a_mistake_in_an_included_file_is_reported_with_that_file(tmp_path):
    broken = FORE.replace('axis="0 1 0"', 'axis="0 0 0"')
    with pytest.raises(ModelError, match=r"fore\.xml:2: element 'elbow': .*axis too small"):
        load_model(written(tmp_path, fore=broken))
    odd = FORE.replace("<geom", '<joint name="odd" type="ball" frictionloss="1"/><geom')
    with pytest.warns(UnsupportedWarning, match=r"frictionloss of a ball joint\), fore\.xml:2"):
        load_model(written(tmp_path, fore=odd))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"hand": '<m><include file="hand.xml"/></m>'}, r"hand\.xml:1: .*'hand.xml' is included already"),
        ({"hand": '<m><include file="../../arm.xml"/></m>'}, "is included already"),
        ({"fore": '<m><include file="absent.xml"/></m>'}, r"fore\.xml:1: .*'absent.xml', which does not exist"),
        ({"fore": "<m><include/></m>"}, "<include> needs the attribute 'file'"),
        ({"fore": '<m><include file="a&#10;b"/></m>'}, "which does not exist"),
        ({"fore": '<m><include file="deeper/hand.xml"><body/></include></m>'}, "has no elements of its own"),
        ({"hand": "<m>"}, r"hand\.xml:1: this is not valid XML"),
        ({"hand": "<!DOCTYPE m><m/>"}, r"hand\.xml:1: document types and entities are refused"),
    ],
)
def test_includes_that_cannot_be_raise_a_named_error(changes, words, tmp_path):
    with pytest.raises(ModelError, match=words):
        load_model(written(tmp_path, **changes))


def test_files_outside_the_folder_are_read_where_that_is_allowed(tmp_path):
    text = MAIN.replace("parts/fore.xml", "../parts/fore.xml").replace("parts/defaults.xml", "../parts/defaults.xml")
    written(tmp_path)
    inner = tmp_path / "inner" / "arm.xml"
    inner.parent.mkdir()
    inner.write_text(text)
    with pytest.raises(ModelError, match=r"outside the folder of this file; load_model.*anywhere=True"):
        load_model(inner)
    assert load_model(inner, anywhere=True).system.body_names == ("upper", "fore", "hand")


def test_attached_models_are_read_and_name_no_file_outside(tmp_path):
    folder = tmp_path / "inner"
    folder.mkdir()
    part = (
        '<mujoco><asset>{}</asset><worldbody><body name="fore"><joint/><geom size="0.1"/></body></worldbody></mujoco>'
    )
    main = """<mujoco><asset><model name="part" file="part.xml"/></asset><worldbody><body name="upper"><joint/>
    <geom size="0.1"/><attach model="part" body="fore" prefix="left_"/></body></worldbody></mujoco>"""
    (folder / "arm.xml").write_text(main)
    (folder / "part.xml").write_text(part.format(""))
    assert load_model(folder / "arm.xml").system.body_names == ("upper", "left_fore")
    (tmp_path / "secret.obj").write_text("v 0 0 0")
    (folder / "part.xml").write_text(part.format('<mesh name="m" file="../secret.obj"/>'))
    with pytest.raises(ModelError, match=r"<mesh> names .*outside the folder of the model"):
        load_model(folder / "arm.xml")


@pytest.mark.posix
def test_a_link_to_a_file_outside_is_outside(tmp_path):
    path = written(tmp_path / "model")
    secret = tmp_path / "secret.xml"
    secret.write_text(HAND)
    (tmp_path / "model/parts/deeper/hand.xml").unlink()
    (tmp_path / "model/parts/deeper/hand.xml").symlink_to(secret)
    with pytest.raises(ModelError, match="outside the folder"):
        load_model(path)


TENDON = """<mujoco model="pair"><compiler angle="degree"/>
<default><joint armature="0.01" damping="0.1"/></default><worldbody>
<site name="origin" pos="0 0.1 0"/>
<body name="upper" pos="0 0 1" euler="10 20 30"><joint name="shoulder" type="ball"/><geom size="0.1" pos="0 0 0.1"/>
<geom name="roll" type="cylinder" size="0.03 0.1" pos="0 0 0.25" euler="90 0 0" contype="0" conaffinity="0" mass="0"/>
<site name="ahead" pos="0.2 0 0.25"/>
<body name="fore" pos="0 0 0.3"><joint name="elbow" axis="0 1 0" ref="20" stiffness="2" springref="30" range="-90 90"/>
<geom type="capsule" fromto="0 0 0 0 0 0.2" size="0.02"/><site name="end" pos="0.02 0 0.1"/></body></body>
<body name="box" pos="1 0 0"><freejoint name="loose"/><geom type="box" size="0.1 0.2 0.3"/></body></worldbody>
<tendon><spatial name="cord"><site site="origin"/>
<geom geom="roll" sidesite="ahead"/><site site="end"/></spatial></tendon>
<actuator><motor name="pull" tendon="cord" gear="-5" ctrlrange="0 1"/></actuator>
<keyframe><key name="start" qpos="1 0 0 0 0.3 1 0 0 1 0 0 0"/></keyframe></mujoco>"""


@pytest.mark.peers
@pytest.mark.parametrize("compiled", [False, True])
def test_a_model_in_memory_is_the_model_of_its_file(compiled, tmp_path, rng):
    path = write(tmp_path, TENDON)
    spec = mujoco.MjSpec.from_string(TENDON)
    file, memory = (load_model(source, strict=True) for source in (path, spec.compile() if compiled else spec))
    assert memory.system.coordinate_names == file.system.coordinate_names
    np.testing.assert_allclose(memory.start, file.start, atol=1e-15)
    assert [m.law for m in memory.muscles] == [m.law for m in file.muscles]
    for q in file.system.random(5, rng):
        np.testing.assert_allclose(path_lengths(memory, q), path_lengths(file, q), atol=1e-14)
        np.testing.assert_allclose(dynamics.mass_matrix(memory, q), dynamics.mass_matrix(file, q), atol=1e-13)
        u = rng.normal(size=file.system.nu)
        np.testing.assert_allclose(
            dynamics.bias_force(memory, q, u), dynamics.bias_force(file, q, u), rtol=1e-12, atol=1e-12
        )


def test_a_wrapping_rule_is_for_mujocos_models():
    with pytest.raises(ValueError, match=r"wrapping= is no option of the format TOML; it has none"):
        load_model("two_link", wrapping="mujoco")
