"""The record of inputs: the same motion as by single arguments, and no input twice."""

import numpy as np
import pytest

from myoquat import load_model, simulate
from myoquat.dynamics import Inputs, Simulator

ACTIVATION = np.full(6, 0.3)


def test_record_and_single_arguments_give_the_same_bits():
    model = load_model("two_link")
    simulator, state = Simulator(model), (model.system.neutral(), np.zeros(model.system.nu))
    for move in (
        lambda **given: simulate(model, duration=0.01, **given),
        lambda **given: simulator(*state, 0.01, **given),
    ):
        single, record = move(activation=ACTIVATION), move(inputs=Inputs(activation=ACTIVATION))
        np.testing.assert_array_equal(record.q, single.q)


@pytest.mark.parametrize(
    ("error", "message", "options"),
    [
        (ValueError, "activation: give options", {"inputs": Inputs(), "activation": ACTIVATION}),
        (TypeError, "inputs must be of type Inputs, not dict", {"inputs": {"activation": ACTIVATION}}),
    ],
)
def test_inputs_in_both_forms_or_of_another_type_are_rejected(error, message, options):
    with pytest.raises(error, match=message):
        simulate(load_model("two_link"), duration=0.1, **options)
