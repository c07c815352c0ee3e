"""ConstantCurvatureJoint: the arc by quadrature, files, and what OpenSim makes of it."""

import numpy as np
import pytest

from myoquat.analysis.motion import scale_model
from myoquat.data import load_model
from myoquat.dynamics import inverse_dynamics, mass_matrix
from myoquat.joints import ConstantCurvatureJoint, ModelError
from myoquat.joints.vectors import full
from tests.data.osim.test_loops import OPENSIM, body, file_of, joint

CENTER, REST, LENGTH = (0.1, 0.2, 0.3), (0.1, -0.05, 0.2), 0.4
BENT = f"<neutral_angle_x_z_y>{' '.join(map(str, REST))}</neutral_angle_x_z_y><length>{LENGTH}</length>"


def link(bent=BENT, tag="ConstantCurvatureJoint"):
    """A joint from the ground to a body."""
    text = joint(tag, "j", "ground", (0.1, 0.2, 0.3), "a", (0.0, 0.0, 0.0), 3)
    return text.replace("</coordinates>", f"</coordinates>{bent}")


LINK = link()


def rod(folder, *link_of):
    """A file of a body at the end of a rod."""
    return file_of(folder, [body("a", 1.2, CENTER)], [link(*link_of)])


@pytest.mark.parametrize("span", [1.5, 0.6, 0.1, 1e-3, 1e-8, 0.0])
def test_the_end_of_an_arc_of_even_curvature(rng, span):
    """p = the integral of the tangent, which turns evenly from the one end to the other."""
    system_joint = ConstantCurvatureJoint(LENGTH)
    R, p = system_joint.transform(rng.uniform(-span, span, (20, 3)))
    n = R[..., 1]
    theta = np.arctan2(np.hypot(n[:, 0], n[:, 2]), n[:, 1])[:, None]
    sine = np.where(theta == 0, 1.0, np.sin(theta))
    s, weights = np.polynomial.legendre.leggauss(20)
    expected = np.zeros((20, 3))
    for at, weight in zip((s + 1) / 2, weights / 2, strict=True):
        first, last = (np.where(theta == 0, x, np.sin(x * theta) / sine) for x in (1 - at, at))
        expected += weight * LENGTH * (first * np.array([0.0, 1.0, 0.0]) + last * n)
    np.testing.assert_allclose(p, expected, rtol=1e-14, atol=1e-16)


def test_files_hold_it(tmp_path):
    for bent, expected in ((BENT, ConstantCurvatureJoint(LENGTH, REST)), ("", ConstantCurvatureJoint(1.0))):
        assert load_model(rod(tmp_path, bent), strict=True).system.bodies[0].joint == expected


def test_it_grows_with_its_child(tmp_path):
    model = scale_model(load_model(rod(tmp_path)), factors={"a": np.array([2.0, 1.5, 3.0])})
    assert model.system.bodies[0].joint == ConstantCurvatureJoint(1.5 * LENGTH, REST)


RADII = "<radii_x_y_z>0.1 {} 0.1</radii_x_y_z>"


@pytest.mark.parametrize(
    ("bent", "tag", "words"),
    [("<length>0</length>", "ConstantCurvatureJoint", "length must be positive"),
     ("<neutral_angle_x_z_y>0 0</neutral_angle_x_z_y>", "ConstantCurvatureJoint", "neutral_angle_x_z_y"),
     (RADII.format(0), "EllipsoidJoint", "EllipsoidJoint 'j': the radii .* three positive numbers")],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_its_line(tmp_path, bent, tag, words):
    with pytest.raises(ModelError, match=words) as caught:
        load_model(rod(tmp_path, bent, tag))
    assert caught.value.line


def test_mujoco_has_no_joint_on_an_ellipsoid(tmp_path):
    with pytest.raises(ModelError, match="MuJoCo has no joint like this"):
        load_model(rod(tmp_path, RADII.format(0.2), "EllipsoidJoint")).save(tmp_path / "x.xml")


@pytest.mark.peers
def test_opensim_puts_the_body_alike_and_moves_it_otherwise(tmp_path, rng, in_opensim):
    """OpenSim 4.6 takes the joint's Jacobian, which is in the child's components, for one in the parent's. It takes its
    rate for zero (ConstantCurvatureJoint.cpp, multiplyByHMatrix, multiplyByHDotMatrix). Poses agree everywhere, masses
    and forces where the rod is straight and at rest. Elsewhere its masses are those of that Jacobian."""
    path, (q, u, udot) = rod(tmp_path), rng.uniform(-1, 1, (3, 10, 3))
    q[0], u[0] = -np.array(REST), 0.0
    model = load_model(path)
    answer = in_opensim(OPENSIM, path, [model.system.coordinate_names, u, q, udot, 1e-3])
    (a,) = model.system.bodies
    R, p = model.system.poses(q)["a"]
    np.testing.assert_allclose(R, [pose["a"][0] for pose in answer["poses"]], atol=1e-15)
    np.testing.assert_allclose(p, [pose["a"][1] for pose in answer["poses"]], atol=1e-15)
    np.testing.assert_allclose(mass_matrix(model, q[0]), answer["mass"][0], atol=1e-15)
    np.testing.assert_allclose(inverse_dynamics(model, q[0], u[0], udot[0]), answer["tau"][0], atol=1e-14)
    omega, v = a.joint.subspace(q)
    v = v + np.cross(omega, (R @ np.array(CENTER))[..., None], axis=-2)
    inertia = R @ full(np.array(a.inertia)) @ np.swapaxes(R, -1, -2)
    M = np.swapaxes(omega, -1, -2) @ inertia @ omega + a.mass * np.swapaxes(v, -1, -2) @ v
    np.testing.assert_allclose(M, answer["mass"], atol=1e-14)
    assert np.abs(mass_matrix(model, q[1:]) - answer["mass"][1:]).max() > 0.1
