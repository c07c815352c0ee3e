"""Roots between two ends, many at once, against SciPy's."""

import numpy as np
import pytest
from scipy.optimize import elementwise

from myoquat.muscle.laws.bracketing import find_root

FUNCTIONS = {
    "cubic": lambda x, c: x**3 - c,
    "exponential": lambda x, c: np.exp(5 * x) - 1 - c,
    "flat": lambda x, c: (x - c / 5) ** 9,
    "jump": lambda x, c: np.where(x < c / 5, -1.0, 3.0),
    "kink": lambda x, c: np.maximum(x - c / 5, 1e3 * (x - c / 5)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_roots_are_those_of_scipy(name, rng):
    c = rng.uniform(0.1, 3, 200)
    ends = np.full(200, -1.0), np.full(200, 2.0)
    found = find_root(FUNCTIONS[name], ends, (c,), 1e-12)
    wanted = elementwise.find_root(FUNCTIONS[name], ends, args=(c,), tolerances={"xrtol": 1e-12})
    assert wanted.success.all()
    near = 1e-2 if name == "flat" else 2e-12  # where the ninth power underflows to zero is no single place
    np.testing.assert_allclose(found, wanted.x, rtol=near, atol=1e-12)


def test_an_end_may_be_the_root():
    ends = np.array([0.0, -1.0]), np.array([1.0, 0.0])
    np.testing.assert_array_equal(find_root(lambda x: x, ends, (), 1e-12), [0.0, 0.0])


def test_signs_that_agree_and_numbers_that_are_none_have_no_root():
    c = np.array([0.5, 5.0, np.nan])
    found = find_root(lambda x, c: x - c, (np.zeros(3), np.ones(3)), (c,), 1e-12)
    np.testing.assert_array_equal(found, [0.5, np.nan, np.nan])
