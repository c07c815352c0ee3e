"""Tendons too stiff for steps of a fixed size: a warning that names a step that holds, and where the method fails."""

import warnings

import numpy as np
import pytest

from myoquat.dynamics import StiffnessWarning, simulate
from myoquat.dynamics.integrators import FIXED_STEP
from myoquat.dynamics.simulation.stiffness import decay_rates
from myoquat.joints import ArticulatedSystem
from myoquat.muscle import Model, Muscle, PathPoint, equilibrium_states
from myoquat.muscle.laws import Millard2012
from tests.bodies import on_slide

NUMBERS, LENGTH, ACTIVATION = (800.0, 0.1, 0.2, 0.2), 0.302, 0.1


@pytest.fixture(scope="module")
def held():
    """A muscle between the ground and a mass that it does not move, and its fiber at rest."""
    body = on_slide("mass", "-z", mass=1000000000.0, inertia=1.0)
    path = (PathPoint("ground", (0.0, 0.0, 0.0)), PathPoint("mass", (0.0, 0.0, 0.0)))
    system = ArticulatedSystem((body,), gravity=(0.0, 0.0, 0.0))
    model = Model(system, (Muscle("m", path, Millard2012(*NUMBERS), ACTIVATION),), start_q=(LENGTH,))
    return model, equilibrium_states(model, [LENGTH], [ACTIVATION])


def moved(held, method, part, steps=100):
    """Distances from the balance after so many steps of a part of the bound, and what was warned of."""
    model, fiber = held
    rate = decay_rates(model, np.array([[LENGTH]]), np.zeros((1, 1)), np.full((1, 1), ACTIVATION), fiber[None])[0, 0]
    step = part * FIXED_STEP[method].stability_bound / rate
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", StiffnessWarning)
        run = simulate(model, duration=steps * step, step=step, muscle_states=fiber * (1 + 1e-5), method=method)
    return np.abs(run.muscle_states[:, 0] - fiber[0]), [str(warning.message) for warning in caught], step


@pytest.mark.parametrize("method", ["rk4", "semi_implicit_euler"])
def test_warning_exactly_where_the_step_does_not_hold(held, method):
    calm, caught, _ = moved(held, method, 0.95)
    assert not caught
    assert calm[-1] < 0.5 * calm[0]
    wild, caught, step = moved(held, method, 1.05)
    assert wild[-1] > 5 * wild[0]
    (message,) = caught
    assert f"method {method!r}" in message
    assert message.startswith("'m.fiber_length' settles at")
    assert "method='radau'" in message
    suggested = float(message.split("step=")[1].split()[0])
    assert 0.3 * step < suggested < step


def test_adaptive_methods_do_not_warn(held):
    model, fiber = held
    with warnings.catch_warnings():
        warnings.simplefilter("error", StiffnessWarning)
        simulate(model, duration=0.05, step=0.05, method="radau", rtol=1e-6, muscle_states=fiber * (1 + 1e-5))
