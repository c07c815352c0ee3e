"""A quadrant says on which side of a cylinder a path runs, and the path stays there while its ends go round."""

import numpy as np
import pytest

from myoquat.joints import ArticulatedSystem, Body
from myoquat.joints.types import RevoluteJoint
from myoquat.muscle import Model, Muscle, PathFlag, PathPoint, WrapCylinder, path_flags, path_jacobian, path_lengths

RADIUS = 0.008
SIDES = {"+x": 0.0, "+y": 90.0, "-x": 180.0, "-y": 270.0}


def turning(side, a, b, rise=-0.03):
    """A path from the ground at a = (distance, angle [deg] from `side`) to a body that turns about the cylinder's axis,
    at which its other end is `b` away from the axis and `rise` along it."""
    turn = Body("turn", "ground", RevoluteJoint(axis=(0.0, 0.0, 1.0)), coordinate_names=("turn",), mass=1.0)
    angle = np.radians(SIDES[side] + a[1])
    zero = np.radians(SIDES[side])
    path = (
        PathPoint("ground", (a[0] * np.cos(angle), a[0] * np.sin(angle), 0.0)),
        PathPoint("turn", (b * np.cos(zero), b * np.sin(zero), rise)),
    )
    wrap = WrapCylinder(body="ground", radius=RADIUS, length=0.2, quadrant=side)
    return Model(ArticulatedSystem((turn,)), (Muscle("m", path, wraps=(wrap,)),))


def helix(a, b, swept, rise=-0.03):
    """(...) length of the taut path that sweeps the angle `swept` [rad] about the axis: an unrolled straight line."""
    straight = [np.sqrt(rho**2 - RADIUS**2) for rho in (a, b)]
    wound = np.abs(swept) - sum(np.arctan2(t, RADIUS) for t in straight)
    free = np.sqrt(a**2 + b**2 - 2 * a * b * np.cos(swept))
    return np.hypot(np.where(wound > 0, sum(straight) + RADIUS * wound, free), rise)


@pytest.mark.parametrize("side", list(SIDES))
def test_a_path_grows_on_its_side_past_the_back(side):
    """The supinator of an arm: held past the back of the bone, where the straight line would clear it behind."""
    a, b = (0.00937, -97.6), 0.013
    model = turning(side, a, b)
    turn = np.radians(np.linspace(-89.0, 262.0, 3511))[:, None]
    lengths = path_lengths(model, turn)[:, 0]
    np.testing.assert_allclose(lengths, helix(a[0], b, turn[:, 0] - np.radians(a[1])), rtol=1e-13)
    flags = path_flags(model, turn, near=1e-4)[:, 0]
    held = turn[:, 0] > np.radians(60)
    assert (flags[held] == PathFlag.WRAPPED).all()
    assert (np.diff(lengths[held]) > 0).all()
    arms = path_jacobian(model, turn[held])[:, 0, 0]
    assert np.abs(np.diff(arms)).max() < 1e-5


@pytest.mark.parametrize("angle", np.arange(-175.0, 180.0, 25.0))
def test_a_turn_has_one_jump_and_it_is_flagged(angle):
    """While one end goes all the way round a continuous length would grow by a turn of the string, so that every rule
    jumps once, unless both ways are equally long there; this one nowhere else, and says so."""
    a, b = (0.02, angle), 0.013
    model = turning("+y", a, b)
    step = np.radians(0.05)
    turn = np.arange(-np.pi, np.pi, step)[:, None] + 1e-4
    lengths, flags = path_lengths(model, turn)[:, 0], path_flags(model, turn, near=b * step)[:, 0]
    moved = np.abs(np.roll(lengths, -1) - lengths)
    jumps = np.flatnonzero(moved > 1.001 * b * step)
    assert len(jumps) == (angle != 0)
    told = flags & PathFlag.JUMP
    assert (told[jumps] | told[(jumps + 1) % len(told)]).all()


@pytest.mark.parametrize(
    ("a", "b", "swept"),
    [
        (10.0, 100.0, 90.0),  # an end ahead: the way that does not cross the back
        (60.0, -130.0, -190.0),
        (-60.0, 100.0, 160.0),
        (120.0, 100.0, 340.0),  # both behind on one side: past the front
        (100.0, 120.0, -340.0),
        (-100.0, 100.0, 200.0),  # behind on either side
    ],
)
def test_the_rule_in_cases(a, b, swept):
    model = turning("-y", (0.012, a), 0.014)
    found = path_lengths(model, [np.radians(b)])[0]
    np.testing.assert_allclose(found, helix(0.012, 0.014, np.radians(swept)), rtol=1e-13)
    back = turning("-y", (0.014, b), 0.012)  # the way back is as long
    np.testing.assert_allclose(path_lengths(back, [np.radians(a)])[0], found, rtol=1e-13)
