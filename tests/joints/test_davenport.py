"""Three rotations about any fixed axes: angles recovered, both solutions, the nearest rotation, rates."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from myoquat.joints import (
    Angles,
    condition_davenport,
    davenport_from_quaternion,
    davenport_rate_matrix,
    euler_from_quaternion,
    quaternion_from_davenport,
    quaternion_log,
    quaternion_multiply,
    random_quaternions,
    rotation_matrix,
    unreached_angle,
)
from myoquat.joints.types.spherical import shorter

SHOULDER = (
    (0.0, 1.0, 0.0),
    (-1.0, 0.0, 0.0),
    (-0.0846, 0.9947, -0.0584),
)  # of the thoracoscapular model: 6 degrees off


def unit_axes(rng):
    axes = rng.normal(size=(3, 3))
    return axes / np.linalg.norm(axes, axis=-1, keepdims=True)


def distance(P, Q):
    """Angle [rad] between rotations."""
    back = quaternion_multiply(P * np.array([1.0, -1.0, -1.0, -1.0]), Q)
    return np.linalg.norm(quaternion_log(shorter(back)), axis=-1)


def test_angles_of_a_product_of_rotations_rebuild_it(rng):
    opposite = np.array([(1, 0, 0), (0, 1, 0), (-1, 0, -1e-11)])  # the solutions meet beside -pi
    for axes in (opposite, *(unit_axes(rng) for _ in range(100))):
        phi = rng.uniform(-np.pi, np.pi, (20, 3))
        Q = quaternion_from_davenport(phi, axes)
        product = [Rotation.from_rotvec(phi[:, k, None] * axes[k]).as_matrix() for k in range(3)]
        np.testing.assert_allclose(rotation_matrix(Q), product[0] @ product[1] @ product[2], atol=1e-14)
        assert unreached_angle(Q, axes).max() < 1e-14
        for second in (False, True):
            found = davenport_from_quaternion(Q, axes, second)
            assert distance(quaternion_from_davenport(found, axes), Q).max() < 5e-14
            assert np.abs(found).max() <= np.pi + 1e-15


def test_one_of_two_solutions_is_the_one_given(rng):
    for _ in range(100):
        axes = unit_axes(rng)
        phi = rng.uniform(-np.pi, np.pi, (20, 3))
        phi = phi[condition_davenport(phi, axes) < 1e3]
        if not len(phi):
            continue
        Q = quaternion_from_davenport(phi, axes)
        both = np.stack([davenport_from_quaternion(Q, axes, second) for second in (False, True)])
        errors = np.abs(np.exp(1j * both) - np.exp(1j * phi)).max(axis=-1)
        assert errors.min(axis=0).max() < 1e-9
        assert errors.max(axis=0).min() > 1e-3  # the other triple is another one


def test_rotations_near_the_lock_are_rebuilt_to_rounding(rng):
    """Nearly orthogonal axes too, of which the inclination of the third to the first is tiny in the lock."""
    for tilt in (0.0, 1e-9, 1e-6, 1e-3, 0.1):
        axes = np.array([(0, 1, 0), (-1, 0, 0), (-np.sin(tilt), np.cos(tilt), 0)])
        for away in (0.0, 1e-14, 1e-10, 1e-7, 1e-4):
            phi = np.column_stack([rng.uniform(-3, 3, 10), np.full(10, away), rng.uniform(-3, 3, 10)])
            Q = quaternion_from_davenport(phi, axes)
            found = davenport_from_quaternion(Q, axes)
            assert distance(quaternion_from_davenport(found, axes), Q).max() < 3e-14


def test_orthogonal_axes_agree_with_scipy(rng):
    Q = random_quaternions(50, rng)
    for order in ("XYZ", "ZXY", "YZY"):
        axes = [np.eye(3)["XYZ".index(letter)] for letter in order]
        expected = Rotation.from_quat(Q[:, [1, 2, 3, 0]]).as_davenport(axes, "intrinsic")
        np.testing.assert_allclose(davenport_from_quaternion(Q, axes), expected, atol=1e-12)
        np.testing.assert_allclose(davenport_from_quaternion(Q, axes), euler_from_quaternion(Q, order), atol=1e-12)
        np.testing.assert_array_equal(unreached_angle(Q, axes) < 1e-15, True)


def test_an_unreachable_rotation_gives_the_nearest_one(rng):
    """Against a search over all angles from many starts."""
    checked = 0
    while checked < 5:
        axes, Q = unit_axes(rng), random_quaternions(1, rng)[0]
        missed = unreached_angle(Q, axes)
        if missed < 0.05:
            continue
        checked += 1
        nearest = quaternion_from_davenport(davenport_from_quaternion(Q, axes), axes)
        assert distance(nearest, Q) == pytest.approx(missed, abs=1e-7)

        def cost(phi, axes=axes, Q=Q):
            return -((quaternion_from_davenport(phi, axes) @ Q) ** 2)

        best = min(minimize(cost, rng.uniform(-np.pi, np.pi, 3), tol=1e-12).fun for _ in range(4))
        assert 2 * np.arccos(min(np.sqrt(-best), 1.0)) == pytest.approx(missed, abs=1e-6)


def test_rates_of_the_angles_give_the_angular_velocity(rng):
    """By differences of the quaternion, in child axes; the determinant is that of the spherical triangle."""
    h = 1e-6
    for _ in range(20):
        axes = unit_axes(rng)
        phi, rate = rng.uniform(-np.pi, np.pi, 3), rng.normal(size=3)
        ends = [quaternion_from_davenport(phi + s * h * rate, axes) for s in (-1, 1)]
        back = quaternion_multiply(ends[0] * np.array([1.0, -1.0, -1.0, -1.0]), ends[1])
        B = davenport_rate_matrix(phi, axes)
        np.testing.assert_allclose(B @ rate, quaternion_log(shorter(back)) / (2 * h), atol=1e-8)
        a1, a2, a3 = axes
        start = np.arctan2(a1 @ np.cross(a2, a3), a1 @ a3 - (a1 @ a2) * (a2 @ a3))
        sines = np.linalg.norm(np.cross(a1, a2)) * np.linalg.norm(np.cross(a2, a3))
        assert np.linalg.det(B) == pytest.approx(-sines * np.sin(phi[1] - start), abs=1e-14)
        assert condition_davenport(phi, axes) == pytest.approx(np.linalg.cond(B))


def test_ranges_choose_the_triple_past_the_lock(rng):
    """The lock of the shoulder's angles lies at an elevation of -3.4 degrees, inside their range."""
    names = ("plane", "elevation", "axial")
    axes = tuple(tuple(axis / np.linalg.norm(axis)) for axis in np.array(SHOULDER))
    ranges = ((-1.5, np.pi), (-0.78, 2.53), (-1.5708, 1.5708))
    x = np.array([[0.5, -0.3, 0.2], [0.5, 0.9, 0.2]])
    plain, ranged = Angles(names, axes), Angles(names, axes, ranges=ranges)
    Q = plain.quaternion(x)
    np.testing.assert_allclose(ranged.values(Q), x, atol=1e-13)
    np.testing.assert_allclose(plain.values(Q)[1], x[1], atol=1e-13)
    assert plain.values(Q)[0, 1] > -0.06  # the other triple
    assert ranged.lock_sine(np.array([0.0, -0.0586, 0.0])) < 1e-3


def test_a_rotation_that_sums_coordinates_comes_back(rng):
    """R(a, e) R(b, s) R(a, r - e), as phantom bodies and a coupler make it; the outer axes are the same."""
    a, b = np.array([0.0048, 0.99908918, 0.04240001]), np.array([-0.99826136, 0.0023, 0.05889802])
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    mixing = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (-1.0, 0.0, 1.0))
    angles = Angles(("e", "s", "r"), (tuple(a), tuple(b), tuple(a)), mixing=mixing)
    x = np.column_stack([rng.uniform(-3, 3, 50), rng.uniform(0.05, 3.05, 50), rng.uniform(-3, 3, 50)])
    np.testing.assert_allclose(angles.values(angles.quaternion(x)), x, atol=1e-11)
    rate = rng.normal(size=3)
    steps = angles.quaternion(x[0] + np.array([[-1e-6], [1e-6]]) * rate)
    back = quaternion_multiply(steps[0] * np.array([1.0, -1.0, -1.0, -1.0]), steps[1])
    np.testing.assert_allclose(angles.rate_matrix(x[0]) @ rate, quaternion_log(shorter(back)) / 2e-6, atol=1e-8)


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        (((0, 1, 0), (0, 2, 0), (1, 0, 0)), "must not be parallel"),
        (((0, 1, 0), (0, 0, 0), (1, 0, 0)), "length zero"),
        (((0, 1, 0), (1, 0, 0)), "three finite vectors"),
    ],
)
def test_axes_that_cannot_be_are_rejected(axes, message):
    with pytest.raises(ValueError, match=message):
        quaternion_from_davenport(np.zeros(3), axes)
