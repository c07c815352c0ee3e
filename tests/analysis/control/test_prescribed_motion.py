"""Prescribed motions: the controls that produce them, beside muscle redundancy and Newton's equation."""

import numpy as np
import pytest

import myoquat as mq
from myoquat.analysis.control import Effort, Equations, IterateHistory, Problem, TendonForceRates
from myoquat.data import Motion
from myoquat.muscle import muscle_forces
from tests.analysis.control.test_muscles_of_problems import hanging
from tests.analysis.recruitment.circle import forces_on_a_circle, on_a_circle

TIME = np.linspace(0.0, 0.5, 26)


@pytest.fixture(scope="module")
def lifted():
    """A mass that goes up and down on a muscle with an elastic tendon, and the controls behind it."""
    model, w = hanging("elastic"), 4 * np.pi
    height, rate, second = 0.002 * np.array([np.cos(w * TIME), -w * np.sin(w * TIME), -(w**2) * np.cos(w * TIME)])
    motion = Motion(model, TIME, 0.152 + height[:, None], rate[:, None], second[:, None])
    goals = Effort(weight=1e-6), TendonForceRates(name="rates")
    history = IterateHistory()
    return model, Problem(model, 0.5, goals, 25, "radau", prescribed=motion).solve(watch=history), history


def test_tension_is_that_of_newton(lifted):
    """F = m (g - udot) at every node, by a law that the problem does not call in this form."""
    model, solution, history = lifted
    assert solution.success
    motion = solution.motion
    assert np.array_equal(history.motions[0].q, motion.q)  # of every iterate
    tension = muscle_forces(
        model, motion.q[1:], motion.u[1:], solution["muscle.activation"][1:, None], solution.states[1:, 1:]
    )
    exact = 0.5 * (9.81 + 0.002 * (4 * np.pi) ** 2 * np.cos(4 * np.pi * solution.time[1:]))
    assert np.allclose(tension[:, 0], exact, rtol=1e-5)


def test_rates_of_tension_are_integrated(lifted):
    """The integral of (Fdot / F0)^2 of m (g - udot), by hand: (m A w^3 / F0)^2 T / 2."""
    _, solution, _ = lifted
    by_hand = (0.5 * 0.002 * (4 * np.pi) ** 3 / 30.0) ** 2 * 0.5 / 2
    assert solution.goals["rates"] == pytest.approx(by_hand, rel=1e-3)


def two_link():
    model = mq.load_model("two_link")
    way = mq.simulate(model, duration=0.3, step=1e-3, output_step=0.01)
    return model, Motion(model, way.time, way.q, way.u)


def test_what_cannot_be_prescribed_is_rejected():
    model, motion = two_link()
    cart = Equations(("x",), ("v",), lambda point: (point["v"],))
    euler = mq.load_model("two_link", "sequence")
    for plant, duration, goals, words in (
        (model, (0.1, 0.3), (), "a prescribed motion needs a fixed duration"),
        (cart, 0.1, (), "equations of one's own have none"),
        (euler, 0.1, (), "another system"),
        (model, 0.1, (TendonForceRates(),), "no muscles with elastic tendons"),
        (model, 0.5, (Effort(),), r"the data cover 0 to 0.3 s; they are wanted from 0 to 0.5 s"),
    ):
        with pytest.raises(ValueError, match=words):
            Problem(plant, duration, goals, prescribed=motion).solve()


@pytest.mark.parametrize("transcription", ["radau", "gauss", "hermite_simpson"])
def test_constraints_drive_the_same_velocities_at_all_points(transcription):
    """At 45 degrees another slider becomes the one that the rod drives best, and the hinge would change its row."""
    model, motion, _ = on_a_circle(201)
    problem = Problem(model, 0.1, (Effort(),), 2, transcription, 0.45, prescribed=motion, torques=("h_dot", "y_dot"))
    solution = problem.solve()
    assert solution.success
    np.testing.assert_allclose(solution.controls, forces_on_a_circle(solution.control_time), rtol=1e-4, atol=1e-4)
