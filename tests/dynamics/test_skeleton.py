"""The planar skeleton against the derivatives of its points, energies and symbols."""

import numpy as np
import pytest

from myoquat.dynamics import PlanarSkeleton, skeleton_bias, skeleton_end, skeleton_fd, skeleton_id, skeleton_mass
from myoquat.joints import ModelError
from myoquat.kernels.tracing.derivatives import jacobian_at


@pytest.fixture(params=[1, 3])
def case(request):
    n = request.param
    rng = np.random.default_rng(n)
    skeleton = PlanarSkeleton(*(tuple(rng.uniform(0.2, 1.0, n)) for _ in range(4)))
    q, qd, qdd = (rng.uniform(-2, 2, (5, n)) for _ in range(3))
    return skeleton, q, qd, qdd, rng.normal(size=(5, 2))


def points(skeleton, q):
    """(..., n, 2) centres of mass, and (..., 2) the end, by sums of the links' directions."""
    theta = np.cumsum(q, axis=-1)
    along = np.stack([np.cos(theta), np.sin(theta)], axis=-1)
    ends = np.cumsum(along * np.array(skeleton.lengths)[:, None], axis=-2)
    return ends - along * (np.array(skeleton.lengths) - skeleton.centers)[:, None], ends[..., -1, :]


def test_equations_are_those_of_lagrange(case):
    """Against derivatives of the points: H = sum m J^T J + I, and power is the rate of the energy."""
    skeleton, q, qd, qdd, f = case
    n = skeleton.n
    J = np.stack([jacobian_at(lambda x, k=k: points(skeleton, x)[0][..., k, :], q) for k in range(n)])
    turning = np.tril(np.ones((n, n)))
    H = np.einsum("k,kbri,kbrj->bij", skeleton.masses, J, J) + turning.T @ np.diag(skeleton.inertias) @ turning
    np.testing.assert_allclose(skeleton_mass(skeleton, q), H, rtol=1e-12, atol=1e-13)
    place, J_end = skeleton_end(skeleton, q)
    np.testing.assert_allclose(place, points(skeleton, q)[1], atol=1e-14)
    np.testing.assert_allclose(J_end, jacobian_at(lambda x: points(skeleton, x)[1], q), atol=1e-13)

    def energy(t):
        x, v = q + t * qd + t * t / 2 * qdd, qd + t * qdd
        height = points(skeleton, x)[0][..., 1] @ np.array(skeleton.masses)
        return np.einsum("bi,bij,bj->b", v, skeleton_mass(skeleton, x), v) / 2 + skeleton.gravity * height

    tau = skeleton_id(skeleton, q, qd, qdd, f)
    push = tau + np.einsum("bri,br->bi", J_end, f)
    rate = (energy(1e-5) - energy(-1e-5)) / 2e-5
    np.testing.assert_allclose(np.sum(push * qd, axis=-1), rate, atol=1e-7)
    np.testing.assert_allclose(skeleton_fd(skeleton, q, qd, tau, f), qdd, rtol=1e-9, atol=1e-10)
    tau = skeleton_id(skeleton, q, qd, qdd)
    np.testing.assert_allclose(tau, np.einsum("bij,bj->bi", H, qdd) + skeleton_bias(skeleton, q, qd), atol=1e-11)
    np.testing.assert_allclose(skeleton_fd(skeleton, q, qd, tau), qdd, rtol=1e-9, atol=1e-10)


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
