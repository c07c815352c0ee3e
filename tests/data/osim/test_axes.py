"""Axes of a CustomJoint that depend on no coordinate: as in OpenSim, or rejected."""

import numpy as np
import pytest

from myoquat.data import ImplausibleWarning, load_model
from myoquat.data.osim.functions import POLYNOMIAL
from myoquat.dynamics import forward_dynamics
from myoquat.joints.errors import ModelError
from myoquat.joints.functions import Polynomial
from tests.data.tables import rejected

TEXT = """<OpenSimDocument Version="40000"><Model name="m"><BodySet><objects><Body name="b"><mass>1</mass>
<mass_center>0 0 0</mass_center><inertia>1 1 1 0 0 0</inertia></Body></objects></BodySet><JointSet><objects>
<CustomJoint name="j"><socket_parent_frame>/ground</socket_parent_frame>
<socket_child_frame>/bodyset/b</socket_child_frame><coordinates><Coordinate name="q"><default_value>0.3</default_value>
</Coordinate></coordinates><SpatialTransform>
<TransformAxis name="rotation1"><coordinates>q</coordinates><axis>1 0 0</axis><function/></TransformAxis>
<TransformAxis name="rotation2">{coordinates}<axis>0 1 0</axis>{turn}</TransformAxis>
<TransformAxis name="translation1">{coordinates}<axis>1 0 0</axis>{shift}</TransformAxis>
</SpatialTransform></CustomJoint></objects></JointSet></Model></OpenSimDocument>"""
CONSTANT = "<Constant><value>0.7</value></Constant>"
SCALED = f"<MultiplierFunction><function>{CONSTANT}</function><scale>3</scale></MultiplierFunction>"
LINE = "<LinearFunction><coefficients>2 0.1</coefficients></LinearFunction>"
CURVED = LINE.replace("LinearFunction", "PolynomialFunction")
AXIS = (
    '<TransformAxis name="translation2"><coordinates/><axis>AXIS</axis>'
    "<Constant><value>0.1</value></Constant></TransformAxis>"
)
QUADRATIC = (
    "<MultivariatePolynomialFunction><coefficients>0.1 0.2 0.4 -0.3 0.5 0.6</coefficients>"
    "<dimension>2</dimension><order>2</order></MultivariatePolynomialFunction>"
)
PLANE = "<LinearFunction><coefficients>0.5 -0.3 0.2</coefficients></LinearFunction>"
TRIPLE = f"<MultiplierFunction><function>{QUADRATIC}</function><scale>3</scale></MultiplierFunction>"
OF_TWO = (
    TEXT.replace("</Coordinate></coordinates>", '</Coordinate><Coordinate name="x"/></coordinates>')
    .replace("{coordinates}", "<coordinates>q x</coordinates>")
    .replace("<mass_center>0 0 0", "<mass_center>0.1 -0.2 0.05")
    .replace(
        "</SpatialTransform>",
        """<TransformAxis name="translation2"><coordinates>x</coordinates><axis>0 1 0</axis>
<LinearFunction><coefficients>1 0</coefficients></LinearFunction></TransformAxis></SpatialTransform>""",
    )
)
MOTION = """
model = opensim.Model(arguments[0])
state = model.initSystem()
for name, value, speed in (("q", 0.3, arguments[1]), ("x", -0.4, arguments[2])):
    model.getCoordinateSet().get(name).setValue(state, value)
    model.getCoordinateSet().get(name).setSpeedValue(state, speed)
model.realizeAcceleration(state)
pose = model.getBodySet().get("b").getTransformInGround(state)
rows = [[pose.R().get(i, j) for j in range(3)] + [pose.p().get(i)] for i in range(3)]
answer = [rows, [model.getCoordinateSet().get(name).getAccelerationValue(state) for name in ("q", "x")]]
"""
OPENS = """
try:
    opensim.Model(arguments[0]).initSystem()
    answer = ""
except Exception as error:
    answer = str(error)
"""
SCRIPT = """
model = opensim.Model(arguments[0])
state = model.initSystem()
pose = model.getBodySet().get("b").getTransformInGround(state)
answer = [[pose.R().get(i, j) for j in range(3)] + [pose.p().get(i)] for i in range(3)]
"""


def write(folder, turn, shift, coordinates="<coordinates/>"):
    path = folder / "m.osim"
    path.write_text(TEXT.format(turn=turn, shift=shift, coordinates=coordinates))
    return path


@pytest.mark.peers
def test_an_axis_without_a_function_stands_still(tmp_path, in_opensim):
    """An empty <function> is that of a line; without one the coordinate moves nothing along this axis."""
    path = write(tmp_path, "", "", "<coordinates>q</coordinates>")
    model = load_model(path)
    R, p = model.system.poses(model.start)["b"]
    assert R[2, 1] == pytest.approx(np.sin(0.3))
    np.testing.assert_allclose(np.column_stack([R, p]), in_opensim(SCRIPT, path), atol=1e-14)


@pytest.mark.peers
@pytest.mark.parametrize("coordinates", ["", "<coordinates> </coordinates>"])
@pytest.mark.parametrize(
    ("turn", "shift"), [(CONSTANT, SCALED), (f"<function>{SCALED}</function>", CONSTANT), ("", "")]
)
def test_constants_are_those_of_opensim(tmp_path, turn, shift, coordinates, in_opensim):
    path = write(tmp_path, turn, shift, coordinates)
    model = load_model(path)
    R, p = model.system.poses(model.start)["b"]
    np.testing.assert_allclose(np.column_stack([R, p]), in_opensim(SCRIPT, path), atol=1e-14)


@pytest.mark.peers
@pytest.mark.parametrize("axis", ["1 0 0", "-2 0 0", "1 1e-7 0", "1 1e-5 0", "0 1 1"])
@pytest.mark.parametrize("motion", ["rotation", "translation"])
def test_axes_along_one_line_that_opensim_refuses_warn(tmp_path, axis, motion, in_opensim):
    """Here they are axes like others: the body turns about both. OpenSim does not open the file."""
    text = TEXT.format(turn=CONSTANT, shift=CONSTANT, coordinates="<coordinates/>")
    if motion == "translation":
        text = text.replace("</SpatialTransform>", f"{AXIS}</SpatialTransform>")
    else:
        text = text.replace("<axis>0 1 0</axis>", f"<axis>{axis}</axis>", 1)
    path = tmp_path / "m.osim"
    path.write_text(text.replace("AXIS", axis))
    if axis in ("1 1e-5 0", "0 1 1"):
        assert in_opensim(OPENS, path) == ""
        load_model(path)
        return
    assert "collinear axes" in in_opensim(OPENS, path)
    with pytest.warns(ImplausibleWarning, match=rf"joints with {motion} axes along one line, .* \(j\)"):
        model = load_model(path)
    assert model.system.nq == 1


@pytest.mark.peers
@pytest.mark.parametrize("turn", [QUADRATIC, PLANE, f"<function>{TRIPLE}</function>", CONSTANT])
@pytest.mark.parametrize("shift", [QUADRATIC, TRIPLE, PLANE])
def test_axes_of_two_coordinates_move_as_in_opensim(tmp_path, turn, shift, in_opensim):
    """Poses and accelerations, also after a round trip. At speed OpenSim 4.6 is right for linear functions alone: its
    MultivariatePolynomialFunction gives the first derivative in place of the second one."""
    path, again = tmp_path / "m.osim", tmp_path / "again.osim"
    path.write_text(OF_TWO.format(turn=turn, shift=shift))
    model = load_model(path)
    model.save(again)
    curved = POLYNOMIAL in turn + shift
    q, u = np.array([0.3, -0.4]), np.zeros(2) if curved else np.array([1.2, 0.7])
    for file in (path, again):
        R, p = load_model(file).system.poses(q)["b"]
        pose, udot = in_opensim(MOTION, file, *u)
        np.testing.assert_allclose(np.column_stack([R, p]), pose, atol=1e-14)
        np.testing.assert_allclose(forward_dynamics(model.system, q, u, np.zeros(2)), udot, rtol=1e-12)


def test_axes_of_two_coordinates_in_other_formats(tmp_path):
    (tmp_path / "m.osim").write_text(OF_TWO.format(turn=QUADRATIC, shift=TRIPLE))
    model = load_model(tmp_path / "m.osim")
    model.save(tmp_path / "m.toml")
    assert load_model(tmp_path / "m.toml").system == model.system
    assert model.with_rotations("quaternion").system == model.system
    for name, reason in (("m.xml", "depends on several coordinates has no equal"), ("m.urdf", "no custom joint")):
        with pytest.raises(ModelError, match=reason):
            model.save(tmp_path / name)


def test_a_polynomial_of_one_coordinate_is_one(tmp_path):
    """OpenSim reads a MultivariatePolynomialFunction of one coordinate too; its constant comes first."""
    function = QUADRATIC.replace("0.1 0.2 0.4 -0.3 0.5 0.6", "0.1 0.2 0.4").replace("n>2", "n>1")
    for text in (function, f"<MultiplierFunction><function>{function}</function><scale>1</scale></MultiplierFunction>"):
        model = load_model(write(tmp_path, text, CONSTANT, "<coordinates>q</coordinates>"))
        (joint,) = (body.joint for body in model.system.bodies)
        assert joint.rotations[1].function == Polynomial((0.1, 0.2, 0.4))


COUNT = "needs a function of 2 coordinates"
test_functions_of_another_number_of_coordinates_are_rejected = rejected(
    OF_TWO.format(turn="TURN", shift=TRIPLE), "m.osim",
    ("TURN", LINE.replace("2 0.1", "2 0.1 1 1"), "3"),
    ("TURN", CURVED, COUNT),
    ("TURN", "<SimmSpline><x>0 1 2</x><y>0 1 3</y></SimmSpline>", COUNT),
    ("TURN", QUADRATIC.replace("n>2", "n>3"), COUNT),
    ("TURN", f"<MultiplierFunction><function>{CURVED}</function></MultiplierFunction>", COUNT),
)  # fmt: skip


# OpenSim takes 2, the slope, for the value of 2 x + 0.1, and ends at a SimmSpline.
test_functions_without_an_argument_are_rejected = rejected(
    TEXT.format(turn=f"TURN{CONSTANT}", shift=f"SHIFT{CONSTANT}", coordinates="<coordinates/>"), "m.osim",
    *((f"{where}{CONSTANT}", function, "an axis without <coordinates> needs a <Constant>", line)
      for where, line in (("TURN", 7), ("SHIFT", 8)) for function in (LINE, SCALED.replace(CONSTANT, LINE), CURVED)),
)  # fmt: skip
