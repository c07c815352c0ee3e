"""Contact of convex solids: closest points and depths against the supporting planes of both."""

from itertools import combinations_with_replacement

import numpy as np
import pytest

import myoquat as mq
from myoquat.joints import ModelError, random_quaternions, rotation_matrix
from myoquat.muscle import limit_torques
from myoquat.muscle.contact import touch
from myoquat.muscle.forces import (
    ContactCapsule,
    ContactEllipsoid,
    ContactHalfSpace,
    ContactSphere,
    LinearContact,
)

SYSTEM = mq.ArticulatedSystem(
    tuple(mq.Body(name, "ground", mq.joints.FloatingJoint(), mass=1.0) for name in ("a", "b"))
)


def solids(body, rng):
    Q = [tuple(map(float, row)) for row in random_quaternions(3, rng)]
    return {
        "sphere": ContactSphere("s", body, (0.1, 0.0, 0.0), 0.3),
        "capsule": ContactCapsule("c", body, (0.0, 0.1, 0.0), Q[0], 0.2, 0.4),
        "ellipsoid": ContactEllipsoid("e", body, (0.0, 0.0, 0.0), Q[1], (0.2, 0.3, 0.4)),
        "round": ContactEllipsoid("r", body, (0.0, 0.0, 0.1), Q[2], (0.3, 0.3, 0.25)),
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


@pytest.mark.parametrize("names", list(combinations_with_replacement(solids("a", np.random.default_rng(0)), 2)))
def test_the_depth_is_that_between_the_supporting_planes_and_no_direction_separates_more(names, rng):
    first, second = solids("a", rng)[names[0]], solids("b", rng)[names[1]]
    n = 200
    q = np.column_stack([0.2 * rng.normal(size=(n, 3)), random_quaternions(n, rng), rng.normal(size=(n, 3)),
                         random_quaternions(n, rng)])  # fmt: skip
    poses = SYSTEM.poses(q)
    found = touch(first, second, poses, 1.0)
    (R, p), (S, s) = poses["a"], poses["b"]

    def gap(d):  # between the planes across d (..., 3) that support both: negative where they overlap
        along = np.einsum("...i,...ij->...j", d, R), np.einsum("...i,...ij->...j", -d, S)
        return np.sum(d * (s - p), axis=-1) - heights(first, along[0]) - heights(second, along[1])

    deepest = first.core.radius + second.core.radius - 1e-3  # where cores do not overlap
    apart = (found.depth < deepest) & (found.depth > -1.0)  # and are within the margin
    assert np.abs(found.depth + gap(found.normal))[apart].max() < 1e-6  # curved solids converge slowly
    for _ in range(50):
        d = found.normal + 0.3 * rng.normal(size=(n, 3))
        d /= np.linalg.norm(d, axis=-1, keepdims=True)
        assert ((gap(d) <= -found.depth + 1e-6) | ~apart).all()
    assert apart.sum() > 50


@pytest.mark.parametrize("name", ["capsule"])
def test_a_solid_on_a_plane_is_as_deep_as_its_support_function_says(name, rng):
    solid, floor = solids("a", rng)[name], ContactHalfSpace("f", "ground", (0.0, 0.0, 0.1), (0.1, 0.2, 1.0))
    q = np.tile(SYSTEM.neutral(), (20, 1))
    q[:, 3:7] = random_quaternions(20, rng)
    n = np.array(floor.normal) / np.linalg.norm(floor.normal)
    found = touch(floor, solid, SYSTEM.poses(q))
    R = rotation_matrix(q[:, 3:7])
    expected = n @ np.array(floor.position) + heights(solid, -np.einsum("i,nij->nj", n, R))
    assert found.depth == pytest.approx(expected)


def test_far_solids_do_not_press_and_two_planes_are_rejected():
    egg, ball = ContactEllipsoid("e", "ground"), ContactSphere("s", "a", radius=0.1)
    force = LinearContact("f", egg, ball, stiffness=1e3, margin=0.1)
    q = SYSTEM.neutral()
    q[2] = 1.25
    assert not limit_torques(mq.Model(SYSTEM, forces=(force,)), q, np.zeros(12)).any()
    planes = [ContactHalfSpace(name, body) for name, body in (("f", "ground"), ("w", "a"))]
    with pytest.raises(ModelError, match="ContactHalfSpace and ContactHalfSpace is not supported"):
        mq.Model(SYSTEM, forces=(LinearContact("f", *planes, stiffness=1.0),))
    with pytest.raises(ModelError, match="radii must be positive"):
        mq.Model(SYSTEM, forces=(LinearContact("f", ContactEllipsoid("b", "a", radii=(1.0, 0.0, 1.0)), ball, 1.0),))
