"""Paths through a ring: one moment about the axis along all of them, and solved for every pair of ends."""

import numpy as np
import pytest
from models import length_over, missed, past

from myoquat.muscle import WrapTorus

SHARES = (0.1, 0.5, 0.8, 0.96)  # the tube's radius, of the ring's


def ring(share):
    return WrapTorus(body="ground", ring_radius=0.05, tube_radius=0.05 * share)


def opposite(rng, count):
    """Ends on opposite sides of the plane of a ring of radius 0.05 m."""
    A, B = rng.normal(scale=0.06, size=(2, count, 3))
    A[:, 2], B[:, 2] = np.abs(A[:, 2]), -np.abs(B[:, 2])
    swap = rng.random(count) < 0.5
    return np.where(swap[:, None], A, B), np.where(swap[:, None], B, A)


def length(wrap, A, B):
    return length_over(wrap.contact(A, B), A, B)


def depth(wrap, x):
    """How far outside the tube points are."""
    return np.hypot(np.hypot(x[..., 0], x[..., 1]) - wrap.ring_radius, x[..., 2]) - wrap.tube_radius


def moment(A, B):
    d = B - A
    return (A[..., 0] * d[..., 1] - A[..., 1] * d[..., 0]) / np.linalg.norm(d, axis=-1)


@pytest.mark.parametrize("share", SHARES)
def test_every_pair_of_ends_has_a_local_minimum(share):
    wrap, t = ring(share), np.linspace(0, 1, 201)[:, None, None]
    A, B = opposite(np.random.default_rng(0), 3000)
    c = wrap.contact(A, B)
    assert np.all(c.missed < 1e-9)
    assert c.on.sum() > 1000
    A, B, P, Q = A[c.on], B[c.on], c.P[c.on], c.Q[c.on]
    np.testing.assert_allclose(moment(A, P), moment(Q, B), atol=1e-9 * wrap.ring_radius)
    for start, end in ((A, P), (Q, B)):
        assert depth(wrap, start + t * (end - start)).min() > -1e-9
    A, B = (x[~c.on & ~c.inside] for x in opposite(np.random.default_rng(0), 3000))
    assert depth(wrap, A + t * (B - A)).min() > -1e-9  # straight where it is free


@pytest.mark.parametrize("share", SHARES)
def test_a_geodesic_around_most_of_the_tube_has_the_length_and_turn_of_its_integrals(share):
    """Both ends are near the outer side of the tube. The reference has 2,000 nodes over the angle around the tube."""
    wrap, rng, count = ring(share), np.random.default_rng(6), 400
    R, r = wrap.ring_radius, wrap.tube_radius
    around = rng.uniform(1.5, 3.1, (2, count)) * ((1,), (-1,))  # from the innermost points
    to_middle, turn = r * (1 + 10 ** rng.uniform(-3, -1, (2, count))), rng.uniform(-0.4, 0.4, (2, count))
    rho, z = R - to_middle * np.cos(around), to_middle * np.sin(around)
    A, B = np.stack([rho * np.cos(turn), rho * np.sin(turn), z], axis=-1)
    c = wrap.contact(A, B)
    m = moment(A, c.P)
    long = c.on & (c.arc > 4 * r)
    assert np.all((R - r) ** 3 > R * m[long] ** 2)  # no line across the hole
    assert long.sum() > 50
    P, Q, m = c.P[long], c.Q[long], m[long, None]
    first, last = (np.arctan2(x[:, 2:], R - np.hypot(x[:, :1], x[:, 1:2])) for x in (P, Q))
    nodes, weights = np.polynomial.legendre.leggauss(2000)
    rho = R - r * np.cos(first + (last - first) * (nodes + 1) / 2)
    share_of_arc = r * (first - last) / 2 * weights / np.sqrt(rho * rho - m * m)
    np.testing.assert_allclose(c.arc[long], np.sum(rho * share_of_arc, axis=-1), rtol=0, atol=1e-11 * r)
    across = P[:, 0] * Q[:, 1] - P[:, 1] * Q[:, 0]
    between = np.arctan2(across, np.sum(P[:, :2] * Q[:, :2], axis=-1))
    np.testing.assert_allclose(np.sum(m / rho * share_of_arc, axis=-1), between, rtol=0, atol=1e-9)


def test_a_path_is_found_where_only_short_steps_lead_to_it():
    wrap = WrapTorus(body="ground", ring_radius=0.05, tube_radius=0.0494)
    A, B = np.array([-0.0011, -0.0075, -0.0718]), np.array([-0.0149, 0.1097, 0.0779])
    c = wrap.contact(A, B)
    assert c.on
    assert c.missed < 1e-9
    np.testing.assert_allclose(length(wrap, A, B), length(wrap, B, A), atol=1e-12)


@pytest.mark.parametrize(("share", "height"), [(0.02, 1e-2), (0.1, 1e-3)])
def test_every_path_between_ends_near_a_thin_tube_is_found(share, height):
    wrap, rng = ring(share), np.random.default_rng(8)
    turn, around = rng.uniform(0, 2 * np.pi, (2, 2, 2000))
    around[1] = np.where(np.sin(around[0]) * np.sin(around[1]) > 0, -around[1], around[1])  # on opposite sides
    to_middle = wrap.tube_radius * (1 + height)
    rho = wrap.ring_radius + to_middle * np.cos(around)
    A, B = np.stack([rho * np.cos(turn), rho * np.sin(turn), to_middle * np.sin(around)], axis=-1)
    assert np.all(wrap.contact(A, B).missed < 1e-9)


def test_a_path_that_lets_go_on_the_way_touches_one_side_of_the_hole():
    wrap = WrapTorus(body="ground", ring_radius=0.05, tube_radius=0.0054)
    c = wrap.contact(np.array([0.0159, -0.0435, 0.004]), np.array([-0.0265, -0.0437, -0.0053]))
    assert c.on
    assert c.missed < 1e-9
    assert c.arc < 2 * wrap.tube_radius  # by the same contact twice it is eight radii long


def test_an_end_within_the_ring_may_lie_in_its_plane():
    """From there the path leads up or down over the tube, in either direction as long as from just beside the plane."""
    wrap, within = ring(0.4), np.array([0.01, 0.0, 0.0])
    above = within + np.array([0.0, 0.0, 1e-14])
    for outside in (np.array([0.1, 0.02, 0.05]), np.array([0.1, 0.02, -0.05])):
        beside = length(wrap, above, outside)
        for A, B in ((within, outside), (outside, within)):
            c = wrap.contact(A, B)
            assert c.on
            assert c.missed < 1e-9
            np.testing.assert_allclose(length(wrap, A, B), beside, atol=1e-12)


def crosses_outside(wrap, A, B):
    """(...) whether lines from A to B (..., 3) cross the plane of the ring outside of it."""
    share = A[..., 2] / np.where(A[..., 2] == B[..., 2], 1.0, A[..., 2] - B[..., 2])
    at = A + share[..., None] * (B - A)
    return (A[..., 2] * B[..., 2] < 0) & (np.hypot(at[..., 0], at[..., 1]) > wrap.ring_radius)


def test_no_path_comes_back_around_the_outside_of_the_ring():
    """Ends on one side of the plane, near it: over the tube, through the hole and around the outside is no solution."""
    wrap, rng, t = ring(0.7), np.random.default_rng(4), np.linspace(0, 1, 201)[:, None, None]
    A, B = rng.normal(scale=0.15, size=(2, 4000, 3)) * (1.0, 1.0, 0.1)
    B[:, 2] = np.sign(A[:, 2]) * np.abs(B[:, 2])
    A[:2] = (0.0378, 0.0823, 0.0041), (0.1143, -0.0408, 0.0069)
    B[:2] = (-0.0784, 0.083, 0.0034), (0.05, 0.0894, 0.0016)
    c = wrap.contact(A, B)
    solved = c.on & (c.missed < 1e-9)
    assert np.sum(solved) > 50
    for start, end in ((A[solved], c.P[solved]), (c.Q[solved], B[solved])):
        assert not np.any(crosses_outside(wrap, start, end))
        assert depth(wrap, start + t * (end - start)).min() > -1e-9


def test_length_jumps_where_an_end_crosses_the_plane_outside_of_the_ring():
    """It is flagged however the other end lies: also above or below the tube, half a turn away."""
    wrap, rng = ring(0.4), np.random.default_rng(5)
    A, B = rng.normal(scale=0.1, size=(2, 4000, 3))
    B[:, 2] = 1e-9 * np.sign(A[:, 2])
    beyond = (depth(wrap, A) > 0) & (np.hypot(B[:, 0], B[:, 1]) > wrap.ring_radius + wrap.tube_radius)
    A, B = A[beyond], B[beyond]
    across = B * (1.0, 1.0, -1.0)
    gain = np.abs(length(wrap, A, across) - length(wrap, A, B))
    assert np.sum(gain > 1e-6) > 1000
    jumps = np.minimum(wrap.contact(A, B).jump[:, 1], wrap.contact(A, across).jump[:, 1])
    assert jumps.max() < 2e-9


def test_length_may_jump_where_a_neighbour_leads_the_path_around_the_outside():
    """The path has ends on both sides of the ring's plane, but comes to the ring from a neighbour beyond the plane."""
    wrap, A, B = ring(0.4), np.array([0.1, 0.0, -0.01]), np.array([-0.1, 0.0, -0.02])
    assert wrap.contact(A, B, (np.array([0.2, 0.0, 0.01]), B)).jump.max() == 0.0
    assert wrap.contact(A, B, (np.array([0.2, 0.0, -0.01]), B)).jump.min() > 0.0


@pytest.mark.parametrize("share", SHARES)
def test_the_jacobian_is_the_slope_of_the_length(share):
    model = past((ring(share),), (0.02, -0.03, 0.05))
    q = np.random.default_rng(1).normal(scale=0.05, size=(600, 3))
    q[:, 2] = -0.01 - np.abs(q[:, 2])
    q = q[depth(ring(share), q) > 1e-3]
    off = missed(model, q)
    assert np.quantile(off, 0.99) < 1e-8
    assert off.max() < 1e-7


@pytest.mark.parametrize("share", SHARES)
def test_an_end_that_turns_about_the_axis_changes_the_length_by_the_moment(share):
    """dL/dphi of an end is the moment of the path, and the length is even about half a turn."""
    wrap = ring(share)
    turn = np.linspace(0.0, 2 * np.pi, 2001)
    B = np.stack([0.06 * np.cos(turn), 0.06 * np.sin(turn), 0 * turn - 0.05], axis=-1)
    A = np.broadcast_to([0.05, 0.0, 0.06], B.shape)
    l, c = length(wrap, A, B), wrap.contact(A, B)
    np.testing.assert_allclose(l, l[::-1], atol=1e-11)
    last = np.where(c.on[:, None], c.Q, A)
    np.testing.assert_allclose(np.gradient(l, turn)[2:-2], moment(last, B)[2:-2], atol=1e-5)
    assert np.abs(np.diff(l)).max() < 0.06 * turn[1]  # no jump


@pytest.mark.parametrize(
    "ends", [(0.96, (0.06, 0.0, 0.06), (-0.07, 0.02, -0.06)), (0.7, (0.08, 0.0, 0.06), (-0.07, 0.01, -0.05))]
)
def test_a_path_that_bears_twice_is_the_shortest_over_a_point_of_the_hole(ends):
    """Its pieces on both sides of the hole are paths of their own that bear once."""
    share, A, B = ends
    wrap, A, B = ring(share), np.array(A), np.array(B)
    hole = wrap.ring_radius - wrap.tube_radius

    step, middle = hole / 10, np.zeros(2)
    for _ in range(12):  # finer and finer nets of points of the hole
        net = middle + step * np.stack(np.meshgrid(*[np.arange(-10, 11.0)] * 2), axis=-1).reshape(-1, 2)
        net = net[np.linalg.norm(net, axis=-1) < hole]
        above, below = (np.concatenate([net, np.full((len(net), 1), z)], axis=-1) for z in (1e-15, -1e-15))
        sums = length(wrap, np.broadcast_to(A, below.shape), below) + length(
            wrap, above, np.broadcast_to(B, above.shape)
        )
        step, middle = step / 5, net[sums.argmin()]
    assert np.linalg.norm(middle) < hole * (1 - 1e-3)  # in the air
    np.testing.assert_allclose(length(wrap, A, B), sums.min(), atol=1e-12)
