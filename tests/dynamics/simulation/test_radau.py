"""The implicit method: its order, stiff problems beside SciPy, its derivative, and muscles around solved surfaces."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from myoquat.data import load_model
from myoquat.dynamics import simulate
from myoquat.dynamics.constraints import Distance
from myoquat.dynamics.integrators import Radau, StateEquations, differences
from myoquat.joints import ArticulatedSystem
from myoquat.kernels import compile
from myoquat.muscle import ActivationDynamics, Model, Muscle, MusclePath, PathPoint, WrapEllipsoid
from myoquat.muscle.forces import ContactHalfSpace, ContactMaterial, ContactSphere, HuntCrossley
from myoquat.muscle.laws import Millard2012
from tests.bodies import on_slide


def solved(f, x, end, rtol, times=()):
    """(the solver at its end, its number of steps, states (k, n) at `times` (k,)); f takes times and states alike."""
    solver = Radau(lambda t, x: f(np.array([t]), x[None])[0], f, (0.0, np.asarray(x, dtype=float)), end, rtol)
    steps, rows, before = 0, [], 0.0
    while solver.status == "running":
        solver.step()
        steps += 1
        dense = solver.dense_output()
        rows += [dense(t) for t in times if before < t <= solver.t]
        before = solver.t
    return solver, steps, np.array(rows)


# ---- the method by itself ----------------------------------------------------------------------------------


def van_der_pol(t, x, mu=1e6):
    return np.stack([x[..., 1], mu * ((1 - x[..., 0] ** 2) * x[..., 1] - x[..., 0])], axis=-1)


def robertson(t, x):
    a, b, c = 0.04 * x[..., 0], 1e4 * x[..., 1] * x[..., 2], 3e7 * x[..., 1] ** 2
    return np.stack([b - a, a - b - c, c], axis=-1)


@pytest.mark.parametrize(
    ("f", "x", "end", "most"), [(van_der_pol, (2.0, -0.66), 0.9, 900), (robertson, (1.0, 0.0, 0.0), 1e4, 150)]
)
def test_stiff_problems_beside_scipy(f, x, end, most):
    """Of Hairer and Wanner, section IV.1 (van der Pol's equation, scaled by mu = 1e6, jumps once on its way)."""
    wanted = solve_ivp(f, (0, end), x, "Radau", rtol=1e-9, atol=1e-12).y[:, -1]
    solver, steps, _ = solved(f, x, end, 1e-7)
    assert solver.status == "finished"
    assert solver.t == end
    assert steps < most
    np.testing.assert_allclose(solver.y, wanted, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("first", [np.inf, np.nan])
def test_start_whose_slope_is_not_finite_fails(first):
    """No first step is small enough; an infinite slope divided by zero."""
    with np.errstate(invalid="ignore"):
        slope = lambda t, x: np.full(x.shape, first)  # noqa: E731
        solver = Radau(slope, slope, (0.0, np.array([1.0])), 1.0, 1e-6)
        solver.step()
    assert (solver.status, solver.t) == ("failed", 0.0)


def test_start_beside_the_edge_of_the_domain_takes_shorter_steps():
    """dx/dt = -sqrt(x) from x = 1e-8: x = (1e-4 - t/2)^2. The trial step for the first length makes x negative."""
    with np.errstate(invalid="ignore"):
        solver, _, _ = solved(lambda t, x: -np.sqrt(x), [1e-8], 1e-4, 1e-12)
    assert solver.status == "finished"
    np.testing.assert_allclose(solver.y, 0.25e-8, rtol=1e-4)


def test_the_order_of_the_error_and_of_what_lies_between():
    """An oscillator: the error over the number of steps; the polynomial within a step has order 4 of its own."""
    f = lambda t, x: np.stack([x[..., 1], -x[..., 0]], axis=-1)  # noqa: E731
    times = np.linspace(0.1, 9.9, 197)
    counts, ends, between = [], [], []
    for rtol in (1e-5, 1e-7, 1e-9):
        solver, steps, rows = solved(f, (1.0, 0.0), 10.0, rtol, times)
        counts.append(steps)
        ends.append(np.abs(solver.y - [np.cos(10.0), -np.sin(10.0)]).max())
        between.append(np.abs(rows - np.stack([np.cos(times), -np.sin(times)], axis=-1)).max())
    for errors, order in ((ends, 5), (between, 4)):
        np.testing.assert_allclose(-np.diff(np.log(errors)) / np.diff(np.log(counts)), order, atol=0.35)


@pytest.mark.parametrize("rate", [1e3, 1e6, 1e12])
def test_decayed_state_does_not_bound_the_step(rate):
    """Prothero and Robinson's problem: steps follow cos(t), whatever the rate is that it is followed at."""
    solver, steps, _ = solved(lambda t, x: -rate * (x - np.cos(t)[:, None]) - np.sin(t)[:, None], [1.0], 10.0, 1e-6)
    assert abs(solver.y[0] - np.cos(10.0)) < 1e-6
    assert steps < 60


def test_a_solution_that_ends_fails():
    """xdot = x^2 from 1 is 1 / (1 - t): it does not reach t = 2."""
    with np.errstate(all="ignore"):
        solver, _, _ = solved(lambda t, x: x * x, [1.0], 2.0, 1e-8)
    assert solver.status == "failed"
    assert solver.t == pytest.approx(1.0, abs=1e-6)


# ---- motions -----------------------------------------------------------------------------------------------


def test_differences_are_the_derivative(rng):
    model = load_model("two_link")
    equations = StateEquations(model)
    sizes = {"t": (), "x": equations.size, **equations.inputs}
    kernel = compile(equations.rate, sizes, ["rate"])
    x = np.concatenate([model.system.random(1, rng)[0], rng.normal(size=model.system.nu)])
    given = [np.full(n, 0.3) for n in equations.inputs.values()]
    wanted = kernel.jacobian("rate", "x")(0.0, x, *given)
    found = differences(lambda t, x: kernel(t, x, *given), 0.0, x)
    np.testing.assert_allclose(found, wanted, atol=1e-6 * np.abs(wanted).max())


@pytest.fixture(scope="module")
def wound():
    """A mass pulled up and down past an ellipsoid by a muscle with an elastic tendon."""
    body = on_slide("mass", "y", "y", mass=20.0)
    path = (PathPoint("ground", (-0.15, 0.0, 0.0)), PathPoint("mass", (0.15, 0.0, 0.0)))
    wrap = WrapEllipsoid(body="ground", radii=(0.04, 0.03, 0.02))
    law = Millard2012(800.0, 0.1, 0.2, 0.2)
    muscle = Muscle("m", MusclePath(path, wraps=(wrap,)), law, 0.3, ActivationDynamics(0.015, 0.05))
    system = ArticulatedSystem((body,), gravity=(0.0, 0.0, 0.0))
    return Model(system, (muscle,), start_q=(0.01,))


def test_a_muscle_around_a_solved_surface(wound):
    """As with the explicit method; the excitation is a table with a kink, at which the method starts anew."""
    table = ([0.0, 0.05, 0.1], np.array([[0.2], [0.9], [0.1]]))
    options = {"duration": 0.1, "output_step": 0.01, "excitation": table, "u0": [0.3]}
    wanted = simulate(wound, rtol=1e-11, **options)
    way = simulate(wound, rtol=1e-8, method="radau", **options)
    assert np.ptp(wanted.q) > 0.01
    for name in ("q", "u", "activation", "muscle_states"):
        np.testing.assert_allclose(getattr(way, name), getattr(wanted, name), atol=2e-7)


def test_constraints_and_norms_are_kept():
    model = load_model("two_link")
    pendulum = ArticulatedSystem(tuple(replace(body, damping=0.0) for body in model.system.bodies))
    held = Distance("ground", "B", (0.0, 0.0, 0.0), (0.0, 0.0, -1.0), 1.9)
    options = {"constraints": (held,), "project_start": True, "duration": 0.5, "output_step": 0.1}
    way = simulate(pendulum, model.start_q, rtol=1e-8, method="radau", **options)
    wanted = simulate(pendulum, model.start_q, rtol=1e-12, **options)
    np.testing.assert_allclose(way.q, wanted.q, atol=1e-6)
    assert np.abs(way.norm_drift).max() < 5e-16
    assert np.abs(way.constraint_drift).max() < 1e-12


@pytest.mark.parametrize("rtol", [1e-3, 1e-6])
def test_a_contact_is_not_stepped_over(rtol):
    """Before it the slope is straight, and Newton's iteration has nothing to do: that says nothing of the contact."""
    ball = on_slide("ball", "y")
    surfaces = ContactSphere("round", "ball", radius=0.1), ContactHalfSpace("floor", "ground")
    force = HuntCrossley("contact", (ContactMaterial(surfaces, stiffness=1e9, dissipation=20.0),))
    model = Model(ArticulatedSystem((ball,), gravity=(0, -9.81, 0)), forces=(force,))
    way, explicit = (
        simulate(model, [0.15], duration=1.0, output_step=0.01, **options)
        for options in ({"method": "radau", "rtol": rtol}, {"rtol": 1e-9})
    )
    np.testing.assert_allclose(way.q, explicit.q, atol=rtol)
