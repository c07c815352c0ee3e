"""Step loops against closed solutions, against the same steps in NumPy, and their behaviour when a state goes wrong."""

import math

import numpy as np
import pytest

from myoquat.kernels import METHODS, ExplicitMethod, LinearInterpolation, Outcome, Tableau, ZeroOrderHold, step_loop


def oscillator(t, x, u, w):
    return np.stack([x[1], u - w * w * x[0]])


def loop_of(**options):
    return step_loop(2, rhs=oscillator, inputs={"u": ()}, parameters={"w": ()}, **options)


@pytest.fixture
def start():
    return np.random.default_rng(8).normal(size=(19, 2))


@pytest.fixture
def w():
    return np.linspace(0.5, 2.0, 19)


def in_numpy(method, x, u, w, h, steps):
    """The method on floats; u (steps, nodes of its c)."""
    tableau = METHODS[method]
    states = [x]
    for s in range(steps):
        slopes = []
        for k, row in enumerate(tableau.a):
            y = x + h * sum((a * slopes[j] for j, a in enumerate(row)), np.zeros_like(x))
            slopes.append(np.stack([y[:, 1], u[s, k] - w * w * y[:, 0]], axis=-1))
        x = x + h * sum(b * k for b, k in zip(tableau.b, slopes, strict=True))
        states.append(x)
    return np.stack(states, axis=1)


@pytest.mark.parametrize("method", METHODS)
def test_agrees_with_the_method_in_numpy(start, w, method):
    run = loop_of(method=method)(start, h=0.05, steps=60, every=4, u=0.3, w=w)
    wanted = in_numpy(method, start, np.full((60, 4), 0.3), w, 0.05, 60)[:, ::4]
    np.testing.assert_allclose(run.states, wanted, rtol=1e-12, atol=1e-13)
    assert np.array_equal(run.final, run.states[:, -1])
    assert (run.stopped == -1).all()
    assert (run.reason == Outcome.COMPLETED).all()
    np.testing.assert_allclose(run.times, 0.2 * np.arange(16))


@pytest.mark.parametrize(("method", "order"), [("euler", 1), ("midpoint", 2), ("heun", 2), ("rk4", 4)])
def test_order_of_convergence(start, w, method, order):
    loop = loop_of(method=method)
    exact = start[:, 0] * np.cos(2 * w) + start[:, 1] / w * np.sin(2 * w)
    errors = [np.abs(loop(start, h=2 / n, steps=n, u=0.0, w=w).final[:, 0] - exact).max() for n in (40, 80, 160)]
    fitted = np.polyfit(np.log([1, 2, 4]), np.log(errors), 1)[0]
    assert abs(fitted + order) < 0.1


def test_lanes_and_threads_give_the_same_bits(start, w):
    u = LinearInterpolation([0.0, 1.0, 2.5], np.array([0.0, 1.0, -1.0]))
    runs = [loop_of(lanes=lanes)(start, h=0.05, steps=60, u=u, w=w).states for lanes in (1, 2, 4, 8)]
    assert all(np.array_equal(run, runs[0]) for run in runs)
    many = np.tile(start, (300, 1))
    loop = loop_of()
    one, two = (loop(many, h=0.05, steps=60, u=0.0, w=1.0, threads=n).states for n in (1, 2))
    assert np.array_equal(one, two)


def test_held_inputs(start, w):
    values = np.array([0.5, -1.0, 2.0])
    run = loop_of()(start, h=0.1, steps=10, u=ZeroOrderHold(values, hold=3), w=w)
    u = np.repeat(values[[0, 0, 0, 1, 1, 1, 2, 2, 2, 2]], 4).reshape(10, 4)
    np.testing.assert_allclose(run.states, in_numpy("rk4", start, u, w, 0.1, 10), rtol=1e-12, atol=1e-13)


def test_tabulated_inputs_differ_by_state_and_are_exact_where_linear(start, w):
    """x'' = u(t) - w^2 x with w = 0 and u piecewise linear, knots on steps: RK4 is exact."""
    times = np.array([0.0, 0.5, 1.0])
    values = np.random.default_rng(1).normal(size=(19, 3))
    run = loop_of()(start, h=0.1, steps=15, u=LinearInterpolation(times, values), w=0.0)
    a, b, c = values.T
    first = a * 0.5 + (b - a) * 0.25
    velocity = start[:, 1] + first + (b + c) * 0.25 + c * 0.5  # after 1.0 the last value holds
    np.testing.assert_allclose(run.final[:, 1], velocity, rtol=1e-12)


def test_a_state_that_explodes_stops_alone(start):
    """x' = x^2 blows up for x0 > 0 in finite time."""
    loop = step_loop(1, rhs=lambda t, x: x * x * x, method="euler")
    x0 = np.array([[0.1], [50.0], [-0.2], [np.nan], [0.3], [np.inf]])
    run = loop(x0, h=0.1, steps=40)
    assert list(run.reason) == [Outcome.COMPLETED, Outcome.NOT_FINITE] * 3
    assert run.stopped[3] == run.stopped[5] == 0
    s = run.stopped[1]
    assert 0 < s < 40
    assert np.isfinite(run.states[1, :s]).all()
    assert np.isnan(run.states[1, s:]).all()
    assert np.array_equal(run.final[1], run.states[1, s - 1])
    healthy = loop(x0[[0, 2, 4]], h=0.1, steps=40)
    assert np.array_equal(run.states[[0, 2, 4]], healthy.states)


def test_a_bound_stops_a_state_and_shows_it(start):
    loop = step_loop(1, rhs=lambda t, x, v: v * np.ones(1), parameters={"v": ()}, bound=lambda t, x, v: x[0] > 0.55)
    run = loop(np.zeros((3, 1)), h=0.1, steps=10, v=np.array([1.0, 0.1, 2.0]))
    assert list(run.stopped) == [6, -1, 3]
    assert list(run.reason) == [Outcome.BOUND, Outcome.COMPLETED, Outcome.BOUND]
    np.testing.assert_allclose(run.states[2, :, 0], [0, 0.2, 0.4, 0.6] + [np.nan] * 7)


def test_projection_and_whole_steps(start):
    def turn(t, x):
        return np.stack([-x[1], x[0]])

    run = step_loop(2, rhs=turn, method="euler", project=lambda t, x: x / np.sqrt(x @ x))(start, h=0.1, steps=50)
    np.testing.assert_allclose(np.linalg.norm(run.states[:, 1:], axis=-1), 1.0, rtol=1e-15)
    leap = step_loop(2, step=lambda t, h, x: x + h * np.stack([np.cos(t), x[0] * 0.0 + 1.0]))
    final = leap(np.zeros(2), h=0.5, steps=3, start=1.0).final
    np.testing.assert_allclose(final, [0.5 * (math.cos(1.0) + math.cos(1.5) + math.cos(2.0)), 1.5], rtol=1e-15)


def test_long_states_are_moved_in_loops_with_the_same_bits():
    """Of a length that no register has: the Euler method in NumPy, projected onto the sphere, inputs between rows."""
    rng, n = np.random.default_rng(4), 37
    x0, rows = rng.normal(size=(3, n)), rng.normal(size=(2, n))
    x0[1, 30] = np.inf
    runs = [
        step_loop(
            n, rhs=lambda t, x, drive: drive * x[::-1], inputs={"drive": n}, method="euler", lanes=lanes,
            project=lambda t, x, *inputs: x / np.sqrt(np.sum(x * x)),
        )(x0, h=0.1, steps=3, drive=LinearInterpolation([0.0, 0.5], rows))
        for lanes in (1, 8)
    ]  # fmt: skip
    one, many = runs
    assert np.array_equal(one.states, many.states, equal_nan=True)
    assert one.stopped.tolist() == many.stopped.tolist() == [-1, 0, -1]
    x = x0[[0, 2]]
    for k in range(3):
        x = x + 0.1 * (rows[0] + (rows[1] - rows[0]) * 0.2 * k) * x[:, ::-1]
        x = x / np.linalg.norm(x, axis=-1, keepdims=True)
    np.testing.assert_allclose(one.final[[0, 2]], x, rtol=1e-12, atol=1e-13)


def test_stages_on_a_group(start):
    """z' = i w(t) z by Heun's method on the circle: |z| stays, and the angle is exact for linear w."""

    def turned(angle):
        return lambda x, h, *slopes: _turn(x, angle(h, *slopes))

    def _turn(x, a):
        return np.stack([np.cos(a[0]) * x[0] - np.sin(a[0]) * x[1], np.sin(a[0]) * x[0] + np.cos(a[0]) * x[1]])

    updates = (turned(lambda h, k: h * k), turned(lambda h, k, m: h / 2 * (k + m)))
    circle = ExplicitMethod(c=(0.0, 1.0), slope_indices=((0,), (0, 1)), updates=updates)
    rate = lambda t, x, w: np.stack([w, 0.0 * w])  # noqa: E731
    run = step_loop(2, rhs=rate, inputs={"w": ()}, method=circle)(
        [1.0, 0.0], h=0.25, steps=8, w=LinearInterpolation([0.0, 2.0], [0.0, 3.0])
    )
    angle = 0.75 * run.times**2
    np.testing.assert_allclose(run.states, np.stack([np.cos(angle), np.sin(angle)], axis=-1), atol=1e-14)


@pytest.mark.parametrize("count", [0, 1, 20])
def test_entrywise_updates_take_single_numbers(count):
    greater = ExplicitMethod((0.0,), ((0,),), (lambda x, h, k: np.max(np.stack([x, h * k])),), entrywise=True)
    loop = step_loop(count, rhs=lambda t, x: -x, method=greater)
    assert np.array_equal(loop(np.full(count, -1.0), h=0.5, steps=1).final, np.full(count, 0.5))


def test_whole_steps_take_inputs_at_their_node():
    held = step_loop(1, step=lambda t, h, x, w: x + h * w, inputs={"w": ()}, node=0.5)
    final = held([0.0], h=0.25, steps=8, w=LinearInterpolation([0.0, 2.0], [0.0, 3.0])).final
    np.testing.assert_allclose(final, [3.0], rtol=1e-15)  # the midpoint rule is exact for a linear input


def test_no_steps_and_no_states(start):
    loop = loop_of()
    assert np.array_equal(loop(start, h=0.1, steps=0, u=0.0, w=1.0).states[:, 0], start)
    assert loop(start[:0], h=0.1, steps=3, u=0.0, w=1.0).states.shape == (0, 4, 2)
    assert step_loop(0, rhs=lambda t, x: x)(np.zeros((3, 0)), h=0.1, steps=2).states.shape == (3, 3, 0)


def test_mistakes_are_named(start):
    with pytest.raises(ValueError, match="method 'rk5' is unknown; there are: euler"):
        loop_of(method="rk5")
    with pytest.raises(ValueError, match=r"gives \[\(3,\)\]; one array \(2,\) is needed"):
        step_loop(2, rhs=lambda t, x: np.zeros(3))
    with pytest.raises(ValueError, match="either rhs"):
        step_loop(2)
    with pytest.raises(ValueError, match="names of their own"):
        step_loop(2, rhs=oscillator, inputs={"t": ()})
    with pytest.raises(ValueError, match="sums to"):
        Tableau(((), (0.5,)), (0.5, 0.5), (0.0, 1.0))
    with pytest.raises(ValueError, match="as many updates"):
        ExplicitMethod(c=(0.0,), slope_indices=((1,),), updates=(lambda x, h, k: x,))
    loop = loop_of()
    with pytest.raises(ValueError, match="every=0"):
        loop(start, h=0.1, steps=3, every=0, u=0.0, w=1.0)
    with pytest.raises(ValueError, match="3 increasing numbers"):
        loop(start, h=0.1, steps=3, u=LinearInterpolation([0, 0, 1], [1, 2, 3]), w=1.0)
    with pytest.raises(TypeError, match=r"inputs \['w', 'u'\] are missing"):
        loop(start, h=0.1, steps=3)
