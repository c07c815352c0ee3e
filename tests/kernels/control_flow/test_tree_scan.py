"""Recursions over a tree inside a formula: the same numbers as member by member, in lanes, blocks and derivatives."""

import itertools

import numpy as np
import pytest
from packed_loop import iterate

from myoquat import kernels
from myoquat.kernels.control_flow.tree_scan import ROOT, Member, Pass, tree_scan
from myoquat.kernels.tracing.context import becomes_loops
from myoquat.kernels.tracing.derivatives import jacobian_at
from myoquat.kernels.tracing.trace import trace


class Node:
    """A member with three passes, each of which needs what the others have found; its two types differ in `plain`."""

    def __init__(self, row, numbers, plain):
        self.row, self.numbers, self.plain = row, numbers, plain

    def down(self, parent):
        self.turned = parent[..., :2] * np.cos(self.row[..., :1]) + self.numbers[..., :2] * self.row[..., 1:2]
        return np.concatenate([self.turned, 0.0 * self.turned[..., :1]], axis=-1)

    def up(self, children):
        felt = np.sin(self.turned[..., :1]) + children * self.numbers[..., 2:3]
        self.felt = felt if self.plain else felt * np.where(felt > 0, felt, self.row[..., 1:2])
        return self.felt / (1.0 + self.row[..., 1:2] ** 2)

    def again(self, parent):
        self.found = np.concatenate([parent * self.felt, self.turned[..., 1:] * self.numbers[..., 1:2]], axis=-1)
        return parent * self.numbers[..., 3:] + self.felt

    def result(self):
        return self.found


PASSES = (Pass(Node.down, 3, np.array([1.0, 2.0, 0.0])), Pass(Node.up, 1), Pass(Node.again, 1, np.array([0.3])))


def formula_of(parents, numbers, types):
    """(..., 2 n) of x (..., 2 n), two numbers of a row and two of a result for each of n members."""

    def member(i, x):
        plain = i % types == 0
        row = x[..., 2 * i : 2 * i + 2]
        return Member(plain, lambda row, own: Node(row, own, plain), row, numbers[i])

    def formula(x):
        members = [member(i, x) for i in range(len(parents))]
        return np.concatenate(tree_scan(members, parents, PASSES, Node.result, [2] * len(parents)), axis=-1)

    return formula


@pytest.fixture(params=itertools.product((1, 2, 7, 30), (1, 2)), ids=str)
def tree(request, rng):
    """A formula and the number of its members, which hang on random ones before them."""
    n, types = request.param
    parents = [ROOT, *(int(rng.integers(ROOT, i)) for i in range(1, n))]
    numbers = rng.uniform(0.5, 1, (n, 4))
    numbers[:, 1] = 0.7  # the same for all
    return formula_of(parents, numbers, types), n


def test_every_number_of_lanes_gives_what_numpy_gives(tree, rng):
    formula, n = tree
    x = rng.normal(size=(20, 2 * n))
    found = [kernels.compile(formula, {"x": 2 * n}, lanes=lanes)(x) for lanes in (1, 8)]
    np.testing.assert_array_equal(*found)
    np.testing.assert_allclose(found[0], formula(x), rtol=1e-13, atol=1e-14)


def test_derivatives_see_every_member(tree, rng):
    formula, n = tree
    x = rng.normal(size=(3, 2 * n))
    inside = kernels.compile(lambda x: jacobian_at(formula, x), {"x": 2 * n})(x)
    kernel = kernels.compile(formula, {"x": 2 * n})
    np.testing.assert_allclose(kernel.jacobian()(x), inside, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(jacobian_at(formula, x), inside, rtol=1e-11, atol=1e-13)


def test_casadi_sees_every_member(tree, rng):
    formula, n = tree
    x = rng.normal(size=2 * n)
    function = trace(formula, {"x": 2 * n}, None, "nodes").function
    np.testing.assert_allclose(function(x).full().ravel(), formula(x), rtol=1e-13, atol=1e-14)


def test_code_does_not_grow_with_the_members():
    def lines(n):
        formula = formula_of([*range(-1, n - 1)], np.ones((n, 4)), 1)
        passes = kernels.compile(formula, {"x": 2 * n}, lanes=1).ir.split("define")
        return sum(len(text.splitlines()) for text in passes if "_type" in text.split("(")[0])

    assert 0 < lines(16) == lines(64)


def test_numbers_of_all_members_are_constants_and_zeros_stay_at_home(rng):
    numbers = np.array([[0.5, 0.7, 0.8, 0.9]] * 9) + [[0.1 * i, 0, 0, 0] for i in range(9)]
    (inner,) = trace(formula_of([*range(-1, 8)], numbers, 1), {"x": 18}, None, "nodes").inner
    assert [rows.numbers.shape for rows in inner.types] == 3 * [(1, 0), (7, 1), (1, 0)]  # root, middle, leaf
    assert [len(inner.types[3 * turn + 1].gives[-1].behind) for turn in range(3)] == [2, 1, 1]


def test_a_recursion_without_any_use_is_left_out():
    formula = formula_of([ROOT, 0], np.ones((2, 4)), 1)

    def unused(x):
        formula(x)
        return 2.0 * x

    assert not trace(unused, {"x": 4}, None, "unused").inner


def test_member_with_a_loop_inside(rng):
    class Root(Node):
        def down(self, parent):
            self.found = iterate(lambda z, c: (z + c / z) / 2, 1.0 + 0.0 * parent, self.row[..., :1] + parent, 9)
            return self.found

    passes = (Pass(Root.down, 1, np.ones(1)),)

    def formula(x):
        members = [Member(0, lambda row, own: Root(row, own, True), x[..., i : i + 1], np.ones(4)) for i in range(3)]
        return np.concatenate(tree_scan(members, [ROOT, 0, 0], passes, Root.result, [1] * 3), axis=-1)

    x = rng.uniform(1, 2, (50, 3))
    root = np.sqrt(x[:, :1] + 1)
    found = kernels.compile(formula, {"x": 3})(x)
    np.testing.assert_allclose(found, np.concatenate([root, np.sqrt(x[:, 1:] + root)], axis=-1), rtol=1e-13)


def test_only_kernels_that_are_traced_have_loops(rng):
    seen = []

    def formula(x):
        seen.append(becomes_loops(x))
        return 2.0 * x

    formula(rng.normal(size=3))
    kernels.compile(formula, {"x": 3})
    kernels.compile(lambda x: jacobian_at(formula, x), {"x": 3})
    assert seen == [False, True, False]
