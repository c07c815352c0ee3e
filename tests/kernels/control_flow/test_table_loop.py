"""Loops over tables and maps: the same numbers as row by row, in lanes, blocks and derivatives."""

import re

import numpy as np
import pytest
from packed_loop import iterate

from myoquat import kernels
from myoquat.kernels.control_flow.table_loop import Block, Rows, RowType, Run, map_rows, over_rows, table_loop
from myoquat.kernels.tracing.context import becomes_loops
from myoquat.kernels.tracing.derivatives import jacobian_at
from myoquat.kernels.tracing.trace import trace
from tests.differences import differences

RNG = np.random.default_rng(0)


def element(row, numbers):
    """(..., 2) of a row (..., 2) and numbers (..., 3), one of which meets no entry of the row before it is a sine."""
    x, y = row[..., 0], row[..., 1]
    first = np.exp(-x * np.sin(numbers[..., 0])) * y
    return np.stack([first, np.where(x > numbers[..., 1], y, np.cos(x * numbers[..., 2]))], axis=-1)


def map_of(numbers):
    def formula(x):
        results = map_rows(element, np.sin(x).reshape(*x.shape[:-1], len(numbers), 2), numbers, 2)
        return np.sum(results, axis=-2) * x[..., :1]

    return formula


def twice_mapped(x):
    """A map of what another one gives."""
    numbers = np.random.default_rng(1).uniform(0.5, 1, (4, 3))
    rows = map_rows(element, x.reshape(*x.shape[:-1], 4, 2), numbers, 2)
    return map_rows(element, rows, numbers, 2).reshape(*x.shape[:-1], 8)


# cells 0 and 1: results; 2 ... 5: a chain, each entry from the one before; 6: a factor
STEP = RowType(
    lambda before, own, factor: factor * np.sin(before) + own,
    tuple(Block(np.array(first), np.arange(1)) for first in ([2, 3, 4], [3, 4, 5], [6, 6, 6])),
    (Block(np.array([3, 4, 5]), np.arange(1)),),
)  # fmt: skip
ENDS = RowType(
    lambda ends: ends * ends[::-1], (Block(np.array([2]), np.array([0, 3])),), (Block(np.array([0]), np.arange(2)),)
)


def chain(x):
    """A state by itself: a loop knows no batch axes."""
    cells = np.empty(7, dtype=object)
    cells[2:] = np.asarray(x)
    return table_loop(cells, (STEP, ENDS), (Run(0, 0, 2), Run(0, 2, 3), Run(1, 0, 1)), 2)


ENDS_OF_SPRINGS = np.random.default_rng(4).permuted(np.tile(np.arange(4), (11, 1)), axis=1)[:, :2]
STRENGTHS = np.random.default_rng(5).uniform(1, 2, (11, 1))


def spring(a, b, strength):
    """What a spring between two points of a plane does to both."""
    line = b - a
    force = strength * line / np.sqrt(line @ line + 1.0)
    return np.concatenate([force, -force])


def springs(x):
    """Forces on four points: rows of different elements add to the same cells."""
    cells = np.concatenate([np.zeros(8, dtype=object), np.asarray(x)])
    both = [Block(2 * ends, np.arange(2)) for ends in ENDS_OF_SPRINGS.T]
    takes = tuple(block._replace(first=block.first + 8) for block in both)
    return table_loop(cells, [RowType(spring, takes, tuple(both), STRENGTHS, (True, True))], [Run(0, 0, 11)], 8)


@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
def test_rows_add_to_cells_one_after_the_other(lanes):
    x = RNG.normal(size=(21, 8))
    wanted = np.zeros((21, 4, 2))
    for force, point in zip(wanted, x.reshape(21, 4, 2), strict=True):
        for (i, j), strength in zip(ENDS_OF_SPRINGS, STRENGTHS, strict=True):
            force[[i, j]] += spring(point[i], point[j], strength).reshape(2, 2)
    kernel = kernels.compile(springs, {"x": 8}, lanes=lanes)
    for found in (kernel(x), kernel.numpy(x)):
        np.testing.assert_allclose(found, wanted.reshape(21, 8), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(kernel.jacobian()(x), differences(kernel, x), rtol=0, atol=1e-8)
    np.testing.assert_array_equal(kernel(x), kernel(x))  # no state remembers the last


def test_two_maps_beside_a_solver():
    """Where a kernel takes several blocks of states, both are called for each block."""
    numbers = np.random.default_rng(1).uniform(0.5, 1, (4, 3))

    def formula(x):
        first, second = (map_rows(element, y.reshape(4, 2), numbers, 2) for y in (x, np.sin(x)))
        start = np.sum(first * first) + np.sum(second * second)
        return kernels.while_loop(lambda y: y > 1.0, lambda y: 0.5 * y, start, max_steps=99)

    x = RNG.normal(size=(70, 8))
    kernel = kernels.compile(formula, {"x": 8}, lanes=8, cache="off")
    np.testing.assert_allclose(kernel(x), kernel.numpy(x), rtol=1e-13)


def outer(x, size=4):
    """2 x[k] x[j], but 0 where j = k + 1 and x[k] where j = k, which no row gives."""
    x = list(np.asarray(x))
    rows, cells = Rows(), [0.0] * (size * size) + x
    one, none = np.arange(1), np.zeros(1, dtype=int)
    rows.types["twice"] = (lambda a, b: 2.0 * a * b), [one, one], [none]
    for k in range(size):
        cells[size * k + k] = x[k]
        for j in range(size):
            if j not in (k, k + 1):
                rows.add("twice", (size * size + k, size * size + j, size * k + j))
    return rows.looped(cells, size * size)


def tree_of(parents, numbers):
    """(2 n,) of x (n,) for the nodes of a tree, parents first, with numbers (n, 2): y = a + sin(x) y_parent, and the
    sum of b y of a node and all below it. Two more numbers that go down, and one that comes up, are zero."""
    n, one, two, three = len(parents), np.arange(1), np.arange(2), np.arange(3)

    def down(x, parent, own):
        return np.concatenate([own[:1] + np.sin(x) * parent[:1], 0.0 * parent[1:]])

    def up(y, below, above, own):
        found = below + np.concatenate([own[1:] * y[:1] + y[1:2], y[2:]])
        return np.concatenate([found[:1], above + found])

    def formula(x):
        rows, zeros, first = Rows(), [0.0] * (2 * n + 5), 5 * n  # y and sum of the nodes, of one above, and results
        rows.types |= {"down": (down, [one, three], [three]), "up": (up, [three, two, two], [one, two])}
        rows.types["out"] = (lambda y: y, [one], [one])
        cells = [*zeros[: 2 * n], *[None] * (3 * n), 1.0, 0.0, 0.0, *zeros[: 2 * n + 2], *np.asarray(x)]
        y, sums = ([start + width * k for k in (*range(n), -1)] for start, width in ((2 * n, 3), (first + 5, 2)))
        y[-1], sums[-1] = first, first + 3
        for k, parent in enumerate(parents):
            rows.add("down", (len(cells) - n + k, y[parent], y[k]), numbers[k])
        for k, parent in reversed([*enumerate(parents)]):
            rows.add("up", (y[k], sums[k], sums[parent], 2 * k, sums[parent]), numbers[k])
        for k in range(n):
            rows.add("out", (y[k], 2 * k + 1))
        return rows.looped(cells, 2 * n)

    return formula


def random_tree(n):
    """Nodes hang on random ones before them, and one number is the same for all."""
    numbers = np.stack([RNG.uniform(0.5, 1, n), np.full(n, 0.7)], axis=-1)
    return tree_of([-1, *(int(RNG.integers(-1, i)) for i in range(1, n))], numbers)


FORMULAS = {
    **{f"map of {k}": (map_of(RNG.uniform(0.5, 1, (k, 3))), 2 * k) for k in (1, 3, 8, 11)},
    "map of a map": (twice_mapped, 8),
    "chain": (chain, 5),
    "outer": (outer, 4),
    **{f"tree of {n}": (random_tree(n), n) for n in (1, 2, 7, 30)},
}


@pytest.fixture(params=FORMULAS)
def looped(request):
    """A formula, the length of x, and the formula state by state."""
    formula, n = FORMULAS[request.param]
    return formula, n, lambda x: np.stack([np.asarray(formula(row), dtype=float) for row in x])


def test_every_number_of_lanes_gives_what_numpy_gives(looped, rng):
    formula, n, by_state = looped
    x = rng.normal(size=(19, n))
    found = [kernels.compile(formula, {"x": n}, lanes=lanes)(x) for lanes in (1, 2, 8)]
    assert all(np.array_equal(one, found[0]) for one in found)
    np.testing.assert_allclose(found[0], by_state(x), rtol=1e-13, atol=1e-14)
    kernel = kernels.compile(lambda x: (formula(x), 2.0 * formula(x)), {"x": n}, ["y", "twice"])
    y, twice = kernel(x[::-2])  # the result is an output, and read again
    assert np.array_equal(y, found[0][::-2])
    assert np.array_equal(twice, 2.0 * y)
    assert np.array_equal(kernel(x[0])[0], found[0][0])


def test_derivatives_and_casadi_see_every_row(looped, rng, request):
    formula, n, by_state = looped
    x = rng.normal(size=(3, n))
    inside = kernels.compile(lambda x: jacobian_at(formula, x), {"x": n})(x)
    if "map" not in request.node.name:
        np.testing.assert_allclose(inside, differences(by_state, x), rtol=1e-7, atol=1e-7)
    else:
        np.testing.assert_allclose(inside, jacobian_at(formula, x), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(kernels.compile(formula, {"x": n}).jacobian()(x), inside, rtol=1e-11, atol=1e-13)
    traced = trace(formula, {"x": n}, None, "rows")
    assert traced.inner
    np.testing.assert_allclose(traced.function(x[0]).full().ravel(), by_state(x)[0], rtol=1e-13, atol=1e-14)


def line_tree(n):
    return tree_of([*range(-1, n - 1)], np.ones((n, 2)))


@pytest.mark.parametrize("made", [lambda k: map_of(np.ones((k, 3))), line_tree])
def test_code_does_not_grow_with_the_rows(made):
    def lines(k):
        functions = kernels.compile(made(k), {"x": 2 * k}, lanes=1).ir.split("define")
        return sum(len(text.splitlines()) for text in functions if "_type" in text.split("(")[0])

    assert 0 < lines(16) == lines(64)


def test_what_the_numbers_alone_decide_is_computed_while_tracing():
    numbers = np.array([[0.1, 1.0, 2.0], [0.2, 1.0, 2.0]])
    (inner,) = trace(map_of(numbers), {"x": 4}, None, "rows").inner
    (rows,) = inner.types
    np.testing.assert_array_equal(rows.numbers, np.sin(numbers[:, :1]))  # the others are the same in both rows
    assert "sin" not in {node.operation for node in rows.tape.nodes}


def test_numbers_of_all_rows_are_constants_and_zeros_are_not_passed_on():
    numbers = np.array([[0.1 * i, 0.7] for i in range(9)])
    (inner,) = trace(tree_of([*range(-1, 8)], numbers), {"x": 9}, None, "nodes").inner
    down, up, _ = inner.types
    assert [rows.numbers.shape for rows in (down, up)] == [(9, 1), (9, 0)]
    assert [len(block.behind) for block in (*down.takes, *down.gives)] == [1, 1, 1]
    assert [len(block.behind) for block in (*up.takes, *up.gives)] == [1, 1, 1, 1, 1]


def test_what_nothing_needs_is_not_computed(rng):
    numbers, x = rng.uniform(0.5, 1, (5, 3)), rng.normal(size=(7, 10))

    def part(x, column):
        return map_rows(element, x.reshape(*x.shape[:-1], 5, 2), numbers, 2)[..., column]

    def one(x):
        part(x, 0)  # loops without any use
        line_tree(10)(x)
        return part(x, 1)

    (inner,) = trace(one, {"x": 10}).inner
    assert "exp" not in {node.operation for node in inner.types[0].tape.nodes}
    np.testing.assert_allclose(kernels.compile(one, {"x": 10})(x), part(x, 1), rtol=1e-14)


def test_element_with_a_loop_inside_is_one_function(rng):
    def root(row, numbers):
        return iterate(lambda z, c: (z + c / z) / 2, 1.0 + 0.0 * row, row * numbers, 9)

    numbers, x = rng.uniform(1, 2, (7, 1)), rng.uniform(1, 2, (50, 7))
    kernel = kernels.compile(lambda x: map_rows(root, x[..., None], numbers, 1)[..., 0], {"x": 7})
    np.testing.assert_allclose(kernel(x), np.sqrt(x * numbers[:, 0]), rtol=1e-13)
    assert len(set(re.findall("@function_[0-9a-f]{16}", kernel.ir))) == 3  # the rows, the element and its step


def test_equal_numbers_of_an_output_share_a_slot():
    """Symmetric matrices with zeros, in whole blocks of states and others."""
    near = 1.0 * (abs(np.subtract.outer(np.arange(9), np.arange(9))) < 4)
    x = np.random.default_rng(3).normal(size=(21, 9))
    kernel = kernels.compile(lambda x: near * (x[:, None] * x), {"x": 9}, ["y"])
    assert np.array_equal(kernel(x), near * (x[:, :, None] * x[:, None]))
    assert np.array_equal(kernel(x[::-2]), kernel(x)[::-2])


def test_only_kernels_that_are_traced_have_loops(rng):
    seen = []

    def formula(x):
        seen.append(becomes_loops(x))
        return 2.0 * x

    formula(rng.normal(size=3))
    kernels.compile(formula, {"x": 3})
    kernels.compile(lambda x: jacobian_at(formula, x), {"x": 3})
    assert seen == [False, True, False]


def summed(record, x, scale, least):
    """Numbers, one more and a condition of every row, and two sums over rows."""
    y = np.where(~record["off"][..., None], record["a"], 0.5) * x[..., None] * scale[..., None, :]
    low = x < least[..., None]
    return (y, x + least[..., None], low), (np.sum(y, axis=-2), np.sum(np.where(low, x * x, x), axis=-1))


def sums_of(n, group):
    """A formula of a (n, 3), x (n,), which is an array of its own and of the formula's inputs, and a scale."""

    def formula(a, x, scale, least):
        (y, more, low), sums = over_rows(summed, [{"a": a, "off": x < 0}, x], [scale, least], group=group)
        other = np.where(low, x, more)
        (z, *_), again = over_rows(summed, [{"a": y, "off": low}, other], [sums[0], least], group=group)
        return {"z": z, "sums": np.concatenate([*again[:1], sums[1][..., None], again[1][..., None]], axis=-1)}

    return formula, {"a": (n, 3), "x": n, "scale": 3, "least": ()}


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize(("n", "group"), [(0, 2), (1, 2), (5, 1), (6, 3), (7, 3), (3, 4)])
def test_rows_in_groups_give_what_one_call_for_all_gives(n, group, lanes):
    """Also where rows are read as inputs of the kernel, which stay where they are, and as results before."""
    formula, sizes = sums_of(n, group)
    given = [RNG.normal(size=(13, *np.atleast_1d(shape))) for shape in ((n, 3), n, 3)] + [RNG.normal(size=13)]
    kernel = kernels.compile(formula, sizes, lanes=lanes)
    for found, wanted in zip(kernel(*given), formula(*given).values(), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13)


def test_sums_over_rows_have_derivatives():
    formula, sizes = sums_of(3, 2)
    kernel = kernels.compile(formula, sizes)
    given = [RNG.normal(size=np.atleast_1d(shape)) for shape in ((3, 3), 3, 3)] + [np.array(0.3)]
    slope = kernel.jacobian(["sums"], ["x"])(*given)
    wanted = differences(lambda x: formula(given[0], x, *given[2:])["sums"], given[1])
    np.testing.assert_allclose(slope, wanted, rtol=1e-6, atol=1e-7)
    flat = kernel.casadi_function(*(np.reshape(x, (-1, 1)) for x in given))
    np.testing.assert_allclose(np.ravel(flat[1].full()), formula(*given)["sums"], rtol=1e-12)
