"""Second derivatives of lengths past surfaces where a solver finds the path, beside differences of moment arms."""

import numpy as np
import pytest

import myoquat as mq
from myoquat import kernels
from myoquat.dynamics import Inputs, forward_dynamics_hvp, linearize
from myoquat.joints.types import FloatingJoint
from myoquat.kernels.tracing.derivatives import jacobian_at
from myoquat.muscle import (
    Model,
    Muscle,
    MusclePath,
    PathFlag,
    PathPoint,
    WrapCylinder,
    WrapEllipsoid,
    WrapSphere,
    WrapTorus,
    laws,
    path_flags,
    path_jacobian,
)
from myoquat.muscle.segments.lengths import velocity_jacobian
from tests.differences import differences

STEP = 1e-5  # [m, rad] of the differences
EGG = WrapEllipsoid(body="egg", radii=(0.04, 0.07, 0.05))
SIDE = WrapCylinder(body="side", radius=0.04, quadrant="+x")


def floating(*wraps):
    """A path from the ground to a floating body, past surfaces on floating bodies; poses near the line between them."""
    names = [*(wrap.body for wrap in wraps), "end"]
    system = mq.ArticulatedSystem(tuple(mq.Body(name, "ground", FloatingJoint(), mass=1.0) for name in names))
    path = MusclePath((PathPoint("ground", (-0.3, 0.0, 0.0)), PathPoint("end", (0.0, 0.0, 0.0))), wraps)
    rng, parts = np.random.default_rng(5), []
    for k in range(len(names)):
        Q = rng.normal(size=(80, 4))
        place = np.array([-0.3 + 0.6 * (k + 1) / len(names), 0.0, 0.0]) + 0.03 * rng.normal(size=(80, 3))
        parts += [place, Q / np.linalg.norm(Q, axis=1, keepdims=True)]
    return Model(system, (Muscle("m", path),)), np.concatenate(parts, axis=1)


@pytest.mark.parametrize("wraps", [(EGG,), (EGG, SIDE)], ids=["ellipsoid", "ellipsoid and cylinder with a side"])
def test_second_derivatives_are_differences_of_moment_arms(wraps):
    """Also where a torus makes a path without them, and for third ones: an error that says so."""
    model, q = floating(*wraps)
    system, paths = model.system, model.paths

    def curvature(q):
        def turned(motion):
            return velocity_jacobian(system, paths, system.displaced(q, motion))[..., 0, :]

        return jacobian_at(turned, np.zeros(system.nu), like=q)

    q = q[path_flags(model, q)[:, 0] == PathFlag.WRAPPED]
    assert len(q) > 40
    kernel, expected = (
        kernels.compile(curvature, {"q": system.nq}),
        differences(lambda v: path_jacobian(model, system.integrate(q, v))[:, 0], np.zeros(system.nu), STEP),
    )
    found = kernel(q)
    size = np.abs(expected).max(axis=(1, 2))
    off = np.abs(found - expected).max(axis=(1, 2)) / size
    assert np.median(off) < 1e-6
    assert off.max() < 2e-4  # of differences whose moment arms are right to 1e-9
    with pytest.raises(ValueError, match="has no derivative"):
        kernel.jacobian()


def test_a_round_ellipsoid_has_the_derivatives_of_a_sphere():
    """Whose contact is a closed form: the linear model of a muscle-driven body."""

    def linear(wrap):
        shoulder = mq.joints.SphericalJoint()
        arm = mq.Body(
            "arm", "ground", shoulder, mass=2.0, center_of_mass=(0, 0, -0.2), inertia=(0.02, 0.02, 0.01, 0, 0, 0)
        )
        path = MusclePath((PathPoint("ground", (0.02, 0.01, 0.1)), PathPoint("arm", (0.03, -0.01, -0.15))), (wrap,))
        muscle = Muscle("deltoid", path, laws.CubicExponentialMuscle(0.2, 500.0))
        model = Model(mq.ArticulatedSystem((arm,)), (muscle,))
        found = linearize(model, [0.95, 0.1, 0.2, np.sqrt(1 - 0.9525)], [0.3, -0.2, 0.1], inputs=Inputs([0.6]))
        return model, found

    _, sphere = linear(WrapSphere(body="ground", radius=0.05))
    model, ellipsoid = linear(WrapEllipsoid(body="ground", radii=(0.05, 0.05, 0.05)))
    np.testing.assert_allclose(ellipsoid.A, sphere.A, rtol=1e-7, atol=1e-7 * np.abs(sphere.A).max())
    np.testing.assert_allclose(ellipsoid.B, sphere.B, rtol=1e-9)
    zero = np.zeros(3)
    with pytest.raises(ValueError, match=r"deltoid.* around an ellipsoid.*third derivatives"):
        forward_dynamics_hvp(model, [1, 0, 0, 0], zero, zero, zero, (zero, zero, zero), inputs=Inputs([0.5]))


def test_a_path_through_a_torus_has_no_second_derivatives():
    ring = WrapTorus(body="ring", ring_radius=0.08, tube_radius=0.02)
    model, q = floating(ring)
    muscle = Muscle("m", model.muscles[0].path, laws.PathActuator(10.0))
    with pytest.raises(ValueError, match=r"'m'.* around a torus.*second derivatives"):
        linearize(Model(model.system, (muscle,)), q[0], np.zeros(12), inputs=Inputs([0.5]))
    kernel = kernels.compile(lambda q: velocity_jacobian(model.system, model.paths, q), {"q": model.system.nq})
    with pytest.raises(ValueError, match="has no derivative"):
        kernel.jacobian()
