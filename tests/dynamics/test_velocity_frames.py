"""Child and parent velocity frames: the same motion. Forces and energies in both are laws of `tests/pairs`."""

from dataclasses import replace

import numpy as np

from myoquat.joints import convert_velocities
from myoquat.joints.multibody.sampling import random_system


def test_back_and_forth(rng):
    child = random_system(7, rng, ("spherical", "floating", "revolute", "custom"))
    parent = replace(child, velocity_frame="parent")
    q, u = child.random(5, rng), rng.normal(size=(5, child.nu))
    there = convert_velocities(child, parent, q, u)
    np.testing.assert_allclose(convert_velocities(parent, child, q, there), u, atol=1e-14)
    np.testing.assert_allclose(child.rates(q, u), parent.rates(q, there), atol=1e-14)
