"""Muscles with states of their own in a model: forces, torques, rates and equilibria, through kernels and in NumPy."""

from dataclasses import replace

import numpy as np
import pytest

from myoquat.data import load_model
from myoquat.muscle import (
    equilibrium_states,
    muscle_forces,
    muscle_state_rates,
    muscle_state_residuals,
    path_lengths,
    state_names,
)
from myoquat.muscle.laws import DeGrooteFregly2016, Thelen2003


@pytest.fixture(scope="module")
def model():
    """two_link with three types of laws: elastic tendons on m1 and m2, a rigid one on m3, law B on the others."""
    base = load_model("two_link")
    q = np.array(base.start_q)
    l = path_lengths(base, q)
    laws = [
        Thelen2003(30.0, 0.4 * l[0], 0.6 * l[0], 0.1),
        DeGrooteFregly2016(40.0, 0.5 * l[1], 0.5 * l[1], 0.2),
        Thelen2003(20.0, 0.5 * l[2], 0.5 * l[2], 0.0, tendon="rigid"),
    ]
    muscles = [replace(m, law=law) for m, law in zip(base.muscles, laws, strict=False)]
    return replace(base, muscles=(*muscles, *base.muscles[3:]))


def near(model, n, rng):
    """Poses near the start, where the tendons stay in their range."""
    q = model.system.integrate(np.array(model.start_q), 0.02 * rng.normal(size=(n, 6)))
    return q, 0.1 * rng.normal(size=(n, 6)), rng.uniform(0.05, 1, (n, 6))


def test_names_say_whose_state_it_is(model):
    assert state_names(model) == ("m1.fiber_length", "m2.fiber_length")


def test_the_implicit_form_is_solved_by_the_rates(model, rng):
    """And only by them: where the rate is another, the residual tells by how much the fiber pulls too hard."""
    q, u, a = near(model, 10, rng)
    state = equilibrium_states(model, q, a) * rng.uniform(0.99, 1.01, (10, 2))
    rate = muscle_state_rates(model, q, u, a, state)
    assert np.abs(muscle_state_residuals(model, q, u, a, state, rate)).max() < 1e-9
    faster = rate + 0.1
    residual = muscle_state_residuals(model, q, u, a, state, faster)
    assert (residual > 1e-6).all()
    np.testing.assert_allclose(
        residual, muscle_state_residuals(model, q, u, a, state, faster, backend="numpy"), rtol=1e-11, atol=1e-13
    )
    law, l = model.muscles[0].law, path_lengths(model, q)[:, 0]
    wanted = law.state_residual(l, 0.0, a[:, 0], state[:, :1], faster[:, :1])
    np.testing.assert_allclose(residual[:, :1], wanted, rtol=1e-11, atol=1e-13)


def test_missing_and_misshapen_states_are_named(model):
    q, u, a = np.array(model.start_q), np.zeros(6), np.full(6, 0.5)
    with pytest.raises(ValueError, match=r"state \(\.\.\., 2\) is needed: 'm1.fiber_length'"):
        muscle_forces(model, q, u, a)
    with pytest.raises(ValueError, match="state has shape"):
        muscle_forces(model, q, u, a, np.zeros(3))
