"""Contact of solids: closest points and depths against the supporting planes of both."""

from itertools import combinations_with_replacement

import numpy as np
import pytest

import myoquat as mq
from myoquat.joints import ModelError, random_quaternions, rotation_matrix
from myoquat.muscle.contact import touch
from myoquat.muscle.forces import ContactCapsule, ContactEllipsoid, ContactHalfSpace, ContactSphere, LinearContact
from tests.bodies import afloat

SYSTEM = mq.ArticulatedSystem(tuple(afloat(name) for name in ("a", "b")))


def solids(body, rng):
    Q = [tuple(map(float, row)) for row in random_quaternions(2, rng)]
    return {
        "sphere": ContactSphere("s", body, (0.1, 0.0, 0.0), 0.3),
        "capsule": ContactCapsule("c", body, (0.0, 0.1, 0.0), Q[0], 0.2, 0.4),
        "ellipsoid": ContactEllipsoid("e", body, (0.0, 0.0, 0.0), Q[1], (0.2, 0.3, 0.4)),
    }


def heights(solid, n):
    """h(n) of a solid, its greatest n . x over x, by its definition; n (..., 3) in the frame of its body."""
    R = rotation_matrix(np.array(getattr(solid, "orientation", (1.0, 0, 0, 0))))
    d, base = n @ R, n @ np.array(solid.position)
    if isinstance(solid, ContactSphere):
        return base + solid.radius
    if isinstance(solid, ContactCapsule):
        return base + solid.radius + solid.half_length * np.abs(d[..., 2])
    return base + np.linalg.norm(d * solid.radii, axis=-1)


@pytest.mark.parametrize("names", list(combinations_with_replacement(("sphere", "capsule"), 2)))
def test_the_depth_is_that_between_the_supporting_planes_and_no_direction_separates_more(names, rng):
    first, second = solids("a", rng)[names[0]], solids("b", rng)[names[1]]
    n = 200
    q = np.column_stack([0.2 * rng.normal(size=(n, 3)), random_quaternions(n, rng), rng.normal(size=(n, 3)),
                         random_quaternions(n, rng)])  # fmt: skip
    poses = SYSTEM.poses(q)
    found = touch(first, second, poses)
    (R, p), (S, s) = poses["a"], poses["b"]

    def gap(d):  # between the planes across d (..., 3) that support both: negative where they overlap
        along = np.einsum("...i,...ij->...j", d, R), np.einsum("...i,...ij->...j", -d, S)
        return np.sum(d * (s - p), axis=-1) - heights(first, along[0]) - heights(second, along[1])

    apart = found.depth < first.radius + second.radius - 1e-3  # where the segments do not overlap
    assert np.abs(found.depth + gap(found.normal))[apart].max() < 1e-12
    for _ in range(50):
        d = found.normal + 0.3 * rng.normal(size=(n, 3))
        d /= np.linalg.norm(d, axis=-1, keepdims=True)
        assert ((gap(d) <= -found.depth + 1e-12) | ~apart).all()
    assert apart.sum() > 50


@pytest.mark.parametrize("name", ["sphere", "capsule", "ellipsoid"])
def test_a_solid_on_a_plane_is_as_deep_as_its_support_function_says(name, rng):
    solid, floor = solids("a", rng)[name], ContactHalfSpace("f", "ground", (0.0, 0.0, 0.1), (0.1, 0.2, 1.0))
    q = np.tile(SYSTEM.neutral(), (20, 1))
    q[:, 3:7] = random_quaternions(20, rng)
    n = np.array(floor.normal) / np.linalg.norm(floor.normal)
    found = touch(floor, solid, SYSTEM.poses(q))
    R = rotation_matrix(q[:, 3:7])
    expected = n @ np.array(floor.position) + heights(solid, -np.einsum("i,nij->nj", n, R))
    assert found.depth == pytest.approx(expected)


def test_surfaces_without_a_formula_are_rejected():
    surfaces = {
        "f": ContactHalfSpace("f", "ground"),
        "w": ContactHalfSpace("w", "a"),
        "e": ContactEllipsoid("e", "ground"),
        "s": ContactSphere("s", "a", radius=0.1),
        "flat": ContactEllipsoid("b", "a", radii=(1.0, 0.0, 1.0)),
    }
    for first, second, problem in (
        ("f", "w", "ContactHalfSpace and ContactHalfSpace is not supported"),
        ("e", "s", "ContactEllipsoid and ContactSphere is not supported"),
        ("f", "flat", "radii must be positive"),
    ):
        with pytest.raises(ModelError, match=problem):
            mq.Model(SYSTEM, forces=(LinearContact("f", surfaces[first], surfaces[second], stiffness=1.0),))
