"""Optimal control: problems whose solutions are known, by the calculus of variations or by necessary conditions."""

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.linalg import expm
from scipy.optimize import brentq, fsolve

import myoquat as mq
from myoquat.analysis.control import Duration, Effort, Equations, OwnEndGoal, Problem
from tests.bodies import on_slide

G = 9.81


def test_brachistochrone_is_the_cycloid():
    """Least time from (0, 0) to (1, 1) m: x = k (s - sin s), y = k (1 - cos s), T = s sqrt(k / g)."""
    bead = Equations(
        ("x", "y", "v"),
        ("angle",),
        lambda point: (
            point["v"] * np.sin(point["angle"]),
            point["v"] * np.cos(point["angle"]),
            G * np.cos(point["angle"]),
        ),
    )
    problem = Problem(
        bead, (0.1, 10.0), (Duration(),), 20, "radau", initial={"x": 0, "y": 0, "v": 0}, final={"x": 1, "y": 1},
        bounds={"angle": (0, np.pi)},
    )  # fmt: skip
    solution = problem.solve({"angle": 1.0, "v": [0, 4], "duration": 1.0})
    s = brentq(lambda s: (s - np.sin(s)) / (1 - np.cos(s)) - 1, 0.1, 6.2)
    k = 1 / (1 - np.cos(s))
    assert solution.success
    assert solution.duration == pytest.approx(s * np.sqrt(k / G), abs=1e-9)
    phase = solution.time * np.sqrt(G / k)
    assert np.allclose(solution["x"], k * (phase - np.sin(phase)), atol=1e-6)
    assert solution.simulate().largest < 1e-6


def test_least_effort_of_a_damped_sled():
    """D. E. Kirk, Optimal Control Theory, 1970, example 5.1-1: m xddot + xdot = f, least integral of f^2 / 2 from rest
    at 0 to 5 m at 2 m/s in 2 s. The exact motion is that of the linear Hamiltonian system."""
    sled = on_slide("sled", "x", "x", damping=1.0)
    problem = Problem(
        mq.ArticulatedSystem((sled,)), 2.0, (Effort(weight=0.5),), 20, torques=("x_dot",),
        initial={"x": 0, "x_dot": 0}, final={"x": 5, "x_dot": 2},
    )  # fmt: skip
    solution = problem.solve()
    hamiltonian = np.array([[0, 1, 0, 0], [0, -1, 0, -1], [0, 0, 0, 0], [0, 0, -1, 1]], dtype=float)
    costates = np.linalg.solve(expm(2 * hamiltonian)[:2, 2:], [5.0, 2.0])
    exact = np.array([expm(t * hamiltonian)[:, 2:] @ costates for t in solution.time])
    assert np.allclose(solution["x"], exact[:, 0], atol=1e-6)
    assert np.allclose(solution["x_dot"], exact[:, 1], atol=1e-6)
    assert np.allclose(solution.controls_at(solution.time)[:, 0], -exact[:, 3], atol=1e-2)  # of order 2


def test_steering_follows_the_linear_tangent_law():
    """A. E. Bryson, Y.-C. Ho, Applied Optimal Control, 1975, section 2.4: least time to y = 5, v = (45, 0) with an
    acceleration of 100 in a free direction; tan(angle) is linear in time."""
    a = 100.0
    rocket = Equations(
        ("x", "y", "vx", "vy"),
        ("angle",),
        lambda point: (point["vx"], point["vy"], a * np.cos(point["angle"]), a * np.sin(point["angle"])),
    )
    problem = Problem(
        rocket, (0.1, 1.0), (Duration(),), 20, "radau", initial={"x": 0, "y": 0, "vx": 0, "vy": 0},
        final={"y": 5, "vx": 45, "vy": 0}, bounds={"angle": (-np.pi / 2, np.pi / 2)},
    )  # fmt: skip
    solution = problem.solve({"duration": 0.5, "y": [0, 5], "vx": [0, 45]})

    def missed(unknown):
        start, T = unknown

        def angle(t):
            return np.arctan(np.tan(start) * (1 - 2 * t / T))

        height = quad(lambda t: a * np.sin(angle(t)) * (T - t), 0, T)[0]
        return height - 5, quad(lambda t: a * np.cos(angle(t)), 0, T)[0] - 45

    start, T = fsolve(missed, (1.0, 0.55), xtol=1e-13)
    assert solution.duration == pytest.approx(T, abs=1e-7)
    exact = np.arctan(np.tan(start) * (1 - 2 * solution.control_time / T))
    assert np.allclose(solution["angle"], exact, atol=2e-4)


MOST, GRAVITY, SIGMA, EXHAUST, SCALE = 193.044, 32.174, 5.4915348492e-5, 1580.942579, 23800.0


def drag(v, h):
    return SIGMA * v**2 * np.exp(-h / SCALE)


def climb(state, thrust):
    """Rates of height, speed and mass of Goddard's rocket."""
    h, v, m = state
    return np.array([v, (thrust - drag(v, h)) / m - GRAVITY, -thrust / EXHAUST])


def off_the_arc(t, state):
    """m g - (1 + v / c) drag, zero on the singular arc."""
    h, v, m = state
    return m * GRAVITY - (1 + v / EXHAUST) * drag(v, h)


def singular_thrust(state):
    """The thrust that stays on the arc: the rate of `off_the_arc` is affine in it."""
    h, v, _ = state

    def rate(thrust):
        dh, dv, dm = climb(state, thrust)
        return dm * GRAVITY - dv / EXHAUST * drag(v, h) - (1 + v / EXHAUST) * drag(v, h) * (2 * dv / v - dh / SCALE)

    return -rate(0.0) / (rate(1.0) - rate(0.0))


def highest():
    """Greatest height and its time by the maximum principle. Thrust is full up to the arc, follows the arc until the
    fuel is used up, and is zero until the speed is zero."""
    state, time = [0.0, 0.0, 3.0], 0.0
    parts = (
        (lambda x: MOST, off_the_arc), (singular_thrust, lambda t, x: x[2] - 1.0), (lambda x: 0.0, lambda t, x: x[1])
    )  # fmt: skip
    for thrust, end in parts:

        def event(t, x, end=end):
            return end(t, x)

        event.terminal = True
        run = solve_ivp(
            lambda t, x, thrust=thrust: climb(x, thrust(x)), (0, 60), state, events=event, rtol=1e-10, atol=1e-8
        )
        state, time = run.y[:, -1], time + run.t[-1]
    return state[0], time


def test_rocket_climbs_on_the_singular_arc():
    """Goddard's rocket with the data of J. T. Betts, Practical Methods for Optimal Control, 2010, example 10.47:
    greatest height with a bounded thrust; between full and no thrust, m g = (1 + v / c) drag holds."""
    rocket = Equations(
        ("h", "v", "m"), ("thrust",), lambda point: tuple(climb((point["h"], point["v"], point["m"]), point["thrust"]))
    )
    height = OwnEndGoal(lambda first, last, duration: -1e-4 * last["h"], name="height")
    problem = Problem(
        rocket, (20.0, 60.0), (height,), 200, "midpoint", initial={"h": 0, "v": 0, "m": 3}, final={"m": 1},
        bounds={"thrust": (0, MOST), "h": (0, 3e4), "v": (0, 2000), "m": (1, 3)},
    )  # fmt: skip
    guess = {"h": [0, 18000], "v": [1, 800, 800, 1], "m": [3, 1, 1], "thrust": 90.0, "duration": 42.0}
    solution = problem.solve(guess)
    time, thrust = solution.control_time, solution["thrust"]
    most, end = highest()  # 18550.87 at 42.888 s
    assert solution.success
    assert -1e4 * solution.objective == pytest.approx(most, rel=5e-6)
    assert solution.duration == pytest.approx(end, rel=5e-5)
    assert np.all(thrust[time < 13.5] > MOST - 0.1)
    assert np.all(thrust[time > 22.3] < 0.1)
    arc = (solution.time > 15) & (solution.time < 20)
    missed = off_the_arc(0.0, np.array([solution[name][arc] for name in ("h", "v", "m")]))
    assert np.abs(missed / (solution["m"][arc] * GRAVITY)).max() < 0.01
