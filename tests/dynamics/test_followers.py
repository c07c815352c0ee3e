"""Bodies that hang on frames which follow a ball joint, beyond what the laws of `tests/pairs` say of one of them."""

import numpy as np

import myoquat as mq
from myoquat.analysis.motion import inverse_kinematics
from myoquat.data import Markers
from myoquat.dynamics.constraints import PointLoop
from myoquat.joints import Angles, ArticulatedSystem, Body, FollowerJoint, RevoluteJoint, SphericalJoint, Turn
from myoquat.muscle.coordinates import Marker

AXES = ((0.0, 1.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 1.0, 0.0))


def ball(suffix):
    return SphericalJoint(angles=Angles(tuple(name + suffix for name in ("plane", "elevation", "rotation")), AXES))


def part(name, parent, joint, mass=0.7):
    inertia = (0.1, 0.12, 0.14, 0.0, 0.0, 0.0) if mass else (0.0,) * 6
    return Body(name, parent, joint, (0.2, 0.1, 0.05), mass=mass, center_of_mass=(0.1, -0.1, 0.2), inertia=inertia)


def follower(name, leader, parent, joint, mass=0.7):
    turns = Turn((0.0, 1.0, 0.0), row=(1.0, 0.0, 0.3)), Turn((-1.0, 0.0, 0.0), row=(0.0, 0.8, 0.0))
    return part(name, parent, FollowerJoint(leader, joint, turns), mass)


def two_levels():
    """A follower on a follower, a hinge on that and one on the first leader."""
    one, two = ball("_1"), ball("_2")
    return ArticulatedSystem((
        part("finger", "second", RevoluteJoint((0.3, 0.2, 1.0))), part("arm", "ground", one),
        follower("first", "arm", "ground", one), part("wrist", "first", two),
        follower("second", "wrist", "first", two, mass=0.0), part("elbow", "arm", RevoluteJoint((1.0, 0.0, 0.0))),
    ))  # fmt: skip


def test_dynamics_of_a_follower_on_a_follower(rng):
    """Mass matrices are that of the kinetic energy, of which 60 velocities tell all entries."""
    system = two_levels()
    q, (u, tau) = system.random(1, rng)[0], rng.normal(size=(2, 60, system.nu))
    M, sparse = mq.mass_matrix(system, q), mq.dynamics.sparse_mass_matrix(system, q)
    np.testing.assert_allclose(np.sum(u @ M * u, axis=-1) / 2, mq.dynamics.kinetic_energy(system, q, u), rtol=1e-13)
    entries = np.zeros_like(M)
    entries[sparse.rows, sparse.columns] = entries[sparse.columns, sparse.rows] = sparse.mass
    np.testing.assert_allclose(entries, M, atol=1e-13)
    np.testing.assert_allclose(mq.dynamics.inverse_mass_matrix(system, q) @ M, np.eye(system.nu), atol=1e-11)
    for method in ("aba", "crba"):
        udot = mq.forward_dynamics(system, q, u, tau, method=method)
        np.testing.assert_allclose(mq.inverse_dynamics(system, q, u, udot), tau, atol=1e-11)


def test_velocities_that_move_a_body_include_those_of_its_leaders():
    system = two_levels()  # u: finger, arm (3), wrist (3), elbow
    assert system.velocities_moving("finger") == (1, 2, 3, 4, 5, 6, 0)
    assert system.velocities_moving("elbow") == (1, 2, 3, 7)


def test_marker_and_loop_on_a_hand_move_the_leader():
    """The pose is found again from markers on it, with a loop between the hand and the ground."""
    shoulder = ball("")
    mid, hand = follower("mid", "arm", "ground", shoulder), part("hand", "mid", RevoluteJoint((0.3, 0.2, 1.0)))
    system = ArticulatedSystem((mid, hand, part("arm", "ground", shoulder)))  # the follower before its leader
    q = system.random(1, np.random.default_rng(3))[0]
    R, p = system.poses(q)["hand"]
    loop = PointLoop("hand", "ground", (0.3, 0.0, 0.1), tuple(p + R @ [0.3, 0.0, 0.1]))
    markers = [Marker(f"{body} {k}", body, tuple(0.2 * np.eye(3)[k])) for body in ("arm", "hand") for k in range(3)]
    poses = system.poses(q)
    positions = np.array([poses[m.body][1] + poses[m.body][0] @ m.position for m in markers])[None]
    model = mq.Model(system, markers=tuple(markers), constraints=(loop,))
    recorded = Markers([0.0], tuple(m.name for m in markers), positions)
    start = system.integrate(q, 0.2 * np.ones(system.nu))
    found = inverse_kinematics(model, recorded, start=start)
    for name, (R, p) in system.poses(found.q[0]).items():
        np.testing.assert_allclose(p, poses[name][1], atol=1e-8)
        np.testing.assert_allclose(R, poses[name][0], atol=1e-8)
