"""Child and parent velocity frames, and angles instead of quaternions: the same motion, the same forces."""

from dataclasses import replace

import numpy as np
import pytest

from myoquat import kernels
from myoquat.dynamics import forward_dynamics, inverse_dynamics, kinetic_energy, mass_matrix
from myoquat.joints import convert_velocities
from myoquat.joints.kinematics import frame_acceleration, frame_velocity
from myoquat.joints.multibody.sampling import random_system

COUNT = 5


@pytest.fixture
def pair():
    """A system with child-frame velocities, the same with parent-frame ones, and a state of the first."""
    rng = np.random.default_rng(1)
    child = random_system(7, rng, ("spherical", "floating", "revolute", "custom"), passive=True)
    child = replace(child, bodies=tuple(replace(body, rotor_inertia=0.3) for body in child.bodies))
    parent = replace(child, velocity_frame="parent")
    return child, parent, child.random(COUNT, rng), rng.normal(size=(COUNT, child.nu)), rng


def _matrix(source, target, q):
    """(..., nu, nu) A with u_target = A u_source at q."""
    return np.stack([convert_velocities(source, target, q, e) for e in np.eye(source.nu)], axis=-1)


def _motion(system, q, u, udot):
    """(n, bodies, 6) velocities and accelerations of all bodies, by one kernel."""

    def all_bodies(q, u, udot):
        velocities = [frame_velocity(system, q, u, name) for name in system.body_names]
        return np.stack(velocities), np.stack([frame_acceleration(system, q, u, udot, n) for n in system.body_names])

    return kernels.compile(all_bodies, {"q": system.nq, "u": system.nu, "udot": system.nu})(q, u, udot)


def _same_motion(a, b, q_a, q_b, u_a, u_b, udot_a, udot_b):
    velocities, accelerations = _motion(a, q_a, u_a, udot_a)
    others = _motion(b, q_b, u_b, udot_b)
    np.testing.assert_allclose(velocities, others[0], atol=1e-12)
    for k in range(len(a.body_names)):
        x = accelerations[:, k]
        np.testing.assert_allclose(x, others[1][:, k], atol=1e-9 * np.abs(x).max())


def test_forces_and_motions_agree(pair):
    """tau transforms with A^-T, so that the power is the same; the accelerations of all bodies then agree."""
    child, parent, q, u, rng = pair
    A = _matrix(child, parent, q)
    u_parent = convert_velocities(child, parent, q, u)
    np.testing.assert_allclose(np.einsum("nij,nj->ni", A, u), u_parent, atol=1e-14)
    np.testing.assert_allclose(kinetic_energy(child, q, u), kinetic_energy(parent, q, u_parent), rtol=1e-13)
    M, M_parent = mass_matrix(child, q), mass_matrix(parent, q)
    np.testing.assert_allclose(M, np.swapaxes(A, -1, -2) @ M_parent @ A, atol=1e-12)
    tau = rng.normal(size=(COUNT, child.nu))
    tau_parent = np.linalg.solve(np.swapaxes(A, -1, -2), tau[..., None])[..., 0]
    udot = forward_dynamics(child, q, u, tau)
    udot_parent = forward_dynamics(parent, q, u_parent, tau_parent)
    _same_motion(child, parent, q, q, u, u_parent, udot, udot_parent)
    np.testing.assert_allclose(inverse_dynamics(parent, q, u_parent, udot_parent), tau_parent, atol=1e-9)


def test_back_and_forth(pair):
    child, parent, q, u, _ = pair
    np.testing.assert_allclose(
        convert_velocities(parent, child, q, convert_velocities(child, parent, q, u)), u, atol=1e-14
    )
    np.testing.assert_allclose(child.rates(q, u), parent.rates(q, convert_velocities(child, parent, q, u)), atol=1e-14)
