"""Random formulas: whatever is written in NumPy's functions gives the same numbers compiled."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from myoquat import kernels

# Each keeps its argument within a few units and has a derivative of a few units at most, so that errors stay small.
ONE = {
    "sin": np.sin,
    "cos": np.cos,
    "atan": np.arctan,
    "tanh": np.tanh,
    "root": lambda x: np.sqrt(x * x + 1.0),
    "gauss": lambda x: np.exp(-x * x),
    "log": lambda x: np.log(x * x + 1.0),
    "reciprocal": lambda x: 1.0 / (x * x + 1.0),
    "half": lambda x: -0.5 * x,
    "abs": np.abs,
}
TWO = {
    "sum": lambda x, y: (x + y) * 0.5,
    "difference": lambda x, y: (x - y) * 0.5,
    "product": lambda x, y: np.tanh(x) * np.tanh(y),
    "quotient": lambda x, y: x / (2.0 + np.cos(y)),
    "larger": np.maximum,
    "smaller": np.minimum,
    "choice": lambda x, y: np.where(np.sin(x) > 2.0, x, np.where(y * y >= 0.0, y, x)),
    "fused": lambda x, y: 0.25 * x * y / (1.0 + np.abs(x) + np.abs(y)) + 0.5 * y,
}
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(sorted(ONE)), st.integers(0, 30)),
        st.tuples(st.sampled_from(sorted(TWO)), st.integers(0, 30), st.integers(0, 30)),
    ),
    min_size=1,
    max_size=25,
)


def formula_of(steps):
    """A formula that grows a list of values, each step taking earlier ones; it returns the last three."""

    def formula(q):
        values = list(q)
        for name, *taken in steps:
            arguments = [values[k % len(values)] for k in taken]
            values.append(ONE[name](*arguments) if len(arguments) == 1 else TWO[name](*arguments))
        return np.stack(values[-3:])

    return formula


@settings(max_examples=40, deadline=None, derandomize=True)
@given(STEPS, st.integers(0, 2**32 - 1))
def test_compiled_equals_written(steps, seed):
    q = np.random.default_rng(seed).uniform(-2, 2, (11, 3))
    wide, narrow = (kernels.compile(formula_of(steps), {"q": 3}, lanes=n, cache="off") for n in (8, 1))
    value = wide(q)
    assert np.array_equal(value, narrow(q), equal_nan=True)
    np.testing.assert_allclose(value, wide.numpy(q), rtol=0, atol=4e-15 * len(steps))
    single = [np.array(wide.casadi_function(state)).ravel() for state in q]
    np.testing.assert_allclose(value, single, rtol=0, atol=4e-15 * len(steps))


@pytest.mark.parametrize(
    "formula",
    [
        lambda x, y: np.sqrt(x * x - y * y),
        lambda x, y: np.sqrt(x * x + 0.0 * y - y * y),
        lambda x, y: np.sqrt((x * x + (x - y) * (x - y)) - y * y),
        lambda x, y: np.sqrt(np.where(x > 0, x * (3 * y) - y * (3 * x), 0.0)),
        lambda x, y: np.arccos(1.0 + (x * (3 * y) - y * (3 * x))),
        lambda x, y: np.log1p(x * x - y * y),
    ],
)
def test_equal_products_cancel_under_a_root(formula, rng):
    """At x = y the difference is zero, not the rounding error of a product, whose root would be NaN."""
    x = rng.normal(size=4000)
    value = kernels.compile(formula, {"x": (), "y": ()})(x, x)
    np.testing.assert_array_equal(value, np.zeros_like(x))
