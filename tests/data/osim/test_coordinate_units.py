"""The unit of a coordinate is OpenSim's motion type: an angle, a length, or a number that is never converted."""

import numpy as np
import pytest

from myoquat.analysis.motion import inverse_dynamics_of_motion, scale_model, smooth
from myoquat.data import load_model, load_motion, load_table
from myoquat.data.tables import column_units
from myoquat.joints import ArticulatedSystem, Axis, Body, CustomJoint, convert_coordinates, with_rotations
from myoquat.joints.functions import Linear
from myoquat.muscle import Model, limit_torques
from myoquat.muscle.coordinates import Coupler
from tests.bodies import on_hinge

TEXT = """<OpenSimDocument Version="40600"><Model name="m"><gravity>0 -9.81 0</gravity><BodySet><objects>
<Body name="b"><mass>1</mass><mass_center>0 -0.2 0</mass_center><inertia>0.1 0.1 0.1 0 0 0</inertia></Body></objects>
</BodySet><JointSet><objects><CustomJoint name="j"><socket_parent_frame>/ground</socket_parent_frame>
<socket_child_frame>/bodyset/b</socket_child_frame><coordinates>{coordinates}</coordinates><SpatialTransform>{axes}
</SpatialTransform></CustomJoint></objects></JointSet><ForceSet><objects><CoordinateLimitForce name="stop">
<coordinate>a</coordinate><upper_stiffness>10</upper_stiffness><upper_limit>0.3</upper_limit>
<lower_stiffness>10</lower_stiffness><lower_limit>-0.3</lower_limit><transition>0.1</transition><damping>0</damping>
</CoordinateLimitForce></objects></ForceSet></Model></OpenSimDocument>"""
CURVE = "<SimmSpline><x>-2 -1 0 1 2</x><y>-0.5 -0.4 0 0.6 0.9</y></SimmSpline>"
X, Y, Z = "1 0 0", "0 1 0", "0 0 1"


def line(slope, offset=0.0):
    return f"<LinearFunction><coefficients>{slope} {offset}</coefficients></LinearFunction>"


def times(function, scale):
    return f"<MultiplierFunction><function>{function}</function><scale>{scale}</scale></MultiplierFunction>"


def written(path, axes):
    """A file of one joint with axes {name: (coordinate, function)}; rotation1 is about z."""
    names = sorted({coordinate for coordinate, _ in axes.values()})
    directions = {
        "rotation1": Z,
        "rotation2": Y,
        "rotation3": X,
        "translation1": X,
        "translation2": Y,
        "translation3": Z,
    }
    parts = [
        f'<TransformAxis name="{name}"><coordinates>{axes[name][0]}</coordinates><axis>{axis}</axis>{axes[name][1]}'
        "</TransformAxis>"
        for name, axis in directions.items()
        if name in axes
    ]
    coordinates = "".join(f'<Coordinate name="{name}"/>' for name in names)
    path.write_text(TEXT.format(coordinates=coordinates, axes="".join(parts)))
    return path


@pytest.mark.parametrize(
    ("axes", "unit"),  # motion types of OpenSim 4.6
    [
        ({"rotation1": ("a", line(1, 0.3))}, "rad"),
        ({"rotation1": ("a", line(-1))}, "rad"),
        ({"rotation1": ("a", line(2))}, "1"),
        ({"rotation1": ("a", times(line(1), 1))}, "1"),
        ({"rotation1": ("a", CURVE)}, "1"),
        ({"rotation1": ("a", "<PolynomialFunction><coefficients>1 0</coefficients></PolynomialFunction>")}, "1"),
        ({"rotation1": ("a", line(2)), "rotation2": ("a", line(1))}, "rad"),
        ({"rotation1": ("a", line(1)), "translation1": ("a", CURVE)}, "rad"),
        ({"rotation1": ("a", line(1)), "translation1": ("a", line(1))}, "m"),
        ({"rotation1": ("a", CURVE), "translation1": ("a", line(1))}, "m"),
        ({"translation1": ("a", line(-1))}, "m"),
        ({"translation1": ("a", line(2))}, "m"),  # Coupled to OpenSim, as what ScaleTool writes in the next row
        ({"translation1": ("a", times(line(1), 1))}, "m"),
        ({"rotation1": ("a", CURVE), "translation1": ("a", line(2))}, "1"),
        ({"translation1": ("a", CURVE)}, "1"),
    ],
)
def test_units_of_coordinates_are_the_motion_types_of_opensim(tmp_path, axes, unit):
    path = written(tmp_path / "m.osim", axes)
    assert load_model(path).system.coordinate_units == {"a": unit}
    load_model(path).save(tmp_path / "again.osim")
    assert load_model(tmp_path / "again.osim").system.coordinate_units == {"a": unit}


def test_tables_in_degrees_hold_coupled_coordinates_as_they_are(tmp_path):
    axes = {"rotation1": ("a", line(2)), "rotation2": ("b", line(-1)), "translation1": ("c", line(1))}
    model = load_model(written(tmp_path / "m.osim", axes))
    (tmp_path / "m.mot").write_text(
        "m\nversion=1\nnRows=1\nnColumns=4\ninDegrees=yes\nendheader\ntime\ta\tb\tc\n0\t10\t10\t10\n"
    )
    motion = load_motion(tmp_path / "m.mot", model)
    np.testing.assert_allclose(motion.q[0], [10.0, np.radians(10), 10.0], rtol=1e-15)
    motion.save(tmp_path / "again.mot")
    np.testing.assert_allclose(load_table(tmp_path / "again.mot").iloc[0], [10.0, 10.0, 10.0], rtol=1e-14)


def test_limits_of_coupled_coordinates_are_in_their_own_unit(tmp_path):
    """-10 (0.8 - 0.3), which OpenSim 4.6 gives too; in degrees it would be about -30,000."""
    model = load_model(written(tmp_path / "m.osim", {"rotation1": ("a", CURVE)}))
    np.testing.assert_allclose(limit_torques(model, [0.8], [0.0]), [-5.0], rtol=1e-14)
    model.save(tmp_path / "again.osim")
    np.testing.assert_allclose(limit_torques(load_model(tmp_path / "again.osim"), [0.8], [0.0]), [-5.0], rtol=1e-14)


def test_generalized_forces_of_coupled_coordinates_are_named_as_in_opensim(tmp_path):
    """A pendulum turned by 2 a: the force on a is twice the moment m g l sin(2 a) of its weight."""
    model = load_model(written(tmp_path / "m.osim", {"rotation1": ("a", line(2)), "translation1": ("b", line(1))}))
    (tmp_path / "m.mot").write_text(
        "m\nversion=1\nnRows=40\nnColumns=3\ninDegrees=yes\nendheader\ntime\ta\tb\n"
        + "".join(f"{k / 100}\t0.25\t0\n" for k in range(40))
    )
    loads = inverse_dynamics_of_motion(model, smooth(load_motion(tmp_path / "m.mot", model), None)).of_coordinates()
    assert column_units(loads) == {"a_force": "N m", "b_force": "N"}
    np.testing.assert_allclose(loads["a_force"], 2 * 9.81 * 0.2 * np.sin(0.5), rtol=1e-9)


def test_a_quaternion_keeps_the_units_of_the_coordinates_it_replaces(tmp_path):
    axes = {"rotation1": ("a", line(2)), "rotation2": ("b", line(1)), "rotation3": ("c", line(1))}
    path = written(tmp_path / "m.osim", axes)
    model, ball = (load_model(path, rotations=rotations) for rotations in ("file", "quaternion"))
    assert [ball.system.coordinate_units[name] for name in "abc"] == ["1", "rad", "rad"]
    (tmp_path / "m.mot").write_text(
        "m\nversion=1\nnRows=1\nnColumns=4\ninDegrees=yes\nendheader\ntime\ta\tb\tc\n0\t0.25\t10\t20\n"
    )
    x, z = (load_motion(tmp_path / "m.mot", m) for m in (model, ball))
    np.testing.assert_allclose(convert_coordinates(ball.system, model.system, z.q), x.q, atol=1e-15)
    np.testing.assert_allclose(z.angles(in_degrees=True).iloc[0], [0.25, 10.0, 20.0], rtol=1e-14)


def test_a_chain_keeps_the_units_of_its_coordinates(tmp_path):
    axes = {"rotation1": ("a", line(2)), "rotation2": ("b", line(1))}
    first = load_model(written(tmp_path / "m.osim", axes)).system.bodies[0]
    frame = Body("frame", "ground", first.joint, coordinate_names=("a", "b"))
    arm = on_hinge("arm", "z", "c", "frame")
    ball = with_rotations(ArticulatedSystem((frame, arm)), "quaternion")
    assert [ball.coordinate_units[name] for name in "abc"] == ["1", "rad", "rad"]


@pytest.mark.parametrize("slope", [1.0, 2.0])
def test_what_a_coupler_slides_grows_with_the_parent_once(slope):
    """A line of another slope than that of OpenSim's lengths is stretched itself, so its coupler keeps its scale."""
    slide = CustomJoint(("b",), translations=(Axis((1, 0, 0), 0, Linear(slope)),))
    arm = on_hinge("arm", "z", "a")
    hand = Body("hand", "arm", slide, mass=1.0, coordinate_names=("b",))
    model = Model(ArticulatedSystem((arm, hand)), couplers=(Coupler("c", "b", "a", Linear(0.1)),))
    bigger = scale_model(model, factors={"arm": 1.2})
    first, second = (m.system.bodies[1].joint.transform(np.array([m.couplers[0].scale]))[1] for m in (model, bigger))
    np.testing.assert_allclose(second, 1.2 * first, rtol=1e-15)
