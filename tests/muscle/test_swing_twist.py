"""Limits of ball joints: swing and twist of any rotation, the energy of a tumbling limb, sampling inside."""

from dataclasses import replace

import numpy as np
import pytest

import myoquat as mq
from myoquat.analysis.motion import swing_twist
from myoquat.joints import ModelError, rotation_matrix
from myoquat.joints.quaternion import random_quaternions
from myoquat.muscle import limit_torques
from myoquat.muscle.forces import RotationLimit, SwingTwistLimit
from tests.bodies import on_ball

LIMIT = SwingTwistLimit("limb", "limb", swing=0.9, twist=(-0.4, 0.7), swing_stiffness=40.0, twist_stiffness=25.0,
                        transition=0.3)  # fmt: skip


@pytest.fixture(scope="module")
def model():
    """A limb on a ball joint that sits askew on the ground."""
    limb = on_ball(
        "limb", orientation=(0.8, 0.0, 0.6, 0.0), mass=2.0, center_of_mass=(0.0, -0.2, 0.0), inertia=(0.03, 0.01, 0.03)
    )
    return mq.Model(mq.ArticulatedSystem((limb,), gravity=(0.0, 0.0, 0.0)), forces=(LIMIT,))


def test_depths_are_those_of_swing_and_twist(rng):
    """cos(swing) and cos(twist - middle) of the decomposition, at rotations all over the group."""
    Q = random_quaternions(200, rng)
    swing, twist = swing_twist(Q, 1)
    beta = np.linalg.norm(swing, axis=-1)
    d = LIMIT.depths(rotation_matrix(Q))
    middle, half = 0.15, 0.55
    assert np.allclose(d[:, 0], (np.cos(0.9) - np.cos(beta)) / np.sin(0.9))
    expected = np.cos(beta / 2) ** 2 * (np.cos(half) - np.cos(twist - middle)) / np.sin(half)
    assert np.allclose(d[:, 1], expected)
    inside = (beta <= 0.9) & (np.abs(twist - middle) <= half)
    assert np.array_equal((d <= 0).all(axis=-1), inside)
    tilted = replace(LIMIT, center=(0.0, 1.0, 1.0)).depths(rotation_matrix(Q))[:, 0]
    direction = rotation_matrix(Q)[:, :, 1] @ np.array([0, 1, 1]) / np.sqrt(2)
    assert np.allclose(tilted, (np.cos(0.9) - direction) / np.sin(0.9))


def test_torques_are_continuous_where_the_swing_is_half_a_turn(model):
    """On every way through it, from all sides: steps of the torque are those of the way."""
    s = np.linspace(-1e-3, 1e-3, 101)
    for side in ((1.0, 0.0, 0.0), (0.6, 0.0, 0.8)):
        half = np.array([0.0, *side])
        Q = half + s[:, None] * np.array([0.3, 0.0, 0.9, 0.1])
        Q /= np.linalg.norm(Q, axis=-1, keepdims=True)
        tau = limit_torques(model, Q, np.zeros((101, 3)), backend="numpy")
        assert np.isfinite(tau).all()
        assert np.abs(np.diff(tau, axis=0)).max() < 1e-2


def test_the_angle_of_a_rotation_is_that_of_its_quaternion_near_none_and_half_a_turn(model):
    """The half angle from the cosine alone loses half of all digits there."""
    x = np.array([0.0, 1e-7, 1.0, np.pi - 1e-4, np.pi - 1e-7, np.pi])
    Q = np.cos(x / 2)[:, None] * np.array([1.0, 0, 0, 0]) + np.sin(x / 2)[:, None] * np.array([0, 0.6, 0.0, 0.8])
    found = RotationLimit("turn", "limb", 1.0, 10.0, 0.1).measures(model.system, Q)[:, 0]
    assert np.abs(found - x).max() < 2e-15


def test_a_limb_that_tumbles_keeps_its_energy(model):
    """Over a million steps; that the torques are the derivative of the potential is a law of `tests.pairs`."""
    # The method's own error, above all at the edges of the limits, grows with the sixth power of the speed; here it is
    # a tenth of the bound.
    start = mq.simulate(model, [1.0, 0.0, 0.0, 0.0], [6.0, 3.0, 5.0], duration=100.0, step=1e-4,
                        output_step=0.1)  # fmt: skip
    total = start.kinetic_energy + LIMIT.energy(model.system, start.q)
    assert LIMIT.energy(model.system, start.q).max() > 1.0
    assert np.abs(total / total[0] - 1).max() < 1e-10


def test_samples_lie_inside_and_fill_it(rng):
    """Even over the volume of rotations: as those of all that lie inside."""
    limit = replace(LIMIT, center=(0.3, 1.0, 0.0))
    Q = limit.sample(4000, rng)
    assert (limit.depths(rotation_matrix(Q)) <= 1e-12).all()
    every = random_quaternions(60000, rng)
    kept = every[(limit.depths(rotation_matrix(every)) <= 0).all(axis=-1)]
    for a, b in zip(rotation_matrix(Q).reshape(-1, 9).T, rotation_matrix(kept).reshape(-1, 9).T, strict=True):
        assert abs(a.mean() - b.mean()) < 5 * np.sqrt(a.var() / len(a) + b.var() / len(b))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"body": "lamb"}, "body 'lamb' does not exist"),
        ({"body": "ground"}, "the ground has no joint"),
        ({"twist": (0.5, 0.1)}, "twist must be .low, high."),
        ({"axis": (0.0, 0.0, 0.0)}, "axis must not be zero"),
    ],
)
def test_bad_numbers_are_named(model, change, words):
    with pytest.raises(ModelError, match=words):
        replace(model, forces=(replace(LIMIT, **change),))
