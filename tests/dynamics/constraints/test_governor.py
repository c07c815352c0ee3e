"""The flyball governor (problem A05 of the IFToMM library) against Lagrange's equations in its fewest coordinates."""

import numpy as np
import pytest

from benchmarks.own.mechanisms import governor, governor_reference
from myoquat.dynamics import simulate


@pytest.mark.parametrize("stiff", [False, True])
def test_the_governor_moves_as_lagrange_s_equations_say(stiff):
    model, held, q0, u0 = governor(stiff)
    options = {"activation": [0.0, 0.0], "method": "radau"} if stiff else {}
    way = simulate(model, q0, u0, 1.0, rtol=1e-9, constraints=held, **options)
    np.testing.assert_allclose(way.q[-1], governor_reference(1.0, stiff), atol=1e-8)
    assert np.ptp(way.q[:, 3]) > 0.2
    if not stiff:
        assert np.abs(way.energy - way.energy[0]).max() < 1e-8 * np.ptp(way.kinetic_energy)
        assert np.abs(way.constraint_drift).max() < 1e-15
