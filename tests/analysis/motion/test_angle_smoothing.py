"""Smoothing in the file's angles: the same motion of both descriptions, OpenSim's filter step by step, its splines."""

from dataclasses import replace

import numpy as np
import pytest

from myoquat.analysis.motion.smoothing import _filtered_angles, smooth_angles
from myoquat.data import Motion
from myoquat.joints import ArticulatedSystem, ModelError, convert_coordinates, convert_velocities
from tests.bodies import on_ball
from tests.differences import slope


def swinging(leg, frames=80):
    t = np.arange(frames) / 60
    k = np.arange(leg.system.nq)
    return Motion(leg.system, t, 0.4 * np.sin((2 + 0.3 * k) * t[:, None] * 2 + k))


@pytest.mark.parametrize("cutoff", [None, 6.0])
@pytest.mark.parametrize("frame", ["child", "parent"])
def test_quaternions_and_angles_agree(leg, ball_leg, cutoff, frame):
    """The same q, u and udot, whichever describes the joints: udot through differences of the converted u."""
    system = replace(ball_leg.system, velocity_frame=frame)
    plain = swinging(leg)
    mine = smooth_angles(plain, cutoff)
    ball = smooth_angles(Motion(system, plain.time, convert_coordinates(leg.system, system, plain.q)), cutoff)
    q = convert_coordinates(leg.system, system, mine.q)
    assert np.allclose(system.difference(q, ball.q), 0.0, atol=1e-12)
    assert np.allclose(convert_velocities(leg.system, system, mine.q, mine.u), ball.u, atol=1e-10)
    rate = slope(lambda s: convert_velocities(leg.system, system, mine.q + s * mine.u, mine.u + s * mine.udot), 1e-4)
    assert np.allclose(rate, ball.udot, atol=1e-6)


def test_the_filter_is_opensims(rng):
    """Its recursion, written out, keeps the first three values."""
    x, fs, cutoff = rng.normal(size=(40, 2)), 60.0, 6.0
    w = np.tan(np.pi * cutoff / fs)
    scale = (w + 1) * (w * w + w + 1)
    a = np.array([w**3, 3 * w**3, 3 * w**3, w**3]) / scale
    b = np.array([3 * w**3 + 2 * w**2 - 2 * w - 3, 3 * w**3 - 2 * w**2 - 2 * w + 3, (w - 1) * (w * w - w + 1)]) / scale
    y = x.copy()
    for i in range(3, len(x)):
        y[i] = a @ x[i : i - 4 if i > 3 else None : -1] - b @ y[i - 1 : i - 4 if i > 3 else None : -1]
    assert np.allclose(_filtered_angles(x, fs, cutoff), y, atol=1e-12)


def test_derivatives_of_a_known_motion(leg):
    t = np.arange(200) / 100
    q = np.sin(3 * t)[:, None] * np.ones(leg.system.nq)
    found = smooth_angles(Motion(leg.system, t, q), None)
    inner = slice(20, -20)
    assert np.allclose(found.q, q, atol=1e-14)
    assert np.allclose(found.u[inner], 3 * np.cos(3 * t)[inner, None], atol=1e-8)
    assert np.allclose(found.udot[inner], -9 * q[inner], atol=1e-5)


def test_bad_input(leg):
    motion = swinging(leg)
    with pytest.raises(ValueError, match="cutoff must lie between 0 and half"):
        smooth_angles(motion, 40.0)
    with pytest.raises(ValueError, match="at least 16 frames"):
        smooth_angles(motion.between(0.0, 0.1))
    nameless = ArticulatedSystem((on_ball("ball"),))
    with pytest.raises(ModelError, match="no named angles"):
        smooth_angles(Motion(nameless, np.arange(20) * 0.1, np.tile([1.0, 0, 0, 0], (20, 1))))
