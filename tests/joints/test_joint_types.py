"""Every joint type against the definition of its verbs."""

import numpy as np
import pytest

from myoquat.joints import (
    JOINT_FACTS,
    Axis,
    CustomJoint,
    EllipsoidJoint,
    EulerJoint,
    FixedJoint,
    FloatingJoint,
    JointFacts,
    PlanarJoint,
    PrismaticJoint,
    ReversedJoint,
    RevoluteJoint,
    SphericalJoint,
    UniversalJoint,
    joint_table,
)
from myoquat.joints.functions import MultivariatePolynomial
from myoquat.joints.multibody.sampling import KINDS, random_joint
from myoquat.joints.vectors import axis_angle_matrix, matvec
from myoquat.kernels.tracing.derivatives import jacobian_at

COUNT = 6
STEP = 4e-3
STENCIL = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))  # sixth-order central difference


def _joints():
    rng = np.random.default_rng(3)
    joints = [random_joint(rng, [joint_type]) for joint_type in KINDS if joint_type != "fixed"]
    joints += [SphericalJoint(velocity_frame="parent"), FloatingJoint(velocity_frame="parent")]
    joints += [RevoluteJoint(), PrismaticJoint(), PlanarJoint(), UniversalJoint(), EulerJoint("XYZ")]
    joints += [ReversedJoint(joint) for joint in (PlanarJoint(), EulerJoint("ZXY"), EllipsoidJoint((0.1, 0.2, 0.3)))]
    plane = MultivariatePolynomial(3, 1, (0.1, 0.7, -0.4, 0.9))
    bent = MultivariatePolynomial(2, 2, (0.1, 0.2, 0.4, -0.3, 0.5, 0.6))
    turns = Axis((0.0, 0.0, 1.0), 2), Axis((1.0, 2.0, 0.5), (0, 1), bent), Axis((1.0, 0.0, 0.0), (2, 0, 1), plane)
    return [*joints, CustomJoint(("x", "y", "z"), turns)]


@pytest.fixture(params=_joints(), ids=lambda joint: f"{joint.kind}-{getattr(joint, 'velocity_frame', '')}")
def joint(request):
    return request.param


@pytest.fixture
def state(joint):
    rng = np.random.default_rng(5)
    return joint.random(COUNT, rng), rng.normal(size=(COUNT, joint.nu))


def _along(function, nu):
    """Derivative (..., m, nu) of a function of the small motion, which broadcasts."""
    return jacobian_at(lambda m: function(m) + 0 * m[..., :1], np.zeros((COUNT, nu)))


def _rotation_entries(joint, q):
    R, _ = joint.transform(q)
    return R.reshape((*R.shape[:-2], 9))


def _vee(W):
    return np.stack([W[..., 2, 1, :], W[..., 0, 2, :], W[..., 1, 0, :]], axis=-2)


def test_facts_agree_with_table(joint):
    facts = JOINT_FACTS[joint.kind]
    if joint.kind not in ("custom", "reversed"):
        assert joint.facts == facts
    assert (joint.nq, joint.nu) == (len(joint.coordinate_suffixes), len(joint.velocity_suffixes))
    assert len(joint.facts.coordinate_units) == joint.nq
    assert len(joint.facts.velocity_units) == joint.nu


def test_the_origin_lies_on_the_ellipsoid(rng):
    joint = EllipsoidJoint((0.1, 0.2, 0.15), "ZYX")
    R, p = joint.transform(joint.random(20, rng))
    np.testing.assert_allclose(((p / joint.radii) ** 2).sum(-1), 1.0, atol=1e-14)
    np.testing.assert_allclose(p / joint.radii, R[..., 2], atol=1e-15)
    with pytest.raises(ValueError, match="three positive numbers"):
        EllipsoidJoint((0.1, 0.0, 0.1))


def test_table_of_joints_has_the_sizes_of_their_velocities_and_coordinates():
    sizes = {row["joint"]: (row["|u|"], row["|q|"]) for row in joint_table()}
    moving = {"floating": (6, 7), "spherical": (3, 4), "revolute": (1, 1), "prismatic": (1, 1), "universal": (2, 2)}
    moving |= dict.fromkeys(("euler", "planar", "ellipsoid", "constant_curvature", "gimbal"), (3, 3))
    moving |= dict.fromkeys(("custom", "reversed"), (6, 6))
    assert sizes == moving | dict.fromkeys(("fixed", "follower"), (0, 0))  # a follower moves with others' coordinates


def test_neutral_is_the_joint_frame(joint):
    if joint.kind in ("custom", "ellipsoid", "constant_curvature", "reversed"):
        return
    R, p = joint.transform(joint.neutral())
    np.testing.assert_allclose(R, np.eye(3), atol=1e-15)
    np.testing.assert_allclose(p, 0, atol=1e-15)


def test_subspace_is_the_motion_of_the_child_frame(joint, state):
    q, _ = state
    R, _ = joint.transform(q)
    R = np.broadcast_to(R, (COUNT, 3, 3))
    dR = _along(lambda m: _rotation_entries(joint, joint.displaced(q, m)), joint.nu).reshape(COUNT, 3, 3, -1)
    dp = _along(lambda m: joint.transform(joint.displaced(q, m))[1], joint.nu)
    S_omega, S_v = joint.subspace(q)
    omega = _vee(np.einsum("nki,nkjm->nijm", R, dR))
    np.testing.assert_allclose(omega, np.broadcast_to(S_omega, omega.shape), atol=1e-13)
    v = np.einsum("nki,nkm->nim", R, dp)
    np.testing.assert_allclose(v, np.broadcast_to(S_v, v.shape), atol=1e-13)


def test_drift_is_the_rate_of_the_subspace(joint, state):
    q, u = state

    def velocity(t):
        S_omega, S_v = joint.subspace(joint.integrate(q, t * u))
        return np.concatenate([matvec(S_omega, u), matvec(S_v, u)], axis=-1)

    rate = sum(c * (velocity(k * STEP) - velocity(-k * STEP)) for k, c in STENCIL) / STEP
    drift = np.concatenate([np.broadcast_to(part, (COUNT, 3)) for part in joint.drift(q, u)], axis=-1)
    np.testing.assert_allclose(drift, rate, atol=1e-9)


def test_rate_matrix_and_inverse(joint, state):
    q, _ = state
    N = np.broadcast_to(joint.rate_matrix(q), (COUNT, joint.nq, joint.nu))
    np.testing.assert_allclose(joint.rate_inverse(q) @ N - np.eye(joint.nu), 0, atol=1e-14)
    np.testing.assert_allclose(_along(lambda m: joint.displaced(q, m), joint.nu), N, atol=1e-14)


def test_difference_undoes_integrate(joint, state):
    q, u = state
    np.testing.assert_allclose(joint.difference(q, joint.integrate(q, 0.3 * u)), 0.3 * u, atol=1e-14)
    other = joint.random(COUNT, np.random.default_rng(8))
    for a, b in zip(
        joint.transform(other), joint.transform(joint.integrate(q, joint.difference(q, other))), strict=True
    ):
        np.testing.assert_allclose(a, b, atol=1e-13)


def test_integrate_is_the_flow_of_constant_u(joint, state):
    """Two half steps make one whole: the subgroup property of a constant velocity."""
    q, u = state
    twice = joint.integrate(joint.integrate(q, u / 2), u / 2)
    np.testing.assert_allclose(twice, joint.integrate(q, u), atol=1e-14)


def test_placed_agrees_with_transform(joint, state):
    q, _ = state
    R_frame, p_frame = axis_angle_matrix((0.6, 0.8, 0.0), 0.4), np.array([0.3, -0.2, 0.5])
    R, p = joint.transform(q)
    R_placed, p_placed = joint.placed(R_frame, p_frame, q)
    np.testing.assert_allclose(R_placed, R_frame @ R, atol=1e-14)
    np.testing.assert_allclose(p_placed, np.broadcast_to(p_frame + matvec(R_frame, p), p_placed.shape), atol=1e-14)


def test_deviation_gives_the_force_of_a_spring(joint, state):
    """d(|d|^2/2)/dt = d . u along every motion, which makes -k d the generalized force."""
    q, u = state
    mount = joint.integrate(q, 0.7 * np.random.default_rng(1).uniform(-1, 1, (COUNT, joint.nu)))

    def energy(t):
        d = joint.deviation(joint.integrate(q, t * u), mount)
        return np.sum(d * d, axis=-1) / 2

    rate = sum(c * (energy(k * STEP) - energy(-k * STEP)) for k, c in STENCIL) / STEP
    np.testing.assert_allclose(np.sum(joint.deviation(q, mount) * u, axis=-1), rate, atol=1e-9)


def test_fixed_joint_moves_nothing():
    joint = FixedJoint()
    assert (joint.nq, joint.nu) == (0, 0)
    assert joint.random(4, np.random.default_rng(0)).shape == (4, 0)


@pytest.mark.parametrize("joint_type", [RevoluteJoint, PrismaticJoint, PlanarJoint])
@pytest.mark.parametrize("axis", [(0.0, 0.0, 0.0), (1.0, float("nan"), 0.0), (1.0, 0.0)])
def test_impossible_axes_are_refused(joint_type, axis):
    with pytest.raises(ValueError, match="axis"):
        joint_type(axis)


def test_impossible_joints_are_refused():
    with pytest.raises(ValueError, match="two different axes"):
        UniversalJoint((1.0, 0.0, 0.0), (-2.0, 0.0, 0.0))
    with pytest.raises(ValueError, match="at most 6 coordinates"):
        CustomJoint(tuple("abcdefg"))
    with pytest.raises(ValueError, match="uses coordinate 1, but there are 1"):
        CustomJoint(("a",), rotations=(Axis((1.0, 0.0, 0.0), 1),))
    with pytest.raises(ValueError, match="units must be"):
        CustomJoint(("a",), units=("degree",))


def test_a_type_has_the_registered_name_of_its_facts_or_its_own():
    facts = JointFacts("lift", ("height",), ("m",), "joint z")
    named = type("Named", (PrismaticJoint,), {"kind": "elevator", "facts": facts})
    assert (type("Unnamed", (PrismaticJoint,), {"facts": facts}).kind, named.kind) == ("lift", "elevator")
