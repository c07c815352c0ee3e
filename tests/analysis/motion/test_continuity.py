"""Angles that give the same pose: which of them inverse kinematics returns, and jumps that are rejected."""

import numpy as np
import pytest

from myoquat.analysis.motion import (
    Markers,
    Motion,
    continuous,
    differentiate,
    inverse_dynamics_of_motion,
    inverse_kinematics,
    smooth,
)
from myoquat.analysis.motion.smoothing import smooth_angles
from myoquat.joints import ArticulatedSystem, Body, EulerJoint
from myoquat.joints.types import Axis, CustomJoint, RevoluteJoint
from myoquat.muscle import Model
from myoquat.muscle.coordinates import Coordinate, Marker, follow
from tests.analysis.motion.conftest import shown

X, Y, Z = (tuple(row) for row in np.eye(3).tolist())
TIME = np.arange(60) / 60.0


def arm(joint, range_=None):
    link = Body("arm", "ground", joint, mass=1.0, coordinate_names=tuple(joint.coordinates) if isinstance(
        joint, CustomJoint) else tuple(f"p{k}" for k in range(joint.nq)))  # fmt: skip
    coordinates = () if range_ is None else (Coordinate(link.coordinate_names[0], range_),)
    markers = tuple(
        Marker(f"m{k}", "arm", p) for k, p in enumerate(((0.3, 0.1, 0.0), (0.1, 0.2, 0.2), (0.2, -0.1, 0.1)))
    )
    return Model(ArticulatedSystem((link,)), markers=markers, coordinates=coordinates)


def away(model, first, second):
    """How far apart poses are, in entries of rotations and metres."""
    pairs = zip(model.system.poses(first).values(), model.system.poses(second).values(), strict=True)
    return max(np.abs(a - b).max() for one, other in pairs for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("seed", range(3))
def test_a_frame_alone_and_among_others_agrees_and_nothing_jumps(leg, seed):
    """Clean markers of fast strides: every frame fits exactly, alone or in its trial."""
    rng, names = np.random.default_rng(seed), leg.system.coordinate_names
    f, phase = rng.uniform(1, 3), rng.uniform(0, 6, len(names))
    q = 0.4 * np.sin(2 * np.pi * f * TIME[:, None] + phase)
    q[:, names.index("flexion")] *= 3
    q[:, names.index("shank_angle")] = -0.95 + 0.9 * np.sin(2 * np.pi * f * TIME)
    q[:, names.index("spin")] += rng.uniform(-3, 3)
    q[:, names.index("toe_angle")] = 0.2
    follow(leg.couplers, leg.system, q)
    markers = shown(leg, q)
    fit = inverse_kinematics(leg, markers)
    assert fit.marker_rms.max() < 1e-8
    assert np.abs(np.diff(fit.q, axis=0)).max() < 0.8
    middle = [names.index("list"), names.index("adduction")]
    for row in (0, 31, 59):
        one = Markers(TIME[row : row + 1], markers.names, markers.positions[row : row + 1])
        alone = inverse_kinematics(leg, one).q[0]
        assert away(leg, alone, fit.q[row]) < 1e-7
        assert np.abs(alone).max() <= np.pi
        assert np.abs(alone[middle]).max() <= np.pi / 2


@pytest.mark.parametrize("joint", [RevoluteJoint(Z), CustomJoint(("turn",), (Axis(Z, 0),), (), ("rad",))])
def test_a_hinge_turns_on_past_half_a_turn_and_keeps_to_its_range(joint):
    x = np.linspace(2.5, 15.0, 60)[:, None]
    free = arm(joint)
    np.testing.assert_allclose(inverse_kinematics(free, shown(free, x)).q, x, atol=1e-8)
    ranged = arm(joint, (-11.0, 2.5))
    np.testing.assert_allclose(inverse_kinematics(ranged, shown(ranged, x)).q, x - 4 * np.pi, atol=1e-8)
    open_ended = arm(joint, (3.0, np.inf))  # in which all frames are, one turn on
    np.testing.assert_allclose(inverse_kinematics(open_ended, shown(open_ended, x)).q, x + 2 * np.pi, atol=1e-8)
    single = inverse_kinematics(free, shown(free, x[-1:]))
    np.testing.assert_allclose(single.q[0, 0], 15.0 - 4 * np.pi, atol=1e-8)
    np.testing.assert_allclose(
        inverse_kinematics(free, shown(free, x[-1:]), start=[14.0]).q[0, 0],
        15.0,
        atol=1e-8,
    )


@pytest.mark.parametrize("sequence", ["ZXY", "YZY"])
def test_three_rotations_keep_to_one_triple(sequence):
    """Through the middle angle at which SciPy's principal values change to the other triple."""
    model = arm(EulerJoint(sequence))
    x = np.stack([0.4 + 2 * TIME, np.linspace(0.6, 2.4, 60), 0.3 - TIME], axis=-1)
    if sequence == "YZY":
        x[:, 1] -= 1.8
    fit = inverse_kinematics(model, shown(model, x))
    assert away(model, fit.q, x) < 1e-7
    lock = {"ZXY": np.pi / 2, "YZY": 0.0}[sequence]
    near = np.abs(x[:, 1] - lock) < 0.1  # of a lock itself no pose tells the angles
    steps = np.abs(np.diff(fit.q, axis=0)).max(axis=-1)
    assert steps[~(near[1:] | near[:-1])].max() < 0.2
    one = inverse_kinematics(model, shown(model, x[:1])).q[0]
    middle = np.cos(one[1]) if sequence == "ZXY" else np.sin(one[1])
    assert middle > 0


def test_a_task_of_another_turn_is_met():
    model = arm(RevoluteJoint(Z))
    x = np.full((3, 1), 0.5)
    fit = inverse_kinematics(model, shown(model, x), {"p0": 0.01}, coordinates={"p0": 0.5 + 4 * np.pi})
    np.testing.assert_allclose(fit.q, 0.5 + 4 * np.pi, atol=1e-8)


def jumped(model, rows=slice(30, None)):
    q = np.stack([np.sin(3 * TIME)] * model.system.nq, axis=-1)
    q[rows, 0] += 2 * np.pi
    return Motion(model.system, TIME, q)


@pytest.mark.parametrize("method", [smooth, smooth_angles, differentiate])
def test_smoothing_rejects_a_jump_of_a_whole_turn(method):
    model = arm(RevoluteJoint(Z))
    with pytest.raises(ValueError, match=r"'p0' jumps by 6.* rad from frame 29 .*continuous\(motion\)"):
        method(jumped(model))
    whole = continuous(jumped(model))
    np.testing.assert_allclose(whole.q[:, 0], np.sin(3 * TIME), atol=1e-12)
    assert np.abs(method(whole).u).max() < 4


def test_smoothing_rejects_the_other_triple():
    model = arm(EulerJoint("ZXY"))
    motion = jumped(model, slice(0, 0))
    q = motion.q.copy()
    q[20:] = np.array([np.pi, np.pi, np.pi]) + q[20:] * [1, -1, 1]
    with pytest.raises(ValueError, match="from frame 19"):
        smooth(Motion(model.system, TIME, q))
    np.testing.assert_allclose(continuous(Motion(model.system, TIME, q)).q, motion.q, atol=1e-12)
    with pytest.raises(ValueError, match="u and udot"):  # which are not guessed
        continuous(Motion(model.system, TIME, q, np.zeros((60, 3))))


def test_inverse_dynamics_rejects_a_jump_but_not_fast_turns_or_single_states():
    model = arm(RevoluteJoint(Z))
    smooth_one = smooth(jumped(model, slice(0, 0)))
    torn = Motion(model.system, TIME, smooth_one.q + 2 * np.pi * (TIME > 0.5)[:, None], smooth_one.u, smooth_one.udot)
    with pytest.raises(ValueError, match="jumps"):
        inverse_dynamics_of_motion(model, torn)
    inverse_dynamics_of_motion(model, smooth_one)
    spinning = Motion(model.system, TIME, 5.0 * np.arange(60.0)[:, None])
    np.testing.assert_allclose(smooth(spinning, cutoff=None).u, 300.0)
    rng = np.random.default_rng(0)
    states = Motion(model.system, TIME, rng.uniform(-9, 9, (60, 1)), *rng.normal(size=(2, 60, 1)))
    inverse_dynamics_of_motion(model, states)
