"""Rows of a table inside a formula: the same numbers as row by row, in lanes, blocks and derivatives."""

import re

import numpy as np
import pytest
from packed_loop import iterate

from myoquat import kernels
from myoquat.kernels.control_flow.table_loop import map_rows
from myoquat.kernels.tracing.derivatives import jacobian_at
from myoquat.kernels.tracing.trace import trace


def element(row, numbers):
    """(..., 2) of a row (..., 2) and numbers (..., 3), one of which meets no entry of the row before it is a sine."""
    x, y = row[..., 0], row[..., 1]
    first = np.exp(-x * np.sin(numbers[..., 0])) * y
    return np.stack([first, np.where(x > numbers[..., 1], y, np.cos(x * numbers[..., 2]))], axis=-1)


def formula_of(numbers):
    k = len(numbers)

    def formula(x):
        results = map_rows(element, np.sin(x).reshape(*x.shape[:-1], k, 2), numbers, 2)
        return np.sum(results, axis=-2) * x[..., :1]

    return formula


@pytest.fixture(params=[1, 3, 8, 11])
def numbers(request, rng):
    return rng.uniform(0.5, 1, (request.param, 3))


def test_every_number_of_lanes_gives_what_numpy_gives(numbers, rng):
    formula, n = formula_of(numbers), 2 * len(numbers)
    x = rng.normal(size=(20, n))
    found = [kernels.compile(formula, {"x": n}, lanes=lanes)(x) for lanes in (1, 8)]
    np.testing.assert_array_equal(*found)
    np.testing.assert_allclose(found[0], formula(x), rtol=1e-13, atol=1e-14)


def test_derivatives_see_every_row(numbers, rng):
    formula, n = formula_of(numbers), 2 * len(numbers)
    x = rng.normal(size=(5, n))
    inside = kernels.compile(lambda x: jacobian_at(formula, x), {"x": n})(x)
    np.testing.assert_allclose(kernels.compile(formula, {"x": n}).jacobian()(x), inside, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(inside, jacobian_at(formula, x), rtol=1e-12, atol=1e-14)


def test_code_does_not_grow_with_the_rows():
    lines = [
        len(kernels.compile(formula_of(np.ones((k, 3))), {"x": 2 * k}, lanes=1).ir.split("define")[1].splitlines())
        for k in (16, 64)
    ]
    assert lines[0] == lines[1]


def test_what_the_numbers_alone_decide_is_computed_while_tracing():
    numbers = np.array([[0.1, 1.0, 2.0], [0.2, 1.0, 2.0]])
    (inner,) = trace(formula_of(numbers), {"x": 4}, None, "rows").inner
    (rows,) = inner.types
    np.testing.assert_array_equal(rows.numbers, np.sin(numbers[:, :1]))  # the others are the same in both rows
    assert "sin" not in {node.operation for node in rows.tape.nodes}


def test_a_table_may_take_what_another_gives(rng):
    numbers = rng.uniform(0.5, 1, (4, 3))
    formula = lambda x: map_rows(element, map_rows(element, x.reshape(*x.shape[:-1], 4, 2), numbers, 2), numbers, 2)  # noqa: E731
    x = rng.normal(size=(6, 8))
    np.testing.assert_allclose(kernels.compile(formula, {"x": 8})(x), formula(x), rtol=1e-13, atol=1e-14)


def test_element_with_a_loop_inside_is_one_function(rng):
    def root(row, numbers):
        return iterate(lambda z, c: (z + c / z) / 2, 1.0 + 0.0 * row, row * numbers, 9)

    numbers, x = rng.uniform(1, 2, (7, 1)), rng.uniform(1, 2, (50, 7))
    kernel = kernels.compile(lambda x: map_rows(root, x[..., None], numbers, 1)[..., 0], {"x": 7})
    np.testing.assert_allclose(kernel(x), np.sqrt(x * numbers[:, 0]), rtol=1e-13)
    assert len(set(re.findall("@function_[0-9a-f]{16}", kernel.ir))) == 2  # the rows, and the element


def test_unused_columns_are_not_computed(rng):
    numbers, x = rng.uniform(0.5, 1, (5, 3)), rng.normal(size=(7, 10))

    def part(x, column):
        return map_rows(element, x.reshape(*x.shape[:-1], 5, 2), numbers, 2)[..., column]

    def both(x):
        part(x, 0)  # a table without any use
        return part(x, 1)

    (whole,) = trace(lambda x: map_rows(element, x.reshape(5, 2), numbers, 2), {"x": 10}).inner
    (kept,) = trace(both, {"x": 10}).inner
    (whole,), (kept,) = whole.types, kept.types
    assert (len(whole.tape.outputs), len(kept.tape.outputs)) == (2, 1)
    assert kept.tape.operations < whole.tape.operations
    assert "exp" not in {node.operation for node in kept.tape.nodes}
    np.testing.assert_allclose(kernels.compile(both, {"x": 10})(x), part(x, 1), rtol=1e-14)
