"""Events take functions of the motion, with the model or without it."""

import numpy as np
import pytest

import myoquat as mq
from myoquat.dynamics import Event
from tests.bodies import on_slide

SLED = mq.ArticulatedSystem((on_slide("sled"),))


@pytest.mark.parametrize(
    "value",
    [
        lambda t, q, u: q[0] - 0.5,
        lambda model, t, q, u: q[0] - 0.5,
        lambda *state: state[-2][0] - 0.5,
        lambda t, q, u, at=0.5: q[0] - 0.5 if at is not u else np.nan,
    ],
)
def test_functions_with_three_or_four_parameters(value):
    way = mq.simulate(SLED, [0.0], [1.0], duration=1.0, rtol=1e-6, events=[Event("there", value)])
    assert [round(found.time, 6) for found in way.occurrences] == [0.5]


def test_other_functions_are_rejected():
    with pytest.raises(ValueError, match=r"event 'here': its function takes \(t, q, u\) or \(model, t, q, u\)"):
        Event("here", lambda q, u: q[0])


@pytest.mark.parametrize("value", [lambda t, q, u, a: a[0], lambda time, q, u, activation: activation[0]])
def test_a_function_of_activations_is_rejected(value):
    """It would be given (model, t, q, u)."""
    with pytest.raises(ValueError, match=r"takes \(t(ime)?, q, u, a.*\); .* is given \(model, t, q, u\).*not given"):
        Event("active", value)
