"""Every method: its order and what it keeps; exact solutions of rigid bodies are in `test_rigid_bodies.py`."""

from dataclasses import replace

import numpy as np
import pytest
from oracle import ORACLE, states

from myoquat.data import load_model
from myoquat.dynamics import Event, SimulationWarning, simulate
from myoquat.dynamics.constraints import Distance
from myoquat.dynamics.integrators import FIXED_STEP
from myoquat.joints import ArticulatedSystem, normalize
from myoquat.muscle import path_lengths
from tests.bodies import on_hinge, on_slide


@pytest.fixture(scope="module")
def pendulum(model):
    """The double ball pendulum, without friction and muscles."""
    return ArticulatedSystem(tuple(replace(body, damping=0.0) for body in model.system.bodies))


@pytest.mark.parametrize("stabilization", ["projection", "none"])
@pytest.mark.parametrize("name", FIXED_STEP)
def test_the_order_of_the_error(model, name, stabilization):
    """Against the independent trajectory, halving the step twice."""
    errors = []
    for step in (4e-3, 2e-3, 1e-3):
        way = simulate(model, duration=0.5, step=step, output_step=0.5, method=name, stabilization=stabilization)
        errors.append(np.abs(states(way)[1] - np.array(ORACLE["x"])[1]).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(orders, FIXED_STEP[name].order, atol=0.15)


@pytest.mark.parametrize(
    ("name", "rtol", "bound"), [("dop853", 1e-12, 1e-9), ("rk45", 1e-11, 2e-9), ("radau", 1e-9, 2e-8)]
)
def test_adaptive_methods_meet_the_independent_trajectory(model, name, rtol, bound):
    duration = 4.0 if name == "dop853" else 1.0
    way = simulate(model, duration=duration, rtol=rtol, output_step=0.5, method=name)
    wanted = np.array(ORACLE["x"])[: len(way.time)]
    assert np.abs(states(way) - wanted).max() < bound
    assert np.abs(way.norm_drift).max() < 5e-16
    assert 0 < way.steps < 4000


def test_the_norm_is_kept_to_round_off(pendulum):
    """Divided out it is exact; Lie-group steps only add up rounding; plain Runge-Kutta drifts."""
    Q, u = normalize(np.array([1.0, 0.2, -0.3, 0.1])), np.array([2.0, 1, 3, -2, 1, 0.5])

    def drift(name, form):
        way = simulate(pendulum, np.tile(Q, 2), u, 20.0, 4e-3, output_step=1.0, method=name, stabilization=form)
        return np.abs(way.norm_drift).max()

    assert drift("rk4", "projection") <= 5e-16
    assert drift("rk4", "norm") <= 5e-16
    assert drift("lie_rk4", "norm") <= 5e-16
    assert drift("lie_rk4", "none") < 1e-12
    assert drift("variational", "none") < 1e-12
    assert drift("rk4", "none") > 1e-9


def test_norm_alone_leaves_constraints_to_drift(pendulum):
    """The geometric projection of the unit norm keeps |Q| = 1 and nothing else; without constraints it is the whole."""
    held = Distance("ground", "B", (0.0, 0.0, 0.0), (0.0, 0.0, -1.0), 1.9)
    start = {"constraints": (held,), "project_start": True, "duration": 2.0, "step": 4e-3}
    q0 = np.tile(normalize(np.array([1.0, 0.2, -0.3, 0.1])), 2)
    whole, norm = (simulate(pendulum, q0, stabilization=form, **start) for form in ("projection", "norm"))
    assert np.abs(norm.norm_drift).max() <= 5e-16
    assert np.abs(whole.constraint_drift).max() < 1e-12 < np.abs(norm.constraint_drift).max()
    free = [simulate(pendulum, q0, duration=0.5, stabilization=form) for form in ("projection", "norm")]
    np.testing.assert_array_equal(free[0].q, free[1].q)
    with pytest.raises(ValueError, match="for methods of fixed step"):
        simulate(pendulum, q0, rtol=1e-6, stabilization="norm")


def test_the_symplectic_method_has_no_trend_in_the_energy(pendulum):
    """100 s; the error of its energy swings, and its mean over the second half is that over the first."""
    u0 = np.array([1.0, 2, 3, -2, 1, 0.5])
    q0 = load_model("two_link").start_q
    way = simulate(pendulum, q0, u0, 100.0, 2e-3, output_step=0.02, method="variational")
    error = (way.energy - way.energy[0]) / np.ptp(way.kinetic_energy)
    assert np.abs(error).max() < 5e-5
    halves = error[1:].reshape(2, -1).mean(axis=1)
    assert abs(halves[1] - halves[0]) < 0.2 * np.abs(error).max()


def test_events_are_found_where_they_are(model):
    events = [Event.length("m1", 1.75), Event.coordinate("A.Q2", 0.1)]
    way = simulate(model, duration=1.5, rtol=1e-10, events=events)
    assert {e.name for e in way.occurrences} == {"m1", "A.Q2"}
    for e in way.occurrences:
        value = path_lengths(model, e.q)[0] - 1.75 if e.name == "m1" else e.q[2] - 0.1
        assert abs(value) < 1e-12
    first = way.occurrences[0]
    ended = simulate(model, duration=1.5, rtol=1e-10, events=[replace(e, terminal=True) for e in events])
    assert ended.time[-1] == pytest.approx(first.time, abs=1e-12)
    assert ended.reason == "an event ended it"
    assert ended.stopped == ended.time[-1]


def test_a_table_s_kinks_do_not_cost_accuracy(model):
    """The activation has a kink at 0.013 s; simulating the two parts one after the other knows where."""
    a0, a1 = np.full(6, 0.1), np.full(6, 0.9)
    table = ([0.0, 0.013, 0.05], np.stack([a0, a1, a0]))
    whole = simulate(model, duration=0.05, rtol=1e-12, activation=table)
    first = simulate(model, duration=0.013, rtol=1e-12, activation=table)
    rest = simulate(model, first.q[-1], first.u[-1], 0.037, rtol=1e-12, activation=([0.0, 0.037], np.stack([a1, a0])))
    np.testing.assert_allclose(states(whole)[-1], states(rest)[-1], atol=1e-13)


@pytest.mark.parametrize(("method", "rtol", "most"), [("dop853", 1e-8, 205), ("rk45", 1e-8, 205), ("radau", 1e-6, 210)])
def test_between_close_kinks_steps_are_no_shorter_than_they_need_to_be(method, rtol, most):
    """A table of 200 rows: a step each, not a first and a second one, and the motion is that of the sine."""
    system = ArticulatedSystem((on_hinge("rod", mass=2.0, center_of_mass=(0.5, 0.0, 0.0)),))
    times = np.linspace(0.0, 2.0, 201)
    table = (times, 5 * np.sin(3 * times)[:, None])
    way = simulate(system, [0.3], [0.0], 2.0, method=method, rtol=rtol, torque=table)
    assert way.complete
    assert way.steps <= most
    smooth = simulate(system, [0.3], [0.0], 2.0, rtol=1e-10, torque=lambda t: [5 * np.sin(3 * t)])
    np.testing.assert_allclose(way.q[-1], smooth.q[-1], atol=1e-3)


def test_an_adaptive_run_that_blows_up_says_so():
    fall = on_slide("b", "z", mass=0.001)
    with pytest.warns(SimulationWarning, match=r"beyond 1e6"):
        way = simulate(ArticulatedSystem((fall,)), duration=1.0, rtol=1e-6, torque=np.array([1e5]), output_step=0.1)
    assert not way.complete
    assert np.isnan(way.q[-1]).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rtol": 1e-8, "u0": np.zeros((2, 6))}, "needs output_step"),
        ({"rtol": 1e-6, "method": "semi_implicit_euler"}, "rtol needs an adaptive method"),
        ({"events": [Event.length("m1", 1.0)]}, "events need an adaptive method"),
        ({"rtol": 1e-6, "events": [Event.length("m9", 1.0)]}, "no muscle 'm9'"),
        ({"method": "lie_rk4", "stabilization": "baumgarte"}, "stabilization 'baumgarte' is unknown"),
    ],
)
def test_refusals(model, options, message):
    with pytest.raises(ValueError, match=message):
        simulate(model, duration=0.01, **options)
