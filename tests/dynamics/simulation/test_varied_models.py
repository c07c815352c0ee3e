"""Batches of models: every run with numbers of its own, as if its model had been simulated alone."""

import numpy as np
import pytest

import myoquat as mq
from myoquat.dynamics import simulate
from myoquat.dynamics.constraints import Distance
from myoquat.dynamics.simulation import Event, Simulator
from myoquat.joints.functions import Linear
from myoquat.muscle.actuators import CoordinateActuator
from myoquat.muscle.coordinates import Coupler
from myoquat.muscle.forces import CoordinateSpring
from tests.bodies import on_slide

GIVEN = {
    "bodies.A.mass": np.array([4.0, 5.0, 6.5]),
    "muscles.m2.max_isometric_force": np.array([20.0, 30.0, 44.0]),
    "bodies.B.position.z": np.array([-1.0, -1.1, -0.9]),
}
TIMES = {"duration": 0.05, "step": 1e-3}


def test_starts_and_parameters_broadcast(model):
    q0 = model.system.random(2, np.random.default_rng(0))[:, None]
    run = simulate(model, q0, parameters=GIVEN, **TIMES)
    assert run.q.shape[:2] == (2, 3)
    one = simulate(model, q0[1, 0], parameters={name: values[2] for name, values in GIVEN.items()}, **TIMES)
    np.testing.assert_allclose(run.q[1, 2], one.q, rtol=1e-12, atol=1e-13)


def test_patterns_name_many(model):
    run = simulate(model, parameters={"muscles.*.max_isometric_force": np.array([0.0, 10.0])}, **TIMES)
    assert len(run.parameter_names) == 6
    assert not run.forces[0].any()
    assert run.forces[1].any()


def test_a_simulator_takes_new_numbers_without_compiling_again(model):
    simulator = Simulator(model, parameters=["bodies.A.mass"])
    q, u = np.array(model.start_q), np.zeros(model.system.nu)
    first, second = (simulator(q, u, 0.02, parameters={"bodies.A.mass": m}) for m in (5.0, 6.0))
    np.testing.assert_allclose(first.q, simulate(model, q, u, 0.02).q, atol=1e-13)
    assert np.abs(first.q - second.q).max() > 1e-8


def test_a_table_has_the_parameters_of_its_run(model):
    run = simulate(model, parameters=GIVEN, **TIMES)
    np.testing.assert_array_equal(run.to_dataframe().loc[1]["parameter bodies.A.mass"], 5.0)


@pytest.mark.parametrize(
    ("parameters", "more", "words"),
    [
        ({"bodies.A.weight": 1.0}, {}, "no parameter 'bodies.A.weight'"),
        ({"bodies.A.mass": np.nan}, {}, "'bodies.A.mass' is nan"),
        ({"bodies.A.mass": -1.0}, {}, "mass"),
        ({"bodies.A.mass": np.ones(3), "bodies.B.mass": np.ones(2)}, {}, "do not broadcast"),
        ({"bodies.A.mass": 1.0, "bodies.*.mass": 2.0}, {}, "named twice"),
        ({"start_q.A.Q0": 1.0}, {}, "input of its own"),
        ({"muscles.m1.activation": 0.5}, {}, "input of its own"),
        ({"bodies.A.mass": 5.0}, {"method": "variational"}, "not 'variational'"),
        (
            {"bodies.A.mass": 5.0},
            {"constraints": (Distance("ground", "B", (0, 0, 0), (0, 0, -1), 1.9),), "project_start": True},
            "on its own constraints",
        ),
    ],
)
def test_bad_parameters(model, parameters, more, words):
    with pytest.raises(ValueError, match=words):
        simulate(model, parameters=parameters, **(TIMES | more))


def test_a_simulator_needs_what_it_varies(model):
    simulator = Simulator(model, parameters=["bodies.A.mass"])
    with pytest.raises(ValueError, match=r"missing are \['bodies.A.mass'\]"):
        simulator(np.array(model.start_q), np.zeros(model.system.nu), 0.01)
    with pytest.raises(ValueError, match="varies none"):
        Simulator(model)(np.array(model.start_q), np.zeros(model.system.nu), 0.01, parameters={"bodies.A.mass": 1.0})


def test_numbers_of_couplers_and_own_inputs_vary_with_each_run():
    """Two sleds b = k a, pushed by f t: a'' (m_a + k^2 m_b) = f t, so that a' = f t^2 / 2 / (m_a + k^2 m_b)."""
    sleds = [on_slide(n, "x", n) for n in "ab"]
    model = mq.Model(
        mq.ArticulatedSystem(tuple(sleds)),
        couplers=(Coupler("gear", "b", "a", Linear()),),
        actuators=(CoordinateActuator("motor", "a"),),
        inputs=(mq.muscle.PrescribedInput("motor", Linear(6.0)),),
    )
    k, f = np.array([1.0, 2.0, 3.0]), np.array([6.0, 12.0, 18.0])
    varied = {"couplers.gear.scale": k, "inputs.motor.function.factor": f}
    for method in ("dop853", "radau", "rk4", "lie_rk4", "semi_implicit_euler"):
        steps = {"rtol": 1e-9, "output_step": 0.1} if method in ("dop853", "radau") else {"step": 1e-3}
        way = mq.simulate(model, duration=1.0, method=method, parameters=varied, **steps)
        speed = f / 2 / (1.0 + k * k)
        tolerance = 2e-3 if method == "semi_implicit_euler" else 1e-9
        tolerance = 1e-7 if "rtol" in steps else tolerance
        np.testing.assert_allclose(way.u[:, -1], np.stack([speed, k * speed], axis=-1), rtol=tolerance)
        np.testing.assert_allclose(way.q[:, -1, 1], k * way.q[:, -1, 0], atol=1e-12)
    np.testing.assert_allclose(way.acceleration[:, -1, 0], f / (1.0 + k * k), rtol=1e-9)
    assert abs(way.constraint_drift).max() < 1e-12
    with pytest.raises(ValueError, match="the start of run 1 violates the constraints with its own parameters"):
        mq.simulate(model, [1.0, 1.0], [0.0, 0.0], duration=1e-2, parameters={"couplers.gear.scale": k})


def test_events_of_an_adaptive_run_have_its_own_numbers():
    """A mass on a spring, k = m w^2, passes its middle after a quarter of its period, pi / (2 w): closed form."""
    sled = on_slide("sled", "x", "x")
    spring = CoordinateSpring("spring", "x", stiffness=4.0)
    model = mq.Model(mq.ArticulatedSystem((sled,)), forces=(spring,))
    k, m = np.array([4.0, 9.0]), np.array([[1.0], [4.0]])
    power = Event("power", lambda model, t, q, u: np.asarray(model.forces[0].stiffness) * q[0] * u[0], terminal=True)
    way = simulate(model, [0.3], [0.0], 2.0, rtol=1e-10, output_step=0.1, events=[power],
                   parameters={"forces.spring.stiffness": k, "bodies.sled.mass": m})  # fmt: skip
    np.testing.assert_allclose(way.stopped, np.pi / 2 / np.sqrt(k / m), rtol=1e-8)
