"""The models of the library, their files, lengths, Jacobians and torques."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from myoquat import joints
from myoquat.data import UnwrittenWarning, library_models, load_model
from myoquat.dynamics import mass_matrix
from myoquat.dynamics.constraints import constraints_of
from myoquat.joints import ArticulatedSystem, Body, ModelError, SphericalJoint
from myoquat.joints.functions import Linear
from myoquat.muscle import (
    CubicExponentialMuscle,
    ExponentialMuscle,
    Model,
    Muscle,
    MusclePath,
    PathPoint,
    muscle_forces,
    muscle_torques,
    path_jacobian,
    path_lengths,
)
from myoquat.muscle.coordinates import Coordinate, Coupler
from myoquat.muscle.wrapping import WrapSphere

STATES = json.loads((Path(__file__).parents[1] / "data" / "two_link_states.json").read_text())
STRAIGHT = ("mapping_analysis", "mapping_analysis_euler", "two_link", "two_link_euler")  # without surfaces
S = np.sqrt(2) / 2

# retyped from the publication's text: origin body and point, insertion body and point, l0
MAPPING = [
    ("Thorax", (-10, 12, 0), "Clavicle", (1, 1, -10), 20),
    ("Thorax", (-10, 12, 0), "Scapula", (-1, 1, -10), 30),
    ("Clavicle", (-4, 5, 0), "Scapula", (1, -6, 3), 30),
    ("Thorax", (-6, -6, 0), "Scapula", (2, -2, 5), 30),
    ("Thorax", (-7, 5, 0), "Scapula", (-3, -3, 0), 30),
    ("Thorax", (8, -4, 0), "Scapula", (-4, 4, -4), 30),
]
TWO_LINK = [
    ("ground", (-1, 1.2, 0), "A", (0.1 * S, 0.1 * S, -1), 12, 2, 0.1),
    ("ground", (-1, 1.2, 0), "B", (-0.1 * S, 0.1 * S, -1), 30, 2.3, 1),
    ("A", (-0.1 * S, 0.1 * S, -0.6), "B", (0.1, 0, -0.3), 14.4, 1.2, 0.1),
    ("ground", (-0.6, -0.6, 0), "B", (-0.1, 0, -0.5), 9.6, 1.5, 1),
    ("ground", (-0.7, 0.5, 0), "B", (0, -0.1, -0.3), 8.4, 2.5, 0.1),
    ("ground", (0.8, -0.4, 0), "B", (0, 0.1, -0.4), 6, 2.1, 0.1),
]


def test_library_models_are_there():
    assert library_models() == tuple(sorted((*STRAIGHT, "thoracoscapular")))


@pytest.mark.parametrize("name", ["mapping_analysis", "mapping_analysis_euler"])
def test_mapping_analysis_holds_the_study_s_numbers(name):
    model = load_model(name)
    assert model.system.body_names == ("Clavicle", "Scapula")
    assert [b.position for b in model.system.bodies] == [(0, 0, 0), (0, 0, -10)]
    for body in model.system.bodies:
        assert (body.mass, body.center_of_mass) == (5, (0, 0, -5))
        assert body.inertia == (8.1667, 8.1667, 1.66667, 0, 0, 0)
        assert body.joint.sequence == "YZY"
    assert model.system.gravity == (0, 0, -9.81)
    for muscle, (a, p, b, r, l0) in zip(model.muscles, MAPPING, strict=True):
        assert muscle.path.points == (PathPoint(a, p), PathPoint(b, r))
        assert muscle.law == CubicExponentialMuscle(l0)


@pytest.mark.parametrize("name", ["two_link", "two_link_euler"])
def test_two_link_holds_the_study_s_numbers(name):
    model = load_model(name)
    l, m, r = 1.0, 5.0, 0.1
    across, along = m * (3 * r**3 + l**2) / 12, m * r**2 / 2
    assert [b.joint.sequence for b in model.system.bodies] == ["YZY", "YZX"]
    assert [b.position for b in model.system.bodies] == [(0, 0, 0), (0, 0, -1)]
    for body in model.system.bodies:
        assert (body.mass, body.center_of_mass, body.damping) == (5, (0, 0, -0.5), 1e-8)
        np.testing.assert_allclose(body.inertia, (across, across, along, 0, 0, 0), rtol=1e-15)
    for muscle, (a, p, b, q, Fmax, lopt, activation) in zip(model.muscles, TWO_LINK, strict=True):
        assert [point.body for point in muscle.path.points] == [a, b]
        np.testing.assert_allclose([point.position for point in muscle.path.points], [p, q], rtol=1e-15)
        assert muscle.law == ExponentialMuscle(lopt, Fmax)
        assert muscle.activation == activation
    start = joints.convert_coordinates(model.system, model.with_rotations("quaternion").system, model.start_q)
    np.testing.assert_allclose(start[:4], joints.normalize([1, 0.1, -0.05, 0.05]), atol=1e-15)
    np.testing.assert_allclose(start[4:], joints.normalize([1, 0.1, 0, 0.1]), atol=1e-15)
    assert not any(model.start_u)


def test_strange_names_survive_the_file(tmp_path):
    body = Body(
        'a "b"\n#\\',
        "ground",
        SphericalJoint("ZXZ"),
        orientation=(0.6, 0, 0.8, 0),
        inertia=(2, 2.5, 3, 0.1, 0.2, 0.3),
        mass=1.5,
    )
    muscle = Muscle("µ = [1]", (PathPoint("ground", (1e-300, 0.1, -1 / 3)), PathPoint(body.name, (0, 0, 1e30))))
    model = Model(ArticulatedSystem((body,)), (muscle,), name="'", start_q=(1.0, 0.0, 0.0, 0.0))
    model.save(tmp_path / "m.toml")
    assert load_model(tmp_path / "m.toml") == model


def test_via_points_add_their_segments():
    points = tuple(PathPoint("ground", p) for p in ((0.0, 0.0, 0.0), (3.0, 4.0, 0.0), (3.0, 4.0, 2.0)))
    body = Body("a", "ground", SphericalJoint())
    model = Model(ArticulatedSystem((body,)), (Muscle("m", points),))
    assert path_lengths(model, [1, 0, 0, 0]) == [7.0]
    np.testing.assert_array_equal(path_jacobian(model, [1, 0, 0, 0]), np.zeros((1, 3)))


@pytest.mark.parametrize("backend", ["kernel", "numpy"])
def test_torques_are_those_of_the_independent_derivation(backend):
    quaternion, euler = load_model("two_link"), load_model("two_link_euler")
    zero, activation = np.zeros(6), STATES["act"]
    F = muscle_forces(quaternion, STATES["q"], zero, activation, backend=backend)
    J_Q = path_jacobian(quaternion, STATES["q"], "quaternion", backend=backend)
    J_star = path_jacobian(quaternion, STATES["q"], "constrained", backend=backend)
    Q = np.array(STATES["q"]).reshape(8, 2, 1, 4)
    from_Q = joints.quaternion_to_spatial(J_Q.reshape(8, 6, 2, 4).swapaxes(1, 2), Q)
    from_star = joints.constrained_to_spatial(J_star.reshape(8, 6, 2, 3).swapaxes(1, 2), Q)
    for J, key in ((from_Q, "FM_quat"), (from_star, "FM_quat_Cnst")):
        tau = -np.einsum("nbmi,nm->nbi", J, F).reshape(8, 6)
        assert relative(tau, STATES[key]) < 1e-12
    tau = muscle_torques(quaternion, STATES["q"], zero, activation, backend=backend)
    assert relative(tau, STATES["FM_quat"]) < 1e-12
    tau = muscle_torques(euler, STATES["phi"], zero, activation, backend=backend)
    assert relative(tau, STATES["FM_eul"]) < 1e-12


def relative(x, reference):
    return np.abs(x - np.array(reference)).max() / np.abs(reference).max()


def test_out_and_large_batches(rng):
    model = load_model("two_link")
    q = model.system.random(5000, rng)
    out = np.empty((5000, 6))
    assert path_lengths(model, q, out=out) is out
    np.testing.assert_array_equal(out[:7], path_lengths(model, q[:7]))
    for place, value, message in (
        ((4321, 2), np.nan, r"q\[4321, 2\] \(A.Q2\) is nan"),
        ((4999, 5), 0.9, r"q\[4999\].* has length"),
    ):
        wrong = q.copy()
        wrong[place] = value
        with pytest.raises(ValueError, match=message):
            path_lengths(model, wrong)


def test_rotations_convert_models():
    model = load_model("two_link")
    assert model.with_rotations("sequence").system == load_model("two_link_euler").system
    with pytest.raises(ModelError, match="no ball joint carries a body 'C'"):
        model.with_rotations({"C": "ZXZ"})


def test_bad_words_are_named():
    model = load_model("two_link")
    q = [1.0, 0, 0, 0, 1, 0, 0, 0]
    with pytest.raises(ValueError, match="wrt is one of"):
        path_jacobian(model, q, "Q")
    with pytest.raises(ValueError, match="backend is one of"):
        path_lengths(model, q, backend="fortran")
    with pytest.raises(ValueError, match="eliminated is"):
        path_jacobian(model, q, "constrained", eliminated=7)
    with pytest.raises(ValueError, match="Q1 of ball joint 0 is zero"):
        path_jacobian(model, q, "constrained", eliminated=1)
    with pytest.raises(ModelError, match="muscle 'm1': no max_isometric_force is given"):
        muscle_forces(load_model("mapping_analysis"), q, np.zeros(6), np.zeros(6))


def test_surfaces_stand_beside_points_or_in_a_path():
    points = PathPoint("ground", (-0.1, 0.0, 0.0)), PathPoint("upper", (0.0, 0.0, -0.2))
    ball = WrapSphere(body="ground", radius=0.01)
    muscle = Muscle("flexor", points, wraps=[ball])
    assert muscle == Muscle("flexor", MusclePath(points, (ball,))) == replace(muscle, path=muscle.path)
    with pytest.raises(ValueError, match="a MusclePath has surfaces and pulleys of its own"):
        Muscle("flexor", MusclePath(points), wraps=[ball])


def test_a_model_shows_itself_in_a_line_and_in_a_table():
    model = load_model("two_link")
    assert repr(model) == "<Model 'two_link': 2 bodies, 8 coordinates, 6 muscles>"
    table = replace(model, name="<script>")._repr_html_()
    assert "<script>" not in table
    assert "&lt;script&gt;" in table
    for text in (*model.muscle_names, *model.system.body_names, *model.system.coordinate_names):
        assert text in table
    assert "muscle</th>" not in replace(model, muscles=())._repr_html_()


def test_urdf_holds_a_model_without_its_muscles(tmp_path):
    model = load_model("two_link")
    balls = r"ball joints have the type 'spherical', which this package reads and other programs refuse \(A, B\)"
    with pytest.warns(UnwrittenWarning, match=balls), pytest.warns(UnwrittenWarning, match=r"6 muscles \(m1, m2"):
        model.save(tmp_path / "m.urdf")
    found = load_model(tmp_path / "m.urdf")
    assert found.muscles == ()
    np.testing.assert_allclose(mass_matrix(found, model.start), mass_matrix(model, model.start), atol=1e-12)
    with pytest.raises(ModelError, match="6 muscles"):
        model.save(tmp_path / "n.urdf", strict=True)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_couplers_of_couplers_are_followed_in_any_order(order):
    slide = joints.PrismaticJoint((1, 0, 0))
    bodies = tuple(Body(name, "ground", slide, coordinate_names=(name,)) for name in "abc")
    couplers = Coupler("second", "b", "a", Linear(3.0)), Coupler("third", "c", "b", Linear(2.0))
    model = Model(ArticulatedSystem(bodies), couplers=tuple(couplers[k] for k in order))
    np.testing.assert_array_equal(model.pose({"a": 1.0}), [1.0, 3.0, 6.0])


@pytest.mark.parametrize("names", [None, ("plane", "elevation", "rotation")])
def test_a_coupler_never_follows_an_angle_of_another_sequence(names):
    arm = Body("arm", "ground", joints.EulerJoint("YZY"), coordinate_names=names)
    hand = Body("hand", "arm", joints.RevoluteJoint((0, 1, 0)), coordinate_names=("wrist",))
    first = "arm.p1" if names is None else "plane"
    coupler = Coupler("follows", "wrist", first, Linear(2.0))
    ranged = Coordinate(first, range=(-1.0, 1.0))
    given = Model(ArticulatedSystem((arm, hand)), couplers=(coupler,), coordinates=(ranged,))
    if names is None:
        with pytest.raises(ModelError, match=r"'arm\.p1' is an angle of the former sequence"):
            given.with_rotations("ZXY")
        assert not replace(given, couplers=()).with_rotations("ZXY").coordinates, "the range is that of another angle"
        return
    turned = given.with_rotations("ZXY")
    q = joints.convert_coordinates(given.system, turned.system, np.array([0.3, 0.5, -0.2, 0.6]))
    (constraint,) = constraints_of(turned)
    assert np.abs(constraint.position(turned.system, q, np.zeros(()))).max() < 1e-12
