"""Frames spanned by stations, and joints that carry their parents: what OpenSim makes of them, and broken ones."""

import numpy as np
import pytest

from myoquat.data import load_model
from myoquat.muscle import PathFlag, path_flags, path_lengths
from tests.data.tables import rejected, write

STATION = """<Station name="{0}"><socket_parent_frame>{1}</socket_parent_frame><location>{2}</location></Station>"""
TEXT = f"""<?xml version="1.0"?><OpenSimDocument Version="40600"><Model name="frames"><components>
{STATION.format("a", "/ground", "0.1 0.2 0.3")}{STATION.format("b", "/ground", "0.4 0.1 0.2")}
{STATION.format("c", "/ground/tilted", "-0.2 0.5 0.1")}{STATION.format("o", "/ground", "0.1 1.0 0")}
<StationDefinedFrame name="spanned"><socket_point_a>/a</socket_point_a><socket_point_b>/b</socket_point_b>
<socket_point_c>/c</socket_point_c><socket_origin_point>/o</socket_origin_point><ab_axis>-y</ab_axis>
<ab_x_ac_axis>+x</ab_x_ac_axis></StationDefinedFrame></components><Ground name="ground"><components>
<PhysicalOffsetFrame name="tilted"><socket_parent>..</socket_parent><translation>0.1 0 0</translation>
<orientation>0.3 0.2 0.1</orientation></PhysicalOffsetFrame></components></Ground>
<BodySet><objects><Body name="upper"><mass>1</mass><mass_center>0 0 0.1</mass_center><inertia>1 1 1 0 0 0</inertia>
</Body><Body name="lower"><mass>1</mass><mass_center>0 0.1 0</mass_center><inertia>1 1 1 0 0 0</inertia></Body>
<Body name="slide"><mass>1</mass><mass_center>0 0.1 0</mass_center><inertia>1 1 1 0 0 0</inertia></Body></objects>
</BodySet><JointSet><objects><PinJoint name="hip"><socket_parent_frame>/spanned</socket_parent_frame>
<socket_child_frame>/bodyset/upper</socket_child_frame><coordinates><Coordinate name="x"/></coordinates></PinJoint>
<PinJoint name="back"><socket_parent_frame>at_lower</socket_parent_frame><socket_child_frame>at_upper
</socket_child_frame><coordinates><Coordinate name="y"/></coordinates><frames><PhysicalOffsetFrame name="at_lower">
<socket_parent>/bodyset/lower</socket_parent><translation>0 0.4 0.1</translation><orientation>0.1 0.2 0.3</orientation>
</PhysicalOffsetFrame><PhysicalOffsetFrame name="at_upper"><socket_parent>/bodyset/upper</socket_parent>
<translation>0.1 -0.3 0</translation><orientation>-0.3 0 0.2</orientation></PhysicalOffsetFrame></frames></PinJoint>
<SliderJoint name="rail"><socket_parent_frame>/bodyset/slide</socket_parent_frame><socket_child_frame>/bodyset/lower
</socket_child_frame><coordinates><Coordinate name="z"/></coordinates></SliderJoint></objects></JointSet></Model>
</OpenSimDocument>"""

BODIES = ("upper", "lower", "slide")
OPENSIM = """
model = opensim.Model(arguments[0])
state = model.initSystem()
answer = []
for row in arguments[1]:
    for name, x in zip("xyz", row):
        model.getCoordinateSet().get(name).setValue(state, x, False)
    model.realizePosition(state)
    poses = [model.getBodySet().get(name).getTransformInGround(state) for name in ("upper", "lower", "slide")]
    answer.append([[[T.R().asMat33().get(i, j) for j in range(3)] + [T.p().get(i)] for i in range(3)] for T in poses])
"""


@pytest.mark.peers
def test_opensim_puts_the_bodies_alike(tmp_path, rng, in_opensim):
    path, q = write(tmp_path, TEXT), rng.uniform(-1, 1, (4, 3))
    poses = load_model(path, strict=True).system.poses(q)
    mine = [np.concatenate([poses[b][0], np.broadcast_to(poses[b][1], (4, 3))[..., None]], axis=-1) for b in BODIES]
    answer = in_opensim(OPENSIM, path, q)
    np.testing.assert_allclose(np.stack(mine, axis=1), answer, atol=1e-14)


test_impossible_values_raise_a_named_error = rejected(
    TEXT, "frames.osim",
    ("<ab_axis>-y", "<ab_axis>-w", "<ab_axis> must be an axis such as"),
    ("<ab_axis>-y", "<ab_axis>-x", "must be different axes"),
    (">/a<", ">/d<", "<socket_point_a> names '/d', which is no station"),
    (">/b<", ">/a<", "lie on a line"),
    ("<socket_child_frame>/bodyset/upper<", "<socket_child_frame>/ground<", "the joint links 'ground' with itself"),
    ("SliderJoint", "UniversalJoint", "needs 2 coordinates, not 1"),
)  # fmt: skip


test_a_joint_that_cannot_be_turned_around_is_refused = rejected(
    TEXT.replace("SliderJoint", "ScapulothoracicJoint"), "frames.osim",
    ('<Coordinate name="z"/>', "".join(f'<Coordinate name="z{i}"/>' for i in range(4)),
     "a <ScapulothoracicJoint> that carries its parent is not supported"),
)  # fmt: skip


LANDMARKS = """<OpenSimDocument Version="40500"><Model name="leg"><BodySet><objects><Body name="thigh"><components>
<Marker name="top"><socket_parent_frame>..</socket_parent_frame><location>0.01 0.02 0</location></Marker>
<Marker name="inner"><socket_parent_frame>..</socket_parent_frame><location>0 -0.4 -0.04</location></Marker>
<Marker name="outer"><socket_parent_frame>..</socket_parent_frame><location>0.01 -0.39 0.05</location></Marker>
<StationDefinedFrame name="knee_frame"><WrapObjectSet><objects><WrapCylinder name="knee"><radius>0.03</radius>
<length>0.2</length><xyz_body_rotation>0.1 -0.2 0</xyz_body_rotation><translation>0.01 -0.01 0</translation>
</WrapCylinder></objects></WrapObjectSet>
<socket_point_a>/bodyset/thigh/inner</socket_point_a><socket_point_b>/bodyset/thigh/outer</socket_point_b>
<socket_point_c>/bodyset/thigh/top</socket_point_c><socket_origin_point>/bodyset/thigh/inner</socket_origin_point>
<ab_axis>+z</ab_axis><ab_x_ac_axis>-x</ab_x_ac_axis></StationDefinedFrame></components><mass>1</mass>
<mass_center>0 -0.2 0</mass_center><inertia>1 1 1 0 0 0</inertia></Body><Body name="shank"><mass>1</mass>
<mass_center>0 -0.2 0</mass_center><inertia>1 1 1 0 0 0</inertia></Body></objects></BodySet><JointSet><objects>
<PinJoint name="hip"><socket_parent_frame>/ground</socket_parent_frame><socket_child_frame>/bodyset/thigh
</socket_child_frame></PinJoint><PinJoint name="bend">
<socket_parent_frame>/bodyset/thigh/knee_frame</socket_parent_frame>
<socket_child_frame>/bodyset/shank</socket_child_frame><coordinates><Coordinate name="x"/></coordinates></PinJoint>
</objects></JointSet><ForceSet><objects><PathActuator name="front"><GeometryPath><PathPointSet><objects>
<PathPoint name="a"><socket_parent_frame>/bodyset/thigh</socket_parent_frame>
<location>0.05 -0.1 0</location></PathPoint>
<PathPoint name="b"><socket_parent_frame>/bodyset/shank</socket_parent_frame>
<location>0.02 -0.1 0.04</location></PathPoint>
</objects></PathPointSet><PathWrapSet><objects><PathWrap name="w"><wrap_object>knee</wrap_object></PathWrap></objects>
</PathWrapSet></GeometryPath></PathActuator></objects></ForceSet></Model></OpenSimDocument>"""


def test_markers_of_bodies_are_stations_and_markers(tmp_path):
    model = load_model(write(tmp_path, LANDMARKS), strict=True)
    assert [(m.name, m.body, m.position) for m in model.markers] == [
        ("top", "thigh", (0.01, 0.02, 0.0)), ("inner", "thigh", (0.0, -0.4, -0.04)),
        ("outer", "thigh", (0.01, -0.39, 0.05)),
    ]  # fmt: skip
    assert model.system.coordinate_names == ("_coord_0", "x")  # the hip's is OpenSim's own
    assert model.muscles[0].path.wraps[0].body == "thigh"


@pytest.mark.peers
def test_opensim_wraps_around_surfaces_of_frames_alike(tmp_path, rng, in_opensim):
    path, q = write(tmp_path, LANDMARKS), rng.uniform(-1, 1, (12, 2))
    model = load_model(path, strict=True)
    theirs = in_opensim(
        """
model = opensim.Model(arguments[0])
state = model.initSystem()
path = opensim.PathActuator.safeDownCast(model.getForceSet().get(0)).getPath()
answer = []
for row in arguments[1]:
    for k, x in enumerate(row):
        model.getCoordinateSet().get(k).setValue(state, x, False)
    model.realizePosition(state)
    answer.append(path.getLength(state))
""",
        path,
        q,
    )
    assert (path_flags(model, q) & PathFlag.WRAPPED).any()
    np.testing.assert_allclose(path_lengths(model, q)[:, 0], theirs, atol=1e-9)
