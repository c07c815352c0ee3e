"""Option records of simulations: the same motion as the single arguments, and no option twice."""

import numpy as np
import pytest

from myoquat import load_model, simulate
from myoquat.dynamics import Inputs, Output, Simulator, Solver

ACTIVATION = np.full(6, 0.3)


@pytest.fixture(scope="module")
def model():
    return load_model("two_link")


def test_records_and_single_arguments_give_the_same_bits(model):
    single = simulate(
        model, duration=0.02, step=2e-3, method="lie_rk4", stabilization="norm", output_step=0.01, start_time=1.0,
        activation=ACTIVATION,
    )  # fmt: skip
    records = simulate(
        model, duration=0.02, solver=Solver("lie_rk4", step=2e-3, stabilization="norm"),
        inputs=Inputs(activation=ACTIVATION), output=Output(output_step=0.01, start_time=1.0),
    )  # fmt: skip
    assert records.method == single.method
    np.testing.assert_array_equal(records.time, single.time)
    np.testing.assert_array_equal(records.q, single.q)


def test_simulator_takes_the_record_of_inputs(model):
    simulator, q0 = Simulator(model), model.system.neutral()
    u0 = np.zeros(model.system.nu)
    single = simulator(q0, u0, 0.01, activation=ACTIVATION)
    record = simulator(q0, u0, 0.01, inputs=Inputs(activation=ACTIVATION))
    np.testing.assert_array_equal(record.q, single.q)


@pytest.mark.parametrize(
    ("message", "options"),
    [
        ("step, rtol: give options either singly or in solver", {"solver": Solver(), "step": 1e-3, "rtol": 1e-6}),
        ("activation: give options", {"inputs": Inputs(), "activation": ACTIVATION}),
        ("output_step: give options", {"output": Output(), "output_step": 0.1}),
    ],
)
def test_option_in_both_forms_is_rejected(model, message, options):
    with pytest.raises(ValueError, match=message):
        simulate(model, duration=0.1, **options)


def test_record_of_another_type_is_rejected(model):
    with pytest.raises(TypeError, match="solver must be of type Solver, not Output"):
        simulate(model, duration=0.1, solver=Output())
