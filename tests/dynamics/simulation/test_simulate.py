"""simulate against the independent trajectory of `two_link`, its inputs in every form, and its refusals."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from oracle import ORACLE, states

from myoquat.data import load_model
from myoquat.dynamics import Inputs, SimulationWarning, Simulator, simulate
from myoquat.joints import ArticulatedSystem, ModelError
from myoquat.joints.errors import OffSphereError
from myoquat.muscle import Model, Muscle, PathPoint
from myoquat.muscle.laws import PathSpring
from tests.bodies import on_hinge, on_slide


@pytest.fixture(scope="module")
def activation(model):
    return np.array([muscle.activation for muscle in model.muscles])


def pendulum(damping=0.0):
    body = on_hinge("rod", "y", mass=2.0, center_of_mass=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01), damping=damping)
    return ArticulatedSystem((body,))


def test_two_link_reproduces_the_independent_trajectory(model):
    trajectory = simulate(model, duration=4.0, step=1e-3, output_step=0.5)
    np.testing.assert_array_equal(trajectory.time, ORACLE["t"])
    assert np.abs(states(trajectory) - ORACLE["x"]).max() < 5e-8
    assert np.abs(trajectory.norm_drift).max() <= 5e-16
    assert trajectory.complete
    assert trajectory.reason == "ran to the end"


def test_batches_run_side_by_side(model, activation):
    rng = np.random.default_rng(3)
    q, u = model.system.random(5, rng), rng.normal(size=(5, 6))
    strengths = np.stack([activation, activation[::-1]])[:, None]
    many = simulate(model, q, u, 0.05, activation=strengths)
    assert many.q.shape == (2, 5, 51, 8)
    one = simulate(model, q[3], u[3], 0.05, activation=strengths[1, 0])
    assert np.array_equal(many.q[1, 3], one.q)
    assert np.array_equal(many.u[1, 3], one.u)
    table = many.to_dataframe()
    assert list(table.loc[(1, 3)]["A.Q0"]) == list(one.q[:, 0])


def test_inputs_in_every_form_agree(model, activation):
    times = np.array([0.0, 0.02, 0.05])
    values = np.stack([activation, 0.5 * activation, activation])
    tau = np.arange(6.0)
    table = simulate(model, duration=0.05, activation=(times, values), torque=tau)

    def of_time(t):
        return np.array([np.interp(t, times, column) for column in values.T])

    function = simulate(model, duration=0.05, activation=of_time, torque=lambda t: tau)
    np.testing.assert_allclose(states(function), states(table), atol=1e-13)
    np.testing.assert_allclose(function.activation, table.activation, atol=1e-15)
    constant = simulate(model, duration=0.05, activation=activation)
    record = {"inputs": Inputs(activation=activation)}
    for run in (
        simulate(model, duration=0.05, **record),
        Simulator(model)(model.start_q, model.start_u, 0.05, **record),
    ):
        np.testing.assert_array_equal(run.q, constant.q)
    same = simulate(model, duration=0.05, activation=lambda t: activation, torque=np.zeros(6))
    np.testing.assert_allclose(states(same), states(constant), atol=1e-14)
    assert np.abs(states(table) - states(constant)).max() > 1e-4


def test_chunks_do_not_show(model, monkeypatch):
    whole = simulate(model, duration=0.1, output_step=0.005)
    monkeypatch.setattr(sys.modules[Simulator.__module__], "STEPS_PER_CHUNK", 7)
    seen = []
    parts = Simulator(model)(model.start_q, model.start_u, 0.1, output_step=0.005, tick=seen.append)
    assert np.array_equal(parts.q, whole.q)
    assert seen == [5] * 20


@pytest.mark.parametrize(
    ("duration", "step", "output_step", "rows", "last"),
    [(1.0, 0.3, None, 5, 1.0), (1.0, 0.3, 0.4, 3, 0.8), (0.3, 0.1, 0.1, 4, 0.3), (0.01, 1.0, None, 2, 0.01)],
)
def test_steps_fill_duration_and_output_step(duration, step, output_step, rows, last):
    trajectory = simulate(pendulum(), [0.1], [0.0], duration, step=step, output_step=output_step)
    assert trajectory.q.shape == (rows, 1)
    assert trajectory.time[-1] == pytest.approx(last, rel=1e-14)


def test_a_state_that_blows_up_stops_alone_and_says_so(model):
    u = np.array([[0.0] * 6, [3e4] * 6])
    with pytest.warns(SimulationWarning, match=r"state \[1\] of 1 that stopped at t = 0\.0\d+ s.*\|udot\| = "):
        trajectory = simulate(model, u0=u, duration=0.1)
    assert not trajectory.complete
    assert np.isnan(trajectory.stopped[0])
    row = round(trajectory.stopped[1] / 1e-3)
    assert np.isfinite(trajectory.q[1, :row]).all()
    assert np.isnan(trajectory.q[1, row + 1 :]).all()
    assert np.isnan(trajectory.forces[1, row + 1 :]).all()
    assert np.isfinite(trajectory.forces[0]).all()


def test_a_start_off_the_sphere_is_refused_or_projected(model):
    q = np.array(model.start_q) * np.where(np.arange(8) < 4, 1.01, 1.0)
    with pytest.raises(OffSphereError, match=r"length 1\.01; it must be 1.*project_start=True"):
        simulate(model, q)
    trajectory = simulate(model, q, duration=0.01, project_start=True)
    np.testing.assert_allclose(trajectory.q, simulate(model, duration=0.01).q, atol=1e-15)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"activation": np.where(np.arange(6) == 1, np.nan, 0.3)}, r"activation\[1\] \(m2\) is nan"),
        ({"activation": ([0, 1], np.full((2, 6), [[1], [1.5]]))}, r"activation\[1, 0\] \(m1\) is 1\.5; it must lie in"),
        ({"activation": lambda t: np.full(6, -0.7)}, "must lie in"),
        ({"activation": ([1.0, 0.0], np.zeros((2, 6)))}, "increasing times"),
        ({"torque": np.zeros(5)}, "torque"),
        ({"duration": 1.0, "output_step": 2.0}, "longer than the duration"),
        ({"q0": np.ones(7)}, r"^q0 has shape \(7,\); expected"),
        ({"q0": np.ones(8)}, r"^q0: the quaternion .* has length 2"),
        ({"u0": [0.0, np.nan, 0.0, 0.0, 0.0, 0.0]}, r"^u0\[1\] \(A\.omega_y\) is nan"),
        ({"method": "rk5"}, r"method 'rk5' is unknown; there are: .*rk4"),
        ({"stabilization": "glue"}, r"stabilization 'glue' is unknown.*projection"),
        ({"inputs": Inputs(), "activation": np.ones(6)}, "activation: give options"),
        ({"inputs": {"activation": np.ones(6)}}, "inputs must be of type Inputs, not dict"),
    ],
)
def test_options_that_cannot_be(model, options, words):
    with pytest.raises((ValueError, TypeError), match=words):
        simulate(model, **options)


def test_models_that_cannot_be_simulated_without_more(model, activation):
    with pytest.raises(ModelError, match="no max_isometric_force is given"):
        simulate(load_model("mapping_analysis"))
    quiet = replace(model, muscles=(replace(model.muscles[0], activation=None),))
    with pytest.raises(ValueError, match="names none for muscle 'm1'"):
        simulate(quiet)
    with pytest.raises(ValueError, match="no muscles"):
        simulate(model.system, activation=activation)


@pytest.mark.parametrize("name", ["duration", "step", "output_step"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0, 0.0, "1", 1j, np.ones(2)], ids=str)
def test_times_that_cannot_be(model, name, value):
    with pytest.raises(ValueError, match=rf"^{name} must be positive and finite \[s\], not "):
        simulate(model, **{name: value})


@pytest.mark.parametrize("rtol", [np.nan, 0.0, "1", 1j])
def test_tolerances_that_cannot_be(model, rtol):
    with pytest.raises(ValueError, match="rtol must lie between 1e-14 and 1, not "):
        simulate(model, rtol=rtol)


@pytest.mark.parametrize("name", ["q0", "u0"])
def test_a_start_that_is_no_numbers(model, name):
    for given in ("start", np.zeros(8) + 1j, np.ma.masked_array(np.zeros(8))):
        with pytest.raises(ValueError, match=rf"^{name}: an array of real numbers or symbols is needed"):
            simulate(model, **{name: given})


def test_ligaments_and_springs_need_no_activation():
    """A spring along a path oscillates: x = l0 + a cos(sqrt(k / m) t)."""
    cart = on_slide("cart", mass=2.0)
    path = PathPoint("ground", (0.0, 0.0, 0.0)), PathPoint("cart", (0.0, 0.0, 0.0))
    spring = Muscle("spring", path, PathSpring(resting_length=0.5, stiffness=8.0, dissipation=0.0))
    model = Model(ArticulatedSystem((cart,), gravity=(0.0, 0.0, 0.0)), (spring,))
    motion = simulate(model, [0.7], [0.0], duration=0.5, step=1e-3)
    np.testing.assert_allclose(motion.q[:, 0], 0.5 + 0.2 * np.cos(2.0 * motion.time), atol=1e-9)
