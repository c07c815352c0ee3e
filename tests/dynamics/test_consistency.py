"""Theorems of mechanics on random trees of all joint types."""

import numpy as np
from volume import draws

from myoquat.dynamics import articulated, bias_force, composite, external_force, inverse, inverse_dynamics, wrench_at
from myoquat.joints.kinematics import frame_jacobian
from myoquat.joints.multibody.sampling import random_system


def _case(seed, largest=12, batch=(), passive=True):
    rng = np.random.default_rng(seed)
    bodies = int(rng.integers(1, largest + 1))
    system = random_system(bodies, rng, passive=passive, velocity_frame=("child", "parent")[seed % 2])
    q = system.random(int(np.prod(batch)), rng).reshape((*batch, system.nq))
    u, udot = rng.normal(size=(2, *batch, system.nu))
    return system, q, u, udot, rng.normal(size=(*batch, bodies, 6))


def test_forward_dynamics_inverts_inverse_dynamics_on_many_trees():
    """Relative error below 1e-10; a mass matrix of condition number c > 1e6 is granted 1e-16 c. One
    tree in a hundred may be above 1e-11.

    Every fifth tree has up to 30 bodies, the others up to 8. `python -m benchmarks trees` does 1,000 trees of up to 30
    bodies and shows the worst.
    """
    ill, count = 0, draws(40, 300)
    for seed in range(count):
        system, q, u, udot, f_ext = _case(seed, largest=8 if seed % 5 else 30)
        if not system.nu:
            continue
        tau = inverse.inverse(system, q, u, udot, f_ext)
        error = np.abs(articulated.forward(system, q, u, tau, f_ext) - udot).max() / np.abs(udot).max()
        M = composite.mass(system, q)
        np.testing.assert_array_equal(M, M.T)
        if error > 1e-11:
            condition = np.linalg.cond(M)
            assert error < 1e-10 * max(1.0, condition / 1e6), f"seed {seed}: {error:.3g}, cond {condition:.3g}"
            ill += 1
    assert ill <= count // 100


def test_batches_broadcast_and_out_is_filled():
    system, q, u, udot, _ = _case(3, batch=(4,), largest=5)
    both = inverse_dynamics(system, q[:, None], u[None, :], udot)
    assert both.shape == (4, 4, system.nu)
    np.testing.assert_allclose(both[2, 1], inverse_dynamics(system, q[2], u[1], udot[1]), rtol=1e-12)
    out = np.empty((4, system.nu))
    assert bias_force(system, q, u, out=out) is out
    np.testing.assert_array_equal(out, bias_force(system, q, u))
    assert bias_force(system, q, u, out=out, backend="numpy") is out


def test_wrench_at_a_point_is_its_jacobian_transposed():
    system, q, _, _, _ = _case(11, batch=(3,), largest=8)
    rng = np.random.default_rng(0)
    point, force, torque = rng.normal(size=(3, 3, 3))
    for name in system.body_names:
        f_ext = wrench_at(system, q, name, force, torque, point)
        J = frame_jacobian(system, q, name, point)
        expected = np.einsum("nij,ni->nj", J, np.concatenate([force, torque], axis=-1))
        np.testing.assert_allclose(external_force(system, q, f_ext), expected, atol=1e-12)


def test_joint_order_permutes_and_changes_nothing_else():
    rng = np.random.default_rng(9)
    system = random_system(6, rng, shuffle=False)
    order = [system.body_names[i] for i in rng.permutation(6)]
    other = type(system)(system.bodies, joint_order=order)
    q, u = system.random(1, rng)[0], rng.normal(size=system.nu)
    q_other = np.concatenate([q[system.q_slices[system.indices.body(name)]] for name in order])
    indices = np.concatenate([np.arange(system.nu)[system.u_slices[system.indices.body(name)]] for name in order])
    np.testing.assert_allclose(
        composite.mass(other, q_other), composite.mass(system, q)[np.ix_(indices, indices)], atol=1e-14
    )
    np.testing.assert_allclose(
        inverse.bias(other, q_other, u[indices]), inverse.bias(system, q, u)[indices], atol=1e-13
    )
