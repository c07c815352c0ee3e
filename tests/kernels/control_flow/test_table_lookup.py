"""Entries of tables that kernels look up: the same bits as NumPy's, code that does not grow with the knots."""

import casadi
import numpy as np
import pytest

from myoquat import kernels
from myoquat.joints.functions import NaturalSpline, PiecewiseConstant, PiecewiseLinear
from myoquat.joints.functions.splines import MAX_COMPARED_KNOTS, chosen
from myoquat.kernels.control_flow.table_loop import map_rows
from myoquat.kernels.tracing.derivatives import jacobian_at


def table(rng, count):
    knots = np.cumsum(rng.uniform(0.1, 1.0, count))
    return knots.tolist(), [column.tolist() for column in rng.normal(size=(3, count))]


@pytest.mark.parametrize("lanes", [1, None])
@pytest.mark.parametrize("count", [MAX_COMPARED_KNOTS + 1, 63, 64, 65, 1000])
def test_the_entries_are_those_of_the_chain(rng, count, lanes):
    """At the knots, on both sides of them, far outside, and at infinity."""
    knots, columns = table(rng, count)
    x = np.concatenate([knots, np.nextafter(knots, np.inf), np.nextafter(knots, -np.inf), [-1e9, 1e9, np.inf, -np.inf]])
    kernel = kernels.compile(lambda x: chosen(x, knots, *columns), {"x": ()}, ["a", "b", "c"], lanes=lanes)
    expected = chosen(x, knots, *columns)
    found = kernel(x) if lanes is None else np.transpose([kernel(one) for one in x])
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_place_that_is_no_number_takes_the_first_entries(rng):
    """As in the chain of comparisons, none of which holds."""
    knots, columns = table(rng, 100)
    kernel = kernels.compile(lambda x: chosen(x, knots, *columns), {"x": ()}, ["a", "b", "c"])
    assert [float(entry) for entry in kernel(np.nan)] == [column[0] for column in columns]


def test_the_code_does_not_grow_with_the_knots(rng):
    def lines(count):
        knots, columns = table(rng, count)
        return kernels.compile(lambda x: chosen(x, knots, *columns)[1], {"x": ()}, ["y"], lanes=1).ir.count("\n")

    assert lines(64 * 100) <= lines(100) + 6 * 6  # six halves more, of six lines


@pytest.mark.parametrize("function_type", [PiecewiseLinear, PiecewiseConstant, NaturalSpline])
def test_functions_of_many_points(rng, function_type):
    x = np.linspace(-1.0, 5.0, 200)
    function = function_type(tuple(x), tuple(np.sin(x)))
    formula = lambda t: np.stack([function.value(t), function.slope(t), function.curvature(t)])  # noqa: E731
    at = rng.uniform(-2.0, 6.0, 500)
    kernel = kernels.compile(formula, {"t": ()}, ["values"])
    np.testing.assert_allclose(kernel(at), formula(at).T, rtol=1e-13, atol=1e-13)
    inside = at[np.abs(at[:, None] - x).min(axis=1) > 1e-4]
    slopes = kernel.jacobian("values", "t")(inside)
    h = 1e-6
    between = (formula(inside + h) - formula(inside - h)) / (2 * h)
    np.testing.assert_allclose(slopes[:, 0], between[0], atol=1e-8)


def test_casadi_and_derivatives_inside_a_formula(rng):
    knots, columns = table(rng, 100)

    def formula(x):
        start, value, slope = chosen(x, knots, knots, *columns[:2])
        return value + slope * (x - start)

    kernel = kernels.compile(formula, {"x": ()}, ["y"])
    at = rng.uniform(knots[0], knots[-1], 50)
    found = [float(casadi.DM(kernel.casadi_function(x))) for x in at]
    np.testing.assert_allclose(found, formula(at), rtol=1e-14, atol=1e-14)
    inner = kernels.compile(lambda x: jacobian_at(lambda z: np.stack([formula(z[0] ** 2)]), x), {"x": 1}, ["J"])
    z = rng.uniform(1.0, 3.0, (20, 1))
    slope = chosen(z[:, 0] ** 2, knots, columns[1])[0]
    np.testing.assert_allclose(inner(z)[:, 0, 0], 2 * z[:, 0] * slope, rtol=1e-13)


def test_in_the_rows_of_a_table_it_is_written_out(rng):
    knots, columns = table(rng, 40)
    element = lambda row, numbers: np.stack([chosen(row[..., 0] + numbers[0], knots, columns[0])[0]], axis=-1)  # noqa: E731
    rows, numbers = rng.uniform(knots[0], knots[-1], (7, 5, 1)), rng.normal(size=(5, 1))
    kernel = kernels.compile(lambda x: map_rows(element, x, numbers, 1), {"x": (5, 1)}, ["y"])
    np.testing.assert_array_equal(kernel(rows), np.stack([map_rows(element, row, numbers, 1) for row in rows]))
