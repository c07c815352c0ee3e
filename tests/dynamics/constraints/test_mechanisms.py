"""Published closed-loop mechanisms, in short."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from dynamics import simulate

FILE = Path(__file__).parents[3] / "benchmarks" / "mechanisms.py"


@pytest.fixture(scope="module")
def mechanisms():
    """The benchmark's definitions; benchmarks are no package of the installation."""
    spec = importlib.util.spec_from_file_location("mechanisms_of_benchmarks", FILE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_andrews_squeezer_meets_the_reference(mechanisms):
    """Seven angles at 0.03 s, known to 14 digits from the Test Set for IVP Solvers."""
    model, loops, torque = mechanisms.andrews()
    way = simulate(model, mechanisms.andrews_start(), duration=0.03, rtol=1e-11, activation=[0.0], torque=torque,
                   constraints=loops, project_start=True)  # fmt: skip
    np.testing.assert_allclose(way.q[-1], mechanisms.andrews_start(mechanisms.ANDREWS_END), atol=1e-9)
    assert np.abs(way.constraint_drift).max() < 1e-15


def test_four_bars_pass_their_singular_configurations(mechanisms):
    """All rods in line, every half turn; the mechanism keeps its branch and its energy."""
    system, loops, q0, u0 = mechanisms.four_bars(2)
    way = simulate(system, q0, u0, 3.0, rtol=1e-9, constraints=loops)
    assert way.complete
    assert way.q[-1, 0] > 2 * np.pi
    np.testing.assert_allclose(way.q[:, 2], way.q[:, 0], atol=1e-7)  # parallel cranks
    np.testing.assert_allclose(way.energy, way.energy[0], atol=1e-6)


def test_bricard_moves_though_the_count_says_it_cannot(mechanisms):
    system, closed, q0 = mechanisms.bricard()
    with pytest.raises(ValueError, match="5 constraints of rank 4"):
        simulate(system, q0, duration=0.1, constraints=closed)
    way = simulate(system, q0, duration=1.0, rtol=1e-8, constraints=closed)
    assert np.ptp(way.q[:, 0]) > 0.5
    np.testing.assert_allclose(way.energy, way.energy[0], atol=1e-6)
    assert np.abs(way.constraint_drift).max() < 1e-12
