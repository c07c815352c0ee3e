"""Around ellipsoids and tori every path that is not flagged is a solution: its Jacobian is the slope of its length.

A path goes from the ground to a point that moves along three axes. Some lines between its ends touch the surface and
come back on themselves. They meet all conditions of tangency but the direction in which the last one leaves.
"""

from dataclasses import replace

import numpy as np
import pytest
from models import missed, past

from myoquat.muscle import (
    PathFlag,
    WrapCylinder,
    WrapEllipsoid,
    WrapSphere,
    WrapTorus,
    path_flags,
    path_jacobian,
    path_lengths,
)

THORAX = WrapEllipsoid(body="ground", radii=(0.0764668, 0.173985, 0.0749957))
HUMERUS = WrapEllipsoid(body="ground", radii=(0.0358837, 0.0852728, 0.0288887))
SLIM = WrapEllipsoid(body="ground", radii=(0.01, 0.04, 0.01))
NARROW = WrapTorus(body="ground", ring_radius=0.011, tube_radius=0.0105)

# Ends in the surface's frame, from random poses of the thoracoscapular shoulder of A. Seth and others (2019), muscles
# Latissimus dorsi, Serratus anterior and Deltoideus, and of extensor carpi radialis brevis of K. Saul's arm (2015). In
# those that are not backwards a geodesic from P against its direction met all conditions of tangency.
CASES = {
    "latissimus superior": (THORAX, (-0.06029214, 0.06474779, 0.08683322), (0.04143716, -0.08613640, -0.05139455)),
    "latissimus medial": (THORAX, (-0.04814537, 0.03490734, 0.08181769), (-0.01323925, -0.12211751, -0.05186641)),
    "serratus": (THORAX, (-0.03476248, -0.05524818, -0.06267436), (0.02220320, 0.12579680, 0.05385782)),
    "serratus, another": (THORAX, (-0.05271418, -0.06598932, -0.04819251), (0.02220320, 0.12579680, 0.05385782)),
    "deltoid": (HUMERUS, (-0.03783145, 0.03644150, 0.00043597), (0.03429577, -0.00855037, 0.01172114)),
    "deltoid, not backwards": (HUMERUS, (-0.0065704, 0.0788387, -0.0149241), (0.0257607, 0.000851, 0.0681664)),
    "slim, not backwards": (SLIM, (-0.00258986, 0.0360651, 0.0034777), (0.00517237, 0.01642455, -0.00842147)),
    "wrist": (NARROW, (-0.002204, 0.002602, -0.013676), (-0.00011, 0.026204, 0.046894)),
    "wrist, bent": (NARROW, (-0.002651, 0.0035, -0.010315), (0.000606, 0.028407, 0.044348)),
    "wrist, bent far": (NARROW, (-0.00209, -0.01042, -0.0289), (-0.01326, 0.00084, 0.06072)),
    "wrist, bent farthest": (NARROW, (-0.00563, -0.02476, -0.03167), (-0.00285, 0.00994, 0.05936)),
}


HEAD = WrapEllipsoid(body="ground", radii=(0.0354012, 0.0207213, 0.0311527))
NECK = WrapCylinder(body="ground", radius=0.0182932130222794, length=0.0950439368981005, quadrant="-y")
BALL, ROD = WrapSphere(body="ground", radius=0.02), WrapCylinder(body="ground", radius=0.008, length=0.1, quadrant="-x")

# Infraspinatus of the same shoulder and pectoralis major of the same arm, in the frame of the ellipsoid: surfaces, each
# with its place, and ends. Beside these paths is a saddle point of the length: fixed-point iterations take some fifty
# steps to leave it.
SADDLES = {
    "infraspinatus": (
        (
            (NECK, (0.046029, -0.04709, 0.020062), (0.605333, 0.788661, -0.064822, 0.085927)),
            (HEAD, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)),
        ),
        ((0.085494, -0.061285, 0.041335), (-0.018737, 0.011009, 0.024732)),
    ),
    "infraspinatus, longer": (
        (
            (NECK, (0.057038, -0.030501, 0.024084), (0.746743, 0.656024, 0.092276, 0.059101)),
            (HEAD, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)),
        ),
        ((0.101874, -0.029683, 0.038244), (-0.018737, 0.011009, 0.024732)),
    ),
    "pectoralis": (
        (
            (BALL, (0.037104, 0.170214, 0.055828), (1.0, 0.0, 0.0, 0.0)),
            (ROD, (0.031023, 0.223882, 0.076918), (0.68906, -0.47942, -0.238106, -0.488527)),
        ),
        ((0.013549, 0.210163, 0.07706), (0.094045, 0.077123, 0.015678)),
    ),
}


def between(start, ends):
    """(n, 6) a start (3,) with each of the ends (n, 3), as coordinates of a path whose ends both slide."""
    return np.concatenate([np.broadcast_to(start, ends.shape), ends], axis=-1)


@pytest.mark.parametrize("name", list(CASES))
def test_a_path_that_touches_is_converged(name):
    wrap, start, end = CASES[name]
    model, q = past((wrap,)), np.array([(*start, *end), (*end, *start)])
    asked = PathFlag.WRAPPED | PathFlag.UNSOLVED
    assert np.all(path_flags(model, q)[:, 0] & int(asked) == PathFlag.WRAPPED)
    assert np.all(missed(model, q) < 1e-8)
    assert abs(np.diff(path_lengths(model, q)[:, 0])[0]) < 1e-9  # whichever end it is solved from


@pytest.mark.parametrize("name", list(SADDLES))
def test_saddle_point_of_the_length_is_left(name):
    surfaces, (start, end) = SADDLES[name]
    unit = [np.array(orientation) / np.linalg.norm(orientation) for *_, orientation in surfaces]
    wraps = tuple(
        replace(wrap, position=position, orientation=tuple(q))
        for (wrap, position, _), q in zip(surfaces, unit, strict=True)
    )
    model = past(wraps, start)
    assert path_flags(model, np.array(end))[0] & int(PathFlag.WRAPPED | PathFlag.UNSOLVED) == PathFlag.WRAPPED
    assert missed(model, np.array(end)) < 1e-8


@pytest.mark.parametrize("shape", [(0.03, 0.09, 0.03), (0.08, 0.09, 0.035), (0.05, 0.05, 0.05)])
def test_no_path_around_an_ellipsoid_is_wrong_unflagged(shape):
    rng = np.random.default_rng(0)
    model = past((WrapEllipsoid(body="ground", radii=shape),), 1.0005 * np.array((0.6, -0.48, 0.64)) * shape)
    direction = rng.normal(size=(1000, 3))
    direction /= np.linalg.norm(direction, axis=-1)[:, None]
    q = (1 + 10 ** rng.uniform(-3.5, 0.5, 1000))[:, None] * direction * shape
    flags = path_flags(model, q)[:, 0]
    wrapped, unsolved = ((flags & int(bit)) > 0 for bit in (PathFlag.WRAPPED, PathFlag.UNSOLVED))
    assert wrapped.mean() > 0.4
    assert unsolved.sum() <= 3
    assert np.all(missed(model, q)[~unsolved] < 1e-7)


@pytest.mark.parametrize("shape", [(0.0765, 0.174, 0.075), (0.018, 0.025, 0.035), (0.02, 0.02, 0.06)])
def test_lengths_do_not_jump_where_the_shorter_way_changes(shape):
    """The far end goes round the ellipsoid in a plane: the length changes no faster than the end moves."""
    rng, angle = np.random.default_rng(4), np.linspace(0, 2 * np.pi, 2001)[:, None]
    lines = []
    for _ in range(6):
        start = rng.normal(size=3)
        start *= (1 + 10 ** rng.uniform(-1.5, 0.3)) / np.linalg.norm(start)
        u, v = np.linalg.qr(rng.normal(size=(3, 2)))[0].T
        lines.append(between(start, rng.uniform(1.1, 2.0) * (np.cos(angle) * u + np.sin(angle) * v)))
    q = np.array(lines) * np.tile(shape, 2)
    lengths = path_lengths(past((WrapEllipsoid(body="ground", radii=shape),)), q)[..., 0]
    moved = np.linalg.norm(np.diff(q, axis=1), axis=-1)
    assert np.all(np.abs(np.diff(lengths)) <= 1.001 * moved + 1e-9)


@pytest.mark.parametrize("shape", [(0.05, 0.02, 0.013), (0.0359, 0.0853, 0.0289)])
def test_lengths_do_not_jump_where_ends_are_nearly_opposite(shape):
    """The line between the ends runs nearly through the centre, so that the two ways past the ellipsoid may lie at any
    tilt. One of extensor indicis proprius does so over the first of these, at the wrist of K. Saul's arm (2015)."""
    rng, share = np.random.default_rng(2), np.linspace(-0.3, 0.3, 301)[:, None]
    lines = []
    for number in range(80):
        start = rng.normal(size=3)
        start *= (1 + 10 ** rng.uniform(-1.5, 0.0)) / np.linalg.norm(start)
        along, aside = np.cross(start, rng.normal(size=(2, 3)))
        end = share * along + 0.1 * (number % 4 > 0) * aside - rng.uniform(1.0, 1.3) * start
        lines.append(between(start, end))
    model, q = past((WrapEllipsoid(body="ground", radii=shape),)), np.array(lines) * np.tile(shape, 2)
    moved, steps = np.linalg.norm(np.diff(q, axis=1), axis=-1), np.abs(np.diff(path_lengths(model, q)[..., 0]))
    solved = path_flags(model, q)[..., 0] & int(PathFlag.UNSOLVED) == 0
    assert solved.mean(axis=1).min() > 0.98
    assert np.all((steps <= 1.001 * moved + 1e-9)[solved[:, 1:] & solved[:, :-1]])


BALL = WrapSphere(body="ground", radius=0.03)
INSIDE_IT = WrapCylinder(body="ground", position=(0.012, 0.02, 0.0), radius=0.012, length=0.1, quadrant="+y")


def test_where_surfaces_overlap_one_is_passed_over():
    """Through a sphere and a cylinder that reaches out of it: solved, flagged, and with the Jacobian of the path."""
    both, over_ball = (past(wraps, (-0.06, 0.0, 0.0)) for wraps in ((BALL, INSIDE_IT), (BALL,)))
    q = np.random.default_rng(3).uniform((0.045, -0.05, -0.04), (0.09, 0.05, 0.04), (6000, 3))
    flags = path_flags(both, q)[:, 0]
    unsolved, passed, jump = ((flags & int(bit)) > 0 for bit in (PathFlag.UNSOLVED, PathFlag.INSIDE, PathFlag.JUMP))
    assert unsolved.sum() <= 2
    assert 5 < passed.sum() < 600
    wrong = missed(both, q)[:, 0] > 1e-7
    assert not np.any(wrong & ~unsolved & ~jump)
    lengths, others = (path_lengths(m, q)[:, 0] for m in (both, over_ball))
    assert np.all(lengths[~unsolved] > others[~unsolved] - 1e-9)  # a surface more never makes a path shorter


def test_jacobian_past_two_surfaces_does_not_follow_rounding_errors():
    """Ends that differ by 1e-15 m have the same Jacobian, although an iteration more or less may solve their paths."""
    sphere = WrapSphere(body="ground", position=(0.0, 0.0, 0.03), radius=0.024)
    cylinder = WrapCylinder(body="ground", orientation=(0.5, 0.5, 0.5, 0.5), radius=0.02)
    model, rng = past((sphere, cylinder), (0.03, 0.005, -0.06)), np.random.default_rng(0)
    q = np.array([-0.01, 0.0, 0.08]) + rng.uniform(-0.03, 0.03, (500, 3))
    near = q + 1e-15 * rng.standard_normal((4, *q.shape))
    change = np.abs(path_jacobian(model, near) - path_jacobian(model, q))[..., 0, :]
    solved = path_flags(model, q)[:, 0] == PathFlag.WRAPPED
    assert np.count_nonzero(solved) > 400
    assert change[:, solved].max() < 1e-12
