"""Derivatives of the dynamics: against the complex step, differences on the group, and identities."""

import numpy as np
import pytest

from myoquat.dynamics import (
    forward_dynamics,
    forward_dynamics_derivatives,
    inverse_dynamics,
    inverse_dynamics_derivatives,
    mass_matrix,
)
from myoquat.joints.multibody.sampling import random_system

RNG = np.random.default_rng(2)
SYSTEM = random_system(3, RNG, ("spherical", "revolute"), passive=True)
Q = SYSTEM.random(6, RNG)
U, TAU = RNG.normal(size=(2, 6, SYSTEM.nu))
WRENCHES = RNG.normal(size=(6, len(SYSTEM.bodies), 6))
FUNCTIONS = [(forward_dynamics, forward_dynamics_derivatives), (inverse_dynamics, inverse_dynamics_derivatives)]


@pytest.mark.parametrize("derivatives", [forward_dynamics_derivatives, inverse_dynamics_derivatives])
def test_they_are_those_of_the_complex_step(derivatives):
    both = (derivatives(SYSTEM, Q, U, TAU, WRENCHES, **more) for more in ({}, {"backend": "numpy"}))
    for found, expected in zip(*both, strict=True):
        assert np.abs(found - expected).max() <= 1e-11 * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize(("dynamics", "derivatives"), FUNCTIONS)
def test_they_are_slopes_along_motions_of_the_group(dynamics, derivatives):
    """Central differences of poses that `integrate` moves, by Richardson's extrapolation."""
    found = derivatives(SYSTEM, Q, U, TAU, WRENCHES)
    v = RNG.normal(size=(3, SYSTEM.nu))

    def moved(t):
        return dynamics(SYSTEM, SYSTEM.integrate(Q, t * v[0]), U + t * v[1], TAU + t * v[2], WRENCHES)

    def slope(h):
        return (moved(h) - moved(-h)) / (2 * h)

    expected = (4 * slope(1e-4) - slope(2e-4)) / 3
    along = sum(part @ x for part, x in zip(found, v, strict=True))
    assert np.abs(along - expected).max() < 1e-7 * np.abs(expected).max()


def test_identities_of_forward_and_inverse_dynamics():
    """M is the derivative by udot, M^-1 that by tau, and -M times those of udot are those of tau at that motion."""
    udot = forward_dynamics(SYSTEM, Q, U, TAU, WRENCHES)
    forward = forward_dynamics_derivatives(SYSTEM, Q, U, TAU, WRENCHES)
    backward = inverse_dynamics_derivatives(SYSTEM, Q, U, udot, WRENCHES)
    M = mass_matrix(SYSTEM, Q)
    assert np.abs(backward.udot - M).max() < 1e-12 * np.abs(M).max()
    assert np.abs(forward.tau @ M - np.eye(SYSTEM.nu)).max() < 1e-10
    for a, b in ((forward.q, backward.q), (forward.u, backward.u)):
        assert np.abs(M @ a + b).max() < 1e-10 * np.abs(b).max()
