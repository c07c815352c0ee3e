"""Inputs that are functions of the state: compiled into the equations, or sampled as by a digital controller."""

import numpy as np
import pytest

import myoquat as mq
from myoquat.dynamics import Inputs, SimulationWarning, Simulator, StateFeedback, linearize
from myoquat.joints import ArticulatedSystem
from tests.bodies import on_ball, on_slide

PART = {"mass": 1.5, "center_of_mass": (0.0, 0.02, -0.2), "inertia": (0.03, 0.02, 0.01, 0.0, 0.0, 0.0)}
RNG = np.random.default_rng(7)


def arm(damping=0.0):
    upper = on_ball("upper", damping=damping, **PART)
    fore = on_slide("fore", parent="upper", position=(0.0, 0.0, -0.4), damping=damping, **PART)
    return ArticulatedSystem((upper, fore))


def damper(t, q, u):
    return -0.7 * u


@pytest.mark.parametrize("method", ["rk4", "lie_rk4", "semi_implicit_euler", "dop853"])
def test_feedback_of_a_damper_is_a_damper(method):
    q, u = arm().random(1, RNG)[0], RNG.normal(size=4)
    options = {"method": method, "output_step": 0.05, "rtol": 1e-9 if method == "dop853" else None}
    damped = mq.simulate(arm(0.7), q, u, 0.2, **options)
    fed_back = mq.simulate(arm(), q, u, 0.2, torque=StateFeedback(damper), **options)
    assert np.allclose(fed_back.q, damped.q, rtol=0, atol=1e-13)
    assert np.allclose(fed_back.torque, -0.7 * fed_back.u, rtol=1e-15)


def test_a_batch_is_its_elements_and_keeps_its_time():
    q, u = arm().random(3, RNG), RNG.normal(size=(3, 4))
    law = StateFeedback(lambda t, q, u: np.sin(5 * t)[..., None] * q[..., :4] - np.where(u > 0, u, 2 * u))
    whole = mq.simulate(arm(), q, u, 0.1, torque=law, start_time=1.0)
    alone = mq.simulate(arm(), q[1], u[1], 0.1, torque=law, start_time=1.0)
    assert np.array_equal(whole.q[1], alone.q)
    assert np.array_equal(whole.torque[1], alone.torque)
    pushed = mq.simulate(arm(), q, u, 0.1, torque=(whole.time, whole.torque), start_time=1.0)
    assert np.allclose(pushed.q, whole.q, rtol=0, atol=1e-5)  # linear between the steps


def test_a_digital_controller_holds_its_values():
    """As short simulations with constant torques, one after the other; any Python will do."""
    called = []

    def law(t, q, u):
        called.append(float(t))
        return (-3.0 if u[..., 0].sum() > 0 else 2.0) * u  # branches on a value

    with pytest.raises(TypeError, match="returned a list"):
        mq.simulate(arm(), duration=0.1, torque=StateFeedback(lambda t, q, u: [0.0] * 4, period=0.1))
    q, u = arm().random(2, RNG), RNG.normal(size=(2, 4))
    held = mq.simulate(arm(), q, u, 0.1, torque=StateFeedback(law, period=0.025), step=1e-3, output_step=0.01)
    times = called.copy()
    simulator = Simulator(arm(), external_torque=True)
    for k in range(4):
        torque = law(0.025 * k, q, u)
        run = simulator(q, u, 0.025, step=1e-3, torque=torque)
        q, u = run.final_q, run.final_u
        rows = (held.time >= 0.025 * k - 1e-12) & (held.time < 0.025 * (k + 1) - 1e-12)
        assert np.array_equal(held.torque[:, rows], np.broadcast_to(torque[:, None], (2, rows.sum(), 4)))
    assert np.allclose(held.q[:, -1], q, rtol=0, atol=1e-13)
    assert np.allclose(times, [0.0, 0.025, 0.05, 0.075], atol=1e-12)


def test_reflexes_excite_muscles():
    model = mq.load_model("two_link")
    law = StateFeedback(lambda t, q, u: np.clip(0.3 + 0.2 * u, 0.0, 1.0))
    motion = mq.simulate(model, duration=0.1, activation=law, output_step=0.05)
    assert np.allclose(motion.activation, np.clip(0.3 + 0.2 * motion.u, 0.0, 1.0), rtol=1e-15)
    assert np.allclose(motion.q[-1], mq.simulate(model, duration=0.1, excitation=law).q[-1], rtol=0, atol=1e-15)


def test_a_simulator_keeps_its_feedback():
    sled = ArticulatedSystem((on_slide("sled", mass=2.0),))
    simulator = Simulator(sled, external_torque=True, feedback={"torque": StateFeedback(lambda t, q, u: -8.0 * q)})
    for start in (1.0, 2.0):
        assert np.isclose(simulator([start], [0.0], np.pi / 2, step=1e-3).final_q[0], -start, rtol=1e-10)
    for torque in ([1.0], np.zeros((2, 1))):
        with pytest.raises(ValueError, match="torque: the feedback of this Simulator gives it"):
            simulator([1.0], [0.0], 1.0, torque=torque)
    with pytest.raises(TypeError, match=r"feedback\['torque'\] must be a StateFeedback"):
        Simulator(sled, external_torque=True, feedback={"torque": damper})
    with pytest.raises(ValueError, match=r"torque: feedback without a period is compiled; Simulator\(..., feedback"):
        Simulator(sled, external_torque=True)([1.0], [0.0], 1.0, torque=StateFeedback(damper))


def test_sampled_feedback_ends_where_a_state_of_the_batch_stops():
    """The second sled runs away; its infinite torque is no error of the first one, and its rows are NaN."""
    sled = ArticulatedSystem((on_slide("sled", mass=2.0),))
    law = StateFeedback(lambda t, q, u: np.where(np.abs(u) > 1e6, np.inf, 1e6 * q), period=0.002)
    with pytest.warns(SimulationWarning, match="passed a bound"):
        motion = mq.simulate(sled, [[0.0], [1.0]], np.zeros((2, 1)), 0.1, torque=law, output_step=0.01)
    assert np.isfinite(motion.stopped).tolist() == [False, True]
    assert not motion.torque[0].any()
    assert np.isnan(motion.torque[1, -1])


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"torque": StateFeedback(lambda t, q, u: u[..., :2])}, ValueError, r"torque has shape \(2,\)"),
        ({"torque": StateFeedback(lambda t, q, u: np.nan * u)}, ValueError, "finite numbers are needed"),
        ({"torque": StateFeedback(lambda t, q, u: u if u[0] > 0 else -u)}, TypeError, r"np\.where"),
        ({"torque": StateFeedback(damper, period=0.0015)}, ValueError, "no whole number of steps"),
        ({"torque": StateFeedback(damper, period=0.01), "rtol": 1e-6}, ValueError, "method of fixed step"),
        ({"torque": StateFeedback(damper), "method": "variational"}, ValueError, "no feedback without a period"),
        ({"controls": StateFeedback(damper)}, ValueError, "controls: no such input"),
    ],
)
def test_errors_are_named(arguments, error, words):
    with pytest.raises(error, match=words):
        mq.simulate(arm(), duration=0.02, **arguments)


def test_values_out_of_range_are_found_at_the_rows():
    law = StateFeedback(lambda t, q, u: 0.5 + 20 * t[..., None] * np.ones(6))
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\]"):
        mq.simulate(mq.load_model("two_link"), duration=0.1, activation=law)


def test_laws_are_functions_and_no_inputs_of_a_linearization():
    with pytest.raises(TypeError, match="must be a function"):
        StateFeedback(3.0)
    with pytest.raises(ValueError, match="period must be positive"):
        StateFeedback(damper, period=0.0)
    with pytest.raises(ValueError, match="torque: feedback is no input of these equations"):
        linearize(arm(), inputs=Inputs(torque=StateFeedback(damper)))
    with pytest.raises(ValueError, match="torque: feedback is no input of these equations"):
        linearize(arm(), inputs=Inputs(torque=StateFeedback(damper, period=0.01)))
