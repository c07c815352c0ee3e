"""Of several local minima of the length between the same ends, the shortest is found."""

import numpy as np
import pytest
from models import past
from volume import draws

from myoquat.muscle import PathFlag, WrapCylinder, WrapEllipsoid, WrapSphere, WrapTorus, path_flags, path_lengths


def rod(position, turned, **numbers):
    orientation = tuple(np.array(turned) / np.linalg.norm(turned))
    return WrapCylinder(body="ground", position=position, orientation=orientation, length=0.06, **numbers)


BALL, EGG = WrapSphere(body="ground", radius=0.03), WrapEllipsoid(body="ground", radii=(0.035, 0.02, 0.02))
RODS = (
    rod((-0.007, -0.025, 0.004), (0.18, 0.62, -0.21, 0.73), radius=0.012, quadrant="+y"),
    rod((-0.015, 0.02, -0.017), (-0.34, 0.59, 0.65, -0.34), radius=0.007, quadrant="+x"),
)
GROUPS = {"ball": (RODS[0], BALL), "egg": (RODS[1], EGG)}


def ends(count, seed=0):
    """(count, 6) ends of paths on opposite sides of the surfaces, in every direction."""
    rng = np.random.default_rng(seed)
    out = rng.normal(size=(count, 3))
    out *= 0.09 / np.linalg.norm(out, axis=-1, keepdims=True)
    return np.concatenate([out, -out], axis=-1) + rng.uniform(-0.03, 0.03, (count, 6))


@pytest.mark.parametrize("group", GROUPS)
def test_no_length_jumps_without_a_word(group):
    """One end goes along a line; from step to step the length changes by no more than the end has moved."""
    share, along = np.linspace(0.0, 1.0, 1001)[:, None], np.array([0.02, -0.015, 0.01])
    model, unflagged = past(GROUPS[group]), 0
    for start, end in ends(draws(20, 60), seed=3).reshape(-1, 2, 3):
        q = np.concatenate([start + 0.0 * share, end + share * along], axis=-1)
        steps = np.abs(np.diff(path_lengths(model, q)[:, 0]))
        sure = path_flags(model, q)[:, 0] & ~int(PathFlag.WRAPPED) == 0
        unflagged += np.sum(steps[sure[1:] & sure[:-1]] > np.linalg.norm(along) / 1000 + 1e-9)
    assert unflagged == 0


def test_alternative_local_minimum_is_flagged():
    model, q = past(GROUPS["ball"]), ends(200, seed=3)
    assert np.any(path_flags(model, q, near=1e-9)[:, 0] & PathFlag.JUMP)


# Surfaces and ends as they stand to each other at poses of infraspinatus, of the thoracoscapular shoulder of A. Seth
# and others (2019), where it may pass the humeral head on two flanks, and of K. Saul's arm (2015), where it may pass
# the cylinder on two sides. Cylinder: position, orientation, radius, length and quadrant.
HEAD = WrapEllipsoid(body="ground", radii=(0.0354012, 0.0207213, 0.0311527))
RING = WrapTorus(body="ground", ring_radius=0.019, tube_radius=0.008)
LEADING = {
    "flanks": (
        ((0.0671, -0.0054, 0.0054), (0.5845, 0.7375, 0.2913, 0.1721), 0.0182932, 0.0950439, "-y"),
        HEAD,
        (0.1189, -0.0344, -0.0011, -0.0243, 0.0056, 0.0279),
    ),
    "shelf": (
        ((0.0483, -0.0436, -0.0132), (0.6018, 0.761, 0.1752, -0.1676), 0.0182932, 0.0950439, "-y"),
        HEAD,
        (0.0931, -0.0545, -0.0222, -0.0187, 0.011, 0.0247),
    ),
    "sides": (
        ((0.0169, -0.0097, 0.0585), (0.3741, -0.1779, 0.1895, 0.8902), 0.0235, 0.115, "-x"),
        RING,
        (0.03, -0.0402, 0.0556, -0.0004, -0.0361, -0.0395),
    ),
}


@pytest.mark.parametrize("name", LEADING)
def test_no_length_jumps_without_a_word_where_a_surface_leads_to_another(name):
    """Both ends go along lines through a pose where two paths over both surfaces are nearly as long."""
    (position, turned, radius, length, quadrant), other, middle = LEADING[name]
    orientation = tuple(np.array(turned) / np.linalg.norm(turned))
    led = WrapCylinder(
        body="ground", position=position, orientation=orientation, radius=radius, length=length, quadrant=quadrant
    )
    model, share, reported = past((led, other)), np.linspace(-1.0, 1.0, 401)[:, None], 0
    for along in np.random.default_rng(0).normal(size=(40, 6)) * 0.004:
        q = np.array(middle) + share * along
        jumps = np.abs(np.diff(path_lengths(model, q)[:, 0])) > 2.0 * np.linalg.norm(along) / 200 + 1e-9
        sure = path_flags(model, q)[:, 0] & ~int(PathFlag.WRAPPED) == 0
        reported += jumps.sum()
        assert not np.any(jumps & sure[1:] & sure[:-1])
    assert reported > 10


# Cylinder and ends at poses of infraspinatus, and the length that a search from 24 planes finds, from all of them.
# Between neighbours that do not move, the ellipsoid has no minimum on the flank of the first two. Beside that of the
# last one, paths in planes pass the cylinder by and are shorter.
FLANKS = (
    ((0.0526, -0.0421, 0.002), (0.6604, 0.7362, 0.1229, -0.0826), (0.0988, -0.0511, 0.0034), 0.154925991078),
    ((0.046, -0.0456, -0.0142), (0.584, 0.7773, 0.1539, -0.1761), (0.0904, -0.0585, -0.0232), 0.158086402657),
    ((0.0515, -0.0436, 0.0059), (0.6257, 0.7771, 0.0629, -0.0257), (0.0967, -0.0543, 0.0136), 0.152193832588),
)


@pytest.mark.parametrize(("position", "turned", "start", "length"), FLANKS)
def test_shorter_flank_is_found_to_which_no_surface_leads_alone(position, turned, start, length):
    orientation = tuple(np.array(turned) / np.linalg.norm(turned))
    led = WrapCylinder(
        body="ground", position=position, orientation=orientation, radius=0.0182932, length=0.0950439, quadrant="-y"
    )
    found = path_lengths(past((led, HEAD)), np.array([[*start, -0.0187, 0.011, 0.0247]]))
    np.testing.assert_allclose(found, length, atol=1e-9)
