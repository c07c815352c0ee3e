"""Gradients of whole simulations: against differences of the same simulation, and closed forms."""

from dataclasses import replace

import numpy as np
import pytest

import myoquat as mq
from myoquat.dynamics import Inputs, simulation_gradient
from myoquat.dynamics.constraints import PointLoop
from myoquat.dynamics.sensitivity import gradient
from tests.bodies import on_hinge, on_slide

RNG = np.random.default_rng(41)
MODEL = mq.load_model("two_link")
E = 1e-5


def goal(t, q, u):
    return t * (u @ u)


def last(q, u):
    return q[1] + u[0] * u[3]


def difference(function, *moves):
    """Central difference of a number along `moves`, two runs side by side."""
    values = function(*(np.stack([x + E * d, x - E * d]) for x, d in moves))
    return (values[0] - values[1]) / (2 * E)


@pytest.mark.parametrize("method", ["rk4", "lie_rk4", "semi_implicit_euler"])
def test_it_is_the_slope_of_the_same_simulation(method):
    """By the activations of five intervals, and by the start, moved along the group."""
    system, a = MODEL.system, RNG.uniform(size=(5, 6))

    def found(a, q0=None, u0=None):
        options = {"final": last, "running": goal, "intervals": 5, "method": method}
        return simulation_gradient(MODEL, q0, u0, 0.1, 2e-3, inputs=Inputs(a), **options)

    exact, d = found(a), RNG.normal(size=a.shape)
    assert abs(difference(lambda a: found(a).value, (a, d)) - np.sum(exact.inputs["activation"] * d)) < 1e-8
    v, w = RNG.normal(size=(2, system.nu))
    q = np.stack([system.integrate(MODEL.start_q, s * E * v) for s in (1, -1)])
    values = found(np.stack([a, a]), q, np.stack([E * w, -E * w])).value
    assert abs((values[0] - values[1]) / (2 * E) - exact.q @ v - exact.u @ w) < 1e-8


def test_numbers_of_the_model():
    """A muscle's strength and a body's mass."""

    def found(p):
        given = {"muscles.m1.max_isometric_force": p[..., 0], "bodies.A.mass": p[..., 1]}
        inputs = Inputs(np.full(6, 0.4), parameters=given)
        return simulation_gradient(MODEL, duration=0.1, step=2e-3, final=last, inputs=inputs)

    p, d = np.array([MODEL.muscles[0].law.max_isometric_force, MODEL.system.bodies[0].mass]), np.array([1.0, 0.1])
    exact = np.array(list(found(p).parameters.values())) @ d
    assert abs(difference(lambda p: found(p).value, (p, d)) - exact) < 1e-7 * abs(exact)


def test_states_of_muscles():
    """A muscle with an elastic tendon that follows its excitation, whose length at the start is given."""
    rod = on_hinge("rod", "y", center_of_mass=(0.2, 0, 0))
    path = (mq.muscle.PathPoint("ground", (0.0, 0.0, 0.4)), mq.muscle.PathPoint("rod", (0.3, 0.0, 0.0)))
    law = mq.muscle.laws.Millard2012(100.0, optimal_fiber_length=0.2, tendon_slack_length=0.3)
    biceps = mq.Muscle("biceps", path, law, activation_dynamics=mq.muscle.ActivationDynamics())
    model = mq.Model(mq.ArticulatedSystem((rod,)), (biceps,))

    def found(e, s):
        inputs = Inputs(activation=[0.2], excitation=e, muscle_states=s)
        final = {"final": lambda q, u, w: q[0] + w[0] * w[1]}
        return simulation_gradient(model, [0.1], [0.0], 0.05, 1e-4, inputs=inputs, intervals=2, **final)

    e, s = np.array([[0.3], [0.6]]), np.array([0.205])
    exact = found(e, s)
    de, ds = np.array([[1.0], [-2.0]]), np.array([1.0])
    slope = difference(lambda e: found(e, s).value, (e, de))
    assert abs(slope - np.sum(exact.inputs["excitation"] * de)) < 1e-7 * abs(slope)
    slope = difference(lambda s: found(e, s).value, (s, ds))
    assert abs(slope - exact.muscle_states[1]) < 1e-6 * abs(slope)


def test_pieces_give_the_same(monkeypatch):
    """States that are computed once more, piece by piece, are the same states."""
    a = RNG.uniform(size=(2, 7, 6))

    def found():
        return simulation_gradient(
            MODEL, duration=0.07, step=2e-3, final=last, running=goal, inputs=Inputs(a), intervals=7
        )

    whole = found()
    for size in (1, 2 * 5 * 2 * MODEL.system.nq):
        monkeypatch.setattr(gradient, "MAX_KEPT_NUMBERS", size)
        parts = found()
        assert np.array_equal(whole.inputs["activation"], parts.inputs["activation"])
        assert np.abs(whole.value - parts.value).max() < 1e-15


def test_a_run_that_stops_has_no_gradient():
    light = on_slide("light", mass=1e-09, damping=10.0)
    found = simulation_gradient(mq.ArticulatedSystem((light,)), [0.0], [1.0], duration=0.1, final=lambda q, u: q[0])
    assert np.isnan(found.q).all()


def test_what_is_wrong_is_named():
    def call(**options):
        return simulation_gradient(MODEL, duration=0.01, **options)

    with pytest.raises(ValueError, match="final="):
        call()
    with pytest.raises(ValueError, match="one number"):
        call(final=lambda q, u: u)
    with pytest.raises(ValueError, match="intervals=3"):
        call(final=last, intervals=3, inputs=Inputs(np.zeros((2, 6))))
    with pytest.raises(ValueError, match="varies within intervals"):
        call(final=last, inputs=Inputs(lambda t: np.full(6, t)))
    with pytest.raises(ValueError, match="radau"):
        call(final=last, method="radau")


def test_constraints_and_no_inputs():
    """A pendulum as a loop: the same gradient as with its hinge, over intervals of no input."""
    hinge = on_hinge("bob", "y", center_of_mass=(0, 0, -1.0))
    sled = on_slide("sled")
    free = mq.ArticulatedSystem((sled, replace(hinge, parent="sled")))
    loop = PointLoop("sled", "ground", axes="x")  # the sled stays at x = 0
    wanted = simulation_gradient(mq.ArticulatedSystem((hinge,)), [0.5], [0.2], 0.2, final=lambda q, u: q[0])
    found = simulation_gradient(
        free, [0.0, 0.5], [0.0, 0.2], 0.2, final=lambda q, u: q[1], constraints=[loop], intervals=4
    )
    assert abs(found.value - wanted.value) < 1e-12
    assert abs(found.q[1] - wanted.q[0]) < 1e-10
    assert abs(found.u[1] - wanted.u[0]) < 1e-10
