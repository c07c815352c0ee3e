"""Simulations that start at another time than zero: functions of the time go on from there."""

import numpy as np
import pytest

import myoquat as mq
from myoquat.dynamics.constraints import Prescribed
from myoquat.joints.functions import Linear, PiecewiseLinear
from myoquat.muscle.actuators import CoordinateActuator
from tests.bodies import on_slide

SLED = on_slide("sled", "x", "x")
SYSTEM = mq.ArticulatedSystem((SLED,))


def driven(function):
    motor = CoordinateActuator("motor", "x")
    return mq.Model(SYSTEM, actuators=(motor,), inputs=(mq.muscle.PrescribedInput("motor", function),))


@pytest.mark.parametrize("options", [{}, {"output_step": 0.25}, {"rtol": 1e-9}, {"rtol": 1e-9, "output_step": 0.25}])
def test_a_ramp_goes_on(options):
    """x'' = 6 t from t = 1 with x' = 3: x = t^3 - 1."""
    way = mq.simulate(driven(Linear(6.0)), [0.0], [3.0], duration=1.0, start_time=1.0, **options)
    assert (way.time[0], way.time[-1]) == (1.0, 2.0)
    np.testing.assert_allclose(way.q[:, 0], way.time**3 - 1, atol=1e-8)


def test_kinks_are_those_of_the_time():
    """A push between 1.2 and 1.4 s, in solvers that start anew at its corners."""
    hat = PiecewiseLinear((0.0, 1.2, 1.3, 1.4, 2.0), (0.0, 0.0, 1.0, 0.0, 0.0))
    way = mq.simulate(driven(hat), [0.0], [0.0], duration=0.5, start_time=1.1, rtol=1e-6)
    assert {1.2, 1.3, 1.4} <= set(way.time.round(12))
    assert abs(way.u[-1, 0] - 0.1) < 1e-12


def test_the_start_is_held_against_constraints_at_its_time():
    led = Prescribed("x", lambda t: t * t)
    way = mq.simulate(SYSTEM, [4.0], [4.0], 0.1, constraints=(led,), start_time=2.0, rtol=1e-8)
    assert abs(way.q[-1, 0] - 2.1**2) < 1e-8
    with pytest.raises(ValueError, match="violates the constraints"):
        mq.simulate(SYSTEM, [0.0], [0.0], 0.1, constraints=(led,), start_time=2.0, rtol=1e-8)


def test_a_time_that_is_none_is_refused():
    with pytest.raises(ValueError, match="start_time must be finite"):
        mq.simulate(SYSTEM, [0.0], [0.0], 0.1, start_time=np.inf)
