"""Frames, points and mass: Jacobians and accelerations against derivatives of poses."""

import numpy as np
import pytest

from myoquat.joints import (
    ArticulatedSystem,
    Body,
    BodyIndex,
    FixedJoint,
    ModelError,
    RevoluteJoint,
    angular_momentum,
    center_of_mass,
    center_of_mass_jacobian,
    frame_acceleration,
    frame_jacobian,
    frame_jacobian_rate,
    frame_pose,
    frame_velocity,
    momentum,
    point_position,
    random_system,
)

STENCIL = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))  # sixth-order central difference
STEP = 4e-3
POINT = np.array([0.2, -0.1, 0.3])


@pytest.fixture(params=["child", "parent"])
def case(request):
    rng = np.random.default_rng(2)
    system = random_system(9, rng, velocity_frame=request.param)
    q, (u, udot) = system.random(1, rng)[0], rng.normal(size=(2, system.nu))
    return system, q, u, udot


def _rate(function, system, q, u, udot=0.0):
    """Derivative of function(q, u) along the motion; udot = 0 unless given."""
    values = [
        c * (function(system.integrate(q, k * STEP * u), u + k * STEP * udot)
             - function(system.integrate(q, -k * STEP * u), u - k * STEP * udot))
        for k, c in STENCIL
    ]  # fmt: skip
    return sum(values) / STEP


def test_velocity_is_the_rate_of_the_pose(case):
    system, q, u, _ = case
    for name in system.body_names:
        v = frame_velocity(system, q, u, name, POINT, backend="numpy")
        R, _ = frame_pose(system, q, name, backend="numpy")
        R_rate = _rate(lambda x, _, n=name: frame_pose(system, x, n, backend="numpy")[0], system, q, u)
        W = R_rate @ R.T
        x_rate = _rate(lambda x, _, n=name: point_position(system, x, n, POINT, backend="numpy"), system, q, u)
        np.testing.assert_allclose(v, [*x_rate, W[2, 1], W[0, 2], W[1, 0]], atol=1e-8)
        local = frame_velocity(system, q, u, name, POINT, axes="local", backend="numpy")
        np.testing.assert_allclose(local, [*(R.T @ v[:3]), *(R.T @ v[3:])], atol=1e-13)


@pytest.mark.parametrize("axes", ["world", "local"])
def test_jacobian_and_its_rate(case, axes):
    system, q, u, _ = case
    for name in system.body_names:
        J = frame_jacobian(system, q, name, POINT, axes=axes, backend="numpy")
        v = frame_velocity(system, q, u, name, POINT, axes=axes, backend="numpy")
        np.testing.assert_allclose(J @ u, v, atol=1e-13)
        J_rate = frame_jacobian_rate(system, q, u, name, POINT, axes=axes, backend="numpy")
        numeric = _rate(
            lambda x, _, n=name: frame_jacobian(system, x, n, POINT, axes=axes, backend="numpy"), system, q, u
        )
        np.testing.assert_allclose(J_rate, numeric, atol=2e-7)


def test_acceleration_is_the_rate_of_the_velocity(case):
    system, q, u, udot = case
    for name in system.body_names:
        a = frame_acceleration(system, q, u, udot, name, POINT, backend="numpy")
        J = frame_jacobian(system, q, name, POINT, backend="numpy")
        J_rate = frame_jacobian_rate(system, q, u, name, POINT, backend="numpy")
        np.testing.assert_allclose(a, J @ udot + J_rate @ u, atol=1e-12)
        local = frame_acceleration(system, q, u, udot, name, POINT, axes="local", backend="numpy")
        R, _ = frame_pose(system, q, name, backend="numpy")
        np.testing.assert_allclose(local[:3], R.T @ a[:3], atol=1e-13)


def test_centre_of_mass_and_momentum(case):
    system, q, u, _ = case
    J = center_of_mass_jacobian(system, q, backend="numpy")
    numeric = _rate(lambda x, _: center_of_mass(system, x, backend="numpy"), system, q, u)
    np.testing.assert_allclose(J @ u, numeric, atol=1e-9)
    mass = sum(link.mass for link in system.tree.links)
    h = momentum(system, q, u, backend="numpy")
    np.testing.assert_allclose(h[:3], mass * J @ u, atol=1e-12)
    about = np.array([0.3, 0.1, -0.5])
    shifted = angular_momentum(system, q, u, about, backend="numpy")
    arm = center_of_mass(system, q, backend="numpy") - about
    np.testing.assert_allclose(shifted, h[3:] + np.cross(arm, h[:3]), atol=1e-12)


def test_points_of_the_ground_stand_still(case):
    system, q, u, udot = case
    np.testing.assert_array_equal(point_position(system, q, "ground", POINT), POINT)
    np.testing.assert_array_equal(frame_jacobian(system, q, 0, POINT), np.zeros((6, system.nu)))
    np.testing.assert_array_equal(frame_jacobian_rate(system, q, u, "ground"), np.zeros((6, system.nu)))
    np.testing.assert_array_equal(frame_acceleration(system, q, u, udot, "ground"), np.zeros(6))


def test_what_is_refused(case):
    system, q, u, _ = case
    with pytest.raises(KeyError, match="no frame is named 'nose'"):
        frame_pose(system, q, "nose")
    with pytest.raises(TypeError, match="frame index is wanted, not the body or joint index 0"):
        frame_pose(system, q, BodyIndex(0))
    with pytest.raises(ValueError, match="axes is one of world, local"):
        frame_jacobian(system, q, "b0", axes="body")
    with pytest.raises(ValueError, match="backend is one of kernel, numpy"):
        frame_velocity(system, q, u, "b0", backend="gpu")
    with pytest.raises(ValueError, match="point has shape"):
        frame_jacobian(system, q, "b0", (0.0, 1.0))
    with pytest.raises(TypeError, match="a Model or an ArticulatedSystem is wanted, not int"):
        frame_pose(3, q, "b0")
    weightless = ArticulatedSystem((Body("a", "ground", RevoluteJoint()), Body("b", "a", FixedJoint())))
    with pytest.raises(ModelError, match="no centre of mass"):
        center_of_mass(weightless, [0.0])
