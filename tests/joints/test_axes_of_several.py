"""Axes of a custom joint that depend on several coordinates: closed forms, equations of motion, parameters."""

from dataclasses import replace

import numpy as np
import pytest

from myoquat.dynamics import bias_force, forward_dynamics, mass_matrix
from myoquat.joints import ArticulatedSystem, Axis, Body, CustomJoint
from myoquat.joints.functions import Linear, MultivariatePolynomial
from myoquat.muscle.model import Model
from myoquat.muscle.parameters import Parameters, parameter_names

X, Y, Z = np.eye(3).tolist()
SURFACE = MultivariatePolynomial(2, 2, (0.1, 0.2, 0.4, -0.3, 0.5, 0.6))  # 1, y, y^2, x, x y, x^2
SLIDES = (Axis(X, (0, 1), SURFACE), Axis(Y, 0), Axis(Z, 1))


def point(mass=1.7):
    joint = CustomJoint(("x", "y"), translations=SLIDES)
    return ArticulatedSystem((Body("p", "ground", joint, mass=mass),), gravity=(0.0, 0.0, 0.0))


def gradient(q):
    x, y = q
    return np.array([-0.3 + 0.5 * y + 1.2 * x, 0.2 + 0.8 * y + 0.5 * x])


def test_a_mass_on_a_surface():
    """A point at (f(x, y), x, y) has M = m (1 + g g^T) with g the gradient of f, and the bias m g (u^T H u)."""
    q, u = np.array([0.3, -0.7]), np.array([1.1, 0.4])
    g, H = gradient(q), np.array([[1.2, 0.5], [0.5, 0.8]])
    np.testing.assert_allclose(mass_matrix(point(), q), 1.7 * (np.eye(2) + np.outer(g, g)), rtol=1e-14)
    np.testing.assert_allclose(bias_force(point(), q, u), 1.7 * g * (u @ H @ u), rtol=1e-14)


def test_accelerations_satisfy_lagranges_equations():
    """d/dt (M u) - dT/dq = 0, by differences of the mass matrix: rotations and translations of three coordinates."""
    cubic = MultivariatePolynomial(3, 1, (0.1, 0.7, -0.4, 0.9))
    turns = (Axis(Z, 2), Axis((1.0, 2.0, 0.5), (0, 1), SURFACE), Axis(X, (2, 0, 1), cubic))
    joint = CustomJoint(("x", "y", "z"), turns, (Axis(Y, (1, 2), SURFACE), Axis((1.0, 1.0, 0.0), 0, Linear(0.5))))
    inertia = (0.3, 0.4, 0.5, 0.02, -0.03, 0.01)
    body = Body("b", "ground", joint, mass=2.0, center_of_mass=(0.1, -0.3, 0.2), inertia=inertia)
    system = ArticulatedSystem((body,), gravity=(0.0, 0.0, 0.0))
    q, u, h = np.array([0.3, -0.2, 0.5]), np.array([1.0, -0.6, 0.8]), 1e-5
    slopes = [(mass_matrix(system, q + h * e) - mass_matrix(system, q - h * e)) / (2 * h) for e in np.eye(3)]
    bias = sum(s * v for s, v in zip(slopes, u, strict=True)) @ u - 0.5 * np.array([u @ s @ u for s in slopes])
    udot = np.linalg.solve(mass_matrix(system, q), -bias)
    np.testing.assert_allclose(forward_dynamics(system, q, u, np.zeros(3)), udot, rtol=1e-8)


def test_coefficients_are_parameters():
    model = Model(point())
    q, name = np.array([0.3, -0.7]), "bodies.p.joint.translations.0.function.coefficients.3"
    parameters = Parameters.of(model, name)
    assert [other for other in parameter_names(model) if "coordinate" in other] == []
    M = mass_matrix(parameters.bind([0.9]).system, q)
    assert M[0, 0] == pytest.approx(1.7 * (1 + (gradient(q)[0] + 1.2) ** 2))


def test_scaling_scales_the_polynomial():
    joint = CustomJoint(("x", "y"), translations=SLIDES).scaled((2.0, 3.0, 4.0), (1.0, 1.0, 1.0))
    assert joint.translations[0].function == replace(SURFACE, coefficients=tuple(2 * c for c in SURFACE.coefficients))
    assert joint.translations[1:] == SLIDES[1:]


@pytest.mark.parametrize(
    ("coordinate", "function", "message"),
    [
        (0, SURFACE, "2 coordinates needs their numbers, not 0"),
        ((0, 1, 1), SURFACE, "2 coordinates needs their numbers"),
        (None, SURFACE, "2 coordinates needs their numbers"),
        ((0, 1), Linear(), "must be a MultivariatePolynomial"),
    ],
)
def test_functions_have_as_many_coordinates_as_the_axis(coordinate, function, message):
    with pytest.raises(ValueError, match=message):
        Axis(X, coordinate, function)


def test_axes_of_coordinates_that_are_not_there():
    with pytest.raises(ValueError, match="uses coordinate 2, but there are 2"):
        CustomJoint(("x", "y"), (Axis(X, (0, 2), SURFACE),))
