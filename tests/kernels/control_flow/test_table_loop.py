"""Loops over tables: the same numbers in loops, one by one, and in what they stand for."""

import numpy as np
import pytest

from myoquat import kernels
from myoquat.kernels.control_flow.table_loop import Block, Rows, RowType, Run, table_loop
from myoquat.kernels.tracing.derivatives import jacobian_at
from myoquat.kernels.tracing.trace import trace

# cells 0 and 1: results; 2 ... 5: a chain, each entry from the one before; 6: a factor
STEP = RowType(
    lambda before, own, factor: factor * np.sin(before) + own,
    tuple(Block(np.array(first), np.arange(1)) for first in ([2, 3, 4], [3, 4, 5], [6, 6, 6])),
    (Block(np.array([3, 4, 5]), np.arange(1)),),
)  # fmt: skip
ENDS = RowType(
    lambda ends: np.concatenate([ends * ends[::-1]]),
    (Block(np.array([2]), np.array([0, 3])),),
    (Block(np.array([0]), np.arange(2)),),
)
ORDER = (Run(0, 0, 2), Run(0, 2, 3), Run(1, 0, 1))


def walked(x):
    cells = np.empty(7, dtype=object)
    cells[2:] = np.asarray(x)
    return table_loop(cells, (STEP, ENDS), ORDER, 2)


def expected(x):
    last = x[0]
    for k in (1, 2, 3):
        last = x[4] * np.sin(last) + x[k]
    return np.array([x[0] * last, x[0] * last])


def test_a_loop_is_the_recursion_that_it_stands_for():
    x = np.random.default_rng(0).normal(size=(9, 5))
    kernel = kernels.compile(walked, {"x": 5}, ["y"])
    wanted = np.stack([expected(row) for row in x])
    assert np.abs(kernel(x) - wanted).max() < 1e-15
    assert np.abs(kernel(x[0]) - wanted[0]).max() < 1e-15  # one state
    assert np.array_equal(np.asarray(walked(x[0]), dtype=float), wanted[0])


def test_a_result_may_be_one_output_among_others():
    kernel = kernels.compile(lambda x: (walked(x), 2.0 * walked(x)), {"x": 5}, ["y", "twice"])
    y, twice = kernel(np.ones((3, 5)))
    assert np.array_equal(2.0 * y, twice)
    assert np.abs(y - expected(np.ones(5))).max() < 1e-15


def test_derivatives_and_casadi_see_every_visit():
    x = np.random.default_rng(1).normal(size=5)
    J = kernels.compile(lambda x: jacobian_at(walked, x), {"x": 5}, ["J"])(x)
    h = 1e-6
    slopes = np.stack([(expected(x + h * e) - expected(x - h * e)) / (2 * h) for e in np.eye(5)], axis=-1)
    assert np.abs(J - slopes).max() < 1e-8
    traced = trace(walked, {"x": 5}, ["y"])
    assert len(traced.inner) == 1
    assert np.abs(np.array(traced.function(x)).ravel() - expected(x)).max() < 1e-15


def test_long_results_are_the_same_past_the_caches_and_through_them():
    """Rows of whole lines of memory, from the begin of a line on, take another way into it."""
    rows, eight = 2049, np.arange(8)
    first = 8 * np.arange(rows - 1)
    adding = RowType(
        lambda before, x: before + x,
        (Block(first, eight), Block(np.full(rows - 1, 8 * rows), eight)),
        (Block(first + 8, eight),),
    )

    def multiples(x):
        cells = np.empty(8 * (rows + 1), dtype=object)
        cells[:8] = cells[-8:] = np.asarray(x)
        return table_loop(cells, (adding,), (Run(0, 0, rows - 1),), 8 * rows)

    kernel = kernels.compile(multiples, {"x": 8}, ["y"])
    x = np.random.default_rng(0).integers(-9, 9, (19, 8)).astype(float)
    memory = np.empty(19 * 8 * rows + 1)
    expected = (x[:, None] * np.arange(1, rows + 1)[:, None]).reshape(19, -1)
    assert np.array_equal(kernel(x), expected)
    assert np.array_equal(kernel(x, out=memory[1:].reshape(19, 8 * rows)), expected)


def outer(x, rows=4):
    """2 x[k] x[j], but 0 where j = k + 1 and x[k] where j = k."""
    x = list(np.asarray(x))
    rows_of, cells = Rows(), [0.0] * (rows * rows) + x
    one, none = np.arange(1), np.zeros(1, dtype=int)
    rows_of.types["twice"] = (lambda a, b: 2.0 * a * b), [one, one], [none]
    for k in range(rows):
        cells[rows * k + k] = x[k]
        for j in range(rows):
            if j not in (k, k + 1):
                rows_of.add("twice", [(rows * rows + k, rows * rows + j, rows * k + j)])
    return rows_of.looped(cells, rows * rows).reshape(rows, rows)


@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
def test_constants_and_operands_of_a_result_stay_where_no_visit_writes(lanes):
    x = np.random.default_rng(2).normal(size=(19, 4))
    expected = np.stack([np.asarray(outer(row), dtype=float) for row in x])
    kernel = kernels.compile(outer, {"x": 4}, ["y"], lanes=lanes)
    assert np.array_equal(kernel(x), expected)
    assert np.array_equal(kernel(x[0]), expected[0])
    assert np.array_equal(kernel(x[::-2]), expected[::-2])

    def read_again(x):
        y = outer(x)
        return y, 2.0 * y

    y, twice = kernels.compile(read_again, {"x": 4}, ["y", "twice"], lanes=lanes)(x)
    assert np.array_equal(y, expected)
    assert np.array_equal(twice, 2.0 * expected)


def test_equal_numbers_of_an_output_share_a_slot():
    """Symmetric matrices with zeros, in whole blocks of states and others."""
    near = 1.0 * (abs(np.subtract.outer(np.arange(9), np.arange(9))) < 4)
    x = np.random.default_rng(3).normal(size=(21, 9))
    kernel = kernels.compile(lambda x: near * (x[:, None] * x), {"x": 9}, ["y"])
    assert np.array_equal(kernel(x), near * (x[:, :, None] * x[:, None]))
    assert np.array_equal(kernel(x[::-2]), kernel(x)[::-2])
