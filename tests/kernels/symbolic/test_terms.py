"""Terms of a tracing: equal operations once, nothing recorded that says nothing, derivatives against CasADi's."""

import casadi
import numpy as np
import pytest

from myoquat import kernels
from myoquat.kernels.symbolic.terms import Tracer
from myoquat.kernels.tracing.derivatives import jacobian_at
from myoquat.kernels.tracing.trace import trace

POINTS = np.random.default_rng(7).uniform(0.1, 0.9, (20, 3))

# formula of x (3,) -> number, one for each operation and rule
FORMULAS = {
    "sums": lambda x: x[0] - (-x[1]) + (x[2] - x[0]) + 2.0 * x[1] + x[1] - 0.0 * x[2],
    "products": lambda x: -x[0] * x[1] * -x[2] * 3.0 * (2.0 * x[0]),
    "quotients": lambda x: x[0] / -x[1] + 1.0 / x[2] + (1.0 / x[0]) * x[1] + 2.0 / x[2] - x[1] / 4.0,
    "squares": lambda x: (x[0] * x[0] + np.square(x[1])) * x[2],
    "powers": lambda x: x[0] ** 7.0 + x[1] ** -3.0 + x[2] ** 0.5 + x[0] ** 1.3 + 1.7 ** x[1] + x[2] ** x[0],
    "absolute": lambda x: np.abs(x[0] - x[1]) + np.abs(np.sqrt((x[1] - x[2]) ** 2)),
    "extremes": lambda x: np.maximum(x[0], x[1]) * np.minimum(x[1], x[2]) + np.clip(x[0], 0.3, 0.6),
    "signs": lambda x: x[0] * np.sign(x[2] - 0.4) + np.floor(3.0 * x[0]) * x[1],
    "selections": lambda x: np.where((x[0] < x[1]) & ~(x[2] >= 0.5) | (x[0] == x[2]), x[0] * x[2], x[1]),
    "where_zero": lambda x: np.where(x[0] != x[1], 0.0, x[2]) + np.where(x[0] > 0.5, x[1], 0.0) * x[2],
}


def _of_casadi(formula):
    """CasADi's gradient of a formula, as a function of points."""
    x = kernels.symbols_casadi("x", (3,))
    column = kernels.as_casadi_vector(x)
    function = casadi.Function("gradient", [column], [casadi.jacobian(kernels.as_casadi_vector(formula(x)), column)])
    return lambda points: np.array([function(point).full().ravel() for point in points])


@pytest.mark.parametrize("name", FORMULAS)
def test_derivatives_are_casadi_s(name):
    formula = FORMULAS[name]
    kernel = kernels.compile(
        [lambda x: formula(x) + 0.0, lambda x: jacobian_at(lambda y: formula(y)[None], x)[0]], {"x": 3}, ["f", "df"]
    )
    value, gradient = kernel(POINTS)
    np.testing.assert_allclose(value, [formula(point) for point in POINTS], rtol=1e-13)
    np.testing.assert_allclose(gradient, _of_casadi(formula)(POINTS), rtol=1e-11, atol=1e-13)


def _operations(formula, n=2):
    return trace(formula, {"x": n}, None, "formula").tape.operations


def test_an_operation_is_recorded_once():
    assert _operations(lambda x: np.sin(x[0]) * np.sin(x[0])) == 2
    assert _operations(lambda x: (x[0] + x[1]) / (x[1] + x[0])) == 0
    assert _operations(lambda x: x[0] * x[1] + x[1] * x[0]) == 2  # a product, and twice that


def test_what_says_nothing_is_not_recorded():
    assert _operations(lambda x: 1.0 * x + 0.0) == 0
    assert _operations(lambda x: np.negative(np.negative(x))) == 0
    assert _operations(lambda x: 0.0 * np.exp(x)) == 0
    assert _operations(lambda x: np.where(x[0] < x[1], x[0], x[0])) == 0
    assert _operations(lambda x: np.sqrt(x * x)) == 2  # absolute values


def test_what_no_output_needs_is_not_in_the_tape():
    def formula(x):
        np.exp(x)
        return x[0] + x[1]

    assert _operations(formula) == 1


def test_what_was_not_chosen_takes_no_part_in_the_derivative():
    """sqrt at 0 has an infinite derivative, which 0 times infinity would make NaN."""
    formula = lambda x: np.where(x > 0.0, np.sqrt(np.where(x > 0.0, x, 0.0)), 0.0)  # noqa: E731
    kernel = kernels.compile(lambda x: jacobian_at(formula, x)[0], {"x": 1})
    np.testing.assert_array_equal(kernel(np.array([[0.0], [4.0]])), [[0.0], [0.25]])


def test_entries_of_a_point_may_be_the_same_or_numbers():
    formula = lambda y: y[:1] * y[1:2] * y[2:]  # noqa: E731
    kernel = kernels.compile(lambda x: jacobian_at(formula, np.stack([x[0], x[0], 3.0 + 0.0 * x[0]]))[0], {"x": 1})
    np.testing.assert_array_equal(kernel(np.array([2.0])), [6.0, 6.0, 4.0])


def test_symbols_of_another_formula_are_refused():
    strays = []
    kernels.compile(lambda x: strays.append(x) or x + 1.0, {"x": 1})
    with pytest.raises(ValueError, match="a symbol that is not among its arguments"):
        kernels.compile(lambda x: x + strays[0], {"x": 1})


def test_a_term_has_neither_value_nor_truth():
    (x,) = Tracer().inputs(1)
    with pytest.raises(TypeError, match=r"np.where"):
        bool(x)
    with pytest.raises(TypeError, match=r"NumPy's functions"):
        float(x)


def test_a_term_of_a_sum_is_taken_away_without_its_rounding():
    kernel = kernels.compile(lambda x: x[0] + x[1] + x[2] - x[0], {"x": 3})
    assert kernel(np.array([1e12, 0.1, 0.2])) == 0.1 + 0.2
