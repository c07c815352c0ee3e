"""Loops over records: kernels give what NumPy gives, lane by lane, and convergence is tested on named fields."""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest

from myoquat import kernels
from myoquat.kernels import while_loop


@dataclass(frozen=True)
class Ends:
    lower: np.ndarray
    upper: np.ndarray


@dataclass(frozen=True)
class Bisection:
    ends: Ends
    steps: np.ndarray


class Growth(NamedTuple):
    value: np.ndarray
    left: np.ndarray


def wide(search):
    return search.ends.upper - search.ends.lower > 1e-9


def halved(search, wanted):
    """One step for the root of x^3 + x = wanted."""
    middle = 0.5 * (search.ends.lower + search.ends.upper)
    above = middle**3 + middle > wanted
    ends = Ends(np.where(above, search.ends.lower, middle), np.where(above, middle, search.ends.upper))
    return Bisection(ends, search.steps + 1.0)


def cube_root(x):
    """(..., 2) the root, and the number of steps, from the bracket [0, x] for x > 0."""
    zero = 0.0 * x[..., 0]
    found = while_loop(wide, halved, Bisection(Ends(zero, x[..., 0]), zero), x[..., 0], max_steps=99)
    return np.stack([found.ends.upper, found.steps], axis=-1)


@pytest.mark.parametrize("lanes", [1, 4, 8])
def test_kernel_and_numpy_stop_every_state_by_itself(lanes, rng):
    x = rng.uniform(1e-9, 50, (301, 1)) * rng.choice([1e-8, 1.0], (301, 1))
    found = kernels.compile(cube_root, {"x": 1}, lanes=lanes, cache="off")(x)
    np.testing.assert_array_equal(found, cube_root(x))
    np.testing.assert_allclose(found[:, 0] ** 3 + found[:, 0], x[:, 0], atol=2e-5)
    np.testing.assert_array_equal(found[:, 1], np.maximum(0, np.ceil(np.log2(x[:, 0] / 1e-9))))


def test_steps_are_bounded_and_where_leaves_states_out(rng):
    def formula(x):
        state = Growth(x[..., :1], 3.0 + 0.0 * x[..., 0])
        step = lambda s, p: Growth(s.value * p["factor"][..., None], s.left - 1.0)  # noqa: E731
        parameters = {"factor": x[..., 1]}
        on = x[..., 1] > 1.5
        bounded = while_loop(lambda s: s.left > 0, step, state, parameters, max_steps=2, where=on)
        free = while_loop(lambda s: s.left > 0, step, state, parameters, max_steps=9)
        return np.concatenate([bounded.value, free.value], axis=-1)

    x = rng.uniform(1, 2, (40, 2))
    on = x[:, 1] > 1.5
    expected = np.stack([x[:, 0] * np.where(on, x[:, 1] ** 2, 1.0), x[:, 0] * x[:, 1] ** 3], axis=-1)
    np.testing.assert_allclose(formula(x), expected, rtol=1e-15)
    np.testing.assert_allclose(kernels.compile(formula, {"x": 2})(x), expected, rtol=1e-15)


def test_numpy_steps_only_the_states_that_go_on():
    sizes = []

    def step(x, limit):
        sizes.append(len(x))
        return x + 1.0

    found = while_loop(lambda x: x < 3.0, step, np.array([0.0, 2.0, 5.0]), np.zeros(3), max_steps=9)
    np.testing.assert_array_equal(found, [3.0, 3.0, 5.0])
    assert sizes == [2, 1, 1]


def test_state_without_parameters_and_a_loop_inside_a_loop(rng):
    def outer(pair):
        inner = while_loop(lambda y: y > 1.0, lambda y: 0.5 * y, pair[1] + pair[0], max_steps=60)
        return (pair[0] + 1.0, inner)

    def formula(x):
        return while_loop(lambda pair: pair[0] < 5.0, outer, (0.0 * x, x), max_steps=9)[1]

    x = rng.uniform(0, 100, 203)
    np.testing.assert_array_equal(kernels.compile(formula, {"x": ()})(x), formula(x))


def test_casadi_unrolls_the_loop():
    x = kernels.symbols_casadi("x", 1)
    casadi = pytest.importorskip("casadi")
    function = casadi.Function("f", [kernels.as_casadi_vector(x)], [kernels.as_casadi_vector(cube_root(x))])
    np.testing.assert_allclose(function(7.0).full().ravel(), cube_root(np.array([7.0])), rtol=1e-15)


def test_sympy_raises_an_error():
    sympy = pytest.importorskip("sympy")
    with pytest.raises(TypeError, match="SymPy"):
        cube_root(kernels.as_array(np.array([sympy.Symbol("x")])))


def test_body_that_changes_the_state_raises_an_error_that_names_the_field():
    state = Bisection(Ends(np.zeros(3), np.ones(3)), np.zeros(3))

    def grown(search):
        return Bisection(Ends(search.ends.lower, np.zeros((len(search.steps), 2))), search.steps)

    with pytest.raises(ValueError, match=r"loop 'grown'.*'ends\.upper'"):
        while_loop(wide, grown, state, max_steps=3)
    with pytest.raises(ValueError, match=r"loop 'halved': parameters has shape \(2,\)"):
        while_loop(wide, halved, state, np.zeros(2), max_steps=3)
    with pytest.raises(ValueError, match=r"loop 'halved': state\.steps has shape"):
        while_loop(wide, halved, Bisection(state.ends, np.zeros(2)), np.zeros(3), max_steps=3)


@dataclass(frozen=True)
class Root:
    x: np.ndarray
    converged: np.ndarray
    degree: int = kernels.static()


def newton(root, a):
    x = root.x - (root.x**root.degree - a) / (root.degree * root.x ** (root.degree - 1))
    return Root(x, ~(np.abs(x - root.x) > 1e-12), root.degree)


def roots(a):
    """(..., 2) square and cube root."""
    never = a[..., 0] > np.inf
    start = [Root(1.0 + 0.0 * a[..., 0], never, degree) for degree in (2, 3)]
    return np.stack(
        [while_loop(lambda root: ~root.converged, newton, root, a[..., 0], max_steps=60).x for root in start], axis=-1
    )


def test_records_hold_conditions_and_static_fields(rng):
    a = rng.uniform(0.1, 100, (103, 1))
    found = roots(a)
    np.testing.assert_allclose(found, np.concatenate([np.sqrt(a), np.cbrt(a)], axis=-1), rtol=1e-14)
    np.testing.assert_allclose(kernels.compile(roots, {"a": 1})(a), found, rtol=1e-14)


def test_static_field_that_changes_raises_an_error():
    never = np.zeros(2) > 0
    with pytest.raises(ValueError, match="changes the structure of the state"):
        while_loop(lambda x: ~x.converged, lambda x: Root(x.x, x.converged, 3), Root(np.ones(2), never, 2), max_steps=2)


def inverse_and_sign(x):
    return 1.0 / x, x > 0


def test_function_is_called_where_its_condition_holds(rng):
    def formula(x):
        value, positive = kernels.call_where(inverse_and_sign, x, np.abs(x) > 0.5, (0.0 * x - 7.0, x > np.inf))
        return np.stack([value, np.where(positive, 1.0, 0.0)], axis=-1)

    x = np.concatenate([[0.0], rng.normal(size=100)])
    on = np.abs(x) > 0.5
    with np.errstate(divide="ignore"):
        expected = np.stack([np.where(on, 1.0 / x, -7.0), np.where(on & (x > 0), 1.0, 0.0)], axis=-1)
    np.testing.assert_array_equal(formula(x), expected)
    np.testing.assert_array_equal(kernels.compile(formula, {"x": ()})(x), expected)


def test_a_body_closes_over_symbols_of_the_formula_around_it():
    """Newton's method for square roots, of which the number is no parameter; and a loop inside a body that does so."""

    def square_root(a):
        step = lambda s: (0.5 * (s[0] + a / s[0]), np.abs(0.5 * (a / s[0] - s[0])))  # noqa: E731
        return while_loop(lambda s: s[1] > 1e-12, step, (a + 1.0, a + 1.0), max_steps=40)[0]

    def powers(a):
        def outer(state):
            inner = lambda s: (s[0] + a * state[0], s[1] + 1.0)  # noqa: E731
            return while_loop(lambda s: s[1] < 3.0, inner, (state[0], 0.0 * a), max_steps=9)[0], state[1] + 1.0

        return while_loop(lambda s: s[1] < 2.0, outer, (1.0 + 0.0 * a, 0.0 * a), max_steps=9)[0]

    np.testing.assert_allclose(kernels.compile(square_root, {"a": ()})([4.0, 9.0]), [2.0, 3.0], rtol=1e-15)
    np.testing.assert_allclose(kernels.compile(powers, {"a": ()})([0.5, 2.0]), [2.5**2, 7.0**2], rtol=1e-15)
    with pytest.raises(ValueError, match="has no derivative"):
        kernels.compile(square_root, {"a": ()}).jacobian()


class Adds:
    """A body with what it adds as an attribute."""

    def __init__(self, c):
        self.c = c

    def __call__(self, x):
        return x + self.c


@pytest.mark.parametrize("lanes", [1, 8])
def test_symbols_go_into_bodies_as_defaults_and_attributes(lanes):
    def by_default(c, start):
        return while_loop(lambda x: x < 10.0, lambda x, *, c=c: x + c, start, max_steps=20)

    def by_attribute(c, start):
        return while_loop(lambda x: x < 10.0, Adds(c), start, max_steps=20)

    for bound in (by_default, by_attribute):
        kernel = kernels.compile(bound, {"c": (), "start": ()}, lanes=lanes, cache="off")
        np.testing.assert_array_equal(kernel([2.0, 6.0, 4.0], [2.0, 0.0, 11.0]), [10.0, 12.0, 11.0])
        with pytest.raises(ValueError, match="has no derivative"):
            kernel.jacobian()


def test_a_body_that_depends_on_global_symbols_raises_an_error():
    def formula(c):
        globals()["of_formula"] = c
        return while_loop(_below_ten, _with_global, c, max_steps=20)

    with pytest.raises(ValueError, match="global variables; only what they close over"):
        kernels.compile(formula, {"c": ()}, cache="off")


def _below_ten(x):
    return x < 10.0


def _with_global(x):
    return x + globals()["of_formula"]


def test_a_negative_number_of_steps_raises_an_error():
    with pytest.raises(ValueError, match="max_steps=-1; it must not be negative"):
        while_loop(_below_ten, lambda x: x + 1.0, np.ones(3), max_steps=-1)


def test_two_loops_with_one_body_close_over_their_own_symbols():
    def formula(a, b):
        return np.stack([_added(a), _added(b)])

    np.testing.assert_allclose(kernels.compile(formula, {"a": (), "b": ()})(1.0, 2.0), [6.0, 12.0], rtol=0)


@pytest.mark.parametrize("lanes", [1, 8])
def test_one_body_reads_what_its_names_hold_at_each_loop(lanes):
    """And numbers of the parameters that no step needs do not take the place of others."""

    def formula(a, b):
        def grown(x, numbers):
            return x + c * numbers[2]

        reached = []
        for c in (a, b):  # noqa: B007
            reached.append(while_loop(_below_ten, grown, a, np.stack([a, b, b - a, a]), max_steps=9))
        return np.stack(reached)

    a, b = np.array([1.0, 2.0, 11.0]), np.array([4.0, 2.5, 12.0])
    kernel = kernels.compile(formula, {"a": (), "b": ()}, lanes=lanes, cache="off")
    np.testing.assert_array_equal(kernel(a, b), [[10.0, 13.0], [10.0, 10.75], [11.0, 11.0]])
    np.testing.assert_array_equal(kernel(a, b), kernel.numpy(a, b))


def _added(c):
    return while_loop(lambda s: s[1] < 5.0, lambda s: (s[0] + c, s[1] + 1.0), (c, 0.0 * c), max_steps=9)[0]


def drawn_to(a, x):
    return 0.5 * x + 0.1 * a


def test_partial_bodies_with_arrays_compute_with_their_own_numbers():
    """Two loops with other arrays are two formulas; an array of symbols goes in."""
    point = np.array([8.0, 9.0])

    def formula(a):
        return lambda x: kernels.while_loop(lambda s: s[0] > 1.0, partial(drawn_to, a), x, max_steps=50)

    for a in (np.array([2.0, 3.0]), np.array([4.0, 3.0])):
        expected = point
        while expected[0] > 1.0:
            expected = drawn_to(a, expected)
        for found in (formula(a)(point), kernels.compile(formula(a), {"x": 2})(point)):
            np.testing.assert_array_equal(found, expected)
        twice = kernels.compile(lambda x, a: formula(2.0 * a)(x), {"x": 2, "a": 2})(point, a / 2)
        np.testing.assert_array_equal(twice, expected)
    with pytest.raises(TypeError, match="a partial function with a list, which cannot be compared"):
        kernels.compile(formula([2.0, 3.0]), {"x": 2})
