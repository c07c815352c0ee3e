"""Groups of muscles: read from files of each version of OpenSim, written, kept by what changes a model."""

import contextlib
from dataclasses import replace

import numpy as np
import pytest

import myoquat as mq
from myoquat.apps.command import main
from myoquat.data import ImplausibleWarning, UnsupportedWarning, load_model
from myoquat.data.reports import UnwrittenWarning
from myoquat.joints import ModelError
from myoquat.muscle import MuscleGroup
from myoquat.muscle.scaling import scaled

POINTS = (
    "<{path}><PathPointSet><objects><PathPoint name='a'>{ground}<location>0 0.1 0</location></PathPoint>"
    "<PathPoint name='b'>{arm}<location>0.05 -0.1 0</location></PathPoint></objects></PathPointSet></{path}>"
)
GROUPS = """<groups><ObjectGroup name="front of arm"><members> up  both</members></ObjectGroup>
<ObjectGroup name="all"><members>up down both</members></ObjectGroup>
<ObjectGroup name="none"><members /></ObjectGroup></groups>"""
OLD_BODY = """<Body name="arm"><mass>1</mass><mass_center>0 -0.1 0</mass_center><inertia_xx>0.1</inertia_xx>
<inertia_yy>0.1</inertia_yy><inertia_zz>0.1</inertia_zz><Joint><PinJoint name="pin"><parent_body>ground</parent_body>
<CoordinateSet><objects><Coordinate name="turn"/></objects></CoordinateSet></PinJoint></Joint></Body>"""
NEW_BODY = """<Body name="arm"><mass>1</mass><mass_center>0 -0.1 0</mass_center>
<inertia>0.1 0.1 0.1 0 0 0</inertia></Body>"""
NEW_JOINTS = """<JointSet><objects><PinJoint name="pin"><socket_parent_frame>/ground</socket_parent_frame>
<socket_child_frame>/bodyset/arm</socket_child_frame><coordinates><Coordinate name="turn"/></coordinates></PinJoint>
</objects></JointSet>"""
EXPECTED = (
    MuscleGroup("front of arm", ("up", "both")),
    MuscleGroup("all", ("up", "down", "both")),
    MuscleGroup("none"),
)


def text_of(version, groups=GROUPS):
    """A hinge with three paths and a spring, in the schema of a document version."""
    new = version >= 40000
    body = "<socket_parent_frame>{}</socket_parent_frame>" if new else "<body>{}</body>"
    path = POINTS.format(path="GeometryPath", ground=body.format("/ground" if new else "ground"),
                         arm=body.format("/bodyset/arm" if new else "arm"))  # fmt: skip
    paths = "".join(f"<PathActuator name='{name}'>{path}</PathActuator>" for name in ("up", "down", "both"))
    coordinate = "<coordinate>turn</coordinate>"
    spring = f"<SpringGeneralizedForce name='spring'>{coordinate}<stiffness>1</stiffness></SpringGeneralizedForce>"
    bodies = NEW_BODY if new else f'<Body name="ground"><mass>0</mass><Joint/></Body>{OLD_BODY}'
    return f"""<?xml version="1.0"?><OpenSimDocument Version="{version}"><Model name="hinge">
{'<Ground name="ground"/>' if new else ""}<BodySet><objects>{bodies}</objects></BodySet>{NEW_JOINTS if new else ""}
<ForceSet name="forces"><objects>{paths}{spring}</objects>
{groups}
</ForceSet></Model></OpenSimDocument>"""


@pytest.fixture
def load(tmp_path):
    def loaded(version=40000, groups=GROUPS):
        path = tmp_path / f"hinge_{version}.osim"
        path.write_text(text_of(version, groups))
        return load_model(path)

    return loaded


@pytest.mark.parametrize("version", [20302, 30000, 40000])
def test_groups_are_read_from_files_of_each_version(load, version):
    assert load(version).groups == EXPECTED


@pytest.mark.parametrize("suffix", [".osim", ".toml"])
def test_groups_are_written_and_read_again(load, tmp_path, suffix):
    model = load()
    model.save(tmp_path / f"again{suffix}")
    again = load_model(tmp_path / f"again{suffix}")
    assert again.groups == EXPECTED
    assert again.content_key == model.content_key
    replace(model, groups=()).save(tmp_path / f"without{suffix}")
    assert "groups" not in (tmp_path / f"without{suffix}").read_text()


OPENSIM = """
model = opensim.Model(arguments[0])
forces = model.getForceSet()
names = opensim.ArrayStr()
forces.getGroupNames(names)
answer = {}
for name in [names.get(i) for i in range(names.getSize())]:
    text = forces.getGroup(name).getPropertyByName("members").toString()
    answer[name] = text.strip("()").split()
"""


@pytest.mark.peers
def test_opensim_reads_the_groups_that_are_written(load, tmp_path, in_opensim):
    load(30000).save(tmp_path / "again.osim")
    found = in_opensim(OPENSIM, tmp_path / "again.osim")
    assert {name: tuple(members) for name, members in found.items()} == {g.name: g.members for g in EXPECTED}


@pytest.mark.parametrize("version", [20302, 30000, 40000])
def test_members_that_are_no_muscles_are_reported(load, version):
    groups = '<groups><ObjectGroup name="mixed"><members>up spring gone</members></ObjectGroup></groups>'
    with pytest.warns(UnsupportedWarning, match=r"mixed that are no muscles of the model: spring, gone.*line"):
        model = load(version, groups)
    assert model.groups == (MuscleGroup("mixed", ("up",)),)


def test_members_and_groups_that_are_listed_twice_are_reported(load):
    group = '<ObjectGroup name="twice"><members>up up down</members></ObjectGroup>'
    with pytest.warns(ImplausibleWarning, match="ObjectGroup twice_0.*lists twice, taken once .twice, twice_0"):
        model = load(groups=f"<groups>{group}{group}</groups>")
    assert model.groups == (MuscleGroup("twice", ("up", "down")), MuscleGroup("twice_0", ("up", "down")))


def test_groups_stay_when_a_model_is_changed(load):
    model = load()
    assert model.with_rotations("quaternion").groups == EXPECTED
    assert model.with_rigid_tendons().groups == EXPECTED
    assert scaled(model, {"arm": np.full(3, 2.0)}).groups == EXPECTED


def test_groups_do_not_change_what_the_model_computes(load):
    model = load()
    assert replace(model, groups=()).content_key == model.content_key
    assert replace(model, groups=()) != model


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ((MuscleGroup("arm", ("m1", "biceps")),), "group 'arm': member 'biceps' is no muscle of the model"),
        ((MuscleGroup("arm", ("m1", "m1")),), "group 'arm': member 'm1' is listed twice"),
        ((MuscleGroup("arm", ("m1",)), MuscleGroup("arm")), "group 'arm': the name 'arm' is taken twice"),
    ],
)
def test_groups_that_cannot_be_are_rejected(groups, words):
    with pytest.raises(ModelError, match=words):
        replace(mq.load_model("two_link"), groups=groups)


def test_a_toml_file_with_an_unknown_member_is_rejected_with_its_line(tmp_path):
    model = replace(mq.load_model("two_link"), groups=(MuscleGroup("arm", ("m1",)),))
    model.save(tmp_path / "two.toml")
    text = (tmp_path / "two.toml").read_text().replace('["m1"]', '["biceps"]')
    (tmp_path / "two.toml").write_text(text)
    line = text[: text.index('name = "arm"')].count("\n") + 1
    with pytest.raises(ModelError, match=rf"two\.toml:{line}: group 'arm': member 'biceps' is no muscle"):
        load_model(tmp_path / "two.toml")


def test_mjcf_files_report_the_groups_that_they_cannot_hold(tmp_path):
    model = replace(mq.load_model("two_link"), groups=(MuscleGroup("arm", ("m1",)),))
    with pytest.warns(UnwrittenWarning, match=r"1 groups of muscles \(arm\)"):
        model.save(tmp_path / "two.xml")


def test_info_lists_groups(load, tmp_path, capsys):
    load().save(tmp_path / "hinge.toml")
    with contextlib.suppress(SystemExit):
        main(["info", str(tmp_path / "hinge.toml")])
    reported = capsys.readouterr().out
    assert "  group front of arm: up, both\n" in reported
    assert "  group none: no muscles\n" in reported
