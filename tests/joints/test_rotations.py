"""Rotations, rate maps and Euler sequences: theorems and SciPy as the independent reference.

`tests/test_agreement.py` compares all types of numbers.
"""

from functools import partial

import casadi
import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.spatial.transform import Rotation

from myoquat import joints
from myoquat.joints import SEQUENCES, E, E_inverse, G, G_parent, T

N = 7
CLOSE = {"rtol": 0, "atol": 4e-14}


@pytest.fixture
def Q(rng):
    return joints.random_quaternions(N, rng)


@pytest.fixture
def phi(rng):
    return rng.uniform(0.2, 1.3, (N, 3))  # away from every lock, where the theorems' numbers are plain


def rotation(Q):
    return Rotation.from_quat(np.roll(Q, -1, axis=-1))


def test_rotation_matrix_is_scipys(Q):
    np.testing.assert_allclose(joints.rotation_matrix(Q), rotation(Q).as_matrix(), **CLOSE)


@pytest.mark.parametrize("extension", ["normalized", "homogeneous"])
def test_extensions_agree_on_the_sphere_and_scale_as_they_say(Q, extension):
    R = joints.rotation_matrix(Q)
    np.testing.assert_allclose(joints.rotation_matrix(Q, extension), R, **CLOSE)
    factor = 1 if extension == "normalized" else 9
    np.testing.assert_allclose(joints.rotation_matrix(3 * Q, extension), factor * R, atol=1e-13)


def test_product_composes_rotations(Q, rng):
    P = joints.random_quaternions(N, rng)
    product = joints.quaternion_multiply(P, Q)
    np.testing.assert_allclose(rotation(product).as_matrix(), (rotation(P) * rotation(Q)).as_matrix(), **CLOSE)


def test_conjugate_inverts(Q):
    one = joints.quaternion_multiply(Q, joints.quaternion_conjugate(Q))
    np.testing.assert_allclose(one, np.tile([1.0, 0, 0, 0], (N, 1)), **CLOSE)


def test_quaternion_from_matrix_returns_the_rotation(Q):
    back = joints.quaternion_from_matrix(rotation(Q).as_matrix())
    np.testing.assert_allclose(np.abs(np.sum(back * Q, axis=-1)), 1, **CLOSE)


@pytest.mark.parametrize("k", range(4))
def test_quaternion_from_matrix_in_each_branch(k):
    Q = joints.normalize(np.eye(4)[k] + 1e-9)
    np.testing.assert_allclose(joints.quaternion_from_matrix(rotation(Q).as_matrix()), Q, **CLOSE)


@pytest.mark.parametrize("length", [0.0, 1e-300, 1e-9, 0.0999, 0.1001, 1.0, np.pi, 6.0])
def test_exp_is_scipys_and_log_returns(scalar, rng, length):
    v = rng.standard_normal((N, 3))
    v *= length / np.linalg.norm(v, axis=-1, keepdims=True)
    Q = scalar(joints.quaternion_exp, v)
    np.testing.assert_allclose(rotation(Q).as_matrix(), Rotation.from_rotvec(v).as_matrix(), **CLOSE)
    np.testing.assert_allclose(np.linalg.norm(Q, axis=-1), 1, **CLOSE)
    np.testing.assert_allclose(joints.quaternion_log(Q), v, rtol=1e-13, atol=1e-300)


def test_log_of_both_signs(Q):
    np.testing.assert_allclose(joints.quaternion_exp(joints.quaternion_log(Q)), Q, **CLOSE)


def test_log_at_the_poles():
    np.testing.assert_array_equal(joints.quaternion_log([1.0, 0, 0, 0]), np.zeros(3))
    np.testing.assert_allclose(joints.quaternion_log([-1.0, 0, 0, 0]), [2 * np.pi, 0, 0])


def test_exp_has_the_exact_derivative_at_zero():
    v = casadi.SX.sym("v", 3)
    J = casadi.Function("J", [v], [casadi.jacobian(casadi.SX(joints.quaternion_exp(v)), v)])
    np.testing.assert_array_equal(np.array(J(np.zeros(3))), np.vstack([np.zeros(3), np.eye(3) / 2]))


OBLIQUE = (0.0, 1.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 0.6, 0.8)
SCALE_FREE = {
    "normalize": joints.normalize,
    "log": joints.quaternion_log,
    "euler": partial(joints.euler_from_quaternion, sequence="YZX"),
    "davenport": partial(joints.davenport_from_quaternion, directions=OBLIQUE),
    "unreached": partial(joints.unreached_angle, directions=OBLIQUE),
}


@pytest.mark.parametrize("function", SCALE_FREE.values(), ids=SCALE_FREE)
def test_functions_of_rotations_survive_extreme_lengths(Q, function):
    for scale in (1e-300, 1e-160, 1e160, 1e300):
        np.testing.assert_allclose(function(scale * Q), function(Q), **CLOSE)


def test_rotation_objects_convert_both_ways(Q):
    np.testing.assert_allclose(joints.rotation_from_quaternion(Q).as_matrix(), joints.rotation_matrix(Q), **CLOSE)
    np.testing.assert_allclose(np.abs(np.sum(joints.quaternion_from_rotation(rotation(Q)) * Q, -1)), 1, **CLOSE)


# ---- G, T, E -----------------------------------------------------------------------------------------------


def test_G_identities(Q):
    g, parent, R = G(Q), G_parent(Q), rotation(Q).as_matrix()
    np.testing.assert_allclose(g @ np.swapaxes(g, -1, -2), np.tile(np.eye(3), (N, 1, 1)), **CLOSE)
    np.testing.assert_allclose(np.swapaxes(g, -1, -2) @ g, np.eye(4) - Q[:, :, None] * Q[:, None, :], **CLOSE)
    np.testing.assert_allclose(parent @ np.swapaxes(g, -1, -2), R, **CLOSE)
    np.testing.assert_allclose((g @ Q[..., None])[..., 0], 0, **CLOSE)


def test_G_gives_the_angular_velocity_of_a_moving_frame(Q, rng):
    omega = rng.standard_normal((N, 3))
    h = 1e-6
    step = joints.quaternion_multiply(Q, joints.quaternion_exp(h * omega))
    back = joints.quaternion_multiply(Q, joints.quaternion_exp(-h * omega))
    rate = (step - back) / (2 * h)
    np.testing.assert_allclose(2 * (G(Q) @ rate[..., None])[..., 0], omega, atol=1e-9)


@pytest.mark.parametrize("k", range(4))
def test_constrained_chart(Q, k):
    tangent, e, inverse = (f(Q, k) for f in (T, E, E_inverse))
    condition = 1 / np.abs(Q[:, k])
    np.testing.assert_allclose((Q[:, None, :] @ tangent)[:, 0], 0, atol=1e-14 * condition.max())
    kept = [i for i in range(4) if i != k]
    np.testing.assert_array_equal(tangent[:, kept], np.tile(np.eye(3), (N, 1, 1)))
    np.testing.assert_allclose(e @ inverse, np.tile(np.eye(3), (N, 1, 1)), atol=1e-14 * condition.max())
    np.testing.assert_allclose(np.abs(np.linalg.det(e)), 8 * condition, rtol=1e-12)
    np.testing.assert_allclose(np.linalg.cond(e), condition, rtol=1e-10)
    np.testing.assert_allclose(joints.condition_constrained(Q, k), condition, rtol=1e-14)


def test_largest_component_is_chosen_per_pose(rng):
    Q = joints.random_quaternions(1000, rng)
    k = np.argmax(np.abs(Q), axis=-1)
    each = np.stack([E(Q[i], int(k[i])) for i in range(1000)])
    np.testing.assert_array_equal(E(Q, "largest"), each)
    np.testing.assert_array_equal(E(Q, k), each)
    assert joints.condition_constrained(Q, "largest").max() <= 2


def test_chart_refuses_only_past_its_limit():
    almost = joints.normalize([1.1e-12, 0.6, 0.8, 0])
    assert np.isfinite(E(almost)).all()
    with pytest.raises(ValueError, match="eliminates Q0 breaks down"):
        E(joints.normalize([0.9e-12, 0.6, 0.8, 0]))
    assert np.isfinite(E_inverse([0.0, 0.6, 0.8, 0])).all()
    assert joints.condition_constrained([0.0, 0.6, 0.8, 0]) == np.inf


@pytest.mark.parametrize("eliminated", [4, -1, "smallest", 1.0, None])
def test_unknown_component(eliminated):
    with pytest.raises(ValueError, match="eliminated is 0, 1, 2, 3 or 'largest'"):
        T([1.0, 0, 0, 0], eliminated)


# ---- Euler sequences ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_euler_angles_are_scipys(Q, phi, sequence):
    angles = joints.euler_from_quaternion(Q, sequence)
    np.testing.assert_allclose(angles, rotation(Q).as_euler(sequence), atol=1e-12)
    matrix = Rotation.from_euler(sequence, phi).as_matrix()
    np.testing.assert_allclose(joints.rotation_matrix_from_euler(phi, sequence), matrix, **CLOSE)
    back = joints.quaternion_from_euler(phi, sequence)
    np.testing.assert_allclose(rotation(back).as_matrix(), matrix, **CLOSE)


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_rate_matrix_is_the_derivative_of_R(phi, sequence, rng):
    rate = rng.standard_normal((N, 3))
    h = 1e-6
    step = [joints.rotation_matrix_from_euler(phi + s * h * rate, sequence) for s in (1, -1)]
    R = joints.rotation_matrix_from_euler(phi, sequence)
    skew = np.swapaxes(R, -1, -2) @ (step[0] - step[1]) / (2 * h)
    omega = np.stack([skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]], axis=-1)
    B = joints.euler_rate_matrix(phi, sequence)
    np.testing.assert_allclose((B @ rate[..., None])[..., 0], omega, atol=1e-8)
    inverse = joints.euler_rate_inverse(phi, sequence)
    np.testing.assert_allclose(inverse @ B, np.tile(np.eye(3), (N, 1, 1)), atol=1e-13)
    np.testing.assert_allclose(np.linalg.cond(B), joints.condition_euler(phi, sequence), rtol=1e-10)


def test_E_inverse_and_the_rate_matrix_of_YZY_are_as_printed(phi):
    Q0, Q1, Q2, Q3 = 0.1, 0.2, 0.3, 0.4
    printed = 0.5 * np.array([[Q0, Q3, -Q2], [-Q3, Q0, Q1], [Q2, -Q1, Q0]])
    np.testing.assert_array_equal(E_inverse([Q0, Q1, Q2, Q3]).T, printed)
    (_, s2, s3), (_, c2, c3), zero = np.sin(phi).T, np.cos(phi).T, np.zeros(N)
    printed = np.array([[s2 * c3, c2, s2 * s3], [-s3, zero, c3], [zero, zero + 1, zero]])
    np.testing.assert_allclose(joints.euler_rate_matrix(phi, "YZY"), printed.T, **CLOSE)


@given(
    st.sampled_from(SEQUENCES),
    st.floats(-10, 10),
    st.sampled_from([0.0, np.pi / 2, -np.pi / 2, np.pi]),
    st.sampled_from([0.0, 1e-15, 1e-9, -1e-7, 1e-4]),
    st.floats(-10, 10),
)
def test_angles_give_the_rotation_back_at_and_near_every_lock(sequence, p1, lock, distance, p3):
    Q = joints.quaternion_from_euler([p1, lock + distance, p3], sequence)
    R = joints.rotation_matrix_from_euler(joints.euler_from_quaternion(Q, sequence), sequence)
    np.testing.assert_allclose(R, joints.rotation_matrix(Q), atol=3e-15)


@pytest.mark.parametrize(("sequence", "lock"), [("YZY", 0.0), ("YZX", np.pi / 2), ("ZXZ", np.pi), ("XYZ", -np.pi / 2)])
def test_lock_is_refused_only_past_its_limit(sequence, lock):
    near, at = [0.3, lock + 1e-9, 0.2], [0.3, lock + 1e-14, 0.2]
    assert np.isfinite(joints.euler_to_spatial([1.0, 2, 3], near, sequence)).all()
    with pytest.raises(ValueError, match=f"{sequence} is in gimbal lock"):
        joints.euler_to_spatial([1.0, 2, 3], at, sequence)
    assert np.isfinite(joints.spatial_to_euler([1.0, 2, 3], at, sequence)).all()


@pytest.mark.parametrize("sequence", ["yzy", "YYZ", "XY", "ABC", "", None, 5])
def test_unknown_sequence(sequence):
    with pytest.raises(ValueError, match="unknown Euler sequence"):
        joints.quaternion_from_euler([0.1, 0.2, 0.3], sequence)


# ---- maps --------------------------------------------------------------------------------------------------


def test_rows_map_there_and_back(Q, phi, rng):
    J, J_Q = rng.standard_normal((N, 3)), rng.standard_normal((N, 4))
    tangent = J_Q - np.sum(J_Q * Q, axis=-1)[:, None] * Q
    through = joints.spatial_to_quaternion(joints.quaternion_to_spatial(J_Q, Q), Q)
    np.testing.assert_allclose(through, tangent, **CLOSE)
    np.testing.assert_allclose(joints.quaternion_tangent(J_Q, Q), tangent, **CLOSE)
    k = int(np.argmax(np.abs(Q).min(axis=0)))
    star = joints.spatial_to_constrained(J, Q, k)
    tolerance = 1e-14 / np.abs(Q[:, k]).min()
    np.testing.assert_allclose(joints.constrained_to_spatial(star, Q, k), J, atol=tolerance)
    direct = joints.quaternion_to_constrained(J_Q, Q, k)
    np.testing.assert_allclose(
        direct, joints.spatial_to_constrained(joints.quaternion_to_spatial(J_Q, Q), Q, k), atol=tolerance
    )
    euler = joints.spatial_to_euler(J, phi, "YZX")
    np.testing.assert_allclose(joints.euler_to_spatial(euler, phi, "YZX"), J, atol=1e-13)


def test_torques_keep_the_power(Q, rng):
    tau, omega = rng.standard_normal((N, 3)), rng.standard_normal((N, 3))
    power = np.sum(tau * omega, axis=-1)
    rate = (np.swapaxes(G(Q), -1, -2) @ omega[..., None])[..., 0] / 2
    np.testing.assert_allclose(np.sum(joints.quaternion_torque(tau, Q) * rate, axis=-1), power, atol=1e-14)
    star = (E_inverse(Q, "largest") @ omega[..., None])[..., 0]
    np.testing.assert_allclose(np.sum(joints.constrained_torque(tau, Q, "largest") * star, axis=-1), power, atol=1e-14)
    np.testing.assert_allclose(joints.spatial_torque(tau, np.full(N, 2.0)), -2 * tau)


@pytest.mark.parametrize(
    ("Q", "message"),
    [
        (np.zeros(4), "is zero"),
        ([np.nan, 0, 0, 1], r"Q\[0\] is nan"),
        ([[1, 0, 0, 0], [0, np.inf, 0, 0]], r"Q\[1, 1\] is inf"),
        ([1, 0, 0], r"shape \(3,\); expected \(..., 4\)"),
        ("abcd", "real numbers"),
        ([1j, 0, 0, 0], "real numbers"),
        ([[1, 0], [1]], "not an array"),
    ],
)
@pytest.mark.parametrize("function", [joints.rotation_matrix, G, T, joints.quaternion_conjugate, joints.normalize])
def test_bad_quaternions_are_named(function, Q, message):
    with pytest.raises(ValueError, match=message):
        function(Q)


def test_a_matrix_that_is_no_rotation_is_refused():
    for R in (np.diag([1.0, 1, -1]), 1.01 * np.eye(3)):
        with pytest.raises(ValueError, match="is not a rotation"):
            joints.quaternion_from_matrix(R)
