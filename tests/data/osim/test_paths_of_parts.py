"""References by path to coordinates and frames that share their last name with others."""

import numpy as np
import pandas as pd
import pytest

from myoquat.data import ImplausibleWarning, UnsupportedWarning, load_model, states_from_motion
from myoquat.data.setups.motion import read_controls
from myoquat.dynamics import forward_dynamics, simulate
from myoquat.joints import ModelError
from myoquat.joints.functions import Linear

BODY = '<Body name="{}"><mass>1</mass><mass_center>0 0 0</mass_center><inertia>1 1 1 0 0 0</inertia></Body>'
PIN = """<PinJoint name="{0}"><socket_parent_frame>/ground</socket_parent_frame><socket_child_frame>/bodyset/{1}
</socket_child_frame><coordinates><Coordinate name="flex"><default_value>{2}</default_value></Coordinate></coordinates>
</PinJoint>"""
SPRING = """<SpringGeneralizedForce name="spring"><coordinate>{}</coordinate><stiffness>10</stiffness>
<rest_length>0</rest_length><viscosity>0</viscosity></SpringGeneralizedForce>"""
LIMIT = """<CoordinateLimitForce name="limit"><coordinate>{}</coordinate><upper_stiffness>1</upper_stiffness>
<upper_limit>5</upper_limit><lower_stiffness>1</lower_stiffness><lower_limit>-5</lower_limit><transition>1</transition>
</CoordinateLimitForce>"""
COUPLER = """<ConstraintSet><objects><CoordinateCouplerConstraint name="couple"><coupled_coordinates_function>
<LinearFunction><coefficients>2 0</coefficients></LinearFunction></coupled_coordinates_function>
<independent_coordinate_names>{}</independent_coordinate_names><dependent_coordinate_name>{}
</dependent_coordinate_name></CoordinateCouplerConstraint></objects></ConstraintSet>"""


def written(tmp_path, force="", constraint=""):
    path = tmp_path / "two.osim"
    path.write_text(
        f"""<OpenSimDocument Version="40500"><Model name="two"><gravity>0 0 0</gravity><BodySet><objects>
{BODY.format("b")}{BODY.format("a")}</objects></BodySet><JointSet><objects>{PIN.format("jb", "b", 0.2)}
{PIN.format("ja", "a", 0.3)}</objects></JointSet><ForceSet><objects>{force}</objects></ForceSet>{constraint}
</Model></OpenSimDocument>"""
    )
    return path


@pytest.mark.parametrize(("joint", "expected"), [("jb", [-2.0, 0.0]), ("ja", [0.0, -3.0])])
def test_a_spring_acts_on_the_coordinate_of_its_path(tmp_path, joint, expected):
    """Closed form: a spring of 10 N m/rad accelerates an inertia of 1 kg m^2. OpenSim 4.6 gives the first for `flex`,
    its first coordinate of that name; it takes no path here."""
    model = load_model(written(tmp_path, SPRING.format(f"/jointset/{joint}/flex")), strict=True)
    assert model.system.coordinate_names == ("jb.flex", "ja.flex")
    np.testing.assert_allclose(forward_dynamics(model, model.start, np.zeros(2), np.zeros(2)), expected, atol=1e-12)


def test_limits_and_couplers_keep_the_coordinate_of_their_path(tmp_path):
    limit, coupler = LIMIT.format("/jointset/ja/flex"), COUPLER.format("/jointset/ja/flex", "/jointset/jb/flex")
    model = load_model(written(tmp_path, limit, coupler), strict=True)
    assert [x.coordinate for x in model.limits] == ["ja.flex"]
    assert [(c.dependent, c.independent) for c in model.couplers] == [("jb.flex", "ja.flex")]
    model.save(tmp_path / "again.osim")
    assert load_model(tmp_path / "again.osim", strict=True) == model


@pytest.mark.parametrize("name", ["flex", "/jointset/other/flex"])
def test_a_name_that_is_not_of_one_coordinate_lists_the_paths(tmp_path, name):
    with pytest.raises(ModelError, match=r"two\.osim:\d+: .*/jointset/jb/flex, /jointset/ja/flex"):
        load_model(written(tmp_path, SPRING.format(name)))


def test_columns_of_tables_are_found_by_path(tmp_path):
    labels = [f"/jointset/{joint}/flex/{what}" for what in ("value", "speed") for joint in ("ja", "jb")]
    table = pd.DataFrame([[1.0, 2.0, 3.0, 4.0]], columns=labels)
    q, u = states_from_motion(load_model(written(tmp_path)), table, in_degrees=False)
    assert (q.tolist(), u.tolist()) == ([[2.0, 1.0]], [[4.0, 3.0]])


def test_frames_of_one_name_on_a_body_and_on_a_joint_called_alike(tmp_path):
    frame = """<PhysicalOffsetFrame name="off"><socket_parent>/bodyset/b</socket_parent><translation>{} 0 0
</translation></PhysicalOffsetFrame>"""
    marker = """<MarkerSet><objects><Marker name="{0}"><socket_parent_frame>/{1}/b/off</socket_parent_frame><location>
0 0 0</location></Marker></objects></MarkerSet>"""
    for where, at in (("bodyset", 1.0), ("jointset", 2.0)):
        path = written(tmp_path, constraint=marker.format("m", where))
        text = path.read_text().replace('"jb"', '"b"', 1)
        text = text.replace('<Body name="b">', f'<Body name="b"><components>{frame.format(1)}</components>')
        path.write_text(text.replace("</PinJoint>", f"<frames>{frame.format(2)}</frames></PinJoint>", 1))
        assert [m.position[0] for m in load_model(path).markers] == [at]


MOTORS = """<CoordinateActuator name="motor"><coordinate>{}</coordinate><optimal_force>{}</optimal_force>
</CoordinateActuator>"""


@pytest.mark.parametrize(("actuator", "expected"), [("/forceset/motor", [3.0, 0.0]), ("/motor", [0.0, 5.0])])
def test_a_controller_prescribes_the_force_of_its_path(tmp_path, actuator, expected):
    """A motor of 3 N m in the set of forces, and one of 5 N m of that name in the model itself, on inertias of 1."""
    controller = """<ControllerSet><objects><PrescribedController name="c"><socket_actuators>{}</socket_actuators>
<FunctionSet name="ControlFunctions"><objects><Constant><value>1</value></Constant></objects></FunctionSet>
</PrescribedController></objects></ControllerSet>"""
    path = written(tmp_path, MOTORS.format("/jointset/jb/flex", 3))
    inner = MOTORS.format("/jointset/ja/flex", 5)
    text = path.read_text().replace("<gravity>", f"<components>{inner}</components><gravity>")
    path.write_text(text.replace("</Model>", controller.format(actuator) + "</Model>"))
    model = load_model(path, strict=True)
    found = simulate(model, duration=0.1)
    np.testing.assert_allclose(found.u[-1], 0.1 * np.array(expected), atol=1e-12)
    path.write_text(text.replace("</Model>", controller.format("motor") + "</Model>"))
    with pytest.raises(
        ModelError, match=r"'motor', but the model has /forceset/motor, /motor: give one of these paths"
    ):
        load_model(path)


@pytest.mark.parametrize(("sphere", "expected"), [("/contactgeometryset/ball", 0.3), ("/ball", 0.7)])
def test_a_contact_force_has_the_geometry_of_its_path(tmp_path, sphere, expected):
    ball = """<ContactSphere name="ball"><socket_frame>/bodyset/b</socket_frame><location>0 0 0</location><radius>{}
</radius></ContactSphere>"""
    force = f"""<SmoothSphereHalfSpaceForce name="f"><socket_sphere>{sphere}</socket_sphere><socket_half_space>
/contactgeometryset/floor</socket_half_space></SmoothSphereHalfSpaceForce>"""
    floor = '<ContactHalfSpace name="floor"><socket_frame>/ground</socket_frame></ContactHalfSpace>'
    geometry = f"<ContactGeometrySet><objects>{ball.format(0.3)}{floor}</objects></ContactGeometrySet>"
    path = written(tmp_path, force, geometry)
    path.write_text(path.read_text().replace("<gravity>", f"<components>{ball.format(0.7)}</components><gravity>"))
    with pytest.warns(UnsupportedWarning, match="ContactSphere"):  # the other one, which no force has
        assert load_model(path).forces[0].sphere.radius == expected


def test_controls_are_found_by_path(tmp_path):
    for label in ("motor", "motor.excitation", "/forceset/motor", "/forceset/motor.excitation"):
        (tmp_path / "c.sto").write_text(f"c\nversion=1\nnRows=1\nnColumns=2\nendheader\ntime\t{label}\n0\t0.5\n")
        assert list(read_controls(tmp_path / "c.sto")) == ["motor"]
    (tmp_path / "c.sto").write_text(
        "c\nversion=1\nnRows=1\nnColumns=3\nendheader\ntime\t/motor\t/forceset/motor\n0\t1\t2\n"
    )
    with pytest.raises(ModelError, match="'/motor' and '/forceset/motor' are both controls of 'motor'"):
        read_controls(tmp_path / "c.sto")


def test_a_coupler_by_a_constant_is_written_as_a_line(tmp_path):
    """Its error in OpenSim 4.6 is the constant minus the independent coordinate (0.7041 at 0.6798 for -0.0243)."""
    line = "<LinearFunction><coefficients>2 0</coefficients></LinearFunction>"
    names = "/jointset/ja/flex", "/jointset/jb/flex"
    constant = COUPLER.replace(line, "<Constant><value>0.4</value></Constant>").format(*names)
    with pytest.warns(ImplausibleWarning, match="couplers by a Constant, beside which OpenSim holds the independent"):
        model = load_model(written(tmp_path, constraint=constant))
    model.save(tmp_path / "line.osim")
    again = load_model(tmp_path / "line.osim")  # without a warning
    (coupler,) = again.couplers
    assert (coupler.independent, coupler.function) == (model.couplers[0].independent, Linear(0.0, 0.4))
