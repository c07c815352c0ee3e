"""A quadrant says on which side of a cylinder a path runs, and the path stays there while its ends go round."""

from dataclasses import replace

import numpy as np
import pytest
from models import model as shoulder, past, poses

from benchmarks.wrapping import certificate
from myoquat.joints import ArticulatedSystem, rotation_matrix
from myoquat.muscle import (
    Model,
    Muscle,
    MusclePath,
    PathFlag,
    PathPoint,
    WrapCylinder,
    WrapEllipsoid,
    WrapSphere,
    path_flags,
    path_jacobian,
    path_lengths,
)
from tests.bodies import on_hinge, on_slide

RADIUS = 0.008
SIDES = {"+x": 0.0, "+y": 90.0, "-x": 180.0, "-y": 270.0}


def turning(side, a, b, rise=-0.03):
    """A path from the ground at a = (distance, angle [deg] from `side`) to a body that turns about the cylinder's axis.
    There its other end is `b` away from the axis and `rise` along it."""
    turn = on_hinge("turn", "z", "turn")
    angle = np.radians(SIDES[side] + a[1])
    zero = np.radians(SIDES[side])
    path = (
        PathPoint("ground", (a[0] * np.cos(angle), a[0] * np.sin(angle), 0.0)),
        PathPoint("turn", (b * np.cos(zero), b * np.sin(zero), rise)),
    )
    wrap = WrapCylinder(body="ground", radius=RADIUS, length=0.2, quadrant=side)
    return Model(ArticulatedSystem((turn,)), (Muscle("m", MusclePath(path, wraps=(wrap,))),))


def helix(a, b, swept, rise=-0.03, radius=RADIUS):
    """(...) length of the shortest path that turns by `swept` [rad] about the axis: an unrolled straight line."""
    straight = [np.sqrt(rho**2 - radius**2) for rho in (a, b)]
    wound = np.abs(swept) - sum(np.arctan2(t, radius) for t in straight)
    free = np.sqrt(a**2 + b**2 - 2 * a * b * np.cos(swept))
    return np.hypot(np.where(wound > 0, sum(straight) + radius * wound, free), rise)


def swept_ahead(a, b):
    """(...) the angle from a to b that the rule asks for, both from -pi to pi off the side. It does not pass the back.
    If both ends are behind on one side, it passes the front."""
    turn = b - a
    behind = (np.minimum(np.abs(a), np.abs(b)) > np.pi / 2) & (a * b > 0)
    return np.where(behind, turn - 2 * np.pi * np.sign(turn), turn)


@pytest.mark.parametrize("side", list(SIDES))
def test_a_path_grows_on_its_side_past_the_back(side):
    """The supinator of an arm: held past the back of the bone, where the straight line would clear it behind."""
    a, b = (0.00937, -97.6), 0.013
    model = turning(side, a, b)
    turn = np.radians(np.linspace(-89.0, 262.0, 3511))[:, None]
    lengths = path_lengths(model, turn)[:, 0]
    np.testing.assert_allclose(lengths, helix(a[0], b, turn[:, 0] - np.radians(a[1])), rtol=1e-13)
    flags = path_flags(model, turn, near=1e-4)[:, 0] & ~int(PathFlag.OTHER_SIDE)  # OpenSim does not hold it
    held = turn[:, 0] > np.radians(60)
    assert (flags[held] == PathFlag.WRAPPED).all()
    assert (np.diff(lengths[held]) > 0).all()
    arms = path_jacobian(model, turn[held])[:, 0, 0]
    assert np.abs(np.diff(arms)).max() < 1e-5


def whole_turn(model, b):
    """(n, 1) angles of an end at the distance b from the axis; and (n,) the flags near a jump within a step, and where
    the length changes by more in it than the end moves."""
    step = np.radians(0.05)
    turn = np.arange(-np.pi, np.pi, step)[:, None] + 1e-4
    lengths, flags = path_lengths(model, turn)[:, 0], path_flags(model, turn, near=b * step)[:, 0]
    return turn, flags, np.abs(np.roll(lengths, -1) - lengths) > 1.001 * b * step


@pytest.mark.parametrize("angle", np.arange(-175.0, 180.0, 25.0))
def test_a_turn_has_one_jump_and_it_is_flagged(angle):
    """While one end goes all the way round, a continuous length would grow by a turn of the string. Every rule
    therefore jumps once, unless both ways are equally long there. This rule jumps at no other angle, and its jump is
    flagged."""
    a, b = (0.02, angle), 0.013
    model = turning("+y", a, b)
    _, flags, jumped = whole_turn(model, b)
    jumps = np.flatnonzero(jumped)
    assert len(jumps) == (angle != 0)
    reported = flags & PathFlag.JUMP
    assert (reported[jumps] | reported[(jumps + 1) % len(reported)]).all()


@pytest.mark.parametrize("angle", [-150.0, 0.0, 91.0, 179.99])
@pytest.mark.parametrize("backwards", [False, True])
def test_an_end_that_stays_at_its_surface_is_near_no_jump(angle, backwards):
    """One end lies a hundredth of a millimetre from the cylinder on whose body it is, or beside the half plane behind.
    Only the other one can make the length jump. Where that one is free to slide, the same point is near a jump."""
    model = turning("+y", (RADIUS + 1e-5, angle), 0.013)
    muscle = model.muscles[0]
    if backwards:
        model = replace(model, muscles=(replace(muscle, path=replace(muscle.path, points=muscle.path.points[::-1])),))
    turn, flags, jumped = whole_turn(model, 0.013)
    reported = (flags & PathFlag.JUMP) > 0
    assert not (jumped & ~reported & ~np.roll(reported, -1)).any()
    assert reported.mean() < 3e-3
    k = np.flatnonzero((flags & PathFlag.WRAPPED) & ~reported)[0]
    c, s = np.cos(turn[k, 0]), np.sin(turn[k, 0])
    start, (x, y, z) = (point.position for point in muscle.path.points)
    sliding = path_flags(past(muscle.path.wraps), [*start, c * x - s * y, s * x + c * y, z])[0]
    assert sliding & ~int(PathFlag.OTHER_SIDE) == PathFlag.WRAPPED | PathFlag.JUMP


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


@pytest.mark.parametrize("name", ["cylinder_side", "cylinder_other_side"])
def test_every_pose_of_a_shoulder_follows_the_rule(name):
    """Ends anywhere around a cylinder that lies askew: the helix by the ends' angles off the side, held or not."""
    model = shoulder(name)
    (muscle,) = model.muscles
    (wrap,) = muscle.path.wraps
    q = poses(2000, seed=2)
    q = q[np.isin(path_flags(model, q)[:, 0], (0, PathFlag.WRAPPED))]
    R = rotation_matrix(np.array(wrap.orientation))
    ends = []
    for point in muscle.path.points:
        turn, p = model.system.poses(q)[point.body]
        local = (p + turn @ np.array(point.position) - np.array(wrap.position)) @ R
        ends.append(np.broadcast_to(local, (len(q), 3)))
    zero = np.arctan2(wrap.ahead[1], wrap.ahead[0])
    a, b = ((np.arctan2(x[:, 1], x[:, 0]) - zero + np.pi) % (2 * np.pi) - np.pi for x in ends)
    far = [np.hypot(x[:, 0], x[:, 1]) for x in ends]
    wanted = helix(*far, swept_ahead(a, b), ends[1][:, 2] - ends[0][:, 2], wrap.radius)
    assert (np.abs(swept_ahead(a, b)) > np.pi).sum() > 50
    np.testing.assert_allclose(path_lengths(model, q)[:, 0], wanted, rtol=1e-12)


CLOSE = WrapCylinder(body="ground", radius=0.02, quadrant="+x")
AHEAD, BEYOND = np.array([0.1, 0.02, 0.0]), np.array([-0.2, 1e-9, 0.0])
BESIDE = np.array([-0.08, 0.03, 0.01])  # behind, on another surface between the cylinder and the end BEYOND


def test_a_path_jumps_where_its_end_beyond_another_surface_crosses_the_half_plane_behind():
    neighbours_alone, whole_path = CLOSE.contact(AHEAD, BESIDE), CLOSE.contact(AHEAD, BESIDE, (AHEAD, BEYOND))
    np.testing.assert_allclose(neighbours_alone.jump[1], BESIDE[1], rtol=1e-12)
    np.testing.assert_allclose(whole_path.jump, [neighbours_alone.jump[0], BEYOND[1]], rtol=1e-12)


@pytest.mark.parametrize(
    ("ends", "place", "turned", "clear"),
    [
        (((0.05405, -0.08127, -0.04012), (-0.00645, -0.07129, 0.06944)), (0.04035, -0.08653, -0.01738),
         (-0.5932308, -0.1305287, 0.791031, -0.0728665), False),
        (((0.07284, 0.01647, 0.02513), (0.04133, -0.03798, -0.09456)), (0.07413, 0.00653, 0.0),
         (0.3802885, -0.5877467, 0.6717556, 0.2422373), True),
    ],
)  # fmt: skip
def test_a_path_that_crosses_the_half_plane_behind_on_another_surface_is_flagged(ends, place, turned, clear):
    """A cylinder beside an ellipsoid: no path past its front was found, or it is longer than the one behind.

    No path is shorter than the one over the ellipsoid alone: one that runs through the ellipsoid was.
    """
    ellipsoid = WrapEllipsoid(body="ground", radii=(0.0764668, 0.173985, 0.0749957))
    cylinder = WrapCylinder(
        body="ground", position=place, orientation=turned, radius=0.00698, length=0.048, quadrant="-y"
    )
    start, end = np.array(ends)
    piece, length, touched = certificate.solved((cylinder, ellipsoid), start, end)
    alone = certificate.solved((ellipsoid,), start, end)[1]
    assert not any(c.inside for c in piece.contacts)
    assert min(c.jump.min() for c in piece.contacts) == 0.0
    assert length > alone - 1e-12
    assert touched == 1 + clear


@pytest.mark.parametrize(
    ("ends", "place", "turned", "clear"),
    [
        (((0.01337, 0.00186, -0.03944), (-0.05365, -0.0276, 0.07236)), (0.04031, -0.05733, 0.01624),
         (0.00185, -0.8456785, 0.2885795, -0.4489392), False),
        (((0.01855, -0.02911, -0.00134), (-0.09141, 0.00334, 0.02739)), (0.0013, -0.0508, -0.0077),
         (0.6236696, 0.6408535, 0.2890779, -0.3417265), True),
    ],
)  # fmt: skip
def test_a_path_that_crosses_behind_on_another_surface_is_better_than_one_through_it(ends, place, turned, clear):
    """Past the front of the cylinder no path that clears the sphere is found, or one is that touches both."""
    sphere = WrapSphere(body="ground", radius=0.03)
    cylinder = WrapCylinder(body="ground", position=place, orientation=turned, radius=0.009, length=0.07, quadrant="+x")
    start, end = np.array(ends)
    piece = certificate.solved((sphere, cylinder), start, end)[0]
    on_sphere, on_cylinder = piece.contacts
    assert [(bool(c.on), bool(c.inside)) for c in piece.contacts] == [(True, False), (clear, False)]
    assert clear or cylinder.crossed(cylinder.seen(on_sphere.P), cylinder.seen(on_sphere.Q))
    assert not clear or not sphere.cut(on_cylinder.Q, on_sphere.P)
    assert min(c.jump.min() for c in piece.contacts) == 0.0


def test_a_path_past_several_surfaces_jumps_where_both_senses_around_the_front_are_equal():
    """For one cylinder both senses are equally long there, and its length has a kink."""
    A = 1.5 * BESIDE + np.array([0.0, 1e-9, 0.0])
    assert CLOSE.contact(A, BESIDE).jump.min() > 0.02
    jump = CLOSE.contact(A, BESIDE, (A, BESIDE)).jump
    cross = A[0] * BESIDE[1] - A[1] * BESIDE[0]
    np.testing.assert_allclose(jump, abs(cross) / np.array([np.hypot(*BESIDE[:2]), np.hypot(*A[:2])]), rtol=1e-6)


@pytest.mark.parametrize(
    ("heights", "expected"),
    [((0.2, -0.2), 0.439695), ((0.2, 0.1, -0.1, -0.2), 0.475168), ((0.2, 0.05, -0.2), 0.483623)],
)
def test_a_side_is_kept_on_one_pair_of_points(heights, expected):
    """All points of the path are behind. The lengths are those of OpenSim 4.6, which wraps the pair with the least
    change of length."""
    half = len(heights) // 2
    body = on_hinge("b")
    path = tuple(PathPoint("ground" if k < half else "b", (0.05, y, 0.0)) for k, y in enumerate(heights))
    for points in (path, path[::-1]):
        wrap = WrapCylinder(body="ground", radius=0.04, length=1.0, quadrant="-x")
        model = Model(ArticulatedSystem((body,)), (Muscle("m", MusclePath(points, wraps=(wrap,))),))
        assert path_lengths(model, [0.0])[0] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("surface", [WrapSphere, WrapCylinder])
@pytest.mark.parametrize("off", [0.0, 1e-17, -1e-14])
def test_an_end_on_the_surface_is_outside(surface, off):
    """A quarter turn and another, and 0.2 m down: pi / 2 0.1 + 0.2 m; MuJoCo 4.0 and OpenSim 4.6 have 0.357080."""
    slide = on_slide("b", "y")
    path = (PathPoint("ground", (0.05 + off, 0.0, 0.0)), PathPoint("b", (-0.05, -0.2, 0.0)))
    wrap = surface(body="ground", radius=0.05, quadrant="+y")
    model = Model(ArticulatedSystem((slide,)), (Muscle("m", MusclePath(path, wraps=(wrap,))),))
    assert path_lengths(model, [0.0])[0] == pytest.approx(0.05 * np.pi + 0.2, rel=1e-12)
    assert path_jacobian(model, [0.0])[0, 0] == pytest.approx(-1.0, rel=1e-12)
    assert not path_flags(model, [0.0])[0] & PathFlag.INSIDE
