"""OpenSim files of versions 10901 to 30501: what OpenSim makes of them, and what is wrong with broken ones."""

import re

import numpy as np
import pytest

from myoquat.data import load_model
from myoquat.dynamics import forward_dynamics, mass_matrix
from myoquat.muscle import limit_torques, path_lengths
from tests.data.tables import rejected, write

PLACE = "<location_in_parent>{at}</location_in_parent><orientation_in_parent>{turned}</orientation_in_parent>"
COORDINATE = """<Coordinate name="{0}"><motion_type>rotational</motion_type><default_value>{1}</default_value>
<range>-1.5 1.5</range><locked>false</locked><prescribed_function/></Coordinate>"""
AXIS = """<TransformAxis name="{0}"><function>{2}</function><coordinates>{1}</coordinates><axis>{3}</axis>
</TransformAxis>"""
LINEAR = '<LinearFunction name=""><coefficients>1 0</coefficients></LinearFunction>'
ZERO = "<Constant><value>0</value></Constant>"
SPLINE = "<NaturalCubicSpline><x>-2 -1 0 1 2</x><y>0.01 0.004 0 -0.003 -0.012</y></NaturalCubicSpline>"
AXES = (
    AXIS.format("rotation1", "bend", LINEAR, "0 0 1") + AXIS.format("rotation2", "twist", LINEAR, "0 1 0")
    + AXIS.format("rotation3", "", ZERO, "1 0 0") + AXIS.format("translation1", "bend", SPLINE, "1 0 0")
    + AXIS.format("translation2", "", ZERO, "0 1 0") + AXIS.format("translation3", "", ZERO, "0 0 1")
)  # fmt: skip
TEXT = f"""<?xml version="1.0" encoding="UTF-8"?>
<OpenSimDocument Version="30000"><Model name="old"><gravity>0 -9.81 0</gravity>
<ForceSet name=""><objects>
<Thelen2003Muscle name="m"><isDisabled> false </isDisabled><GeometryPath name=""><PathPointSet><objects>
<PathPoint name="a"><location>0.03 0.1 0.01</location><body> ground </body></PathPoint>
<ConditionalPathPoint name="b"><location>0.06 -0.02 0</location><body>upper</body><range>-0.4 1.6</range>
<coordinate>bend</coordinate></ConditionalPathPoint>
<MovingPathPoint name="c"><location>0 0 0</location><body>lower</body>
<x_location>{SPLINE}</x_location><x_coordinate>knee</x_coordinate>
<y_location><Constant><value>-0.05</value></Constant></y_location><y_coordinate>knee</y_coordinate>
<z_location><Constant><value>0.01</value></Constant></z_location><z_coordinate>knee</z_coordinate></MovingPathPoint>
</objects></PathPointSet></GeometryPath><max_isometric_force>300</max_isometric_force></Thelen2003Muscle>
<PathActuator name="around"><isDisabled>false</isDisabled><GeometryPath><PathPointSet><objects>
<PathPoint name="a"><location>0.04 -0.1 0</location><body>upper</body></PathPoint>
<PathPoint name="b"><location>0.04 -0.2 0</location><body>lower</body></PathPoint></objects></PathPointSet>
<PathWrapSet><objects><PathWrap name="w"><wrap_object>ball</wrap_object><range>-1 -1</range></PathWrap></objects>
</PathWrapSet></GeometryPath></PathActuator>
<PathActuator name="off"><isDisabled>true</isDisabled><GeometryPath><PathPointSet><objects>
<PathPoint name="a"><location>0.04 -0.1 0</location><body>upper</body></PathPoint>
<PathPoint name="b"><location>0.04 -0.2 0</location><body>lower</body></PathPoint></objects></PathPointSet>
</GeometryPath></PathActuator>
<BushingForce name="soft"><isDisabled>false</isDisabled><body_1>upper</body_1><body_2>lower</body_2>
<location_body_1>0.01 -0.4 0.02</location_body_1><orientation_body_1>0.1 -0.2 0.3</orientation_body_1>
<location_body_2>0 0 0.03</location_body_2><orientation_body_2>0 0 0.1</orientation_body_2>
<rotational_stiffness>1 2 3</rotational_stiffness><translational_stiffness>40 50 60</translational_stiffness>
<rotational_damping>0 0 0</rotational_damping><translational_damping>0 0 0</translational_damping></BushingForce>
<PointToPointSpring name="pull"><isDisabled>false</isDisabled><body1>ground</body1><body2>lower</body2>
<point1>0.1 0.2 0</point1><point2>0 -0.3 0</point2><stiffness>80</stiffness><rest_length>0.3</rest_length>
</PointToPointSpring></objects></ForceSet>
<BodySet><objects><Body name="ground"><mass>0</mass><Joint/></Body>
<Body name="upper"><mass>2</mass><mass_center>0 -0.1 0.01</mass_center><inertia_xx>0.02</inertia_xx>
<inertia_yy>0.01</inertia_yy><inertia_zz>0.025</inertia_zz><inertia_xy>0.001</inertia_xy><inertia_xz>0</inertia_xz>
<inertia_yz>-0.002</inertia_yz><Joint><CustomJoint name="hip"><parent_body> ground </parent_body>
{PLACE.format(at="0 0.9 0.1", turned="0.1 0.2 -0.3")}<location>0 0.02 0</location><orientation>0 0.1 0</orientation>
<CoordinateSet><objects>{COORDINATE.format("bend", 0.1)}{COORDINATE.format("twist", 0)}</objects></CoordinateSet>
<reverse>false</reverse><SpatialTransform>{AXES}</SpatialTransform></CustomJoint></Joint>
<WrapObjectSet><objects><WrapSphere name="ball"><xyz_body_rotation>0 0 0</xyz_body_rotation>
<translation>0.02 -0.3 0</translation><quadrant>all</quadrant><radius>0.04</radius></WrapSphere></objects>
</WrapObjectSet></Body>
<Body name="lower"><mass>1</mass><mass_center>0 -0.2 0</mass_center><inertia_xx>0.01</inertia_xx>
<inertia_yy>0.005</inertia_yy><inertia_zz>0.01</inertia_zz><Joint><PinJoint name="knee_j"><parent_body>upper
</parent_body>{PLACE.format(at="0 -0.4 0", turned="0 0 0")}<location>0 0 0</location><orientation>0 0 0</orientation>
<CoordinateSet><objects>{COORDINATE.format("knee", -0.2)}</objects></CoordinateSet></PinJoint></Joint></Body>
</objects></BodySet>
<ConstraintSet><objects><CoordinateCouplerConstraint name="tied"><isDisabled>false</isDisabled>
<coupled_coordinates_function>{LINEAR}</coupled_coordinates_function>
<independent_coordinate_names>bend</independent_coordinate_names><dependent_coordinate_name>twist
</dependent_coordinate_name></CoordinateCouplerConstraint></objects></ConstraintSet>
<MarkerSet><objects><Marker name="toe"><body>lower</body><location>0 -0.4 0.05</location></Marker></objects></MarkerSet>
</Model></OpenSimDocument>"""

OPENSIM = """
model = opensim.Model(arguments[0])
for constraint in model.getConstraintSet():
    constraint.set_isEnforced(False)
for force in model.getForceSet():
    if opensim.Actuator.safeDownCast(force):
        force.set_appliesForce(False)
state = model.initSystem()
names = ["bend", "twist", "knee"]
answer = {"lengths": [], "M": [], "toe": [], "udot": []}
for q in arguments[1]:
    for name, x in zip(names, q):
        model.getCoordinateSet().get(name).setValue(state, x, False)
    model.realizePosition(state)
    paths = [opensim.Thelen2003Muscle.safeDownCast(model.getForceSet().get("m")).getGeometryPath(),
             opensim.PathActuator.safeDownCast(model.getForceSet().get("around")).getGeometryPath()]
    answer["lengths"].append([path.getLength(state) for path in paths])
    M = opensim.Matrix()
    model.getMatterSubsystem().calcM(state, M)
    answer["M"].append([[M.get(i, j) for j in range(3)] for i in range(3)])
    toe = model.getMarkerSet().get("toe").getLocationInGround(state)
    answer["toe"].append([toe.get(i) for i in range(3)])
    model.realizeAcceleration(state)
    answer["udot"].append([model.getCoordinateSet().get(name).getAccelerationValue(state) for name in names])
"""
FIRST = {  # the names of version 10901
    "GeometryPath": None, "PathPointSet": "MusclePointSet", "PathPoint": "MusclePoint", "PathWrapSet": "MuscleWrapSet",
    "ConditionalPathPoint": "MuscleViaPoint", "MovingPathPoint": "MovingMusclePoint", "PathWrap": "MuscleWrap",
    "NaturalCubicSpline": "natCubicSpline", "x_location": "XAttachment", "y_location": "YAttachment",
    "z_location": "ZAttachment",
}  # fmt: skip

REVERSED = TEXT.replace("<reverse>false", "<reverse>true", 1)


def in_first_words(text):
    """The text in the schema of version 10901, when the path of a muscle stood in the muscle itself."""
    muscle = re.search("<Thelen2003Muscle.*</Thelen2003Muscle>", text, re.DOTALL)[0]
    first = muscle.replace("<coordinate>bend</coordinate>", "<coordinates>bend</coordinates>")
    for new, old in FIRST.items():
        name = r"(</?)" + new + r"(?=[ >])"
        first = re.sub(name + "[^>]*>", "", first) if old is None else re.sub(name, r"\1" + old, first)
    return text.replace(muscle, first).replace('Version="30000"', 'Version="10901"')


@pytest.mark.filterwarnings("ignore::myoquat.data.UnsupportedWarning")
def test_the_first_schema_is_read_alike(tmp_path):
    assert load_model(write(tmp_path, in_first_words(TEXT))) == load_model(write(tmp_path, TEXT))


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore::myoquat.data.UnsupportedWarning")
@pytest.mark.parametrize("version", ["30000", "20302", "10901", "reversed"])
def test_opensim_agrees_on_older_files(tmp_path, rng, in_opensim, version):
    texts = {"10901": in_first_words(TEXT), "reversed": REVERSED}
    text = texts.get(version, TEXT.replace("30000", version))
    path = write(tmp_path, text)
    model = load_model(path)
    q = rng.uniform(-1, 1, (20, 3))
    answer = in_opensim(OPENSIM, path, q)
    np.testing.assert_allclose(path_lengths(model, q), answer["lengths"], atol=1e-12)
    np.testing.assert_allclose(mass_matrix(model, q), answer["M"], atol=1e-14)
    R, p = model.system.poses(q)["lower"]
    np.testing.assert_allclose(p + R @ np.array(model.markers[0].position), answer["toe"], atol=1e-14)
    udot = forward_dynamics(model, q, np.zeros((20, 3)), limit_torques(model, q, np.zeros((20, 3))))
    np.testing.assert_allclose(udot, answer["udot"], rtol=1e-10, atol=1e-10)


DRAFT = """<?xml version="1.0"?><OpenSimDocument Version="30501"><Model name="draft"><Ground name="ground"/>
<BodySet><objects><Body name="rod"><mass>1</mass><mass_center>0 0.2 0</mass_center><inertia>1 1 1 0 0 0</inertia></Body>
</objects></BodySet><JointSet><objects><PinJoint name="pin"><connectors>
<Connector_PhysicalFrame_ name="parent_body"><connectee_name>../ground</connectee_name></Connector_PhysicalFrame_>
<Connector_PhysicalFrame_ name="child_body"><connectee_name>rod</connectee_name></Connector_PhysicalFrame_></connectors>
<location_in_parent>0 1 0</location_in_parent><location_in_child>0 0.5 0</location_in_child>
<CoordinateSet><objects><Coordinate name="q1"/></objects></CoordinateSet></PinJoint></objects></JointSet></Model>
</OpenSimDocument>"""


def test_a_draft_of_the_schema_is_read(tmp_path):
    system = load_model(write(tmp_path, DRAFT)).system
    assert system.coordinate_names == ("q1",)
    _, p = system.poses(np.array([np.pi / 2]))["rod"]
    np.testing.assert_allclose(p, (0.5, 1.0, 0.0), atol=1e-15)


FRAMES = (
    """<frames><PhysicalOffsetFrame name="above">{0}<translation>0 1 0</translation></PhysicalOffsetFrame></frames>"""
)
CONNECTORS = """<connectors><Connector_PhysicalFrame_ name="parent_frame"><connectee_name>above</connectee_name>
</Connector_PhysicalFrame_><Connector_PhysicalFrame_ name="child_frame"><connectee_name>/draft/rod</connectee_name>
</Connector_PhysicalFrame_></connectors><CoordinateSet><objects><Coordinate name="q1"/></objects></CoordinateSet>"""
BASE = """<connectors><Connector_PhysicalFrame_ name="parent"><connectee_name>/draft/ground</connectee_name>
</Connector_PhysicalFrame_></connectors>"""
LONGER = """<socket_parent_frame_connectee_name>above</socket_parent_frame_connectee_name>
<socket_child_frame_connectee_name>/rod</socket_child_frame_connectee_name>
<coordinates><Coordinate name="q1"/></coordinates>"""
LATER = DRAFT[: DRAFT.index("<connectors>")] + "{0}</PinJoint></objects></JointSet></Model></OpenSimDocument>"


@pytest.mark.parametrize(
    ("version", "joint"),
    [
        ("30506", CONNECTORS + FRAMES.format(BASE)),
        ("30512", LONGER + FRAMES.format("<socket_parent_connectee_name>/ground</socket_parent_connectee_name>")),
    ],
)
def test_later_drafts_are_read(tmp_path, version, joint):
    """As programs wrote them on the way to version 4, such as models of the knee of the University of Wisconsin."""
    system = load_model(write(tmp_path, LATER.format(joint).replace("30501", version)), strict=True).system
    assert system.coordinate_names == ("q1",)
    np.testing.assert_array_equal(system.poses(np.zeros(1))["rod"][1], (0.0, 1.0, 0.0))


test_broken_older_files_are_named_with_their_line = rejected(
    TEXT, "old.osim",
    ("<parent_body>upper", "<parent_body>arm", "names 'arm', which is no frame"),
    ("<inertia_xx>0.02", "<inertia_xx>x", "<inertia_xx> must be 1 finite number, not 'x'"),
    ("<isDisabled>true", "<isDisabled>perhaps", "<isDisabled> must be true or false"),
)  # fmt: skip
