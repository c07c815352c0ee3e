"""Several surfaces between two points: the path comes to them in the order of the world, not in that of the list."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from models import past
from volume import draws

from myoquat.muscle import PathFlag, WrapCylinder, WrapEllipsoid, WrapSphere, WrapTorus, path_flags, path_lengths
from myoquat.muscle.display import polylines
from myoquat.muscle.wrapping.segment_solver import shared_slots

BALL = WrapSphere(body="ground", position=(-0.03, 0.0, 0.0), radius=0.025)
ROD = WrapCylinder(body="ground", position=(0.03, 0.01, 0.0), radius=0.015, quadrant="+y")
EGG = WrapEllipsoid(body="ground", position=(0.005, 0.03, 0.005), radii=(0.02, 0.015, 0.03))
GROUPS = {"ball and rod": (BALL, ROD), "ball and egg": (BALL, EGG), "all": (ROD, EGG, BALL)}


def ends(count, seed=0):
    """(count, 6) ends of paths on opposite sides of a ball that holds the surfaces, in every direction."""
    rng = np.random.default_rng(seed)
    out = rng.normal(size=(count, 3))
    out /= np.linalg.norm(out, axis=-1, keepdims=True)
    return np.concatenate([0.12 * out, -0.12 * out], axis=-1) + rng.uniform(-0.03, 0.03, (count, 6))


def clear(model, q):
    """(...) whether nothing is to be known of the path but that it touches."""
    return path_flags(model, q)[:, 0] & ~int(PathFlag.WRAPPED) == 0


@pytest.mark.parametrize("group", GROUPS)
def test_the_order_of_the_list_tells_nothing(group):
    q = ends(600)
    models = [past(order) for order in (GROUPS[group], GROUPS[group][::-1])]
    lengths = np.array([path_lengths(model, q)[:, 0] for model in models])
    sure = np.all([clear(model, q) for model in models], axis=0)
    several = np.any([path_flags(model, q)[:, 0] & PathFlag.WRAPPED for model in models], axis=0)
    assert (sure & several).mean() > 0.5
    spread = np.ptp(lengths, axis=0)[sure]
    assert np.mean(spread > 1e-9) < 0.01


@pytest.mark.parametrize("group", GROUPS)
def test_no_path_runs_through_a_surface_without_a_word(group):
    """Points along the drawn path lie inside no surface."""
    model, q = past(GROUPS[group]), ends(draws(20, 600), seed=1)
    sure = clear(model, q)
    assert sure.mean() > 0.6
    (drawn,) = polylines(model, q[sure])
    share = np.linspace(0, 1, 40)[:, None]
    x = np.concatenate([a[:, None] + share * (b - a)[:, None] for a, b in pairwise(np.moveaxis(drawn, 1, 0))], axis=1)
    for wrap in GROUPS[group]:
        seen = wrap.seen(x)
        smaller = wrap.shaped(0.85 * np.array(wrap.numbers()))  # drawn strokes cut corners
        assert not smaller.holds(seen).any()


def test_a_path_past_two_balls_is_the_same_from_either_end():
    balls = BALL, replace(BALL, position=(0.035, 0.005, 0.0))
    q = ends(400, seed=2)
    there, back = (path_lengths(past(balls), x)[:, 0] for x in (q, np.roll(q, 3, axis=-1)))
    sure = clear(past(balls), q)
    assert sure.mean() > 0.9
    assert np.mean(np.abs(there - back)[sure] > 1e-9) < 0.01


def test_lengths_are_continuous_while_the_order_changes():
    """One end goes round both surfaces in a circle, and with it the order in which the path comes to them."""
    angle = np.linspace(0, 2 * np.pi, 4001)
    circle = 0.12 * np.stack([np.cos(angle), 0.0 * angle, np.sin(angle)], axis=-1)
    balls = BALL, replace(BALL, position=(0.03, 0.0, 0.02), radius=0.02)
    q = np.concatenate([circle, -circle + [0.0, 0.01, 0.0]], axis=-1)
    model = past(balls)
    assert np.all(clear(model, q))
    steps = np.abs(np.diff(path_lengths(model, q)[:, 0]))
    assert steps.max() < 0.24 * np.diff(angle).max()


RING = WrapTorus(body="ground", ring_radius=0.04, tube_radius=0.015)
BAR = WrapCylinder(body="ground", radius=0.02, length=0.06)


@pytest.mark.parametrize("wrap", [BALL, BAR, EGG, RING], ids=lambda wrap: wrap.kind)
def test_a_line_is_cut_where_a_point_of_it_lies_inside(wrap):
    A, B = np.random.default_rng(5).uniform(-0.08, 0.08, (2, 2000, 3))
    outside = ~wrap.holds(A) & ~wrap.holds(B)
    A, B = A[outside], B[outside]
    x = A[:, None] + np.linspace(0, 1, 401)[:, None] * (B - A)[:, None]
    within = wrap.holds(x)
    if wrap is BAR:
        ends = [
            np.take_along_axis(x[..., 2], k[:, None], 1)[:, 0]
            for k in (within.argmax(1), 400 - within[:, ::-1].argmax(1))
        ]
        half = BAR.length / 2
        within &= ~(np.minimum(*ends) > half)[:, None] & ~(np.maximum(*ends) < -half)[:, None]
    found, cut = within.any(axis=1), wrap.cut(A, B)
    assert 200 < found.sum() < len(A) - 200
    assert not np.any(found & ~cut)
    assert np.mean(cut & ~found) < 0.01  # by less than the distance between two points


def test_a_path_over_one_surface_is_not_clear_where_it_touches_inside_another():
    """The tangent point of the path over a sphere is the centre of a smaller one: no path clears both, and the flag
    says that one is passed over."""
    A, B, center, radius = np.array([-0.2, 0.0, 0.0]), np.array([0.2, 0.0, 0.0]), np.array([0.0, 0.0, -0.02]), 0.05
    away = A - center
    angle = np.arctan2(away[2], away[0]) - np.arccos(radius / np.linalg.norm(away))
    tangent = center + radius * np.array([np.cos(angle), 0.0, np.sin(angle)])
    ball = WrapSphere(body="ground", radius=radius, position=tuple(center))
    bump = WrapEllipsoid(body="ground", radii=(0.01, 0.012, 0.01), position=tuple(tangent))
    flags = path_flags(past((ball, bump)), np.concatenate([A, B]))
    assert flags.tolist() == [PathFlag.WRAPPED | PathFlag.INSIDE]


def test_searches_are_shared_in_the_order_of_the_pieces():
    """Not in that of a set, which differs from process to process, so that kernels would be compiled again."""
    sizes = [{"quadrant": side, "radius": 1.0} for side in ("+x", "-x", "+y", "-y")]
    sided = [WrapCylinder(body="", **size) for size in sizes]
    lists = [(a, b) for a in sided for b in sided if a != b]
    assert list(shared_slots([*lists, *reversed(lists)])) == lists
