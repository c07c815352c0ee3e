"""The planar skeleton in closed form against the articulated system, energies and symbols."""

import numpy as np
import pytest
import sympy

from myoquat.dynamics import (
    PlanarSkeleton,
    bias_force,
    forward_dynamics,
    mass_matrix,
    skeleton_bias,
    skeleton_end,
    skeleton_fd,
    skeleton_id,
    skeleton_mass,
    wrench_at,
)
from myoquat.joints import ModelError
from myoquat.joints.kinematics import frame_jacobian


@pytest.fixture(params=[1, 2, 3, 6])
def case(request):
    n = request.param
    rng = np.random.default_rng(n)
    skeleton = PlanarSkeleton(*(tuple(rng.uniform(0.2, 1.0, n)) for _ in range(4)))
    q, qd, qdd = (rng.uniform(-2, 2, (5, n)) for _ in range(3))
    return skeleton, q, qd, qdd, rng.normal(size=(5, 2))


def test_agrees_with_the_articulated_system(case):
    skeleton, q, qd, qdd, f = case
    system = skeleton.system()
    np.testing.assert_allclose(skeleton_mass(skeleton, q), mass_matrix(system, q), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(skeleton_bias(skeleton, q, qd), bias_force(system, q, qd), rtol=1e-12, atol=1e-12)
    end = np.array([skeleton.lengths[-1], 0.0, 0.0])
    _, J = skeleton_end(skeleton, q)
    np.testing.assert_allclose(J, frame_jacobian(system, q, f"link{skeleton.n}", end)[:, :2], atol=1e-13)
    tau = skeleton_id(skeleton, q, qd, qdd, f)
    force = np.concatenate([f, np.zeros((5, 1))], axis=-1)
    f_ext = wrench_at(system, q, f"link{skeleton.n}", force, point=end)
    reached = forward_dynamics(system, q, qd, tau, f_ext)
    np.testing.assert_allclose(reached, skeleton_fd(skeleton, q, qd, tau, f), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(reached, qdd, rtol=1e-9, atol=1e-10)


def test_without_force_at_the_end(case):
    skeleton, q, qd, qdd, _ = case
    tau = skeleton_id(skeleton, q, qd, qdd)
    np.testing.assert_allclose(skeleton_fd(skeleton, q, qd, tau), qdd, rtol=1e-9, atol=1e-10)


def test_one_link_is_the_pendulum():
    skeleton = PlanarSkeleton((1.0,), (0.4,), (2.0,), (0.1,))
    q = np.array([0.3])
    np.testing.assert_allclose(skeleton_mass(skeleton, q), [[0.1 + 2.0 * 0.16]])
    np.testing.assert_allclose(skeleton_bias(skeleton, q, [5.0]), [2.0 * 9.81 * 0.4 * np.cos(0.3)])


def test_symbols_print():
    skeleton = PlanarSkeleton((1.0, 1.0), (0.5, 0.5), (1.0, 2.0), (0.25, 0.5))
    q1, q2 = sympy.symbols("q1 q2", real=True)
    H = sympy.Matrix(np.asarray(skeleton_mass(skeleton, [q1, q2]))).applyfunc(sympy.nsimplify).applyfunc(sympy.simplify)
    assert sympy.simplify(H[0, 1] - (1 + sympy.cos(q2))) == 0


def test_bad_input():
    with pytest.raises(ModelError, match="centers must be 2"):
        PlanarSkeleton((1.0, 1.0), (0.5,), (1.0, 1.0), (0.1, 0.1))
    with pytest.raises(ModelError, match="negative"):
        PlanarSkeleton((1.0,), (0.5,), (-1.0,), (0.1,))
    skeleton = PlanarSkeleton((1.0,), (0.5,), (1.0,), (0.1,))
    with pytest.raises(ValueError, match=r"expected \(\.\.\., 1\)"):
        skeleton_fd(skeleton, [0.1, 0.2], [0.0], [0.0])
    with pytest.raises(ValueError, match="finite"):
        skeleton_id(skeleton, [np.nan], [0.0], [0.0])
