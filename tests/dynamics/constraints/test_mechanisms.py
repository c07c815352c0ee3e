"""Closed-loop benchmark mechanisms, in short."""

import numpy as np
import pytest

from benchmarks.own.mechanisms import ANDREWS_END, andrews, andrews_start, bricard, four_bars
from myoquat.dynamics import simulate


def test_andrews_squeezer_meets_the_reference():
    """Seven angles at 0.03 s, known to 14 digits from the Test Set for IVP Solvers."""
    model, loops, torque = andrews()
    way = simulate(model, andrews_start(), duration=0.03, rtol=1e-11, activation=[0.0], torque=torque,
                   constraints=loops, project_start=True)  # fmt: skip
    np.testing.assert_allclose(way.q[-1], andrews_start(ANDREWS_END), atol=1e-9)
    assert np.abs(way.constraint_drift).max() < 1e-15


def test_four_bars_pass_their_singular_configurations():
    """All rods in line, every half turn; the mechanism keeps its branch and its energy."""
    system, loops, q0, u0 = four_bars(2)
    way = simulate(system, q0, u0, 3.0, rtol=1e-9, constraints=loops)
    assert way.complete
    assert way.q[-1, 0] > 2 * np.pi
    np.testing.assert_allclose(way.q[:, 2], way.q[:, 0], atol=1e-7)  # parallel cranks
    np.testing.assert_allclose(way.energy, way.energy[0], atol=1e-6)


def test_bricard_moves_though_the_count_says_it_cannot():
    """With redundant rows the method of fixed steps keeps its order, four."""
    system, closed, q0 = bricard()
    given = {"duration": 1.0, "output_step": 0.2, "constraints": closed}
    moves_with_its_energy(simulate(system, q0, rtol=1e-8, **given))
    ways = [simulate(system, q0, step=5e-3 / k, **given) for k in (1, 2, 4, 16)]
    moves_with_its_energy(ways[0])
    errors = [np.abs(way.q - ways[-1].q).max() for way in ways[:-1]]
    assert np.polyfit(np.log([4, 2, 1]), np.log(errors), 1)[0] == pytest.approx(4, abs=0.3), errors


def moves_with_its_energy(way):
    assert np.ptp(way.q[:, 0]) > 0.5
    np.testing.assert_allclose(way.energy, way.energy[0], atol=1e-6)
    assert np.abs(way.constraint_drift).max() < 1e-12
