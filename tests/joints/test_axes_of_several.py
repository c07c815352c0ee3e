"""Axes of a custom joint that depend on several coordinates; their motion is among those of `test_joint_types.py`."""

from dataclasses import replace

import numpy as np
import pytest

from myoquat.dynamics import mass_matrix
from myoquat.joints import ArticulatedSystem, Axis, Body, CustomJoint
from myoquat.joints.functions import Linear, MultivariatePolynomial
from myoquat.muscle.model import Model
from myoquat.muscle.parameters import Parameters, parameter_names

X, Y, Z = np.eye(3).tolist()
SURFACE = MultivariatePolynomial(2, 2, (0.1, 0.2, 0.4, -0.3, 0.5, 0.6))  # 1, y, y^2, x, x y, x^2
SLIDES = (Axis(X, (0, 1), SURFACE), Axis(Y, 0), Axis(Z, 1))


def point():
    """A mass at (f(x, y), x, y): M = m (1 + g g^T) with g the gradient of f."""
    joint = CustomJoint(("x", "y"), translations=SLIDES)
    return ArticulatedSystem((Body("p", "ground", joint, mass=1.7),), gravity=(0.0, 0.0, 0.0))


def gradient(q):
    x, y = q
    return np.array([-0.3 + 0.5 * y + 1.2 * x, 0.2 + 0.8 * y + 0.5 * x])


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
