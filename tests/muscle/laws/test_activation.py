"""Activation dynamics: what the forms share, their limits, and what cannot be."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.integrate import solve_ivp

from myoquat.data import load_model
from myoquat.joints import ModelError
from myoquat.muscle import ActivationDynamics

SMOOTH = ActivationDynamics(0.012, 0.048)
PIECEWISE = ActivationDynamics(0.012, 0.048, "piecewise", minimum_activation=0.01)
unit = st.floats(0, 1)


@given(e=unit, a=unit, dynamics=st.sampled_from([SMOOTH, PIECEWISE]))
def test_the_activation_goes_towards_the_excitation(e, a, dynamics):
    """Not at all where they are equal, never out of [0, 1], and where the gap stays 1, as fast as the times say."""
    rate = dynamics.rate(e, a)
    gap = max(e, dynamics.minimum_activation) - max(a, dynamics.minimum_activation)
    assert rate * gap >= 0
    assert (rate == 0) == (gap == 0) or abs(gap) < 1e-12
    assert abs(rate) <= 2 / 0.012 + 2 / 0.048


@given(e=unit, a=unit)
def test_a_sharp_blend_is_the_piecewise_form(e, a):
    sharp, piecewise = replace(SMOOTH, smoothing=1e12), replace(PIECEWISE, minimum_activation=0.0)
    if abs(e - a) > 1e-9:
        assert sharp.rate(e, a) == pytest.approx(piecewise.rate(e, a), rel=1e-12)


def test_the_piecewise_form_falls_as_its_closed_solution():
    """With e = 0: da/dt = -a (0.5 + 1.5 a) / tau, so a / (0.5 + 1.5 a) falls as exp(-t / (2 tau))."""
    dynamics = replace(PIECEWISE, minimum_activation=0.0)
    way = solve_ivp(lambda t, a: dynamics.rate(0.0, a), (0, 0.2), [0.9], rtol=1e-11, atol=1e-13)
    a = way.y[0, -1]
    start = 0.9 / (0.5 + 1.5 * 0.9)
    assert a / (0.5 + 1.5 * a) == pytest.approx(start * np.exp(-0.2 / (2 * 0.048)), rel=1e-8)


def test_the_linear_form_rises_and_falls_exponentially():
    """With a time of its own each: the distance from the excitation falls as exp(-t / tau)."""
    dynamics = replace(PIECEWISE, form="linear", minimum_activation=0.0)
    for e, tau in ((1.0, dynamics.activation_time), (0.1, dynamics.deactivation_time)):
        way = solve_ivp(lambda t, a, e=e: dynamics.rate(e, a), (0, 0.1), [0.4], rtol=1e-11, atol=1e-13)
        assert way.y[0, -1] - e == pytest.approx((0.4 - e) * np.exp(-0.1 / tau), abs=1e-9)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"form": "cubic"}, "form is one of smooth, piecewise, quadratic, quintic, linear, integral, not 'cubic'"),
    ],
)
def test_numbers_that_cannot_be(changes, message):
    base = load_model("two_link")
    bad = replace(base.muscles[0], activation_dynamics=replace(SMOOTH, **changes))
    with pytest.raises(ModelError, match=message):
        replace(base, muscles=(bad, *base.muscles[1:]))
