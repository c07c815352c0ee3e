"""Names that OpenSim settles when it reads a file, and text that it reads although it is no XML."""

import numpy as np
import pytest

from myoquat.data import ImplausibleWarning, load_model
from myoquat.joints import ModelError
from tests.data.tables import write

WELD = """<WeldJoint name="{name}"><socket_parent_frame>{parent}_offset</socket_parent_frame>
<socket_child_frame>{child}_offset</socket_child_frame><frames><PhysicalOffsetFrame name="{parent}_offset">
<socket_parent>/bodyset/{parent}</socket_parent><translation>0 {at} 0</translation></PhysicalOffsetFrame>
<PhysicalOffsetFrame name="{child}_offset"><socket_parent>/bodyset/{child}</socket_parent><translation>0 0 0
</translation></PhysicalOffsetFrame></frames></WeldJoint>"""
BODY = '<Body name="{}"><mass>1</mass><mass_center>0 0.1 0</mass_center><inertia>1 1 1 0 0 0</inertia></Body>'
TWICE = f"""<?xml version="1.0" encoding="UTF-8"?>
<OpenSimDocument Version="40600"><Model name="twice"><BodySet><objects>{"".join(map(BODY.format, "abc"))}</objects>
</BodySet><JointSet><objects><PinJoint name="root"><socket_parent_frame>/ground</socket_parent_frame>
<socket_child_frame>/bodyset/a</socket_child_frame><coordinates><Coordinate name="turn"/></coordinates></PinJoint>
{WELD.format(name="back", parent="a", child="b", at="0.3")}{WELD.format(name="back", parent="a", child="c", at="0.7")}
</objects></JointSet></Model></OpenSimDocument>"""
NAMELESS = """<ConstraintSet><objects><ConstantDistanceConstraint><socket_body_1>/ground</socket_body_1><socket_body_2>
/bodyset/c</socket_body_2><location_body_1>0 0.7 1</location_body_1><location_body_2>0 0 0</location_body_2>
<constant_distance>1</constant_distance></ConstantDistanceConstraint></objects></ConstraintSet></Model>"""
JOINT = """<PinJoint name="{0}_joint"><parent_body>{1}</parent_body><CoordinateSet><objects><Coordinate name="{0} turn">
<default_value>0.2</default_value></Coordinate></objects></CoordinateSet></PinJoint>"""
OLD = f"""<?xml version="1.0" encoding="UTF-8"?>
<OpenSimDocument Version="30000"><Model name="an old one"><ForceSet><objects><CoordinateLimitForce name=" a stop ">
<coordinate>upper turn</coordinate></CoordinateLimitForce></objects></ForceSet><BodySet><objects>
<Body name="ground"/><Body name="upper"><mass>2</mass><inertia_xx>1</inertia_xx><inertia_yy>1</inertia_yy>
<inertia_zz>1</inertia_zz><Joint>{JOINT.format("upper", "ground")}</Joint></Body></objects></BodySet></Model>
</OpenSimDocument>"""
NAMES = """
model = opensim.Model(arguments[0])
state = model.initSystem()
sets = model.getJointSet(), model.getConstraintSet(), model.getForceSet(), model.getCoordinateSet()
answer = [[items.get(i).getName() for i in range(items.getSize())] for items in sets]
body = model.getBodySet().get(model.getBodySet().getSize() - 1)
answer.append([model.getName(), body.getPositionInGround(state).get(1)])
"""


def test_the_second_joint_of_a_name_keeps_its_own_frames(tmp_path):
    path = write(tmp_path, TWICE)
    with pytest.warns(ImplausibleWarning, match=r"names of several, which got a number \(WeldJoint back_0\)"):
        model = load_model(path)
    assert [body.joint_name for body in model.system.bodies] == ["root", "back", "back_0"]
    assert [body.position[1] for body in model.system.bodies] == [0.0, 0.3, 0.7]
    with pytest.raises(ModelError, match="back_0"):
        load_model(path, strict=True)


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore::myoquat.data.ImplausibleWarning")
def test_names_are_those_of_opensim(tmp_path, in_opensim):
    path = write(tmp_path, TWICE.replace("</Model>", NAMELESS))
    model, theirs = load_model(path), in_opensim(NAMES, path)
    assert [[body.joint_name for body in model.system.bodies], [c.name for c in model.constraints]] == theirs[:2]
    assert model.system.poses(np.zeros(1))["c"][1][1] == theirs[-1][1]
    path = write(tmp_path, OLD.replace("<coordinate>upper turn", "<coordinate>upperturn"))  # follows no reference
    model, theirs = load_model(path), in_opensim(NAMES, path)
    assert theirs[2:4] == [["astop"], ["upperturn"]]
    assert [[limit.name for limit in model.limits], list(model.system.coordinate_names)] == theirs[2:4]
    assert model.name == theirs[-1][0] == "anoldone"


@pytest.mark.filterwarnings("ignore::myoquat.data.ImplausibleWarning")
def test_blanks_leave_names_and_references_of_older_files(tmp_path):
    model = load_model(write(tmp_path, OLD))
    assert [limit.coordinate for limit in model.limits] == ["upperturn"]


def test_text_that_is_no_xml_is_read_where_opensim_reads_it(tmp_path):
    plain = TWICE.replace('"back"', '"neck"', 1)
    odd = plain.replace("<BodySet>", "<!-- a -- b --->\n<credits>A & B &amp; \x01&nbsp;</credits><BodySet>", 1)
    with pytest.warns(ImplausibleWarning) as caught:
        model = load_model(write(tmp_path, f"\n\n{odd}"))
    assert "a & that XML writes &amp; (line 5, line 5); control characters, taken as blanks (line 5)" in str(
        caught[0].message
    )
    assert model.description == "A & B &  &nbsp;"
    assert model.system == load_model(write(tmp_path, plain), strict=True).system
    with pytest.raises(ModelError, match=r"x\.osim:5: .*not valid XML"):
        load_model(write(tmp_path, f"\n\n{odd.replace('A &', 'A <')}"))
    with pytest.raises(ModelError, match="line 5"):
        load_model(write(tmp_path, f"\n\n{odd}"), strict=True)


def test_a_body_with_the_name_of_the_ground_is_another(tmp_path):
    """/ground and /bodyset/ground are two frames, the second one welded to the first."""
    joint = """<{tag} name="{name}"><socket_parent_frame>{parent}</socket_parent_frame><socket_child_frame>
/bodyset/{child}</socket_child_frame>{rest}</{tag}>"""
    weld = joint.format(tag="WeldJoint", name="base", parent="/ground", child="ground", rest="")
    turn = '<coordinates><Coordinate name="turn"/></coordinates>'
    pin = joint.format(tag="PinJoint", name="pin", parent="/bodyset/ground", child="a", rest=turn)
    path = tmp_path / "two.osim"
    bodies = "".join(BODY.format(name) for name in ("ground", "a"))
    path.write_text(
        f"""<OpenSimDocument Version="40000"><Model name="two"><BodySet><objects>{bodies}</objects></BodySet>
<JointSet><objects>{weld}{pin}</objects></JointSet></Model></OpenSimDocument>"""
    )
    with pytest.warns(ImplausibleWarning, match="a body with the name of the ground, called otherwise"):
        system = load_model(path).system
    assert [(body.name, body.parent) for body in system.bodies] == [("ground_body", "ground"), ("a", "ground_body")]
