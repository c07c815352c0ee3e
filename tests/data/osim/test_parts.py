"""Parts of a model that stand elsewhere: default objects, and objects in files of their own."""

import numpy as np
import pytest

from myoquat.data import load_model
from myoquat.dynamics import forward_dynamics
from myoquat.joints import ModelError
from myoquat.muscle import path_lengths

JOINT = """<JointSet><objects><PinJoint name="j"><socket_parent_frame>/ground</socket_parent_frame>
<socket_child_frame>/bodyset/a</socket_child_frame><coordinates><Coordinate name="q"/></coordinates></PinJoint>
</objects></JointSet>"""
DEFAULTS = f"""<OpenSimDocument Version="40600"><Model name="m"><defaults>
<Body><mass>2</mass><inertia>0.1 0.1 0.1 0 0 0</inertia></Body>
<Coordinate><default_value>0.4</default_value><range>-1 1</range></Coordinate>
<SpringGeneralizedForce><stiffness>7</stiffness><rest_length>0.2</rest_length></SpringGeneralizedForce>
<Thelen2003Muscle><max_isometric_force>321</max_isometric_force><optimal_fiber_length>0.2</optimal_fiber_length>
</Thelen2003Muscle>
<PathPoint><location>0.1 0.2 0.3</location></PathPoint></defaults><Ground name="ground"/>
<BodySet><objects><Body name="a"><mass_center>0 -0.2 0</mass_center></Body></objects></BodySet>{JOINT}
<ForceSet><objects>
<SpringGeneralizedForce name="s"><coordinate>q</coordinate><stiffness>3</stiffness></SpringGeneralizedForce>
<Thelen2003Muscle name="t"><optimal_fiber_length>0.15</optimal_fiber_length><GeometryPath><PathPointSet><objects>
<PathPoint name="p"><socket_parent_frame>/ground</socket_parent_frame></PathPoint>
<PathPoint name="r"><socket_parent_frame>/bodyset/a</socket_parent_frame><location>0 -0.3 0</location></PathPoint>
</objects></PathPointSet></GeometryPath></Thelen2003Muscle></objects></ForceSet></Model></OpenSimDocument>"""
MODEL = f"""<OpenSimDocument Version="40600"><Model name="m"><gravity>0 -9.81 0</gravity><Ground name="ground"/>
%s{JOINT}</Model></OpenSimDocument>"""
BODY = (
    """<Body name="a"><mass>1</mass><mass_center>0 -0.2 0</mass_center><inertia>0.02 0.01 0.02 0 0 0</inertia></Body>"""
)
BODIES = f"<BodySet><objects>{BODY}</objects></BodySet>"
SPRING = """<SpringGeneralizedForce name="s"><coordinate>q</coordinate><stiffness>50</stiffness>
<rest_length>0.3</rest_length></SpringGeneralizedForce>"""


def test_default_objects_complete_the_objects_of_their_class(tmp_path):
    """OpenSim 4.6 of this file: start 0.4, range from -1, mass 2, spring 3 with rest 0.2, force 321, fiber 0.15, length
    0.5631715713189251."""
    path = tmp_path / "m.osim"
    path.write_text(DEFAULTS)
    model = load_model(path, strict=True)
    body, law = model.system.bodies[0], model.muscles[0].law
    assert (model.start_q, model.coordinates[0].range, body.mass) == ((0.4,), (-1.0, 1.0), 2.0)
    assert (body.stiffness, body.spring_mount) == (3.0, (0.2,))
    assert (law.max_isometric_force, law.optimal_fiber_length) == (321.0, 0.15)
    assert path_lengths(model, model.start_q)[0] == pytest.approx(0.5631715713189251, rel=1e-14)


def test_of_several_default_objects_of_a_class_the_first_counts(tmp_path):
    """OpenSim 4.6 gives a muscle the force of the first one, and its own default of what the second one says alone."""
    path = tmp_path / "m.osim"
    second = "<Thelen2003Muscle><tendon_slack_length>0.7</tendon_slack_length></Thelen2003Muscle></defaults>"
    path.write_text(DEFAULTS.replace("</defaults>", second))
    one = tmp_path / "one.osim"
    one.write_text(DEFAULTS)
    assert load_model(path).muscles[0].law == load_model(one).muscles[0].law


def in_files(folder, parts, **files):
    """A model whose parts name files."""
    for name, text in files.items():
        (folder / f"{name}.xml").write_text(text)
    path = folder / "m.osim"
    path.write_text(MODEL % parts)
    return path


def document(content, version=40600):
    return f'<OpenSimDocument Version="{version}">{content}</OpenSimDocument>'


def test_sets_in_other_files_are_read(tmp_path):
    """OpenSim 4.6 accelerates by 163.40211394 at 0.1 with the spring, by -3.26455272 without it."""
    sets = '<BodySet file="b.xml"/><ForceSet file="f.xml"/>'
    forces = document(f"<ForceSet><objects>{SPRING}</objects></ForceSet>")
    model = load_model(in_files(tmp_path, sets, b=document(BODIES), f=forces), strict=True)
    assert forward_dynamics(model, [0.1], [0.0], [0.0]) == pytest.approx(163.40211394, abs=1e-7)
    path = in_files(tmp_path, '<BodySet file="b.xml"/><ForceSet><objects/></ForceSet>')
    assert forward_dynamics(load_model(path), [0.1], [0.0], [0.0]) == pytest.approx(-3.26455272, abs=1e-7)
    joined = load_model(path, strict=True, sets=[tmp_path / "f.xml"])  # the same set, named by the user
    assert forward_dynamics(joined, [0.1], [0.0], [0.0]) == forward_dynamics(model, [0.1], [0.0], [0.0])
    with pytest.raises(ModelError, match=r"m\.osim:1: <Model> is no set of a model"):
        load_model(path, sets=[path])


@pytest.mark.parametrize(
    "text",
    [document('<MarkerSet><objects><Marker name="k"><socket_parent_frame>/bodyset/a</socket_parent_frame>'
              "<location>1 2 3</location></Marker></objects></MarkerSet>"),
     document('<MarkerSet><objects><Marker name="k"><body>a</body><location>1 2 3</location></Marker></objects>'
              "</MarkerSet>", 30000),
     '<MarkerSet><objects><Marker name="k"><body>a</body><location>1 2 3</location></Marker></objects></MarkerSet>'],
)  # fmt: skip
def test_a_set_in_another_file_may_be_of_an_older_version(tmp_path, text):
    own = '<MarkerSet file="k.xml"/>'
    model = load_model(in_files(tmp_path, BODIES + own, k=text), strict=True)
    assert [(m.name, m.body, m.position) for m in model.markers] == [("k", "a", (1.0, 2.0, 3.0))]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, r"m\.osim:\d+: .*<ForceSet> names 'f\.xml', which does not exist"),
        (document("<BodySet/>"), r"names the file f\.xml, which holds a <BodySet>"),
        ('<ForceSet><objects><ForceSet file="f.xml"/></objects></ForceSet>', "'f.xml' is included already"),
        (document("<ForceSet/>", 50000), r"f\.xml:1: document version 50000"),
        ("<ForceSet>", r"f\.xml:1: this is not valid XML"),
        (document("<ForceSet><objects>\n<CoordinateLimitForce name='l'/></objects></ForceSet>"), r"f\.xml:2: .*'l'"),
    ],
)
def test_files_of_sets_that_cannot_be_raise_a_named_error(tmp_path, text, message):
    path = in_files(tmp_path, BODIES + '<ForceSet file="f.xml"/>', **({"f": text} if text else {}))
    with pytest.raises(ModelError, match=message):
        load_model(path)


@pytest.mark.posix
def test_files_of_sets_lie_in_the_folder_of_the_model_unless_allowed(tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "b.xml").write_text(document(BODIES))
    (inner / "link.xml").symlink_to(tmp_path / "b.xml")
    for name in ("../b.xml", "link.xml"):
        path = in_files(inner, f'<BodySet file="{name}"/>')
        with pytest.raises(ModelError, match=r"outside the folder of this file; load_model.*anywhere=True"):
            load_model(path)
        assert load_model(path, anywhere=True).system.body_names == ("a",)


def test_defaults_of_a_file_of_its_own_complete_its_objects(tmp_path):
    text = document(
        "<ForceSet><defaults><SpringGeneralizedForce><stiffness>5</stiffness></SpringGeneralizedForce></defaults>"
        f"<objects>{SPRING.replace('<stiffness>50</stiffness>', '')}</objects></ForceSet>"
    )
    model = load_model(in_files(tmp_path, BODIES + '<ForceSet file="f.xml"/>', f=text))
    np.testing.assert_array_equal(model.system.bodies[0].stiffness, 5.0)
