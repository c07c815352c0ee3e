"""Geodesics of every surface with their Jacobi fields, and how normals turn: what Newton's method over several surfaces
asks of one."""

import numpy as np
import pytest

from myoquat.muscle import WrapCylinder, WrapEllipsoid, WrapSphere, WrapTorus

SURFACES = {
    "sphere": WrapSphere(body="b", radius=0.03),
    "cylinder": WrapCylinder(body="b", radius=0.03),
    "ellipsoid": WrapEllipsoid(body="b", radii=(0.03, 0.05, 0.02)),
    "torus": WrapTorus(body="b", ring_radius=0.05, tube_radius=0.02),
}
LENGTH, H = 0.04, 1e-6


@pytest.fixture(params=SURFACES)
def surface(request):
    return SURFACES[request.param]


@pytest.fixture
def begins(surface):
    """Points of the surface, and unit directions in its tangent planes, the second across the first."""
    rng = np.random.default_rng(0)
    P = surface.onto(0.05 * rng.normal(size=(50, 3)))
    n, v = normal(surface, P), rng.normal(size=(50, 3))
    t = unit(v - np.sum(v * n, axis=-1)[:, None] * n)
    return P, t, np.cross(n, t)


def unit(v):
    return v / np.linalg.norm(v, axis=-1)[:, None]


def normal(surface, P):
    return unit(surface.normal(P))


def after(surface, P, t, length=LENGTH):
    return surface.geodesic(P, t, np.full((len(P), 1), length))


def test_a_geodesic_goes_on_where_it_ended_and_comes_back(surface, begins):
    P, t, _ = begins
    whole, half = after(surface, P, t), after(surface, P, t, LENGTH / 2)
    again = after(surface, half.x, half.t, LENGTH / 2)
    back = after(surface, whole.x, whole.t, -LENGTH)
    for found, expected in ((again.x, whole.x), (back.x, P), (surface.onto(whole.x), whole.x)):
        assert np.abs(found - expected).max() < 1e-11
    for found, expected in ((again.t, whole.t), (back.t, t), (unit(whole.t), whole.t)):
        assert np.abs(found - expected).max() < 1e-9


def test_it_bends_only_along_the_normal(surface, begins):
    P, t, b = begins
    bend = (after(surface, P, t, 1e-4).t - after(surface, P, t, -1e-4).t) / 2e-4
    assert np.abs(np.sum(bend * b, axis=-1)).max() < 1e-3
    along = np.sum(bend * normal(surface, P), axis=-1)
    assert np.allclose(along, -np.sum(t * surface.bent(P, t), axis=-1), rtol=1e-3)  # by the curvature along t


def test_the_fields_are_what_neighbours_are_aside(surface, begins):
    P, t, b = begins
    end = after(surface, P, t)
    aside = np.cross(normal(surface, end.x), end.t)
    turned = [after(surface, P, unit(t + h * b)).x for h in (H, -H)]
    begun = [after(surface, P, b, h) for h in (H, -H)]
    moved = [after(surface, x.x, np.cross(x.t, normal(surface, x.x))).x for x in begun]
    for pair, field in ((moved, end.a), (turned, end.r)):
        assert np.abs(np.sum((pair[0] - pair[1]) / (2 * H) * aside, axis=-1) - field).max() < 1e-7  # of the differences
    assert np.abs(end.a * end.dr - end.da * end.r - 1).max() < 1e-11


def test_how_the_normal_turns(surface, begins):
    P, t, b = begins
    for v in (t, b):
        turn = (normal(surface, after(surface, P, v, H).x) - normal(surface, after(surface, P, v, -H).x)) / (2 * H)
        for w in (t, b):
            assert np.abs(np.sum((turn - surface.bent(P, v)) * w, axis=-1)).max() < 1e-6


def test_rounding_errors_of_a_scaled_geodesic_are_small(begins):
    """A surface, a start and a length that are 1.1 times as large give 1.1 times the geodesic: all else is rounding."""
    radii, (P, t, _) = np.array([0.03, 0.05, 0.02]), begins
    ellipsoid, larger = (WrapEllipsoid(body="b", radii=tuple(s * radii)) for s in (1.0, 1.1))
    P = ellipsoid.onto(P)
    t = unit(np.cross(normal(ellipsoid, P), t))
    length = np.full((len(P), 1), LENGTH)
    found, scaled = ellipsoid.geodesic(P, t, length), larger.geodesic(1.1 * P, t, 1.1 * length)
    assert np.sqrt(np.mean((found.t - scaled.t) ** 2)) < 4e-15
    assert np.sqrt(np.mean((found.x - scaled.x / 1.1) ** 2)) < 4e-15 * radii.max()
