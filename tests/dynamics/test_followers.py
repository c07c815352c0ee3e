"""Bodies that hang on frames which follow a ball joint. The expected values come from definitions: M is the Hessian of
the kinetic energy, forward dynamics undo inverse dynamics, derivatives are difference quotients."""

import numpy as np
import pytest

import myoquat as mq
from myoquat.analysis.motion import inverse_kinematics
from myoquat.data import Markers
from myoquat.dynamics.constraints import PointLoop
from myoquat.joints import (
    Angles,
    ArticulatedSystem,
    Body,
    FollowerJoint,
    PrismaticJoint,
    RevoluteJoint,
    SphericalJoint,
    Turn,
)
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


def hand(child, mass=0.7):
    """A hand on a frame, with or without mass, that follows an arm; the follower stands before its leader."""
    shoulder = ball("")
    arm, mid = part("arm", "ground", shoulder), follower("mid", "arm", "ground", shoulder, mass)
    return ArticulatedSystem((mid, part("hand", "mid", child), arm))


def two_levels():
    """A follower on a follower, a hinge on that and one on the first leader."""
    one, two = ball("_1"), ball("_2")
    return ArticulatedSystem((
        part("finger", "second", RevoluteJoint((0.3, 0.2, 1.0))), part("arm", "ground", one),
        follower("first", "arm", "ground", one), part("wrist", "first", two),
        follower("second", "wrist", "first", two, mass=0.0), part("elbow", "arm", RevoluteJoint((1.0, 0.0, 0.0))),
    ))  # fmt: skip


SYSTEMS = {
    "hinge": hand(RevoluteJoint((0.3, 0.2, 1.0))),
    "slide on a frame without mass": hand(PrismaticJoint((1.0, 0.0, 0.0)), mass=0.0),
    "two levels": two_levels(),
}


@pytest.fixture(params=list(SYSTEMS))
def state(request):
    system, rng = SYSTEMS[request.param], np.random.default_rng(0)
    return system, system.random(1, rng)[0], *rng.normal(size=(2, system.nu))


def hessian_of_energy(system, q):

    def energy(u):
        return mq.dynamics.kinetic_energy(system, q, u)

    unit = np.eye(system.nu)
    return np.array([[energy(a + b) - energy(a) - energy(b) for b in unit] for a in unit])


def test_every_form_of_the_mass_matrix_is_that_of_the_kinetic_energy(state):
    system, q, *_ = state
    M = hessian_of_energy(system, q)
    sparse = mq.dynamics.sparse_mass_matrix(system, q)
    entries = np.zeros_like(M)
    entries[sparse.rows, sparse.columns] = entries[sparse.columns, sparse.rows] = sparse.mass
    np.testing.assert_allclose(mq.mass_matrix(system, q), M, atol=1e-13)
    np.testing.assert_allclose(entries, M, atol=1e-13)
    np.testing.assert_allclose(mq.dynamics.inverse_mass_matrix(system, q) @ M, np.eye(system.nu), atol=1e-11)


@pytest.mark.parametrize("method", ["aba", "crba"])
def test_forward_dynamics_undo_inverse_dynamics(state, method):
    system, q, u, tau = state
    f_ext = np.random.default_rng(1).normal(size=(len(system.bodies), 6))
    for wrenches in (None, f_ext):
        udot = mq.forward_dynamics(system, q, u, tau, wrenches, method=method)
        np.testing.assert_allclose(mq.inverse_dynamics(system, q, u, udot, wrenches), tau, atol=1e-11)


def test_velocities_that_move_a_body_include_those_of_its_leaders():
    system = two_levels()  # u: finger, arm (3), wrist (3), elbow
    assert system.velocities_moving("finger") == (1, 2, 3, 4, 5, 6, 0)
    assert system.velocities_moving("elbow") == (1, 2, 3, 7)


def test_marker_and_loop_on_a_hand_move_the_leader():
    """The pose is found again from markers on it, with a loop between the hand and the ground."""
    system = SYSTEMS["hinge"]
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
