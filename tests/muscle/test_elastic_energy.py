"""What passive parts store: their forces are its derivative."""

import numpy as np
import pytest
from scipy.integrate import quad

import myoquat as mq
from myoquat.analysis.motion import scale_model
from myoquat.joints import normalize
from myoquat.joints.functions import (
    Constant,
    Linear,
    Multiplier,
    NaturalSpline,
    PiecewiseConstant,
    PiecewiseLinear,
    Polynomial,
    SimmSpline,
    Sine,
    SmoothStep,
)
from myoquat.muscle import elastic_energy, limit_torques
from myoquat.muscle.forces import (
    ContactEllipsoid,
    ContactHalfSpace,
    ContactMaterial,
    ContactSphere,
    CoordinateExpression,
    HuntCrossley,
    PrescribedForce,
    SmoothSphereHalfSpace,
)
from tests.bodies import afloat, on_hinge, on_slide

KNOTS, HEIGHTS = (-1.0, -0.4, 0.3, 0.9, 1.5), (0.5, -1.0, 2.0, 1.0, 3.0)
FUNCTIONS = {
    "constant": Constant(3.0),
    "linear": Linear(2.0, -1.0),
    "polynomial": Polynomial((1.0, -2.0, 0.5, 3.0)),
    "multiplier": Multiplier(Linear(2.0, 1.0), 1.5),
    "sine": Sine(2.0, 3.0, 0.4, 0.1),
    "sine without frequency": Sine(2.0, 0.0, 0.4, 0.1),
    "step": SmoothStep(-0.5, 1.0, 1.0, 4.0),
    "step backwards": SmoothStep(1.0, -0.5, 1.0, 4.0),
    "staircase": PiecewiseConstant(KNOTS, HEIGHTS),
    "lines": PiecewiseLinear(KNOTS, HEIGHTS),
    "SIMM's spline": SimmSpline(KNOTS, HEIGHTS),
    "natural spline": NaturalSpline(KNOTS, HEIGHTS),
    "straight natural spline": NaturalSpline(KNOTS, HEIGHTS, 1),
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_integrals_of_functions_are_those_of_a_quadrature(function):
    for x in (-2.3, -0.7, 0.0, 0.1, 0.95, 2.6):
        kinks = [k for k in (*KNOTS, -0.5, 1.0) if min(0.0, x) < k < max(0.0, x)]
        wanted = quad(lambda s: float(function.value(np.array(s))), 0.0, x, points=kinks or None, epsabs=1e-12)[0]
        assert float(function.integral(np.array(x))) == pytest.approx(wanted, abs=1e-11)


# ---- every force, against the work that it does --------------------------------------------------------------

BALL = ContactSphere("ball", "thigh", radius=0.3)
OTHER = ContactSphere("other", "ground", radius=0.4, position=(0.1, 0.3, 0.0))


def rubber(*surfaces, **friction):
    return HuntCrossley("contact", (ContactMaterial(surfaces, 1e4, **friction),))


def leg(gravity=(0.0, -9.81, 0.0), **parts):
    """A ball joint that moves along too, and a hinge."""
    inertia = (0.1, 0.12, 0.05, 0.0, 0.0, 0.0)
    thigh = afloat("thigh", mass=2.0, center_of_mass=(0, -0.2, 0), inertia=inertia)
    shin = on_hinge("shin", "z", "knee", "thigh", (0, -0.4, 0), center_of_mass=(0, -0.2, 0), inertia=inertia)
    return mq.Model(mq.ArticulatedSystem((thigh, shin), gravity=gravity), **parts)


def stored(model, q):
    return elastic_energy(model, q, backend="numpy")


def test_a_sphere_on_a_sphere_stores_what_it_takes(rng):
    """Along random motions the energy falls by what the force does, to the error of the difference; of other forces
    `tests.pairs` holds that."""
    model = leg(forces=(rubber(BALL, OTHER),))
    Q = normalize(np.array([1.0, 0, 0, 0]) + 0.3 * rng.normal(size=(40, 4)))
    q = np.concatenate([0.1 * rng.normal(size=(40, 3)), Q, rng.normal(size=(40, 1))], axis=-1)
    u, h = rng.normal(size=(40, 7)), 1e-5
    ends = [stored(model, model.system.integrate(q, s * h * u)) for s in (1, -1)]
    done = np.sum(limit_torques(model, q, np.zeros(u.shape), backend="numpy") * u, axis=-1)
    assert np.abs(done).max() > 1e-3
    np.testing.assert_allclose((ends[0] - ends[1]) / (2 * h), -done, atol=1e-6 * np.abs(done).max())


def test_an_ellipsoid_that_does_not_turn_stores_its_work(rng):
    """One that turns has a radius of curvature that changes without work, as Simbody has it."""
    egg = ContactEllipsoid("egg", "sled", radii=(0.1, 0.2, 0.3))
    sled = on_slide("sled", "y")
    model = mq.Model(mq.ArticulatedSystem((sled,)), forces=(rubber(egg, ContactHalfSpace("floor", "ground")),))
    y, h = np.linspace(0.1, 0.25, 20)[:, None], 1e-6
    rate = (stored(model, y + h) - stored(model, y - h)) / (2 * h)
    assert np.allclose(rate, -limit_torques(model, y, np.zeros((20, 1)), backend="numpy")[:, 0], atol=1e-4)


@pytest.mark.parametrize(("sharp", "e"), [(300.0, 1e-5), (30.0, 1e-3), (3000.0, 1e-6), (300.0, 1e-9)])
def test_smooth_contact_stores_the_integral_of_its_force(sharp, e):
    """High above, near, and deep, for switches from soft to hard."""
    system = mq.ArticulatedSystem((on_slide("sled", "y"),))
    surfaces = ContactSphere("ball", "sled", radius=0.1), ContactHalfSpace("floor", "ground", normal=(0.0, 1.0, 0.0))
    smoothing = {"hertz_smoothing": sharp, "constant_contact_force": e}
    force = SmoothSphereHalfSpace("a", *surfaces, stiffness=1e6, **smoothing)

    nodes, weights = np.polynomial.legendre.leggauss(16)
    for y in (0.6, 0.11, 0.1, 0.099, 0.05):
        ends = np.linspace(y, max(y, 0.1 + 25 / sharp), 4001)  # a thousand times as many as the formula takes
        heights = ends[:-1, None] + np.diff(ends)[:, None] * (1 + nodes) / 2
        pull = force.torque(system, heights.reshape(-1, 1), np.zeros(1)).reshape(heights.shape)
        wanted = np.sum(pull * weights * np.diff(ends)[:, None] / 2)
        assert float(force.energy(system, np.array([y]))) == pytest.approx(wanted, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("contact", [rubber, lambda *s: SmoothSphereHalfSpace("a", *reversed(s), stiffness=1e6)])
def test_surfaces_of_derived_classes_touch_as_their_base(contact):
    floor, found = ContactHalfSpace("floor", "ground"), []
    for ball in (ContactSphere, type("Derived", (ContactSphere,), {})):
        force = contact(floor, ball("ball", "sled", radius=0.1))
        model = mq.Model(mq.ArticulatedSystem((on_slide("sled", "y"),)), forces=(force,))
        made = scale_model(model, factors={"sled": 1.2})
        found.append([limit_torques(m, [0.05], [0.1], backend="numpy") for m in (model, made)])
    np.testing.assert_array_equal(*found)


def test_forces_without_a_potential_store_nothing(rng):
    push = PrescribedForce("push", "thigh", forces=(Constant(5.0), Constant(), Constant()))
    model = leg(forces=(push, CoordinateExpression("spring", "knee", "-20*q")))
    q = np.concatenate([np.zeros(3), [1.0, 0, 0, 0], [0.5]])
    assert stored(model, q) == 0.0
    assert stored(mq.load_model("two_link"), mq.load_model("two_link").start) == 0.0
