"""The curvature of the cost of a pose: against central differences of its slope, far from the least cost."""

from dataclasses import replace

import numpy as np
import pytest

from myoquat.analysis.motion.problem import PoseProblem
from myoquat.joints import ArticulatedSystem, Body
from myoquat.joints.constraints import OnSurface, PointLoop, PolynomialCoupler, Weld
from myoquat.joints.functions import Linear, Polynomial
from myoquat.joints.types import (
    Axis,
    ConstantCurvatureJoint,
    CustomJoint,
    EllipsoidJoint,
    EulerJoint,
    FloatingJoint,
    PlanarJoint,
    SphericalJoint,
    UniversalJoint,
)
from myoquat.kernels import compile
from myoquat.muscle.coordinates import Coupler, Marker
from tests.bodies import on_hinge
from tests.differences import differences

X, Y, Z = (tuple(row) for row in np.eye(3).tolist())
BENT = Polynomial((0.01, 0.3, -0.2, 0.1))
CURVED = CustomJoint(
    ("bend", "slide"), (Axis(Z, 0), Axis(Y, 0, BENT), Axis(X, 1)),
    (Axis(X, 0, BENT), Axis(Y, 1, Linear(0.3))), ("rad", "rad"),
)  # fmt: skip
JOINTS = {
    "ball": SphericalJoint(), "ball, parent frame": SphericalJoint(velocity_frame="parent"),
    "floating": FloatingJoint(), "floating, parent frame": FloatingJoint(velocity_frame="parent"),
    "planar": PlanarJoint(), "Euler": EulerJoint("XZY"),
    "universal": UniversalJoint(), "ellipsoid": EllipsoidJoint((0.1, 0.2, 0.15)),
    "constant curvature": ConstantCurvatureJoint(0.3), "custom": CURVED,
}  # fmt: skip


def chain(joint):
    """A joint between two hinges, with two markers on each body."""
    bodies = (
        on_hinge("first", (0.0, 0.6, 0.8), position=(0.1, 0.2, 0.0)),
        Body(
            "second", "first", joint, (0.0, -0.3, 0.1), mass=1.0, coordinate_names=getattr(joint, "coordinates", None)
        ),
        on_hinge("third", X, parent="second", position=(0.2, 0.0, 0.1)),
    )
    rng = np.random.default_rng(4)
    markers = tuple(Marker(f"{b.name}{k}", b.name, tuple(rng.normal(size=3) * 0.2)) for b in bodies for k in range(2))
    return PoseProblem(ArticulatedSystem(bodies), markers)


def data_of(problem, rng, n):
    """Random data of n frames, that no pose fits."""
    m, c = len(problem.markers), len(problem.tasks)
    parts = [rng.normal(size=(n, 3 * m)), rng.uniform(0.5, 2.0, (n, m)), rng.normal(size=(n, c)),
             rng.uniform(0.5, 2.0, (n, c)), np.ones((n, 1))]  # fmt: skip
    found = np.concatenate(parts, axis=-1)
    return np.pad(found, ((0, 0), (0, problem.size - found.shape[-1])))  # at time 0


def symmetric_slope(problem, slope, q):
    """(t, n, n) symmetric part of the derivative of slope(q) (t, n) along the free velocities."""
    found = differences(lambda v: slope(problem.moved(q, v)), np.zeros((len(q), len(problem.free))), 1e-5)
    return (found + np.swapaxes(found, -1, -2)) / 2


def assert_curved(problem, q, data):
    assert problem.has_hessian
    ones = np.ones(len(q))
    _, half = problem.reduced(q, problem.terms(q, data, ones), ones)
    found = -symmetric_slope(problem, lambda p: problem.reduced(p, problem.terms(p, data))[0], q)
    np.testing.assert_allclose(half, found, atol=1e-8 * np.abs(half).max())
    _, normal = problem.reduced(q, problem.terms(q, data))
    assert np.abs(normal - found).max() > 1e-3 * np.abs(found).max()


@pytest.mark.parametrize("name", JOINTS)
def test_half_the_hessian_of_a_joint_type(name, rng):
    problem = chain(JOINTS[name])
    assert_curved(problem, problem.system.random(3, rng), data_of(problem, rng, 3))


def test_half_the_hessian_with_couplers_and_a_task(rng):
    """A coupler that drives another, and a wanted coordinate."""
    base = chain(CURVED)
    couplers = (Coupler("a", "bend", "first.angle", BENT, 0.8), Coupler("b", "third.angle", "bend", BENT))
    problem = replace(base, couplers=couplers, tasks=("slide",))
    q = problem.allowed(base.system.random(3, rng))
    assert_curved(problem, q, data_of(problem, rng, 3))


CONSTRAINTS = {
    "points": PointLoop("ground", "third", (0.1, 0.2, 0.3), (0.1, 0.0, 0.1)),
    "weld": Weld("first", "third", (0.0, -0.3, 0.0), (0.1, 0.0, 0.1)),
    "surface": OnSurface("ground", "third", second_point=(0.1, 0.2, 0.0), radii=(0.2, 0.3, 0.25)),
    "polynomial": PolynomialCoupler("third.angle", ("first.angle",), (0.3, 0.2), ((2,), (1,))),
}


@pytest.mark.parametrize("name", CONSTRAINTS)
@pytest.mark.parametrize("joint", ["ball", "custom"])
def test_the_curvature_of_constraints(joint, name, rng):
    """Forces times second derivatives, by differences of the forces along the free velocities."""
    base = chain(JOINTS[joint])
    couplers = (Coupler("a", "bend", "first.angle", BENT, 0.8),) if joint == "custom" else ()
    problem = replace(base, constraints=(CONSTRAINTS[name],), couplers=couplers)
    q = problem.allowed(base.system.random(2, rng))
    forces = rng.normal(size=(2, problem.equations.position(q, np.zeros(2)).shape[-1]))
    sizes = {"q": problem.system.nq, "forces": forces.shape[-1]}
    kernel = compile(lambda q, f: problem.constraint_curvature(q, 0.0 * f[..., 0], f), sizes, cache="off")

    def pulled(p):
        return np.einsum("tk,tkn->tn", forces, problem.constraint_rows(p, np.zeros(len(p)))[1])

    found = symmetric_slope(problem, pulled, q)
    np.testing.assert_allclose(kernel(q, forces), found, atol=1e-7 * np.abs(found).max())
