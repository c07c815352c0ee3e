"""A hint says over which part of a surface a path is laid, and how it goes round from there."""

from dataclasses import replace

import numpy as np
import pytest
from models import CASES, CYLINDER, ELBOW, FAR, INSERTION, ORIGIN, SPHERE, length_over, missed, poses, system

from myoquat.data import load_model
from myoquat.joints.errors import ModelError
from myoquat.muscle import Model, Muscle, MusclePath, PathFlag, WrapCylinder, WrapSphere, WrapTorus, path_flags

RADIUS = 0.1
HINT = (0.03, 0.1, 0.02)
ROUND = {"cylinder": WrapCylinder(body="g", radius=RADIUS), "sphere": WrapSphere(body="g", radius=RADIUS)}
HINTED = {
    "sphere": ((ORIGIN, INSERTION), (replace(SPHERE, hint=(0.02, -0.01, 0.03)),)),
    "cylinder": ((ORIGIN, INSERTION), (replace(CYLINDER, hint=(0.0, 0.03, 0.5)),)),
    "several": ((ORIGIN, FAR), (replace(SPHERE, hint=(0.03, 0.0, 0.01)), replace(ELBOW, hint=(-0.02, 0.02, 0.0)))),
}


def ends(n, seed=0):
    """Two points (n, 3) outside the cylinder for each case."""
    A, B = np.random.default_rng(seed).normal(size=(2, 4 * n, 3)) * 2 * RADIUS
    outside = np.minimum(*(np.hypot(x[:, 0], x[:, 1]) for x in (A, B))) > 1.1 * RADIUS
    return A[outside][:n], B[outside][:n]


def length(wrap, A, B):
    c = wrap.contact(A, B)
    return length_over(c, A, B), c


def shoulder(*names):
    return Model(
        system(),
        tuple(Muscle(name, MusclePath(path, wraps=wraps)) for name, (path, wraps) in HINTED.items() if name in names),
    )


def by_azimuths(a, b, hint):
    """(n,) angle on a circle by the tangent points' azimuths as seen from the hint, one end after the other."""
    result = []
    for x, y in zip(a, b, strict=True):
        sense = np.sign(hint[0] * (y - x)[1] - hint[1] * (y - x)[0])
        tangents = []
        for point, turn in ((x, sense), (y, -sense)):
            angle = np.arctan2(point[1], point[0]) + turn * np.arccos(RADIUS / np.hypot(*point))
            tangents.append(np.angle(np.exp(1j * (angle - np.arctan2(hint[1], hint[0])))))
        result.append(sense * (tangents[1] - tangents[0]))
    return np.array(result)


def test_the_rule_in_the_plane():
    A, B = ends(2000)
    wrap = replace(ROUND["cylinder"], hint=HINT)
    angle = by_azimuths(A[:, :2], B[:, :2], np.array(HINT[:2]))
    _, c = length(wrap, A * [1, 1, 0], B * [1, 1, 0])
    np.testing.assert_allclose(c.arc[angle > 0], RADIUS * angle[angle > 0], atol=1e-12)
    shortest = ROUND["cylinder"].contact(A, B)
    assert (c.on == ((angle > 0) | shortest.on)).all()
    assert (angle > np.pi).any()
    assert ((angle <= 0) & shortest.on).any()  # the straight line runs into it: round the shorter way


@pytest.mark.parametrize("surface_type", list(ROUND))
def test_a_hint_on_the_shortest_path_changes_nothing_and_there_is_no_shorter_one(surface_type):
    A, B = ends(1000)
    shortest, c = length(ROUND[surface_type], A, B)
    hinted, _ = length(replace(ROUND[surface_type], hint=HINT), A, B)
    assert (hinted > shortest - 1e-14).all()
    for k in np.flatnonzero(c.on)[:100]:
        middle = tuple(c.P[k] + c.Q[k])
        assert abs(length(replace(ROUND[surface_type], hint=middle), A[k], B[k])[0] - shortest[k]) < 1e-14


@pytest.mark.parametrize("surface_type", list(ROUND))
def test_backwards_mirrored_and_turned_paths_are_as_long(surface_type):
    A, B = ends(1000)
    wrap = replace(ROUND[surface_type], hint=HINT)
    forth, c = length(wrap, A, B)
    np.testing.assert_allclose(length(wrap, B, A)[0], forth, rtol=1e-14)
    mirror = np.array([-1.0, 1.0, 1.0])
    np.testing.assert_allclose(
        length(replace(wrap, hint=tuple(mirror * HINT)), mirror * A, mirror * B)[0], forth, rtol=1e-14
    )
    s = np.sqrt(0.5)
    R = np.array([[s, -s, 0], [s, s, 0], [0, 0, 1]])
    turned, again = length(replace(wrap, hint=tuple(R @ HINT)), A @ R.T, B @ R.T)
    np.testing.assert_allclose(turned, forth, rtol=1e-13)
    assert np.abs(again.P - c.P @ R.T)[c.on].max() < 1e-13


@pytest.mark.parametrize(("surface_type", "about"), [("cylinder", 2), ("sphere", 5)])
def test_lengths_jump_only_where_it_is_said(surface_type, about):
    A, B = ends(1000)
    wrap, rng = replace(ROUND[surface_type], hint=HINT), np.random.default_rng(1)
    before, c = length(wrap, A, B)
    for _ in range(50):
        step = 10 ** rng.uniform(-4, -1.5, (len(A), 1))
        moved = rng.normal(size=A.shape)
        moved *= step / np.linalg.norm(moved, axis=1, keepdims=True)
        for end, ends_moved in enumerate(((A + moved, B), (A, B + moved))):
            jumped = np.abs(length(wrap, *ends_moved)[0] - before) > 1.001 * step[:, 0]
            assert not (jumped & (c.jump[:, end] > about * step[:, 0])).any()


def test_jacobians_are_slopes():
    model, q = shoulder(*HINTED), poses(60)
    assert not (path_flags(model, q) & PathFlag.UNSOLVED).any()
    assert (path_flags(model, q) & PathFlag.WRAPPED).any(axis=0).all()
    smooth = (path_flags(model, q, near=2e-5) & PathFlag.JUMP) == 0
    assert missed(model, q)[smooth].max() < 1e-7


def test_files_and_stretched_bodies_keep_hints(tmp_path):
    model = shoulder(*HINTED)
    model.save(tmp_path / "m.toml")
    assert load_model(tmp_path / "m.toml").muscles == model.muscles
    wrap = HINTED["cylinder"][1][0]
    stretched = wrap.scaled(np.array([2.0, 2.0, 2.0]))
    np.testing.assert_allclose(stretched.hint, 2 * np.array(wrap.hint), rtol=1e-14)
    factors = np.array([1.0, 2.0, 3.0])
    seen = replace(wrap, position=(0.0, 0.0, 0.0))
    np.testing.assert_allclose(
        seen.scaled(factors).hint, seen.seen(factors * seen.in_body(np.array(wrap.hint))), rtol=1e-13
    )


@pytest.mark.parametrize(
    ("wrap", "words"),
    [
        (replace(SPHERE, hint=(0.0, 0.0, 0.0)), "middle of it"),
        (replace(CYLINDER, hint=(0.0, 0.0, 1.0)), "middle of it"),
        (replace(SPHERE, hint=(0.0, 1.0)), "3 finite numbers"),
        (replace(SPHERE, hint=(0.0, np.nan, 0.0)), "3 finite numbers"),
        (replace(SPHERE, hint=(0.0, 1.0, 0.0), quadrant="+x"), "not both"),
    ],
)
def test_hints_that_tell_no_side_are_refused(wrap, words):
    with pytest.raises(ModelError, match=words):
        Model(system(), (Muscle("m", MusclePath(CASES["sphere"][0], wraps=(wrap,))),))


def test_a_ring_is_passed_through_with_any_hint():
    ring = WrapTorus(body="g", ring_radius=2 * RADIUS, tube_radius=RADIUS / 2)
    A, B = ends(50)
    A, B = np.abs(A), -np.abs(B)
    assert (length(replace(ring, hint=(0.1, 0.0, 0.0)), A, B)[0] == length(ring, A, B)[0]).all()
