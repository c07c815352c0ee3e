"""External loads of problems act at the time and the pose of each evaluation, whatever the duration is."""

import numpy as np
import pytest
import scipy.integrate

import myoquat as mq
from myoquat.analysis.control import BoundaryConstraint, Effort, IntegralGoal, Problem, Refinement
from tests.bodies import on_hinge, on_slide, pushing

X = (1.0, 0.0, 0.0)

SLED = on_slide("block", "x", "x")
ROD = on_hinge("rod", "y", "a", inertia=0.1)
REST_TO_REST = {"initial": {"x": 0.0, "x_dot": 0.0}, "final": {"x": 1.0, "x_dot": 0.0}}


@pytest.mark.parametrize("transcription", ["hermite_simpson", "midpoint", "shooting"])
def test_loads_follow_an_unknown_duration(transcription):
    time = np.linspace(0, 4, 401)
    two_seconds = BoundaryConstraint("two", lambda first, last, duration: duration - 2.0)
    problem = Problem(
        mq.ArticulatedSystem((SLED,)), (0.5, 2.5), (Effort(),), 20, transcription, constraints=(two_seconds,),
        loads=pushing("block", time, np.outer(time, X)), torques=("x_dot",), **REST_TO_REST,
    )  # fmt: skip
    solution = problem.solve()
    # x'' = u + t with x'' = 1.5 (1 - t): the integral of (1.5 - 2.5 t)^2 over 2 s is 37/6
    assert np.isclose(solution.objective, 37 / 6, rtol=2e-3 if transcription != "hermite_simpson" else 1e-9)
    assert np.isclose(solution.goals["Effort"], problem.goal_values(solution)["Effort"])


def test_a_load_of_two_rows_holds_over_an_unknown_duration():
    late = {"duration": (1.0, 1.0 + 1e-9)}
    fixed = {"duration": 1.0}
    load = pushing("block", [0.0, 2.0], (3.0, 0.0, 0.0))
    found = [
        Problem(mq.ArticulatedSystem((SLED,)), goals=(Effort(),), intervals=4, loads=load, torques=("x_dot",),
                **ends, **REST_TO_REST).solve().objective
        for ends in (late, fixed)
    ]  # fmt: skip
    assert np.allclose(
        found, 12 + 9, rtol=1e-6
    )  # rest to rest costs 12; minus 3 N all the time 9, without a mixed term


def test_loads_cover_the_greatest_duration():
    load = pushing("block", [0.0, 2.0], X)
    model = mq.ArticulatedSystem((SLED,))
    with pytest.raises(ValueError, match="the loads cover 0 to 2 s; they are wanted from 0 to 3 s"):
        Problem(model, (0.5, 3.0), (Effort(),), loads=load, torques=("x_dot",))
    with pytest.raises(ValueError, match="loads over time need a greatest one that they cover, not inf"):
        Problem(model, (0.5, np.inf), (Effort(),), loads=load, torques=("x_dot",))


def test_goals_with_data_of_their_own_need_a_fixed_duration():
    class Followed(IntegralGoal):
        def samples(self, plant, time):
            return time[:, None]

        def integrand(self, plant, point, data):
            return (point["x"] - data[..., 0]) ** 2

    with pytest.raises(ValueError, match="goal 'Followed' follows data over time, which needs a fixed duration"):
        Problem(mq.ArticulatedSystem((SLED,)), (0.5, 1.0), (Followed(),))


def test_forward_simulation_applies_loads_at_the_moving_pose():
    time = np.linspace(0, 1, 201)
    load = pushing("rod", time, np.outer(30.0 + 30.0 * time, X), X, ("ground", "rod"))
    problem = Problem(
        mq.Model(mq.ArticulatedSystem((ROD,))), 1.0, (Effort(),), 20, "gauss", torques=("a_dot",), loads=load,
        initial={"a": 0.0, "a_dot": 0.0}, final={"a": 2.0, "a_dot": 0.0},
    )  # fmt: skip
    solution = problem.solve()

    def rate(t, x):  # 0.1 a'' = torque - (30 + 30 t) sin a: the tip at (cos a, 0, -sin a), the force along x
        torque = solution.controls_at(np.array([t]))[0, 0]
        return [x[1], (torque - (30.0 + 30.0 * t) * np.sin(x[0])) / 0.1]

    run = scipy.integrate.solve_ivp(rate, (0, 1), [0.0, 0.0], "Radau", solution.time, rtol=1e-9, atol=1e-9)
    assert np.allclose(solution.simulate().q[:, 0], run.y[0], atol=2e-5)
    assert len(problem.solve(refine=Refinement(2e-4, repetitions=2)).meshes) == 1
