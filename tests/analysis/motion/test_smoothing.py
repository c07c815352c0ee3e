"""Smoothing on the sphere: against SciPy about one axis and away from locks, invariances, orders, and gaps."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import butter, sosfiltfilt

from myoquat.analysis.motion import Motion, differentiate, inverse_kinematics, smooth
from myoquat.data import Markers
from myoquat.joints import ArticulatedSystem, Body
from myoquat.joints.functions import Linear, Sine
from myoquat.joints.quaternion import (
    normalize,
    quaternion_conjugate,
    quaternion_exp,
    quaternion_log,
    quaternion_multiply,
    random_quaternions,
)
from myoquat.joints.sequences import euler_from_quaternion, quaternion_from_euler
from myoquat.joints.types import FloatingJoint, SphericalJoint
from myoquat.muscle import Model
from myoquat.muscle.coordinates import Coordinate, Coupler
from tests.analysis.motion.conftest import shown, wandering
from tests.bodies import limbs
from tests.differences import slope

RATE = 100.0
INERTIA = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)


def ball(frame="child", joint=None):
    joint = joint or SphericalJoint()
    return ArticulatedSystem((Body("b", "ground", joint, mass=1.0, inertia=INERTIA),), velocity_frame=frame)


def butterworth(x, cutoff=6.0):
    return sosfiltfilt(butter(2, cutoff, fs=RATE, output="sos"), x, axis=0, padlen=len(x) // 2)


def wander(time, rng, size=3):
    """Smooth curves below 2 Hz."""
    a, p = rng.normal(size=(3, size)), rng.uniform(0, 6, (3, size))
    return sum(a[i] * np.sin(2 * np.pi * f * time[:, None] + p[i]) for i, f in enumerate((0.4, 0.9, 1.7)))


def noisy(Q, rng, size=0.02):
    return quaternion_multiply(Q, quaternion_exp(rng.normal(size=(len(Q), 3)) * size))


def apart(P, Q):
    """Angles between rotations [rad]."""
    step = quaternion_multiply(quaternion_conjugate(P), Q)
    return np.linalg.norm(quaternion_log(np.where(step[:, :1] < 0, -step, step)), axis=-1)


def test_about_one_axis_and_on_lengths_it_is_the_linear_filter(rng):
    time = np.arange(300) / RATE
    angle = 9 * time + wander(time, rng, 1)[:, 0] + rng.normal(size=300) * 0.05
    axis = np.array([0.48, -0.6, 0.64])
    found = smooth(Motion(ball(), time, quaternion_exp(angle[:, None] * axis)))
    np.testing.assert_allclose(apart(quaternion_exp(butterworth(angle)[:, None] * axis), found.q), 0, atol=1e-7)
    p = wander(time, rng) + rng.normal(size=(300, 3)) * 0.01
    q = np.concatenate([p, quaternion_exp(wander(time, rng))], axis=1)
    found = smooth(Motion(ball(joint=FloatingJoint()), time, q))
    np.testing.assert_allclose(found.q[:, :3], butterworth(p), atol=1e-12)


def test_it_turns_with_the_laboratory_and_with_the_body(rng):
    time = np.arange(200) / RATE
    Q = noisy(quaternion_exp(wander(time, rng)), rng)
    A, B = random_quaternions(2, rng)
    alone = smooth(Motion(ball(), time, Q)).q
    moved = smooth(Motion(ball(), time, quaternion_multiply(quaternion_multiply(A, Q), B))).q
    np.testing.assert_allclose(apart(quaternion_multiply(quaternion_multiply(A, alone), B), moved), 0, atol=1e-7)


def test_reversed_time_gives_the_reversed_motion(rng):
    """Zero phase: to second order in what is filtered out."""
    time = np.arange(300) / RATE
    Q = noisy(quaternion_exp(wander(time, rng)), rng, 0.001)
    forth = smooth(Motion(ball(), time, Q)).q
    back = smooth(Motion(ball(), time, Q[::-1])).q[::-1]
    assert apart(forth, back)[30:-30].max() < 2e-5


@pytest.mark.parametrize("lock", [False, True])
def test_errors_against_filtered_angles(rng, lock):
    """Of a known motion with noise: no greater than Butterworth on unwrapped angles away from their lock, and the same
    at it, where those fail."""
    time = np.arange(400) / RATE
    phi = 0.4 * wander(time, rng)
    if lock:
        phi[:, 1] += np.pi / 2  # of XYZ; through the lock again and again
    Q = quaternion_from_euler(phi, "XYZ")
    true = differentiate(Motion(ball(), time, Q))
    given = noisy(Q, rng, 0.01)
    ours = smooth(Motion(ball(), time, given))
    angles = np.unwrap(euler_from_quaternion(given, "XYZ"), axis=0)
    theirs = differentiate(Motion(ball(), time, normalize(quaternion_from_euler(butterworth(angles), "XYZ"))))
    inner = slice(20, -20)
    error = lambda m: np.sqrt(((m.u - true.u)[inner] ** 2).sum(axis=-1).mean())  # noqa: E731
    if lock:
        assert error(ours) < 0.5 * error(theirs)
        assert error(ours) < 0.2
    else:
        assert error(ours) < 1.05 * error(theirs)
    assert apart(ours.q, Q)[inner].max() < 0.02


@pytest.mark.parametrize("frame", ["child", "parent"])
def test_derivatives_are_of_sixth_and_fifth_order(frame, rng):
    """Against u and udot of a known curve by fine differences: q(t) = exp(a t) exp(b sin t) on a ball that slides."""
    system, errors = ball(frame, FloatingJoint()), []
    a, b, c = rng.normal(size=(3, 3))

    def curve(t):
        Q = quaternion_multiply(quaternion_exp(t[:, None] * a), quaternion_exp(np.sin(t)[:, None] * b))
        return np.concatenate([np.sin(t)[:, None] * c, Q], axis=1)

    for n in (25, 50):
        time = np.linspace(0, 2, n + 1)
        found = differentiate(Motion(system, time, curve(time)))

        def velocity(s, time=time):
            return slope(lambda r: system.difference(curve(time + s), curve(time + s + r)))

        off = np.abs(found.udot - slope(velocity))
        errors.append([np.abs(found.u - velocity(0.0)).max(), off[3:-3].max(), off.max()])
    assert (np.log2(np.divide(*errors)) > [5.5, 5.5, 4.5]).all()


def test_speeds_of_a_model_belong_to_its_poses(ball_leg, rng):
    """Integrating u from frame to frame gives the poses back."""
    found = smooth(wandering(ball_leg, rng, 200, speed=1.0), model=ball_leg)
    system, h = ball_leg.system, found.time[1] - found.time[0]
    between = (found.u[:-1] + found.u[1:]) / 2 - h / 12 * (found.udot[1:] - found.udot[:-1])
    away = system.difference(system.integrate(found.q[:-1], h * between), found.q[1:])
    assert np.abs(away).max() < 1e-4
    names = system.coordinate_names
    knee = found.q[:, names.index("shank_angle")]
    np.testing.assert_allclose(
        found.q[:, names.index("patella_angle")], 0.7 * ball_leg.couplers[0].function.value(knee)
    )


def test_gaps_are_bridged_or_refused(ball_leg, rng):
    motion = wandering(ball_leg, rng, 100, speed=0.3)
    markers = shown(ball_leg, motion)
    x = markers.positions.copy()
    x[40:45] = np.nan
    fit = inverse_kinematics(ball_leg, Markers(markers.time, markers.names, x))
    found = smooth(fit)
    whole = smooth(inverse_kinematics(ball_leg, markers))
    assert np.abs(ball_leg.system.difference(found.q, whole.q)).max() < 0.02
    with pytest.raises(ValueError, match=r"a gap of 0.06 s from 0.4 to 0.44 s; at most 0.05 s"):
        smooth(fit, longest_gap=0.05)
    x[:2] = np.nan
    fit = inverse_kinematics(ball_leg, Markers(markers.time, markers.names, x))
    with pytest.raises(ValueError, match="at an end"):
        smooth(fit)


def test_rounded_times_are_taken_as_even(rng):
    time = np.round(np.arange(50) / 60, 3)
    motion = Motion(ball(), time, quaternion_exp(wander(time, rng)))
    assert np.ptp(np.diff(smooth(motion).time)) < 1e-12


def test_wrong_input(rng):
    time = np.arange(50) / RATE
    motion = Motion(ball(), time, quaternion_exp(wander(time, rng)))
    for arguments, message in (
        ({"cutoff": 50.0}, "half the sampling rate"), ({"cutoff": 0.0}, "half the sampling rate"),
        ({"order": 3}, "even"), ({"order": 0}, "even"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            smooth(motion, **arguments)
    with pytest.raises(ValueError, match="16 frames"):
        smooth(motion.between(0, 0.1))
    uneven = replace(motion, time=time**1.1)
    with pytest.raises(ValueError, match=r"not even, .*time\["):
        smooth(uneven)


def test_a_prescribed_coordinate_moves_as_its_function_says():
    """Recorded with noise, and driving another one by a coupler."""
    model = Model(limbs(a="a", b="b"), coordinates=(Coordinate("a", prescribed=Sine(0.3, 4.0, 0.2, 0.1)),),
                  couplers=(Coupler("geared", "b", "a", Linear(0.5, 0.1)),))  # fmt: skip
    t = 0.7 + np.linspace(0.0, 0.5, 51)
    exact = np.stack([0.3 * np.sin(4 * t + 0.2) + 0.1, 1.2 * np.cos(4 * t + 0.2), -4.8 * np.sin(4 * t + 0.2)])
    wanted = np.stack([exact[0], 0.5 * exact[0] + 0.1], axis=-1)
    noisy = wanted + 1e-5 * np.random.default_rng(0).normal(size=wanted.shape)
    found = smooth(Motion(model, t, noisy), 6.0, model=model)
    np.testing.assert_allclose(found.q, wanted, atol=1e-9)
    np.testing.assert_allclose(found.u, np.outer(exact[1], (1.0, 0.5)), atol=1e-9)
    np.testing.assert_allclose(found.udot, np.outer(exact[2], (1.0, 0.5)), atol=1e-9)
