"""Paths over pulleys: lengths, Jacobians and torques of branches that count as their divisors say."""

from dataclasses import replace

import numpy as np
import pytest

import myoquat as mq
from myoquat.joints import ModelError
from myoquat.muscle import ConditionalPoint, Model, Muscle, MusclePath, PathPoint, Pulley, WrapSphere
from myoquat.muscle.laws import PathActuator
from tests.bodies import on_ball, on_hinge

ARM = mq.ArticulatedSystem(
    (
        on_ball('upper', inertia=1),
        on_hinge('fore', "y", 'elbow', 'upper', (0.0, 0.0, 0.3), inertia=1),
    )
)  # fmt: skip
TRUNK = (PathPoint("ground", (0.1, 0.0, 0.0)), PathPoint("upper", (0.05, 0.0, 0.2)))
LEFT = (PathPoint("upper", (0.05, 0.0, 0.2)), PathPoint("fore", (0.0, 0.05, 0.1)), PathPoint("fore", (0.0, 0.03, 0.2)))
RIGHT = (PathPoint("upper", (0.06, 0.1, 0.2)), PathPoint("fore", (0.0, -0.05, 0.1)))
BALL = WrapSphere(body="upper", position=(0.05, 0.02, 0.25), radius=0.03, points=(2, 4))
SPLIT = Muscle(
    "split",
    MusclePath((*TRUNK, *LEFT, *RIGHT), wraps=(BALL,), pulleys=(Pulley(2, 2.0), Pulley(5, 4.0))),
    PathActuator(10.0),
)
PARTS = (
    Muscle("trunk", TRUNK, PathActuator(10.0)),
    Muscle("left", MusclePath(LEFT, wraps=(replace(BALL, points=(0, 2)),)), PathActuator(10.0)),
    Muscle("right", RIGHT, PathActuator(10.0)),
)
SHARES = np.array([1.0, 0.5, 0.25])


def several(muscle, count):
    """A model with copies of a muscle: past some numbers other kernels compute the paths."""
    return Model(ARM, tuple(replace(muscle, name=f"{muscle.name}_{k}") for k in range(count)))


@pytest.mark.parametrize("count", [1, 13, 50])
def test_a_path_over_pulleys_is_the_weighted_sum_of_its_branches(count, rng):
    model, parts = several(SPLIT, count), Model(ARM, PARTS)
    q, u = ARM.random(7, rng), rng.normal(size=(7, ARM.nu))
    np.testing.assert_allclose(mq.path_lengths(model, q)[:, -1], mq.path_lengths(parts, q) @ SHARES, rtol=1e-14)
    for wrt in ("velocity", "coordinates"):
        whole, branches = (mq.path_jacobian(m, q, wrt) for m in (model, parts))
        np.testing.assert_allclose(whole[:, -1], np.einsum("k,nkj->nj", SHARES, branches), atol=1e-14)
    a = np.zeros((7, count))
    a[:, -1] = 1.0
    np.testing.assert_allclose(
        mq.muscle.muscle_torques(model, q, u, a), mq.muscle.muscle_torques(parts, q, u, SHARES), atol=1e-12
    )
    tensions = np.zeros((7, count))
    tensions[:, -1] = 3.0
    np.testing.assert_allclose(
        mq.muscle.muscle_wrenches(model, q, tensions), mq.muscle.muscle_wrenches(parts, q, 3.0 * SHARES), atol=1e-12
    )


def test_branches_that_end_in_one_place_are_not_flagged():
    assert SPLIT.path.points[1] == SPLIT.path.points[2]  # where the tendon splits: no piece lies between
    flags = mq.muscle.path_flags(several(SPLIT, 1), ARM.neutral())
    assert not flags[0] & mq.muscle.PathFlag.COINCIDENT


def test_a_pulley_at_the_start_divides_the_whole_path():
    halved = replace(SPLIT, path=MusclePath(TRUNK, pulleys=(Pulley(0, 2.0),)))
    model = Model(ARM, (halved, PARTS[0]))
    half, whole = mq.path_lengths(model, ARM.neutral())
    assert half == pytest.approx(whole / 2, rel=1e-15)


def test_opensim_has_no_pulleys(tmp_path):
    with pytest.raises(ModelError, match="muscle 'split_0': OpenSim has no paths over pulleys"):
        several(SPLIT, 1).save(tmp_path / "split.osim")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"pulleys": (Pulley(1, 2.0),)}, "every branch needs at least two points"),
        ({"pulleys": (Pulley(2, 2.0), Pulley(6, 2.0))}, "every branch needs at least two points"),
        ({"pulleys": (Pulley(5, 2.0), Pulley(2, 2.0))}, "every branch needs at least two points"),
        ({"pulleys": (Pulley(2, 0.0),), "wraps": ()}, "divisor"),
        ({"wraps": (replace(BALL, points=(0, 4)),)}, "no surface can act between points 1 and 2"),
        ({"points": (*TRUNK, ConditionalPoint("upper", (0, 0, 0.2), "elbow", (0, 1)), *LEFT), "wraps": (),
          "pulleys": (Pulley(2, 2.0),)}, "conditional point"),
    ],
)  # fmt: skip
def test_pulleys_that_cannot_be_are_refused(changes, words):
    with pytest.raises(ModelError, match=words):
        Model(ARM, (replace(SPLIT, path=replace(SPLIT.path, **changes)),))
