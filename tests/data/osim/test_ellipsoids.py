"""Joints on ellipsoids: OpenSim's EllipsoidJoint and ScapulothoracicJoint, read, written, and as OpenSim moves them."""

import numpy as np
import pytest

from myoquat.data import load_model
from myoquat.joints import ModelError

FILE = """<?xml version="1.0"?><OpenSimDocument Version="40000"><Model name="shoulder"><BodySet><objects>
{bodies}</objects></BodySet><JointSet><objects>
<WeldJoint name="base"><socket_parent_frame>/ground</socket_parent_frame><socket_child_frame>/bodyset/thorax
</socket_child_frame></WeldJoint>
<ScapulothoracicJoint name="st"><socket_parent_frame>at</socket_parent_frame>
<socket_child_frame>on</socket_child_frame><coordinates>{four}</coordinates><frames>
<PhysicalOffsetFrame name="at"><socket_parent>/bodyset/thorax</socket_parent><translation>-0.03 -0.02 0.07</translation>
<orientation>0.1 -0.25 0.05</orientation></PhysicalOffsetFrame>
<PhysicalOffsetFrame name="on"><socket_parent>/bodyset/scapula</socket_parent><translation>-0.05 -0.04 -0.04
</translation><orientation>-0.5 -0.4 -0.2</orientation></PhysicalOffsetFrame></frames>
<thoracic_ellipsoid_radii_x_y_z>0.07 0.15 0.08</thoracic_ellipsoid_radii_x_y_z>
<scapula_winging_axis_origin>0.01 -0.03</scapula_winging_axis_origin>
<scapula_winging_axis_direction>0.4</scapula_winging_axis_direction></ScapulothoracicJoint>
<EllipsoidJoint name="gh"><socket_parent_frame>there</socket_parent_frame>
<socket_child_frame>/bodyset/arm</socket_child_frame><coordinates>{three}</coordinates><frames>
<PhysicalOffsetFrame name="there"><socket_parent>/bodyset/scapula</socket_parent><translation>0.01 -0.03 0.01
</translation><orientation>0.2 0 0.1</orientation></PhysicalOffsetFrame></frames>
<radii_x_y_z>{radii}</radii_x_y_z></EllipsoidJoint>
</objects></JointSet><ForceSet><objects><PathActuator name="pull"><GeometryPath name="path"><PathPointSet><objects>
<PathPoint name="a"><socket_parent_frame>/bodyset/thorax</socket_parent_frame><location>0 0.1 0</location></PathPoint>
<PathPoint name="b"><socket_parent_frame>/bodyset/arm</socket_parent_frame><location>0 -0.1 0.02</location></PathPoint>
</objects></PathPointSet></GeometryPath></PathActuator></objects></ForceSet></Model></OpenSimDocument>"""
BODY = """<Body name="{name}"><mass>2</mass><mass_center>0.01 -0.02 0.03</mass_center>
<inertia>0.02 0.03 0.025 0.001 0 0</inertia></Body>"""
COORDINATE = """<Coordinate name="{name}"><default_value>{value}</default_value><range>-2 2</range></Coordinate>"""
FOUR, THREE = ("abduction", "elevation", "upward", "winging"), ("rx", "ry", "rz")

OPENSIM = """
model = opensim.Model(arguments[0])
state = model.initSystem()
bodies = [model.getBodySet().get(name) for name in ("scapula", "arm")]
answer = {"poses": [], "names": [model.getCoordinateSet().get(i).getName() for i in range(7)]}
for q in arguments[1]:
    for name, x in zip(arguments[2], q):
        model.getCoordinateSet().get(name).setValue(state, x, False)
    model.realizePosition(state)
    pose = []
    for body in bodies:
        R, p = body.getTransformInGround(state).R().asMat33(), body.getTransformInGround(state).p()
        pose += [R.get(i, j) for i in range(3) for j in range(3)] + [p.get(i) for i in range(3)]
    answer["poses"].append(pose)
"""


def file(folder, radii="0.02 0.025 0.03"):
    path = folder / "shoulder.osim"
    bodies = "".join(BODY.format(name=name) for name in ("thorax", "scapula", "arm"))
    four, three = ("".join(COORDINATE.format(name=n, value=0.1 * k) for k, n in enumerate(ns)) for ns in (FOUR, THREE))
    path.write_text(FILE.format(bodies=bodies, four=four, three=three, radii=radii))
    return path


def poses(model, q):
    found = model.system.poses(q)
    parts = [np.concatenate([R.reshape(*R.shape[:-2], 9), p], axis=-1) for R, p in (found["scapula"], found["arm"])]
    return np.concatenate(parts, axis=-1)


@pytest.mark.peers
@pytest.mark.parametrize("written", [False, True])
def test_opensim_moves_them_alike(written, tmp_path, rng, in_opensim):
    path = file(tmp_path)
    model = load_model(path)
    if written:
        path = tmp_path / "again.osim"
        model.save(path)
    q = rng.uniform(-1.2, 1.2, (6, 7))
    theirs = in_opensim(OPENSIM, path, q, model.system.coordinate_names)
    np.testing.assert_allclose(poses(model, q), theirs["poses"], atol=1e-12)


def test_bad_radii_are_refused_with_their_line(tmp_path):
    with pytest.raises(ModelError, match=r"osim:\d+: EllipsoidJoint 'gh': the radii .* three positive numbers"):
        load_model(file(tmp_path, radii="0.1 0 0.1"))
    with pytest.raises(ModelError, match="body 'st_glide': MuJoCo has no joint like this"):
        load_model(file(tmp_path)).save(tmp_path / "x.xml")
