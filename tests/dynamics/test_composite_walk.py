"""The mass matrix by forces that go to the ground step by step: the same as pair by pair."""

import numpy as np
import pytest

from myoquat import kernels
from myoquat.dynamics import composite
from myoquat.joints.multibody.sampling import random_system


@pytest.mark.parametrize("types", [("floating", "spherical", "revolute"), ("euler", "fixed", "constant_curvature")])
def test_it_is_the_matrix_of_pairs_of_joints(types, monkeypatch):
    system = random_system(5, np.random.default_rng(3), types)
    q = system.random(9, np.random.default_rng(4))
    expected = composite.mass(system, q)
    monkeypatch.setattr(composite, "walks", lambda nu, motion: True)
    found = kernels.compile(lambda q: composite.mass(system, q), {"q": system.nq}, ["M"])(q)
    assert np.abs(found - expected).max() < 1e-13 * np.abs(expected).max()
    assert np.array_equal(found, np.swapaxes(found, -1, -2))
